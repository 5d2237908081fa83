"""Payload classes, ordering fields of many types, markers, virtual keys: rows as real Hudi reads its own tables.

``tests/data/payloads/README.md`` says how the tables were written.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import UnsupportedTableError
from hudi_hive.read.merge.ordering_values import sequence_numbers

TABLES = sorted(path.stem for path in (Path(__file__).parents[1] / "data" / "payloads").glob("*.zip"))
FILE_NAME = "_hoodie_file_name"  # not rewritten for merged rows: what it says differs by release


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_those_of_real_hudi(name, tmp_path):
    with zipfile.ZipFile(Path(__file__).parents[1] / "data" / "payloads" / f"{name}.zip") as archive:
        archive.extractall(tmp_path)
    want = pq.read_table(tmp_path / "expected.parquet")
    got = HudiTable.open(tmp_path / "table").scan().to_arrow()
    names = [field for field in got.column_names if field != FILE_NAME and field in want.column_names]
    assert len(names) >= len(got.column_names) - 1
    # Spark writes the expected timestamps without zone, and every column as one that may be null.
    got = pa.table({field: got.column(field).cast(want.schema.field(field).type) for field in names})
    by_key = [(field, "ascending") for field in names if not pa.types.is_nested(want.schema.field(field).type)]
    assert want.num_rows > 60
    assert got.sort_by(by_key).to_pylist() == want.select(names).sort_by(by_key).to_pylist()


def test_sequences_are_numbers_not_texts():
    numbers = sequence_numbers([pa.array(["00001.9", "00001.10", "2.1"])])
    assert [column.to_pylist() for column in numbers] == [[1, 1, 2], [9, 10, 1]]
    assert [len(column) for column in sequence_numbers([pa.array([], pa.string())])] == [0, 0]
    for bad in (["1"], [None], ["a.b"], ["1.2", ""]):
        with pytest.raises(UnsupportedTableError, match=r"file\.position"):
            sequence_numbers([pa.array(bad, pa.string())])
