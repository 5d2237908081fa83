"""``hudi_table_changes`` and time travel as Spark and Trino write it, over paths and over synced tables."""

from __future__ import annotations

import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector
from hudi_hive.errors import NoSuchObjectError, SqlError
from hudi_hive.sql import SqlEngine
from tests.connector.shared.connector_helpers import client, connector, server
from tests.connector.test_connector_queries import branches
from tests.support.fixture_tables import unzip_fixture

__all__ = ["branches", "client", "connector", "server"]

NAME = "v9_cow_cdc"


@pytest.fixture(scope="module")
def table() -> HudiTable:
    return HudiTable.open(unzip_fixture(NAME))


@pytest.fixture(scope="module")
def engine() -> SqlEngine:
    return SqlEngine(tables={"t": str(unzip_fixture(NAME)), "lake.t": str(unzip_fixture(NAME))}, threads=1)


def rows(engine: SqlEngine, sql: str) -> list[dict]:
    return sorted(engine.query(sql).read_all().to_pylist(), key=str)


def test_changes_of_a_range(engine, table):
    first, second = (instant.completed or instant.requested for instant in table.timeline.write_instants()[:2])
    for mode, kind in (("latest_state", "incremental"), ("cdc", "cdc")):
        for begin, end in (("earliest", None), (first, None), (first, second)):
            wanted = sorted(table.scan(query_type=kind, begin=begin, end=end).to_arrow().to_pylist(), key=str)
            tail = "" if end is None else f", '{end}'"
            assert rows(engine, f"FROM hudi_table_changes('t', '{mode}', '{begin}'{tail})") == wanted
    assert rows(engine, f"SELECT c.* FROM HUDI_TABLE_CHANGES('lake.t', {first}) AS c") == rows(
        engine, f"FROM hudi_table_changes('`lake`.t', 'latest_state', '{first}')"
    )
    joined = """WITH c AS (SELECT * FROM hudi_table_changes('t', 'cdc', 'earliest'))
                SELECT (SELECT count(*) FROM c WHERE op = 'i') AS i, (SELECT count(*) FROM t) AS n,
                (SELECT count(*) FROM hudi_table_changes('lake.t', 'earliest')) AS m"""
    cdc = table.scan(query_type="cdc", begin="earliest").to_arrow()["op"].to_pylist()
    assert rows(engine, joined) == [
        {"i": cdc.count("i"), "n": table.scan().count(), "m": table.scan(begin="earliest").count()}
    ]
    renamed = rows(engine, "SELECT a FROM hudi_table_changes('t', 'cdc', 'earliest') AS c(a, b)")
    assert sorted(row["a"] for row in renamed) == sorted(cdc)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("hudi_table_changes('t')", "2 to 4 arguments"),
        ("hudi_table_changes('t', 'cdc')", "does not understand"),
        ("hudi_table_changes('t', '0', '1', '2')", "does not understand"),
        ("hudi_table_changes('t', lower('X'))", "texts and numbers"),
        ("hudi_table_changes('/etc/t', 'earliest')", "by their names"),
        ("hudi_table_changes('a.b.c', 'earliest')", "no table name"),
        ("t FOR TIMESTAMP AS OF now()", "TIMESTAMP AS OF takes"),
    ],
)
def test_calls_that_are_not_understood(engine, call, message):
    with pytest.raises(SqlError, match=message):
        engine.query(f"SELECT * FROM {call}")


def test_an_unknown_table_has_no_changes(engine):
    with pytest.raises(NoSuchObjectError, match=r"no table default\.nope"):
        engine.query("FROM hudi_table_changes('nope', 'earliest')")


def test_time_travel_in_the_words_of_spark_and_trino(engine, table):
    instants = [instant.requested for instant in table.timeline.write_instants()]
    for instant in instants:
        wanted = sorted(table.scan(as_of=instant).to_arrow().to_pylist(), key=str)
        for clause in (
            f"FOR TIMESTAMP AS OF '{instant}'",
            f"for version as of {instant}",
            f"TIMESTAMP AS OF '{instant}'",
            f"FOR SYSTEM_TIME /* 'x' */ AS OF '{instant}' AS a",
            f"VERSION AS OF {instant} a",
        ):
            assert rows(engine, f"SELECT * FROM lake.t {clause}") == wanted, clause
    past = f"(SELECT count(*) n FROM t FOR VERSION AS OF {instants[0]}) a"
    both = f"SELECT a.n, b.n AS m FROM {past}, (SELECT count(*) n FROM t) b"
    assert rows(engine, both) == [{"n": table.scan(as_of=instants[0]).count(), "m": table.scan().count()}]
    texts = "SELECT 'x FOR VERSION AS OF 1' AS s, owner AS of, owner AS version FROM t LIMIT 1"
    assert rows(engine, texts)[0]["s"] == "x FOR VERSION AS OF 1"


def test_synced_partitions_are_honoured(client, connector: HudiConnector, branches):
    engine = SqlEngine(connector, threads=1)
    first = branches.partitions()[0]
    last = branches.timeline.last_completed_write().requested
    for source in ("t", f"t FOR VERSION AS OF {last}", "hudi_table_changes('t', 'earliest')"):
        found = rows(engine, f"SELECT DISTINCT _hoodie_partition_path AS p FROM {source}")
        assert found == [{"p": first}], source
    changed = rows(engine, "SELECT * FROM hudi_table_changes('default.t', 'cdc', 'earliest')")
    everything = branches.scan(query_type="cdc", begin="earliest").to_arrow().to_pylist()
    of_first = [row for row in everything if f'"{first}"' in f"{row['before']}{row['after']}"]
    assert 0 < len(of_first) < len(everything)
    assert changed == sorted(of_first, key=str)
