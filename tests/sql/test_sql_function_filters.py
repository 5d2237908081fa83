"""Conditions on functions of columns in statements ask expression indexes, and never lose a row."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.sql import SqlEngine
from tests.plan.test_column_index_pruning import unpacked

WHOLE = {"hoodie.enable.data.skipping": "false"}


@pytest.fixture(scope="module")
def engine():
    return SqlEngine(tables={"t": unpacked("column_indexes", "v9_cow_expression")})


@pytest.fixture(scope="module")
def duckdb_alone():
    """DuckDB over all rows of the table."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    path = unpacked("column_indexes", "v9_cow_expression")
    connection.register("t", HudiTable.open(path).scan(options=WHOLE).to_arrow())
    return connection


def groups_left(engine, sql):
    """How many of the four file groups a statement reads, and whether an expression index was asked."""
    (scan,) = engine.scans(sql)
    return scan.plan.slices.num_rows, asks_an_index(scan)


def asks_an_index(scan):
    return any(step.name.startswith("expression index") for step in scan.steps)


def refuse_other_rows(engine, duckdb_alone, sql):
    tables = engine.query(sql).read_all(), duckdb_alone.sql(sql).to_arrow_table()
    ours, all_rows = (sorted(map(str, table.to_pylist())) for table in tables)
    assert ours == all_rows


CONDITIONS = {
    'year("at") = 2021': 1,
    '2021 = year("at")': 1,
    'year("at") > 2021': 2,
    '2000 > year("at") AND id IS NOT NULL': 1,
    'YEAR("AT") IN (1999, 2030)': 1,
    "(lower(rider) = 'ünï' OR id = 'k051') AND year(\"at\") = 2021": 1,
    "upper(id) = 'K051'": 1,
    "upper(id) IN ('zz', 'ZZ')": 1,
}
"""Conditions, and how many of the four file groups the indexes leave; Hudi has put no record of one of them there."""


@pytest.mark.parametrize("condition", CONDITIONS)
def test_functions_ask_expression_indexes(engine, duckdb_alone, condition):
    sql = f"SELECT id, rider, t.city FROM t WHERE {condition} ORDER BY id"
    assert groups_left(engine, sql) == (CONDITIONS[condition], True)
    refuse_other_rows(engine, duckdb_alone, sql)
    assert groups_left(engine, f"EXPLAIN {sql}") == groups_left(engine, sql)


UNCERTAIN = {
    "another scan of the table": 'SELECT (SELECT count(*) FROM t) AS n, id FROM t WHERE year("at") = 2021',
    "a join": 'SELECT x.id FROM t x JOIN t y ON x.id = y.id WHERE year(x."at") = 2021',
    "a common table expression": 'WITH u AS (SELECT * FROM t) SELECT id FROM u WHERE year("at") = 2021',
    "columns by other names": 'SELECT a FROM t u(a, b, c, d, e, f, g, num, fare, "at", day) WHERE year("at") = 2021',
    "a name of the statement's own": "SELECT 'k051' AS rider FROM t WHERE upper(rider) = 'MOVED'",
    "one of several": "SELECT id FROM t WHERE year(\"at\") = 2021 OR id = 'k050'",
    "negated": 'SELECT id FROM t WHERE NOT year("at") = 2021',
    "another number": 'SELECT id FROM t WHERE year("at") = 2021.0',
    "another text": "SELECT id FROM t WHERE lower(rider) = 'ünï'",
    "another order of texts": "SELECT id FROM t WHERE lower(rider) > 'm'",
    "a letter with a dot of its own": "SELECT id FROM t WHERE lower(rider) = 'i'",
    "a text for a number": "SELECT id FROM t WHERE year(\"at\") = '2021'",
    "a set": 'SELECT id FROM t WHERE year("at") = 2021 UNION ALL SELECT id FROM t',
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_what_is_not_certainly_of_the_table_asks_none(engine, duckdb_alone, name):
    assert not any(map(asks_an_index, engine.scans(UNCERTAIN[name])))
    refuse_other_rows(engine, duckdb_alone, UNCERTAIN[name])


@pytest.mark.parametrize("sampled", ["t TABLESAMPLE 100% WHERE {}", "t WHERE {} USING SAMPLE 100%"])
def test_samples_are_taken_before_conditions(engine, sampled):
    condition = 'year("at") = 2021'
    assert groups_left(engine, f"SELECT count(*) FROM {sampled.format(condition)}") == (4, False)


def test_the_dotted_capital_is_not_lost(tmp_path):
    """Java makes two characters of it, DuckDB one: an index of Java's must not leave out rows that DuckDB takes."""
    keys = {"record_keys": ["id"], "partition_fields": ["id"]}
    table = HudiTable.create(tmp_path / "t", name="t", version=9, **keys)
    table.upsert(pa.table({"id": ["a", "b"], "s": ["İX", "IX"]}))
    table.refresh().metadata.create_index("lo", "s", "column_stats", {"expr": "lower"})
    engine = SqlEngine(tables={"t": str(tmp_path / "t")})
    rows = engine.query("SELECT id FROM t WHERE lower(s) = 'ix' ORDER BY id").read_all()
    assert rows["id"].to_pylist() == ["a", "b"]
    assert groups_left(engine, "SELECT id FROM t WHERE lower(s) = 'x'") == (0, True)
