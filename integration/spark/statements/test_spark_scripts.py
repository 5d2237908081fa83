"""Scripts, parameters and names that are computed: each statement meets the table that those before it left."""

from __future__ import annotations

import pytest

from hudi_hive.errors import SparkError

pytestmark = pytest.mark.jvm


@pytest.fixture
def session(spark, metastore):
    """A session whose current database is a new one."""
    made = spark.newSession()
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

    session.sql("DECLARE OR REPLACE VARIABLE script_table STRING DEFAULT 'jobs'")
    session.sql("INSERT INTO IDENTIFIER(script_table) VALUES (:id, :v)", {"id": 7, "v": 1})
    session.sql("BEGIN DECLARE t STRING DEFAULT 'jobs'; UPDATE IDENTIFIER(t) SET v = 2 WHERE id = 7; END")
    session.sql("EXECUTE IMMEDIATE 'DELETE FROM jobs WHERE id = ?' USING 5")
    session.sql("EXECUTE IMMEDIATE 'ALTER TABLE jobs ADD COLUMNS (w INT)'")
    assert rows(session.sql("SELECT id, v, w FROM jobs")) == [(0, 20, None), (7, 2, None)]


@pytest.mark.parametrize(
    "failing",
    [
        "CREATE TABLE jobs (id INT) USING hudi",  # our error
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
