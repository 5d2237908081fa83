"""Writes the metadata table (RFC-15): initialises its partitions and adds the records of each commit."""

from __future__ import annotations

from hudi_hive.metadata.writer.building import (
    BuildOvertakenError,
    IndexBuild,
    complete_build,
    delete_strays,
    drop_build,
)
from hudi_hive.metadata.writer.state import PlannedBuild, listed_partitions, planned_builds
from hudi_hive.metadata.writer.writer import MetadataWriter

__all__ = [
    "BuildOvertakenError",
    "IndexBuild",
    "MetadataWriter",
    "PlannedBuild",
    "complete_build",
    "delete_strays",
    "drop_build",
    "listed_partitions",
    "planned_builds",
]
