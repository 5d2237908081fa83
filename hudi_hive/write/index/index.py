"""An index: what a write asks where its records are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final

import pyarrow as pa

from hudi_hive.errors import InvalidOptionError
from hudi_hive.table import MetaClient
from hudi_hive.write.executor import Executor, LocalExecutor
from hudi_hive.write.index.key_source import KeySource, Slice, slices_of
from hudi_hive.write.index.options import HasOptions, IndexOptions, IndexType
from hudi_hive.write.index.plan import ByPartition, LookupPlan, ToAll, by_partition, partitions_of, shares
from hudi_hive.write.index.tables import TAG_SCHEMA, joined_hits, locate
from hudi_hive.write.index.tasks import LookupTask, SliceTask


class Index(ABC):
    """Finds the file groups of records in one table at the moment of its client; make it with :meth:`of`.

    Attributes:
        client: the table.
        options: how it looks.
        places_inserts: whether new records have a file group that the index tells, so that rows must be tagged even
            where all of them are inserted.
    """

    places_inserts: ClassVar[bool] = False

    def __init__(self, client: MetaClient, options: IndexOptions) -> None:
        self.client = client
        self.options = options

    @classmethod
    def of(cls, config: HasOptions | Mapping[str, str], client: MetaClient) -> Index:
        """The index that a write's options ask for.

        Args:
            config: the write's configuration, or its options by Hudi's names.
            client: the table; listings go through its lister.

        Raises:
            InvalidOptionError: an index that is not supported, or an option's value that is none.
        """
        named = config if isinstance(config, Mapping) else config.options
        options = IndexOptions.of(named, client.config)
        if (kind := _KINDS.get(options.type)) is None:
            raise InvalidOptionError(f"the index {options.type} is not supported")
        return kind(client, options)

    @property
    def is_global(self) -> bool:
        """Whether a key stands for one record in the whole table, so that no two rows may have it."""
        return self.options.is_global

    @abstractmethod
    def plan_lookup(self, partitions: list[str], executor: Executor) -> LookupPlan:
        """The tasks that look for keys.

        Args:
            partitions: partitions of the rows.
            executor: where footers are read, if there are any to read.
        """

    def tag(self, keys: pa.Table, executor: Executor | None = None) -> pa.Table:
        """Where rows go.

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
        executor = executor if executor is not None else LocalExecutor()
        keys = keys.combine_chunks()
        plan = self.plan_lookup(partitions_of(keys), executor)
        asked = keys.select(["key", "partition"])
        jobs = [(plan.tasks[task], asked.take(pa.array(rows))) for task, rows in plan.route.rows(keys) if len(rows)]
        hits = joined_hits(executor.map(_run, jobs))
        return self.locate(keys, hits)

    def locate(self, keys: pa.Table, hits: pa.Table) -> pa.Table:
        """Where rows go by all hits of their keys: a table of ``TAG_SCHEMA``."""
        options = self.options
        return locate(keys, hits, is_global=options.is_global, updates_partition=options.updates_partition)

    def slices(self, partitions: list[str]) -> list[Slice]:
        """The newest slices of the partitions that a look-up goes through: of all partitions with a global index."""
        if self.is_global:
            view = self.client.file_system_view()
        else:
            known = set(self.client.partition_paths())
            view = self.client.file_system_view([path for path in partitions if path in known])
        return slices_of(view.latest_merged_file_slices())


def _run(job: tuple[LookupTask, pa.Table]) -> pa.Table:
    task, keys = job
    return task.lookup(keys)


class SimpleIndex(Index):
    """Reads the keys of all slices of the rows' partitions (of the table, if it is global)."""

    def plan_lookup(self, partitions: list[str], executor: Executor) -> LookupPlan:
        del executor
        source = KeySource.of(self.client)
        slices = self.slices(partitions)
        if self.is_global:
            tasks = [SliceTask(source, share) for share in shares(slices)]
            return LookupPlan(tasks, ToAll(len(tasks)))
        found = [(path, share) for path, parts in by_partition(slices).items() for share in shares(parts)]
        tasks = [SliceTask(source, share) for _, share in found]
        return LookupPlan(tasks, ByPartition([path for path, _ in found]))


_KINDS: Final[dict[IndexType, type[Index]]] = {IndexType.SIMPLE: SimpleIndex, IndexType.GLOBAL_SIMPLE: SimpleIndex}
