"""A name that no table has, and a path that is no table: one line says what to do, and Spark's own error stays one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.errors import StorageError, TableNotFoundError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.spark.catalog import missing_tables
from hudi_hive.spark.versions import SPARK

pytestmark = pytest.mark.jvm

DATABASE = "unsynced"


@pytest.fixture
def folder(spark: SparkSession, metastore: HiveMetastore, tmp_path: Path) -> Iterator[Path]:
    """The folder of a database that has no tables yet."""
    spark.sql(f"CREATE DATABASE {DATABASE} LOCATION '{tmp_path}'")
    yield tmp_path
    spark.sql(f"DROP DATABASE {DATABASE} CASCADE")


def said(spark: SparkSession, statement: str) -> tuple[str, str]:
    """What is wrong and what to do, of a statement that names no table."""
    with pytest.raises(AnalysisException) as caught:
        spark.sql(statement)
    assert "\n" not in str(caught.value)
    assert caught.value.getMessageParameters()["relationName"]  # Spark's own error, for programs that look into it
    what, _, do = str(caught.value).partition("; ")
    assert what.startswith("[TABLE_OR_VIEW_NOT_FOUND] no table or view ")
    return what, do


def test_a_name_that_no_catalog_has(spark: SparkSession, folder: Path) -> None:
    spark.sql(f"CREATE TABLE {DATABASE}.trips (a INT) USING parquet")
    what, do = said(spark, f"SELECT * FROM {DATABASE}.trip")
    assert f"{DATABASE}.trip in the catalog (line 1" in what
    assert do == f"did you mean trips? SHOW TABLES IN {DATABASE} lists them; `hudi-hive sync` adds a Hudi table"
    what, do = said(spark, "SELECT * FROM spark_catalog.nowhere.trips")
    assert "there is no database nowhere" in what and "`hudi-hive sync --database nowhere`" in do
    with pytest.raises(AnalysisException, match="cannot be found"):  # Spark knows as much as we
        spark.sql("SELECT * FROM global_temp.trips")


@pytest.mark.parametrize(("kind", "name"), [("COPY_ON_WRITE", "rides"), ("MERGE_ON_READ", "rides_rt")])
def test_a_table_in_its_place_that_was_never_synced(
    spark: SparkSession, metastore_uri: str, folder: Path, kind: str, name: str
) -> None:
    HudiTable.create(folder / "rides", name="rides", record_keys=["id"], table_type=kind).upsert(pa.table({"id": [1]}))
    what, do = said(spark, f"SELECT * FROM {DATABASE}.{name}")
    assert "a Hudi table lies in its place, but was not synced" in what and f"[path file:{folder}/rides]" in what
    with pytest.raises(AnalysisException, match="SHOW TABLES IN unsynced lists them"):
        spark.table(f"{DATABASE}.rides_ro" if kind == "COPY_ON_WRITE" else f"{DATABASE}.rides_other")
    command = shlex.split(do.split("`")[1])
    assert command[:2] == ["hudi-hive", "sync"]
    cli.main([*command[1:], "--metastore-uris", metastore_uri], standalone_mode=False)
    assert [row.id for row in spark.table(f"{DATABASE}.{name}").collect()] == [1]


def test_the_database_of_the_session_and_a_session_that_is_not_enabled_any_more(
    spark: SparkSession, folder: Path
) -> None:
    other = spark.newSession()
    other.sql(f"USE {DATABASE}")
    assert f" {DATABASE}.nothing in " in said(other, "SELECT * FROM nothing")[0]
    hudi_spark.disable(other)
    try:
        with pytest.raises(AnalysisException, match="cannot be found"):
            other.sql("SELECT * FROM nothing")
    finally:
        hudi_spark.enable(spark)


def test_the_error_of_a_view_without_its_table_does_not_name_the_database_of_the_session(
    spark: SparkSession, folder: Path
) -> None:
    spark.sql("CREATE TABLE gone_later (a INT) USING parquet")
    spark.sql(f"CREATE VIEW {DATABASE}.of_it AS SELECT * FROM gone_later")
    spark.sql("DROP TABLE gone_later")
    other = spark.newSession()
    other.sql(f"USE {DATABASE}")
    if SPARK.has_scripts:  # 3.5 does not say that a name is of a view
        with pytest.raises(AnalysisException, match="`gone_later` cannot be found"):
            other.sql("SELECT * FROM of_it")
    other.sql("CREATE TABLE gone_later (a INT) USING parquet")
    with pytest.raises(AnalysisException, match="`gone_later` cannot be found"):
        other.sql("SELECT * FROM of_it")


@pytest.mark.parametrize("error", [ValueError("a fault"), StorageError("no answer")])
def test_what_fails_while_an_error_is_explained_hides_nothing(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    asked = []

    def fails(path: str, options: object) -> bool:
        asked.append(path)
        raise error

    monkeypatch.setattr(missing_tables, "is_hudi_table", fails)
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM {DATABASE}.Nothing_RT")  # a name that may lie at three paths
    assert len(asked) == 1


def test_a_path_that_is_no_table(spark: SparkSession, tmp_path: Path) -> None:
    for path, problem in ((tmp_path / "nothing", "no such folder"), (tmp_path, "not a Hudi table")):
        for read in (
            lambda path=path: spark.sql(f"SELECT * FROM hudi.`{path}`"),
            lambda path=path: spark.read.format("hudi").load(str(path)),
        ):
            with pytest.raises(TableNotFoundError) as caught:
                read()
            assert "\n" not in str(caught.value)
            what, _, do = str(caught.value).partition("; ")
            assert problem in what and "give the table's base path" in do
