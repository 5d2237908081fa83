"""The faces of the package, each asked the queries of the schema-evolution fixtures in its own way."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.connector import HudiTableHandle, PageSources
from hudi_hive.errors import HudiHiveError
from hudi_hive.input_format import HoodieParquetInputFormat, HoodieParquetRealtimeInputFormat, JobConf
from hudi_hive.plan.model import QueryType
from hudi_hive.sql import PathCatalog, SqlEngine
from tests.support.fixture_tables import (
    assert_same_rows,
    encode_rows,
    expected,
    fixture_names,
    named_gap,
    queries,
    rows_sha256,
    unzip_fixture,
)

FIXTURES = (*fixture_names("cow_schema_evo"), *fixture_names("mor_schema_evo"))

RecordedQuery = dict[str, Any]
Ask = Callable[[str, RecordedQuery], pa.Table]


@dataclass(frozen=True)
class Face:
    """One way to ask.

    Attributes:
        name: for people.
        ask: rows of a fixture's query.
        kinds: kinds of queries that can be put this way.
    """

    name: str
    ask: Ask
    kinds: tuple[str, ...] = ("snapshot", "read_optimized", "time_travel", "incremental")


@functools.cache
def table(name: str) -> HudiTable:
    return HudiTable.open(unzip_fixture(name))


def by_scan(name: str, query: RecordedQuery) -> pa.Table:
    return table(name).scan(options=query["options"]).to_arrow()


def by_batches_of_columns(name: str, query: RecordedQuery) -> pa.Table:
    """Each column asked for by itself, the rows put together again by their keys."""
    whole = table(name).scan(options=query["options"])
    keys = ["_hoodie_record_key", "_hoodie_partition_path"]
    parts: dict[tuple[str, ...], dict[str, Any]] = {}
    for column in whole.schema.names:
        selected = list(dict.fromkeys([*keys, column]))
        for row in table(name).scan(selected_fields=selected, options=query["options"]).to_arrow().to_pylist():
            parts.setdefault(tuple(row[key] for key in keys), {}).update(row)
    return pa.Table.from_pylist(list(parts.values()), whole.schema)


def by_dataset(name: str, query: RecordedQuery) -> pa.Table:
    return table(name).scan(options=query["options"]).to_dataset().to_table()


def by_duckdb(name: str, query: RecordedQuery) -> pa.Table:
    scan = table(name).scan(options=query["options"])
    with scan.to_duckdb("t") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.sql("SELECT * FROM t").to_arrow_table()


def by_sql(name: str, query: RecordedQuery) -> pa.Table:
    engine = SqlEngine(PathCatalog({"t": str(unzip_fixture(name))}), threads=1)
    moment = f" AT (VERSION => {query['as_of']})" if query["kind"] == "time_travel" else ""
    return engine.query(f"SELECT * FROM t{moment}").read_all()


def by_page_sources(name: str, query: RecordedQuery) -> pa.Table:
    """Split by split, as engines with a connector read."""
    client = table(name).client
    handle = HudiTableHandle(
        "default", "t", client.base_path, client.config.table_type, QueryType(query["kind"]), (), None, client=client
    )
    pages = PageSources(handle)
    batches = []
    with HudiTable(client).scan(query_type=query["kind"]).splits() as splits:
        for split in splits:
            batches += list(pages.read(split))
    return pa.Table.from_batches(batches, handle.schema)


def by_input_format(name: str, query: RecordedQuery) -> pa.Table:
    """As a Hive job: splits, then record readers."""
    recorded = expected(name)
    snapshot = recorded["table_type"] == "MERGE_ON_READ" and query["kind"] != "read_optimized"
    made = HoodieParquetRealtimeInputFormat if snapshot else HoodieParquetInputFormat
    conf: dict[str, Any] = {key: value for key, value in query["options"].items() if key.startswith("hoodie.schema")}
    consume = f"hoodie.{recorded['table_name']}.consume."
    if query["kind"] == "incremental":
        conf |= {f"{consume}mode": "INCREMENTAL", f"{consume}start.timestamp": query["begin"]}
        conf |= {f"{consume}max.commits": "-1"}
        if query.get("end"):
            conf[f"{consume}end.timestamp"] = query["end"]
    if query["kind"] == "time_travel":
        conf[f"{consume}snapshot.time"] = query["as_of"]
    job = made(JobConf(conf).with_input_paths([str(unzip_fixture(name))]))
    (planned,) = job.plan.tables.values()
    batches = [batch for split in job.get_splits(8) for batch in job.get_record_reader(split)]
    return pa.Table.from_batches(batches, planned.scan.schema)


FACES = (
    Face("Arrow", by_scan),
    Face("Arrow, column by column", by_batches_of_columns, ("snapshot",)),
    Face("Arrow dataset", by_dataset),
    Face("DuckDB", by_duckdb),
    Face("SQL", by_sql, ("snapshot", "time_travel")),
    Face("page sources", by_page_sources, ("snapshot", "read_optimized")),
    Face("input format", by_input_format),
)

CASES = [(name, query) for name in FIXTURES for query in queries(name)]


def difference(face: Face, name: str, query: RecordedQuery) -> str | None:
    """None when a face answers as real Hudi did, or where a rule of ours has a name as a scan does; else what differs.

    The rows of a scan where such a rule holds are checked in ``test_fixture_queries.py``.
    """
    gap = named_gap(name, query)
    try:
        rows = face.ask(name, query)
    except HudiHiveError as error:
        return None if "error" in query and gap is None else f"{type(error).__name__}: {error}"
    try:
        if gap is None:
            assert "error" not in query, f"{rows.num_rows} rows where Hudi refuses: {query['error']}"
            assert_same_rows(rows, name, query)
        else:
            ours = by_scan(name, query)
            assert sorted(rows.column_names) == sorted(ours.column_names), rows.column_names
            same = rows_sha256(encode_rows(rows, ours.column_names)) == rows_sha256(encode_rows(ours))
            assert same, "other rows than those of a scan"
    except AssertionError as error:
        return str(error)
    return None


def totals(faces: tuple[Face, ...] = FACES) -> tuple[Mapping[tuple[str, int, str], tuple[int, int]], list[str]]:
    """By face, table version and kind of query: how many passed, how many there are; and what differs."""
    counts: dict[tuple[str, int, str], tuple[int, int]] = {}
    differences = []
    for face in faces:
        for name, query in CASES:
            if query["kind"] not in face.kinds:
                continue
            text = difference(face, name, query)
            key = face.name, expected(name)["table_version"], query["kind"]
            passed, total = counts.get(key, (0, 0))
            counts[key] = passed + (text is None), total + 1
            if text is not None:
                differences.append(f"{face.name}, {name}, {query['label']} {query.get('as_of') or ''}: {text}")
    return counts, differences
