"""Located rows as tasks: one task a file group, one file a task."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.plan.model import with_commit_versions
from hudi_hive.table import MetaClient
from hudi_hive.table.view import SLICE_SCHEMA, parse_file_names
from hudi_hive.write.files.base_positions import POSITION
from hudi_hive.write.files.context import Attempt, WriteContext
from hudi_hive.write.files.handles import TargetSlice, append_log, write_merged_base, write_new_group

_NAMES: Final = pa.dictionary(pa.int32(), pa.string())

RECORD_LOCATIONS: Final = pa.schema(
    [("row", pa.int64()), ("partition", _NAMES), ("file_id", _NAMES), ("is_new", pa.bool_())]
)
"""Where each row goes; ``is_new`` tells that no group has its record. A row may go to several groups."""

DELETES_SCHEMA: Final = pa.schema([("key", pa.string()), ("partition", pa.string()), ("file_id", pa.string())])
"""Records to delete whatever their ordering values are, and the groups that hold them."""

_FILES: Final = ("base_instant", "base_file", "log_files")
_ATTEMPTS: Final = 1 << 30

FileGroupId = tuple[str, str]
"""Partition path and file id."""


class WriteHandle(StrEnum):
    """How a write changes a file group: a new one, its base file merged anew, or a log file appended."""

    CREATE = "create"
    MERGE = "merge"
    APPEND = "append"


@dataclass(frozen=True)
class ChosenRows:
    """Some rows of a table, which are copied when their task takes them; pickled, these rows go, not the table.

    Attributes:
        rows: the table.
        chosen: numbers of the rows, in their order.
        positions: of each of them; None for none.
    """

    rows: pa.Table
    chosen: np.ndarray
    positions: pa.Array | None = None

    def table(self) -> pa.Table:
        """The rows, with :data:`POSITION` if there are positions; a part of the table if they stand side by side."""
        rows = self._rows()
        return rows if self.positions is None else rows.append_column(POSITION, self.positions)

    def _rows(self) -> pa.Table:
        count = len(self.chosen)
        if count and (self.chosen == np.arange(self.chosen[0], self.chosen[0] + count)).all():
            return self.rows.slice(int(self.chosen[0]), count)
        return self.rows.take(pa.array(self.chosen))

    def __reduce__(self) -> tuple[type[ChosenRows], tuple[pa.Table, np.ndarray, pa.Array | None]]:
        return ChosenRows, (self._rows(), np.arange(len(self.chosen)), self.positions)


@dataclass(frozen=True)
class WriteTask:
    """The rows and deletes of one file group, which one task writes.

    Attributes:
        handle: what happens to it.
        target: the group.
        attempt: who writes.
        rows: its rows; None for none.
        deletes: keys that are deleted from it; None for none.
        new: how many of the rows it does not have.
        updates: further rows, of which :attr:`WriteContext.changed_columns` alone go into a log; None for none.
    """

    handle: WriteHandle
    target: TargetSlice
    attempt: Attempt
    rows: pa.Table | ChosenRows | None = None
    deletes: pa.Table | None = None
    new: int = 0
    updates: pa.Table | None = None


def run_write_task(context_and_task: tuple[WriteContext, WriteTask]) -> pa.Table:
    """Write the file of one task; errors as of the handles.

    Returns:
        Its status (``WRITE_STATUS_SCHEMA``).
    """
    context, task = context_and_task
    rows = task.rows.table() if isinstance(task.rows, ChosenRows) else task.rows
    if task.handle is WriteHandle.CREATE:
        return write_new_group(context, task.attempt, task.target, [] if rows is None else [rows])
    if task.handle is WriteHandle.MERGE:
        return write_merged_base(context, task.attempt, task.target, rows, task.deletes)
    return append_log(context, task.attempt, task.target, rows, task.deletes, new=task.new, updates=task.updates)


def with_file_schemas(context: WriteContext, client: MetaClient, targets: Iterable[TargetSlice]) -> WriteContext:
    """The context with what commits say of the columns of the base files that it is about to merge.

    Raises:
        SchemaError: nothing tells what such a file calls its columns.
    """
    if context.evolved is None:
        return context
    files = {(target.base_instant, target.base_file) for target in targets if target.base_file is not None}
    rows: list[dict[str, object]] = [
        {"base_instant": instant, "base_file": name, "log_files": []} for instant, name in sorted(files)
    ]
    slices = pa.Table.from_pylist(rows, pa.schema([SLICE_SCHEMA.field(name) for name in _FILES]))
    return replace(context, evolved=with_commit_versions(client, context.evolved, slices))


@dataclass(frozen=True)
class TargetSlices:
    """The newest slices of the partitions that a write touches.

    Attributes:
        targets: each slice as a target.
        with_logs: those that have log files.
    """

    targets: dict[FileGroupId, TargetSlice]
    with_logs: frozenset[FileGroupId]

    @classmethod
    def of(cls, slices: pa.Table) -> TargetSlices:
        """Of slices (``SLICE_SCHEMA``)."""
        chosen = slices.filter(pc.greater(pc.list_value_length(slices.column("log_files")), 0))
        logs = zip(chosen["partition"].to_pylist(), chosen["file_id"].to_pylist(), strict=True)
        return cls(_targets(slices), frozenset(logs))

    def handle(
        self, group: FileGroupId, *, merge_on_read: bool, takes_inserts: bool, can_index_log_files: bool
    ) -> WriteHandle:
        """The handle that writes a group that gets rows.

        Args:
            group: the group.
            merge_on_read: the table's type.
            takes_inserts: new rows were assigned to it for it is small.
            can_index_log_files: new rows may stand in log files, as the index finds them there.
        """
        target = self.targets.get(group)
        if not merge_on_read:
            return WriteHandle.CREATE if target is None else WriteHandle.MERGE
        if target is None:
            return WriteHandle.APPEND if can_index_log_files else WriteHandle.CREATE
        small = takes_inserts and target.base_file is not None and group not in self.with_logs
        return WriteHandle.MERGE if small and not can_index_log_files else WriteHandle.APPEND

    def target(self, group: FileGroupId) -> TargetSlice:
        """A group as a target; a new one if there is none."""
        return self.targets.get(group) or TargetSlice(*group)


def _targets(slices: pa.Table) -> dict[FileGroupId, TargetSlice]:
    names = slices.column("log_files").combine_chunks()
    lengths = pc.list_value_length(names).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    greatest = np.zeros(len(names), np.int64)
    if lengths.any():
        versions = parse_file_names(pc.list_flatten(names)).column("log_version").combine_chunks().fill_null(0)
        owner = np.repeat(np.arange(len(names)), lengths)
        np.maximum.at(greatest, owner, versions.to_numpy(zero_copy_only=False).astype(np.int64))
    targets = {}
    columns = ["partition", "file_id", "base_instant", "base_file", "base_size", "log_files"]
    for row, version in zip(slices.select(columns).to_pylist(), greatest.tolist(), strict=True):
        size, logs = row.pop("base_size") or 0, tuple(row.pop("log_files") or ())
        target = TargetSlice(**row, base_size=size, log_version=version, log_files=logs)
        targets[target.partition, target.file_id] = target
    return targets


class FileGroupRows(NamedTuple):
    """The rows and deletes of one write for one file group.

    Attributes:
        group: the file group.
        rows: its rows, in the order of their locations; None for none.
        new: how many of the rows the group does not have.
        deletes: ``record_key`` and ``partition_path`` of records to delete from it, and ``POSITION`` if they come with
            it; None for none.
    """

    group: FileGroupId
    rows: ChosenRows | None
    new: int
    deletes: pa.Table | None


def split_by_file_group(rows: pa.Table, locations: pa.Table, deletes: pa.Table) -> Iterator[FileGroupRows]:
    """Split a write's rows and deletes by file group, in the order in which groups come up.

    Args:
        rows: all rows.
        locations: :data:`RECORD_LOCATIONS`, with :data:`POSITION` or without.
        deletes: :data:`DELETES_SCHEMA`, likewise.
    """
    locations, deletes = locations.combine_chunks(), deletes.combine_chunks()
    groups, order, bounds = _grouped(locations)
    chosen = locations.column("row").to_numpy()[order]
    placed = POSITION in locations.column_names
    positions = locations.column(POSITION).take(pa.array(order)).combine_chunks() if placed else None
    new = np.concatenate([[0], np.cumsum(locations.column("is_new").to_numpy()[order])])
    delete_groups, delete_order, delete_bounds = _grouped(deletes)
    keys = deletes.take(pa.array(delete_order)).drop_columns("file_id")
    keys = keys.rename_columns(["record_key", "partition_path", *keys.column_names[2:]])
    without_rows = dict(zip(delete_groups, delete_bounds, strict=True))
    for group, (start, end) in zip(groups, bounds, strict=True):
        range_of_keys = without_rows.pop(group, None)
        own = None if range_of_keys is None else keys.slice(range_of_keys[0], range_of_keys[1] - range_of_keys[0])
        of_group = None if positions is None else positions.slice(start, end - start)
        yield FileGroupRows(group, ChosenRows(rows, chosen[start:end], of_group), int(new[end] - new[start]), own)
    for group, (start, end) in without_rows.items():
        yield FileGroupRows(group, None, 0, keys.slice(start, end - start))


def _grouped(places: pa.Table) -> tuple[list[FileGroupId], np.ndarray, list[tuple[int, int]]]:
    """The groups, the order that puts their lines side by side, and where each group's lines are then."""
    groups, numbers = number_file_groups(places)
    order = grouping_order(numbers, len(groups))
    ends = np.cumsum(np.bincount(numbers, minlength=len(groups))).tolist()
    return groups, order, list(zip([0, *ends[:-1]], ends, strict=True)) if groups else []


def number_file_groups(places: pa.Table) -> tuple[list[FileGroupId], np.ndarray]:
    """The file groups of lines, in the order in which they come up, and the number of each line's group among them.

    Args:
        places: lines with ``partition`` and ``file_id``, texts or dictionaries of texts.
    """
    if not places.num_rows:
        return [], np.empty(0, np.int64)
    partition, file_id = (places.column(name).combine_chunks().dictionary_encode() for name in ("partition", "file_id"))
    of_partitions, of_files = (one.indices.to_numpy(zero_copy_only=False) for one in (partition, file_id))
    numbers, first = _pairs(of_partitions, of_files, len(file_id.dictionary))
    named = places.select(["partition", "file_id"]).take(pa.array(first))
    return list(zip(named["partition"].to_pylist(), named["file_id"].to_pylist(), strict=True)), numbers


def _pairs(partitions: np.ndarray, file_ids: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """A number for each line's pair, in the order in which pairs come up, and the first line of each.

    Args:
        partitions: number of each line's partition.
        file_ids: number of each line's file id, less than ``count``.
        count: how many file ids there may be.
    """
    first, pairs = _first_lines(file_ids, count), file_ids
    if (partitions[first][file_ids] != partitions).any():  # a file id is in two partitions
        distinct, pairs = np.unique(partitions.astype(np.int64) * count + file_ids, return_inverse=True)
        first = _first_lines(pairs, len(distinct))
    used = np.flatnonzero(first >= 0)
    used = used[np.argsort(first[used])]
    numbers = np.empty(len(first), np.int64)
    numbers[used] = np.arange(len(used))
    return numbers[pairs], first[used]


def _first_lines(numbers: np.ndarray, count: int) -> np.ndarray:
    """The first line of each number less than ``count``; -1 for one that no line has."""
    first = np.full(count, -1)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # the last assignment stays
    return first


def grouping_order(numbers: np.ndarray, count: int) -> np.ndarray:
    """The order that puts lines of the same number side by side, and keeps theirs.

    Args:
        numbers: a number for each line, less than ``count``.
        count: how many numbers there may be.
    """
    # Sorting 16 bits is a pass or two over the lines.
    return np.argsort(numbers.astype(np.uint16) if count <= 1 << 16 else numbers, kind="stable")


def attempts() -> Iterator[Attempt]:
    """Attempts of the tasks of one write, with write tokens that no other write has."""
    first = secrets.randbelow(_ATTEMPTS)
    number = 0
    while True:
        yield Attempt(number, 0, first + number)
        number += 1
