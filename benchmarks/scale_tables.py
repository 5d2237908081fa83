"""Tables for ``scale.py`` and ``plan_scale.py``: a metadata table of millions of files that are not there.

Only the files partition (and a record index, where one is asked for) is written, by this package's own writer of base
files; commits of the timeline name no files, since no plan of a snapshot reads them. Ids of files are random, as
writers give them, so that nothing compresses better than it would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import growth_tables as small
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.metadata.reader import INDEX_ADDED_SCHEMA, MetadataChanges
from hudi_hive.table import FILES_SCHEMA

_COMMITS: Final = 10
"""Commits that the files are spread over."""
_AT_ONCE: Final = 1_000_000
"""Files of one change of the metadata table."""


def random_ids(count: int, seed: int) -> pa.Array:
    """Ids of file groups: random UUIDs."""
    drawn = np.random.default_rng(seed).integers(0, 256, (count, 16), np.uint8)
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    text = np.empty((count, 38), np.uint8)
    places = [at for at in range(36) if at not in (8, 13, 18, 23)]
    text[:, places[0::2]], text[:, places[1::2]] = digits[drawn >> 4], digits[drawn & 15]
    text[:, [8, 13, 18, 23, 36]] = ord("-")
    text[:, 37] = ord("0")
    offsets = np.arange(0, 38 * count + 1, 38, dtype=np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text.tobytes()))


def partition_names(numbers: np.ndarray) -> pa.Array:
    """Names of partitions by their numbers."""
    return pc.binary_join_element_wise("p", pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 7, "0"), "")


def shares(files: int, partitions: int) -> Iterator[pa.Table]:
    """Added files, tables of ``FILES_SCHEMA``; neighbours share a partition, which is in one table."""
    per_partition = files // partitions
    step = max(1, _AT_ONCE // per_partition)
    for first in range(0, partitions, step):
        numbers = np.repeat(np.arange(first, min(first + step, partitions)), per_partition)
        instants = pa.array([small.instant(at) for at in range(_COMMITS)]).take(
            pa.array(np.arange(len(numbers)) % _COMMITS)
        )
        head = pc.binary_join_element_wise(random_ids(len(numbers), first), "0-1-1", instants, "_")
        names = pc.binary_join_element_wise(head, ".parquet", "")
        sizes = np.random.default_rng(first).integers(1_000_000, 120_000_000, len(numbers))
        yield pa.table([partition_names(numbers), names, sizes], schema=FILES_SCHEMA)


def write_scale_table(path: Path, files: int, partitions: int) -> None:
    """A copy-on-write table of so many files in so many partitions, all in a base file of the metadata table."""
    added = shares(files, partitions)
    changes = [MetadataChanges(files_added=next(added, FILES_SCHEMA.empty_table())) for _ in range(_COMMITS - 1)]
    rest = pa.concat_tables([FILES_SCHEMA.empty_table(), *added])
    _write(path, iter([*changes, MetadataChanges(files_added=rest)]), small.BARE)


def write_index_table(path: Path, keys: int, files: int = 1_000) -> None:
    """A table whose record index has so many keys, all in one file group."""
    _write(path, _key_changes(keys, files), INDEX)


INDEX: Final = {
    **small.BARE,
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "1",
    "hoodie.metadata.record.index.max.filegroup.count": "1",
}
"""Options of a record index of one file group."""


def keys_of(numbers: np.ndarray) -> pa.Array:
    """Record keys by their numbers, in no order, 16 digits each."""
    mixed = (numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) % np.uint64(10**16)
    return pc.utf8_lpad(pa.array(mixed).cast(pa.string()), 16, "0")


def _key_changes(keys: int, files: int) -> Iterator[MetadataChanges]:
    (added,) = shares(files, min(files, 100))
    ids = pc.utf8_slice_codeunits(added.column("name"), 0, 38)
    for first in range(0, keys, _AT_ONCE):
        numbers = np.arange(first, min(first + _AT_ONCE, keys))
        at = pa.array(numbers % files)
        index = [keys_of(numbers), added.column("partition").take(at), ids.take(at)]
        change = MetadataChanges(index_added=pa.table(index, schema=INDEX_ADDED_SCHEMA))
        yield replace(change, files_added=added) if first == 0 else change


def _write(path: Path, changes: Iterator[MetadataChanges], options: dict[str, str]) -> None:
    """A table with a commit for each change; the last one's services merge what the others wrote."""
    client = small.empty_table(path)
    at = 0
    for at, change in enumerate(changes):
        small.apply(client.reload(), at, "commit", change, {**options, **_LATER})
        small.commit(client, at, [])
    merged = {**options, "hoodie.metadata.compact.max.delta.commits": "1"}
    small.apply(client.reload(), at + 1, "commit", MetadataChanges(), merged)
    small.commit(client, at + 1, [])


_LATER: Final = {"hoodie.metadata.compact.max.delta.commits": "1000"}
