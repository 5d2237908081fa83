"""MERGE and UPDATE: clauses of all kinds in one commit, log blocks of changed columns, and files that are not read."""

from __future__ import annotations

import json
import re
import sys
from datetime import date

import pyarrow as pa
import pytest
from pyspark.sql import functions as sql

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.formats.log import HeaderKey, iter_blocks
from hudi_hive.spark.bridge import sessions
from hudi_hive.spark.statements.writes.target import WriteTarget
from hudi_hive.spark.write import RowChanges
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm


@pytest.fixture
def session(new_session, metastore):
    """A session whose current database is a new one."""
    made = new_session()
    made.sql("CREATE DATABASE IF NOT EXISTS merges")
    made.sql("USE merges")
    yield made
    for row in made.sql("SHOW TABLES").collect():
        made.sql(f"DROP TABLE IF EXISTS merges.{row.tableName}")  # t takes t_ro and t_rt along
    made.sql("DROP DATABASE merges")


def made(path, columns, rows, **definition):
    """The name of a table with rows that is made without Spark: how is no matter of these tests."""
    schema = pa.schema([(name, pa.string() if name == "p" else pa.int32()) for name in columns.split()])
    definition = {"name": path.name, "record_keys": ["id"], "hive_style_partitioning": True, **definition}
    rows = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
    HudiTable.create(path, **definition).insert(rows)
    return f"hudi.`{path}`"


def rows_of(session, query):
    return sorted(tuple(row) for row in session.sql(query).collect())


def test_log_blocks_hold_the_updated_columns_alone(session, tmp_path):
    session.sql(
        "CREATE TABLE m (id INT, s STRUCT<a: INT, b: STRING>, price DOUBLE, ts INT, note STRING) USING hudi "
        f"TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts') LOCATION '{tmp_path}/m'"
    )
    session.sql(
        "INSERT INTO m VALUES (1, named_struct('a', 1, 'b', 'x'), 1, 10, 'n'), "
        "(2, NULL, 2, 10, 'n'), (3, NULL, 3, 10, 'n')"
    )
    session.sql(
        "MERGE INTO m t USING (SELECT * FROM VALUES (1, 5D, 11), (2, 6D, 12), (3, 7D, 9) AS v (id, price, ts)) s "
        "ON t.id = s.id WHEN MATCHED AND s.id <> 2 THEN UPDATE SET price = s.price, ts = s.ts WHEN MATCHED THEN DELETE"
    )
    (log,) = tmp_path.glob("m/.*.log.*")
    changed, deleted = iter_blocks(log.read_bytes(), str(log))
    assert changed.headers[HeaderKey.IS_PARTIAL] == "true" and HeaderKey.IS_PARTIAL not in deleted.headers
    names = [field["name"] for field in json.loads(changed.headers[HeaderKey.SCHEMA])["fields"]]
    assert [name for name in names if not name.startswith("_hoodie")] == ["price", "ts"]
    session.sql("UPDATE m SET s.a = 7, note = 'u' WHERE id = 1")
    # As by Hudi's rules the update of 3 came too late, and so does its deletion.
    session.sql("MERGE INTO m t USING (SELECT 3 AS id, 4 AS ts) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    shown = rows_of(session, "SELECT id, s.a, s.b, price, ts, note FROM m")
    assert shown == [(1, 7, "x", 5.0, 11, "u"), (3, None, None, 3.0, 10, "n")]


def test_fields_beside_a_nested_key_change(session):
    session.sql("CREATE TABLE n (s STRUCT<Id: INT, x: STRING>, v INT) USING hudi TBLPROPERTIES (primaryKey = 's.id')")
    session.sql("INSERT INTO n VALUES (named_struct('Id', 1, 'x', 'a'), 1), (named_struct('Id', 2, 'x', 'b'), 2)")
    source = (
        "MERGE INTO n t USING (SELECT named_struct('Id', {}, 'x', 'm') AS s, 8 AS v) q ON {} "
        "WHEN MATCHED THEN UPDATE SET "
    )
    session.sql(source.format(2, "t.s.id = q.s.id") + "*")
    session.sql(source.format(1, "t.s.id = q.s.id") + "s.x = 'n'")
    with pytest.raises(Exception, match="changes s, which its records keys"):
        session.sql(source.format(3, "t.v = q.v") + "*")
    assert rows_of(session, "SELECT s.id, s.x, v FROM n") == [(1, "n", 1), (2, "m", 8)]


@pytest.mark.long
def test_tables_without_keys_take_all_clauses_and_records_move_by_a_global_index(session):
    session.sql("CREATE TABLE k (id INT, v INT) USING hudi")
    session.sql("INSERT INTO k VALUES (1, 1), (1, 2), (2, 2), (3, 3)")
    session.sql(
        "MERGE INTO k t USING (SELECT * FROM VALUES (1, 9), (2, 0), (5, 5) AS v (id, v)) s ON t.id = s.id "
        "WHEN MATCHED AND s.v = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows_of(session, "SELECT id, v FROM k") == [(1, 10), (1, 11), (3, 3), (5, 5)]
    session.sql(
        "CREATE TABLE g (id INT, v INT, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (primaryKey = 'id')"
    )
    session.sql("INSERT INTO g VALUES (1, 1, 'a'), (2, 2, 'a'), (3, 3, 'b')")
    merge = (
        "MERGE INTO g t USING (SELECT 1 AS id, 5 AS v, 'b' AS p) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN DELETE"
    )
    with pytest.raises(Exception, match="lets records move"):
        session.sql(merge)
    session.sql("SET hoodie.index.type=GLOBAL_SIMPLE")
    session.sql(merge)
    assert rows_of(session, "SELECT id, v, p FROM g") == [(1, 5, "b"), (2, 2, "a")]


def test_columns_that_only_the_source_has_become_the_tables(session, metastore, tmp_path):
    session.sql(
        "CREATE TABLE e (id INT, s STRUCT<a: INT, b: STRING>, v INT, l ARRAY<STRUCT<x: INT>>, ts INT, p STRING) "
        "USING hudi PARTITIONED BY (p) TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts') "
        f"LOCATION '{tmp_path}/e'"
    )
    session.sql(
        "INSERT INTO e VALUES (1, named_struct('a', 1, 'b', 'x'), 1, array(named_struct('x', 1)), 1, 'p'), "
        "(2, NULL, 2, NULL, 1, 'p'), (3, named_struct('a', 3, 'b', 'z'), 3, NULL, 1, 'q')"
    )
    rows = (
        "VALUES (1, named_struct('c', 1.5D, 'A', 10), 9000000000, array(named_struct('y', 'q', 'x', 4)), 2, 'p', 'n'), "
        "(4, NULL, 4L, NULL, 2, 'q', 'i') AS v (ID, s, V, l, ts, p, New)"
    )
    session.sql(
        f"MERGE WITH SCHEMA EVOLUTION INTO e t USING (SELECT * FROM {rows}) q ON t.id = q.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE AND t.New IS NULL AND t.id = 3 THEN UPDATE SET New = 'own', s.c = 7"
    )
    # What only other clauses and expressions read is added by nothing; numbers of keys keep their type.
    session.sql(
        "WITH q AS (SELECT 2L AS id, 3 AS ts, 5 AS more, 6 AS unread, named_struct('d', 8) AS s) "
        "MERGE WITH SCHEMA EVOLUTION INTO e t USING q ON t.id = q.id "
        "WHEN MATCHED THEN UPDATE SET ts = q.ts, more = q.more, s.d = q.s.d, new = concat('u', q.unread)"
    )
    assert rows_of(session, "SELECT id, s.a, s.b, s.c, s.d, v, l, ts, p, New, more FROM e") == [
        (1, 10, "x", 1.5, None, 9000000000, [(4, "q")], 2, "p", "n", None),
        (2, None, None, None, 8, 2, None, 3, "p", "u6", 5),
        (3, 3, "z", 7.0, None, 3, None, 1, "q", "own", None),
        (4, None, None, None, None, 4, None, 2, "q", "i", None),
    ]
    kinds = {one.name: one.type for one in metastore.table("merges", "e").sd.cols}
    assert kinds["s"] == "struct<a:int,b:string,c:double,d:int>" and (kinds["id"], kinds["v"]) == ("int", "bigint")
    assert [name for name in kinds if not name.startswith("_hoodie")][-2:] == ["new", "more"]
    frame = session.sql("SELECT 4 AS id, 4 AS ts, DATE'2024-01-31' AS day")
    (
        frame.mergeInto("e", sql.expr("e.id = hudi_hive_source.id"))
        .whenMatched()
        .update({"ts": sql.col("hudi_hive_source.ts"), "day": sql.col("hudi_hive_source.day")})
        .withSchemaEvolution()
        .merge()
    )
    assert rows_of(session, "SELECT id, ts, day FROM e WHERE day IS NOT NULL") == [(4, 4, date(2024, 1, 31))]
    with pytest.raises(Exception, match="nothing tells its type"):
        session.sql(
            "MERGE WITH SCHEMA EVOLUTION INTO e t USING (SELECT 1 AS id, NULL AS none) q ON t.id = q.id "
            "WHEN MATCHED THEN UPDATE SET *"
        )
    assert session.sql("CALL show_commits(table => 'e')").count() == 4


def test_files_that_cannot_hold_rows_of_the_source_are_not_read(session, monkeypatch, tmp_path):
    files_read, clones = [], []
    write, python_session = WriteTarget.write, sessions.python_session

    def cloned(java):
        clones.append(java)
        return python_session(java)

    def written(self, rows, *args, **kwargs):
        files_read.extend(re.findall(r"(\d+) base files", hudi_spark.explain(rows)))
        return write(self, rows, *args, **kwargs)

    rows = [(key, 0, f"p{key // 10}") for key in range(40)]
    table = made(tmp_path / "f", "id v p", rows, partition_fields=["p"])
    monkeypatch.setattr(WriteTarget, "write", written)
    monkeypatch.setattr(sessions, "python_session", cloned)
    session.sql(
        f"MERGE INTO {table} t USING (SELECT 10L + id AS k, concat('p', 1 + id DIV 100) AS p FROM range(2, 4)) s "
        "ON t.id = s.k AND t.p = s.p WHEN MATCHED THEN UPDATE SET v = 1 "
        "WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.k, s.p)"
    )
    keys = f"MERGE INTO {table} t USING (SELECT 25 + 10 * id AS k FROM range({{}})) s ON t.id = s.k"
    session.sql(keys.format(2) + " WHEN MATCHED THEN UPDATE SET v = 2")
    context = session.sparkContext
    context.setJobGroup("one merge", "of 300 rows")
    session.sql(keys.format(300) + " WHEN MATCHED THEN UPDATE SET v = t.v + 1")
    for name in ("spark.jobGroup.id", "spark.job.description"):
        context.setLocalProperty(name, None)
    # What the source holds, whether that is few values, its keys for the scan, the groups of joined rows, the files.
    assert len(context.statusTracker().getJobIdsForGroup("one merge")) <= 5
    assert rows_of(session, f"SELECT id, v FROM {table} WHERE v > 0") == [(12, 1), (13, 1), (25, 3), (35, 3)]
    assert files_read == ["1", "2", "2"]
    assert len(clones) == 3  # one a statement


DOUBLED = [(1, "a", 1, "x"), (1, "b", 2, "x"), (1, "c", 3, "y"), (2, "d", 1, "x")]


@pytest.mark.parametrize("kind", [pytest.param("cow", marks=pytest.mark.long), "mor"])
def test_all_records_of_a_key_are_changed_with_a_record_index(session, kind):
    """The index holds one record of each key, also where inserts have made several."""
    session.sql(
        f"CREATE TABLE {kind}_doubled (id INT, v STRING, ts INT, p STRING) USING hudi PARTITIONED BY (p) "
        f"TBLPROPERTIES (type = '{kind}', primaryKey = 'id', preCombineField = 'ts', "
        "'hoodie.metadata.record.index.enable' = 'true', 'hoodie.index.type' = 'RECORD_INDEX')"
    )
    session.sql("SET hoodie.spark.sql.insert.into.operation=bulk_insert")
    for some in (DOUBLED[::3], DOUBLED[1:2], DOUBLED[2:3]):  # of the rows of one statement those of a key are combined
        session.sql(f"INSERT INTO {kind}_doubled VALUES {', '.join(map(str, some))}")
    session.sql("RESET hoodie.spark.sql.insert.into.operation")
    table = f"{kind}_doubled"
    select = f"SELECT id, v, ts, p FROM {table}"
    assert rows_of(session, select) == sorted(DOUBLED)
    session.sql(f"UPDATE {table} SET ts = ts + 10 WHERE id = 1 AND p = 'y'")
    session.sql(f"UPDATE {table} SET v = concat(v, p), ts = 20 WHERE id = 1")
    assert [(row[0], row[2], row[3]) for row in rows_of(session, select)] == [
        (1, 20, "x"),
        (1, 20, "x"),
        (1, 20, "y"),
        (2, 1, "x"),
    ]
    session.sql(
        f"MERGE INTO {table} t USING (SELECT 1 AS id) s ON t.id = s.id AND t.p = 'x' "
        "WHEN MATCHED THEN UPDATE SET v = 'm', ts = 30 "
        "WHEN NOT MATCHED THEN INSERT (id, v, ts, p) VALUES (9, '', 0, 'x')"
    )
    assert [row[1] for row in rows_of(session, f"{select} WHERE p = 'y'")] == ["cy"]
    assert [row[2] for row in rows_of(session, f"{select} WHERE p = 'x' AND id = 1")] == [30, 30]
    session.sql(f"DELETE FROM {table} WHERE id = 1")
    assert rows_of(session, select) == [(2, "d", 1, "x")]


@pytest.mark.long
def test_rows_of_a_table_without_meta_columns_are_told_apart_by_their_keys(session):
    session.sql(
        "CREATE TABLE bare (id INT, v INT, p STRING) USING hudi PARTITIONED BY (p) "
        "TBLPROPERTIES (primaryKey = 'id', 'hoodie.populate.meta.fields' = 'false')"
    )
    session.sql("INSERT INTO bare VALUES (1, 1, 'x'), (2, 2, 'x'), (3, 3, 'y')")
    session.sql(
        "MERGE INTO bare t USING (SELECT * FROM VALUES (1, 7, 'x'), (2, 8, 'x'), (4, 9, 'z') AS q(id, v, p)) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows_of(session, "SELECT id, v, p FROM bare") == [(1, 7, "x"), (2, 8, "x"), (3, 3, "y"), (4, 9, "z")]
    with pytest.raises(Exception, match="several rows of the source"):
        session.sql(
            "MERGE INTO bare t USING (SELECT 1 AS id UNION ALL SELECT 1) s ON t.id = s.id WHEN MATCHED THEN DELETE"
        )


NEW_ROWS = [
    # What the condition, the source's id and the INSERT clause are, and whether new rows are looked up.
    ("t.id = s.id", "id", "INSERT *", False),
    ("s.p = t.p AND t.id = s.id", "id", "INSERT (v, id, ts, p) VALUES (s.v, s.id, s.ts, s.p)", False),
    ("t.id = s.id AND t.v < 2", "id", "INSERT *", True),
    ("t.id = s.id", "id", "INSERT (id, v, ts, p) VALUES (s.id + 0, s.v, s.ts, s.p)", True),
    ("t.id = s.id", "CAST(id AS DOUBLE) + IF(id = 2, 0.5D, 0)", "INSERT *", True),
]


@pytest.mark.parametrize("kind", with_long_cases(["cow"], ["cow", "mor"]))
def test_rows_that_met_none_of_the_table_are_looked_up_only_where_others_may_have_their_keys(
    session, monkeypatch, tmp_path, thorough, kind
):
    looked_up = []
    module = sys.modules[RowChanges.__module__.rpartition(".")[0] + ".write_frame"]
    are_nowhere = module.are_nowhere
    monkeypatch.setattr(module, "are_nowhere", lambda *args: looked_up.append(1) or are_nowhere(*args))
    definition = {"table_type": {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[kind], "ordering_fields": ["ts"]}
    for number, (condition, key, insert, looks) in enumerate(NEW_ROWS if thorough else NEW_ROWS[1::3]):
        known = [(1, 1, 1, "a"), (2, 2, 1, "b"), (3, 3, 1, "b")]
        table = made(tmp_path / f"n{number}", "id v ts p", known, partition_fields=["p"], **definition)
        looked_up.clear()
        new = "(5, 50, 3, 'a'), (5, 51, 2, 'a'), (6, 60, 2, 'c')"
        source = f"VALUES (1, 10, 2, 'a'), (2, 20, 2, 'b'), {new} v (id, v, ts, p)"
        session.sql(
            f"MERGE INTO {table} t USING (SELECT {key} AS id, v, ts, p FROM {source}) s ON {condition} "
            f"WHEN MATCHED THEN UPDATE SET v = s.v, ts = s.ts WHEN NOT MATCHED THEN {insert}"
        )
        rows = [(1, 10, "a"), (2, 20, "b"), (3, 3, "b"), (5, 50, "a"), (6, 60, "c")]
        assert (number, rows_of(session, f"SELECT id, v, p FROM {table}")) == (number, rows)
        assert (number, bool(looked_up)) == (number, looks or kind == "mor")  # where logs may have deleted a record


def test_a_source_that_the_session_caches_stays_cached(session, tmp_path):
    name = made(tmp_path / "t", "id p v", [(n, f"p{n % 2}", 0) for n in range(4)], partition_fields=["p"])
    session.sql("CACHE TABLE changes AS SELECT 1 AS id, 5 AS v")
    try:
        session.sql(f"MERGE INTO {name} t USING changes s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v")
        assert session.catalog.isCached("changes")
        assert rows_of(session, f"SELECT id, v FROM {name}") == [(0, 0), (1, 5), (2, 0), (3, 0)]
    finally:
        session.sql("DROP VIEW changes")


def test_null_in_keys_and_partitions_meets_nothing_and_is_looked_up(session):
    session.sql(
        "CREATE TABLE o (id INT, k STRING, v INT, p STRING) USING hudi PARTITIONED BY (p) "
        "TBLPROPERTIES (primaryKey = 'id,k', preCombineField = 'v')"
    )
    session.sql("INSERT INTO o VALUES (1, NULL, 1, 'a'), (2, 'x', 2, NULL), (3, 'x', 3, 'a')")
    session.sql(
        "MERGE INTO o t USING (SELECT * FROM VALUES (1, NULL, 10, 'a'), (2, 'x', 20, NULL), (4, 'y', 40, 'a') "
        "AS v (id, k, v, p)) s ON t.id = s.id AND t.k = s.k AND t.p = s.p WHEN NOT MATCHED THEN INSERT *"
    )
    rows = [(1, 10), (2, 20), (3, 3), (4, 40)]
    assert rows_of(session, "SELECT id, v FROM o") == rows


def test_a_record_that_logs_deleted_is_inserted_where_it_was(session, tmp_path):
    # Base files have its key until they are compacted: elsewhere the next look-up would find it twice.
    definition = {"table_type": "MERGE_ON_READ", "ordering_fields": ["ts"]}
    table = made(tmp_path / "d", "id v ts", [(key, 0, 1) for key in range(4)], **definition)
    session.sql(f"DELETE FROM {table} WHERE id = 1")
    for number in (5, 6):
        session.sql(
            f"MERGE INTO {table} t USING (SELECT {number} AS v, {number} AS ts, explode(array(1, {number})) AS id) s "
            "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    session.sql(f"INSERT INTO {table} VALUES (1, 7, 7)")
    expected = [(0, 0), (1, 7), (2, 0), (3, 0), (5, 5), (6, 6)]
    assert rows_of(session, f"SELECT id, v FROM {table}") == expected
    names = f"SELECT DISTINCT substring_index(_hoodie_file_name, '_', 1) FROM {table} WHERE id < 4"
    assert len({name.split("_")[0].lstrip(".") for (name,) in rows_of(session, names)}) == 1
