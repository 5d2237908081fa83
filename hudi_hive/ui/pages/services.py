"""Pending instants and services, locks and savepoints of a table; its metadata table."""

from __future__ import annotations

from typing import Any, Final

from hudi_hive.errors import MetadataTableError, PathNotFoundError
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline import instant_to_millis

_SHOWN: Final = 100
_LOCK_FILES: Final = (".hoodie/lock", ".hoodie/.locks/table_lock.json", ".hoodie/.aux/write.lock")
"""Files of the file-system lock, the storage-based lock and the lock of a store that creates atomically."""


def services_page(table: HudiTable) -> dict[str, Any]:
    """What is pending, what holds a lock, and the savepoints; nothing of it is changed by looking."""
    from hudi_hive.write.coordination import beating_instants

    timeline = table.timeline
    storage = table.client.storage
    beating = set(beating_instants(storage))
    pending = [
        {
            "requested": instant.requested,
            "action": instant.action,
            "state": instant.state.name.lower(),
            "heartbeat": instant.requested in beating,
        }
        for instant in timeline.pending()
    ]
    savepoints = table.savepoints()
    compactions, clustering = timeline.pending_compactions(), timeline.pending_clustering()
    return {
        "pending": pending[:_SHOWN],
        "pending_total": len(pending),
        "compactions": compactions.slice(0, _SHOWN).to_pylist(),
        "compactions_total": compactions.num_rows,
        "clustering": clustering.slice(0, _SHOWN).to_pylist(),
        "clustering_total": clustering.num_rows,
        "locks": _locks(table),
        "savepoints": savepoints[:_SHOWN],
        "savepoints_total": len(savepoints),
    }


def metadata_page(table: HudiTable, *, validate: bool) -> dict[str, Any]:
    """The state of the metadata table; compared with a listing of all files when ``validate`` is true."""
    status = table.metadata.status()
    report, problem = None, None
    if validate:
        try:
            report = table.metadata.validate()
        except MetadataTableError as error:
            problem = str(error)
    last = table.timeline.last_completed_write()
    behind = None
    if status.last_instant is not None and last is not None:
        seconds = (instant_to_millis(last.requested, "UTC") - instant_to_millis(status.last_instant[:17], "UTC")) / 1000
        behind = max(0.0, seconds)
    return {
        "status": status,
        "by_partition": status.by_partition.to_pylist(),
        "report": report,
        "problem": problem,
        "behind": behind,
    }


def _locks(table: HudiTable) -> list[dict[str, Any]]:
    """Lock files that are there: their path and how they begin."""
    storage = table.client.storage
    locks = []
    for path in _LOCK_FILES:
        try:
            text = storage.read_bytes(path)[:500].decode("utf-8", "replace")
        except PathNotFoundError:
            continue
        locks.append({"path": path, "text": text})
    return locks
