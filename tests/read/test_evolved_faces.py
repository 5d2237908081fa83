"""Filters, projections and splits of evolved tables through the metastore's faces: rows are those of a scan."""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector
from hudi_hive.errors import InvalidOptionError, UnknownColumnError
from hudi_hive.input_format import HoodieParquetInputFormat, HoodieParquetRealtimeInputFormat, JobConf
from hudi_hive.metastore import HiveMetastore
from hudi_hive.metrics import IoCounters
from hudi_hive.plan.splits import SplitOptions
from hudi_hive.sql import ConnectorCatalog, SqlEngine
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.testing import FakeMetastore
from tests.support.fixture_tables import encode_rows, rows_sha256, unzip_fixture
from tests.support.tables.evolved_tables import EVOLVED, History, commits

FILTERS = {
    "full_name = 'n3b'": lambda row: row["full_name"] == "n3b",
    "full_name LIKE 'n%' AND cnt > 40": lambda row: row["full_name"].startswith("n") and row["cnt"] > 40,
    "cnt BETWEEN 20 AND 3000000000": lambda row: 20 <= row["cnt"] <= 3000000000,
    "ratio IN (2.75, 7.5, 3.25)": lambda row: row["ratio"] in (2.75, 7.5, 3.25),
    "extra IS NULL": lambda row: row["extra"] is None,
    "part = 'q' AND NOT full_name = 'n5'": lambda row: row["part"] == "q" and row["full_name"] != "n5",
    "info.bee >= 't'": lambda row: row["info"]["bee"] >= "t",
    "info.c IS NOT NULL OR cnt = 10": lambda row: row["info"]["c"] is not None or row["cnt"] == 10,
}
COLUMNS = ["info", "full_name", "cnt", "part"]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A metastore to which all fixtures were synced under their names."""
    with FakeMetastore(tmp_path_factory.mktemp("metastore")) as fake, HiveMetastore(fake.uri) as client:
        for name in EVOLVED:
            HiveSyncTool(HiveSyncConfig(base_path=str(unzip_fixture(name)), table=name), metastore=client).sync()
        yield client


def snapshot_name(name: str) -> str:
    """Under which a sync leaves the snapshot."""
    return f"{name}_rt" if "_mor_" in name else name


def same(actual: pa.Table, expected_rows: pa.Table) -> bool:
    assert actual.schema.equals(expected_rows.schema)
    return rows_sha256(encode_rows(actual)) == rows_sha256(encode_rows(expected_rows))


def passing(table: pa.Table, test) -> pa.Table:
    """Rows of a whole table that pass a filter, tested one by one."""
    return table.filter(pa.array([bool(test(row)) for row in table.to_pylist()], pa.bool_()))


@pytest.mark.parametrize("name", EVOLVED)
def test_filters_and_columns_of_page_sources(client, name):
    whole = HudiTable.open(unzip_fixture(name)).scan().to_arrow()
    connector = HudiConnector(client)
    handle = connector.metadata.table("default", snapshot_name(name))
    assert handle.schema.names == whole.schema.names
    for column in connector.metadata.columns(handle):
        assert column.hive_type is not None
    actual = 0
    for text, test in FILTERS.items():
        expected_rows = passing(whole, test).select(COLUMNS)
        assert expected_rows.num_rows < whole.num_rows
        actual += expected_rows.num_rows > 0
        read = connector.read(handle, COLUMNS, text)
        assert same(pa.Table.from_batches(read, expected_rows.schema), expected_rows), text
    assert actual >= 6
    for old in ("name", "gone", "info.b"):
        with pytest.raises(UnknownColumnError):
            list(connector.read(handle, None, f"{old} = 'x'"))


@pytest.mark.parametrize("name", EVOLVED[::2])
def test_sql_on_synced_tables(client, name):
    whole = HudiTable.open(unzip_fixture(name)).scan().to_arrow()
    with HudiConnector(client) as connector:
        engine = SqlEngine(ConnectorCatalog(connector), threads=1)
        for text, test in FILTERS.items():
            sql = f"SELECT full_name, cnt, info.bee, info.c FROM {snapshot_name(name)} WHERE {text} ORDER BY full_name"
            rows = sorted(passing(whole, test).to_pylist(), key=lambda row: row["full_name"])
            expected_rows = [(r["full_name"], r["cnt"], r["info"]["bee"], r["info"]["c"]) for r in rows]
            assert [tuple(row.values()) for row in engine.query(sql).read_all().to_pylist()] == expected_rows, text
        total = engine.query(f"SELECT sum(cnt), count(*) FROM {snapshot_name(name)}").read_all().to_pylist()
        assert list(total[0].values()) == [pc.sum(whole["cnt"]).as_py(), whole.num_rows]


@pytest.mark.parametrize("name", EVOLVED)
def test_columns_of_record_readers(name):
    """Hive names columns in lower case, by name or by place; the columns of old files come out as the table's."""
    path = unzip_fixture(name)
    whole = HudiTable.open(path).scan().to_arrow()
    made = HoodieParquetRealtimeInputFormat if "_mor_" in name else HoodieParquetInputFormat
    by_name = {"hive.io.file.readcolumn.names": "info,full_name,cnt", "partition_columns": "part"}
    hive = [name for name in whole.schema.names if name != "part"]
    ids = {
        "columns": ",".join([*hive, "part"]),
        "hive.io.file.readcolumn.ids": ",".join(str(hive.index(c)) for c in COLUMNS[:3]),
    }
    for conf in (by_name, {**ids, "partition_columns": "part"}):
        job = made(JobConf(conf).with_input_paths([str(path)]))
        batches = [batch for split in job.get_splits(4) for batch in job.get_record_reader(split)]
        assert same(pa.Table.from_batches(batches), whole.select(COLUMNS))
    stale = made(JobConf({"hive.io.file.readcolumn.names": "name"}).with_input_paths([str(path)]))
    with pytest.raises(UnknownColumnError, match="name"):
        list(stale.get_record_reader(stale.get_splits(1)[0]))


@pytest.mark.parametrize("name", ["v8_cow_schema_evo", "v9_mor_schema_evo"])
def test_a_job_can_go_by_names(name):
    """``hudi.hive.schema.evolution`` is Hive's key, ``hoodie.schema.on.read.enable`` that of all readers."""
    path = unzip_fixture(name)
    made = HoodieParquetRealtimeInputFormat if "_mor_" in name else HoodieParquetInputFormat
    renamed = commits(name)[9].requested  # nothing was written since
    moment = {f"hoodie.{HudiTable.open(path).name}.consume.snapshot.time": renamed}
    names = {}
    for conf in (
        {},
        {"hudi.hive.schema.evolution": "false"},
        {"hoodie.schema.on.read.enable": "false"},
        {"hudi.hive.schema.evolution": "false", "hoodie.schema.on.read.enable": "true"},
    ):
        job = made(JobConf(conf | moment).with_input_paths([str(path)]))
        rows = pa.Table.from_batches([b for split in job.get_splits(1) for b in job.get_record_reader(split)])
        names[tuple(conf.items())] = sorted(rows["full_name"].to_pylist(), key=str)
    by_ids, hive, hudi, both = names.values()
    assert None not in by_ids and by_ids == both
    assert set(hive) == {None} and hive == hudi
    with pytest.raises(InvalidOptionError, match=r"schema\.evolution"):
        made(JobConf({"hudi.hive.schema.evolution": "perhaps"}).with_input_paths([str(path)])).get_splits(1)


def test_a_handle_keeps_the_columns_of_its_moment(tmp_path):
    """What was planned before a change is read as it was then, with the names of then."""
    with FakeMetastore(tmp_path / "metastore") as fake, HiveMetastore(fake.uri) as client:
        history = History("v8_cow_schema_evo", tmp_path)
        before = handle = None
        connector = HudiConnector(client)
        for number, _ in enumerate(history):
            if number == 7:
                HiveSyncTool(HiveSyncConfig(base_path=str(history.path), table="t"), metastore=client).sync()
                handle = connector.metadata.table("default", "t")
                before = HudiTable.open(history.path).scan().to_arrow()
        assert handle is not None and "name" in handle.schema.names
        assert same(pa.Table.from_batches(connector.read(handle), handle.schema), before)
        now = connector.metadata.table("default", "t")
        names = {column.name: column.hive_type for column in connector.metadata.columns(now)}
        assert names["full_name"] is None and names["ts"] == "bigint"  # the metastore does not know the name yet
        actual = pa.Table.from_batches(connector.read(now), now.schema)
        assert same(actual, HudiTable.open(history.path).scan().to_arrow())


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> HudiTable:
    """A file of many row groups, written before its columns got other names, places and types."""
    path = tmp_path_factory.mktemp("large") / "t"
    rows = pa.table(
        {
            "id": pa.array([f"{i:06d} {hashlib.sha256(b'%d' % i).hexdigest()}" for i in range(20_000)]),
            "num": pa.array(range(20_000), pa.int32()),
            "gone": pa.array([f"old {i}" for i in range(20_000)]),
            "part": pa.array(["p"] * 20_000),
        }
    )
    table = HudiTable.create(path, name="t", record_keys=["id"], partition_fields=["part"])
    table.bulk_insert(rows, {"hoodie.parquet.block.size": "100000"})
    with table.update_schema() as update:
        update.rename("num", "number").change_type("number", "bigint").drop("gone")
    with table.update_schema() as update:
        update.add("gone", "int").move("number", after="part")
    return HudiTable.open(path)


def test_splits_of_an_old_file(large):
    """Each split of a file of another version gives its own rows in the table's columns."""
    expected_rows = large.scan().to_arrow()
    assert expected_rows.schema.field("number").type == pa.int64() and expected_rows["gone"].null_count == 20_000
    job = HoodieParquetInputFormat(JobConf({}).with_input_paths([large.path]))
    splits = job.get_splits(8)
    assert len(splits) == 8
    parts = [pa.Table.from_batches(job.get_record_reader(split), expected_rows.schema) for split in splits]
    assert pa.concat_tables(parts).equals(expected_rows)
    assert sum(part.num_rows > 0 for part in parts) > 6


def test_filters_reach_the_row_groups_of_an_old_file(large, tmp_path):
    """A filter on a renamed and promoted column reads as little as one on a column that never changed."""
    with FakeMetastore(tmp_path) as fake, HiveMetastore(fake.uri) as client:
        HiveSyncTool(HiveSyncConfig(base_path=large.path, table="t"), metastore=client).sync()
        read = {}
        for text in ("number >= 19990", "id >= '019990'", "id >= '0'"):
            counters = IoCounters()
            connector = HudiConnector(client, counters=counters)
            handle = connector.metadata.table("default", "t")
            options = SplitOptions(split_row_groups=False)
            with connector.splits(handle, text, options=options) as splits:
                actual = [b for s in splits for b in connector.page_source(handle, s, ["id", "number"], text)]
            read[text] = counters["row_groups_read"]
            assert sum(batch.num_rows for batch in actual) == (20_000 if text == "id >= '0'" else 10)
        groups = sum(
            pq.read_metadata(file).num_row_groups for file in Path(urlsplit(large.path).path).rglob("*.parquet")
        )
        assert groups > 20
        assert read == {"number >= 19990": 1, "id >= '019990'": 1, "id >= '0'": groups}
