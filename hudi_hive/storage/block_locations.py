"""On which hosts a task should run: where a store has the parts of files, asked of stores that tell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import pyarrow as pa

from hudi_hive.metrics import IoCounters
from hudi_hive.storage.stores import BlockLocation, FileStore, LocatingStore
from hudi_hive.storage.together import Place, run_together

FileBlocks = Sequence[BlockLocation]
"""The parts of a file and their nodes; none where nobody can be asked."""


class StoredFiles(Place, Protocol):
    """The interface of a storage whose files are looked for; ``Storage`` implements it."""

    counters: IoCounters

    def full_path(self, path: str = "") -> str:
        """The path of a file in its store."""


def locations_of(storage: StoredFiles, store: FileStore | None, paths: pa.Array) -> list[FileBlocks] | None:
    """The parts of files and their nodes, all files asked for at the same time; None where the store does not tell.

    Args:
        storage: whose files they are; its counters count a ``locations`` for each.
        store: its store.
        paths: relative to it.
    """
    if not isinstance(store, LocatingStore) or not store.has_locations:
        return None
    storage.counters.add("locations", len(paths))
    full = [storage.full_path(path) for path in paths.to_pylist()]
    return run_together(storage, [partial(store.block_locations, path) for path in full])


def hosts_of_range(blocks: FileBlocks, start: int, length: int) -> tuple[str, ...]:
    """The nodes that have most of a range of a file, as many as its first block has replicas.

    Args:
        blocks: of the file.
        start, length: the range, bytes; an empty one belongs to the block in which it stands.
    """
    held: dict[str, int] = {}
    replicas = 0
    for block in blocks:
        share = min(block.offset + block.length, start + max(length, 1)) - max(block.offset, start)
        if share <= 0:
            continue
        replicas = replicas or len(block.hosts)
        for host in block.hosts:
            held[host] = held.get(host, 0) + share
    ranked = sorted(held, key=lambda host: -held[host])  # of equal ones that which the store names first
    return tuple(ranked[:replicas])
