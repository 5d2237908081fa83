"""What users call first: enable a session, read by name or path, table functions."""

from __future__ import annotations

from hudi_hive.spark.session.reader import enable, explain, last_scan, load, planned_scans, session_builder, table

__all__ = [
    "enable",
    "explain",
    "last_scan",
    "load",
    "planned_scans",
    "session_builder",
    "table",
]
