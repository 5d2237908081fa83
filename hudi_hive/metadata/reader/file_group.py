"""Reads a file group of the metadata table: its base HFile and valid log blocks, as keys and values.

Log files are read once and kept; of the base file only the blocks that hold sought keys are read, or all at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.caching import cached_property
from hudi_hive.errors import CorruptFileError, FileVanishedError, PathNotFoundError
from hudi_hive.formats.avro import decode_records
from hudi_hive.formats.hfile import HFileReader
from hudi_hive.metadata.reader.instants import ValidInstants
from hudi_hive.storage import Storage
from hudi_hive.table.logs import BlockRange, LogData, LogRecords, scan_logs

_WHOLE_FILE_BYTES: Final = 4 << 20
"""Base files up to this size are read in one go: seeking in them costs more than it saves."""

_WHOLE_LIST_BYTES: Final = 16 << 20
"""The same for the partition ``files`` on a remote store."""

_FILES: Final = "files"
_FILES_FIELD: Final = "filesystemMetadata"
"""The partition of file lists, and the field that each of its records has."""


@dataclass(frozen=True, slots=True)
class BlockRecords:
    """Keys and values of the records of one base file or log block.

    Args:
        order: place of the file or block: greater is newer.
        keys: record keys.
        values: the requested field of each record, an Arrow array of its own type; undecoded records as binaries.
        schema: Avro schema that the values were written with.
    """

    order: int
    keys: pa.Array
    values: pa.Array
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GroupRecords:
    """Records of the requested keys in the files of a slice, oldest first, and the deleted keys."""

    payloads: tuple[BlockRecords, ...] = ()
    deletes: tuple[tuple[int, pa.Array], ...] = ()


class FileGroup:
    """The newest slice of a file group of the metadata table.

    Args:
        storage: rooted at the metadata table's base path.
        partition: partition of the metadata table.
        slice_row: one row of ``SLICE_SCHEMA``, as a dict.
        valid: instants whose log blocks count.

    Attributes:
        file_id: id of the file group.
        base_instant: instant of its base file, or of its first log file.
        base_file: name of its base file, or None.
    """

    def __init__(self, storage: Storage, partition: str, slice_row: Mapping[str, Any], valid: ValidInstants) -> None:
        self._storage = storage
        self._partition = partition
        self._valid = valid
        self.file_id: str = slice_row["file_id"]
        self.base_instant: str = slice_row["base_instant"]
        self.base_file: str | None = slice_row["base_file"]
        self._base_size: int = slice_row["base_size"] or 0
        self._log_files: list[str] = slice_row["log_files"]

    def __getstate__(self) -> dict[str, Any]:
        # Copied first: what another thread reads meanwhile is put among them.
        return {name: value for name, value in self.__dict__.copy().items() if name not in ("_base", "_logs")}

    @cached_property
    def _base(self) -> HFileReader | None:
        if self.base_file is None:
            return None
        path = f"{self._partition}/{self.base_file}"
        try:
            # Of the lists of files most plans need all, and a remote store gives them sooner than three parts in turn.
            listed_remotely = self._partition == _FILES and not self._storage.is_local
            if self._base_size <= (_WHOLE_LIST_BYTES if listed_remotely else _WHOLE_FILE_BYTES):
                return HFileReader(self._storage.read_bytes(path), self._storage.uri(path))
            return HFileReader(self._storage.open_input(path, self._base_size), self._storage.uri(path))
        except PathNotFoundError as error:
            raise FileVanishedError(
                "a file of the metadata table is gone", path=self._storage.uri(path), remedy="ask again"
            ) from error

    @cached_property
    def _logs(self) -> LogRecords:
        log_records = scan_logs(
            self._storage, self._partition, self._log_files, blocks=BlockRange(instants=self._valid)
        )
        if log_records.corrupt:
            # It may be what a dead writer left, or a commit's files: those would be hidden, so nothing is believed.
            raise CorruptFileError(
                f"{log_records.corrupt} corrupt block(s) in the log files of the metadata table",
                path=self._storage.uri(f"{self._partition}/{self._log_files[0]}"),
            )
        self._refuse_foreign_blocks(log_records)
        return log_records

    def _refuse_foreign_blocks(self, log_records: LogRecords) -> None:
        """Refuse log files whose blocks are those of another file: what they should hold is missing then.

        From version 8 on, the name of a log file carries the time of the blocks in it; records of the ``files``
        partition, which decide over rows, name files. Commits of the metadata table are read only where a write has
        no block, a log file has none of records, or an instant has blocks in two of them.

        Raises:
            CorruptFileError: a block is missing in its file, or holds records of another partition.
        """
        blocks_seen = log_records.seen  # with the blocks that a log compaction or a later copy stands for
        for name in self._log_files:
            instant = name.partition(".log.")[0].rpartition("_")[2]
            if instant != self.base_instant and instant in self._valid and (name, instant) not in blocks_seen:
                raise CorruptFileError(
                    f"the log file of the metadata table holds no block of {instant}",
                    path=self._storage.uri(f"{self._partition}/{name}"),
                    instant=instant,
                )
        if self._partition == _FILES:
            self._refuse_records_of_other_partitions(log_records)
        files, instants = {name for name, _ in blocks_seen}, {instant for _, instant in blocks_seen}
        odd = [name for name in self._log_files if name not in files] or _of_one_instant(blocks_seen)
        missing: Collection[str] = ()
        if self._partition == _FILES:
            # A write puts a record there, unless it changed no file (a change of the schema, an empty commit).
            silent = self._valid.writes_after(self.base_instant) - instants
            missing = self._valid.wrote_to(self._partition, self.file_id, silent) if silent else ()
        if not missing and odd:
            missing = self._valid.unread_commits(self._partition, self.file_id, self.base_instant, instants)
        if missing:
            place = f"; another file may stand in the place of {' or '.join(odd)}" if odd else ""
            raise CorruptFileError(
                f"the log files hold no block of a completed write{place}",
                path=self._storage.uri(f"{self._partition}/{(odd or self._log_files or [''])[-1]}"),
                instant=min(missing),
            )

    @staticmethod
    def _refuse_records_of_other_partitions(log_records: LogRecords) -> None:
        for block in log_records.data:
            first = block.batch.slice(0, 1)
            part = _decode(0, first.column("key"), first.column("value"), block.schema, _FILES_FIELD)
            if first.num_rows and (not len(part.values) or part.values.null_count):
                raise CorruptFileError("the log file holds records of another partition", path=block.path)

    @property
    def base_entries(self) -> int:
        """Number of the records in its base file."""
        return 0 if self._base is None else self._base.num_entries

    def fetch_base(self) -> None:
        """Read the base file, or its end if it is large; later calls have it then."""
        _ = self._base

    def fetch_logs(self) -> None:
        """Read the log files; later calls have them then."""
        _ = self._logs

    def scan(self, field: str) -> GroupRecords:
        """Read the values of a field of all records."""
        return self._find(field, lambda base: base.scan(), None)

    def lookup(self, field: str, keys: Sequence[str] | pa.Array) -> GroupRecords:
        """Read the values of a field of the records with the given keys."""
        sought = keys if isinstance(keys, pa.Array) else pa.array(keys, pa.string())
        return self._find(field, lambda base: base.lookup(sought), lambda present: pc.is_in(present, value_set=sought))

    def scan_prefixes(self, field: str, prefixes: Sequence[str]) -> GroupRecords:
        """Read the values of a field of records whose keys begin with one of the prefixes, all of one length."""
        sought = pa.array(sorted(set(prefixes)), pa.string())
        lengths = {len(prefix) for prefix in prefixes}

        def fits(keys: pa.Array) -> pa.Array:
            mask = pa.array(np.zeros(len(keys), np.bool_))
            for length in lengths:
                head = pc.utf8_slice_codeunits(keys, 0, length)
                mask = pc.or_(mask, pc.is_in(head, value_set=sought))
            return mask

        return self._find(field, lambda base: base.scan_prefixes(sorted(set(prefixes))), fits)

    def undecoded(self) -> GroupRecords:
        """Read all records as Avro binaries, and the deleted keys."""
        payloads: list[BlockRecords] = []
        deletes: list[tuple[int, pa.Array]] = []
        if self._base is not None and self._base.num_entries:
            table = self._base.scan()
            schema = _schema(self._base.schema, self._storage.uri(f"{self._partition}/{self.base_file}"))
            keys, values = _one_array(table.column("key")).cast(pa.string()), _one_array(table.column("value"))
            payloads.append(BlockRecords(0, keys, values, schema))
        for order, block in enumerate(self._logs.blocks, start=1):
            if isinstance(block, LogData):
                keys, values = block.batch.column("key"), block.batch.column("value")
                payloads.append(
                    BlockRecords(order, _one_array(keys).cast(pa.string()), _one_array(values), block.schema)
                )
            else:
                deletes.append((order, _one_array(block.table.column("record_key")).cast(pa.string())))
        return GroupRecords(tuple(payloads), tuple(deletes))

    def _find(
        self, field: str, of_base: Callable[[HFileReader], pa.Table], fits: Callable[[pa.Array], pa.Array] | None
    ) -> GroupRecords:
        payloads: list[BlockRecords] = []
        deletes: list[tuple[int, pa.Array]] = []
        if self._base is not None and self._base.num_entries:
            table = of_base(self._base)
            if table.num_rows:
                schema = _schema(self._base.schema, self._storage.uri(f"{self._partition}/{self.base_file}"))
                base_keys, base_values = _one_array(table.column("key")), _one_array(table.column("value"))
                payloads.append(_decode(0, base_keys, base_values, schema, field))
        for order, block in enumerate(self._logs.blocks, start=1):
            column = block.batch.column("key") if isinstance(block, LogData) else block.table.column("record_key")
            keys = _one_array(column).cast(pa.string())
            mask = fits(keys) if fits is not None else None
            keys = keys if mask is None else keys.filter(mask)
            if not len(keys):
                continue
            if isinstance(block, LogData):
                values = block.batch.column("value")
                values = values if mask is None else values.filter(mask)
                payloads.append(_decode(order, keys, values, block.schema, field))
            else:
                deletes.append((order, keys))
        return GroupRecords(tuple(payloads), tuple(deletes))


def _decode(order: int, keys: pa.Array, values: pa.Array, schema: Mapping[str, Any], field: str) -> BlockRecords:
    keys, values = keys.cast(pa.string()), values.cast(pa.binary())
    if not any(entry["name"] == field for entry in schema["fields"]):
        return BlockRecords(order, keys.slice(0, 0), pa.nulls(0), schema)
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    data = values.buffers()[2]
    batch = decode_records(
        memoryview(data) if data is not None else b"",
        offsets[:-1].astype(np.int64),
        offsets[1:].astype(np.int64),
        schema,
        columns=[field],
    )
    return BlockRecords(order, keys, batch.column(0), schema)


def _schema(schema: object, path: str) -> Mapping[str, Any]:
    if isinstance(schema, Mapping):
        return schema
    try:
        return _parsed(str(schema))
    except (ValueError, RecursionError) as error:
        raise CorruptFileError("the schema of a metadata file is not JSON", path=path) from error


@lru_cache(maxsize=16)
def _parsed(text: str) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = json.loads(text)
    return schema


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column


def _of_one_instant(held: Iterable[tuple[str, str | None]]) -> list[str]:
    """Sorted names of files that have an instant in common, of pairs of a file and an instant."""
    files: dict[str | None, list[str]] = {}
    for name, instant in held:
        files.setdefault(instant, []).append(name)
    return sorted({name for names in files.values() if len(names) > 1 for name in names})
