"""Filters on fields of structs leave files out by the column statistics that are kept of such fields."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from tests.support.running.long import TABLE_CASES

STRUCT = pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))])
INDEXED = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.column.stats.column.list": "id,s.a,s.b.c",
}
FILTERS = {
    "s.a >= 200": (1, 4),
    "s.a < 0": (0, 0),
    "NOT s.a > 5": (1, 1),
    "s.b.c > 't0200'": (1, 3),
    "s.b.c < 't0000'": (0, 0),
    "s.a > 108 AND id > 'k0'": (2, 4),
    # Of nulls the statistics say nothing, since a field is null with its struct.
    "s.a IS NULL": (2, 3),
    "s.a <> 3": (2, 17),
}


def rows(ids, partition, ts=1, more=0):
    structs = [None if i % 7 == 3 else {"a": i + more, "b": {"c": f"t{i + more:04d}"}} for i in ids]
    keys = [f"k{i}" for i in ids]
    return pa.table({"id": keys, "ts": [ts] * len(keys), "p": [partition] * len(keys), "s": pa.array(structs, STRUCT)})


@pytest.mark.parametrize(("version", "kind"), TABLE_CASES)
def test_files_outside_the_range_of_a_field_are_left_out(tmp_path, version, kind):
    table = HudiTable.create(
        tmp_path / "t",
        name="t",
        table_type=kind,
        record_keys=["id"],
        ordering_fields=["ts"],
        partition_fields=["p"],
        version=version,
    )
    table.upsert(rows(range(10), "x"), options=INDEXED)
    table.upsert(rows(range(100, 110), "y"), options=INDEXED)
    table.upsert(rows(range(5), "x", 2, 200), options=INDEXED)
    for text, expected in FILTERS.items():
        scan = table.scan(row_filter=text)
        everything = table.scan(row_filter=text, options={"hoodie.enable.data.skipping": "false"})
        assert (scan.plan().slices.num_rows, scan.to_arrow().num_rows) == expected, text
        assert scan.to_arrow().sort_by("id").equals(everything.to_arrow().sort_by("id")), text


def test_fields_of_columns_with_ids_are_not_judged_by_their_names(tmp_path):
    table = HudiTable.create(tmp_path / "t", name="t", record_keys=["id"], version=9)
    columns = {"id": ["1", "2"], "s": pa.array([{"a": 1}, {"a": 2}], pa.struct([("a", pa.int64())]))}
    options = {**INDEXED, "hoodie.metadata.index.column.stats.column.list": "id,s.a"}
    table.upsert(pa.table(columns), options=options)
    assert table.scan(row_filter="s.a = 9").plan().slices.num_rows == 0
    table.update_schema().rename("s.a", "z").commit()
    found = table.scan(row_filter="s.z = 2")
    assert found.plan().slices.num_rows == 1 and found.to_arrow()["id"].to_pylist() == ["2"]
