"""Id-based schemas of tables with ``hoodie.schema.on.read.enable`` (section 8): what older files call a column.

Only names are worked out here, by id; types are promoted where rows are read.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hudi_hive.errors import SchemaError


@dataclass(frozen=True, slots=True)
class InternalField:
    """A field: its id, its name and, for nested types, the fields below it.

    An array has one child named ``element``, a map the children ``key`` and ``value``.
    """

    id: int
    name: str
    children: tuple[InternalField, ...] = ()


@dataclass(frozen=True, slots=True)
class InternalSchema:
    """One version of a table's schema; ``version_id`` is the instant that made it, 0 for the one before all changes."""

    version_id: int
    fields: tuple[InternalField, ...]


@dataclass(frozen=True, slots=True)
class EvolvedSchema:
    """The version that a query shows and all versions that files may have been written with, oldest first."""

    query: InternalSchema
    history: tuple[InternalSchema, ...]

    def sources(self, instant: str) -> dict[str, FieldSource] | None:
        """Where a file that a commit wrote holds the query's columns; None when matching by name does.

        Args:
            instant: requested time of the commit, as in the file's name.
        """
        written = schema_at(self.history, instant)
        if written is None:
            return None
        sources = field_sources(self.query, written)
        return None if is_identity(sources) else sources


@dataclass(frozen=True, slots=True)
class FieldSource:
    """Where a field's values stand in a file.

    Attributes:
        name: the field's name in the file, or None when the file does not have the field.
        children: for nested types, the sources of the fields below it, by their names in the query's schema.
    """

    name: str | None
    children: Mapping[str, FieldSource] = field(default_factory=dict)


def parse_internal_schema(text: str | Mapping[str, Any]) -> InternalSchema:
    """The schema of a commit's ``latest_schema``, or one entry of a history file.

    Raises:
        SchemaError: it is not the JSON of an id-based schema.
    """
    try:
        data = json.loads(text) if isinstance(text, str) else text
        return InternalSchema(int(data["version_id"]), tuple(_parse_field(item) for item in data["fields"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SchemaError(f"not an id-based schema: {error!r}") from error


def parse_history(data: bytes) -> tuple[InternalSchema, ...]:
    """All versions in a ``.schemacommit`` file, oldest first.

    Raises:
        SchemaError: the file does not hold a schema history.
    """
    try:
        entries = json.loads(data)["schemas"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SchemaError(f"not a schema history: {error!r}") from error
    return tuple(sorted((parse_internal_schema(entry) for entry in entries), key=lambda schema: schema.version_id))


def schema_at(history: Sequence[InternalSchema], instant: str) -> InternalSchema | None:
    """The version that a file of a commit was written with: the newest at or before the instant; None without one."""
    position = bisect_right([schema.version_id for schema in history], int(instant))
    return history[position - 1] if position else None


def field_sources(query: InternalSchema, file: InternalSchema) -> dict[str, FieldSource]:
    """For each top-level column of the query's schema, where a file written with another version holds it."""
    return _sources(query.fields, file.fields)


def is_identity(sources: Mapping[str, FieldSource]) -> bool:
    """Whether every field has its own name in the file: then matching by name does as well."""
    return all(name == source.name and is_identity(source.children) for name, source in sources.items())


def _sources(query: Sequence[InternalField], file: Sequence[InternalField]) -> dict[str, FieldSource]:
    by_id = {item.id: item for item in file}
    result: dict[str, FieldSource] = {}
    for wanted in query:
        found = by_id.get(wanted.id)
        if found is None:
            result[wanted.name] = FieldSource(None)
        else:
            result[wanted.name] = FieldSource(found.name, _sources(wanted.children, found.children))
    return result


def _parse_field(data: Mapping[str, Any]) -> InternalField:
    return InternalField(int(data["id"]), str(data["name"]), _children(data["type"]))


def _children(kind: Any) -> tuple[InternalField, ...]:  # noqa: ANN401 - parsed JSON
    if isinstance(kind, str):
        return ()
    if kind["type"] == "record":
        return tuple(_parse_field(item) for item in kind["fields"])
    if kind["type"] == "array":
        return (InternalField(int(kind["element_id"]), "element", _children(kind["element"])),)
    if kind["type"] == "map":
        return (
            InternalField(int(kind["key_id"]), "key", _children(kind["key"])),
            InternalField(int(kind["value_id"]), "value", _children(kind["value"])),
        )
    raise ValueError(f"unknown nested type {kind['type']!r}")
