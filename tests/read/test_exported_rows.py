"""Rows of slices made for another engine: the rows of a scan, in the types asked for, errors carried as text."""

from __future__ import annotations

import datetime as dt
import pickle

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import FileVanishedError
from hudi_hive.plan import Query, plan_scan
from hudi_hive.read.remote.executor_read import SliceRows, deserialize_error
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import encode_rows, rows_sha256, unzip_fixture
from tests.support.tables.mor_table import MorTable


def requests_of(plan, **constants):
    numbers = pa.array(range(plan.slices.num_rows), pa.int32())
    columns = [numbers, *(pa.array([value] * len(numbers)) for value in constants.values())]
    return pa.RecordBatch.from_arrays(columns, names=["number", *constants])


def read(rows, *requests):
    # As a task does: pickled, and asked batch by batch.
    batches = list(pickle.loads(pickle.dumps(rows))(iter(requests)))
    assert all(batch.schema.equals(rows.schema) for batch in batches)
    return pa.Table.from_batches(batches, rows.schema)


@pytest.mark.parametrize("name", ["v6_mor_part_rli", "v8_mor_types", "v9_mor_schema_evo", "v9_cow_part_mdt"])
def test_the_same_rows_as_a_scan(name):
    base = unzip_fixture(name)
    plan = plan_scan(MetaClient.load(base), Query.of("snapshot"))
    rows = read(SliceRows(plan, {}, plan.schema, ()), requests_of(plan))
    expected = HudiTable.open(base).scan().to_arrow()
    assert rows.num_rows == expected.num_rows > 0
    assert rows_sha256(encode_rows(rows, expected.column_names)) == rows_sha256(encode_rows(expected))


def test_types_constant_values_and_missing_columns():
    base = unzip_fixture("v9_mor_part_rli")
    plan = plan_scan(MetaClient.load(base), Query.of("snapshot"))
    schema = pa.schema([("region", pa.string()), ("stops", pa.int64()), ("none", pa.date32()), ("FARE", pa.string())])
    rows = read(SliceRows(plan, {}, schema, ("region",)), requests_of(plan, region="here"))
    expected = HudiTable.open(base).scan().to_arrow()
    assert set(rows.column("region").to_pylist()) == {"here"}
    assert sorted(rows.column("stops").to_pylist()) == sorted(expected.column("stops").to_pylist())
    assert rows.column("none").null_count == rows.num_rows
    assert sorted(rows.column("FARE").to_pylist()) == sorted(map(str, expected.column("fare").to_pylist()))
    only_constants = read(
        SliceRows(plan, {}, pa.schema([("region", pa.string())]), ("region",)), requests_of(plan, region=7)
    )
    assert only_constants.column("region").to_pylist() == ["7"] * expected.num_rows


def test_times_of_day_and_local_times_are_numbers(tmp_path):
    kinds = {"at": {"type": "int", "logicalType": "time-millis"}}
    kinds["moment"] = {"type": "long", "logicalType": "local-timestamp-micros"}
    table = MorTable(tmp_path / "t", 8, {"id": "string", "ts": "long", **kinds})
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 6)
    table.base(1, [{"id": "a", "ts": 1, "at": dt.time(0, 0, 1), "moment": moment}, {"id": "b", "ts": 1}])
    table.log(2, [{"id": "b", "ts": 2, "at": dt.time(0, 0, 2), "moment": moment}])
    plan = plan_scan(MetaClient.load(table.path), Query.of("snapshot"))
    schema = pa.schema([("id", pa.string()), ("at", pa.int32()), ("moment", pa.int64())])
    rows = read(SliceRows(plan, {}, schema, ()), requests_of(plan))
    micros = int(moment.replace(tzinfo=dt.UTC).timestamp() * 1_000_000)
    found = sorted(tuple(row.values()) for row in rows.to_pylist())
    assert found == [("a", 1000, micros), ("b", 2000, micros)]


def test_errors_are_carried_as_text(tmp_path):
    base = unzip_fixture("v8_mor_rollback", tmp_path)
    plan = plan_scan(MetaClient.load(base), Query.of("snapshot"))
    for file in base.rglob("*.log.*"):
        file.unlink()
    with pytest.raises(RuntimeError) as caught:
        read(SliceRows(plan, {}, plan.schema, ()), requests_of(plan))
    error = deserialize_error(f"Traceback …\nRuntimeError: {caught.value}\n more text")
    assert isinstance(error, FileVanishedError) and ".log." in error.path and error.remedy
    assert deserialize_error("some other text") is None
    assert deserialize_error("hudi_hive error {not json") is None
