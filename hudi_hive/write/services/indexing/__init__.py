"""Builds indexes of the metadata table beside the writers: ``indexing`` on the timeline (RFC-45)."""

from __future__ import annotations

from hudi_hive.write.services.indexing.index_builder import (
    BuildTarget,
    IndexBuilder,
    OpenWriter,
    dead_builds,
    drop_dead_builds,
    refuse_being_built,
)

__all__ = ["BuildTarget", "IndexBuilder", "OpenWriter", "dead_builds", "drop_dead_builds", "refuse_being_built"]
