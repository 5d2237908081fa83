"""DataFrames written to Hudi tables by plain PySpark, read back by Spark and without it."""

from __future__ import annotations

import itertools
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as sql

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import (
    HudiHiveError,
    InvalidOptionError,
    KeyGenerationError,
    PathExistsError,
    SchemaError,
    SparkError,
    WriteConflictError,
)
from hudi_hive.metastore import HiveMetastore
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write.packed_rows import unpacked
from hudi_hive.spark.write.rows import IncomingKeys, default_tasks, persisted_frames
from hudi_hive.table import MetaClient
from hudi_hive.write.commit import WriteTransaction
from hudi_hive.write.options import WriteConfig
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import long_case, with_long_cases

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

KINDS = list(itertools.product(("COPY_ON_WRITE", "MERGE_ON_READ"), (6, 8, 9)))


@pytest.fixture(scope="module", autouse=True)
def few_tasks(spark):
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


def options_of(kind, version, **more):
    return {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.write.table.version": version,
        **{f"hoodie.datasource.write.{name}": value for name, value in more.items()},
    }


def trips(spark, first, last, *, fare=1.0, ts=1, cities=2):
    rows = spark.range(first, last)
    return rows.select(
        sql.concat(sql.lit("k"), "id").alias("id"),
        sql.concat(sql.lit("c"), sql.col("id") % cities).alias("city"),
        sql.lit(fare).alias("fare"),
        sql.lit(ts).alias("ts"),
        sql.array(sql.struct(sql.col("id").alias("n"))).alias("stops"),
    )


def rows_of(path):
    """Every row by the reader that needs no Spark: id to fare; fails when a record is there twice."""
    found = HudiTable.open(str(path)).scan(selected_fields=("id", "fare")).to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["fare"] for row in found}


@pytest.mark.parametrize(("kind", "version"), with_long_cases([("MERGE_ON_READ", 9)], KINDS))
def test_each_operation_leaves_the_rows_it_should(spark, tmp_path, kind, version):
    path = tmp_path / "trips"
    model = {}

    def write(rows, operation):
        report = hudi_spark.write(rows, path, options_of(kind, version, operation=operation))
        assert rows_of(path) == model
        return report

    model |= {f"k{n}": 1.0 for n in range(40)}
    write(trips(spark, 0, 40), "bulk_insert")
    model |= {f"k{n}": 2.0 for n in range(30, 50)}
    twice = trips(spark, 30, 50, fare=2.0, ts=2).union(trips(spark, 30, 35, fare=0.5, ts=1))
    report = write(twice, "upsert")
    assert (report.inserted, report.updated) == (10, 10)
    model |= {f"k{n}": 3.0 for n in range(50, 55)}
    write(trips(spark, 50, 55, fare=3.0), "insert")
    for n in range(4):
        del model[f"k{n}"]
    write(trips(spark, 0, 4).select("id", "city"), "delete")
    model = {key: value for key, value in model.items() if int(key[1:]) % 2} | {f"k{n}": 9.0 for n in (0, 2)}
    write(trips(spark, 0, 3, fare=9.0).where("city = 'c0'"), "insert_overwrite")
    assert {row.id: row.fare for row in hudi_spark.load(spark, path).collect()} == model


def test_the_second_of_two_writers_is_refused(spark, tmp_path, monkeypatch):
    """A write of this process completes between the beginning and the end of Spark's."""
    path = tmp_path / "trips"
    hudi_spark.write(trips(spark, 0, 4), path, options_of("COPY_ON_WRITE", 8, operation="bulk_insert"))
    table = HudiTable.open(path)
    known = table.scan().to_arrow().drop_columns(list(META_FIELDS))
    commit = WriteTransaction.commit

    def late(self, *arguments, **settings):
        monkeypatch.setattr(WriteTransaction, "commit", commit)
        table.upsert(known.filter(pc.equal(known["id"], "k1")).set_column(2, "fare", pa.array([7.0])))
        return commit(self, *arguments, **settings)

    monkeypatch.setattr(WriteTransaction, "commit", late)
    rows, options = trips(spark, 2, 6, fare=2.0, ts=2), options_of("COPY_ON_WRITE", 8, operation="upsert")
    with pytest.raises(WriteConflictError, match="of another writer completed meanwhile"):
        hudi_spark.write(rows, path, options)
    assert rows_of(path) == {"k0": 1.0, "k1": 7.0, "k2": 1.0, "k3": 1.0}
    hudi_spark.write(rows, path, options)
    assert rows_of(path) == {"k0": 1.0, "k1": 7.0, "k2": 2.0, "k3": 2.0, "k4": 2.0, "k5": 2.0}
    assert HudiTable.open(path).timeline.pending() == ()


@pytest.mark.parametrize("name", ["v6_mor_schema_evo", long_case("v9_cow_schema_evo")])
def test_columns_with_ids(spark, tmp_path, name):
    """Rows of some columns, one of them wider and one new, into files that call their columns otherwise."""
    path = unzip_fixture(name, tmp_path)

    def rows():
        found = HudiTable.open(path).scan().to_arrow().drop_columns(list(META_FIELDS)).to_pylist()
        return {row["id"]: row for row in found}

    want = {key: {**row, "fresh": None} for key, row in rows().items()}
    new = spark.createDataFrame(
        [(2, "n2", 70, "p", "x"), (20, "n20", 70, "q", "y")], "id int, n string, ts long, part string, fresh string"
    )
    new = new.selectExpr("fresh", "part", "ts", "id", "n as FULL_NAME", "named_struct('bee', 'B', 'a', 9L) as info")
    for row in new.collect():
        info = {"c": None, "a": 9, "bee": "B"}
        known = {"id": row.id, "ts": 70, "full_name": row.FULL_NAME, "part": row.part, "fresh": row.fresh, "info": info}
        want[row.id] = {**dict.fromkeys(want[1]), **known}
    services = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    report = hudi_spark.write(new, path, services)
    assert (report.inserted, report.updated, rows()) == (1, 1, want)
    gone = spark.createDataFrame([(1, "p"), (2, "p")], "id int, part string")
    hudi_spark.write(gone, path, {**services, "hoodie.datasource.write.operation": "delete"})
    assert rows() == {key: row for key, row in want.items() if key not in (1, 2)}


def test_the_data_source_writes(spark, tmp_path, metastore, metastore_uri):
    path, options = tmp_path / "trips", options_of("MERGE_ON_READ", 8)
    sync = {
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.datasource.hive_sync.database": "written",
        "hoodie.datasource.hive_sync.table": "trips",
        "hoodie.datasource.hive_sync.mode": "hms",
    }
    writer = trips(spark, 0, 10).write.format("hudi").options(**options)
    writer.options(**sync).mode("error").save(str(path))
    assert isinstance(metastore, HiveMetastore)
    assert spark.table("written.trips_rt").count() == 10
    with pytest.raises(PathExistsError, match="there already"):
        writer.mode("error").save(str(path))
    writer.mode("ignore").save(str(path))
    more = trips(spark, 5, 12, fare=4.0, ts=2).write.format("hudi").options(**options).mode("append")
    more.save(str(path))
    fewer = trips(spark, 0, 1, ts=3).drop("fare").write.format("hudi").options(**options).mode("append")
    with pytest.raises(SchemaError, match="lack columns fare"):
        fewer.save(str(path))
    assert spark.table("written.trips").where("fare = 4.0").count() == 7
    trips(spark, 0, 3).write.format("hudi").options(**options).mode("overwrite").save(str(path))
    assert rows_of(path) == {f"k{n}": 1.0 for n in range(3)}
    session = spark.newSession()
    session.conf.set("hive.metastore.uris", "")
    frame = trips(session, 0, 1, fare=9.0, ts=9).withColumn("fresh", sql.lit(1))
    with pytest.raises(InvalidOptionError, match=r"metastore\.uris is missing"):
        hudi_spark.write(frame, path, {**options, **sync})
    named = {"hoodie.datasource.hive_sync.metastore.uris": metastore_uri}
    assert not hudi_spark.write(frame, path, {**options, **sync, **named}).failed
    assert spark.table("written.trips").where("fresh = 1").count() == 1
    changes = trips(spark, 90, 91, cities=80)
    assert not hudi_spark.mutate(changes, path, on=["id"], options=sync).failed
    assert metastore.partition_names("written", "trips_rt")[-1].endswith("c10")
    metastore.drop_database("written", cascade=True)


def test_refused_writes_leave_the_table_as_it_was(spark, tmp_path):
    path, options = tmp_path / "trips", options_of("COPY_ON_WRITE", 8)
    hudi_spark.write(trips(spark, 0, 5), path, options)
    before = sorted(item for item in path.rglob("*") if item.is_file())
    with pytest.raises(SchemaError, match="fare"):
        hudi_spark.write(trips(spark, 0, 5).withColumn("fare", sql.lit("text")), path, options)
    with pytest.raises(InvalidOptionError, match="no_such"):
        hudi_spark.write(trips(spark, 0, 5), path, {**options, "hoodie.no_such": "1"})
    with pytest.raises(InvalidOptionError, match="mode"):
        hudi_spark.write(trips(spark, 0, 5), path, options, "update")
    with pytest.raises(InvalidOptionError, match="name"):
        hudi_spark.write(trips(spark, 0, 5), tmp_path / "other", {})
    assert sorted(item for item in path.rglob("*") if item.is_file()) == before


def test_keys_to_delete_come_to_few_tasks(spark, tmp_path):
    """As many as a shuffle has by the session's settings, 200 of themselves, would each start steps of Python."""
    path, options = tmp_path / "trips", options_of("MERGE_ON_READ", 9)
    hudi_spark.write(trips(spark, 0, 5), path, options)
    client = MetaClient.load(path)
    before = {name: spark.conf.get(name) for name in ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")}
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        with persisted_frames() as persist:
            keys = IncomingKeys(trips(spark, 0, 5), client, WriteConfig.of(options, client.config)).keyed(persist)
            assert keys.rdd.getNumPartitions() == default_tasks(spark) < 200
            lines = SPARK.to_arrow(keys)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    (rows,) = unpacked(lines.to_batches(), size=1 << 30)
    assert sorted(rows.column("_hoodie_record_key").to_pylist()) == ["k0", "k1", "k2", "k3", "k4"]


ODD_CITIES = [".hoodie_x", ".hoodiex", "100%", "a:b", "é", "_x"]


@pytest.mark.parametrize(
    ("operation", "every"), [("bulk_insert", False), *(long_case(name, True) for name in ("bulk_insert", "upsert"))]
)
def test_odd_keys_and_partitions_are_written_or_refused_as_by_the_local_writer(spark, tmp_path, operation, every):
    """The rules are the local writer's: only the schema is checked before the write is announced, rows by its tasks."""
    path = tmp_path / "t"
    options = options_of("COPY_ON_WRITE", 8, operation=operation)
    options |= {"hoodie.datasource.write.recordkey.field": "a,b", "hoodie.metadata.enable": "false"}

    def frame(*rows):
        return spark.createDataFrame(list(rows), "a string, b string, city string, ts long")

    good = [(f"k{number}", "2,b:3", city, number) for number, city in enumerate(ODD_CITIES)]
    hudi_spark.write(frame(*good), path, options)
    refused = [
        ("1,b:2", "3", "x", "same record key"),
        ("__null__", "3", "x", "same record key"),
        ("k", "b", ".hoodie", "no folder of the table"),
        ("k", "b", "x/.hoodie_partition_metadata", "makes the folder above it a partition"),
        ("k", "b", "n" * 256, "256 bytes"),
        ("k", "b", "_x/y", "lies below partition"),
    ]
    if not every:  # one that a task refuses, and one that is refused behind all tasks
        refused = [refused[0], refused[-1]]
    for a, b, city, message in refused:
        with pytest.raises(KeyGenerationError, match=message):
            hudi_spark.write(frame((a, b, city, 9), ("new", "b", "_x", 9)), path, options)
    with pytest.raises(SchemaError, match="'v' holds nothing but nulls"):
        hudi_spark.write(frame(*good).withColumn("v", sql.lit(None)), path, options)
    for listing in (False, True):
        table = HudiTable(MetaClient.load(path)) if listing else HudiTable.open(path)
        found = table.scan(selected_fields=("a", "b", "city", "ts")).to_arrow().to_pylist()
        assert sorted(tuple(row.values()) for row in found) == good


def test_a_failing_task_is_undone(spark, tmp_path):
    path, options = tmp_path / "trips", options_of("COPY_ON_WRITE", 8)
    hudi_spark.write(trips(spark, 0, 6), path, options)
    bad = trips(spark, 0, 6).withColumn("id", sql.expr("CASE WHEN id = 'k5' THEN NULL ELSE id END"))
    with pytest.raises(Exception, match=r"(?i)record key"):
        hudi_spark.write(bad, path, options)
    assert rows_of(path) == {f"k{n}": 1.0 for n in range(6)}
    hudi_spark.write(trips(spark, 6, 8), path, options)
    assert len(rows_of(path)) == 8


@pytest.mark.parametrize(("kind", "version"), [("COPY_ON_WRITE", 8), long_case("MERGE_ON_READ", 6)])
def test_rows_go_to_the_records_that_their_meta_columns_name(spark, tmp_path, kind, version):
    """The quick start of Hudi 1.x: a table without record key, changed by rows that were read from it."""
    path = str(tmp_path / "rides")
    options = {
        "hoodie.table.name": "rides",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.write.table.version": str(version),
    }
    rows = [
        (1, "A", 19.1, "sf"),
        (2, "C", 27.7, "sf"),
        (3, "D", 33.9, "sf"),
        (4, "F", 34.15, "sp"),
        (5, "J", 17.85, "c"),
    ]
    frame = spark.createDataFrame(rows, "ts long, rider string, fare double, city string")
    frame.write.format("hudi").options(**options).mode("overwrite").save(path)

    def read():
        return spark.read.format("hudi").load(path)

    def fares():
        return sorted((row.rider, row.fare) for row in read().collect())

    def write(changed, **more):
        more = {f"hoodie.datasource.write.{name}": value for name, value in more.items()}
        changed.write.format("hudi").options(**options, **more).mode("append").save(path)

    write(read().filter("rider = 'D'").withColumn("fare", sql.col("fare") * 10))
    want = {"A": 19.1, "C": 27.7, "D": 339.0, "F": 34.15, "J": 17.85}
    assert fares() == sorted(want.items())
    write(read().filter("rider = 'F'"), operation="delete")
    del want["F"]
    assert fares() == sorted(want.items())
    fresh = spark.createDataFrame([(6, "N", 1.0, "sf")], frame.schema)
    changed = read().filter("rider = 'C'").withColumn("fare", sql.lit(2.0))
    write(changed.unionByName(fresh, allowMissingColumns=True), operation="upsert")
    write(fresh.withColumn("rider", sql.lit("O")), operation="upsert")
    write(fresh.withColumn("rider", sql.lit("P")))
    assert fares() == sorted((want | {"C": 2.0, "N": 1.0, "O": 1.0, "P": 1.0}).items())
    keys = [row[0] for row in read().select("_hoodie_record_key").collect()]
    assert len(set(keys)) == len(keys)
    check_rows_of_other_places_are_refused(read(), path, options)
    assert len(fares()) == len(keys)


@pytest.mark.long
def test_steps_of_the_python_quick_start(spark, tmp_path):
    """Inserts, updates, deletes, time travel, incremental and change data, by the calls and options of Hudi's guide."""
    path, name = str(tmp_path / "rides"), "rides"
    columns = ["ts", "uuid", "rider", "driver", "fare", "city"]
    rows = [(n, f"u{n}", f"rider-{n}", f"driver-{n}", 10.0 * n, "ab"[n % 2]) for n in range(1, 6)]
    inserts = spark.createDataFrame(rows).toDF(*columns)
    options = {"hoodie.table.name": name, "hoodie.datasource.write.partitionpath.field": "city"}
    inserts.write.format("hudi").options(**options).mode("overwrite").save(path)
    spark.read.format("hudi").load(path).createOrReplaceTempView("quick_start")
    query = "SELECT uuid, fare, ts, rider, driver, city FROM  quick_start WHERE fare > 20.0"
    assert {row.uuid for row in spark.sql(query).collect()} == {"u3", "u4", "u5"}
    first = spark.sql("SELECT DISTINCT(_hoodie_commit_time) AS commitTime FROM quick_start").collect()[0][0]

    def changed(riders):
        found = spark.read.format("hudi").load(path).filter(riders)
        return found.withColumn("fare", sql.col("fare") * 10)

    changed("rider == 'rider-3'").write.format("hudi").options(**options).mode("append").save(path)
    deletes = spark.read.format("hudi").load(path).filter("rider == 'rider-4'")
    delete_options = {**options, "hoodie.datasource.write.operation": "delete"}
    deletes.write.format("hudi").options(**delete_options).mode("append").save(path)
    spark.read.format("hudi").load(path).createOrReplaceTempView("quick_start")
    query = "SELECT DISTINCT(_hoodie_commit_time) AS commitTime FROM  quick_start ORDER BY commitTime"
    commits = [row[0] for row in spark.sql(query).limit(50).collect()]
    begin = commits[len(commits) - 2]

    def read(**more):
        found = spark.read.format("hudi").options(**more).load(path)
        return sorted((row.rider, row.fare) for row in found.collect())

    assert read() == [("rider-1", 10.0), ("rider-2", 20.0), ("rider-3", 300.0), ("rider-5", 50.0)]
    day = f"{first[:4]}-{first[4:6]}-{first[6:8]} {first[8:10]}:{first[10:12]}:{first[12:14]}.{first[14:]}"
    for moment in (first, day):
        assert read(**{"as.of.instant": moment}) == [(f"rider-{n}", 10.0 * n) for n in range(1, 6)]
    incremental = {"hoodie.datasource.query.type": "incremental"}
    assert ("rider-3", 300.0) in read(**incremental, **{"hoodie.datasource.read.begin.instanttime": begin})
    options |= {"hoodie.table.cdc.enabled": "true"}
    inserts.write.format("hudi").options(**options).mode("overwrite").save(path)
    changed("rider == 'rider-1' or rider == 'rider-2'").write.format("hudi").mode("append").save(path)
    cdc = {**incremental, "hoodie.datasource.query.incremental.format": "cdc"}
    changes = spark.read.format("hudi").options(**cdc, **{"hoodie.datasource.read.begin.instanttime": 0}).load(path)
    assert sorted(row.op for row in changes.collect()) == ["i"] * 5 + ["u"] * 2


def check_rows_of_other_places_are_refused(rows, path, options):
    """Upserts of rows whose meta columns are missing, or name a file or partition that is not theirs."""
    for bad in (
        rows.drop("_hoodie_file_name"),
        rows.withColumn("_hoodie_file_name", sql.lit("xyz")),
        rows.withColumn("city", sql.lit("elsewhere")),
        rows.withColumn("_hoodie_partition_path", sql.lit(None).cast("string")),
    ):
        with pytest.raises(HudiHiveError):
            hudi_spark.write(bad, path, {**options, "hoodie.datasource.write.operation": "upsert"})


def test_a_first_write_that_fails_leaves_nothing(spark, tmp_path):
    path = tmp_path / "trips"
    options = options_of("COPY_ON_WRITE", 8)
    frame = trips(spark, 0, 4)
    nulls = frame.withColumn("id", sql.expr("if(id = 'k3', null, id)"))
    wrong = [
        (frame, {**options, "hoodie.datasource.write.recordkey.field": "nowhere"}),
        (frame.drop("ts"), options),
        (nulls, options),  # fails in a task
        (frame.withColumn("city", sql.lit("..")), options),
    ]
    for mode, (rows, its_options) in [*(("append", one) for one in wrong), ("overwrite", wrong[-2])]:
        with pytest.raises(HudiHiveError):
            hudi_spark.write(rows, path, its_options, mode)
        assert not path.exists()
    path.mkdir()
    (path / "notes.txt").write_text("not of the table")
    with pytest.raises(HudiHiveError):
        hudi_spark.write(nulls, path, options)
    assert [item.name for item in path.iterdir()] == ["notes.txt"]
    (path / "notes.txt").unlink()
    hudi_spark.write(frame, tmp_path / "other", options)
    assert len(rows_of(tmp_path / "other")) == 4


def test_overwriting_with_options_that_contradict_the_table_makes_another(spark, tmp_path):
    path = tmp_path / "trips"
    options = options_of("COPY_ON_WRITE", 8)
    hudi_spark.write(trips(spark, 0, 4), path, options)
    other = {**options_of("MERGE_ON_READ", 6), "hoodie.datasource.write.partitionpath.field": "fare"}
    with pytest.raises(InvalidOptionError, match="contradicts"):
        hudi_spark.write(trips(spark, 4, 6), path, other)
    failing = trips(spark, 4, 6).withColumn("id", sql.lit(None).cast("string"))
    with pytest.raises(HudiHiveError):
        hudi_spark.write(failing, path, other, "overwrite")
    with pytest.raises(InvalidOptionError, match="unknown option"):
        hudi_spark.write(trips(spark, 4, 6), path, {**other, "hoodie.nonsense": "1"}, "overwrite")
    assert rows_of(path) == {f"k{n}": 1.0 for n in range(4)}
    # The rows are those of the table that goes.
    changed = hudi_spark.load(spark, path).where("id != 'k0'").withColumn("fare", sql.lit(2.0)).drop(*META_FIELDS)
    hudi_spark.write(changed, path, other, "overwrite")
    assert rows_of(path) == {f"k{n}": 2.0 for n in range(1, 4)}
    config = HudiTable.open(str(path)).client.config
    assert (config.table_type, config.version, config.partition_fields) == ("MERGE_ON_READ", 6, ("fare",))
    assert [item.name for item in tmp_path.iterdir()] == ["trips"]
    # Options that fit replace the rows in one commit, and the history stays.
    hudi_spark.write(trips(spark, 7, 8), path, other, "overwrite")
    assert rows_of(path) == {"k7": 1.0} and len(HudiTable.open(str(path)).timeline.write_instants()) == 2


def test_a_write_on_a_driver_without_pandas_raises_an_error_with_the_remedy(spark, tmp_path, monkeypatch):
    """PySpark asks for pandas before it runs a step of Python, which uses none."""
    pa.array([1])  # PyArrow looks for pandas once, and this is no matter of its own
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SparkError, match=r"Pandas .*pip install pandas pyarrow where the driver runs"):
        hudi_spark.write(trips(spark, 0, 2), tmp_path / "trips", options_of("COPY_ON_WRITE", 9))
