"""Writes HFiles of any shape for tests: levels, codecs, fake index keys, the ways of HBase and of the native writer."""

from __future__ import annotations

import bz2
import gzip
import struct
from dataclasses import dataclass

import pyarrow as pa

CODECS = {"LZO": 0, "GZ": 1, "NONE": 2, "SNAPPY": 3, "LZ4": 4, "BZIP2": 5, "ZSTD": 6}
_TIMESTAMP = 0x7FFFFFFFFFFFFFFF


def protobuf_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def hadoop_vint(value):
    if value <= 127:
        return bytes([value])
    magnitude = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([(-112 - len(magnitude)) & 255]) + magnitude


def compress(data, codec, framed=False, chunk=1 << 18):
    if codec == "NONE":
        return data
    if codec == "GZ":
        return gzip.compress(data)
    if codec == "BZIP2":
        return bz2.compress(data)
    name = {"SNAPPY": "snappy", "LZ4": "lz4_raw", "ZSTD": "zstd"}[codec]
    if not framed:
        return pa.Codec(name).compress(data, asbytes=True)
    parts = [struct.pack(">i", len(data))]
    for start in range(0, len(data), chunk):
        piece = pa.Codec(name).compress(data[start : start + chunk], asbytes=True)
        parts += [struct.pack(">i", len(piece)), piece]
    return b"".join(parts)


def full_key(row, family=b"", kind=4):
    return struct.pack(">h", len(row)) + row + bytes([len(family)]) + family + struct.pack(">qb", _TIMESTAMP, kind)


@dataclass
class HFileWriter:
    """What the file shall be like; :meth:`write` makes it from ascending (row, value) pairs of bytes."""

    codec: str = "NONE"
    levels: int = 1
    block_entries: int = 4
    fan_out: int = 3
    rows_alone: bool = False
    framed: bool = False
    checksums: bool = False
    native: bool = False  # index keys without the tail, lengths as protobuf integers
    fake_keys: bool = False
    mvcc: bool = True
    mvcc_byte: bytes = b"\0"
    schema: str | None = None
    metas: tuple[tuple[str, bytes], ...] = ()
    info: tuple[tuple[bytes, bytes], ...] = ()
    family: bytes = b""
    kind: int = 4
    trailer: tuple[tuple[int, int], ...] = ()
    minor_major: bytes = b"\x03\x00\x00\x03"

    def write(self, entries):
        self.out = bytearray()
        nodes = []
        previous = b""
        first = last = 0xFFFFFFFFFFFFFFFF
        for start in range(0, len(entries), self.block_entries):
            some = entries[start : start + self.block_entries]
            content = b"".join(self._entry(row, value) for row, value in some)
            location = self._block(b"DATABLK*", content)
            first = min(first, location[0])
            last = location[0]
            nodes.append((self._separator(previous, some[0][0]), location))
            previous = some[-1][0]
        for level in range(self.levels - 1):
            magic = b"IDXLEAF2" if level == 0 else b"IDXINTE2"
            nodes = [self._branch(magic, nodes[at : at + self.fan_out]) for at in range(0, len(nodes), self.fan_out)]
        metas = [(name.encode(), self._block(b"METABLKc", data)) for name, data in self.metas]
        load = len(self.out)
        tail = b"\0" * 16 if self.levels > 1 else b""
        self._block(b"IDXROOT2", self._root((self._index_key(row), at) for row, at in nodes) + tail)
        self._block(b"IDXROOT2", self._root(metas))
        info_at = len(self.out)
        self._block(b"FILEINF2", self._file_info())
        fields = {1: info_at, 2: load, 5: len(nodes), 6: len(metas), 7: len(entries), 8: self.levels}
        fields |= {9: first, 10: last, 12: CODECS[self.codec]} | dict(self.trailer)
        message = b"".join(bytes([number << 3]) + protobuf_varint(value) for number, value in fields.items())
        trailer = b'TRABLK"$' + protobuf_varint(len(message)) + message
        self.out += trailer.ljust(4092, b"\0") + self.minor_major
        return bytes(self.out)

    def _entry(self, row, value):
        key = struct.pack(">h", len(row)) + row if self.rows_alone else full_key(row, self.family, self.kind)
        return struct.pack(">ii", len(key), len(value)) + key + value + (self.mvcc_byte if self.mvcc else b"")

    def _separator(self, previous, row):
        if not self.fake_keys:
            return row
        for length in range(len(row)):  # the shortest beginning that is still greater than the row before
            if row[:length] > previous:
                return row[:length]
        return row

    def _index_key(self, row):
        return struct.pack(">h", len(row)) + row if self.native else full_key(row)

    def _root(self, nodes):
        varint = protobuf_varint if self.native else hadoop_vint
        return b"".join(struct.pack(">qi", *at) + varint(len(key)) + key for key, at in nodes)

    def _branch(self, magic, nodes):
        entries = [struct.pack(">qi", *at) + self._index_key(row) for row, at in nodes]
        offsets = [0]
        for entry in entries:
            offsets.append(offsets[-1] + len(entry))
        content = struct.pack(f">i{len(offsets)}i", len(entries), *offsets) + b"".join(entries)
        return nodes[0][0], self._block(magic, content)

    def _file_info(self):
        info = list(self.info)
        if self.mvcc:
            info += [(b"KEY_VALUE_VERSION", b"\0\0\0\1"), (b"MAX_MEMSTORE_TS_KEY", bytes(8))]
        if self.schema is not None:
            info.append((b"schema", self.schema.encode()))
        message = b""
        for name, value in info:
            pair = b"\x0a" + protobuf_varint(len(name)) + name + b"\x12" + protobuf_varint(len(value)) + value
            message += b"\x0a" + protobuf_varint(len(pair)) + pair
        return b"PBUF" + protobuf_varint(len(message)) + message

    def _block(self, magic, content):
        data = compress(content, self.codec, self.framed)
        sums = b"\xee" * (4 * -(-(33 + len(data)) // 16384)) if self.checksums else b""
        offset = len(self.out)
        header = struct.pack(">8siiqbii", magic, len(data) + len(sums), len(content), -1, 2, 16384, 33 + len(data))
        self.out += header + data + sums
        return offset, len(self.out) - offset
