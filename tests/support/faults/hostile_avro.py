"""Hostile Avro containers, and records of Avro that are decoded by column."""

from __future__ import annotations

import io
import json
import zlib

import fastavro
import numpy as np

from hudi_hive.formats.avro import decode_records, read_container
from tests.support.faults.hostile_cases import NULLS, SIZE, CaseSet, varint

CASES = CaseSet()
case = CASES.case

# -- Avro containers -------------------------------------------------------------------------------------------------

LISTS = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}]}
MAPS = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "map", "values": "int"}}]}


def deep_record(depth: int) -> dict[str, object]:
    kind: object = "int"
    for level in range(depth):
        kind = {"type": "record", "name": f"r{level}", "fields": [{"name": "a", "type": kind}]}
    assert isinstance(kind, dict)
    return kind


def wide_record(width: int) -> dict[str, object]:
    fields = [{"name": f"c{i}", "type": "null"} for i in range(width)]
    return {"type": "record", "name": "r", "fields": [*fields, {"name": "z", "type": "int"}]}


def container(schema: object, count: int, content: bytes, codec: str = "deflate") -> bytes:
    """A container of one block with that content."""
    stream = io.BytesIO()
    fastavro.writer(stream, schema, [], codec=codec)
    head = stream.getvalue()
    if codec == "deflate":
        squeezer = zlib.compressobj(9, wbits=-15)
        content = squeezer.compress(content) + squeezer.flush()
    data = head + varint(count) + varint(len(content)) + content + head[-16:]
    assert len(data) <= SIZE, len(data)
    return data


MILLIONS = 30_000_000

for _codec, _count in (("deflate", MILLIONS), ("null", 60_000)):
    for _name, _schema in (
        ("records of null", NULLS),
        ("records of records", deep_record(90)),
        ("records of many nulls", wide_record(400)),
    ):

        @case(f"Avro container, {_codec}: {_name}")
        def _(codec=_codec, count=_count, schema=_schema):
            size = SIZE - 400 - len(json.dumps(schema)) if codec == "null" else count
            return len(read_container(container(schema, size, bytes(size), codec), "x"))

    @case(f"Avro container, {_codec}: an array of ints")
    def _(codec=_codec, count=_count):
        return len(read_container(container(LISTS, 1, varint(count) + bytes(count + 1), codec), "x"))

    @case(f"Avro container, {_codec}: a map of ints")
    def _(codec=_codec, count=_count // 2):
        return len(read_container(container(MAPS, 1, varint(count) + bytes(2 * count + 1), codec), "x"))

    @case(f"Avro container, {_codec}: empty arrays")
    def _(codec=_codec, count=_count):
        return len(read_container(container(LISTS, count, bytes(count), codec), "x"))


@case("Avro container: many blocks that inflate to as much as may be")
def _():
    stream = io.BytesIO()
    fastavro.writer(stream, NULLS, [], codec="deflate")
    head = stream.getvalue()
    squeezer = zlib.compressobj(9, wbits=-15)
    block = squeezer.compress(bytes(1_000_000)) + squeezer.flush()
    one = varint(1_000_000) + varint(len(block)) + block + head[-16:]
    return len(read_container(head + one * ((SIZE - len(head)) // len(one)), "x"))


@case("Avro container: a header of entries without bytes")
def _():
    return len(read_container(b"Obj\x01" + varint(30_000) + bytes(60_000), "x"))


@case("Avro container: a schema that refers to itself twice at each level")
def _():
    fields = [{"name": "a", "type": "int"}]
    kind: dict[str, object] = {"type": "record", "name": "r0", "fields": fields}
    for level in range(1, 60):
        kind = {
            "type": "record",
            "name": f"r{level}",
            "fields": [{"name": "a", "type": kind}, {"name": "b", "type": f"r{level - 1}"}],
        }
    data = io.BytesIO()
    fastavro.writer(data, NULLS, [])
    header = json.dumps(kind).encode()
    return read_container(
        b"Obj\x01" + varint(1) + varint(11) + b"avro.schema" + varint(len(header)) + header + bytes(20), "x"
    )


# -- Avro records by column ------------------------------------------------------------------------------------------


def spans(count: int, each: int) -> tuple[np.ndarray, np.ndarray]:
    starts = np.arange(count) * each
    return starts, starts + each


@case("Avro columns: nulls of wide fixed values")
def _():
    kind = {"type": "fixed", "name": "f", "size": 1 << 20}
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", kind]}]}
    return decode_records(bytes(60_000), *spans(60_000, 1), schema).nbytes


@case("Avro columns: nulls of a thousand columns")
def _():
    inner = {"type": "record", "name": "i", "fields": [{"name": f"c{i}", "type": "double"} for i in range(1000)]}
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", inner]}]}
    return decode_records(bytes(30_000), *spans(30_000, 1), schema).nbytes


@case("Avro columns: records inside of records")
def _():
    return decode_records(bytes(60_000), *spans(60_000, 1), deep_record(90)).nbytes


@case("Avro columns: many nulls beside an int")
def _():
    return decode_records(bytes(20_000), *spans(20_000, 1), wide_record(900)).nbytes


@case("Avro columns: arrays of nulls of wide values")
def _():
    kind = {"type": "fixed", "name": "f", "size": 60_000}
    items = {"type": "array", "items": ["null", kind]}
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": items}]}
    data = varint(60_000) + bytes(60_001)
    return decode_records(data, np.array([0]), np.array([len(data)]), schema).nbytes


@case("Avro columns: arrays of arrays of arrays")
def _():
    kind: object = "int"
    for _ in range(60):
        kind = {"type": "array", "items": kind}
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}
    data = (varint(1) * 59 + varint(0)) * 10 + bytes(60)
    return decode_records(data, np.array([0]), np.array([len(data)]), schema).nbytes


@case("Avro columns: arrays in blocks of one item")
def _():
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}]}
    data = (varint(1) + b"\0") * 30_000 + b"\0"
    return decode_records(data, np.array([0]), np.array([len(data)]), schema).nbytes


@case("Avro columns: many arrays in blocks of one item")
def _():
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}]}
    one = (varint(1) + b"\0") * 250 + b"\0"
    return decode_records(one * 120, *spans(120, len(one)), schema).nbytes
