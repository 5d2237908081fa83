"""Metadata tables as tables of their records: columns and rows of real Hudi, filters, and refusals."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import MetadataTableError, UnknownColumnError, UnsupportedTableError
from hudi_hive.metrics import IoCounters
from hudi_hive.sql import PathCatalog, SqlEngine
from hudi_hive.table.core import TableDefinition, create_table
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import with_long_cases
from tests.support.tables.metadata_records import AS_TABLE, records_sha256

NAME = "v9_mor_part_rli"


def opened(name=NAME):
    return HudiTable.open(f"{unzip_fixture(name)}/.hoodie/metadata")


SOME = ("v6_mor_part_rli", "v6_cow_crash_mdt", "v8_cow_types", "v8_mor_crash_mdt", NAME)


@pytest.mark.parametrize("name", with_long_cases(SOME, AS_TABLE))
def test_columns_and_rows_are_those_of_hudi(name):
    table, hudi = opened(name), AS_TABLE[name]
    rows = table.scan().to_arrow()
    assert table.schema().names == rows.schema.names == hudi["columns"]
    assert (rows.num_rows, records_sha256(rows)) == (hudi["row_count"], hudi["sha256"])
    assert table.scan("key = '__all_partitions__'").count() == hudi["all_partitions"]


def test_it_is_a_table_with_its_own_name_partitions_and_timeline():
    table, data = opened(), HudiTable.open(unzip_fixture(NAME))
    assert table.name == f"{data.name}_metadata" and table.type == "MERGE_ON_READ" and table.version == 9
    assert table.partitions() == ["column_stats", "files", "partition_stats", "record_index"]
    assert table.partitions(["files"]) == ["files"]
    assert table.timeline.last_completed_write().requested >= data.timeline.last_completed_write().requested
    assert table.refresh().scan().count() == AS_TABLE[NAME]["row_count"]
    assert HudiTable.open(f"{unzip_fixture(NAME)}/.hoodie/metadata/").path == table.path


def test_it_is_opened_by_a_path_relative_to_its_table(monkeypatch):
    monkeypatch.chdir(unzip_fixture(NAME))
    assert HudiTable.open(".hoodie/metadata").name == opened().name


@pytest.mark.parametrize("name", ["v6_mor_part_rli", "v8_cow_part_mdt", NAME])
def test_filters_on_the_key_and_others(name):
    table = opened(name)
    rows = table.scan().to_arrow()
    keys = rows.column("key").to_pylist()
    for wanted in ([keys[0]], [keys[-1], "nothing"], keys[::7], ["nothing"]):
        listed = ", ".join("'" + key.replace("'", "''") + "'" for key in wanted)
        found = table.scan(f"key IN ({listed})").to_arrow()
        assert found.equals(rows.filter(pc.is_in(rows.column("key"), value_set=pa.array(wanted))))
    assert table.scan([("type", "=", 2)]).to_arrow().equals(rows.filter(pc.equal(rows.column("type"), 2)))
    some = table.scan("ColumnStatsMetadata.columnName IS NOT NULL AND key > 'a'", ["type", "key"], limit=3).to_arrow()
    assert some.column_names == ["type", "key"] and some.num_rows == min(3, some.num_rows) > 0
    assert set(some.column("type").to_pylist()) <= {3, 6}
    with pytest.raises(UnknownColumnError):
        table.scan(selected_fields=["nothing"]).to_arrow()


def test_a_filter_on_the_key_reads_only_file_groups_that_can_hold_it(tmp_path):
    path = tmp_path / "t"
    HudiTable.create(path, name="t", version=8, record_keys=["id"])
    options = {f"hoodie.metadata.record.index.{name}.filegroup.count": "6" for name in ("min", "max")}
    rows = pa.table({"id": [f"k{number}" for number in range(60)]})
    HudiTable.open(path).upsert(rows, {"hoodie.metadata.record.index.enable": "true", **options})
    records = f"{path}/.hoodie/metadata"
    opened_files = {}
    for condition in (None, "key = 'k7'"):
        table = HudiTable.open(records, counters=(counters := IoCounters()))
        found = table.scan(condition, ["key"]).to_arrow()
        opened_files[condition] = {name for name in counters.opened if "/record_index/" in name}
        assert "k7" in found["key"].to_pylist() and found.num_rows == (1 if condition else found.num_rows)
    groups = {one: len({name.rpartition("/")[2][:18] for name in names}) for one, names in opened_files.items()}
    assert groups == {None: 6, "key = 'k7'": 1}, opened_files


def test_other_engines_get_the_rows():
    table = opened()
    pytest.importorskip("duckdb")
    counted = table.scan().to_duckdb("m").sql("SELECT type, count(*) FROM m GROUP BY 1 ORDER BY 1").fetchall()
    assert sum(count for _, count in counted) == AS_TABLE[NAME]["row_count"]


def test_sql_reads_the_records():
    pytest.importorskip("duckdb")
    table = opened()
    engine = SqlEngine(PathCatalog({"m": table.path}))

    def rows(text):
        return engine.query(text).read_all().to_pylist()

    assert rows("SELECT count(*) AS n FROM m") == [{"n": AS_TABLE[NAME]["row_count"]}]
    (found,) = rows("SELECT key, type FROM m WHERE key = '__all_partitions__'")
    assert found == {"key": "__all_partitions__", "type": 1}
    counted = rows("SELECT count(*) AS n FROM m WHERE type > 1 AND ColumnStatsMetadata.columnName IS NOT NULL")
    assert counted == [{"n": table.scan("ColumnStatsMetadata.columnName IS NOT NULL").count()}]
    with pytest.raises(UnsupportedTableError, match="is not possible on a metadata table"):
        rows("SELECT * FROM m AT (TIMESTAMP => '2099-01-01')")
    with pytest.raises(UnsupportedTableError, match="metadata table"):
        engine.insert("INSERT INTO m SELECT 'k', 1")


@pytest.mark.parametrize(
    "query",
    [
        {"query_type": "read_optimized"},
        {"query_type": "incremental", "begin": "earliest"},
        {"query_type": "cdc", "begin": "earliest"},
        {"as_of": "20990101000000000"},
        {"options": {"hoodie.datasource.merge.type": "skip_merge"}},
    ],
    ids=str,
)
def test_anything_but_a_snapshot_is_refused(query):
    with pytest.raises(UnsupportedTableError, match="is not possible on a metadata table"):
        opened().scan(**query)


ROWS = pa.table({"key": ["k"], "type": [1]})


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.upsert(ROWS),
        lambda table: table.bulk_insert(ROWS),
        lambda table: table.delete(ROWS),
        lambda table: table.insert_overwrite_table(ROWS),
        lambda table: table.delete_partitions(["files"]),
        lambda table: table.mutator(),
        lambda table: table.update_schema(),
        lambda table: table.compact(),
        lambda table: table.clean(),
        lambda table: table.rollback(),
        lambda table: table.savepoint(),
        lambda table: table.restore("x"),
        lambda table: table.archive(),
        lambda table: table.metadata,
    ],
)
def test_changes_are_refused_by_name(change):
    with pytest.raises(UnsupportedTableError, match="a metadata table is only read"):
        change(opened())


def test_no_table_is_made_in_its_place(tmp_path):
    for path in (tmp_path / "t/.hoodie/metadata", f"{unzip_fixture(NAME)}/.hoodie/metadata"):
        with pytest.raises(UnsupportedTableError, match="no table is made where a metadata table belongs"):
            create_table(path, TableDefinition(name="t"))
    assert not (tmp_path / "t").exists()


def test_a_table_without_one_says_so():
    with pytest.raises(MetadataTableError, match="is off"):
        opened("v9_cow_nonpart")
