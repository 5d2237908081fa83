"""Enables sessions, reads by name or path, and registers table functions."""

from __future__ import annotations

from hudi_hive.spark.session.reader import (
    enable,
    enable_extensions,
    explain,
    last_scan,
    load,
    planned_scans,
    require_java,
    session_builder,
    table,
)

__all__ = [
    "enable",
    "enable_extensions",
    "explain",
    "last_scan",
    "load",
    "planned_scans",
    "require_java",
    "session_builder",
    "table",
]
