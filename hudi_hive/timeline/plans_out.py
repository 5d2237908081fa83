"""Plans and outcomes of table services to bytes: the inverse of :mod:`hudi_hive.timeline.plans` (appendix A).

Where Hudi wants absolute paths (clean, rollback and clustering plans) they are made from the table's base path; readers
take partition and name from them, so that a table can be moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from hudi_hive.formats.avro_container import write_container
from hudi_hive.timeline.avro_models import model_schema
from hudi_hive.timeline.plans import (
    CleanerPlan,
    CleanMetadata,
    ClusteringPlan,
    CompactionPlan,
    RestoreMetadata,
    RestorePlan,
    RollbackMetadata,
    RollbackPlan,
    SavepointMetadata,
)

_LAYOUT: Final = 2
"""Layout of records that are the same in both."""


def encode_rollback_plan(plan: RollbackPlan, base_path: str) -> bytes:
    """``HoodieRollbackPlan``; ``base_path`` is the table's, a URI."""
    target = None if plan.target is None else _info(plan.target)
    requests = [
        {
            "partitionPath": request.partition,
            "fileId": request.file_id or "",
            "latestBaseInstant": request.base_instant or "",
            "filesToBeDeleted": _paths(base_path, request.partition, request.files),
            "logBlocksToBeDeleted": _sizes(base_path, request.partition, request.log_blocks),
        }
        for request in plan.requests
    ]
    return _encode("HoodieRollbackPlan", {"instantToRollback": target, "RollbackRequests": requests, "version": 1})


def encode_rollback_metadata(metadata: RollbackMetadata, base_path: str, time_taken_ms: int = 0) -> bytes:
    """``HoodieRollbackMetadata``; the rollback took ``time_taken_ms`` milliseconds."""
    return _encode("HoodieRollbackMetadata", _rollback(metadata, base_path, time_taken_ms))


def _rollback(metadata: RollbackMetadata, base_path: str, time_taken_ms: int) -> dict[str, Any]:
    partitions = {
        path: {
            "partitionPath": path,
            "successDeleteFiles": _paths(base_path, path, part.deleted),
            "failedDeleteFiles": _paths(base_path, path, part.failed),
            "rollbackLogFiles": _sizes(base_path, path, part.command_logs),
            "logFilesFromFailedCommit": _sizes(base_path, path, part.failed_commit_logs),
        }
        for path, part in metadata.partitions.items()
    }
    return {
        "startRollbackTime": metadata.instant.requested,
        "timeTakenInMillis": time_taken_ms,
        "totalFilesDeleted": metadata.total_files_deleted,
        "commitsRollback": list(metadata.rolled_back),
        "partitionMetadata": partitions,
        "version": 1,
        "instantsRollback": [_info(target) for target in metadata.targets],
    }


def encode_restore_plan(plan: RestorePlan) -> bytes:
    """``HoodieRestorePlan``."""
    record = {
        "instantsToRollback": [_info(target) for target in plan.targets],
        "version": 2,
        "savepointToRestoreTimestamp": plan.savepoint,
    }
    return _encode("HoodieRestorePlan", record)


def encode_restore_metadata(metadata: RestoreMetadata, base_path: str, time_taken_ms: int = 0) -> bytes:
    """``HoodieRestoreMetadata``; the restore took ``time_taken_ms`` milliseconds."""
    rollbacks = {
        time: [_rollback(one, base_path, time_taken_ms) for one in own] for time, own in metadata.rollbacks.items()
    }
    record = {
        "startRestoreTime": metadata.instant.requested,
        "timeTakenInMillis": time_taken_ms,
        "instantsToRollback": list(metadata.rolled_back),
        "hoodieRestoreMetadata": rollbacks,
        "version": 1,
        "restoreInstantInfo": [_info(target) for target in metadata.targets],
    }
    return _encode("HoodieRestoreMetadata", record)


def encode_savepoint_metadata(metadata: SavepointMetadata) -> bytes:
    """``HoodieSavepointMetadata``."""
    partitions = {
        path: {"partitionPath": path, "savepointDataFile": list(names)} for path, names in metadata.partitions.items()
    }
    record = {
        "savepointedBy": metadata.by,
        "savepointedAt": metadata.at_ms,
        "comments": metadata.comments,
        "partitionMetadata": partitions,
        "version": 1,
    }
    return _encode("HoodieSavepointMetadata", record)


def encode_cleaner_plan(plan: CleanerPlan, base_path: str, *, retained_action: str = "commit") -> bytes:
    """``HoodieCleanerPlan`` of version 2; ``retained_action`` is the action of the earliest retained instant."""
    files: dict[str, list[dict[str, Any]]] = {}
    for partition, name in zip(plan.files["partition"].to_pylist(), plan.files["name"].to_pylist(), strict=True):
        info = {"filePath": _path(base_path, partition, name), "isBootstrapBaseFile": False}
        files.setdefault(partition, []).append(info)
    earliest = None
    if plan.earliest_retained is not None:
        earliest = {"timestamp": plan.earliest_retained, "action": retained_action, "state": "COMPLETED"}
    record = {
        "earliestInstantToRetain": earliest,
        "lastCompletedCommitTimestamp": plan.last_completed_commit or "",
        "policy": plan.policy or "",
        "filesToBeDeletedPerPartition": {},
        "version": 2,
        "filePathsToBeDeletedPerPartition": files,
        "partitionsToBeDeleted": list(plan.partitions_to_delete),
        "extraMetadata": dict(plan.extra),
    }
    return _encode("HoodieCleanerPlan", record)


def encode_clean_metadata(metadata: CleanMetadata) -> bytes:
    """``HoodieCleanMetadata`` of version 2, which has bare names."""
    partitions = {
        path: {
            "partitionPath": path,
            "policy": part.policy or "",
            "deletePathPatterns": list(part.planned),
            "successDeleteFiles": list(part.deleted),
            "failedDeleteFiles": list(part.failed),
            "isPartitionDeleted": part.partition_deleted,
        }
        for path, part in metadata.partitions.items()
    }
    record = {
        "startCleanTime": metadata.instant.requested,
        "timeTakenInMillis": metadata.time_taken_ms,
        "totalFilesDeleted": metadata.total_files_deleted,
        "earliestCommitToRetain": metadata.earliest_retained or "",
        "lastCompletedCommitTimestamp": metadata.last_completed_commit or "",
        "partitionMetadata": partitions,
        "version": 2,
        "bootstrapPartitionMetadata": {},
        "extraMetadata": dict(metadata.extra),
    }
    return _encode("HoodieCleanMetadata", record)


def encode_compaction_plan(plan: CompactionPlan, layout: int) -> bytes:
    """``HoodieCompactionPlan`` of version 2, which has bare names; operations may have a column ``metrics``."""
    operations = [
        {
            "baseInstantTime": row["base_instant"],
            "deltaFilePaths": row["log_files"],
            "dataFilePath": row["base_file"],
            "fileId": row["file_id"],
            "partitionPath": row["partition"],
            "metrics": dict(row.get("metrics") or {}),
            "bootstrapFilePath": None,
        }
        for row in plan.operations.to_pylist()
    ]
    record: dict[str, Any] = {
        "operations": operations,
        "extraMetadata": dict(plan.extra),
        "version": 2,
        "strategy": None,
        "preserveHoodieMetadata": True,
    }
    if layout >= 2:
        record["missingSchedulePartitions"] = []
    return _encode("HoodieCompactionPlan", record, layout)


def encode_requested_replace(
    plan: ClusteringPlan | None,
    base_path: str,
    layout: int,
    *,
    strategy_params: Mapping[str, str] | None = None,
    output_groups: Mapping[int, int] | None = None,
) -> bytes:
    """``HoodieRequestedReplaceMetadata``: of a clustering, or of an overwrite, which plans nothing (None).

    Args:
        plan: the clustering.
        base_path: the table's, a URI.
        layout: timeline layout version.
        strategy_params: options of the strategy, the sort columns for one.
        output_groups: input group -> number of file groups that it is written to.
    """
    if plan is None:
        return _encode("HoodieRequestedReplaceMetadata", {"version": 1}, layout)
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in plan.slices.to_pylist():
        partition, base = row["partition"], row["base_file"]
        part = {
            "dataFilePath": _path(base_path, partition, base) if base else "",
            "deltaFilePaths": _paths(base_path, partition, row["log_files"]),
            "fileId": row["file_id"],
            "partitionPath": partition,
            "bootstrapFilePath": "",
            "version": 1,
        }
        groups.setdefault(row["group"], []).append(part)
    inputs = [
        {"slices": parts, "metrics": {}, "numOutputFileGroups": (output_groups or {}).get(number, 1), "version": 1}
        for number, parts in sorted(groups.items())
    ]
    strategy = {
        "strategyClassName": plan.strategy,
        "strategyParams": dict(strategy_params or {}),
        "version": 1,
    }
    clustering = {
        "inputGroups": inputs,
        "strategy": strategy,
        "extraMetadata": {},
        "version": 1,
        "preserveHoodieMetadata": True,
    }
    record = {"operationType": "CLUSTER", "clusteringPlan": clustering, "extraMetadata": dict(plan.extra), "version": 1}
    return _encode("HoodieRequestedReplaceMetadata", record, layout)


def _encode(name: str, record: Mapping[str, Any], layout: int = _LAYOUT) -> bytes:
    return write_container(model_schema(name, layout), [dict(record)])


def _info(target: tuple[str, str]) -> dict[str, str]:
    requested, action = target
    return {"commitTime": requested, "action": action}


def _path(base_path: str, partition: str, name: str) -> str:
    folder = f"{base_path.rstrip('/')}/{partition}" if partition else base_path.rstrip("/")
    return f"{folder}/{name}"


def _paths(base_path: str, partition: str, names: Iterable[str]) -> list[str]:
    return [_path(base_path, partition, name) for name in names]


def _sizes(base_path: str, partition: str, sizes: Mapping[str, int]) -> dict[str, int]:
    return {_path(base_path, partition, name): size for name, size in sizes.items()}
