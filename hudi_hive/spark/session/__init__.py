"""Enables sessions, reads by name or path, and registers table functions."""

from __future__ import annotations

from hudi_hive.spark.bridge import hint_at_enable
from hudi_hive.spark.session.reader import (
    disable,
    enable,
    enable_extensions,
    explain,
    last_scan,
    load,
    planned_scans,
    register_session_mergers,
    require_java,
    session_builder,
    table,
)

hint_at_enable()

__all__ = [
    "disable",
    "enable",
    "enable_extensions",
    "explain",
    "last_scan",
    "load",
    "planned_scans",
    "register_session_mergers",
    "require_java",
    "session_builder",
    "table",
]
