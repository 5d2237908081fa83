"""Calls of schema updates for a model's changes, rows and row filters that fit a model's columns."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from tests.support.tables.schema_changes import Change
from tests.support.tables.schema_model import Column, Row, State, arrow_schema, from_arrow, scalar, walk


def call(update: Any, change: Change) -> Any:
    """The call of a schema update's builder that a change stands for."""
    method = getattr(update, change.method)
    if change.method == "replace_columns":
        return method(arrow_schema(change.value))
    if change.place is None:
        place: dict[str, Any] = {}
    else:
        word, other = change.place
        place = {word: True if word == "first" else ".".join([*change.path[:-1], other])}
    if change.method == "add":
        return method(change.name, arrow_schema([change.value]).field(0).type, **place)
    if change.method == "change_type":
        return method(change.name, arrow_schema([scalar("x", change.value)]).field(0).type)
    if change.method in ("drop", "move"):
        return method(change.name, **place)
    return method(change.name, change.value)


def plain_rows(table: pa.Table, columns: Sequence[Column]) -> dict[str, Row]:
    """Rows of a query by key."""
    rows = [{c.name: from_arrow(row[c.name], c) for c in columns} for row in table.to_pylist()]
    return {row["id"]: row for row in rows}


def condition(state: State, chance: random.Random) -> tuple[str, Callable[[Row], bool]] | None:
    """A condition in SQL and as a function of a row, on a column that has values; None if there is none."""
    fields = [
        (path, column)
        for path, column in walk(state.columns)
        if isinstance(column.kind, str)
        and column.kind not in ("binary", "boolean", "float")  # the last: 0.1 is another number in SQL
        and not {"element", "value"} & {*path}
    ]
    if not fields:
        return None
    path, _ = chance.choice(fields)
    name = ".".join(path)
    values = [value for row in state.snapshot().values() if (value := at_path(row, path)) is not None]
    kind = chance.random()
    if kind < 0.15 or not values:
        return f"{name} IS NULL", lambda row: at_path(row, path) is None
    picked = chance.choice(values)
    word, test = chance.choice([("=", operator.eq), (">", operator.gt), ("<=", operator.le), (">=", operator.ge)])
    return f"{name} {word} {literal(picked)}", lambda row: (v := at_path(row, path)) is not None and test(v, picked)


def at_path(row: Any, path: Sequence[str]) -> Any:
    for name in path:
        if row is None:
            return None
        row = row[name]
    return row


def literal(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    if hasattr(value, "isoformat"):
        return f"DATE '{value.isoformat()}'"
    return repr(value) if isinstance(value, float) else str(value)
