"""Queries that real Hudi answered on the fixture tables, answered by Spark over our file index: the same rows.

``tests/read/test_fixture_queries.py`` answers all of them without Spark. Here a table's queries of the same answer and
query type are one case: Spark adds the scan of the files that were planned.
"""

from __future__ import annotations

import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from hudi_hive.schema import META_FIELDS
from tests.support.fixture_tables import (
    assert_same_rows,
    case_id,
    encode_rows,
    fixture_names,
    named_gap,
    one_version_of_each,
    queries,
    rows_sha256,
    unzip_fixture,
)
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

KINDS = ("snapshot", "read_optimized", "time_travel", "incremental", "base_files")
RANGE_OPTIONS = {
    "hoodie.datasource.query.type",
    "hoodie.datasource.read.begin.instanttime",
    "hoodie.datasource.read.end.instanttime",
    "hoodie.metadata.enable",  # the oracle's: where listings come from changes no row
}


def is_plain_range(name, query):
    """Whether SQL's table function can ask it: such queries are asked by name, through the same plan."""
    plain = "error" not in query and not named_gap(name, query) and not set(query["options"]) - RANGE_OPTIONS
    return query["kind"] == "incremental" and plain


def distinct(all_queries):
    """One query for each kind and answer; of plain snapshots none, which are read by name below."""
    first_by_answer = {}
    for query in all_queries:
        if query["kind"] != "snapshot" or set(query["options"]) - RANGE_OPTIONS or "error" in query:
            first_by_answer.setdefault((query["kind"], query.get("rows_sha256")), query)
    return list(first_by_answer.values())


CASES = [
    *((n, q) for n in fixture_names("cow") for q in distinct(queries(n, *KINDS)) if not is_plain_range(n, q)),
    *((name, query) for name in fixture_names("mor") for query in distinct(queries(name, "read_optimized"))),
]
CASES = [case for case in CASES if not case[0].endswith("schema_evo")]  # test_spark_evolution asks all of theirs
SOME = one_version_of_each(fixture_names("cow")) + one_version_of_each(fixture_names("mor"))


@pytest.mark.parametrize(
    ("name", "query"), with_long_cases([case for case in CASES if case[0] in SOME], CASES), ids=case_id
)
def test_same_rows_as_hudi_by_path(spark, name, query):
    options = {} if query["kind"] == "base_files" else query["options"]
    gap = named_gap(name, query)
    try:
        rows = hudi_spark.load(spark, unzip_fixture(name), options).toArrow()
    except HudiHiveError:
        assert "error" in query
        return
    if gap is None:
        assert "error" not in query, f"{rows.num_rows} rows where Hudi refuses: {query['error']}"
        assert_same_rows(rows, name, query)
        return
    ours = HudiTable.open(unzip_fixture(name)).scan(options=options).to_arrow()
    assert rows.column_names == ours.column_names
    assert rows_sha256(encode_rows(rows)) == rows_sha256(encode_rows(ours)), gap


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(fixture_names("cow")), fixture_names("cow")))
def test_same_rows_by_name(spark, synced, name):
    query = queries(name, "snapshot")[0]
    table = synced(name)
    rows = spark.sql(f"SELECT * FROM {table}").toArrow()
    if name.endswith("cow_virtual_keys"):
        # hive-sync declares the meta columns even for tables that do not fill them.
        assert set(rows.column("_hoodie_record_key").to_pylist()) <= {"", None}
        rows = rows.drop_columns(list(META_FIELDS))
    if named_gap(name, query) is None:
        assert_same_rows(rows, name, query)
    ours = HudiTable.open(unzip_fixture(name)).scan().to_arrow()
    assert sorted(rows.column_names) == sorted(ours.column_names)
    assert rows_sha256(encode_rows(rows, ours.column_names)) == rows_sha256(encode_rows(ours))


RANGES = [n for n in fixture_names("cow") if any(is_plain_range(n, query) for query in queries(n, "incremental"))]


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(RANGES), RANGES))
def test_incremental_by_name(spark, synced, name):
    table = synced(name)
    ranges = [query for query in distinct(queries(name, "incremental")) if is_plain_range(name, query)]
    for query in ranges[:1] + ranges[1:][-1:]:
        end = f", '{query['end']}'" if query["end"] else ""
        rows = spark.sql(f"SELECT * FROM hudi_table_changes('{table}', '{query['begin']}'{end})").toArrow()
        assert_same_rows(rows, name, query)
