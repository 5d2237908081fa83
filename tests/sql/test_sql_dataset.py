"""Hudi tables as Arrow datasets, and what DuckDB, polars and pandas make of scans."""

from __future__ import annotations

import datetime as dt
import math
import pickle

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import ScanDataset
from hudi_hive.errors import FileVanishedError, PredicateError, QueryError, UnknownColumnError
from tests.support.fixture_tables import fixture_names, unzip_fixture


@pytest.fixture
def table() -> HudiTable:
    return HudiTable.open(unzip_fixture("v8_cow_part_mdt"))


@pytest.fixture
def data() -> pa.Table:
    """All rows, read without the table's counters."""
    return HudiTable.open(unzip_fixture("v8_cow_part_mdt")).scan().to_arrow()


def opened(table: HudiTable) -> set[str]:
    """Partitions with a base file that was opened."""
    paths = [path for path in table.client.counters.opened if path.endswith(".parquet") and ".hoodie" not in path]
    return {path.split("/")[-2] for path in paths}


def parquet_opens(table: HudiTable) -> int:
    opens = table.client.counters.opened.items()
    return sum(count for path, count in opens if path.endswith(".parquet") and ".hoodie" not in path)


# -- the dataset ------------------------------------------------------------------------------------------------------


def test_a_dataset_gives_the_rows_of_the_scan(table, data):
    dataset = table.scan().to_dataset()
    assert isinstance(dataset, ds.Dataset)
    assert dataset.schema == data.schema and dataset.to_table() == data
    assert pa.Table.from_batches(dataset.to_batches(), data.schema) == data
    assert dataset.scanner(["page", "city"]).to_reader().read_all() == data.select(["page", "city"])
    assert pa.table(dataset.scanner(["page"])) == data.select(["page"])
    assert dataset.count_rows() == data.num_rows
    assert dataset.head(4) == data.slice(0, 4) and dataset.head(0).num_rows == 0
    assert dataset.take([2, 0]) == data.take([2, 0])
    assert dataset.sort_by("visit_id").to_table() == data.sort_by("visit_id")
    assert dataset.partition_expression.equals(pc.scalar(True))


def test_filters_prune_and_choose_rows(table, data):
    dataset = table.scan().to_dataset()
    expression = (pc.field("city") == "lima") & (pc.field("page") != "home")
    expected = data.filter(expression)
    assert 0 < expected.num_rows < data.num_rows
    assert dataset.to_table(filter=expression) == expected
    assert opened(table) == {"lima"}
    assert dataset.filter(expression).count_rows() == expected.num_rows
    narrowed = dataset.filter(pc.field("city") == "lima").filter(pc.field("page") != "home")
    assert narrowed.to_table(["visit_id"]).num_rows == expected.num_rows
    assert dataset.count_rows("city = 'lima' AND page <> 'home'") == expected.num_rows


def test_columns_can_be_computed(table):
    dataset = table.scan().to_dataset()
    assert dataset.scanner(["visit_id"]).projected_schema.names == ["visit_id"]
    computed = dataset.to_table({"double": pc.multiply(pc.field("visit_id"), 2)}, filter=pc.field("city") == "oslo")
    plain = dataset.to_table(["visit_id"], filter=pc.field("city") == "oslo")
    assert computed["double"].to_pylist() == [2 * one for one in plain["visit_id"].to_pylist()]


def test_a_scan_s_own_filter_columns_and_limit_come_first(table):
    scan = table.scan("city IN ('lima', 'oslo')", ("page", "visit_id"))
    dataset = scan.to_dataset()
    assert dataset.schema.names == ["page", "visit_id"] and dataset.to_table() == scan.to_arrow()
    kept = dataset.to_table(filter=pc.field("page") == "home")
    assert kept == scan.to_arrow().filter(pc.field("page") == "home")
    with pytest.raises(UnknownColumnError):
        dataset.to_table(filter=pc.field("city") == "lima")
    limited = table.scan(limit=6)
    rows = limited.to_arrow()
    assert limited.to_dataset().to_table(["page"], filter=pc.field("city") == "kyiv") == rows.filter(
        pc.field("city") == "kyiv"
    ).select(["page"])


def test_a_dataset_stays_at_its_instant_and_can_be_pickled(tmp_path):
    table = HudiTable.open(unzip_fixture("v8_cow_nonpart", tmp_path))
    before = table.timeline.write_instants()[-2].requested
    dataset = table.scan(as_of=before).to_dataset()
    rows = dataset.to_table()
    assert rows.num_rows > 0 and rows == table.scan(as_of=before).to_arrow() != table.scan().to_arrow()
    assert pickle.loads(pickle.dumps(dataset)).to_table() == rows


def test_what_a_table_cannot_do_as_a_dataset_is_refused(table):
    dataset = table.scan().to_dataset()
    for refused in (lambda: list(dataset.get_fragments()), lambda: dataset.replace_schema(pa.schema([("x", "int8")]))):
        with pytest.raises(QueryError):
            refused()
    assert dataset.replace_schema(dataset.schema) is dataset
    with pytest.raises(UnknownColumnError):
        dataset.scanner(["nope"])
    with pytest.raises(PredicateError):
        dataset.scanner(filter=pc.field("page") + 1 > 2)


def test_no_method_of_the_base_class_is_left():
    own = set(vars(ScanDataset))
    base = {name for name in vars(ds.Dataset) if not name.startswith("__")}
    assert base - own <= {"_scanner_options", "_scan_options"}


def test_errors_are_reported_before_they_are_raised(tmp_path):
    path = unzip_fixture("v8_cow_part_mdt", tmp_path)
    scan = HudiTable.open(path).scan()
    told: list[Exception] = []
    dataset = ScanDataset(scan.to_dataset()._source, on_error=told.append)
    reader = dataset.scanner().to_reader()
    for file in path.glob("*/*.parquet"):
        file.unlink()
    with pytest.raises(FileVanishedError):
        for _ in dataset.to_batches():
            pass
    assert [type(error) for error in told] == [FileVanishedError]
    del reader


# -- engines ----------------------------------------------------------------------------------------------------------


def test_duckdb_pushes_columns_and_filters_down(table, data):
    connection = table.scan().to_duckdb("trips")
    rows = connection.execute("SELECT count(*), min(visit_id) FROM trips WHERE city IN ('oslo', 'kyiv')").fetchall()
    expected = data.filter(pc.field("city").isin(["oslo", "kyiv"]))
    assert rows == [(expected.num_rows, pc.min(expected["visit_id"]).as_py())]
    plan = connection.execute("EXPLAIN SELECT visit_id FROM trips WHERE city = 'oslo'").fetchall()[0][1]
    assert "READ_PARQUET" in plan and "city = 'oslo'" in plan and "dwell" not in plan
    assert table.scan("city = 'lima'").to_duckdb("lima", connection) is connection
    joined = "SELECT count(*) FROM trips t JOIN lima l USING (visit_id)"
    assert connection.execute(joined).fetchall() == [(data.filter(pc.field("city") == "lima").num_rows,)]


def test_polars_reads_a_scan_and_pushes_filters_down(table, data):
    assert table.scan().to_polars().to_dicts() == data.to_pylist()
    lazy = table.scan().to_polars_lazy()
    chosen = lazy.filter(pl.col("city") == "kyiv").select("visit_id")
    plan = chosen.explain()
    assert "Parquet SCAN" in plan and "SELECTION" in plan and "PYTHON SCAN" not in plan
    found = chosen.collect()
    kyiv = data.filter(pc.field("city") == "kyiv")
    assert sorted(found["visit_id"].to_list()) == sorted(kyiv["visit_id"].to_pylist())
    assert lazy.select(pl.len()).collect().item() == data.num_rows


def test_pandas_reads_a_scan(table, data):
    assert table.scan().to_pandas().to_dict("records") == data.to_pandas().to_dict("records")


class Numbers:
    """A source of floats, no table behind it."""

    schema = pa.schema([("n", pa.int64()), ("f", pa.float64())])
    rows = pa.table([[0, 1, 2, 3], [1.0, math.nan, None, -1.0]], schema=schema)

    def batches(self, columns, row_filter, batch_size):
        rows = self.rows if row_filter is None else self.rows.filter(row_filter.evaluate(self.rows))
        return iter((rows if columns is None else rows.select(columns)).to_batches(batch_size))


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("literal", [1.0, math.nan, 0.0])
def test_nan_is_what_the_engine_means_by_it(operator, literal):
    """Against the engines' own answers about the same numbers in their own memory."""
    dataset = ScanDataset(Numbers(), sql_filters=True)
    connection = duckdb.connect()
    connection.register("lazy", dataset)
    connection.execute("CREATE TABLE own AS FROM lazy")
    answers = [
        connection.execute(f"SELECT n FROM {name} WHERE f {operator} '{literal}'::DOUBLE ORDER BY n").fetchall()
        for name in ("lazy", "own")
    ]
    assert answers[0] == answers[1]
    compare = {"=": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}
    test = getattr(pl.col("f"), compare[operator])(literal)
    lazy, own = pl.scan_pyarrow_dataset(dataset), pl.from_arrow(Numbers.rows)
    for condition in (test, ~test):
        assert lazy.filter(condition).collect()["n"].to_list() == own.filter(condition)["n"].to_list()


def plain(value):
    """Python values without the ways in which DuckDB and Arrow write the same one differently: maps, zones."""
    if isinstance(value, dict):
        return sorted((plain(key), plain(item)) for key, item in value.items())
    if isinstance(value, list) and value and all(isinstance(one, tuple) and len(one) == 2 for one in value):
        return sorted((plain(key), plain(item)) for key, item in value)
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return value


@pytest.mark.parametrize("name", [*fixture_names("cow_types"), *fixture_names("mor_types"), "v9_cow_part_mdt"])
def test_engines_see_the_values_of_every_type(name):
    scan = HudiTable.open(unzip_fixture(name)).scan()
    rows = scan.to_arrow()
    connection = scan.to_duckdb("t")
    connection.execute("SET TimeZone = 'UTC'")
    names = ", ".join(f'"{column}"' for column in rows.column_names)
    found = connection.execute(f"SELECT {names} FROM t").fetchall()
    connection.close()
    wanted = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    assert [repr(row) for row in plain(found)] == [repr(row) for row in plain(wanted)]
    assert len(scan.to_polars()) == rows.num_rows
