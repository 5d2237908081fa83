"""Inserts through page sinks and ``INSERT INTO``: one commit, type rules, nothing left behind."""

from __future__ import annotations

import datetime as dt
import decimal
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector, PageSink, begin_insert, finish_insert
from hudi_hive.errors import (
    HudiHiveError,
    InvalidOptionError,
    NoSuchObjectError,
    SchemaError,
    SqlError,
    UnknownColumnError,
    UnsupportedTableError,
    WriteError,
)
from hudi_hive.sql import SqlEngine
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from tests.connector.shared.connector_helpers import client, connector, server
from tests.connector.shared.elsewhere import two_rows
from tests.support.faults.write_acts import PROBE
from tests.support.faults.write_acts import rows as scenario_rows
from tests.support.faults.write_faults import Scenario
from tests.support.faults.write_sweep import sweep
from tests.support.running.long import long_case, with_long_cases

__all__ = ["client", "connector", "server"]

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "city": ["oslo", "lima", "oslo"],
        "fare": pa.array([1.5, 2.5, None], pa.float64()),
        "day": pa.array([dt.date(2024, 5, 1)] * 3),
        "at": pa.array([dt.datetime(2024, 5, 1, 12)] * 3, pa.timestamp("us", "UTC")),
        "price": pa.array([decimal.Decimal("1.25"), None, None], pa.decimal128(8, 2)),
        "small": pa.array([1, 2, None], pa.int32()),
        "tags": pa.array([["a"], [], None], pa.list_(pa.string())),
    }
)


def make(path: Path, version: int = 9, kind: str = "COPY_ON_WRITE") -> HudiTable:
    table = HudiTable.create(
        str(path), name="t", record_keys=["id"], partition_fields=["city"], version=version, table_type=kind
    )
    table.insert(ROWS)
    return table


@pytest.fixture
def table(tmp_path) -> HudiTable:
    return make(tmp_path / "t")


@pytest.fixture
def engine(table) -> SqlEngine:
    return SqlEngine(tables={"t": table.path, "lake.t": table.path}, threads=1)


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> tuple[SqlEngine, HudiTable]:
    """A table that no test changes."""
    table = make(tmp_path_factory.mktemp("shared") / "t")
    return SqlEngine(tables={"t": table.path}, threads=1), table


def snapshot(table: HudiTable) -> list[dict]:
    found = HudiTable.open(table.path).scan().to_arrow().select(ROWS.column_names)
    return sorted(found.to_pylist(), key=lambda row: row["id"])


def commits(table: HudiTable) -> int:
    return len(HudiTable.open(table.path).timeline.write_instants())


# -- sinks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", with_long_cases((9,), (6, 8, 9)))
def test_several_sinks_in_other_processes_are_one_commit(tmp_path, version):
    table = make(tmp_path / "t", version, "MERGE_ON_READ")
    insert = begin_insert(table.client, ["id", "City"])
    assert insert.schema.names == ["id", "city"]
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        sent = pickle.dumps(insert)
        fragments = [pickle.loads(one) for one in pool.map(partial(two_rows, sent), (10, 20))]
    report = finish_insert(table.client, insert, fragments)
    assert (report.inserted, commits(table)) == (4, 2)
    added = snapshot(table)[3:]
    assert [(row["id"], row["city"], row["fare"]) for row in added] == [(n, "kyiv", None) for n in (10, 11, 20, 21)]


def test_what_is_no_insert_is_refused_and_leaves_nothing(table):
    before = sorted(str(path) for path in Path(table.path.removeprefix("file:")).rglob("*"))
    insert = begin_insert(table.client, ["id", "city"])
    page = pa.record_batch({"id": [9], "city": ["kyiv"]})
    sink, aborted = PageSink(insert), PageSink(insert)
    for wrong, message in (
        (pa.record_batch({"city": ["a"], "id": [1]}), "the page has the columns"),
        (pa.record_batch({"id": ["1"], "city": ["a"]}), "column id is int64, and string"),
    ):
        with pytest.raises(SchemaError, match=message):
            sink.append(wrong)
    sink.append(page)
    fragment = sink.finish()
    assert fragment.rows == 1
    aborted.append(page)
    aborted.abort()
    for ended in (sink, aborted):
        for call in (ended.finish, lambda ended=ended: ended.append(page)):
            with pytest.raises(WriteError, match="finished or aborted"):
                call()
    other = begin_insert(table.client, ["id", "city"])
    for of, fragments, message in (
        (other, [fragment], "of another insert"),
        (insert, [fragment, fragment], "there twice"),
        (pickle.loads(pickle.dumps(insert)), [fragment], "where it was begun"),
    ):
        with pytest.raises(InvalidOptionError, match=message):
            finish_insert(table.client, of, fragments)
    for columns, options, error in (
        (["id", "gone"], None, UnknownColumnError),
        (["id", "ID"], None, InvalidOptionError),
        (["_hoodie_record_key"], None, UnknownColumnError),
        (None, {"hoodie.datasource.write.operation": "delete"}, InvalidOptionError),
        (None, {"hoodie.nonsense": "1"}, InvalidOptionError),
    ):
        with pytest.raises(error):
            begin_insert(table.client, columns, options)
    assert sorted(str(path) for path in Path(table.path.removeprefix("file:")).rglob("*")) == before


# -- INSERT INTO ------------------------------------------------------------------------------------------------------


def test_columns_are_named_or_not(engine, table):
    data = ", ".join(f'"{name}"' for name in ROWS.column_names)
    report = engine.insert(f"INSERT INTO lake.t SELECT id + 10, * EXCLUDE (id) FROM (SELECT {data} FROM t);")
    assert (report.inserted, commits(table)) == (3, 2)
    assert [{**row, "id": row["id"] - 10} for row in snapshot(table)[3:]] == ROWS.to_pylist()
    engine.insert("insert into table t (\"CITY\", Id, fare) values ('kyiv', 21, 1), (NULL, 22, 2.5)")
    added = snapshot(table)[6:]
    assert [(row["id"], row["city"], row["fare"], row["day"]) for row in added] == [
        (21, "kyiv", 1.0, None),
        (22, None, 2.5, None),
    ] or added[1]["city"] == "__HIVE_DEFAULT_PARTITION__"
    upsert = {"hoodie.datasource.write.operation": "upsert"}
    engine.insert("INSERT INTO t (id, city, fare) WITH x AS (SELECT 1 AS id) SELECT id, 'oslo', 9 FROM x", upsert)
    assert (snapshot(table)[0]["fare"], len(snapshot(table)), commits(table)) == (9.0, 8, 4)


STORED = [
    {"fare": ("7", 7.0), "small": ("CAST(5 AS BIGINT)", 5), "price": ("3", decimal.Decimal("3.00"))},
    {"fare": ("1.25", 1.25), "small": ("CAST(5 AS DECIMAL(9, 2))", 5), "price": ("0.5", decimal.Decimal("0.50"))},
    {
        "day": ("DATE '2024-06-01'", dt.date(2024, 6, 1)),
        "at": ("TIMESTAMPTZ '2024-06-01 01:02:03+02'", dt.datetime(2024, 5, 31, 23, 2, 3, tzinfo=dt.UTC)),
        "tags": ("['x', NULL]", ["x", None]),
        "small": ("NULL", None),
    },
    {
        "at": ("DATE '2024-06-01'", dt.datetime(2024, 6, 1, tzinfo=dt.UTC)),
        "tags": ("[]", []),
        "fare": ("CAST(1.5 AS FLOAT)", 1.5),
    },
    {
        "at": ("TIMESTAMP '2024-06-01 01:02:03'", dt.datetime(2024, 6, 1, 1, 2, 3, tzinfo=dt.UTC)),
        "tags": ("NULL", None),
    },
]


def test_types_that_go_into_others(engine, table):
    for number, values in enumerate(STORED):
        names, texts = ", ".join(values), ", ".join(text for text, _ in values.values())
        engine.insert(f"INSERT INTO t (id, city, {names}) SELECT {50 + number}, 'kyiv', {texts}")
    for row, values in zip(snapshot(table)[3:], STORED, strict=True):
        assert {name: row[name] for name in values} == {name: stored for name, (_, stored) in values.items()}


def test_types_and_values_that_do_not_go_into_others(shared):
    engine, table = shared
    for column, value in (
        ("fare", "'7'"),
        ("small", "1.5"),
        ("small", "CAST(1 AS DOUBLE)"),
        ("small", "3000000000"),
        ("price", "12345678.5"),
        ("price", "0.125"),
        ("price", "CAST(1 AS DOUBLE)"),
        ("day", "'2024-06-01'"),
        ("day", "TIMESTAMP '2024-06-01 00:00:00'"),
        ("at", "'2024-06-01'"),
        ("id", "'5'"),
        ("tags", "[1]"),
        ("tags", "{'a': 'x'}"),
        ("fare", "9007199254740993"),
    ):
        with pytest.raises(SchemaError, match=f"column {column}"):
            engine.insert(f"INSERT INTO t ({column}) SELECT {value}")
    assert commits(table) == 1


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        ("SELECT 1", SqlError, "SELECT 1 is not supported"),
        ("INSERT OVERWRITE t SELECT 1", SqlError, "INSERT OVERWRITE"),
        ("INSERT OR REPLACE INTO t SELECT 1", SqlError, "INSERT OR"),
        ("INSERT INTO t PARTITION (city = 'a') SELECT 1", SqlError, "no query behind"),
        ("INSERT INTO t BY NAME SELECT 1", SqlError, "no query behind"),
        ("INSERT INTO t DEFAULT VALUES", SqlError, "no query behind"),
        ("INSERT INTO t", SqlError, "no query behind"),
        ("INSERT INTO", SqlError, "ends too early"),
        ("INSERT INTO a.b.t SELECT 1", SqlError, "two parts"),
        ("INSERT INTO t (id, 5) SELECT 1", SqlError, "no name"),
        ("INSERT INTO t (id city) SELECT 1", SqlError, "no list of names"),
        ("INSERT INTO t (id) SELECT 1 RETURNING *", SqlError, "syntax error"),
        ("INSERT INTO t (id, city) SELECT 1, 'a'; DROP TABLE t", SqlError, "2 statements"),
        ("INSERT INTO t (id, city) SELECT 1", SqlError, "the query has 1 columns, t takes 2: id, city"),
        ("INSERT INTO t (id, nope) SELECT 1, 2", UnknownColumnError, "no column nope"),
        ("INSERT INTO t (id, Id) SELECT 1, 2", InvalidOptionError, "twice"),
        ("INSERT INTO u SELECT 1", NoSuchObjectError, "no table default.u"),
        ("INSERT INTO t (id, city) SELECT 1, 'a' UNION ALL SELECT error('late'), 'b'", SqlError, "late"),
        ("INSERT INTO t (city) SELECT 'a'", HudiHiveError, "id"),
        ("INSERT INTO t (id, city) SELECT NULL, 'a'", HudiHiveError, "id"),
    ],
)
def test_inserts_that_are_refused_leave_the_table_as_it_was(shared, sql, error, message):
    engine, table = shared
    before = sorted(str(path) for path in Path(table.path.removeprefix("file:")).rglob("*"))
    with pytest.raises(error, match=message):
        engine.insert(sql)
    assert sorted(str(path) for path in Path(table.path.removeprefix("file:")).rglob("*")) == before


def test_a_query_still_writes_nothing(engine, table):
    with pytest.raises(SqlError, match=r"only reads.*INSERT|INSERT"):
        engine.query("INSERT INTO t (id, city) SELECT 1, 'a'")
    assert commits(table) == 1


def test_a_synced_table_is_synced_behind_the_commit(client, connector: HudiConnector, table):
    config = HiveSyncConfig(base_path=table.path, database="default", table="t")
    HiveSyncTool(config, metastore=client).sync()
    engine = SqlEngine(connector, threads=1)
    report = engine.insert("INSERT INTO t (id, city) VALUES (30, 'rome')")
    assert report.failed == {}
    assert "city=rome" in client.partition_names("default", "t")
    found = engine.query("SELECT id FROM t WHERE city = 'rome'").read_all()
    assert found["id"].to_pylist() == [30]
    past = connector.metadata.table("default", "t", as_of=report.instant.requested)
    with pytest.raises(UnsupportedTableError, match="not inserted into"):
        connector.begin_insert(past)


# -- deaths -----------------------------------------------------------------------------------------------------------


def _prepare(path: Path) -> None:
    fields = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
    table = HudiTable.create(str(path), name="t", table_type="MERGE_ON_READ", **fields)
    table.upsert(scenario_rows(1, "a", "bb"))


def _sinks(path: Path) -> None:
    client = HudiTable.open(str(path)).client
    insert = begin_insert(client)
    sinks = [PageSink(insert) for _ in range(2)]
    for sink, key in zip(sinks, ("c", "dd"), strict=True):
        sink.append(scenario_rows(2, key))
    finish_insert(client, insert, [sink.finish() for sink in sinks])


def _probe(path: Path) -> None:
    HudiTable.open(str(path)).upsert(pa.Table.from_pylist([PROBE], schema=scenario_rows(1, "a").schema))


@pytest.mark.parametrize("failures", [pytest.param(False, id="killed"), long_case(True, name="failed")])
def test_a_death_at_any_call_of_the_storage_leaves_all_or_nothing(failures, thorough):
    scenario = Scenario("sinks", _prepare, _sinks, _probe, doubles=True)
    result = sweep(scenario, most=None if thorough else 2, failures=failures)
    assert result.failures == {}
    assert result.points >= 2
