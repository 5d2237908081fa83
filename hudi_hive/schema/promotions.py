"""Type promotions of id-based schemas, and the types that Hudi cannot read from such a schema.

Source: docs/format.md#type-promotions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hudi_hive.errors import SchemaError
from hudi_hive.schema.internal import ArrayType, InternalField, InternalSchema, InternalType, MapType, RecordType
from hudi_hive.schema.internal_avro import DECIMAL

_DECIMAL: Final = "decimal"
_PROMOTIONS: Final[Mapping[str, frozenset[str]]] = {
    "int": frozenset({"long", "float", "double", "string", _DECIMAL}),
    "long": frozenset({"float", "double", "string", _DECIMAL}),
    "float": frozenset({"double", "string", _DECIMAL}),
    "double": frozenset({"string", _DECIMAL}),
    "date": frozenset({"string"}),
    "binary": frozenset({"string"}),
    _DECIMAL: frozenset({"string"}),
    "string": frozenset({"date", "binary", _DECIMAL}),
}
_WIDTHS: Final = ("int", "long", "float", "double")
_UNREADABLE: Final = frozenset({"time-millis", "timestamp-millis", "local-timestamp-millis", "local-timestamp-micros"})
"""Hudi 1.1 writes these into schemas with ids and cannot read them from there; earlier releases make other types of
them."""


def may_become(source: InternalType, target: InternalType) -> bool:
    """Whether a type may be promoted to another one, or is equal to it (docs/format.md#type-promotions)."""
    if not isinstance(source, str) or not isinstance(target, str):
        return type_name(source) == type_name(target)
    old, new = DECIMAL.fullmatch(source), DECIMAL.fullmatch(target)
    if old is not None and new is not None:
        digits, scale = int(new[1]), int(new[2])
        return scale >= int(old[2]) and digits - scale >= int(old[1]) - int(old[2])
    old_name, new_name = _DECIMAL if old else source, _DECIMAL if new else target
    return old_name == new_name or new_name in _PROMOTIONS.get(old_name, frozenset())


def wider(table: str, rows: str) -> str | None:
    """The type that a column gets when rows of another primitive type are written; None if they do not fit.

    Numbers and decimals widen; all else keeps the table's type if the rows' may become it.
    """
    if table in _WIDTHS and rows in _WIDTHS:
        return max(table, rows, key=_WIDTHS.index)
    if DECIMAL.fullmatch(table) and DECIMAL.fullmatch(rows):
        return table if may_become(rows, table) else rows if may_become(table, rows) else None
    return table if may_become(rows, table) else None


def refuse_unreadable(schema: InternalSchema) -> None:
    """Refuse columns of types that Hudi cannot read from an id-based schema.

    Raises:
        SchemaError: there is one.
    """
    found = unreadable_column(schema)
    if found is not None:
        raise SchemaError(
            f"column {found.name!r} is of type {found.type}, which Hudi cannot read from a schema with ids",
            remedy="columns of such tables are added, made nullable and commented, no more; "
            "write timestamps as microseconds in UTC",
        )


def unreadable_column(schema: InternalSchema) -> InternalField | None:
    """The first column, by its dotted name, of a type that Hudi cannot read from an id-based schema."""
    for name, item in schema.walk():
        if isinstance(item.type, str) and item.type in _UNREADABLE:
            return replace(item, name=name)
    return None


def type_name(kind: InternalType) -> str:
    """The text of a type for messages, without ids."""
    if isinstance(kind, RecordType):
        return f"struct<{', '.join(f'{item.name}: {type_name(item.type)}' for item in kind.fields)}>"
    if isinstance(kind, ArrayType):
        return f"array<{type_name(kind.element)}>"
    if isinstance(kind, MapType):
        return f"map<{type_name(kind.key)}, {type_name(kind.value)}>"
    match = DECIMAL.fullmatch(kind)
    return kind if match is None else f"decimal({match[1]}, {match[2]})"
