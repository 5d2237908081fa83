"""The columns of an insert: which column of its query goes to which of the table.

A query whose columns have the names of the table's goes by them, any other by position, as Hudi's. ``WITH SCHEMA
EVOLUTION`` columns of the query that the table lacks become its, behind the others, and wider numbers its types.

Source: Hudi's ``InsertIntoHoodieTableCommand``; Spark's reference of ``INSERT``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from hudi_hive.errors import SchemaError
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.bridge import JavaValue, class_name, quoted, scala_items
from hudi_hive.spark.statements.writes.assignments import is_default
from hudi_hive.spark.statements.writes.evolution import evolved_columns, field_of, fitted, source_columns
from hudi_hive.spark.statements.writes.nodes import Nodes, argument
from hudi_hive.spark.statements.writes.target import WriteTarget
from hudi_hive.spark.versions import SPARK

_DATA_COLUMNS: Final = f"(?!(?:{'|'.join(META_FIELDS)})$).*"
_INLINE: Final = frozenset({"UnresolvedInlineTable", "LocalRelation", "OneRowRelation"})
_ROWS: Final = "hudi_hive_rows"
_POLICY: Final = "spark.sql.storeAssignmentPolicy"


def matched_columns(
    target: WriteTarget, node: JavaValue, static: Mapping[str, str]
) -> tuple[WriteTarget, dict[str, Any]]:
    """Match the columns of an insert with those of its table.

    Args:
        target: the table.
        node: the parsed ``InsertIntoStatement``.
        static: values of partition columns that its PARTITION clause gives, by the columns' names in lower case.

    Returns:
        The table with the columns that the insert leaves, and the arguments of the node that change.

    Raises:
        SchemaError: with schema evolution, a new column whose type nothing tells, or that has a name of the table's.
    """
    query = node.query()
    if argument(node, "withSchemaEvolution"):
        columns = target.columns_of_query(query)
        if columns is not None:
            return _evolved(target, node, static, columns)
    changes: dict[str, Any] = {}
    if class_name(query) not in _INLINE and not _has_default(query):
        # As Hudi, so that SELECT * of another Hudi table can be inserted. What keeps its DEFAULT stays as it is.
        nodes = Nodes(target.hook.environment.jvm)
        changes["query"] = nodes.without_meta_columns(_DATA_COLUMNS, query)
        if not list(scala_items(node.userSpecifiedCols())) and not node.byName():
            expected = [field for field in target.columns if field.name.lower() not in static]
            order = _order_by_name(target, query, [field.name for field in expected])
            if order is not None:
                changes["query"] = nodes.project([nodes.column(name) for name in order], changes["query"])
                changes["byName"] = _nested_by_name(target, query, expected)
    if not SPARK.fills_columns:
        changes |= _filled(target, node, changes.get("query", query), static)
    if str(target.setting(_POLICY)).upper() == "LEGACY":
        changes |= _cast(target, node, changes, static)
    return target, changes


def _cast(
    target: WriteTarget, node: JavaValue, changes: Mapping[str, Any], static: Mapping[str, str]
) -> dict[str, Any]:
    """What changes of an insert whose session casts as Hive does: to null, or cut, what the column's type cannot hold.

    Spark casts so for files alone and refuses it for relations of other sources, of which ours are.
    """
    query = changes.get("query", node.query())
    if _has_default(query):
        return {}
    fields = {field.name.lower(): field for field in target.columns if field.name.lower() not in static}
    names = [str(name) for name in scala_items(changes.get("userSpecifiedCols", node.userSpecifiedCols()))]
    if changes.get("byName", node.byName()) and not names:
        names = [name for name in _names_of(target, query) or () if name not in META_FIELDS]
    names = names or [field.name for field in fields.values()]
    if not all(name.lower() in fields for name in names):
        return {}  # which Spark refuses
    if changes.get("byName", node.byName()) and not _same_fields(target, query, fields):
        return {}  # as a cast of structs goes by position
    jvm = target.hook.environment.jvm
    nodes = Nodes(jvm)
    rows = jvm.package("catalyst.analysis").UnresolvedSubqueryColumnAliases(jvm.seq(names), query)
    given = {name.lower() for name in names}
    values = []
    for field in fields.values():
        value = nodes.column(field.name) if field.name.lower() in given else nodes.expression("NULL")
        values.append(nodes.alias(nodes.cast(value, field.dataType, legacy=True), field.name))
    query = nodes.project(values, nodes.named(rows, _ROWS))
    return {"query": query, "userSpecifiedCols": jvm.seq([]), "byName": False}


# -- schema evolution ------------------------------------------------------------------------------------------------


def _evolved(
    target: WriteTarget, node: JavaValue, static: Mapping[str, str], columns: StructType
) -> tuple[WriteTarget, dict[str, Any]]:
    """The same with the columns that the table and the query have."""
    jvm = target.hook.environment.jvm
    nodes = Nodes(jvm)
    named = [str(name) for name in scala_items(node.userSpecifiedCols())]
    expected = [field for field in target.columns if field.name.lower() not in static]
    source = source_columns(columns)
    by_name = bool(node.byName()) or all(field_of(source, field.name) is not None for field in expected)
    names = [field.name for field in expected] if not by_name and not named else named
    if names and len(source.fields) < len(names):
        return target, {}  # which Spark refuses
    names = [*names, *source.names[len(names) :]]
    if len({name.lower() for name in names}) < len(names) or {name.lower() for name in names} & set(static):
        raise SchemaError(
            f"INSERT INTO {target.name}: columns behind the table's have names of the table's",
            path=target.location,
            remedy="give them other names, or use BY NAME",
        )
    source = StructType([StructField(name, field.dataType) for name, field in zip(names, source, strict=True)])
    rows = nodes.without_meta_columns(_DATA_COLUMNS, node.query())
    rows = jvm.package("catalyst.analysis").UnresolvedSubqueryColumnAliases(jvm.seq(names), rows)
    if not node.byName():
        types = [_by_position(field.dataType, field_of(target.columns, field.name)) for field in source]
        casts = [nodes.cast(nodes.column(name), kind) for name, kind in zip(names, types, strict=True)]
        rows = nodes.project([nodes.alias(one, name) for one, name in zip(casts, names, strict=True)], rows)
        source = StructType([StructField(name, kind) for name, kind in zip(names, types, strict=True)])
    target = target.with_columns(evolved_columns(target.columns, source, target.is_fixed))
    values = []
    for field in (one for one in target.columns if one.name.lower() not in static):
        given = field_of(source, field.name)
        text = "NULL" if given is None else fitted(quoted(_ROWS, given.name), given.dataType, field.dataType)
        value = nodes.expression(text)
        values.append(nodes.alias(nodes.cast(value, field.dataType) if given is None else value, field.name))
    query = nodes.project(values, nodes.named(rows, _ROWS))
    return target, {"query": query, "userSpecifiedCols": jvm.seq([]), "byName": False, "withSchemaEvolution": False}


def _by_position(kind: DataType, column: StructField | None) -> DataType:
    """The type of a column of a query whose structs have the names of the table's fields, where they have others."""
    return kind if column is None else _renamed(kind, column.dataType)


def _renamed(kind: DataType, table: DataType) -> DataType:
    if isinstance(kind, StructType) and isinstance(table, StructType):
        named = all(field_of(kind, name) is not None for name in table.names)
        at_names = [*table.names, *kind.names[len(table.names) :]][: len(kind.names)]
        names = kind.names if named else at_names
        within = [field_of(table, name) for name in names]
        types = [_by_position(field.dataType, other) for field, other in zip(kind, within, strict=True)]
        return StructType([StructField(name, one) for name, one in zip(names, types, strict=True)])
    if isinstance(kind, ArrayType) and isinstance(table, ArrayType):
        return ArrayType(_renamed(kind.elementType, table.elementType))
    if isinstance(kind, MapType) and isinstance(table, MapType):
        return MapType(kind.keyType, _renamed(kind.valueType, table.valueType))
    return kind


# -- by name, by position --------------------------------------------------------------------------------------------


def _nested_by_name(target: WriteTarget, query: JavaValue, expected: Sequence[StructField]) -> bool:
    """Whether the fields of all structs of a query have the names of the table's, maybe in another order."""
    if not any(map(_has_structs, (field.dataType for field in expected))):
        return False
    columns = target.columns_of_query(query)
    if columns is None:
        return False
    others = [field_of(columns, field.name) for field in expected]
    return all(
        other is not None and _same_names(field.dataType, other.dataType)
        for field, other in zip(expected, others, strict=True)
    )


def _same_fields(target: WriteTarget, query: JavaValue, fields: Mapping[str, StructField]) -> bool:
    """Whether the structs of a query's columns have the fields of those of the table's columns in their order."""
    columns = target.columns_of_query(query)
    if columns is None:
        return False
    pairs = [(one, fields.get(one.name.lower())) for one in columns if one.name not in META_FIELDS]
    return all(two is None or _names_within(one.dataType) == _names_within(two.dataType) for one, two in pairs)


def _names_within(kind: DataType) -> list[Any]:
    """The names of all fields inside a type, as they are nested."""
    if isinstance(kind, StructType):
        return [(field.name.lower(), _names_within(field.dataType)) for field in kind]
    if isinstance(kind, ArrayType):
        return _names_within(kind.elementType)
    return [_names_within(kind.keyType), _names_within(kind.valueType)] if isinstance(kind, MapType) else []


def _has_structs(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _has_structs(kind.elementType)
    if isinstance(kind, MapType):
        return _has_structs(kind.keyType) or _has_structs(kind.valueType)
    return isinstance(kind, StructType)


def _same_names(one: DataType, other: DataType) -> bool:
    """Whether the structs of two types have fields of the same names, in any order."""
    if isinstance(one, StructType) and isinstance(other, StructType):
        if sorted(name.lower() for name in one.names) != sorted(name.lower() for name in other.names):
            return False
        pairs = [(field, field_of(other, field.name)) for field in one]
        return all(there is not None and _same_names(field.dataType, there.dataType) for field, there in pairs)
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return _same_names(one.elementType, other.elementType)
    if isinstance(one, MapType) and isinstance(other, MapType):
        return _same_names(one.keyType, other.keyType) and _same_names(one.valueType, other.valueType)
    return True


def _filled(target: WriteTarget, node: JavaValue, query: JavaValue, static: Mapping[str, str]) -> dict[str, Any]:
    """What changes of an insert that leaves columns out, so that its rows have all of the table, with nulls."""
    names = [str(name) for name in scala_items(node.userSpecifiedCols())]
    if node.byName():
        names = [name for name in _names_of(target, query) or () if name not in META_FIELDS]
    stated = {name.lower() for name in names}
    fields = [field for field in target.columns if field.name.lower() not in static]
    if not names or all(field.name.lower() in stated for field in fields):
        return {}
    jvm = target.hook.environment.jvm
    nodes = Nodes(jvm)
    if not node.byName():
        query = jvm.package("catalyst.analysis").UnresolvedSubqueryColumnAliases(jvm.seq(names), query)
    columns = [
        nodes.column(field.name)
        if field.name.lower() in stated
        else nodes.alias(nodes.cast(nodes.expression("NULL"), field.dataType), field.name)
        for field in fields
    ]
    changes = {"query": nodes.project(columns, nodes.named(query, "rows")), "userSpecifiedCols": jvm.seq([])}
    return changes | ({"byName": False} if node.byName() else {})


def _order_by_name(target: WriteTarget, query: JavaValue, expected: Sequence[str]) -> list[str] | None:
    """The columns of a query in the table's order, where they have the names of the table's; else None.

    Source: Hudi's ``InsertIntoHoodieTableCommand``, which goes by names where it can, and by position where not.
    """
    names = _names_of(target, query)
    if names is None:
        return None
    names = [name for name in names if name not in META_FIELDS]
    exact = str(target.setting("spark.sql.caseSensitive")).lower() == "true"
    same = (lambda name: name) if exact else str.lower
    by_name = {same(name): name for name in names}
    if len(by_name) < len(names) or set(by_name) != {same(name) for name in expected}:
        return None
    return [by_name[same(name)] for name in expected]


def _names_of(target: WriteTarget, query: JavaValue) -> list[str] | None:
    """Names of a query's columns: as they are written, or as Spark resolves them; None for what it cannot resolve."""
    node = query
    while class_name(node) in ("Sort", "GlobalLimit", "LocalLimit", "Filter", "Union", "Distinct", "SubqueryAlias"):
        node = next(iter(scala_items(node.children())))
    if class_name(node) == "Project":
        written = [_name_of(item) for item in scala_items(node.projectList())]
        if all(name is not None for name in written):
            return [name for name in written if name is not None]
    columns = target.columns_of_query(query)
    return None if columns is None else list(columns.names)


def _has_default(query: JavaValue) -> bool:
    """Whether a query is ``SELECT … DEFAULT …`` or ``VALUES``, which Spark takes right below an insert alone."""
    if class_name(query) == "UnresolvedInlineTable":
        return any(is_default(value) for row in scala_items(query.rows()) for value in scala_items(row))
    return class_name(query) == "Project" and any(map(is_default, scala_items(query.projectList())))


def _name_of(item: JavaValue) -> str | None:
    kind = class_name(item)
    if kind == "Alias":
        return str(item.name())
    if kind == "UnresolvedAttribute":
        return [str(part) for part in scala_items(item.nameParts())][-1]
    return None


__all__ = ["matched_columns"]
