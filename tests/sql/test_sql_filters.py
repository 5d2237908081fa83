"""Filters as engines hand them down in Arrow expressions: the rows are those that SQL means, and they prune."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive.errors import PredicateError, UnknownColumnError
from hudi_hive.predicate import Comparison, In, Opaque, RowFilter, bind_as_sql

ROWS = pa.table(
    {
        "n": pa.array([0, 1, 2, 3, 4, 5]),
        "i": pa.array([1, 2, None, 4, 5, 6], pa.int32()),
        "f": pa.array([1.0, math.nan, None, -1.0, math.inf, 0.0]),
        "s": pa.array(["x", "y", None, "", "z", "x"]),
        "b": pa.array([True, False, None, True, False, True]),
        "d": pa.array([dt.date(2024, 5, day) for day in range(1, 7)]),
        "t": pa.array([dt.datetime(2024, 5, day) for day in range(1, 7)], pa.timestamp("ms", tz="UTC")),
        "st": pa.array([{"a": 1}, {"a": None}, None, {"a": 2}, {"a": 1}, {"a": 3}]),
    }
)
NULL = pa.scalar(None, pa.bool_())
i, f, s, b = (pc.field(name) for name in "ifsb")


def in_list(column, values):
    """``IN`` as DuckDB writes it."""
    return pc.if_else(column.is_valid(), column.isin(values), NULL)


CASES = {
    "NaN is the greatest": (f > 0.5, [0, 1, 4]),
    "NaN is not less": (f < 0.5, [3, 5]),
    "NaN is at least": (f >= math.inf, [1, 4]),
    "NaN differs": (f != 1.0, [1, 3, 4, 5]),
    "NaN test": (f.is_nan(), [1]),
    "not NaN": (~f.is_nan(), [0, 3, 4, 5]),
    "list": (in_list(i, [1, 4, 9]), [0, 3]),
    "not in list": (~in_list(i, [1, 4, 9]), [1, 4, 5]),
    "plain list": (i.isin([1, 4]), [0, 3]),
    "not in plain list": (~i.isin([1, 4]), [1, 4, 5]),
    "list of texts": (in_list(s, ["x", ""]), [0, 3, 5]),
    "list of numbers with NaN": (f.isin([1.0, math.nan]), [0, 1]),
    "and, or": (((i > 1) & (i < 6)) | (s == "x"), [0, 1, 3, 4, 5]),
    "null tests": (s.is_null() | (i == 1), [0, 2]),
    "boolean": (b, [0, 3, 5]),
    "negated boolean": (~b, [1, 4]),
    "date": (pc.field("d") >= dt.date(2024, 5, 5), [4, 5]),
    "time": (pc.field("t") > pa.scalar(dt.datetime(2024, 5, 5), pa.timestamp("us", tz="UTC")), [5]),
    "nested": (pc.field("st", "a") == 1, [0, 4]),
    "nothing of it known": (pc.add(i, 1) == 3, [1]),
    "a part of it known": ((i > 1) & (pc.utf8_length(s) == 1), [1, 4, 5]),
}


@pytest.mark.parametrize("name", CASES)
def test_duckdb_s_filters_pass_the_same_rows(name):
    expression, expected = CASES[name]
    row_filter = RowFilter(bind_as_sql(expression, ROWS.schema), ROWS.schema)
    assert ROWS.filter(row_filter.evaluate(ROWS))["n"].to_pylist() == expected
    assert ROWS.filter(row_filter.to_arrow())["n"].to_pylist() == expected


def test_translatable_conjuncts_are_nodes_of_their_own():
    expression = in_list(s, ["x", "y"]) & (f == 1.0) & (pc.add(i, 1) == 3)
    row_filter = RowFilter(bind_as_sql(expression, ROWS.schema), ROWS.schema)
    kinds = [type(part.root) for part in row_filter.conjuncts]
    assert kinds == [In, Comparison, Opaque]
    assert row_filter.required_values("s").to_pylist() == ["x", "y"]
    assert not row_filter.partitions_that_may_match(pa.table({"s": ["z"]}))[0].as_py()


def test_what_does_not_fit_is_refused():
    with pytest.raises(UnknownColumnError, match="nope"):
        bind_as_sql(pc.field("nope") == 1, ROWS.schema)
    with pytest.raises(PredicateError):
        bind_as_sql(pc.field("s") + 1 > 2, ROWS.schema)
