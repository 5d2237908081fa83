"""Contents of instants' files: commit metadata and the plans of services, decoded and encoded (Avro or JSON).

Source: docs/format.md#commit-metadata, docs/format.md#plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.timeline.payloads.commit import LOG_WRITES_SCHEMA, CommitMetadata, decode_commit
from hudi_hive.timeline.payloads.payload import Fields, corrupt, decode_payload

if TYPE_CHECKING:
    from hudi_hive.timeline.payloads.avro_models import model_schema, model_text
    from hudi_hive.timeline.payloads.encoders import NewCommitMetadata, encode_commit
    from hudi_hive.timeline.payloads.index_plans import (
        IndexPlan,
        decode_index_plan,
        encode_index_commit,
        encode_index_plan,
    )
    from hudi_hive.timeline.payloads.plan_encoders import (
        encode_clean_metadata,
        encode_cleaner_plan,
        encode_compaction_plan,
        encode_requested_replace,
        encode_restore_metadata,
        encode_restore_plan,
        encode_rollback_metadata,
        encode_rollback_plan,
        encode_savepoint_metadata,
    )
    from hudi_hive.timeline.payloads.plans import (
        CLEAN_FILES_SCHEMA,
        CLUSTERING_SCHEMA,
        OPERATIONS_SCHEMA,
        CleanerPlan,
        CleanMetadata,
        CleanPartition,
        ClusteringPlan,
        CompactionPlan,
        RestoreMetadata,
        RestorePlan,
        RollbackMetadata,
        RollbackPartition,
        RollbackPlan,
        RollbackRequest,
        SavepointMetadata,
        decode_clean_metadata,
        decode_cleaner_plan,
        decode_clustering_plan,
        decode_compaction_plan,
        decode_restore_metadata,
        decode_restore_plan,
        decode_rollback_metadata,
        decode_rollback_plan,
        decode_savepoint_metadata,
    )

__all__ = [
    "CLEAN_FILES_SCHEMA",
    "CLUSTERING_SCHEMA",
    "LOG_WRITES_SCHEMA",
    "OPERATIONS_SCHEMA",
    "CleanMetadata",
    "CleanPartition",
    "CleanerPlan",
    "ClusteringPlan",
    "CommitMetadata",
    "CompactionPlan",
    "Fields",
    "IndexPlan",
    "NewCommitMetadata",
    "RestoreMetadata",
    "RestorePlan",
    "RollbackMetadata",
    "RollbackPartition",
    "RollbackPlan",
    "RollbackRequest",
    "SavepointMetadata",
    "corrupt",
    "decode_clean_metadata",
    "decode_cleaner_plan",
    "decode_clustering_plan",
    "decode_commit",
    "decode_compaction_plan",
    "decode_index_plan",
    "decode_payload",
    "decode_restore_metadata",
    "decode_restore_plan",
    "decode_rollback_metadata",
    "decode_rollback_plan",
    "decode_savepoint_metadata",
    "encode_clean_metadata",
    "encode_cleaner_plan",
    "encode_commit",
    "encode_compaction_plan",
    "encode_index_commit",
    "encode_index_plan",
    "encode_requested_replace",
    "encode_restore_metadata",
    "encode_restore_plan",
    "encode_rollback_metadata",
    "encode_rollback_plan",
    "encode_savepoint_metadata",
    "model_schema",
    "model_text",
]

_HOMES = {
    "CLEAN_FILES_SCHEMA": "plans",
    "CLUSTERING_SCHEMA": "plans",
    "CleanMetadata": "plans",
    "CleanPartition": "plans",
    "CleanerPlan": "plans",
    "ClusteringPlan": "plans",
    "CompactionPlan": "plans",
    "IndexPlan": "index_plans",
    "NewCommitMetadata": "encoders",
    "OPERATIONS_SCHEMA": "plans",
    "RestoreMetadata": "plans",
    "RestorePlan": "plans",
    "RollbackMetadata": "plans",
    "RollbackPartition": "plans",
    "RollbackPlan": "plans",
    "RollbackRequest": "plans",
    "SavepointMetadata": "plans",
    "decode_clean_metadata": "plans",
    "decode_cleaner_plan": "plans",
    "decode_clustering_plan": "plans",
    "decode_compaction_plan": "plans",
    "decode_index_plan": "index_plans",
    "decode_restore_metadata": "plans",
    "decode_restore_plan": "plans",
    "decode_rollback_metadata": "plans",
    "decode_rollback_plan": "plans",
    "decode_savepoint_metadata": "plans",
    "encode_clean_metadata": "plan_encoders",
    "encode_cleaner_plan": "plan_encoders",
    "encode_commit": "encoders",
    "encode_compaction_plan": "plan_encoders",
    "encode_index_commit": "index_plans",
    "encode_index_plan": "index_plans",
    "encode_requested_replace": "plan_encoders",
    "encode_restore_metadata": "plan_encoders",
    "encode_restore_plan": "plan_encoders",
    "encode_rollback_metadata": "plan_encoders",
    "encode_rollback_plan": "plan_encoders",
    "encode_savepoint_metadata": "plan_encoders",
    "model_schema": "avro_models",
    "model_text": "avro_models",
}

# Loaded on first use: readers need commits, and few of them plans.
__getattr__ = lazy_names(__name__, _HOMES)
