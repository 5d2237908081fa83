"""Base files: types as the files have them, row groups skipped and split, and files that are gone or broken."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import struct
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import (
    CorruptFileError,
    FileVanishedError,
    HudiHiveError,
    UnknownColumnError,
    UnsupportedFormatError,
)
from hudi_hive.formats.base import open_base_file
from hudi_hive.predicate import parse_filter
from hudi_hive.storage import Storage
from tests.support.fixture_tables import unzip_fixture
from tests.support.tables.base_files import read_batches


@pytest.fixture
def storage(tmp_path):
    return Storage(tmp_path)


def table_of(batches, schema=None) -> pa.Table:
    return pa.Table.from_batches(batches, schema)


def fixture_files(name: str) -> tuple[Storage, list[str]]:
    base = unzip_fixture(name)
    paths = [p for p in base.rglob("*") if p.suffix in (".parquet", ".orc") and ".hoodie" not in p.parts]
    return Storage(base), sorted(str(path.relative_to(base)) for path in paths)


# -- types
# --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["v6_cow_types", "v9_cow_types", "v8_mor_types"])
def test_lists_of_both_layouts_come_out_as_lists(name):
    storage, paths = fixture_files(name)
    kinds = set()
    for path in paths:
        table = table_of(read_batches(storage, path, ["arr", "aos", "st"]))
        table.validate(full=True)
        kinds.update((str(table.schema.field("arr").type), table.schema.field("aos").type.value_type))
    element = "element" if "mor" in name else "array"
    assert any(f"list<{element}: int32" in str(kind) for kind in kinds)
    assert pa.struct([("k", pa.string()), ("v", pa.float64())]) in kinds


def test_two_level_list_of_one_field_structs(storage):
    """The old layout ``repeated group array { x }`` is a list of structs.

    The middle level's name decides (Parquet format, "LogicalTypes.md", backward compatibility). A file with the new
    layout is rewritten to the old names.
    """
    values = [[1, 2], [], None, [3]]
    path = storage.full_path("a.parquet")
    pq.write_table(pa.table({"v": pa.array(values, pa.list_(pa.int32()))}), path, store_schema=False)
    with open(path, "rb") as stream:
        data = stream.read()
    (length,) = struct.unpack("<I", data[-8:-4])
    footer = data[-8 - length : -8].replace(b"\x04list", b"\x05array").replace(b"\x07element", b"\x01x")
    with open(path, "wb") as stream:
        stream.write(data[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1")
    table = table_of(read_batches(storage, "a.parquet"))
    assert table.column("v").to_pylist() == [None if v is None else [{"x": x} for x in v] for v in values]


def test_int96_beyond_the_range_of_nanoseconds(storage):
    values = [dt.datetime(1600, 1, 1, 1, 2, 3, 456789), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), None]
    table = pa.table({"at": pa.array(values, pa.timestamp("us"))})
    pq.write_table(table, storage.full_path("a.parquet"), use_deprecated_int96_timestamps=True)
    assert table_of(read_batches(storage, "a.parquet")).equals(table)


def test_timestamp_millis_keep_their_unit():
    storage, paths = fixture_files("v6_cow_ts_millis")
    assert table_of(read_batches(storage, paths[0])).schema.field("at").type == pa.timestamp("ms", "UTC")


def test_orc_files_are_read():
    storage, paths = fixture_files("v9_cow_orc")
    assert paths and all(path.endswith(".orc") for path in paths)
    for path in paths:
        table = table_of(read_batches(storage, path))
        with open_base_file(storage, path) as file:
            assert file.num_rows == table.num_rows
            assert sum(batch.num_rows for batch in file.batches([])) == table.num_rows
        one = table_of(read_batches(storage, path, ["p", "id"]))
        assert one.equals(table.select(["p", "id"]))
        chosen = table_of(
            read_batches(storage, path, ["id"], parse_filter("id >= 3", table.schema)), pa.schema([("id", pa.int32())])
        )
        assert chosen.column("id").to_pylist() == [i for i in table.column("id").to_pylist() if i >= 3]


# -- what is read
# ---------------------------------------------------------------------------------------------------------


def numbers(rows: int = 50_000) -> pa.Table:
    return pa.table(
        {
            "n": pa.array(range(rows), pa.int64()),
            "s": [f"k{i:08d}" for i in range(rows)],
            "dec": pa.array([Decimal(i) for i in range(rows)], pa.decimal128(9, 2)),
            "at": pa.array([i * 1000 for i in range(rows)], pa.timestamp("us", "UTC")),
            "st": pa.array(
                [{"x": i, "y": None} for i in range(rows)], pa.struct([("x", pa.int32()), ("y", pa.int32())])
            ),
            "f": pa.array([i / 2 for i in range(rows)]),
        }
    )


def test_projection_order_and_batches(storage):
    table = numbers(10_000)
    pq.write_table(table, storage.full_path("a.parquet"), row_group_size=3000)
    batches = list(read_batches(storage, "a.parquet", ["s", "n"], batch_size=1000))
    assert {batch.num_rows for batch in batches} == {1000}
    assert table_of(batches).equals(table.select(["s", "n"]))
    assert storage.counters["opens"] == 1
    with pytest.raises(UnknownColumnError, match="'zz'"):
        list(read_batches(storage, "a.parquet", ["zz"]))


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("n >= 30000", 2),
        ("n < 10000 OR n = 49999", 2),
        ("n IN (5, 25000)", 2),
        ("s = 'k00010000'", 1),
        ("s LIKE 'k0004%'", 1),
        ("dec > 39999", 1),
        ("dec > 39999.99", 1),
        ("at >= TIMESTAMP '1970-01-01 00:00:40'", 1),
        ("st.x = 12345", 1),
        ("st.y IS NOT NULL", 0),
        ("n IS NULL", 0),
        ("f < 5000", 1),
        ("f > 20000", 5),  # bounds of this writer do not cover NaN
        ("NOT n >= 10000", 1),
        ("n = 70000", 0),
    ],
)
def test_row_groups_are_skipped(storage, text, groups):
    table = numbers()
    pq.write_table(table, storage.full_path("a.parquet"), row_group_size=10_000)
    row_filter = parse_filter(text, table.schema)
    result = table_of(read_batches(storage, "a.parquet", None, row_filter), table.schema)
    assert storage.counters["row_groups_read"] == groups
    assert result.equals(table.filter(row_filter.to_arrow()))


def test_bounds_of_hudis_own_writer_cover_nan():
    """Files by parquet-mr: bounds take NaN for the greatest value, so that ``>`` may skip too."""
    storage, paths = fixture_files("v9_cow_types")
    with open_base_file(storage, paths[0]) as file:
        from hudi_hive.formats.base.parquet_ranges import column_ranges

        row_filter = parse_filter("f > 1 and d > 1", file.schema)
        ranges = column_ranges(file._metadata, file.schema, row_filter.root)
        assert {path: known.nan_possible for path, known in ranges.items()} == {("f",): False, ("d",): False}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 40_000), max_size=6))
def test_parts_of_a_file_give_each_row_once(cuts):
    table = numbers(5000)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=700)
    data = sink.getvalue().to_pybytes()
    storage = _memory_storage({"a.parquet": data})
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    parts = [
        table_of(
            read_batches(storage, "a.parquet", ["n"], byte_range=(low, high - low)), pa.schema([("n", pa.int64())])
        )
        for low, high in itertools.pairwise(bounds)
    ]
    assert pa.concat_tables(parts).column("n").to_pylist() == list(range(5000))


def _memory_storage(files: dict[str, bytes]) -> Storage:
    import fsspec
    import pyarrow.fs as pafs

    filesystem = fsspec.filesystem("memory")
    for name, data in files.items():
        filesystem.pipe(f"/base/{name}", data)
    return Storage("/base", filesystem=pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)))


@pytest.mark.parametrize("compression", ["uncompressed", "zlib", "snappy", "zstd", "lz4"])
def test_parts_of_an_orc_file_give_each_row_once(storage, compression):
    table = numbers(40_000).select(["n", "s", "dec"])
    orc.write_table(table, storage.full_path("a.orc"), stripe_size=64 * 1024, compression=compression)
    size = storage.size("a.orc")
    with open_base_file(storage, "a.orc") as file:
        stripes = file._stripes
        assert file._file.nstripes >= 2
        assert (stripes is None) == (compression == "lz4")
        if stripes is not None:
            assert len(stripes) == file._file.nstripes
            assert stripes[0].offset == 3
            assert all(one.offset + one.length <= other.offset for one, other in itertools.pairwise(stripes))
            assert stripes[-1].offset + stripes[-1].length == file._file.content_length + 3  # after the magic
    step, schema = size // 5 + 1, pa.schema([("n", pa.int64())])
    parts = [
        table_of(read_batches(storage, "a.orc", ["n"], byte_range=(low, step)), schema) for low in range(0, size, step)
    ]
    assert pa.concat_tables(parts).column("n").to_pylist() == list(range(40_000))


# -- files that are gone or broken
# ----------------------------------------------------------------------------------------


def test_vanished_file_says_to_plan_again(storage):
    with pytest.raises(FileVanishedError, match="plan the query again") as info:
        list(read_batches(storage, "p=1/gone.parquet"))
    assert info.value.path == storage.uri("p=1/gone.parquet")


def test_unknown_format_is_refused_by_name(storage):
    storage.write_bytes("a.vortex", b"x")
    with pytest.raises(UnsupportedFormatError, match="'vortex'"):
        list(read_batches(storage, "a.vortex"))


def _good_bytes(kind: str) -> bytes:
    table = numbers(3000)
    sink = pa.BufferOutputStream()
    if kind == "orc":
        orc.write_table(table, sink, compression="zlib")
    else:
        pq.write_table(table, sink, compression="gzip", row_group_size=1000, write_page_checksum=True)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_truncated_files_are_refused_at_every_length(storage, kind):
    data = _good_bytes(kind)
    lengths = {
        0,
        1,
        3,
        4,
        7,
        8,
        11,
        12,
        len(data) - 1,
        len(data) - 4,
        len(data) - 8,
        *range(0, len(data), len(data) // 60),
    }
    for length in sorted(lengths):
        storage.write_bytes(f"a.{kind}", data[:length])
        with pytest.raises(CorruptFileError) as info:
            list(read_batches(storage, f"a.{kind}"))
        assert info.value.path == storage.uri(f"a.{kind}")
        assert info.value.remedy


def test_flipped_bits_of_a_parquet_file_are_never_wrong_rows(storage):
    """With page checksums, as Hudi's writers leave them, a flipped bit is an error of ours or changes nothing."""
    data = _good_bytes("parquet")
    (footer,) = struct.unpack("<I", data[-8:-4])
    pages = len(data) - 8 - footer  # the footer has no checksum
    good = numbers(3000)
    rng = random.Random(3)
    refused = 0
    for _ in range(150):
        broken = bytearray(data)
        broken[rng.randrange(4, pages)] ^= 1 << rng.randrange(8)
        storage.write_bytes("a.parquet", bytes(broken))
        try:
            assert table_of(read_batches(storage, "a.parquet")).equals(good)
        except HudiHiveError:
            refused += 1
    assert refused > 100


def test_impossible_decimal_of_an_orc_file_is_refused(storage):
    """The reader library would end the process over it."""
    table = pa.table({"d": pa.array([Decimal(1)], pa.decimal128(37, 2))})
    sink = pa.BufferOutputStream()
    orc.write_table(table, sink, compression="uncompressed")
    data = sink.getvalue().to_pybytes()
    kind = b"\x28\x25\x30\x02"  # precision 37, scale 2
    assert data.count(kind) == 1
    storage.write_bytes("a.orc", data.replace(kind, b"\x28\x59\x30\x02"))
    with pytest.raises(CorruptFileError, match="precision 89"):
        list(read_batches(storage, "a.orc"))


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_random_damage_ends_in_our_errors(storage, kind):
    """Footers damaged in any way: an error of ours or some rows, in bounded time, never a crash."""
    data = _good_bytes(kind)
    rng = random.Random(5)
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(rng.randint(1, 8)):
            where = rng.randrange(len(data)) if rng.random() < 0.3 else len(data) - 1 - rng.randrange(1500)
            broken[where] = rng.randrange(256)
        storage.write_bytes(f"a.{kind}", bytes(broken))
        try:
            for batch in read_batches(storage, f"a.{kind}"):
                assert batch.num_rows
        except HudiHiveError as error:
            assert error.path == storage.uri(f"a.{kind}")


def test_missing_rows_sum(storage):
    """Reading nothing but the number of rows opens the footer alone."""
    pq.write_table(numbers(1000), storage.full_path("a.parquet"), row_group_size=300)
    with open_base_file(storage, "a.parquet") as file:
        assert [batch.num_rows for batch in file.batches([])] == [300, 300, 300, 100]
        assert file.num_rows == 1000
    assert pc.sum(table_of(read_batches(storage, "a.parquet", ["n"])).column("n")).as_py() == 499_500


def test_text_of_an_orc_file_that_is_no_utf8_is_refused(storage):
    sink = pa.BufferOutputStream()
    orc.write_table(pa.table({"name": ["some words that stand as they are"]}), sink, compression="uncompressed")
    data = sink.getvalue().to_pybytes()
    storage.write_bytes("a.orc", data.replace(b"some words", b"some\xff\xfe\xfdrds"))
    with pytest.raises(CorruptFileError, match="UTF8"):
        list(read_batches(storage, "a.orc"))
