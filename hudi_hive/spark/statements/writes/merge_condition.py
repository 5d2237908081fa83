"""The condition of a MERGE: what it compares, and whether it tells that rows which are inserted are of no record.

A row of the source that meets no row of the table has a key that the table does not have, where the condition compares
nothing but the columns that keys and partition paths are made of, and the row is inserted with the values compared.
Its key need not be looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from hudi_hive.spark.bridge import JavaValue, class_name, scala_items
from hudi_hive.spark.statements.writes.target import WriteTarget
from hudi_hive.table.keys import KeyGenerator

_NUMBERS: Final = ("tinyint", "smallint", "int", "bigint")
_EXACT: Final = {**dict.fromkeys(_NUMBERS, "number"), "string": "string", "date": "date"}
"""Types whose values are equal if, and only if, their texts in keys and paths are; by what they compare with."""
_INSERTS: Final = ("InsertStarAction", "InsertAction")
_PLAIN: Final = ("SIMPLE", "COMPLEX", "NON_PARTITION")
"""Key generators that put the text of a value into a partition path, and not a part of it."""


def path_to_join(plan: JavaValue, table: str, source: str) -> list[JavaValue]:
    """The nodes from the top of a plan down to the join of two sides; none if it is not such a plan.

    Args:
        plan: of rows.
        table: a column that the left side of the join has alone.
        source: one that the right side has alone.
    """
    path = [plan]
    while class_name(path[-1]) != "Join":
        below = list(scala_items(path[-1].children()))
        if len(below) != 1:
            return []
        path += below
    sides = ((path[-1].left(), table), (path[-1].right(), source))
    named = all(name in {str(one.name()) for one in scala_items(side.output())} for side, name in sides)
    return path if named else []


def conjuncts(condition: JavaValue | None) -> Iterator[JavaValue]:
    """The parts of a condition that must all hold."""
    if condition is not None and class_name(condition) == "And":
        yield from conjuncts(condition.left())
        yield from conjuncts(condition.right())
    elif condition is not None:
        yield condition


def compared_columns(target: WriteTarget, node: JavaValue, alias: str, source: str) -> dict[str, str]:
    """The columns of keys and partition paths that a MERGE compares and inserts, and the source's columns for them.

    Args:
        target: the table.
        node: the parsed statement.
        alias, source: what the statement calls the table and its source.

    Returns:
        Names in lower case; none where the condition compares more, or a row may be inserted with other values.
    """
    pairs: dict[str, str] = {}
    for part in conjuncts(node.mergeCondition()):
        if class_name(part) != "EqualTo":
            return {}
        columns = [
            (own, other)
            for own, other in ((part.left(), part.right()), (part.right(), part.left()))
            if _column_of(own, alias) in target.fixed_columns and _column_of(other, source)
        ]
        if len(columns) != 1 or _column_of(columns[0][0], alias) in pairs:
            return {}
        pairs[_column_of(columns[0][0], alias)] = _column_of(columns[0][1], source)
    actions = list(scala_items(node.notMatchedActions()))
    kept = all(class_name(one) in _INSERTS and _inserted(one, pairs, source) for one in actions)
    return pairs if actions and kept and set(target.record_keys) <= set(pairs) else {}


def _column_of(value: JavaValue, side: str) -> str:
    """The column in lower case that a parsed value is, by its name behind that of its side; empty if it is none."""
    if class_name(value) != "UnresolvedAttribute":
        return ""
    parts = [str(part).lower() for part in scala_items(value.nameParts())]
    return parts[1] if len(parts) == 2 and parts[0] == side.lower() else ""


def _inserted(action: JavaValue, pairs: Mapping[str, str], source: str) -> bool:
    """Whether an INSERT clause gives the columns the values that they were compared with."""
    if class_name(action) == "InsertStarAction":
        return all(own == other for own, other in pairs.items())
    values = {}
    for one in scala_items(action.assignments()):
        if class_name(one.key()) == "UnresolvedAttribute":
            values[[str(part).lower() for part in scala_items(one.key().nameParts())][-1]] = one.value()
    return all(own in values and _column_of(values[own], source) == other for own, other in pairs.items())


def makes_new_keys(target: WriteTarget, join: JavaValue, pairs: Mapping[str, str]) -> bool:
    """Whether values that a join found unequal make other keys or partition paths.

    Args:
        target: the table.
        join: the resolved join of table and source.
        pairs: as of :func:`compared_columns`.
    """
    paths = {name.lower() for name in target.client.config.partition_fields} & set(pairs)
    if paths and KeyGenerator.of(target.client.config, target.settings).kind not in _PLAIN:
        return False
    left, right = _types_of(join.left()), _types_of(join.right())
    kinds = [left.get(own, []) + right.get(other, []) for own, other in pairs.items()]
    return bool(pairs) and all(len(one) == 2 and None is not one[0] == one[1] for one in kinds)


def _types_of(side: JavaValue) -> dict[str, list[str | None]]:
    """What the columns of a side compare with, by their names in lower case; several where columns are called alike."""
    types: dict[str, list[str | None]] = {}
    for one in scala_items(side.output()):
        types.setdefault(str(one.name()).lower(), []).append(_EXACT.get(str(one.dataType().simpleString())))
    return types


__all__ = ["compared_columns", "conjuncts", "makes_new_keys", "path_to_join"]
