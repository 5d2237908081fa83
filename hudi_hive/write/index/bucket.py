"""The bucket index: the file group of a key is computed by a hash, without reading files.

A partition has a fixed number of buckets, which rules may tell by its path. Each of them is at most one file group,
whose id begins with the bucket's number in eight digits. The hash is that of a Java list of the hash fields' values,
which are taken from the text of the record key; releases before 1.0 read keys with commas or colons in them otherwise
than later ones.

Source: docs/format.md#bucket-index.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError
from hudi_hive.formats.hash import string_hashes
from hudi_hive.options.buckets import BUCKET_COUNT, BUCKET_RULES
from hudi_hive.storage import run_together
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import BucketRules, stored_bucket_rules
from hudi_hive.timeline.instants import CLUSTERING, REPLACE_COMMIT
from hudi_hive.write.coordination import TaskExecutor
from hudi_hive.write.index.base import Index
from hudi_hive.write.index.key_source import KeySource, Slice
from hudi_hive.write.index.options import IndexOptions
from hudi_hive.write.index.plan import LookupPlan, ToAll, partitions_of
from hudi_hive.write.index.tables import TAG_SCHEMA, one_array

_BUCKET_ID: Final = re.compile(r"(\d{8})-.+")
_EMPTY: Final = ("__null__", "__empty__")
"""How nulls and empty texts stand in keys; both have the hash 0."""

_MOST_READ: Final = 8
"""Partitions of which one file group's keys are read to see whether the number of buckets is right."""
_MOST_LOG_BYTES: Final = 16 << 20
"""Size of log files that are read for that where there is no base file, whose first rows are enough."""

IntArray = npt.NDArray[np.int64]


def bucket_numbers(keys: pa.Array, fields: Sequence[str], buckets: int | IntArray, *, version: int) -> IntArray:
    """The bucket of each record key.

    Args:
        keys: record keys.
        fields: hash fields.
        buckets: buckets of the partition, of all keys or of each.
        version: table version: 6 is read as Hudi 0.15 does, later ones as 1.x does.
    """
    plain = _plain(keys, version)
    hashes = np.empty(len(keys), np.uint32)
    mask = plain.to_numpy(zero_copy_only=False)
    hashes[mask] = _list_hashes([keys.filter(plain)])
    rest = np.flatnonzero(~mask)
    if len(rest):
        hashes[rest] = _complex_hashes(keys.take(pa.array(rest)), fields, version)
    return (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64) % buckets


def hash_texts(keys: pa.Array, fields: Sequence[str], *, version: int) -> pa.Array:
    """The hash fields' values of each record key, joined to one text, which consistent hashing hashes.

    Args:
        keys: record keys.
        fields: hash fields.
        version: as of :func:`bucket_numbers`.
    """
    plain = _plain(keys, version)
    if pc.all(plain).as_py() is not False:
        return keys
    values_of = _values_before_1 if version < 8 else _values_since_1
    rest = keys.filter(pc.invert(plain)).to_pylist()
    texts = pa.array(["".join(values_of(key, fields)) for key in rest], pa.string())
    return pc.replace_with_mask(keys, pc.invert(plain), texts)


def _plain(keys: pa.Array, version: int) -> pa.Array:
    """Which keys are themselves the value that is hashed."""
    plain = pc.match_substring(keys, ":")
    if version >= 8:
        plain = pc.and_(plain, pc.match_substring(keys, ","))
    return pc.invert(plain)


def _list_hashes(columns: Sequence[pa.Array]) -> npt.NDArray[np.uint32]:
    """``List.hashCode`` of lists whose items are in columns."""
    hashes = np.ones(len(columns[0]), np.uint32)
    for column in columns:
        hashes = hashes * np.uint32(31) + string_hashes(column).view(np.uint32)
    return hashes


def _complex_hashes(keys: pa.Array, fields: Sequence[str], version: int) -> npt.NDArray[np.uint32]:
    """Hashes of keys of the form ``field:value,field:value``; keys of one form are taken apart together."""
    hashes = np.empty(len(keys), np.uint32)
    names = [part.partition(":")[0] for part in keys[0].as_py().split(",")]
    pattern = ",".join(f"{re.escape(name)}:(?P<f{at}>[^,]*)" for at, name in enumerate(names))
    fields_of_keys = pc.extract_regex(keys, f"^{pattern}$") if len(set(names)) == len(names) > 1 else None
    usual = np.zeros(len(keys), np.bool_)
    chosen = [at for at, name in enumerate(names) if name in fields]
    if fields_of_keys is not None and chosen:
        valid = fields_of_keys.is_valid()
        usual = valid.to_numpy(zero_copy_only=False)
        values = fields_of_keys.filter(valid)
        hashes[usual] = _list_hashes([_value(pc.struct_field(values, at)) for at in chosen])
    values_of = _values_before_1 if version < 8 else _values_since_1
    hashes[~usual] = _one_by_one(keys.filter(pa.array(~usual)), fields, values_of)
    return hashes


def _value(values: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_in(values, value_set=pa.array(_EMPTY)), "", values)


def _one_by_one(
    keys: pa.Array, fields: Sequence[str], values_of: Callable[[str, Sequence[str]], list[str]]
) -> npt.NDArray[np.uint32]:
    """Hashes of keys whose values hold commas, or that are not of the fields' form at all."""
    lists = [values_of(key, fields) for key in keys.to_pylist()]
    items = string_hashes(pa.array([item for values in lists for item in values], pa.string())).view(np.uint32)
    hashes = np.ones(len(lists), np.uint32)
    at = 0
    for row, values in enumerate(lists):
        for _ in values:
            hashes[row : row + 1] = hashes[row : row + 1] * np.uint32(31) + items[at]
            at += 1
    return hashes


def _values_before_1(key: str, fields: Sequence[str]) -> list[str]:
    """As 0.15 reads a key: parted at every comma; a part without a colon counts as a value."""
    values = []
    for part in key.rstrip(",").split(","):
        name, colon, value = part.partition(":")
        if not colon:
            values.append(name)
        elif name in fields:
            values.append("" if value in _EMPTY else value)
    return values


def _values_since_1(key: str, fields: Sequence[str]) -> list[str]:
    """The values of a key as 1.x reads it.

    A value ends at the last comma before the next colon that has one; without any value that counts the whole key does.
    """
    values = []
    start = 0
    while start < len(key) and (colon := key.find(":", start)) >= 0:
        end = after = len(key)
        following = key.find(":", colon + 1)
        while following >= 0:
            comma = key.rfind(",", colon + 1, following)
            if comma >= 0:
                end, after = comma, comma + 1
                break
            following = key.find(":", following + 1)
        if key[start:colon] in fields:
            value = key[colon + 1 : end]
            values.append("" if value in _EMPTY else value)
        start = after
    return values or [key]


def uncounted_rescalings(client: MetaClient) -> tuple[frozenset[str], str | None]:
    """The pending instants whose rules do not count, and the newest instant: later ones are not of this timeline.

    Args:
        client: the table, whose timeline is read before the rules are listed.
    """
    timeline = client.timeline
    pending = frozenset(instant.requested for instant in timeline.pending({REPLACE_COMMIT, CLUSTERING}))
    return pending, max((instant.requested for instant in timeline.instants), default=None)


def bucket_rules(client: MetaClient, options: IndexOptions) -> BucketRules | None:
    """The rules by which partitions have buckets: the table's own, else those of the options; None for no rules.

    Args:
        client: the table.
        options: of its index.

    Raises:
        InvalidOptionError: there are both, and they differ.
        CorruptFileError: the table's cannot be decoded.
    """
    return _rules_of_table(client, options) or options.rules


def _rules_of_table(client: MetaClient, options: IndexOptions) -> BucketRules | None:
    if options.consistent:
        return None
    stored = stored_bucket_rules(client.storage, *uncounted_rescalings(client))
    if stored is not None and options.rules not in (None, stored):
        raise InvalidOptionError(
            f"{BUCKET_RULES} and the number of buckets of other partitions are not what the table has",
            path=client.base_path,
            remedy="leave it out: the table's rules count",
        )
    return stored


def _first_keys(source: KeySource, part: Slice) -> pa.Array:
    """Some keys of a slice, of its base file if it has one."""
    return next((keys for keys in source.keys(part) if len(keys)), pa.array([], pa.string()))


class BucketIndex(Index):
    """Finds file groups by hashes of keys; only the listing is read."""

    assigns_inserts: ClassVar[bool] = True

    def __init__(self, client: MetaClient, options: IndexOptions) -> None:
        super().__init__(client, options)
        stored = _rules_of_table(client, options)
        self._rules = stored or options.rules
        self._checks_number = stored is None and not options.consistent  # by options, which may be wrong
        self._file_ids: dict[tuple[str, int], str] = {}
        self._listed_partitions: set[str] = set()

    def plan_lookup(self, partitions: Sequence[str], executor: TaskExecutor) -> LookupPlan:
        """Plan no tasks: file groups follow from the keys and the listing."""
        del executor
        self.learn(partitions)
        return LookupPlan((), ToAll(0))

    def tag(self, keys: pa.Table, executor: TaskExecutor | None = None) -> pa.Table:
        """Tag records with the file groups of their buckets; nothing is looked up in files."""
        del executor
        return self.locate(keys.combine_chunks(), None)

    def learn(self, partitions: Sequence[str]) -> None:
        """Load the file groups of partitions, each once; copies of this index for other processes include them.

        The first time, where options tell the number of buckets, keys are read of one file group in some of the
        partitions: none of another bucket may be among them.

        Raises:
            UnsupportedTableError: as of :meth:`groups`, or a file group holds a key of another bucket.
            FileVanishedError, CorruptFileError: a file of a group cannot be read.
        """
        new = [path for path in partitions if path not in self._listed_partitions]
        if new:
            slices = self.slices(new)
            columns = [column.to_pylist() for column in self._groups_of(slices).columns]
            if self._checks_number and slices:
                self._checks_number = False
                self._refuse_other_numbers(slices)
            self._file_ids.update({(path, number): file_id for path, number, file_id in zip(*columns, strict=True)})
            self._listed_partitions.update(new)

    def start_anew(self, partitions: Sequence[str]) -> None:
        """Take partitions as empty, as they are to an overwrite: their buckets get new file groups."""
        emptied = set(partitions)
        self._file_ids = {pair: name for pair, name in self._file_ids.items() if pair[0] not in emptied}
        self._listed_partitions |= emptied

    def groups(self, partitions: Sequence[str]) -> pa.Table:
        """The file groups of partitions: ``partition``, ``bucket``, ``file_id``.

        Raises:
            UnsupportedTableError: a file group is of no bucket, or there are two of one.
        """
        return self._groups_of(self.slices(partitions))

    def _groups_of(self, slices: Sequence[Slice]) -> pa.Table:
        rows: dict[tuple[str, int], str] = {}
        for part in slices:
            match = _BUCKET_ID.fullmatch(part.file_id)
            number = -1 if match is None else int(match[1])
            count = self._buckets(part.partition)
            if not 0 <= number < count:
                raise UnsupportedTableError(
                    f"file group {part.file_id} in partition {part.partition!r} is of none of {count} buckets",
                    path=self.client.base_path,
                    remedy="give the index and the number of buckets that the table was written with",
                )
            other = rows.setdefault((part.partition, number), part.file_id)
            if other != part.file_id:
                raise UnsupportedTableError(
                    f"bucket {number} of partition {part.partition!r} has two file groups, {other} and {part.file_id}",
                    path=self.client.base_path,
                )
        schema = pa.schema([("partition", pa.string()), ("bucket", pa.int64()), ("file_id", pa.string())])
        return pa.table(
            [[path for path, _ in rows], [number for _, number in rows], list(rows.values())], schema=schema
        )

    def _refuse_other_numbers(self, slices: Sequence[Slice]) -> None:
        """Refuse numbers of buckets by which keys that are there would be looked for in other file groups."""
        smallest: dict[str, Slice] = {}
        for part in sorted(slices, key=lambda one: (one.base_file is None, one.size)):
            if part.base_file is not None or part.size <= _MOST_LOG_BYTES:
                smallest.setdefault(part.partition, part)
        source = KeySource.of(self.client)
        chosen = [smallest[path] for path in sorted(smallest)[:_MOST_READ]]
        reads = [partial(_first_keys, source, part) for part in chosen]
        for part, keys in zip(chosen, run_together(self.client.storage, reads), strict=True):
            count, own = self._buckets(part.partition), int(part.file_id[:8])
            numbers = bucket_numbers(keys, self.options.hash_fields, count, version=self.client.config.version)
            others = np.flatnonzero(numbers != own)
            if len(others):
                raise UnsupportedTableError(
                    f"file group {part.file_id} in partition {part.partition!r} holds the key {keys[int(others[0])]},"
                    f" which is in bucket {numbers[others[0]]} of {count}",
                    path=self.client.base_path,
                    remedy=f"give the number of buckets ({BUCKET_COUNT}) that the table was written with",
                )

    def locate(self, keys: pa.Table, hits: pa.Table | None = None) -> pa.Table:
        """The buckets and file groups of rows: a table of ``TAG_SCHEMA``.

        A row goes to the group of its bucket if there is one, be its key in it or not; else to one that is yet to be
        made, whose id is told in ``new_file_id``.
        """
        del hits
        if not keys.num_rows:
            return TAG_SCHEMA.empty_table()
        partitions = one_array(keys.column("partition"))
        encoded = partitions.dictionary_encode()
        paths, lines = encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
        counts = np.array([self._buckets(path) for path in paths], np.int64)
        numbers = bucket_numbers(
            one_array(keys.column("key")),
            self.options.hash_fields,
            counts[lines],
            version=self.client.config.version,
        )
        most = int(counts.max())
        distinct, at = np.unique(lines * most + numbers, return_inverse=True)
        self.learn(partitions_of(keys))
        file_ids = self._file_ids
        pairs = [(paths[place // most], place % most) for place in distinct.tolist()]
        there = pa.array([file_ids.get(pair) for pair in pairs], pa.string())
        made = pa.array([file_ids.get(pair) or self.new_file_id(*pair) for pair in pairs], pa.string())
        take = pa.array(at)
        group = there.take(take)
        current = pc.if_else(group.is_valid(), partitions, pa.scalar(None, pa.string()))
        columns = [one_array(keys.column("row")), partitions, group, current, group, made.take(take)]
        return pa.table(columns, schema=TAG_SCHEMA).sort_by("row")

    def _buckets(self, partition: str) -> int:
        return self.options.buckets if self._rules is None else self._rules.buckets(partition)

    def new_file_id(self, partition: str, bucket: int) -> str:
        """The id of a new file group of a bucket, which is the same in all processes that use this index."""
        text = f"{self.seed}:{partition}:{bucket}".encode()
        tail = hashlib.sha256(text).hexdigest()
        return f"{bucket:08d}-{tail[:4]}-4{tail[4:7]}-{'89ab'[int(tail[7], 16) % 4]}{tail[8:11]}-{tail[11:23]}-0"
