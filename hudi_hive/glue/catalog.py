"""``GlueCatalog``: Glue's data catalog with the methods of ``HiveMetastore`` that a sync uses.

Limits of one request are Glue's: 1,000 partitions are read by name or listed in a page, 100 added or altered, 25
dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa

from hudi_hive.errors import (
    AlreadyExistsError,
    InvalidOperationError,
    InvalidOptionError,
    MetastoreServerError,
    NoSuchObjectError,
    TableChangedError,
)
from hudi_hive.glue.client import GlueClient
from hudi_hive.glue.faults import EXISTS, NO_SUCH
from hudi_hive.glue.indexes import IndexKeeper
from hudi_hive.glue.settings import READ_AT_ONCE, GlueSettings
from hudi_hive.glue.structs import (
    GlueTable,
    Json,
    database_of,
    partition_input,
    partition_of,
    table_input,
    table_of,
)
from hudi_hive.metastore import BatchSizes, CallCounter, Database, Partition, Table
from hudi_hive.metastore.client import format_partition_name, parse_partition_name

CHANGED_AT_ONCE: Final = 100
DROPPED_AT_ONCE: Final = 25

_PARTITIONS: Final = pa.schema(
    [
        pa.field("values", pa.list_(pa.string()), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("input_format", pa.string()),
        pa.field("serde", pa.string()),
    ]
)


Failures = Callable[[Sequence[Json], Json], Sequence[tuple[Json, Mapping[str, Any]]]]
"""From the objects of a request and its answer to those that failed, with the detail of each error."""


class GlueCatalog:
    """Databases, tables and partitions of a Glue catalog. Safe to use from several threads; it deletes no data.

    Args:
        settings: where the catalog is, who asks, and how it is kept.

    Raises:
        InvalidOptionError: half of a pair of keys. Nothing is connected before the first request.

    Every method raises ``MetastoreSecurityError`` (credentials, rights), ``MetastoreThrottledError``,
    ``MetastoreTransportError`` (no answer until the deadline) or ``MetastoreServerError`` (no such object, exists
    already, refused), with Glue's address in ``path``.

    Example:
        >>> with GlueCatalog(GlueSettings(region="eu-west-1")) as catalog:
        ...     catalog.find_table("lake", "trips")
    """

    def __init__(self, settings: GlueSettings) -> None:
        self.settings = settings
        self.batch = BatchSizes(READ_AT_ONCE, READ_AT_ONCE, CHANGED_AT_ONCE)
        self._client = GlueClient(settings)
        self._indexes = IndexKeeper(self._client)

    # -- the client itself -------------------------------------------------------------------------------------------

    @property
    def uri(self) -> str:
        """Glue's address."""
        return self._client.uri

    @property
    def calls(self) -> Counter[str]:
        """Requests sent so far, by boto3's method, repeated tries included. A copy: compare two of them."""
        return self._client.calls.snapshot()

    @property
    def call_counter(self) -> CallCounter:
        """The counter itself: ``with catalog.call_counter.measure() as calls: ...``."""
        return self._client.calls

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"GlueCatalog({self.uri!r}, calls={self._client.calls.total()})"

    # -- databases and tables ----------------------------------------------------------------------------------------

    def database(self, name: str) -> Database:
        """One database.

        Raises:
            NoSuchObjectError: there is none of this name.
        """
        return database_of(self._client.call("get_database", about=f"database {name}", Name=name)["Database"])

    def create_database(self, name: str, *, description: str | None = None, if_not_exists: bool = False) -> bool:
        """Create a database, with the settings' tags.

        Returns:
            False if it existed already and ``if_not_exists`` is set.

        Raises:
            AlreadyExistsError: it exists and ``if_not_exists`` is not set.
        """
        made: Json = {"Name": name} | ({"Description": description} if description else {})
        tags = {"Tags": dict(self.settings.resource_tags)} if self.settings.resource_tags else {}
        try:
            self._client.call("create_database", about=f"database {name}", DatabaseInput=made, **tags)
        except AlreadyExistsError:
            if not if_not_exists:
                raise
            return False
        return True

    def table(self, database: str, name: str) -> GlueTable:
        """One table.

        Raises:
            NoSuchObjectError: there is none of this name.
        """
        about = f"table {database}.{name}"
        return table_of(
            self._client.call("get_table", about=about, DatabaseName=database, Name=name)["Table"], database
        )

    def find_table(self, database: str, name: str) -> GlueTable | None:
        """One table, or None if there is none (one request)."""
        try:
            return self.table(database, name)
        except NoSuchObjectError:
            return None

    def table_objects(self, database: str, names: Sequence[str]) -> Iterator[GlueTable]:
        """Several tables, requested side by side; names that do not exist are left out."""
        found = self._client.side_by_side(lambda name: self.find_table(database, name), names, max(1, len(names)))
        return (table for table in found if table is not None)

    def create_table(self, table: Table) -> bool:
        """Create a table.

        Raises:
            AlreadyExistsError: it exists.
            InvalidOperationError: Glue refuses a name or type.
        """
        about = f"table {table.dbName}.{table.tableName}"
        self._client.call("create_table", about=about, DatabaseName=table.dbName, TableInput=table_input(table))
        return True

    def alter_table(
        self,
        database: str,
        name: str,
        table: Table,
        *,
        cascade: bool = False,
        expected: tuple[str, str] | None = None,
    ) -> None:
        """Replace a table's definition, if it is still the version that was read.

        Args:
            database: its database.
            name: its name.
            table: the whole new definition; of a table that was read here, Glue compares the version.
            cascade: give its columns to all partitions too (100 of them a request).
            expected: a parameter and its value, compared first where the definition was not read here.

        Raises:
            InvalidOperationError: Glue refuses the definition.
            NoSuchObjectError: there is no such table.
            TableChangedError: it was changed since it was read.
        """
        about = f"table {database}.{name}"
        version = table.version if isinstance(table, GlueTable) else None
        if version is None and expected is not None:
            current = self.table(database, name)
            if (current.parameters or {}).get(expected[0]) != expected[1]:
                raise TableChangedError(f"{about} has been modified", path=self.uri, remedy="look at it and run again")
            version = current.version
        compared = {} if version is None else {"VersionId": version}
        if cascade:
            # Before the table: if it goes wrong, the next change of the same columns does it again.
            self._cascade(database, name, table)
        try:
            self._client.call(
                "update_table",
                about=about,
                DatabaseName=database,
                TableInput=table_input(table),
                SkipArchive=self.settings.skip_table_archive,
                **compared,
            )
        except TableChangedError:
            if cascade:
                self._cascade(database, name, self.table(database, name))
            raise

    def _cascade(self, database: str, name: str, table: Table) -> None:
        """Give a table's columns to its partitions, to those alone that have others."""
        columns = [(one.name, one.type, one.comment or "") for one in table.sd.cols]
        changed = []
        for found in self._listed(database, name, with_columns=True):
            partition = partition_of(found, database, name)
            if [(one.name, one.type, one.comment or "") for one in partition.sd.cols] != columns:
                partition.sd.cols = table.sd.cols
                changed.append(partition)
        self.alter_partitions(database, name, changed)

    def drop_table(self, database: str, name: str, *, if_exists: bool = False) -> bool:
        """Forget a table and its partitions. Its data stays.

        Returns:
            False if there was none and ``if_exists`` is set.

        Raises:
            NoSuchObjectError: there is none and ``if_exists`` is not set.
        """
        try:
            self._client.call("delete_table", about=f"table {database}.{name}", DatabaseName=database, Name=name)
        except NoSuchObjectError:
            if not if_exists:
                raise
            return False
        return True

    def keep_indexes(self, database: str, table: str, indexes: Sequence[Sequence[str]]) -> list[str]:
        """Make a table's partition indexes, and drop those of syncs that it is not to have.

        Args:
            database: database.
            table: table.
            indexes: the fields of each index.

        Returns:
            names of indexes that Glue does not make while it makes another one: call again later.

        Raises:
            MetastoreServerError: Glue refuses an index.
        """
        return self._indexes.keep(database, table, indexes)

    # -- partitions --------------------------------------------------------------------------------------------------

    def partitions(
        self, database: str, table: str, names: Sequence[str] | None = None, *, batch: BatchSizes | None = None
    ) -> Iterator[Partition]:
        """Partitions with all that they have.

        Args:
            database: database.
            table: table.
            names: ``k1=v1/k2=v2``; those that do not exist are left out. None for all.
            batch: how many to read in a request, at most 1,000.

        Raises:
            NoSuchObjectError: no such table.
        """
        if names is None:
            listed = self._listed(database, table, with_columns=True)
        else:
            listed = self._named(database, table, names, (batch or self.batch).maximum)
        return (partition_of(found, database, table) for found in listed)

    def partitions_table(
        self,
        database: str,
        table: str,
        names: Sequence[str] | None = None,
        *,
        filter: str | None = None,
        batch: BatchSizes | None = None,
        keys: Sequence[str] | None = None,
    ) -> pa.Table:
        """Partitions as an Arrow table: ``values``, ``name``, ``location``, ``input_format`` and ``serde``.

        Args:
            database: database.
            table: table.
            names: as for ``partitions``.
            filter: none: Glue's filters are not Hive's.
            batch: as for ``partitions``.
            keys: the table's partition keys; None asks Glue (one request more).

        Raises:
            NoSuchObjectError: no such table.
            InvalidOperationError: a filter.
        """
        if filter is not None:
            raise InvalidOperationError("Glue takes no filter of Hive", path=self.uri, remedy="give names")
        if keys is None:
            keys = [key.name for key in self.table(database, table).partitionKeys]
        if names is None:
            listed = self._listed(database, table, with_columns=False)
        else:
            listed = self._named(database, table, names, (batch or self.batch).maximum)
        descriptors = [found.get("StorageDescriptor") or {} for found in listed]
        columns = {
            "values": [found["Values"] for found in listed],
            "name": [format_partition_name(keys, found["Values"]) for found in listed],
            "location": [one.get("Location") for one in descriptors],
            "input_format": [one.get("InputFormat") for one in descriptors],
            "serde": [(one.get("SerdeInfo") or {}).get("SerializationLibrary") for one in descriptors],
        }
        return pa.Table.from_pydict(columns, schema=_PARTITIONS)

    def _listed(self, database: str, table: str, *, with_columns: bool) -> list[Json]:
        """All partitions, in segments side by side, each page by page."""
        total = self.settings.all_partitions_read_parallelism
        about = f"partitions of {database}.{table}"

        def read(number: int) -> list[Json]:
            listed: list[Json] = []
            more: Json = {"Segment": {"SegmentNumber": number, "TotalSegments": total}} if total > 1 else {}
            while True:
                answer = self._client.call(
                    "get_partitions",
                    about=about,
                    DatabaseName=database,
                    TableName=table,
                    MaxResults=READ_AT_ONCE,
                    ExcludeColumnSchema=not with_columns,
                    **more,
                )
                listed += answer["Partitions"]
                if not answer.get("NextToken"):
                    return listed
                more["NextToken"] = answer["NextToken"]

        return [found for part in self._client.side_by_side(read, range(total), total) for found in part]

    def _named(self, database: str, table: str, names: Sequence[str], size: int) -> list[Json]:
        about = f"partitions of {database}.{table}"
        values = [{"Values": list(parse_partition_name(name))} for name in names]

        def read(batch: Sequence[Json]) -> list[Json]:
            listed: list[Json] = []
            left = list(batch)
            while left:
                answer = self._client.call(
                    "batch_get_partition", about=about, DatabaseName=database, TableName=table, PartitionsToGet=left
                )
                listed += answer.get("Partitions") or ()
                unread = list(answer.get("UnprocessedKeys") or ())
                if len(unread) >= len(left):
                    raise MetastoreServerError(f"{about}: Glue reads none of them", path=self.uri)
                left = unread
            return listed

        parts = self._client.side_by_side(
            read, _batches(values, min(size, READ_AT_ONCE)), self.settings.changed_partitions_read_parallelism
        )
        return [found for part in parts for found in part]

    def add_partitions(
        self,
        database: str,
        table: str,
        partitions: Sequence[Partition],
        *,
        batch_size: int | None = None,
        ahead: int = 1,
    ) -> None:
        """Add partitions; those that exist are left as they are, so the call may be repeated without harm.

        Args:
            database: database.
            table: table.
            partitions: with values and a storage descriptor each.
            batch_size: partitions in a request, at most 100.
            ahead: does not count: the settings say how many requests are under way.

        Raises:
            NoSuchObjectError: no such table.
            InvalidOperationError: Glue refuses a partition. Others may be added.
        """

        def failed(batch: Sequence[Json], answer: Json) -> list[tuple[Json, Mapping[str, Any]]]:
            return _failed(batch, answer, lambda one: one["PartitionValues"], but_for=EXISTS)

        inputs = [partition_input(one) for one in partitions]
        self._change("batch_create_partition", "PartitionInputList", database, table, inputs, failed, batch_size)

    def alter_partitions(
        self,
        database: str,
        table: str,
        partitions: Sequence[Partition],
        *,
        batch_size: int | None = None,
        ahead: int = 1,
    ) -> None:
        """Replace the definitions of partitions, found by their values, at most 100 in a request.

        Raises:
            NoSuchObjectError: no such table or partition. Others may be changed.
        """

        def failed(batch: Sequence[Json], answer: Json) -> list[tuple[Json, Mapping[str, Any]]]:
            return _failed(batch, answer, lambda one: one["PartitionValueList"])

        entries = [
            {"PartitionValueList": list(one.values), "PartitionInput": partition_input(one)} for one in partitions
        ]
        self._change("batch_update_partition", "Entries", database, table, entries, failed, batch_size)

    def drop_partitions(
        self, database: str, table: str, names: Sequence[str], *, batch_size: int | None = None, ahead: int = 1
    ) -> None:
        """Forget partitions, at most 25 in a request; names that do not exist are passed over. Data stays.

        Raises:
            NoSuchObjectError: no such table.
        """

        def failed(batch: Sequence[Json], answer: Json) -> list[tuple[Json, Mapping[str, Any]]]:
            return _failed(batch, answer, lambda one: one["PartitionValues"], but_for=NO_SUCH)

        values = [{"Values": list(parse_partition_name(name))} for name in names]
        size = min(batch_size or DROPPED_AT_ONCE, DROPPED_AT_ONCE)
        self._change("batch_delete_partition", "PartitionsToDelete", database, table, values, failed, size)

    def _change(
        self,
        operation: str,
        argument: str,
        database: str,
        table: str,
        items: Sequence[Json],
        failed: Failures,
        batch_size: int | None,
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise InvalidOptionError(f"batch size must be at least 1, not {batch_size}")

        def change(batch: Sequence[Json]) -> None:
            self._client.all_done(
                operation,
                batch,
                failed,
                about=f"partitions of {database}.{table}",
                argument=argument,
                DatabaseName=database,
                TableName=table,
            )

        size = min(batch_size or CHANGED_AT_ONCE, CHANGED_AT_ONCE)
        self._client.side_by_side(change, _batches(items, size), self.settings.partition_change_parallelism)


def _batches(items: Sequence[Json], size: int) -> list[Sequence[Json]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _failed(
    batch: Sequence[Json],
    answer: Json,
    values: Callable[[Json], Sequence[str]],
    but_for: str = "",
) -> list[tuple[Json, Mapping[str, Any]]]:
    """The objects of a request that failed, with the detail of each error."""
    faults = {
        tuple(values(one)): one.get("ErrorDetail") or {}
        for one in answer.get("Errors") or ()
        if (one.get("ErrorDetail") or {}).get("ErrorCode") != but_for
    }
    names = ("Values", "PartitionValueList")
    return [
        (item, faults[key])
        for item in batch
        if (key := tuple(item[names[0] if names[0] in item else names[1]])) in faults
    ]
