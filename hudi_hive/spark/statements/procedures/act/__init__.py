"""Procedures that do more than show: services, savepoints, the metadata table, repairs, copies, partitions, syncs."""

from __future__ import annotations

from typing import Final

from hudi_hive.spark.statements.procedures.act.bootstraps import BOOTSTRAP_PROCEDURES
from hudi_hive.spark.statements.procedures.act.buckets import BUCKET_PROCEDURES
from hudi_hive.spark.statements.procedures.act.copies import COPY_PROCEDURES
from hudi_hive.spark.statements.procedures.act.export import EXPORT_PROCEDURES
from hudi_hive.spark.statements.procedures.act.metadata import METADATA_PROCEDURES
from hudi_hive.spark.statements.procedures.act.partitions import PARTITION_PROCEDURES
from hudi_hive.spark.statements.procedures.act.refused import REFUSED_PROCEDURES
from hudi_hive.spark.statements.procedures.act.repairs import REPAIR_PROCEDURES
from hudi_hive.spark.statements.procedures.act.savepoints import SAVEPOINT_PROCEDURES
from hudi_hive.spark.statements.procedures.act.services import SERVICE_PROCEDURES
from hudi_hive.spark.statements.procedures.act.sync import SYNC_PROCEDURES
from hudi_hive.spark.statements.procedures.act.versions import VERSION_PROCEDURES
from hudi_hive.spark.statements.procedures.base import Procedure

ACTING_PROCEDURES: Final[tuple[Procedure, ...]] = (
    *BOOTSTRAP_PROCEDURES,
    *BUCKET_PROCEDURES,
    *COPY_PROCEDURES,
    *EXPORT_PROCEDURES,
    *METADATA_PROCEDURES,
    *PARTITION_PROCEDURES,
    *REFUSED_PROCEDURES,
    *REPAIR_PROCEDURES,
    *SAVEPOINT_PROCEDURES,
    *SERVICE_PROCEDURES,
    *SYNC_PROCEDURES,
    *VERSION_PROCEDURES,
)

__all__ = ["ACTING_PROCEDURES"]
