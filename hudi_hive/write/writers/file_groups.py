"""Decides which file groups a write changes and how: the same rules for the writers of all engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.table import MetaClient
from hudi_hive.write.coordination import BASE, TOUCHED_SCHEMA, refuse_clustered
from hudi_hive.write.files import (
    FileGroupId,
    Ints,
    TargetSlice,
    TargetSlices,
    WriteHandle,
    WriteTask,
    assign_inserts,
    attempts,
    count_by_partition,
    locate_inserts,
    number_file_groups,
    record_size,
    split_by_file_group,
)
from hudi_hive.write.options import WriteConfig


@dataclass(frozen=True)
class FileGroupPlan:
    """How a write changes the file groups of a table.

    Attributes:
        targets: the newest slices of the partitions that are written.
        small_groups: groups that take new rows because their base files are small.
        merge_on_read: the table's type.
        can_index_log_files: the index finds records in log files, so that new rows may be written there.
    """

    targets: TargetSlices
    small_groups: frozenset[FileGroupId]
    merge_on_read: bool
    can_index_log_files: bool

    @classmethod
    def of(
        cls,
        client: MetaClient,
        slices: pa.Table | None,
        small_groups: frozenset[FileGroupId] = frozenset(),
        *,
        can_index_log_files: bool = False,
    ) -> FileGroupPlan:
        """Make the plan of a write.

        Args:
            client: the table.
            slices: the newest slices of the partitions that are written (``SLICE_SCHEMA``); None if all rows go to new
                groups.
            small_groups: groups that take new rows because their base files are small.
            can_index_log_files: the index finds records in log files.
        """
        slices = slices if slices is not None else client.file_system_view([]).latest_file_slices()
        return cls(TargetSlices.of(slices), small_groups, client.config.is_merge_on_read, can_index_log_files)

    def handle(self, group: FileGroupId) -> WriteHandle:
        """How a group that gets rows is written."""
        return self.targets.handle(
            group,
            merge_on_read=self.merge_on_read,
            takes_inserts=group in self.small_groups,
            can_index_log_files=self.can_index_log_files,
        )

    def target(self, group: FileGroupId) -> TargetSlice:
        """The newest slice of a group; an empty one for a new group."""
        return self.targets.target(group)

    def write_tasks(self, rows: pa.Table, locations: pa.Table, deletes: pa.Table) -> list[WriteTask]:
        """Make the tasks of a write, one for each file group.

        Args:
            rows: all rows.
            locations: where each row goes (``RECORD_LOCATIONS``).
            deletes: records to delete (``DELETES_SCHEMA``).
        """
        numbers = attempts()
        tasks = []
        for group, own, new, gone in split_by_file_group(rows, locations, deletes):
            tasks.append(WriteTask(self.handle(group), self.target(group), next(numbers), own, gone, new))
        return tasks


class LocatedInserts(NamedTuple):
    """New rows with the file groups that take them.

    Attributes:
        locations: ``RECORD_LOCATIONS``.
        small_groups: groups of the table that take some of the rows because their base files are small.
    """

    locations: pa.Table
    small_groups: frozenset[FileGroupId]


def assign_file_groups(
    client: MetaClient, config: WriteConfig, counts: Mapping[str, int], slices: pa.Table | None
) -> pa.Table:
    """Assign file groups to new rows; groups that a pending table service works on are left alone.

    Args:
        client: the table.
        config: the write's configuration.
        counts: partition path to the number of new rows.
        slices: newest slices of these partitions (``SLICE_SCHEMA``), whose small base files take rows; None to make new
            groups only.

    Returns:
        A table of ``ASSIGNMENT_SCHEMA``.
    """
    size = record_size(client, config.files) if counts else 1
    candidates = config.files.small_file_candidates if client.config.is_merge_on_read else None
    busy = _groups_of_pending_services(client)
    return assign_inserts(counts, slices, config.files, size, busy=busy, candidates=candidates)


def locate_in_file_groups(
    client: MetaClient, config: WriteConfig, partitions: pa.Array, rows: Ints, slices: pa.Table | None
) -> LocatedInserts:
    """Locate new rows that any file group of their partition may take.

    Args:
        client: the table.
        config: the write's configuration.
        partitions: partition path of each new row.
        rows: number of each new row.
        slices: as of :func:`assign_file_groups`.
    """
    encoded = partitions.dictionary_encode()
    assignment = assign_file_groups(client, config, count_by_partition(encoded), slices)
    return LocatedInserts(locate_inserts(rows, encoded, assignment), small_groups_of(assignment))


def small_groups_of(assignment: pa.Table) -> frozenset[FileGroupId]:
    """The groups of the table, not new ones, that take rows of an assignment (``ASSIGNMENT_SCHEMA``)."""
    small = assignment.filter(pc.invert(assignment.column("is_new")))
    return frozenset(zip(small["partition"].to_pylist(), small["file_id"].to_pylist(), strict=True))


def newest_slices(client: MetaClient, partitions: Sequence[str]) -> pa.Table:
    """List the newest slices of partitions, those of pending compactions included: where a writer appends."""
    existing = set(client.partition_paths())
    return client.file_system_view([path for path in partitions if path in existing]).latest_file_slices()


def file_groups_in(client: MetaClient, partitions: Sequence[str]) -> dict[str, list[str]]:
    """List the file ids of partitions; a partition without file groups has an empty list."""
    slices = client.file_system_view(partitions).latest_file_slices()
    file_ids: dict[str, list[str]] = {path: [] for path in partitions}
    for partition, file_id in zip(slices["partition"].to_pylist(), slices["file_id"].to_pylist(), strict=True):
        file_ids[partition].append(file_id)
    return file_ids


def refuse_clustered_groups(client: MetaClient, *touching: pa.Table) -> None:
    """Refuse to write file groups that a pending clustering works on.

    Args:
        client: the table.
        touching: tables with ``partition`` and ``file_id`` of the groups that are written.

    Raises:
        WriteConflictError: there is such a group.
    """
    if not client.timeline.pending_clustering().num_rows:
        return
    groups = list(dict.fromkeys(group for table in touching for group in number_file_groups(table)[0]))
    touched = [{"partition": partition, "file_id": file_id, "kind": BASE} for partition, file_id in groups]
    refuse_clustered(client, pa.Table.from_pylist(touched, TOUCHED_SCHEMA))


def _groups_of_pending_services(client: MetaClient) -> list[str]:
    """File ids that a pending compaction or clustering works on."""
    timeline = client.timeline
    pending = [timeline.pending_compactions(), timeline.pending_clustering()]
    return [file_id for table in pending for file_id in table.column("file_id").to_pylist()]
