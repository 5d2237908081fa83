"""Reads the definitions of a table's indexes (``.hoodie/.index_defs/index.json``).

Source: docs/format.md#metadata-file-groups.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hudi_hive.errors import CorruptFileError, PathNotFoundError
from hudi_hive.names import HOODIE_TABLE_INDEX_DEFS_PATH
from hudi_hive.table import MetaClient

_PATH_PROPERTY: Final = HOODIE_TABLE_INDEX_DEFS_PATH
_DEFAULT_PATH: Final = ".hoodie/.index_defs/index.json"
_LARGEST_FILE: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """The definition of one index.

    Attributes:
        name: partition of the metadata table that holds it (``secondary_index_by_rider``).
        kind: ``secondary_index``, ``column_stats``, ``bloom_filters`` or ``record_index``.
        function: what is done to the column's values before they are indexed; ``identity`` or empty for nothing.
        columns: columns that it is made of.
        options: options of the function, and ``isPartitioned`` of a record index.
        version: ``V1`` or ``V2``; ``V1`` where none is told.
    """

    name: str
    kind: str
    function: str
    columns: tuple[str, ...]
    options: Mapping[str, str]
    version: str


def index_definitions(client: MetaClient) -> tuple[IndexDefinition, ...]:
    """Read the definitions of a table's indexes, sorted by name; none without the file, as before version 8.

    Args:
        client: the table, not its metadata table.

    Raises:
        CorruptFileError: the file is not what it should be.
    """
    configured_path = client.config.properties.get(_PATH_PROPERTY, "").strip()
    # Some releases write the whole path; tables get moved, so only what lies below the table's own folder counts.
    path = configured_path[configured_path.rindex(".hoodie/") :] if ".hoodie/" in configured_path else _DEFAULT_PATH
    uri = client.storage.uri(path)
    try:
        data = client.storage.read_bytes(path)
    except PathNotFoundError:
        return ()
    if len(data) > _LARGEST_FILE:
        raise CorruptFileError(f"index definitions of {len(data)} bytes", path=uri)
    try:
        entries = json.loads(data)["indexDefinitions"]
        return tuple(_definition(name, entries[name]) for name in sorted(entries))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptFileError("the index definitions cannot be read", path=uri) from error


def _definition(name: str, entry: Mapping[str, object]) -> IndexDefinition:
    columns, options = entry.get("sourceFields") or [], entry.get("indexOptions") or {}
    if not isinstance(columns, list) or not isinstance(options, dict):
        raise TypeError(name)
    return IndexDefinition(
        name=str(entry.get("indexName") or name),
        kind=str(entry["indexType"]),
        function=str(entry.get("indexFunction") or ""),
        columns=tuple(str(column) for column in columns),
        options={str(key): str(value) for key, value in options.items()},
        version=str(entry.get("version") or "V1"),
    )
