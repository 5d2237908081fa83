"""Table-valued functions and change data in Spark SQL: real Hudi's answers, in all kinds of sessions."""

from __future__ import annotations

import json

import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, MetadataTableError, UnsupportedTableError
from tests.support.fixture_tables import (
    DATA,
    assert_same_rows,
    encode_rows,
    fixture_names,
    named_gap,
    queries,
    query_id,
    rows_sha256,
    unzip_fixture,
)

pytestmark = pytest.mark.jvm

# -- change data -------------------------------------------------------------------------------------------------------

# All ranges are read without Spark in tests; here one of every shape of image: all there is, one commit, an overwrite.
CHANGES = [(name, query) for name in fixture_names() for query in queries(name, "cdc")[:5:2]]


@pytest.mark.parametrize(("name", "query"), CHANGES, ids=[f"{name}-{query_id(query)}" for name, query in CHANGES])
def test_change_data_by_path(spark, name, query):
    gap = named_gap(name, query)
    try:
        rows = hudi_spark.load(spark, unzip_fixture(name), query["options"]).toArrow()
    except HudiHiveError as error:
        assert "error" in query, error
        return
    if gap is None:
        assert "error" not in query, f"{rows.num_rows} rows where Hudi refuses: {query['error']}"
        assert_same_rows(rows, name, query)
        return
    ours = HudiTable.open(unzip_fixture(name)).scan(options=query["options"]).to_arrow()
    assert rows_sha256(encode_rows(rows)) == rows_sha256(encode_rows(ours)), gap


@pytest.mark.parametrize("name", ["v6_cow_cdc", "v8_cow_cdc", "v9_cow_cdc_key_only"])
def test_change_data_by_name(spark, synced, name):
    table = synced(name)
    for query in [query for query in queries(name, "cdc") if not named_gap(name, query)][1:3]:
        end = f", '{query['end']}'" if query["end"] else ""
        rows = spark.sql(f"SELECT * FROM hudi_table_changes('{table}', 'cdc', '{query['begin']}'{end})").toArrow()
        assert_same_rows(rows, name, query)


def test_change_data_in_statements(spark, synced):
    table = synced("v9_cow_cdc")
    changes = f"hudi_table_changes('{table}', 'cdc', 'earliest')"
    ours = HudiTable.open(unzip_fixture("v9_cow_cdc")).scan(query_type="cdc", begin="earliest").to_arrow()
    counted = spark.sql(f"SELECT op, count(*) n FROM {changes} c WHERE c.op <> 'i' GROUP BY op").collect()
    assert {row.op: row.n for row in counted} == {op: ours.column("op").to_pylist().count(op) for op in "ud"}
    joined = spark.sql(
        f"SELECT DISTINCT t.acct, t.balance FROM {changes} c "
        f"JOIN {table} t ON t.acct = get_json_object(c.after, '$.acct') WHERE op = 'i'"
    )
    assert sorted(map(tuple, joined.collect())) == sorted(
        map(tuple, spark.sql(f"SELECT acct, balance FROM {table}").collect())
    )
    frame = hudi_spark.table(spark, table, query_type="cdc", begin="earliest")
    assert frame.columns == ["op", "ts_ms", "before", "after"] and frame.count() == ours.num_rows
    nothing = spark.sql(f"SELECT * FROM hudi_table_changes('{table}', 'cdc', '20991231')")
    assert nothing.collect() == []


def test_change_data_of_a_table_without_cdc_is_refused(spark, synced):
    with pytest.raises(UnsupportedTableError, match="keeps no change data"):
        spark.sql(f"SELECT * FROM hudi_table_changes('{synced('v9_cow_part_mdt')}', 'cdc', 'earliest')")


# -- functions ---------------------------------------------------------------------------------------------------------

CALLS = {
    name: [(call, rows) for call, rows in json.loads((DATA / "functions" / f"{name}.json").read_text()).items()]
    for name in ("1.0.2", "1.1.1")
}
SHOWN = [
    *(call for call in CALLS["1.0.2"] if call[0].startswith(("hudi_query_timeline('v8_cow_part_mdt')",))),
    *(call for call in CALLS["1.0.2"] if call[0].startswith("hudi_filesystem_view('v6_mor_part_rli', '*')")),
    *(call for call in CALLS["1.1.1"] if call[0].startswith("hudi_query_timeline('v9_mor_crash_mdt')")),
    *(call for call in CALLS["1.1.1"] if call[0].startswith("hudi_filesystem_view('v9_mor_part_rli', 'north')")),
    *(call for call in CALLS["1.1.1"] if call[0].startswith("hudi_filesystem_view('v9_cow_nonpart', '*')")),
]


@pytest.mark.parametrize(("call", "answer"), SHOWN, ids=[call for call, _ in SHOWN])
def test_same_answers_as_hudi(spark, synced, call, answer):
    fixture = call.split("'")[1]
    base = str(unzip_fixture(fixture))
    for table in (base, synced(fixture)):
        found = spark.newSession().sql(f"SELECT * FROM {call.replace(fixture, table)}")
        assert [[field.name, field.dataType.simpleString()] for field in found.schema] == answer["columns"]
        rows = [list(row) for row in found.collect()]
        assert sorted(map(str, rows)) == sorted(str(row).replace("<table>", base) for row in answer["rows"])


@pytest.mark.parametrize("name", ["v8_mor_event_time", "v9_cow_part_mdt"])
def test_hudi_query_reads_a_table_by_name_or_path(spark, synced, name):
    table = synced(name)
    ours = HudiTable.open(unzip_fixture(name))
    for kind in ("snapshot", "read_optimized"):
        for place in (table, str(unzip_fixture(name))):
            rows = spark.sql(f"SELECT * FROM hudi_query('{place}', '{kind}')").toArrow()
            wanted = ours.scan(query_type=kind).to_arrow()
            assert rows_sha256(encode_rows(rows, wanted.column_names)) == rows_sha256(encode_rows(wanted))


METADATA = "hudi_metadata('v9_mor_part_rli')"


def test_hudi_metadata_gives_the_records_that_hudi_gives(spark, synced):
    answer = dict(CALLS["1.1.1"])[METADATA]
    found = spark.sql(f"SELECT * FROM hudi_metadata('{synced('v9_mor_part_rli')}')")
    assert [[field.name, field.dataType.simpleString()] for field in found.schema] == answer["columns"]
    rows = encode_rows(found.toArrow())
    assert (len(rows), rows_sha256(rows)) == (answer["row_count"], answer["rows_sha256"])
    by_path = spark.sql(f"SELECT type, count(*) n FROM hudi_metadata('{unzip_fixture('v8_cow_part_mdt')}') GROUP BY 1")
    assert {row.type: row.n for row in by_path.collect()} == {1: 1, 2: 4, 3: 32, 6: 24}
    with pytest.raises(MetadataTableError, match="is off"):
        spark.sql(f"SELECT * FROM hudi_metadata('{synced('v9_cow_nonpart')}')")


def test_functions_in_statements(spark, synced):
    table = synced("v9_cow_part_mdt")
    database = table.split(".")[0]
    joined = spark.sql(
        f"SELECT t.State, count(DISTINCT v.File_ID) n FROM hudi_timeline('{table}') t "
        f"JOIN hudi_filesystem_view('{table}', '{{kyiv,lima}}') v ON v.Base_Instant_Time = t.`Timestamp` GROUP BY 1"
    )
    assert [(row.State, row.n) for row in joined.collect()] == [("COMPLETED", 2)]
    spark.sql(f"CREATE OR REPLACE TEMP VIEW instants AS SELECT Action FROM hudi_query_timeline('{table}', true)")
    assert spark.sql("SELECT count(*) FROM instants WHERE Action = 'clean'").collect()[0][0] == 2
    spark.sql(f"CREATE OR REPLACE VIEW {database}.slices AS SELECT * FROM hudi_filesystem_view('{table}')")
    assert spark.newSession().table(f"{database}.slices").count() == 4
    spark.sql(f"CREATE OR REPLACE VIEW {database}.late AS SELECT * FROM {table} TIMESTAMP AS OF '29990101000000000'")
    assert [one.table(f"{database}.late").count() for one in (spark, spark.newSession())] == [15, 15]
    begin = "date_add(DATE '2026-11-20', 1)"
    assert spark.sql(f"SELECT 1 FROM hudi_table_changes('{table}', 'latest_state', {begin})").count() == 15
    moment = "TIMESTAMP '2026-11-21 03:29:29.779 UTC'"
    text = "'2026-11-21 03:29:29.779'"
    found = [spark.sql(f"SELECT 1 FROM hudi_table_changes('{table}', {at})").count() for at in (moment, text)]
    assert found[0] == found[1]
    prepared = spark.sql("SELECT * FROM hudi_query(:t, 'snapshot')", args={"t": table})
    assert prepared.count() == 15


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("hudi_table_changes('{t}', 'cdc')", "do not fit"),
        ("hudi_table_changes('{t}')", "do not fit"),
        ("hudi_table_changes('{t}', 'latest_state', 'soon')", "is not a time"),
        ("hudi_table_changes('{t}', NULL)", "is null"),
        ("hudi_table_changes('{t}', 'latest_state', cast(rand() AS STRING))", "must be constants"),
        ("hudi_query('{t}', 'incremental')", "no query type"),
        ("hudi_query_timeline('{t}', 'maybe')", "do not fit"),
        ("hudi_filesystem_view('{t}', 'a[')", "open bracket"),
        ("hudi_filesystem_view('nowhere.t')", "not a synced Hudi table"),
        ("hudi_filesystem_view('/nowhere/at/all')", "no such folder"),
    ],
)
def test_what_does_not_fit_is_refused(spark, synced, call, says):
    with pytest.raises(HudiHiveError, match=says):
        spark.sql(f"SELECT * FROM {call.format(t=synced('v9_cow_part_mdt'))}")
