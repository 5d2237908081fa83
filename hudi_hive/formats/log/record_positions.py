"""Decodes and encodes the header RECORD_POSITIONS of log blocks: a Roaring bitmap of row numbers of a base file.

Source: docs/format.md#record-positions.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hudi_hive.formats.log.block import BlockType, HeaderKey, LogBlock

Rows = npt.NDArray[np.int64]
"""Row numbers of a base file, ascending."""

_BUCKETS: Final = struct.Struct("<Q")
_WORD: Final = struct.Struct("<I")
_HALF: Final = struct.Struct("<H")
_NO_RUNS: Final = 12346
_RUNS: Final = 12347
"""The first half word of a bitmap with run containers; the second is the number of containers less one."""

_SPAN: Final = 1 << 16
"""Numbers that a container may hold."""
_MOST_LISTED: Final = 4096
"""Numbers of a container that are written one by one, or as runs; more are a bit each."""
_BITMAP_BYTES: Final = _SPAN // 8
_NO_OFFSETS: Final = 4
"""Containers from which on a bitmap with runs has offsets."""
_MOST_HIGH: Final = 1 << 31

# The k-th record of these is at the k-th position. Records of HFile blocks are in the order of their keys.
_IN_ORDER: Final = frozenset({BlockType.AVRO_DATA, BlockType.PARQUET_DATA, BlockType.DELETE})


@dataclass(frozen=True, slots=True)
class RecordPositions:
    """The rows of a base file that the records of a log block stand for, as the header has them.

    Attributes:
        base_instant: instant of the base file.
        bitmap: Base64 of the bitmap.
    """

    base_instant: str
    bitmap: str

    @classmethod
    def of(cls, block: LogBlock) -> RecordPositions | None:
        """The positions of a block; None if it has none, or has its records in another order."""
        bitmap = block.headers.get(HeaderKey.RECORD_POSITIONS)
        instant = block.headers.get(HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS)
        if bitmap is None or instant is None or block.type not in _IN_ORDER:
            return None
        return cls(instant, bitmap)

    @classmethod
    def encoded(cls, base_instant: str, rows: Rows) -> RecordPositions:
        """The positions of records.

        Args:
            base_instant: instant of the base file.
            rows: row numbers in it, ascending, each once.
        """
        return cls(base_instant, base64.b64encode(_encode(rows)).decode())

    @property
    def headers(self) -> Mapping[HeaderKey, str]:
        """The header entries of a block with these positions."""
        return {
            HeaderKey.RECORD_POSITIONS: self.bitmap,
            HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS: self.base_instant,
        }

    def rows(self, count: int) -> Rows | None:
        """The row number of each record of the block.

        Memory and time are those of the text and of ``count`` numbers, whatever the bitmap claims to hold.

        Args:
            count: records of the block.

        Returns:
            None if this is no bitmap of so many numbers: a reader then merges by key.
        """
        try:
            rows = _Bitmap(base64.b64decode(self.bitmap, validate=True), count).rows()
        except (struct.error, binascii.Error, ValueError):
            return None
        return rows if len(rows) == count and bool((rows[1:] > rows[:-1]).all()) else None


class _Bitmap:
    """Reads a portable 64-bit Roaring bitmap of a number of row numbers that is told beforehand.

    Each read is of bytes that are there, and what a container claims to hold is taken from ``left`` before it is
    expanded.
    """

    def __init__(self, data: bytes, count: int) -> None:
        self.data = data
        self.left = count
        self.at = 0

    def rows(self) -> Rows:
        """All numbers, in the order of the bitmap.

        Raises:
            ValueError, struct.error: a length, kind or number is wrong.
        """
        parts: list[Rows] = []
        for _ in range(self._count(_BUCKETS, 2 * _WORD.size)):
            high = self._number(_WORD)
            if high >= _MOST_HIGH:
                raise ValueError("row numbers are not negative")
            parts += (part + (high << 32) for part in self._bucket())
        if self.left or self.at != len(self.data):
            raise ValueError("fewer numbers than records, or bytes behind them")
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def _number(self, kind: struct.Struct) -> int:
        value: int = kind.unpack_from(self.data, self.at)[0]
        self.at += kind.size
        return value

    def _count(self, kind: struct.Struct, least: int) -> int:
        """A number of things of ``least`` bytes each, which must be there."""
        count = self._number(kind)
        if count * least > len(self.data) - self.at:
            raise ValueError("more than the bytes that there are")
        return count

    def _take(self, kind: str, count: int) -> npt.NDArray[np.int64]:
        taken = np.frombuffer(self.data, kind, count, self.at)
        self.at += taken.nbytes
        return taken.astype(np.int64)

    def _bucket(self) -> list[Rows]:
        """The containers of a bucket: numbers below 2 to the 32nd."""
        cookie = self._number(_WORD)
        has_runs = cookie & 0xFFFF == _RUNS
        if has_runs:
            count = (cookie >> 16) + 1
            bits = self._take("u1", -(-count // 8)).astype(np.uint8)
            in_runs = np.unpackbits(bits, bitorder="little")[:count].tolist()
        elif cookie == _NO_RUNS:
            count = self._count(_WORD, _WORD.size)
            in_runs = [0] * count
        else:
            raise ValueError("no bitmap")
        about = self._take("<u2", 2 * count).reshape(-1, 2)
        sizes = about[:, 1] + 1
        self.left -= int(sizes.sum())
        if self.left < 0:
            raise ValueError("more numbers than records")
        if not has_runs or count >= _NO_OFFSETS:
            self._take("<u4", count)  # containers follow one another
        highs, kinds = (about[:, 0] << 16).tolist(), zip(in_runs, sizes.tolist(), strict=True)
        return [self._container(*kind) + high for high, kind in zip(highs, kinds, strict=True)]

    def _container(self, is_run: int, size: int) -> Rows:
        if is_run:
            runs = self._take("<u2", 2 * self._count(_HALF, _WORD.size)).reshape(-1, 2)
            lengths = runs[:, 1] + 1
            if lengths.sum() != size or (runs.sum(axis=1) >= _SPAN).any():
                raise ValueError("runs of another length")
            first_of = np.cumsum(lengths) - lengths
            expanded: Rows = np.arange(size) + np.repeat(runs[:, 0] - first_of, lengths)
            return expanded
        if size <= _MOST_LISTED:
            return self._take("<u2", size)
        bits = np.unpackbits(self._take("u1", _BITMAP_BYTES).astype(np.uint8), bitorder="little")
        numbers = np.flatnonzero(bits)
        if len(numbers) != size:
            raise ValueError("another number of bits")
        return numbers


def _encode(rows: Rows) -> bytes:
    """A portable 64-bit Roaring bitmap."""
    highs, starts = np.unique(rows >> 32, return_index=True)
    parts = [_BUCKETS.pack(len(highs))]
    for high, numbers in zip(highs.tolist(), np.split(rows, starts)[1:], strict=True):
        parts += [_WORD.pack(high), _encode_bucket(numbers & 0xFFFFFFFF)]
    return b"".join(parts)


def _encode_bucket(numbers: Rows) -> bytes:
    keys, starts = np.unique(numbers >> 16, return_index=True)
    each = [_encode_container(part & 0xFFFF) for part in np.split(numbers, starts)[1:]]
    sizes = np.diff(np.append(starts, len(numbers)))
    about = np.stack([keys, sizes - 1], axis=1).astype("<u2").tobytes()
    in_runs = np.array([is_run for is_run, _ in each])
    if in_runs.any():
        flags = np.packbits(in_runs, bitorder="little").tobytes()
        fields = _WORD.pack(_RUNS | (len(each) - 1) << 16) + flags + about
    else:
        fields = _WORD.pack(_NO_RUNS) + _WORD.pack(len(each)) + about
    if not in_runs.any() or len(each) >= _NO_OFFSETS:
        lengths = np.array([len(content) for _, content in each])
        offsets = np.cumsum(lengths) - lengths + len(fields) + _WORD.size * len(each)
        fields += offsets.astype("<u4").tobytes()
    return b"".join([fields, *(content for _, content in each)])


def _encode_container(numbers: Rows) -> tuple[bool, bytes]:
    """Whether a container is one of runs, and its bytes: the shortest form of the three."""
    begins = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
    listed = 2 * len(numbers) if len(numbers) <= _MOST_LISTED else _BITMAP_BYTES
    if _HALF.size + _WORD.size * len(begins) < listed:
        lengths = np.diff(np.append(begins, len(numbers)))
        runs = np.stack([numbers[begins], lengths - 1], axis=1).astype("<u2")
        return True, _HALF.pack(len(begins)) + runs.tobytes()
    if len(numbers) <= _MOST_LISTED:
        return False, numbers.astype("<u2").tobytes()
    bits = np.zeros(_SPAN, np.bool_)
    bits[numbers] = True
    return False, np.packbits(bits, bitorder="little").tobytes()
