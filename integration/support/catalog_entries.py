"""Entries of tables in a metastore as plain texts, without what is another one in each run."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hudi_hive.metastore import FieldSchema, HiveMetastore, StorageDescriptor, Table

DATA = Path(__file__).resolve().parents[1] / "data" / "spark_entries"

_DROPPED = re.compile(r"transient_lastDdlTime|totalSize|numFiles|COLUMN_STATS_ACCURATE|bucketing_version|last_modified")
_VARIABLE = re.compile(r"last_commit_(completion_)?time_sync|spark\.sql\.create\.version")

Entry = dict[str, str]
"""What an entry says: ``parameters.type``, ``columns``, ``partition p=x location`` …; a text each."""


def statements() -> list[str]:
    """The statements that make the tables; ``${folder}`` is a folder of the run."""
    return [text.strip() for text in (DATA / "statements.sql").read_text().split(";;") if text.strip()]


def recorded() -> dict[str, Entry]:
    """Table to the entry that real Hudi made."""
    found: dict[str, Entry] = json.loads((DATA / "entries.json").read_text())
    return found


def reasons() -> dict[str, str]:
    """Patterns of ``table: what`` of entries that differ, with the reason."""
    found: dict[str, str] = json.loads((DATA / "differences.json").read_text())
    return found


def entries_of(metastore: HiveMetastore, database: str, folder: Path) -> dict[str, Entry]:
    """Table to its entry, of all tables of a database."""
    return {name: _entry(metastore, metastore.table(database, name), folder) for name in metastore.tables(database)}


def differences(ours: dict[str, Entry], theirs: dict[str, Entry]) -> list[str]:
    """What differs without a reason."""
    found = []
    for name in sorted(set(ours) | set(theirs)):
        one, other = ours.get(name, {}), theirs.get(name, {})
        for key in sorted(set(one) | set(other)):
            place = f"{name}: {key}"
            if one.get(key) != other.get(key) and not any(fnmatchcase(place, pattern) for pattern in reasons()):
                found.append(f"{place}\n  ours   {one.get(key)}\n  theirs {other.get(key)}")
    return found


def _entry(metastore: HiveMetastore, table: Table, folder: Path) -> Entry:
    entry = {"type": table.tableType, "keys": _columns(table.partitionKeys)} | _storage(table.sd)
    for name, text in (table.parameters or {}).items():
        if not _DROPPED.match(name):
            entry[f"parameters.{name}"] = "<any>" if _VARIABLE.match(name) else text
    for partition in metastore.partitions(table.dbName, table.tableName) if table.partitionKeys else ():
        name = "/".join(partition.values)
        entry |= {f"partition {name} {key}": text for key, text in _storage(partition.sd).items()}
    return {key: _relative(text, table.dbName, folder) for key, text in entry.items()}


def _relative(text: str, database: str, folder: Path) -> str:
    return text.replace("file://", "file:").replace(str(folder), "").replace(f"{database}.db", "database.db")


def _storage(storage: StorageDescriptor) -> Entry:
    serde = storage.serdeInfo
    texts: dict[str, Any] = {
        "location": storage.location,
        "input format": storage.inputFormat,
        "output format": storage.outputFormat,
        "serde": serde.serializationLib,
        "columns": _columns(storage.cols),
        "buckets": storage.numBuckets,
    }
    return {name: str(text) for name, text in texts.items()} | {
        f"serde.{name}": text for name, text in (serde.parameters or {}).items()
    }


def _columns(columns: Sequence[FieldSchema] | None) -> str:
    return ", ".join(f"{one.name} {one.type} {one.comment or ''}".strip() for one in columns or ())
