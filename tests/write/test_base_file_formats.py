"""Tables of ORC files and of HFiles: what writes and services of ours do to them leaves the rows of a model."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError, SchemaError, WriteError
from hudi_hive.metadata import validate
from hudi_hive.table import MetaClient

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("p", pa.string()),
        ("ts", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("clock", pa.time64("us")),
        ("price", pa.decimal128(10, 2)),
        ("place", pa.struct([("x", pa.int32()), ("seen", pa.timestamp("us", "UTC"))])),
        ("tags", pa.list_(pa.string())),
        ("counts", pa.map_(pa.string(), pa.int64())),
    ]
)
NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 123_456, dt.UTC)


def rows(first: int, last: int, ts: int) -> list[dict]:
    return [
        {
            "id": key,
            "p": "ab"[key % 2],
            "ts": ts,
            "at": None if key % 5 == 0 else NOON + dt.timedelta(days=key),
            "local": dt.datetime(1920, 1, 1, 0, 0, 0, key),
            "clock": dt.time(1, key % 60),
            "price": Decimal(key) / 4,
            "place": None if key % 3 == 0 else {"x": ts, "seen": NOON},
            "tags": [f"t{ts}", None],
            "counts": [("n", key)],
        }
        for key in range(first, last)
    ]


def table_of(items: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(items, SCHEMA)


def made(path, file_format, **more) -> HudiTable:
    names = {"record_keys": ["id"], "partition_fields": ["p"], "ordering_fields": ["ts"]}
    return HudiTable.create(path, name="t", base_file_format=file_format, **{**names, **more})


def check(path, model: dict[int, dict]) -> None:
    found = HudiTable.open(path).scan().to_arrow().select(SCHEMA.names).sort_by("id")
    assert found.schema.equals(SCHEMA)
    assert found.to_pylist() == table_of([model[key] for key in sorted(model)]).to_pylist()
    assert validate(MetaClient.load(path)).errors == 0


@pytest.mark.parametrize("file_format", ["ORC", "HFILE"])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [6, 8, 9])
def test_writes_and_services_leave_the_rows_of_a_model(tmp_path, file_format, table_type, version):
    path = tmp_path / "t"
    model: dict[int, dict] = {}
    table = made(path, file_format, version=version, table_type=table_type)
    for operation, items in (
        ("bulk_insert", rows(0, 40, 1)),
        ("insert", rows(40, 50, 1)),
        ("upsert", rows(30, 60, 2)),
    ):
        getattr(table, operation)(table_of(items))
        model |= {item["id"]: item for item in items}
        check(path, model)
    table.delete(table_of(rows(5, 9, 3)), {"hoodie.index.type": "BLOOM"})
    model = {key: item for key, item in model.items() if not 5 <= key < 9}
    check(path, model)
    if table_type == "MERGE_ON_READ":
        assert table.compact().result
        check(path, model)
    assert table.cluster({"hoodie.clustering.plan.strategy.sort.columns": "price"}).result
    check(path, model)
    table.upsert(table_of(rows(0, 4, 4)))
    check(path, model | {item["id"]: item for item in rows(0, 4, 4)})
    bases = {file.suffix for file in path.glob("[ab]/[!.]*.*")}
    assert bases == {f".{file_format.lower()}"}


def test_orc_files_may_be_without_meta_columns(tmp_path):
    made(tmp_path / "t", "ORC", populate_meta_fields=False).upsert(table_of(rows(0, 10, 1)))
    HudiTable.open(tmp_path / "t").upsert(table_of(rows(5, 15, 2)))
    check(tmp_path / "t", {item["id"]: item for item in rows(0, 5, 1) + rows(5, 15, 2)})


def test_a_format_that_is_none_is_refused(tmp_path):
    with pytest.raises(InvalidOptionError, match="'AVRO'"):
        made(tmp_path / "t", "AVRO")
    with pytest.raises(InvalidOptionError, match="meta columns"):
        made(tmp_path / "t", "hfile", populate_meta_fields=False)
    assert not (tmp_path / "t").exists()


def test_what_an_hfile_cannot_hold_is_refused_and_leaves_nothing(tmp_path):
    path = tmp_path / "t"
    table = made(path, "HFILE")
    with pytest.raises(SchemaError, match="column 'key'"):
        table.insert(pa.table({"id": [1], "p": ["a"], "ts": [1], "key": ["x"]}))
    twice = pa.table({"id": [1, 1], "p": ["a", "a"], "ts": [1, 1]})
    with pytest.raises(WriteError, match="one HFile"):
        table.bulk_insert(twice)
    assert not list(path.glob("*/*.hfile"))
    assert not MetaClient.load(path).timeline.pending()
