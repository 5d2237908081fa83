"""CREATE TABLE and INSERT by the rules of Hudi's SQL: entries, names, operations, what an overwrite replaces."""

from __future__ import annotations

from datetime import date

import pytest

from hudi_hive import HudiTable
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm


@pytest.fixture
def session(new_session, metastore):
    """A session whose current database is a new one."""
    made = new_session()
    made.sql("CREATE DATABASE IF NOT EXISTS inserts")
    made.sql("USE inserts")
    yield made
    made.sql("DROP DATABASE inserts CASCADE")


def rows(session, query):
    return sorted(tuple(row) for row in session.sql(query).collect())


def operations(path):
    timeline = HudiTable.open(str(path)).timeline
    return [timeline.commit_metadata(one).operation for one in timeline.write_instants()]


def properties(session, name):
    return {row.key: row.value for row in session.sql(f"SHOW TBLPROPERTIES {name}").collect()}


def test_entries_say_what_the_table_is(session, tmp_path):
    place = tmp_path / "logged"
    session.sql(
        "CREATE TABLE logged (id TINYINT, v VARCHAR(9), ts BIGINT) USING hudi COMMENT 'a log' "
        "OPTIONS (PRIMARYKEY = 'id', precombineField = 'ts', type = 'MERGE_ON_READ', hoodie.table.name = 'no') "
        f"LOCATION '{place}'"
    )
    session.sql("INSERT INTO logged VALUES (1, 'a', 1)")
    session.sql("INSERT INTO logged VALUES (1, 'b', 2)")
    stated = properties(session, "logged")
    assert {"type": "mor", "primaryKey": "id", "preCombineField": "ts"}.items() <= stated.items()
    assert ("Comment", "a log") in [tuple(row)[:2] for row in session.sql("DESCRIBE EXTENDED logged").collect()]
    assert "hoodie.table.name" not in stated
    assert session.table("logged").schema.simpleString().endswith("id:int,v:string,ts:bigint>")
    for name, text in (("shows_ro", "true"), ("shows_rt", "false")):
        session.sql(
            f"CREATE TABLE {name} USING hudi TBLPROPERTIES (hoodie.query.as.ro.table = '{text}') LOCATION '{place}'"
        )
    assert rows(session, "SELECT v FROM shows_ro") == [("a",)]
    assert rows(session, "SELECT v FROM shows_rt") == [("b",)]
    session.sql("CREATE TABLE alike LIKE logged")
    assert {"type": "mor", "primaryKey": "id"}.items() <= properties(session, "alike").items()
    session.sql("INSERT INTO alike SELECT * FROM logged")
    assert rows(session, "SELECT id, v, ts FROM alike") == [(1, "b", 2)]
    for text in (
        "CREATE TABLE twice (a INT, A STRING) USING hudi",
        "CREATE TABLE parts (a INT) USING hudi PARTITIONED BY (a)",
        "CREATE TABLE buckets (a INT) USING hudi CLUSTERED BY (a) INTO 2 BUCKETS",
        f"CREATE TABLE known USING hudi PARTITIONED BY (ts) LOCATION '{place}'",
        "CREATE TABLE made USING hudi TBLPROPERTIES (hoodie.query.as.ro.table = 'true') AS SELECT 1 AS a",
    ):
        with pytest.raises(Exception):  # noqa: B017
            session.sql(text)
    names = {row.tableName for row in session.sql("SHOW TABLES").collect()}
    assert not names & {"twice", "parts", "buckets", "known", "made"}


def test_inserts_go_by_names_and_by_the_sessions_operation(session, tmp_path):
    place = tmp_path / "t"
    session.sql(
        "CREATE TABLE t (id INT, dt STRING, name STRING, ts BIGINT) USING hudi PARTITIONED BY (dt) "
        f"TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts') LOCATION '{place}'"
    )
    session.sql("INSERT INTO t SELECT 'x' AS dt, 5 AS ts, 'a' AS name, 1 AS id")
    session.sql("INSERT INTO t PARTITION (dt = 'y') SELECT 6 AS ts, 2 AS id, 'b' AS name")
    session.sql("INSERT INTO t SELECT 3, 'c', 7, 'y'")
    session.sql("SET hoodie.datasource.insert.dup.policy=drop")
    session.sql("INSERT INTO t VALUES (1, 'late', 9, 'x'), (4, 'd', 1, 'x'), (4, 'e', 2, 'x')")
    session.sql("RESET hoodie.datasource.insert.dup.policy")
    expected = [(1, "a", 5, "x"), (2, "b", 6, "y"), (3, "c", 7, "y"), (4, "e", 2, "x")]
    assert rows(session, "SELECT id, name, ts, dt FROM t") == expected
    session.sql("INSERT OVERWRITE t PARTITION (dt = 'y') SELECT id, name, ts FROM t WHERE false")
    assert rows(session, "SELECT id FROM t") == [(1,), (4,)]
    session.sql("SET hoodie.sql.insert.mode=strict")
    session.sql("SET hoodie.sql.bulk.insert.enable=true")
    with pytest.raises(Exception, match="is not bulk inserted in mode strict"):
        session.sql("INSERT INTO t VALUES (9, 'z', 1, 'x')")
    session.sql("SET hoodie.sql.insert.mode=non-strict")
    session.sql("INSERT INTO t VALUES (1, 'again', 9, 'x')")
    assert rows(session, "SELECT name FROM t WHERE id = 1") == [("a",), ("again",)]
    session.sql("SET hoodie.sql.insert.mode=upsert")
    session.sql("SET hoodie.sql.bulk.insert.enable=false")
    session.sql("SET hoodie.datasource.write.insert.drop.duplicates=true")  # which counts beside a mode alone
    session.sql("INSERT INTO t VALUES (4, 'late', 9, 'x'), (5, 'f', 9, 'x')")
    assert rows(session, "SELECT name FROM t WHERE id > 3") == [("e",), ("f",)]
    session.sql("RESET hoodie.sql.insert.mode")
    session.sql("INSERT INTO t VALUES (4, 'new', 9, 'x')")
    assert rows(session, "SELECT name FROM t WHERE id = 4") == [("new",)]
    expected = ["UPSERT"] * 3 + ["INSERT", "INSERT_OVERWRITE", "BULK_INSERT", "INSERT", "UPSERT"]
    assert operations(place) == expected


def test_inserts_with_schema_evolution_and_of_conditions(session, metastore, thorough):
    session.sql(
        "CREATE TABLE e (id INT, s STRUCT<a: INT, b: INT>, ts INT, p STRING) USING hudi PARTITIONED BY (p) "
        "TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts')"
    )
    # By names, those of fields too, where they are the table's; else by position.
    session.sql("WITH c AS (SELECT 'p' AS p, named_struct('b', 2, 'a', 1) AS s, 1 AS ts, 1 AS id) INSERT INTO e FROM c")
    session.sql("INSERT INTO e SELECT 2, struct(3, 4), 1, 'p'")
    session.sql("INSERT WITH SCHEMA EVOLUTION INTO e SELECT 3, struct(5, 6), 9000000000, 'q', 'new' AS n")
    session.sql(
        "INSERT WITH SCHEMA EVOLUTION INTO e BY NAME "
        "SELECT 'N' AS N, named_struct('c', 7, 'a', 8D) AS s, 'q' AS p, 4L AS id, 1 AS ts"
    )
    assert rows(session, "SELECT id, s.a, s.b, s.c, ts, n, p FROM e") == [
        (1, 1.0, 2, None, 1, None, "p"),
        (2, 3.0, 4, None, 1, None, "p"),
        (3, 5.0, 6, None, 9000000000, "new", "q"),
        (4, 8.0, None, 7, 1, "N", "q"),
    ]
    kinds = {one.name: one.type for one in metastore.table("inserts", "e").sd.cols}
    assert (kinds["id"], kinds["s"], kinds["ts"]) == ("int", "struct<a:double,b:int,c:int>", "bigint")
    with pytest.raises(Exception, match="names of the table's"):
        session.sql("INSERT WITH SCHEMA EVOLUTION INTO e SELECT 3, struct(5, 6), 7, 'n', 'p', 'q' AS id")
    commits = len(operations(metastore.table("inserts", "e").sd.location))
    session.sql(
        "INSERT WITH SCHEMA EVOLUTION INTO e REPLACE WHERE p = 'p' OR s.c = 7 "
        "SELECT 'q' AS p, 1 AS id, NULL AS s, 2 AS ts, 'r' AS n, DATE'2024-01-31' AS day"
    )
    assert rows(session, "SELECT id, n, p, day FROM e") == [(1, "r", "q", date(2024, 1, 31)), (3, "new", "q", None)]
    assert len(operations(metastore.table("inserts", "e").sd.location)) == commits + 1
    session.sql("INSERT INTO e REPLACE USING (P) SELECT id + 6 AS id, s, ts, n, day, p FROM e WHERE id = 1")
    assert rows(session, "SELECT id, n, p FROM e") == [(7, "r", "q")]
    if thorough:
        new = "INSERT INTO e BY NAME REPLACE USING"
        session.sql(f"{new} (p, n) SELECT * FROM VALUES (8, 1, 'v', 'q'), (9, 1, NULL, 'q') AS s(id, ts, n, p)")
        assert rows(session, "SELECT id, ts, n, p FROM e") == [(7, 2, "r", "q"), (8, 1, "v", "q"), (9, 1, None, "q")]
        session.sql(f"{new} (n) SELECT * FROM VALUES (8, 2, 'v', 'z'), (10, 1, NULL, 'q') AS s(id, ts, n, p)")
        assert rows(session, "SELECT id, ts, n, p FROM e") == [
            (7, 2, "r", "q"),
            (8, 2, "v", "z"),
            (9, 1, None, "q"),
            (10, 1, None, "q"),
        ]
    for statement, reason in (
        ("REPLACE USING (nowhere) SELECT * FROM e", "the table has no column"),
        ("BY NAME REPLACE USING (n) SELECT 1 AS id, 1 AS ts, 'q' AS p", "the rows have no column"),
    ):
        with pytest.raises(Exception, match=reason):
            session.sql(f"INSERT INTO e {statement}")


def test_legacy_casts_and_locks_of_the_table(session):
    locks = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    session.sql(
        "CREATE TABLE loose (id INT, d DATE, n INT, v STRING, p STRING) USING hudi PARTITIONED BY (p) "
        "TBLPROPERTIES (primaryKey = 'id', hoodie.write.concurrency.mode = 'optimistic_concurrency_control', "
        f"hoodie.clean.failed.writes.policy = 'LAZY', hoodie.write.lock.provider = '{locks}')"
    )
    assert properties(session, "loose")["hoodie.write.lock.provider"] == locks
    session.sql("SET spark.sql.storeAssignmentPolicy=legacy")
    session.sql("INSERT INTO loose VALUES ('1', '2024-01-31', 'none', DATE'2024-02-01', 7)")
    session.sql("INSERT INTO loose (v, id) SELECT 2.5, '2'")
    session.sql("INSERT INTO loose PARTITION (p = 'q') SELECT 3, 'no day', 5000000000, true")
    session.sql("INSERT INTO loose BY NAME SELECT 'q' AS p, 4L AS id")
    with pytest.raises(Exception, match="column"):
        session.sql("INSERT INTO loose VALUES (1, 2)")
    session.sql("RESET spark.sql.storeAssignmentPolicy")
    assert rows(session, "SELECT id, d, n, v, p FROM loose") == [
        (1, date(2024, 1, 31), None, "2024-02-01", "7"),
        (2, None, None, "2.5", None),
        (3, None, 705032704, "true", "q"),
        (4, None, None, None, "q"),
    ]
    session.sql("ALTER TABLE loose CHANGE COLUMN n n INT COMMENT 'a number'")
    session.sql("ALTER TABLE loose ADD COLUMNS (more INT)")
    assert {row.col_name: row.comment for row in session.sql("DESCRIBE loose").collect()}["n"] == "a number"
    with pytest.raises(Exception, match="without schema evolution"):
        session.sql("ALTER TABLE loose CHANGE COLUMN n n BIGINT")
    session.sql("SET hoodie.write.lock.provider=no.such.Provider")
    with pytest.raises(Exception, match=r"no\.such\.Provider"):
        session.sql("ALTER TABLE loose ADD COLUMNS (other INT)")
    session.sql("RESET hoodie.write.lock.provider")


def test_names_of_any_script_and_times_in_paths(session):
    session.sql(
        "CREATE TABLE places (`ключ` INT, `größe` STRUCT<`ä`: STRING>, `日期` TIMESTAMP) USING hudi "
        "PARTITIONED BY (`日期`) TBLPROPERTIES (primaryKey = 'ключ', type = 'mor')"
    )
    session.sql("INSERT INTO places VALUES (1, NULL, TIMESTAMP'2024-01-01 10:20:30.5'), (2, struct('b'), NULL)")
    session.sql(
        "MERGE INTO places t USING (SELECT 1 AS `ключ`, struct('c') AS `größe`, TIMESTAMP'2024-01-01 10:20:30.5' AS "
        "`日期` UNION ALL SELECT 3, NULL, NULL) s ON t.`ключ` = s.`ключ` "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    shown = rows(session, "SELECT `ключ`, `größe`.`ä`, _hoodie_partition_path FROM places")
    nowhere = "日期=__HIVE_DEFAULT_PARTITION__"
    assert shown == [(1, "c", "日期=2024-01-01 10%3A20%3A30"), (2, "b", nowhere), (3, None, nowhere)]
    assert rows(session, "SELECT `ключ` FROM places WHERE `日期` > TIMESTAMP'2024-01-01 10:20:30'") == [(1,)]


def test_times_in_paths_stay_as_they_are(session, tmp_path):
    options = {
        "hoodie.table.name": "numbers",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "at",
    }
    frame = session.sql("SELECT 1 AS id, 'a' AS v, TIMESTAMP'2024-01-01 10:20:30' AS at")
    frame.write.format("hudi").options(**options).save(f"{tmp_path}/numbers")
    session.sql(f"CREATE TABLE numbers USING hudi LOCATION '{tmp_path}/numbers'")
    session.sql("UPDATE numbers SET v = 'b'")
    session.sql("INSERT INTO numbers VALUES (2, 'c', TIMESTAMP'2024-01-01 10:20:30')")
    paths = {row[0] for row in rows(session, "SELECT _hoodie_partition_path FROM numbers")}
    assert rows(session, "SELECT id, v FROM numbers") == [(1, "b"), (2, "c")] and len(paths) == 1


@pytest.mark.parametrize("kind", with_long_cases(["mor"], ["cow", "mor"]))
def test_overwrites_of_buckets(session, kind):
    session.sql(
        "CREATE TABLE b (id INT, name STRING, ts BIGINT, dt STRING) USING hudi PARTITIONED BY (dt) TBLPROPERTIES "
        f"(type = '{kind}', primaryKey = 'id', preCombineField = 'ts', hoodie.index.type = 'BUCKET', "
        "hoodie.bucket.index.num.buckets = '4')"
    )
    session.sql("INSERT INTO b VALUES (1, 'a', 1, 'x'), (5, 'b', 1, 'x'), (3, 'c', 1, 'y')")
    session.sql("INSERT OVERWRITE b PARTITION (dt = 'x') VALUES (1, 'd', 1), (9, 'e', 1)")
    session.sql("INSERT INTO b VALUES (9, 'f', 2, 'x'), (3, 'g', 2, 'y')")
    assert rows(session, "SELECT id, name, dt FROM b") == [(1, "d", "x"), (3, "g", "y"), (9, "f", "x")]
    session.sql("INSERT OVERWRITE b VALUES (7, 'h', 1, 'z')")
    assert rows(session, "SELECT id, name, dt FROM b") == [(7, "h", "z")]
