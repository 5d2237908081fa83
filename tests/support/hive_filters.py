"""Conditions that Hive writes into jobs, the rows that Hive tries them on, and what pruning leaves of those rows."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import random
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from hudi_hive.input_format.filters import FILTER_EXPRESSION, FILTER_TEXT, SARG, JobFilter
from hudi_hive.predicate import ColumnRange

FOLDER: Final = Path(__file__).parents[1] / "data/hive_filters"
DATA: Final = FOLDER / "filters.json.gz"

COLUMNS: Final = (
    "a:tinyint;b:smallint;i:int;l:bigint;f:float;d:double;n:decimal(10,2);s:string;v:varchar(5);c:char(5);o:boolean;"
    "dt:date;ts:timestamp;x:binary;mixed:int;st:struct<a:int,b:string>"
)
"""As Hive knows the table. Hudi knows ``mixed`` as ``Mixed``, and has no varchar or char."""

NAMES: Final = ",".join(column.partition(":")[0] for column in COLUMNS.split(";"))
TYPES: Final = ":".join(column.partition(":")[2] for column in COLUMNS.split(";"))
"""The same as a job's keys ``columns`` and ``columns.types``."""

ROWS: Final = tuple(
    tuple(None if value == "\\N" else value for value in line.split("|"))
    for line in (FOLDER / "rows.txt").read_text(encoding="utf-8").splitlines()
)
"""Values as text, in the order of :data:`COLUMNS`."""

CONDITIONS: Final = tuple((FOLDER / "conditions.txt").read_text(encoding="utf-8").splitlines())
"""In HiveQL. Some of them a release of Hive refuses."""

_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys("abil", ("3", "40", "-1", "0", "5.5", "127", "2147483647L", "5D", "NULL")),
    **dict.fromkeys("fd", ("0", "0.1", "-1.5", "2.5D", "16777217", "cast('NaN' as double)", "cast(0.1 as float)")),
    "n": ("3.25", "0.1", "5", "-3.251", "5.5D"),
    **dict.fromkeys("sv", ("'abc'", "'ab'", "''", "'zz'", "'05'", "'a b'", "5", "cast('ab' as char(5))")),
    "c": ("'ab'", "'abc  '", "''", "cast('ab' as char(4))", "cast('zz' as varchar(9))", "s"),
    "dt": ("DATE '2020-01-01'", "'1999-12-31'", "DATE '1970-01-01'", "TIMESTAMP '2020-01-01 00:00:01'"),
    "ts": ("TIMESTAMP '2020-01-01 10:00:00'", "'1970-01-01 00:00:00'", "DATE '2020-06-01'", "'2020-06-01 12:30:00.5'"),
}


def random_condition(source: random.Random, depth: int = 0) -> str:
    """A condition of random shape over :data:`COLUMNS`."""
    shape = source.random()
    if depth < 3 and shape < 0.45:
        operands = [random_condition(source, depth + 1) for _ in range(source.choice((2, 2, 3)))]
        joined = source.choice((" and ", " or ")).join(f"({one})" for one in operands)
        return f"not ({joined})" if source.random() < 0.25 else joined
    column = source.choice(list(_VALUES))
    first, second, third = (source.choice(_VALUES[column]) for _ in range(3))
    negated = source.choice(("", "not "))
    return source.choice(
        (
            f"{column} {source.choice(('=', '!=', '<', '<=', '>', '>=', '<=>'))} {first}",
            f"{first} {source.choice(('=', '<', '>='))} {column}",
            f"{column} {negated}between {first} and {second}",
            f"{column} {negated}in ({first}, {second}, {third})",
            f"{column} is {negated}null",
            f"not ({column} {source.choice(('=', '<', '>'))} {first})",
        )
    )


class Judged(NamedTuple):
    """A condition with what Hive made of it; the last four as in ``WrittenFilter``."""

    version: str
    condition: str
    serialized: str
    text: str
    sarg: str
    rows: tuple[int, ...]


@cache
def recorded() -> tuple[Judged, ...]:
    """The recorded filters of all releases."""
    return tuple(Judged(*one[:5], tuple(one[5])) for one in _content()["filters"])


@cache
def _content() -> dict[str, Any]:
    return json.loads(gzip.decompress(DATA.read_bytes()))


class FixtureFilter(NamedTuple):
    """A condition on a fixture's columns.

    Attributes:
        case: the fixture's name without its version.
        version: of Hive.
        columns: as Hive knows them.
        sql: the same condition for a scan.
        serialized, text, sarg: as Hive wrote it.
    """

    case: str
    version: str
    columns: str
    sql: str
    serialized: str
    text: str
    sarg: str

    @property
    def name(self) -> str:
        """For the names of tests."""
        return f"{self.case}-{self.sql}"


@cache
def fixture_filters() -> tuple[FixtureFilter, ...]:
    """The recorded filters of fixtures."""
    return tuple(FixtureFilter(*one) for one in _content()["fixtures"])


def fixture_conditions(rows: pa.Table, partition_fields: Sequence[str]) -> tuple[str, list[tuple[str, str]]]:
    """Hive's columns of a fixture, and conditions that part of its rows pass: in HiveQL and as SQL of a scan."""
    columns: list[str] = []
    tests: dict[str, list[tuple[str, str]]] = {}
    for field in rows.schema:
        if field.name.startswith("_hoodie"):
            continue
        kind = _hive_type(field.type)
        columns.append(f"{field.name}:{kind or 'binary'}")
        if kind is None or pa.types.is_nested(field.type) or pa.types.is_float32(field.type):
            continue
        values = sorted(
            {value for value in rows.column(field.name).to_pylist() if value is not None and value == value}
        )
        values = [value for value in values if not isinstance(value, str) or _PLAIN.fullmatch(value)]
        if len(values) < 2:
            continue
        low, middle, high = (_literals(values[place]) for place in (0, len(values) // 2, -1))
        shapes = (
            "{} < {middle}",
            "{} = {high}",
            "{} > {middle}",
            "{} between {low} and {middle}",
            "{} in ({low}, {high})",
        )
        shapes += ("{} != {low}", "not ({} >= {middle})", "{} not in ({low}, {middle})", "{} is not null")
        tests[field.name] = [
            tuple(shape.format(field.name, low=low[side], middle=middle[side], high=high[side]) for side in (0, 1))  # type: ignore[misc]
            for shape in shapes
        ]
    chosen: list[tuple[str, str]] = []
    for number, (name, shapes_of) in enumerate(tests.items()):
        chosen.append(shapes_of[number % len(shapes_of)])
        if name in partition_fields:
            chosen += [shapes_of[1], shapes_of[5]]
    first = next(iter(tests.values()), [])
    for name in [*partition_fields, *tests][:2]:
        if first and name in tests:
            other = tests[name][1]
            for word in ("and", "or"):
                chosen.append((f"{first[0][0]} {word} {other[0]}", f"{first[0][1]} {word} {other[1]}"))
    return ";".join(columns), list(dict.fromkeys(chosen))


_PLAIN: Final = re.compile(r"[\w :./=-]+", re.ASCII)


def _hive_type(arrow: pa.DataType) -> str | None:
    names = ((pa.types.is_int32, "int"), (pa.types.is_int64, "bigint"), (pa.types.is_float32, "float"))
    names += ((pa.types.is_float64, "double"), (pa.types.is_string, "string"), (pa.types.is_date32, "date"))
    names += ((pa.types.is_timestamp, "bigint"), (pa.types.is_boolean, "boolean"))
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    return next((name for test, name in names if test(arrow)), None)


def _literals(value: Any) -> tuple[str, str]:
    """A value in HiveQL, where sync has made whole numbers of timestamps, and in the SQL of scans."""
    if isinstance(value, bool):
        return str(value).lower(), str(value).lower()
    if isinstance(value, dt.datetime):
        micros = (value - dt.datetime(1970, 1, 1, tzinfo=value.tzinfo)) // dt.timedelta(microseconds=1)
        return f"{micros}L", f"TIMESTAMP '{value.replace(tzinfo=None).isoformat(' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value}'", f"DATE '{value}'"
    if isinstance(value, str):
        return f"'{value}'", f"'{value}'"
    if isinstance(value, float):
        return f"{value!r}D", repr(value)
    return str(value), str(value)


_ARROW: Final = {
    **dict.fromkeys(("a", "b", "i", "Mixed"), pa.int32()),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "n": pa.decimal128(10, 2),
    **dict.fromkeys("svc", pa.string()),
    "o": pa.bool_(),
    "dt": pa.date32(),
    "ts": pa.timestamp("us", "UTC"),
    "x": pa.binary(),
    "st": pa.struct([("a", pa.int32()), ("b", pa.string())]),
}
_ORDER: Final = ("a", "b", "i", "l", "f", "d", "n", "s", "v", "c", "o", "dt", "ts", "x", "Mixed", "st")
SCHEMA: Final = pa.schema([(name, _ARROW[name]) for name in _ORDER])
"""The table's schema as Hudi has it."""


def _value(text: str | None, kind: pa.DataType) -> Any:
    if text is None:
        return None
    if pa.types.is_integer(kind):
        return int(text)
    if pa.types.is_floating(kind):
        return float(text)
    if pa.types.is_decimal(kind):
        return Decimal(text).quantize(Decimal("0.01"))
    if pa.types.is_boolean(kind):
        return text == "true"
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(text)
    if pa.types.is_timestamp(kind):
        return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
    return text.encode() if pa.types.is_binary(kind) else text


@cache
def row_table() -> pa.Table:
    """:data:`ROWS` as a table, as Hudi's files hold them."""
    columns = zip(*ROWS, strict=True)
    arrays = [
        pa.array([_value(text, field.type) for text in column], field.type)
        for field, column in zip(SCHEMA, columns, strict=True)
    ]
    return pa.table(arrays, schema=SCHEMA)


@cache
def row_ranges() -> dict[tuple[str, ...], ColumnRange]:
    """Each row as a file of its own: its values are the bounds."""
    ones = pa.array(np.ones(len(ROWS), np.int64))
    ranges = {}
    for name in SCHEMA.names:
        column = row_table().column(name).combine_chunks()
        if pa.types.is_struct(column.type):
            continue
        bounds = column
        if pa.types.is_floating(column.type):  # writers leave NaN out
            bounds = pa.array([None if value != value else value for value in column.to_pylist()], column.type)
        nulls = column.is_null().cast(pa.int64())
        ranges[name,] = ColumnRange(bounds, bounds, nulls, ones, exact=True)
    return ranges


def rows_left(conf: Mapping[str, str], schema: pa.Schema = SCHEMA) -> set[int]:
    """The rows that a job's filter leaves, each of them a file of its own."""
    row_filter = JobFilter.of(conf).on_files(schema)
    if row_filter is None:
        return set(range(len(ROWS)))
    return set(np.flatnonzero(row_filter.groups_that_may_match(row_ranges(), len(ROWS))).tolist())


_KEYS: Final = {"serialized": FILTER_EXPRESSION, "text": FILTER_TEXT, "sarg": SARG}


def wrong_rows(judged: Judged, form: str) -> tuple[list[int], int]:
    """The rows that Hive wants and pruning loses, and how many rows are left; ``form`` is a field of the filter."""
    text = getattr(judged, form)
    # Beside columns of bytes texts are not read, as constants of that type stand in them without quotes.
    schema = SCHEMA.remove(SCHEMA.get_field_index("x")) if form == "text" else SCHEMA
    conf = {_KEYS[form]: text}
    if form != "serialized":
        conf |= {"columns": NAMES, "columns.types": TYPES}
    left = rows_left(conf, schema) if text else set(range(len(ROWS)))
    return sorted(set(judged.rows) - left), len(left)
