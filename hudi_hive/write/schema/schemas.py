"""Merges the columns of written rows into the schema of a table.

New columns go behind the others, at the end of their struct too, and are nullable; numbers widen from int to long,
float and double. Columns that the rows lack stay. All else that differs is refused before any file is written.

Source: docs/format.md#schema-evolution-by-name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import SchemaError
from hudi_hive.read.columns import scalar_promotion
from hudi_hive.schema import META_FIELDS, OPERATION_FIELD, arrow_to_avro, avro_to_arrow, record_name
from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.schema.evolving import evolved_after
from hudi_hive.write.schema.required_columns import check_required_columns

_WIDTHS: Final = (pa.int32(), pa.int64(), pa.float32(), pa.float64())
"""Numbers, each of which may become any after it."""

_MOST_DIGITS: Final = 38


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """The schema of a table after a write, without meta columns.

    Attributes:
        avro: as it goes into commits and files.
        arrow: the same in Arrow.
        changed: whether the table had another one before.
        required: columns, dotted below structs, that take no null.
    """

    avro: Mapping[str, Any] = field(repr=False)
    arrow: pa.Schema
    changed: bool
    required: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The Avro schema as JSON, for ``extraMetadata.schema``."""
        return json.dumps(self.avro, separators=(",", ":"))

    @classmethod
    def of(cls, avro: Mapping[str, Any], *, changed: bool = False) -> WriterSchema:
        """Of an Avro schema without meta columns."""
        return cls(avro, avro_to_arrow(avro), changed, tuple(_required(avro, "")))


def writer_schema(incoming: pa.Schema, client: MetaClient, config: WriteConfig) -> WriterSchema:
    """The schema of a table after rows with the given columns are written.

    Args:
        incoming: schema of the rows as they came; meta columns in it do not count.
        client: the table.
        config: the write; it says which changes are allowed.

    Raises:
        SchemaError: a column cannot become what the table has, or a column that takes no null is missing.
        UnknownColumnError: a column of keys, partition paths or ordering is missing.
    """
    check_required_columns(incoming, client.config, config)
    table = client.avro_schema()
    fills = config.rows.null_for_missing_columns or config.rows.reconcile_schema
    try:
        merged = merged_schema(incoming, table, client.config.name, null_for_missing=fills)
        if table is not None and merged.changed:
            _check_key_types(avro_to_arrow(table), merged.arrow, client.config)
        evolved_after(client, merged.avro)  # refuses what has no rule
        return merged
    except SchemaError as error:
        raise SchemaError(error.message, path=client.base_path, remedy=error.remedy) from error


def _check_key_types(before: pa.Schema, after: pa.Schema, config: TableConfig) -> None:
    """Columns of keys and partitions keep types of the same text: 1 and 1.0 would be two records."""
    for name in (*config.record_keys, *config.partition_fields):
        old, new = _leaf(before, name), _leaf(after, name)
        if old is None or new is None:
            continue
        if not old.equals(new) and not (pa.types.is_integer(old) and pa.types.is_integer(new)):
            raise SchemaError(
                f"column {name!r}, which keys or partition paths are made of, is {old} and cannot become {new}",
                remedy="cast it to the table's type before it is written",
            )


def _leaf(schema: pa.Schema, name: str) -> pa.DataType | None:
    """Type of a column, or of a struct's field by its dotted name; None if there is none."""
    at = schema.get_field_index(name)
    if at >= 0:
        return schema.field(at).type
    head, _, rest = name.partition(".")
    at = schema.get_field_index(head)
    kind = schema.field(at).type if at >= 0 and rest else None
    return _leaf(pa.schema(list(kind)), rest) if isinstance(kind, pa.StructType) else None


def merged_schema(
    incoming: pa.Schema, table: Mapping[str, Any] | None, name: str, *, null_for_missing: bool = True
) -> WriterSchema:
    """Merge the columns of rows into the Arrow schema of a table.

    Args:
        incoming: schema of the rows.
        table: the table's Avro schema without meta columns; None if it has none yet.
        name: of the table.
        null_for_missing: columns that the rows lack become null; else they are an error.

    Raises:
        SchemaError: columns that do not fit.
    """
    writer = normal_schema(incoming)
    rows = pa.schema(_with_types_of_nulls(writer, None if table is None else avro_to_arrow(table), ""))
    if table is None:
        return WriterSchema.of(arrow_to_avro(rows, *record_name(name)), changed=True)
    typed = pa.schema([item for item, own in zip(rows, writer, strict=True) if not pa.types.is_null(own.type)])
    theirs = arrow_to_avro(typed, str(table["name"]), str(table.get("namespace") or ""))
    if not null_for_missing:
        _refuse_missing(rows, table)
    merged = _record(table, avro_to_arrow(table), theirs, rows, "")
    result = WriterSchema.of(merged, changed=merged != table)
    for column in result.required:
        if "." not in column and _index(list(rows), column) is None:
            raise SchemaError(f"column {column!r} takes no null and is missing in the rows")
    return result


def normal_schema(schema: pa.Schema) -> pa.Schema:
    """Convert the columns of rows to types that tables have, without meta columns.

    Texts, bytes and lists of all layouts are one type each, small and unsigned numbers become the next greater ones,
    times are counted in microseconds.

    Raises:
        SchemaError: two columns of one name, or a type that tables do not hold.
    """
    fields = [
        pa.field(item.name, normal_type(item.type, item.name), metadata=item.metadata)
        for item in schema
        if item.name not in META_FIELDS
    ]
    for item in fields:
        if item.name.lower() in (OPERATION_FIELD, *META_FIELDS):
            raise SchemaError(f"the rows have a column {item.name}, which is not written", remedy="drop it")
    _check_names(fields, "")
    return pa.schema(fields)


def _check_names(fields: list[pa.Field], column: str) -> None:
    """Engines that read the table do not tell names of one level apart by their case."""
    seen: set[str] = set()
    for item in fields:
        if item.name.lower() in seen:
            raise SchemaError(f"the rows have column {column + item.name!r} more than once (case does not count)")
        seen.add(item.name.lower())


def normal_type(arrow: pa.DataType, column: str) -> pa.DataType:
    """The type of a table for values of an Arrow type.

    Raises:
        SchemaError: there is none that holds all of them.
    """
    is_type = pa.types
    if is_type.is_dictionary(arrow) or is_type.is_run_end_encoded(arrow):
        return normal_type(arrow.value_type, column)
    if is_type.is_large_string(arrow) or is_type.is_string_view(arrow):
        return pa.string()
    if is_type.is_large_binary(arrow) or is_type.is_binary_view(arrow):
        return pa.binary()
    if is_type.is_integer(arrow) and arrow != pa.uint64():
        return pa.int32() if arrow.bit_width < 32 or arrow == pa.int32() else pa.int64()
    if is_type.is_float16(arrow):
        return pa.float32()
    if is_type.is_temporal(arrow):
        return _temporal_type(arrow, column)
    if is_type.is_decimal32(arrow) or is_type.is_decimal64(arrow):
        return pa.decimal128(arrow.precision, arrow.scale)
    if is_type.is_decimal256(arrow):
        return _decimal(arrow, column)
    if is_type.is_nested(arrow):
        return _nested_type(arrow, column)
    if arrow == pa.uint64() or is_type.is_interval(arrow):
        raise _no_type(arrow, column)
    return arrow


def _temporal_type(arrow: pa.DataType, column: str) -> pa.DataType:
    """The type of a table for dates, times of day and timestamps."""
    if pa.types.is_date(arrow):
        return pa.date32()
    if pa.types.is_timestamp(arrow):
        return pa.timestamp("us", None if arrow.tz is None else "UTC")
    if pa.types.is_time32(arrow):
        return pa.time32("ms")
    if pa.types.is_time64(arrow):
        return pa.time64("us")
    raise _no_type(arrow, column)


def _nested_type(arrow: pa.DataType, column: str) -> pa.DataType:
    """The type of a table for structs, maps and lists, whose parts are of types of a table."""
    is_type = pa.types
    if is_type.is_struct(arrow):
        _check_struct(arrow, column)
        return pa.struct([pa.field(f.name, normal_type(f.type, f"{column}.{f.name}")) for f in arrow])
    if is_type.is_map(arrow):
        return pa.map_(normal_type(arrow.key_type, f"{column}.key"), normal_type(arrow.item_type, f"{column}.value"))
    if is_type.is_list(arrow) or is_type.is_large_list(arrow) or is_type.is_fixed_size_list(arrow):
        return pa.list_(pa.field("element", normal_type(arrow.value_type, f"{column}.element")))
    if is_type.is_union(arrow):
        raise _no_type(arrow, column)
    return arrow


def _no_type(arrow: pa.DataType, column: str) -> SchemaError:
    return SchemaError(
        f"column {column!r} is of type {arrow}, which tables do not hold", remedy="cast it before it is written"
    )


def _decimal(arrow: pa.Decimal256Type, column: str) -> pa.DataType:
    """No engine that reads Hudi tables has decimals of more than 38 digits."""
    if arrow.precision > _MOST_DIGITS:
        raise SchemaError(
            f"column {column!r} is of type {arrow}, tables hold {_MOST_DIGITS} digits at most",
            remedy="cast it before it is written",
        )
    return pa.decimal128(arrow.precision, arrow.scale)


def _check_struct(arrow: pa.StructType, column: str) -> None:
    if not arrow.num_fields:
        raise SchemaError(f"column {column!r} is a struct without fields, which files do not hold", remedy="drop it")
    _check_names(list(arrow), f"{column}.")


def _with_types_of_nulls(
    rows: Iterable[pa.Field], table: pa.Schema | pa.StructType | None, path: str
) -> list[pa.Field]:
    """Fields of which those that hold nothing but nulls, and so have no type, have that of the table's column.

    Raises:
        SchemaError: the table has no such column, so that nothing tells a type.
    """
    there = [] if table is None else list(table)
    fields = []
    for item in rows:
        at = _index(there, item.name)
        kind = None if at is None else there[at].type
        fields.append(item.with_type(_type_of_nulls(item.type, kind, f"{path}{item.name}")))
    return fields


def _type_of_nulls(rows: pa.DataType, table: pa.DataType | None, column: str) -> pa.DataType:
    if pa.types.is_null(rows):
        if table is None:
            raise SchemaError(
                f"column {column!r} holds nothing but nulls, and neither it nor the table tells its type",
                remedy="cast it to the type that it is to have, or drop it",
            )
        return table
    if pa.types.is_struct(rows):
        inner = table if table is not None and pa.types.is_struct(table) else None
        return pa.struct(_with_types_of_nulls(rows, inner, f"{column}."))
    if pa.types.is_list(rows):
        items = table.value_type if table is not None and pa.types.is_list(table) else None
        return pa.list_(rows.value_field.with_type(_type_of_nulls(rows.value_type, items, f"{column}.element")))
    if pa.types.is_map(rows):
        values = table.item_type if table is not None and pa.types.is_map(table) else None
        return pa.map_(rows.key_type, _type_of_nulls(rows.item_type, values, f"{column}.value"))
    return rows


def _refuse_missing(rows: pa.Schema, table: Mapping[str, Any]) -> None:
    missing = [str(entry["name"]) for entry in table["fields"] if _index(list(rows), str(entry["name"])) is None]
    if missing:
        raise SchemaError(
            f"the rows lack columns {', '.join(missing)} of the table",
            remedy="set hoodie.write.set.null.for.missing.columns to write nulls",
        )


def _index(fields: list[pa.Field], name: str) -> int | None:
    """Position of a field by its name, else by the only one that differs in case alone."""
    exact = [at for at, item in enumerate(fields) if item.name == name]
    found = exact or [at for at, item in enumerate(fields) if item.name.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def _record(
    table: Mapping[str, Any],
    table_arrow: pa.Schema | pa.StructType,
    theirs: Mapping[str, Any],
    rows: pa.Schema | pa.StructType,
    path: str,
) -> dict[str, Any]:
    """A record of the table with the fields that the rows' record adds."""
    incoming = list(rows)
    definitions = {entry["name"]: entry for entry in theirs["fields"]}
    fields, used = [], set()
    for entry, kind in zip(table["fields"], table_arrow, strict=True):
        column = f"{path}.{entry['name']}" if path else str(entry["name"])
        at = _index(incoming, str(entry["name"]))
        if at is None:
            fields.append(entry)
            continue
        used.add(at)
        theirs_type = definitions.get(incoming[at].name, {"type": None})["type"]
        found = _type(entry["type"], kind.type, theirs_type, incoming[at].type, column)
        fields.append(entry if found is entry["type"] else {**entry, "type": found})
    added = [definitions[item.name] for at, item in enumerate(incoming) if at not in used and item.name in definitions]
    return dict(table) if not added and fields == table["fields"] else {**table, "fields": [*fields, *added]}


def _type(table: Any, table_arrow: pa.DataType, theirs: Any, rows: pa.DataType, column: str) -> Any:  # noqa: ANN401
    """The table's type of a column, changed as far as the rows' type asks for; the same object if it stays."""
    if table_arrow.equals(rows) or pa.types.is_null(rows):
        return table
    if isinstance(table, list):
        members = [at for at, branch in enumerate(table) if branch not in ("null", {"type": "null"})]
        if len(members) != 1:
            raise _misfit(column, table_arrow, rows)
        at = members[0]
        found = _type(table[at], table_arrow, theirs, rows, column)
        return table if found is table[at] else [*table[:at], found, *table[at + 1 :]]
    inner = _inner(theirs)
    if pa.types.is_struct(table_arrow) and pa.types.is_struct(rows) and isinstance(table, Mapping):
        merged = _record(table, table_arrow, inner, rows, column)
        return table if merged == table else merged
    if pa.types.is_list(table_arrow) and pa.types.is_list(rows) and isinstance(table, Mapping):
        return _child(table, "items", table_arrow.value_type, inner, rows.value_type, f"{column}.element")
    if pa.types.is_map(table_arrow) and pa.types.is_map(rows) and isinstance(table, Mapping):
        if rows.key_type != pa.string():
            raise _misfit(column, table_arrow, rows)
        return _child(table, "values", table_arrow.item_type, inner, rows.item_type, f"{column}.value")
    return _scalar(table, table_arrow, inner, rows, column)


def _child(
    table: Mapping[str, Any],
    key: str,
    table_arrow: pa.DataType,
    theirs: Mapping[str, Any],
    rows: pa.DataType,
    column: str,
) -> Mapping[str, Any]:
    found = _type(table[key], table_arrow, theirs[key], rows, column)
    return table if found is table[key] else {**table, key: found}


def _inner(avro: Any) -> Any:  # noqa: ANN401 - JSON
    return avro[1] if isinstance(avro, list) else avro


def _scalar(table: Any, table_arrow: pa.DataType, theirs: Any, rows: pa.DataType, column: str) -> Any:  # noqa: ANN401
    if table_arrow in _WIDTHS and rows in _WIDTHS:
        return theirs if _WIDTHS.index(rows) > _WIDTHS.index(table_arrow) else table
    if not _takes(table_arrow, rows):
        raise _misfit(column, table_arrow, rows)
    return table


def _takes(table: pa.DataType, rows: pa.DataType) -> bool:
    """Whether values of the rows' type become the table's without a doubt about what they mean."""
    if pa.types.is_nested(table) or pa.types.is_nested(rows):
        return False
    texts = pa.types.is_string(rows) or pa.types.is_binary(rows) or pa.types.is_fixed_size_binary(rows)
    if texts and (pa.types.is_date(table) or pa.types.is_decimal(table) or pa.types.is_fixed_size_binary(table)):
        return False  # what old files are read by, but no text should become a date unseen
    if pa.types.is_floating(rows) and pa.types.is_decimal(table):
        return False
    return scalar_promotion(rows, table) is not None


def _misfit(column: str, table: pa.DataType, rows: pa.DataType) -> SchemaError:
    return SchemaError(
        f"column {column!r} is {rows} in the rows and {table} in the table",
        remedy="cast it to the table's type before it is written",
    )


def _required(avro: Mapping[str, Any], path: str) -> list[str]:
    """Fields without null among their types, those below nullable structs, lists and maps too."""
    columns = []
    for entry in avro["fields"]:
        columns += _required_of(entry["type"], f"{path}.{entry['name']}" if path else str(entry["name"]))
    return columns


def _required_of(kind: Any, column: str) -> list[str]:  # noqa: ANN401 - JSON
    columns = [] if isinstance(kind, list) or kind == "null" else [column]
    for branch in kind if isinstance(kind, list) else [kind]:
        if not isinstance(branch, Mapping):
            continue
        if branch.get("type") == "record":
            columns += _required(branch, column)
        elif branch.get("type") == "array":
            columns += _required_of(branch["items"], f"{column}.element")
        elif branch.get("type") == "map":
            columns += _required_of(branch["values"], f"{column}.value")
    return columns


def has_order(kind: pa.DataType) -> bool:
    """Whether rows can be sorted by a column of a type: lists and maps cannot be compared."""
    return not (pa.types.is_list(kind) or pa.types.is_map(kind))
