"""Rows that know where they go, as pieces of work: one piece a file group, one file a piece."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.plan.model import with_commit_versions
from hudi_hive.table import MetaClient
from hudi_hive.table.view import SLICE_SCHEMA, parse_file_names
from hudi_hive.write.files.context import RECORD_KEY, Attempt, WriteJob
from hudi_hive.write.files.handles import Target, append_log, write_merged_base, write_new_group

PLACES_SCHEMA: Final = pa.schema(
    [("row", pa.int64()), ("partition", pa.string()), ("file_id", pa.string()), ("is_new", pa.bool_())]
)
"""Where each row goes; ``is_new`` tells that no group has its record. A row may go to several groups."""

DELETES_SCHEMA: Final = pa.schema([("key", pa.string()), ("partition", pa.string()), ("file_id", pa.string())])
"""Records to delete whatever their ordering values are, and the groups that hold them."""

_FILES: Final = ("base_instant", "base_file", "log_files")
_SEPARATOR: Final = "\x00"
_ATTEMPTS: Final = 1 << 30

Group = tuple[str, str]
"""Partition path and file id."""


class Handle(StrEnum):
    """What happens to a file group."""

    NEW = "new"
    MERGE = "merge"
    LOG = "log"


@dataclass(frozen=True)
class Work:
    """One file group's part of a write.

    Attributes:
        handle: what happens to it.
        target: the group.
        attempt: who writes.
        rows: its rows; None for none.
        deletes: keys that are deleted from it; None for none.
        new: how many of the rows it does not have.
    """

    handle: Handle
    target: Target
    attempt: Attempt
    rows: pa.Table | None = None
    deletes: pa.Table | None = None
    new: int = 0


def run_work(task: tuple[WriteJob, Work]) -> pa.Table:
    """Write the file of one piece of work; errors as of the handles.

    Returns:
        Its status.
    """
    job, work = task
    if work.handle is Handle.NEW:
        return write_new_group(job, work.attempt, work.target, [] if work.rows is None else [work.rows])
    if work.handle is Handle.MERGE:
        return write_merged_base(job, work.attempt, work.target, work.rows, work.deletes)
    return append_log(job, work.attempt, work.target, work.rows, work.deletes, new=work.new)


def knowing_versions(job: WriteJob, client: MetaClient, targets: Iterable[Target]) -> WriteJob:
    """The job with what commits say of the columns of the base files that it is about to merge.

    Raises:
        SchemaError: nothing tells what such a file calls its columns.
    """
    if job.evolved is None:
        return job
    files = {(target.base_instant, target.base_file) for target in targets if target.base_file is not None}
    rows: list[dict[str, object]] = [
        {"base_instant": instant, "base_file": name, "log_files": []} for instant, name in sorted(files)
    ]
    slices = pa.Table.from_pylist(rows, pa.schema([SLICE_SCHEMA.field(name) for name in _FILES]))
    return replace(job, evolved=with_commit_versions(client, job.evolved, slices))


@dataclass(frozen=True)
class Groups:
    """The newest slices of the partitions that a write touches.

    Attributes:
        targets: each slice as a target.
        with_logs: those that have log files.
    """

    targets: dict[Group, Target]
    with_logs: frozenset[Group]

    @classmethod
    def of(cls, slices: pa.Table) -> Groups:
        """Of slices (``SLICE_SCHEMA``)."""
        chosen = slices.filter(pc.greater(pc.list_value_length(slices.column("log_files")), 0))
        logs = zip(chosen["partition"].to_pylist(), chosen["file_id"].to_pylist(), strict=True)
        return cls(_targets(slices), frozenset(logs))

    def handle(self, group: Group, *, merge_on_read: bool, takes_inserts: bool, index_sees_logs: bool) -> Handle:
        """What happens to a group that gets rows.

        Args:
            group: the group.
            merge_on_read: the table's type.
            takes_inserts: new rows were assigned to it for it is small.
            index_sees_logs: new rows may stand in log files, as the index finds them there.
        """
        target = self.targets.get(group)
        if not merge_on_read:
            return Handle.NEW if target is None else Handle.MERGE
        if target is None:
            return Handle.LOG if index_sees_logs else Handle.NEW
        small = takes_inserts and target.base_file is not None and group not in self.with_logs
        return Handle.MERGE if small and not index_sees_logs else Handle.LOG

    def target(self, group: Group) -> Target:
        """A group as a target; a new one if there is none."""
        return self.targets.get(group) or Target(*group)


def _targets(slices: pa.Table) -> dict[Group, Target]:
    names = slices.column("log_files").combine_chunks()
    lengths = pc.list_value_length(names).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    greatest = np.zeros(len(names), np.int64)
    if lengths.any():
        versions = parse_file_names(names.flatten()).column("log_version").combine_chunks().fill_null(0)
        owner = np.repeat(np.arange(len(names)), lengths)
        np.maximum.at(greatest, owner, versions.to_numpy(zero_copy_only=False).astype(np.int64))
    found = {}
    columns = ["partition", "file_id", "base_instant", "base_file", "base_size", "log_files"]
    for row, version in zip(slices.select(columns).to_pylist(), greatest.tolist(), strict=True):
        size, logs = row.pop("base_size") or 0, tuple(row.pop("log_files") or ())
        found[row["partition"], row["file_id"]] = Target(**row, base_size=size, log_version=version, log_files=logs)
    return found


def pieces(
    rows: pa.Table, places: pa.Table, deletes: pa.Table
) -> Iterator[tuple[Group, pa.Table | None, int, pa.Table | None]]:
    """A write's rows and deletes by file group, in the order in which groups come up.

    Args:
        rows: all rows.
        places: :data:`PLACES_SCHEMA`.
        deletes: :data:`DELETES_SCHEMA`.

    Yields:
        The group; its rows, in the order of ``places``; how many of them are new; its deletes as handles take them.
    """
    places, deletes = places.combine_chunks(), deletes.combine_chunks()
    own, order, bounds = _grouped(places)
    chosen = places.column("row").to_numpy()[order]
    sorted_rows = rows if _is_whole(chosen, rows.num_rows) else rows.take(pa.array(chosen))
    new = np.concatenate([[0], np.cumsum(places.column("is_new").to_numpy()[order])])
    named, delete_order, delete_bounds = _grouped(deletes)
    gone = deletes.take(pa.array(delete_order)).select(["key", "partition"])
    gone = gone.rename_columns(["record_key", "partition_path"])
    left = dict(zip(named, delete_bounds, strict=True))
    for group, (start, end) in zip(own, bounds, strict=True):
        keys = left.pop(group, None)
        part = None if keys is None else gone.slice(keys[0], keys[1] - keys[0])
        yield group, sorted_rows.slice(start, end - start), int(new[end] - new[start]), part
    for group, (start, end) in left.items():
        yield group, None, 0, gone.slice(start, end - start)


def _grouped(places: pa.Table) -> tuple[list[Group], np.ndarray, list[tuple[int, int]]]:
    """The groups, the order that puts their lines side by side, and where each group's lines are then."""
    if not places.num_rows:
        return [], np.empty(0, np.int64), []
    joined = pc.binary_join_element_wise(places.column("partition"), places.column("file_id"), _SEPARATOR)
    encoded = joined.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(encoded.dictionary)), side="right")
    starts = np.concatenate([[0], ends[:-1]])
    groups = []
    for name in encoded.dictionary.to_pylist():
        partition, _, file_id = name.partition(_SEPARATOR)
        groups.append((partition, file_id))
    return groups, order, list(zip(starts.tolist(), ends.tolist(), strict=True))


def _is_whole(chosen: np.ndarray, count: int) -> bool:
    return len(chosen) == count and bool((chosen == np.arange(count)).all())


def attempts() -> Iterator[Attempt]:
    """Attempts of the tasks of one write, with write tokens that no other write has."""
    first = secrets.randbelow(_ATTEMPTS)
    number = 0
    while True:
        yield Attempt(number, 0, first + number)
        number += 1


def without_keys(rows: pa.Table, unwanted: pa.Array) -> pa.Table:
    """Rows without those that have one of the keys."""
    return rows.filter(pc.invert(pc.is_in(rows.column(RECORD_KEY), value_set=unwanted)))
