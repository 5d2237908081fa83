"""Views of a metastore in the SQL engine: plain ones are read, others are refused by name."""

from __future__ import annotations

import base64
import json

import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector
from hudi_hive.errors import MetastoreError, UnsupportedTableError
from hudi_hive.metastore import FieldSchema, SerDeInfo, StorageDescriptor, Table
from hudi_hive.sql import SqlEngine
from tests.connector.shared.connector_helpers import client, connector, server
from tests.support.fixture_tables import unzip_fixture
from tests.support.metastore.registered import register

__all__ = ["client", "connector", "server"]

COLUMNS = (("page", "string"), ("visits", "bigint"))
HIVE = """SELECT `visits`.`page`, count(*) AS `visits` FROM `default`.`visits`
          WHERE `visits`.`city` = "lima" GROUP BY `visits`.`page`"""
SPARK = {
    "view.catalogAndNamespace.numParts": "2",
    "view.catalogAndNamespace.part.0": "spark_catalog",
    "view.catalogAndNamespace.part.1": "default",
    "view.query.out.numCols": "2",
    "view.query.out.col.0": "page",
    "view.query.out.col.1": "n",
}


def make_view(client, name, text, *, columns=COLUMNS, expanded=None, parameters=None):
    table = Table(
        dbName="default",
        tableName=name,
        tableType="VIRTUAL_VIEW",
        partitionKeys=[],
        parameters=parameters or {},
        sd=StorageDescriptor(cols=[FieldSchema(*column) for column in columns], serdeInfo=SerDeInfo(parameters={})),
        viewOriginalText=text,
        viewExpandedText=text if expanded is None else expanded,
    )
    client.create_table(table)


def presto(sql, columns=(("page", "varchar"), ("visits", "bigint")), **more):
    stored = {"originalSql": sql, "catalog": "hive", "schema": "default"} | more
    stored["columns"] = [{"name": name, "type": kind} for name, kind in columns]
    return f"/* Presto View: {base64.b64encode(json.dumps(stored).encode()).decode()} */"


@pytest.fixture
def engine(client, connector: HudiConnector) -> SqlEngine:
    register(client, unzip_fixture("v8_cow_part_mdt"), "visits")
    return SqlEngine(connector, threads=1)


def rows(engine, sql):
    return sorted(tuple(row.values()) for row in engine.query(sql).read_all().to_pylist())


def test_views_of_each_engine_are_listed_and_read(client, connector, engine):
    dummy = (("dummy", "string"),)
    make_view(client, "of_hive", "ignored", expanded=HIVE)
    make_view(
        client, "of_spark", "SELECT page, count(1) n FROM visits WHERE city = 'lima' GROUP BY page", parameters=SPARK
    )
    text = presto("SELECT page, count(*) visits FROM hive.default.visits WHERE city = 'lima' GROUP BY page")
    make_view(client, "of_trino", text, columns=dummy, expanded="/* Presto View */", parameters={"presto_view": "true"})
    make_view(
        client, "of_views", "SELECT v.page, v.visits FROM `default`.`of_spark` v JOIN of_trino t ON v.page = t.page"
    )
    assert connector.metadata.tables("default") == ["visits"]
    assert connector.metadata.views("DEFAULT") == ["of_hive", "of_spark", "of_trino", "of_views"]
    assert [name for (name,) in rows(engine, "SHOW TABLES")] == [
        "of_hive",
        "of_spark",
        "of_trino",
        "of_views",
        "visits",
    ]
    table = HudiTable.open(unzip_fixture("v8_cow_part_mdt"))
    lima = table.scan("city = 'lima'").to_arrow().group_by("page").aggregate([([], "count_all")])
    wanted = sorted(zip(lima["page"].to_pylist(), lima["count_all"].to_pylist(), strict=True))
    for name in connector.metadata.views("default"):
        assert rows(engine, f"SELECT * FROM default.{name}") == wanted, name
    found = engine.query("SELECT * FROM of_hive").read_all()
    assert found.column_names == ["page", "visits"] and str(found.schema.field("visits").type) == "int64"
    assert rows(engine, "SELECT sum(visits) FROM of_views WHERE page = '/'") == [
        (sum(count for page, count in wanted if page == "/") or None,)
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT page, dwell / 2 FROM visits", "function /"),
        ("SELECT page, CAST(dwell AS bigint) FROM visits", "CAST"),
        ("SELECT concat(page, city), 1 FROM visits", "function concat"),
        ("SELECT page, row_number() OVER () FROM visits", "WINDOW"),
        ("SELECT page, 1 FROM visits LIMIT 1", "LIMIT"),
        ("SELECT page, 1 FROM visits WHERE page LIKE 'a\\_b'", "backslash"),
        ("SELECT 'it''s', 1", "texts side by side"),
        ("SELECT * FROM visits", r"\*"),
        ("SELECT page FROM visits", "gives the columns page"),
        ("WITH a AS (SELECT 1) SELECT page, 1 FROM visits", "WITH"),
        ("SELECT page, 1 FROM visits LATERAL VIEW explode(x) y AS z", "not"),
        ("SELECT page, 1 FROM other.cat.visits", "another catalogue"),
        ("SELECT page, x[0] FROM visits", "plain"),
        ("DROP TABLE visits", "not understood"),
    ],
)
def test_what_engines_take_differently_is_refused_by_name(client, engine, text, what):
    make_view(client, "v", text)
    with pytest.raises(UnsupportedTableError, match=rf"(?s)the view default\.v is not read.*{what}"):
        engine.query("SELECT * FROM v")


def test_views_that_cannot_be_decoded(client, connector, engine):
    make_view(client, "itself", "SELECT page, visits FROM itself")
    make_view(client, "materialised", "/* Presto Materialized View: e30= */")
    make_view(client, "broken", "/* Presto View: e30= */")
    for name, error, message in (
        ("itself", UnsupportedTableError, "reads itself"),
        ("materialised", UnsupportedTableError, "Presto Materialized View"),
        ("broken", MetastoreError, "cannot be decoded"),
        ("itself FOR VERSION AS OF 1", UnsupportedTableError, "is not a Hudi table"),
        ("hudi_table_changes('itself', '0')", UnsupportedTableError, "is not a Hudi table"),
    ):
        with pytest.raises(error, match=message):
            engine.query(f"SELECT * FROM {name}")
