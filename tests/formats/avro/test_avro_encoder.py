"""Columnar encoding of Avro records against fastavro and our own decoder."""

from __future__ import annotations

import io
from decimal import Decimal

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import SchemaError
from hudi_hive.formats.avro import avro_to_arrow, decode_records
from hudi_hive.formats.avro.encoder import encode_binaries
from hudi_hive.formats.avro.schema import parse_record
from tests.formats.shared.avro_decoder_helpers import laid_out, record_sets
from tests.support.running.long import examples
from tests.support.tables.avro_oracle import decode_with_fastavro


def record(*fields) -> dict:
    return {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in fields]}


def encoded(batch, schema) -> list[bytes]:
    binaries = encode_binaries(batch, schema)
    assert binaries.type == pa.binary()
    assert len(binaries) == batch.num_rows
    return binaries.to_pylist()


@settings(max_examples=examples(150), deadline=None)
@given(record_sets(), st.integers(0, 3), st.booleans())
def test_random_records_come_back_from_us_and_from_fastavro(records, skip, table):
    schema, rows, _ = records
    data, starts, ends = laid_out(rows)
    batch = decode_records(data, starts, ends, schema).slice(skip)
    source = pa.concat_tables([pa.table(batch), pa.table(batch)]) if table else batch
    binaries = encoded(source, schema)
    out, begin, end = laid_out(binaries)
    again = decode_records(out, begin, end, schema)
    assert pa.table(again).equals(pa.table(source).combine_chunks())
    spans = list(zip(begin.tolist(), end.tolist(), strict=True))
    for ours, theirs in zip(
        again.columns, decode_with_fastavro(memoryview(out), spans, parse_record(schema)), strict=True
    ):
        assert ours.equals(theirs)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "a": st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
                "b": st.none() | st.text(max_size=9),
                "c": st.lists(st.none() | st.integers(-(1 << 31), (1 << 31) - 1), max_size=4),
                "d": st.none() | st.dictionaries(st.text(max_size=3), st.none() | st.binary(max_size=4), max_size=3),
                "e": st.none()
                | st.fixed_dictionaries({"x": st.floats(allow_nan=False), "y": st.none() | st.booleans()}),
                "f": st.none() | st.decimals(-99999, 99999, places=2, allow_nan=False, allow_infinity=False),
            }
        ),
        max_size=40,
    )
)
def test_bytes_are_those_of_fastavro(rows):
    nested = {
        "type": "record",
        "name": "n",
        "fields": [{"name": "x", "type": "double"}, {"name": "y", "type": ["boolean", "null"]}],
    }
    decimal = {"type": "fixed", "name": "fx", "size": 4, "logicalType": "decimal", "precision": 7, "scale": 2}
    schema = record(
        ("a", ["null", "long"]),
        ("b", ["string", "null"]),
        ("c", {"type": "array", "items": ["null", "int"]}),
        ("d", ["null", {"type": "map", "values": ["null", "bytes"]}]),
        ("e", ["null", nested]),
        ("f", ["null", decimal]),
    )
    table = pa.Table.from_pylist(rows, avro_to_arrow(schema))
    for ours, row in zip(encoded(table, schema), rows, strict=True):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), row)
        assert ours == stream.getvalue()


def test_many_rows_take_several_chunks_and_columns_any_order():
    count = 70_000
    schema = record(("id", "long"), ("name", ["null", "string"]), ("missing", ["null", "int"]))
    names = [None if i % 7 == 0 else f"name {i}" for i in range(count)]
    table = pa.table({"name": pa.array(names, pa.large_string()), "id": pa.array(range(count), pa.int32())})
    column = encode_binaries(table, schema)
    assert column.num_chunks > 1
    out, begin, end = laid_out(column.to_pylist())
    batch = decode_records(out, begin, end, schema)
    assert batch.column("id").to_pylist() == list(range(count))
    assert batch.column("name").to_pylist() == names
    assert batch.column("missing").null_count == count


def test_dictionaries_large_lists_and_sliced_nested_columns():
    schema = record(
        ("word", ["null", "string"]),
        ("list", ["null", {"type": "array", "items": "string"}]),
        ("map", ["null", {"type": "map", "values": "long"}]),
        ("three", {"type": "array", "items": "int"}),
    )
    table = pa.table(
        {
            "word": pa.array(["a", None, "b", "a"]).dictionary_encode(),
            "list": pa.array([["x"], None, [], ["y", "z"]], pa.large_list(pa.string())),
            "map": pa.array([[("k", 1)], [], None, [("l", 2), ("m", 3)]], pa.map_(pa.string(), pa.int64())),
            "three": pa.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 0, 1]], pa.list_(pa.int32(), 3)),
        }
    )
    for start in range(4):
        part = table.slice(start, 2)
        out, begin, end = laid_out(encoded(part, schema))
        assert pa.table(decode_records(out, begin, end, schema)).to_pydict() == part.to_pydict()


def test_shortest_decimals_are_those_of_java():
    schema = record(("d", {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 0}))
    expected = {0: "00", 127: "7f", 128: "0080", -128: "80", -129: "ff7f", 255: "00ff", -1: "ff", 65536: "010000"}
    table = pa.table({"d": pa.array([Decimal(number) for number in expected], pa.decimal128(20, 0))})
    assert [binary[1:].hex() for binary in encoded(table, schema)] == list(expected.values())


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("int", pa.array([1, None]), "null in a row"),
        ("int", pa.array([1 << 40]), "does not fit"),
        ("long", pa.array(["1"]), "does not fit"),
        ({"type": "array", "items": "int"}, pa.array([[None]], pa.list_(pa.int32())), "null in a row"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, pa.array(["B"]), "'B'"),
        (
            {"type": "fixed", "name": "f", "size": 1, "logicalType": "decimal", "precision": 3},
            pa.array([Decimal(300)], pa.decimal128(3, 0)),
            "more than 1 bytes",
        ),
        ({"type": "map", "values": "int"}, pa.array([[1]], pa.list_(pa.int32())), "does not fit"),
        (["null", "int", "string"], pa.array([1]), "does not fit"),
        ({"type": "record", "name": "n", "fields": []}, pa.array([{"q": 1}]), "no field 'q'"),
    ],
)
def test_what_a_type_cannot_hold_is_refused(kind, values, message):
    with pytest.raises(SchemaError, match=message):
        encode_binaries(pa.table({"c": values}), record(("c", kind)))


def test_columns_that_the_schema_lacks_are_refused():
    with pytest.raises(SchemaError, match="no column 'x'"):
        encode_binaries(pa.table({"x": [1]}), record(("c", ["null", "int"])))
