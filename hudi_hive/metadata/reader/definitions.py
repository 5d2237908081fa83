"""Reads the definitions of a table's indexes (``.hoodie/.index_defs/index.json``).

Source: docs/format.md#metadata-file-groups.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hudi_hive.errors import CorruptFileError, PathNotFoundError
from hudi_hive.names import HOODIE_TABLE_INDEX_DEFS_PATH
from hudi_hive.predicate import ColumnFunction, column_function
from hudi_hive.table import MetaClient

_PATH_PROPERTY: Final = HOODIE_TABLE_INDEX_DEFS_PATH
_DEFAULT_PATH: Final = ".hoodie/.index_defs/index.json"
_LARGEST_FILE: Final = 64 << 20

SECONDARY_INDEX: Final = "secondary_index"
"""What the type of a secondary index is called."""

HASHES_HEADS: Final = "V2"
"""Version of a secondary index whose keys go to file groups by what stands before the record key."""

EXPRESSION_PREFIX: Final = "expr_index_"
"""What the names of expression indexes begin with; their types are ``column_stats`` and ``bloom_filters``."""

_RECORD_INDEX: Final = "record_index"
_IS_PARTITIONED: Final = "isPartitioned"

_EXPRESSION: Final = "expr"
_OF_FILTERS: Final = frozenset({"filtertype", "numentries", "fpp", "maxentries"})
"""Options of an expression index that are not arguments of its function."""

_FIRST_WITH_DEFINITIONS: Final = 8
"""The first table version with definitions of indexes."""

_SEVERAL_FALL_BEHIND: Final = 9
"""Version of the tables whose release keeps one secondary index alone in step with log files."""


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


def has_column_indexes(client: MetaClient) -> bool:
    """Whether the metadata table has a complete secondary or expression index."""
    heads = (f"{SECONDARY_INDEX}_", EXPRESSION_PREFIX)
    return any(name.startswith(heads) for name in client.config.metadata_partitions)


def is_partitioned_index(client: MetaClient) -> bool:
    """Whether the record index is kept for each partition of the table by itself, where it has one; read once.

    Args:
        client: the table, not its metadata table.

    Raises:
        CorruptFileError: the definitions cannot be read.
    """
    if client.config.version < _FIRST_WITH_DEFINITIONS:
        return False

    def read() -> bool:
        definition = next((item for item in index_definitions(client) if item.name == _RECORD_INDEX), None)
        return definition is not None and definition.options.get(_IS_PARTITIONED, "").strip().lower() == "true"

    return client.memoize("partitioned record index", read)


def indexed_function(definition: IndexDefinition) -> ColumnFunction | None:
    """The function that an expression index is of; None for another index, or a function that is not understood."""
    if not definition.name.startswith(EXPRESSION_PREFIX):
        return None
    name = definition.function or definition.options.get(_EXPRESSION, "identity")
    other = {_EXPRESSION, *_OF_FILTERS}
    options = {key: value for key, value in definition.options.items() if key.lower() not in other}
    return column_function(name, options)


def keeps_each_in_step(client: MetaClient, definitions: Sequence[IndexDefinition]) -> bool:
    """Whether all writers of a table bring each of its secondary indexes up to date.

    Hudi 1.1 makes the records of several such indexes of one log file from a slice that has the file in it already
    when it comes to the second index, which so sees no change.

    Args:
        client: the table.
        definitions: of its indexes.
    """
    several = sum(one.kind == SECONDARY_INDEX for one in definitions) > 1
    return not (several and client.config.is_merge_on_read and client.config.version == _SEVERAL_FALL_BEHIND)
