"""Hudi's bloom filters of record keys: the text in footers and in the metadata table in, membership out (appendix C).

A filter that says no is right; one that says maybe can be wrong.
"""

from __future__ import annotations

import binascii
import struct
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError

SIMPLE: Final = "SIMPLE"
DYNAMIC: Final = "DYNAMIC_V0"

_PREFIX: Final = struct.Struct(">iibi")  # version, number of hashes, type of hash, bits
_ROWS: Final = struct.Struct(">iii")
_VERSION: Final = -1
_MURMUR: Final = 1
_MOST_HASHES: Final = 10_000
_WORD: Final = 0xFFFFFFFF
_M: Final = 0x5BD1E995


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """One filter.

    Args:
        hashes: bits set per key.
        bits: bits of a row.
        rows: the bits of each row, a row per array of bytes; bit i lies in byte i / 8, lowest first.
    """

    hashes: int
    bits: int
    rows: tuple[npt.NDArray[np.uint8], ...]

    @classmethod
    def parse(cls, text: bytes | str, kind: str, path: str) -> BloomFilter:
        """A filter from its Base64 text.

        Args:
            text: the text.
            kind: type code: ``SIMPLE`` or ``DYNAMIC_V0``.
            path: the file, for errors.

        Raises:
            CorruptFileError: the text does not follow the format.
            UnsupportedFormatError: another type of filter or hash.
        """
        if kind not in (SIMPLE, DYNAMIC):
            raise UnsupportedFormatError(f"bloom filter of type {kind!r}", path=path)
        try:
            data = b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise CorruptFileError("bloom filter: the text is not Base64", path=path) from error
        hashes, bits = _prefix(data, 0, path)
        position = _PREFIX.size
        if kind == SIMPLE:
            row, position = _row(data, position, bits, path)
            return cls(hashes, bits, (row,))
        if position + _ROWS.size > len(data):
            raise CorruptFileError("bloom filter: cut short", path=path)
        count = _ROWS.unpack_from(data, position)[2]
        position += _ROWS.size
        if not 0 < count <= len(data) // _PREFIX.size:
            raise CorruptFileError(f"bloom filter: {count} rows in {len(data)} bytes", path=path)
        rows = []
        for _ in range(count):
            if _prefix(data, position, path) != (hashes, bits):
                raise CorruptFileError("bloom filter: its rows differ in size", path=path)
            row, position = _row(data, position + _PREFIX.size, bits, path)
            rows.append(row)
        return cls(hashes, bits, tuple(rows))

    def may_contain(self, hashes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """For each key whether it may have been added.

        Args:
            hashes: what :func:`key_hashes` gives: a line per key, with at least as many columns as the filter's hashes.
        """
        places = np.abs(np.fmod(hashes[:, : self.hashes], self.bits))
        found = np.zeros(len(hashes), np.bool_)
        for row in self.rows:
            found |= np.all((row[places >> 3] >> (places & 7).astype(np.uint8)) & 1, axis=1)
        return found


def _prefix(data: bytes, position: int, path: str) -> tuple[int, int]:
    if position + _PREFIX.size > len(data):
        raise CorruptFileError("bloom filter: cut short", path=path)
    version, hashes, kind, bits = _PREFIX.unpack_from(data, position)
    if version != _VERSION or kind != _MURMUR:
        raise UnsupportedFormatError(f"bloom filter of version {version} with hash {kind}", path=path)
    if not 0 < hashes <= _MOST_HASHES or bits <= 0:
        raise CorruptFileError(f"bloom filter of {bits} bits and {hashes} hashes", path=path)
    return int(hashes), int(bits)


def _row(data: bytes, position: int, bits: int, path: str) -> tuple[npt.NDArray[np.uint8], int]:
    length = (bits + 7) // 8
    if position + length > len(data):
        raise CorruptFileError("bloom filter: cut short", path=path)
    return np.frombuffer(data, np.uint8, length, position), position + length


def key_hashes(keys: Sequence[str], count: int) -> npt.NDArray[np.int64]:
    """The first hashes of keys, which serve filters of any size: a line per key."""
    lines = np.empty((len(keys), count), np.int64)
    for line, key in enumerate(keys):
        data = key.encode()
        value = 0
        for column in range(count):
            value = murmur2(data, value)
            lines[line, column] = value
    return lines


def murmur2(data: bytes, seed: int) -> int:
    """Hadoop's MurmurHash2, which reads the odd bytes from the end and with their sign; a signed 32-bit number."""
    length = len(data)
    value = (seed ^ length) & _WORD
    for word in struct.unpack_from(f"<{length // 4}I", data):
        word = word * _M & _WORD
        word ^= word >> 24
        value = (value * _M & _WORD) ^ (word * _M & _WORD)
    tail = length % 4
    if tail:
        for back in range(tail, 0, -1):
            byte = data[length - back]
            signed = byte - 256 if byte > 127 else byte
            value ^= (signed << (8 * (back - 1))) & _WORD
        value = value * _M & _WORD
    value ^= value >> 13
    value = value * _M & _WORD
    value ^= value >> 15
    return value - (1 << 32) if value >= 1 << 31 else value
