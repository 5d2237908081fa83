"""``hudi-hive inspect`` and the timeline as a page."""

from __future__ import annotations

from hudi_hive.cli.timeline.inspect import schema

__all__ = [
    "schema",
]
