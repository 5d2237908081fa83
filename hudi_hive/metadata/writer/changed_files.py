"""What an action changes: records of ``files`` and ``record_index`` for what it adds and takes away, and slices."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.batches import rows_by_text
from hudi_hive.metadata.reader import (
    ALL_PARTITIONS,
    COLUMN_STATS,
    DELETED_FILES_SCHEMA,
    INDEX_REMOVED_SCHEMA,
    ROOT_PARTITION,
    MetadataChanges,
    MetadataTable,
    partition_identifier,
)
from hudi_hive.metadata.writer import records
from hudi_hive.metadata.writer.column_stats import PartitionFiles, Statistics, data_files
from hudi_hive.metadata.writer.records import PartitionedChanges, RecordChanges, Records
from hudi_hive.metadata.writer.stats_columns import IndexedColumn
from hudi_hive.table import MetaClient
from hudi_hive.table.view import SLICE_SCHEMA, FileKind, parse_file_names
from hudi_hive.timeline.instants import DELTA_COMMIT

_DROPS_FILE_LISTS: Final = 9
"""Table version from which on the record of a partition that is gone is deleted, where older ones list tombstones."""


def file_records(changes: MetadataChanges, version: int) -> RecordChanges:
    """Changes of the ``files`` partition: the list of partitions, and files by partition with tombstones.

    Source: Hudi's ``HoodieTableMetadataUtil.convertMetadataToFilesPartitionRecords``.
    """
    added, gone = changes.files_added, changes.files_deleted
    touched = dict.fromkeys([*as_array(added.column("partition")).unique().to_pylist(), *changes.partitions_touched])
    dropped = [path for path in dict.fromkeys(changes.partitions_deleted) if path not in touched]
    lists_gone = bool(dropped) and version >= _DROPS_FILE_LISTS
    if lists_gone:
        gone = gone.filter(pc.invert(pc.is_in(as_array(gone.column("partition")), value_set=pa.array(dropped))))
    partitions = pa.concat_arrays([as_array(added.column("partition")), as_array(gone.column("partition"))])
    entries = records.file_lists(
        _identifiers(partitions),
        pa.concat_arrays([as_array(added.column("name")), as_array(gone.column("name"))]),
        pa.concat_arrays([as_array(added.column("size")), pa.array(np.zeros(gone.num_rows, np.int64))]),
        pa.array(np.arange(len(partitions)) >= added.num_rows),
        records.FILES_TYPE,
        version,
    )
    listed = [partition_identifier(path) for path in (*touched, *dropped)]
    if not listed:
        return RecordChanges(entries)
    everything = _partition_list(listed, len(touched), version)
    deleted = _identifiers(pa.array(dropped, pa.string())) if lists_gone else None
    # Hudi merges log records before it comes to the base file. There the first tombstone of a partition cancels an
    # entry of a log file, and goes with it; only a second one takes away that of the base file.
    again = _partition_list(listed[len(touched) :], 0, version) if dropped else None
    return RecordChanges(records.join_records([everything, entries]), deleted, again)


def _partition_list(listed: Sequence[str], alive: int, version: int) -> Records:
    """The record of all partitions: the first ``alive`` of some identifiers are there, the others gone."""
    return records.file_lists(
        pa.array([ALL_PARTITIONS] * len(listed), pa.string()),
        pa.array(listed, pa.string()),
        pa.array(np.zeros(len(listed), np.int64)),
        pa.array(np.arange(len(listed)) >= alive),
        records.ALL_PARTITIONS_TYPE,
        version,
    )


def key_records(changes: MetadataChanges, replaced: pa.Table, millis: int, version: int) -> RecordChanges:
    """Changes of a record index of the whole table, which has one place of each key.

    Args:
        changes: of the action.
        replaced: the records in file groups that it replaces (``INDEX_REMOVED_SCHEMA``).
        millis: epoch milliseconds of the action's instant.
        version: table version.
    """
    # Records of one key may also be in several groups; as in Hudi the index has one of them.
    added = _last_of_each(changes.index_added, ["key"])
    keys = as_array(added.column("key"))
    gone = pa.concat_arrays([as_array(part.column("key")) for part in (changes.index_removed, replaced)]).unique()
    return RecordChanges(_places(added, millis, version), gone.filter(pc.invert(pc.is_in(gone, value_set=keys))))


def key_records_of_partitions(
    changes: MetadataChanges, replaced: pa.Table, millis: int, version: int, new_groups: int
) -> PartitionedChanges:
    """Changes of a record index of each partition: its keys are other records than the same keys elsewhere.

    Args:
        changes, replaced, millis, version: as of :func:`key_records`.
        new_groups: file groups of the index of a partition that has none.
    """
    added = _last_of_each(changes.index_added, ["partition", "key"])
    gone = pa.concat_tables([INDEX_REMOVED_SCHEMA.empty_table(), changes.index_removed, replaced])
    come, left = (_rows_of_partitions(table) for table in (added, gone))
    paths = {*as_array(changes.files_added.column("partition")).unique().to_pylist(), *changes.partitions_touched}
    nothing = RecordChanges(_places(added.slice(0, 0), millis, version))
    each = {}
    for path in sorted({*paths, *come, *left}):
        if path not in come and path not in left:
            each[path] = nothing
            continue
        places = come.get(path, added.slice(0, 0))
        keys = as_array(places.column("key"))
        lost = as_array(left[path].column("key")).unique() if path in left else keys.slice(0, 0)
        lost = lost.filter(pc.invert(pc.is_in(lost, value_set=keys)))
        each[path] = RecordChanges(_places(places, millis, version), lost)
    return PartitionedChanges(each, new_groups)


def _last_of_each(table: pa.Table, names: list[str]) -> pa.Table:
    """The last row of each value of some columns."""
    numbered = table.append_column("row", pa.array(np.arange(table.num_rows)))
    rows = numbered.group_by(names, use_threads=False).aggregate([("row", "max")]).column("row_max")
    return table.take(rows) if len(rows) < table.num_rows else table


def _rows_of_partitions(table: pa.Table) -> dict[str, pa.Table]:
    """The rows of each partition."""
    table = table.combine_chunks()
    return {path: table.take(pa.array(rows)) for path, rows in rows_by_text(as_array(table.column("partition")))}


def _places(added: pa.Table, millis: int, version: int) -> Records:
    keys, partitions, file_ids = (as_array(added.column(name)) for name in ("key", "partition", "file_id"))
    return records.record_locations(keys, partitions, file_ids, millis, version)


def _identifiers(paths: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(paths, ""), ROOT_PARTITION, paths)


def as_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    if isinstance(column, pa.ChunkedArray):
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column


@dataclass(frozen=True, slots=True)
class TouchedSlices:
    """Slices of the file groups that an action touches.

    Attributes:
        before, behind: the newest slices before it and behind it.
        files: the files that it wrote, each as a slice of its own.
        partitions: names of all files of the newest slices behind it, of the partitions that it touches.
    """

    before: pa.Table
    behind: pa.Table
    files: tuple[dict[str, Any], ...]
    partitions: dict[str, list[str]]


def touched_slices(now: MetaClient, changes: MetadataChanges) -> TouchedSlices | None:
    """The slices that an action touches; None if it touches no data."""
    added = data_files(changes.files_added)
    replaced = {(row["partition"], row["file_id"]) for row in changes.groups_replaced.to_pylist()}
    if not added.num_rows and not replaced:
        return None
    names = parse_file_names(added.column("name"))
    new = [
        (partition, file_id, instant, name, size, kind == FileKind.BASE.value)
        for partition, name, size, file_id, instant, kind in zip(
            *(added.column(column).to_pylist() for column in ("partition", "name", "size")),
            names.column("file_id").cast(pa.string()).to_pylist(),
            names.column("instant").cast(pa.string()).to_pylist(),
            names.column("kind").to_pylist(),
            strict=True,
        )
    ]
    there = set(now.partition_paths())
    paths = sorted({one[0] for one in new} | {partition for partition, _ in replaced})
    slices = now.file_system_view([path for path in paths if path in there]).latest_merged_file_slices().to_pylist()
    newest = {(row["partition"], row["file_id"]): row for row in slices}
    groups = {(one[0], one[1]) for one in new} | replaced
    before = [row for group, row in newest.items() if group in groups]
    after = {group: row for group, row in newest.items() if group not in replaced}
    files = []
    for partition, file_id, instant, name, size, is_base in sorted(new, key=lambda one: not one[5]):
        alone = _slice(partition, file_id, instant, name, size, is_base)
        files.append(alone)
        former = None if is_base else after.get((partition, file_id))
        after[(partition, file_id)] = alone if former is None else _with_logs(former, alone)
    behind = [row for group, row in after.items() if group in groups]
    of_partitions: dict[str, list[str]] = {path: [] for path in paths}
    for (partition, _), row in after.items():
        of_partitions[partition] += [row["base_file"]] if row["base_file"] else []
        of_partitions[partition] += row["log_files"]
    tables = [pa.Table.from_pylist(rows, SLICE_SCHEMA) for rows in (before, behind)]
    return TouchedSlices(tables[0], tables[1], tuple(files), of_partitions)


def changed_partitions(changes: MetadataChanges) -> list[str]:
    """Paths of the partitions whose newest slices an action changes, each once."""
    parts = [data_files(changes.files_added), changes.groups_replaced]
    if changes.taken_back is not None:
        parts.append(changes.files_deleted)
    return pa.concat_arrays([as_array(part.column("partition")) for part in parts]).unique().to_pylist()


def files_behind(behind: MetaClient, listed: pa.Table, changes: MetadataChanges) -> pa.Table:
    """The data files of the newest slices behind an action (``DELETED_FILES_SCHEMA``), each once.

    Args:
        behind: the table as the action leaves it.
        listed: the files of some partitions before it (``FILES_SCHEMA``).
        changes: of the action.
    """
    files = pa.concat_tables([listed, changes.files_added])
    places = [
        pc.binary_join_element_wise(as_array(table.column("partition")), as_array(table.column("name")), "/")
        for table in (files, changes.files_deleted)
    ]
    files = files.filter(pc.invert(pc.is_in(places[0], value_set=places[1])))
    slices = behind.file_system_view(files=files).latest_merged_file_slices()
    partitions, logs = as_array(slices.column("partition")), as_array(slices.column("log_files"))
    owners = pc.list_parent_indices(logs)
    columns = [
        pa.concat_arrays([partitions, partitions.take(owners)]),
        pa.concat_arrays([as_array(slices.column("base_file")), pc.list_flatten(logs)]),
    ]
    named = pa.table(columns, schema=DELETED_FILES_SCHEMA)
    named = named.filter(pc.is_valid(named.column("name")))
    return data_files(named.group_by(DELETED_FILES_SCHEMA.names, use_threads=False).aggregate([]))


def exact_partitions(
    now: MetaClient,
    behind: MetaClient,
    columns: Sequence[IndexedColumn],
    stats: Statistics,
    changes: MetadataChanges,
) -> tuple[pa.Table, frozenset[str]]:
    """Make the statistics of changed partitions from those of all files that an action leaves in them.

    Args:
        now: the table before the action.
        behind: the table as the action leaves it.
        columns: the columns of the statistics.
        stats: of the action's files.
        changes: of the action.

    Returns:
        Records that take the place of what is there (``KEYED_STATS_SCHEMA``), and the partitions that have none since
        a file of theirs may hold values that no statistics tell of.
    """
    paths = changed_partitions(changes)
    files = files_behind(behind, MetadataTable.open(now).files_table(paths), changes)
    return exact_statistics(now, paths, files, columns, stats.files, changes.without_values)


def exact_statistics(
    client: MetaClient,
    paths: Sequence[str],
    files: pa.Table,
    columns: Sequence[IndexedColumn],
    added: pa.Table | None = None,
    without_values: Collection[str] = (),
) -> tuple[pa.Table, frozenset[str]]:
    """Make the statistics of partitions from those of all their files.

    Args:
        client: the table, whose metadata table has column statistics.
        paths: of the partitions.
        files: the data files of their newest slices (``DELETED_FILES_SCHEMA``).
        columns: the columns of the statistics.
        added: statistics of files that the metadata table does not have yet.
        without_values: bare names of log files that hold nothing but deletes.

    Returns:
        As :func:`exact_partitions`.
    """
    there = MetadataTable.open(client).records_of_partitions(COLUMN_STATS, [column.name for column in columns], paths)
    if added is not None:
        alive = added.filter(pc.invert(added.column("is_deleted")))
        there = pa.concat_tables([alive, there.select(alive.column_names)])
    together = PartitionFiles.of(there, files, columns)
    lacking = together.lacking
    if lacking.num_rows:
        empty = pa.concat_arrays([pa.array(list(without_values), pa.string()), _of_deletes(client, lacking)])
        lacking = lacking.filter(pc.invert(pc.is_in(lacking.column("name"), value_set=empty)))
    unsure = together.inexact.union(lacking.column("partition").to_pylist())
    return together.of_partitions([path for path in paths if path not in unsure]), unsure


def _of_deletes(client: MetaClient, files: pa.Table) -> pa.Array:
    """Names of log files, from version 8 on, that commits of the active timeline wrote deletes alone to."""
    instants = set(parse_file_names(files.column("name")).column("instant").cast(pa.string()).to_pylist())
    names = [pa.array([], pa.string())]
    for instant in client.timeline.completed({DELTA_COMMIT}):
        if instant.requested in instants:
            stats = client.timeline.commit_metadata(instant).write_stats
            only = pc.and_(pc.equal(stats.column("num_writes"), 0), pc.greater(stats.column("num_deletes"), 0))
            paths = as_array(stats.filter(pc.fill_null(only, False)).column("path"))
            names.append(pc.replace_substring_regex(paths, r"(?s)^.*/", ""))
    names_of_logs = pa.concat_arrays(names)
    return names_of_logs.filter(pc.starts_with(names_of_logs, "."))


def _slice(partition: str, file_id: str, instant: str, name: str, size: int, is_base: bool) -> dict[str, Any]:
    return {
        "partition": partition,
        "file_id": file_id,
        "base_instant": instant,
        "base_file": name if is_base else None,
        "base_size": size if is_base else None,
        "log_files": [] if is_base else [name],
        "log_sizes": [] if is_base else [size],
    }


def _with_logs(former: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    logs = {name: [*former[name], *later[name]] for name in ("log_files", "log_sizes")}
    return {**former, **logs}


def each_file(slices: pa.Table) -> tuple[dict[str, Any], ...]:
    """All files of slices, each as a slice of its own."""
    files = []
    for row in slices.to_pylist():
        place = (row["partition"], row["file_id"], row["base_instant"])
        if row["base_file"] is not None:
            files.append(_slice(*place, row["base_file"], row["base_size"], True))
        for name, size in zip(row["log_files"], row["log_sizes"], strict=True):
            files.append(_slice(*place, name, size, False))
    return tuple(files)


def file_name(row: Mapping[str, Any]) -> str:
    """The name of the only file of a slice."""
    return str(row["base_file"] or row["log_files"][0])


def file_size(row: Mapping[str, Any]) -> int:
    """The size of the only file of a slice in bytes."""
    return int(row["base_size"] or (row["log_sizes"] or [0])[0] or 0)
