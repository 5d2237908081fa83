"""Converts Arrow schemas to the Avro schemas that Hudi's writers give tables.

Source: docs/format.md#avro-schemas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import SchemaError
from hudi_hive.names import HOODIE_PREFIX
from hudi_hive.schema.avro import META_FIELDS, OPERATION_FIELD

_FIRST: Final = re.compile(r"\A[^A-Za-z_]")
_OTHER: Final = re.compile(r"[^A-Za-z0-9_]")
_MASK: Final = "__"

_PLAIN: Final[Mapping[pa.DataType, str]] = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.uint8(): "int",
    pa.uint16(): "int",
    pa.uint32(): "long",
    pa.float16(): "float",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "bytes",
    pa.large_binary(): "bytes",
    pa.binary_view(): "bytes",
}
_UNITS: Final = {"s": "micros", "ms": "millis", "us": "micros", "ns": "micros"}


def record_name(table: str) -> tuple[str, str]:
    """Name and namespace of the Avro records of a table, as Hudi makes them of its name."""
    clean = _OTHER.sub(_MASK, _FIRST.sub(_MASK, table))
    return f"{clean}_record", f"{HOODIE_PREFIX}{clean}"


def arrow_to_avro(schema: pa.Schema, name: str, namespace: str = "") -> dict[str, Any]:
    """Make the Avro record schema of Arrow columns, with names and types of Hudi's Spark writer.

    Nullable fields are ``["null", T]`` with the default null. Decimals are fixed, timestamps microseconds unless they
    are milliseconds, and local where they have no time zone. Meta columns get the empty ``doc`` that Hudi gives them.

    Args:
        schema: the columns; ``doc`` of the fields' metadata is kept.
        name: name of the record, see :func:`record_name`.
        namespace: its namespace.

    Raises:
        SchemaError: a type that Avro has not, or a name that Avro does not take.
    """
    return _record(list(schema), name, namespace)


def _record(fields: list[pa.Field], name: str, namespace: str) -> dict[str, Any]:
    if not is_avro_name(name):
        raise SchemaError(f"{name!r} is no name for an Avro record", remedy="letters, digits and _")
    own = f"{namespace}.{name}" if namespace else name
    record: dict[str, Any] = {"type": "record", "name": name}
    if namespace:
        record["namespace"] = namespace
    record["fields"] = [_field(entry, own) for entry in fields]
    return record


def is_avro_name(text: str) -> bool:
    """Whether Avro's Java library takes a name: letters of any script, digits and ``_``, no digit in front.

    Source: ``Schema.validateName``, which looks at the 16 bits of Java's ``char``, of which letters beyond are two.
    """
    return bool(text) and not text[0].isdecimal() and all(map(_is_name_part, text))


def _is_name_part(one: str) -> bool:
    return one == "_" or (one <= "\uffff" and (one.isalpha() or one.isdecimal()))


def _field(entry: pa.Field, namespace: str) -> dict[str, Any]:
    if not is_avro_name(entry.name):
        raise SchemaError(
            f"Avro does not take the column name {entry.name!r}", remedy="letters, digits and _, no digit in front"
        )
    kind = _type(entry.type, entry.name, namespace)
    field: dict[str, Any] = {"name": entry.name, "type": ["null", kind] if entry.nullable else kind}
    doc = (entry.metadata or {}).get(b"doc")
    if entry.name in (*META_FIELDS, OPERATION_FIELD):
        field["doc"] = ""
    elif doc is not None:
        field["doc"] = doc.decode()
    if entry.nullable:
        field["default"] = None
    return field


def _type(kind: pa.DataType, name: str, namespace: str) -> Any:  # noqa: ANN401 - JSON
    if pa.types.is_dictionary(kind):
        return _type(kind.value_type, name, namespace)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_struct(kind):
        return _record(list(kind), name, namespace)
    if pa.types.is_map(kind):
        if not (pa.types.is_string(kind.key_type) or pa.types.is_large_string(kind.key_type)):
            raise SchemaError(f"map {name!r} has keys of type {kind.key_type}; Avro takes text alone")
        return {"type": "map", "values": _member(kind.item_field, name, namespace)}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return {"type": "array", "items": _member(kind.value_field, name, namespace)}
    if pa.types.is_fixed_size_binary(kind):
        return {"type": "fixed", "name": "fixed", "namespace": f"{namespace}.{name}", "size": kind.byte_width}
    logical = _logical(kind, name, namespace)
    if logical is None:
        raise SchemaError(f"column {name!r} of type {kind} has no Avro type")
    return logical


def _logical(kind: pa.DataType, name: str, namespace: str) -> dict[str, Any] | None:
    if pa.types.is_decimal(kind):
        if not 0 <= kind.scale <= kind.precision:
            raise SchemaError(f"decimal column {name!r} has precision {kind.precision} and scale {kind.scale}")
        fixed = {
            "type": "fixed",
            "name": "fixed",
            "namespace": f"{namespace}.{name}",
            "size": _bytes_of(kind.precision),
        }
        return {**fixed, "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if pa.types.is_date(kind):
        return {"type": "int", "logicalType": "date"}
    if pa.types.is_time32(kind):
        return {"type": "int", "logicalType": "time-millis"}
    if pa.types.is_time64(kind):
        return {"type": "long", "logicalType": "time-micros"}
    if pa.types.is_timestamp(kind):
        local = "" if kind.tz else "local-"
        return {"type": "long", "logicalType": f"{local}timestamp-{_UNITS[kind.unit]}"}
    return None


def _member(entry: pa.Field, name: str, namespace: str) -> Any:  # noqa: ANN401 - JSON
    kind = _type(entry.type, name, namespace)
    return ["null", kind] if entry.nullable else kind


def _bytes_of(precision: int) -> int:
    """The fewest bytes that hold every decimal of a precision."""
    greatest: int = 10**precision - 1
    return greatest.bit_length() // 8 + 1
