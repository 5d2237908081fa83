"""Inputs of at most 64 kB that ask decoders for far more than their own size: memory, time, depth.

``CASES`` maps a name to a function that decodes one such input. ``python -m tests.support.faults.hostile_inputs``, with
words of the names or none, prints for each what came of it, its CPU seconds and how far the peak of resident memory
rose, each in a process of its own.
"""

from __future__ import annotations

import bz2
import io
import json
import os
import resource
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_hive.errors import HudiHiveError
from hudi_hive.formats import parse_properties
from hudi_hive.formats.avro import decode_records, read_container
from hudi_hive.formats.base import open_base_file
from hudi_hive.formats.hash import BloomFilter
from hudi_hive.formats.hfile import HFileReader
from hudi_hive.formats.log import BlockType, HeaderKey, encode_block, iter_blocks
from hudi_hive.formats.orc import parse_hive_type, read_stripes
from hudi_hive.formats.orc import varint as protobuf_varint
from hudi_hive.metastore.connection import read_hive_site
from hudi_hive.predicate import parse_sql
from hudi_hive.schema import parse_history, parse_type
from hudi_hive.storage import Storage, compile_glob, expand_braces
from hudi_hive.sync.diff import is_readable_as
from hudi_hive.table.logs import decode_block
from hudi_hive.timeline.payloads import decode_payload

SIZE = 64 * 1024
"""Bytes of an input at the most."""

MEGABYTES = 256
"""Most memory that decoding one may take beyond what the process had."""

CASES: dict[str, Callable[[], object]] = {}
Decode = Callable[[], object]


def case(name: str) -> Callable[[Decode], Decode]:
    def add(decode: Decode) -> Decode:
        CASES[name] = decode
        return decode

    return add


def apart(make: Callable[[], bytes]) -> bytes:
    """Bytes that another process makes, so that making them does not count as decoding."""
    with TemporaryFile() as file:
        if os.fork() == 0:
            try:
                file.write(make())
                file.flush()
                os._exit(0)
            except BaseException as error:
                print(f"cannot make it: {error!r}")
                os._exit(1)
        assert os.wait()[1] == 0
        file.seek(0)
        return file.read()


# -- Avro containers -------------------------------------------------------------------------------------------------

NULLS = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "string"]}]}
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


def varint(value: int) -> bytes:
    value = value << 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


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


# -- properties, JSON, XML -------------------------------------------------------------------------------------------


@case("properties: one line that goes on in every line")
def _():
    return len(parse_properties(b"a=" + b"b\\\n" * 16_000))


@case("properties: backslashes")
def _():
    return len(parse_properties(b"a=" + b"\\" * 64_000))


@case("properties: escapes")
def _():
    return len(parse_properties(b"\\u0041" * 10_000 + b"=\\u0041"))


@case("properties: many keys")
def _():
    return len(parse_properties(b"".join(b"%d\n" % i for i in range(10_000))))


@case("instant: deep JSON")
def _():
    return decode_payload(b'{"a":' * 10_000, "x", "1")


@case("instant: deep JSON lists")
def _():
    return decode_payload(b'{"a":' + b"[" * 60_000, "x", "1")


@case("instant: long numbers")
def _():
    return decode_payload(b'{"a":' + b"9" * 60_000 + b"}", "x", "1")


@case("instant: many small values")
def _():
    return len(str(decode_payload(b'{"a":[' + b"{}," * 21_000 + b"{}]}", "x", "1")))


@case("schema history: deep types")
def _():
    kind: object = "int"
    for _ in range(400):
        kind = {"type": "array", "element_id": 1, "element": kind, "element_optional": True}
    field = {"id": 0, "name": "a", "optional": True, "type": kind}
    text = json.dumps({"schemas": [{"max_column_id": 1, "version_id": 1, "type": "record", "fields": [field]}]})
    assert len(text) <= SIZE
    return parse_history(text.encode())


@case("hive-site.xml: entities of entities")
def _():
    lines = ['<!ENTITY e0 "' + "x" * 1000 + '">']
    lines += [f'<!ENTITY e{i} "{f"&e{i - 1};" * 50}">' for i in range(1, 20)]
    entry = "<property><name>a</name><value>&e19;</value></property>"
    text = f"<!DOCTYPE c [{''.join(lines)}]><configuration>{entry}</configuration>"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hive-site.xml"
        path.write_text(text)
        return read_hive_site(path)


@case("hive-site.xml: deep elements")
def _():
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hive-site.xml"
        path.write_text("<configuration>" + "<a>" * 20_000)
        return read_hive_site(path)


# -- types, filters, globs -------------------------------------------------------------------------------------------


@case("Hive type: deep arrays")
def _():
    return parse_hive_type("array<" * 9_000 + "int" + ">" * 9_000)


@case("column type: deep arrays")
def _():
    return parse_type("array<" * 9_000 + "int" + ">" * 9_000)


@case("column type: long numbers")
def _():
    return parse_type("decimal(" + "9" * 60_000 + ")")


@case("Hive type: long numbers")
def _():
    return parse_hive_type("decimal(" + "9" * 60_000 + ",1)")


@case("Hive type: many spaces")
def _():
    return parse_hive_type(" " * 60_000 + "!")


@case("types of the metastore: deep arrays")
def _():
    return is_readable_as("array<" * 9_000 + "int" + ">" * 9_000, "array<" * 9_000 + "bigint" + ">" * 9_000)


@case("types of the metastore: open arrays")
def _():
    return is_readable_as("struct<a:" * 900, "array<" * 900)


@case("filter: deep parentheses")
def _():
    return parse_sql("(" * 60_000 + "a = 1")


@case("filter: deep parentheses of operands")
def _():
    return parse_sql("a = " + "(" * 30_000 + "1" + ")" * 30_000)


@case("filter: NOT NOT")
def _():
    return parse_sql("NOT " * 15_000 + "a = 1")


@case("filter: IS TRUE IS TRUE")
def _():
    return str(parse_sql("a = 1" + " IS TRUE" * 7_000))[:10]


@case("filter: long numbers")
def _():
    return parse_sql("a = " + "9" * 60_000)


@case("filter: great exponents")
def _():
    return parse_sql("a = 1e" + "9" * 18 + "BD")


@case("glob: alternatives of alternatives")
def _():
    return len(expand_braces("{a,b}" * 1_600))


@case("glob: many stars")
def _():
    return compile_glob("*a" * 30 + "b", "x").fullmatch("a" * 250)


@case("glob: deep alternatives")
def _():
    return len(expand_braces("{a," * 2_000 + "}" * 2_000))


# -- bloom filters, HFiles, ORC footers -------------------------------------------------------------------------------


@case("bloom filter: many rows")
def _():
    import base64

    prefix = struct.pack(">iibi", -1, 30, 1, 1)
    rows = 3_400
    data = prefix + struct.pack(">iii", 1, 1, rows) + (prefix + b"\0") * rows
    keys = np.zeros((100, 30), np.int64)
    return int(BloomFilter.parse(base64.b64encode(data), "DYNAMIC_V0", "x").may_contain(keys).sum())


@case("bloom filter: many hashes")
def _():
    import base64

    data = struct.pack(">iibi", -1, 10_000, 1, 100_000) + bytes(12_500)
    filter_ = BloomFilter.parse(base64.b64encode(data), "SIMPLE", "x")
    return filter_.hashes


def hfile(codec: int, squeeze: Callable[[bytes], bytes], content: bytes, blocks: int, entries: int) -> bytes:
    """An HFile with so many equal data blocks and a root index of them."""
    packed = squeeze(content)
    header = struct.Struct(">8siiqbii")
    parts: list[bytes] = []
    index = b""
    at = 0
    for number in range(blocks):
        block = header.pack(b"DATABLK*", len(packed), len(content), -1, 1, 16384, len(packed) + header.size) + packed
        parts.append(block)
        key = struct.pack(">h", 8) + b"%08d" % number + bytes(10)
        index += struct.pack(">qi", at, len(block)) + bytes([len(key)]) + key
        at += len(block)

    def plain(magic: bytes, body: bytes) -> bytes:
        body_packed = squeeze(body)
        return (
            header.pack(magic, len(body_packed), len(body), -1, 1, 16384, len(body_packed) + header.size) + body_packed
        )

    load = at
    root = plain(b"IDXROOT2", index)
    meta = plain(b"IDXROOT2", b"")
    info = plain(b"FILEINF2", b"PBUF\0")
    message = b""
    info_at = load + len(root) + len(meta)
    for number, value in ((1, info_at), (2, load), (5, blocks), (6, 0), (7, entries), (8, 1), (12, codec)):
        message += bytes([number << 3]) + protobuf_varint(value)
    trailer = b'TRABLK"$' + protobuf_varint(len(message)) + message
    trailer += bytes(4096 - 4 - len(trailer)) + struct.pack(">i", 3)
    data = b"".join(parts) + root + meta + info + trailer
    assert len(data) <= SIZE, len(data)
    return data


SMALL_ENTRY = struct.pack(">ii", 12, 0) + b"\0\0\0" + b"\x7f" + b"\xff" * 7 + b"\4"


def _gzip(data: bytes) -> bytes:
    squeezer = zlib.compressobj(9, wbits=31)
    return squeezer.compress(data) + squeezer.flush()


_SQUEEZE = {1: _gzip, 5: bz2.compress, 6: lambda data: pa.Codec("zstd", 19).compress(data, asbytes=True)}

for _number, _codec_name in ((1, "GZ"), (5, "BZIP2"), (6, "ZSTD")):

    @case(f"HFile, {_codec_name}: one block of very many small entries")
    def _(number=_number):
        count = 500_000
        data = hfile(number, _SQUEEZE[number], SMALL_ENTRY * count, 1, count)
        return HFileReader(data, "x").scan().num_rows

    @case(f"HFile, {_codec_name}: blocks of one entry that is blank")
    def _(number=_number):
        value = bytes(20_000_000)
        content = struct.pack(">ii", 12, len(value)) + SMALL_ENTRY[8:] + value
        packed = _SQUEEZE[number](content)
        count = min(20, (SIZE - 6000) // (len(packed) + 80))
        data = hfile(number, lambda body: packed if body is content else _SQUEEZE[number](body), content, count, count)
        return HFileReader(data, "x").scan().num_rows


@case("HFile without compression: small entries")
def _():
    count = 2_000
    return HFileReader(hfile(2, bytes, SMALL_ENTRY * count, 1, count), "x").scan().num_rows


def orc(packing: int, chunk: bytes, count: int) -> bytes:
    footer = (len(chunk) << 1).to_bytes(3, "little") + chunk
    footer = footer * count
    postscript = (
        b"\x08" + protobuf_varint(len(footer)) + b"\x10" + bytes([packing]) + b"\x18" + protobuf_varint(1 << 23)
    )
    postscript += b"\x82\xf4\x03\x03ORC"
    data = b"ORC" + footer + postscript + bytes([len(postscript)])
    assert len(data) <= SIZE, len(data)
    return data


@case("ORC footer, zlib: chunks of blanks")
def _():
    squeezer = zlib.compressobj(9, wbits=-15)
    chunk = squeezer.compress(bytes(8_000_000)) + squeezer.flush()
    return read_stripes(pa.PythonFile(io.BytesIO(orc(1, chunk, 60_000 // (len(chunk) + 3))), "r"), "x")


@case("ORC footer, zstd: chunks of blanks")
def _():
    chunk = pa.Codec("zstd").compress(bytes(8_000_000), asbytes=True)
    return read_stripes(pa.PythonFile(io.BytesIO(orc(5, chunk, 60_000 // (len(chunk) + 3))), "r"), "x")


@case("ORC footer: many stripes")
def _():
    chunk = b"\x1a\0" * 16_000
    footer = (len(chunk) << 1 | 1).to_bytes(3, "little") + chunk
    postscript = (
        b"\x08" + protobuf_varint(len(footer)) + b"\x10\x01\x18" + protobuf_varint(1 << 23) + b"\x82\xf4\x03\x03ORC"
    )
    data = b"ORC" + footer + postscript + bytes([len(postscript)])
    return len(read_stripes(pa.PythonFile(io.BytesIO(data), "r"), "x") or ())


# -- base files ------------------------------------------------------------------------------------------------------


def parquet(table: pa.Table, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=1 << 30, write_statistics=False, store_schema=False, **options)
    data = sink.getvalue().to_pybytes()
    assert len(data) <= SIZE, len(data)
    return data


def read_base_file(data: bytes, name: str = "f.parquet") -> str:
    """Rows and most bytes of a batch of a base file."""
    with TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        with open_base_file(Storage(folder), name) as file:
            rows = most = 0
            for batch in file.batches(file.schema.names, use_threads=False):
                rows += batch.num_rows
                most = max(most, batch.nbytes)
                if rows > 5_000_000 or most > 10 << 20:
                    break
            return f"{rows} rows, batches of up to {most >> 20} MB"


def repeated(values: list[object], rows: int, kind: pa.DataType) -> pa.Table:
    indices = pa.array(np.zeros(rows, np.int32) if len(values) == 1 else np.arange(rows, dtype=np.int32) % len(values))
    return pa.table({"a": pa.DictionaryArray.from_arrays(indices, pa.array(values, kind))})


def list_of_nulls(lists: int, each: int) -> pa.Table:
    items = pa.nulls(lists * each, pa.bool_())
    offsets = pa.array(np.arange(lists + 1, dtype=np.int32) * each)
    return pa.table({"a": pa.ListArray.from_arrays(offsets, items)})


PARQUET: dict[str, Callable[[], bytes]] = {
    "one long value in 10,000 rows": lambda: parquet(
        repeated(["x" * 1_000_000], 10_000, pa.string()), compression="zstd"
    ),
    "one long value in a million rows": lambda: parquet(
        repeated(["x" * 1_000_000], 1_000_000, pa.string()), compression="zstd"
    ),
    "nulls in very many rows": lambda: parquet(pa.table({"a": pa.nulls(20_000_000, pa.int64())}), compression="zstd"),
    "one list of very many nulls": lambda: parquet(list_of_nulls(1, 100_000_000), compression="zstd"),
    "lists of very many nulls": lambda: parquet(list_of_nulls(1000, 50_000), compression="zstd"),
    "a page that inflates a thousand times": lambda: parquet(
        pa.table({"a": [" " * 60_000_000]}), compression="gzip", use_dictionary=False
    ),
    "a page that inflates many thousand times": lambda: parquet(
        pa.table({"a": [" " * 400_000_000]}), compression="zstd", use_dictionary=False
    ),
}

for _name, _make in PARQUET.items():

    @case(f"Parquet: {_name}")
    def _(make=_make):
        return read_base_file(apart(make))


# -- log blocks ------------------------------------------------------------------------------------------------------


@case("log file: magics and nothing else")
def _():
    return len(list(iter_blocks(b"#HUDI#" * 10_000, "x")))


@case("log file: many small blocks")
def _():
    one = encode_block(BlockType.COMMAND, {HeaderKey.INSTANT_TIME: "1"}, b"")
    return len(list(iter_blocks(one * (SIZE // len(one)), "x")))


@case("log block: headers without end")
def _():
    one = encode_block(BlockType.AVRO_DATA, {}, b"")
    data = bytearray(one)
    data[22:26] = (1 << 30).to_bytes(4, "big")
    return len(list(iter_blocks(bytes(data), "x")))


def data_block(kind: BlockType, content: bytes, schema: object) -> object:
    headers = {HeaderKey.INSTANT_TIME: "1", HeaderKey.SCHEMA: json.dumps(schema)}
    (block,) = iter_blocks(encode_block(kind, headers, content), "x")
    return decode_block(block, "1", None)


@case("log block: an HFile of blank values")
def _():
    value = bytes(20_000_000)
    content = struct.pack(">ii", 12, len(value)) + SMALL_ENTRY[8:] + value
    packed = _gzip(content)
    count = (SIZE - 6000) // (len(packed) + 80)
    data = hfile(1, lambda body: packed if body is content else _gzip(body), content, count, count)
    return data_block(BlockType.HFILE_DATA, data, NULLS)


@case("log block: Parquet of one long value in many rows")
def _():
    data = apart(lambda: parquet(repeated(["x" * 1_000_000], 10_000, pa.string()), compression="zstd"))
    return data_block(BlockType.PARQUET_DATA, data, NULLS)


@case("log block: deletes in lists of orderings")
def _():
    # one delete after the other, each with a list of no ordering values
    content = varint(10_000) + (b"\0\0" + varint(12) + varint(1) + b"\0") * 10_000 + b"\0"
    content = struct.pack(">ii", 3, len(content)) + content
    (block,) = iter_blocks(encode_block(BlockType.DELETE, {HeaderKey.INSTANT_TIME: "1"}, content), "x")
    return decode_block(block, "1", None)


def run(name: str) -> tuple[str, float, float]:
    """What one case comes to: result or error, CPU seconds, megabytes more than before at the peak."""
    decode = CASES[name]
    usage = resource.getrusage(resource.RUSAGE_SELF)
    memory, cpu = usage.ru_maxrss, usage.ru_utime + usage.ru_stime
    try:
        outcome = f"gives {decode()!r}"[:60]
    except HudiHiveError as error:
        outcome = f"{type(error).__name__}: {error}"[:110]
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return outcome, usage.ru_utime + usage.ru_stime - cpu, (usage.ru_maxrss - memory) / 1024


def main() -> None:
    as_json = "--json" in sys.argv
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    for name in [name for name in CASES if not words or any(word in name for word in words)]:
        sys.stdout.flush()
        if os.fork() == 0:
            # Far more than any case needs: only there so that a broken bound ends the case and not the machine.
            resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            try:
                outcome, seconds, megabytes = run(name)
            except BaseException as error:
                outcome, seconds, megabytes = f"!!! {type(error).__name__}: {error}"[:200], 0.0, 0.0
            line = f"{seconds:6.2f} s {megabytes:6.0f} MB  {name}: {outcome}"
            print(json.dumps([name, outcome, megabytes]) if as_json else line, flush=True)
            os._exit(0)
        if status := os.wait()[1]:
            outcome = f"!!! ended with {status}"
            print(json.dumps([name, outcome, 0.0]) if as_json else f"{name}: {outcome}", flush=True)


if __name__ == "__main__":
    main()
