"""Partitions that the connector learns from a metastore: which calls, and no row lost whatever a sync made of paths."""

from __future__ import annotations

import datetime as dt
import shutil
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector, partitions
from hudi_hive.errors import (
    CorruptFileError,
    InvalidOptionError,
    MetadataTableError,
    MetastoreError,
    MetastoreServerError,
    NoSuchObjectError,
    UnknownColumnError,
)
from hudi_hive.metadata import MetadataTable
from hudi_hive.metastore import HiveMetastore, Retries
from hudi_hive.plan.splits import DynamicFilter
from hudi_hive.sync.config import single_part, slash_encoded_day
from hudi_hive.table.keys import escape_value
from hudi_hive.table.view import listing
from hudi_hive.testing import FakeMetastore
from tests.support.fixture_tables import unzip_fixture
from tests.support.metastore.registered import make_table, register

DEFAULT = "__HIVE_DEFAULT_PARTITION__"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with FakeMetastore(tmp_path_factory.mktemp("metastore")) as fake:
        yield fake


@pytest.fixture(scope="module")
def client(server):
    with HiveMetastore(server.uri, retries=Retries(attempts=1)) as client:
        yield client


@pytest.fixture
def fresh(client):
    yield client
    for name in client.tables("default"):
        if not name.startswith("kept_"):
            client.drop_table("default", name)


def ids(batches) -> list[str]:
    return sorted(value for batch in batches for value in batch.column(0).to_pylist())


def expected_ids(path, row_filter) -> list[str]:
    return sorted(HudiTable.open(path).scan(row_filter, ["id"]).to_arrow().column(0).to_pylist())


def read(client, name, row_filter=None, **options) -> tuple[list[str], Counter[str]]:
    """Ids of the rows, and the calls after the handle was made."""
    connector = HudiConnector(client)
    handle = connector.metadata.table("default", name)
    with client.call_counter.measure() as calls:
        found = ids(connector.read(handle, ["id"], row_filter, **options))
    return found, Counter(calls)


# -- calls ---------------------------------------------------------------------------------------------------------


def days(path, count, hive_style=True):
    start = dt.date(2024, 1, 1)
    rows = [{"id": f"r{n:03d}", "day": (start + dt.timedelta(n)).isoformat(), "v": n} for n in range(count)]
    prefix = "day=" if hive_style else ""
    return make_table(
        path,
        {"id": "string", "v": "long", "day": "string"},
        rows,
        lambda row: prefix + row["day"],
        hoodie__table__partition__fields="day",
        hoodie__datasource__write__hive_style_partitioning=str(hive_style).lower(),
    )


@pytest.fixture(scope="module")
def many_days(tmp_path_factory, client):
    """A table of 330 days, registered as ``kept_days``."""
    path = days(tmp_path_factory.mktemp("days") / "days", 330)
    register(client, path, "kept_days")
    return path


def test_names_first_then_batches(fresh, server, many_days):
    recorded = getattr(server, "calls", [])  # the fake tells what it was asked
    before = len(recorded)
    found, calls = read(fresh, "kept_days")
    assert len(found) == 330
    assert calls == {"get_partition_names": 1, "get_partitions_by_names": 6}
    sizes = [call.size for call in recorded[before:] if call.method == "get_partitions_by_names"]
    assert sorted(sizes) == ([10, 20, 40, 80, 80, 100] if recorded else [])


def test_a_filter_on_keys_is_pushed_down(fresh, many_days):
    for text in ("day = '2024-02-01'", "day >= '2024-11-01' AND v < 320", "day IN ('2024-01-05', '2024-03-01', 'x')"):
        found, calls = read(fresh, "kept_days", text)
        assert found == expected_ids(many_days, text)
        assert calls == {"get_partitions_by_filter": 1}


def test_a_filter_that_hive_cannot_decide_prunes_names(fresh, many_days):
    text = "day LIKE '2024-02-%'"
    found, calls = read(fresh, "kept_days", text)
    assert found == expected_ids(many_days, text)
    assert len(found) == 29
    assert calls == {"get_partition_names": 1, "get_partitions_by_names": 2}


def test_nothing_that_fits_costs_no_partition_but_one(fresh, many_days):
    found, calls = read(fresh, "kept_days", "day = '1999-01-01'")
    assert found == []
    assert calls == {"get_partitions_by_filter": 1, "get_partition_names": 1, "get_partitions_by_names": 1}


def test_a_server_that_refuses_filters_is_asked_by_name(fresh, server, many_days, monkeypatch):

    def refused(*arguments):
        raise MetastoreServerError("Filtering is supported only on partition keys of type string")

    monkeypatch.setattr(fresh, "partitions_by_filter", refused)
    found, calls = read(fresh, "kept_days", "day < '2024-01-04'")
    assert found == ["r000", "r001", "r002"]
    assert calls == {"get_partition_names": 1, "get_partitions_by_names": 1}


def test_a_filter_that_fits_very_many_partitions_takes_them_in_batches(fresh, many_days, monkeypatch):
    monkeypatch.setattr(partitions, "_MOST_AT_ONCE", 100)
    found, calls = read(fresh, "kept_days", "day >= '2024-03-01'")
    assert found == expected_ids(many_days, "day >= '2024-03-01'")
    assert calls == {"get_partitions_by_filter": 1, "get_partition_names": 1, "get_partitions_by_names": 6}
    found, calls = read(fresh, "kept_days", "day < '2024-04-10'")
    assert len(found) == 100
    assert calls == {"get_partitions_by_filter": 1}


@pytest.mark.parametrize("text", [None, "day >= '2024-01-01'", "day LIKE '2024-%'"])
def test_the_first_partitions_come_few_at_a_time(fresh, many_days, text):
    handle = HudiConnector(fresh).metadata.table("default", "kept_days")
    found = partitions.MetastorePartitions(fresh, handle, handle.filter_of(text), list)
    with fresh.call_counter.measure() as calls:
        sizes = [len(batch) for batch in found]
    assert sizes[:4] == [10, 20, 40, 80] and sum(sizes) == 330
    assert (found.pushed is not None) == ("get_partitions_by_filter" in calls) == (text is not None and ">=" in text)


def test_recorded_locations_are_taken_as_they_are(fresh, many_days):
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "kept_days")
    counters = handle.client.counters
    with counters.measure() as cost:
        splits = list(connector.splits(handle, "day IN ('2024-01-01', '2024-01-02')"))
    assert len(splits) == 2
    assert cost.get("exists", 0) == 0
    folders = [path.partition("/days/")[2] for path in counters.listed if "day=" in path]
    assert sorted(folders) == ["day=2024-01-01", "day=2024-01-02"]


def test_what_was_not_synced_is_not_seen_and_what_is_gone_is_empty(fresh, many_days, tmp_path):
    path = tmp_path / "t"
    shutil.copytree(many_days, path)
    register(fresh, path, "t", partitions=["day=2024-01-01", "day=2031-01-01"])
    found, _ = read(fresh, "t")
    assert found == ["r000"]
    everything, calls = read(fresh, "t", source="listing")
    assert len(everything) == 330
    assert not calls


def test_a_location_outside_of_the_table_is_refused(fresh, many_days, tmp_path):
    register(fresh, many_days, "t", partitions=["day=2024-01-01"], location=lambda item: f"{tmp_path}/{item}")
    with pytest.raises(MetastoreError, match="outside the table's base path") as caught:
        read(fresh, "t")
    assert str(tmp_path) in caught.value.path
    sibling = f"{many_days}2/"
    register(fresh, many_days, "u", partitions=["day=2024-01-01"], location=lambda item: sibling + item)
    with pytest.raises(MetastoreError, match="outside the table's base path"):
        read(fresh, "u")


def test_two_partitions_of_one_folder_are_refused(fresh, many_days):
    register(
        fresh,
        many_days,
        "t",
        partitions=["day=2024-01-01", "day=2024-01-02"],
        location=lambda item: f"{many_days}/day=2024-01-01/",
    )
    with pytest.raises(MetastoreError, match=r"day=2024-01-01 and day=2024-01-02 of default\.t have the same location"):
        read(fresh, "t")


def test_a_failing_metastore_ends_the_reading_with_its_error(fresh, many_days):
    register(fresh, many_days, "t", partitions=["day=2024-01-01"])
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "t")
    fresh.drop_table("default", "t")
    with pytest.raises(NoSuchObjectError):
        list(connector.splits(handle))


def test_the_metadata_table_names_partitions(fresh):
    path = unzip_fixture("v8_cow_part_mdt")
    register(fresh, path, "t", partitions=[])
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "t")
    before = dict(handle.client.counters.listed)
    with fresh.call_counter.measure() as calls:
        found = list(connector.read(handle, source="metadata table"))
    assert not calls
    assert pa.Table.from_batches(found).num_rows == HudiTable.open(path).scan().count()
    listed = {path: n for path, n in handle.client.counters.listed.items() if n != before.get(path)}
    assert all("/.hoodie" in path for path in listed)
    assert list(connector.read(handle)) == []
    with pytest.raises(InvalidOptionError, match="cannot come from 'x'"):
        connector.splits(handle, source="x")


def test_a_table_without_metadata_table_has_none_to_ask(fresh, many_days):
    connector = HudiConnector(fresh)
    with pytest.raises(MetadataTableError):
        connector.splits(connector.metadata.table("default", "kept_days"), source="metadata table")


def test_a_table_that_was_synced_without_keys_shows_all_partitions(fresh, many_days):
    register(fresh, many_days, "t", keys=[])
    found, calls = read(fresh, "t", "day < '2024-01-04'")
    assert found == ["r000", "r001", "r002"]
    assert not calls


def test_a_dynamic_filter_leaves_partitions_out(fresh, many_days):
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "kept_days")
    narrow = DynamicFilter()
    narrow.narrow("day >= '2024-11-20'")
    narrow.complete()
    with connector.splits(handle, dynamic_filter=narrow) as source:
        splits = list(source)
        progress = source.progress()
    assert {split.partition_keys["day"] for split in splits} == {f"2024-11-{n}" for n in range(20, 26)}
    assert progress.partitions_received == 330
    assert progress.partitions_listed == 6


def test_the_first_splits_are_there_before_the_last_partitions(fresh, server, many_days):
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "kept_days")
    with connector.splits(handle, max_outstanding_splits=5, listing_threads=1) as source:
        first = source.next_batch(quota=5)
        assert first.num_rows == 1
        assert source.progress().partitions_listed < 330
        rest = sum(1 for _ in source)
    assert rest == 329


# -- what a sync made of the paths ---------------------------------------------------------------------------------

TEXTS = ["", "a", "a-b", "a/b", "a b", "a%2Fb", "b", "B", "2024/01/05", "2024-01-05", "é", "z'z"]


def _path(text: str) -> str:
    return text or DEFAULT


def _rows(kind, values):
    return [{"id": f"r{n:02d}", "k": value, "w": n % 3} for n, value in enumerate(values)]


def _int_path(row):
    value = row["k"]
    return DEFAULT if value is None else f"{value:03d}" if value % 2 else str(value)


LAYOUTS = {
    # Avro type, rows' values, path of a row, hive style, url encoding, key type, values of a path
    "text, a folder each": ("string", ["a", "a-b", "b", "B", "é", "", None], None, False, False, "string", None),
    "text, hive style": ("string", [*TEXTS, None], None, True, False, "string", lambda path: [path.partition("=")[2]]),
    "text, slashes as dashes": ("string", ["a/b", "a-b", "a", "2024/01/05", "b", "c/d/e"], None, False, False, "string",
                                single_part),
    "text, name kept": ("string", ["a", "b", "c", None], None, True, False, "string", single_part),
    "text, days": ("string", ["2024/01/05", "2024/01/06", "2023/12/31"], None, False, False, "string",
                   slash_encoded_day),
    "text, days as dates": ("string", ["2024/01/05", "2024/01/06", "2023/12/31"], None, False, False, "date",
                            slash_encoded_day),
    "text, encoded": ("string", [*TEXTS, None], escape_value, False, True, "string", lambda path: [path]),
    "text, custom": ("string", ["a", "b", "c"], None, False, False, "string", lambda path: ["x" + path]),
    "int": ("int", [*range(12), None], _int_path, False, False, "int", lambda path: [path]),
    "int as text": ("int", [*range(12), None], _int_path, False, False, "string", lambda path: [path]),
    "long": ("long", [-5, -1, 0, 7, 10**12], None, True, False, "bigint", None),
    "date": ({"type": "int", "logicalType": "date"}, [dt.date(2024, 1, n) for n in range(1, 9)] + [None], None, True,
             False, "date", None),
    "boolean": ("boolean", [True, False, None], lambda row: DEFAULT if row["k"] is None else str(row["k"]).lower(),
                False, False, "boolean", None),
    "double": ("double", [0.5, 1.0, -2.25], None, False, False, "double", None),
}  # fmt: skip


def _make(folder, client, number, layout):
    avro, values, path_of, hive_style, encoded, key_type, told = LAYOUTS[layout]
    if path_of is escape_value:

        def text_of(row):
            return DEFAULT if not row["k"] else escape_value(row["k"])
    elif path_of is not None:
        text_of = path_of
    else:

        def text_of(row):
            value = row["k"]
            return DEFAULT if value is None or value == "" else str(value)

    rows = _rows(avro, values)
    path = make_table(
        folder / f"t{number}",
        {"id": "string", "w": "int", "k": avro},
        rows,
        lambda row: ("k=" if hive_style else "") + text_of(row),
        hoodie__table__partition__fields="k",
        hoodie__datasource__write__hive_style_partitioning=str(hive_style).lower(),
        hoodie__datasource__write__partitionpath__urlencode=str(encoded).lower(),
    )
    name = f"kept_{number}"
    options = {"values": told} if told else {}
    register(client, path, name, keys=[("k", key_type)], **options)
    return name, path


@pytest.fixture(scope="module")
def layouts(tmp_path_factory, client):
    folder = tmp_path_factory.mktemp("layouts")
    return {layout: _make(folder, client, number, layout) for number, layout in enumerate(LAYOUTS)}


def _literal(kind, value):
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, dt.date):
        return f"DATE '{value}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


@st.composite
def filters(draw, layout):
    avro, values = LAYOUTS[layout][:2]
    known = [value for value in values if value is not None]
    extra = {"string": ["", "a.", "~", "2024-01-05", DEFAULT], "int": [-1, 99], "long": [-10, 5]}
    pool = known + (extra.get(avro, []) if isinstance(avro, str) else [dt.date(2023, 1, 1)])

    def leaf():
        kind = draw(st.sampled_from(["compare", "in", "null", "other", "not"]))
        if kind == "compare":
            signs = ["=", "!="] if avro == "boolean" else ["=", "!=", "<", "<=", ">", ">="]
            return f"k {draw(st.sampled_from(signs))} {_literal(avro, draw(st.sampled_from(pool)))}"
        if kind == "in":
            items = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))
            return f"k IN ({', '.join(_literal(avro, item) for item in items)})"
        if kind == "not":
            return f"NOT (k = {_literal(avro, draw(st.sampled_from(pool)))})"
        return draw(st.sampled_from(["k IS NULL", "k IS NOT NULL"])) if kind == "null" else "w < 2"

    text = leaf()
    for _ in range(draw(st.integers(0, 2))):
        text = f"({text} {draw(st.sampled_from(['AND', 'OR']))} {leaf()})"
    return text


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_row_is_lost_or_won(client, layouts, layout, data):
    check_layout(client, layouts, layout, data)


def check_layout(client, layouts, layout, data):
    """A drawn filter gives the rows that the table itself gives."""
    name, path = layouts[layout]
    text = data.draw(filters(layout))
    found, _ = read(client, name, text)
    assert found == expected_ids(path, text), text


@pytest.mark.parametrize(
    ("layout", "text", "calls"),
    [
        ("text, days", "k = '2024/01/05'", {"get_partition_names": 1, "get_partitions_by_names": 2}),
        ("int", "k < 3", {"get_partitions_by_filter": 1}),
        ("date", "k BETWEEN DATE '2024-01-02' AND DATE '2024-01-03'", {"get_partitions_by_filter": 1}),
        ("text, hive style", "k >= 'b'", {"get_partitions_by_filter": 1}),
        ("text, a folder each", "k = 'b'", {"get_partitions_by_filter": 1}),
    ],
)
def test_calls_by_layout(client, layouts, layout, text, calls):
    name, path = layouts[layout]
    found, made = read(client, name, text)
    assert found == expected_ids(path, text)
    assert made == calls


# -- keys that only the metastore knows ----------------------------------------------------------------------------


@pytest.fixture
def renamed(fresh):
    """A table whose days were synced as three keys of the sync's own."""
    path = unzip_fixture("v8_cow_slash_day")
    register(
        fresh,
        path,
        "t",
        keys=[("year", "int"), ("month", "string"), ("dom", "date")],
        values=lambda item: [item[:4], item[5:7], item.replace("/", "-")],
    )
    return path


def test_keys_that_only_the_metastore_knows_are_columns(fresh, renamed):
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "t")
    own = HudiTable.open(renamed).scan().to_arrow()
    assert handle.schema.names == [*own.column_names, "year", "month", "dom"]
    assert [str(kind) for kind in handle.schema.types[-3:]] == ["int32", "string", "date32[day]"]
    table = pa.Table.from_batches(connector.read(handle), handle.schema)
    assert table.num_rows == own.num_rows
    assert pc.all(pc.equal(table["dt"], pc.strftime(table["dom"], "%Y/%m/%d"))).as_py()
    text = "month = '01' AND dom > DATE '2024-01-10'"
    with fresh.call_counter.measure() as calls:
        some = pa.Table.from_batches(connector.read(handle, ["year", "dt"], text), pa.schema(
            [handle.schema.field("year"), handle.schema.field("dt")]
        ))  # fmt: skip
    assert dict(calls) == {"get_partitions_by_filter": 1}
    wanted = table.filter(pc.and_(pc.equal(table["month"], "01"), pc.greater(table["dom"], dt.date(2024, 1, 10))))
    assert some.num_rows == wanted.num_rows > 0
    assert sorted(some["dt"].to_pylist()) == sorted(wanted["dt"].to_pylist())
    assert sum(batch.num_rows for batch in connector.read(handle, [], text)) == wanted.num_rows


def test_their_values_are_not_told_by_folders(fresh, renamed):
    connector = HudiConnector(fresh)
    with pytest.raises(InvalidOptionError, match="in the metastore alone"):
        connector.splits(connector.metadata.table("default", "t"), source="listing")


def test_a_dynamic_filter_may_be_about_them(fresh, renamed):
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "t")
    text = "month = '01' AND dt > '2024/01/10'"
    wanted = expected_ids(renamed, "dt LIKE '2024/01/%' AND dt > '2024/01/10'")
    narrow = DynamicFilter()
    narrow.narrow(text)
    with connector.splits(handle, dynamic_filter=narrow) as source:
        splits = list(source)
        progress = source.progress()
    assert progress.partitions_listed == len({split.partition for split in splits}) < progress.partitions_received
    assert all(split.partition_keys["month"] == "01" for split in splits)
    assert ids(batch for split in splits for batch in connector.page_source(handle, split, ["id"])) == wanted != []
    assert ids(connector.read(handle, ["id"], dynamic_filter=narrow)) == wanted
    wrong = DynamicFilter()
    wrong.narrow("nothing = 1")
    with pytest.raises(UnknownColumnError, match="nothing"):
        list(connector.splits(handle, dynamic_filter=wrong))


def test_a_split_carries_all_of_the_filter(fresh, renamed):
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "t")
    narrow = DynamicFilter()
    with connector.splits(handle, "month = '01' AND v > 0", dynamic_filter=narrow) as source:
        table = source.next_batch(1)
        assert source.to_splits(table)[0].predicate.columns == ("month", "v")
        narrow.narrow("dt > '2024/01/05'")
        (split,) = source.to_splits(table)
        assert split.predicate.columns == source.predicate.columns == ("month", "v", "dt")
        assert source.row_filter.columns == ("month", "v")


# -- the same of any source ------------------------------------------------------------------------------------------


def test_a_null_key_is_none_whoever_tells(client, layouts):
    name, _ = layouts["text, hive style"]
    connector = HudiConnector(client)
    handle = connector.metadata.table("default", name)
    for source in ("metastore", "listing"):
        keys = {split.partition_keys["k"] for split in connector.splits(handle, source=source)}
        assert None in keys and "a-b" in keys and DEFAULT not in keys


@pytest.mark.parametrize("damaged", [1, 2])
def test_a_metadata_table_that_breaks_midway(fresh, monkeypatch, damaged):
    """Folders are listed in its place, unless it was asked for by name; no row is lost."""
    path = unzip_fixture("v8_cow_part_mdt")
    register(fresh, path, "t")
    connector = HudiConnector(fresh)
    wanted = sorted(HudiTable.open(path).scan().to_arrow()["visit_id"].to_pylist())
    ask, batches = MetadataTable.files_table, HiveMetastore.partition_batches

    def one_by_one(metastore, database, table, names):
        for name in names:
            yield from batches(metastore, database, table, [name])

    monkeypatch.setattr(HiveMetastore, "partition_batches", one_by_one)
    monkeypatch.setattr(listing, "_SERIES", (1,))
    for source in ("metastore", "metadata table"):
        handle = connector.metadata.table("default", "t")
        asked = []

        def breaking(table, partitions, asked=asked):
            asked.append(partitions)
            if len(asked) >= damaged:
                raise CorruptFileError("damaged", path="p")
            return ask(table, partitions)

        monkeypatch.setattr(MetadataTable, "files_table", breaking)
        reading = connector.read(handle, ["visit_id"], source=source)
        if source == "metastore":
            assert ids(reading) == wanted
        else:
            with pytest.raises(CorruptFileError, match="damaged"):
                list(reading)
        assert len(asked) >= damaged
