"""Look-up tasks, which can be pickled, so that any executor can run them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.write.files import POSITION, first_positions
from hudi_hive.write.index.key_source import KeySource, Slice
from hudi_hive.write.index.tables import HITS_SCHEMA, distinct_hits, one_array

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
        return distinct_hits([hits_of(part, sought, self.slices) for part in _probes(self._existing(), len(sought))])

    def _existing(self) -> Iterator[ExistingKeys]:
        for number, part in enumerate(self.slices):
            yield from in_base_file(self.source.base_keys(part), number)
            yield from (ExistingKeys(keys, number) for keys in self.source.log_keys(part))


class ExistingKeys(NamedTuple):
    """Keys of a file slice.

    Attributes:
        keys: an array of text.
        number: of the slice.
        first: the row of the base file that the first key is at, the others behind it; None for keys of log files.
    """

    keys: pa.Array
    number: int
    first: int | None = None


def in_base_file(arrays: Iterable[pa.Array], number: int) -> Iterator[ExistingKeys]:
    """Yield all keys of the base file of a slice with their rows.

    Args:
        arrays: the keys, in the order of the rows.
        number: of the slice.
    """
    first = 0
    for keys in arrays:
        yield ExistingKeys(keys, number, first)
        first += len(keys)


def _probes(existing: Iterator[ExistingKeys], sought: int) -> Iterator[list[ExistingKeys]]:
    """Arrays of keys gathered to some size: each set of them costs one hash table of the sought keys.

    So a set is no smaller than the table, or all of them would cost the product of both kinds of keys.
    """
    most = max(_LEAST_PROBED, sought)
    gathered: list[ExistingKeys] = []
    rows = 0
    for part in existing:
        gathered.append(part)
        rows += len(part.keys)
        if rows >= most:
            yield gathered
            gathered, rows = [], 0
    if gathered:
        yield gathered


def hits_of(existing: Sequence[ExistingKeys], sought: pa.Array, slices: tuple[Slice, ...]) -> pa.Table:
    """Select the existing keys that are looked up, each once for a slice, with ``POSITION``.

    Args:
        existing: keys.
        sought: keys.
        slices: what the numbers of slices stand for.
    """
    existing_keys = pa.chunked_array([part.keys for part in existing], pa.string())
    mask = pc.is_in(existing_keys, value_set=sought)
    keys = one_array(existing_keys.filter(mask))
    if not len(keys):
        return HITS_SCHEMA.empty_table()
    lengths = [len(part.keys) for part in existing]
    at = np.flatnonzero(mask.to_numpy())
    of_part = np.repeat(np.arange(len(existing)), lengths)[at]
    starts = np.cumsum(lengths) - lengths
    firsts = np.array([-1 if part.first is None else part.first for part in existing])[of_part]
    positions = pa.array(firsts + at - starts[of_part], mask=firsts < 0)
    numbers = np.array([part.number for part in existing])[of_part]
    pairs = pa.table({"key": keys, "slice": numbers, POSITION: positions})
    pairs = first_positions(pairs, ["key", "slice"])
    of_pair = pairs.column("slice")
    partitions = pa.array([part.partition for part in slices], pa.string())
    file_ids = pa.array([part.file_id for part in slices], pa.string())
    hits = pa.table([pairs.column("key"), partitions.take(of_pair), file_ids.take(of_pair)], schema=HITS_SCHEMA)
    return hits.append_column(POSITION, pairs.column(POSITION))
