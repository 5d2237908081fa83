"""Unpacks the blocks of Avro object containers, in bounded memory whatever the bytes (Avro specification, "Codecs")."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa

_XZ_MEMORY: Final = 128 << 20
"""Bytes that the decoder of xz may take; Java's writer asks for 65 MiB at its highest level."""

_CHECKSUM: Final = 4
"""Bytes of the CRC-32 behind a block of snappy."""


def unpacked_block(codec: str, content: bytes, most: int) -> bytes:
    """The bytes of a block before it was compressed.

    Args:
        codec: one of :data:`CODECS`.
        content: the compressed bytes.
        most: greatest number of bytes that may come out.

    Raises:
        ValueError: a block that is torn, damaged, or larger than that.
        Exception: what the decoders raise on damaged bytes.
    """
    return _UNPACKERS[codec](content, max(most, 1))


def _deflate(content: bytes, most: int) -> bytes:
    decoder = zlib.decompressobj(-15)
    data = decoder.decompress(content, most)
    return _ended(data, decoder.eof)


def _bzip2(content: bytes, most: int) -> bytes:
    import bz2  # nobody's containers are so as a rule

    decoder = bz2.BZ2Decompressor()
    data = decoder.decompress(content, most)
    return _ended(data, decoder.eof)


def _xz(content: bytes, most: int) -> bytes:
    import lzma  # nobody's containers are so as a rule

    decoder = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
    data = decoder.decompress(content, most)
    return _ended(data, decoder.eof)


def _zstandard(content: bytes, most: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
        data = stream.read(most + 1)
    return _ended(data, len(data) <= most)


def _snappy(content: bytes, most: int) -> bytes:
    packed, checksum = content[:-_CHECKSUM], content[-_CHECKSUM:]
    size = shift = 0
    for byte in packed[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > most:
        raise ValueError("a block is far larger than its compressed bytes")
    data: bytes = pa.decompress(packed, size, codec="snappy", asbytes=True)
    if zlib.crc32(data).to_bytes(_CHECKSUM, "big") != checksum:
        raise ValueError("a block is not that of its checksum")
    return data


def _ended(data: bytes, ended: bool) -> bytes:
    if not ended:
        raise ValueError("a block is torn or far larger than its compressed bytes")
    return data


_UNPACKERS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    "deflate": _deflate,
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": _bzip2,
    "xz": _xz,
}

CODECS: Final = tuple(_UNPACKERS)
"""The compressions that Avro's specification names."""
