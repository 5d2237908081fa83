"""Hostile files: bloom filters, HFiles, ORC footers, Parquet and log blocks."""

from __future__ import annotations

import bz2
import io
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_hive.formats import varint as protobuf_varint
from hudi_hive.formats.base import open_base_file
from hudi_hive.formats.hash import BloomFilter
from hudi_hive.formats.hfile import HFileReader
from hudi_hive.formats.log import BlockType, HeaderKey, encode_block, iter_blocks
from hudi_hive.formats.orc import read_stripes
from hudi_hive.storage import Storage
from hudi_hive.table.logs import decode_block
from tests.support.faults.hostile_cases import NULLS, SIZE, CaseSet, apart, varint

CASES = CaseSet()
case = CASES.case

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
