"""A table whose columns change their names, types and places, made of plain dictionaries: what every query must give.

A column is known by its id alone. Rows hold values by those ids, and each value remembers the type that it was written
with; what a query shows is worked out from there, without files, names of then or JSON. Changes come at random, but a
chain of types never depends on its links: whether a file was rewritten between two of them cannot be seen from outside.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Stored: TypeAlias = Any
"""None; of a scalar (type, value); of a struct values by column id; of a list a list; of a map values by key."""

Row: TypeAlias = dict[str, Any]

_IDS = itertools.count(1)

PROTECTED = ("id", "part", "ts")
NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")

ARROW = {
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    **{f"decimal({p}, {s})": pa.decimal128(p, s) for p, s in ((10, 2), (12, 2), (16, 4), (20, 2), (20, 6), (24, 6))},
}

# Type that a column was made with -> type it has -> types it may have next.
_NEXT: dict[str, dict[str, tuple[str, ...]]] = {
    "int": {
        "int": ("long", "float", "double", "decimal(20, 2)", "string"),
        "long": ("double", "decimal(20, 2)", "string"),
        "float": ("double",),
    },
    "long": {"long": ("double", "decimal(20, 2)", "string")},
    "float": {"float": ("double", "decimal(20, 6)", "string"), "double": ("decimal(20, 6)", "string")},
    "double": {"double": ("decimal(20, 6)", "string")},
    "decimal(10, 2)": {
        "decimal(10, 2)": ("decimal(12, 2)", "decimal(16, 4)", "string"),
        "decimal(12, 2)": ("decimal(16, 4)", "string"),
        "decimal(16, 4)": ("decimal(24, 6)",),
    },
    "date": {"date": ("string",)},
    "binary": {"binary": ("string",)},
    "string": {"string": ("binary",)},
    "boolean": {},
}
WIDER = {"int": ("long", "double"), "long": ("double",), "float": ("double",)}
"""What a writer may widen a column to by writing it."""
SCALARS = tuple(_NEXT)


@dataclass(frozen=True)
class Struct:
    fields: tuple[Column, ...]


@dataclass(frozen=True)
class ListOf:
    element: Column


@dataclass(frozen=True)
class MapOf:
    value: Column


Kind: TypeAlias = "str | Struct | ListOf | MapOf"


@dataclass(frozen=True)
class Column:
    """A column, or a field of a struct; lists have one named ``element``, maps one named ``value``."""

    name: str
    kind: Kind
    born: str = ""
    doc: str | None = None
    id: int = field(default_factory=lambda: next(_IDS))

    def below(self) -> tuple[Column, ...]:
        if isinstance(self.kind, Struct):
            return self.kind.fields
        return (
            ()
            if isinstance(self.kind, str)
            else ((self.kind.element if isinstance(self.kind, ListOf) else self.kind.value),)
        )

    def with_below(self, columns: Sequence[Column]) -> Column:
        if isinstance(self.kind, Struct):
            return replace(self, kind=Struct(tuple(columns)))
        return replace(self, kind=(ListOf if isinstance(self.kind, ListOf) else MapOf)(columns[0]))

    def next_kinds(self) -> tuple[str, ...]:
        """Types that the column may have next."""
        return _NEXT[self.born].get(self.kind, ()) if isinstance(self.kind, str) else ()


def scalar(name: str, kind: str) -> Column:
    return Column(name, kind, kind)


def struct(name: str, *fields: Column) -> Column:
    return Column(name, Struct(fields))


def list_of(name: str, element: Column) -> Column:
    return Column(name, ListOf(element))


def map_of(name: str, value: Column) -> Column:
    return Column(name, MapOf(value))


def first_columns() -> tuple[Column, ...]:
    """Those that a table begins with; the first three are never changed."""
    return (
        scalar("id", "string"),
        scalar("part", "string"),
        scalar("ts", "long"),
        scalar("a", "int"),
        scalar("b", "float"),
        scalar("c", "string"),
        struct("info", scalar("a", "int"), scalar("b", "string"), struct("deep", scalar("x", "long"))),
        list_of("tags", scalar("element", "int")),
        map_of("props", struct("value", scalar("x", "int"), scalar("y", "date"))),
    )


def walk(columns: Sequence[Column], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Column]]:
    """All columns and fields with the names that lead to them."""
    for column in columns:
        yield (*path, column.name), column
        yield from walk(column.below(), (*path, column.name))


def arrow_type(column: Column) -> pa.DataType:
    """What Arrow shows of a column."""
    if isinstance(column.kind, Struct):
        return pa.struct([pa.field(item.name, arrow_type(item)) for item in column.kind.fields])
    if isinstance(column.kind, ListOf):
        return pa.list_(pa.field("element", arrow_type(column.kind.element)))
    if isinstance(column.kind, MapOf):
        return pa.map_(pa.string(), arrow_type(column.kind.value))
    return ARROW[column.kind]


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([pa.field(column.name, arrow_type(column)) for column in columns])


# -- values ------------------------------------------------------------------------------------------------------------


def convert(kind: str, value: Any, to: str) -> Any:
    """A value of one type as another: what a reader must make of it."""
    if kind == to:
        return value
    if to == "long":
        return value
    if to in ("float", "double"):
        return float(_text(kind, value))
    if to.startswith("decimal"):
        return Decimal(_text(kind, value)).quantize(Decimal(1).scaleb(-ARROW[to].scale))
    if to == "string":
        return _text(kind, value)
    if (kind, to) == ("string", "binary"):
        return value.encode()
    raise AssertionError(f"{kind} does not become {to}")


def _text(kind: str, value: Any) -> str:
    if kind == "float":
        return str(np.float32(value))
    if kind == "date":
        return str(value.isoformat())
    if kind == "binary":
        return str(value.decode())
    return format(value, "f") if kind.startswith("decimal") else str(value)


def store(value: Any, source: Column, column: Column) -> Stored:
    """What a table keeps of a value that a writer gives.

    Args:
        value: as the writer's column has it.
        source: the writer's column: its fields are found by their names.
        column: the table's column.
    """
    if value is None:
        return None
    if isinstance(column.kind, str):
        return column.kind, convert(source.kind, value, column.kind)
    if isinstance(column.kind, Struct):
        theirs = {item.name: item for item in source.below()}
        return {
            item.id: store(value[item.name], theirs[item.name], item) if item.name in theirs else None
            for item in column.below()
        }
    (mine,), (their,) = column.below(), source.below()
    if isinstance(column.kind, ListOf):
        return [store(item, their, mine) for item in value]
    return {key: store(item, their, mine) for key, item in value.items()}


def show(stored: Stored, column: Column) -> Any:
    """What a query shows of it, under the column as it is then."""
    if stored is None:
        return None
    if isinstance(column.kind, str):
        return convert(*stored, column.kind)
    if isinstance(column.kind, Struct):
        return {item.name: show(stored.get(item.id), item) for item in column.kind.fields}
    if isinstance(column.kind, ListOf):
        return [show(item, column.kind.element) for item in stored]
    return {key: show(item, column.kind.value) for key, item in stored.items()}


def invent(column: Column, chance: random.Random, nulls: float = 0.15, *, plain: bool = False) -> Any:
    """A value as a writer gives it; ``plain`` as of :class:`Inventor`."""
    if chance.random() < nulls:
        return None
    if isinstance(column.kind, Struct):
        return {item.name: invent(item, chance, plain=plain) for item in column.kind.fields}
    if isinstance(column.kind, str):
        return _scalar(column.kind, chance, plain)
    (below,) = column.below()
    values = [invent(below, chance, 0.0, plain=plain) for _ in range(chance.randrange(3))]
    if plain and isinstance(below.kind, Struct):
        values = values[:1]
    return values if isinstance(column.kind, ListOf) else {f"k{at}": value for at, value in enumerate(values)}


def _scalar(kind: str, chance: random.Random, plain: bool) -> Any:
    number = chance.randrange(-40, 40)
    if kind == "int":
        return number
    if kind == "long":
        return number if chance.random() < 0.5 else number * 10**9
    if kind == "float":
        return number / 4 if plain else float(np.float32(number / 10))
    if kind == "double":
        return number / 10
    if kind == "date":
        return dt.date(2026, 3, 1) + dt.timedelta(days=number)
    if kind == "boolean":
        return number % 2 == 0
    if kind in ("string", "binary"):
        text = chance.choice(["", "x", "é", "t"]) + str(number)
        return text if kind == "string" else text.encode()
    return Decimal(number).scaleb(-ARROW[kind].scale)


def as_arrow(rows: Sequence[Row], columns: Sequence[Column]) -> pa.Table:
    """Rows as a writer hands them over."""
    plain = [{column.name: _pairs(row[column.name], column) for column in columns} for row in rows]
    return pa.Table.from_pylist(plain, arrow_schema(columns))


def _pairs(value: Any, column: Column) -> Any:
    """Maps as the pairs that Arrow makes them of."""
    if value is None or isinstance(column.kind, str):
        return value
    if isinstance(column.kind, Struct):
        return {item.name: _pairs(value[item.name], item) for item in column.kind.fields}
    (below,) = column.below()
    if isinstance(column.kind, ListOf):
        return [_pairs(item, below) for item in value]
    return [(key, _pairs(item, below)) for key, item in value.items()]


def from_arrow(value: Any, column: Column) -> Any:
    """A value that Arrow gave (``to_pylist``) as :func:`show` has it."""
    if value is None or isinstance(column.kind, str):
        return value
    if isinstance(column.kind, Struct):
        return {item.name: from_arrow(value[item.name], item) for item in column.kind.fields}
    (below,) = column.below()
    if isinstance(column.kind, ListOf):
        return [from_arrow(item, below) for item in value]
    return {key: from_arrow(item, below) for key, item in value}


# -- the table ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """One row: its values by column id, and the number of the write that it is of."""

    values: Mapping[int, Stored]
    write: int

    def shown(self, columns: Sequence[Column]) -> Row:
        return {column.name: show(self.values.get(column.id), column) for column in columns}


@dataclass(frozen=True)
class State:
    """A table at one moment.

    Attributes:
        columns: its columns.
        rows: by key.
        base: what the base files have, by key: the same of copy-on-write tables.
    """

    columns: tuple[Column, ...]
    rows: Mapping[str, Record] = field(default_factory=dict)
    base: Mapping[str, Record] = field(default_factory=dict)

    def snapshot(self) -> dict[str, Row]:
        return {key: record.shown(self.columns) for key, record in self.rows.items()}

    def read_optimized(self) -> dict[str, Row]:
        return {key: record.shown(self.columns) for key, record in self.base.items()}

    def since(self, write: int) -> dict[str, Row]:
        """Rows of writes after one of a number."""
        return {key: record.shown(self.columns) for key, record in self.rows.items() if record.write > write}

    def written(
        self,
        rows: Sequence[Row],
        their_columns: Sequence[Column],
        write: int,
        *,
        merge_on_read: bool,
        replaced: str | None = None,
    ) -> State:
        """After a write of rows; ``replaced`` is a partition whose rows go away first."""
        theirs = {column.name: column for column in their_columns}
        all_rows = {key: record for key, record in self.rows.items() if key[0] != replaced}
        base = {key: record for key, record in self.base.items() if key[0] != replaced}
        for row in rows:
            values = {
                column.id: store(row[column.name], theirs[column.name], column)
                for column in self.columns
                if column.name in theirs
            }
            updates = row["id"] in base
            all_rows[row["id"]] = record = Record(values, write)
            if not (merge_on_read and updates):  # else it went into a log file
                base[row["id"]] = record
        return replace(self, rows=all_rows, base=base)

    def deleted(self, keys: set[str], *, merge_on_read: bool) -> State:
        rows = {key: record for key, record in self.rows.items() if key not in keys}
        return replace(self, rows=rows, base=self.base if merge_on_read else rows)

    def compacted(self) -> State:
        return replace(self, base=self.rows)
