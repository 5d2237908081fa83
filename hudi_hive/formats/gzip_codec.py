"""Packs and unpacks bytes by gzip: with ISA-L, several times as fast as zlib, where it is installed.

Source: RFC 1952, RFC 1950.
"""

from __future__ import annotations

import zlib
from functools import cache
from types import ModuleType
from typing import Final

import pyarrow as pa

_GZIP: Final = 31
"""Bits of the window, with a header of gzip."""

_ANY: Final = 47
"""The same, with a header of gzip or of zlib, whichever is there."""

_LEVEL: Final = 1
"""Level of ISA-L: its higher ones are slower, and make what tables hold no smaller."""

_LEVEL_OF_ZLIB: Final = 6


class GzipError(ValueError):
    """Bytes that are not compressed by gzip."""


@cache
def _isal() -> ModuleType | None:
    try:
        from isal import isal_zlib
    except ImportError:
        return None  # executors may have an environment of their own, and there is not a wheel for each machine
    return isal_zlib


def packs_fast() -> bool:
    """Whether ISA-L is installed."""
    return _isal() is not None


def pack(data: bytes | memoryview) -> bytes:
    """Bytes compressed by gzip."""
    isal = _isal()
    if isal is not None:
        return bytes(isal.compress(data, _LEVEL, wbits=_GZIP))
    squeezer = zlib.compressobj(_LEVEL_OF_ZLIB, zlib.DEFLATED, _GZIP)
    return squeezer.compress(data) + squeezer.flush()


def unpack(data: bytes | memoryview | pa.Buffer, most: int) -> bytes:
    """The first bytes, at most so many, of what was compressed by gzip or zlib.

    Raises:
        GzipError: the bytes are damaged, or end too early.
    """
    library = _isal() or zlib
    failure: type[Exception] = library.error
    unpacker = library.decompressobj(_ANY)
    try:
        content = bytes(unpacker.decompress(data, most))
    except failure as error:
        raise GzipError(str(error)) from error
    if len(content) < most and not unpacker.eof:
        raise GzipError("the data ends before its checksum")
    return content
