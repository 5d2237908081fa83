"""The record index of the metadata table, which holds the file group of each record key.

Keys go to the index's file groups by their hash, so that each task reads one of these; where the index is kept for each
partition of the table, to those of the row's partition.

Source: docs/format.md#metadata-file-groups.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MetadataTableError, UnsupportedTableError
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import (
    RECORD_INDEX,
    FileGroup,
    group_indexes,
    is_partitioned_index,
    locations,
    newest_records,
)
from hudi_hive.metrics import METADATA_METRICS
from hudi_hive.table import MetaClient
from hudi_hive.write.coordination import TaskExecutor
from hudi_hive.write.index.base import Index
from hudi_hive.write.index.options import IndexOptions
from hudi_hive.write.index.plan import LookupPlan, rows_by_partition
from hudi_hive.write.index.simple import SimpleIndex
from hudi_hive.write.index.tables import HITS_SCHEMA, IntArray, one_array
from hudi_hive.write.options import IndexType

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RecordIndexTask:
    """A task that looks keys up in one file group of the record index.

    Attributes:
        group: the file group.
    """

    group: FileGroup = field(repr=False)

    def lookup(self, keys: pa.Table) -> pa.Table:
        """Find the keys in the file group."""
        sought = one_array(keys.column("key"))
        if not len(sought):
            return HITS_SCHEMA.empty_table()
        with METADATA_METRICS.timed("lookup_record_index"):
            records = newest_records([self.group.lookup("recordIndexMetadata", sought)], locations)
        return pa.table([records.column(name) for name in HITS_SCHEMA.names], schema=HITS_SCHEMA)


class ByHash:
    """Assigns keys to tasks by hash, as to the file groups of the metadata table.

    Args:
        groups: number of file groups, one a task.
    """

    def __init__(self, groups: int) -> None:
        self._groups = groups

    def rows(self, keys: pa.Table) -> list[tuple[int, IntArray]]:
        """The keys of each file group."""
        at = group_indexes(one_array(keys.column("key")), self._groups)
        order = np.argsort(at, kind="stable")
        edges = np.searchsorted(at[order], np.arange(self._groups + 1))
        return [(task, order[edges[task] : edges[task + 1]]) for task in range(self._groups)]


class ByPartitionAndHash:
    """Assigns keys to tasks by partition, and there by hash.

    Args:
        groups: number of file groups of each partition, one a task, in the order of the tasks.
    """

    def __init__(self, groups: Mapping[str, int]) -> None:
        begins = np.cumsum([0, *groups.values()]).tolist()
        self._parts = {
            path: (begin, ByHash(count)) for begin, (path, count) in zip(begins, groups.items(), strict=False)
        }

    def rows(self, keys: pa.Table) -> list[tuple[int, IntArray]]:
        """The keys of each file group; none of a partition that has no index."""
        routed: list[tuple[int, IntArray]] = []
        for path, rows in rows_by_partition(keys):
            if path in self._parts:
                begin, by_hash = self._parts[path]
                own = keys.select(["key"]).take(pa.array(rows))
                routed += [(begin + task, rows[at]) for task, at in by_hash.rows(own)]
        return routed


class RecordIndex(Index):
    """Looks keys up in the record index of the metadata table."""

    def plan_lookup(self, partitions: Sequence[str], executor: TaskExecutor) -> LookupPlan:
        """Look keys up in the metadata table's record index."""
        del executor
        table = MetadataTable.open(self.client)
        if self.is_global:
            (groups,) = table.prefixed_groups(RECORD_INDEX).values()
            return LookupPlan([RecordIndexTask(group) for group in groups], ByHash(len(groups)))
        there = table.record_index_groups()
        parts = {path: there[path] for path in partitions if path in there}
        tasks = [RecordIndexTask(group) for some in parts.values() for group in some]
        return LookupPlan(tasks, ByPartitionAndHash({path: len(some) for path, some in parts.items()}))

    def locate(self, keys: pa.Table, hits: pa.Table) -> pa.Table:
        """Tag rows; locations in file groups that do not exist any more are ignored."""
        return super().locate(keys, self._alive(hits))

    def _alive(self, hits: pa.Table) -> pa.Table:
        """Hits in file groups that are there: those that were replaced need not have been taken out of the index."""
        if not hits.num_rows:
            return hits
        paths = pc.unique(one_array(hits.column("partition"))).to_pylist()
        view = self.client.file_system_view(paths)  # one that is gone has no files; all names may be very many
        slices = view.latest_file_slices().select(["partition", "file_id"])
        place = pc.binary_join_element_wise(slices.column("partition"), slices.column("file_id"), "/")
        hit_groups = pc.binary_join_element_wise(hits.column("partition"), hits.column("file_id"), "/")
        return hits.filter(pc.is_in(hit_groups, value_set=one_array(place)))


def record_index(client: MetaClient, options: IndexOptions) -> Index:
    """Open the record index, or a simple index for a table without a complete record index.

    As Hudi does: the first write of a table with a record index makes it, and needs no look-up in it.

    Raises:
        UnsupportedTableError: the table has the other kind of record index: one for each partition, in which a key may
            stand for several records, or one for the whole table, which has one place of a key that may be in several
            partitions.
    """
    try:
        MetadataTable.open(client).prefixed_groups(RECORD_INDEX)
    except MetadataTableError as error:
        _log.info("no record index (%s): keys are read from the files instead", error.message)
        return SimpleIndex(client, options)
    if is_partitioned_index(client) is options.is_global:
        raise UnsupportedTableError(
            "a record index of its own for each partition is not asked for keys of the whole table"
            if options.is_global
            else "a record index of the whole table is not asked for keys that may be in several partitions",
            path=client.base_path,
            remedy=f"write with hoodie.index.type={IndexType.RECORD_LEVEL_INDEX}, SIMPLE or BLOOM, which look in a "
            "row's own partition"
            if options.is_global
            else f"write with hoodie.index.type={IndexType.RECORD_INDEX}, SIMPLE or BLOOM",
        )
    return RecordIndex(client, options)
