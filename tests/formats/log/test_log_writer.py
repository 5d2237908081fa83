"""Blocks of log files that we write, read back by our reader, and bytes against real ones."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import CorruptFileError, SchemaError, UnsupportedFormatError
from hudi_hive.formats.avro import avro_to_arrow
from hudi_hive.formats.log.block import BlockType, HeaderKey, iter_blocks
from hudi_hive.formats.log.writer import cdc_block, command_block, data_block, delete_block
from hudi_hive.table.logs import decode_block
from tests.support.tables import log_files

INSTANT = "20260102030405006"
ROWS = st.lists(st.tuples(st.text(max_size=8), st.none() | st.integers(-(1 << 63), (1 << 63) - 1)), max_size=20)


def only(data: bytes):
    (block,) = iter_blocks(data, "f")
    return block


@settings(max_examples=50, deadline=None)
@given(ROWS)
def test_data_blocks_are_those_of_fastavro_and_come_back(rows):
    records = [log_files.row(key, ts, key or None) for key, ts in rows]
    table = pa.Table.from_pylist(records, avro_to_arrow(log_files.ROW_SCHEMA))
    block = only(data_block(INSTANT, log_files.ROW_SCHEMA, table, extra_headers={HeaderKey.IS_PARTIAL: "true"}))
    assert bytes(block.content) == log_files.avro_content(records)
    data = decode_block(block, INSTANT, None)
    assert block.instant == INSTANT
    assert data.is_partial
    assert pa.table(data.batch).equals(table)


def test_the_empty_delete_block_of_a_metadata_table():
    keys = pa.table({"record_key": pa.array([], pa.string()), "partition_path": pa.array([], pa.string())})
    expected = (
        "234855444923 0000000000000042 0000000100000001 000000010000000000000011 3030303030303030303030303030303030"
        "0000000000000009 000000030000000100 00000000 0000000000000048"
    )
    block = only(delete_block("0" * 17, keys))
    real = only(bytes.fromhex(expected))
    assert bytes(block.content) == bytes(real.content)
    assert {**block.headers, **real.headers} == block.headers


@pytest.mark.parametrize("kind", ["data", "delete"])
def test_any_changed_byte_of_a_block_shows(kind):
    keys = pa.table({"record_key": ["2"], "partition_path": ["part=p0"]})
    schema = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]}
    data = data_block(INSTANT, schema, pa.table({"n": [1, 2, 3]})) if kind == "data" else delete_block(INSTANT, keys)
    for place in range(len(data)):
        for bit in range(8):
            damaged = data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
            try:
                (block,) = iter_blocks(damaged, "f.log")
            except (CorruptFileError, UnsupportedFormatError):
                continue
            assert block.type is BlockType.CORRUPT, (place, bit)


def test_a_delete_without_ordering_value():
    keys = pa.table({"record_key": ["2"], "partition_path": ["part=p0"]})
    block = only(delete_block(INSTANT, keys))
    assert bytes(block.content)[8:] == bytes.fromhex("02 02 02 32 02 0e 706172743d7030 04 00 00")


VALUES = {
    "int": (pa.int32(), [5, -7, None], pa.int32(), None),
    "long": (pa.int64(), [1 << 40, 0, None], pa.int64(), None),
    "float": (pa.float32(), [1.5, -0.5, None], pa.float32(), None),
    "double": (pa.float64(), [1.5, 0.0, None], pa.float64(), None),
    "boolean": (pa.bool_(), [True, False, None], pa.bool_(), None),
    "text": (pa.string(), ["a", "", None], pa.string(), None),
    "bytes": (pa.binary(), [b"a", b"", None], pa.binary(), None),
    "short": (pa.int16(), [3, 4, None], pa.int32(), None),
    "date": (pa.date32(), [dt.date(2020, 1, 2), dt.date(1960, 1, 2), None], pa.date32(), None),
    "decimal": (pa.decimal128(9, 3), [Decimal("1.500"), Decimal("-2.125"), None], pa.decimal128(30, 15), None),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(1969, 1, 1, tzinfo=dt.UTC), None],
        pa.int64(),
        [1_577_836_800_000_000, -31_536_000_000_000, None],
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_ordering_values_of_every_type(name):
    kind, values, seen, expected = VALUES[name]
    keys = pa.table({"record_key": ["a", "b", "c"], "partition_path": ["p", "", "q"], "ts": pa.array(values, kind)})
    block = only(delete_block(INSTANT, keys))
    table = decode_block(block, INSTANT, None).table
    assert table.column("record_key").to_pylist() == ["a", "b", "c"]
    assert table.column("partition_path").to_pylist() == ["p", "", "q"]
    assert table.schema.field("ordering").type == seen
    assert table.column("ordering").to_pylist() == (values if expected is None else expected)
    wrapper = {"int": "Int", "long": "Long", "text": "String", "boolean": "Boolean", "double": "Double"}.get(name)
    if wrapper is not None:
        wrapped = [("Int", 0) if value is None else (wrapper, value) for value in values]
        deletes = list(zip(["a", "b", "c"], ["p", "", "q"], wrapped, strict=True))
        assert bytes(block.content) == log_files.delete_content(deletes)


def test_several_ordering_fields():
    keys = pa.table({"record_key": ["a", "b"], "partition_path": ["p", "p"], "x": [1, None], "y": ["u", None]})
    block = only(delete_block(INSTANT, keys))
    deletes = [("a", "p", [("Long", 1), ("String", "u")]), ("b", "p", ("Int", 0))]
    assert bytes(block.content) == log_files.delete_content(deletes)
    assert decode_block(block, INSTANT, None).table.column("ordering").to_pylist() == [{"f0": 1, "f1": "u"}, None]


def test_a_block_of_many_deletes_is_read_back():
    count = 70_000
    keys = pa.table(
        {
            "record_key": pa.array(np.arange(count)).cast(pa.string()),
            "partition_path": pa.array(["p"] * count),
            "ts": pa.array(np.arange(count), mask=np.arange(count) % 3 == 0),
        }
    )
    table = decode_block(only(delete_block(INSTANT, keys)), INSTANT, None).table
    assert table.column("record_key").equals(keys.column("record_key"))
    assert table.column("ordering").equals(keys.column("ts"))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": pa.array([[1]])}, "no order"),
        ({"x": pa.array([1]), "y": pa.array([None], pa.string())}, "some of"),
        ({"x": pa.array([Decimal("1e-16")], pa.decimal128(20, 16))}, "do not fit"),
    ],
)
def test_unsupported_ordering_columns_are_refused(columns, message):
    keys = pa.table({"record_key": ["a"], "partition_path": ["p"], **columns})
    with pytest.raises(SchemaError, match=message):
        delete_block(INSTANT, keys)


def test_commands_and_changes():
    block = only(command_block("20250126040936578", "20250126040826878"))
    assert block.type is BlockType.COMMAND
    assert block.headers[HeaderKey.TARGET_INSTANT_TIME] == "20250126040826878"
    assert block.headers[HeaderKey.COMMAND_BLOCK_TYPE] == "0"
    assert block.size == 91 + 14
    schema = {"type": "record", "name": "Record", "fields": [{"name": "op", "type": ["string", "null"]}]}
    changes = only(cdc_block(INSTANT, schema, pa.table({"op": ["i", "u"]})))
    assert changes.type is BlockType.CDC_DATA
    assert decode_block(changes, INSTANT, None).batch.column(0).to_pylist() == ["i", "u"]
