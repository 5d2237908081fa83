"""Merging statistics and giving their bounds the column's type: what is not sure must come out unknown."""

import datetime as dt
import math

import pyarrow as pa
import pytest

from hudi_hive.metadata.reader.file_group import BlockRecords, GroupRecords
from hudi_hive.metadata.reader.ranges import merge_stats, typed_ranges
from hudi_hive.metadata.reader.records import WRAPPERS

KINDS = [name for name in WRAPPERS if name not in ("DecimalWrapper",)]
BOUND = pa.struct(
    [pa.field(f"member{at}", pa.struct([pa.field("value", WRAPPERS[name])])) for at, name in enumerate(KINDS)]
)
VALUE = pa.struct(
    [
        ("fileName", pa.string()),
        ("columnName", pa.string()),
        ("minValue", BOUND),
        ("maxValue", BOUND),
        ("valueCount", pa.int64()),
        ("nullCount", pa.int64()),
        ("totalSize", pa.int64()),
        ("totalUncompressedSize", pa.int64()),
        ("isDeleted", pa.bool_()),
        ("isTightBound", pa.bool_()),
        ("valueType", pa.struct([("typeOrdinal", pa.int32()), ("additionalInfo", pa.string())])),
    ]
)
SCHEMA = {
    "fields": [
        {
            "name": "ColumnStatsMetadata",
            "type": ["null", {"fields": [{"name": "minValue", "type": ["null", *({"name": name} for name in KINDS)]}]}],
        }
    ]
}


def bound(kind, value):
    return {f"member{at}": {"value": value} if name == kind else None for at, name in enumerate(KINDS)}


def stat(kind, low, high, rows=2, nulls=0, ordinal=None, tight=False):
    """Statistics of one write."""
    return {
        "fileName": "f",
        "columnName": "c",
        "minValue": None if low is None else bound(kind, low),
        "maxValue": None if high is None else bound(kind, high),
        "valueCount": rows,
        "nullCount": nulls,
        "totalSize": 1,
        "totalUncompressedSize": 1,
        "isDeleted": False,
        "isTightBound": tight,
        "valueType": None if ordinal is None else {"typeOrdinal": ordinal, "additionalInfo": None},
    }


def merged(kind, *stats, of="file_name"):
    """Least and greatest value of the type after writes of one file, oldest first."""
    parts = [BlockRecords(at, pa.array(["k"]), pa.array([one], VALUE), SCHEMA) for at, one in enumerate(stats)]
    (row,) = typed_ranges(merge_stats([GroupRecords(tuple(parts))]), kind, of).to_pylist()
    return row["min"], row["max"]


def test_a_write_widens_ranges_that_are_not_tight():
    low = stat("IntWrapper", 5, 9)
    assert merged(pa.int32(), low, stat("IntWrapper", 3, 7)) == (3, 9)
    assert merged(pa.int32(), low, stat("IntWrapper", None, None, nulls=2)) == (5, 9)
    assert merged(pa.int32(), low, stat("IntWrapper", None, None)) == (None, None)
    assert merged(pa.int32(), low, stat("IntWrapper", 3, 7, tight=True)) == (3, 7)


def test_a_promoted_column_has_no_common_bounds():
    assert merged(pa.int64(), stat("IntWrapper", 5, 9), stat("LongWrapper", 3, 70)) == (None, None)
    assert merged(pa.int64(), stat("LongWrapper", 3, 70), stat("IntWrapper", 5, 9)) == (None, None)
    assert merged(pa.int64(), stat("IntWrapper", 5, 9), stat("LongWrapper", 3, 70, tight=True)) == (3, 70)


def test_numbers_of_several_units_have_no_common_bounds():
    millis, micros = stat("LongWrapper", 10**12, 10**12, ordinal=15), stat("LongWrapper", 10**15, 10**15, ordinal=16)
    kind = pa.timestamp("us", "UTC")
    assert merged(kind, millis, micros) == (None, None)
    nothing = stat("LongWrapper", None, None, nulls=2)
    moment = dt.datetime(2001, 9, 9, 1, 46, 40, tzinfo=dt.UTC)
    assert merged(kind, micros, nothing) == merged(kind, nothing, micros) == (moment, moment)


def test_a_nan_as_bound_makes_the_bound_unusable():
    kind = pa.float64()
    assert merged(kind, stat("DoubleWrapper", 1.0, math.nan), stat("DoubleWrapper", 2.0, 3.0)) == (1.0, None)
    assert merged(kind, stat("DoubleWrapper", 2.0, 3.0), stat("DoubleWrapper", math.nan, 9.0)) == (None, 9.0)


def test_bytes_have_no_common_bounds():
    kind = pa.binary()
    assert merged(kind, stat("BytesWrapper", b"a", b"b")) == (b"a", b"b")
    assert merged(kind, stat("BytesWrapper", b"a", b"b"), stat("BytesWrapper", b"c", b"d")) == (None, None)


LAST_MILLIS = 253_402_300_799_999  # 9999-12-31 in milliseconds, 1978 in microseconds
FIRST_MILLIS = -62_135_596_800_000  # 0001-01-01 in milliseconds, 1968 in microseconds


def test_a_number_without_unit_counts_only_where_it_cannot_be_milliseconds():
    kind = pa.timestamp("us", "UTC")
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

    def moment(micros):
        return epoch + dt.timedelta(microseconds=micros)

    first, last = FIRST_MILLIS - 1000 - FIRST_MILLIS % 1000, LAST_MILLIS + 1
    assert merged(kind, stat("LongWrapper", first, last)) == (moment(first), moment(last))
    assert merged(kind, stat("LongWrapper", FIRST_MILLIS, LAST_MILLIS)) == (None, None)
    # Files of a partition may have been written in several units.
    assert merged(kind, stat("LongWrapper", first, last), of="partition") == (None, None)
    # A type that is told and is no timestamp is none.
    assert merged(kind, stat("LongWrapper", first, last, ordinal=4)) == (None, None)
    told = stat("LongWrapper", 1000, 2000, ordinal=16)
    assert merged(kind, told, of="partition") == (moment(1000), moment(2000))


@pytest.mark.parametrize("zone", ["UTC", None])
def test_bounds_of_milliseconds_count_only_where_they_say_so(zone):
    kind = pa.timestamp("ms", zone)
    moment = dt.datetime(2001, 9, 9, 1, 46, 40, tzinfo=dt.UTC if zone else None)
    assert merged(kind, stat("LongWrapper", 10**12, 10**12, ordinal=15 if zone else 18)) == (moment, moment)
    for wrapper, ordinal in (("LongWrapper", 16), ("LongWrapper", 19), ("LongWrapper", None), ("LongWrapper", 4)):
        for value in (10**12, 10**15):
            assert merged(kind, stat(wrapper, value, value, ordinal=ordinal)) == (None, None)
    assert merged(kind, stat("TimestampMicrosWrapper", 10**15, 10**15)) == (None, None)
