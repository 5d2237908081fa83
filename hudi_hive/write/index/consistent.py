"""The bucket index of consistent hashing: each partition has a ring of buckets of its own, which clustering changes.

Source: docs/format.md#consistent-hashing, ``HoodieConsistentBucketIndex``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.formats.hash import xxhash32
from hudi_hive.table import MetaClient
from hudi_hive.write.index.bucket import BucketIndex, hash_texts
from hudi_hive.write.index.hash_ring import HashingMetadata, IntArray
from hudi_hive.write.index.hashing_files import load_or_make_hashing
from hudi_hive.write.index.options import IndexOptions
from hudi_hive.write.index.plan import partitions_of, rows_by_partition
from hudi_hive.write.index.tables import TAG_SCHEMA, one_array


class ConsistentBucketIndex(BucketIndex):
    """Finds file groups by hashes of keys on the ring of their partition; a new partition gets one."""

    def __init__(self, client: MetaClient, options: IndexOptions) -> None:
        super().__init__(client, options)
        self._rings: dict[str, HashingMetadata] = {}
        self._there: set[tuple[str, str]] = set()

    def learn(self, partitions: Sequence[str]) -> None:
        """Load rings and file groups of partitions, each once; copies of this index for other processes include them.

        Raises:
            UnsupportedTableError: a file group is of no bucket, or that of a bucket was replaced by an overwrite.
            CorruptFileError: the metadata of a partition cannot be decoded.
        """
        new = [path for path in partitions if path not in self._rings]
        if not new:
            return
        rings = {path: load_or_make_hashing(self.client, path, self.options.buckets) for path in new}
        groups = {(part.partition, part.file_id) for part in self.slices(new)}
        _refuse_other_groups(self.client, rings, groups)
        self._rings |= rings
        self._there |= groups

    def locate(self, keys: pa.Table, hits: pa.Table | None = None) -> pa.Table:
        """The buckets and file groups of rows, as of :meth:`BucketIndex.locate`."""
        del hits
        if not keys.num_rows:
            return TAG_SCHEMA.empty_table()
        self.learn(partitions_of(keys))
        hashes = ring_hashes(one_array(keys.column("key")), self.options, version=self.client.config.version)
        places = np.empty(keys.num_rows, np.int64)
        groups: list[tuple[str, str]] = []
        for path, rows in rows_by_partition(keys):
            ring = self._rings[path]
            places[rows] = len(groups) + ring.places(hashes[rows])
            groups += [(path, node.file_id) for node in ring.nodes]
        take = pa.array(places)
        there = pa.array([name if (path, name) in self._there else None for path, name in groups], pa.string())
        group, made = there.take(take), pa.array([name for _, name in groups], pa.string()).take(take)
        partitions = one_array(keys.column("partition"))
        current = pc.if_else(group.is_valid(), partitions, pa.scalar(None, pa.string()))
        columns = [one_array(keys.column("row")), partitions, group, current, group, made]
        return pa.table(columns, schema=TAG_SCHEMA).sort_by("row")


def ring_hashes(keys: pa.Array, options: IndexOptions, *, version: int) -> IntArray:
    """The hash of each record key, which has a place on a ring.

    Args:
        keys: record keys.
        options: which name the hash fields.
        version: the table's.
    """
    return xxhash32(hash_texts(keys, options.hash_fields, version=version)).astype(np.int64)


def _refuse_other_groups(
    client: MetaClient, rings: Mapping[str, HashingMetadata], groups: set[tuple[str, str]]
) -> None:
    for path, file_id in sorted(groups):
        if file_id not in rings[path].by_file_id:
            raise UnsupportedTableError(
                f"file group {file_id} in partition {path!r} is of no bucket of consistent hashing",
                path=client.base_path,
                instant=rings[path].instant,
                remedy="give the index that the table was written with",
            )
    replaced = client.timeline.replaced_file_groups()
    places = zip(replaced["partition"].to_pylist(), replaced["file_id"].to_pylist(), strict=True)
    instants = dict(zip(places, replaced["instant"].to_pylist(), strict=True))
    for path, ring in rings.items():
        for node in ring.nodes:
            if (path, node.file_id) in instants:
                raise UnsupportedTableError(
                    f"bucket {node.file_id} of partition {path!r} was replaced: what is written to it is not read",
                    path=client.base_path,
                    instant=instants[path, node.file_id],
                    remedy="give another index",
                )
