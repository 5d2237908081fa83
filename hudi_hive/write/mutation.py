"""Inserts, updates and deletes of records by key as one commit: every change is told apart, and none passes in silence.

An upsert takes rows as they come. Here an update or delete must find its record and an insert must not, as readers saw
the table when the write began; a change that the table's merge mode would drop is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import (
    DuplicateRecordError,
    MutationError,
    RecordPartitionError,
    StaleRecordError,
    UnknownRecordError,
    UnsupportedTableError,
    WriteError,
)
from hudi_hive.formats.orc_acid import DELETE, INSERT, UPDATE
from hudi_hive.read.merge_order import not_less, ordering_columns
from hudi_hive.table import MetaClient
from hudi_hive.table.merge_spec import MergeSpec, Order
from hudi_hive.write.config import WriteConfig
from hudi_hive.write.handles import Target
from hudi_hive.write.index import HITS_SCHEMA, Index
from hudi_hive.write.index.key_source import KeySource
from hudi_hive.write.index.live import existing_records
from hudi_hive.write.index.plan import shares
from hudi_hive.write.index.tables import joined_hits, one_array
from hudi_hive.write.index.tasks import SliceTask
from hudi_hive.write.job import PARTITION_PATH, RECORD_KEY
from hudi_hive.write.local import LocalWriter, WriteReport, newest_slices, refuse_clustered_groups
from hudi_hive.write.prepared import Prepared, physical_schema
from hudi_hive.write.statuses import joined
from hudi_hive.write.transaction import Transaction
from hudi_hive.write.work import DELETES_SCHEMA, PLACES_SCHEMA, Groups, Handle, knowing_versions, run_work

OPERATION: Final = "_hudi_hive_operation"
"""Column of changes that says what each of them is: 0 (insert), 1 (update) or 2 (delete)."""

_SEPARATOR: Final = "\x00"

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class MutationWriter(LocalWriter):
    """Writes changes of records to one table; arguments and errors as of :class:`LocalWriter`.

    Raises:
        UnsupportedTableError: the table is of a kind that is not written, or orders records by texts
            ``file.position``.
    """

    def __init__(self, client: MetaClient, options: dict[str, Any] | None = None, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(client, {**(options or {}), "hoodie.datasource.write.operation": "upsert"}, **settings)
        # A record is changed where it is: one that is given with another partition is refused, never moved.
        stays = replace(
            self.config.index,
            bloom_update_partition=False,
            simple_update_partition=False,
            record_index_update_partition=False,
        )
        self.config: WriteConfig = replace(self.config, index=stays)
        self._spec = MergeSpec.from_config(client.config)
        if self._spec.sequence:
            raise UnsupportedTableError(
                "mutations of a table that orders records by file positions are not supported",
                path=client.base_path,
                remedy="upsert the rows",
            )

    def transaction(self) -> Transaction:
        """A write that has not begun."""
        return self._transaction(self._action())

    def commit(self, transaction: Transaction, changes: pa.Table) -> WriteReport:
        """Locate the records, write files and complete the instant; table services are not run.

        Args:
            transaction: of this writer; it has begun. It is neither committed nor undone when an error is raised.
            changes: :data:`OPERATION`, record key and partition path of each change, then the table's columns, null in
                deletes.

        Raises:
            UnknownRecordError: an update or delete of a record that the table did not have when the write began.
            DuplicateRecordError: an insert of a record that it had, or two changes of one record.
            RecordPartitionError: a record that is in another partition (global indexes).
            StaleRecordError: a row that is older than the record by the table's ordering fields.
            MutationError: a row that is marked as deleted.
            WriteConflictError: another writer changed the same file groups and completed first.
        """
        client = transaction.client
        index = Index.of(self.config, client)
        found = _Located.of(self, client, index, changes)
        table = Prepared.of_table(client)
        dropped = client.config.partition_fields if client.config.drop_partition_columns else ()
        rows = changes.drop_columns([OPERATION]).combine_chunks()
        ready = replace(table, rows=rows, avro=physical_schema(table.avro, dropped))
        found.refuse_marked(ready)
        places, deletes, free = found.places(), found.deletes(), found.free()
        touched = pc.unique(rows.column(PARTITION_PATH)).to_pylist()
        slices = newest_slices(client, touched)
        given, taking = self._free_places(client, ready, free, slices)
        places = pa.concat_tables([places, given])
        refuse_clustered_groups(client, places, deletes)
        works = self._works(rows, places, deletes, taking, Groups.of(slices), index.places_inserts)
        merged: list[Target] = [work.target for work in works if work.handle is Handle.MERGE]
        job = knowing_versions(self._job(transaction, ready), client, merged)
        statuses = joined(self._executor.map(run_work, [(job, work) for work in works]))
        if not client.config.is_merge_on_read:
            _check_counts(client, transaction.instant, statuses, found.inserts, deletes.num_rows)
        return self._committed(transaction, statuses, ready.schema_text)

    def with_services(self, report: WriteReport) -> WriteReport:
        """The report of a commit with what the table services did that are due behind it."""
        return self._serviced(report)

    def locate(self, client: MetaClient, index: Index, keys: pa.Table) -> tuple[pa.Table, pa.Table]:
        """What the index says of keys.

        Args:
            client: the table.
            index: of the write.
            keys: ``key``, ``partition`` and ``row``, a number for each; no two are of one record.

        Returns:
            Where keys stand in files (``HITS_SCHEMA``), be their records deleted in a log file or not; and the rows
            with the file group that new ones must go to, which is null where any will do.
        """
        deleted = keys.append_column("deleted", pa.array(np.ones(keys.num_rows, np.bool_)))
        tags = index.tag(deleted, self._executor).combine_chunks()
        bound = tags.select(["row", "new_file_id"])
        if index.places_inserts:
            return self._hits_in_buckets(client, index, keys, tags), bound
        there = tags.filter(pc.is_valid(tags.column("current_file_id")))
        texts = one_array(keys.column("key")).take(there.column("row").combine_chunks())
        return pa.table([texts, there["current_partition"], there["current_file_id"]], schema=HITS_SCHEMA), bound

    def _hits_in_buckets(self, client: MetaClient, index: Index, keys: pa.Table, tags: pa.Table) -> pa.Table:
        """A bucket index tells groups without a look for the keys in them."""
        groups = set(zip(tags["current_partition"].to_pylist(), tags["current_file_id"].to_pylist(), strict=True))
        slices = [one for one in index.slices(_distinct(keys, "partition")) if (one.partition, one.file_id) in groups]
        source = KeySource.of(client)
        tasks = [(SliceTask(source, share), keys) for share in shares(slices)]
        return joined_hits(self._executor.map(_looked_up, tasks))


def _looked_up(job: tuple[SliceTask, pa.Table]) -> pa.Table:
    task, keys = job
    return task.lookup(keys)


def _distinct(table: pa.Table, column: str) -> list[str]:
    values: list[str] = pc.unique(table.column(column)).to_pylist()
    return values


@dataclass(frozen=True)
class _Located:
    """Changes and where their records are.

    Attributes:
        client: the table.
        operations: of each change.
        keys, paths: record key and partition path of each change.
        codes: number of each change's record.
        live: records as readers see them: ``code``, ``partition``, ``file_id``; several lines where a record stands in
            several groups.
        ghosts: records that log files have deleted, above a file that still has their keys; likewise.
        bound: of each record the file group that it must go to if it is new, or null.
    """

    client: MetaClient
    operations: npt.NDArray[np.int8]
    keys: pa.Array
    paths: pa.Array
    codes: Ints
    live: pa.Table
    ghosts: pa.Table
    bound: pa.Array

    @classmethod
    def of(cls, writer: MutationWriter, client: MetaClient, index: Index, changes: pa.Table) -> _Located:
        """Look all records up, and refuse changes that do not fit what is there."""
        operations = changes.column(OPERATION).to_numpy().astype(np.int8)
        keys, paths = (one_array(changes.column(name)) for name in (RECORD_KEY, PARTITION_PATH))
        records = _Records.of(keys, paths, is_global=index.is_global)
        _refuse_twice(client, operations, keys, paths, records)
        sought = pa.table(
            [keys.take(records.first), paths.take(records.first), pa.array(np.arange(len(records.first)))],
            names=["key", "partition", "row"],
        )
        hits, bound = writer.locate(client, index, sought)
        hits = records.numbered(hits)
        spec = MergeSpec.from_config(client.config)
        by_event = _by_event(client, spec)
        live = hits
        asked = client.config.is_merge_on_read or (by_event and bool((operations == UPDATE).any()))
        if asked and hits.num_rows:
            live = _as_readers_see(client, records, hits, spec.ordering_fields if by_event else ())
        ghosts = hits.filter(pc.invert(pc.is_in(hits.column("code"), value_set=one_array(live.column("code")))))
        free = np.full(len(records.first), None, object)
        free[bound.column("row").to_numpy()] = bound.column("new_file_id").to_numpy()
        bound_to = pa.array(free, pa.string())
        found = cls(client, operations, keys, paths, records.codes, live, ghosts, bound_to)
        found._check(is_global=index.is_global)
        if by_event:
            found._refuse_older(changes, spec.ordering_fields)
        if ghosts.num_rows and (by_event or spec.needs_ordering or spec.partial is not None):
            found._refuse_ghosts()
        return found

    # -- rules ------------------------------------------------------------------------------------------------------

    def _check(self, *, is_global: bool) -> None:
        """Updates and deletes find their record, inserts find none."""
        there = np.zeros(len(self.bound), np.bool_)
        there[self.live.column("code").to_numpy()] = True
        exists, inserts = there[self.codes], self.operations == INSERT
        self._refuse(
            UnknownRecordError, ~inserts & ~exists, "is not in the table", "read the table again: it may be deleted"
        )
        if is_global:
            first = np.zeros(len(self.bound), np.int64)
            first[self.live.column("code").to_numpy()] = np.arange(self.live.num_rows)
            home = one_array(self.live.column("partition")).take(pa.array(first[self.codes], mask=~exists))
            elsewhere = pc.fill_null(pc.not_equal(home, self.paths), False).to_numpy(zero_copy_only=False)
            self._refuse(
                RecordPartitionError,
                ~inserts & elsewhere,
                "is in another partition",
                "give the partition that it is in; to move it delete it there and insert it here",
            )
            leaving = np.zeros(len(self.bound), np.bool_)
            leaving[self.codes[self.operations == DELETE]] = True
            exists &= ~leaving[self.codes]
        self._refuse(DuplicateRecordError, inserts & exists, "is in the table already", "update it")

    def _refuse_older(self, changes: pa.Table, fields: Sequence[str]) -> None:
        """By event time a row that is older than the record would be dropped."""
        updates = self._lines(self.live, UPDATE)
        if not updates.num_rows:
            return
        mine = ordering_columns(changes.take(updates.column("row")), fields)
        theirs = ordering_columns(self.live.take(updates.column("line")), fields)
        older = np.zeros(len(self.codes), np.bool_)
        older[updates.column("row").to_numpy()] = ~not_less(mine, theirs, updates.num_rows)
        remedy = "give it the ordering value of the record, or a greater one"
        self._refuse(StaleRecordError, older, f"is older than the table's, by {', '.join(fields)}", remedy)

    def _refuse_ghosts(self) -> None:
        lost = np.zeros(len(self.codes), np.bool_)
        lost[self._lines(self.ghosts, INSERT).column("row").to_numpy()] = True
        self._refuse(
            StaleRecordError,
            lost,
            "is deleted in a log file: what stands below, or the delete itself, may win over a row that is inserted",
            "compact the table, then insert it",
        )

    def refuse_marked(self, ready: Prepared) -> None:
        """Rows that a column marks as deleted are deletes of another kind.

        Raises:
            MutationError: there is one.
        """
        marked = ready.marked().to_numpy(zero_copy_only=False) & (self.operations != DELETE)
        self._refuse(MutationError, marked, "is marked as deleted in the row that is to be written", "delete it")

    def _refuse(self, kind: type[MutationError], wrong: Flags, what: str, remedy: str) -> None:
        if not wrong.any():
            return
        at = int(np.argmax(wrong))
        name = ("insert", "update", "delete")[int(self.operations[at])]
        count = int(wrong.sum()) - 1
        more = f" (and {count} more)" if count else ""
        raise kind(
            f"{name} of record {self.keys[at].as_py()!r} of partition {self.paths[at].as_py()!r}{more}: it {what}",
            path=self.client.base_path,
            remedy=remedy,
        )

    # -- places -----------------------------------------------------------------------------------------------------

    @property
    def inserts(self) -> int:
        """Number of inserts."""
        return int((self.operations == INSERT).sum())

    def places(self) -> pa.Table:
        """Where rows go that may not go anywhere (``PLACES_SCHEMA``)."""
        told = _places(self.live, self._lines(self.live, UPDATE), new=False)
        ghosts = self._lines(self.ghosts, INSERT)
        first = np.unique(ghosts.column("row").to_numpy(), return_index=True)[1]
        again = _places(self.ghosts, ghosts.take(pa.array(first)), new=True)
        bound = np.flatnonzero(self._is_bound())
        groups = self.bound.take(pa.array(self.codes[bound]))
        columns = [pa.array(bound), self.paths.take(pa.array(bound)), groups, pa.repeat(True, len(bound))]
        return pa.concat_tables([told, again, pa.table(columns, schema=PLACES_SCHEMA)])

    def free(self) -> Ints:
        """Changes that insert records which any group may take."""
        return np.flatnonzero((self.operations == INSERT) & ~self._is_bound() & ~self._is_ghost()).astype(np.int64)

    def deletes(self) -> pa.Table:
        """Records to delete (``DELETES_SCHEMA``)."""
        lines = self._lines(self.live, DELETE)
        there = self.live.take(lines.column("line"))
        columns = [self.keys.take(one_array(lines.column("row"))), there["partition"], there["file_id"]]
        return pa.table(columns, schema=DELETES_SCHEMA)

    def _is_bound(self) -> Flags:
        bound = self.bound.is_valid().to_numpy(zero_copy_only=False)[self.codes]
        found: Flags = bound & (self.operations == INSERT) & ~self._is_ghost()
        return found

    def _is_ghost(self) -> Flags:
        ghost = np.zeros(len(self.bound), np.bool_)
        ghost[self.ghosts.column("code").to_numpy()] = True
        found: Flags = ghost[self.codes]
        return found

    def _lines(self, places: pa.Table, operation: int) -> pa.Table:
        """Changes of one kind and the lines of their records: ``row`` and ``line``."""
        rows = np.flatnonzero(self.operations == operation)
        row_of = np.full(len(self.bound), -1, np.int64)
        row_of[self.codes[rows]] = rows
        row = row_of[places.column("code").to_numpy()]
        return pa.table({"row": pa.array(row[row >= 0]), "line": pa.array(np.flatnonzero(row >= 0))})


@dataclass(frozen=True)
class _Records:
    """The distinct records of changes: what two changes of one record have in common.

    Attributes:
        texts: of each record, key and, unless the key stands for one record in the whole table, partition.
        codes: number of each change's record.
        first: of each record the first change.
    """

    texts: pa.Array
    codes: Ints
    first: pa.Array
    is_global: bool

    @classmethod
    def of(cls, keys: pa.Array, paths: pa.Array, *, is_global: bool) -> _Records:
        coded = _names(keys, paths, is_global).dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        first = np.unique(codes, return_index=True)[1]
        return cls(coded.dictionary, codes, pa.array(first), is_global)

    def numbered(self, hits: pa.Table) -> pa.Table:
        """Hits with the numbers of their records in a column ``code``; others are left out."""
        names = _names(one_array(hits.column("key")), one_array(hits.column("partition")), self.is_global)
        found = pc.index_in(names, value_set=self.texts)
        hits = hits.append_column("code", found.cast(pa.int64()))
        return hits.filter(found.is_valid()).combine_chunks()


def _names(keys: pa.Array, paths: pa.Array, is_global: bool) -> pa.Array:
    return keys if is_global else pc.binary_join_element_wise(paths, keys, _SEPARATOR)


def _refuse_twice(
    client: MetaClient, operations: npt.NDArray[np.int8], keys: pa.Array, paths: pa.Array, records: _Records
) -> None:
    """One change a record; but where a key stands for one record in the whole table, it may move."""
    counts = np.bincount(records.codes)
    twice = (counts > 1)[records.codes]
    if not twice.any():
        return
    if records.is_global:
        kinds = [np.bincount(records.codes[operations == kind], minlength=len(counts)) for kind in (INSERT, DELETE)]
        moves = (counts == 2) & (kinds[0] == 1) & (kinds[1] == 1)
        twice &= ~moves[records.codes]
        pairs = np.flatnonzero(moves[records.codes])
        order = pairs[np.argsort(records.codes[pairs], kind="stable")]
        same = pc.equal(paths.take(pa.array(order[::2])), paths.take(pa.array(order[1::2])))
        twice[order[::2][same.to_numpy(zero_copy_only=False)]] = True
        if not twice.any():
            return
    at = int(np.argmax(twice))
    raise DuplicateRecordError(
        f"record {keys[at].as_py()!r} of partition {paths[at].as_py()!r} is changed more than once",
        path=client.base_path,
        remedy="change a record once in a transaction, and count one attempt at each task",
    )


def _by_event(client: MetaClient, spec: MergeSpec) -> bool:
    """Whether a row may lose against the record that it is to replace."""
    orders = {spec.on_base, spec.in_log} if client.config.is_merge_on_read else {spec.on_base}
    return bool(spec.ordering_fields) and Order.EVENT_TIME in orders


def _as_readers_see(client: MetaClient, records: _Records, hits: pa.Table, ordering: Sequence[str]) -> pa.Table:
    """Records of hits that are not deleted, with their ordering values."""
    if not client.config.populate_meta_fields:
        raise UnsupportedTableError(
            "mutations of a merge-on-read table, or of one ordered by events, need its meta columns",
            path=client.base_path,
            remedy="upsert and delete the rows",
        )
    keys = pc.unique(one_array(hits.column("key")))
    found = existing_records(client, keys, _distinct(hits, "partition"), ordering)
    return records.numbered(found)


def _places(there: pa.Table, lines: pa.Table, *, new: bool) -> pa.Table:
    chosen = there.take(lines.column("line"))
    columns = [lines.column("row"), chosen["partition"], chosen["file_id"], pa.repeat(new, lines.num_rows)]
    return pa.table(columns, schema=PLACES_SCHEMA)


def _check_counts(client: MetaClient, instant: str, statuses: pa.Table, inserts: int, deletes: int) -> None:
    """What the merge of base files met must be what the index had told."""
    met = [int(pc.sum(statuses.column(name)).as_py() or 0) for name in ("num_inserts", "num_deletes")]
    if met != [inserts, deletes]:
        raise WriteError(
            f"{met[0]} records were new and {met[1]} deleted, not {inserts} and {deletes}: the index is wrong",
            path=client.base_path,
            instant=instant,
            remedy="use another index (hoodie.index.type=SIMPLE)",
        )
