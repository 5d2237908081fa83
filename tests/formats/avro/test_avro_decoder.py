"""Columnar decoding of bare Avro records against fastavro, value by value and in bulk."""

from __future__ import annotations

import io

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import CorruptFileError, SchemaError, UnknownColumnError
from hudi_hive.formats.avro import avro_to_arrow, decode_records, skipping
from hudi_hive.formats.avro.schema import parse_record
from tests.formats.shared.avro_decoder_helpers import (
    CHOSEN,
    chosen_rows,
    encode,
    laid_out,
    record_sets,
)
from tests.support.running.long import examples
from tests.support.tables.avro_oracle import decode_with_fastavro

# -- Random schemas and values, with an encoder that leaves nothing to choose ------------------------------------------


@settings(max_examples=examples(300), deadline=None)
@given(record_sets(), st.sampled_from([b"", b"\xff\xff\xff\xff"]))
def test_random_records_decode_as_fastavro_does(records, gap):
    schema, rows, wanted = records
    data, starts, ends = laid_out(rows, gap)
    batch = decode_records(data, starts, ends, schema, columns=wanted)
    batch.validate(full=True)
    root = parse_record(schema)
    names = [field.name for field in root.fields] if wanted is None else wanted
    assert batch.schema == pa.schema([avro_to_arrow(schema).field(name) for name in names])
    assert batch.num_rows == len(rows)
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    columns = decode_with_fastavro(memoryview(data), spans, root)
    for name, column in zip(names, batch.columns, strict=True):
        expected = columns[int(name[1:])]
        assert column.type == expected.type
        assert column.to_pylist() == expected.to_pylist(), name


# -- Chosen values against fastavro's own reading of the same schema --------------------------------------------------


@pytest.mark.parametrize("times", [1, 60])
def test_every_type_reads_as_fastavro_reads_it(times):
    rows = chosen_rows() * times
    data, starts, ends = encode(CHOSEN, rows)
    batch = decode_records(data, starts, ends, CHOSEN)
    batch.validate(full=True)
    parsed = fastavro.parse_schema(CHOSEN)
    expected = []
    for start, end in zip(starts, ends, strict=True):
        row = fastavro.schemaless_reader(io.BytesIO(data[start:end]), parsed)
        row["uuid"] = str(row["uuid"])
        row["m"] = None if row["m"] is None else list(row["m"].items())
        expected.append(row)
    assert batch.to_pylist() == expected
    assert batch.schema.field("i").metadata == {b"doc": b"a number"}


def test_a_schema_that_fastavro_parsed_is_taken_too():
    data, starts, ends = encode(CHOSEN, chosen_rows())
    parsed = fastavro.parse_schema(CHOSEN)
    assert decode_records(data, starts, ends, parsed).equals(decode_records(data, starts, ends, CHOSEN))


def test_columns_come_in_the_order_of_the_selection():
    data, starts, ends = encode(CHOSEN, chosen_rows())
    batch = decode_records(memoryview(data), starts, ends, CHOSEN, columns=["s", "i", "s"])
    assert batch.schema.names == ["s", "i", "s"]
    assert batch.column(1).to_pylist() == [-1, 0, (1 << 31) - 1]
    assert batch.column(0).equals(batch.column(2))


def test_no_columns_still_count_rows():
    data, starts, ends = encode(CHOSEN, chosen_rows())
    batch = decode_records(data, starts, ends, CHOSEN, columns=[])
    assert (batch.num_rows, batch.num_columns) == (3, 0)


def test_an_unknown_column_is_named():
    with pytest.raises(UnknownColumnError, match="'nope'"):
        decode_records(b"", np.zeros(0), np.zeros(0), CHOSEN, columns=["nope"])


def test_no_records_make_an_empty_batch():
    batch = decode_records(b"", np.zeros(0, np.int64), np.zeros(0, np.int64), CHOSEN)
    assert batch.num_rows == 0
    assert batch.schema == avro_to_arrow(CHOSEN)
    batch.validate(full=True)


def test_spans_may_come_in_any_order_and_twice():
    data, starts, ends = encode(CHOSEN, chosen_rows())
    order = np.array([2, 0, 2, 1])
    batch = decode_records(data, starts[order], ends[order], CHOSEN)
    assert batch.equals(decode_records(data, starts, ends, CHOSEN).take(pa.array(order)))


def test_long_runs_are_decoded_in_chunks(monkeypatch):
    data, starts, ends = encode(CHOSEN, chosen_rows() * 20)
    whole = decode_records(data, starts, ends, CHOSEN)
    monkeypatch.setattr("hudi_hive.formats.avro.decoder._CHUNK_BYTES", 700)
    assert decode_records(data, starts, ends, CHOSEN).equals(whole)
    monkeypatch.setattr("hudi_hive.formats.avro.decoder._CHUNK_BYTES", 1)
    assert decode_records(data, starts, ends, CHOSEN, columns=["nums", "fix"]).equals(whole.select(["nums", "fix"]))


def test_the_result_does_not_hold_on_to_the_data():
    data, starts, ends = encode(CHOSEN, chosen_rows())
    buffer = bytearray(data)
    batch = decode_records(memoryview(buffer), starts, ends, CHOSEN)
    before = batch.to_pylist()
    buffer[:] = bytes(len(buffer))
    assert batch.to_pylist() == before


def test_one_record_with_a_long_array_of_strings():
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": "string"}}]}
    texts = [f"text {i}" for i in range(20_000)]
    data, starts, ends = encode(schema, [{"a": texts}, {"a": []}, {"a": ["x"]}])
    assert decode_records(data, starts, ends, schema).column(0).to_pylist() == [texts, [], ["x"]]


FILES = {
    "type": "map",
    "values": {
        "type": "record",
        "name": "file",
        "fields": [{"name": "size", "type": "long"}, {"name": "isDeleted", "type": "boolean"}],
    },
}
"""A map of the metadata table's files partition: of a partition's files, or of all partitions."""


def test_one_record_with_a_long_map_of_records():
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", FILES]}]}
    rows = [
        {f"name {i}{'x' * (i % 80)}": {"size": i * i, "isDeleted": i % 3 == 0} for i in range(count)}
        for count in (3_000, 0, 1)
    ]
    data, starts, ends = encode(schema, [{"a": row} for row in rows])
    decoded = decode_records(data, starts, ends, schema).column(0).to_pylist()
    assert [dict(items) for items in decoded] == rows
    for cut in (1, 2, 40):
        with pytest.raises(CorruptFileError):
            decode_records(data, starts[:1], ends[:1] - cut, schema)


def test_items_of_a_map_are_walked_over_without_a_call_for_each_part(monkeypatch):
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": FILES}]}
    data, starts, ends = encode(schema, [{"a": {f"part={i}": {"size": 0, "isDeleted": False} for i in range(2_000)}}])
    calls = []
    long_at = skipping._long_at
    monkeypatch.setattr(skipping, "_long_at", lambda *args: calls.append(args) or long_at(*args))
    assert len(decode_records(data, starts, ends, schema).column(0)[0]) == 2_000
    assert len(calls) < 10


def test_a_recursive_type_is_refused():
    schema = {"type": "record", "name": "r", "fields": [{"name": "next", "type": ["null", "r"]}]}
    with pytest.raises(SchemaError, match="recursive"):
        decode_records(b"", np.zeros(0), np.zeros(0), schema)


def test_references_to_references_are_bounded():
    fields = [{"name": "f", "type": {"type": "record", "name": "n0", "fields": [{"name": "x", "type": "int"}]}}]
    for level in range(1, 60):
        members = [{"name": name, "type": f"n{level - 1}"} for name in "ab"]
        fields.append({"name": f"f{level}", "type": {"type": "record", "name": f"n{level}", "fields": members}})
    with pytest.raises(SchemaError, match="too many fields"):
        decode_records(b"", np.zeros(0), np.zeros(0), {"type": "record", "name": "r", "fields": fields})
