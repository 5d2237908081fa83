"""Reads planned base files as batches of the table's schema, several at a time, in the order of the plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, PredicateError, SchemaError, unknown_column
from hudi_hive.formats.base import BATCH_ROWS, BaseFile, decoding, empty_columns, select
from hudi_hive.names import COMMIT_TIME_COLUMN
from hudi_hive.predicate import ColumnRef, In, Node, RowFilter, conjunction
from hudi_hive.progress import tracked
from hudi_hive.read.columns import BY_NAME, ColumnMapping, Reconciler, file_conditions, may_pass
from hudi_hive.read.scan.ordered import counted, in_order
from hudi_hive.storage import Storage
from hudi_hive.table.bootstrap import open_table_file
from hudi_hive.table.core import refuse_damaged_names, refuse_rows_of_others

COMMIT_TIME: Final = COMMIT_TIME_COLUMN

_LOCAL_THREADS: Final = 4
"""Local files read at the same time unless the caller says otherwise."""

_REMOTE_THREADS: Final = 48
"""Small files of a remote store read at the same time unless the caller says otherwise: most of them are waited for."""

_REMOTE_BYTES: Final = 256 << 20
"""Bytes of remote files read at the same time, if that is more files than local ones."""

_SMALL_BATCH: Final = 8_192
"""Batches of fewer rows are joined with those of the files after them before they are filtered."""

_GATHERED: Final = 65_536
"""Rows to join small batches to."""

_SMALL_FILE: Final = 1 << 18
"""Mean size in bytes up to which local files are read one after the other."""

_MOST_ALIKE: Final = 64
"""Kinds of files of one version that are remembered."""

MappingOf = Callable[[str], ColumnMapping | None]
"""Path of a file → which of its columns is which; None: by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseScan:
    """What a scan of base files returns, and how their columns become the table's.

    Attributes:
        target_schema: the table's schema, with the meta columns and partition columns to show.
        columns: columns to return, in this order; None for all. An empty list gives batches that only have a number of
            rows (``count``).
        row_filter: bound to ``target_schema``; only rows for which it is TRUE come out.
        skip_filter: likewise; rows that cannot pass it may be left out by the file's statistics, and no others are.
        partition_columns: a row per scanned file, columns named as in ``target_schema``: typed values told by the
            partition path. They stand in for columns that a file does not have.
        partition_values_from_path: they replace columns that a file has, too.
        partition_fields: columns that are never just missing: with neither the file nor ``partition_columns`` telling
            their value, the file is refused.
        commit_times: return only rows whose ``_hoodie_commit_time`` is one of these (incremental queries).
        limit: stop after so many rows.
        mapping_of: tells renamed columns of a file.
    """

    target_schema: pa.Schema
    columns: Sequence[str] | None = None
    row_filter: RowFilter | None = None
    skip_filter: RowFilter | None = None
    partition_columns: pa.Table | None = None
    partition_values_from_path: bool = False
    partition_fields: Sequence[str] = ()
    commit_times: pa.Array | None = None
    limit: int | None = None
    mapping_of: MappingOf | None = None


def read_base_files(
    storage: Storage,
    files: pa.Table,
    scan: BaseScan,
    *,
    batch_size: int = BATCH_ROWS,
    threads: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of base files, in the order of ``files`` and of the rows in each.

    Args:
        storage: rooted at the table's base path.
        files: columns ``partition`` and ``name``; ``start`` and ``length`` (bytes) too if only a part of each file is
            read; ``size`` (bytes of the whole file, null: unknown), which is then checked. More columns do not matter.
        scan: what to return of them.
        batch_size: greatest number of rows of a batch.
        threads: files read at the same time; as many as suit the store and their sizes without it.

    Yields:
        Batches with the schema of :func:`output_schema`, none of them empty.

    Raises:
        UnknownColumnError: the scan names a column that its ``target_schema`` does not have. (At the first batch, as
            all.)
        FileVanishedError: a file is not there any more.
        CorruptFileError: a file cannot be decoded.
        SchemaError: a file's columns cannot become the table's.
    """
    steps = _scan(scan, output_schema(scan.target_schema, scan.columns))
    limit = scan.limit
    if (scan.commit_times is not None and len(scan.commit_times) == 0) or (limit is not None and limit <= 0):
        return
    mean = pc.mean(files.column("size")).as_py() if "size" in files.column_names else None
    threads = files_at_once(storage, mean, threads)
    if storage.is_local and _are_small(files):
        threads = 1
    readers = _readers(storage, files, scan, steps, batch_size, threads)
    with tracked("reading base files", files.num_rows) as progress:
        batches = in_order((counted(reader.batches, progress) for reader in readers), threads)
        try:
            # Without a filter every row counts, so that more than the limit need not be gathered.
            gather = _GATHERED if limit is None or steps.row_filter is not None else min(limit, _GATHERED)
            yield from limited(_gathered(batches, steps, gather), limit)
        finally:
            batches.close()


def row_groups(storage: Storage, files: pa.Table, scan: BaseScan) -> list[tuple[int, int]]:
    """Count for each file its row groups, and those that :func:`read_base_files` would read, by the footers alone.

    Arguments and errors are those of :func:`read_base_files`; the scan's columns and limit do not count.
    """
    steps = _scan(scan, output_schema(scan.target_schema, []))
    return [reader.groups() for reader in _readers(storage, files, scan, steps, BATCH_ROWS, 1)]


def files_at_once(storage: Storage, mean: float | None, threads: int | None) -> int:
    """The number of files, or slices, to read at the same time.

    Args:
        storage: where they are.
        mean: bytes of one of them on average; None if that is not known.
        threads: what the caller says; None to choose.
    """
    if storage.is_local:  # nothing to wait for: more files at a time than processors only take memory
        return min(_LOCAL_THREADS if threads is None else threads, pa.cpu_count())
    if threads is not None:
        return threads
    if mean is None:
        return _LOCAL_THREADS
    return int(min(_REMOTE_THREADS, max(_LOCAL_THREADS, _REMOTE_BYTES / max(mean, 1))))


def _are_small(files: pa.Table) -> bool:
    """Whether reading a local file costs less than handing its rows from thread to thread."""
    if "size" not in files.column_names or not files.num_rows:
        return False
    return bool((pc.mean(files.column("size")).as_py() or 0) < _SMALL_FILE)


def _gathered(batches: Iterator[_Read], scan: _Scan, rows: int) -> Iterator[pa.RecordBatch]:
    """Small batches of successive files joined to ones of about ``rows`` rows and filtered; large ones as they are."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for filtered, batch in batches:
        if not filtered:
            waiting.append(batch)
            count += batch.num_rows
        if waiting and (filtered or count >= rows):
            yield from scan.finish(_joined(waiting))
            waiting, count = [], 0
        if filtered:
            yield batch
    if waiting:
        yield from scan.finish(_joined(waiting))


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    if not batches[0].num_columns:
        return empty_columns(sum(batch.num_rows for batch in batches))
    return pa.concat_batches(batches)


def limited(batches: Iterator[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    """Yield the first ``limit`` rows of batches, or all of them; no further batch is read."""
    if limit is None:
        yield from batches
        return
    if limit <= 0:
        return
    for batch in batches:
        batch = batch.slice(0, limit) if batch.num_columns else empty_columns(min(limit, batch.num_rows))
        limit -= batch.num_rows
        yield batch
        if limit == 0:
            return


def output_schema(target_schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    """The schema of the batches of :func:`read_base_files` for a projection.

    Raises:
        UnknownColumnError: a column that the schema does not have, or that is there several times.
        InvalidOptionError: a column is asked for twice.
    """
    if columns is None:
        return target_schema
    fields: dict[int, pa.Field] = {}
    for name in columns:
        index = target_schema.get_field_index(name)
        if index < 0:
            same = [i for i, other in enumerate(target_schema.names) if other.lower() == name.lower()]
            if len(same) != 1:
                raise unknown_column(name, target_schema.names)
            index = same[0]
        if index in fields:
            raise InvalidOptionError(f"column {name!r} is asked for twice")
        fields[index] = target_schema.field(index)
    return pa.schema(list(fields.values()), metadata=target_schema.metadata)


@dataclass(frozen=True, slots=True)
class _Alike:
    """What is the same for the files of a scan that have the same columns of the same version.

    ``constant_columns`` are columns whose values come from the partition path, ``conditions`` what the filter asks of
    the file's own columns, ``columns`` those to read.
    """

    mapping: ColumnMapping
    schema: pa.Schema
    reconciler: Reconciler
    constant_columns: frozenset[str]
    conditions: tuple[Node, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Scan:
    """What is the same for all files of a scan.

    ``needed`` are the output columns, then those that only the filter reads.
    """

    needed: pa.Schema
    output: pa.Schema
    row_filter: RowFilter | None
    path_columns: frozenset[str]
    from_path: bool
    commit_times: pa.Array | None
    partition_fields: frozenset[str] = frozenset()
    skip_filter: RowFilter | None = None
    target_schema: pa.Schema | None = None
    alike: dict[int, list[_Alike]] = field(default_factory=dict, compare=False, repr=False)

    def of_file(self, file: BaseFile, mapping: ColumnMapping, constant_columns: Collection[str]) -> _Alike:
        """How a file of the scan is read; worked out once for files with the same columns of one version."""
        same_version = self.alike.setdefault(id(mapping), [])
        for alike in same_version:
            if alike.mapping is mapping and alike.schema.equals(file.schema):
                return replace(alike, reconciler=alike.reconciler.for_file(file.path))
        refuse_damaged_names(file)
        with decoding(file.path):  # names in a damaged footer need not be text
            reconciler = Reconciler(file.schema, self.needed, mapping, file.path)
        sources = reconciler.sources
        if not self.from_path:
            constant_columns = [name for name in constant_columns if sources[name] is None]
        conditions: list[Node] = []
        if self.row_filter is not None:
            conditions = file_conditions(self.row_filter, file.schema, reconciler, constant_columns=constant_columns)
        conditions += self._skip_conditions(file, mapping)
        columns = list(
            dict.fromkeys(source for name, source in sources.items() if source and name not in constant_columns)
        )
        alike = _Alike(mapping, file.schema, reconciler, frozenset(constant_columns), tuple(conditions), tuple(columns))
        if len(same_version) < _MOST_ALIKE:
            same_version.append(alike)
        return alike

    def _skip_conditions(self, file: BaseFile, mapping: ColumnMapping) -> list[Node]:
        """What the filter that only leaves out row groups asks of a file, whose columns need not be read for it."""
        if self.skip_filter is None or self.target_schema is None:
            return []
        fields = [self.target_schema.field(name) for name in self.skip_filter.columns]
        with decoding(file.path):
            reconciler = Reconciler(file.schema, pa.schema(fields), mapping, file.path)
        constants = [
            field.name
            for field in fields
            if (self.from_path and field.name in self.path_columns)
            or (reconciler.sources[field.name] is None and field.name in self.path_columns | self.partition_fields)
        ]
        return file_conditions(self.skip_filter, file.schema, reconciler, constant_columns=constants)

    def finish(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Rows that pass the filter, with the output columns; nothing if there are none."""
        if self.row_filter is not None:
            batch = batch.filter(self.row_filter.evaluate(batch))
        if batch.num_rows:
            yield batch if self.needed is self.output else select(batch, self.output.names)


def _scan(scan: BaseScan, output: pa.Schema) -> _Scan:
    row_filter = scan.row_filter
    if row_filter is not None and row_filter.is_trivial:
        row_filter = None
    extra = [] if row_filter is None else [name for name in row_filter.columns if name not in output.names]
    for name in extra:
        if scan.target_schema.get_field_index(name) < 0:
            raise PredicateError(f"row filter was made for another schema: no column {name!r}")
    needed = output
    if extra:
        fields = [*output, *(scan.target_schema.field(name) for name in extra)]
        needed = pa.schema(fields, metadata=output.metadata)
    return _Scan(
        needed,
        output,
        row_filter,
        frozenset(scan.partition_columns.column_names if scan.partition_columns is not None else ()),
        scan.partition_values_from_path,
        scan.commit_times,
        frozenset(scan.partition_fields),
        scan.skip_filter,
        scan.target_schema,
    )


_Read = tuple[bool, pa.RecordBatch]
"""Whether a batch was filtered, and the batch."""


def _readers(
    storage: Storage, files: pa.Table, scan: BaseScan, steps: _Scan, batch_size: int, threads: int
) -> Iterator[_FileReader]:
    partitions, names = files.column("partition").to_pylist(), files.column("name").to_pylist()
    parts: list[tuple[int, int] | None] = [None] * len(names)
    if "start" in files.column_names:
        parts = list(zip(files.column("start").to_pylist(), files.column("length").to_pylist(), strict=True))
    sizes: list[int | None] = [None] * len(names)
    if "size" in files.column_names:
        sizes = files.column("size").to_pylist()
    # With many files the work is parallel already; few large ones are decoded by several threads each.
    use_threads = 1 < threads > len(names)
    for row, (partition, name, part, size) in enumerate(zip(partitions, names, parts, sizes, strict=True)):
        path = f"{partition}/{name}" if partition else name
        constants: dict[str, pa.Scalar] = {}
        if scan.partition_columns is not None:
            constants = {
                column: scan.partition_columns.column(column)[row].cast(steps.needed.field(column).type)
                for column in steps.path_columns
                if column in steps.needed.names
            }
        mapping = (scan.mapping_of(path) if scan.mapping_of is not None else None) or BY_NAME
        yield _FileReader(storage, path, size, part, steps, constants, mapping, batch_size, use_threads)


@dataclass(frozen=True, slots=True)
class _FileReader:
    storage: Storage
    path: str
    size: int | None
    part: tuple[int, int] | None
    scan: _Scan
    constants: Mapping[str, pa.Scalar]
    mapping: ColumnMapping
    batch_size: int
    use_threads: bool

    def groups(self) -> tuple[int, int]:
        """Row groups of the file, and those that are read."""
        with open_table_file(self.storage, self.path, size=self.size) as file:
            alike = self.scan.of_file(file, self.mapping, self.constants)
            skip = self._skip(file, alike.conditions, self._commit_column(file))
            total, left = file.groups(skip)
            return total, left if skip is None or may_pass(skip) else 0

    def batches(self) -> Iterator[_Read]:
        with open_table_file(self.storage, self.path, size=self.size) as file:
            alike = self.scan.of_file(file, self.mapping, self.constants)
            reconciler, columns = alike.reconciler, list(alike.columns)
            constants = {name: value for name, value in self.constants.items() if name in alike.constant_columns}
            self._refuse_missing_partition_columns(reconciler, constants)
            commit_column = self._commit_column(file)
            skip = self._skip(file, alike.conditions, commit_column)
            if skip is not None and not may_pass(skip):
                return
            if commit_column is not None and commit_column not in columns:
                columns.append(commit_column)
            read = partial(
                file.batches,
                columns,
                skip=skip,
                byte_range=self.part,
                batch_size=self.batch_size,
                use_threads=self.use_threads,
            )
            for number, batch in enumerate(read()):
                if not number:
                    refuse_rows_of_others(file, batch)
                if commit_column is not None and self.scan.commit_times is not None:
                    batch = batch.filter(pc.is_in(batch.column(commit_column), value_set=self.scan.commit_times))
                if not batch.num_rows:
                    continue
                batch = reconciler.apply(batch, constants)
                if batch.num_rows < _SMALL_BATCH:
                    yield False, batch
                else:
                    yield from ((True, finished) for finished in self.scan.finish(batch))

    def _refuse_missing_partition_columns(self, reconciler: Reconciler, constants: Mapping[str, pa.Scalar]) -> None:
        """Refuse a partition column of which nothing tells the value: null would be a wrong one."""
        for name, source in reconciler.sources.items():
            if source is None and name in self.scan.partition_fields and name not in constants:
                raise SchemaError(
                    f"partition column {name!r} is not in the file, and the partition path does not tell its value",
                    path=self.storage.uri(self.path),
                    remedy="the column's type must fit the partition paths, or the file must be written again",
                )

    def _commit_column(self, file: BaseFile) -> str | None:
        if self.scan.commit_times is None:
            return None
        if file.schema.get_field_index(COMMIT_TIME) < 0:
            raise SchemaError(f"incremental read of a file without {COMMIT_TIME!r}", path=file.path)
        return COMMIT_TIME

    def _skip(self, file: BaseFile, conditions: Sequence[Node], commit_column: str | None) -> RowFilter | None:
        """The part of the filter that the file's own columns can speak about, in its names and types."""
        parts = list(conditions)
        if commit_column is not None and self.scan.commit_times is not None:
            column = ColumnRef((commit_column,), file.schema.field(commit_column).type)
            parts.append(In(column, self.scan.commit_times))
        return RowFilter(conjunction(parts), file.schema) if parts else None
