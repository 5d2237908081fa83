"""Files that label timestamps wrongly, in Spark: real Hudi's rows, and never by Spark's own reader."""

from __future__ import annotations

import pyarrow as pa
import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from integration.spark.scan.test_spark_evolution import scans
from tests.support.running.long import long_case, with_long_cases
from tests.support.tables.mislabelled_times import answers, copy_of, encoded, expected_rows, names, shared

pytestmark = pytest.mark.jvm

QUERIES = [(name, query) for name in names() for query in answers()[name]["queries"] if query["label"] != "cdc"]
# Of each table the snapshot or a query of another kind, by turns.
SOME = [
    (name, own[place])
    for number, name in enumerate(names())
    for own in [[query for table, query in QUERIES if table == name]]
    for place in [0 if number % 2 else 1 + number // 2 % (len(own) - 1)]
]


def case_id(value) -> str:
    return value if isinstance(value, str) else value["label"]


def as_hudi(rows: pa.Table, query) -> list[list]:
    """Rows encoded; local timestamps, which are numbers of the table's unit here, as Hudi shows them."""
    found = encoded(rows)
    if query["types"]["local_ts_millis"] == "timestamp_ntz":
        for row in found:
            for at in (5, 8):
                row[at] = None if row[at] is None else row[at] * 1000
    return found


@pytest.mark.parametrize(("name", "query"), with_long_cases(SOME, QUERIES), ids=case_id)
def test_rows_are_those_of_hudi(spark, name, query):
    assert as_hudi(hudi_spark.load(spark, shared(name), query["options"]).toArrow(), query) == expected_rows(
        name, query
    )


@pytest.mark.parametrize("name", ["v6_cow_plain_local", *map(long_case, ("v6_cow_to_v6", "v8_cow_to_v9"))])
def test_filters_keep_the_rows_of_hudi(spark, name):
    frame = spark.read.format("hudi").load(str(shared(name)))
    for query_filter in (
        query_filter for query_filter in answers()[name]["filters"] if "local" not in query_filter["filter"]
    ):
        found = [row.id for row in frame.filter(query_filter["filter"]).select("id").orderBy("id").collect()]
        assert found == query_filter["ids"], query_filter["filter"]


@pytest.mark.parametrize(
    ("name", "columns", "counted"),
    [
        ("v6_cow_to_v6", "id, ts_millis", (4, 1, 0)),  # one file is of before
        ("v6_cow_to_v6", "id, s.at", (4, 1, 0)),
        ("v6_cow_to_v6", "id, ts_micros", (5, 0, 0)),
        ("v6_cow_to_v6", "count(*)", (5, 0, 0)),
        ("v6_cow_plain_local", "id, ts_millis", (4, 0, 0)),
        ("v6_cow_plain_local", "id, local_ts_micros", (4, 0, 0)),
        ("v6_cow", "*", (4, 0, 0)),  # as the table's schema has them, they are right
    ],
)
def test_only_files_with_wrong_labels_are_converted(spark, name, columns, counted):
    frame = hudi_spark.load(spark, shared(name)).selectExpr(*columns.split(", "))
    assert frame.collect() and scans(frame) == counted


def test_a_synced_table_of_mislabelled_times_is_read_by_its_name(spark, metastore, tmp_path):
    name = "v6_cow_to_v6"
    config = HiveSyncConfig(base_path=str(copy_of(name, tmp_path)), database="default", table="mislabelled_times")
    HiveSyncTool(config, metastore=metastore).sync()
    query = answers()[name]["queries"][0]
    assert as_hudi(spark.sql("SELECT * FROM mislabelled_times").toArrow(), query) == expected_rows(name, query)
    wanted = [row[1] for row in query["rows"] if row[3] >= 1_577_836_800_000_000]
    found = spark.sql("SELECT id FROM mislabelled_times WHERE ts_millis >= '2019-12-31' ORDER BY id").collect()
    assert [row.id for row in found] == wanted


LOCAL = "cast(timestamp_{unit}({name}) AS timestamp_ntz)"


def test_writes_put_labels_right(spark, tmp_path):
    path = copy_of("v6_cow_to_v6", tmp_path)
    before = hudi_spark.load(spark, path)
    wanted = encoded(before.toArrow())
    near = LOCAL.format(unit="millis", name="s.near")
    rows = before.filter("id = 'k20'").selectExpr(
        ["id", "part", "n", "ts_millis", "ts_micros", "a", "m", "_hoodie_is_deleted"]
        + [LOCAL.format(unit=unit, name=f"local_ts_{unit}") + f" AS local_ts_{unit}" for unit in ("millis", "micros")]
        + [f"named_struct('at', s.at, 'near', {near}, 'x', s.x) AS s"]
    )
    native = scans(before.selectExpr("ts_millis"))[0]
    rows.write.format("hudi").mode("append").save(str(path))
    found = hudi_spark.load(spark, path)
    assert [row[1:] for row in encoded(found.toArrow())] == [row[1:] for row in wanted]
    assert scans(found.selectExpr("ts_millis")) == (native + 1, 0, 0)
