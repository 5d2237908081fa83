"""INSERT INTO … REPLACE ON, and that statements that replace rows compute their new rows once."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import functions as sql

from hudi_hive import HudiTable

pytestmark = pytest.mark.jvm


@pytest.fixture
def session(new_session):
    """A session whose current database is a new one."""
    made = new_session()
    if tuple(int(part) for part in made.version.split(".")[:2]) < (4, 3):
        pytest.skip("this release of Spark has no REPLACE ON")
    made.sql("CREATE DATABASE replacing")
    made.sql("USE replacing")
    yield made
    made.sql("DROP DATABASE replacing CASCADE")


@pytest.fixture
def table(session, tmp_path):
    """The folder of a table ``t`` of keys 1 to 4 in the partitions p and q, the last without a number."""
    session.sql(
        "CREATE TABLE t (id INT, n INT, s STRUCT<a: INT>, p STRING) USING hudi PARTITIONED BY (p) "
        f"TBLPROPERTIES (primaryKey = 'id') LOCATION '{tmp_path}/t'"
    )
    session.sql(
        "INSERT INTO t VALUES (1, 10, struct(1), 'p'), (2, 20, struct(2), 'p'), (3, 30, NULL, 'q'), "
        "(4, NULL, struct(4), 'q')"
    )
    yield str(tmp_path / "t")
    session.sql("DROP TABLE t PURGE")


def rows(session, query="SELECT id, n, p FROM t"):
    return sorted(tuple(row) for row in session.sql(query).collect())


def commits(path):
    return len(list(HudiTable.open(path).timeline.write_instants()))


def cached(session):
    return session.sparkContext._jsc.getPersistentRDDs().size()


OLD = [(1, 10, "p"), (2, 20, "p"), (3, 30, "q"), (4, None, "q")]


def test_new_rows_take_the_place_of_those_that_match_one(session, table):
    # By position, with names of the query's own; a column that is cast for the table is compared as the query has it.
    session.sql("INSERT INTO t AS x REPLACE ON x.n = s.b + 10 (SELECT 7L AS a, 10.0 AS b, NULL AS c, 'q' AS d) s")
    assert rows(session) == [(1, 10, "p"), (3, 30, "q"), (4, None, "q"), (7, 10, "q")]
    assert commits(table) == 2
    # Null matches nothing unless the condition says so; a new row of a replaced row's key updates it.
    session.sql("INSERT INTO t BY NAME REPLACE ON t.n <=> s.n (SELECT 'q' AS p, CAST(NULL AS INT) AS n, 4 AS id) s")
    session.sql("INSERT INTO t BY NAME REPLACE ON t.n = s.n (SELECT 'q' AS p, CAST(NULL AS INT) AS n, 5 AS id) s")
    assert rows(session) == [(1, 10, "p"), (3, 30, "q"), (4, None, "q"), (5, None, "q"), (7, 10, "q")]
    # No new row replaces none, whatever the condition says.
    session.sql("INSERT INTO t REPLACE ON true SELECT * FROM t WHERE false")
    session.sql("INSERT INTO t REPLACE ON t.p = 'p' SELECT * FROM t s WHERE false")
    assert len(rows(session)) == 5
    # Columns of the table alone, over a query of the table itself, by its alias in it.
    session.sql("INSERT INTO t REPLACE ON t.p = s.p AND t.id > 3 SELECT id + 10, n, s, p FROM t AS s WHERE id = 3")
    assert rows(session) == [(1, 10, "p"), (3, 30, "q"), (13, 30, "q")]
    session.sql("INSERT INTO t REPLACE ON t.p = 'q' VALUES (6, 60, struct(6), 'r')")
    assert rows(session) == [(1, 10, "p"), (6, 60, "r")]


def test_conditions_of_nested_fields_functions_and_common_tables(session, table):
    session.sql(
        "WITH c AS (SELECT 9 AS id, 1 AS n, struct(1) AS s, 'z' AS p, array(2, 5) AS more) "
        "INSERT INTO t AS x REPLACE ON x.s.a = c.n OR exists(array(1, 2), one -> one * 10 = x.n AND one > c.n) "
        "SELECT id, n, s, p FROM c"
    )
    assert rows(session) == [(3, 30, "q"), (4, None, "q"), (9, 1, "z")]
    plan = session.sql("EXPLAIN INSERT INTO t x REPLACE ON x.id = s.id (SELECT * FROM t) s").collect()[0][0]
    assert "OVERWRITE" in plan and commits(table) == 2


def test_conditions_that_are_refused_leave_all_as_it_was(session, table):
    before = cached(session)  # what other tests left
    query = "(SELECT 1 AS id, 1 AS n, NULL AS s, 'p' AS p) s"
    for condition, reason in (
        ("p = s.p", "(?i)ambiguous"),
        ("t.p = u.nowhere", "nowhere.* cannot be resolved"),
        ("t.id IN (SELECT 1)", "has a subquery"),
        ("t.id = s.id AND rand() > 0", "rand"),
        ("t.id + s.id", "BOOLEAN"),
        ("sum(t.id) > s.id", "(?i)aggregate"),
    ):
        with pytest.raises(Exception, match=reason):
            session.sql(f"INSERT INTO t REPLACE ON {condition} {query}")
    for statement, reason in (
        ("INSERT INTO t AS x REPLACE ON t.id = s.id " + query, "`t`.`id` cannot be resolved"),
        ("INSERT WITH SCHEMA EVOLUTION INTO t REPLACE ON t.id = s.id " + query, "ALTER TABLE"),
        ("INSERT INTO t REPLACE ON t.id = s.id (SELECT 1 AS id, 1 AS n) s", "column"),
        ("INSERT INTO t REPLACE ON t.id = s.a (SELECT 1 AS a, 2 AS a, NULL, 'p') s", "(?i)ambiguous"),
        (
            "INSERT INTO t REPLACE ON t.id = s.id (SELECT 1 AS id, raise_error('stop') AS n, NULL AS s, 'p' AS p) s",
            "stop",
        ),
    ):
        with pytest.raises(Exception, match=reason):
            session.sql(statement)
    assert (rows(session), commits(table), cached(session)) == (OLD, 1, before)
    session.sql("CREATE TABLE keyless (id INT, n INT) USING hudi")
    with pytest.raises(Exception, match="no record keys"):
        session.sql("INSERT INTO keyless k REPLACE ON k.id = s.id (SELECT 1 AS id, 2 AS n) s")


@pytest.mark.parametrize("criteria", ["ON t.id = s.id", "USING (id)", "WHERE id < 9"])
def test_new_rows_are_computed_once(session, table, tmp_path, criteria):
    log = tmp_path / "computed"
    before = cached(session)

    def number(_):
        with log.open("ab") as file:
            file.write(b"x")
        return int.from_bytes(os.urandom(3), "big")

    session.udf.register("number", sql.udf(number, "int").asNondeterministic())
    query = "SELECT id, number(id) AS n, s, p FROM (SELECT * FROM t) WHERE id < 3"
    session.sql(f"INSERT INTO t REPLACE {criteria} " + (f"({query}) s" if "ON" in criteria else query))
    assert log.read_bytes() == b"xx"
    assert [row[0] for row in rows(session)] == ([1, 2] if "WHERE" in criteria else [1, 2, 3, 4])
    assert cached(session) == before


def test_random_keys_replace_what_they_are_stored_as(session, table):
    session.sql(
        "INSERT INTO t REPLACE ON t.id = s.id (SELECT CAST(1 + rand() * 4 AS INT) AS id, 0 AS n, NULL AS s, 'q' AS p) s"
    )
    stored = rows(session)
    (new,) = (row for row in stored if row[1] == 0)
    assert stored == sorted([*(row for row in OLD if row[0] != new[0]), new])
