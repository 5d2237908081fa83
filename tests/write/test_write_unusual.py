"""Rows that a stranger or an attacker would bring: what tables cannot hold is refused, and nothing is left behind."""

from __future__ import annotations

import datetime as dt
import math
import struct
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.errors import HudiHiveError, InvalidOptionError, KeyGenerationError, SchemaError, UnknownColumnError
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.table_api import HudiTable
from tests.support.running.long import VERSION_CASES

TYPES = (COPY_ON_WRITE, MERGE_ON_READ)
OFF = {"hoodie.metadata.enable": "false"}

both = pytest.mark.parametrize("kind", TYPES)


def make(path: Path, kind: str = COPY_ON_WRITE, version: int = 8, **settings) -> HudiTable:
    given = {"record_keys": ["id"], "partition_fields": ["p"], "ordering_fields": ["ts"]} | settings
    return HudiTable.create(path / "t", name="t", version=version, table_type=kind, **given)


def rows(ids, ts=1, p="x", **more) -> pa.Table:
    return pa.table({"id": ids, "p": [p] * len(ids), "ts": pa.array([ts] * len(ids), pa.int64()), **more})


def seen(table: HudiTable, *columns: str) -> list[tuple]:
    found = HudiTable.open(table.path).scan(selected_fields=columns).to_arrow()
    return sorted(zip(*(found.column(name).to_pylist() for name in columns), strict=True), key=str)


def files(table: HudiTable) -> set[Path]:
    return {path for path in Path(table.path).rglob("*") if path.is_file()}


def refused(table: HudiTable, error: type[HudiHiveError], match: str, changes: pa.Table, options=OFF) -> None:
    """The write is refused and leaves no file."""
    before = files(table)
    with pytest.raises(error, match=match):
        table.upsert(changes, options)
    assert files(table) == before


# -- columns that are missing --------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("missing", ["id", "other", "p", "ts"])
def test_rows_without_a_column_that_means_something_are_refused(tmp_path, kind, missing):
    table = make(tmp_path, kind, record_keys=["id", "other"], merge_mode="EVENT_TIME_ORDERING")
    table.upsert(rows(["a"], other=["b"], v=[1]), OFF)
    refused(table, UnknownColumnError, f"'{missing}'", rows(["a"], ts=2, other=["b"], v=[2]).drop_columns([missing]))
    assert seen(table, "id", "other", "p", "v") == [("a", "b", "x", 1)]


def test_ordering_columns_may_be_missing_where_nothing_is_ordered(tmp_path):
    event = make(tmp_path / "event", merge_mode="EVENT_TIME_ORDERING")
    event.insert(rows(["a"]).drop_columns(["ts"]), OFF)
    commit = make(tmp_path / "commit", merge_mode="COMMIT_TIME_ORDERING")
    commit.upsert(rows(["a"], v=[1]), OFF)
    commit.upsert(rows(["a"], v=[2]).drop_columns(["ts"]), OFF)
    assert seen(commit, "id", "v", "ts") == [("a", 2, None)]


def test_keys_below_structs_must_be_there(tmp_path):
    table = make(tmp_path, record_keys=["id", "s.k"])
    table.upsert(rows(["a"], s=[{"k": 1, "v": 1}]), OFF)
    refused(table, UnknownColumnError, "'s.k'", rows(["a"], s=[{"v": 2}]))
    table.upsert(rows(["a"], S=[{"K": 1, "v": 3}]), OFF)
    assert seen(table, "id", "s") == [("a", {"k": 1, "v": 3})]


# -- types and values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "match"),
    [
        (pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "A"]), "'v.A' more than once"),
        (pa.array([{}], pa.struct([])), "struct without fields"),
        (pa.array([1], pa.decimal256(50, 2)), "38 digits"),
        (pa.array([1], pa.uint64()), "uint64"),
        (pa.array([{"a": None}]), "null"),
    ],
)
def test_types_that_no_reader_takes_are_refused(tmp_path, column, match):
    refused(make(tmp_path), SchemaError, match, rows(["a"], v=column))


@pytest.mark.parametrize("name", ["_HOODIE_RECORD_KEY", "_hoodie_Operation"])
def test_names_of_meta_columns_in_another_case_are_refused(tmp_path, name):
    refused(make(tmp_path), SchemaError, name, rows(["a"], **{name: ["x"]}))


REQUIRED = {
    "type": "record",
    "name": "r",
    "fields": [
        *({"name": name, "type": ["null", "string"]} for name in ("id", "p")),
        {"name": "ts", "type": ["null", "long"]},
        {"name": "items", "type": ["null", {"type": "array", "items": "string"}], "default": None},
        {"name": "counts", "type": ["null", {"type": "map", "values": "int"}], "default": None},
        {
            "name": "lines",
            "type": [
                "null",
                {
                    "type": "array",
                    "items": {"type": "record", "name": "line", "fields": [{"name": "n", "type": "int"}]},
                },
            ],
            "default": None,
        },
    ],
}


@both
@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("items", pa.array([["a"], None, []]), pa.array([["a"], None, ["b", None]])),
        ("counts", pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())),
         pa.array([[("a", 1)], [], [("b", None)]], pa.map_(pa.string(), pa.int32()))),
        ("lines", pa.array([[{"n": 1}], None, []]), pa.array([[{"n": 1}], None, [{"n": None}]])),
        ("lines", pa.array([[{"n": 1}], None, []]), pa.array([[{"n": 1}], None, [None]])),
    ],
)  # fmt: skip
def test_nulls_in_lists_and_maps_that_take_none_are_refused(tmp_path, kind, name, good, bad):
    table = make(tmp_path, kind, create_schema=REQUIRED)
    keys = ["a", "b", "c"]
    table.upsert(rows(keys, **{name: good}), OFF)
    refused(table, SchemaError, f"'{name}\\..*takes no null", rows(keys, ts=2, **{name: bad}))
    assert [value for _, value in seen(table, "id", name)] == good.to_pylist()


@both
def test_lists_of_any_type_that_are_all_empty(tmp_path, kind):
    table = make(tmp_path, kind)
    kinds = [pa.bool_(), pa.decimal128(5, 2), pa.binary(3), pa.float64(), pa.date32(), pa.struct([("a", pa.bool_())])]
    columns = {f"c{n}": pa.array([[], None], pa.list_(each)) for n, each in enumerate(kinds)}
    columns["m"] = pa.array([[], None], pa.map_(pa.string(), pa.bool_()))
    for ts in (1, 2):
        table.upsert(rows(["a", "b"], ts=ts, **columns), OFF)
    assert seen(table, "id", *columns) == [("a", *[[]] * len(columns)), ("b", *[None] * len(columns))]


# -- keys and paths ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["a/.hoodie/b", ".hoodie", "a\x00", "../x", "a//b"])
def test_values_that_are_no_folder_of_the_table_are_refused(tmp_path, value):
    refused(make(tmp_path), KeyGenerationError, "no folder of the table", rows(["a"], p=value))


@pytest.mark.parametrize("value", ["_x", ".x", "é ü😀", "p=1", "a\nb", "a,b", "metadata"])
def test_unusual_values_make_folders(tmp_path, value):
    table = make(tmp_path)
    for ts in (1, 2):
        table.upsert(rows(["a"], ts=ts, p=value), OFF)
    assert seen(table, "id", "p", "ts") == [("a", value, 2)]


TIMES = {
    "hoodie.keygen.timebased.timestamp.type": "UNIX_TIMESTAMP",
    "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
    "hoodie.keygen.timebased.timezone": "UTC",
}


@pytest.mark.parametrize(
    "value",
    [
        pa.array([2**62]),
        pa.array([math.nan]),
        pa.array([math.inf]),
        pa.array([1e300]),
        pa.array([10**27], pa.decimal128(38, 10)),
        pa.array([b"x"]),
        pa.array(["x"]),
    ],
)
def test_numbers_that_are_no_times_make_no_folder(tmp_path, value):
    table = make(tmp_path, key_generator="TIMESTAMP", properties=TIMES)
    refused(table, KeyGenerationError, "'p'", rows(["a"]).set_column(1, "p", value))


@both
def test_change_data_of_tables_with_soft_deletes(tmp_path, kind):
    table = make(tmp_path, kind, cdc=True)
    table.upsert(rows(["a", "b"], v=[1, 2], _hoodie_is_deleted=[False, False]), OFF)
    begin = table.timeline.last_completed_write()
    table.upsert(rows(["a", "b"], ts=2, v=[1, 3], _hoodie_is_deleted=[True, False]), OFF)
    assert seen(table, "id", "v") == [("b", 3)]
    found = HudiTable.open(table.path).scan(query_type="cdc", begin=begin.completed).to_arrow()
    assert sorted(found.column("op").to_pylist()) == ["d", "u"]


@both
@pytest.mark.parametrize(
    "keys",
    [
        pa.array([1, 2]),
        pa.array([1.0, math.nan]),
        pa.array([dt.date(2020, 1, 1), dt.date(1, 1, 1)]),
        pa.array(["é😀", "ｆ"]),
        pa.array(["a,b:c", "id:1"]),
        pa.array(["a\nb", "\x00"]),
        pa.array(["x" * 3_000, "y" * 3_000]),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["a", "b"], pa.large_string()),
    ],
    ids=["int", "float", "date", "unicode", "separators", "control", "long", "dictionary", "large"],
)
def test_keys_of_all_kinds_are_found_again(tmp_path, kind, keys):
    table = make(tmp_path, kind)

    def changes_at(ts: int) -> pa.Table:
        return pa.table({"id": keys, "p": ["x", "x"], "ts": [ts, ts], "v": [ts, ts + 1]})

    table.upsert(changes_at(1), OFF)
    for ts, index in enumerate(("SIMPLE", "BLOOM"), 2):
        report = table.upsert(changes_at(ts), {"hoodie.index.type": index, **OFF})
        assert (report.inserted, report.updated) == (0, 2)
    assert table.delete(changes_at(0).slice(0, 1), OFF).deleted == 1
    assert seen(table, "v") == [(4,)]


@pytest.mark.parametrize("share", ["0", "1", "nan"])
def test_bloom_filters_of_no_size_are_refused(tmp_path, share):
    refused(
        make(tmp_path), InvalidOptionError, "hoodie.index.bloom.fpp", rows(["a"]), {"hoodie.index.bloom.fpp": share}
    )


@pytest.mark.parametrize("version", VERSION_CASES)
def test_all_rows_of_a_key_that_inserts_doubled_are_updated_and_deleted(tmp_path, version):
    table = make(tmp_path, version=version)
    table.insert(rows(["a", "b", "a", "c", "a", "b"], v=[1, 2, 3, 4, 5, 6]), OFF)
    table.upsert(rows(["a", "new"], ts=2, v=[9, 8]), OFF)
    assert seen(table, "id", "v") == [("a", 9), ("a", 9), ("a", 9), ("b", 2), ("b", 6), ("c", 4), ("new", 8)]
    table.delete(rows(["a"]), OFF)
    assert seen(table, "id", "v") == [("b", 2), ("b", 6), ("c", 4), ("new", 8)]
    gone = rows(["b", "c"], ts=3, v=[0, 0], _hoodie_is_deleted=[True, False])
    table.upsert(gone, OFF)
    assert seen(table, "id", "v") == [("c", 0), ("new", 8)]


# -- keys and texts ------------------------------------------------------------------------------------------------

AMBIGUOUS = [("1,b:2", "3"), ("__null__", "x"), ("x", "__null__"), ("__empty__", "x"), ("x", "__empty__"), (",b:", "")]


@both
@pytest.mark.parametrize("key", AMBIGUOUS)
def test_composite_keys_that_other_values_would_make_are_refused(tmp_path, kind, key):
    """Hudi makes one record of a=1,b:2 | b=3 and a=1 | b=2,b:3, and of null and __null__; rows would be lost."""
    table = make(tmp_path, kind, record_keys=["a", "b"])
    given = pa.table({"a": [key[0], "1"], "b": [key[1], "2,b:3"], "p": ["x", "x"], "ts": pa.array([1, 1], pa.int64())})
    refused(table, KeyGenerationError, "same record key", given)


def test_composite_keys_with_commas_and_colons_elsewhere_are_records_of_their_own(tmp_path):
    table = make(tmp_path, record_keys=["a", "b"])
    keys = [
        ("1", "2,b:3"),
        ("1,", ":2"),
        ("1,a:b", "2"),
        ("b:", ","),
        (None, "x"),
        ("", "x"),
        ("__null_", "x"),
        ("x", ""),
    ]
    given = pa.table(
        {"a": [a for a, _ in keys], "b": [b for _, b in keys], "p": ["x"] * len(keys), "ts": [1] * len(keys)}
    )
    table.upsert(given, OFF)
    assert seen(table, "a", "b") == sorted(keys, key=str)
    HudiTable.open(table.path).delete(given.slice(0, 5), OFF)
    assert seen(table, "a", "b") == sorted(keys[5:], key=str)


def test_a_single_key_field_may_have_the_words_for_null_and_empty(tmp_path):
    table = make(tmp_path)
    table.upsert(rows(["__null__", "__empty__", "a,id:b"]), OFF)
    assert seen(table, "id") == [("__empty__",), ("__null__",), ("a,id:b",)]


def broken_text(data: bytes) -> pa.Array:
    """One text of these bytes, which nothing has looked at."""
    offsets = pa.py_buffer(struct.pack("<ii", 0, len(data)))
    return pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(data)])


@both
@pytest.mark.parametrize("data", [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80"])
@pytest.mark.parametrize("place", ["id", "p", "v", "in"])
def test_texts_that_are_not_utf8_are_refused_in_keys_partitions_and_values(tmp_path, kind, data, place):
    table = make(tmp_path, kind)
    bad = broken_text(data)
    columns = {"id": pa.array(["a"]), "p": pa.array(["x"]), "ts": pa.array([1], pa.int64()), "v": pa.array(["y"])}
    inner = bad if place == "in" else pa.array(["z"])
    columns["in"] = pa.StructArray.from_arrays([inner], names=["s"])
    if place != "in":
        columns[place] = bad
    refused(table, SchemaError, f"'{place}' holds values", pa.table(columns))
    table.upsert(rows(["a"]), OFF)
    before = files(table)
    for meta in ("_hoodie_record_key", "_hoodie_partition_path"):
        keys = {"_hoodie_record_key": pa.array(["a"]), "_hoodie_partition_path": pa.array(["x"])} | {meta: bad}
        with pytest.raises(SchemaError, match=meta):
            table.delete(pa.table(keys), OFF)
    assert files(table) == before


@both
@pytest.mark.parametrize("first", [True, False])
def test_keys_that_a_record_index_cannot_hold_are_refused_before_anything_is_written(tmp_path, kind, first):
    on = {"hoodie.metadata.record.index.enable": "true", "hoodie.index.type": "RECORD_INDEX"}
    table = make(tmp_path, kind)
    if not first:
        table.upsert(rows(["a"]), on)
    refused(table, KeyGenerationError, "32768 bytes", rows(["é" * 16384]), on)
    table.upsert(rows(["k" * 32767]), on)
    assert ("k" * 32767,) in seen(table, "id")
