"""Builds partitions of the metadata table beside the writers, who add to them meanwhile (RFC-45)."""

from __future__ import annotations

from hudi_hive.metadata.writer.building.index_build import BuildOvertakenError, IndexBuild
from hudi_hive.metadata.writer.building.plans import complete_build, delete_strays, drop_build

__all__ = ["BuildOvertakenError", "IndexBuild", "complete_build", "delete_strays", "drop_build"]
