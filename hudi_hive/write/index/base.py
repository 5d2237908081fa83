"""Base class of indexes: plans look-ups, and tags rows with the record locations that were found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar
from uuid import uuid4

import pyarrow as pa

from hudi_hive.metadata.reader import METADATA_SOURCE
from hudi_hive.table import MetaClient
from hudi_hive.table.logs import with_recorded_sizes
from hudi_hive.write.coordination import LocalExecutor, TaskExecutor
from hudi_hive.write.index.existing import resolve_hits, without_late_deletes
from hudi_hive.write.index.key_source import Slice, slices_of
from hudi_hive.write.index.options import IndexOptions
from hudi_hive.write.index.plan import LookupPlan, partitions_of
from hudi_hive.write.index.tables import TAG_SCHEMA, joined_hits, locate
from hudi_hive.write.index.tasks import LookupTask


class Index(ABC):
    """Finds the file groups of records in one table at the moment of its client; make it with :func:`open_index`.

    Attributes:
        client: the table.
        options: how it looks.
        seed: text that no other write has; ids of new file groups are made from it.
        assigns_inserts: whether new records have a file group that the index tells, so that rows must be tagged even
            where all of them are inserted.
    """

    assigns_inserts: ClassVar[bool] = False

    def __init__(self, client: MetaClient, options: IndexOptions) -> None:
        self.client = client
        self.options = options
        self.seed = uuid4().hex

    @property
    def is_global(self) -> bool:
        """Whether a key identifies one record in the whole table rather than in a partition."""
        return self.options.is_global

    @abstractmethod
    def plan_lookup(self, partitions: Sequence[str], executor: TaskExecutor) -> LookupPlan:
        """Plan the tasks that look keys up.

        Args:
            partitions: partitions of the rows.
            executor: where footers are read, if there are any to read.
        """

    def tag(self, keys: pa.Table, executor: TaskExecutor | None = None) -> pa.Table:
        """Tag rows with the record locations of their keys.

        Args:
            keys: a table of ``KEYS_SCHEMA``.
            executor: where keys are looked up; threads of this process without it.

        Returns:
            A table of ``TAG_SCHEMA``.

        Raises:
            FileVanishedError: a file was cleaned since the client was made; make a new one.
            CorruptFileError: a file cannot be decoded.
        """
        if not keys.num_rows:
            return TAG_SCHEMA.empty_table()
        keys = keys.combine_chunks()
        return self.locate(keys, self.hits(keys, executor))

    def hits(self, keys: pa.Table, executor: TaskExecutor | None = None) -> pa.Table:
        """Look up where keys are.

        Args:
            keys: ``key`` and ``partition``, among other columns.
            executor: where keys are looked up; threads of this process without it.

        Returns:
            A table of ``HITS_SCHEMA``, with no line for a key that is nowhere.

        Raises:
            FileVanishedError, CorruptFileError: as :meth:`tag`.
        """
        executor = executor if executor is not None else LocalExecutor()
        keys = keys.select(["key", "partition"]).combine_chunks()
        plan = self.plan_lookup(partitions_of(keys), executor)
        lookups = [(plan.tasks[task], keys.take(pa.array(rows))) for task, rows in plan.route.rows(keys) if len(rows)]
        return joined_hits(executor.map(_look_up_keys, lookups))

    def locate(self, keys: pa.Table, hits: pa.Table) -> pa.Table:
        """Tag rows by all hits of their keys: a table of ``TAG_SCHEMA``.

        Rows without any line are not to be written: by event time they are older than records that they would move or
        delete.

        Raises:
            UnsupportedTableError: records would move that cannot be compared.
        """
        moves = self.options.updates_partition
        if self.is_global:
            keys, hits = resolve_hits(self.client, keys, hits, updates_partition=moves)
        keys = without_late_deletes(self.client, keys, hits)
        return locate(keys, hits, is_global=self.is_global, updates_partition=moves)

    def slices(self, partitions: Sequence[str]) -> list[Slice]:
        """The newest slices that a look-up reads: of the partitions of the rows, or of all with a global index."""
        if self.is_global:
            view = self.client.file_system_view()
        else:
            there = set(self.client.partition_paths())
            view = self.client.file_system_view([path for path in partitions if path in there])
        slices = view.latest_merged_file_slices()
        if self.client.lister.source != METADATA_SOURCE:
            slices = with_recorded_sizes(self.client.timeline, self.client.storage, slices)
        return slices_of(slices)


def _look_up_keys(task_and_keys: tuple[LookupTask, pa.Table]) -> pa.Table:
    task, keys = task_and_keys
    return task.lookup(keys)
