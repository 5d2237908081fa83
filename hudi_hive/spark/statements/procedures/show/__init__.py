"""Procedures that only read: the timeline, files, statistics and the metadata table."""

from __future__ import annotations

from hudi_hive.spark.statements.procedures.show.commits import COMMIT_PROCEDURES

SHOW_PROCEDURES = (*COMMIT_PROCEDURES,)

__all__ = ["SHOW_PROCEDURES"]
