"""xxHash32 by column, which places record keys on the ring of consistent hashing buckets.

Texts of one length are hashed together, a step of the hash for all of them at a time.

Source: docs/format.md#consistent-hashing, the xxHash specification (32-bit variant).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Words = npt.NDArray[np.uint32]

_P1: Final = np.uint32(2654435761)
_P2: Final = np.uint32(2246822519)
_P3: Final = np.uint32(3266489917)
_P4: Final = np.uint32(668265263)
_P5: Final = np.uint32(374761393)
_STRIPE: Final = 16


def xxhash32(values: pa.Array) -> Words:
    """The xxHash32, of seed 0, of the UTF-8 bytes of each text.

    Args:
        values: an array of ``string`` without nulls.
    """
    hashes = np.empty(len(values), np.uint32)
    if not len(values):
        return hashes
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    data = values.buffers()[2]
    units = np.frombuffer(data if data is not None else b"", np.uint8)
    lengths = np.diff(offsets)
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        places = offsets[rows].astype(np.int64)[:, None] + np.arange(length)
        hashes[rows] = _of_one_length(units[places] if length else np.empty((len(rows), 0), np.uint8))
    return hashes


def _of_one_length(texts: npt.NDArray[np.uint8]) -> Words:
    """Hashes of the rows of a matrix of bytes."""
    count, length = texts.shape
    at = 0
    if length >= _STRIPE:
        lanes = [np.full(count, seed, np.uint32) for seed in _seeds()]
        while at + _STRIPE <= length:
            lanes = [
                _rotated(lane + _word(texts, at + 4 * number) * _P2, 13) * _P1 for number, lane in enumerate(lanes)
            ]
            at += _STRIPE
        bits = (1, 7, 12, 18)
        hashes = np.zeros(count, np.uint32)
        for lane, shift in zip(lanes, bits, strict=True):
            hashes += _rotated(lane, shift)
    else:
        hashes = np.full(count, _P5, np.uint32)
    hashes += np.uint32(length)
    while at + 4 <= length:
        hashes = _rotated(hashes + _word(texts, at) * _P3, 17) * _P4
        at += 4
    for place in range(at, length):
        hashes = _rotated(hashes + texts[:, place].astype(np.uint32) * _P5, 11) * _P1
    return _avalanche(hashes)


def _seeds() -> tuple[int, ...]:
    first, second = int(_P1), int(_P2)
    return (first + second) % (1 << 32), second, 0, -first % (1 << 32)


def _word(texts: npt.NDArray[np.uint8], at: int) -> Words:
    return np.ascontiguousarray(texts[:, at : at + 4]).view("<u4")[:, 0].astype(np.uint32)


def _rotated(words: Words, bits: int) -> Words:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))


def _avalanche(hashes: Words) -> Words:
    hashes = (hashes ^ (hashes >> np.uint32(15))) * _P2
    hashes = (hashes ^ (hashes >> np.uint32(13))) * _P3
    return hashes ^ (hashes >> np.uint32(16))
