"""Hudi's bloom filters of record keys: built from keys, read and written as Base64 text, tested for keys.

A negative answer of a filter is certain, a positive one can be wrong.

Source: docs/format.md#bloom-filters.
"""

from __future__ import annotations

import binascii
import math
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError

SIMPLE: Final = "SIMPLE"
DYNAMIC: Final = "DYNAMIC_V0"

_PREFIX: Final = struct.Struct(">iibi")  # version, number of hashes, type of hash, bits
_ROWS: Final = struct.Struct(">iii")
_VERSION: Final = -1
_MURMUR: Final = 1
_MOST_HASHES: Final = 10_000
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF

Words: TypeAlias = npt.NDArray[np.uint32]

_CHUNK_KEYS: Final = 1 << 15
"""Keys hashed at a time: few enough for their hashes to stay in a core's cache, enough that calls cost little."""

_CHUNK_BYTES: Final = 1 << 25
"""Bytes of long keys hashed at a time."""

_LONG: Final = 1 << 10
"""Bytes from which on keys are copied one by one, which takes no list of the places of their bytes."""

_FEW: Final = 16
"""Keys of one length up to which plain numbers are faster than columns, of which each word takes a call or two."""


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """A bloom filter of one or several rows of bits.

    Args:
        hashes: bits set per key.
        bits: bits of a row.
        rows: the bits of each row, a row per array of bytes; bit i lies in byte i / 8, lowest first.
        kind: type code: ``SIMPLE`` or ``DYNAMIC_V0``.
        keys_per_row: keys after which a dynamic filter takes a further row.
        keys_in_last: keys that a dynamic filter counts in its last row.
    """

    hashes: int
    bits: int
    rows: tuple[npt.NDArray[np.uint8], ...]
    kind: str = DYNAMIC
    keys_per_row: int = 0
    keys_in_last: int = 0

    @classmethod
    def build(
        cls,
        keys: pa.Array | pa.ChunkedArray,
        *,
        entries: int = 60_000,
        fpp: float = 1e-9,
        max_entries: int = 100_000,
        kind: str = DYNAMIC,
    ) -> BloomFilter:
        """Make the filter that Hudi makes of the same keys in the same order.

        Args:
            keys: texts.
            entries: keys that a row is made for (``hoodie.index.bloom.num_entries``).
            fpp: wanted share of wrong answers (``hoodie.index.bloom.fpp``).
            max_entries: keys after which a dynamic filter takes no further rows
                (``hoodie.bloom.index.filter.dynamic.max.entries``).
            kind: type code.
        """
        builder = BloomBuilder(BloomSettings(entries, fpp, max_entries, kind))
        builder.add(keys)
        return builder.finish()

    def encode(self) -> str:
        """The Base64 text of the filter, as it stands in footers and in the metadata table."""
        prefix = _PREFIX.pack(_VERSION, self.hashes, _MURMUR, self.bits)
        parts = [prefix]
        if self.kind == DYNAMIC:
            parts.append(_ROWS.pack(self.keys_per_row, self.keys_in_last, len(self.rows)))
        for row in self.rows:
            parts += [prefix, row.tobytes()] if self.kind == DYNAMIC else [row.tobytes()]
        return b64encode(b"".join(parts)).decode()

    @classmethod
    def parse(cls, text: bytes | str, kind: str, path: str) -> BloomFilter:
        """Read a filter from its Base64 text.

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
            return cls(hashes, bits, (row,), SIMPLE)
        if position + _ROWS.size > len(data):
            raise CorruptFileError("bloom filter: cut short", path=path)
        per_row, in_last, count = _ROWS.unpack_from(data, position)
        position += _ROWS.size
        if not 0 < count <= len(data) // _PREFIX.size:
            raise CorruptFileError(f"bloom filter: {count} rows in {len(data)} bytes", path=path)
        rows = []
        for _ in range(count):
            if _prefix(data, position, path) != (hashes, bits):
                raise CorruptFileError("bloom filter: its rows differ in size", path=path)
            row, position = _row(data, position + _PREFIX.size, bits, path)
            rows.append(row)
        return cls(hashes, bits, tuple(rows), DYNAMIC, per_row, in_last)

    def may_contain(self, hashes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether each key may be one of those that were added: false is certain, true is not.

        Args:
            hashes: what :func:`key_hashes` gives: a line per key, with at least as many columns as the filter's hashes.
        """
        places = np.abs(np.fmod(hashes[:, : self.hashes], self.bits))
        matches = np.zeros(len(hashes), np.bool_)
        for row in self.rows:
            matches |= np.all((row[places >> 3] >> (places & 7).astype(np.uint8)) & 1, axis=1)
        return matches


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


@dataclass(frozen=True, slots=True)
class BloomSettings:
    """Size and type of a filter; see :meth:`BloomFilter.build`."""

    entries: int = 60_000
    fpp: float = 1e-9
    max_entries: int = 100_000
    kind: str = DYNAMIC


class BloomBuilder:
    """Builds a filter of keys that are added in several steps.

    Raises:
        UnsupportedFormatError: another type of filter.
        ValueError: no entries, or a share that is none.
    """

    def __init__(self, settings: BloomSettings) -> None:
        if settings.kind not in (SIMPLE, DYNAMIC):
            raise UnsupportedFormatError(f"bloom filter of type {settings.kind!r}")
        if settings.entries < 1 or not 0 < settings.fpp < 1:
            raise ValueError(f"bloom filter for {settings.entries} keys with {settings.fpp} wrong answers")
        self._settings = settings
        self._bits = math.ceil(settings.entries * -math.log(settings.fpp) / math.log(2) ** 2)
        self._hashes = math.ceil(math.log(2) * self._bits / settings.entries)
        self._flags = np.zeros(self._bits, np.bool_)  # of all rows, one behind the other
        self._count = 0

    def add(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Add record keys, which are text; nulls are skipped."""
        for chunk in keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]:
            some = chunk.drop_null() if chunk.null_count else chunk
            rows = self._rows(len(some))
            bits = np.uint32(self._bits)
            keys_at, begins = None, np.zeros(1, np.int64)
            for at, column in _hash_columns(some, self._hashes):
                if rows is not None and at is not keys_at:  # the same for all hashes of some keys
                    keys_at, begins = at, rows[at]
                places = column.view(np.uint32)
                places = places - places // bits * bits  # faster than a remainder: division by one number is
                self._flags[places + begins] = True  # as 64 bits, which numpy indexes by without a cast of its own
            self._count += len(some)

    def _rows(self, more: int) -> npt.NDArray[np.int64] | None:
        """First bit of each further key's row, if there are several rows.

        A full row is followed by a new one; when there are enough, they take turns.
        """
        entries = self._settings.entries
        most = max(1, -(-self._settings.max_entries // entries)) if self._settings.kind == DYNAMIC else 1
        needed = max(1, min(most, -(-(self._count + more) // entries)))
        if needed == 1:
            return None
        missing = needed * self._bits - len(self._flags)
        if missing > 0:
            self._flags = np.concatenate([self._flags, np.zeros(missing, np.bool_)])
        number = np.arange(self._count, self._count + more)
        beyond = number - most * entries
        return np.where(beyond < 0, number // entries, np.maximum(beyond - 1, 0) % most) * self._bits

    def finish(self) -> BloomFilter:
        """The filter of all keys that were added."""
        settings = self._settings
        rows = tuple(np.packbits(row, bitorder="little") for row in self._flags.reshape(-1, self._bits))
        if settings.kind == SIMPLE:
            return BloomFilter(self._hashes, self._bits, rows, SIMPLE)
        in_last = self._count - settings.entries * (len(rows) - 1)
        return BloomFilter(self._hashes, self._bits, rows, DYNAMIC, settings.entries, in_last)


def key_hashes(keys: Sequence[str] | pa.Array, count: int) -> npt.NDArray[np.int64]:
    """The first ``count`` hashes of each key, a row per key; they do not depend on the size of the filter."""
    array = keys if isinstance(keys, pa.Array) else pa.array(keys, pa.string())
    lines = np.empty((len(array), count), np.int64)
    column = 0
    for at, hashes in _hash_columns(array, count, signed=True):
        lines[at, column] = hashes
        column = (column + 1) % count
    return lines


def _hash_columns(
    keys: pa.Array, count: int, *, signed: bool = False
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]]:
    """Yield the chained hashes of keys of the same length, one hash of all keys at a time, with the keys' indices.

    Args:
        keys: texts without nulls.
        count: hashes a key.
        signed: give the hashes as they are, not their absolute values.
    """
    keys = keys.cast(pa.binary())
    if not len(keys):
        return
    offsets = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    data = np.frombuffer(keys.buffers()[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    order = np.argsort(lengths, kind="stable")
    cuts = np.flatnonzero(np.diff(lengths[order])) + 1
    for group in np.split(order, cuts):
        length = int(lengths[group[0]])
        step = max(1, min(_CHUNK_KEYS, _CHUNK_BYTES // max(1, length)))
        for start in range(0, len(group), step):
            at = group[start : start + step]
            if len(at) <= _FEW:
                yield from _few_hashes(data, offsets, at, length, count, signed)
                continue
            mixed, tail = _mixed(_octets(data, offsets[at], length))
            words = list(mixed)
            seed = np.zeros(len(at), np.uint32)
            for _ in range(count):
                seed = _murmur(seed, length, words, tail)
                hashes = seed.view(np.int32)
                yield at, hashes if signed else np.abs(hashes)


def _octets(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.uint8]:
    """A matrix of the bytes of keys of the same length, one line for each key."""
    if length < _LONG:
        octets: npt.NDArray[np.uint8] = data[starts[:, None] + np.arange(length)]
        return octets
    return np.stack([data[start : start + length] for start in starts.tolist()])


def _few_hashes(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    at: npt.NDArray[np.int64],
    length: int,
    count: int,
    signed: bool,
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]]:
    """As :func:`_hash_columns` for few keys, with Python integers in place of arrays."""
    lines = np.empty((len(at), count), np.uint32)
    for line, start in zip(lines, offsets[at].tolist(), strict=True):
        words, tail = _mixed(data[start : start + length].reshape(1, length))
        line[:] = _chained_hashes(words[:, 0].tolist(), None if tail is None else int(tail[0]), length, count)
    columns = lines.T.view(np.int32) if signed else np.abs(lines.T.view(np.int32))
    for column in columns:
        yield at, column


def _chained_hashes(words: list[int], tail: int | None, length: int, count: int) -> list[int]:
    """The chained hashes of one key. Two words share a mask, since bits above 32 do not change those below."""
    odd = words.pop() if len(words) % 2 else None
    pairs = list(zip(words[::2], words[1::2], strict=True))
    value, hashes = 0, []
    for _ in range(count):
        value ^= length
        for first, second in pairs:
            value = ((value * _M ^ first) * _M ^ second) & _MASK
        if odd is not None:
            value = (value * _M ^ odd) & _MASK
        if tail is not None:
            value = ((value ^ tail) * _M) & _MASK
        value ^= value >> 13
        value = value * _M & _MASK
        value ^= value >> 15
        hashes.append(value)
    return hashes


def _mixed(octets: npt.NDArray[np.uint8]) -> tuple[Words, Words | None]:
    """The part that does not depend on the seed: mixed words of keys of one length, a line a word, and their tails."""
    length = octets.shape[1]
    whole = length // 4
    m = np.uint32(_M)
    words = np.ascontiguousarray(np.ascontiguousarray(octets[:, : 4 * whole]).view("<u4").T) * m
    words ^= words >> np.uint32(24)
    words *= m
    if length == 4 * whole:
        return words, None
    tail = np.zeros(len(octets), np.uint32)
    for back in range(length - 4 * whole, 0, -1):  # from the end, and with their sign
        signed = octets[:, length - back].view(np.int8).astype(np.int32)
        tail ^= signed.view(np.uint32) << np.uint32(8 * (back - 1))
    return words, tail


def _murmur(seed: Words, length: int, words: list[Words], tail: Words | None) -> Words:
    m = np.uint32(_M)
    value = seed ^ np.uint32(length)
    for word in words:
        value *= m
        value ^= word
    if tail is not None:
        value ^= tail
        value *= m
    value ^= value >> np.uint32(13)
    value *= m
    value ^= value >> np.uint32(15)
    return value
