"""Metadata for query engines: schemas, tables, columns and properties (RFC-40's connector metadata).

Names and what is registered come from the metastore, case-insensitively; columns, types and the instant come from the
Hudi table itself, which may be ahead of its last sync.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.caching import cached_property
from hudi_hive.connector.hive_types import arrow_type
from hudi_hive.connector.registration import base_path_of, is_hudi, query_type_of
from hudi_hive.errors import HudiHiveError, SchemaError
from hudi_hive.metadata import MetadataListing, MetadataTable
from hudi_hive.metastore import HiveMetastore, Table
from hudi_hive.metrics import IoCounters
from hudi_hive.plan import Query
from hudi_hive.plan.core import Filter, PartitionPlanner, plan_scan
from hudi_hive.plan.model import QueryType
from hudi_hive.predicate import RowFilter, conjunction, parse_filter
from hudi_hive.schema import META_FIELDS
from hudi_hive.storage import Credentials
from hudi_hive.table import MetaClient


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A partition key as the metastore has it: lower-case name and Hive type."""

    name: str
    type: str


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


@dataclass(frozen=True)
class HudiTableHandle:
    """A table at one moment, which can be pickled for planning and reading elsewhere.

    Attributes:
        database, name: in the metastore, in lower case.
        base_path: the Hudi table's base path, a URI.
        table_type: ``COPY_ON_WRITE`` or ``MERGE_ON_READ``.
        query_type: snapshot, or read_optimized for the ``_ro`` table of a merge-on-read table.
        partition_keys: the metastore's partition keys, in its order.
        instant: requested time of the newest completed write that is visible; None for an empty table.
        row_filter: what :meth:`ConnectorMetadata.apply_filter` was given so far.
        client: the table as of that moment.
    """

    database: str
    name: str
    base_path: str
    table_type: str
    query_type: QueryType
    partition_keys: tuple[PartitionKey, ...]
    instant: str | None
    row_filter: RowFilter | None = None
    client: MetaClient = field(compare=False, repr=False, kw_only=True)

    @property
    def full_name(self) -> str:
        """``database.table``."""
        return f"{self.database}.{self.name}"

    @property
    def query(self) -> Query:
        """The query of a plain SELECT."""
        return Query(query_type=self.query_type)

    @cached_property
    def table_schema(self) -> pa.Schema:
        """The Hudi table's own columns as the query shows them, meta columns first."""
        return PartitionPlanner(self.client, self.query).template().schema

    @cached_property
    def extra_keys(self) -> pa.Schema:
        """Partition keys that are no column of the Hudi table.

        A sync may have named its own. The metastore alone has their values.

        Raises:
            SchemaError: a key whose Hive type is not understood.
        """
        own = {name.lower() for name in self.table_schema.names}
        try:
            fields = [pa.field(k.name, arrow_type(k.type)) for k in self.partition_keys if k.name.lower() not in own]
        except SchemaError as error:
            raise SchemaError(f"{self.full_name}: {error.message}", path=self.base_path) from error
        return pa.schema(fields)

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns of the rows: those of the Hudi table, then :attr:`extra_keys`."""
        own = self.table_schema
        return pa.schema([*own, *self.extra_keys], metadata=own.metadata) if len(self.extra_keys) else own

    def filter_of(self, row_filter: Filter) -> RowFilter | None:
        """A filter together with the handle's own, bound to :attr:`schema`; None when every row passes.

        Raises:
            PredicateError, UnknownColumnError: it cannot be read or does not fit the schema.
        """
        given = parse_filter(row_filter, self.schema)
        roots = [part.root for part in (self.row_filter, given) if part is not None and not part.is_trivial]
        return RowFilter(conjunction(roots), self.schema) if roots else None

    def own_filter(self, row_filter: RowFilter | None) -> RowFilter | None:
        """The part of a filter that is about columns of the Hudi table, bound to :attr:`table_schema`."""
        if row_filter is None:
            return None
        part = row_filter.restrict(self.table_schema.names)
        return None if part.is_trivial else RowFilter(part.root, self.table_schema)

    def __getstate__(self) -> dict[str, Any]:
        dropped = ("table_schema", "extra_keys", "schema")
        # Copied first: what another thread works out meanwhile is put among them.
        state = {name: value for name, value in self.__dict__.copy().items() if name not in dropped}
        return {**state, "timeline": self.client.timeline}

    def __setstate__(self, state: dict[str, Any]) -> None:
        timeline = state.pop("timeline")
        self.__dict__.update(state)
        self.__dict__["client"] = state["client"].at(timeline)


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

    def table(self, schema: str, name: str) -> HudiTableHandle:
        """One table, as of now; names in any case. One call, and a listing of the table's timeline.

        Raises:
            NoSuchObjectError: no such table.
            UnsupportedTableError: it is no Hudi table, or one that is not read.
            MetastoreError: what is registered contradicts itself.
            TableError: the Hudi table is not there or cannot be opened.
        """
        table = self._metastore.table(schema.lower(), name.lower())
        base_path = base_path_of(table)
        client = MetaClient.load(base_path, self._storage_options, counters=self._counters, listing=MetadataListing())
        last = client.timeline.last_completed_write()
        return HudiTableHandle(
            database=schema.lower(),
            name=name.lower(),
            base_path=client.base_path,
            table_type=client.config.table_type,
            query_type=query_type_of(table, merge_on_read=client.config.is_merge_on_read),
            partition_keys=tuple(PartitionKey(key.name, key.type) for key in table.partitionKeys or []),
            instant=last.requested if last is not None else None,
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
        rows = None if logs else _rows(metadata, slices)
        return TableStatistics(rows, plan.total_bytes, files)

    def _registered(self, handle: HudiTableHandle) -> Table:
        table = self._metastore.table(handle.database, handle.name)
        if not is_hudi(table):
            base_path_of(table)  # says what it is
        return table


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
