"""Table services: compaction, log compaction, clustering, clean, archival, scheduled and executed.

Rollback, clean, compaction, clustering, savepoint and restore; each is scheduled (its plan is written) and executed
apart, and an execution that died is taken up again from its plan.
"""

from __future__ import annotations

from hudi_hive.write.services.archival import archive_instants
from hudi_hive.write.services.cleaning import CleanPolicy, clean, execute_clean, plan_clean
from hudi_hive.write.services.clustering import (
    cluster,
    execute_clustering,
    pending_clusterings,
    schedule_clustering,
)
from hudi_hive.write.services.compaction import compact, compaction_is_due, execute_compaction, schedule_compaction
from hudi_hive.write.services.inline import InlineReport, clean_is_due, run_inline_services
from hudi_hive.write.services.log_compaction import (
    execute_log_compaction,
    log_compact,
    run_planned_log_compactions,
    schedule_log_compaction,
)
from hudi_hive.write.services.metadata_services import MetadataServices, MetadataTableChange
from hudi_hive.write.services.partition_ttl import ExpiredPartitions, expire_partitions
from hudi_hive.write.services.pending_plans import PlanRun, run_planned_clusterings, run_planned_compactions
from hudi_hive.write.services.rescaling import Rescaling, added_rules, rescaling_rules, roll_back_rescaling
from hudi_hive.write.services.service_rounds import ServiceEvent, ServiceKind, ServiceRounds
from hudi_hive.write.services.table_services import TableServices

__all__ = [
    "CleanPolicy",
    "ExpiredPartitions",
    "InlineReport",
    "MetadataServices",
    "MetadataTableChange",
    "PlanRun",
    "Rescaling",
    "ServiceEvent",
    "ServiceKind",
    "ServiceRounds",
    "TableServices",
    "added_rules",
    "archive_instants",
    "clean",
    "clean_is_due",
    "cluster",
    "compact",
    "compaction_is_due",
    "execute_clean",
    "execute_clustering",
    "execute_compaction",
    "execute_log_compaction",
    "expire_partitions",
    "log_compact",
    "pending_clusterings",
    "plan_clean",
    "rescaling_rules",
    "roll_back_rescaling",
    "run_inline_services",
    "run_planned_clusterings",
    "run_planned_compactions",
    "run_planned_log_compactions",
    "schedule_clustering",
    "schedule_compaction",
    "schedule_log_compaction",
]
