"""Id-based schemas (Hudi's ``InternalSchema``): fields, types, versions, and how a file's columns match them.

A column is its id: names, places and types may change from version to version. What older files call a column is worked
out here; the JSON form stands in :mod:`~hudi_hive.schema.internal_json`, changes in :mod:`~hudi_hive.schema.evolution`.

Source: docs/format.md#id-based-schemas.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from hudi_hive.errors import SchemaError

_T = TypeVar("_T")
_MAX_DEPTH = 100  # as deep as Avro schemas are read


@dataclass(frozen=True, slots=True)
class RecordType:
    """The type of a struct."""

    fields: tuple[InternalField, ...]


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The type of a list, whose elements have an id of their own."""

    element_id: int
    element: InternalType
    element_optional: bool


@dataclass(frozen=True, slots=True)
class MapType:
    """The type of a map, whose keys and values have ids of their own."""

    key_id: int
    key: InternalType
    value_id: int
    value: InternalType
    value_optional: bool


InternalType: TypeAlias = "str | RecordType | ArrayType | MapType"
"""Primitive types are the texts of the JSON form: ``int``, ``decimal(10, 2)``, ``fixed[4]`` …"""


@dataclass(frozen=True, slots=True)
class InternalField:
    """A field of an id-based schema: id, name, type, and whether it is nullable."""

    id: int
    name: str
    optional: bool
    type: InternalType
    doc: str | None = None

    @property
    def children(self) -> tuple[InternalField, ...]:
        """The fields below: those of a struct, ``element`` of a list, ``key`` and ``value`` of a map."""
        return children_of(self.type)


def children_of(kind: InternalType) -> tuple[InternalField, ...]:
    """The fields below a type: those of a struct, ``element`` of a list, ``key`` and ``value`` of a map."""
    if isinstance(kind, RecordType):
        return kind.fields
    if isinstance(kind, ArrayType):
        return (InternalField(kind.element_id, "element", kind.element_optional, kind.element),)
    if isinstance(kind, MapType):
        return (
            InternalField(kind.key_id, "key", False, kind.key),
            InternalField(kind.value_id, "value", kind.value_optional, kind.value),
        )
    return ()


@dataclass(frozen=True)
class InternalSchema:
    """One version of a table's id-based schema.

    Attributes:
        version_id: the instant that made it, as a number; 0 for the one before all changes.
        max_column_id: the greatest id that any version up to this one gave; ids never return.
        fields: the top-level columns, the meta columns among them.
    """

    version_id: int
    max_column_id: int
    fields: tuple[InternalField, ...]

    def walk(self) -> Iterator[tuple[str, InternalField]]:
        """All fields with their dotted names, each before those below it."""
        return _walk("", self.fields)

    def find(self, name: str) -> InternalField | None:
        """The field of a dotted name (``info.a``, ``tags.element``, ``map.value.x``), None if there is none."""
        return self._by_name.get(name)

    def name_of(self, field_id: int) -> str | None:
        """The dotted name of the field with an id; None if this version does not have it."""
        return self._names.get(field_id)

    @cached_property
    def _by_name(self) -> dict[str, InternalField]:
        return dict(self.walk())

    @cached_property
    def _names(self) -> dict[int, str]:
        return {item.id: name for name, item in self.walk()}


def _walk(prefix: str, fields: Sequence[InternalField]) -> Iterator[tuple[str, InternalField]]:
    for item in fields:
        yield prefix + item.name, item
        yield from _walk(f"{prefix}{item.name}.", item.children)


@dataclass(frozen=True)
class EvolvedSchema:
    """The schema version of a query, with the versions that files of the table may have been written with.

    Attributes:
        query: the version that is shown.
        history: the versions of the history file, oldest first.
        commits: the versions in metadata of commits, by requested time; they take precedence over the history.
    """

    query: InternalSchema
    history: tuple[InternalSchema, ...]
    commits: Mapping[str, InternalSchema] = field(default_factory=dict, hash=False)
    _memo: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getstate__(self) -> tuple[InternalSchema, tuple[InternalSchema, ...], Mapping[str, InternalSchema]]:
        return self.query, self.history, self.commits

    def __setstate__(
        self, state: tuple[InternalSchema, tuple[InternalSchema, ...], Mapping[str, InternalSchema]]
    ) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def with_commits(self, commits: Mapping[str, InternalSchema]) -> EvolvedSchema:
        """A copy with the versions of more commits; this object if there are no new ones."""
        if commits.keys() <= self.commits.keys():
            return self
        return EvolvedSchema(self.query, self.history, {**self.commits, **commits})

    @property
    def versions(self) -> tuple[InternalSchema, ...]:
        """The versions of the history, then those of commits."""
        return (*self.history, *self.commits.values())

    def written(self, instant: str) -> InternalSchema | None:
        """The version that a commit wrote its files with: from the commit's metadata, else from the history; or None.

        Files that are older than the history are bound to its oldest version.

        Args:
            instant: requested time of the commit, as in a file's name.
        """
        version = self.commits.get(instant)
        if version is None and self.newest_version_id < self.query.version_id <= int(instant):
            return self.query
        version = version or schema_at(self.history, instant)
        return self.history[0] if version is None and self.history else version

    @property
    def newest_version_id(self) -> int:
        """Id of the newest version of the history; it is less than the query's where history was lost."""
        return self.history[-1].version_id if self.history else 0

    def is_lost(self, instant: str) -> bool:
        """Whether the version that a commit wrote its files with cannot be determined for certain.

        Args:
            instant: requested time of the commit, as in a file's name.
        """
        if instant in self.commits:
            return False
        if not self.history:
            return self.written(instant) is None
        return self.newest_version_id < int(instant) < self.query.version_id

    def sources(self, instant: str) -> dict[str, FieldSource] | None:
        """The file columns that hold the query's columns in files of a commit; None where their names are the same.

        Args:
            instant: requested time of the commit, as in the file's name.
        """
        return self.of_version(instant, EvolvedSchema._sources)

    def of_version(self, instant: str, make: Callable[[EvolvedSchema, InternalSchema | None], _T]) -> _T:
        """Call ``make`` with the version of a commit, once for all versions with the same fields, and cache the result.

        Args:
            instant: requested time of the commit.
            make: a function of a module or class; it takes this object and what :meth:`written` gives.
        """
        by_instant = ("instant", make, instant)
        if by_instant not in self._memo:
            version = self.written(instant)
            by_fields = ("fields", make, None if version is None else version.fields)
            if by_fields not in self._memo:
                self._memo[by_fields] = make(self, version)
            self._memo[by_instant] = self._memo[by_fields]
        value: _T = self._memo[by_instant]
        return value

    def _sources(self, written: InternalSchema | None) -> dict[str, FieldSource] | None:
        if written is None:
            return None
        sources = field_sources(self.query, written)
        return None if is_identity(sources) else sources


@dataclass(frozen=True, slots=True)
class FieldSource:
    """The column of a file that holds the values of a schema's field.

    Attributes:
        name: the field's name in the file, or None when the file does not have the field.
        children: for nested types, the sources of the fields below it, by their names in the query's schema.
    """

    name: str | None
    children: Mapping[str, FieldSource] = field(default_factory=dict)


def parse_internal_schema(text: str | Mapping[str, Any]) -> InternalSchema:
    """Parse a version from a commit's ``latest_schema`` or from an entry of a history file.

    Raises:
        SchemaError: it is not the JSON of an id-based schema.
    """
    try:
        data = json.loads(text) if isinstance(text, str) else text
        fields = tuple(_parse_field(item) for item in data["fields"])
        return InternalSchema(int(data["version_id"]), int(data["max_column_id"]), fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SchemaError(f"not an id-based schema: {error!r}") from error


def parse_history(data: bytes) -> tuple[InternalSchema, ...]:
    """Parse the versions in a ``.schemacommit`` file, oldest first.

    Raises:
        SchemaError: the file does not hold a schema history.
    """
    try:
        entries = json.loads(data)["schemas"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SchemaError(f"not a schema history: {error!r}") from error
    return tuple(sorted((parse_internal_schema(entry) for entry in entries), key=lambda schema: schema.version_id))


def schema_at(history: Sequence[InternalSchema], instant: str) -> InternalSchema | None:
    """The newest version at or before an instant, with which the files of that instant were written; or None."""
    position = bisect_right([schema.version_id for schema in history], int(instant))
    return history[position - 1] if position else None


def field_sources(query: InternalSchema, file: InternalSchema) -> dict[str, FieldSource]:
    """Match the columns of two versions by id: for each column of the query, the column of the file."""
    return _sources(query.fields, file.fields)


def is_identity(sources: Mapping[str, FieldSource]) -> bool:
    """Whether every field has its own name in the file, so that matching by name gives the same result."""
    return all(name == source.name and is_identity(source.children) for name, source in sources.items())


def _sources(query: Sequence[InternalField], file: Sequence[InternalField]) -> dict[str, FieldSource]:
    by_id = {item.id: item for item in file}
    result: dict[str, FieldSource] = {}
    for query_field in query:
        file_field = by_id.get(query_field.id)
        if file_field is None:
            result[query_field.name] = FieldSource(None)
        else:
            result[query_field.name] = FieldSource(file_field.name, _sources(query_field.children, file_field.children))
    return result


def _parse_field(data: Mapping[str, Any], depth: int = 0) -> InternalField:
    doc = data.get("doc")
    return InternalField(
        int(data["id"]),
        str(data["name"]),
        bool(data["optional"]),
        _parse_type(data["type"], depth),
        None if doc is None else str(doc),
    )


def _parse_type(kind: Any, depth: int = 0) -> InternalType:  # noqa: ANN401 - parsed JSON
    if isinstance(kind, str):
        return kind
    if depth >= _MAX_DEPTH:
        raise ValueError(f"types nested deeper than {_MAX_DEPTH} levels")
    below = depth + 1
    if kind["type"] == "record":
        return RecordType(tuple(_parse_field(item, below) for item in kind["fields"]))
    if kind["type"] == "array":
        return ArrayType(int(kind["element_id"]), _parse_type(kind["element"], below), bool(kind["element_optional"]))
    if kind["type"] == "map":
        return MapType(
            int(kind["key_id"]),
            _parse_type(kind["key"], below),
            int(kind["value_id"]),
            _parse_type(kind["value"], below),
            bool(kind["value_optional"]),
        )
    raise ValueError(f"unknown nested type {kind['type']!r}")
