"""DuckDB, Polars and DataFusion read through the connector's plan: every kind of query, predicates and columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import ConnectorSource, HudiConnector, HudiTableHandle, TableSource, polars_lazy
from hudi_hive.connector.polars_source import pushed_filter
from hudi_hive.errors import HudiHiveError
from tests.connector.shared.connector_helpers import client, connector, server
from tests.support.fixture_tables import fixture_names, one_version_of_each, unzip_fixture
from tests.support.metastore.registered import REALTIME, register
from tests.support.running.long import with_long_cases

__all__ = ["client", "connector", "server"]

Engine = Callable[[HudiConnector, HudiTableHandle, str], pa.Table]


def with_duckdb(connector: HudiConnector, handle: HudiTableHandle, sql: str) -> pa.Table:
    connection = duckdb.connect()
    connection.register("t", connector.dataset(handle, sql_filters=True))
    return connection.sql(sql).to_arrow_table()


def with_polars(connector: HudiConnector, handle: HudiTableHandle, sql: str) -> pa.Table:
    with pl.SQLContext(t=connector.to_polars_lazy(handle)) as context:
        return context.execute(sql, eager=True).to_arrow()


def with_datafusion(connector: HudiConnector, handle: HudiTableHandle, sql: str) -> pa.Table:
    pytest.importorskip("datafusion")
    return connector.to_datafusion("t", handle).sql(sql).to_arrow_table()


ENGINES = [pytest.param(engine, id=engine.__name__[5:]) for engine in (with_duckdb, with_polars, with_datafusion)]


def kinds(table: HudiTable) -> list[dict[str, Any]]:
    """The kinds of query that a table answers, as arguments of ``metadata.table``."""
    middle = table.timeline.write_instants()
    asked: list[dict[str, Any]] = [
        {},
        {"query_type": "read_optimized"},
        {"as_of": middle[len(middle) // 2].requested},
        {"query_type": "incremental", "begin": "earliest"},
        {"query_type": "incremental", "begin": middle[0].requested},
        {"query_type": "cdc", "begin": "earliest"},
    ]
    answered = []
    for one in asked:
        try:
            table.scan(**one).plan()
        except HudiHiveError:
            continue
        answered.append(one)
    return answered


def values(table: pa.Table) -> list[tuple]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=str)


SHORT = ("v9_cow_cdc",)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", with_long_cases(SHORT, one_version_of_each(fixture_names())))
def test_every_kind_of_query(client, connector, name, engine):
    table = HudiTable.open(unzip_fixture(name))
    register(client, unzip_fixture(name), "t", input_format=REALTIME, partitions=table.partitions())
    asked = kinds(table)
    assert len(asked) >= (6 if name == "v9_cow_cdc" else 1)
    for arguments in asked:
        wanted = table.scan(**arguments).to_arrow()
        handle = connector.metadata.table("default", "t", **arguments)
        text = "op" if "op" in wanted.column_names else "_hoodie_record_key"
        number = pa.chunked_array([wanted.column(text)])
        assert engine(connector, handle, "SELECT count(*) FROM t").column(0).to_pylist() == [wanted.num_rows]
        if not wanted.num_rows or not pc.any(pc.is_valid(number)).as_py():
            continue
        value = pc.min(number).as_py()
        # The second half is nothing that datasets understand.
        where = f"{text} >= '{value}' AND upper({text}) = '{value.upper()}'"
        second = wanted.column_names[-1] if pa.types.is_string(wanted.schema.types[-1]) else text
        found = engine(connector, handle, f'SELECT "{second}" AS x FROM t WHERE {where}')
        kept = wanted.filter(pc.equal(pc.utf8_upper(wanted.column(text)), value.upper()))
        assert values(found) == values(kept.select([second])), arguments


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_and_predicates_reach_the_plan(client, connector, engine):
    path = unzip_fixture("v8_cow_part_mdt")
    register(client, path, "t")
    handle = connector.metadata.table("default", "t")
    wanted = HudiTable.open(path).scan("city = 'lima'").to_arrow()
    found = engine(connector, handle, "SELECT page FROM t WHERE city = 'lima' AND length(page) > 0")
    assert values(found) == values(wanted.select(["page"]))
    opened = [path for path in handle.client.counters.opened if path.endswith(".parquet") and ".hoodie" not in path]
    assert {path.split("/")[-2] for path in opened} == {"lima"}


FLOATS = [1.0, -0.5, math.nan, None, math.inf, 7.25]


@pytest.fixture(scope="module")
def numbers(tmp_path_factory) -> HudiTable:
    table = HudiTable.create(str(tmp_path_factory.mktemp("numbers") / "t"), name="t", record_keys=["id"])
    columns = {"id": pa.array(range(6)), "f": pa.array(FLOATS), "s": pa.array(["a", None, "b", "a", "", "c"])}
    table.insert(pa.table(columns))
    return table


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("f > 5", [2, 4, 5]),  # NaN is the greatest number
        ("f < 5", [0, 1]),
        ("NOT (f > 5)", [0, 1]),
        ("f IS NULL OR f = 1", [0, 3]),
        ("s IN ('a', 'c') AND f IS NOT NULL", [0, 5]),
        ("s <> 'a'", [2, 4, 5]),
        ("f BETWEEN -1 AND 2 OR s = 'c'", [0, 1, 5]),
        ("5 < f", [2, 4, 5]),
        ("f + 1 > 8 AND id < 5", [2, 4]),
        ("s LIKE 'a%'", [0, 3]),
    ],
)
def test_predicates_mean_what_the_engine_means(numbers, engine, where, ids):
    class Paths:  # a connector of one table without a metastore
        dataset = staticmethod(lambda handle, **options: numbers.scan().to_dataset(**options))
        to_polars_lazy = staticmethod(lambda handle: numbers.scan().to_polars_lazy())
        to_datafusion = staticmethod(lambda name, handle: numbers.scan().to_datafusion(name))

    assert sorted(engine(Paths, None, f"SELECT id FROM t WHERE {where}").column(0).to_pylist()) == ids


# -- Polars -----------------------------------------------------------------------------------------------------------


def test_what_of_a_polars_predicate_is_pushed(numbers):
    rows = numbers.scan().to_arrow().sort_by("id")
    f, s = pl.col("f"), pl.col("s")
    for predicate, ids in (
        (f > 5, [2, 4, 5]),
        (pl.lit(5.0) > f, [0, 1]),
        ((f > 5) & (s.str.to_uppercase() == "A"), [2, 4, 5]),
        ((f > 5) | (s.str.to_uppercase() == "A"), None),
        (~(s.str.to_uppercase() == "A"), None),
        (s.is_in(["a", "b"]), [0, 2, 3]),
        (s.is_null(), [1]),
        (f.is_between(1, 2, closed="none"), [0]),
        (f == pl.col("id"), None),
        (f.eq_missing(None), None),
        (pl.col("gone") == 1, None),
        (pl.lit(True), None),
        (f.cast(pl.Int64) == 1, None),
    ):
        pushed = pushed_filter(predicate, rows.schema)
        kept = None if pushed is None else rows.filter(pushed.evaluate(rows))["id"].to_pylist()
        assert kept == ids, predicate


def test_rows_that_are_counted_come_before_a_predicate(numbers):
    lazy = polars_lazy(TableSource(numbers.client))
    assert lazy.head(2).filter(pl.col("f") > 5).collect().height <= 2
    first = lazy.head(2).collect()
    assert lazy.head(2).filter(pl.col("f") > 0).collect().rows() == first.filter(pl.col("f") > 0).rows()
    assert lazy.tail(3).select("s").collect().height == 3
    assert lazy.select(pl.len()).collect().item() == 6


def test_errors_of_reading_reach_the_engine(client, connector, tmp_path):
    path = unzip_fixture("v8_cow_nonpart", tmp_path)
    register(client, path, "t")
    handle = connector.metadata.table("default", "t")
    lazy = polars_lazy(ConnectorSource(connector, handle))
    for file in path.glob("*.parquet"):
        file.write_bytes(b"PAR1")
    with pytest.raises((pl.exceptions.ComputeError, HudiHiveError), match=r"\.parquet"):
        lazy.collect()
