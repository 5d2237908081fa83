"""DataFrames that write Hudi tables by name: what the tables hold, their commits and their entries afterwards."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.functions import col, expr, lit

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError, SparkError

pytestmark = pytest.mark.jvm

SCHEMA = "id int, name string, ts long, part string"
REORDERED = "part string, ts long, name string, id int"
FIRST = [(1, "a", 10, "x"), (2, "b", 20, "y")]


@pytest.fixture
def session(new_session, metastore):
    """A session whose current database is a new one."""
    made = new_session()
    made.sql("CREATE DATABASE IF NOT EXISTS frames")
    made.sql("USE frames")
    yield made
    names = [row.tableName for row in made.sql("SHOW TABLES IN frames").collect()]
    for name in sorted(names, reverse=True):  # t_rt and t_ro are read from the folder that goes with t
        made.sql(f"DROP TABLE IF EXISTS frames.{name}")
    made.sql("DROP DATABASE frames")


def rows_of(session, name):
    return sorted(tuple(row) for row in session.table(name).select("id", "name", "ts", "part").collect())


def table_of(session, name):
    shown = session.sql(f"DESCRIBE EXTENDED {name}").collect()
    return HudiTable.open(next(row.data_type for row in shown if row.col_name == "Location"))


def operations(session, name):
    table = table_of(session, name)
    return [str(table.timeline.commit_metadata(one).operation).upper() for one in table.timeline.write_instants()]


def partitions(metastore, name):
    return sorted(tuple(one.values) for one in metastore.partitions("frames", name))


def test_save_as_table_in_all_modes(session, metastore, tmp_path):
    def frame(*rows):
        return session.createDataFrame(rows, SCHEMA).write.format("hudi")

    frame(*FIRST).options(primaryKey="id", preCombineField="ts").partitionBy("part").saveAsTable("t")
    config = table_of(session, "t").config
    assert (config.record_keys, config.ordering_fields, config.partition_fields) == (("id",), ("ts",), ("part",))
    assert config.hive_style_partitioning
    newer = session.createDataFrame(
        [("x", 11, "a2", 1), ("z", 30, "c", 3)], "part string, ts long, name string, id int"
    )
    newer.write.saveAsTable("t", format="hudi", mode="append")
    assert rows_of(session, "t") == [(1, "a2", 11, "x"), (2, "b", 20, "y"), (3, "c", 30, "z")]
    assert partitions(metastore, "t") == [("x",), ("y",), ("z",)]
    with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
        frame(*FIRST).saveAsTable("t")
    frame(*FIRST).mode("ignore").saveAsTable("t")
    assert len(rows_of(session, "t")) == 3
    for wrong, why in (
        (frame(*FIRST).mode("append").partitionBy("name"), "partitioned by"),
        (session.createDataFrame(FIRST, SCHEMA).write.mode("append"), "name the format"),
        (session.createDataFrame(FIRST, SCHEMA).write.format("parquet").mode("overwrite"), "name the format"),
        (frame(*FIRST).bucketBy(2, "id").mode("append"), "BUCKET"),
        (frame(*FIRST).option("hoodie.nothing", "1").mode("append"), "hoodie.nothing"),
    ):
        with pytest.raises((SparkError, InvalidOptionError), match=why):
            wrong.saveAsTable("t")

    # What the new table is made of may be the old one.
    read = session.table("t").where("id > 1").select("id", "name", "ts", "part")
    read.write.format("hudi").mode("overwrite").options(primaryKey="id", type="mor").saveAsTable("t")
    table = table_of(session, "t")
    assert rows_of(session, "t") == [(2, "b", 20, "y"), (3, "c", 30, "z")]
    assert table.config.is_merge_on_read and table.config.partition_fields == ()
    assert partitions(metastore, "t") == []

    frame(*FIRST).option("path", str(tmp_path / "out")).option("primaryKey", "id").saveAsTable("elsewhere")
    assert (tmp_path / "out" / ".hoodie").is_dir() and rows_of(session, "elsewhere") == FIRST
    session.sql("DROP TABLE elsewhere")
    assert (tmp_path / "out" / ".hoodie").is_dir()


@pytest.mark.long
def test_insert_into_by_position_with_options(session):
    session.createDataFrame(FIRST, SCHEMA).write.format("hudi").option("primaryKey", "id").partitionBy(
        "part"
    ).saveAsTable("t")
    more = session.createDataFrame([(3, "c", 30, "x")], "a int, b string, c long, d string")
    more.write.insertInto("t")
    more.write.option("hoodie.datasource.write.operation", "bulk_insert").insertInto("t")
    assert rows_of(session, "t") == sorted([*FIRST, (3, "c", 30, "x"), (3, "c", 30, "x")])
    assert operations(session, "t")[-2:] == ["INSERT", "BULK_INSERT"]
    more.write.option("hoodie.datasource.overwrite.mode", "DYNAMIC").insertInto("t", overwrite=True)
    assert rows_of(session, "t") == [(2, "b", 20, "y"), (3, "c", 30, "x")]
    more.write.insertInto("t", overwrite=True)
    assert rows_of(session, "t") == [(3, "c", 30, "x")]
    with pytest.raises(AnalysisException, match="NOT_ENOUGH_DATA_COLUMNS"):
        more.drop("d").write.insertInto("t")
    with pytest.raises(InvalidOptionError, match="sometime"):
        more.write.option("sometime", "never").insertInto("t")


@pytest.mark.long
def test_write_to(session):
    frame = session.createDataFrame(FIRST, SCHEMA)
    made = frame.writeTo("t").using("hudi").tableProperty("primaryKey", "id").option("preCombineField", "ts")
    made.partitionedBy(col("part")).create()
    assert table_of(session, "t").config.ordering_fields == ("ts",)
    with pytest.raises(SparkError, match="the table exists"):
        frame.writeTo("t").using("hudi").create()
    session.createDataFrame(
        [("x", 12, "a2", 1), ("x", 5, "e", 5)], "part string, ts long, name string, id int"
    ).writeTo("t").append()
    assert rows_of(session, "t") == [(1, "a2", 12, "x"), (2, "b", 20, "y"), (5, "e", 5, "x")]

    before = len(table_of(session, "t").timeline.write_instants())
    session.createDataFrame([(1, "a3", 13, "x"), (6, "f", 1, "y")], SCHEMA).writeTo("t").overwrite(col("part") == "x")
    assert rows_of(session, "t") == [(1, "a3", 13, "x"), (2, "b", 20, "y"), (6, "f", 1, "y")]
    assert len(table_of(session, "t").timeline.write_instants()) == before + 1

    session.createDataFrame([(7, "g", 1, "y")], SCHEMA).writeTo("t").overwritePartitions()
    assert rows_of(session, "t") == [(1, "a3", 13, "x"), (7, "g", 1, "y")]
    session.createDataFrame([(8, "h", 1, "y")], SCHEMA).writeTo("t").overwrite(lit(True))
    assert rows_of(session, "t") == [(8, "h", 1, "y")]
    assert operations(session, "t")[-2:] == ["INSERT_OVERWRITE", "INSERT_OVERWRITE_TABLE"]

    frame.writeTo("t").using("hudi").replace()
    assert rows_of(session, "t") == FIRST and table_of(session, "t").config.record_keys == ()
    with pytest.raises(SparkError, match="no record keys"):
        frame.writeTo("t").overwrite(col("id") == 1)
    with pytest.raises(SparkError, match="not there"):
        frame.writeTo("other").using("hudi").replace()
    frame.writeTo("other").using("hudi").createOrReplace()
    assert rows_of(session, "other") == FIRST


@pytest.mark.long
def test_merge_into(session):
    session.createDataFrame(FIRST, SCHEMA).write.format("hudi").options(primaryKey="id").saveAsTable("t")
    source = session.createDataFrame([(1, "a2", 11, "x"), (3, "c", 30, "z")], SCHEMA)
    source.alias("s").mergeInto("t", expr("t.id = s.id")).whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert rows_of(session, "t") == [(1, "a2", 11, "x"), (2, "b", 20, "y"), (3, "c", 30, "z")]
    one = source.where("id = 3")
    one.mergeInto("t", expr("t.id = hudi_hive_source.id")).whenMatched().delete().whenNotMatchedBySource().update(
        {"name": expr("upper(t.name)")}
    ).merge()
    assert rows_of(session, "t") == [(1, "A2", 11, "x"), (2, "B", 20, "y")]


@pytest.mark.long
def test_the_catalog_makes_and_empties_tables(session, tmp_path):
    frame = session.createDataFrame(FIRST, SCHEMA)
    options = {"hoodie.table.name": "by_path", "hoodie.datasource.write.recordkey.field": "id"}
    frame.write.format("hudi").options(**options).partitionBy("part").save(str(tmp_path / "by_path"))
    assert HudiTable.open(tmp_path / "by_path").config.partition_fields == ("part",)
    session.catalog.createTable("t", source="hudi", schema=frame.schema, primaryKey="id")
    assert rows_of(session, "t") == [] and table_of(session, "t").config.record_keys == ("id",)
    frame.writeTo("t").append()
    session.catalog.truncateTable("t")
    assert rows_of(session, "t") == []


def test_code_of_the_jvm_writes_as_pyspark_does(session):
    frame = session.createDataFrame(FIRST, SCHEMA)
    frame.write.format("hudi").option("primaryKey", "id").saveAsTable("t")
    java = session.createDataFrame([(3, "c", 30, "z")], SCHEMA)._jdf
    java.write().insertInto("t")
    java.write().format("hudi").mode("append").saveAsTable("t")
    java.writeTo("t").append()
    java.write().format("hudi").saveAsTable("made")
    assert rows_of(session, "t") == [*FIRST, *[(3, "c", 30, "z")] * (len(rows_of(session, "t")) - 2)]
    assert len(table_of(session, "t").timeline.write_instants()) == 4
    assert rows_of(session, "made") == [(3, "c", 30, "z")]
