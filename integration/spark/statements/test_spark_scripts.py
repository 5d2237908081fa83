"""Scripts, parameters, computed names, tables in the place of others: statements meet what those before them left."""

from __future__ import annotations

import pytest

from hudi_hive.errors import SparkError
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm


@pytest.fixture
def session(new_session, metastore):
    """A session whose current database is a new one."""
    made = new_session()
    made.sql("CREATE DATABASE IF NOT EXISTS scripts")
    made.sql("USE scripts")
    yield made
    made.sql("DROP TABLE IF EXISTS scripts.jobs")
    made.sql("DROP DATABASE scripts")


def rows(frame):
    return sorted(tuple(row) for row in frame.collect())


def test_statements_that_write_in_scripts(session):
    made = session.sql(
        "BEGIN DECLARE n INT DEFAULT 0; "
        "CREATE TABLE jobs (id INT, v INT) USING hudi TBLPROPERTIES (primaryKey = 'id'); "
        "WHILE n < 2 DO INSERT INTO jobs VALUES (n, 0); UPDATE jobs SET v = v + 10; SET n = n + 1; END WHILE; "
        "FOR job AS SELECT id, v FROM jobs WHERE id = 0 DO "
        "MERGE INTO jobs USING (SELECT job.id + 5 AS id, job.v AS v) s ON jobs.id = s.id "
        "WHEN NOT MATCHED THEN INSERT *; "
        "END FOR; "
        "IF (SELECT count(*) FROM jobs) = 3 THEN WITH gone AS (SELECT 1 AS id) "
        "DELETE FROM jobs WHERE id IN (SELECT id FROM gone); END IF; "
        "SELECT id, v FROM jobs; END"
    )
    assert rows(made) == [(0, 20), (5, 20)]


def test_scripts_that_are_switched_off_name_the_setting(session):
    session.conf.set("spark.sql.scripting.enabled", "false")
    with pytest.raises(SparkError, match=r"set spark\.sql\.scripting\.enabled to true"):
        session.sql("BEGIN SELECT 1; END")


@pytest.mark.long
def test_statements_of_scripts_and_of_computed_names(session):
    session.sql("CREATE TABLE jobs (id INT, v INT) USING hudi TBLPROPERTIES (primaryKey = 'id')")
    session.sql("INSERT INTO jobs VALUES (0, 20), (5, 20)")
    session.sql("DECLARE OR REPLACE VARIABLE script_table STRING DEFAULT 'jobs'")
    session.sql("INSERT INTO IDENTIFIER(script_table) VALUES (:id, :v)", {"id": 7, "v": 1})
    session.sql("BEGIN DECLARE t STRING DEFAULT 'jobs'; UPDATE IDENTIFIER(t) SET v = 2 WHERE id = 7; END")
    session.sql("EXECUTE IMMEDIATE 'DELETE FROM jobs WHERE id = ?' USING 5")
    session.sql("EXECUTE IMMEDIATE 'ALTER TABLE jobs ADD COLUMNS (w INT)'")
    assert rows(session.sql("SELECT id, v, w FROM jobs")) == [(0, 20, None), (7, 2, None)]


@pytest.mark.parametrize(
    "failing",
    [
        long_case("CREATE TABLE jobs (id INT) USING hudi"),  # our error
        "INSERT INTO jobs SELECT 9, raise_error('stop')",  # Spark's
    ],
)
def test_a_failing_statement_of_a_script(session, failing):
    session.sql("CREATE TABLE jobs (id INT, v INT) USING hudi TBLPROPERTIES (primaryKey = 'id')")
    statements = f"INSERT INTO jobs VALUES (1, 1); {failing}; INSERT INTO jobs VALUES (2, 2);"
    handler = "DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN INSERT INTO jobs VALUES (-1, -1); END;"
    session.sql(f"BEGIN {handler} {statements} END")
    assert rows(session.sql("SELECT id FROM jobs")) == [(-1,), (1,)]
    with pytest.raises(Exception, match=r"table exists|stop"):
        session.sql(f"BEGIN {statements.replace('1, 1', '3, 3')} END")
    assert rows(session.sql("SELECT id FROM jobs")) == [(-1,), (1,), (3,)]
    with pytest.raises(SparkError, match="LOAD DATA"):
        session.sql("BEGIN LOAD DATA INPATH '/tmp/nothing' INTO TABLE jobs; END")


def test_a_table_in_the_place_of_another(session, metastore):
    query = "SELECT 1 AS id, nullif(5, 6) AS v"
    session.sql(f"CREATE OR REPLACE TABLE jobs USING hudi TBLPROPERTIES (primaryKey = 'id') AS {query}")
    session.sql("INSERT INTO jobs SELECT 2, DEFAULT")
    assert rows(session.sql("SELECT id, v FROM jobs")) == [(1, 5), (2, None)]
    with pytest.raises(Exception, match="stop"):
        session.sql("CREATE OR REPLACE TABLE jobs USING hudi AS SELECT id + raise_error('stop') AS broken FROM jobs")
    assert rows(session.sql("SELECT id, v FROM jobs")) == [(1, 5), (2, None)]

    session.sql("REPLACE TABLE jobs USING hudi PARTITIONED BY (v) AS SELECT id, 'x' AS name, 3 AS v FROM jobs")
    assert rows(session.sql("SELECT id, name, v FROM jobs")) == [(1, "x", 3), (2, "x", 3)]
    assert [list(part.values) for part in metastore.partitions("scripts", "jobs")] == [["3"]]

    text = "(k INT COMMENT 'the key', day STRING) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'k')"
    session.sql(f"EXPLAIN REPLACE TABLE jobs {text}")
    assert session.table("jobs").count() == 2
    session.sql(f"REPLACE TABLE jobs {text}")
    session.sql("INSERT INTO jobs VALUES (1, 'd')")
    assert rows(session.sql("SELECT k, day FROM jobs")) == [(1, "d")]
    described = {row.col_name: row.comment for row in session.sql("DESCRIBE jobs").collect()}
    assert described["k"] == "the key" and session.catalog.tableExists("jobs_rt")

    for statement, message in [
        ("REPLACE TABLE none_such (k INT) USING hudi", "is not there"),
        ("CREATE OR REPLACE TABLE jobs USING parquet AS SELECT 1 AS k", "another format"),
        ("CREATE OR REPLACE TABLE jobs (k INT DEFAULT 5) USING hudi", "default"),
    ]:
        with pytest.raises(SparkError, match=message):
            session.sql(statement)
    assert rows(session.sql("SELECT k FROM jobs")) == [(1,)]
