"""Tests of partition values as syncs leave them: paths of all shapes, and keys that only the metastore has."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector
from hudi_hive.errors import (
    InvalidOptionError,
    UnknownColumnError,
)
from hudi_hive.plan.splits import DynamicFilter
from hudi_hive.sync.config import single_part, slash_encoded_day
from hudi_hive.table.keys import escape_value
from tests.connector.shared.partition_helpers import client, expected_ids, fresh, ids, read, server
from tests.support.fixture_tables import unzip_fixture
from tests.support.metastore.registered import make_table, register
from tests.support.running.long import examples

__all__ = ["client", "fresh", "server"]

DEFAULT = "__HIVE_DEFAULT_PARTITION__"


# -- what a sync made of the paths ---------------------------------------------------------------------------------

TEXTS = ["", "a", "a-b", "a/b", "a b", "a%2Fb", "b", "B", "2024/01/05", "2024-01-05", "é", "z'z"]


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
@settings(max_examples=examples(18), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_filtered_rows_are_those_of_a_scan(client, layouts, layout, data):
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
        ("text, hive style", "k >= 'b'", {"get_partitions_by_filter": 1, "get_partition_names": 1}),
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


def test_partition_keys_that_only_the_metastore_has_are_columns(fresh, renamed):
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


def test_partition_keys_of_the_metastore_alone_cannot_be_read_by_listing(fresh, renamed):
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


def test_a_null_partition_key_is_none_by_metastore_and_by_listing(client, layouts):
    name, _ = layouts["text, hive style"]
    connector = HudiConnector(client)
    handle = connector.metadata.table("default", name)
    for source in ("metastore", "listing"):
        keys = {split.partition_keys["k"] for split in connector.splits(handle, source=source)}
        assert None in keys and "a-b" in keys and DEFAULT not in keys
