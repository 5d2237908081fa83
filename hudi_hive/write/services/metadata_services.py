"""Makes and deletes a table's metadata table (RFC-15) under the table's lock.

Source: docs/format.md#metadata-table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from hudi_hive.errors import InvalidOptionError, MetadataTableError
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.table import MetaClient
from hudi_hive.write.column_indexes import SliceColumns, new_index
from hudi_hive.write.coordination import METRICS, quietly, report_metrics
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.service_base import ServiceContext


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
        with self._locked() as client:
            return self._initialise(client, partitions)

    def missing(self) -> tuple[str, ...]:
        """Partitions that the options ask for and that the metadata table lacks as of now; needs no lock.

        Raises:
            InvalidOptionError: ``hoodie.metadata.enable=false`` is among the options.
        """
        writer = self._writer(self._context.client.reload())
        return tuple(name for name in writer.configured_partitions if not writer.client_has(name))

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
        with self._locked() as client:
            definition = new_index(client, name, kind, columns, index_options or {})
            if definition.name in client.config.metadata_partitions:
                raise MetadataTableError(f"the table has the index {name} already", path=client.base_path)
            before = client.config.metadata_partitions
            writer = self._writer(client)
            writer.add_index(definition)
            after = writer.client.config.metadata_partitions
            return MetadataTableChange(tuple(one for one in after if one not in before), (), after)

    def delete(self, partitions: Collection[str] | None = None) -> MetadataTableChange:
        """Delete the metadata table, or partitions of it; the table's rows stay.

        Args:
            partitions: partitions of the metadata table; all, and the metadata table with them, without it.

        Raises:
            MetadataTableError: the metadata table has no such partition.
            LockTimeoutError: the table is locked by another writer.
        """
        with self._locked() as client:
            before = client.config.metadata_partitions
            if unknown := sorted(set(partitions or ()) - set(before)):
                raise MetadataTableError(f"the metadata table has no partition {unknown[0]!r}", path=client.base_path)
            MetadataWriter.drop(client, None if partitions is None else list(partitions))
            after = client.reload().config.metadata_partitions
            return MetadataTableChange((), tuple(name for name in before if name not in after), after)

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

    def _initialise(self, client: MetaClient, partitions: Sequence[str] | None) -> MetadataTableChange:
        writer = self._writer(client)
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
