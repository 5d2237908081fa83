"""Files that label timestamps wrongly are read as Hudi 1.1.1 reads them, and written over with right labels."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import HudiTableHandle, PageSources
from hudi_hive.input_format import HoodieParquetInputFormat, HoodieParquetRealtimeInputFormat, JobConf
from hudi_hive.metadata import MetadataTable
from hudi_hive.plan.model import QueryType
from hudi_hive.schema import as_in_table, holds_mislabelled, is_mislabelled, may_be_mislabelled
from hudi_hive.sql import PathCatalog, SqlEngine
from hudi_hive.table import MetaClient
from hudi_hive.write.services import cluster, compact
from tests.support.running.long import with_long_cases
from tests.support.tables.mislabelled_times import (
    TIMES,
    answers,
    copy_of,
    encoded,
    expected_ids,
    expected_rows,
    names,
    shared,
)
from tests.write.shared.services_rollback_helpers import context_of

QUERIES = [(name, query) for name in names() for query in answers()[name]["queries"] if query["label"] != "cdc"]
CHANGES = [(name, query) for name in names() for query in answers()[name]["queries"] if query["label"] == "cdc"]
CHANGED = [name for name in names("_to_v") if "cdc" not in name]


@pytest.mark.parametrize(("name", "query"), QUERIES, ids=[f"{name}-{query['label']}" for name, query in QUERIES])
def test_rows_are_those_of_hudi(name: str, query: dict[str, Any]) -> None:
    scan = HudiTable.open(shared(name)).scan(options=query["options"])
    assert encoded(scan.to_arrow()) == expected_rows(name, query)
    batches = list(scan.to_batches())
    assert encoded(pa.Table.from_batches(batches, scan.schema)) == expected_rows(name, query)


@pytest.mark.parametrize(("name", "query"), CHANGES, ids=[name for name, _ in CHANGES])
def test_changes_are_those_of_hudi(name: str, query: dict[str, Any]) -> None:
    def images(row: list[Any]) -> list[Any]:
        found = [json.loads(text) if text is not None else None for text in row[2:]]
        for image in found:
            (image or {}).pop("_hoodie_file_name", None)  # of an attempt of Spark that was not the last
        return [row[0], row[1], *found]

    rows = HudiTable.open(shared(name)).scan(options=query["options"]).to_arrow()
    found = [images(list(row.values())) for row in rows.to_pylist()]
    assert sorted(found, key=repr) == sorted(map(images, query["rows"]), key=repr)


@pytest.mark.parametrize("name", with_long_cases(names()[::2], names()))
def test_filters_keep_the_rows_of_hudi(name: str) -> None:
    table = HudiTable.open(shared(name))
    wrong = {}
    for asked in answers()[name]["filters"]:
        found = sorted(table.scan(row_filter=asked["filter"], selected_fields=["id"]).to_arrow()["id"].to_pylist())
        if found != expected_ids(name, asked):
            wrong[asked["filter"]] = found, asked["ids"]
    assert not wrong


def by_duckdb(name: str) -> pa.Table:
    with HudiTable.open(shared(name)).scan().to_duckdb("t") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.sql("SELECT * FROM t").to_arrow_table()


def by_sql(name: str) -> pa.Table:
    return SqlEngine(PathCatalog({"t": str(shared(name))}), threads=1).query("SELECT * FROM t").read_all()


def by_dataset(name: str) -> pa.Table:
    return HudiTable.open(shared(name)).scan().to_dataset().to_table()


def by_page_sources(name: str) -> pa.Table:
    client = MetaClient.load(shared(name))
    handle = HudiTableHandle(
        "default", "t", client.base_path, client.config.table_type, QueryType.SNAPSHOT, (), None, client=client
    )
    pages = PageSources(handle)
    with HudiTable(client).scan().splits() as splits:
        batches = [batch for split in splits for batch in pages.read(split)]
    return pa.Table.from_batches(batches, handle.schema)


def by_input_format(name: str) -> pa.Table:
    made = HoodieParquetRealtimeInputFormat if "mor" in name else HoodieParquetInputFormat
    job = made(JobConf({}).with_input_paths([str(shared(name))]))
    (planned,) = job.plan.tables.values()
    batches = [batch for split in job.get_splits(8) for batch in job.get_record_reader(split)]
    return pa.Table.from_batches(batches, planned.scan.schema)


@pytest.mark.parametrize("face", [by_duckdb, by_sql, by_dataset, by_page_sources, by_input_format])
@pytest.mark.parametrize("name", ["v6_cow_to_v6", "v8_mor_to_v8", "v8_mor_parquet_logs_to_v9", "v6_cow_plain_local"])
def test_every_face_shows_the_same(name: str, face: Any) -> None:
    assert encoded(face(name)) == expected_rows(name, answers()[name]["queries"][0])


# -- writing over such files -----------------------------------------------------------------------------------------


def labels(path: Path, newest: str) -> set[tuple[str, str]]:
    """Timestamp columns of the base files that a commit wrote, and their types."""
    found = set()
    for file in path.glob(f"p*/*_{newest}.parquet"):
        schema = pq.read_schema(file)
        found |= {(name, str(schema.field(name).type)) for name in TIMES}
        found |= {(f"s.{part.name}", str(part.type)) for part in schema.field("s").type}
    return found


RIGHT = {
    ("ts_millis", "timestamp[ms, tz=UTC]"),
    ("ts_micros", "timestamp[us, tz=UTC]"),
    ("local_ts_millis", "timestamp[ms]"),
    ("local_ts_micros", "timestamp[us]"),
    ("s.at", "timestamp[ms, tz=UTC]"),
    ("s.near", "timestamp[ms]"),
    ("s.x", "int32"),
}


def newest_commit(path: Path) -> str:
    return MetaClient.load(path).timeline.write_instants()[-1].requested


def but_commit_times(rows: list[list[Any]]) -> list[list[Any]]:
    return [row[1:] for row in rows]


@pytest.mark.parametrize("name", [name for name in CHANGED if "parquet_logs" not in name])
def test_writes_put_labels_and_values_right(name: str, tmp_path: Path) -> None:
    path = copy_of(name, tmp_path)
    table = HudiTable.open(path)
    before = table.scan().to_arrow()
    data = [column for column in before.column_names if not column.startswith("_hoodie") or "deleted" in column]
    chosen = before.filter(pa.compute.is_in(before["id"], pa.array(["k02", "k12"]))).select(data)
    later = pa.array([dt.datetime(2031, 1, 1, 0, 0, 0, 5000, dt.UTC)] * 2, pa.timestamp("us", "UTC"))
    rows = chosen.set_column(data.index("ts_millis"), "ts_millis", later)
    rows = rows.set_column(data.index("n"), "n", pa.array([9_000_000_000] * 2))
    table.upsert(rows)
    wanted = encoded(before)
    for row in wanted:
        if row[1] in ("k02", "k12"):
            row[2:4] = [9_000_000_000, 1_924_992_000_005_000]
    assert but_commit_times(encoded(HudiTable.open(path).scan().to_arrow())) == but_commit_times(wanted)
    if "cow" in name:
        assert labels(path, newest_commit(path)) == RIGHT
        cluster(context_of(path))
    else:
        compact(context_of(path))
    assert labels(path, newest_commit(path)) == RIGHT
    client = MetaClient.load(path)
    assert but_commit_times(encoded(HudiTable(client).scan().to_arrow())) == but_commit_times(wanted)
    found = HudiTable(client).scan(row_filter="ts_millis > '2031-01-01'", selected_fields=["id"]).to_arrow()
    assert sorted(found["id"].to_pylist()) == ["k02", "k12"]


@pytest.mark.parametrize("name", [name for name in CHANGED if "cow" in name and name.endswith("v9")])
def test_statistics_of_old_files_never_hide_rows(name: str, tmp_path: Path) -> None:
    """Column statistics that this package makes of old files tell the table's times."""
    path = copy_of(name, tmp_path)
    table = HudiTable.open(path)
    wanted = encoded(table.scan().to_arrow())
    dropped = {"hoodie.metadata.index.column.stats.enable": "false", "hoodie.metadata.enable": "false"}
    some = table.scan(row_filter="id = 'k02'").to_arrow()
    data = [column for column in some.column_names if not column.startswith("_hoodie") or "deleted" in column]
    table.upsert(some.select(data), dropped)
    HudiTable.open(path).upsert(
        some.select(data),
        {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"},
    )
    client = MetaClient.load(path)
    ranges = MetadataTable.open(client).column_ranges(["ts_millis"])["ts_millis"].to_pylist()
    shown = {row[3] for row in wanted}
    for row in ranges:
        for side in ("min", "max"):
            if row[side] is not None:
                assert pa.scalar(row[side], pa.timestamp("us", "UTC")).cast(pa.int64()).as_py() in shown
    assert any(row["min"] is not None for row in ranges)
    for moment in sorted(shown):
        text = (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=moment)).isoformat()
        found = HudiTable(client).scan(row_filter=f"ts_millis = '{text}'", selected_fields=["id"]).to_arrow()
        assert sorted(found["id"].to_pylist()) == [row[1] for row in wanted if row[3] == moment]


# -- the rule ----------------------------------------------------------------------------------------------------------

MILLIS, MICROS = pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC")
LOCAL = (pa.timestamp("ms"), pa.timestamp("us"))
KINDS = (MILLIS, MICROS, *LOCAL, pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.int64(), pa.int32(), pa.string())


def test_the_types_that_are_labels_alone() -> None:
    found = {(file, table) for file in KINDS for table in KINDS if is_mislabelled(file, table)}
    assert found == {(MICROS, MILLIS), *((pa.int64(), local) for local in LOCAL)}
    assert [kind for kind in KINDS if may_be_mislabelled(kind)] == [MILLIS, *LOCAL, pa.timestamp("ns")]


def test_labels_on_every_level() -> None:
    def nested(kind: pa.DataType) -> list[pa.DataType]:
        return [
            pa.list_(kind),
            pa.struct([("x", pa.int32()), ("T", kind)]),
            pa.map_(pa.string(), pa.list_(pa.struct([("t", kind)]))),
        ]

    for wrong, right in zip(nested(MICROS), nested(MILLIS), strict=True):
        assert holds_mislabelled(wrong, right) and may_be_mislabelled(right)
        assert not holds_mislabelled(right, wrong) and not may_be_mislabelled(wrong)
        assert not holds_mislabelled(right, right)


def test_bounds_of_old_files_are_in_the_units_of_the_table() -> None:
    raw = pa.array([1_577_836_800_001, None], pa.int64())
    millis = raw.view(MILLIS)
    assert as_in_table(raw.view(MICROS), MILLIS).equals(millis)
    assert as_in_table(raw, pa.timestamp("ms")).equals(raw.view(pa.timestamp("ms")))
    assert as_in_table(millis, MICROS).equals(millis.cast(MICROS))
    wrong = pa.StructArray.from_arrays([raw.view(MICROS), raw], names=["t", "n"], mask=pa.array([False, True]))
    right = as_in_table(wrong, pa.struct([("t", MILLIS), ("n", pa.int64())]))
    assert right.type == pa.struct([("t", MILLIS), ("n", pa.int64())])
    assert right.to_pylist() == [{"t": millis[0].as_py(), "n": raw[0].as_py()}, None]
