"""ORC base files: values of every type come back, and footers are those of Hudi's writer."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from hudi_hive.errors import InvalidOptionError, SchemaError, UnsupportedFormatError
from hudi_hive.formats.base import BaseFileSettings, OrcSettings, create_base_file, open_base_file
from hudi_hive.storage import Storage

AVRO = {"type": "record", "name": "r", "fields": [{"name": "_hoodie_record_key", "type": ["null", "string"]}]}
NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 123_456)
STORED = {
    "flag": ([True, None, False], pa.bool_(), pa.bool_()),
    "whole": ([1, None, -(2**31)], pa.int32(), pa.int32()),
    "long": ([2**62, None, -1], pa.int64(), pa.int64()),
    "float": ([0.5, None, -1.25], pa.float32(), pa.float32()),
    "double": ([0.1, None, float("inf")], pa.float64(), pa.float64()),
    "text": (["é", None, ""], pa.string(), pa.string()),
    "bytes": ([b"\x00\xff", None, b""], pa.binary(), pa.binary()),
    "fixed": ([b"abcd", None, b"\x00\x01\x02\x03"], pa.binary(4), pa.binary()),
    "price": ([Decimal("1.25"), None, Decimal("-99999999.99")], pa.decimal128(10, 2), pa.decimal128(10, 2)),
    "day": ([dt.date(2024, 2, 29), None, dt.date(1500, 1, 1)], pa.date32(), pa.date32()),
    "at": ([NOON.replace(tzinfo=dt.UTC), None, None], pa.timestamp("us", "UTC"), pa.timestamp("ns")),
    "local": ([NOON, None, dt.datetime(1920, 1, 1, 0, 0, 0, 5)], pa.timestamp("us"), pa.int64()),
    "clock": ([dt.time(1, 2, 3, 4), None, dt.time(0)], pa.time64("us"), pa.int64()),
}
"""Column -> values, their type in the table, and the type in the file."""


@pytest.fixture
def storage(tmp_path):
    return Storage(str(tmp_path))


def written(storage, rows, path="f.orc", **options):
    with create_base_file(storage, path, rows.schema, AVRO, **options) as file:
        file.write(rows)
        return file.close()


@pytest.mark.parametrize("name", STORED)
def test_values_are_stored_as_hudi_stores_them(storage, name):
    values, kind, in_file = STORED[name]
    written(storage, pa.table({name: pa.array(values, kind)}))
    with open_base_file(storage, "f.orc") as file:
        (column,) = pa.Table.from_batches(file.batches([name])).columns
    assert column.type == in_file
    stored = column.cast(kind) if in_file != pa.int64() or kind == pa.int64() else column.chunk(0).view(kind)
    assert stored.to_pylist() == values


def test_what_is_below_a_null_struct_moves_no_value(storage):
    kind = pa.struct([("a", pa.int32()), ("at", pa.timestamp("ms", "UTC"))])
    hidden = pa.StructArray.from_arrays(
        [pa.array([1, 2, 3], pa.int32()), pa.array([0, 1000, 2000], pa.timestamp("ms", "UTC"))],
        fields=list(kind),
        mask=pa.array([False, True, False]),
    )
    nested = pa.array([[{"a": 7, "at": None}], None, []], pa.list_(kind))
    maps = pa.array([[("k", {"a": 8, "at": None})], [], None], pa.map_(pa.string(), kind))
    written(storage, pa.table({"s": hidden, "l": nested, "m": maps}))
    table = orc.read_table(storage.full_path("f.orc"))
    assert [row and row["a"] for row in table["s"].to_pylist()] == [1, None, 3]
    assert table["l"].to_pylist() == nested.to_pylist()
    assert table["m"].to_pylist() == maps.to_pylist()


def test_the_footer_has_schema_filter_and_range_of_keys(storage):
    keys = [f"key {number:04d}" for number in range(500)]
    report = written(storage, pa.table({"_hoodie_record_key": keys, "n": list(range(500))}))
    assert (report.rows, report.min_key, report.max_key) == (500, keys[0], keys[-1])
    assert report.size == storage.size("f.orc")
    assert {row["column"] for row in report.ranges.to_pylist()} == {"_hoodie_record_key", "n"}
    footer = orc.ORCFile(storage.full_path("f.orc")).metadata
    assert json.loads(footer[b"orc.avro.schema"]) == AVRO
    assert (footer[b"hoodie_min_record_key"], footer[b"hoodie_max_record_key"]) == (keys[0].encode(), keys[-1].encode())
    assert footer[b"hoodie_bloom_filter_type_code"] == b"DYNAMIC_V0"
    assert b"org.apache.hudi.bloomfilter" in footer


def test_a_file_of_no_rows_has_its_columns(storage):
    kind = pa.schema([("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    assert written(storage, kind.empty_table()).rows == 0
    with open_base_file(storage, "f.orc") as file:
        assert (file.num_rows, file.schema.names) == (0, ["n", "at"])


@pytest.mark.parametrize("codec", ["zlib", "snappy", "zstd", "none"])
def test_orc_stripe_size_and_compression_are_those_of_the_settings(storage, codec):
    rows = pa.table({"n": list(range(200_000)), "text": [f"row {number}" for number in range(200_000)]})
    settings = BaseFileSettings(orc=OrcSettings(codec.upper(), 100_000))
    with create_base_file(storage, "f.orc", rows.schema, AVRO, settings=settings) as writer:
        for start in range(0, 200_000, 20_000):
            writer.write(rows.slice(start, 20_000))
    file = orc.ORCFile(storage.full_path("f.orc"))
    assert file.compression == {"none": "UNCOMPRESSED"}.get(codec, codec.upper())
    assert file.nstripes > 1
    assert file.read().equals(rows)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([dt.datetime(1969, 1, 1, 0, 0, 0, 5)], pa.timestamp("us", "UTC")),
        ([[dt.datetime(1969, 1, 1, 0, 0, 0, 5)]], pa.list_(pa.timestamp("us", "UTC"))),
        ([{"at": dt.datetime(1969, 1, 1, 0, 0, 0, 5)}], pa.struct([("at", pa.timestamp("us", "UTC"))])),
        ([[("k", dt.datetime(1969, 1, 1, 0, 0, 0, 5))]], pa.map_(pa.string(), pa.timestamp("us", "UTC"))),
    ],
)
def test_a_time_that_the_format_would_change_is_refused(storage, values, kind):
    with pytest.raises(SchemaError, match="before 1970"):
        written(storage, pa.table({"at": pa.array(values, kind)}))


def test_orc_compression_that_is_not_supported_is_refused(storage):
    with pytest.raises(InvalidOptionError, match="'brotli'"):
        written(storage, pa.table({"n": [1]}), settings=BaseFileSettings(orc=OrcSettings("brotli")))
    assert not storage.exists("f.orc")


def test_files_of_other_formats_are_refused(storage):
    with pytest.raises(UnsupportedFormatError, match="avro"):
        written(storage, pa.table({"n": [1]}), "f.avro")
