"""Bootstrapped tables, by Hudi 0.15.0, 1.0.2 and 1.1.1: every query that it answered, in faces without a JVM."""

from __future__ import annotations

import json
import pickle

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector
from hudi_hive.errors import CorruptFileError
from hudi_hive.input_format import HoodieParquetInputFormat, HoodieParquetRealtimeInputFormat, JobConf
from hudi_hive.metastore import HiveMetastore
from hudi_hive.plan.splits import SplitOptions
from hudi_hive.sql import ConnectorCatalog, SqlEngine
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.table.bootstrap import is_skeleton
from hudi_hive.testing import FakeMetastore
from tests.cli.shared.cli_helpers import run
from tests.support.bootstrapped import bootstrapped_names, unzip_bootstrapped
from tests.support.fixture_tables import (
    assert_same_rows,
    canonical,
    columns_of,
    encode_rows,
    expected,
    one_version_of_each,
    queries,
    rows_sha256,
)
from tests.support.running.long import with_long_cases

__all__ = ["run"]

NAMES = bootstrapped_names()
FILTERS = (
    "qty > 50",
    "id = 'k004'",
    "_hoodie_record_key IN ('k003', 'k008')",
    "_hoodie_commit_time = '00000000000001' AND qty < 40",
    "price < 100 OR _hoodie_record_key = 'k010'",
    "spot.y = 'q' AND day >= DATE '2024-05-04'",
    "name IS NULL",
)


def whole(name: str) -> pa.Table:
    return HudiTable.open(unzip_bootstrapped(name)).scan().to_arrow()


def same(actual: pa.Table, expected_rows: pa.Table) -> bool:
    names = expected_rows.column_names
    return sorted(actual.column_names) == sorted(names) and rows_sha256(encode_rows(actual, names)) == rows_sha256(
        encode_rows(expected_rows)
    )


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(NAMES), NAMES))
def test_same_rows_as_hudi(name):
    table = HudiTable.open(unzip_bootstrapped(name))
    asked = queries(name)
    assert {query["kind"] for query in asked} >= {"snapshot", "incremental", "time_travel"}
    for query in asked:
        assert "error" not in query, query["error"]
        rows = table.scan(options=query["options"]).to_arrow()
        if lacks_source_columns(name, query):
            nulls = [row[columns_of(name, query).index("id")] for row in query["rows"]]
            assert nulls.count(None) > 5 and same(rows, table.scan().to_arrow())
        elif query.get("rows_of_begin_commit_seen"):
            assert table.version == 8  # docs/format/rules.md#incremental-bounds
            assert encoded(rows, name, query) == without_begin(name, query)
        else:
            assert_same_rows(rows, name, query)


def lacks_source_columns(name, query):
    """Release 0.15.0 does not read the source of skeletons in incremental queries of merge-on-read tables."""
    is_whole = query["kind"] == "incremental" and query["begin"] == "000"
    return is_whole and expected(name)["table_type"] == "MERGE_ON_READ" and expected(name)["table_version"] == 6


def encoded(rows, name, query):
    return sorted(map(canonical, encode_rows(rows, columns_of(name, query))))


def without_begin(name, query):
    """Hudi's rows but for those of the commit at whose time the range begins."""
    (begin,) = [one["requested"] for one in expected(name)["commits"] if one["completed"] == query["begin"]]
    at = columns_of(name, query).index("_hoodie_commit_time")
    return sorted(canonical(row) for row in query["rows"] if row[at] != begin)


def test_the_fixtures_hold_what_they_are_for():
    skeletons, whole_files, with_logs = 0, 0, 0
    for name in NAMES:
        slices = HudiTable.open(unzip_bootstrapped(name)).scan().plan().slices
        bases = [path for path in slices["path"].to_pylist() if path]
        skeletons += sum(map(is_skeleton, bases))
        whole_files += sum(not is_skeleton(path) for path in bases)
        logs = zip(slices["path"].to_pylist(), slices["log_files"].to_pylist(), strict=True)
        with_logs += sum(bool(files) and is_skeleton(path or "") for path, files in logs)
    assert skeletons > 20 and whole_files > 20 and with_logs > 5
    assert {expected(name)["table_version"] for name in NAMES} == {6, 8, 9}


@pytest.mark.parametrize("name", with_long_cases(NAMES[::5], NAMES))
def test_filters_columns_and_counts(name):
    rows = whole(name)
    table = HudiTable.open(unzip_bootstrapped(name))
    assert table.scan().count() == rows.num_rows
    found = 0
    texts = [*FILTERS, "region = 'eu' AND qty > 10"] if "region" in rows.column_names else FILTERS
    for text in texts:
        expected_rows = duckdb.sql(f"SELECT * FROM rows WHERE {text}").to_arrow_table().cast(rows.schema)
        scan = table.scan(text)
        assert same(scan.to_arrow(), expected_rows), text
        assert scan.count() == expected_rows.num_rows
        found += expected_rows.num_rows > 0
    assert found > 4
    for columns in (["price", "_hoodie_file_name"], ["id"], ["_hoodie_record_key"], ["ts", "spot"]):
        assert same(table.scan(selected_fields=columns).to_arrow(), rows.select(columns))


def test_a_count_and_meta_columns_take_no_column_of_the_source(tmp_path):
    """Rows are counted by footers; the pages of a source file are read for its own columns alone."""
    path = unzip_bootstrapped("bootstrapped/v9_cow_nonpart_metadata_only", tmp_path)
    rows = HudiTable.open(path).scan().to_arrow()
    for source in path.with_name(path.name + "_source").glob("*.parquet"):
        content = bytearray(source.read_bytes())
        content[4:900] = bytes(896)
        source.write_bytes(content)
    table = HudiTable.open(path)
    assert table.scan().count() == rows.num_rows
    names = ["_hoodie_record_key", "_hoodie_partition_path"]
    assert same(table.scan(selected_fields=names).to_arrow(), rows.select(names))
    with pytest.raises(CorruptFileError):
        table.scan(selected_fields=["id", "name"]).to_arrow()


@pytest.mark.parametrize("name", with_long_cases(NAMES[1::6], NAMES))
def test_engines(name):
    rows = whole(name)
    table = HudiTable.open(unzip_bootstrapped(name))
    connection = table.scan().to_duckdb("t")
    assert same(connection.sql("SELECT * FROM t").to_arrow_table().cast(rows.schema), rows)
    total = connection.sql("SELECT sum(qty), count(*), max(_hoodie_record_key) FROM t WHERE qty > 20").fetchall()
    kept = rows.filter(pc.greater(rows["qty"], 20))
    assert total == [(pc.sum(kept["qty"]).as_py(), kept.num_rows, pc.max(kept["_hoodie_record_key"]).as_py())]
    assert same(table.scan().to_polars().to_arrow().cast(rows.schema), rows)
    lazy = table.scan().to_polars_lazy()
    assert lazy.select("qty").collect()["qty"].sum() == pc.sum(rows["qty"]).as_py()


@pytest.mark.parametrize("name", with_long_cases(NAMES[2::5], NAMES))
def test_jobs_of_hive(name):
    """Splits and record readers of both input formats; with them the read-optimised rows and the merged ones."""
    path = unzip_bootstrapped(name)
    table = HudiTable.open(path)
    for made, kind in ((HoodieParquetInputFormat, "read_optimized"), (HoodieParquetRealtimeInputFormat, "snapshot")):
        rows = table.scan(query_type=kind).to_arrow()
        job = made(JobConf({}).with_input_paths([str(path)]))
        splits = job.get_splits(3)
        batches = [b for split in splits for b in job.get_record_reader(pickle.loads(pickle.dumps(split)))]
        assert same(pa.Table.from_batches(batches, rows.schema), rows)


@pytest.mark.parametrize("name", with_long_cases(NAMES[::4], NAMES))
def test_a_synced_table(name, tmp_path):
    """The metastore's entry is that of any table; splits of the connector and SQL give the rows."""
    rows, path = whole(name), unzip_bootstrapped(name)
    with FakeMetastore(tmp_path) as fake, HiveMetastore(fake.uri) as client:
        HiveSyncTool(HiveSyncConfig(base_path=str(path), table="t"), metastore=client).sync()
        shown = "t_rt" if "_mor_" in name else "t"
        with HudiConnector(client) as connector:
            handle = connector.metadata.table("default", shown)
            assert same(pa.Table.from_batches(list(connector.read(handle)), handle.schema), rows)
            filtered = list(connector.read(handle, ["id", "qty"], "qty > 50"))
            kept = rows.filter(pc.greater(rows["qty"], 50)).select(["id", "qty"])
            assert same(pa.Table.from_batches(filtered, kept.schema), kept)
            engine = SqlEngine(ConnectorCatalog(connector), threads=1)
            counted = engine.query(f"SELECT count(*) AS n FROM {shown} WHERE price < 200").read_all()
            assert counted["n"].to_pylist() == [rows.filter(pc.less(rows["price"], 200)).num_rows]


def test_splits_of_a_scan():
    for name in NAMES[::5]:
        rows = whole(name)
        scan = HudiTable.open(unzip_bootstrapped(name)).scan()
        with scan.splits(SplitOptions(target_size=1_000)) as loader:
            splits = pickle.loads(pickle.dumps(list(loader)))
        source = pickle.loads(pickle.dumps(scan.page_sources()))
        batches = [batch for split in splits for batch in source.read(split)]
        assert same(pa.Table.from_batches(batches, rows.schema), rows)


def test_the_command_line(run):
    name = "bootstrapped/v8_mor_mixed"
    path, rows = unzip_bootstrapped(name), whole(name)
    code, out, _ = run("read", str(path), "--columns", "id,price", "--where", "qty > 30", "--format", "json")
    assert code == 0
    kept = rows.filter(pc.greater(rows["qty"], 30)).select(["id", "price"])
    assert sorted(json.loads(out), key=lambda row: row["id"]) == sorted(kept.to_pylist(), key=lambda row: row["id"])
    for words in (("stats", str(path)), ("timeline", str(path)), ("files", str(path))):
        code, out, err = run(*words)
        assert code == 0, err
