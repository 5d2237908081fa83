"""What tests of avro decoder share with others."""

from __future__ import annotations

import datetime as dt
import io
import struct
from decimal import Decimal

import fastavro
import numpy as np
from hypothesis import strategies as st


def varint(value: int) -> bytes:
    number = (value << 1) ^ (value >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def prefixed(data: bytes) -> bytes:
    return varint(len(data)) + data


LONGS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-70, 70) | st.sampled_from([1 << 55, -(1 << 55), 1 << 27])


INTS = st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(-70, 70)


TEXTS = st.text(max_size=12) | st.sampled_from(["", "æøå", "x" * 70])


DAYS = st.integers(-100_000, 100_000)


def decimal_bytes(size: int) -> st.SearchStrategy[bytes]:
    return st.integers(-(10**18 - 1), 10**18 - 1).map(lambda number: number.to_bytes(size, "big", signed=True))


PLAIN = [
    ("null", st.just(b"")),
    ("boolean", st.booleans().map(lambda flag: bytes([flag]))),
    ("int", INTS.map(varint)),
    ("long", LONGS.map(varint)),
    ("float", st.floats(width=32, allow_nan=False).map(lambda number: struct.pack("<f", number))),
    ("double", st.floats(allow_nan=False).map(lambda number: struct.pack("<d", number))),
    ("bytes", st.binary(max_size=9).map(prefixed)),
    ("string", TEXTS.map(lambda text: prefixed(text.encode("utf-8")))),
    ({"type": "int", "logicalType": "date"}, DAYS.map(varint)),
    ({"type": "long", "logicalType": "timestamp-micros"}, INTS.map(varint)),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, INTS.map(varint)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 4}, decimal_bytes(9).map(prefixed)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 4}, decimal_bytes(20).map(prefixed)),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 0},
        INTS.map(lambda n: prefixed(n.to_bytes((8 + (n + (n < 0)).bit_length()) // 8, "big", signed=True))),
    ),
]


def blocks(items: list[bytes], cut: int, sized: bool) -> bytes:
    """Items of an array in blocks of at most so many, with or without sizes."""
    out = b""
    for at in range(0, len(items), cut):
        block = items[at : at + cut]
        body = b"".join(block)
        out += varint(-len(block)) + varint(len(body)) + body if sized else varint(len(block)) + body
    return out + b"\0"


@st.composite
def types(draw, depth: int = 0, in_union: bool = False):
    """A schema and a strategy of encoded values."""
    kinds = ["plain", "plain", "fixed", "enum"]
    if depth < 3:
        kinds += ["record", "array", "map"] + ([] if in_union else ["union", "nullable", "nullable"])
    kind = draw(st.sampled_from(kinds))
    name = f"n{draw(st.integers(0, 1 << 40))}"
    if kind == "plain":
        return draw(st.sampled_from(PLAIN[1:] if in_union else PLAIN))
    if kind == "fixed":
        size = draw(st.integers(1, 5))
        if draw(st.booleans()):
            size = draw(st.sampled_from([8, 16, 19]))
            schema = {"type": "fixed", "name": name, "size": size, "logicalType": "decimal", "precision": 18}
            return schema, decimal_bytes(size)
        return {"type": "fixed", "name": name, "size": size}, st.binary(min_size=size, max_size=size)
    if kind == "enum":
        symbols = ["RED", "GREEN", "BLUE"]
        return {"type": "enum", "name": name, "symbols": symbols}, st.integers(0, 2).map(varint)
    if kind == "record":
        members = draw(st.lists(types(depth + 1), max_size=3))
        fields = [{"name": f"c{i}", "type": member[0]} for i, member in enumerate(members)]
        values = st.tuples(*[member[1] for member in members]).map(b"".join)
        return {"type": "record", "name": name, "fields": fields}, values
    if kind in ("array", "map"):
        schema, values = draw(types(depth + 1))
        cut, sized = draw(st.integers(1, 4)), draw(st.booleans())
        if kind == "map":
            pairs = st.tuples(TEXTS.map(lambda text: prefixed(text.encode())), values).map(b"".join)
            return {"type": "map", "values": schema}, items_of(pairs, cut, sized)
        # The decoder doubts arrays that claim more items than bytes unless these can be empty.
        return {"type": "array", "items": schema}, items_of(values, cut, sized)
    count = 1 if kind == "nullable" else draw(st.integers(2, 3))
    members = draw(st.lists(types(depth + 1, in_union=True), min_size=count, max_size=count))
    branches = [member[0] for member in members]
    values = [member[1] for member in members]
    if kind == "nullable" or draw(st.booleans()):
        at = draw(st.integers(0, count))
        branches.insert(at, "null")
        values.insert(at, st.just(b""))
    return branches, st.one_of([value.map(lambda data, i=i: varint(i) + data) for i, value in enumerate(values)])


def items_of(values, cut: int, sized: bool):
    return st.lists(values, max_size=6).map(lambda items: blocks(items, cut, sized))


@st.composite
def record_sets(draw):
    members = draw(st.lists(types(), min_size=1, max_size=5))
    fields = [{"name": f"f{i}", "type": member[0]} for i, member in enumerate(members)]
    schema = {"type": "record", "name": "top", "fields": fields}
    row = st.tuples(*[member[1] for member in members]).map(b"".join)
    rows = draw(st.lists(row, max_size=7))
    # Repeated, so that loops over many records are taken as well as those over few.
    rows = rows * draw(st.sampled_from([1, 1, 60]))
    wanted = draw(st.none() | st.lists(st.sampled_from([field["name"] for field in fields]), max_size=4))
    return schema, rows, wanted


def laid_out(rows: list[bytes], gap: bytes = b"") -> tuple[bytes, np.ndarray, np.ndarray]:
    starts, ends, data = [], [], b""
    for row in rows:
        data += gap
        starts.append(len(data))
        data += row
        ends.append(len(data))
    return data, np.array(starts, np.int64), np.array(ends, np.int64)


UTC = dt.UTC


CHOSEN = {
    "type": "record",
    "name": "chosen",
    "namespace": "hoodie.t",
    "fields": [
        {"name": "i", "type": "int", "doc": "a number"},
        {"name": "l", "type": ["null", "long"]},
        {"name": "r", "type": ["null", "string"]},
        {"name": "d", "type": [{"type": "int", "logicalType": "date"}, "null"]},
        {"name": "tm", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "tu", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "ms", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "us", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "dec", "type": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}},
        {
            "name": "fix",
            "type": ["null", {"type": "fixed", "name": "fixed", "namespace": "hoodie.t.fix", "size": 5,
                              "logicalType": "decimal", "precision": 10, "scale": 2}],
        },
        {"name": "raw", "type": {"type": "fixed", "name": "raw3", "size": 3}},
        {"name": "colour", "type": {"type": "enum", "name": "colour", "symbols": ["RED", "GREEN"]}},
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "nums", "type": {"type": "array", "items": "long"}},
        {"name": "m", "type": ["null", {"type": "map", "values": {"type": "array", "items": "int"}}]},
        {
            "name": "s",
            "type": ["null", {"type": "record", "name": "inner", "fields": [
                {"name": "x", "type": ["null", "int"]}, {"name": "y", "type": "string"}]}],
        },
        {"name": "again", "type": ["null", "inner"]},
    ],
}  # fmt: skip


def chosen_rows() -> list[dict]:
    base = {
        "i": -1, "l": 1 << 62, "r": "æ", "d": dt.date(1965, 2, 3), "tm": dt.time(23, 59, 59, 999000),
        "tu": dt.time(1, 2, 3, 4), "ms": dt.datetime(2026, 1, 2, 3, 4, 5, 6000, UTC),
        "us": dt.datetime(1900, 1, 1, 0, 0, 0, 1, UTC), "local": dt.datetime(2026, 5, 5, 1, 2, 3, 4),
        "uuid": "8c9a7c6e-0000-4000-8000-000000000000", "dec": Decimal("-12345.000000000000001"),
        "fix": Decimal("99999999.99"), "raw": b"abc", "colour": "GREEN", "tags": ["a", None, ""],
        "nums": list(range(-300, 300, 7)), "m": {"k": [1, 2], "": []}, "s": {"x": 1, "y": "z"}, "again": None,
    }  # fmt: skip
    empty = dict(base, i=0, l=None, r=None, d=None, ms=None, dec=Decimal(0), fix=None, tags=[], nums=[], m=None, s=None)
    other = dict(base, i=(1 << 31) - 1, l=-(1 << 63), fix=Decimal("-0.01"), again={"x": None, "y": ""}, m={})
    return [base, empty, other]


def encode(schema: dict, rows: list[dict]) -> tuple[bytes, np.ndarray, np.ndarray]:
    parsed, out = fastavro.parse_schema(schema), []
    for row in rows:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, parsed, row)
        out.append(stream.getvalue())
    return laid_out(out)
