"""Heartbeat files of running writes, ``.hoodie/.heartbeat/<instant>``: when each of them was renewed.

Source: docs/format.md#heartbeats-and-locks.
"""

from __future__ import annotations

from typing import Final

from hudi_hive.storage import Storage

HEARTBEAT_FOLDER: Final = ".hoodie/.heartbeat"


def heartbeat_mtimes(storage: Storage) -> dict[str, int]:
    """Requested times of the instants that have a heartbeat file, with its modification time.

    Args:
        storage: rooted at the table's base path.

    Returns:
        Milliseconds since the epoch by requested time, expired heartbeats among them.
    """
    listing = storage.list(HEARTBEAT_FOLDER, missing_ok=True)
    names = [path.rpartition("/")[2] for path in listing["path"].to_pylist()]
    return dict(zip(names, listing["mtime_ms"].to_pylist(), strict=True))
