"""Rollback: undo one instant, and find the instants of writers that died (table format, sections 2.2, 2.5 and 4.5)."""

from __future__ import annotations

from hudi_hive.timeline import Instant
from hudi_hive.timeline.plans import RollbackMetadata
from hudi_hive.write.services.context import ServiceContext


def rollback(context: ServiceContext, target: Instant) -> RollbackMetadata:
    """Undo an instant under a rollback instant of its own."""
    raise NotImplementedError


def rollback_failed_writes(context: ServiceContext) -> list[RollbackMetadata]:
    """Take up rollbacks that died, then undo the writes of writers that died, newest first."""
    raise NotImplementedError
