"""Row filters case by case: what the SQL subset, DNF tuples and Arrow expressions mean, and what is refused."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive.errors import PredicateError, UnknownColumnError
from hudi_hive.predicate import ColumnRange, parse_filter

UTC = dt.UTC
NAN = float("nan")

SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("dec", pa.decimal128(5, 2)),
        ("s", pa.string()),
        ("bin", pa.binary()),
        ("b", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("ms")),
        ("clock", pa.time64("us")),
        ("st", pa.struct([("x", pa.int32()), ("y", pa.struct([("z", pa.string())]))])),
        ("arr", pa.list_(pa.int32())),
        ("Mixed", pa.int32()),
        ("mixed", pa.int32()),
        ("a.b", pa.int32()),
        ("select", pa.int32()),
    ]
)


def row(**values: object) -> dict[str, object]:
    return {name: values.get(name) for name in SCHEMA.names}


FULL = row(
    i=1, l=2**53 + 1, f=0.1, d=0.1, dec=Decimal("1.50"), s="it's 50%", bin=b"\x00\xff", b=True,
    day=dt.date(2024, 2, 29),
    at=dt.datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC), local=dt.datetime(2024, 2, 29, 12), clock=dt.time(1, 2, 3),
    st={"x": 7, "y": {"z": "q"}}, arr=[1], Mixed=1, mixed=2, **{"a.b": 5, "select": 3},
)  # fmt: skip
NULLS = row()
ROWS = pa.Table.from_pylist([FULL, NULLS], SCHEMA)


def verdict(text: object, table: pa.Table = ROWS) -> list[bool | None]:
    """Values for each row; the Arrow expression must choose the same rows."""
    row_filter = parse_filter(text, table.schema)
    result = row_filter.evaluate(table).to_pylist()
    chosen = table.append_column("#", pa.array(range(table.num_rows))).filter(row_filter.to_arrow())
    assert chosen.column("#").to_pylist() == [i for i, value in enumerate(result) if value is True]
    return result


@pytest.mark.parametrize(
    ("text", "full", "null"),
    [
        ("i = 1", True, None),
        ("1 = i", True, None),
        ("2 > i", True, None),
        ("i == 1 and l <> 3", True, None),
        ("i != 1", False, None),
        ("NOT i = 1", False, None),
        ("not (not (i = 1))", True, None),
        ("i > 0.5 and i < 1.5 and i >= 1.0 and i <= 1.9", True, None),
        ("i = 1.5", False, None),
        ("i <> 1.5", True, None),
        ("i < 3000000000", True, None),
        ("i > 3000000000 or i < -3000000000", False, None),
        ("i = 99999999999999999999", False, None),
        ("i = 1e0", True, None),
        ("i = '1'", True, None),
        ("i <=> 1", True, False),
        ("i <=> NULL", False, True),
        ("NULL <=> NULL", True, True),
        ("i = NULL", None, None),
        ("i = NULL or i = 1", True, None),
        ("i = NULL and i = 2", False, None),
        ("i IN (1, NULL)", True, None),
        ("i IN (2, NULL)", None, None),
        ("i NOT IN (2, NULL)", None, None),
        ("i NOT IN (1, NULL)", False, None),
        ("i NOT IN (2, 3)", True, None),
        ("i IN (1.5, 2)", False, None),
        ("i IN (1.5)", False, None),
        ("i IN (NULL)", None, None),
        ("i BETWEEN 1 AND 2", True, None),
        ("i NOT BETWEEN 1 AND 2", False, None),
        ("2 BETWEEN i AND 3", True, None),
        ("i IS NULL", False, True),
        ("i IS NOT NULL", True, False),
        ("(i = 1) IS TRUE", True, False),
        ("(i = 1) IS NOT FALSE", True, True),
        ("(i = 1 or i is null) and true", True, True),
        ("TRUE", True, True),
        ("NULL", None, None),
        ("1 = 1.0 and 'a' < 'b' and DATE '2020-01-01' < TIMESTAMP '2020-01-01 00:00:01'", True, True),
        ("NULL = 1 or 2 < 1", None, None),
        # Spark compares a bigint with a double as doubles
        ("l = 9007199254740992e0", True, None),
        ("l = 9007199254740992", False, None),
        # a float is no 0.1 once it is a double
        ("f = 0.1", False, None),
        ("f > 0.1", True, None),
        ("d = 0.1 and d = 0.10 and d <= 1BD", True, None),
        ("d < 'NaN'", True, None),
        ("d <= 'NaN' and d <> 'NaN'", True, None),
        ("d > 'NaN' or d >= 'NaN' or d = 'NaN'", False, None),
        ("i < 'Infinity'", "error", None),
        ("dec = 1.5 and dec = 1.500 and dec > 1.499 and dec < 1.501", True, None),
        ("dec = 1.501", False, None),
        ("dec < 1000000", True, None),
        ("dec > 1", True, None),
        ("dec = 1.5e0", True, None),
        ("dec > i and i < dec and dec <> i", True, None),
        ("s = 'it''s 50%'", True, None),
        ("s > 'it' and s < 'iu'", True, None),
        ("s LIKE 'it%'", True, None),
        ("s LIKE '%50\\%'", True, None),
        ("s LIKE 'it_s 50!%' ESCAPE '!'", True, None),
        ("s NOT LIKE 'IT%'", True, None),
        ("s ILIKE 'IT%'", True, None),
        ("s LIKE NULL", None, None),
        ("s LIKE 'it'", False, None),
        ("bin = X'00ff' and bin > X'00' and bin < x'01'", True, None),
        ("b", True, None),
        ("not b", False, None),
        ("b = true and b <> false and b > false and b = 'TRUE'", True, None),
        ("day = DATE '2024-02-29' and day = '2024-02-29' and day < '2024-03-01'", True, None),
        ("day = TIMESTAMP '2024-02-29 00:00:00'", True, None),
        ("day < TIMESTAMP '2024-02-29 00:00:01' and day <> TIMESTAMP '2024-02-29 00:00:01'", True, None),
        ("at > DATE '2024-02-29' and at < DATE '2024-03-01'", True, None),
        ("at = TIMESTAMP '2024-02-29 12:00:00.000001'", True, None),
        ("at = '2024-02-29T12:00:00.000001Z'", True, None),
        ("at = TIMESTAMP '2024-02-29 14:00:00.000001+02:00'", True, None),
        ("at = TIMESTAMP '2024-02-29 13:00:00.000001 Europe/Paris'", True, None),
        ("at > TIMESTAMP '2024-02-29 12:00:00.0000005'", True, None),
        ("at = TIMESTAMP '2024-02-29 12:00:00.0000015'", False, None),
        ("local = TIMESTAMP '2024-02-29 12:00:00'", True, None),
        ("day < at and at > day and day <= local", True, None),
        ("clock = '01:02:03' and clock > '01:02' and clock < '01:02:03.000001'", True, None),
        ("st.x = 7 and ST.Y.z = 'q'", True, None),
        ("st.y.z like 'q%'", True, None),
        ("st is not null and st.y is not null", True, False),
        ("arr is null", False, True),
        ('Mixed = 1 and mixed = 2 and `a.b` = 5 and "a.b" = 5 and a.b = 5', True, None),
        ('"select" = 3 and `select` > 2', True, None),
        ("i = 1 -- a comment\n and l > 0", True, None),
        ("i=+1 and l>-5", True, None),
        ("((((i)))) = (1)", True, None),
        ("1L = i AND 1S = i", True, None),
    ],
)
def test_conditions_decide_rows_and_nulls_as_sql_does(text, full, null):
    if full == "error":
        with pytest.raises(PredicateError):
            verdict(text)
        return
    assert verdict(text) == [full, null]


def test_nan_is_equal_to_itself_and_greatest():
    table = pa.table({"x": pa.array([NAN, None, 1.0, float("inf"), -0.0]), "y": pa.array([NAN, NAN, NAN, 1.0, 0.0])})
    assert verdict("x > 1", table) == [True, None, False, True, False]
    assert verdict("x >= 'NaN'", table) == [True, None, False, False, False]
    assert verdict("x < 'NaN'", table) == [False, None, True, True, True]
    assert verdict([("x", "=", NAN)], table) == [True, None, False, False, False]
    assert verdict([("x", "in", [NAN, 1])], table) == [True, None, True, False, False]
    assert verdict("x IN (0, 5)", table) == [False, None, False, False, True]
    assert verdict("x = 0", table) == [False, None, False, False, True]
    assert verdict("x = y", table) == [True, None, False, False, True]
    assert verdict("x < y", table) == [False, None, True, False, False]
    assert verdict("x >= y", table) == [True, None, False, True, True]
    assert verdict("y > x", table) == [False, None, True, False, False]


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ([("i", "=", 1)], [True, None]),
        (("i", "==", 1), [True, None]),
        ([("i", "=", 1), ("s", "like", "it%")], [True, None]),
        ([[("i", "=", 5)], [("l", ">", 1), ("b", "=", True)]], [True, None]),
        ([("i", "in", [1, None])], [True, None]),
        ([("i", "not in", {2, 3})], [True, None]),
        ([("i", "in", [])], [False, False]),
        ([("i", "NOT IN", ())], [True, True]),
        ([("i", "is", None)], [False, True]),
        ([("i", "is not", None)], [True, False]),
        ([("i", "=", None)], [None, None]),
        ([("st.x", "=", np.int64(7))], [True, None]),
        ([("day", "=", dt.date(2024, 2, 29))], [True, None]),
        ([("at", "<", dt.datetime(2024, 2, 29, 12, 0, 0, 2))], [True, None]),
        ([("at", "=", pa.scalar(dt.datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC)))], [True, None]),
        ([("dec", "=", Decimal("1.5"))], [True, None]),
        ([("bin", "=", b"\x00\xff")], [True, None]),
        ([("clock", "=", dt.time(1, 2, 3))], [True, None]),
        ([("s", "not like", "x%")], [True, None]),
        (None, [True, True]),
    ],
)
def test_filters_in_disjunctive_normal_form(filter, expected):
    assert verdict(filter) == expected


def test_arrow_expression_is_taken_as_it_is():
    row_filter = parse_filter((pc.field("i") == 1) & ~pc.field("s").isin(["x"]), SCHEMA)
    assert row_filter.columns == ("i", "s")
    assert row_filter.evaluate(ROWS).to_pylist() == [True, None]
    assert parse_filter(pc.field("d") > 5, SCHEMA).evaluate(pa.Table.from_pylist([row(d=NAN)], SCHEMA)).to_pylist() == [
        False
    ]  # Arrow's own rule for NaN
    assert parse_filter(~pc.field("i").isin([5]), SCHEMA).evaluate(ROWS).to_pylist() == [True, True]


@pytest.mark.parametrize(
    ("filter", "error", "message"),
    [
        ("", PredicateError, "empty"),
        ("  ", PredicateError, "empty"),
        ("nope = 1", UnknownColumnError, "'nope'.*columns are i, l"),
        ("st.nope = 1", UnknownColumnError, "'st.nope'"),
        ("s.x = 1", UnknownColumnError, "'s.x'"),
        ("MIXED = 1", PredicateError, "ambiguous.*'Mixed', 'mixed'"),
        ("i = ", PredicateError, "found the end"),
        ("i = 1 or", PredicateError, "position 9"),
        ("i = 1)", PredicateError, "found '\\)' at position 6"),
        ("(i = 1", PredicateError, r"expected '\)'"),
        ("i = 'abc", PredicateError, "unterminated"),
        ("i = 1; drop table t", PredicateError, "';'"),
        ("reverse(s) = 'X'", PredicateError, "function 'reverse'"),
        ("year(l) = 2020", PredicateError, "no meaning for column 'l' of type"),
        ("upper(s)", PredicateError, "not a condition"),
        ("i + 1 = 2", PredicateError, "found '\\+'"),
        ("i rlike 'x'", PredicateError, "RLIKE"),
        ("i in ()", PredicateError, "literal"),
        ("i not = 1", PredicateError, "IN, BETWEEN or LIKE"),
        ("i is 5", PredicateError, "NULL, TRUE or FALSE"),
        ("s = 5", PredicateError, "'s' of type string.*quote the literal"),
        ("i = 'five'", PredicateError, "'five' is not a number"),
        ("i = '1e999999999'", PredicateError, "not a number"),
        ("i = true", PredicateError, "does not compare"),
        ("b = 1", PredicateError, "does not compare"),
        ("b = 'maybe'", PredicateError, "does not compare"),
        ("d = 'x'", PredicateError, "does not compare"),
        ("i", PredicateError, "not a condition"),
        ("5", PredicateError, "not a condition"),
        ("i like 'x'", PredicateError, "needs text"),
        ("s like 5", PredicateError, "not text"),
        (r"s like 'a\x'", PredicateError, "escapes nothing"),
        ("s like 'a' escape 'ab'", PredicateError, "one character"),
        ("st = 1", PredicateError, "cannot be compared"),
        ("arr = 1", PredicateError, "cannot be compared"),
        ("st = arr", PredicateError, "do not compare"),
        ("i = s", PredicateError, "do not compare"),
        ("day = 5", PredicateError, "does not compare"),
        ("day = '2024-02-30'", PredicateError, "not a date"),
        ("day < '2024-01-01junk'", PredicateError, "not a date"),
        ("day = DATE '2024-2'", PredicateError, "not a date"),
        ("at = TIMESTAMP '2024-01-01 25:00:00'", PredicateError, "not a timestamp"),
        ("at = TIMESTAMP '2024-01-01 00:00:00 Mars/Base'", PredicateError, "not a timestamp"),
        ("at = 17", PredicateError, "does not compare"),
        ("bin = X'0'", PredicateError, "hexadecimal"),
        ("1 = 'a'", PredicateError, "do not compare"),
        ("i = 1.5L", PredicateError, "whole number"),
        ("(" * 5000 + "i = 1" + ")" * 5000, PredicateError, "nested deeper"),
        ("not " * 5000 + "i = 1", PredicateError, "nested deeper"),
        ("i = 1 " + " " * 1_000_001, PredicateError, "characters"),
        ([], PredicateError, "not understood"),
        ([("i", "~", 1)], PredicateError, "operator '~'"),
        ([("i", "in", "abc")], PredicateError, "list of values"),
        ([("i", "is", 5)], PredicateError, "operator 'is'"),
        ([[("i", "=", 1)], []], PredicateError, "DNF"),
        ([("i", "=", object())], PredicateError, "does not compare"),
        (5, PredicateError, "type int"),
        (pc.field("nope") == 1, UnknownColumnError, "nope"),
        (pc.field("i") == "x", PredicateError, "no kernel"),
        (pc.field("i"), PredicateError, "bool"),
    ],
)
def test_wrong_filters_are_refused(filter, error, message):
    with pytest.raises(error, match=message):
        parse_filter(filter, SCHEMA)


def test_columns_conjuncts_restrict():
    row_filter = parse_filter("s = 'a' AND (st.x > 1 OR i = 2) AND day IS NOT NULL", SCHEMA)
    assert row_filter.columns == ("s", "st", "i", "day")
    assert [part.columns for part in row_filter.conjuncts] == [("s",), ("st", "i"), ("day",)]
    assert row_filter.restrict(["s", "day", "st"]).columns == ("s", "day")
    assert row_filter.restrict([]).is_trivial


def test_long_flat_filters_are_fine():
    text = " OR ".join(f"i = {n}" for n in range(3000))
    assert verdict(text) == [True, None]


def test_filter_survives_pickling():
    for text in ("i IN (1, 2) AND at > '2024-01-01' AND dec < 2", pc.field("i") == 1):
        row_filter = pickle.loads(pickle.dumps(parse_filter(text, SCHEMA)))
        assert row_filter.evaluate(ROWS).to_pylist() == [True, None]


def test_filter_of_another_schema():
    row_filter = parse_filter("i = 1", SCHEMA)
    assert parse_filter(row_filter, pa.schema([("i", pa.int32())])).columns == ("i",)
    with pytest.raises(PredicateError, match="another schema"):
        parse_filter(row_filter, pa.schema([("i", pa.int64())]))


# -- partitions -------------------------------------------------------------------------------------------------------

PARTITIONS = pa.table({"s": ["a", "b", None], "i": pa.array([1, 2, 3], pa.int32())})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s = 'a'", [True, False, False]),
        ("NOT s = 'a'", [False, True, False]),
        ("s IS NULL OR i = 1", [True, False, True]),
        ("s = 'a' AND d > 5", [None, False, False]),
        ("s = 'a' OR d > 5", [True, None, None]),
        ("(s = 'a' AND d > 5) OR (i = 2 AND d < 1)", [None, None, False]),
        ("NOT (s = 'a' AND d > 5)", [None, True, None]),
        ("d > 5", [None, None, None]),
        ("(s = 'a' AND d > 5) IS NOT TRUE", [None, True, True]),
        ("FALSE AND d > 5", [False, False, False]),
    ],
)
def test_conditions_rule_partitions_out(text, expected):
    """Expected for each partition: whether all its rows pass, none does, or (None) that depends on other columns."""
    assert may_match(text) == [value is not False for value in expected]
    assert may_match(f"({text}) IS NOT TRUE") == [value is not True for value in expected]


def test_partitions_of_an_arrow_expression():
    assert may_match(pc.field("s") == "a") == [True, False, False]


def may_match(row_filter: str | pc.Expression) -> list[bool]:
    return parse_filter(row_filter, SCHEMA).partitions_that_may_match(PARTITIONS).to_pylist()


def test_arrow_expressions_prune_partitions_by_their_known_parts():
    s, i, d, x = pc.field("s"), pc.field("i"), pc.field("d"), pc.field("st", "x")
    assert may_match((s == "a") & (d > 5)) == [True, False, False]
    assert may_match(((s == "a") & (d > 5)) | ((pc.scalar(2) == i) & (x < 1))) == [True, True, False]
    assert may_match(s.isin(["a", None]) & d.is_valid()) == [True, False, True]
    assert may_match(~s.isin(["a"]) & (d > 5)) == [False, True, True]
    assert may_match(s.is_null() & (pc.add(i, 1) > 5) & (d < 0)) == [False, False, True]
    assert may_match(~((s == "a") & (d > 5))) == [True, True, True]
    assert may_match((pc.utf8_upper(s) == "A") & (d > 5)) == [True, True, True]
    assert may_match(pc.utf8_upper(s) == "A") == [True, False, False]
    assert may_match(pc.field("st").is_null() & (i > 1)) == [False, True, True]


def test_arrow_expressions_on_floats_keep_arrows_rules_when_pruned():
    """Arrow: NaN > 5 is false, so NOT of it is true; ranges above 5 must not rule it out."""
    schema = pa.schema([("d", pa.float64())])
    known = ColumnRange(pa.array([6.0]), pa.array([9.0]), pa.array([0]), pa.array([3]))
    assert parse_filter(~(pc.field("d") > 5), schema).groups_that_may_match({("d",): known}, 1).tolist() == [True]
    assert parse_filter("NOT d > 5", schema).groups_that_may_match({("d",): known}, 1).tolist() == [False]
    whole = pa.schema([("i", pa.int64())])
    known = ColumnRange(pa.array([6]), pa.array([9]), pa.array([0]), pa.array([3]))
    assert parse_filter(~(pc.field("i") > 5), whole).groups_that_may_match({("i",): known}, 1).tolist() == [False]
    assert parse_filter(pc.field("i").isin([5, 10]), whole).groups_that_may_match({("i",): known}, 1).tolist() == [
        False
    ]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("d < '2024-01-01 12:00'", []),
        ("d <= '2024-01-01T12:00'", [1]),
        ("d = '2024-01-01 12:00'", [1]),
        ("d IN ('2024-01-01 12:00')", []),
        ("d IN ('2024-01-01', '2024-01-02 00:00')", [1, 2]),
        ("d < TIMESTAMP '2024-01-01 12:00'", [1]),
        ("d BETWEEN '2023' AND '2024-01-01 12:00'", [1]),
        ("d >= '2024-01-01 junk'", [1, 2]),
        ("d >= '2024-01'", [1, 2]),
    ],
)
def test_texts_compare_with_dates_as_in_spark(text, days):
    """As Spark 3.5 answers: a text becomes a date without time of day; beside a timestamp a date is its midnight."""
    table = pa.table({"d": pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2)])})
    passing = parse_filter(text, table.schema).evaluate(table)
    assert [day.day for day in table.filter(passing).column("d").to_pylist()] == days
