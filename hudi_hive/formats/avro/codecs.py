"""Unpacks the blocks of Avro object containers, in bounded memory whatever the bytes (Avro specification, "Codecs")."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import pyarrow as pa

_XZ_MEMORY: Final = 128 << 20
"""Bytes that the decoder of xz may take; Java's writer asks for 65 MiB at its highest level."""

_CHECKSUM: Final = 4
"""Bytes of the CRC-32 behind a block of snappy."""

_TOO_LARGE: Final = "a block is torn or far larger than its compressed bytes"


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


def snappy_length(data: bytes | memoryview) -> int | None:
    """The uncompressed length in the preamble of Snappy data; None if it has no end."""
    length = 0
    for place, byte in enumerate(data[:5]):
        length |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return length
    return None


class _Decoder(Protocol):
    """The interface of the decoders of Python's library."""

    @property
    def eof(self) -> bool:
        """Whether the end of the compressed data was met."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Unpack data, up to so many bytes."""


def _unpacked(decoder: _Decoder, content: bytes, most: int) -> bytes:
    data = decoder.decompress(content, most)
    if not decoder.eof:
        raise ValueError(_TOO_LARGE)
    return data


def _deflate(content: bytes, most: int) -> bytes:
    return _unpacked(zlib.decompressobj(-15), content, most)


def _bzip2(content: bytes, most: int) -> bytes:
    import bz2  # nobody's containers are so as a rule

    return _unpacked(bz2.BZ2Decompressor(), content, most)


def _xz(content: bytes, most: int) -> bytes:
    import lzma  # nobody's containers are so as a rule

    return _unpacked(lzma.LZMADecompressor(memlimit=_XZ_MEMORY), content, most)


def _zstandard(content: bytes, most: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise ValueError(_TOO_LARGE)
    return data


def _snappy(content: bytes, most: int) -> bytes:
    packed, checksum = content[:-_CHECKSUM], content[-_CHECKSUM:]
    size = snappy_length(packed)
    if size is None or size > most:
        raise ValueError(_TOO_LARGE)
    data: bytes = pa.decompress(packed, size, codec="snappy", asbytes=True)
    if zlib.crc32(data).to_bytes(_CHECKSUM, "big") != checksum:
        raise ValueError("a block is not that of its checksum")
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
