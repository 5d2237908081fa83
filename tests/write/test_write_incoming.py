"""Rows as they come: columns and types of the table, keys, one row a key; what does not fit is refused."""

from __future__ import annotations

import datetime as dt
import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import KeyGenerationError, SchemaError, UnknownColumnError
from hudi_hive.schema import avro_to_arrow
from hudi_hive.table import TableConfig
from hudi_hive.table.keys import KeyGenerator
from hudi_hive.table.merge import MergeSpec
from hudi_hive.write.options.config import WriteConfig
from hudi_hive.write.records.incoming import combine, conformed, prepare, prepare_keys
from hudi_hive.write.schema.schemas import merged_schema

EVENT = {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING", "hoodie.table.precombine.field": "ts"}


def table_config(version=8, partition="p", keys="id", **more):
    found = {
        "hoodie.table.name": "t",
        "hoodie.table.version": str(version),
        "hoodie.table.recordkey.fields": keys,
        "hoodie.table.partition.fields": partition,
    }
    return TableConfig.from_properties(found | more.get("properties", {}))


def ready(rows, config, table=None):
    schema = merged_schema(rows.schema, table, "t")
    return prepare(rows, WriteConfig.of({}, config), KeyGenerator.of(config), schema)


def rows_of(*tuples, names=("id", "p", "ts", "v")):
    return pa.table({name: list(values) for name, values in zip(names, zip(*tuples, strict=True), strict=True)})


# -- columns and types ---------------------------------------------------------------------------------------------


def test_columns_get_the_types_that_tables_hold():
    rows = pa.table(
        {
            "id": pa.array(["a"], pa.large_string()),
            "p": pa.array(["x"]).dictionary_encode(),
            "tiny": pa.array([1], pa.int8()),
            "unsigned": pa.array([2**32 - 1], pa.uint32()),
            "half": pa.array([1.5], pa.float16()),
            "at": pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("ns")),
            "when": pa.array([1], pa.timestamp("s", "Europe/Berlin")),
            "items": pa.array([[1]], pa.large_list(pa.int16())),
            "_hoodie_commit_time": ["0"],
        }
    )
    found = ready(rows, table_config())
    assert found.schema.names[:2] == ["_hoodie_record_key", "_hoodie_partition_path"]
    assert "_hoodie_commit_time" not in found.schema.names
    assert found.schema.field("tiny").type == pa.int32()
    assert found.schema.field("unsigned").type == pa.int64()
    assert found.schema.field("half").type == pa.float32()
    assert found.schema.field("at").type == pa.timestamp("us")
    assert found.schema.field("when").type == pa.timestamp("us", "UTC")
    assert found.schema.field("items").type == pa.list_(pa.field("element", pa.int32()))
    assert found.column("when").cast(pa.int64()).to_pylist() == [1_000_000]


def test_nanoseconds_that_would_be_lost_are_refused():
    rows = pa.table({"id": ["a"], "p": ["x"], "at": pa.array([1], pa.timestamp("ns"))})
    with pytest.raises(SchemaError, match="'at'"):
        ready(rows, table_config())


TABLE = merged_schema(
    pa.schema(
        [
            ("id", pa.string()),
            ("p", pa.string()),
            ("n", pa.int32()),
            ("d", pa.decimal128(10, 2)),
            ("s", pa.struct([("a", pa.int32()), ("b", pa.string())])),
            ("l", pa.list_(pa.struct([("x", pa.int32())]))),
            ("m", pa.map_(pa.string(), pa.int32())),
            ("day", pa.date32()),
        ]
    ),
    None,
    "t",
).avro


def test_new_columns_go_behind_and_missing_ones_become_null():
    rows = pa.table({"new": [1], "p": ["x"], "id": ["a"]})
    found = ready(rows, table_config(), TABLE)
    assert found.schema.names == ["_hoodie_record_key", "_hoodie_partition_path", *avro_to_arrow(TABLE).names, "new"]
    assert found.to_pylist()[0] | {"m": None} == {
        "_hoodie_record_key": "a",
        "_hoodie_partition_path": "x",
        "id": "a",
        "p": "x",
        **dict.fromkeys(("n", "d", "s", "l", "m", "day")),
        "new": 1,
    }


def test_structs_below_lists_and_maps_grow_too():
    rows = pa.schema(
        [
            ("id", pa.string()),
            ("s", pa.struct([("c", pa.bool_()), ("a", pa.int64())])),
            ("l", pa.list_(pa.struct([("y", pa.float64()), ("x", pa.int32())]))),
            ("m", pa.map_(pa.string(), pa.float64())),
        ]
    )
    found = merged_schema(rows, TABLE, "t")
    assert found.changed
    assert found.arrow.field("s").type == pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", pa.bool_())])
    assert found.arrow.field("l").type.value_type == pa.struct([("x", pa.int32()), ("y", pa.float64())])
    assert found.arrow.field("m").type == pa.map_(pa.string(), pa.float64())


def test_rows_with_narrower_types_leave_the_schema_as_it_is():
    rows = pa.schema([("ID", pa.string()), ("n", pa.int16()), ("d", pa.decimal128(8, 1)), ("m", pa.null())])
    found = merged_schema(rows, TABLE, "t")
    assert not found.changed
    assert found.avro == TABLE


NULLS = {
    "c": pa.null(),
    "c.a": pa.struct([("a", pa.null()), ("b", pa.int32())]),
    "c.element": pa.list_(pa.null()),
    "c.value": pa.map_(pa.string(), pa.null()),
    "c.element.a": pa.list_(pa.struct([("a", pa.null())])),
    "c.value.element": pa.map_(pa.string(), pa.list_(pa.null())),
}


@pytest.mark.parametrize("table", [None, TABLE])
@pytest.mark.parametrize("column", NULLS)
def test_new_columns_of_nothing_but_nulls_are_refused_by_name(table, column):
    with pytest.raises(SchemaError, match=f"'{column}' holds nothing but nulls"):
        merged_schema(pa.schema([("id", pa.string()), ("c", NULLS[column])]), table, "t")


@pytest.mark.parametrize(
    ("column_type", "null_type", "value"),
    [
        (pa.struct([("a", pa.string()), ("b", pa.int32())]), NULLS["c.a"], {"a": None, "b": 2}),
        (pa.list_(pa.string()), NULLS["c.element"], [None, None]),
        (pa.map_(pa.string(), pa.float64()), NULLS["c.value"], [("k", None)]),
        (pa.list_(pa.struct([("a", pa.date32())])), NULLS["c.element.a"], [{"a": None}]),
        (pa.struct([("a", pa.int32())]), pa.null(), None),
        (pa.list_(pa.int64()), pa.null(), None),
        (pa.binary(3), pa.null(), None),
        (pa.timestamp("us", "UTC"), pa.null(), None),
    ],
)
def test_nulls_without_a_type_take_that_of_the_tables_column(column_type, null_type, value):
    table = merged_schema(pa.schema([("id", pa.string()), ("c", column_type)]), None, "t").avro
    rows = pa.table({"id": ["a"], "c": pa.array([value], null_type)})
    schema = merged_schema(rows.schema, table, "t")
    assert not schema.changed
    found = conformed(rows, schema.arrow)
    assert found.schema.field("c").type.equals(schema.arrow.field("c").type)
    assert found.column("c").to_pylist() == [value]


@pytest.mark.parametrize("old", range(4))
@pytest.mark.parametrize("new", range(4))
def test_numbers_widen_and_never_narrow(old, new):
    kinds = [pa.int32(), pa.int64(), pa.float32(), pa.float64()]
    table = merged_schema(pa.schema([("id", pa.string()), ("v", kinds[old])]), None, "t").avro
    found = merged_schema(pa.schema([("id", pa.string()), ("v", kinds[new])]), table, "t")
    assert found.arrow.field("v").type == kinds[max(old, new)]
    assert found.changed == (new > old)


@pytest.mark.parametrize(
    ("column", "arrow"),
    [
        ("n", pa.string()),
        ("n", pa.bool_()),
        ("d", pa.decimal128(12, 2)),
        ("d", pa.float64()),
        ("s", pa.string()),
        ("l", pa.list_(pa.int32())),
        ("day", pa.string()),
        ("day", pa.timestamp("us")),
    ],
)
def test_other_changes_are_refused_by_column(column, arrow):
    with pytest.raises(SchemaError, match=f"'{column}"):
        merged_schema(pa.schema([("id", pa.string()), (column, arrow)]), TABLE, "t")


def test_types_without_equal_and_doubled_names_are_refused():
    for arrow in (pa.uint64(), pa.duration("s"), pa.dense_union([pa.field("a", pa.int32())])):
        with pytest.raises(SchemaError, match="'odd'"):
            merged_schema(pa.schema([("odd", arrow)]), None, "t")
    with pytest.raises(SchemaError, match="more than once"):
        merged_schema(pa.schema([("id", pa.string()), ("ID", pa.string())]), None, "t")


def test_columns_that_take_no_null_are_held_to_it():
    table = {
        "type": "record",
        "name": "t_record",
        "fields": [{"name": "id", "type": "string"}, {"name": "p", "type": "string"}, {"name": "v", "type": "int"}],
    }
    with pytest.raises(SchemaError, match="'v' takes no null and is missing"):
        merged_schema(pa.schema([("id", pa.string()), ("p", pa.string())]), table, "t")
    with pytest.raises(SchemaError, match="'v' takes no null, and the rows have 1"):
        ready(pa.table({"id": ["a"], "p": ["x"], "v": pa.array([None], pa.int32())}), table_config(), table)


# -- keys ----------------------------------------------------------------------------------------------------------


def test_keys_count_with_the_types_of_the_table():
    table = merged_schema(pa.schema([("id", pa.float64()), ("p", pa.string())]), None, "t").avro
    found = ready(pa.table({"id": pa.array([1], pa.int8()), "p": ["x"]}), table_config(), table)
    assert found.column("_hoodie_record_key").to_pylist() == ["1.0"]


def test_rows_without_key_are_refused():
    with pytest.raises(KeyGenerationError, match="row 1"):
        ready(rows_of(("a", "x", 1, 1), (None, "x", 1, 1)), table_config())
    with pytest.raises(UnknownColumnError, match="'id'"):
        ready(pa.table({"p": ["x"]}), table_config())


@pytest.mark.parametrize("value", ["../up", "a//b", "/a", "a/", ".", ".hoodie/x"])
def test_values_that_lead_out_of_their_folder_are_refused(value):
    with pytest.raises(KeyGenerationError, match="no folder of the table"):
        ready(rows_of(("a", value, 1, 1)), table_config())


def test_keys_that_are_made_up_wait_for_the_instant():
    config = table_config(keys="")
    rows = rows_of((None, "x", 1, 1), (None, "x", 1, 1))
    rows = rows.set_column(0, "id", rows.column("id").cast(pa.string()))
    assert ready(rows, config).column("_hoodie_record_key").null_count == 2
    schema = merged_schema(rows.schema, None, "t")
    generator = KeyGenerator.of(config)
    write = WriteConfig.of({"hoodie.datasource.write.operation": "insert"}, config)
    found = prepare(rows, write, generator, schema, instant="20240101000000000", task=3, first=7)
    assert found.column("_hoodie_record_key").to_pylist() == ["20240101000000000_3_7", "20240101000000000_3_8"]


@pytest.mark.parametrize("entries", ["p:SIMPLE,t:TIMESTAMP", "t:TIMESTAMP,p:SIMPLE"])
def test_paths_whose_values_cannot_be_told_apart_are_refused(entries):
    """Hudi 1.0.2 writes them, and fails when it reads the table."""
    timed = {"timestamp.type": "EPOCHMILLISECONDS", "output.dateformat": "yyyy/MM", "timezone": "UTC"}
    properties = {f"hoodie.keygen.timebased.{name}": text for name, text in timed.items()}
    properties |= {"hoodie.table.keygenerator.type": "CUSTOM"}
    rows = pa.table({"id": ["a"], "p": ["x"], "t": [1_700_000_000_000]})
    with pytest.raises(KeyGenerationError, match=r"2023/11.*told apart.*urlencode"):
        ready(rows, table_config(partition=entries, properties=properties))
    alone = ready(rows, table_config(partition="t:TIMESTAMP", properties=properties))
    assert alone.column("_hoodie_partition_path").to_pylist() == ["2023/11"]
    escaped = table_config(
        partition=entries, properties=properties | {"hoodie.datasource.write.partitionpath.urlencode": "true"}
    )
    assert "2023%2F11" in ready(rows, escaped).column("_hoodie_partition_path")[0].as_py()


def test_deletes_need_keys_alone():
    config = table_config()
    generator = KeyGenerator.of(config)
    schema = avro_to_arrow(TABLE)
    rows = pa.table({"id": ["a", "a", "b"], "p": ["x", "x", "y"], "whatever": [1, 2, 3]})
    assert prepare_keys(rows, generator, schema).to_pylist() == [
        {"_hoodie_record_key": "a", "_hoodie_partition_path": "x"},
        {"_hoodie_record_key": "b", "_hoodie_partition_path": "y"},
    ]
    meta = pa.table({"_hoodie_record_key": ["a"], "_hoodie_partition_path": ["x"]})
    assert prepare_keys(meta, generator, schema).to_pylist() == meta.to_pylist()
    with pytest.raises(UnknownColumnError, match="'p'"):
        prepare_keys(rows.select(["id"]), generator, schema)
    everywhere = prepare_keys(rows.select(["id"]), generator, schema, across_partitions=True)
    assert everywhere.to_pylist() == [{"_hoodie_record_key": key, "_hoodie_partition_path": None} for key in "ab"]


# -- one row a key -------------------------------------------------------------------------------------------------

MODES = {
    "event": (8, EVENT),
    "commit": (8, {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING", "hoodie.table.precombine.field": "ts"}),
    "v6 latest": (
        6,
        {
            "hoodie.compaction.payload.class": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
            "hoodie.table.precombine.field": "ts",
        },
    ),
}


@pytest.mark.parametrize("mode", MODES)
@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xy"), st.integers(-3, 3)), max_size=30),
    everywhere=st.booleans(),
)
def test_one_row_a_key_is_left(mode, rows, everywhere):
    version, properties = MODES[mode]
    config = table_config(version, properties=properties)
    table = pa.table(
        {
            "id": pa.array([row[0] for row in rows], pa.string()),
            "p": pa.array([row[1] for row in rows], pa.string()),
            "ts": pa.array([row[2] for row in rows], pa.int64()),
            "v": pa.array(range(len(rows)), pa.int32()),
        }
    )
    kept = {}
    for number, (key, path, ts) in enumerate(rows):
        name = key if everywhere else (key, path)
        if name not in kept or mode == "commit" or ts >= kept[name][0]:
            kept[name] = (ts, number)
    found = combine(ready(table, config), MergeSpec.from_config(config), across_partitions=everywhere)
    assert found.column("v").to_pylist() == sorted(number for _, number in kept.values())


def test_partial_updates_fill_one_another():
    payload = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
    config = table_config(
        6, properties={"hoodie.compaction.payload.class": payload, "hoodie.table.precombine.field": "ts"}
    )
    rows = rows_of(("a", "x", 1, 10), ("b", "x", 1, 1), ("a", "x", 2, None))
    schema = merged_schema(rows.schema, None, "t")
    prepared = prepare(rows, WriteConfig.of({}, config), KeyGenerator.of(config), schema)
    found = combine(prepared, MergeSpec.from_config(config), schema=schema)
    assert found.select(["id", "ts", "v"]).to_pylist() == [{"id": "b", "ts": 1, "v": 1}, {"id": "a", "ts": 2, "v": 10}]


def test_order_of_rows_stays():
    random.seed(7)
    rows = rows_of(*[(str(random.randrange(50)), "x", random.randrange(5), n) for n in range(200)])
    config = table_config(properties=EVENT)
    numbers = combine(ready(rows, config), MergeSpec.from_config(config)).column("v").to_pylist()
    assert numbers == sorted(numbers)
