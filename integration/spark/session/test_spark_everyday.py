"""What users of Spark SQL do all day, on synced tables: the shapes of statements, names, catalog, caches, refusals."""

from __future__ import annotations

import gc
import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, NoSuchObjectError, SparkError
from hudi_hive.metastore.client import FieldSchema, Partition, SerDeInfo, SkewedInfo, StorageDescriptor, Table
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from integration.spark.statements.test_spark_sql import count, files_below, hide_last_commit
from tests.support.fixture_tables import encode_rows, rows_sha256, unzip_fixture
from tests.support.metastore.sync_golden import dump, inputs, stages
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

COW = "v9_cow_part_mdt"
MOR = "v9_mor_part_rli"
TYPES = "v9_cow_types"


def text_of(frame):
    return sorted(map(str, frame.collect()))


# -- shapes of statements: as over a Parquet file with the table's rows ------------------------------------------------

STATEMENTS = [
    "SELECT * FROM (SELECT region, stops, fare FROM {m}) PIVOT (sum(fare) FOR region IN ('north' a, 'west' b))",
    "SELECT region, driver, count(*) FROM {m} GROUP BY GROUPING SETS ((region), (driver), ())",
    "SELECT region, stops, sum(fare) FROM {m} GROUP BY ROLLUP (region, stops) HAVING count(*) > 1",
    "SELECT ride_id FROM {m} EXCEPT SELECT ride_id FROM {m} WHERE region = 'north'",
    "SELECT ride_id FROM {m} WHERE fare > 1 INTERSECT SELECT ride_id FROM {m} WHERE region = 'west'",
    "SELECT ride_id, lag(fare) OVER w, avg(fare) OVER w FROM {m} WINDOW w AS (PARTITION BY region ORDER BY ride_id)",
    "SELECT count(*) FROM {m} TABLESAMPLE (100 PERCENT)",
    "SELECT ride_id FROM {m} a WHERE fare = (SELECT max(fare) FROM {m} b WHERE b.region = a.region)",
    "SELECT region, x.n FROM {m} a, LATERAL (SELECT count(*) n FROM {c} b WHERE b.visit_id < a.stops) x",
    "SELECT c.city, m.region FROM {c} c FULL JOIN {m} m ON c.visit_id = m.stops AND c.city > m.region",
    "SELECT city FROM {c} LEFT SEMI JOIN {m} ON visit_id = stops",
    "SELECT _hoodie_partition_path, max(_hoodie_commit_time) FROM {m} GROUP BY 1 ORDER BY 1 LIMIT 2 OFFSET 1",
    "SELECT id, e, k, v FROM {t} LATERAL VIEW OUTER explode(arr) AS e LATERAL VIEW OUTER explode(m) AS k, v",
    "SELECT id, st.y.z, get(st.y.w, 0), get(aos, 0).k, transform(aos, a -> a.v), map_keys(mos), m['a'] FROM {t}",
    "SELECT day, count(*), sum(dec), max(at), max(small) FROM {t} WHERE at > '1970-01-02' OR at IS NULL GROUP BY day",
    "FROM {m} |> WHERE region <> 'west' |> AGGREGATE sum(fare) AS s GROUP BY region |> ORDER BY s",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n, ride_id FROM r, {m}",
    "SELECT * FROM (VALUES (1), (2)) v(x) WHERE x < (SELECT count(*) FROM {c})",
]


@pytest.fixture(scope="module")
def names(spark, synced, tmp_path_factory):
    """Statement parameters for the tables, and for views of the same rows in Parquet files."""
    folder = tmp_path_factory.mktemp("plain")
    ours, plain = {}, {}
    for letter, name in (("c", COW), ("m", MOR), ("t", TYPES)):
        ours[letter] = synced(name)
        pq.write_table(HudiTable.open(unzip_fixture(name)).scan().to_arrow(), folder / f"{name}.parquet")
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(f"everyday_{letter}")
        plain[letter] = f"everyday_{letter}"
    return ours, plain


@pytest.mark.parametrize("statement", with_long_cases(STATEMENTS[::3], STATEMENTS))
def test_statements_answer_as_on_plain_tables(spark, names, statement):
    ours, plain = (text_of(spark.sql(statement.format(**item))) for item in names)
    assert ours == plain


def test_parameters_scripts_and_variables(spark, names):
    table = names[0]["c"]
    asked = f"SELECT count(*) FROM {table} WHERE city"
    assert spark.sql(f"{asked} = :city", args={"city": "oslo"}).collect()[0][0] == 6
    assert spark.sql(f"{asked} = ?", args=["oslo"]).collect()[0][0] == 6
    assert spark.sql("SELECT count(*) FROM IDENTIFIER(:t)", args={"t": table}).collect()[0][0] == 15
    assert spark.sql("SELECT count(*) FROM {t}", t=spark.table(table)).collect()[0][0] == 15
    assert spark.sql(f"EXECUTE IMMEDIATE \"{asked} = ?\" USING 'oslo'").collect()[0][0] == 6
    script = f"BEGIN DECLARE n BIGINT; SET n = (SELECT count(*) FROM {table}); IF n > 9 THEN SELECT n; END IF; END"
    assert spark.sql(script).collect()[0][0] == 15


def test_data_frame_operations_work(spark, names):
    from pyspark.sql import Observation, functions

    table = names[0]["m"]
    seen = Observation()
    frame = spark.table(table).observe(seen, functions.count("*").alias("n"))
    assert frame.groupBy("region").pivot("driver").count().count() == 3 and seen.get == {"n": 26}
    assert spark.table(table).sample(1.0, seed=1).dropDuplicates(["ride_id"]).count() == 26
    assert spark.table(table).filter("region = 'west'").unionByName(spark.table(table)).count() > 26


def test_the_pandas_api_works(spark, names):
    table = names[0]["c"]
    frame = spark.table(table).pandas_api()
    assert frame.groupby("city").visit_id.count().to_dict()["oslo"] == 6
    assert len(frame[frame.city == "oslo"]) == 6


@pytest.mark.long
def test_sessions_can_be_garbage_collected(spark, names):
    from hudi_hive.spark.scan import HudiFileIndex
    from hudi_hive.spark.statements import HudiParser

    held = spark.sparkContext._gateway.gateway_property.pool.dict
    system = spark._jvm.java.lang.System

    def hooks(kind):
        gc.collect()
        system.gc()
        system.runFinalization()
        return sum(isinstance(item, kind) for item in list(held.values()))

    # What other tests left is on its way out, perhaps; counted at its most.
    before, indexes = hooks(HudiParser), hooks(HudiFileIndex)
    for _ in range(5):
        other = spark.newSession()
        for table in names[0].values():
            assert other.sql(f"SELECT * FROM {table} JOIN {table} USING (_hoodie_record_key)").columns
        assert other.table(names[0]["m"]).columns
    del other
    # Spark itself keeps the last session, and what it references is given back by a thread of its own.
    for _ in range(200):
        if hooks(HudiParser) <= before + 1:
            break
    assert hooks(HudiParser) <= before + 1 and hooks(HudiFileIndex) < indexes + 5 * 4


# -- names and catalog -------------------------------------------------------------------------------------------------


def test_every_spelling_of_a_name_finds_the_table(spark, names):
    database, table = names[0]["m"].split(".")
    other = spark.newSession()
    other.sql(f"USE {database}")
    for name in (table, table.upper(), f"`{table}`", f"spark_catalog.{database}.{table}", f"{table}_rt"):
        assert count(other, name) == 26
    row = other.sql(f"SELECT {table}.RIDE_ID, {database}.{table}._HOODIE_FILE_NAME FROM {database}.{table} LIMIT 1")
    assert row.count() == 1
    assert count(spark, f"{database}.{table} JOIN {names[1]['m']} USING (ride_id)") == 26


def test_the_catalog_describes_tables_and_columns(spark, names):
    database, table = names[0]["c"].split(".")
    full = names[0]["c"]
    catalog = spark.catalog
    assert table in {item.name for item in catalog.listTables(database)}
    assert catalog.tableExists(full) and catalog.getTable(full).tableType == "EXTERNAL"
    columns = catalog.listColumns(full)
    assert [item.name for item in columns] == spark.table(full).columns
    assert [item.name for item in columns if item.isPartition] == ["city"]
    assert [row.col_name for row in spark.sql(f"SHOW COLUMNS IN {full}").collect()] == spark.table(full).columns
    assert "USING hudi" in spark.sql(f"SHOW CREATE TABLE {full}").collect()[0][0]
    described = {row.col_name: row.data_type for row in spark.sql(f"DESCRIBE EXTENDED {full}").collect()}
    assert described["Provider"] == "hudi" and described["visit_id"] == "bigint"
    assert spark.sql(f"DESCRIBE {full} visit_id").collect()[1].info_value == "bigint"
    assert spark.sql(f"SHOW TBLPROPERTIES {full}").count() >= 2


def test_show_partitions_lists_those_that_are_named(spark, names, synced):
    def shown(text):
        return [row.partition for row in spark.sql(f"SHOW PARTITIONS {text}").collect()]

    table = names[0]["c"]
    assert shown(table) == ["city=kyiv", "city=lima", "city=oslo"]
    assert shown(f"{table} PARTITION (city = 'oslo')") == ["city=oslo"]
    assert shown(f"{table} PARTITION (city = 'paris')") == []
    assert shown(f"{names[0]['m']}_ro") == ["region=north", "region=south", "region=west"]
    dates = synced("v8_cow_ymd_hive")
    assert shown(f"{dates} PARTITION (year = 2024, month = 1)") == ["year=2024/month=01/day=11"]
    with pytest.raises(SparkError, match="country"):
        shown(f"{table} PARTITION (country = 'x')")
    plain = synced("v9_cow_nonpart")
    assert shown(plain) == []
    with pytest.raises(SparkError, match="no partition columns"):
        shown(f"{plain} PARTITION (country = 'x')")


@pytest.mark.parametrize(
    ("kind", "partitions", "emptied"),
    with_long_cases(
        [
            ("MERGE_ON_READ", ["city", "day"], True),
            ("COPY_ON_WRITE", [], False),
        ],
        itertools.product(("COPY_ON_WRITE", "MERGE_ON_READ"), (["city"], ["city", "day"], []), (False, True)),
    ),
)
def test_statements_about_tables_without_rows(spark, metastore, tmp_path, kind, partitions, emptied):
    """Never written to, or emptied: what shows, describes and analyses a table answers."""
    schema = {"type": "record", "name": "r", "fields": [{"name": n, "type": "string"} for n in ("id", "city", "day")]}
    name = f"bare_{kind[:4].lower()}{len(partitions)}{emptied:d}"
    table = HudiTable.create(
        tmp_path / name,
        name=name,
        table_type=kind,
        record_keys=["id"],
        partition_fields=partitions,
        create_schema=schema,
        hive_style_partitioning=True,
    )
    if emptied:
        rows = pa.table({"id": ["a", "b"], "city": ["x", "y"], "day": ["1", "2"]})
        table.insert(rows)
        table.delete(rows) if not partitions else table.delete_partitions(["*"])
    config = HiveSyncConfig(base_path=str(tmp_path / name), database="hudi_it", table=name)
    HiveSyncTool(config, metastore=metastore).sync()
    full = f"hudi_it.{name}" + ("_rt" if kind == "MERGE_ON_READ" else "")
    assert spark.sql(f"SHOW PARTITIONS {full}").collect() == []
    if partitions:
        assert spark.sql(f"SHOW PARTITIONS {full} PARTITION (city = 'x')").collect() == []
    assert spark.sql(f"SELECT * FROM {full}").collect() == []
    assert spark.sql(f"SELECT count(*) FROM {full} WHERE city = 'x'").collect()[0][0] == 0
    columns = spark.table(full).columns
    assert [row.col_name for row in spark.sql(f"SHOW COLUMNS IN {full}").collect()] == columns
    for statement in ("DESCRIBE", "DESCRIBE EXTENDED", "DESCRIBE FORMATTED", "SHOW CREATE TABLE", "SHOW TBLPROPERTIES"):
        assert spark.sql(f"{statement} {full}").collect()
    assert spark.sql(f"DESCRIBE {full} city").collect()
    assert spark.sql(f"SHOW TABLE EXTENDED IN hudi_it LIKE '{full.partition('.')[2]}'").count() == 1
    for statement in ("ANALYZE TABLE {} COMPUTE STATISTICS", "ANALYZE TABLE {} COMPUTE STATISTICS FOR ALL COLUMNS"):
        spark.sql(statement.format(full))
    assert metastore.table("hudi_it", full.partition(".")[2]).parameters["spark.sql.statistics.numRows"] == "0"


# -- views, copies, caches, freshness ----------------------------------------------------------------------------------


def test_views_and_caches_after_a_commit(spark, synced, tmp_path):
    table = synced("v9_cow_nonpart", tmp_path, "everyday_fresh")
    _, commit = hide_last_commit(tmp_path / "v9_cow_nonpart")
    spark.sql(f"CREATE OR REPLACE VIEW hudi_it.kept AS SELECT * FROM {table}")
    spark.sql(f"CREATE OR REPLACE GLOBAL TEMP VIEW shared AS SELECT * FROM {table}")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW mine AS SELECT * FROM {table}")
    frame = spark.table(table).cache()
    views = ("hudi_it.kept", "global_temp.shared", "mine")
    assert [count(spark, view) for view in views] == [35] * 3 and frame.count() == 35
    commit()
    # A cached frame keeps its rows, as Spark's caches do; names see the commit.
    assert [count(spark, view) for view in views] == [31] * 3
    assert frame.count() == 35 and count(spark, table) == 31
    frame.unpersist()
    other = spark.newSession()
    assert count(other, "hudi_it.kept") == count(other, "global_temp.shared") == 31
    spark.catalog.cacheTable(table)
    assert spark.catalog.isCached(table) and count(spark, table) == 31
    spark.sql(f"REFRESH TABLE {table}")
    spark.sql(f"UNCACHE TABLE {table}")
    assert not spark.catalog.isCached(table)
    spark.sql("DROP VIEW hudi_it.kept")


def test_copies_into_other_tables(spark, names):
    table = names[0]["m"]
    spark.sql(f"CREATE TABLE hudi_it.copied USING parquet PARTITIONED BY (region) AS SELECT * FROM {table}")
    spark.sql(f"INSERT INTO hudi_it.copied BY NAME SELECT * FROM {table} WHERE region = 'west'")
    west = count(spark, f"{table} WHERE region = 'west'")
    assert count(spark, "hudi_it.copied") == 26 + west and west > 0
    spark.table(table).write.mode("overwrite").saveAsTable("hudi_it.copied")
    spark.table(table).write.insertInto("hudi_it.copied")
    spark.sql(f"CREATE TABLE hudi_it.alike LIKE {table} USING parquet")
    assert count(spark, "hudi_it.copied") == 52 and count(spark, "hudi_it.alike") == 0
    spark.sql("DROP TABLE hudi_it.copied")
    spark.sql("DROP TABLE hudi_it.alike")


def test_drop_takes_the_entry_and_never_data(spark, synced, metastore, tmp_path):
    table = synced(COW, tmp_path, "everyday_dropped")
    before = files_below(tmp_path / COW)
    with pytest.raises(Exception, match="WRONG_COMMAND_FOR_OBJECT_TYPE"):
        spark.sql(f"DROP VIEW {table}")
    spark.sql(f"DROP TABLE {table} PURGE")
    with pytest.raises(NoSuchObjectError):
        metastore.table(*table.split("."))
    assert files_below(tmp_path / COW) == before


# -- what is refused ---------------------------------------------------------------------------------------------------

REFUSED = [
    "INSERT OVERWRITE DIRECTORY '{p}' USING parquet SELECT 1",
    "CREATE OR REPLACE TABLE {t} USING parquet AS SELECT 1 x",
    "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (visit_id > 0)",
    "ALTER TABLE {t} CLUSTER BY (page)",
    "CREATE INDEX page_index ON {t} USING column_stats (page)",
    "DROP INDEX page_index ON {t}",
    "OPTIMIZE {t}",
    "DESCRIBE {t} PARTITION (city = 'oslo')",
    "LOAD DATA INPATH '/nowhere' INTO TABLE {t}",
    "TRUNCATE TABLE {t} PARTITION (country = 'oslo')",
]


def test_statements_that_would_write(spark, synced):
    table, base = synced(COW), unzip_fixture(COW)
    before = files_below(base)
    for statement in REFUSED:
        with pytest.raises(HudiHiveError) as caught:
            spark.sql(statement.format(t=table, p=base))
        assert str(base) in caught.value.path and caught.value.remedy, statement
    assert files_below(base) == before and count(spark, table) == 15


@pytest.mark.parametrize(
    ("statement", "remedy"),
    [
        ("INSERT OVERWRITE DIRECTORY '/nowhere' USING hudi SELECT 1", "Hudi"),
        ("CALL show_commits(table => 'a.b')", "path"),
        ("CALL show_commits()", "its arguments are table"),
        ("CALL show_comits('a.b')", "show_commits"),
    ],
)
def test_statements_without_a_table(spark, statement, remedy):
    with pytest.raises(SparkError) as caught:
        spark.sql(statement)
    assert remedy in caught.value.remedy


def test_methods_that_would_write(spark, synced):
    table, base = synced(COW), unzip_fixture(COW)
    before = files_below(base)
    rows, catalog = spark.table(table), spark.catalog
    calls = [
        lambda: rows.write.mode("append").saveAsTable(table),
        lambda: rows.write.format("parquet").mode("overwrite").saveAsTable(table),
        lambda: catalog.listPartitions(table),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(SparkError) as caught:
            call()
        assert str(base) in caught.value.path and caught.value.remedy, number
    assert files_below(base) == before and count(spark, table) == 15


def test_a_managed_table_is_not_dropped(spark, metastore, synced, tmp_path):
    table = synced(COW, tmp_path, "managed", create_managed_table=True)
    before = files_below(tmp_path / COW)
    for statement in (f"DROP TABLE {table}", f"DROP TABLE IF EXISTS {table}", "DROP DATABASE hudi_it CASCADE"):
        with pytest.raises(SparkError, match="managed"):
            spark.sql(statement)
    assert files_below(tmp_path / COW) == before and count(spark, table) == 15
    metastore.drop_table(*table.split("."))


# -- tables synced by real hive-sync -----------------------------------------------------------------------------------

RECORDED = "01_first_sync"


def as_recorded(item, base):
    """A metastore table or partition of a dump, with our paths."""

    def text(value):
        return value.replace("BASE_PATH", str(base))

    storage = item["sd"]
    serde = storage["serdeInfo"]
    return StorageDescriptor(
        cols=[FieldSchema(name=name, type=kind, comment=note) for name, kind, note in storage["cols"]],
        location=text(storage["location"]),
        inputFormat=storage["inputFormat"],
        outputFormat=storage["outputFormat"],
        compressed=storage["compressed"],
        numBuckets=storage["numBuckets"],
        bucketCols=[],
        sortCols=[],
        parameters=storage["parameters"],
        serdeInfo=SerDeInfo(
            name=serde["name"],
            serializationLib=serde["serializationLib"],
            parameters={key: text(value) for key, value in serde["parameters"].items()},
        ),
        skewedInfo=SkewedInfo(skewedColNames=[], skewedColValues=[], skewedColValueLocationMaps={}),
        storedAsSubDirectories=False,
    )


@pytest.fixture(scope="module")
def recorded(metastore):
    """The tables of a dump in the metastore, as real hive-sync left them: name -> base path."""
    folders = stages()[RECORDED]
    base = (inputs("stages") / folders["cow_part"]).parent
    assert {str(Path(folder).parent) for folder in folders.values()} == {base.name}
    metastore.create_database("golden_spark")
    found = {}
    for name, golden in dump("01")["tables"].items():
        item = golden["table"]
        entry = Table(
            dbName="golden_spark",
            tableName=name,
            owner="hudi",
            createTime=1,
            lastAccessTime=0,
            retention=0,
            sd=as_recorded(item, base),
            partitionKeys=[FieldSchema(name=key, type=kind, comment=note) for key, kind, note in item["partitionKeys"]],
            parameters={k: "1" if v == "EPOCH_SECONDS" else v for k, v in item["parameters"].items()},
            tableType=item["tableType"],
        )
        metastore.create_table(entry)
        for part in golden["partitions"]:
            part = {**part, "sd": {**part["sd"], "cols": item["sd"]["cols"]}}
            values = Partition(
                values=part["values"], dbName="golden_spark", tableName=name, sd=as_recorded(part, base), parameters={}
            )
            metastore.add_partitions("golden_spark", name, [values])
        found[name] = base / name.removesuffix("_ro").removesuffix("_rt")
    yield found
    metastore.drop_database("golden_spark", cascade=True)


@pytest.mark.parametrize("name", sorted(dump("01")["tables"]))
def test_tables_of_real_hive_sync(spark, recorded, name):
    rows = spark.sql(f"SELECT * FROM golden_spark.{name}").toArrow()
    kind = "read_optimized" if name.endswith("_ro") else "snapshot"
    wanted = HudiTable.open(recorded[name]).scan(query_type=kind).to_arrow()
    by_name = {column.lower(): column for column in wanted.column_names}
    assert sorted(column.lower() for column in rows.column_names) == sorted(by_name)
    wanted = wanted.select([by_name[column.lower()] for column in rows.column_names]).rename_columns(rows.column_names)
    assert rows.num_rows > 0
    assert rows_sha256(encode_rows(rows, rows.column_names)) == rows_sha256(encode_rows(wanted, rows.column_names))
