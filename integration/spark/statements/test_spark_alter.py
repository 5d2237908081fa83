"""``ALTER TABLE`` of columns in Spark SQL on synced tables: the table's schema changes, and the catalog follows."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from pyspark.sql import functions

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, SchemaError
from hudi_hive.schema import META_FIELDS
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.table import MetaClient
from hudi_hive.write.alter import alter_schema
from integration.conftest import DATABASE
from tests.support.fixture_tables import encode_rows, rows_sha256, unzip_fixture
from tests.support.running.long import long_case

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

NESTED = "v9_cow_schema_evo"
PLAIN = "v8_cow_part_mdt"
MERGED = "v8_mor_part_rli"

META = 5


def columns(spark, table):
    return [(field.name, field.dataType.simpleString()) for field in spark.table(table).schema.fields][META:]


def same(frame, expected):
    rows = frame.toArrow()
    assert sorted(rows.column_names) == sorted(expected.column_names)
    assert rows_sha256(encode_rows(rows, expected.column_names)) == rows_sha256(encode_rows(expected))


def history(path):
    client = MetaClient.load(path)
    last = client.schema_commit()
    return [last.operation, len(client.schema_history_files()), client.timeline.write_instants()[-1].action]


STATEMENTS = [
    ("ADD COLUMNS (first_of_all INT FIRST)", "Hudi forbids"),
    ("ADD COLUMNS (first_of_all INT AFTER _hoodie_file_name, info.late STRING COMMENT 'late' AFTER c)", None),
    ("ADD COLUMN amount DECIMAL(10, 2) COMMENT 'money' AFTER cnt", None),
    ("ADD COLUMN sizes ARRAY<STRUCT<w: INT, h: BIGINT COMMENT 'high'>>", None),
    ("RENAME COLUMN full_name TO called", None),
    ("RENAME COLUMN info.bee TO b", None),
    ("ALTER COLUMN id TYPE STRING", "record key"),
    ("ALTER COLUMN id TYPE BIGINT", None),
    ("ALTER COLUMN info.a TYPE BIGINT", None),
    ("ALTER COLUMN cnt TYPE STRING", None),
    ("ALTER COLUMN extra COMMENT 'said'", None),
    ("ALTER COLUMN ratio AFTER tags", None),
    ("ALTER COLUMN info.a FIRST", None),
    ("ALTER COLUMN called SET NOT NULL", "required"),
    ("DROP COLUMNS (extra, sizes.element.w)", None),
    ("DROP COLUMN nowhere", "no column 'nowhere'"),
    ("DROP COLUMN part", "partition column"),
    ("ADD COLUMN CALLED INT", "'called' already"),
    ("ADD COLUMN must INT NOT NULL", "NOT NULL"),
    ("ADD COLUMN given INT DEFAULT 1", "default"),
    ("ADD COLUMN `a.b` INT", "dot"),
    ("ADD COLUMN s STRUCT<a: INT NOT NULL>", "inside a type"),
    ("ALTER COLUMN tags TYPE STRING", "cannot become"),
]


def test_every_statement_on_a_synced_table(spark, synced, metastore, tmp_path):
    path = unzip_fixture(NESTED, tmp_path)
    table = synced(NESTED, tmp_path, "altered")
    before = HudiTable.open(path).scan().to_arrow()
    for statement, refusal in STATEMENTS:
        commits = len(MetaClient.load(path).timeline.write_instants())
        if refusal is not None:
            with pytest.raises(HudiHiveError) as caught:
                spark.sql(f"ALTER TABLE {table} {statement}")
            assert refusal in str(caught.value) and str(path) in caught.value.path, statement
            assert len(MetaClient.load(path).timeline.write_instants()) == commits
            continue
        assert spark.sql(f"ALTER TABLE {table} {statement}").collect() == []
        assert len(MetaClient.load(path).timeline.write_instants()) == commits + 1, statement
    last = MetaClient.load(path).timeline.write_instants()[-1].requested
    assert columns(spark, table) == [
        ("first_of_all", "int"),
        ("id", "bigint"),
        ("called", "string"),
        ("cnt", "string"),
        ("amount", "decimal(10,2)"),
        ("info", "struct<a:bigint,c:double,late:string,b:string>"),
        ("tags", "array<string>"),
        ("ratio", "double"),
        ("ts", "bigint"),
        ("sizes", "array<struct<h:bigint>>"),
        ("part", "string"),
    ]
    described = {row.col_name: row.data_type for row in spark.sql(f"DESCRIBE {table}").collect()}
    assert described["cnt"] == "string" and "full_name" not in described
    hive = {column.name: column.comment for column in metastore.table(*table.split(".")).sd.cols}
    assert hive["amount"] == "money"
    documented = HudiTable.open(path).schema_history().to_pylist()
    assert next(row["doc"] for row in documented if row["column"] == "sizes.element.h") == "high"
    now = HudiTable.open(path).scan().to_arrow()
    same(spark.table(table), now)
    assert sorted(now.column("called").to_pylist(), key=str) == sorted(before.column("full_name").to_pylist(), key=str)
    assert sorted(now.column("cnt").to_pylist()) == sorted(map(str, before.column("cnt").to_pylist()))
    idle = ("DROP COLUMN IF EXISTS nowhere", "ALTER COLUMN called DROP NOT NULL", "CHANGE COLUMN cnt cnt STRING")
    assert [spark.sql(f"ALTER TABLE {table} {statement}").collect() for statement in idle] == [[], [], []]
    assert MetaClient.load(path).timeline.write_instants()[-1].requested == last


def native(frame):
    """Whether each line of an explanation tells of Spark's own reader, with its number of files."""
    lines = [line.split("; ")[1] for line in hudi_spark.explain(frame).splitlines()]
    return [(line.startswith("Spark"), int("".join(c for c in line.split(",")[0] if c.isdigit()))) for line in lines]


def test_files_of_before_and_after_a_change_in_one_query(spark, synced, tmp_path):
    path = unzip_fixture(PLAIN, tmp_path)
    table = synced(PLAIN, tmp_path, "changed")
    count = len(HudiTable.open(path).scan().to_arrow())
    assert MetaClient.load(path).evolved_schema() is None and native(spark.table(table)) == [(True, 3)]
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN page TO address")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN seen BOOLEAN")
    assert native(spark.table(table)) == [(True, 0), (False, 3)]
    assert native(spark.sql(f"SELECT visit_id, seen FROM {table}")) == [(True, 3)]
    one = spark.table(table).where("city = 'oslo'").drop(*META_FIELDS).limit(1)
    rows = one.withColumn("address", functions.lit("new")).withColumn("seen", functions.lit(True))
    hudi_spark.write(rows, path, {"hoodie.datasource.write.operation": "upsert"})
    assert native(spark.table(table)) == [(True, 1), (False, 2)]
    assert native(spark.table(table).where("city = 'oslo'")) == [(True, 1)]
    assert spark.table(table).count() == count
    assert spark.sql(f"SELECT seen FROM {table} WHERE address = 'new'").collect() == [(True,)]
    same(spark.table(table), HudiTable.open(path).scan().to_arrow())


@pytest.mark.parametrize("suffix", [long_case(""), "_rt"])
def test_all_views_of_a_merged_table_follow(spark, synced, tmp_path, metastore, suffix):
    name = f"followed_by{suffix}_too"
    path = unzip_fixture(MERGED, tmp_path)
    table = synced(MERGED, tmp_path, name)
    spark.sql(f"ALTER TABLE {table}{suffix} RENAME COLUMN driver TO rider")
    spark.sql(f"ALTER TABLE {table}{suffix} ALTER COLUMN fare TYPE STRING")
    ours = HudiTable.open(path)
    assert history(path) == ["ALTER_SCHEMA", 2, "deltacommit"]
    same(spark.table(f"{table}_rt"), ours.scan().to_arrow())
    same(spark.table(f"{table}_ro"), ours.scan(query_type="read_optimized").to_arrow())
    same(spark.table(table), ours.scan().to_arrow())
    assert sorted(metastore.tables(DATABASE, f"{name}*")) == [name, f"{name}_ro", f"{name}_rt"]


def test_the_other_ways_of_a_sync_are_kept(spark, synced, tmp_path, metastore):
    path = unzip_fixture(MERGED, tmp_path)
    for number, options in enumerate(({"skip_ro_suffix": True}, {"strategy": "RO"}, {"strategy": "RT"})):
        table = synced(MERGED, tmp_path / f"{number}", f"kept{number}", support_timestamp=True, **options)
        path = tmp_path / f"{number}" / MERGED
        tables = metastore.tables(DATABASE, f"kept{number}*")
        spark.sql(f"ALTER TABLE {table} ADD COLUMN at TIMESTAMP")
        assert metastore.tables(DATABASE, f"kept{number}*") == tables
        kind = "snapshot" if options.get("strategy") == "RT" else "read_optimized"
        same(spark.table(table), HudiTable.open(path).scan(query_type=kind).to_arrow())


def test_a_table_by_path(spark, tmp_path):
    path = unzip_fixture(PLAIN, tmp_path)
    spark.sql(f"ALTER TABLE hudi.`{path}` ADD COLUMNS (seen BOOLEAN COMMENT 'was it', n INT)")
    same(spark.sql(f"SELECT * FROM hudi.`{path}`"), HudiTable.open(path).scan().to_arrow())
    with pytest.raises(SchemaError, match="'seen' already"):
        spark.sql(f"ALTER TABLE hudi.`{path}` ADD COLUMN Seen INT")


def test_columns_of_a_table_with_times_without_a_zone_are_added_by_name(spark, tmp_path):
    """Hudi cannot read their type from a schema with ids: what needs ids is refused."""
    path = tmp_path / "local"
    table = HudiTable.create(path, name="local", record_keys=["id"])
    table.insert(pa.table({"id": ["a"], "at": pa.array([datetime.datetime(2024, 1, 2)])}))
    spark.sql(f"ALTER TABLE hudi.`{path}` ADD COLUMNS (n INT, later TIMESTAMP_NTZ COMMENT 'then')")
    columns = [field for field in HudiTable.open(path).scan().to_arrow().schema if field.name not in META_FIELDS]
    row = {"id": "b", "n": 5, "at": None, "later": None}
    table.refresh().insert(pa.Table.from_pylist([row], pa.schema(columns)))
    found = spark.sql(f"SELECT id, n, at IS NULL, later IS NULL FROM hudi.`{path}` ORDER BY id").collect()
    assert [tuple(row) for row in found] == [("a", None, False, True), ("b", 5, True, True)]
    rows = HudiTable.open(path).scan().to_arrow().sort_by("id")
    assert rows.column("at").to_pylist() == [datetime.datetime(2024, 1, 2), None]
    assert rows.schema.field("later").type == rows.schema.field("at").type
    for statement in (
        "RENAME COLUMN n TO m",
        "DROP COLUMN n",
        "ALTER COLUMN n TYPE BIGINT",
        "REPLACE COLUMNS (id STRING)",
    ):
        with pytest.raises(SchemaError, match="Hudi cannot read"):
            spark.sql(f"ALTER TABLE hudi.`{path}` {statement}")


REFUSED = [
    ("REPLACE COLUMNS (page STRING)", "not among the columns"),
    ("REPLACE COLUMNS ({keys}, page BOOLEAN)", "cannot become"),
    ("REPLACE COLUMNS ({keys}, PAGE STRING, page STRING)", "named twice"),
    ("REPLACE COLUMNS ({keys}, _hoodie_file_name STRING)", "meta column"),
    ("REPLACE COLUMNS ({keys}, page STRING DEFAULT 'x')", "default|DEFAULT"),
    ("REPLACE COLUMNS ({keys}, page STRING NOT NULL)", "NOT NULL"),
]


def key_columns(spark, path):
    """The columns that a table needs, as SQL lists columns."""
    config = MetaClient.load(path).config
    names = {*config.record_keys, *config.partition_fields, *config.ordering_fields}
    fields = spark.sql(f"SELECT * FROM hudi.`{path}`").schema.fields
    return ", ".join(f"`{one.name}` {one.dataType.simpleString()}" for one in fields if one.name in names)


def test_what_is_refused_changes_nothing(spark, synced, tmp_path):
    path = unzip_fixture(PLAIN, tmp_path)
    table = synced(PLAIN, tmp_path, "unchanged")
    keys = key_columns(spark, path)
    for statement, reason in REFUSED:
        with pytest.raises(Exception, match=reason):
            spark.sql(f"ALTER TABLE {table} {statement.format(keys=keys)}")
    other = spark.newSession()
    for setting, value in (("hive.metastore.uris", ""), ("hoodie.write.lock.provider", "no.such.Provider")):
        other.conf.set(setting, value)
        with pytest.raises(HudiHiveError, match=r"metastore server|no\.such\.Provider"):
            other.sql(f"ALTER TABLE {table} ADD COLUMN x INT")
        other.conf.unset(setting)
    assert MetaClient.load(path).evolved_schema() is None


@pytest.mark.parametrize("name", [long_case(PLAIN), MERGED])
def test_columns_in_place_of_all(spark, synced, tmp_path, metastore, name):
    """Columns that are named keep their values and come in the list's order, all others go or are new."""
    path = unzip_fixture(name, tmp_path)
    table = synced(name, tmp_path, f"replaced_{name[:6]}")
    before = HudiTable.open(path).scan().to_arrow()
    keys = key_columns(spark, path)
    kept, gone = [c for c in before.column_names[META:] if f"`{c}`" not in keys][:2]
    kind = dict(columns(spark, table))[kept]
    statement = f"ALTER TABLE {table} REPLACE COLUMNS (`{kept}` {kind} COMMENT 'stays', fresh STRUCT<a: INT>, {keys})"
    assert spark.sql(statement).collect() == []
    now = HudiTable.open(path).scan().to_arrow()
    assert now.column_names[META:][:2] == [kept, "fresh"] and gone not in now.column_names
    assert now.column("fresh").null_count == now.num_rows
    order = "_hoodie_record_key"
    same_columns = [c for c in now.column_names if c != "fresh"]
    assert now.sort_by(order).select(same_columns).equals(before.sort_by(order).select(same_columns))
    shown = f"{table}_rt" if name == MERGED else table
    same(spark.table(shown), now)
    hive = {column.name: column for column in metastore.table(*table.split(".")).sd.cols}
    assert hive[kept].comment == "stays" and hive["fresh"].type == "struct<a:int>" and gone not in hive
    commits = len(MetaClient.load(path).timeline.write_instants())
    assert spark.sql(statement).collect() == []  # the columns are so already
    assert len(MetaClient.load(path).timeline.write_instants()) == commits
    spark.sql(f"BEGIN ALTER TABLE hudi.`{path}` REPLACE COLUMNS ({gone} STRING, {keys}, {kept} {kind}); END")
    back = spark.sql(f"SELECT * FROM hudi.`{path}`")
    assert back.where(f"{gone} IS NOT NULL").count() == 0 and back.count() == before.num_rows
    assert "fresh" not in back.columns and back.where(f"{kept} IS NOT NULL").count() > 0


def test_a_catalog_that_did_not_follow(spark, synced, tmp_path):
    path = unzip_fixture(PLAIN, tmp_path)
    table = synced(PLAIN, tmp_path, "behind")
    alter_schema(MetaClient.load(path), lambda update: update.add("more", "int"))
    assert "more" not in spark.table(table).columns  # a catalog may lack columns
    alter_schema(MetaClient.load(path), lambda update: update.rename("page", "address"))
    with pytest.raises(SchemaError, match="page") as caught:
        spark.table(table)
    assert "sync" in caught.value.remedy
    spark.sql(f"ALTER TABLE {table} ADD COLUMN last INT")  # the sync after it brings all of them
    assert {"more", "address", "last"} <= set(spark.table(table).columns)


def test_a_type_that_the_catalog_cannot_take_is_refused_before_it_is_written(spark, metastore, tmp_path):
    """The metastore lets no text become a date: under its old type no SELECT by name could read the table."""
    path, table = str(tmp_path / "days"), f"{DATABASE}.days"
    hudi = HudiTable.create(path, name="days", record_keys=["id"])
    hudi.insert(pa.table({"id": ["a"], "d": pa.array([datetime.date(2024, 1, 2)])}))
    HiveSyncTool(HiveSyncConfig(base_path=path, database=DATABASE, table="days"), metastore=metastore).sync()
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN d TYPE STRING")
    assert spark.sql(f"SELECT d FROM {table}").collect()[0].d == "2024-01-02"
    with pytest.raises(SchemaError, match="metastore's table"):
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN d TYPE DATE")
    assert spark.sql(f"SELECT d FROM {table} WHERE d = '2024-01-02'").count() == 1
    assert len(MetaClient.load(path).timeline.write_instants()) == 2
    # By path no catalog is in the way, and the file's own type is the new one.
    spark.sql(f"ALTER TABLE hudi.`{path}` ALTER COLUMN d TYPE DATE")
    assert hudi_spark.load(spark, path).select("d").collect()[0].d == datetime.date(2024, 1, 2)


def test_values_that_a_new_type_cannot_take_are_found_where_the_session_says_so(spark, tmp_path):
    path = tmp_path / "checked"
    table = HudiTable.create(path, name="checked", version=8, record_keys=["id"])
    table.upsert(pa.table({"id": [1, 2], "s": ["2024-01-05", "soon"]}), {"hoodie.metadata.enable": "false"})
    before = table.refresh().timeline.instants
    change = f"ALTER TABLE hudi.`{path}` ALTER COLUMN s TYPE DATE"
    spark.conf.set("hoodie.schema.alter.check.data", "true")
    try:
        with pytest.raises(SchemaError, match=r"s.*'soon' in"):
            spark.sql(change)
        assert table.refresh().timeline.instants == before
        table.refresh().upsert(pa.table({"id": [2], "s": ["2024-01-06"]}), {"hoodie.metadata.enable": "false"})
        spark.sql(change)
    finally:
        spark.conf.unset("hoodie.schema.alter.check.data")
    days = [datetime.date(2024, 1, 5), datetime.date(2024, 1, 6)]
    assert sorted(row.s for row in spark.sql(f"SELECT s FROM hudi.`{path}`").collect()) == days
