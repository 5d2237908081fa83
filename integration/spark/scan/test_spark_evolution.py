"""Tables with an id-based schema in Spark SQL: real Hudi's rows, by Spark's own scan where it reads a file right."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.versions import SPARK
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import (
    assert_same_rows,
    encode_rows,
    fixture_names,
    named_gap,
    queries,
    rows_sha256,
    unzip_fixture,
)
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

COW = fixture_names("cow_schema_evo")
MOR = fixture_names("mor_schema_evo")


def same(rows, expected, names=None):
    names = names or expected.column_names
    assert sorted(rows.column_names) == sorted(expected.column_names)
    assert rows_sha256(encode_rows(rows, names)) == rows_sha256(encode_rows(expected, names))


def scans(frame):
    """(base files by Spark's own reader, converted ones, slices merged) of the scans of a query."""
    native = converted = merged = 0
    for line in hudi_spark.explain(frame).splitlines():
        words = line.split("; ")[1].replace(",", "").split()
        if line.split("; ")[1].startswith("Spark's own reader"):
            native += int(words[words.index("base") - 1])
        elif "merged in Arrow" in line:
            merged += int(words[3])
            converted += int(words[words.index("of") - 1]) if "converted" in line else 0
        else:
            converted += int(words[3])
    return native, converted, merged


@pytest.mark.parametrize("name", with_long_cases([COW[0], MOR[1]], [*COW, *MOR]))
def test_every_recorded_answer_by_path(spark, name):
    for query in queries(name):
        frame = None
        try:
            frame = hudi_spark.load(spark, unzip_fixture(name), query["options"]).toArrow()
        except HudiHiveError:
            assert "error" in query
        if named_gap(name, query):
            same(frame, HudiTable.open(unzip_fixture(name)).scan(options=query["options"]).to_arrow())
        elif frame is not None:
            assert "error" not in query
            assert_same_rows(frame, name, query)


@pytest.mark.parametrize("name", with_long_cases([COW[0], MOR[1]], [*COW, *MOR]))
def test_the_past_by_name(spark, synced, name):
    """Snapshots by name are among those of all fixtures."""
    table = synced(name)
    ours = HudiTable.open(unzip_fixture(name))
    snapshot = f"{table}_rt" if name in MOR else table
    for query in queries(name, "time_travel"):
        rows = spark.sql(f"SELECT * FROM {snapshot} VERSION AS OF '{query['as_of']}'").toArrow()
        same(rows, ours.scan(as_of=query["as_of"]).to_arrow())
    last = queries(name, "incremental")[-1]
    rows = spark.sql(f"SELECT * FROM hudi_table_changes('{snapshot}', '{last['begin']}')").toArrow()
    same(rows, ours.scan(begin=last["begin"]).to_arrow())


def moment(name, number):
    """The time of a write or change of the schema of a fixture: between them are files of several versions."""
    return MetaClient.load(unzip_fixture(name)).timeline.write_instants()[number].requested


CHANGED = ("v8_cow_schema_evo", 15)  # after all changes, before the last write: one file is of before the renames


@pytest.mark.parametrize(
    ("columns", "counted"),
    [
        ("*", (1, 1, 0)),
        ("full_name", (1, 1, 0)),
        ("id, ratio, cnt, extra, tags, ts, part", (2, 0, 0)),  # the same in both, though not at the same place
        ("info.a", (2, 0, 0)),
        ("info.bee", (1, 1, 0)),
        ("count(*)", (2, 0, 0)),
        ("input_file_name(), id", (2, 0, 0)),
    ],
)
def test_only_files_that_need_it_are_converted(spark, columns, counted):
    name, number = CHANGED
    as_of = moment(name, number)
    frame = hudi_spark.load(spark, unzip_fixture(name), as_of=as_of).selectExpr(*columns.split(", "))
    assert scans(frame) == counted
    if "(" not in columns and "." not in columns:
        expected = HudiTable.open(unzip_fixture(name)).scan(as_of=as_of).to_arrow()
        same(frame.toArrow(), expected.select(frame.columns))


STATEMENTS = [
    "SELECT full_name, info.bee, info.c FROM t WHERE full_name IS NOT NULL AND info.a > 0 ORDER BY ALL",
    "SELECT a.full_name, b.id FROM t a JOIN t b ON a.id = b.id WHERE b.info.bee IS NOT NULL ORDER BY ALL",
    "SELECT id FROM t UNION ALL SELECT length(full_name) FROM t ORDER BY ALL",
    "SELECT part, max(full_name), count(info.bee), sum(cnt) FROM t GROUP BY part ORDER BY ALL",
    "SELECT full_name FROM t WHERE part = (SELECT min(part) FROM t) AND cnt < 100 ORDER BY ALL",
]


@pytest.mark.parametrize("name", [CHANGED[0], "v9_mor_schema_evo"])
def test_statements_over_files_of_several_versions(spark, name):
    as_of = moment(name, CHANGED[1])
    rows = HudiTable.open(unzip_fixture(name)).scan(as_of=as_of).to_arrow()
    spark.createDataFrame(rows).createOrReplaceTempView("plain")
    hudi_spark.load(spark, unzip_fixture(name), as_of=as_of).createOrReplaceTempView("evolved")
    for statement in STATEMENTS:
        found, expected = (spark.sql(re.sub(r"\bt\b", view, statement)).collect() for view in ("evolved", "plain"))
        assert found and found == expected, statement


@pytest.mark.parametrize("mode", ["latest_state", "cdc"])
def test_ranges_of_the_function_show_the_columns_of_their_end(spark, tmp_path, mode):
    """Where the session says so, as a scan does by the option."""
    option = "hoodie.datasource.read.schema.use.end.instanttime"
    name = "v9_cow_schema_evo" if mode == "latest_state" else "v9_cow_cdc"
    table = HudiTable.open(unzip_fixture(name, tmp_path))
    if mode == "cdc":
        config = table.client.config
        fixed = {*config.record_keys, *config.partition_fields, *config.ordering_fields, *META_FIELDS}
        column = next(name for name in table.schema().names if name not in fixed)
        table.update_schema().rename(column, "renamed").commit()
        table = table.refresh()
    first = table.refresh().timeline.write_instants()[0]
    call = f"hudi_table_changes('{table.path}', '{mode}', 'earliest', '{first.completed}')"
    kind = "cdc" if mode == "cdc" else "incremental"
    seen = []
    for text in ("true", "false"):
        spark.conf.set(option, text)
        try:
            rows = spark.sql(f"SELECT * FROM {call}").toArrow()
        finally:
            spark.conf.unset(option)
        scan = table.refresh().scan(query_type=kind, begin="earliest", end=first.completed, options={option: text})
        same(rows, scan.to_arrow())
        seen.append(rows)
    assert not seen[0].equals(seen[1])


def test_a_stream_shows_the_columns_of_now(spark, tmp_path):
    path = unzip_fixture("v9_mor_schema_evo")
    stream = spark.readStream.format("hudi")
    query = stream.load(str(path)).writeStream.format("memory").queryName("evolved_stream")
    query.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination(600)
    same(spark.table("evolved_stream").toArrow(), HudiTable.open(path).scan(begin="000").to_arrow())


NARROW = pa.schema(
    [
        ("id", pa.string()),
        ("p", pa.string()),
        ("long", pa.int32()),
        ("double", pa.float32()),
        ("ratio", pa.int64()),
        ("s", pa.struct([("n", pa.int32()), ("f", pa.float32())])),
        ("a", pa.list_(pa.float32())),
        ("same", pa.int32()),
    ]
)
WIDE = pa.schema(
    [
        ("id", pa.string()),
        ("p", pa.string()),
        ("long", pa.int64()),
        ("double", pa.float64()),
        ("ratio", pa.float64()),
        ("s", pa.struct([("n", pa.int64()), ("f", pa.float64())])),
        ("a", pa.list_(pa.float64())),
        ("same", pa.int32()),
    ]
)


@pytest.fixture(scope="module", params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def widened(request, tmp_path_factory):
    """A table without a history of schemas: narrow files, one of them with a wide log or rewritten."""
    kinds = [("x", 1, 0.1), ("y", -2, 2.5)]
    old = [
        {"id": p, "p": p, "long": n, "double": f, "ratio": n, "s": {"n": n, "f": f}, "a": [f], "same": n}
        for p, n, f in kinds
    ]
    new = {
        "id": "y",
        "p": "y",
        "long": 1 << 40,
        "double": 0.3,
        "ratio": 0.5,
        "s": {"n": 1 << 40, "f": 0.3},
        "a": [0.7],
        "same": 5,
    }
    path = tmp_path_factory.mktemp("widened") / "t"
    fields = {"name": "w", "record_keys": ["id"], "partition_fields": ["p"]}
    table = HudiTable.create(path, table_type=request.param, **fields)
    table.insert(pa.Table.from_pylist([*old, {**old[1], "id": "z"}], NARROW))
    table.upsert(pa.Table.from_pylist([new], WIDE))
    return table


NATIVE_LONG = (1, 1) if not SPARK.widens_integers else (2, 0)


@pytest.mark.parametrize(
    ("columns", "counted"),
    [
        ("*", (1, 1)),
        ("long", NATIVE_LONG),
        ("s.n", (1, 1)),
        ("a", (1, 1)),
        ("id, same, p", (2, 0)),
        ("count(*)", (2, 0)),
    ],
)
def test_narrower_files_are_converted_where_spark_does_not_as_hudi_does(spark, widened, columns, counted):
    frame = hudi_spark.load(spark, widened.path).selectExpr(*columns.split(", "))
    assert len(frame.collect()) > 0
    native, converted, _ = scans(frame)
    if widened.client.config.is_merge_on_read:
        assert converted == counted[1]
    else:
        assert (native, converted) == counted
    if "(" not in columns and "." not in columns:
        same(frame.toArrow(), widened.scan().to_arrow().select(frame.columns))


def test_narrower_files_pass_filters_of_wide_values(spark, widened):
    frame = hudi_spark.load(spark, widened.path)
    for condition, ids in (("double = 0.1", ["x"]), ("long < 0 AND s.f > 2", ["z"]), ("ratio = 0.5", ["y"])):
        assert [row.id for row in frame.filter(condition).select("id").orderBy("id").collect()] == ids, condition
