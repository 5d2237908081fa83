"""Filters that ask for few values of a column: other columns are decoded only where and as far as rows were found."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.base import open_base_file
from hudi_hive.predicate import parse_filter
from hudi_hive.read import BaseScan, read_base_files
from hudi_hive.storage import Storage
from tests.support.tables.base_files import read_batches

ROWS, GROUP = 40_000, 20_000


def shuffled() -> pa.Table:
    """Keys in no order, so that the bounds of row groups say nothing; k000020000 is row 1 of the second row group."""
    numbers = np.random.default_rng(1).permutation(ROWS)
    at = int(np.flatnonzero(numbers == 20_000)[0])
    numbers[[at, GROUP + 1]] = numbers[[GROUP + 1, at]]
    keys = pa.array([f"k{i:09d}" for i in numbers])
    ids = pa.array([None if i % 1_000 == 7 else int(i) for i in numbers], pa.int64())
    st_ = pa.StructArray.from_arrays([ids, keys], names=["x", "y"])
    few = pa.array(["a", "bb", None]).take(pa.array(numbers % 3))
    return pa.table({"key": keys, "id": ids, "st": st_, "few": few, "value": pc.multiply(ids, 3)})


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("t")
    table = shuffled()
    options = {"row_group_size": GROUP, "data_page_size": 4_096, "write_page_checksum": True, "use_dictionary": ["few"]}
    pq.write_table(table, folder / "a.parquet", compression="none", **options)
    return Storage(folder), table


def candidates(storage: Storage, names: list[str], text: str) -> int:
    """Rows that come out of the file before they are filtered."""
    with open_base_file(storage, "a.parquet") as file:
        skip = parse_filter(text, file.schema)
        return sum(batch.num_rows for batch in file.batches(names, skip=skip))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("key = 'k000020000'", 1),
        ("key IN ('k000020000', 'k000000002', 'nothing')", 2),
        ("id = 5 AND few = 'aa'", 1),  # the column of few values is left to the one who filters
        ("id IN (5, 7, NULL)", 1),
        ("key = 'k000020000' AND id = 5", 0),
        ("key = 'k0'", 0),
        ("few = 'bb'", ROWS),
        ("key = 'k000020000' OR id = 5", ROWS),
        ("key <> 'k000020000'", ROWS),
        ("st.x = 5", ROWS),
    ],
)
def test_rows_of_a_lookup_are_those_of_the_filter(written, text, rows):
    storage, table = written
    assert candidates(storage, table.column_names, text) == rows
    row_filter = parse_filter(text, table.schema)
    read = pa.Table.from_batches(read_batches(storage, "a.parquet", None, row_filter), table.schema)
    assert read.equals(table.filter(row_filter.evaluate(table)))


def test_the_key_alone_needs_no_look_before(written):
    storage, _ = written
    assert candidates(storage, ["key"], "key = 'k000020000'") == ROWS


def test_other_columns_are_decoded_no_further_than_needed(written, tmp_path):
    """All pages of a column are damaged but its first ones in the row group that has the key."""
    storage, table = written
    data = bytearray(storage.read_bytes("a.parquet"))
    metadata = pq.read_metadata(storage.full_path("a.parquet"))
    for group, spared in ((0, 0), (1, 100_000)):  # bytes of plain values
        chunk = metadata.row_group(group).column(metadata.num_columns - 1)
        assert chunk.path_in_schema == "value"
        for at in range(chunk.data_page_offset + spared, chunk.data_page_offset + chunk.total_compressed_size):
            data[at] ^= 0x55
    damaged = Storage(tmp_path)
    damaged.write_bytes("a.parquet", bytes(data))
    files = pa.table({"partition": [""], "name": ["a.parquet"]})
    row_filter = parse_filter("key = 'k000020000'", table.schema)
    read = pa.Table.from_batches(
        read_base_files(damaged, files, BaseScan(target_schema=table.schema, row_filter=row_filter))
    )
    assert read.equals(table.slice(GROUP + 1, 1))
    with pytest.raises(CorruptFileError):
        list(read_base_files(damaged, files, BaseScan(target_schema=table.schema)))


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(0, ROWS + 100), min_size=1, max_size=70), st.booleans(), st.integers(500, 50_000))
def test_same_rows_as_a_filter_of_all(written, numbers, by_key, batch_size):
    storage, table = written
    values = [f"'k{i:09d}'" for i in numbers] if by_key else [str(i) for i in numbers]
    row_filter = parse_filter(f"{'key' if by_key else 'id'} IN ({', '.join(values)})", table.schema)
    files = pa.table({"partition": [""], "name": ["a.parquet"]})
    columns = ["value", "few", "st"]
    scan = BaseScan(target_schema=table.schema, columns=columns, row_filter=row_filter)
    batches = read_base_files(storage, files, scan, batch_size=batch_size)
    read = pa.Table.from_batches(batches, table.select(columns).schema)
    read.validate(full=True)
    assert read.equals(table.filter(row_filter.evaluate(table)).select(columns))
