"""Statements that write: the same rows as real Hudi, in one commit each, and a catalog that follows."""

from __future__ import annotations

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import SparkError, WriteConflictError
from hudi_hive.spark.statements.writes import merge_pruning, target
from integration.long.spark_writes import differences, groups, left_out, recorded
from integration.support.statement_corpus import run_group
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

OFTEN = ("copy-on-write with key and ordering",)
COLUMNS = "id INT, name STRING, ts BIGINT, dt STRING"
KEYED = "PARTITIONED BY (dt) TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts')"


@pytest.fixture
def session(new_session, metastore):
    """A session whose current database is a new one."""
    made = new_session()
    made.sql("CREATE DATABASE IF NOT EXISTS writes")
    made.sql("USE writes")
    yield made
    for row in made.sql("SHOW TABLES").collect():
        made.sql(f"DROP TABLE IF EXISTS writes.{row.tableName}")  # t takes t_ro and t_rt along
    made.sql("DROP DATABASE writes")


@pytest.mark.parametrize("group", with_long_cases(OFTEN, recorded()))
def test_same_answers_as_real_hudi(new_session, tmp_path, group):
    answers = run_group(new_session(), group, groups()[group], tmp_path, {})
    assert differences(group, answers, recorded()[group]["answers"]) == []


def test_a_run_of_the_corpus_names_the_groups_that_it_leaves_out():
    asked = ["truncate whole tables (cow)", "truncate partitions (cow)"]
    statements = len(groups()[asked[1]])
    answers = {asked[0]: {"answers": [], "tables": {}}}
    expected = f"not run, as real Hudi's answers are not recorded: {asked[1]} ({statements} statements)"
    assert left_out(asked, answers) == expected
    assert left_out(asked, dict.fromkeys(asked, answers[asked[0]])) == ""


def location_of(session, name):
    rows = session.sql(f"DESCRIBE EXTENDED {name}").collect()
    return next(row.data_type for row in rows if row.col_name == "Location")


def test_each_statement_is_one_commit_and_the_metastore_follows(session, metastore):
    session.sql(f"CREATE TABLE t ({COLUMNS}) USING hudi {KEYED}")
    session.sql("INSERT INTO t VALUES (1, 'a', 1, 'x'), (2, 'b', 1, 'y')")
    session.sql("UPDATE t SET name = 'c' WHERE id = 1")
    session.sql(
        "MERGE INTO t USING (SELECT 3 AS id, 'z' AS dt) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id, ts, dt) VALUES (s.id, 1, s.dt)"
    )
    session.sql("DELETE FROM t WHERE id = 2")
    table = HudiTable.open(location_of(session, "t"))
    assert len(table.timeline.write_instants()) == 4
    assert [tuple(part.values) for part in metastore.partitions("writes", "t")] == [("x",), ("y",), ("z",)]
    shown = sorted((row.id, row.name) for row in session.sql("SELECT id, name FROM t").collect())
    assert shown == [(1, "c"), (3, None)]


def test_a_statement_fails_when_others_commit_what_it_has_read(session, monkeypatch):
    session.sql(f"CREATE TABLE t ({COLUMNS}) USING hudi {KEYED}")
    session.sql("INSERT INTO t VALUES (1, 'a', 1, 'x')")
    statement = session.newSession()
    write = target.write

    def write_later(*args, **kwargs):
        monkeypatch.setattr(target, "write", write)
        session.sql("INSERT INTO writes.t VALUES (1, 'other', 2, 'x')")
        return write(*args, **kwargs)

    monkeypatch.setattr(target, "write", write_later)
    with pytest.raises(WriteConflictError, match="run the statement again"):
        statement.sql("UPDATE writes.t SET name = concat(name, '!') WHERE id = 1")
    assert [row.name for row in session.sql("SELECT name FROM t").collect()] == ["other"]
    assert len(HudiTable.open(location_of(session, "t")).timeline.write_instants()) == 2


def test_a_merge_of_two_rows_into_one_is_an_error(session):
    session.sql(f"CREATE TABLE t ({COLUMNS}) USING hudi {KEYED}")
    session.sql("INSERT INTO t VALUES (1, 'a', 1, 'x')")
    with pytest.raises(Exception, match="several rows of the source"):
        session.sql(
            "MERGE INTO t USING (SELECT 1 AS id, 'b' AS name UNION ALL SELECT 1, 'c') s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET name = s.name"
        )
    with pytest.raises(Exception, match="changes id"):
        session.sql("MERGE INTO t USING (SELECT 1 AS k) s ON t.id = s.k WHEN MATCHED THEN UPDATE SET id = s.k + 1")
    assert [row.name for row in session.sql("SELECT name FROM t").collect()] == ["a"]


def test_explain_shows_what_is_read_and_written(session):
    session.sql(f"CREATE TABLE t ({COLUMNS}) USING hudi {KEYED}")
    ((plan,),) = session.sql("EXPLAIN EXTENDED UPDATE t SET name = 'x' WHERE dt = 'y'").collect()
    assert "UPDATE t" in plan and "dt" in plan
    assert session.sql("SELECT * FROM t").count() == 0


def test_tables_that_show_base_files_only_are_not_written(spark, synced):
    name = synced("v8_mor_part_rli") + "_ro"
    with pytest.raises(SparkError, match="base files only"):
        spark.sql(f"DELETE FROM {name}")


def test_a_create_that_fails_leaves_nothing(session, tmp_path):
    for text in (
        "CREATE TABLE bad (id INT) USING hudi TBLPROPERTIES (primaryKey = 'nope')",
        "CREATE TABLE bad (id INT) USING hudi TBLPROPERTIES (hoodie.mistyped.option = '1')",
        "CREATE TABLE bad (id INT, v INT DEFAULT 5) USING hudi",
        "CREATE TABLE bad USING hudi AS SELECT 1 AS id, raise_error('no') AS v",
    ):
        with pytest.raises(Exception):  # noqa: B017
            session.sql(text)
        assert [row.tableName for row in session.sql("SHOW TABLES").collect()] == []


def test_paths_parameters_and_names_that_are_expressions(session, tmp_path):
    session.sql(f"CREATE TABLE t ({COLUMNS}) USING hudi {KEYED} LOCATION '{tmp_path}/t'")
    by_path = f"hudi.`{tmp_path}/t`"
    session.sql(f"INSERT INTO {by_path} VALUES (:id, :name, 1, 'x')", {"id": 1, "name": "a"})
    session.sql(
        "FROM VALUES (2, 'b', 1L, 'y') AS v (id, name, ts, dt) "
        "INSERT INTO t SELECT * INSERT INTO t SELECT 3, name, ts, dt"
    )
    session.sql("EXECUTE IMMEDIATE 'UPDATE t SET name = upper(name) WHERE id > ?' USING 1")
    session.sql("DELETE FROM IDENTIFIER('writes.t') WHERE id = 2")
    ((plan,),) = session.sql(f"EXPLAIN DELETE FROM {by_path} WHERE id = 3").collect()
    assert "DELETE hudi" in plan
    assert sorted((row.id, row.name) for row in session.table("t").collect()) == [(1, "a"), (3, "B")]


@pytest.mark.parametrize("kind", with_long_cases(["mor"], ["cow"]))
def test_a_merge_of_more_keys_than_are_named_one_by_one(session, monkeypatch, kind):
    monkeypatch.setattr(merge_pruning, "MOST_VALUES", 1)
    keyed = KEYED.replace("primaryKey", f"type = '{kind}', primaryKey")
    session.sql(f"CREATE TABLE t ({COLUMNS}) USING hudi {keyed}")
    session.sql("INSERT INTO t VALUES (1, 'a', 1, 'x'), (2, 'b', 1, 'x'), (3, 'c', 1, 'y'), (4, 'd', 1, 'y')")
    session.sql(
        "MERGE INTO t USING (SELECT * FROM VALUES (1, 'x', 'u'), (4, 'y', 'd'), (9, 'x', 'i'), (3, 'x', 'n') "
        "AS v (id, dt, what)) s ON t.id = s.id AND s.dt = t.dt WHEN MATCHED AND what = 'd' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET name = s.what, ts = t.ts + 1 "
        "WHEN NOT MATCHED THEN INSERT (id, name, ts, dt) VALUES (s.id, s.what, 5, s.dt)"
    )
    rows = sorted(tuple(row) for row in session.sql("SELECT dt, id, name, ts FROM t").collect())
    assert rows == [("x", 1, "u", 2), ("x", 2, "b", 1), ("x", 3, "n", 5), ("x", 9, "i", 5), ("y", 3, "c", 1)]
    session.sql("MERGE INTO t USING t s ON t.id = s.id AND s.id < 3 WHEN MATCHED THEN UPDATE SET name = s.dt, ts = 9")
    assert {row.name for row in session.sql("SELECT name FROM t WHERE id < 3").collect()} == {"x"}
