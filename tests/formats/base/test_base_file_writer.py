"""Base files that we write: rows, types and footers, and what is told of their columns."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import InvalidOptionError, SchemaError
from hudi_hive.formats.base import BaseFileSettings, ParquetSettings, create_base_file, open_base_file
from hudi_hive.formats.base.column_ranges import WRAPPERS, ColumnRanges
from hudi_hive.formats.hash.bloom import BloomFilter, BloomSettings, key_hashes
from hudi_hive.storage import Storage

AVRO = {"type": "record", "name": "t_record", "fields": []}
SMALL = BloomSettings(entries=100, fpp=0.001)


def rows(count: int = 5) -> pa.Table:
    number = np.arange(count)
    return pa.table(
        {
            "_hoodie_record_key": pa.array([f"k{i:06d}" for i in number]),
            "id": pa.array(number),
            "price": pa.array([Decimal(int(i)) / 4 for i in number], pa.decimal128(10, 2)),
            "at": pa.array(number * 1_000_000, pa.timestamp("us", "UTC")),
            "day": pa.array(number.astype(np.int32), pa.date32()),
            "tags": pa.array([["x", None]] * count, pa.list_(pa.field("element", pa.string()))),
            "attributes": pa.array([[("a", int(i))] for i in number], pa.map_(pa.string(), pa.int64())),
            "place": pa.array([None if i % 2 else {"x": int(i), "name": f"n{i}"} for i in number]),
        }
    )


def write(tmp_path, table: pa.Table, **options):
    storage = Storage(tmp_path)
    with create_base_file(storage, "p/f.parquet", table.schema, AVRO, **{"bloom": SMALL, **options}) as writer:
        writer.write(table)
        return storage, writer.close()


def ranges_of(table: pa.Table) -> dict[str, dict]:
    return {row["column"]: row for row in table.to_pylist()}


def bound(row: dict, side: str):
    found = {name: value for name, value in row[side].items() if value is not None}
    return next(iter(found.items())) if found else None


@pytest.mark.parametrize("codec", ["gzip", "ZSTD", "snappy", "uncompressed"])
def test_rows_come_back_with_types_that_hudi_reads(tmp_path, codec):
    table = rows(1000)
    storage, written = write(tmp_path, table, settings=BaseFileSettings(ParquetSettings(codec, row_group_bytes=20_000)))
    assert (written.rows, written.min_key, written.max_key) == (1000, "k000000", "k000999")
    assert written.size == storage.size("p/f.parquet")
    with open_base_file(storage, "p/f.parquet") as file:
        assert pa.Table.from_batches(list(file.batches(file.schema.names))).cast(table.schema).equals(table)
    metadata = pq.read_metadata(tmp_path / "p/f.parquet")
    assert metadata.num_row_groups > 2
    text = str(metadata.schema)
    assert "fixed_len_byte_array(5) field_id=-1 price (Decimal(precision=10, scale=2))" in text
    assert "isAdjustedToUTC=true, timeUnit=microseconds" in text
    assert {metadata.schema.column(i).path for i in range(len(metadata.schema))} >= {
        "tags.list.element",
        "attributes.key_value.key",
        "attributes.key_value.value",
    }


@pytest.mark.parametrize("nested", [False, True])
def test_dictionaries_are_of_columns_whose_values_repeat(tmp_path, nested):
    table = rows(1000) if nested else rows(1000).select(["_hoodie_record_key", "id"])
    table = table.append_column("city", pa.array([f"c{i % 8}" for i in range(1000)]))
    table = table.append_column("none", pa.nulls(1000, pa.string()))
    storage, _ = write(tmp_path, table, settings=BaseFileSettings(ParquetSettings(row_group_bytes=20_000)))
    metadata = pq.read_metadata(tmp_path / "p/f.parquet")
    assert metadata.num_row_groups > 1
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
        assert chunks["city"].has_dictionary_page and chunks["none"].has_dictionary_page
        # Arrow has no choice by column where it makes the names of the leaves.
        assert chunks["_hoodie_record_key"].has_dictionary_page == chunks["id"].has_dictionary_page == nested
    with open_base_file(storage, "p/f.parquet") as file:
        assert pa.Table.from_batches(list(file.batches(file.schema.names))).cast(table.schema).equals(table)
    plain = write(tmp_path, table, settings=BaseFileSettings(ParquetSettings(dictionary=False)))
    assert (
        plain[1].rows == 1000
        and not pq.read_metadata(tmp_path / "p/f.parquet").row_group(0).column(2).has_dictionary_page
    )


def test_values_that_only_come_again_later_are_seen(tmp_path):
    count, generator = 200_000, np.random.default_rng(1)
    some = generator.random(25_000)
    table = pa.table(
        {
            "of_some": some[generator.integers(0, len(some), count)],  # most of the first 20,000 are different
            "later": np.where(np.arange(count) < 20_000, np.arange(count), np.arange(count) % 100),
            "in_runs": np.arange(count) // 20,
            "once": generator.permutation(count),
        }
    )
    write(tmp_path, table, bloom=False)
    group = pq.read_metadata(tmp_path / "p/f.parquet").row_group(0)
    chunks = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    assert [name for name, chunk in chunks.items() if chunk.has_dictionary_page] == ["of_some", "later", "in_runs"]
    plain = write(tmp_path, table, bloom=False, settings=BaseFileSettings(ParquetSettings(dictionary=False)))
    whole = pq.read_metadata(tmp_path / "p/f.parquet").row_group(0).column(0)
    assert plain[1].rows == count and chunks["of_some"].total_compressed_size < whole.total_compressed_size * 0.6


def test_the_footer_has_schema_and_key_range(tmp_path):
    _, written = write(tmp_path, rows())
    footer = pq.read_metadata(tmp_path / "p/f.parquet").metadata
    assert json.loads(footer[b"parquet.avro.schema"]) == AVRO
    assert footer[b"hoodie_min_record_key"] == b"k000000"
    assert footer[b"hoodie_max_record_key"] == b"k000004"
    assert b"ARROW:schema" not in footer
    bloom = BloomFilter.parse(
        footer[b"org.apache.hudi.bloomfilter"], footer[b"hoodie_bloom_filter_type_code"].decode(), ""
    )
    assert bloom.may_contain(key_hashes(rows().column(0).combine_chunks(), bloom.hashes)).all()
    assert not bloom.may_contain(key_hashes(["other"], bloom.hashes)).any()
    assert written.rows == 5


@pytest.mark.parametrize("keyless", [True, False])
def test_files_without_filter(tmp_path, keyless):
    table = rows().drop_columns(["_hoodie_record_key"]) if keyless else rows()
    _, written = write(tmp_path, table, bloom=keyless)
    footer = pq.read_metadata(tmp_path / "p/f.parquet").metadata
    assert set(footer) == {b"parquet.avro.schema"}
    assert (written.min_key is None) == keyless


def test_ranges_have_bounds_counts_and_sizes(tmp_path):
    _, written = write(tmp_path, rows())
    found = ranges_of(written.ranges)
    names = ["_hoodie_record_key", "id", "price", "at", "day", "place.x", "place.name"]
    assert list(found) == names
    assert bound(found["price"], "max") == ("DecimalWrapper", Decimal("1.00"))
    assert bound(found["at"], "max") == ("LongWrapper", 4_000_000)
    assert bound(found["day"], "min") == ("DateWrapper", 0)
    assert bound(found["place.name"], "max") == ("StringWrapper", "n4")
    assert (found["place.x"]["value_count"], found["place.x"]["null_count"]) == (5, 2)
    assert all(row["total_size"] > 0 and row["total_uncompressed_size"] > 0 for row in found.values())
    _, written = write(tmp_path, rows(), statistics=False)
    assert written.ranges.num_rows == 0


def test_ranges_over_batches_and_of_every_type():
    values = {
        "BooleanWrapper": (pa.array([True, None]), pa.array([False, None]), False, True),
        "IntWrapper": (pa.array([5, None], pa.int16()), pa.array([None, None], pa.int16()), 5, 5),
        "FloatWrapper": (pa.array([0.0, 0.0], pa.float32()), pa.array([0.0, None], pa.float32()), -0.0, 0.0),
        "DoubleWrapper": (pa.array([1.5, -2.0]), pa.array([3.0, None]), -2.0, 3.0),
        "BytesWrapper": (pa.array([b"b", b""]), pa.array([b"\xff", None]), b"", b"\xff"),
        "LongWrapper": (pa.array([1, 2], pa.time64("us")), pa.array([3, None], pa.time64("us")), 1, 3),
    }
    batches = [pa.RecordBatch.from_arrays([pair[at] for pair in values.values()], list(values)) for at in (0, 1)]
    ranges = ColumnRanges(batches[0].schema)
    for batch in batches:
        ranges.add(batch)
    for name, row in ranges_of(ranges.table()).items():
        assert bound(row, "min") == (name, values[name][2])
        assert bound(row, "max") == (name, values[name][3])
        assert row["value_count"] == 4
    assert math.copysign(1, bound(ranges_of(ranges.table())["FloatWrapper"], "min")[1]) == -1
    assert set(values) < set(WRAPPERS)


def test_unusable_bounds_and_bounds_of_long_decimals():
    ranges = ColumnRanges(pa.schema([("f", pa.float64()), ("d", pa.decimal128(30, 20)), ("n", pa.int32())]))
    for numbers in ([1.0, math.nan], [2.0, 3.0]):
        decimals = pa.array([Decimal("-1e-20"), Decimal("1.28e-18")], pa.decimal128(30, 20))
        ranges.add(pa.RecordBatch.from_arrays([pa.array(numbers), decimals, pa.nulls(2, pa.int32())], ["f", "d", "n"]))
    found = ranges_of(ranges.table())
    assert list(found) == ["f", "d", "n"]
    assert bound(found["f"], "min") is None
    assert (bound(found["d"], "min"), bound(found["d"], "max")) == (
        ("BytesWrapper", b"\xff"),
        ("BytesWrapper", b"\0\x80"),
    )
    assert bound(found["n"], "max") is None
    assert found["n"]["null_count"] == 4


def test_rows_of_other_order_and_narrower_types_fit_and_others_are_refused(tmp_path):
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    storage = Storage(tmp_path)
    with create_base_file(storage, "f.parquet", schema, AVRO) as writer:
        writer.write(pa.table({"b": ["x"], "a": pa.array([1], pa.int32())}))
        with pytest.raises(SchemaError, match="without the column"):
            writer.write(pa.table({"a": [1]}))
        with pytest.raises(SchemaError, match="do not fit"):
            writer.write(pa.table({"b": ["x"], "a": ["y"]}))
    assert pq.read_table(tmp_path / "f.parquet").to_pydict() == {"a": [1], "b": ["x"]}
    with pytest.raises(SchemaError, match="'c' of type null"):
        create_base_file(storage, "g.parquet", pa.schema([("c", pa.null())]), AVRO)
    with pytest.raises(InvalidOptionError, match="'brotli9'"):
        create_base_file(storage, "g.parquet", schema, AVRO, settings=BaseFileSettings(ParquetSettings("brotli9")))
    assert not storage.exists("g.parquet")


def test_texts_in_dictionaries_are_like_others(tmp_path):
    names = ["_hoodie_record_key", "a", "b"]
    coded = [["k2", "k1", "k1"], ["x", None, "x"], ["v", "u", "v"]]
    tables = [
        pa.table([pa.array(column).dictionary_encode() for column in coded], names=names),
        pa.table([["k3"], pa.DictionaryArray.from_arrays([1], ["unused", "y"]), ["z"]], names=names),
        pa.table([["k4"], ["w"], pa.array(["t"]).dictionary_encode()], names=names),
    ]
    schema = pa.schema([(name, pa.string()) for name in names])
    storage, found = Storage(tmp_path), []
    for name, ways in (("coded", tables), ("plain", [table.cast(schema) for table in tables])):
        for extension in ("parquet", "orc"):
            with create_base_file(storage, f"{name}.{extension}", schema, AVRO, bloom=SMALL) as writer:
                for table in ways:
                    writer.write(table)
                written = writer.close()
            with open_base_file(storage, f"{name}.{extension}") as file:
                read = pa.Table.from_batches(file.batches(names))
            assert read.to_pydict() == pa.concat_tables(table.cast(schema) for table in tables).to_pydict()
            ranges = [{**row, "total_size": 0, "total_uncompressed_size": 0} for row in written.ranges.to_pylist()]
            found.append((written.min_key, written.max_key, ranges))
    assert found == found[:1] * 4
    statistics = [pq.read_metadata(tmp_path / f"{name}.parquet").row_group(0) for name in ("coded", "plain")]
    for column in range(3):
        coded_column, plain = (group.column(column).statistics for group in statistics)
        assert (coded_column.min, coded_column.max, coded_column.null_count) == (plain.min, plain.max, plain.null_count)


def test_an_empty_file_and_dates_far_away(tmp_path):
    table = pa.table({"_hoodie_record_key": pa.array([], pa.string()), "at": pa.array([], pa.timestamp("us"))})
    _, written = write(tmp_path, table)
    assert (written.rows, written.min_key) == (0, None)
    assert pq.read_table(tmp_path / "p/f.parquet").num_rows == 0
    far = [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)]
    table = pa.table({"_hoodie_record_key": ["a", "b"], "at": pa.array(far, pa.timestamp("us"))})
    write(tmp_path, table)
    assert pq.read_table(tmp_path / "p/f.parquet").column("at").to_pylist() == far


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("aé\u4e2d\ud7ff\ue000ｆ\uffff😀\U0010ffff"), min_size=1, max_size=4), min_size=1)
)
def test_bounds_of_keys_are_in_the_order_of_java(tmp_path_factory, keys):
    table = pa.table({"_hoodie_record_key": pa.array(keys, pa.string())})
    storage = Storage(tmp_path_factory.mktemp("bounds"))
    with create_base_file(storage, "f.parquet", table.schema, AVRO, bloom=SMALL) as writer:
        for start in range(0, len(keys), 2):
            writer.write(table.slice(start, 2))
        written = writer.close()
    ordered = sorted(keys, key=lambda key: key.encode("utf-16-be"))
    assert (written.min_key, written.max_key) == (ordered[0], ordered[-1])
