"""Java's ``String.hashCode`` by column, which assigns keys to buckets and to file groups of the metadata table.

``String.hashCode`` runs over UTF-16 units, ``h = 31 * h + unit`` in 32 bits (Java SE API, ``java.lang.String``).

Source: docs/format.md#bucket-index, docs/format.md#metadata-file-groups.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

IntArray = npt.NDArray[np.int32]

_MOST_BYTES: Final = 1 << 22
"""Bytes of text that are hashed at a time: the arrays made of them stay in the processor's caches."""


def string_hashes(values: pa.Array) -> IntArray:
    """Java's ``String.hashCode`` of each text; 0 for null, as in ``Objects.hashCode``.

    Args:
        values: an array of ``string``.
    """
    if len(values) and not bool(pc.all(pc.string_is_ascii(values), min_count=0).as_py()):
        return _of_any(values)
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    data = values.buffers()[2]
    hashes = unit_hashes(np.frombuffer(data if data is not None else b"", np.uint8), offsets.astype(np.int64))
    if values.null_count:
        hashes[values.is_null().to_numpy(zero_copy_only=False)] = 0
    return hashes


def _of_any(values: pa.Array) -> IntArray:
    """Hashes of texts of which some are not ASCII, which are converted to UTF-16."""
    plain = pc.fill_null(pc.string_is_ascii(values), True)
    mask = plain.to_numpy(zero_copy_only=False)
    hashes = np.zeros(len(values), np.int32)
    hashes[mask] = string_hashes(pa.concat_arrays([values.filter(plain)]))
    units = [text.encode("utf-16-le", "surrogatepass") for text in values.filter(pc.invert(plain)).to_pylist()]
    lengths = np.array([len(unit) // 2 for unit in units], np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    hashes[~mask] = unit_hashes(np.frombuffer(b"".join(units), "<u2"), offsets)
    return hashes


def unit_hashes(units: npt.NDArray[np.integer], offsets: npt.NDArray[np.int64]) -> IntArray:
    """Java's hash code of each of many texts in one array of units; text i begins at ``offsets[i]``.

    Units of type ``int8`` are signed.
    """
    count = len(offsets) - 1
    hashes = np.zeros(count, np.uint32)
    lengths = np.diff(offsets)
    powers = _powers(int(lengths.max(initial=0)))
    start = 0
    while start < count:
        end = max(start + 1, int(np.searchsorted(offsets, offsets[start] + _MOST_BYTES, "right")) - 1)
        first, last = int(offsets[start]), int(offsets[end])
        own = lengths[start:end]
        # How far each unit is from the end of its text is the power of 31 that it counts with.
        behind = np.repeat(offsets[start + 1 : end + 1] - 1, own) - np.arange(first, last)
        terms = units[first:last].astype(np.uint32) * powers[behind]
        filled = np.flatnonzero(own)
        if len(filled):
            sums = np.add.reduceat(terms, (offsets[start:end] - first)[filled], dtype=np.uint32)
            hashes[start + filled] = sums
        start = end
    return hashes.view(np.int32)


def _powers(count: int) -> npt.NDArray[np.uint32]:
    powers = np.full(max(count, 1), 31, np.uint32)
    powers[0] = 1
    return np.multiply.accumulate(powers, dtype=np.uint32)
