"""How a table's properties say that records merge; what they do not say clearly is refused by name."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive.errors import CorruptFileError, InvalidPropertiesError, UnknownColumnError, UnsupportedTableError
from hudi_hive.read.merge import as_numbers, merge_slice, not_less, ranks, record_keys
from hudi_hive.table.logs.log_data import LogData
from hudi_hive.table.logs.log_scanner import LogRecords
from hudi_hive.table.merge.merge_spec import MergeSpec, Order, Partial
from hudi_hive.table.properties.config import TableConfig

MODEL = "org.apache.hudi.common.model."
PATH = "file:/t/.hoodie/hoodie.properties"


def spec(version, **properties):
    base = {"hoodie.table.name": "t", "hoodie.table.version": str(version), "hoodie.table.type": "MERGE_ON_READ"}
    base |= {"hoodie.timeline.layout.version": "1" if version == 6 else "2"}
    names = {
        "payload": "hoodie.compaction.payload.class",
        "mode": "hoodie.record.merge.mode",
        "strategy": "hoodie.record.merge.strategy.id",
        "ordering": "hoodie.table.ordering.fields",
        "partial": "hoodie.table.partial.update.mode",
        "legacy": "hoodie.table.legacy.payload.class",
        "meta": "hoodie.populate.meta.fields",
        "keys": "hoodie.table.recordkey.fields",
        "keygen": "hoodie.table.keygenerator.type",
    }
    base |= {names.get(key, key): value for key, value in properties.items()}
    return MergeSpec.from_config(TableConfig.from_properties(base, PATH))


@pytest.mark.parametrize(
    ("payload", "on_base"),
    [
        (None, Order.COMMIT_TIME),
        (MODEL + "OverwriteWithLatestAvroPayload", Order.COMMIT_TIME),
        (MODEL + "DefaultHoodieRecordPayload", Order.EVENT_TIME),
    ],
)
def test_version_6_goes_by_payload_class(payload, on_base):
    found = spec(6, ordering="ts", **({} if payload is None else {"payload": payload}))
    assert (found.in_log, found.on_base, found.deletes_yield) == (Order.EVENT_TIME, on_base, True)


@pytest.mark.parametrize("mode", ["EVENT_TIME_ORDERING", "commit_time_ordering"])
def test_a_mode_by_name_counts(mode):
    found = spec(9, mode=mode, ordering="a,b")
    assert found.in_log is found.on_base is Order(mode.upper())
    assert found.ordering_fields == ("a", "b")
    assert pickle.loads(pickle.dumps(found)) == found


def test_without_a_merge_mode_strategy_and_ordering_fields_decide():
    assert spec(8, strategy="ce9acb64-bde0-424c-9b91-f6ebba25356d", ordering="ts").on_base is Order.COMMIT_TIME
    assert spec(8, strategy="eeb8d96f-b1e4-49fd-bbf8-28ac514178e5").on_base is Order.EVENT_TIME
    assert spec(9, ordering="ts").on_base is Order.EVENT_TIME
    assert spec(9).on_base is Order.COMMIT_TIME


def test_partial_modes_and_markers():
    found = spec(
        9,
        mode="EVENT_TIME_ORDERING",
        partial="FILL_UNAVAILABLE",
        legacy=MODEL + "debezium.PostgresDebeziumAvroPayload",
        **{
            "hoodie.record.merge.property.hoodie.payload.delete.field": "_change_operation_type",
            "hoodie.record.merge.property.hoodie.payload.delete.marker": "d",
        },
    )
    assert found.partial is Partial.FILL_UNAVAILABLE
    assert (found.delete_field, found.delete_marker) == ("_change_operation_type", "d")
    dms = spec(9, mode="COMMIT_TIME_ORDERING", legacy=MODEL + "AWSDmsAvroPayload")
    assert (dms.delete_field, dms.delete_marker) == ("Op", "D")
    kept = spec(8, mode="CUSTOM", payload=MODEL + "OverwriteNonDefaultsWithLatestAvroPayload")
    assert kept.partial is Partial.IGNORE_DEFAULTS


@pytest.mark.parametrize(
    ("version", "properties", "named"),
    [
        (6, {"payload": "com.example.MyPayload"}, "com.example.MyPayload"),
        (6, {"payload": MODEL + "FirstValueAvroPayload"}, "FirstValueAvroPayload"),
        (8, {"mode": "CUSTOM", "payload": MODEL + "FirstValueAvroPayload"}, "FirstValueAvroPayload"),
        (9, {"mode": "CUSTOM", "payload": MODEL + "FirstValueAvroPayload", "ordering": "ts"}, "FirstValueAvroPayload"),
        (6, {"payload": MODEL + "debezium.MySqlDebeziumAvroPayload", "ordering": "ts"}, "other than _event_seq"),
        (8, {"payload": MODEL + "debezium.PostgresDebeziumAvroPayload", "mode": "CUSTOM"}, "other than _event_lsn"),
        (8, {"mode": "CUSTOM", "payload": MODEL + "debezium.MySqlDebeziumAvroPayload"}, "MySqlDebezium"),
        (8, {"mode": "CUSTOM", "payload": "com.example.MyPayload"}, "com.example.MyPayload"),
        (9, {"mode": "CUSTOM", "strategy": "1897ef5f-18bc-4557-939c-9d6a8afd1519"}, "1897ef5f"),
        (9, {"strategy": "12345678-0000-0000-0000-000000000000"}, "12345678"),
        (9, {"mode": "FIRST_WINS"}, "FIRST_WINS"),
        (9, {"partial": "KEEP_VALUES"}, "KEEP_VALUES"),
        (9, {"meta": "false"}, "neither meta columns nor record key fields"),
    ],
)
def test_unknown_options_are_refused_by_name(version, properties, named):
    with pytest.raises(UnsupportedTableError, match=named) as caught:
        spec(version, **properties)
    assert caught.value.path == PATH


def test_half_a_delete_marker_is_refused():
    with pytest.raises(InvalidPropertiesError, match="go together") as caught:
        spec(9, **{"hoodie.payload.delete.field": "op"})
    assert caught.value.path == PATH


def test_columns_that_merging_reads():
    schema = pa.schema([(name, pa.string()) for name in ("_hoodie_record_key", "a", "ts", "_hoodie_is_deleted")])
    assert spec(9, ordering="ts").columns(schema) == ["_hoodie_record_key", "_hoodie_is_deleted", "ts"]
    assert spec(9, ordering="ts", mode="COMMIT_TIME_ORDERING").columns(schema) == schema.names[::3]
    assert spec(9, ordering="gone").columns(schema) == ["_hoodie_record_key", "_hoodie_is_deleted"]
    with pytest.raises(UnknownColumnError, match="_hoodie_record_key"):
        spec(9).columns(pa.schema([("a", pa.int64())]))


def test_keys_of_tables_without_meta_columns_are_text_as_hudi_writes_it():
    batch = pa.RecordBatch.from_pydict(
        {
            "i": pa.array([1, 2], pa.int32()),
            "s": pa.array([None, ""], pa.string()),
            "d": pa.array([0, 19_000], pa.date32()),
            "t": pa.array([0, 1], pa.timestamp("us", "UTC")),
            "b": pa.array([True, False]),
            "f": pa.array([1.0, 1e10]),
        }
    )
    one = spec(9, meta="false", keys="d", keygen="SIMPLE")
    assert record_keys(batch, one).to_pylist() == ["1970-01-01", "2022-01-08"]
    named = spec(9, meta="false", keys="i", keygen="COMPLEX")
    assert record_keys(batch, named).to_pylist() == ["i:1", "i:2"]
    assert record_keys(batch, spec(8, meta="false", keys="i", keygen="COMPLEX")).to_pylist() == ["1", "2"]
    many = spec(9, meta="false", keys="i,s,t,b,f", keygen="COMPLEX")
    assert record_keys(batch, many).to_pylist() == [
        "i:1,s:__null__,t:0,b:true,f:1.0",
        "i:2,s:__empty__,t:1,b:false,f:1.0E10",
    ]
    with pytest.raises(CorruptFileError, match="without a record key"):
        record_keys(batch, spec(9, meta="false", keys="s", keygen="SIMPLE"))


def test_doubles_are_ordered_as_java_orders_them():
    values = pa.array([float("-inf"), -1.0, -0.0, 0.0, 1e-300, float("inf"), float("nan")])
    numbers = as_numbers(values)
    assert (np.diff(numbers) > 0).all()


def test_nulls_among_texts_have_no_order():
    texts = pa.array(["a", None])
    with pytest.raises(UnsupportedTableError, match="null counts as the number 0"):
        ranks([texts], 2)
    with pytest.raises(UnsupportedTableError, match="null counts as the number 0"):
        not_less([texts], [pa.array([None, "b"], pa.string())], 2)


def test_base_batches_without_a_key_of_the_log_are_handed_on_untouched():
    schema = pa.schema([("_hoodie_record_key", pa.string()), ("v", pa.int64())])
    base = [pa.RecordBatch.from_pydict({"_hoodie_record_key": [k], "v": [1]}, schema=schema) for k in "abc"]
    block = LogData("1", pa.RecordBatch.from_pydict({"_hoodie_record_key": ["b"], "v": [2]}, schema=schema), {})
    got = list(
        merge_slice(iter(base), LogRecords((block,)), MergeSpec(8, Order.COMMIT_TIME, Order.COMMIT_TIME), schema)
    )
    assert got[0] is base[0] and got[2] is base[2]
    assert got[1].to_pylist() == [{"_hoodie_record_key": "b", "v": 2}]
    nothing = list(merge_slice(iter(base), LogRecords(), MergeSpec(8, Order.COMMIT_TIME, Order.COMMIT_TIME), schema))
    assert all(mine is theirs for mine, theirs in zip(nothing, base, strict=True))


def test_of_a_key_that_the_base_holds_twice_the_first_row_is_merged():
    schema = pa.schema([("_hoodie_record_key", pa.string()), ("v", pa.int64())])
    base = [pa.RecordBatch.from_pydict({"_hoodie_record_key": ["a", "a"], "v": [1, 2]}, schema=schema)] * 2
    block = LogData("1", pa.RecordBatch.from_pydict({"_hoodie_record_key": ["a"], "v": [9]}, schema=schema), {})
    got = merge_slice(iter(base), LogRecords((block,)), MergeSpec(8, Order.COMMIT_TIME, Order.COMMIT_TIME), schema)
    assert [v for batch in got for v in batch.column("v").to_pylist()] == [9, 2, 1, 2]
