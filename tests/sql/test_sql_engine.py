"""The local SQL engine: rows, what is read for them, what is refused."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector
from hudi_hive.connector.files import RestSource
from hudi_hive.errors import (
    FileVanishedError,
    InvalidOptionError,
    MetastoreConnectError,
    NoSuchObjectError,
    SqlError,
    StorageError,
    TableNotFoundError,
    UnsupportedTableError,
)
from hudi_hive.metastore import FieldSchema, HiveMetastore, SerDeInfo, StorageDescriptor, Table
from hudi_hive.metrics import IoCounters
from hudi_hive.sql import PathCatalog, SqlEngine
from hudi_hive.testing import FakeMetastore
from tests.support.fixture_tables import fixture_names, unzip_fixture
from tests.support.metastore.registered import ORC, PARQUET, REALTIME, register

VISITS = "v8_cow_part_mdt"


@pytest.fixture(scope="module")
def visits() -> pa.Table:
    return HudiTable.open(unzip_fixture(VISITS)).scan().to_arrow()


@pytest.fixture
def counters() -> IoCounters:
    return IoCounters()


@pytest.fixture
def engine(counters) -> SqlEngine:
    path = str(unzip_fixture(VISITS))
    return SqlEngine(PathCatalog({"lake.visits": path, "Other": path}, counters=counters), threads=2)


def rows(engine: SqlEngine, sql: str) -> list[tuple]:
    table = engine.query(sql).read_all()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def in_order(table: pa.Table) -> list[dict]:
    """Rows in an order of their own: rows of log files may come behind those of base files."""
    return sorted(table.to_pylist(), key=repr)


def files_of(row_filter: str | None) -> int:
    return HudiTable.open(unzip_fixture(VISITS)).scan(row_filter).plan().files.num_rows


# -- rows -------------------------------------------------------------------------------------------------------------


def test_all_rows_of_a_table_are_selected(engine, visits):
    assert engine.query("SELECT * FROM lake.visits").read_all().to_pylist() == visits.to_pylist()


def test_filters_reach_the_plan_and_leave_partitions_out(engine, visits, counters):
    found = rows(engine, "SELECT page, count(*) FROM lake.visits WHERE city = 'lima' GROUP BY 1 ORDER BY 1")
    lima = visits.filter(pc.field("city") == "lima").group_by("page").aggregate([([], "count_all")])
    assert found == sorted(zip(lima["page"].to_pylist(), lima["count_all"].to_pylist(), strict=True))
    assert counters["engine_files"] == files_of("city = 'lima'") < files_of(None)


def test_filters_of_joined_tables_reach_their_own_plans(engine, visits, counters):
    sql = """SELECT count(*) FROM lake.visits v JOIN "default".other o USING (visit_id)
             WHERE v.city IN ('oslo', 'kyiv') AND o.city = 'oslo'"""
    assert rows(engine, sql) == [(visits.filter(pc.field("city") == "oslo").num_rows,)]
    assert counters["engine_files"] == files_of("city IN ('oslo', 'kyiv')") + files_of("city = 'oslo'")


def test_columns_and_filters_reach_what_is_read_here(monkeypatch):
    asked = []
    read = RestSource.batches

    def batches(source, columns, row_filter, batch_size):
        asked.append((columns, None if row_filter is None else set(row_filter.columns)))
        return read(source, columns, row_filter, batch_size)

    monkeypatch.setattr(RestSource, "batches", batches)
    table = HudiTable.open(unzip_fixture("v8_cow_orc"))
    first, second = table.schema().names[5:7]
    engine = SqlEngine(tables={"t": str(unzip_fixture("v8_cow_orc"))}, threads=1)
    everything = table.scan().to_arrow()
    found = rows(engine, f"SELECT {second} FROM t WHERE {first} IS NOT NULL")
    assert sorted(found) == sorted((one,) for one in everything[second].to_pylist())
    rows(engine, f"SELECT max({first}), lower({second}::VARCHAR) FROM t GROUP BY ALL")
    assert asked == [([second], {first}), ([first, second], None)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM LAKE.Visits",
        "SELECT count(*) FROM other",
        "SELECT count(*) FROM default.other",
        "SELECT count(*) FROM Default . other -- default.x",
        "SELECT count(*) FROM default.other WHERE 'é😀' <> 'FROM default.x' AND page <> 'ü' -- é",
        "/* é😀 */ SELECT count(*) /* ünïcode */ FROM default.other o JOIN default.other p USING (visit_id)",
        "WITH v AS (SELECT * FROM lake.visits) SELECT count(*) FROM v",
        "WITH other AS (SELECT * FROM other) SELECT count(*) FROM other",
        "/* first */ -- second\nSELECT (SELECT count(*) FROM other);",
        "SELECT count(*) FROM (FROM lake.visits)",
        "SELECT count(*) FROM other WHERE visit_id IN (SELECT visit_id FROM lake.visits)",
        "SELECT count(*) FROM other WHERE EXISTS (SELECT 1 FROM lake.visits v WHERE v.visit_id = other.visit_id)",
    ],
)
def test_every_spelling_of_a_name_finds_the_table(engine, visits, sql):
    assert rows(engine, sql) == [(visits.num_rows,)]


def test_texts_are_left_alone(engine):
    assert rows(engine, "SELECT 'default.t', 'FROM default' AS \"default.u\"") == [("default.t", "FROM default")]


def test_names_can_be_listed(engine):
    assert rows(engine, "SHOW SCHEMAS") == rows(engine, "SHOW DATABASES") == [("default",), ("lake",)]
    assert rows(engine, "SHOW TABLES FROM lake") == [("visits",)]
    assert rows(engine, "SHOW TABLES") == rows(engine, "SHOW TABLES FROM default") == [("other",)]
    described = rows(engine, "DESCRIBE lake.visits")
    assert ("visit_id", "BIGINT") in [row[:2] for row in described] and len(described) == 10
    with pytest.raises(NoSuchObjectError, match="no schema nope; SHOW SCHEMAS"):
        engine.query("SHOW TABLES FROM nope")


def test_plans_show_what_was_pushed_down(engine):
    for word in ("EXPLAIN", "EXPLAIN ANALYZE", "explain (ANALYZE)"):
        ((plan,),) = rows(engine, f"{word} SELECT page FROM lake.visits WHERE city = 'oslo'")
        assert "city = 'oslo'" in plan and "READ_PARQUET" in plan
        assert "page" in plan and "dwell" not in plan


@pytest.mark.parametrize("name", ["v8_cow_nonpart", "v8_mor_event_time", "v9_cow_ymd_hive"])
def test_a_table_as_it_was(name):
    path = unzip_fixture(name)
    table = HudiTable.open(path)
    engine = SqlEngine(tables={"t": str(path)}, threads=1)
    for instant in [one.requested for one in table.timeline.write_instants()]:
        wanted = in_order(table.scan(as_of=instant).to_arrow())
        assert in_order(engine.query(f"SELECT t.* FROM t AT (VERSION => {instant})").read_all()) == wanted
        assert in_order(engine.query(f"FROM t AS x AT (TIMESTAMP => '{instant}')").read_all()) == wanted
    both = f"SELECT (SELECT count(*) FROM t AT (VERSION => {instant})), (SELECT count(*) FROM t)"
    assert rows(engine, both) == [(len(wanted), table.scan().count())]


@pytest.mark.parametrize("name", [*fixture_names("cow_types"), *fixture_names("mor_types")])
def test_every_type_is_selected_as_it_is(name):
    path = unzip_fixture(name)
    wanted = HudiTable.open(path).scan().to_arrow()
    found = SqlEngine(tables={"t": str(path)}, threads=1).query("SELECT * FROM t").read_all()
    assert found.to_pylist() == wanted.to_pylist()
    for field in wanted.schema:
        kind = found.schema.field(field.name).type
        if pa.types.is_timestamp(field.type):  # DuckDB has times with a zone in microseconds alone
            assert pa.types.is_timestamp(kind) and kind.tz == field.type.tz, field
        elif pa.types.is_decimal(field.type) or not (pa.types.is_nested(kind) or pa.types.is_binary(kind)):
            assert kind == field.type, field


def test_batches_come_while_rows_are_read(engine):
    with engine.query("SELECT * FROM lake.visits", batch_size=4) as reader:
        first = reader.read_next_batch()
    assert 0 < first.num_rows <= 4


def test_columns_of_one_name_are_all_there(engine, visits):
    table = engine.query("SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS b").read_all()
    assert table.to_pylist() == [{"a": 1, "a_2": 2, "a_1": 3, "b": 4}]
    joined = engine.query("SELECT * FROM lake.visits v JOIN other o ON v.visit_id = o.visit_id").read_all()
    assert joined.num_rows == visits.num_rows and len(set(joined.column_names)) == 2 * visits.num_columns
    assert joined["visit_id_1"].to_pylist() == joined["visit_id"].to_pylist()


def test_a_forked_process_can_use_and_drop_the_engine():
    code = f"""
import os, sys
from hudi_hive.sql import SqlEngine
engine = SqlEngine(tables={{"t": {str(unzip_fixture(VISITS))!r}}}, threads=1)
count = lambda: engine.query("SELECT count(*) FROM t").read_all().column(0).to_pylist()
child = os.fork()
if child == 0:
    print(count(), flush=True)
    del engine
    os._exit(0)
print(os.waitpid(child, 0)[1], count())
"""
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=300)
    assert ran.stdout.splitlines() == ["[15]", "0 [15]"]


def test_statements_run_at_the_same_time(engine, visits):
    found, errors = [], []

    def run() -> None:
        try:
            found.append(rows(engine, "SELECT count(*) FROM lake.visits JOIN other USING (visit_id)"))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and found == [[(visits.num_rows,)]] * 4


def test_rows_that_do_not_fit_go_to_the_disk(tmp_path):
    engine = SqlEngine(memory_limit="40MB", threads=1, temporary_folder=str(tmp_path / "spill"))
    sql = "SELECT count(*), max(r) FROM (SELECT range r, hash(range) h FROM range(2000000) ORDER BY h)"
    assert rows(engine, sql) == [(2_000_000, 1_999_999)]
    with pytest.raises(SqlError, match="Out of Memory") as caught:
        rows(engine, "SELECT list(range::VARCHAR || repeat('x', 100)) FROM range(3000000)")
    assert "memory_limit" in str(caught.value)


def test_spilled_rows_are_private_and_removed_with_the_statement(tmp_path):
    spill = tmp_path / "spill"
    engine = SqlEngine(memory_limit="40MB", threads=1, temporary_folder=str(spill))
    sql = "SELECT row_number() OVER (ORDER BY hash(range)), repeat('x', 40) FROM range(1000000)"
    readers = [engine.query(sql), engine.query(sql), engine.query(sql)]
    for reader in readers[:2]:
        reader.read_next_batch()
    folders = list(spill.iterdir())
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700] * 3
    assert sum(any(folder.iterdir()) for folder in folders) >= 2
    del reader, readers
    gc.collect()
    assert list(spill.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="temporary folder"):
        SqlEngine(temporary_folder=str(tmp_path / "file")).query("SELECT 1")


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("INSERT INTO lake.visits SELECT * FROM other", "INSERT"),
        ("UPDATE lake.visits SET page = 'x'", "UPDATE"),
        ("DELETE FROM lake.visits", "DELETE"),
        ("TRUNCATE lake.visits", "TRUNCATE"),
        ("MERGE INTO lake.visits USING other ON true WHEN MATCHED THEN DELETE", "MERGE"),
        ("CREATE TABLE x AS SELECT 1", "CREATE"),
        ("CREATE OR REPLACE VIEW lake.visits AS SELECT 1", "CREATE"),
        ("DROP TABLE lake.visits", "DROP"),
        ("ALTER TABLE lake.visits ADD COLUMN x INT", "ALTER"),
        ("COPY lake.visits TO '/tmp/x.csv'", "COPY"),
        ("ATTACH '/tmp/x.db'", "ATTACH"),
        ("INSTALL httpfs", "INSTALL"),
        ("SET threads = 1", "SET"),
        ("PRAGMA version", "PRAGMA"),
        ("CALL pragma_version()", "CALL"),
        ("BEGIN", "BEGIN"),
        ("PIVOT lake.visits ON city USING count(*)", "PIVOT"),
        ("EXPLAIN DELETE FROM lake.visits", "DELETE"),
        ("WITH x AS (DELETE FROM lake.visits RETURNING *) FROM x", "DELETE"),
        ("WITH x AS (INSERT INTO other SELECT * FROM lake.visits RETURNING *) SELECT count(*) FROM x", "INSERT"),
        ("SELECT * FROM (WITH x AS (COPY lake.visits TO '/tmp/x.csv') FROM x)", "COPY"),
    ],
)
def test_nothing_is_written(engine, sql, word):
    with pytest.raises(SqlError, match=word) as caught:
        engine.query(sql)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELEC 1", "syntax error"),
        ("", "no statement"),
        ("SELECT '\udcff'", "not Unicode"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT nope FROM lake.visits", 'column "nope" not found'),
        ("SELECT * FROM hive.lake.visits", "two parts"),
        ("SELECT * FROM information_schema.tables", "information_schema"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled"),
        ("SELECT * FROM glob('/etc/*')", "disabled"),
        ("SELECT * FROM lake.visits AT (VERSION => visit_id)", "AT takes"),
        ("SELECT error('of its own') FROM lake.visits", "of its own"),
    ],
)
def test_statements_that_cannot_run(engine, sql, message):
    with pytest.raises(SqlError, match=message):
        engine.query(sql).read_all()


def test_unknown_table_names_are_refused(engine):
    visible = pa.table({"x": [1]})
    for sql in ("SELECT * FROM visible", "FROM nope.visits", "FROM '/etc/passwd'", "WITH v AS (SELECT 1) FROM v, w"):
        with pytest.raises(NoSuchObjectError, match="no table"):
            engine.query(sql)
    del visible


def test_a_common_table_expression_may_have_the_name_of_a_table_that_cannot_be_read(engine, tmp_path):
    engine = SqlEngine(tables={"broken": str(tmp_path / "nowhere"), "t": str(unzip_fixture(VISITS))}, threads=1)
    assert rows(engine, "WITH broken AS (FROM t) SELECT count(*) FROM broken") == [(15,)]
    for sql in (
        "FROM broken",
        "WITH broken AS (FROM broken) FROM broken",
        "FROM (WITH broken AS (FROM t) FROM t), broken",
    ):
        with pytest.raises(TableNotFoundError, match="nowhere"):
            engine.query(sql)


def test_settings_and_names_are_checked():
    with pytest.raises(InvalidOptionError, match="Memory"):
        SqlEngine(memory_limit="much")
    with pytest.raises(InvalidOptionError, match=r"a\.b\.c"):
        SqlEngine(tables={"a.b.c": "/tmp"})
    with pytest.raises(InvalidOptionError, match="system"):
        SqlEngine(tables={"system.t": str(unzip_fixture(VISITS))}).query("FROM system.t")


def test_names_with_quotes_and_dots_work():
    path = str(unzip_fixture(VISITS))
    engine = SqlEngine(tables={'memory."quoted" é': path, "main.select": path, "hudi_hive.t": path}, threads=1)
    for name in ('memory."""quoted"" é"', 'main."select"', "hudi_hive.t"):
        assert rows(engine, f"SELECT count(*) FROM {name}") == [(15,)]


def test_a_table_s_own_errors_come_out(tmp_path):
    path = unzip_fixture(VISITS, tmp_path)
    engine = SqlEngine(tables={"t": str(path)}, threads=1)
    next(path.glob("lima/*.parquet")).unlink()
    with pytest.raises(FileVanishedError, match="lima"):
        engine.query("SELECT page FROM t").read_all()
    assert rows(engine, "SELECT count(*) FROM t WHERE city = 'kyiv'") == [(1,)]


# -- over a metastore -------------------------------------------------------------------------------------------------


@pytest.fixture
def metastore(tmp_path):
    with FakeMetastore(tmp_path / "metastore") as server, HiveMetastore(server.uri) as client:
        yield client


def test_tables_of_a_metastore(metastore, visits):
    metastore.create_database("lake")
    register(metastore, unzip_fixture(VISITS), "visits", database="lake", keys=[("city", "string")])
    register(metastore, unzip_fixture("v8_mor_event_time"), "events")
    with HudiConnector(metastore) as connector:
        engine = SqlEngine(connector, threads=2)
        found = engine.query("SELECT * FROM lake.visits ORDER BY visit_id, city").read_all()
        assert found.to_pylist() == visits.sort_by([("visit_id", "ascending"), ("city", "ascending")]).to_pylist()
        assert rows(engine, "SHOW SCHEMAS") == [("default",), ("lake",)]
        assert rows(engine, "SHOW TABLES") == [("events",)]
        joined = "SELECT count(*) FROM lake.visits v, (SELECT 1 FROM Events LIMIT 1) WHERE v.city = 'lima'"
        assert rows(engine, joined) == [(visits.filter(pc.field("city") == "lima").num_rows,)]
        instant = HudiTable.open(unzip_fixture(VISITS)).timeline.write_instants()[-1].requested
        assert rows(engine, f"SELECT count(*) FROM lake.visits AT (VERSION => {instant})") == [(visits.num_rows,)]
        with pytest.raises(NoSuchObjectError, match=r"lake\.nope"):
            engine.query("FROM lake.nope")


def test_filters_reach_the_metastore(metastore, visits):
    register(metastore, unzip_fixture(VISITS), "visits", keys=[("city", "string")])
    engine = SqlEngine(HudiConnector(metastore), threads=1)
    before = metastore.calls.copy()
    lima = visits.filter(pc.field("city") == "lima").num_rows
    assert rows(engine, "SELECT count(*) FROM visits WHERE city = 'lima'") == [(lima,)]
    assert metastore.calls - before == {"get_table_req": 1, "get_partitions_by_filter": 1}


def test_statements_that_end_early_leave_no_thread(metastore):
    register(metastore, unzip_fixture(VISITS), "visits", keys=[("city", "string")])
    engine = SqlEngine(HudiConnector(metastore), threads=2)
    before = set(threading.enumerate())
    assert len(rows(engine, "SELECT * FROM visits LIMIT 1")) == 1
    with engine.query("SELECT * FROM visits", batch_size=1) as reader:
        reader.read_next_batch()
    with pytest.raises(SqlError):
        rows(engine, "SELECT error('no') FROM visits")
    engine.query("SELECT * FROM visits").close()
    del reader
    gc.collect()
    # Threads of DuckDB that once ran Python code stand in the list as "dummies".
    left = [one for one in set(threading.enumerate()) - before if not isinstance(one, threading._DummyThread)]
    for thread in left:
        thread.join(timeout=300)
        assert not thread.is_alive(), thread


@pytest.mark.parametrize(
    "name", ["v6_mor_types", "v8_cow_orc", "v9_mor_part_rli", "v9_cow_slash_day", "v8_cow_wide_250"]
)
def test_rows_of_synced_tables(metastore, name):
    table = HudiTable.open(unzip_fixture(name))
    kind = ORC if table.config.base_file_format == "orc" else REALTIME
    register(metastore, unzip_fixture(name), "t", input_format=kind)
    wanted = table.scan().to_arrow()
    found = SqlEngine(HudiConnector(metastore), threads=2).query("SELECT * FROM t").read_all()
    key = ["_hoodie_partition_path", "_hoodie_record_key"]
    order = [(column, "ascending") for column in key]
    assert found.schema.names == wanted.schema.names
    assert found.sort_by(order).to_pylist() == wanted.sort_by(order).to_pylist()


def test_read_optimized_tables_leave_log_files_out(metastore):
    path = unzip_fixture("v8_mor_event_time")
    register(metastore, path, "t_ro", input_format=PARQUET)
    register(metastore, path, "t_rt", input_format=REALTIME)
    engine = SqlEngine(HudiConnector(metastore), threads=1)
    table = HudiTable.open(path)
    for name, kind in (("t_ro", "read_optimized"), ("t_rt", "snapshot")):
        wanted = table.scan(query_type=kind).to_arrow().to_pylist()
        found = engine.query(f"FROM {name}").read_all().to_pylist()
        assert sorted(map(str, found)) == sorted(map(str, wanted))


def test_named_tables_go_before_those_of_the_metastore(metastore, visits):
    register(metastore, unzip_fixture("v8_cow_nonpart"), "t")
    engine = SqlEngine(HudiConnector(metastore), tables={"t": str(unzip_fixture(VISITS))}, threads=1)
    assert rows(engine, "SELECT count(*) FROM t") == [(visits.num_rows,)]


def test_other_tables_are_refused(metastore):
    storage = StorageDescriptor(
        cols=[FieldSchema(name="x", type="int", comment=None)],
        location=str(unzip_fixture("v8_cow_nonpart")),
        inputFormat="org.apache.hadoop.mapred.TextInputFormat",
        serdeInfo=SerDeInfo(name=None, serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"),
    )
    metastore.create_table(
        Table(dbName="default", tableName="t", sd=storage, partitionKeys=[], parameters={}, tableType="EXTERNAL_TABLE")
    )
    with pytest.raises(UnsupportedTableError, match=r"default\.t"):
        SqlEngine(HudiConnector(metastore)).query("FROM t")


def test_an_unreachable_metastore_is_an_error():
    client = HiveMetastore("thrift://127.0.0.1:1", retries=0)
    with pytest.raises(MetastoreConnectError):
        SqlEngine(HudiConnector(client)).query("FROM t")
