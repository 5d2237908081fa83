"""A table's Avro schema as the tree of Parquet fields that hive-sync derives all its type texts from.

Hive-sync does not go from Avro to Hive types at once: it first applies the plain Avro-to-Parquet conversion (two-level
lists with a field called ``array``), and both the Hive types and Spark's schema text follow from the Parquet types. The
detour shows in the results (unions of several types become ``member0 …``, the nullability of list items is lost), so it
is made here as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hudi_hive.errors import SchemaSyncError

REQUIRED = "required"
OPTIONAL = "optional"
REPEATED = "repeated"
LOCAL_TIME = "LOCAL_TIMESTAMP"
"""Annotation of times without a zone in microseconds, as Spark has them; hive-sync takes them for plain numbers."""

_PRIMITIVES = {
    "boolean": ("boolean", None),
    "int": ("int32", None),
    "long": ("int64", None),
    "float": ("float", None),
    "double": ("double", None),
    "bytes": ("binary", None),
    "string": ("binary", "STRING"),
    "enum": ("binary", "ENUM"),
    "fixed": ("fixed", None),
}
_LOGICAL = {
    ("int", "date"): "DATE",
    ("int", "time-millis"): "TIME_MILLIS",
    ("long", "time-micros"): "TIME_MICROS",
    ("long", "timestamp-millis"): "TIMESTAMP_MILLIS",
    ("long", "timestamp-micros"): "TIMESTAMP_MICROS",
}

_LOCAL = {("long", "local-timestamp-micros"): LOCAL_TIME}


@dataclass(frozen=True, slots=True)
class StorageField:
    """One Parquet field.

    ``physical`` is the primitive type, None for a group. ``annotation`` is the logical type (``STRING``, ``DECIMAL``,
    ``LIST``, ``MAP``, ``MAP_KEY_VALUE`` …) or None. ``doc`` is Avro's documentation text of the field.
    """

    name: str
    repetition: str
    physical: str | None = None
    annotation: str | None = None
    precision: int = 0
    scale: int = 0
    children: tuple[StorageField, ...] = ()
    doc: str | None = None

    def walk(self, path: str = "") -> Iterator[tuple[str, StorageField]]:
        """This field and all below it, depth first, each with its dotted path."""
        here = f"{path}.{self.name}" if path else self.name
        yield here, self
        for child in self.children:
            yield from child.walk(here)


def storage_fields(schema: Mapping[str, Any], *, local_times: bool = False) -> tuple[StorageField, ...]:
    """Parquet fields of an Avro record schema, in its order; fields of type ``null`` vanish.

    Args:
        schema: the record.
        local_times: annotate times without a zone, by :data:`LOCAL_TIME`; in hive-sync they are plain numbers.

    Raises:
        SchemaSyncError: not a record, a recursive type, or a type that Parquet cannot hold; names the column.
    """
    if schema.get("type") != "record":
        raise SchemaSyncError(f"the table schema is not an Avro record but {schema.get('type')!r}")
    return _Converter(_LOGICAL | _LOCAL if local_times else _LOGICAL).record_fields(schema, ())


def without_local_times(fields: Iterable[StorageField]) -> tuple[StorageField, ...]:
    """Fields as hive-sync has them, in which times without a zone are plain numbers."""
    return tuple(
        replace(
            field,
            annotation=None if field.annotation == LOCAL_TIME else field.annotation,
            children=without_local_times(field.children),
        )
        for field in fields
    )


class _Converter:
    """Holds the named types seen so far: Avro names a record, enum or fixed once and refers to it afterwards."""

    def __init__(self, logical: Mapping[tuple[str, str], str]) -> None:
        self._logical = logical
        self._named: dict[str, Mapping[str, Any]] = {}
        self._open: list[str] = []

    def record_fields(self, schema: Mapping[str, Any], path: tuple[str, ...]) -> tuple[StorageField, ...]:
        name = self._remember(schema)
        if name in self._open:
            raise SchemaSyncError(f"column {'.'.join(path)} has the recursive type {name}")
        self._open.append(name)
        fields = []
        for item in schema["fields"]:
            field = self.field(item["name"], item["type"], REQUIRED, (*path, item["name"]), item.get("doc"))
            if field is not None:
                fields.append(field)
        self._open.pop()
        return tuple(fields)

    def field(
        self, name: str, schema: object, repetition: str, path: tuple[str, ...], doc: str | None = None
    ) -> StorageField | None:
        """The field, or None for the type ``null``."""
        if isinstance(schema, list):
            return self._union(name, schema, repetition, path, doc)
        if isinstance(schema, str):
            schema = {"type": schema}
        if not isinstance(schema, dict) or "type" not in schema:
            raise SchemaSyncError(f"column {'.'.join(path)} has no Avro type")
        kind = schema["type"]
        if isinstance(kind, (dict, list)):
            return self.field(name, kind, repetition, path, doc)
        if kind == "null":
            return None
        if kind in ("record", "error"):
            return StorageField(name, repetition, children=self.record_fields(schema, path), doc=doc)
        if kind == "array":
            item = self.field("array", schema["items"], REPEATED, path)
            return StorageField(name, repetition, annotation="LIST", children=_not_empty(item, path), doc=doc)
        if kind == "map":
            return self._map(name, schema, repetition, path, doc)
        if kind not in _PRIMITIVES:
            return self._reference(name, kind, repetition, path, doc)
        return self._primitive(name, schema, repetition, path, doc)

    def _reference(
        self, name: str, kind: str, repetition: str, path: tuple[str, ...], doc: str | None
    ) -> StorageField | None:
        for known in (f"{self._namespace()}.{kind}", kind):
            if known in self._named:
                return self.field(name, self._named[known], repetition, path, doc)
        raise SchemaSyncError(f"column {'.'.join(path)} has the unknown Avro type {kind!r}")

    def _map(
        self, name: str, schema: Mapping[str, Any], repetition: str, path: tuple[str, ...], doc: str | None
    ) -> StorageField:
        value = _not_empty(self.field("value", schema["values"], REQUIRED, path), path)
        key = StorageField("key", REQUIRED, "binary", "STRING")
        pair = StorageField("key_value", REPEATED, annotation="MAP_KEY_VALUE", children=(key, *value))
        return StorageField(name, repetition, annotation="MAP", children=(pair,), doc=doc)

    def _union(
        self, name: str, branches: list[Any], repetition: str, path: tuple[str, ...], doc: str | None
    ) -> StorageField | None:
        present = [branch for branch in branches if branch != "null"]
        if len(present) < len(branches) and repetition == REQUIRED:
            repetition = OPTIONAL
        if not present:
            return None
        if len(present) == 1:
            return self.field(name, present[0], repetition, path, doc)
        members: list[StorageField] = []
        for index, branch in enumerate(present):
            member = self.field(f"member{index}", branch, OPTIONAL, (*path, f"member{index}"))
            members.extend(_not_empty(member, path))
        return StorageField(name, repetition, children=tuple(members), doc=doc)

    def _primitive(
        self, name: str, schema: Mapping[str, Any], repetition: str, path: tuple[str, ...], doc: str | None
    ) -> StorageField:
        kind = schema["type"]
        if kind in ("enum", "fixed"):
            self._remember(schema)
        physical, annotation = _PRIMITIVES[kind]
        logical = schema.get("logicalType")
        if logical == "decimal" and kind in ("bytes", "fixed"):
            try:
                precision, scale = int(schema["precision"]), int(schema.get("scale", 0))
            except (KeyError, ValueError, TypeError) as error:
                raise SchemaSyncError(f"column {'.'.join(path)} is a decimal without a usable precision") from error
            return StorageField(name, repetition, physical, "DECIMAL", precision, scale, doc=doc)
        annotation = self._logical.get((kind, logical or ""), annotation)
        return StorageField(name, repetition, physical, annotation, doc=doc)

    def _remember(self, schema: Mapping[str, Any]) -> str:
        name = str(schema.get("name", ""))
        namespace = schema.get("namespace", self._namespace())
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        self._named[full] = schema
        return full

    def _namespace(self) -> str:
        # A name without a dot belongs to the namespace of the record around it.
        return self._open[-1].rpartition(".")[0] if self._open else ""


def _not_empty(field: StorageField | None, path: tuple[str, ...]) -> tuple[StorageField, ...]:
    if field is None:
        raise SchemaSyncError(f"column {'.'.join(path)} holds a list, map or union of nothing but nulls")
    return (field,)


def list_element(field: StorageField) -> StorageField:
    """Element of a group annotated ``LIST``: the old two-level and the three-level layout are told apart by name.

    A repeated primitive is the element itself; so is a repeated group of several fields, or one called ``array`` or
    ``<list>_tuple``; any other repeated group is a wrapper around the element.

    Raises:
        SchemaSyncError: the group does not hold exactly one repeated field.
    """
    if len(field.children) != 1 or field.children[0].repetition != REPEATED:
        raise SchemaSyncError(f"list {field.name} does not hold exactly one repeated field")
    child = field.children[0]
    if child.physical is not None or len(child.children) != 1 or child.annotation is not None:
        return child
    if child.name in ("array", f"{field.name}_tuple"):
        return child
    return child.children[0]


def map_entry(field: StorageField) -> tuple[StorageField, StorageField]:
    """Key and value of a group annotated ``MAP``.

    Raises:
        SchemaSyncError: the group does not hold one repeated group of two fields.
    """
    if len(field.children) != 1 or len(field.children[0].children) != 2:
        raise SchemaSyncError(f"map {field.name} does not hold one repeated group of a key and a value")
    key, value = field.children[0].children
    return key, value
