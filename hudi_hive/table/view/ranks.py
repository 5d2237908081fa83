"""Integer ranks of file groups and instants, in the order of their text.

Comparing, joining and sorting a million files by strings takes seconds, by integers milliseconds; the strings come back
when a result is put together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class FileGroups:
    """File groups numbered in the order of (partition, file id)."""

    partitions: pa.Array  # sorted
    file_ids: pa.Array  # sorted
    pairs: IntArray  # sorted: partition index * number of file ids + file id index
    of_bases: IntArray
    of_logs: IntArray

    @classmethod
    def of(
        cls,
        partitions: pa.Array,
        base_rows: IntArray,
        base_ids: pa.ChunkedArray,
        log_rows: IntArray,
        log_ids: pa.ChunkedArray,
    ) -> FileGroups:
        """Number the file groups of listed base and log files."""
        partition_values, partition_codes = sorted_codes(partitions)
        ids = pa.chunked_array([*base_ids.chunks, *log_ids.chunks], pa.string())
        id_values, id_codes = sorted_codes(one_chunk(ids))
        pairs = partition_codes[np.concatenate([base_rows, log_rows])] * len(id_values) + id_codes
        unique, group = np.unique(pairs, return_inverse=True)
        return cls(partition_values, id_values, unique, group[: len(base_rows)], group[len(base_rows) :])

    def __len__(self) -> int:
        return len(self.pairs)

    def find(self, partitions: pa.ChunkedArray, file_ids: pa.ChunkedArray) -> IntArray:
        """Number of each named group, -1 where no file of it was listed."""
        if not len(partitions) or not len(self):
            return np.full(len(partitions), -1, np.int64)
        partition = index_in(partitions, self.partitions)
        file_id = index_in(file_ids, self.file_ids)
        pair = partition * len(self.file_ids) + file_id
        where = np.minimum(np.searchsorted(self.pairs, pair), len(self) - 1)
        found = (partition >= 0) & (file_id >= 0) & (self.pairs[where] == pair)
        return np.where(found, where, -1)

    def names(self, group: IntArray) -> tuple[pa.Array, pa.Array]:
        """Partition and file id of each group number."""
        if not len(group):
            return pa.array([], pa.string()), pa.array([], pa.string())
        pair = self.pairs[group]
        count = len(self.file_ids)
        return self.partitions.take(pa.array(pair // count)), self.file_ids.take(pa.array(pair % count))


@dataclass(frozen=True, slots=True)
class InstantRanks:
    """Ranks of instants in the order of their text; arrays are indexed by rank."""

    values: pa.Array
    committed: BoolArray  # files of it are visible
    in_timeline: BoolArray  # committed, or a pending compaction: a slice may be named after it
    completion_rank: IntArray  # rank of the completion time; of the instant itself where that is not known
    length: IntArray  # digits

    @classmethod
    def of(cls, written: pa.Array, committed: pa.Array, completed: pa.Array, pending: pa.Array) -> InstantRanks:
        """Rank the instants that files were written by, that committed and that are pending."""
        values = pa.concat_arrays([written, completed.drop_null(), pending]).unique()
        values = values.take(pc.sort_indices(values))
        where = index_in(written, values)
        visible = np.zeros(len(values), np.bool_)
        visible[where] = pc.fill_null(committed, False).to_numpy(zero_copy_only=False)
        in_timeline = visible.copy()
        in_timeline[index_in(pending, values)] = True
        times = np.arange(len(values))
        at = index_in(completed, values)
        times[where] = np.where(at < 0, where, at)
        length = pc.utf8_length(values).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(values, visible, in_timeline, times, length)

    @property
    def count(self) -> int:
        """Number of ranks, at least 1 so that keys can be divided by it."""
        return max(len(self.values), 1)

    def rank_of(self, instants: pa.ChunkedArray) -> IntArray:
        """The rank of each instant, all of which must be ranked."""
        if not pa.types.is_dictionary(instants.type):
            return index_in(instants, self.values)
        parts = [
            index_in(chunk.dictionary, self.values)[chunk.indices.to_numpy(zero_copy_only=False)]
            for chunk in instants.chunks
            if isinstance(chunk, pa.DictionaryArray)
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def bound(self, as_of: str | None) -> int:
        """Ranks below this are of instants at or before ``as_of``."""
        if as_of is None:
            return len(self.values)
        return int(pc.sum(pc.less_equal(self.values, as_of), min_count=0).as_py())


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array, copied only if it is in several pieces."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def distinct_values(column: pa.ChunkedArray) -> pa.Array:
    """Distinct values of a dictionary column."""
    if not len(column):
        return pa.array([], pa.string())
    values = column.unique()
    assert isinstance(values, pa.DictionaryArray)
    return values.dictionary_decode()


def place_when_sorted(values: pa.Array) -> IntArray:
    """Place of each value when sorted."""
    return _places(pc.sort_indices(values))


def _places(order: pa.Array) -> IntArray:
    """Place of each value, from the values' numbers in their order."""
    place = np.empty(len(order), np.int64)
    place[order.to_numpy()] = np.arange(len(order))
    return place


def sorted_codes(values: pa.Array) -> tuple[pa.Array, IntArray]:
    """Sorted distinct values, and the index of each value among them."""
    encoded = values if isinstance(values, pa.DictionaryArray) else values.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    ordered = encoded.dictionary.take(order).cast(pa.string())
    return ordered, _places(order)[encoded.indices.to_numpy(zero_copy_only=False)]


def sorted_union(*parts: IntArray) -> IntArray:
    """Sorted distinct values of all parts; quick where they are sorted already."""
    # np.union1d hashes, which is several times slower on keys as many and as sorted as these.
    values = np.sort(np.concatenate(parts), kind="stable")
    if len(values) > 1:
        values = values[np.concatenate([[True], values[1:] != values[:-1]])]
    return values


def index_in(values: pa.Array | pa.ChunkedArray, value_set: pa.Array) -> IntArray:
    """Index of each value in ``value_set``, -1 where it is not there."""
    if isinstance(values, pa.ChunkedArray):
        values = one_chunk(values)
    found = pc.fill_null(pc.index_in(values, value_set=value_set, skip_nulls=True), -1)
    indices: IntArray = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return indices
