"""``HudiTable.metadata``: the metadata table of a table, made, deleted, checked and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from hudi_hive.errors import MetadataTableError
from hudi_hive.metadata import MetadataTable, ValidationReport, validate
from hudi_hive.metadata.reader import SIZES_SCHEMA, relative_path
from hudi_hive.metrics import MetadataMetrics
from hudi_hive.table import MetaClient
from hudi_hive.table_api.report import ServiceReport

if TYPE_CHECKING:
    from hudi_hive.write.services import MetadataServices, MetadataTableChange

    RunService: TypeAlias = Callable[
        [Mapping[str, Any] | None, Callable[[MetadataServices], MetadataTableChange]],
        ServiceReport[MetadataTableChange],
    ]


@dataclass(frozen=True)
class MetadataStatus:
    """The state of a metadata table: its partitions, and why it cannot be used.

    Attributes:
        partitions: its complete partitions: ``files``, ``column_stats`` …; empty without a metadata table.
        error: why it cannot be used; None if it can. The attributes below are empty where it cannot be looked into.
        in_sync: whether it has all completed actions of the table, so that readers use it.
        path: its base path.
        table_partitions: number of partitions of the table that it lists.
        last_compaction: requested time of its last compaction.
        last_instant: requested time of its last write.
        by_partition: a row per complete partition: ``partition``, ``file_groups``, ``base_files``, ``base_bytes``,
            ``log_files``, ``log_bytes``, of its newest file slices.
    """

    partitions: tuple[str, ...]
    error: MetadataTableError | None = None
    in_sync: bool = False
    path: str | None = None
    table_partitions: int = 0
    last_compaction: str | None = None
    last_instant: str | None = None
    by_partition: pa.Table = field(default_factory=SIZES_SCHEMA.empty_table, repr=False)


class TableMetadata:
    """The metadata table (RFC-15) of a ``HudiTable``, which makes this object.

    ``create``, ``init``, ``delete`` and ``set`` take the table's lock and move the ``HudiTable`` to the moment behind
    the change, as table services do; the other methods read its moment.
    """

    def __init__(self, client_of: Callable[[], MetaClient], run: RunService) -> None:
        self._client_of = client_of
        self._run = run

    def create(
        self, partitions: Sequence[str] | None = None, options: Mapping[str, Any] | None = None
    ) -> ServiceReport[MetadataTableChange]:
        """Make the metadata table of a table that has none, from one listing.

        Args:
            partitions: partitions of the metadata table to make beside ``files``; those that a write makes without it.
            options: Hudi's write options (``hoodie.metadata.*``, ``hoodie.write.lock.*`` …).

        Returns:
            The partitions that were made, and all that it has.

        Raises:
            MetadataTableError: there is a metadata table already, or a partition that is not written.
            LockTimeoutError: the table is locked by another writer.
        """
        return self._run(options, lambda services: services.create(partitions))

    def init(
        self, partitions: Sequence[str] | None = None, options: Mapping[str, Any] | None = None
    ) -> ServiceReport[MetadataTableChange]:
        """Make the partitions that are missing in the metadata table, the metadata table itself included.

        Args:
            partitions: partitions of the metadata table that shall be there; those that a write makes without it.
            options: Hudi's write options.

        Returns:
            The partitions that were made, and all that it has.

        Raises:
            MetadataTableError: a partition that is not written.
            LockTimeoutError: the table is locked by another writer.
        """
        return self._run(options, lambda services: services.init(partitions))

    def create_index(
        self,
        name: str,
        column: str,
        kind: str = "secondary_index",
        index_options: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> ServiceReport[MetadataTableChange]:
        """Make a secondary or expression index of all rows, which each write keeps in step from then on.

        Args:
            name: of the index.
            column: the column, a field of structs by its dotted name.
            kind: ``secondary_index``; ``column_stats`` or ``bloom_filters`` for an expression index.
            index_options: of an expression index ``expr``, the function, and its further arguments (``format``,
                ``pos``, ``len``, ``days``).
            options: Hudi's write options.

        Raises:
            MetadataTableError: the index is there, or cannot be made.
            UnknownColumnError: the table has no such column.
            LockTimeoutError: the table is locked by another writer.
        """
        return self._run(options, lambda services: services.create_index(name, kind, [column], index_options))

    def delete(
        self, partitions: Sequence[str] | None = None, options: Mapping[str, Any] | None = None
    ) -> ServiceReport[MetadataTableChange]:
        """Delete the metadata table, or partitions of it; the table's rows stay.

        Args:
            partitions: partitions of the metadata table; all, and the metadata table with them, without it.
            options: Hudi's write options.

        Returns:
            The partitions that were deleted, and those that are left.

        Raises:
            MetadataTableError: the metadata table has no such partition.
            LockTimeoutError: the table is locked by another writer.
        """
        return self._run(options, lambda services: services.delete(partitions))

    def set(self, enabled: bool, options: Mapping[str, Any] | None = None) -> ServiceReport[MetadataTableChange]:
        """Switch the metadata table on, which makes it where it is missing, or off, which deletes it.

        Args:
            enabled: whether readers shall use the metadata table.
            options: Hudi's write options.

        Raises:
            LockTimeoutError: the table is locked by another writer.
        """
        return self._run(options, lambda services: services.set(enabled))

    def status(self) -> MetadataStatus:
        """The state of the metadata table; of one that is off or cannot be used, the reason."""
        client = self._client_of()
        complete = client.config.metadata_partitions
        reason: MetadataTableError | None = None
        try:
            table = MetadataTable.open(client)
        except MetadataTableError as error:
            reason = error
            try:
                table = MetadataTable.open_outdated(client)
            except MetadataTableError:
                return MetadataStatus(complete, reason)
        writes = table.client.timeline.write_instants()
        compactions = [instant for instant in writes if instant.action == "commit"]
        return MetadataStatus(
            complete,
            reason,
            in_sync=reason is None,
            path=table.client.base_path,
            table_partitions=len(table.partitions()),
            last_compaction=compactions[-1].requested if compactions else None,
            last_instant=writes[-1].requested if writes else None,
            by_partition=table.stats(),
        )

    def validate(self) -> ValidationReport:
        """Compare all that the metadata table says of partitions and files with a listing made now.

        Raises:
            MetadataTableError: there is no metadata table to compare.
        """
        return validate(self._client_of())

    @property
    def reader(self) -> MetadataTable:
        """Look-ups in the metadata table: files, column ranges, bloom filters, record locations.

        Raises:
            MetadataTableError: the table has none that can be used.
        """
        return MetadataTable.open(self._client_of())

    def partitions(self, below: Sequence[str] = ()) -> list[str]:
        """Paths of the table's partitions as the metadata table lists them, sorted.

        ``HudiTable.partitions`` lists folders where there is no metadata table.

        Args:
            below: only partitions at or below one of these paths (``["2024/01"]``); all without it.

        Raises:
            MetadataTableError: the table has no metadata table that can be used.
        """
        return self.reader.partitions([relative_path(self._client_of(), path) for path in below])

    def files(self, partitions: Sequence[str] | None = None, *, below: Sequence[str] = ()) -> pa.Table:
        """The table's files as the metadata table lists them: ``partition``, ``name``, ``size``.

        Args:
            partitions: partition paths; all without it.
            below: only files of partitions at or below one of these paths.

        Raises:
            MetadataTableError: the table has no metadata table that can be used.
        """
        if not below:
            return self.reader.files_table(partitions)
        inside = self.partitions(below)
        return self.reader.files_table([path for path in inside if partitions is None or path in partitions])

    def stats(self) -> pa.Table:
        """Files and bytes of each complete partition of the metadata table; see :class:`MetadataStatus`.

        Raises:
            MetadataTableError: the table has no metadata table that can be used.
        """
        return self.reader.stats()

    @property
    def metrics(self) -> MetadataMetrics:
        """Counts and durations of look-ups.

        Raises:
            MetadataTableError: the table has no metadata table that can be used.
        """
        return self.reader.metrics
