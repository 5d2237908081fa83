"""Damaged Avro records: an error of ours or rows that follow the schema, in bounded time and memory."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import CorruptFileError, SchemaError, UnsupportedFormatError
from hudi_hive.formats.avro import decode_records
from hudi_hive.formats.avro.schema import parse_record
from tests.formats.shared.avro_decoder_helpers import CHOSEN, chosen_rows, encode, laid_out, varint
from tests.support.running.long import examples
from tests.support.tables.avro_oracle import decode_with_fastavro

DATA, STARTS, ENDS = encode(CHOSEN, chosen_rows())


def one_field(kind: object) -> dict:
    return {"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}


def decoded_or_refused(data: bytes, starts: np.ndarray, ends: np.ndarray, schema: dict) -> None:
    """Either is fine, but what is decoded is sound and what fastavro reads from the same bytes."""
    try:
        batch = decode_records(data, starts, ends, schema)
    except CorruptFileError:
        return
    batch.validate(full=True)
    assert batch.num_rows == len(starts)
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    expected = decode_with_fastavro(memoryview(data), spans, parse_record(schema))
    for column, other in zip(batch.columns, expected, strict=True):
        assert str(raw(column)) == str(raw(other))  # as text: NaN equals itself there


def raw(array):
    """Times of day may be out of range after damage, and no Python object: compare the numbers."""
    import pyarrow as pa

    if pa.types.is_time(array.type) or pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return array.to_pylist()


@pytest.mark.parametrize("times", [1, 60])
def test_every_truncation_is_refused(times):
    data, starts, ends = encode(CHOSEN, chosen_rows()[:1] * times)
    size = int(ends[0] - starts[0])
    for cut in range(1, size) if times == 1 else range(1, size, 37):
        with pytest.raises(CorruptFileError):
            decode_records(data, starts, ends - np.where(np.arange(times) == times - 1, cut, 0), CHOSEN)


@settings(max_examples=examples(400), deadline=None)
@given(st.integers(0, len(DATA) - 1), st.integers(0, 255), st.integers(0, len(DATA) - 1), st.integers(0, 255))
def test_two_flipped_bytes_are_decoded_or_refused(first, value, second, other):
    damaged = bytearray(DATA)
    damaged[first], damaged[second] = value, other
    decoded_or_refused(bytes(damaged), STARTS, ENDS, CHOSEN)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=4), st.sampled_from([1, 30]))
def test_random_bytes_are_decoded_or_refused(rows, times):
    schema = one_field(["null", {"type": "map", "values": {"type": "array", "items": ["string", "null", "int"]}}])
    data, starts, ends = laid_out(rows * times)
    decoded_or_refused(data, starts, ends, schema)


@pytest.mark.parametrize("times", [1, 200])
@pytest.mark.parametrize(
    "items", ["int", "string", "null", "double", ["null", "int"], {"type": "array", "items": "null"}], ids=str
)
@pytest.mark.parametrize("count", [1 << 40, (1 << 63) - 1, -(1 << 63), -(1 << 40)])
@pytest.mark.parametrize("columns", [["a"], ["z"]], ids=["read", "skipped"])
def test_counts_of_items_that_cannot_be_there(items, count, times, columns):
    schema = one_field({"type": "array", "items": items})
    schema["fields"].append({"name": "z", "type": "int"})
    data, starts, ends = laid_out([varint(count) + varint(5) + b"\0" * 20] * times)
    begin = time.process_time()
    tracemalloc.start()
    with pytest.raises(CorruptFileError):
        decode_records(data, starts, ends, schema, columns=columns)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20
    assert time.process_time() - begin < 2


def test_many_empty_items_in_many_records_are_bounded():
    data, starts, ends = laid_out([varint(1 << 21) + b"\0"] * 1000)
    with pytest.raises(CorruptFileError, match="too many items"):
        decode_records(data, starts, ends, one_field({"type": "array", "items": "null"}))
    nested = one_field({"type": "array", "items": {"type": "array", "items": "null"}})
    data, starts, ends = laid_out([varint(40) + (varint(1 << 21) + b"\0") * 40 + b"\0"])
    with pytest.raises(CorruptFileError, match="too many items"):
        decode_records(data, starts, ends, nested)


@pytest.mark.parametrize("size", [(1 << 62), (1 << 63) - 1, -1, -(1 << 63), 1000])
@pytest.mark.parametrize("kind", ["string", "bytes", ["null", "string"]], ids=str)
def test_lengths_that_reach_beyond_the_record(kind, size):
    data, starts, ends = laid_out([(b"\x02" if isinstance(kind, list) else b"") + varint(size) + b"x" * 30] * 3)
    with pytest.raises(CorruptFileError, match="beyond its end"):
        decode_records(data, starts, ends, one_field(kind))


@pytest.mark.parametrize(
    ("kind", "encoded", "message"),
    [
        ("long", b"\xff" * 9 + b"\x02", "64 bits"),
        ("long", b"\xff" * 20, "64 bits"),
        ("int", varint(1 << 31), "32 bits"),
        ({"type": "int", "logicalType": "time-millis"}, varint(-1), "within a day"),
        ({"type": "long", "logicalType": "time-micros"}, varint(86_400_000_000), "within a day"),
        ("boolean", b"\x02", "neither 0 nor 1"),
        ("string", b"\x02\xff", "UTF-8"),
        ("double", b"\0" * 7, "beyond its end"),
        (["null", "int"], varint(2) + b"\0", "no such branch"),
        (["null", "int"], varint(-1) + b"\0", "no such branch"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, varint(1), "no such branch or symbol"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, b"\x04\x7f\xff", "does not fit"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, varint(17) + b"\1" + b"\0" * 16, "does not fit"),
        ("int", b"\0\0", "does not fill its length"),
        ({"type": "array", "items": "long"}, b"\x06" + b"\xff" * 8, "beyond its end"),
    ],
    ids=str,
)
def test_errors_of_damaged_records_name_what_is_wrong(kind, encoded, message):
    data, starts, ends = laid_out([encoded])
    with pytest.raises(CorruptFileError, match=message):
        decode_records(data, starts, ends, one_field(kind))


@pytest.mark.parametrize(("starts", "ends"), [([-1], [2]), ([3], [2]), ([0], [99]), ([0, 1], [3, 5])])
def test_spans_outside_the_data_or_over_one_another(starts, ends):
    with pytest.raises(CorruptFileError, match=r"lie in its block|overlap"):
        decode_records(b"\0" * 10, np.array(starts), np.array(ends), one_field("int"))


def test_one_long_record_of_garbage_takes_bounded_time():
    schema = one_field({"type": "array", "items": {"type": "array", "items": {"type": "map", "values": "string"}}})
    garbage = np.random.default_rng(3).integers(0, 4, 400_000, dtype=np.uint8).tobytes()
    begin = time.process_time()
    decoded_or_refused(varint(100_000) + garbage, np.array([0]), np.array([400_003]), schema)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("times", [1, 60])
@pytest.mark.parametrize("items", ["int", "string", "double", {"type": "array", "items": "int"}], ids=str)
@pytest.mark.parametrize("columns", [["a"], ["z"]], ids=["read", "skipped"])
def test_arrays_of_very_many_blocks_take_bounded_time(items, times, columns):
    schema = one_field({"type": "array", "items": items})
    schema["fields"].append({"name": "z", "type": "int"})
    item = {"int": b"\x02", "string": b"\x02a", "double": b"\0" * 8}.get(str(items), b"\x02\x02\0")
    count = 100_000 // times
    data, starts, ends = laid_out([(b"\x02" + item) * count + b"\0" + b"\x04"] * times)
    begin = time.process_time()
    batch = decode_records(data, starts, ends, schema, columns=columns)
    assert time.process_time() - begin < 5
    if columns == ["z"]:
        assert batch.column("z").to_pylist() == [2] * times
    else:
        assert batch.column("a").value_lengths().to_pylist() == [count] * times
        value = {"int": 1, "string": "a", "double": 0.0}.get(str(items), [1])
        assert batch.column("a")[-1].as_py() == [value] * count


def test_empty_items_of_very_many_blocks_are_bounded():
    data, starts, ends = laid_out([(varint(1 << 20) * 50) + b"\0"])
    with pytest.raises(CorruptFileError, match="too many items"):
        decode_records(data, starts, ends, one_field({"type": "array", "items": "null"}))


WIDE = {"type": "record", "name": "w0", "fields": [{"name": f"f{i}", "type": "long"} for i in range(20)]}
for level in range(1, 4):
    names = [WIDE, *[f"w{level - 1}"] * (19 if level < 3 else 9)]
    WIDE = {
        "type": "record",
        "name": f"w{level}",
        "fields": [{"name": f"f{i}", "type": t} for i, t in enumerate(names)],
    }
MEGABYTE = {"type": "fixed", "name": "f", "size": 1 << 20}


@pytest.mark.parametrize(
    ("kind", "rows", "each"),
    [
        (["null", MEGABYTE], 3000, b"\0"),
        (["null", WIDE], 3000, b"\0"),
        ({"type": "array", "items": ["null", MEGABYTE]}, 1, varint(3000) + b"\0" * 3001),
        ({"type": "enum", "name": "e", "symbols": ["x" * 30_000]}, 20_000, b"\0"),
    ],
    ids=["fixed", "record", "items", "enum"],
)
def test_columns_far_larger_than_their_records_are_refused(kind, rows, each):
    data, starts, ends = laid_out([each] * rows)
    with pytest.raises(UnsupportedFormatError, match="bytes as columns"):
        decode_records(data, starts, ends, one_field(kind))


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": -(10**20)},
        {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": -1},
        {"type": "bytes", "logicalType": "decimal", "precision": True},
        {"type": "enum", "name": "e", "symbols": ["\ud800"]},
        {"type": "record", "name": "q", "fields": [{"name": "\udc00", "type": "int"}]},
        {"type": "record", "name": "q", "fields": [{"name": "a", "type": "int", "doc": "\udc00"}]},
    ],
    ids=["far", "negative", "true", "symbol", "name", "doc"],
)
def test_schemas_that_arrow_cannot_hold(kind):
    with pytest.raises(SchemaError):
        decode_records(b"", np.zeros(0), np.zeros(0), one_field(kind))
