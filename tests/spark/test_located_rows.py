"""Rows that name the file groups of their records, as statements read them from the table that they write."""

from __future__ import annotations

import pyarrow as pa

from hudi_hive.spark.write.located_rows import LocateKeys, LocateRows
from hudi_hive.spark.write.tasks import FILE_ID, IS_GONE, IS_NEW, PrepareKeys, PrepareRows
from hudi_hive.table.core import create_table
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import row_generator, table_generator
from hudi_hive.write.schema import writer_schema

OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.operation": "upsert",
}
DATA = pa.schema([("id", pa.string()), ("city", pa.string())])
META = [
    ("_hoodie_record_key", pa.string()),
    ("_hoodie_partition_path", pa.string()),
    ("_hoodie_file_name", pa.string()),
]
ROWS = [
    ("a", "oslo", "a", "oslo", "f1-0_0-1-2_003.parquet"),
    ("b", "oslo", "b", "oslo", "f1-0"),  # of a log block, whose records carry the file id
    ("c", "rome", "c", "oslo", "f1-0_0-1-2_003.parquet"),  # moved
    ("d", "oslo", "e", "oslo", "f1-0_0-1-2_003.parquet"),  # of another key
    ("f", "oslo", None, None, None),  # new
    ("g", "rome", "g", "rome", ".f2-0_003.log.1_0-1-2"),
    ("h", "rome", "h", "rome", ""),
]
PLACES = ["f1-0", "f1-0", None, None, None, "f2-0", None]


def batch(rows):
    schema = pa.schema([*DATA, *META])
    return pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def steps(folder):
    client = create_table(str(folder / "t"), WriteConfig.of(OPTIONS).table_definition())
    config = WriteConfig.of(OPTIONS, client.config)
    incoming = pa.schema([*DATA, *META])
    schema = writer_schema(incoming, client, config)
    output = pa.schema([*META[:2], *schema.arrow])
    rows = PrepareRows(config, row_generator(client, config), schema, incoming, output, "20240101000000000")
    return rows, PrepareKeys(table_generator(client, config.options), None, incoming, False)


def test_rows_go_to_the_groups_that_they_name_if_they_are_still_of_their_records(tmp_path):
    rows, keys = steps(tmp_path)
    found = pa.Table.from_batches(LocateRows(rows, carried=True)(iter([batch(ROWS[:4]), batch(ROWS[4:])])))
    assert found[FILE_ID].to_pylist() == PLACES
    assert found[IS_NEW].to_pylist() == [None if place is None else False for place in PLACES]  # null: not known
    assert found["_hoodie_record_key"].to_pylist() == list("abcdfgh")
    assert found[IS_GONE].to_pylist() == [False] * len(ROWS)
    found = pa.Table.from_batches(LocateRows(rows, carried=False)(iter([batch(ROWS)])))
    assert found[FILE_ID].null_count == len(ROWS)
    found = pa.Table.from_batches(LocateKeys(keys)(iter([batch(ROWS)])))
    assert found[FILE_ID].to_pylist() == PLACES
    assert all(found[IS_GONE].to_pylist())


def test_records_of_one_key_are_deleted_from_all_groups_that_they_name(tmp_path):
    _, keys = steps(tmp_path)
    other = (*ROWS[0][:4], "f3-0_0-1-2_003.parquet")
    found = pa.Table.from_batches(LocateKeys(keys)(iter([batch([ROWS[0], other])])))
    assert found["_hoodie_record_key"].to_pylist() == ["a", "a"]
    assert found[FILE_ID].to_pylist() == ["f1-0", "f3-0"]
