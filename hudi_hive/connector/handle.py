"""Handles: one query of one table at one moment, which can be pickled for planning and reading elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_hive.caching import cached_property
from hudi_hive.connector.hive_types import arrow_type
from hudi_hive.errors import SchemaError
from hudi_hive.plan import Query, ScanPlan
from hudi_hive.plan.core import Filter, PartitionPlanner
from hudi_hive.plan.model import QueryType, ReadOptions
from hudi_hive.predicate import RowFilter, conjunction, parse_filter
from hudi_hive.table import MetaClient

_CACHED = ("template", "table_schema", "extra_keys", "schema")


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A partition key as the metastore has it: lower-case name and Hive type."""

    name: str
    type: str


class TableHandle:
    """Common part of handles: what the rows of a query look like, and its filter."""

    if TYPE_CHECKING:  # fields of the dataclasses below

        @property
        def base_path(self) -> str:
            """The table's base path, a URI."""

        @property
        def query(self) -> Query:
            """The query."""

        @property
        def row_filter(self) -> RowFilter | None:
            """Rows that are asked for; None for all."""

        @property
        def client(self) -> MetaClient:
            """The table as of the handle's moment."""

    @property
    def full_name(self) -> str:
        """What errors call the table."""
        return self.base_path

    @cached_property
    def template(self) -> ScanPlan:
        """The plan of all rows without its slices. Of a range it is pickled along, so that it is planned once."""
        return PartitionPlanner(self.client, self.query).template()

    @cached_property
    def table_schema(self) -> pa.Schema:
        """The Hudi table's own columns as the query shows them, meta columns first; the changes' for change data."""
        return self.template.schema

    @cached_property
    def extra_keys(self) -> pa.Schema:
        """Partition keys that are no column of the Hudi table; none without a metastore."""
        return pa.schema([])

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

    def template_for(self, row_filter: RowFilter | None) -> ScanPlan:
        """:attr:`template` with a filter bound to :attr:`schema`; a range is not planned again for it."""
        own = self.own_filter(row_filter)
        if own is None or self.query.query_type.has_range:
            return replace(self.template, row_filter=own)
        return PartitionPlanner(self.client, self.query, own).template()

    def __getstate__(self) -> dict[str, Any]:
        if self.query.query_type.has_range:
            _ = self.template
        # Copied first: what another thread works out meanwhile is put among them.
        state = self.__dict__.copy()
        dropped = _CACHED[1:] if self.query.query_type.has_range else _CACHED
        return {
            **{name: value for name, value in state.items() if name not in dropped},
            "timeline": self.client.timeline,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        timeline = state.pop("timeline")
        self.__dict__.update(state)
        self.__dict__["client"] = state["client"].at(timeline)


@dataclass(frozen=True)
class HudiTableHandle(TableHandle):
    """A table of a metastore at one moment, and what is asked of it.

    Attributes:
        database, name: in the metastore, in lower case.
        base_path: the Hudi table's base path, a URI.
        table_type: ``COPY_ON_WRITE`` or ``MERGE_ON_READ``.
        query_type: snapshot, or read_optimized for the ``_ro`` table of a merge-on-read table; incremental or cdc.
        partition_keys: the metastore's partition keys, in its order.
        instant: requested time of the newest completed write that is visible; None for an empty table.
        row_filter: what :meth:`ConnectorMetadata.apply_filter` was given so far.
        as_of: the newest requested time to see; None for the handle's moment.
        begin, end: of incremental and change data queries, as of :class:`~hudi_hive.plan.Query`.
        options: everything else about the query.
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
    as_of: str | None = None
    begin: str | None = None
    end: str | None = None
    options: ReadOptions = field(default_factory=ReadOptions, repr=False)
    client: MetaClient = field(compare=False, repr=False, kw_only=True)

    @property
    def full_name(self) -> str:
        """``database.table``."""
        return f"{self.database}.{self.name}"

    @property
    def query(self) -> Query:
        """The query of a SELECT."""
        return Query(self.query_type, as_of=self.as_of, begin=self.begin, end=self.end, options=self.options)

    @cached_property
    def extra_keys(self) -> pa.Schema:
        """Partition keys that are no column of the Hudi table.

        A sync may have named its own. The metastore alone has their values. Change data has no such columns.

        Raises:
            SchemaError: a key whose Hive type is not understood.
        """
        if self.query_type is QueryType.CDC:
            return pa.schema([])
        own = {name.lower() for name in self.table_schema.names}
        try:
            fields = [pa.field(k.name, arrow_type(k.type)) for k in self.partition_keys if k.name.lower() not in own]
        except SchemaError as error:
            raise SchemaError(f"{self.full_name}: {error.message}", path=self.base_path) from error
        return pa.schema(fields)


@dataclass(frozen=True)
class ScanHandle(TableHandle):
    """A query of a table by its base path, without a metastore; :meth:`of` makes one.

    Attributes:
        base_path: the table's base path, a URI.
        query: the question to it, without a limit: who reads splits applies that.
        row_filter: rows that are asked for, bound to the schema; None for all.
        client: the table as of the moment its timeline was read.
    """

    base_path: str
    query: Query
    row_filter: RowFilter | None = None
    client: MetaClient = field(compare=False, repr=False, kw_only=True)

    @classmethod
    def of(cls, client: MetaClient, query: Query, row_filter: Filter = None) -> ScanHandle:
        """Make the handle of a query whose filter need not be bound yet.

        Raises:
            PredicateError, UnknownColumnError: the filter cannot be read or does not fit the columns.
        """
        handle = cls(client.base_path, replace(query, limit=None), client=client)
        return handle if row_filter is None else replace(handle, row_filter=handle.filter_of(row_filter))
