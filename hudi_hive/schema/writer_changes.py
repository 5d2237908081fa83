"""Merges a writer's schema into an id-based schema: adds new columns and widens types.

Source: docs/format.md#id-based-schemas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from hudi_hive.errors import SchemaError
from hudi_hive.schema.avro import META_FIELDS
from hudi_hive.schema.from_arrow import arrow_to_avro
from hudi_hive.schema.internal import ArrayType, InternalField, InternalSchema, InternalType, MapType, RecordType
from hudi_hive.schema.internal_avro import from_avro, with_new_ids
from hudi_hive.schema.promotions import refuse_unreadable, type_name, wider


def merge_writer(
    schema: InternalSchema, writer: Mapping[str, Any] | pa.Schema, *, by_ids: bool = True
) -> InternalSchema:
    """Merge the columns of rows into a table's schema.

    Columns are matched by name, or by the only name that differs in case alone. New ones take null, get new ids and
    come before the first column that the rows have behind them, else last; those that the rows lack stay.

    Args:
        schema: the table's version.
        writer: the rows' Avro or Arrow schema; meta columns in it do not count.
        by_ids: the table's schema goes by ids, in which some types cannot be read; else it goes by names and may have
            all types.

    Returns:
        The version itself if nothing changes, else one with the same ``version_id``: give it that of the write.

    Raises:
        SchemaError: a column whose type does not fit, or that Hudi could not read by ids.
    """
    avro = arrow_to_avro(writer, "record") if isinstance(writer, pa.Schema) else writer
    rows = from_avro(avro, meta_columns=False, table_version=_table_version(schema))
    merger = _Merger(schema.max_column_id)
    fields = merger.record(schema.fields, rows.fields, "")
    if fields == schema.fields:
        return schema
    merged = InternalSchema(schema.version_id, merger.last_id, fields)
    if by_ids:
        refuse_unreadable(merged)
    return merged


def _table_version(schema: InternalSchema) -> int:
    """Whether decimals are named as Hudi 1.1 names them."""
    kinds = [item.type for _, item in schema.walk() if isinstance(item.type, str)]
    return 9 if any(kind.startswith(("decimal_fixed", "decimal_bytes")) for kind in kinds) else 8


class _Merger:
    def __init__(self, last_id: int) -> None:
        self.last_id = last_id

    def record(
        self, table: Sequence[InternalField], rows: Sequence[InternalField], path: str
    ) -> tuple[InternalField, ...]:
        incoming = [item for item in rows if item.name not in META_FIELDS]
        fields = list(table)
        places = [_position(table, item.name) for item in incoming]
        if len({at for at in places if at is not None}) < sum(at is not None for at in places):
            raise SchemaError("the rows have a column more than once (case does not count)")
        for item, at in zip(incoming, places, strict=True):
            if at is not None:
                old = table[at]
                kind = self._type(old.type, item.type, f"{path}.{old.name}" if path else old.name)
                fields[at] = old if kind is old.type else replace(old, type=kind)
        for number, (item, at) in enumerate(zip(incoming, places, strict=True)):
            if at is None:
                follows = next((table[p] for p in places[number + 1 :] if p is not None), None)
                to = len(fields) if follows is None else [f.id for f in fields].index(follows.id)
                fields.insert(to, self._new(item))
        return tuple(fields)

    def _new(self, item: InternalField) -> InternalField:
        first = self.last_id + 1
        kind, free = with_new_ids(item.type, first + 1)
        self.last_id = free - 1
        return InternalField(first, item.name, True, kind, item.doc)

    def _type(self, table: InternalType, rows: InternalType, path: str) -> InternalType:
        """Merge the type of the rows into that of the table; returns the same object if nothing changes."""
        if isinstance(table, RecordType) and isinstance(rows, RecordType):
            fields = self.record(table.fields, rows.fields, path)
            return table if fields == table.fields else RecordType(fields)
        if isinstance(table, ArrayType) and isinstance(rows, ArrayType):
            element = self._type(table.element, rows.element, f"{path}.element")
            return table if element is table.element else replace(table, element=element)
        if isinstance(table, MapType) and isinstance(rows, MapType):
            value = self._type(table.value, rows.value, f"{path}.value")
            return table if value is table.value else replace(table, value=value)
        wider_type = wider(table, rows) if isinstance(table, str) and isinstance(rows, str) else None
        if wider_type is None:
            raise SchemaError(
                f"column {path!r} is of type {type_name(table)} and cannot take {type_name(rows)}",
                remedy="cast it to the table's type before it is written",
            )
        return table if wider_type == table or type_name(wider_type) == type_name(table) else wider_type


def _position(fields: Sequence[InternalField], name: str) -> int | None:
    exact = [at for at, item in enumerate(fields) if item.name == name]
    positions = exact or [at for at, item in enumerate(fields) if item.name.lower() == name.lower()]
    return positions[0] if len(positions) == 1 else None
