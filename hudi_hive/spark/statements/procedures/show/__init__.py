"""Procedures that only read: the timeline, files, statistics and the metadata table."""

from __future__ import annotations

from typing import Final

from hudi_hive.spark.statements.procedures.show.commits import COMMIT_PROCEDURES
from hudi_hive.spark.statements.procedures.show.files import FILE_PROCEDURES
from hudi_hive.spark.statements.procedures.show.logs import LOG_PROCEDURES
from hudi_hive.spark.statements.procedures.show.metadata import METADATA_PROCEDURES
from hudi_hive.spark.statements.procedures.show.services import SERVICE_PROCEDURES

SHOW_PROCEDURES: Final = (
    *COMMIT_PROCEDURES,
    *FILE_PROCEDURES,
    *LOG_PROCEDURES,
    *METADATA_PROCEDURES,
    *SERVICE_PROCEDURES,
)

__all__ = ["SHOW_PROCEDURES"]
