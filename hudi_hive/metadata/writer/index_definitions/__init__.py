"""Writes the index definitions of a table, ``.hoodie/.index_defs/index.json``.

Source: docs/format.md#metadata-file-groups.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from hudi_hive.errors import PathNotFoundError
from hudi_hive.metadata.reader import COLUMN_STATS, RECORD_INDEX, IndexDefinition, index_definitions
from hudi_hive.names import HOODIE_TABLE_INDEX_DEFS_PATH
from hudi_hive.table import MetaClient

_DEFINITIONS: Final = HOODIE_TABLE_INDEX_DEFS_PATH
_DEFINITIONS_PATH: Final = ".hoodie/.index_defs/index.json"

__all__ = ["define_column_index", "define_index", "forget_indexes", "rename_columns"]


def define_index(client: MetaClient, name: str, columns: Sequence[str], *, partitioned: bool = False) -> dict[str, str]:
    """Add an index to the table's index definitions, which exist from version 8 on.

    Source: docs/format.md#metadata-file-groups.

    Args:
        client: the table.
        name: a partition of the metadata table; nothing is done for one that is no index.
        columns: columns that it has statistics of.
        partitioned: it is a record index of each partition of the table; before version 9 no other is in there.

    Returns:
        The property of the table that is to be set behind it.
    """
    version = client.config.version
    if name not in (COLUMN_STATS, RECORD_INDEX) or version < (9 if name == RECORD_INDEX and not partitioned else 8):
        return {}
    entry: dict[str, Any] = {
        "indexName": name,
        "indexType": name,
        "indexFunction": "" if name == RECORD_INDEX else name,
        "sourceFields": list(columns),
        "indexOptions": {"isPartitioned": str(partitioned).lower()} if name == RECORD_INDEX else {},
    }
    if version >= 9:
        entry["version"] = "V1" if name == RECORD_INDEX else "V2"
    _change_definitions(client, {name: entry})
    return {} if client.config.properties.get(_DEFINITIONS) else {_DEFINITIONS: _DEFINITIONS_PATH}


def define_column_index(client: MetaClient, definition: IndexDefinition) -> dict[str, str]:
    """Add a secondary or expression index to the table's index definitions; returns as :func:`define_index`."""
    entry: dict[str, Any] = {
        "indexName": definition.name,
        "indexType": definition.kind,
        "indexFunction": definition.function,
        "sourceFields": list(definition.columns),
        "indexOptions": dict(definition.options),
    }
    if client.config.version >= 9:
        entry["version"] = definition.version
    _change_definitions(client, {definition.name: entry})
    return {} if client.config.properties.get(_DEFINITIONS) else {_DEFINITIONS: _DEFINITIONS_PATH}


def rename_columns(client: MetaClient, current: Callable[[Sequence[str]], list[str]]) -> None:
    """Add what columns are called now to the statistics in the table's index definitions.

    Args:
        client: the table.
        current: gives the names that are to be in the definition for those that are.
    """
    if client.config.version < 8:
        return
    defined = next((item for item in index_definitions(client) if item.name == COLUMN_STATS), None)
    if defined is not None and (names := current(defined.columns)) != list(defined.columns):
        define_index(client, COLUMN_STATS, names)


def forget_indexes(client: MetaClient, names: Iterable[str]) -> None:
    """Remove indexes from the table's index definitions."""
    if client.config.version >= 8:
        _change_definitions(client, dict.fromkeys(names))


def _change_definitions(client: MetaClient, changes: Mapping[str, dict[str, Any] | None]) -> None:
    try:
        definitions = json.loads(client.storage.read_bytes(_DEFINITIONS_PATH))
    except PathNotFoundError:
        definitions = {"indexDefinitions": {}}
    entries = {**definitions["indexDefinitions"], **changes}
    entries = {name: entry for name, entry in entries.items() if entry is not None}
    if entries == definitions["indexDefinitions"]:
        return
    text = json.dumps({**definitions, "indexDefinitions": entries}, indent=2)
    client.storage.replace_bytes(_DEFINITIONS_PATH, text.encode())
