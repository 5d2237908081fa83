"""Space-filling curves: where points of several dimensions lie on a Z-order or a Hilbert curve, by column.

A point has a whole number of 64 bits in each dimension. Its place on the curve has 64 bits for each dimension, in
words, the most significant first.

Source: RFC-28; J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]

BITS: Final = 64
_BLOCK: Final = 1 << 13
"""Points at a time, whose words stay in the processor's cache."""


def curve_order(points: Sequence[Words], *, hilbert: bool) -> npt.NDArray[np.int64]:
    """Numbers of points in the order of a curve; points of one place stay in their order.

    Args:
        points: the coordinates of all points in each dimension.
        hilbert: along the Hilbert curve, not the Z-order one.
    """
    places = hilbert_places(points) if hilbert else z_order_places(points)
    return np.lexsort(places[::-1])


def z_order_places(points: Sequence[Words]) -> list[Words]:
    """Places on the Z-order curve: the bits of all dimensions in turn, the first dimension's first."""
    return _by_block(points, _interleaved)


def hilbert_places(points: Sequence[Words]) -> list[Words]:
    """Places on the Hilbert curve, on which neighbours differ by one in one dimension."""
    return _by_block(points, _hilbert)


def _by_block(points: Sequence[Words], places: Callable[[list[Words]], list[Words]]) -> list[Words]:
    number = len(points[0])
    words = [np.empty(number, np.uint64) for _ in points]
    for start in range(0, number, _BLOCK):
        block = slice(start, start + _BLOCK)
        for word, part in zip(words, places([column[block] for column in points]), strict=True):
            word[block] = part
    return words


def _interleaved(points: list[Words]) -> list[Words]:
    words = [np.zeros(len(points[0]), np.uint64) for _ in points]
    for level in range(BITS):
        for dimension, column in enumerate(points):
            word, place = divmod(level * len(points) + dimension, BITS)
            bit = (column >> np.uint64(BITS - 1 - level)) & np.uint64(1)
            words[word] |= bit << np.uint64(BITS - 1 - place)
    return words


def _hilbert(points: list[Words]) -> list[Words]:
    """Places from the bits of coordinates, turned and mirrored level by level as the curve is, in a Gray code."""
    axes = [column.copy() for column in points]
    first = axes[0]
    for level in range(BITS - 1, 0, -1):
        below = np.uint64((1 << level) - 1)
        for axis in axes:
            where_set = -((axis >> np.uint64(level)) & np.uint64(1)) & below  # all bits below, where this one is set
            if axis is first:
                first ^= where_set
            else:
                swapped = (first ^ axis) & (where_set ^ below)
                first ^= where_set | swapped
                axis ^= swapped
    for before, axis in pairwise(axes):
        axis ^= before
    flipped = axes[-1] >> np.uint64(1)
    for bits in (1, 2, 4, 8, 16, 32):
        flipped ^= flipped >> np.uint64(bits)  # in the end the parity of all bits above
    return _interleaved([axis ^ flipped for axis in axes])
