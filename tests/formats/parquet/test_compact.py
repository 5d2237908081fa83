"""Structs of Thrift's compact protocol, as Thrift's own library writes them."""

from __future__ import annotations

import random

import pytest
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from hudi_hive.formats.parquet import CompactError, read_page_header
from hudi_hive.formats.parquet.compact import I32, I64, fields, integer, structs, texts
from hudi_hive.formats.varints import signed_varint

SCALARS = (TType.BOOL, TType.BYTE, TType.I16, TType.I32, TType.I64, TType.DOUBLE, TType.STRING)
KINDS = {TType.I32: I32, TType.I64: I64}


def _write(protocol: TCompactProtocol, kind: int, rng: random.Random, depth: int) -> object:
    """Write a random value of a type, and give it back where it is a number or a text."""
    if kind == TType.STRUCT:
        return _write_struct(protocol, rng, depth + 1)
    if kind in (TType.LIST, TType.SET):
        item = rng.choice((*SCALARS, TType.STRUCT) if depth < 4 else SCALARS)
        count = rng.choice((0, 1, 14, 15, 40))
        begin = protocol.writeListBegin if kind == TType.LIST else protocol.writeSetBegin
        begin(item, count)
        for _ in range(count):
            _write(protocol, item, rng, depth + 1)
        (protocol.writeListEnd if kind == TType.LIST else protocol.writeSetEnd)()
        return None
    if kind == TType.MAP:
        count = rng.choice((0, 1, 20))
        protocol.writeMapBegin(TType.STRING, TType.BOOL, count)
        for _ in range(count):
            _write(protocol, TType.STRING, rng, depth)
            _write(protocol, TType.BOOL, rng, depth)
        protocol.writeMapEnd()
        return None
    bits = {TType.BYTE: 7, TType.I16: 15, TType.I32: 31, TType.I64: 63}
    if kind in bits:
        number = rng.randrange(-(1 << rng.randint(1, bits[kind])), 1 << rng.randint(1, bits[kind]))
        {
            TType.BYTE: protocol.writeByte,
            TType.I16: protocol.writeI16,
            TType.I32: protocol.writeI32,
            TType.I64: protocol.writeI64,
        }[kind](number)
        return number
    if kind == TType.BOOL:
        protocol.writeBool(rng.random() < 0.5)
    elif kind == TType.DOUBLE:
        protocol.writeDouble(rng.random())
    else:
        data = rng.randbytes(rng.choice((0, 1, 127, 128, 300)))
        protocol.writeBinary(data)
        return data
    return None


def _write_struct(protocol: TCompactProtocol, rng: random.Random, depth: int = 0) -> list[tuple[int, int, object]]:
    protocol.writeStructBegin("")
    number, written = 0, []
    for _ in range(rng.randint(0, 8)):
        number += rng.choice((1, 1, 2, 15, 16, 400))
        kinds = (*SCALARS, TType.LIST, TType.SET, TType.MAP, TType.STRUCT) if depth < 4 else SCALARS
        kind = rng.choice(kinds)
        protocol.writeFieldBegin("", kind, number)
        written.append((number, kind, _write(protocol, kind, rng, depth)))
        protocol.writeFieldEnd()
    protocol.writeFieldStop()
    protocol.writeStructEnd()
    return written


@pytest.mark.parametrize("seed", range(60))
def test_fields_are_those_that_the_library_wrote(seed: int):
    rng, buffer = random.Random(seed), TMemoryBuffer()
    written = _write_struct(TCompactProtocol(buffer), rng)
    data = buffer.getvalue()
    *read, end = fields(b"??" + data + b"!!", 2)
    assert [field.number for field in read] == [number for number, _, _ in written]
    assert end.end == len(data) + 2 and end.kind == 0
    for field, (_, kind, value) in zip(read, written, strict=True):
        if kind in (TType.I16, TType.I32, TType.I64):
            assert integer(data, field.start - 2) == (value, field.end - 2)
        elif kind == TType.STRING:
            assert isinstance(value, bytes) and data[: field.end - 2].endswith(value)
        if kind in KINDS:
            assert field.kind == KINDS[kind]


@pytest.mark.parametrize("value", [0, -1, 1, 63, 64, -64, -65, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])
def test_numbers_are_written_as_they_are_read(value: int):
    data = signed_varint(value)
    assert integer(data, 0) == (value, len(data))
    buffer = TMemoryBuffer()
    protocol = TCompactProtocol(buffer)
    protocol.writeStructBegin("")
    protocol.writeFieldBegin("", TType.I64, 1)
    protocol.writeI64(value)
    assert buffer.getvalue() == b"\x16" + data


@pytest.mark.parametrize("seed", range(20))
def test_an_end_at_any_byte_is_an_error(seed: int):
    rng, buffer = random.Random(seed), TMemoryBuffer()
    _write_struct(TCompactProtocol(buffer), rng)
    data = buffer.getvalue()
    for end in range(0, len(data), max(1, len(data) // 200)):
        with pytest.raises(CompactError):
            list(fields(data[:end], 0))


@pytest.mark.parametrize(
    "data",
    [
        b"\x1c" * 5_000,  # structs inside of one another
        b"\x19\x19" * 5_000,  # lists
        b"\x19\xfc\xff\xff\xff\xff\x0f",  # a list of more items than there are bytes
        b"\x1b\xff\xff\xff\xff\x0f\x11",  # a map of such
        b"\x15" + b"\xff" * 5_000,  # a number without an end
        b"\x1e\x00",  # no type
        b"\x18\xff\xff\xff\x7fx",  # a text longer than the bytes
    ],
)
def test_bytes_that_are_no_struct(data: bytes):
    with pytest.raises(CompactError):
        list(fields(data, 0))
    with pytest.raises(CompactError):
        read_page_header(data)


def test_lists_of_another_type_are_refused():
    with pytest.raises(CompactError, match="in place of structs"):
        list(structs(b"\x15\x02", 0))
    with pytest.raises(CompactError, match="in place of texts"):
        list(texts(b"\x15\x02", 0))
    assert list(texts(b"\x28\x01a\x02bc", 0)) == [b"a", b"bc"]
