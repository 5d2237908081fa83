"""Converts Avro and Arrow schemas to id-based schemas and back.

Ids are given level by level: all fields of a struct first, then what is below each of them. Hudi 1.1 tells the
Avro form of decimals and the precision of times apart (``decimal_fixed(10, 2)[5]``, ``timestamp-millis``).

Source: docs/format.md#id-based-schemas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import SchemaError
from hudi_hive.schema.avro import META_FIELDS, avro_to_arrow
from hudi_hive.schema.from_arrow import arrow_to_avro
from hudi_hive.schema.internal import (
    ArrayType,
    InternalField,
    InternalSchema,
    InternalType,
    MapType,
    RecordType,
)

DECIMAL: Final = re.compile(r"decimal(?:_bytes|_fixed)?\((\d+), (\d+)\)(?:\[(\d+)\])?")
"""Pattern of the decimal types: precision, scale, and bytes of a fixed decimal."""

_FIXED: Final = re.compile(r"fixed\[(\d+)\]")
_SAME: Final = frozenset({"boolean", "int", "long", "float", "double", "string"})
_LOGICAL: Final[Mapping[str, tuple[str, str]]] = {
    "date": ("int", "date"),
    "time": ("long", "time-micros"),
    "time-millis": ("int", "time-millis"),
    "timestamp": ("long", "timestamp-micros"),
    "timestamp-millis": ("long", "timestamp-millis"),
    "local-timestamp-millis": ("long", "local-timestamp-millis"),
    "local-timestamp-micros": ("long", "local-timestamp-micros"),
}
_OF_LOGICAL: Final = {pair: name for name, pair in _LOGICAL.items()}
_PRECISE_DECIMALS: Final = 9
"""The first table version whose releases know more than one kind of decimal."""


def from_avro(
    avro: Mapping[str, Any], version_id: int = 0, *, meta_columns: bool = True, table_version: int = 8
) -> InternalSchema:
    """Make the first id-based schema of a table from its Avro schema.

    Args:
        avro: the table's Avro schema; meta columns in it are moved to the front.
        version_id: instant that makes the version, 0 for the one before all changes.
        meta_columns: whether the table has the five meta columns, which get the ids 0 to 4.
        table_version: version of the table, on which the names of decimals depend.

    Raises:
        SchemaError: a type that id-based schemas have not.
    """
    fields = [entry for entry in avro["fields"] if entry["name"] not in META_FIELDS]
    if meta_columns:
        fields = [{"name": name, "type": ["null", "string"], "doc": ""} for name in META_FIELDS] + fields
    reader = _AvroTypes(precise=table_version >= _PRECISE_DECIMALS)
    record = reader.record(fields, str(avro.get("namespace") or ""))
    numbered, last = with_new_ids(record, 0)
    assert isinstance(numbered, RecordType)
    return InternalSchema(version_id, last - 1, numbered.fields)


def type_of(kind: pa.DataType, name: str = "column") -> InternalType:
    """Convert an Arrow type to a type with provisional ids, which :func:`with_new_ids` replaces.

    Raises:
        SchemaError: there is none.
    """
    avro = arrow_to_avro(pa.schema([pa.field(name, kind)]), "record")
    return _AvroTypes(precise=False).record(avro["fields"], "").fields[0].type


def with_new_ids(kind: InternalType, first: int) -> tuple[InternalType, int]:
    """Give new ids to all fields below a type; returns the type and the next free id."""
    if isinstance(kind, RecordType):
        at = first + len(kind.fields)
        fields = []
        for number, item in enumerate(kind.fields):
            below, at = with_new_ids(item.type, at)
            fields.append(replace(item, id=first + number, type=below))
        return RecordType(tuple(fields)), at
    if isinstance(kind, ArrayType):
        element, at = with_new_ids(kind.element, first + 1)
        return ArrayType(first, element, kind.element_optional), at
    if isinstance(kind, MapType):
        key, at = with_new_ids(kind.key, first + 2)
        value, at = with_new_ids(kind.value, at)
        return MapType(first, key, first + 1, value, kind.value_optional), at
    return kind, first


def to_avro(schema: InternalSchema, record_name: str, namespace: str) -> dict[str, Any]:
    """Convert a version to the Avro schema of its commits (``schema`` in their metadata), meta columns included.

    Args:
        schema: a version.
        record_name: name of the record; see :func:`~hudi_hive.schema.record_name`.
        namespace: its namespace.

    Raises:
        SchemaError: a type that is not understood.
    """
    return _record(schema.fields, record_name, namespace)


def to_arrow(schema: InternalSchema) -> pa.Schema:
    """Convert a version to an Arrow schema, meta columns included.

    Raises:
        SchemaError: a type that is not understood.
    """
    return avro_to_arrow(to_avro(schema, "record", ""))


class _AvroTypes:
    """Converts Avro types to types without ids, and resolves named types."""

    def __init__(self, *, precise: bool) -> None:
        self._precise = precise
        self._named: dict[str, InternalType] = {}

    def record(self, fields: Sequence[Mapping[str, Any]], namespace: str) -> RecordType:
        made = []
        for entry in fields:
            kind, optional = self._member(entry["type"], namespace, str(entry["name"]))
            doc = entry.get("doc")
            made.append(InternalField(-1, str(entry["name"]), optional, kind, None if doc is None else str(doc)))
        return RecordType(tuple(made))

    def _member(self, avro: Any, namespace: str, name: str) -> tuple[InternalType, bool]:  # noqa: ANN401 - JSON
        if not isinstance(avro, list):
            return self._type(avro, namespace, name), False
        branches = [branch for branch in avro if branch not in ("null", {"type": "null"})]
        if len(branches) != 1:
            raise SchemaError(f"column {name!r} is of more than one type, which columns with ids cannot be")
        return self._type(branches[0], namespace, name), len(branches) < len(avro)

    def _type(self, avro: Any, namespace: str, name: str) -> InternalType:  # noqa: ANN401 - JSON
        if isinstance(avro, str):
            if avro in _SAME or avro == "bytes":
                return "binary" if avro == "bytes" else avro
            named = self._named.get(avro, self._named.get(f"{namespace}.{avro}"))
            if named is None:
                raise SchemaError(f"column {name!r} has the unknown Avro type {avro!r}")
            return named
        kind = avro["type"]
        if kind == "array":
            element, optional = self._member(avro["items"], namespace, name)
            return ArrayType(-1, element, optional)
        if kind == "map":
            value, optional = self._member(avro["values"], namespace, name)
            return MapType(-1, "string", -1, value, optional)
        if kind in ("record", "enum", "fixed"):
            return self._of_name(avro, namespace, name)
        return self._primitive(avro, namespace, name)

    def _of_name(self, avro: Mapping[str, Any], namespace: str, name: str) -> InternalType:
        space = str(avro.get("namespace") or namespace)
        full = str(avro["name"]) if "." in str(avro["name"]) or not space else f"{space}.{avro['name']}"
        made: InternalType
        if avro["type"] == "record":
            made = self.record(avro["fields"], full.rpartition(".")[0])
        elif avro["type"] == "enum":
            made = "string"
        elif avro.get("logicalType") == "decimal":
            made = self._decimal(avro, f"_fixed({{}}, {{}})[{avro['size']}]")
        else:
            made = "uuid" if avro.get("logicalType") == "uuid" else f"fixed[{avro['size']}]"
        self._named[full] = made
        return made

    def _primitive(self, avro: Mapping[str, Any], namespace: str, name: str) -> InternalType:
        logical = avro.get("logicalType")
        if logical == "decimal":
            return self._decimal(avro, "_bytes({}, {})")
        found = _OF_LOGICAL.get((avro["type"], str(logical)))
        return found if found is not None else self._type(avro["type"], namespace, name)

    def _decimal(self, avro: Mapping[str, Any], precise: str) -> str:
        form = f"decimal{precise}" if self._precise else "decimal({}, {})"
        return form.format(avro["precision"], avro.get("scale", 0))


def _record(fields: Sequence[InternalField], name: str, namespace: str) -> dict[str, Any]:
    own = f"{namespace}.{name}" if namespace else name
    made: dict[str, Any] = {"type": "record", "name": name}
    if namespace:
        made["namespace"] = namespace
    made["fields"] = [_field(item, own) for item in fields]
    return made


def _field(item: InternalField, namespace: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": item.name, "type": _member(item.type, item.optional, item.name, namespace)}
    if item.doc is not None:
        made["doc"] = item.doc
    if item.optional:
        made["default"] = None
    return made


def _member(kind: InternalType, optional: bool, name: str, namespace: str) -> Any:  # noqa: ANN401 - JSON
    avro = _avro(kind, name, namespace)
    return ["null", avro] if optional else avro


def _avro(kind: InternalType, name: str, namespace: str) -> Any:  # noqa: ANN401 - JSON
    if isinstance(kind, RecordType):
        return _record(kind.fields, name, namespace)
    if isinstance(kind, ArrayType):
        return {"type": "array", "items": _member(kind.element, kind.element_optional, name, namespace)}
    if isinstance(kind, MapType):
        return {"type": "map", "values": _member(kind.value, kind.value_optional, name, namespace)}
    if kind in _SAME or kind == "binary":
        return "bytes" if kind == "binary" else kind
    if kind in _LOGICAL:
        plain, logical = _LOGICAL[kind]
        return {"type": plain, "logicalType": logical}
    fixed = {"type": "fixed", "name": "fixed", "namespace": f"{namespace}.{name}"}
    if kind == "uuid":
        return {**fixed, "size": 16, "logicalType": "uuid"}
    if (match := _FIXED.fullmatch(kind)) is not None:
        return {**fixed, "size": int(match[1])}
    if (match := DECIMAL.fullmatch(kind)) is None:
        raise SchemaError(f"column {name!r} is of the unknown type {kind!r}")
    digits = {"logicalType": "decimal", "precision": int(match[1]), "scale": int(match[2])}
    if kind.startswith("decimal_bytes"):
        return {"type": "bytes", **digits}
    return {**fixed, "size": int(match[3]) if match[3] else _bytes_of(int(match[1])), **digits}


def _bytes_of(precision: int) -> int:
    """The fewest bytes that hold every decimal of a precision."""
    greatest: int = 10**precision - 1
    return greatest.bit_length() // 8 + 1
