"""Encodes plans and metadata of table services; the inverse of :mod:`hudi_hive.timeline.payloads.plans`.

Our objects hold bare file names. Where Hudi wants full paths (clean, rollback and clustering plans) they are made from
the table's base path; readers take partition and name from them, so that a table can be moved.

Source: docs/format.md#avro-records-of-the-timeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hudi_hive.formats.avro import write_container
from hudi_hive.timeline.payloads import plans
from hudi_hive.timeline.payloads.avro_models import model_schema


def encode_compaction_plan(
    plan: plans.CompactionPlan,
    layout: int = 2,
    *,
    metrics: Sequence[Mapping[str, float]] = (),
    compactor: str | None = None,
) -> bytes:
    """Encode the plan of a compaction or log compaction: version 2, with bare file names.

    Args:
        plan: the slices to merge; a column ``bootstrap_file`` has the full paths of the source files of skeletons.
        layout: timeline layout version.
        metrics: for each operation numbers that strategies order by; without it those of a column ``metrics``, or none.
        compactor: Hudi's class that carries it out; none for that of compactions.
    """
    operations = [
        {
            "baseInstantTime": row["base_instant"],
            "deltaFilePaths": row["log_files"],
            "dataFilePath": row["base_file"] or "",
            "fileId": row["file_id"],
            "partitionPath": row["partition"],
            "bootstrapFilePath": row.get("bootstrap_file"),
            "metrics": dict(metrics[number]) if metrics else dict(row.get("metrics") or {}),
        }
        for number, row in enumerate(plan.operations.to_pylist())
    ]
    record = {
        "operations": operations,
        "strategy": None if compactor is None else {"compactorClassName": compactor, "strategyParams": {}},
        "extraMetadata": dict(plan.extra),
        "version": 2,
        "preserveHoodieMetadata": True,
        "missingSchedulePartitions": [],
    }
    return _container("HoodieCompactionPlan", record, layout)


def encode_requested_replace(
    plan: plans.ClusteringPlan | None = None,
    base_path: str = "",
    layout: int = 2,
    *,
    strategy_params: Mapping[str, str] | None = None,
    output_groups: Mapping[int, int] | None = None,
    metrics: Sequence[Mapping[str, float]] = (),
) -> bytes:
    """Encode the requested metadata of a replacecommit or clustering.

    Args:
        plan: the clustering, its slices with ``bootstrap_file`` as those of a compaction; None, or one without slices,
            for overwrites and deletions of partitions.
        base_path: the table's base path, for the full paths of the slices.
        layout: timeline layout version.
        strategy_params: options of the strategy, the sort columns for one; those of the plan without it.
        output_groups: input group -> number of file groups to come of it; as in the plan without it.
        metrics: for each input group, numbers for who looks at the plan; none without it.
    """
    if plan is None or not plan.is_clustering:
        operation = plan.operation if plan is not None else None
        return _container("HoodieRequestedReplaceMetadata", {"operationType": operation, "version": None}, layout)
    strategy = {
        "strategyClassName": plan.strategy,
        "strategyParams": dict(plan.strategy_params if strategy_params is None else strategy_params),
    }
    clustering = {
        "inputGroups": _clustering_groups(
            plan, base_path, output_groups or dict(enumerate(plan.output_groups)), dict(enumerate(metrics))
        ),
        "strategy": strategy,
        "extraMetadata": {},
        "preserveHoodieMetadata": True,
        "missingSchedulePartitions": [],
    }
    record = {
        "operationType": plan.operation or "CLUSTER",
        "clusteringPlan": clustering,
        "extraMetadata": dict(plan.extra),
    }
    return _container("HoodieRequestedReplaceMetadata", record, layout)


def _clustering_groups(
    plan: plans.ClusteringPlan,
    base_path: str,
    outputs: Mapping[int, int],
    metrics: Mapping[int, Mapping[str, float]],
) -> list[dict[str, Any]]:
    groups: dict[int, list[dict[str, Any]]] = {}
    extra = dict(enumerate(plan.group_extra))
    for row in plan.slices.to_pylist():
        partition, base_file = row["partition"], row["base_file"]
        part = {
            "dataFilePath": full_path(base_path, partition, base_file) if base_file else "",
            "deltaFilePaths": [full_path(base_path, partition, name) for name in row["log_files"] or ()],
            "fileId": row["file_id"],
            "partitionPath": partition,
            "bootstrapFilePath": row.get("bootstrap_file") or "",
        }
        groups.setdefault(row["group"], []).append(part)
    return [
        {
            "slices": groups[number],
            "metrics": dict(metrics.get(number, {})),
            "numOutputFileGroups": outputs.get(number, 1),
            **({"extraMetadata": dict(extra[number])} if extra.get(number) else {}),
        }
        for number in sorted(groups)
    ]


def encode_cleaner_plan(plan: plans.CleanerPlan, base_path: str, *, retained_action: str | None = None) -> bytes:
    """Encode the plan of a clean: version 2, with full paths. Tables of version 6 repeat it in the inflight file.

    Args:
        plan: what to delete.
        base_path: the table's base path.
        retained_action: action of the earliest retained instant, in place of the plan's.
    """
    files: dict[str, list[dict[str, Any]]] = {}
    for partition, name in zip(plan.files["partition"].to_pylist(), plan.files["name"].to_pylist(), strict=True):
        info = {"filePath": full_path(base_path, partition, name), "isBootstrapBaseFile": False}
        files.setdefault(partition, []).append(info)
    earliest = plan.earliest_retained
    record = {
        "earliestInstantToRetain": {
            "timestamp": earliest,
            "action": retained_action or plan.earliest_action,
            "state": "COMPLETED",
        }
        if earliest
        else None,
        "lastCompletedCommitTimestamp": plan.last_completed_commit or "",
        "policy": plan.policy or "",
        "filesToBeDeletedPerPartition": {},
        "version": 2,
        "filePathsToBeDeletedPerPartition": files,
        "partitionsToBeDeleted": list(plan.partitions_to_delete),
        "extraMetadata": dict(plan.extra),
    }
    return _container("HoodieCleanerPlan", record)


def encode_clean_metadata(metadata: plans.CleanMetadata) -> bytes:
    """Encode the metadata of a completed clean: version 2, with bare file names."""
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
    return _container("HoodieCleanMetadata", record)


def encode_rollback_plan(plan: plans.RollbackPlan, base_path: str) -> bytes:
    """Encode the plan of a rollback, with full paths."""
    requests = [
        {
            "partitionPath": request.partition,
            "fileId": request.file_id or "",
            "latestBaseInstant": request.base_instant or "",
            "filesToBeDeleted": [full_path(base_path, request.partition, name) for name in request.files],
            "logBlocksToBeDeleted": _sized(base_path, request.partition, request.log_blocks),
        }
        for request in plan.requests
    ]
    target = _instant_info(plan.target) if plan.target is not None else None
    return _container("HoodieRollbackPlan", {"instantToRollback": target, "RollbackRequests": requests})


def encode_rollback_metadata(metadata: plans.RollbackMetadata, base_path: str) -> bytes:
    """Encode the metadata of a completed rollback, with full paths."""
    return _container("HoodieRollbackMetadata", _rollback_record(metadata, base_path))


def _rollback_record(metadata: plans.RollbackMetadata, base_path: str) -> dict[str, Any]:
    partitions = {
        path: {
            "partitionPath": path,
            "successDeleteFiles": [full_path(base_path, path, name) for name in part.deleted],
            "failedDeleteFiles": [full_path(base_path, path, name) for name in part.failed],
            "rollbackLogFiles": _sized(base_path, path, part.command_logs),
            "logFilesFromFailedCommit": _sized(base_path, path, part.failed_commit_logs),
        }
        for path, part in metadata.partitions.items()
    }
    return {
        "startRollbackTime": metadata.instant.requested,
        "timeTakenInMillis": metadata.time_taken_ms,
        "totalFilesDeleted": metadata.total_files_deleted,
        "commitsRollback": list(metadata.rolled_back),
        "partitionMetadata": partitions,
        "version": 1,
        "instantsRollback": [_instant_info(target) for target in metadata.targets],
    }


def encode_restore_plan(plan: plans.RestorePlan) -> bytes:
    """Encode the plan of a restore."""
    targets = [_instant_info(target) for target in plan.targets]
    record = {"instantsToRollback": targets, "version": 2, "savepointToRestoreTimestamp": plan.savepoint}
    return _container("HoodieRestorePlan", record)


def encode_restore_metadata(metadata: plans.RestoreMetadata, base_path: str, time_taken_ms: int = 0) -> bytes:
    """Encode the metadata of a completed restore, which holds that of its rollbacks."""
    rollbacks = {
        time: [_rollback_record(rollback, base_path) for rollback in done] for time, done in metadata.rollbacks.items()
    }
    record = {
        "startRestoreTime": metadata.instant.requested,
        "timeTakenInMillis": time_taken_ms,
        "instantsToRollback": list(metadata.rolled_back),
        "hoodieRestoreMetadata": rollbacks,
        "version": 1,
        "restoreInstantInfo": [_instant_info(target) for target in metadata.targets],
    }
    return _container("HoodieRestoreMetadata", record)


def encode_savepoint_metadata(metadata: plans.SavepointMetadata) -> bytes:
    """Encode the metadata of a savepoint: bare names of the files to keep."""
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
    return _container("HoodieSavepointMetadata", record)


def full_path(base_path: str, partition: str, name: str) -> str:
    """Make the full path of a data file."""
    return "/".join(part for part in (base_path.rstrip("/"), partition, name) if part)


def _sized(base_path: str, partition: str, sizes: Mapping[str, int]) -> dict[str, int]:
    return {full_path(base_path, partition, name): size for name, size in sizes.items()}


def _instant_info(target: tuple[str, str]) -> dict[str, str]:
    return {"commitTime": target[0], "action": target[1]}


def _container(name: str, record: Mapping[str, Any], layout: int = 2) -> bytes:
    return write_container(model_schema(name, layout), [record])
