"""Makes and deletes a table's metadata table (RFC-15) under the table's lock.

Source: docs/format.md#metadata-table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from hudi_hive.errors import InvalidOptionError, MetadataTableError
from hudi_hive.metadata import IndexDefinition
from hudi_hive.metadata.reader import FILES, RECORD_INDEX
from hudi_hive.metadata.writer import MetadataWriter, drop_build, listed_partitions, planned_builds
from hudi_hive.options import write
from hudi_hive.table import MetaClient
from hudi_hive.write.column_indexes import SECONDARY_INDEX, SliceColumns, new_index
from hudi_hive.write.coordination import METRICS, quietly, report_metrics
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services.indexing import (
    BuildTarget,
    IndexBuilder,
    dead_builds,
    drop_dead_builds,
    refuse_being_built,
)


@dataclass(frozen=True)
class MetadataTableChange:
    """How a service changed the metadata table.

    Attributes:
        created: partitions of the metadata table that it made.
        deleted: partitions that it deleted.
        partitions: the complete partitions afterwards; empty without a metadata table.
    """

    created: tuple[str, ...]
    deleted: tuple[str, ...]
    partitions: tuple[str, ...]


class _NextPartitions:
    """Chooses what the builds of partitions make, one after the other; each partition is tried once.

    Args:
        partitions: those that shall be there; what the options say without it.
    """

    def __init__(self, partitions: Sequence[str] | None) -> None:
        self._partitions = partitions
        self._chosen: tuple[str, ...] | None = None
        self._tried: list[str] = []

    def __call__(self, writer: MetadataWriter) -> BuildTarget:
        self._chosen = writer.to_build(self._partitions, self._tried)
        return BuildTarget(self._chosen)

    def goes_on(self) -> bool:
        """Whether the last build had something to make, or is the first one; what it made is passed over from now."""
        self._tried += self._chosen or ()
        return self._chosen is None or bool(self._chosen)


class MetadataServices:
    """Services of one table's metadata table; each runs as one turn of the table's lock.

    Args:
        context: the table, its lock, and where tasks run; the lock must not be held.
    """

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    def create(self, partitions: Sequence[str] | None = None) -> MetadataTableChange:
        """Make the metadata table of a table that has none, from one listing.

        Args:
            partitions: partitions of the metadata table to make beside ``files``; those that a write makes without it.

        Raises:
            MetadataTableError: there is a metadata table already, or a partition that is not written.
            InvalidOptionError: ``hoodie.metadata.enable=false`` is among the options.
            LockTimeoutError: the table is locked by another writer.
        """
        with self._locked() as client:
            if client.config.metadata_partitions:
                raise MetadataTableError(
                    "there is a metadata table already",
                    path=client.base_path,
                    remedy="`hudi-hive metadata init` adds partitions, `hudi-hive metadata delete` deletes it",
                )
            return self._initialise(client, partitions)

    def init(self, partitions: Sequence[str] | None = None) -> MetadataTableChange:
        """Make the partitions that are missing in the metadata table, the metadata table itself included.

        Args:
            partitions: partitions of the metadata table that shall be there; those that a write makes without it.

        Raises:
            MetadataTableError: a partition that is not written.
            InvalidOptionError: ``hoodie.metadata.enable=false`` is among the options.
            LockTimeoutError: the table is locked by another writer.
        """
        if self._is_asynchronous:
            return self.build(partitions)
        with self._locked() as client:
            return self._initialise(client, partitions)

    def build(self, partitions: Sequence[str] | None = None) -> MetadataTableChange:
        """Make the partitions that are missing beside the writers, who add to them meanwhile; the lock is held shortly.

        The metadata table itself is made under the lock, where it is missing. Partitions that somebody else builds are
        passed over, unless they are named.

        Args:
            partitions: partitions of the metadata table that shall be there; those that the options name without it.

        Raises:
            MetadataTableError: a partition that is not written, or is being built; or it was dropped meanwhile.
            WriteConflictError: a write that was running at the begin has not ended in time; or the table changes
                faster than its files are read.
            InvalidOptionError: ``hoodie.metadata.enable=false`` is among the options.
            LockTimeoutError: the table is locked by another writer.
        """
        with self._locked() as now:
            client = drop_dead_builds(replace(self._context, client=now))
            refuse_being_built(client, partitions or ())
            created = list(self._writer(client).initialise((FILES,), current=True))
        choice = _NextPartitions(partitions)
        while choice.goes_on():
            created += self._builder.build(choice)
        return MetadataTableChange(tuple(created), (), self._context.client.reload().config.metadata_partitions)

    def missing(self) -> tuple[str, ...]:
        """Partitions that the options ask for and that the metadata table lacks as of now; needs no lock.

        What dead builds have left is among them.

        Raises:
            InvalidOptionError: ``hoodie.metadata.enable=false`` is among the options.
        """
        now = self._context.reload()
        writer = self._writer(now.client)
        missing = [name for name in writer.configured_partitions if writer.lacks(name)]
        left = [name for build in dead_builds(now) for name in build.plan.partitions]
        return tuple(dict.fromkeys((*missing, *left)))

    def create_index(
        self, name: str, kind: str, columns: Sequence[str], index_options: Mapping[str, str] | None = None
    ) -> MetadataTableChange:
        """Make a secondary or expression index of all rows.

        Args:
            name: of the index, without the prefix of its partition of the metadata table.
            kind: ``secondary_index``, ``column_stats`` or ``bloom_filters``.
            columns: one column, a field of structs by its dotted name.
            index_options: ``expr``, the function of an expression index, and its further arguments.

        Raises:
            MetadataTableError: the index is there, or cannot be made.
            UnknownColumnError: the table has no such column.
            InvalidOptionError: ``hoodie.metadata.enable=false`` is among the options.
            LockTimeoutError: the table is locked by another writer.
        """

        def defined(client: MetaClient) -> IndexDefinition:
            definition = new_index(client, name, kind, columns, index_options or {})
            if definition.name in client.config.metadata_partitions:
                raise MetadataTableError(f"the table has the index {name} already", path=client.base_path)
            return definition

        if self._is_asynchronous:
            return self._build_index(defined)
        with self._locked() as now:
            client = drop_dead_builds(replace(self._context, client=now))
            definition = defined(client)
            refuse_being_built(client, (definition.name, RECORD_INDEX))
            before = client.config.metadata_partitions
            writer = self._writer(client)
            writer.add_index(definition)
            after = writer.client.config.metadata_partitions
            return MetadataTableChange(tuple(one for one in after if one not in before), (), after)

    def _build_index(self, defined: Callable[[MetaClient], IndexDefinition]) -> MetadataTableChange:
        """Build an index of a column beside the writers, behind the record index that a secondary one goes by."""
        with self._locked() as now:
            definition = defined(drop_dead_builds(replace(self._context, client=now)))
        created = list(self.build((RECORD_INDEX,) if definition.kind == SECONDARY_INDEX else ()).created)

        def choose(writer: MetadataWriter) -> BuildTarget:
            definition = defined(writer.client)
            refuse_being_built(writer.client, (definition.name,))
            writer.refuse_index(definition)
            return BuildTarget((definition.name,), definition)

        created += self._builder.build(choose)
        return MetadataTableChange(tuple(created), (), self._context.client.reload().config.metadata_partitions)

    def delete(self, partitions: Collection[str] | None = None) -> MetadataTableChange:
        """Delete the metadata table, or partitions of it; the table's rows stay.

        Args:
            partitions: partitions of the metadata table; all, and the metadata table with them, without it.

        Raises:
            MetadataTableError: the metadata table has no such partition, neither complete nor being built.
            LockTimeoutError: the table is locked by another writer.
        """
        with self._locked() as client:
            before = sorted(listed_partitions(client))
            if unknown := sorted(set(partitions or ()) - set(before)):
                raise MetadataTableError(f"the metadata table has no partition {unknown[0]!r}", path=client.base_path)
            builds = planned_builds(client)
            MetadataWriter.drop(client, None if partitions is None else list(partitions))
            for build in builds:
                if partitions is None or set(build.plan.partitions).intersection(partitions):
                    drop_build(client.reload(), build, self._context.clock)
            client = client.reload()
            left = listed_partitions(client)
            deleted = tuple(name for name in before if name not in left)
            return MetadataTableChange((), deleted, client.config.metadata_partitions)

    def set(self, enabled: bool) -> MetadataTableChange:
        """Switch the metadata table on, which makes it where it is missing, or off, which deletes it.

        Args:
            enabled: whether readers shall use the metadata table.

        Raises:
            MetadataTableError: its partitions cannot be made.
            LockTimeoutError: the table is locked by another writer.
        """
        return self.init() if enabled else self.delete()

    @contextmanager
    def _locked(self) -> Iterator[MetaClient]:
        """The table as it is under its lock."""
        with self._context.lock() as held:
            yield self._context.client.reload()
            if held is not None:
                held.verify()
        quietly(METRICS, None, lambda: report_metrics(self._context.client, self._context.options))

    @property
    def _is_asynchronous(self) -> bool:
        return bool(write.METADATA_INDEX_ASYNC.of(self._context.options))

    @property
    def _builder(self) -> IndexBuilder:
        return IndexBuilder(self._context, self._writer)

    def _initialise(self, client: MetaClient, partitions: Sequence[str] | None) -> MetadataTableChange:
        client = drop_dead_builds(replace(self._context, client=client))
        writer = self._writer(client)
        refuse_being_built(client, writer.configured_partitions if partitions is None else partitions)
        created = writer.initialise(partitions, self._context.executor, current=True)
        return MetadataTableChange(created, (), writer.client.config.metadata_partitions)

    def _writer(self, client: MetaClient) -> MetadataWriter:
        if not WriteConfig.of(self._context.options, client.config).metadata.enable:
            raise InvalidOptionError(
                "hoodie.metadata.enable=false contradicts making the metadata table",
                path=client.base_path,
                remedy="leave the option out",
            )
        writer = MetadataWriter.open(client, self._context.options, self._context.executor, SliceColumns())
        assert writer is not None  # only where the options switch the metadata table off
        return writer
