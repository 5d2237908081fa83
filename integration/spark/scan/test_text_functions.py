"""Functions of dates over texts come to what Spark's own functions come to without ANSI, text by text."""

from __future__ import annotations

import re
from zoneinfo import available_timezones

import pyarrow as pa
import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.options.read import SPARK_LOG_RECORDS
from hudi_hive.predicate import column_function
from tests.support.odd_dates import odd_dates, odd_times

pytestmark = pytest.mark.jvm

_CALLS = {
    "year": ("year", {}),
    "month": ("month", {}),
    "day": ("day", {}),
    "date_add": ("date_add", {"days": "3"}),
    "date_sub": ("date_sub", {"days": "1"}),
    "to_date": ("to_date", {}),
    "to_date by a format": ("to_date", {"format": "yyyyMMdd"}),
    "from_unixtime": ("from_unixtime", {}),
    "from_unixtime by a format": ("from_unixtime", {"format": "yyyy-MM"}),
    "unix_timestamp": ("unix_timestamp", {}),
    "unix_timestamp by a format": ("unix_timestamp", {"format": "yyyy-MM-dd"}),
    "to_timestamp by a format": ("to_timestamp", {"format": "yyyy-MM-dd'T'HH:mm:ss.SSS"}),
}
_FAR = re.compile("[+-][0-9]{6,}")
_CASTS = (
    "year",
    "month",
    "day",
    "date_add",
    "date_sub",
    "to_date",
    "hour",
    "date_format",
    "to_timestamp",
    "from_unixtime",
)
_TIMED = {
    "hour": ("hour", {}),
    "date_format": ("date_format", {"format": "yyyy-MM-dd HH:mm:ss.SSSSSS"}),
    "to_timestamp": ("to_timestamp", {}),
}


def _check(spark, texts, name, options):
    """What Spark makes of texts, and what we do."""
    kept = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    }
    before = {key: spark.conf.get(key) for key in kept}
    function = column_function(name, options)
    arguments = "".join(
        f", {value if key == 'days' else repr(value) if chr(39) not in value else chr(34) + value + chr(34)}"
        for key, value in options.items()
    )
    call = f"{name}(t{arguments})"
    # Python's dates end with the year 9999.
    shown = {"date": f"datediff({call}, DATE'1970-01-01')", "timestamp": f"unix_micros({call})"}
    result = function.result_type(pa.string())
    kind = "date" if pa.types.is_date(result) else "timestamp" if pa.types.is_timestamp(result) else ""
    try:
        for key, value in kept.items():
            spark.conf.set(key, value)
        rows = spark.createDataFrame(list(enumerate(texts)), "i int, t string").selectExpr(
            "i", f"{shown.get(kind, call)} AS v"
        )
        theirs = [row.v for row in sorted(rows.collect())]
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
    values = function.of(pa.array(texts, pa.string()), pa.string())
    assert values.type == result
    ours = values.cast({"date": pa.int32(), "timestamp": pa.int64()}.get(kind, result)).to_pylist()
    assert {text: pair for text, *pair in zip(texts, theirs, ours, strict=True) if pair[0] != pair[1]} == {}, (
        "text: Spark's value and ours"
    )
    return function


@pytest.mark.parametrize("call", [*_CALLS, *_TIMED])
def test_functions_of_odd_texts_are_spark_s(spark, call):
    name, options = {**_CALLS, **_TIMED}[call]
    # Spark fails on years that it parses and cannot count in microseconds.
    texts = [text for text in odd_dates() if call in _CASTS or not _FAR.match(text)]
    function = _check(spark, texts, name, options)
    assert function.is_lasting(pa.array(odd_dates(), pa.string())) == (call not in _TIMED)


@pytest.mark.parametrize("call", [*_CALLS, *_TIMED])
def test_times_of_today_and_of_regions_are_spark_s(spark, call):
    function = _check(spark, odd_times(), *{**_CALLS, **_TIMED}[call])
    lasting = [function.is_lasting(pa.array([text], pa.string())) for text in odd_times()]
    assert any(lasting) or call in _TIMED


def test_the_regions_are_java_s(spark):
    of_java = set(spark._jvm.java.time.ZoneId.getAvailableZoneIds())  # which may be of an older release of the rules
    texts = [f"2021-06-01 12:00:00 {name}" for name in sorted(available_timezones() & of_java)]
    assert len(texts) > 400
    _check(spark, texts, "to_timestamp", {})


def test_no_row_is_lost_where_spark_reads_texts_in_other_ways(spark, tmp_path):
    """``try_cast`` makes no numbers of fractions, and the legacy policy passes over what stands behind a day."""
    table = HudiTable.create(
        tmp_path / "t", name="t", record_keys=["id"], ordering_fields=["ts"], table_type="MERGE_ON_READ"
    )
    texts = {"n": ["1.5", "7", "x"], "d": ["x", "2020-01-01x", "2020-01-01"]}
    for ts in (1, 2):
        table.refresh().upsert(pa.table({"id": [1, 2, 3], "ts": [ts] * 3, **texts}))
    options = {
        SPARK_LOG_RECORDS.name: "0",  # the rows are merged, and filtered, here
        "spark.sql.ansi.enabled": "false",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
    }
    before = {key: spark.conf.get(key, None) for key in options}
    conditions = {
        "from_unixtime(try_cast(n AS BIGINT)) IS NULL": {1, 3},
        "unix_timestamp(d, 'yyyy-MM-dd') IS NOT NULL": {2, 3},
        "to_unix_timestamp(d, 'yyyy-MM-dd') > 0": {2, 3},
    }
    try:
        for key, value in options.items():
            spark.conf.set(key, value)
        frame = hudi_spark.load(spark, str(tmp_path / "t"))
        assert {each: {row.id for row in frame.where(each).collect()} for each in conditions} == conditions
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)
