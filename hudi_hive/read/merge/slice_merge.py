"""``SliceMerge``: base rows of a slice met with the keys of its log, whatever the rules by which they merge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.read.merge.keys import record_keys
from hudi_hive.read.merge.ordering_values import Flags, Ints, one_array
from hudi_hive.table.merge import MergeSpec

BATCH_ROWS: Final = 65_536


class SliceMerge(ABC):
    """Base rows met with the log, key by key; remembers which keys the base had.

    Args:
        keys: the distinct record keys of the log.
        spec: how the table merges.
        schema: columns of the rows.

    Attributes:
        keys, spec, schema: as given.
        seen: of each key whether a base row had it.
    """

    def __init__(self, keys: pa.Array, spec: MergeSpec, schema: pa.Schema) -> None:
        self.keys = keys
        self.spec = spec
        self.schema = schema
        self.seen: Flags = np.zeros(len(keys), np.bool_)

    def merged(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches with the log merged in; they are taken out of the list, for the memory.

        The key look-up is one for all: it builds a table of the log's keys.
        """
        if not batches:
            return
        keys = pa.chunked_array([record_keys(batch, self.spec) for batch in batches], pa.string())
        key_numbers = self._numbers(keys)
        start = 0
        while batches:
            batch = batches.pop(0)
            # The result's chunks are not those of the keys.
            numbers = one_array(key_numbers.slice(start, batch.num_rows))
            start += batch.num_rows
            if numbers.null_count < len(numbers):
                at, key = self._first_matches(numbers)
                if len(at):
                    self.seen[key] = True
                    batch = self.onto(batch, at, key)
            if batch.num_rows:
                yield batch

    def _numbers(self, keys: pa.ChunkedArray) -> pa.ChunkedArray:
        """The number of each key of base rows; null for one that the log does not have."""
        if keys.num_chunks == 1 and keys.chunk(0).equals(self.keys):
            # Rows that the log is for, in its order: those that its positions tell.
            return pa.chunked_array([pa.array(np.arange(len(self.keys), dtype=np.int32))])
        return pc.index_in(keys, value_set=self.keys)

    @abstractmethod
    def onto(self, batch: pa.RecordBatch, at: Ints, key: Ints) -> pa.RecordBatch:
        """A batch of base rows with the log merged into some of them.

        Args:
            batch: the base rows.
            at: the rows, ascending.
            key: the number of each one's key.
        """

    @abstractmethod
    def new_rows(self) -> Iterator[pa.RecordBatch]:
        """Records of keys that the base does not have."""

    def _first_matches(self, numbers: pa.Array) -> tuple[Ints, Ints]:
        """Rows with a key of the log, and the key's number.

        Of a key that the base file holds several times only the first row is merged, as all releases read it.
        """
        at = np.flatnonzero(pc.is_valid(numbers).to_numpy(zero_copy_only=False))
        key = numbers.fill_null(0).to_numpy(zero_copy_only=False)[at].astype(np.int64)
        first = np.full(len(self.seen), -1, np.int64)
        first[key[::-1]] = at[::-1]
        chosen = (first[key] == at) & ~self.seen[key]
        return at[chosen], key[chosen]
