"""Makes the initial records of the metadata table's partitions from all committed files.

Files come from one walk over the folders; ranges and keys from reading the newest base files, file by file, by whatever
executor there is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MetadataTableError, UnknownColumnError
from hudi_hive.formats.base import COLUMN_RANGES_SCHEMA, WRAPPED, ColumnRanges
from hudi_hive.metadata.reader import (
    ALL_PARTITIONS,
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RANGES_SCHEMA,
    ROOT_PARTITION,
    MetadataChanges,
    MetadataTable,
    column_type,
    committed_files,
    last_write_time,
    partition_identifier,
)
from hudi_hive.metadata.writer import records
from hudi_hive.metadata.writer.blooms import FooterFilter, filter_records
from hudi_hive.metadata.writer.column_stats import data_files, statistics
from hudi_hive.metadata.writer.evolved_stats import EvolvedStatistics, ranges_of_now
from hudi_hive.metadata.writer.records import Records
from hudi_hive.metadata.writer.slice_keys import (
    ExchangingRunner,
    FileTask,
    MetadataTaskRunner,
    count_of,
    keys_of,
    log_timeline,
    run_tasks,
    tasks_of,
)
from hudi_hive.metadata.writer.stats_columns import FileColumn, IndexedColumn
from hudi_hive.options import write as declared
from hudi_hive.schema import InternalSchema, as_in_table
from hudi_hive.storage import Storage
from hudi_hive.table import FILES_SCHEMA, MetaClient
from hudi_hive.table.bootstrap import open_table_file
from hudi_hive.table.view import FileKind, list_folders, parse_file_names, walk
from hudi_hive.timeline.instants import instant_to_millis

_MOST_SHARES: Final = 10_000
"""Tasks in which the keys of all slices are read, at most."""
_RECORD_BYTES: Final = 48
_MOST_BYTES: Final = 1 << 30


def initial_records(
    client: MetaClient,
    partition: str,
    columns: Sequence[IndexedColumn],
    executor: MetadataTaskRunner | None,
    versions: Sequence[InternalSchema] = (),
) -> Records | None:
    """Make the initial records of a partition of the metadata table.

    Args:
        client: the data table, read under its lock.
        partition: the partition to be made.
        columns: columns that statistics are kept of.
        executor: runs the reading of files.
        versions: of the id-based schema, the newest first; none for a table without ids.

    Returns:
        The records; None for partition statistics that are not known in full.

    Raises:
        MetadataTableError: a record index of a table without record keys in its files.
    """
    if partition == FILES:
        return _file_records(client, executor)
    if partition in (COLUMN_STATS, PARTITION_STATS):
        return _stats_records(client, partition, columns, executor, versions)
    if partition == BLOOM_FILTERS:
        return _filter_records(client, executor)
    return records.join_records([part for _, part in _index_records(client, executor)])


@dataclass(frozen=True, slots=True)
class IndexShares:
    """The records of a new record index, made in tasks of many slices each; can be pickled.

    Attributes:
        shares: slices (``SLICE_SCHEMA``) of each task.
        keys: reads the keys of their files.
        count: keys of all.
    """

    shares: list[pa.Table]
    keys: SliceKeys
    count: int


@dataclass(frozen=True, slots=True)
class SliceKeys:
    """Reads the keys of slices; can be pickled."""

    storage: Storage
    timeline: Any
    timezone: str
    version: int

    def each(self, slices: pa.Table) -> Iterator[tuple[FileTask, str]]:
        """A task for each slice, and the slice's instant."""
        for row in slices.to_pylist():
            yield FileTask.of(self.storage, self.timeline, row), row["base_instant"]

    def count(self, slices: pa.Table) -> int:
        """The number of keys; of files without log files their footers tell it."""
        return sum(count_of(task) for task, _ in self.each(slices))

    def spread(self, groups: int, slices: pa.Table) -> list[tuple[int, Records]]:
        """The records of the slices in a record index, by the number of the file group that they go to."""
        parts = [_locations(task, keys_of(task), at, self.timezone, self.version) for task, at in self.each(slices)]
        return [*records.split_by_group(records.join_records(parts), groups)]


def index_shares(client: MetaClient, executor: ExchangingRunner) -> IndexShares:
    """What the tasks that make a record index of the whole table begin with; the keys are counted by tasks.

    Raises:
        MetadataTableError: the table has no record keys in its files.
    """
    slices = _indexed_slices(client, executor)
    rows = pa.array(np.arange(slices.num_rows))
    size = max(1, -(-len(rows) // _MOST_SHARES))
    # Taken, since a pickled slice of a table may hold all of it.
    shares = [slices.take(rows[at : at + size]) for at in range(0, len(rows), size)]
    keys = SliceKeys(client.storage, log_timeline(client), client.config.timezone, client.config.version)
    return IndexShares(shares, keys, sum(executor.map(keys.count, shares)))


def index_records_of_partitions(client: MetaClient, executor: MetadataTaskRunner | None) -> dict[str, Records]:
    """Make the initial records of a record index of each partition of the table, by their paths.

    Partitions without records are among them: Hudi takes the index of every partition for granted that the metadata
    table names.

    Raises:
        MetadataTableError: the table has no record keys in its files.
    """
    partitions, _ = listed_files(client, executor)
    if not client.timeline.write_instants():
        return {}
    parts: dict[str, list[Records]] = {path: [] for path in sorted(partitions)}
    for path, part in _index_records(client, executor):
        parts[path].append(part)
    return {path: records.join_records(some) for path, some in parts.items()}


def record_index_groups(count: int, options: Mapping[str, str], *, partitioned: bool = False) -> int:
    """The number of file groups of a new record index, by the number of existing records; it never changes.

    Source: ``HoodieTableMetadataUtil.estimateFileGroupCount``.

    Args:
        count: records now.
        options: Hudi's write options.
        partitioned: the index is that of one partition of the table.
    """
    bounds = (declared.RECORD_INDEX_MIN_GROUPS, declared.RECORD_INDEX_MAX_GROUPS)
    if partitioned:
        bounds = (declared.RECORD_LEVEL_INDEX_MIN_GROUPS, declared.RECORD_LEVEL_INDEX_MAX_GROUPS)
    least, most = (option.of(options) for option in bounds)
    expected = math.ceil(float(np.float32(count) * np.float32(declared.RECORD_INDEX_GROWTH.of(options))))
    in_each = max(1, declared.RECORD_INDEX_MAX_GROUP_SIZE.of(options) // _RECORD_BYTES)
    needed = expected // in_each
    return most if needed >= most else max(least, needed)


def listed_files(client: MetaClient, executor: MetadataTaskRunner | None) -> tuple[list[str], pa.Table]:
    """List the partitions and their committed files (``FILES_SCHEMA``), once for each client."""
    return client.memoize("committed_files", lambda: _listed_files(client, executor))


def _listed_files(client: MetaClient, executor: MetadataTaskRunner | None) -> tuple[list[str], pa.Table]:
    if not client.config.is_partitioned:
        return [""], committed_files(client, list_folders(client.storage, [""]).select(FILES_SCHEMA.names))
    # Where folders are only beginnings of names a whole table is listed in pages, which tasks would ask for again.
    run = executor.map if executor is not None and client.storage.has_folders else None
    partitions, files = walk(client.storage, [""], run)
    return partitions, committed_files(client, files.select(FILES_SCHEMA.names))


def _file_records(client: MetaClient, executor: MetadataTaskRunner | None) -> Records:
    version = client.config.version
    partitions, files = listed_files(client, executor)
    if not client.timeline.write_instants():
        partitions = []  # a table that was never written has no partition, not even the one of its base path
    if not partitions:
        return records.empty_list(ALL_PARTITIONS, records.ALL_PARTITIONS_TYPE, version)
    path = files.column("partition").combine_chunks()
    entries = records.file_lists(
        pc.if_else(pc.equal(path, ""), ROOT_PARTITION, path),
        files.column("name").combine_chunks(),
        files.column("size").combine_chunks(),
        pa.array(np.zeros(files.num_rows, np.bool_)),
        records.FILES_TYPE,
        version,
    )
    everything = records.file_lists(
        pa.array([ALL_PARTITIONS] * len(partitions), pa.string()),
        pa.array([partition_identifier(partition) for partition in partitions], pa.string()),
        pa.array(np.zeros(len(partitions), np.int64)),
        pa.array(np.zeros(len(partitions), np.bool_)),
        records.ALL_PARTITIONS_TYPE,
        version,
    )
    return records.join_records([everything, entries])


def _filter_records(client: MetaClient, executor: MetadataTaskRunner | None) -> Records:
    """Filters of all base files there are: Hudi's readers want one for each that a query of theirs may see."""

    def run(read: FooterFilter, paths: list[str]) -> list[tuple[str, bytes] | None]:
        return executor.map(read, paths) if executor is not None else [read(path) for path in paths]

    _, files = listed_files(client, executor)
    instant = last_write_time(client.timeline)
    return filter_records(client.storage, files, files.slice(0, 0), instant, client.config.version, run)


def _stats_records(
    client: MetaClient,
    partition: str,
    columns: Sequence[IndexedColumn],
    executor: MetadataTaskRunner | None,
    versions: Sequence[InternalSchema],
) -> Records | None:
    """Ranges of base files.

    They are those of the newest slices; log files have none, so that reading them is never left out. So there are none
    of partitions where the table has log files, or files of which no slice tells.
    """
    whole = partition == PARTITION_STATS
    if whole and _has_logs(_current_files(client)):
        return None
    _, files = listed_files(client, executor)
    if whole and _has_logs(files):
        return None
    view = client.file_system_view(files=files)
    slices = view.latest_merged_file_slices() if whole else view.latest_file_slices()
    slices = slices.filter(pc.is_valid(slices.column("base_file")))
    ranges = [RANGES_SCHEMA.empty_table()]
    for of_version, group in _by_version(client, columns, versions, slices):
        own = [column.then for column in of_version if column.then is not None]
        types = pa.schema([(column.name, column.type) for column in own]) if versions else client.schema()
        tables = _ranges(client, executor, tasks_of(client, group, tuple(column.name for column in own), types))
        of_group = ranges_of_now(pa.concat_tables([RANGES_SCHEMA.empty_table(), *tables]), of_version)
        ranges.append(of_group)
    version = client.config.version
    stats = statistics(MetadataChanges(files_added=_base_files(slices), ranges=pa.concat_tables(ranges)), columns)
    if not whole:
        return records.column_stats(stats.files, records.COLUMN_STATS_TYPE, version)
    in_slices = view.file_slices().column("base_file").drop_null()
    if len(in_slices) and not (stats.complete and data_files(files).num_rows == len(in_slices)):
        return None
    return records.column_stats(stats.partitions, records.PARTITION_STATS_TYPE, version)


def _by_version(
    client: MetaClient, columns: Sequence[IndexedColumn], versions: Sequence[InternalSchema], slices: pa.Table
) -> list[tuple[tuple[FileColumn, ...], pa.Table]]:
    """Slices with base files by what these call the columns."""
    if not slices.num_rows:
        return []
    if not versions:
        return [(tuple(FileColumn(column, column) for column in columns), slices)]
    instants = slices.column("base_instant").to_pylist()
    of_instants = EvolvedStatistics(client, columns, versions).file_columns(set(instants))
    groups: dict[tuple[FileColumn, ...], list[int]] = {}
    for row, instant in enumerate(instants):
        groups.setdefault(of_instants[instant], []).append(row)
    return [(of_version, slices.take(pa.array(rows))) for of_version, rows in groups.items()]


def _base_files(slices: pa.Table) -> pa.Table:
    zero = pa.array(np.zeros(slices.num_rows, np.int64))
    return pa.table([slices.column("partition"), slices.column("base_file"), zero], schema=FILES_SCHEMA)


def _ranges(client: MetaClient, executor: MetadataTaskRunner | None, tasks: Sequence[FileTask]) -> list[pa.Table]:
    """Ranges of base files; both partitions of statistics need them, and a file is read once for each client."""
    read: dict[tuple[str, str | None, tuple[str, ...]], pa.Table] = client.memoize("base_file_ranges", dict)
    names = [(task.partition, task.base_file, task.columns) for task in tasks]
    fresh = {name: task for name, task in zip(names, tasks, strict=True) if name not in read}
    read.update(zip(fresh, run_tasks(executor, _ranges_of, list(fresh.values())), strict=True))
    return [read[name] for name in names]


def _current_files(client: MetaClient) -> pa.Table:
    """Files by the metadata table, which is cheaper than a listing; none where it cannot be asked."""
    try:
        return MetadataTable.open(client).files_table()
    except MetadataTableError:
        return FILES_SCHEMA.empty_table()


def _has_logs(files: pa.Table) -> bool:
    kind = parse_file_names(files.column("name")).column("kind")
    return bool(pc.any(pc.equal(kind, FileKind.LOG.value), min_count=0).as_py())


def _ranges_of(task: FileTask) -> pa.Table:
    assert task.base_file is not None
    with open_table_file(task.storage, task.base_path) as file:
        roots = list(dict.fromkeys(_root(file.schema, name) for name in task.columns))
        present = [root for root in roots if root in file.schema.names]
        of_file = pa.schema([file.schema.field(root) for root in present])
        ranges = ColumnRanges(_shown(pa.RecordBatch.from_pylist([], of_file), task.schema).schema)
        rows = file.num_rows
        for batch in file.batches(present) if present else ():
            ranges.add(_shown(batch, task.schema))
        column_ranges = ranges.table()
        absent = [name for name in task.columns if not _has(file.schema, name)]
    nulls = pa.table(
        [
            pa.array(absent, pa.string()),
            pa.nulls(len(absent), WRAPPED),
            pa.nulls(len(absent), WRAPPED),
            *(pa.array([rows] * len(absent), pa.int64()) for _ in "vn"),
            *(pa.array([0] * len(absent), pa.int64()) for _ in "tu"),
        ],
        schema=COLUMN_RANGES_SCHEMA,
    )
    column_ranges = pa.concat_tables([column_ranges, nulls])
    for at, (name, text) in enumerate((("partition", task.partition), ("name", task.base_file))):
        column_ranges = column_ranges.add_column(at, name, pa.array([text] * column_ranges.num_rows, pa.string()))
    return column_ranges.cast(RANGES_SCHEMA)


def _shown(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rows of a file with timestamps of the table's types, in whose units their bounds are."""
    columns = [
        as_in_table(column, schema.field(name).type) if name in schema.names else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _root(schema: pa.Schema, name: str) -> str:
    return name if name in schema.names else name.split(".")[0]


def _has(schema: pa.Schema, name: str) -> bool:
    try:
        column_type(schema, name)
    except UnknownColumnError:
        return False
    return True


def _index_records(client: MetaClient, executor: MetadataTaskRunner | None) -> Iterator[tuple[str, Records]]:
    """Places of the records of each newest slice, with its partition.

    They are keys of base files and log files, less those deleted since.
    """
    config = client.config
    slices = _indexed_slices(client, executor)
    tasks = tasks_of(client, slices)
    for task, instant, keys in zip(
        tasks, slices.column("base_instant").to_pylist(), run_tasks(executor, keys_of, tasks), strict=True
    ):
        yield task.partition, _locations(task, keys, instant, config.timezone, config.version)


def _indexed_slices(client: MetaClient, executor: MetadataTaskRunner | None) -> pa.Table:
    """The slices whose records a record index has, a table of ``SLICE_SCHEMA``."""
    if not client.config.populate_meta_fields:
        raise MetadataTableError(
            "a record index needs record keys in the table's files",
            path=client.base_path,
            remedy="the table has hoodie.populate.meta.fields=false",
        )
    _, files = listed_files(client, executor)
    return client.file_system_view(files=files).latest_merged_file_slices()


def _locations(task: FileTask, keys: pa.Table, instant: str, timezone: str, version: int) -> Records:
    count = keys.num_rows
    key = keys.column("key").combine_chunks()
    partitions = pa.array([task.partition] * count, pa.string())
    ids = pa.array([task.file_id] * count, pa.string())
    millis = instant_to_millis(instant, timezone)
    key = pa.concat_arrays(key.chunks) if isinstance(key, pa.ChunkedArray) else key
    return records.record_locations(key, partitions, ids, millis, version)
