"""``WITH SCHEMA EVOLUTION``: the columns that a statement leaves, and values of its source in their form.

Columns, and fields of structs, that the source has and the table lacks come behind the others; numbers get the wider
type of the two. Columns of keys and partition paths keep their types. All else that differs is cast to the table's
types, as without the clause.

Source: Spark's reference of ``INSERT`` and of ``MERGE INTO``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StructField,
    StructType,
)

from hudi_hive.errors import SchemaError
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.bridge import JavaValue, class_name, quoted, scala_items
from hudi_hive.spark.statements.entries import converted_columns, hudi_columns

Path = tuple[str, ...]
"""Name of a column, then names of fields in it."""

_WIDTHS: Final = (IntegerType, LongType, FloatType, DoubleType)
"""Numbers, each of which may become any after it, as in other writes with other columns."""

_STARS: Final = frozenset({"UpdateStarAction", "InsertStarAction"})


@dataclass(frozen=True)
class Evolution:
    """The columns of a table and those of a source that may change them.

    Attributes:
        before: the table's columns.
        source: columns of the source, as Hudi keeps their types.
        after: the columns that the statement leaves.
        alias: what the statement calls the source.
    """

    before: StructType
    source: StructType
    after: StructType
    alias: str

    @property
    def changes(self) -> bool:
        """Whether the statement leaves other columns."""
        return self.before.simpleString() != self.after.simpleString()

    def own(self, name: str) -> str:
        """The expression of a column of the table after the statement, from the table as it is."""
        field = field_of(self.before, name)
        if field is None:
            return "NULL"
        return fitted(quoted(field.name), field.dataType, self.after[name].dataType)

    def starred(self, name: str, own: str = "") -> str | None:
        """The expression of a column of the table from the source's of that name; None where it has none.

        Args:
            name: of the column.
            own: the table's value, whose fields stay that the source's struct does not have; empty for nulls.
        """
        field = field_of(self.source, name)
        if field is None:
            return None
        return fitted(quoted(self.alias, field.name), field.dataType, self.after[name].dataType, own)

    def assigned(self, path: Path, value: JavaValue) -> str | None:
        """The expression of an assigned value that is the source's column or field of the same name; else None."""
        names = direct_path(value, self.alias, self.source)
        if names is None or [name.lower() for name in names] != [name.lower() for name in path]:
            return None
        kind, table_type = type_at(self.source, names), type_at(self.after, path)
        assert kind is not None and table_type is not None
        return fitted(quoted(self.alias, *names), kind, table_type)


def source_columns(columns: StructType) -> StructType:
    """Columns of a source without meta columns, with the types that Hudi keeps."""
    return converted_columns(StructType([one for one in columns if one.name not in META_FIELDS]))


def named_in_actions(actions: Sequence[JavaValue], source: StructType, alias: str) -> StructType:
    """The columns and fields of a source that may change the table: those that actions of a MERGE assign as they are.

    ``UPDATE SET *`` and ``INSERT *`` assign all. Else they are values of columns and fields of their own name.

    Args:
        actions: of the MERGE.
        source: columns of its source.
        alias: what the statement calls the source.
    """
    if any(class_name(action) in _STARS for action in actions):
        return source
    chosen: list[Path] = []
    for action in (one for one in actions if class_name(one) in ("UpdateAction", "InsertAction")):
        for assignment in scala_items(action.assignments()):
            value = direct_path(assignment.value(), alias, source)
            key = [str(part).lower() for part in scala_items(assignment.key().nameParts())]
            if value is not None and key[-len(value) :] == [name.lower() for name in value]:
                chosen.append(value)
    return _only(source, chosen)


def direct_path(value: JavaValue, alias: str, source: StructType) -> Path | None:
    """The column or field of the source that a value is, as the source writes its names; None for other values."""
    while class_name(value) == "Alias":
        value = value.child()
    if class_name(value) == "UnresolvedAttribute":
        parts = [str(part) for part in scala_items(value.nameParts())]
    elif class_name(value) == "AttributeReference":
        parts = [str(value.name())]
    else:
        return None
    behind = parts[1:] if len(parts) > 1 and parts[0].lower() == alias.lower() else parts
    return _written(source, behind)


def evolved_columns(table: StructType, source: StructType, keeps: Callable[[Path], bool]) -> StructType:
    """The columns of a table with those of a source.

    Args:
        table: columns of the table.
        source: columns and fields that may change it.
        keeps: whether a column or field keeps its type.

    Raises:
        SchemaError: a new column whose type nothing tells, or that Hudi does not have.
    """
    merged = _merged(table, source, (), keeps)
    assert isinstance(merged, StructType)
    return merged


def _merged(table: DataType, source: DataType, path: Path, keeps: Callable[[Path], bool]) -> DataType:
    if isinstance(table, StructType) and isinstance(source, StructType):
        fields = []
        for field in table:
            other = field_of(source, field.name)
            at = (*path, field.name)
            kind = field.dataType if other is None else _merged(field.dataType, other.dataType, at, keeps)
            fields.append(StructField(field.name, kind))
        added = [field for field in source if field_of(table, field.name) is None]
        new = [StructField(one.name, _new(one.dataType, (*path, one.name))) for one in added]
        return StructType([*fields, *hudi_columns(StructType(new))])
    if isinstance(table, ArrayType) and isinstance(source, ArrayType):
        return ArrayType(_merged(table.elementType, source.elementType, (*path, "element"), keeps))
    if isinstance(table, MapType) and isinstance(source, MapType):
        return MapType(table.keyType, _merged(table.valueType, source.valueType, (*path, "value"), keeps))
    if type(table) in _WIDTHS and type(source) in _WIDTHS and not keeps(path):
        return max(table, source, key=lambda one: _WIDTHS.index(type(one)))
    return table


def _new(kind: DataType, path: Path) -> DataType:
    """The type of a new column or field, which takes null in all its parts.

    Raises:
        SchemaError: it holds nothing but nulls.
    """
    if isinstance(kind, NullType):
        raise SchemaError(
            f"the new column {'.'.join(path)} holds nothing but nulls, and nothing tells its type",
            remedy="cast it to the type that it is to have, or leave it out",
        )
    if isinstance(kind, StructType):
        return StructType([StructField(one.name, _new(one.dataType, (*path, one.name))) for one in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(_new(kind.elementType, (*path, "element")))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _new(kind.valueType, (*path, "value")))
    return kind


def fitted(text: str, source_type: DataType, table_type: DataType, own: str = "") -> str:
    """An expression whose structs have the fields of a type, in its order; types of their values are cast later.

    Args:
        text: the expression.
        source_type: its type.
        table_type: the type that it is to have.
        own: an expression of that type whose fields stay where the expression's type has none; empty for nulls.
    """
    if source_type.simpleString() == table_type.simpleString():
        return text
    if isinstance(source_type, StructType) and isinstance(table_type, StructType):
        values = []
        for field in table_type:
            stays = f"{own}.{quoted(field.name)}" if own else ""
            other = field_of(source_type, field.name)
            inner = f"({text}).{quoted(other.name)}" if other is not None else ""
            value = fitted(inner, other.dataType, field.dataType, stays) if other is not None else stays or "NULL"
            values.append(f"{_literal(field.name)}, {value}")
        return f"IF({text} IS NULL, NULL, named_struct({', '.join(values)}))"
    if isinstance(source_type, ArrayType) and isinstance(table_type, ArrayType):
        inner = fitted(_item(text), source_type.elementType, table_type.elementType)
        return text if inner == _item(text) else f"transform({text}, {_item(text)} -> {inner})"
    if isinstance(source_type, MapType) and isinstance(table_type, MapType):
        inner = fitted(_item(text), source_type.valueType, table_type.valueType)
        return text if inner == _item(text) else f"transform_values({text}, (key_, {_item(text)}) -> {inner})"
    return text


def _item(text: str) -> str:
    """A name for the items of an expression that none around it has."""
    return f"item_{text.count('item_')}_"


def field_of(columns: StructType, name: str) -> StructField | None:
    """The column or field of a name, else the only one that differs in case alone; None if there is none."""
    exact = [one for one in columns if one.name == name]
    found = exact or [one for one in columns if one.name.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def type_at(columns: StructType, path: Sequence[str]) -> DataType | None:
    """The type of a column or of a field in it; None if there is none."""
    kind: DataType = columns
    for name in path:
        field = field_of(kind, name) if isinstance(kind, StructType) else None
        if field is None:
            return None
        kind = field.dataType
    return kind


def _written(columns: StructType, path: Sequence[str]) -> Path | None:
    """The names of a path as the columns write them; None if there is no such column or field."""
    names: list[str] = []
    kind: DataType = columns
    for name in path:
        field = field_of(kind, name) if isinstance(kind, StructType) else None
        if field is None:
            return None
        names.append(field.name)
        kind = field.dataType
    return tuple(names) or None


def _only(columns: StructType, paths: Sequence[Path]) -> StructType:
    """Columns without what no path leads to."""
    fields = []
    for field in columns:
        below = [path[1:] for path in paths if path[0] == field.name]
        if () in below or (below and not isinstance(field.dataType, StructType)):
            fields.append(field)
        elif below:
            assert isinstance(field.dataType, StructType)
            fields.append(StructField(field.name, _only(field.dataType, below)))
    return StructType(fields)


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


__all__ = [
    "Evolution",
    "evolved_columns",
    "field_of",
    "fitted",
    "named_in_actions",
    "source_columns",
]
