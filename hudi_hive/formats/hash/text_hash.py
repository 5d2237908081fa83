"""A quick hash of texts that spreads rows over parts of this process; no file has it, and no other one is the same."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_WORD: Final = 8
_MOST_BYTES: Final = 256
"""Of a text's beginning; of what is behind them its last word alone has a part in the hash."""

_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)
_NOTHING: Final = np.zeros(1, np.uint64)


def text_hashes(texts: pa.Array) -> npt.NDArray[np.uint64]:
    """The hash of each text, by words of eight bytes at a time of all texts.

    Args:
        texts: of type ``string``, without nulls.
    """
    if not len(texts):
        return np.zeros(0, np.uint64)
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, 4 * texts.offset).astype(np.int64)
    begin, end = int(offsets[0]), int(offsets[-1])
    octets = np.zeros(end - begin + _WORD, np.uint8)  # a word that ends with the first text has no room before it
    octets[_WORD:] = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[begin:end]
    words = np.ndarray((len(octets) - _WORD + 1,), "<u8", octets, strides=(1,))
    starts, length = offsets[:-1] - begin + _WORD, np.diff(offsets)
    # The last word of a text, without the bytes of the text before it; an empty one has no word.
    foreign = np.minimum(_WORD * np.maximum(_WORD - length, 0), 63).astype(np.uint64)
    last = words[starts + length - _WORD] >> foreign
    last[length == 0] = 0
    hashes = _mixed(length.astype(np.uint64), last)
    for place in range(0, min(int(length.max()), _MOST_BYTES) - _WORD, _WORD):
        longer = length > place + _WORD
        if longer.all():
            hashes = _mixed(hashes, words[starts + place])
        else:
            at = np.flatnonzero(longer)
            hashes[at] = _mixed(hashes[at], words[starts[at] + place])
    # The upper bytes of the last word have no part in the lower bits before that.
    return _mixed(_mixed(hashes, _NOTHING), _NOTHING)


def _mixed(hashes: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    product = (hashes ^ words) * _FACTOR
    return product ^ (product >> _HALF)
