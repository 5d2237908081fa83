"""Functions of dates over texts: values that Spark gave, as arrays and in Arrow's expressions."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from hudi_hive.predicate import column_function, parse_filter
from tests.support.odd_dates import odd_dates

TEXTS = {
    # text: year, hour, month as date_format gives it, time of from_unixtime, unix_timestamp
    "2020": (2020, 0, "2020-01", "1970-01-01 00:33:40", None),
    "2020-1": (2020, 0, "2020-01", None, None),
    " 2020-1-1\n": (2020, 0, "2020-01", None, None),
    "2020-02-30": (None, None, None, None, None),
    "2020-01-01x": (None, None, None, None, None),
    "2020-01-01 x": (2020, None, None, None, None),
    "2020-01-01 10:20:30": (2020, 10, "2020-01", None, 1577874030),
    "2020-01-01T10:20:30.5+1:5": (2020, 9, "2020-01", None, None),
    "2020-01-01 01:20:30 UTC+01:30": (2020, 23, "2019-12", None, None),
    "2020-01-01 24:00:00": (2020, None, None, None, None),
    "-0044-03-15 00:00:00": (-44, 0, "-0044-03", None, -63549360000),
    "40000-01-01": (40000, 0, "+40000-01", None, None),
    "12.5": (None, None, None, "1970-01-01 00:00:12", None),
    "9223372036854775807": (None, None, None, "1969-12-31 23:59:59", None),
    "": (None, None, None, None, None),
}
FUNCTIONS = (
    ("year", {}),
    ("hour", {}),
    ("date_format", {"format": "yyyy-MM"}),
    ("from_unixtime", {}),
    ("unix_timestamp", {}),
)


@pytest.mark.parametrize("at", range(len(FUNCTIONS)))
def test_functions_of_texts(at):
    function = column_function(*FUNCTIONS[at])
    texts = pa.array([*TEXTS, None], pa.string())
    wanted = [*(row[at] for row in TEXTS.values()), None]
    assert function.of(texts, texts.type).to_pylist() == wanted
    chunked = pa.chunked_array([texts.slice(0, 3), texts.slice(3)])
    assert function.of(chunked, texts.type).to_pylist() == wanted
    assert function.of(texts.slice(0, 0), texts.type).type == function.result_type(texts.type)
    expression = function.of(pc.field("t"), texts.type)
    table = ds.dataset(pa.table({"t": texts})).to_table(columns={"v": expression})
    assert table["v"].to_pylist() == wanted
    assert table["v"].type == function.result_type(texts.type)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *FUNCTIONS,
        ("month", {}),
        ("day", {}),
        ("to_date", {}),
        ("to_timestamp", {}),
        ("date_add", {"days": "3"}),
        ("date_sub", {"days": "3"}),
        ("to_date", {"format": "yyyyMMdd"}),
    ],
)
def test_expressions_and_arrays_agree_on_odd_texts(name, options):
    function = column_function(name, options)
    texts = pa.array(odd_dates(), pa.string())
    values = ds.dataset(pa.table({"t": texts})).to_table(columns={"v": function.of(pc.field("t"), texts.type)})["v"]
    assert values.combine_chunks().equals(function.of(texts, texts.type))


@pytest.mark.parametrize("format", ["yyyy-M-d", "yy-MM-dd", "EEE", "SSSss", "yyyy-MM-dd dd", "yyyy-MM-dd'T'HH:mm[:ss]"])
def test_formats_whose_parsing_is_not_understood(format):
    function = column_function("to_timestamp", {"format": format})
    assert function is None or function.result_type(pa.string()) is None


@pytest.mark.parametrize(
    ("text", "is_lasting"),
    [
        ("2020-01-01 10:20:30+01:00", True),
        ("10:20", False),
        ("T10", False),
        ("2020-01-01 10:20:30 Europe/Paris", False),
    ],
)
def test_timestamps_of_today_and_by_regions_do_not_last(text, is_lasting):
    texts = pa.array([None, "2020", text], pa.string())
    assert column_function("hour", {}).is_lasting(texts) == is_lasting
    assert column_function("to_date", {}).is_lasting(texts)
    assert column_function("unix_timestamp", {}).is_lasting(texts)


def test_a_time_alone_is_of_today():
    days = column_function("to_timestamp", {}).of(pa.array(["10:20"], pa.string()), pa.string()).cast(pa.date32())
    today = dt.datetime.now(dt.UTC).date()
    assert days[0].as_py() in (today, today - dt.timedelta(days=1))  # midnight may pass meanwhile


def test_filters_compare_functions_of_texts():
    rows = pa.table({"t": pa.array(list(TEXTS), pa.string())})
    row_filter = parse_filter(
        "year(t) = 2020 AND hour(t) >= 9 OR to_date(t, 'yyyyMMdd') = DATE '2020-01-01'", rows.schema
    )
    chosen = rows.filter(row_filter.evaluate(rows))["t"].to_pylist()
    assert chosen == ["2020-01-01 10:20:30", "2020-01-01T10:20:30.5+1:5", "2020-01-01 01:20:30 UTC+01:30"]
