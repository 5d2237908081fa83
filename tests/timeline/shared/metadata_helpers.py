"""Timelines with one file of given content."""

from __future__ import annotations

from hudi_hive.storage import Storage
from hudi_hive.timeline import Instant, State, Timeline
from hudi_hive.timeline.payloads.commit import decode_commit

T, C = "20250101000000000", "20250102000000000"
PENDING = Instant(T, "replacecommit", State.INFLIGHT, None, "x", "x")


def load(base):
    return Timeline.load(Storage(base), layout=2 if (base / ".hoodie/timeline").exists() else 1, timezone="UTC")


def made(tmp_path, name, data):
    folder = tmp_path / ".hoodie/timeline"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    timeline = load(tmp_path)
    return timeline, timeline.instants[0]


def commit(**record):
    """Metadata as of a pending commit, of which less is asked for than of a completed one."""
    return decode_commit(record, PENDING, "x")


TARGET = {"commitTime": T, "action": "commit"}
ROLLED_BACK = {"startRollbackTime": T, "commitsRollback": [T], "partitionMetadata": {}}


def completed(action, layout, **record):
    return decode_commit(record, Instant(T, action, State.COMPLETED, C if layout == 2 else None, "x", "x"), "x")
