"""Every query that real Hudi answered on the fixture tables, answered by us: the same rows, or a gap with a name."""

from __future__ import annotations

import functools
import json
from urllib.parse import unquote

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from tests.support.fixture_tables import (
    VERSIONS,
    assert_same_rows,
    columns_of,
    encode_rows,
    expected,
    fixture_names,
    named_gap,
    named_gaps,
    queries,
    query_id,
    rows_sha256,
    same_images,
    unzip_fixture,
)

KINDS = ("snapshot", "read_optimized", "time_travel", "incremental", "cdc", "base_files")
CASES = [(name, query) for name in fixture_names() for query in queries(name)]
IDS = [f"{name}-{query_id(query)}" for name, query in CASES]


@functools.cache
def table(name: str) -> HudiTable:
    return HudiTable.open(unzip_fixture(name))


def answer(name: str, query: dict) -> pa.Table:
    if query["kind"] == "base_files":  # Spark's own reader over the latest base files
        return table(name).scan().to_arrow()
    return table(name).scan(options=query["options"]).to_arrow()


@functools.cache
def outcome(case: int) -> str | None:
    """None when we answer as Hudi did, else what differs."""
    name, query = CASES[case]
    try:
        rows = answer(name, query)
    except HudiHiveError as error:
        return None if "error" in query else f"{type(error).__name__}: {error}"
    if "error" in query:
        return f"{rows.num_rows} rows where Hudi refuses: {query['error']}"
    try:
        assert_same_rows(rows, name, query)
    except AssertionError as difference:
        return str(difference)
    return None


@pytest.mark.parametrize("case", range(len(CASES)), ids=IDS)
def test_same_rows_as_hudi(case):
    name, query = CASES[case]
    gap = named_gap(name, query)
    if gap is None:
        assert outcome(case) is None, outcome(case)
        return
    assert outcome(case) is not None, f"the gap has closed: {gap}"
    GAP_RULES[gap.split(":")[0]](name, query, answer(name, query))


def test_all_fixtures_and_kinds_are_here():
    assert len({name for name, _ in CASES}) == 84
    assert {query["kind"] for _, query in CASES} == set(KINDS)


def test_named_gaps_name_queries():
    assert set(named_gaps()) >= {(name, query_id(query)) for name, query in CASES if named_gap(name, query)}
    assert {reason.split(":")[0] for reason in named_gaps().values()} == set(GAP_RULES)


# -- what a named gap must look like: our rule, not just a difference ----------------------------------------------


def begin_is_exclusive(name, query, rows):
    """As Hudi answers with a begin of one millisecond later: without the rows of the commit at begin."""
    later = str(int(query["begin"]) + 1)
    same_range = [q for q in queries(name, query["kind"]) if (q["begin"], q["end"]) == (later, query["end"])]
    if same_range:
        assert_same_rows(rows, name, same_range[0])
        return
    assert rows_sha256(encode_rows(rows, columns_of(name, query))) == rows_sha256(after_begin(name, query))


def after_begin(name, query):
    """Hudi's rows without those of the commit at an exclusive begin."""
    if not query.get("rows_of_begin_commit_seen"):
        return query["rows"]
    first = [c["requested"] for c in expected(name)["commits"] if c["completed"] == query["begin"]]
    at = columns_of(name, query).index("_hoodie_commit_time")
    return [row for row in query["rows"] if row[at] not in first]


def archive_is_read(name, query, rows):
    """From the beginning: every row of the table."""
    assert_same_rows(rows, name, queries(name, "snapshot")[0])


def value_as_written(name, query, rows):
    """All but the partition columns as Hudi has them; those as in the data file, or the path's value when asked for."""
    fields = table(name).config.partition_fields
    names = columns_of(name, query)
    plain = [column for column in names if column not in fields]
    theirs = [[row[names.index(column)] for column in plain] for row in after_begin(name, query)]
    assert rows_sha256(encode_rows(rows, plain)) == rows_sha256(theirs)
    if query["options"].get("hoodie.datasource.read.extract.partition.values.from.path") == "true":
        assert {f"event_ms={value}" for value in rows["event_ms"].to_pylist()} == set(
            rows["_hoodie_partition_path"].to_pylist()
        )
        return
    assert rows.schema == table(name).schema()
    begin = query.get("begin") or "000"
    written = [q for q in queries("v6_" + name[3:], "incremental") if begin == "000" and q["begin"] == "000"]
    for field in fields:
        for other in written:  # release 0.15.0 shows the same rows as they were written
            at = columns_of("v6_" + name[3:], other).index(field)
            assert sorted(row[at] for row in other["rows"]) == sorted(rows[field].to_pylist())


def values_are_decoded(name, query, rows):
    """As Hudi has them, with the partition column decoded."""
    names = columns_of(name, query)
    at = names.index(table(name).config.partition_fields[0])
    decoded = [
        [unquote(value) if i == at else value for i, value in enumerate(row)] for row in after_begin(name, query)
    ]
    assert rows_sha256(encode_rows(rows, names)) == rows_sha256(decoded)


def shown_as_in_version_8(name, query, rows):
    """What version 8 shows there, where it is not refused: the same data was written to all versions."""
    as_written = [column for column in rows.column_names if not column.startswith("_hoodie")]
    others = queries("v8_" + name[3:], "time_travel")
    other = next(q for q in others if [c for c in columns_of("v8_" + name[3:], q) if c[0] != "_"] == as_written)
    names = [column for column in columns_of("v8_" + name[3:], other) if not column.startswith("_hoodie")]
    at = [columns_of("v8_" + name[3:], other).index(column) for column in names]
    assert rows_sha256(encode_rows(rows, names)) == rows_sha256([[row[i] for i in at] for row in other["rows"]])


def orc_is_read(name, query, rows):
    """As Spark's own ORC reader has the latest base files."""
    assert_same_rows(rows, name, queries(name, "base_files")[0])


def each_deleted_row_is_a_change(name, query, rows):
    """All but the deletes of the last commit as Hudi has them; those are the rows that version 9 tells there."""
    last = expected(name)["commits"][-1]["requested"]

    def deleted(row):
        return row[0] == "d" and row[1] == last

    texts = encode_rows(same_images(rows, name, query), columns_of(name, query))
    assert rows_sha256([r for r in texts if not deleted(r)]) == rows_sha256(
        [r for r in query["rows"] if not deleted(r)]
    )
    other = "v9_" + name[3:]
    newest = expected(other)["commits"][-1]["requested"]
    theirs = [row for row in queries(other, "cdc")[0]["rows"] if row[0] == "d" and row[1] == newest]
    expected_images = sorted(
        (image["acct"], image["owner"], image["balance"]) for image in (json.loads(r[2]) for r in theirs)
    )
    images = [json.loads(row[2]) for row in texts if deleted(row)]
    assert sorted((image["acct"], image["owner"], image["balance"]) for image in images) == expected_images
    assert len({image["_hoodie_record_key"] for image in images}) == len(expected_images)


GAP_RULES = {
    "incremental-bounds": begin_is_exclusive,
    "incremental-from-the-archive": archive_is_read,
    "partition-column-values": value_as_written,
    "encoded-partition-values": values_are_decoded,
    "time-travel-bounds": shown_as_in_version_8,
    "release 0.15.0": shown_as_in_version_8,
    "release 1.0.2 and before": each_deleted_row_is_a_change,
    "fixtures/README.md": orc_is_read,
}


@pytest.mark.parametrize("name", fixture_names("cow"))
def test_columns_are_in_the_order_of_the_schema(name):
    client = table(name)
    for query in queries(name, "snapshot", "incremental"):
        if "error" in query or named_gap(name, query) is not None:
            continue
        scan = client.scan(options=query["options"])
        assert scan.schema.names == client.schema().names
        if client.version != 6:  # version 6 shows the partition columns last
            assert scan.schema.names == columns_of(name, query)


def test_totals_per_table_version_and_kind(capsys):
    counts = {(version, kind): [0, 0, 0] for version in VERSIONS for kind in KINDS}
    for case, (name, query) in enumerate(CASES):
        row = counts[table(name).version, query["kind"]]
        row[0] += outcome(case) is None
        row[1] += named_gap(name, query) is not None
        row[2] += 1
    with capsys.disabled():
        for version in VERSIONS:
            rows = {kind: counts[version, kind] for kind in KINDS if counts[version, kind][2]}
            passed, gaps, total = (sum(row[i] for row in rows.values()) for i in range(3))
            kinds = ", ".join(f"{kind} {row[0]}/{row[2]}" for kind, row in rows.items())
            print(f"\nfixture queries, table version {version}: {passed} of {total} passed, {gaps} named gaps", end="")
            print(f" ({kinds})", end="")
    assert all(passed + gaps == total for passed, gaps, total in counts.values())
