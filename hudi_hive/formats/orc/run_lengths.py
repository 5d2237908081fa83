"""Decodes ORC's run-length encoded whole numbers without a sign, versions 1 and 2, and encodes signed ones, version 2.

Source: ORC specification v1, "Run Length Encoding"; docs/format/hive.md#hive-acid-events has what Hive writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from hudi_hive.formats.orc.footer import read_varint
from hudi_hive.formats.varints import varint

Numbers = npt.NDArray[np.uint64]

_WIDTHS: Final = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
"""Bits of a value by the five bits that encode them."""

_LONGEST: Final = 512
"""Numbers of the longest run."""

_PACKED_WIDTHS: Final = (2, 4, 8, 16, 32, 64)
"""Bits of the values that are packed here, which are whole bytes or parts of one."""

_PACKED_ENDS: Final = np.array([1 << width for width in _PACKED_WIDTHS[:-1]], np.uint64)
_MOST_CACHED: Final = 1024
"""Runs that are remembered: those of other files of as many rows are the same."""


def unsigned_numbers(data: bytes, count: int, *, version: int) -> Numbers:
    """Decode the first numbers of a stream.

    Args:
        data: the stream, unpacked.
        count: how many numbers it must have at least.
        version: 1 or 2.

    Raises:
        ValueError, IndexError: the stream breaks its format, or has fewer.
    """
    runs: list[Numbers] = []
    position = decoded = 0
    one = _run_of_version_2 if version == 2 else _run_of_version_1
    while decoded < count:
        run, position = one(data, position)
        runs.append(run)
        decoded += len(run)
    return np.concatenate([np.empty(0, np.uint64), *runs])[:count]


def _run_of_version_1(data: bytes, position: int) -> tuple[Numbers, int]:
    header = data[position]
    if header < 128:
        delta = int.from_bytes(data[position + 1 : position + 2], "little", signed=True)
        base, position = read_varint(data, position + 2)
        return _from_deltas(base, np.full(header + 3, delta, np.int64)), position
    position += 1
    values = []
    for _ in range(256 - header):
        value, position = read_varint(data, position)
        values.append(value)
    return np.array(values, np.uint64), position


def _run_of_version_2(data: bytes, position: int) -> tuple[Numbers, int]:
    kind = data[position] >> 6
    if kind == 0:
        width, repeats = (data[position] >> 3 & 7) + 1, (data[position] & 7) + 3
        value = _whole(data, position + 1, width)
        return np.full(repeats, value, np.uint64), position + 1 + width
    code, length = data[position] >> 1 & 31, (data[position] & 1) << 8 | data[position + 1]
    if kind == 1:
        return _bits(data, position + 2, _WIDTHS[code], length + 1)
    if kind == 2:
        return _patched(data, position, _WIDTHS[code], length + 1)
    return _delta(data, position + 2, _WIDTHS[code] if code else 0, length + 1)


def _patched(data: bytes, position: int, width: int, count: int) -> tuple[Numbers, int]:
    """Small numbers above a base, some of which have more bits in a list behind."""
    third, fourth = data[position + 2], data[position + 3]
    base_width, patch_width = (third >> 5) + 1, _WIDTHS[third & 31]
    gap_width, patches = (fourth >> 5) + 1, fourth & 31
    base = _whole(data, position + 4, base_width)
    sign = 1 << (8 * base_width - 1)
    base = -(base & (sign - 1)) if base & sign else base
    values, position = _bits(data, position + 4 + base_width, width, count)
    closest = next(bits for bits in _WIDTHS if bits >= gap_width + patch_width)
    listed, position = _bits(data, position, closest, patches)
    at = 0
    for entry in listed.tolist():
        at += entry >> patch_width
        values[at] |= np.uint64((entry & ((1 << patch_width) - 1)) << width)
    return (values.astype(np.int64) + base).astype(np.uint64), position


def _delta(data: bytes, position: int, width: int, count: int) -> tuple[Numbers, int]:
    """A first number, a first difference, and the sizes of further ones of the same sign."""
    base, position = read_varint(data, position)
    zigzag, position = read_varint(data, position)
    first = (zigzag >> 1) ^ -(zigzag & 1)
    deltas = np.full(count, first, np.int64)
    if width:
        sizes, position = _bits(data, position, width, max(0, count - 2))
        deltas[2:] = sizes.astype(np.int64) * (-1 if first < 0 else 1)
    return _from_deltas(base, deltas), position


def _from_deltas(base: int, deltas: npt.NDArray[np.int64]) -> Numbers:
    """A base, and what comes by adding all differences but the first, which stands in its place."""
    deltas[0] = base
    return np.cumsum(deltas).astype(np.uint64)


def _whole(data: bytes, position: int, width: int) -> int:
    taken = data[position : position + width]
    if len(taken) < width:
        raise ValueError("run over the end of its stream")
    return int.from_bytes(taken, "big")


def _bits(data: bytes, position: int, width: int, count: int) -> tuple[Numbers, int]:
    """Numbers of so many bits each, the highest first."""
    length = (width * count + 7) // 8
    taken = data[position : position + length]
    if len(taken) < length:
        raise ValueError("run over the end of its stream")
    bits = np.unpackbits(np.frombuffer(taken, np.uint8))[: width * count].reshape(count, width).astype(np.uint64)
    shifts = np.arange(width - 1, -1, -1, dtype=np.uint64)
    return np.bitwise_or.reduce(bits << shifts, axis=1, initial=np.uint64(0)), position + length


@lru_cache(_MOST_CACHED)
def constant_runs(value: int, count: int) -> bytes:
    """Encode one number ``count`` times, in runs as long as the format allows.

    Args:
        value: the number, of at most 64 bits with its sign.
        count: how often.
    """
    whole, rest = divmod(count, _LONGEST)
    return _constant_run(value, _LONGEST) * whole + (_constant_run(value, rest) if rest else b"")


def _constant_run(number: int, count: int) -> bytes:
    value = zigzag(number)
    if count < 3:
        return _direct([value] * count)
    if count <= 10:
        width = max(1, (value.bit_length() + 7) // 8)
        return bytes([(width - 1) << 3 | count - 3]) + value.to_bytes(width, "big")
    return _even(value, 0, count)


@lru_cache(_MOST_CACHED)
def counting_runs(first: int, count: int) -> bytes:
    """Encode ``count`` numbers from ``first`` on, each one more than that before it, in runs as long as possible.

    Args:
        first: the first number, not negative.
        count: how many.
    """
    end = first + count
    return b"".join(_counting_run(start, min(_LONGEST, end - start)) for start in range(first, end, _LONGEST))


def _counting_run(first: int, count: int) -> bytes:
    if count < 3:
        return _direct([zigzag(value) for value in range(first, first + count)])
    return _even(zigzag(first), 1, count)


def number_runs(values: npt.NDArray[np.int64]) -> bytes:
    """Encode any numbers that are not negative, in runs as long as the format allows.

    Args:
        values: the numbers; those that ascend, and those that are evenly apart, take fewest bytes.
    """
    if len(values) > 2 and int(values[-1]) - int(values[0]) == len(values) - 1 and (np.diff(values) == 1).all():
        return counting_runs(int(values[0]), len(values))
    whole = len(values) // _LONGEST * _LONGEST
    rest = values[whole:]
    return b"".join([*_runs(values[:whole].reshape(-1, _LONGEST)), *(_runs(rest.reshape(1, -1)) if len(rest) else ())])


def _runs(rows: npt.NDArray[np.int64]) -> Iterator[bytes]:
    """Encode each row of a matrix as a run: steps of one size, steps that are none of them negative, or the numbers."""
    if not rows.size:
        return
    count = rows.shape[1]
    if count < 3:
        yield from (_direct([zigzag(value) for value in row]) for row in rows.tolist())
        return
    steps = np.diff(rows, axis=1)
    least, most = steps.min(axis=1), steps.max(axis=1)
    even, rising = least == most, least >= 0
    bits = np.where(rising[:, np.newaxis], np.pad(steps[:, 1:], ((0, 0), (0, 2))), rows << 1).astype(np.uint64)
    packed = _packed_rows(bits, np.flatnonzero(~even), np.where(rising, count - 2, count))
    heads = zip(rows[:, 0].tolist(), steps[:, 0].tolist(), even.tolist(), rising.tolist(), strict=True)
    for (first, step, is_even, is_rising), (code, body) in zip(heads, packed, strict=True):
        if is_even:
            yield _even(zigzag(first), step, count)
            continue
        head = bytes([(3 if is_rising else 1) << 6 | code << 1 | (count - 1) >> 8, count - 1 & 255])
        yield head + (varint(zigzag(first)) + varint(zigzag(step)) if is_rising else b"") + body


def _packed_rows(
    rows: npt.NDArray[np.uint64], chosen: npt.NDArray[np.intp], lengths: npt.NDArray[np.int64]
) -> Sequence[tuple[int, bytes]]:
    """For each row the code of a width that all of its numbers have, and as many of them as told, packed in bits.

    Args:
        rows: a matrix of numbers.
        chosen: the rows that are packed; the others have no bytes.
        lengths: how many numbers of each row are packed.
    """
    packed = [(0, b"")] * len(rows)
    widths = np.searchsorted(_PACKED_ENDS, rows[chosen].max(axis=1), side="right") if len(chosen) else chosen
    for number in set(widths.tolist()):
        width = _PACKED_WIDTHS[number]
        same = chosen[widths == number]
        for row, taken in zip(same.tolist(), _packed_bits(rows[same], width), strict=True):
            length = (int(lengths[row]) * width + 7) // 8
            packed[row] = _WIDTHS.index(width), taken[:length].tobytes()
    return packed


def _packed_bits(rows: npt.NDArray[np.uint64], width: int) -> npt.NDArray[np.uint8]:
    """The numbers of each row in so many bits each, the highest first; zeros fill the last byte."""
    if width >= 8:
        return np.ascontiguousarray(rows.astype(f">u{width // 8}")).view(np.uint8)
    each = 8 // width
    filled = np.pad(rows.astype(np.uint8), ((0, 0), (0, -rows.shape[1] % each)))
    packed = np.zeros((len(filled), filled.shape[1] // each), np.uint8)
    for place in range(each):
        packed |= filled[:, place::each] << (8 - width * (place + 1))
    return packed


def _direct(values: Sequence[int]) -> bytes:
    """A run of one or two numbers, of 64 bits each."""
    return bytes([1 << 6 | 31 << 1, len(values) - 1]) + b"".join(value.to_bytes(8, "big") for value in values)


def _even(value: int, difference: int, count: int) -> bytes:
    """A run whose numbers differ by the same from one to the next."""
    return bytes([3 << 6 | (count - 1) >> 8, count - 1 & 255]) + varint(value) + varint(zigzag(difference))


def zigzag(value: int) -> int:
    """The number without a sign that stands for a signed one, as 0, 1, 2 and 3 do for 0, -1, 1 and -2."""
    return value << 1 if value >= 0 else (-value << 1) - 1
