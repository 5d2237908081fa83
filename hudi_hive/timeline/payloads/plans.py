"""Plans and metadata of table services as frozen objects, decoded from the records of instants' files.

Clustering, clean and rollback plans name files by the absolute path the writer saw. Tables get moved, so everything
here gives partition and bare file name instead.

Source: docs/format.md#plans, docs/format.md#avro-records-of-the-timeline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from hudi_hive.timeline.instants import Instant
from hudi_hive.timeline.payloads.payload import Fields

OPERATIONS_SCHEMA: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("base_instant", pa.string()),
        ("base_file", pa.string()),
        ("log_files", pa.list_(pa.string())),
    ]
)
"""Columns of :attr:`CompactionPlan.operations`: one file slice each; files are bare names."""

CLUSTERING_SCHEMA: Final = pa.schema(
    [
        ("group", pa.int32()),
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("base_file", pa.string()),
        ("log_files", pa.list_(pa.string())),
    ]
)
"""Columns of :attr:`ClusteringPlan.slices`; ``group`` numbers the input groups from 0, files are bare names."""

CLEAN_FILES_SCHEMA: Final = pa.schema([("partition", pa.string()), ("name", pa.string())])
"""Columns of :attr:`CleanerPlan.files`."""


@dataclass(frozen=True)
class CompactionPlan:
    """The plan of a compaction or log compaction: the file slices that it merges."""

    instant: Instant
    operations: pa.Table
    extra: Mapping[str, str]
    version: int


@dataclass(frozen=True)
class ClusteringPlan:
    """Requested metadata of a replacecommit: the operation, and for clustering the slices that are replaced.

    ``strategy`` is the class that runs it, ``strategy_params`` its options; ``output_groups`` tells for each input
    group how many file groups are to come of it, and ``group_extra`` what else the plan says of it: under consistent
    hashing its partition and the buckets that come of it.
    """

    instant: Instant
    operation: str | None
    slices: pa.Table
    extra: Mapping[str, str]
    strategy: str | None
    strategy_params: Mapping[str, str] = field(default_factory=dict)
    output_groups: tuple[int, ...] = ()
    group_extra: tuple[Mapping[str, str], ...] = ()

    @property
    def is_clustering(self) -> bool:
        """Whether this is the plan of a clustering; that of an overwrite is empty."""
        return self.operation == "CLUSTER" or self.slices.num_rows > 0


@dataclass(frozen=True)
class CleanerPlan:
    """The plan of a clean: files and partitions to delete.

    ``earliest_retained`` is None where the policy does not go by commits; ``earliest_action`` is the action of that
    instant.
    """

    instant: Instant
    policy: str | None
    earliest_retained: str | None
    last_completed_commit: str | None
    files: pa.Table
    partitions_to_delete: tuple[str, ...]
    extra: Mapping[str, str]
    earliest_action: str = "commit"


@dataclass(frozen=True)
class CleanPartition:
    """Metadata of a clean for one partition: bare names of the deleted files."""

    policy: str | None
    planned: tuple[str, ...]
    deleted: tuple[str, ...]
    failed: tuple[str, ...]
    partition_deleted: bool


@dataclass(frozen=True)
class CleanMetadata:
    """Metadata of a clean. ``earliest_retained`` is the first commit that can still be read; None if unknown."""

    instant: Instant
    earliest_retained: str | None
    last_completed_commit: str | None
    total_files_deleted: int
    time_taken_ms: int
    partitions: Mapping[str, CleanPartition]
    extra: Mapping[str, str]


@dataclass(frozen=True)
class RollbackRequest:
    """The part of a rollback plan for one file group: bare file names, and sizes of log files."""

    partition: str
    file_id: str | None
    base_instant: str | None
    files: tuple[str, ...]
    log_blocks: Mapping[str, int]


@dataclass(frozen=True)
class RollbackPlan:
    """The plan of a rollback: its target as (requested time, action), and the files."""

    instant: Instant
    target: tuple[str, str] | None
    requests: tuple[RollbackRequest, ...]


@dataclass(frozen=True)
class RollbackPartition:
    """Metadata of a rollback for one partition: bare file names; log files with their sizes in bytes."""

    deleted: tuple[str, ...]
    failed: tuple[str, ...]
    command_logs: Mapping[str, int]
    failed_commit_logs: Mapping[str, int]


@dataclass(frozen=True)
class RollbackMetadata:
    """Metadata of a rollback: ``rolled_back`` has requested times, ``targets`` (requested time, action)."""

    instant: Instant
    rolled_back: tuple[str, ...]
    targets: tuple[tuple[str, str], ...]
    total_files_deleted: int
    partitions: Mapping[str, RollbackPartition]
    time_taken_ms: int = 0


@dataclass(frozen=True)
class RestorePlan:
    """The plan of a restore: instants to roll back, newest first, and the savepoint (None in old plans)."""

    instant: Instant
    targets: tuple[tuple[str, str], ...]
    savepoint: str | None


@dataclass(frozen=True)
class RestoreMetadata:
    """Metadata of a restore: the rollbacks of each instant, by requested time."""

    instant: Instant
    rolled_back: tuple[str, ...]
    targets: tuple[tuple[str, str], ...]
    rollbacks: Mapping[str, tuple[RollbackMetadata, ...]]


@dataclass(frozen=True)
class SavepointMetadata:
    """Metadata of a savepoint: names of the files to keep, by partition; ``at_ms`` is since the epoch."""

    instant: Instant
    by: str
    at_ms: int
    comments: str
    partitions: Mapping[str, tuple[str, ...]]


def bare_name(path: str) -> str:
    """The last segment of a path."""
    return path.rsplit("/", 1)[-1]


def _names(paths: list[str]) -> tuple[str, ...]:
    return tuple(bare_name(path) for path in paths)


def _sizes(paths: Mapping[str, int]) -> dict[str, int]:
    return {bare_name(path): size for path, size in paths.items()}


def decode_compaction_plan(fields: Fields, instant: Instant) -> CompactionPlan:
    """Decode a ``HoodieCompactionPlan`` record."""
    fields.require(("operations",), "a compaction plan")
    rows = [
        {
            "partition": operation.text("partitionPath") or "",
            "file_id": _required(operation, "fileId"),
            "base_instant": operation.text("baseInstantTime"),
            "base_file": bare_name(operation.text("dataFilePath") or "") or None,
            "log_files": list(_names(operation.texts("deltaFilePaths"))),
        }
        for operation in fields.children("operations")
    ]
    table = pa.Table.from_pylist(rows, schema=OPERATIONS_SCHEMA)
    return CompactionPlan(instant, table, fields.text_map("extraMetadata"), fields.integer("version") or 1)


def decode_clustering_plan(fields: Fields, instant: Instant) -> ClusteringPlan:
    """Decode a ``HoodieRequestedReplaceMetadata`` record."""
    if fields.record and not {"operationType", "clusteringPlan"} <= fields.record.keys():
        fields.require(("operationType", "clusteringPlan"), "a requested replacecommit or clustering")
    plan = fields.child("clusteringPlan")
    strategy = plan.child("strategy") if plan is not None else None
    groups = plan.children("inputGroups") if plan is not None else []
    extra = tuple(group.text_map("extraMetadata") for group in groups)
    rows = [
        {
            "group": number,
            "partition": part.text("partitionPath") or "",
            "file_id": _required(part, "fileId"),
            "base_file": bare_name(part.text("dataFilePath") or "") or None,
            "log_files": list(_names(part.texts("deltaFilePaths"))),
        }
        for number, group in enumerate(groups)
        for part in group.children("slices")
    ]
    return ClusteringPlan(
        instant,
        fields.text("operationType"),
        pa.Table.from_pylist(rows, schema=CLUSTERING_SCHEMA),
        fields.text_map("extraMetadata"),
        strategy.text("strategyClassName") if strategy is not None else None,
        strategy.text_map("strategyParams") if strategy is not None else {},
        tuple(group.integer("numOutputFileGroups") or 1 for group in groups),
        extra if any(extra) else (),
    )


def decode_cleaner_plan(fields: Fields, instant: Instant) -> CleanerPlan:
    """Decode a ``HoodieCleanerPlan`` record of version 1 (names) or 2 (paths)."""
    fields.require(("policy",), "a cleaner plan")
    earliest = fields.child("earliestInstantToRetain")
    partitions: list[str] = []
    names: list[str] = []
    infos = Fields(fields.mapping("filePathsToBeDeletedPerPartition"), fields.path, fields.instant)
    for partition in infos.record:
        for info in infos.children(partition):
            partitions.append(partition)
            names.append(bare_name(_required(info, "filePath")))
    old = Fields(fields.mapping("filesToBeDeletedPerPartition"), fields.path, fields.instant)
    for partition in old.record:
        for name in old.texts(partition):
            partitions.append(partition)
            names.append(bare_name(name))
    return CleanerPlan(
        instant,
        fields.text("policy"),
        earliest.text("timestamp") or None if earliest is not None else None,
        fields.text("lastCompletedCommitTimestamp") or None,
        pa.table([pa.array(partitions, pa.string()), pa.array(names, pa.string())], schema=CLEAN_FILES_SCHEMA),
        tuple(fields.texts("partitionsToBeDeleted")),
        fields.text_map("extraMetadata"),
        (earliest.text("action") if earliest is not None else None) or "commit",
    )


def decode_clean_metadata(fields: Fields, instant: Instant) -> CleanMetadata:
    """Decode a ``HoodieCleanMetadata`` record."""
    fields.require(("partitionMetadata",), "a completed clean").require_time("startCleanTime", "clean")
    partitions = {
        partition: CleanPartition(
            part.text("policy"),
            _names(part.texts("deletePathPatterns")),
            _names(part.texts("successDeleteFiles")),
            _names(part.texts("failedDeleteFiles")),
            part.flag("isPartitionDeleted"),
        )
        for partition, part in fields.child_map("partitionMetadata").items()
    }
    return CleanMetadata(
        instant,
        fields.text("earliestCommitToRetain") or None,
        fields.text("lastCompletedCommitTimestamp") or None,
        fields.integer("totalFilesDeleted") or 0,
        fields.integer("timeTakenInMillis") or 0,
        partitions,
        fields.text_map("extraMetadata"),
    )


def decode_rollback_plan(fields: Fields, instant: Instant) -> RollbackPlan:
    """Decode a ``HoodieRollbackPlan`` record."""
    fields.require(("instantToRollback", "RollbackRequests"), "a rollback plan")
    target = fields.child("instantToRollback")
    requests = tuple(
        RollbackRequest(
            request.text("partitionPath") or "",
            request.text("fileId") or None,
            request.text("latestBaseInstant") or None,
            _names(request.texts("filesToBeDeleted")),
            _sizes(request.int_map("logBlocksToBeDeleted")),
        )
        for request in fields.children("RollbackRequests")
    )
    return RollbackPlan(instant, _target(target) if target is not None else None, requests)


def decode_rollback_metadata(fields: Fields, instant: Instant) -> RollbackMetadata:
    """Decode the ``HoodieRollbackMetadata`` record of a rollback instant."""
    return _rollback(fields.require_time("startRollbackTime", "rollback"), instant)


def _rollback(fields: Fields, instant: Instant) -> RollbackMetadata:
    """Decode a rollback's metadata, also as part of a restore's."""
    fields.require(("commitsRollback", "partitionMetadata"), "a completed rollback")
    partitions = {
        partition: RollbackPartition(
            _names(part.texts("successDeleteFiles")),
            _names(part.texts("failedDeleteFiles")),
            _sizes(part.int_map("rollbackLogFiles")),
            _sizes(part.int_map("logFilesFromFailedCommit")),
        )
        for partition, part in fields.child_map("partitionMetadata").items()
    }
    return RollbackMetadata(
        instant,
        tuple(fields.texts("commitsRollback")),
        tuple(_target(info) for info in fields.children("instantsRollback")),
        fields.integer("totalFilesDeleted") or 0,
        partitions,
        fields.integer("timeTakenInMillis") or 0,
    )


def decode_restore_plan(fields: Fields, instant: Instant) -> RestorePlan:
    """Decode a ``HoodieRestorePlan`` record."""
    fields.require(("instantsToRollback",), "a restore plan")
    targets = tuple(_target(info) for info in fields.children("instantsToRollback"))
    return RestorePlan(instant, targets, fields.text("savepointToRestoreTimestamp"))


def decode_restore_metadata(fields: Fields, instant: Instant) -> RestoreMetadata:
    """Decode a ``HoodieRestoreMetadata`` record."""
    fields.require(("instantsToRollback", "hoodieRestoreMetadata"), "a completed restore")
    fields.require_time("startRestoreTime", "restore")
    parts = Fields(fields.mapping("hoodieRestoreMetadata"), fields.path, fields.instant)
    rollbacks = {time: tuple(_rollback(part, instant) for part in parts.children(time)) for time in parts.record}
    targets = tuple(_target(info) for info in fields.children("restoreInstantInfo"))
    return RestoreMetadata(instant, tuple(fields.texts("instantsToRollback")), targets, rollbacks)


def decode_savepoint_metadata(fields: Fields, instant: Instant) -> SavepointMetadata:
    """Decode a ``HoodieSavepointMetadata`` record."""
    fields.require(("partitionMetadata",), "a savepoint")
    partitions = {
        partition: _names(part.texts("savepointDataFile"))
        for partition, part in fields.child_map("partitionMetadata").items()
    }
    return SavepointMetadata(
        instant,
        fields.text("savepointedBy") or "",
        fields.integer("savepointedAt") or 0,
        fields.text("comments") or "",
        partitions,
    )


def _target(info: Fields) -> tuple[str, str]:
    time = _required(info, "commitTime")
    if not (time.isascii() and time.isdigit()):  # files are named by it
        raise info.wrong("commitTime")
    return time, _required(info, "action")


def _required(fields: Fields, name: str) -> str:
    value = fields.text(name)
    if value is None:
        raise fields.wrong(name)
    return value
