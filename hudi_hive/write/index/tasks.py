"""Look-up tasks, which can be pickled, so that any executor can run them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.write.index.key_source import KeySource, Slice
from hudi_hive.write.index.tables import HITS_SCHEMA, joined_hits, one_array

_LEAST_PROBED: Final = 1 << 20
"""Keys of files that are held against the sought ones at a time, or as many as these where they are more."""


class LookupTask(Protocol):
    """The interface of a look-up task, which can be pickled."""

    def lookup(self, keys: pa.Table) -> pa.Table:
        """Find keys: a table of ``HITS_SCHEMA``.

        Args:
            keys: with a column ``key``: the keys that the plan routed to this task.
        """


def lookup(task: LookupTask, keys: pa.Table) -> pa.Table:
    """Run one task of a look-up: a table of ``HITS_SCHEMA``."""
    return task.lookup(keys)


@dataclass(frozen=True)
class SliceTask:
    """A task that reads all keys of file slices and compares them with the keys of a look-up.

    Attributes:
        source: reads keys.
        slices: where to look.
    """

    source: KeySource = field(repr=False)
    slices: tuple[Slice, ...]

    def lookup(self, keys: pa.Table) -> pa.Table:
        """Find the keys in the slices."""
        sought = one_array(keys.column("key"))
        if not len(sought):
            return HITS_SCHEMA.empty_table()
        return joined_hits([hits_of(part, sought, self.slices) for part in _probes(self._existing(), len(sought))])

    def existing(self) -> Iterator[tuple[pa.Array, int]]:
        """Yield the keys of the slices, each array with the number of its slice."""
        return self._existing()

    def _existing(self) -> Iterator[tuple[pa.Array, int]]:
        for number, part in enumerate(self.slices):
            for keys in self.source.keys(part):
                yield keys, number


def _probes(existing: Iterator[tuple[pa.Array, int]], sought: int) -> Iterator[list[tuple[pa.Array, int]]]:
    """Arrays of keys gathered to some size: each set of them costs one hash table of the sought keys.

    So a set is no smaller than the table, or all of them would cost the product of both kinds of keys.
    """
    most = max(_LEAST_PROBED, sought)
    gathered: list[tuple[pa.Array, int]] = []
    rows = 0
    for keys, number in existing:
        gathered.append((keys, number))
        rows += len(keys)
        if rows >= most:
            yield gathered
            gathered, rows = [], 0
    if gathered:
        yield gathered


def hits_of(existing: list[tuple[pa.Array, int]], sought: pa.Array, slices: tuple[Slice, ...]) -> pa.Table:
    """Select the existing keys that are looked up, each once for a slice.

    Args:
        existing: keys and the number of the slice that they are in.
        sought: keys.
        slices: what the numbers stand for.
    """
    existing_keys = pa.chunked_array([keys for keys, _ in existing], pa.string())
    numbers = np.repeat([number for _, number in existing], [len(keys) for keys, _ in existing])
    mask = pc.is_in(existing_keys, value_set=sought)
    keys = one_array(existing_keys.filter(mask))
    numbers = numbers[mask.to_numpy()]
    if not len(keys):
        return HITS_SCHEMA.empty_table()
    pairs = pa.table({"key": keys, "slice": numbers})
    pairs = pairs.group_by(["key", "slice"], use_threads=False).aggregate([])
    at = pairs.column("slice")
    partitions = pa.array([part.partition for part in slices], pa.string())
    file_ids = pa.array([part.file_id for part in slices], pa.string())
    return pa.table([pairs.column("key"), partitions.take(at), file_ids.take(at)], schema=HITS_SCHEMA)
