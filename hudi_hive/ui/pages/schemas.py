"""The versions of a table's schema side by side, with what changed."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from hudi_hive.names import META_COLUMN_PREFIX
from hudi_hive.table_api import HudiTable

_SHOWN_VERSIONS: Final = 6
_SCHEMA_COMMITS: Final = 200
"""Newest commits whose schemas are looked at where columns have no ids."""


def schema_page(table: HudiTable) -> dict[str, Any]:
    """The newest versions of the schema, the newest first, a row per column; the meta columns are left out."""
    history = table.schema_history()
    versions = _by_id(history) if history.num_rows else _by_name(table)
    shown = versions[:_SHOWN_VERSIONS]
    keys = list(dict.fromkeys(key for _, columns in shown for key in columns))
    rows = []
    for key in keys:
        cells = []
        for number, (_, columns) in enumerate(shown):
            older = shown[number + 1][1] if number + 1 < len(shown) else columns
            cells.append({"text": columns.get(key, ""), "change": _change(older.get(key), columns.get(key))})
        rows.append(cells)
    current = {field.name: field for field in table.schema()}
    return {
        "versions": [name for name, _ in shown],
        "rows": rows,
        "left_out": len(versions) - len(shown),
        "has_ids": bool(history.num_rows),
        "partition_fields": [name for name in table.config.partition_fields if name in current],
        "columns": sum(not name.startswith(META_COLUMN_PREFIX) for name in current),
    }


def _by_id(history: pa.Table) -> list[tuple[str, dict[object, str]]]:
    """The versions of a schema with ids: name of the version, and a text for each column id."""
    versions: dict[int, tuple[str, dict[object, str]]] = {}
    for row in history.to_pylist():
        name = row["instant"] or "first"
        _, columns = versions.setdefault(row["version"], (name, {}))
        if not row["column"].startswith(META_COLUMN_PREFIX):
            columns[row["id"]] = f"{row['column']}: {row['type']}{'' if row['optional'] else ', required'}"
    return list(versions.values())


def _by_name(table: HudiTable) -> list[tuple[str, dict[object, str]]]:
    """The distinct schemas of the newest commits: columns without ids are told apart by their names."""
    timeline = table.timeline
    versions: list[tuple[str, dict[object, str]]] = []
    last: dict[str, Any] | None = None
    for instant in reversed(timeline.write_instants()[-_SCHEMA_COMMITS:]):
        schema = timeline.commit_metadata(instant).schema
        if schema is None or schema == last:
            if versions and schema is not None:
                versions[-1] = (instant.requested, versions[-1][1])  # the first commit that had it
            continue
        last = schema
        columns = {field.name: field for field in table.schema(as_of=instant.requested)}
        versions.append((instant.requested, {name: _text(field) for name, field in columns.items() if _is_data(name)}))
    if not versions:
        versions.append(("now", {field.name: _text(field) for field in table.schema() if _is_data(field.name)}))
    return versions


def _is_data(name: str) -> bool:
    return not name.startswith(META_COLUMN_PREFIX)


def _text(field: pa.Field) -> str:
    return f"{field.name}: {field.type}{'' if field.nullable else ', required'}"


def _change(older: str | None, newer: str | None) -> str:
    if older == newer:
        return ""
    if older is None:
        return "added"
    return "dropped" if newer is None else "changed"
