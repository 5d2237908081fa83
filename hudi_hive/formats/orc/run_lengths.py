"""Decodes ORC's run-length encoded whole numbers, versions 1 and 2, without a sign.

Source: ORC specification v1, "Run Length Encoding"; docs/format/hive.md#hive-acid-events has what Hive writes.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from hudi_hive.formats.orc.footer import read_varint

Numbers = npt.NDArray[np.uint64]

_WIDTHS: Final = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
"""Bits of a value by the five bits that encode them."""


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
