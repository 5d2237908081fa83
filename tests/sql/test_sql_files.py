"""Which files of a table DuckDB and Polars read themselves, and that the rows are those of a scan."""

from __future__ import annotations

import itertools
import math
import os
import random
import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import TableSource
from hudi_hive.connector.files import DividedPlan, DuckDBFiles
from hudi_hive.errors import CorruptFileError, FileVanishedError, HudiHiveError, SqlError, UnsafePathError
from hudi_hive.metrics import IoCounters
from hudi_hive.sql import PathCatalog, SqlEngine
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import encode_value, fixture_names, one_version_of_each, unzip_fixture
from tests.support.running.long import with_long_cases

ALL = fixture_names()
FACES = ("duckdb", "polars")
SHORT = one_version_of_each(ALL)[::2]


def texts(table: pa.Table) -> list[str]:
    """Rows as text, sorted: values as the recorded answers have them, so that NaN equals NaN."""
    columns = [[encode_value(v.as_py(), field.type) for v in table[i]] for i, field in enumerate(table.schema)]
    return sorted(map(repr, zip(*columns, strict=True)))


def queries(table: HudiTable) -> list[dict[str, Any]]:
    asked: list[dict[str, Any]] = [{}, {"query_type": "read_optimized"}]
    instants = [instant.requested for instant in table.timeline.write_instants()]
    asked += [{"as_of": instant} for instant in instants[:2]]
    asked += [{"query_type": "incremental", "begin": begin} for begin in ["earliest", *instants[:1]]]
    return asked


def unlike_scan(table: HudiTable, options: dict[str, Any], face: str) -> str | None:
    """What differs from the rows of a scan; None where nothing does, or both refuse."""
    scan = table.scan(**options)
    try:
        rows = scan.to_arrow()
    except HudiHiveError:
        return None
    if face == "polars":
        shown = scan.to_polars_lazy().collect().to_arrow().cast(rows.schema)
    else:
        with scan.to_duckdb("t") as connection:
            connection.execute("SET TimeZone = 'UTC'")
            shown = connection.sql("SELECT * FROM t").to_arrow_table()
            (count,) = connection.sql("SELECT count(*) FROM t").fetchall()[0]
            if count != rows.num_rows:
                return f"{options}: count(*) is {count}, not {rows.num_rows}"
        if shown.schema.names != rows.schema.names:
            return f"{options}: columns {shown.schema.names}"
        shown = shown.cast(rows.schema)
    return None if texts(shown) == texts(rows) else f"{options}: other rows"


@pytest.mark.parametrize(
    ("name", "face"),
    with_long_cases([(name, FACES[at % 2]) for at, name in enumerate(SHORT)], itertools.product(ALL, FACES)),
)
def test_every_query_of_every_table_gives_the_rows_of_a_scan(name, face):
    table = HudiTable.open(unzip_fixture(name))
    assert [what for asked in queries(table) if (what := unlike_scan(table, asked, face)) is not None] == []


@pytest.mark.parametrize("name", with_long_cases(SHORT, ALL))
def test_every_table_in_the_engine_gives_the_rows_of_a_scan(name):
    path = unzip_fixture(name)
    rows = HudiTable.open(path).scan().to_arrow()
    engine = SqlEngine(tables={"t": str(path)}, threads=1)
    for _ in range(3):  # the second time log files are merged for keeps, the third with what was remembered
        assert texts(engine.query("SELECT * FROM t").read_all().cast(rows.schema)) == texts(rows)


# -- which way --------------------------------------------------------------------------------------------------------


def planned(path: Path, city: str) -> Path:
    """The newest base file of a partition."""
    return path / HudiTable.open(path).scan(f"city = '{city}'").plan().files["path"][0].as_py()


def engine_of(path: Path, counters: IoCounters) -> SqlEngine:
    return SqlEngine(PathCatalog({"t": str(path)}, counters=counters), threads=1)


@pytest.mark.parametrize(
    "name", ["v8_cow_types", "v9_cow_virtual_keys", "v6_cow_ymd_hive", "v9_mor_types", "v6_cow_orc"]
)
def test_parquet_files_without_logs_go_to_the_engine(name):
    path = unzip_fixture(name)
    slices = HudiTable.open(path).scan().plan().slices
    alone = slices.filter(pc.equal(pc.list_value_length(slices["log_files"]), 0))
    files = [one for one in alone["base_file"].to_pylist() if one is not None and one.endswith(".parquet")]
    counters = IoCounters()
    plan = engine_of(path, counters).query("EXPLAIN SELECT * FROM t").read_all()["plan"][0].as_py()
    assert counters["engine_files"] == len(files)
    assert ("READ_PARQUET" in plan) == bool(files)
    assert ("ARROW_SCAN" in plan) == (len(files) < slices.num_rows)


def test_slices_with_logs_are_read_with_the_columns_and_filters_of_the_statement():
    plan = SqlEngine(tables={"t": str(unzip_fixture("v9_mor_types"))}, threads=1).query(
        "EXPLAIN SELECT id FROM t WHERE i > 3"
    )
    text = plan.read_all()["plan"][0].as_py()
    scans = text[text.index("ARROW_SCAN") :]
    assert "id" in scans and "i > 3" in text.replace('"i"', "i") and "aos" not in text


@pytest.fixture
def numbers(tmp_path) -> HudiTable:
    """A table whose numbers include NaN, in partitions by which DuckDB would match several files."""
    schema = pa.schema([("id", pa.int64()), ("x", pa.float64()), ("part", pa.string())])
    table = HudiTable.create(tmp_path / "numbers", name="numbers", record_keys=["id"], partition_fields=["part"])
    rows = [(1, 1.0, "a"), (2, math.nan, "a"), (3, None, "a"), (4, 2.0, "b[c]*"), (5, math.nan, "it's")]
    table.insert(pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema))
    return HudiTable.open(table.path)


@pytest.mark.parametrize(
    ("condition", "predicate"),
    [
        ("x > 1.5", pl.col("x") > 1.5),
        ("x = 'NaN'::DOUBLE", pl.col("x") == math.nan),
        ("part = 'it''s' AND x >= 9", (pl.col("part") == "it's") & (pl.col("x") >= 9)),
        ("part IN ('b[c]*', 'a') AND NOT x < 1.5", pl.col("part").is_in(["b[c]*", "a"]) & ~(pl.col("x") < 1.5)),
    ],
)
def test_nan_is_the_greatest_number_to_the_readers_of_engines(numbers, condition, predicate):
    expected = {"x > 1.5": [2, 4, 5], "x = 'NaN'::DOUBLE": [2, 5], "part = 'it''s' AND x >= 9": [5]}
    counters = IoCounters()
    engine = engine_of(numbers.path, counters)
    for _ in range(2):
        found = engine.query(f"SELECT id FROM t WHERE {condition} ORDER BY id").read_all()["id"].to_pylist()
        assert found == expected.get(condition, [2, 4])
    assert counters["engine_files"] > 0
    assert sorted(numbers.scan().to_polars_lazy().filter(predicate).collect()["id"].to_list()) == found
    (plan,) = engine.query("EXPLAIN SELECT * FROM t WHERE part = 'b[c]*'").read_all()["plan"].to_pylist()
    assert "ARROW_SCAN" in plan


def test_filters_of_each_mention_of_a_table_choose_files_together(numbers):
    counters = IoCounters()
    engine = engine_of(numbers.path, counters)
    for sql, ids in (
        ("SELECT a.id FROM t a, t b WHERE a.part = 'a' AND b.part = 'it''s' AND b.id > a.id", [1, 2, 3]),
        ("SELECT id FROM t WHERE part = 'a\n' UNION ALL SELECT id FROM t WHERE part = 'it''s'", [5]),
        ("WITH v AS MATERIALIZED (FROM t WHERE id > 1) SELECT id FROM v WHERE part = 'a'", [2, 3]),
        ("SELECT id FROM t POSITIONAL JOIN (SELECT part p FROM t WHERE part = 'it''s') WHERE id = 1", [1]),
    ):
        assert sorted(engine_of(numbers.path, counters).query(sql).read_all()["id"].to_pylist()) == ids
    assert engine.query("SELECT count(*) FROM t WHERE part = 'a'").read_all().column(0).to_pylist() == [3]


MERGED = ["v6_mor_event_time", "v8_mor_commit_time", "v9_mor_event_time"]


@pytest.mark.parametrize("name", MERGED)
def test_base_files_of_slices_with_logs_go_to_the_engine_from_the_second_statement_on(name):
    path = unzip_fixture(name)
    counters = IoCounters()
    engine = engine_of(path, counters)
    rows = HudiTable.open(path).scan().to_arrow()
    slices = HudiTable.open(path).scan().plan().slices
    with_logs = pc.sum(pc.greater(pc.list_value_length(slices["log_files"]), 0)).as_py()
    with_bases = len([one for one in slices["base_file"].to_pylist() if one is not None])
    taken = []
    for _ in range(3):
        before = counters["engine_files"]
        assert texts(engine.query("SELECT * FROM t").read_all().cast(rows.schema)) == texts(rows)
        taken.append(counters["engine_files"] - before)
        assert engine.query("SELECT count(*) FROM t WHERE false").read_all().column(0).to_pylist() == [0]
    assert with_logs and taken[0] < with_bases and taken[1] == taken[2] == with_bases
    for column in rows.schema.names[5:]:
        found = engine.query(f'SELECT "{column}" FROM t WHERE "{column}" IS NOT NULL').read_all().num_rows
        assert found == rows.num_rows - rows[column].null_count
    partition = rows["_hoodie_partition_path"][rows.num_rows - 1].as_py()
    found = engine.query(f"SELECT * FROM t WHERE _hoodie_partition_path = '{partition}'").read_all().cast(rows.schema)
    assert texts(found) == texts(rows.filter(pc.equal(rows["_hoodie_partition_path"], partition)))


def test_rows_are_counted_without_files_where_log_files_were_merged(tmp_path):
    table = HudiTable.create(
        tmp_path / "t", name="t", table_type="MERGE_ON_READ", record_keys=["id"], ordering_fields=["ts"]
    )
    table.insert(pa.table({"id": range(50), "ts": [5] * 50}))
    table.upsert(pa.table({"id": range(40, 60), "ts": [6] * 20}))
    table.delete(pa.table({"id": [0, 45], "ts": [7, 7]}))
    counters = IoCounters()
    engine = engine_of(table.path, counters)

    def answer(sql: str) -> list[tuple[object, ...]]:
        return [tuple(row.values()) for row in engine.query(sql).read_all().to_pylist()]

    for _ in range(2):
        assert answer("SELECT count(*), max(ts) FROM t") == [(58, 6)]
    before = counters["engine_files"]
    counted = engine.query("SELECT count(*) AS n, count(*) FROM t AS x").read_all()
    assert counted.to_pylist() == [{"n": 58, "count_star()": 58}] and counters["engine_files"] == before
    (plan,) = engine.query("EXPLAIN SELECT count(*) FROM t").read_all()["plan"].to_pylist()
    assert "READ_PARQUET" not in plan and "RANGE" in plan
    for sql, rows in (
        ("SELECT count(*) FROM t WHERE ts > 5", [(19,)]),
        ("SELECT count(*) FILTER (ts > 5) FROM t", [(19,)]),
        ("SELECT count(*) FROM t AS x(a, b, c, d, e, f, g) WHERE g > 5", [(19,)]),
        ("SELECT count(*) FROM t AS x(a, b, c)", [(58,)]),
        ("SELECT count(*) FROM t GROUP BY ts > 5 ORDER BY 1", [(19,), (39,)]),
        ("SELECT count(*) FROM t LIMIT 0", []),
        ("SELECT count(*) FROM t HAVING max(ts) > 6", []),
        ("SELECT count(DISTINCT ts) FROM t", [(2,)]),
        ("SELECT count(*) FROM t USING SAMPLE 7 ROWS", [(7,)]),
        ("SELECT count(*) FROM (SELECT DISTINCT ts FROM t)", [(2,)]),
        ("SELECT count(*) OVER () FROM t QUALIFY ts > 5 LIMIT 1", [(58,)]),
        ("SELECT count(*) FROM t, t AS other", [(58 * 58,)]),
        ("WITH t AS (SELECT 1) SELECT count(*) FROM t", [(1,)]),
    ):
        assert answer(sql) == rows, sql
        assert counters["engine_files"] > before or "WITH" in sql, sql
        before = counters["engine_files"]


@pytest.mark.parametrize(
    ("version", "mode", "seed"),
    with_long_cases(
        [(6, "EVENT_TIME_ORDERING", 1), (9, "COMMIT_TIME_ORDERING", 2), (8, "EVENT_TIME_ORDERING", 3)],
        [(v, m, s) for v in (6, 8, 9) for m in ("EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING") for s in range(4, 8)],
    ),
)
def test_random_histories_of_log_files_give_the_rows_of_a_scan(tmp_path, version, mode, seed):
    chance = random.Random(seed)
    ordering = ["ts"] if mode == "EVENT_TIME_ORDERING" else []
    table = HudiTable.create(
        tmp_path / "t",
        name="t",
        table_type="MERGE_ON_READ",
        version=version,
        record_keys=["id"],
        partition_fields=["part"],
        ordering_fields=ordering,
    )

    def rows(count: int) -> pa.Table:
        keys = chance.sample(range(60), count)
        return pa.table(
            {
                "id": [f"k{key}" for key in keys],
                "ts": [chance.randrange(6) for _ in keys],
                "text": [None if chance.random() < 0.1 else chance.choice("abc") * 5 for _ in keys],
                "part": [f"p{key % 2}" for key in keys],
            }
        )

    options = {"hoodie.compact.inline": "false"}
    table.insert(rows(40), options=options)
    engine = SqlEngine(tables={"t": table.path}, threads=1)
    for _ in range(4):
        if chance.random() < 0.3:
            table.delete(rows(6), options=options)
        else:
            table.upsert(rows(15), options=options)
        expected = HudiTable.open(table.path).scan().to_arrow()
        for _ in range(2):
            assert texts(engine.query("SELECT * FROM t").read_all().cast(expected.schema)) == texts(expected)
            (late,) = (
                engine.query("SELECT count(*) FROM t WHERE ts > 3 AND part = 'p1'").read_all().column(0).to_pylist()
            )
            assert late == sum(row["ts"] > 3 and row["part"] == "p1" for row in expected.to_pylist())
            assert engine.query("SELECT count(*) FROM t").read_all().column(0).to_pylist() == [expected.num_rows]


# -- what engines must not read ---------------------------------------------------------------------------------------


def test_statements_name_no_file_of_a_table(numbers):
    engine = SqlEngine(tables={"t": numbers.path}, threads=1)
    assert engine.query("SELECT count(*) FROM t").read_all().column(0).to_pylist() == [5]
    file = next(Path(numbers.path.removeprefix("file:")).glob("a/*.parquet"))
    for sql in (
        f"FROM read_parquet('{file}')",
        f"SELECT * FROM t, read_text('{file}')",
        f"SELECT * FROM t WHERE id IN (SELECT id FROM parquet_scan('{file}'))",
        f'FROM (WITH "{file}" AS (SELECT 1) SELECT 1), "{file}"',
        f"FROM query('FROM read_parquet(''{file}'')')",
        f"DESCRIBE '{file}'",
    ):
        with pytest.raises(HudiHiveError):
            engine.query(sql).read_all()
    with pytest.raises(SqlError, match="disabled"):
        engine.query("SELECT * FROM t, read_csv('/etc/passwd')")


def test_a_file_that_was_exchanged_for_a_link_is_refused(tmp_path):
    path = unzip_fixture("v8_cow_part_mdt", tmp_path)
    engine = SqlEngine(tables={"t": str(path)}, threads=1)
    assert engine.query("SELECT count(*) FROM t").read_all().column(0).to_pylist() == [15]
    file = planned(path, "lima")
    file.rename(tmp_path / "elsewhere.parquet")
    file.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(UnsafePathError):
        engine.query("SELECT page FROM t").read_all()


def test_a_plan_is_divided_once_while_its_files_are_the_same(tmp_path):
    path = unzip_fixture("v8_cow_part_mdt", tmp_path)
    engine = SqlEngine(tables={"t": str(path)}, threads=1)
    source = TableSource(MetaClient.load(str(path)))

    def divided() -> DividedPlan:
        with duckdb.connect() as connection:
            reader = DuckDBFiles(connection, source.schema, {})
            return source.divisions.divide(source.plan(None), source.schema, reader)

    first = divided()
    assert first.sets
    assert divided() is first
    file = planned(path, "lima")
    os.utime(file, ns=(0, 0))
    assert divided() is not first
    assert divided() is divided()
    file.write_bytes(file.read_bytes()[:-20])
    assert divided().has_rest
    with pytest.raises(CorruptFileError, match=file.name):
        engine.query("SELECT * FROM t").read_all()


def test_files_that_are_cut_or_gone_are_reported_by_name(tmp_path):
    path = unzip_fixture("v8_cow_part_mdt", tmp_path)
    engine = SqlEngine(tables={"t": str(path)}, threads=1)
    file = planned(path, "lima")
    content = file.read_bytes()
    for damaged in (content[:-20], content[:100] + b"\0" * 200 + content[300:], content[:-8] + b"\xff" * 4 + b"PAR1"):
        file.write_bytes(damaged)
        with pytest.raises(CorruptFileError, match=file.name):
            engine.query("SELECT * FROM t").read_all()
    reader = engine.query("SELECT * FROM t")
    file.unlink()
    reader.close()
    with pytest.raises(FileVanishedError, match=file.name):
        engine.query("SELECT * FROM t").read_all()
    file.write_bytes(content)
    assert engine.query("SELECT count(page) FROM t").read_all().num_rows == 1


def test_rows_of_another_file_are_refused(tmp_path):
    path = unzip_fixture("v8_cow_part_mdt", tmp_path)
    shutil.rmtree(path / ".hoodie" / "metadata")  # which would say the size
    lima, oslo = planned(path, "lima"), planned(path, "oslo")
    shutil.copy(oslo, lima)
    with pytest.raises(CorruptFileError, match=lima.name):
        SqlEngine(tables={"t": str(path)}, threads=1).query("SELECT * FROM t").read_all()


def test_a_connection_without_access_to_files_gets_rows():
    table = HudiTable.open(unzip_fixture("v8_cow_part_mdt"))
    with duckdb.connect() as connection:
        connection.execute("SET enable_external_access = false")
        table.scan().to_duckdb("t", connection)
        assert connection.execute("SELECT count(*) FROM t").fetchall() == [(15,)]


# -- instances --------------------------------------------------------------------------------------------------------


def test_an_instance_serves_one_statement_after_the_other(monkeypatch):
    engine = SqlEngine(tables={"t": str(unzip_fixture("v8_cow_part_mdt"))}, threads=1)
    made = []
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *args, **options: made.append(1) or connect(*args, **options))
    for _ in range(3):
        assert engine.query("SELECT count(*) FROM t").read_all().column(0).to_pylist() == [15]
    assert len(made) == 2  # one that knew no table, and that of all statements
    with pytest.raises(SqlError):
        engine.query("SELECT error('no') FROM t").read_all()
    engine.query("SELECT count(*) FROM t").read_all()
    assert len(made) == 3
