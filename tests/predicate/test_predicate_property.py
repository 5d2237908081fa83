"""Row filters against a naive evaluation, value by value, of SQL's three-valued logic with Spark's rules for NaN.

The naive side knows Python values and the meaning of each test; it shares nothing with the filters but the text.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.predicate import ColumnRange, parse_filter
from tests.support.running.long import examples

Value = object
Test = Callable[[dict[str, Value]], bool | None]

SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("d", pa.float64()),
        ("g", pa.float32()),
        ("dec", pa.decimal128(6, 2)),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("st", pa.struct([("x", pa.int64())])),
    ]
)

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
NAN, INF = float("nan"), float("inf")

FLOATS = st.sampled_from([NAN, INF, -INF, 0.0, -0.0, 0.5, 1.0, -1.5, 2.0, 1e300])
SINGLES = st.sampled_from([NAN, INF, -INF, 0.0, -0.0, 0.5, 1.0, -1.5, 2.0])
VALUES = {
    "i": st.integers(-3, 3) | st.sampled_from([-(2**31), 2**31 - 1]),
    "d": FLOATS,
    "g": SINGLES,
    "dec": st.integers(-300, 300).map(lambda cents: Decimal(cents).scaleb(-2)),
    "s": st.text("ab%_\\é", max_size=3),
    "b": st.booleans(),
    "day": st.integers(-2, 2).map(lambda days: dt.date(1970, 1, 1) + dt.timedelta(days)),
    "at": st.integers(-2, 2).map(lambda halves: EPOCH + dt.timedelta(hours=12 * halves)),
    "st.x": st.integers(-3, 3),
}


@dataclass
class Case:
    """SQL text and what it means."""

    text: str
    test: Test


def key(value: Value) -> object:
    """What sorts values of one kind as Spark does.

    Numbers sort exactly with NaN as the greatest, text by its bytes, times as seconds.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, float) and value != value:
        return (2, 0)
    if isinstance(value, float) and value in (INF, -INF):
        return (1 if value > 0 else -1, 0)
    if isinstance(value, (int, float, Decimal)):
        return (0, Fraction(value))
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dt.datetime):
        return Fraction((value - EPOCH) // dt.timedelta(microseconds=1), 10**6)
    if isinstance(value, dt.date):
        return Fraction((value - dt.date(1970, 1, 1)).days * 86400)
    raise AssertionError(value)


OPERATORS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def get(row: dict[str, Value], name: str) -> Value:
    if name == "st.x":
        return None if row["st"] is None else row["st"]["x"]  # type: ignore[index]
    return row[name]


def compare(operator: str, left: Value, right: Value) -> bool | None:
    if left is None or right is None:
        return None
    return bool(OPERATORS[operator](key(left), key(right)))


def sql(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return repr(value) + "D" if abs(value) < INF else f"'{value!r}'".replace("inf", "Infinity")
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S.%f}'"
    if isinstance(value, dt.date):
        return f"DATE '{value}'"
    return str(value)


def literals(name: str) -> st.SearchStrategy[Value]:
    """Literals that compare with a column: of its own kind and of those that meet it."""
    number = st.integers(-4, 4) | st.integers(-700, 700).map(lambda n: Decimal(n).scaleb(-3))
    if name in ("i", "dec", "st.x"):
        return number | st.sampled_from([2**31, -(2**40), 0.5, 1.0, -1e300, 10**30])
    if name in ("d", "g"):
        return number | VALUES[name]
    if name in ("day", "at"):
        return VALUES["day"] | VALUES["at"]
    return VALUES[name]


def like(pattern: str, value: Value) -> bool | None:
    if value is None:
        return None
    regex = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.fullmatch(regex, str(value), re.DOTALL) is not None


def negate(value: bool | None) -> bool | None:
    return None if value is None else not value


def every(values: list[bool | None]) -> bool | None:
    return False if False in values else None if None in values else True


def some(values: list[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False


NAMES = st.sampled_from(sorted(VALUES))
PAIRS = st.sampled_from(
    [("i", "dec"), ("i", "d"), ("d", "g"), ("dec", "dec"), ("i", "st.x"), ("day", "at"), ("s", "s"), ("dec", "g")]
)


@st.composite
def leaves(draw: st.DrawFn) -> Case:
    name = draw(NAMES)
    kind = draw(st.sampled_from(["compare"] * 4 + ["in", "between", "null", "like", "columns", "safe", "bool"]))
    if kind == "columns":
        (left, right), operator = draw(PAIRS), draw(st.sampled_from(sorted(OPERATORS)))
        if draw(st.booleans()):
            left, right = right, left
        return Case(f"{left} {operator} {right}", lambda row: compare(operator, get(row, left), get(row, right)))
    if kind == "bool":
        return Case("b", lambda row: row["b"])  # type: ignore[return-value]
    if kind == "null":
        return Case(f"{name} IS NULL", lambda row: get(row, name) is None)
    if kind == "like":
        pattern = draw(st.text("ab%_é", max_size=3))
        return Case(f"s LIKE {sql(pattern)}", lambda row: like(pattern, row["s"]))
    if kind == "in":
        items = draw(st.lists(literals(name) | st.none(), min_size=1, max_size=4))
        text = f"{name} IN ({', '.join(map(sql, items))})"
        return Case(text, lambda row: some([compare("=", get(row, name), item) for item in items]))
    if kind == "between":
        low, high = draw(literals(name)), draw(literals(name) | st.none())
        return Case(
            f"{name} BETWEEN {sql(low)} AND {sql(high)}",
            lambda row: every([compare(">=", get(row, name), low), compare("<=", get(row, name), high)]),
        )
    value, operator = draw(literals(name) | st.none()), draw(st.sampled_from(sorted(OPERATORS)))
    if kind == "safe":
        return Case(
            f"{name} <=> {sql(value)}",
            lambda row: (
                (get(row, name) is None) == (value is None) and compare("=", get(row, name), value) is not False
            ),
        )
    if draw(st.booleans()):
        return Case(f"{sql(value)} {operator} {name}", lambda row: compare(operator, value, get(row, name)))
    return Case(f"{name} {operator} {sql(value)}", lambda row: compare(operator, get(row, name), value))


def combined(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    lists = st.lists(inner, min_size=2, max_size=3)

    def join(word: str, fold: Callable[[list[bool | None]], bool | None]) -> Callable[[list[Case]], Case]:
        return lambda cases: Case(
            "(" + f" {word} ".join(case.text for case in cases) + ")",
            lambda row: fold([case.test(row) for case in cases]),
        )

    return (
        lists.map(join("AND", every))
        | lists.map(join("OR", some))
        | inner.map(lambda case: Case(f"NOT ({case.text})", lambda row: negate(case.test(row))))
        | inner.map(lambda case: Case(f"({case.text}) IS TRUE", lambda row: case.test(row) is True))
        | inner.map(lambda case: Case(f"({case.text}) IS NOT FALSE", lambda row: case.test(row) is not False))
    )


FILTERS = st.recursive(leaves(), combined, max_leaves=6)

ROWS = st.fixed_dictionaries(
    {
        **{name: st.none() | values for name, values in VALUES.items() if "." not in name},
        "st": st.none() | st.fixed_dictionaries({"x": st.none() | VALUES["st.x"]}),
    }
)


@settings(max_examples=examples(400), deadline=None)
@given(FILTERS, st.lists(ROWS, min_size=1, max_size=8))
def test_filters_mean_what_sql_says(case, rows):
    table = pa.Table.from_pylist(rows, SCHEMA)
    row_filter = parse_filter(case.text, SCHEMA)
    naive = [case.test(row) for row in rows]
    assert row_filter.evaluate(table).to_pylist() == naive
    if len(rows) > 1:  # arrays with an offset
        assert row_filter.evaluate(table.slice(1).to_batches()[0]).to_pylist() == naive[1:]
    numbered = table.append_column("#", pa.array(range(len(rows))))
    chosen = numbered.filter(row_filter.to_arrow()).column("#").to_pylist()
    assert chosen == [index for index, value in enumerate(naive) if value is True]


@settings(max_examples=examples(300), deadline=None)
@given(FILTERS, st.lists(ROWS, min_size=1, max_size=6), st.sets(NAMES.filter(lambda name: name != "st.x")))
def test_partitions_are_left_out_only_when_no_row_can_pass(case, rows, partition_columns):
    """Rows that agree on the known columns are one partition; its verdict must fit each of them."""
    row_filter = parse_filter(case.text, SCHEMA)
    values = pa.Table.from_pylist(rows, SCHEMA).select(sorted(partition_columns))
    if not partition_columns:
        values = pa.table({"nothing": [None] * len(rows)})
    others = parse_filter(f"({case.text}) IS NOT TRUE", SCHEMA)
    may_match = row_filter.partitions_that_may_match(values).to_pylist()
    may_fail = others.partitions_that_may_match(values).to_pylist()
    for row, possible, other in zip(rows, may_match, may_fail, strict=True):
        truth = case.test(row)
        assert possible if truth is True else other
    if partition_columns.issuperset(row_filter.columns):
        assert [not possible for possible in may_match] == may_fail


@settings(max_examples=examples(300), deadline=None)
@given(FILTERS, st.lists(st.lists(ROWS, min_size=1, max_size=4), min_size=1, max_size=4), st.booleans())
def test_ranges_never_rule_out_a_matching_row(case, groups, nan_in_bounds):
    """As a writer would: bounds over values that are no NaN, null counts; groups are row groups."""
    row_filter = parse_filter(case.text, SCHEMA)
    ranges = {}
    for field in SCHEMA:
        path = ("st", "x") if field.name == "st" else (field.name,)
        arrow = pa.int64() if field.name == "st" else field.type
        columns = [[get(row, ".".join(path)) for row in group] for group in groups]
        present = [[v for v in column if v is not None and v == v] for column in columns]
        has_nan = [any(isinstance(v, float) and v != v for v in column) for column in columns]
        if nan_in_bounds:  # a writer whose bounds would show a NaN: then they are not given
            present = [[] if nan else values for values, nan in zip(present, has_nan, strict=True)]
        ranges[path] = ColumnRange(
            pa.array([min(values, key=key, default=None) for values in present], arrow),
            pa.array([max(values, key=key, default=None) for values in present], arrow),
            pa.array([sum(v is None for v in column) for column in columns], pa.int64()),
            pa.array([len(column) for column in columns], pa.int64()),
            nan_possible=not nan_in_bounds,
            exact=field.name != "s",
        )
    keep = row_filter.groups_that_may_match(ranges, len(groups))
    assert keep.dtype == np.bool_
    for group, kept in zip(groups, keep, strict=True):
        assert kept or not any(case.test(row) is True for row in group)


def test_ranges_do_rule_out():
    """The property above would hold for ranges that never say no."""
    ranges = {
        ("i",): ColumnRange(
            pa.array([1, 5, None], pa.int32()),
            pa.array([3, 9, None], pa.int32()),
            pa.array([0, 1, 4]),
            pa.array([4, 4, 4]),
        ),
        ("s",): ColumnRange(
            pa.array(["aa", "b", "ca"]), pa.array(["ab", "b", "cz"]), pa.array([0, None, 0]), pa.array([4, 4, 4])
        ),
    }

    def keep(text: str) -> list[bool]:
        return parse_filter(text, SCHEMA).groups_that_may_match(ranges, 3).tolist()

    assert keep("i = 4") == [False, False, False]
    assert keep("i > 3") == [False, True, False]
    assert keep("i < 5.0") == [True, False, False]
    assert keep("NOT i <= 3") == [False, True, False]
    assert keep("i IN (2, 20)") == [True, False, False]
    assert keep("i IS NULL") == [False, True, True]
    assert keep("i IS NOT NULL") == [True, True, False]
    assert keep("s LIKE 'a%'") == [True, False, False]
    assert keep("s LIKE 'c\\%%'") == [False, False, False]
    assert keep("s = 'ab' OR i = 7") == [True, True, False]
    assert keep("(i > 3) IS NOT TRUE") == [True, True, True]
    assert keep("i IN (" + ", ".join(str(n) for n in range(5, 40)) + ")") == [False, True, False]
    assert keep("i IN (4, " + ", ".join(str(n) for n in range(10, 40)) + ")") == [False, False, False]
    assert keep("d > 5 AND i > 3") == [False, True, False]
    assert keep("d > 5 OR i > 3") == [True, True, True]


def test_long_in_list_agrees_with_arrow():
    table = pa.table({"i": pa.array([*range(500), None], pa.int32())}, schema=pa.schema([("i", pa.int32())]))
    wanted = list(range(0, 500, 7))
    row_filter = parse_filter([("i", "in", wanted)], table.schema)
    assert pc.sum(row_filter.evaluate(table)).as_py() == len(wanted)
