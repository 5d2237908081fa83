"""Common parts of all table services: their context, their claim on a plan, and checks before they start."""

from __future__ import annotations

from hudi_hive.write.service_base.checks import (
    refuse_buckets,
    refuse_lost_versions,
    refuse_pending_restore,
    refuse_planned,
    refuse_savepointed,
    refuse_topped,
)
from hudi_hive.write.service_base.claim import (
    Claim,
    claim,
    claimed,
    ending,
    is_beating,
    pending_still,
    refuse_beating,
    refuse_pending_undo,
    rolled_back_now,
)
from hudi_hive.write.service_base.context import ServiceContext

__all__ = [
    "Claim",
    "ServiceContext",
    "claim",
    "claimed",
    "ending",
    "is_beating",
    "pending_still",
    "refuse_beating",
    "refuse_buckets",
    "refuse_lost_versions",
    "refuse_pending_restore",
    "refuse_pending_undo",
    "refuse_planned",
    "refuse_savepointed",
    "refuse_topped",
    "rolled_back_now",
]
