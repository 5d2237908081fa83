"""Metadata for query engines: schemas, tables, columns and properties (RFC-40's connector metadata).

Names and what is registered come from the metastore, case-insensitively; columns, types and the instant come from the
Hudi table itself, which may be ahead of its last sync.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.connector.handle import HudiTableHandle, PartitionKey
from hudi_hive.connector.registration import base_path_of, is_hudi, query_type_of
from hudi_hive.connector.views import ConnectorView, is_view, view_of
from hudi_hive.errors import HudiHiveError
from hudi_hive.metadata import MetadataListing, MetadataTable
from hudi_hive.metastore import HiveMetastore, Table
from hudi_hive.metrics import IoCounters
from hudi_hive.plan import Query
from hudi_hive.plan.core import Filter, plan_scan
from hudi_hive.plan.model import Moment, QueryType, ReadOptions
from hudi_hive.schema import META_FIELDS
from hudi_hive.storage import Credentials
from hudi_hive.table import MetaClient


@dataclass(frozen=True, slots=True)
class ConnectorColumn:
    """A column of a table.

    Attributes:
        name: as the Hudi table spells it.
        type: Arrow type of its values.
        hive_type: type in the metastore; None when the metastore does not know the column (yet, or by choice).
        comment: the metastore's comment.
        is_partition_key: the metastore's table is partitioned by it.
        is_hidden: one of Hudi's meta columns.
    """

    name: str
    type: pa.DataType
    hive_type: str | None
    comment: str | None
    is_partition_key: bool
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """Statistics of a table that are available without reading its files; None where unknown.

    Attributes:
        rows: rows, as far as no log file changes their number.
        bytes: bytes of base and log files.
        files: base and log files.
    """

    rows: int | None
    bytes: int | None
    files: int | None


class ConnectorMetadata:
    """Metadata of Hudi tables, from the metastore and from the tables themselves.

    Args:
        metastore: the metastore.
        storage_options: for the tables' files.
        counters: where their I/O is counted.
    """

    def __init__(
        self,
        metastore: HiveMetastore,
        storage_options: Mapping[str, Any] | None = None,
        *,
        counters: IoCounters | None = None,
    ) -> None:
        self._metastore = metastore
        self._storage_options = Credentials(storage_options or {})
        self._counters = counters

    def schemas(self) -> list[str]:
        """Names of the metastore's databases, sorted."""
        return sorted(self._metastore.databases())

    def tables(self, schema: str) -> list[str]:
        """Names of the Hudi tables of a database, sorted; views and other tables are left out.

        Raises:
            NoSuchObjectError: there is no such database.
        """
        names = self._metastore.tables(schema.lower())
        return sorted(str(t.tableName) for t in self._metastore.table_objects(schema.lower(), names) if is_hudi(t))

    def base_paths(self, schema: str) -> dict[str, str]:
        """Base paths of the Hudi tables of a database by name, sorted, as registered; the tables are not opened.

        Raises:
            NoSuchObjectError: there is no such database.
            MetastoreError: what is registered contradicts itself.
        """
        names = self._metastore.tables(schema.lower())
        tables = [table for table in self._metastore.table_objects(schema.lower(), names) if is_hudi(table)]
        return {name: base_path_of(table) for name, table in sorted((str(t.tableName), t) for t in tables)}

    def views(self, schema: str) -> list[str]:
        """Names of the views of a database, sorted, whatever their text and tables.

        Raises:
            NoSuchObjectError: there is no such database.
        """
        names = self._metastore.tables(schema.lower())
        return sorted(str(t.tableName) for t in self._metastore.table_objects(schema.lower(), names) if is_view(t))

    def view(self, schema: str, name: str) -> ConnectorView:
        """One view, its text decoded; names in any case.

        Raises:
            NoSuchObjectError: no such view.
            UnsupportedTableError: it is no view, or one of a kind whose text is no SQL.
            MetastoreError: its text cannot be decoded.
        """
        return view_of(self._metastore.table(schema.lower(), name.lower()))

    def table(
        self,
        schema: str,
        name: str,
        *,
        query_type: str | None = None,
        as_of: Moment | None = None,
        begin: Moment | None = None,
        end: Moment | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> HudiTableHandle:
        """One table, as of now; names in any case. One call, and a listing of the table's timeline.

        Args:
            schema, name: database and table.
            query_type, as_of, begin, end, options: what is asked of it, as of ``HudiTable.scan``. Without
                ``query_type`` a ``_ro`` table shows its read-optimised rows, also as of a moment.

        Raises:
            NoSuchObjectError: no such table.
            UnsupportedTableError: it is no Hudi table, or one that is not read.
            MetastoreError: what is registered contradicts itself.
            InvalidOptionError: an option or argument is unknown, invalid or contradicts another.
            TableError: the Hudi table is not there or cannot be opened.
        """
        table = self._metastore.table(schema.lower(), name.lower())
        base_path = base_path_of(table)
        client = MetaClient.load(base_path, self._storage_options, counters=self._counters, listing=MetadataListing())
        zone = client.config.timezone
        query = Query.of(query_type, as_of=as_of, begin=begin, end=end, options=options, timezone=zone)
        if query.query_type is QueryType.SNAPSHOT and not _says_type(query_type, options):
            plain = query_type_of(table, merge_on_read=client.config.is_merge_on_read)
            query = replace(query, query_type=plain)
        return HudiTableHandle(
            database=schema.lower(),
            name=name.lower(),
            base_path=client.base_path,
            table_type=client.config.table_type,
            query_type=query.query_type,
            partition_keys=tuple(PartitionKey(key.name, key.type) for key in table.partitionKeys or []),
            instant=_last_write(client, query.as_of),
            as_of=query.as_of,
            begin=query.begin,
            end=query.end,
            options=query.options,
            client=client,
        )

    def columns(self, handle: HudiTableHandle) -> list[ConnectorColumn]:
        """The columns in the order of rows, with the metastore's types and comments.

        Raises:
            MetastoreError: two columns of the metastore differ in case alone.
            SchemaError: the table's schema is not known.
        """
        table = self._registered(handle)
        metastore_columns = {str(f.name).lower(): f for f in [*(table.sd.cols or []), *(table.partitionKeys or [])]}
        keys = {key.name.lower() for key in handle.partition_keys}
        columns = []
        for item in handle.schema:
            registered = metastore_columns.get(item.name.lower())
            columns.append(
                ConnectorColumn(
                    name=item.name,
                    type=item.type,
                    hive_type=registered.type if registered is not None else None,
                    comment=(registered.comment or None) if registered is not None else None,
                    is_partition_key=item.name.lower() in keys,
                    is_hidden=item.name in META_FIELDS,
                )
            )
        return columns

    def properties(self, handle: HudiTableHandle) -> dict[str, str]:
        """Parameters of the metastore's table, and those of its SerDe that the table does not have."""
        table = self._registered(handle)
        serde = (table.sd.serdeInfo and table.sd.serdeInfo.parameters) or {}
        return {**serde, **(table.parameters or {})}

    def apply_filter(self, handle: HudiTableHandle, row_filter: Filter) -> HudiTableHandle:
        """A handle of the same table and moment with a further filter.

        Raises:
            PredicateError, UnknownColumnError: the filter cannot be read or does not fit the columns.
        """
        return replace(handle, row_filter=handle.filter_of(row_filter))

    def statistics(self, handle: HudiTableHandle) -> TableStatistics:
        """Rows and bytes of a table from its metadata table, without listing folders or opening data files.

        What keeps it from telling (a metadata table that is damaged, too) is no error here: nothing is known then.
        """
        client = handle.client.with_listing(MetadataListing(required=True))
        try:
            metadata = MetadataTable.open(client)
            plan = plan_scan(client, handle.query, handle.own_filter(handle.row_filter))
        except HudiHiveError:
            return TableStatistics(None, None, None)
        slices = plan.slices
        logs = int(pc.sum(pc.list_value_length(slices.column("log_files"))).as_py() or 0)
        files = slices.num_rows - slices.column("base_file").null_count + logs
        in_part = handle.query_type.has_range
        rows = None if logs or in_part else _rows(metadata, slices)
        return TableStatistics(rows, plan.total_bytes, files)

    def _registered(self, handle: HudiTableHandle) -> Table:
        table = self._metastore.table(handle.database, handle.name)
        if not is_hudi(table):
            base_path_of(table)  # says what it is
        return table


def _says_type(query_type: str | None, options: Mapping[str, Any] | None) -> bool:
    return query_type is not None or ReadOptions.parse(options or {}).query_type is not None


def _last_write(client: MetaClient, as_of: str | None) -> str | None:
    """Requested time of the newest completed write that a query sees."""
    writes = [i.requested for i in client.timeline.write_instants() if i.is_completed] if as_of is not None else []
    if as_of is not None:
        return max((time for time in writes if time <= as_of), default=None)
    last = client.timeline.last_completed_write()
    return None if last is None else last.requested


def _rows(metadata: MetadataTable, slices: pa.Table) -> int | None:
    """Rows of base files by the column statistics; None when a file has none."""
    if not slices.num_rows:
        return 0
    names = slices.column("base_file").to_pylist()
    try:
        ranges = metadata.column_ranges([META_FIELDS[0]], names)[META_FIELDS[0]]
    except HudiHiveError:
        return None
    counts = ranges.column("value_count")
    if ranges.num_rows != len(names) or counts.null_count:
        return None
    return int(pc.sum(counts).as_py())
