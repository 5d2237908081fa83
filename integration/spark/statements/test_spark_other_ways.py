"""Statements that reach Hudi tables by other ways than their plain text: each does the same, or is refused."""

from __future__ import annotations

import pytest

from hudi_hive.errors import HudiHiveError, SparkError
from hudi_hive.spark.statements.writes.new_table import NewTable
from hudi_hive.table import MetaClient

pytestmark = pytest.mark.jvm

COLUMNS = "id INT, v STRING, p STRING"


@pytest.fixture
def session(new_session, metastore, tmp_path):
    """A session whose current database is a new one, in a folder of the test."""
    made = new_session()
    made.sql(f"CREATE DATABASE other_ways LOCATION '{tmp_path}/db'")
    made.sql("USE other_ways")
    yield made
    for name in metastore.tables("other_ways"):
        metastore.drop_table("other_ways", name)
    metastore.drop_database("other_ways")


def operations(path):
    timeline = MetaClient.load(path).timeline
    return [timeline.commit_metadata(instant).operation for instant in timeline.write_instants()]


def rows_of(session, name="t"):
    return sorted(tuple(row) for row in session.sql(f"SELECT id, v, p FROM {name}").collect())


def files_below(path):
    return sorted(str(one) for one in path.rglob("*"))


def test_tables_that_expressions_name(session, metastore, tmp_path):
    path = tmp_path / "db" / "t"
    session.sql("DECLARE OR REPLACE VARIABLE place STRING DEFAULT 't'")
    session.sql(
        f"CREATE TABLE IDENTIFIER('other' || '_ways.t') ({COLUMNS}) USING hudi PARTITIONED BY (p) "
        "TBLPROPERTIES (primaryKey = 'id')"
    )
    session.sql("INSERT INTO IDENTIFIER('t') VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y')")
    session.sql("INSERT INTO IDENTIFIER(:name) VALUES (4, 'd', 'y')", {"name": "spark_catalog.other_ways.t"})
    session.sql("WITH s AS (SELECT 5 AS id, 'e' AS v, 'z' AS p) INSERT INTO IDENTIFIER(place) SELECT * FROM s")
    session.sql("UPDATE IDENTIFIER(place) SET v = 'A' WHERE id = 1")
    session.sql("DELETE FROM IDENTIFIER(lower('T')) AS x WHERE x.id = 2")
    session.sql(
        "MERGE INTO IDENTIFIER(place) AS x USING (SELECT 3 AS id) AS s ON x.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 'C'"
    )
    session.sql("EXECUTE IMMEDIATE 'INSERT INTO t VALUES (6, ?, \"z\")' USING 'f'")
    assert rows_of(session) == [(1, "A", "x"), (3, "C", "y"), (4, "d", "y"), (5, "e", "z"), (6, "f", "z")]
    session.sql("TRUNCATE TABLE IDENTIFIER(concat('t', '')) PARTITION (p = 'x')")
    session.sql("EXECUTE IMMEDIATE 'ALTER TABLE IDENTIFIER(place) DROP PARTITION (p = \"y\")'")
    assert rows_of(session) == [(5, "e", "z"), (6, "f", "z")]
    session.sql("ALTER TABLE IDENTIFIER(:t) ADD COLUMNS (w INT)", {"t": "t"})
    session.catalog.recoverPartitions("t")
    assert [tuple(one.values) for one in metastore.partitions("other_ways", "t")] == [("z",)]
    session.sql("BEGIN DECLARE n STRING DEFAULT 'nothing'; SET n = 't'; TRUNCATE TABLE IDENTIFIER(n); END")
    assert rows_of(session) == [] and operations(path)[-4:-2] == ["DELETE_PARTITION"] * 2
    assert operations(path)[-1] == "INSERT_OVERWRITE_TABLE"


def test_other_ways_past_the_statements(session, metastore, tmp_path):
    path = tmp_path / "db" / "t"
    session.sql("DECLARE OR REPLACE VARIABLE place STRING DEFAULT 't'")
    session.sql(f"CREATE TABLE t ({COLUMNS}) USING hudi PARTITIONED BY (p) TBLPROPERTIES (primaryKey = 'id')")
    session.sql("CREATE VIEW seen AS SELECT id FROM t")
    session.sql("CREATE TEMPORARY VIEW t_view AS SELECT * FROM t")
    before = files_below(path)
    for text in (
        "EXECUTE IMMEDIATE 'LOAD DATA INPATH \"/nowhere\" INTO TABLE t'",
        "LOAD DATA INPATH '/nowhere' INTO TABLE IDENTIFIER(place)",
        f"EXECUTE IMMEDIATE 'ALTER TABLE t SET LOCATION \"{tmp_path}/other\"'",
        "ALTER TABLE IDENTIFIER(place || '') PARTITION (p = 'z') RENAME TO PARTITION (p = 'q')",
        f"EXECUTE IMMEDIATE 'INSERT OVERWRITE DIRECTORY \"{path}\" USING parquet SELECT 1'",
        f"INSERT OVERWRITE DIRECTORY '{path}' USING parquet SELECT 1",
        "ALTER TABLE IDENTIFIER(place) SET LOCATION '/tmp/other'",
    ):
        with pytest.raises(HudiHiveError):
            session.sql(text)
    catalyst = session._jvm.org.apache.spark.sql.catalyst
    named = catalyst.TableIdentifier("t", session._jvm.scala.Option.apply("other_ways"))
    commands, none = session._jvm.org.apache.spark.sql.execution.command, session._jvm.scala.Option.apply(None)
    dataset = session._jvm.org.apache.spark.sql.classic.Dataset
    with pytest.raises(SparkError, match="TruncateTableCommand of Spark"):
        dataset.ofRows(session._jsparkSession, commands.TruncateTableCommand(named, none))
    assert files_below(path) == before and session.sql("SELECT * FROM seen").count() == 0
    session.sql("DROP TABLE IDENTIFIER(place)")
    assert not path.exists() and metastore.find_table("other_ways", "t") is None


def test_a_replaced_table_keeps_an_entry(session, metastore, tmp_path, monkeypatch):
    def frame(*rows):
        return session.createDataFrame(rows, COLUMNS)

    def replace(rows):
        rows.writeTo("r").using("hudi").tableProperty("primaryKey", "id").createOrReplace()

    def overwrite(rows):
        rows.write.format("hudi").mode("overwrite").option("primaryKey", "id").saveAsTable("r")

    def fail(*_):
        raise SparkError("the metastore takes no entry now")

    replace(frame((1, "a", "x")))
    with monkeypatch.context() as patched:
        patched.setattr(NewTable, "enter", fail)
        with pytest.raises(SparkError, match="takes no entry"):
            replace(frame((2, "b", "x")))
    assert rows_of(session, "r") == [(2, "b", "x")]
    for again in (replace, overwrite):
        metastore.drop_table("other_ways", "r")  # as if the process had ended between dropping and making the entry
        assert (tmp_path / "db" / "r" / ".hoodie").is_dir()
        again(frame((3, "c", "x")))
        assert rows_of(session, "r") == [(3, "c", "x")]
    metastore.drop_table("other_ways", "r")
    session.sql(f"CREATE OR REPLACE TABLE r ({COLUMNS}) USING hudi TBLPROPERTIES (primaryKey = 'id')")
    assert rows_of(session, "r") == []
    assert metastore.table("other_ways", "r").tableType == "MANAGED_TABLE"
    session.sql("DROP TABLE r")
    assert not (tmp_path / "db" / "r").exists()


@pytest.mark.parametrize("left", [("primaryKey", "type"), pytest.param((), marks=pytest.mark.long)], ids=len)
def test_tables_that_real_hudi_made_from_a_query(session, metastore, tmp_path, left):
    """Their entries have no property ``provider``; those of options that the statement gave, if any."""
    session.sql(
        "CREATE TABLE q USING hudi TBLPROPERTIES (primaryKey = 'id', type = 'cow') "
        "AS SELECT 1 AS id, 'a' AS v, 'x' AS p"
    )
    entry = metastore.table("other_ways", "q")
    names = ("spark.sql", "last_commit", *left)
    entry.parameters = {name: text for name, text in entry.parameters.items() if name.startswith(names)}
    metastore.alter_table("other_ways", "q", entry)
    session.catalog.refreshTable("q")
    session.sql("INSERT INTO q VALUES (2, 'b', 'y')")
    session.sql("ALTER TABLE q ADD COLUMNS (w INT)")
    assert rows_of(session, "q") == [(1, "a", "x"), (2, "b", "y")]
    session.sql("TRUNCATE TABLE q")
    assert rows_of(session, "q") == []
    session.sql("DROP TABLE q")
    assert not (tmp_path / "db" / "q").exists() and metastore.find_table("other_ways", "q") is None
