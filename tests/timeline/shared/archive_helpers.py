"""Loads archived timelines."""

from __future__ import annotations

import pyarrow as pa

from hudi_hive.storage import Storage
from hudi_hive.timeline import ArchivedTimeline, Timeline

HISTORY = ".hoodie/timeline/history"
LOGS = ".hoodie/archived"


def archive_of(base):
    layout = 2 if (base / ".hoodie/timeline").exists() else 1
    return ArchivedTimeline(Storage(base), HISTORY if layout == 2 else LOGS, layout)


def load(base):
    return Timeline.load(Storage(base), layout=2 if (base / ".hoodie/timeline").exists() else 1, timezone="UTC")


def times(archive):
    return [instant.requested for instant in archive.instants]


def entry(time, action, state, **payload):
    return {"commitTime": time, "actionType": action, "actionState": state, "version": 1, **payload}


def readable(value):
    """A metadata object without the instant, for comparing an archived one with the active one."""
    if isinstance(value, pa.Table):
        return value.to_pylist()
    if hasattr(value, "__dataclass_fields__"):
        return {key: readable(getattr(value, key)) for key in value.__dataclass_fields__ if key != "instant"}
    if isinstance(value, dict):
        return {key: readable(item) for key, item in value.items()}
    return value
