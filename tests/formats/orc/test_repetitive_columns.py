"""Repetitive text columns of base files are read as dictionary indices: the same rows and types, whatever the pages."""

from __future__ import annotations

import random
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import HudiHiveError
from hudi_hive.formats.base import open_base_file, parquet_base_file
from hudi_hive.storage import Storage
from tests.support.tables.base_files import read_batches

ROWS = 20_000


@pytest.fixture
def storage(tmp_path):
    return Storage(tmp_path)


def indexed_columns(storage, path="a.parquet") -> list[str]:
    with open_base_file(storage, path) as file:
        names = [name for name in file.schema.names if file.schema.names.count(name) == 1]
        return file._repetitive(names, range(file._metadata.num_row_groups))


def repetitive(rows: int = ROWS) -> pa.Table:
    """Columns of each kind: one value, few, with nulls, bytes, all different, nested, with a dot in the name."""
    few = pa.array(["oslo", "", "são paulo", "x" * 300])
    at = pa.array([i % 4 for i in range(rows)])
    columns = {
        "one": pa.repeat("20260101000000000", rows),
        "few": few.take(at),
        "nulls": pa.array([None if i % 3 else f"v{i % 7}" for i in range(rows)]),
        "raw": few.cast(pa.binary()).take(at),
        "unique": pa.array([f"k{i:09d}" for i in range(rows)]),
        "none": pa.nulls(rows, pa.string()),
        "n": pa.array(range(rows)),
        "large": few.cast(pa.large_string()).take(at),
        "st": pa.StructArray.from_arrays([few.take(at)], names=["x"]),
        "dot.ted": few.take(at),
    }
    return pa.table(columns)


def test_which_columns_are_repetitive(storage):
    table = repetitive()
    pq.write_table(table, storage.full_path("a.parquet"), row_group_size=6_000)
    assert indexed_columns(storage) == ["one", "few", "nulls", "raw", "none"]
    names = [name for name in table.column_names if "." not in name]
    read = pa.Table.from_batches(read_batches(storage, "a.parquet", names, batch_size=2_500))
    read.validate(full=True)
    assert read.schema == table.select(names).schema
    assert read.equals(table.select(names))
    assert storage.counters["opens"] == 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"use_dictionary": False, "column_encoding": {"v": "DELTA_BYTE_ARRAY"}}, []),
        ({"use_dictionary": False, "column_encoding": {"v": "DELTA_LENGTH_BYTE_ARRAY"}}, []),
        ({"use_dictionary": False}, []),
        ({"data_page_version": "2.0"}, ["v"]),
        ({"version": "1.0"}, ["v"]),
    ],
)
def test_columns_with_dictionaries_are_read_as_indices(storage, options, expected):
    table = pa.table({"v": pa.repeat("the same", ROWS)})
    pq.write_table(table, storage.full_path("a.parquet"), **options)
    assert indexed_columns(storage) == expected
    assert pa.Table.from_batches(read_batches(storage, "a.parquet")).equals(table)


def test_dictionary_that_overflows(storage):
    """Most rows by indices, then values that the writer put down plainly: one column chunk of both."""
    values = ["same"] * 190_000 + [f"{i:06d}" for i in range(10_000)]
    table = pa.table({"v": pa.array(values)})
    pq.write_table(table, storage.full_path("a.parquet"), dictionary_pagesize_limit=2_000, data_page_size=4_000)
    assert indexed_columns(storage) == ["v"]
    assert pa.Table.from_batches(read_batches(storage, "a.parquet")).equals(table)


def test_some_row_groups_are_not_repetitive(storage):
    table = pa.table({"v": pa.array(["same"] * 10_000 + [f"{i:06d}" for i in range(10_000)])})
    pq.write_table(table, storage.full_path("a.parquet"), row_group_size=10_000)
    assert indexed_columns(storage) == []
    assert pa.Table.from_batches(read_batches(storage, "a.parquet")).equals(table)


def test_text_too_long_for_one_array_comes_in_slices(storage, monkeypatch):
    """A repeated value of a few bytes in the file may be more text than 32-bit offsets can count."""
    monkeypatch.setattr(parquet_base_file, "_MOST_BYTES", 300 * 1_000)
    table = repetitive().select(["n", "few", "one"])
    pq.write_table(table, storage.full_path("a.parquet"))
    batches = list(read_batches(storage, "a.parquet"))
    assert {batch.num_rows for batch in batches} == {1_000}
    assert pa.Table.from_batches(batches).equals(table)


_text = st.one_of(st.none(), st.text(max_size=5))


@settings(max_examples=40, deadline=None)
@given(st.lists(_text, max_size=60), st.integers(1, 40), st.integers(1, 70), st.integers(8, 2_000))
def test_same_rows_as_the_plain_reader(tmp_path_factory, values, repeat, batch_size, dictionary_bytes):
    storage = Storage(tmp_path_factory.mktemp("t"))
    table = pa.table({"v": pa.array(values * repeat, pa.string()), "w": pa.array([0] * len(values) * repeat)})
    limit = {"dictionary_pagesize_limit": dictionary_bytes, "data_page_size": 64}
    pq.write_table(table, storage.full_path("a.parquet"), row_group_size=100, **limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_base_file, "_WORTH_INDICES", 0)
        read = pa.Table.from_batches(read_batches(storage, "a.parquet", batch_size=batch_size), table.schema)
    read.validate(full=True)
    assert read.equals(table)


@pytest.mark.parametrize("checksum", [True, False])
def test_flipped_bytes_of_pages_give_right_rows_or_an_error(storage, monkeypatch, checksum):
    """Flipped bits of pages: the right rows or our error; without checksums any valid rows or our error, no crash."""
    monkeypatch.setattr(parquet_base_file, "_WORTH_INDICES", 0)
    table = repetitive(3_000).select(["one", "few", "nulls", "raw"])
    path = storage.full_path("a.parquet")
    pq.write_table(table, path, compression="none", write_page_checksum=checksum)
    assert len(indexed_columns(storage)) == 4
    data = storage.read_bytes("a.parquet")
    (footer,) = struct.unpack("<I", data[-8:-4])
    rng = random.Random(7)
    refused = 0
    for _ in range(200):
        broken = bytearray(data)
        broken[rng.randrange(4, len(data) - 8 - footer)] ^= 1 << rng.randrange(8)
        storage.write_bytes("a.parquet", bytes(broken))
        try:
            read = pa.Table.from_batches(read_batches(storage, "a.parquet"), table.schema)
        except HudiHiveError:
            refused += 1
            continue
        for column in read.columns:
            column.validate()
        assert not checksum or read.equals(table)
    assert refused > (150 if checksum else 20)
