"""Bucket numbers against hashes that Hive 3.1.3 and 4.0.1 computed, and against a plain model of the same rules."""

from __future__ import annotations

import datetime
import decimal
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import SchemaError, UnsupportedAcidValueError
from hudi_hive.formats.hash.hive_bucket import bucket_numbers, hive_hashes
from hudi_hive.formats.orc.hive_type import parse_hive_type
from tests.support.fixture_tables import DATA

VECTORS = [
    tuple(line.split("\t")) for line in (DATA / "acid" / "bucket-hash.tsv").read_text(encoding="utf-8").splitlines()
]
REFUSED = {("binary", 1), ("binary", 2), ("timestamp", 1)}


def _value(hive_type: str, text: str):
    kind = hive_type.split("(")[0]
    if text == r"\N":
        return None
    if kind == "boolean":
        return text == "true"
    if kind in ("tinyint", "smallint", "int", "bigint"):
        return int(text)
    if kind in ("float", "double"):
        return float(text)
    if kind == "date":
        return datetime.date.fromisoformat(text)
    if kind == "timestamp":
        whole, _, fraction = text.partition(".")
        moment = datetime.datetime.fromisoformat(whole)
        return moment.replace(microsecond=int(fraction.ljust(6, "0"))) if fraction else moment
    return decimal.Decimal(text) if kind == "decimal" else text


def _column(hive_type: str, texts: list[str]) -> pa.Array:
    return pa.array([_value(hive_type, text) for text in texts], parse_hive_type(hive_type).arrow)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("hive_type", sorted({row[0] for row in VECTORS}))
def test_hashes_are_hives(hive_type, version):
    rows = [row for row in VECTORS if row[0] == hive_type]
    expected = [int(row[2 if version == 2 else 3]) for row in rows]
    if (hive_type.split("(")[0], version) in REFUSED:
        with pytest.raises(UnsupportedAcidValueError, match=hive_type):
            hive_hashes(pa.array([None], parse_hive_type(hive_type).arrow), hive_type, version)
        return
    column = _column(hive_type, [row[1] for row in rows])
    assert hive_hashes(column, hive_type, version).tolist() == expected
    # Neither nulls between them, nor slices, nor chunks change anything.
    spread = pa.concat_arrays([pa.nulls(3, column.type), column, pa.nulls(1, column.type), column])
    again = [*expected, 0, *expected]
    assert hive_hashes(spread.slice(3), hive_type, version).tolist() == again
    chunked = pa.chunked_array([spread.slice(3, 2), spread.slice(5)])
    assert hive_hashes(chunked, hive_type, version).tolist() == again


def test_the_number_of_recorded_hash_vectors():
    assert len(VECTORS) == 62 and {len(row) for row in VECTORS} == {4}


def test_rows_of_several_columns():
    """Known from Hive's own inserts: the hashes of the columns are put together with 31."""
    columns = [_column("int", ["1", "-1", r"\N"]), _column("string", ["abc", r"\N", "a"])]
    for version, at in ((2, 2), (1, 3)):
        known = {(row[0], row[1]): int(row[at]) for row in VECTORS}
        pairs = [("1", "abc"), ("-1", None), (None, "a")]
        hashes = [31 * (known["int", a] if a else 0) + (known["string", b] if b else 0) for a, b in pairs]
        expected = [(h & 0x7FFFFFFF) % 7 for h in hashes]
        assert bucket_numbers(columns, ["int", "string"], 7, version).tolist() == expected


def _murmur(data: bytes) -> int:
    """The algorithm over one value, word by word."""
    mask, h = 0xFFFFFFFF, 104729
    whole = len(data) // 4 * 4

    def scrambled(k: int) -> int:
        k = k * 0xCC9E2D51 & mask
        return ((k << 15 | k >> 17) & mask) * 0x1B873593 & mask

    for (k,) in struct.iter_unpack("<I", data[:whole]):
        h ^= scrambled(k)
        h = ((h << 13 | h >> 19) & mask) * 5 + 0xE6546B64 & mask
    tail = 0
    for i, byte in enumerate(data[whole:]):
        tail ^= (byte - 256 if byte > 127 else byte) << 8 * i
    h ^= scrambled(tail & mask) if len(data) > whole else 0
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.text(max_size=23), max_size=30))
def test_texts_like_the_model(texts):
    expected = [0 if text is None else _murmur(text.encode()) for text in texts]
    assert hive_hashes(pa.array(texts, pa.string()), "string", 2).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20)))
def test_decimals_like_the_model(numbers):
    expected, java = [], []
    for number in numbers:
        unscaled, scale = int(number.scaleb(6)), 6
        while scale and unscaled % 10 == 0:
            unscaled, scale = unscaled // 10, scale - 1
        size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
        expected.append(_murmur(unscaled.to_bytes(size, "big", signed=True)))
        magnitude, hash_code = abs(unscaled), 0
        for shift in (96, 64, 32, 0):
            hash_code = 31 * hash_code + (magnitude >> shift & 0xFFFFFFFF)
        total = 31 * (-hash_code if unscaled < 0 else hash_code) + scale
        java.append((total + (1 << 31)) % (1 << 32) - (1 << 31))
    column = pa.array(numbers, pa.decimal128(38, 6))
    assert hive_hashes(column, "decimal(38,6)", 2).tolist() == expected
    assert hive_hashes(column, "decimal(38,6)", 1).tolist() == java


def test_units_of_time_hash_alike():
    moments = ["2024-07-01 12:30:45.123", "1960-01-01 00:00:00.5", "2500-01-01 00:00:00", "1500-06-07 08:09:10"]
    column = _column("timestamp", moments)
    expected = hive_hashes(column, "timestamp", 2).tolist()
    assert hive_hashes(column.cast(pa.timestamp("ms")), "timestamp", 2).tolist() == expected
    nanos = column.slice(0, 2).cast(pa.timestamp("ns"))
    assert hive_hashes(nanos, "timestamp", 2).tolist() == expected[:2]


def test_more_rows_than_are_hashed_at_a_time():
    numbers = np.arange(200_001, dtype=np.int64)
    hashes = hive_hashes(pa.array(numbers), "bigint", 2)
    for row in (0, 65_535, 65_536, 200_000):
        assert hashes[row] == _murmur(struct.pack(">q", row))
    assert len(hive_hashes(pa.array([], pa.int64()), "bigint", 2)) == 0
    assert len(hive_hashes(pa.array([], pa.string()), "string", 1)) == 0


@pytest.mark.parametrize(
    ("column", "hive_type"),
    [
        (pa.array([[1]]), "array<int>"),
        (pa.array([300]), "tinyint"),
        (pa.array(["toolong"]), "varchar(3)"),
        (pa.array(["toolong  "]), "char(3)"),
        (pa.array([decimal.Decimal("1.234")]), "decimal(10,2)"),
        (pa.array([0], pa.timestamp("us", "UTC")), "timestamp"),
        (pa.array([0]), "timestamp"),
        (pa.array(["a"]), "interval_day_time"),
    ],
)
def test_values_that_hive_does_not_bucket_are_refused(column, hive_type):
    with pytest.raises(UnsupportedAcidValueError):
        bucket_numbers([column], [hive_type], 4, 2)


def test_wrong_numbers_of_columns_or_buckets_are_refused():
    column = pa.array([1], pa.int32())
    for columns, types, buckets, version in [
        ([], [], 2, 2),
        ([column], ["int"], 0, 2),
        ([column], ["int"], 2, 3),
        ([column], [], 2, 2),
        ([column, pa.array([1, 2], pa.int32())], ["int", "int"], 2, 2),
    ]:
        with pytest.raises(UnsupportedAcidValueError):
            bucket_numbers(columns, types, buckets, version)


def test_texts_of_hive_types_are_parsed():
    nested = parse_hive_type("struct<a:int, `b c`:array<map<string,varchar(3)>>,d:decimal(5,2),e:decimal>")
    inner = pa.list_(pa.map_(pa.string(), pa.string()))
    assert nested.arrow == pa.struct(
        [("a", pa.int32()), ("b c", inner), ("d", pa.decimal128(5, 2)), ("e", pa.decimal128(10, 0))]
    )
    assert nested.children[1].children[0].children[1].length == 3 and not nested.primitive
    for text in (
        "",
        "uniontype<int>",
        "varchar",
        "varchar(0)",
        "char(256)",
        "decimal(39,0)",
        "decimal(2,3)",
        "array<int",
        "struct<>",
        "struct<a>",
        "int int",
        "timestamp with local time zone",
        "decimal(10,-2)",
    ):
        with pytest.raises(SchemaError):
            parse_hive_type(text)
