"""``MutatorClient``: the driver's side of mutations of Hive ACID tables.

Source: ``MutatorClient``, ``MutatorClientBuilder`` and ``Transaction`` of HIVE-10165.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from hudi_hive.errors import InvalidOptionError, MutationStateError
from hudi_hive.metastore.client import HiveMetastore
from hudi_hive.metastore.transactions import TransactionClient
from hudi_hive.mutation.acid_table import AcidTable
from hudi_hive.mutation.acid_write.batch import TransactionBatch
from hudi_hive.mutation.acid_write.opened import TransactionSource
from hudi_hive.mutation.acid_write.transaction import Transaction
from hudi_hive.mutation.core import ClientBase, LockSettings
from hudi_hive.storage import Credentials


class MutatorClient(ClientBase[Transaction]):
    """Mutates ACID tables, one transaction at a time.

    ::

        with MutatorClient("thrift://host:9083", sinks=["db.accounts"]) as client, client.new_transaction() as txn:
            coordinator = MutatorCoordinator(txn.table("db", "accounts"))
            coordinator.insert([], {"id": 1, "amount": 10})
            txn.accept(coordinator.close())

    Args:
        metastore: URIs of a metastore 3.1 or 4.x, or a client of it, which stays the caller's and needs a connection
            to spare for heartbeats.
        sinks: tables to write, ``database.table``; more with ``add_sink``.
        sources: tables to read under the same lock and snapshot; more with ``add_source``.
        create_partitions: of ``sinks``: register unknown partitions in the metastore when a transaction commits.
        user: who transactions belong to; None for the user of this process.
        locks: how long to wait for locks, and how to keep them; :class:`LockSettings` has the defaults.
        storage_options: of the warehouse's file system.

    Raises:
        InvalidOptionError: a table's name is not ``database.table``.
    """

    def __init__(
        self,
        metastore: str | Iterable[str] | HiveMetastore,
        *,
        sinks: Sequence[str] = (),
        sources: Sequence[str] = (),
        create_partitions: bool = False,
        user: str | None = None,
        locks: LockSettings | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        own = not isinstance(metastore, HiveMetastore)
        first = HiveMetastore(metastore) if not isinstance(metastore, HiveMetastore) else metastore
        # Beats have a connection that no batch of partitions keeps busy.
        beats = HiveMetastore(metastore, pool_size=1) if not isinstance(metastore, HiveMetastore) else first
        self._own = [first, beats] if own else []
        self._client = TransactionClient(first, user=user)
        self._beats = TransactionClient(beats, user=user)
        self._locks = locks or LockSettings()
        self._storage_options = Credentials(storage_options or {})
        self._requested_tables: dict[tuple[str, str], tuple[bool, bool]] = {}
        self._tables: tuple[AcidTable, ...] | None = None
        self._batch: TransactionBatch | None = None
        for name in sources:
            self.add_source(*_split(name))
        for name in sinks:
            self.add_sink(*_split(name), create_partitions=create_partitions)

    def add_source(self, database: str, table: str) -> Self:
        """Add a table that transactions read, under their locks and snapshots.

        Raises:
            InvalidOptionError: it was added before.
            MutationStateError: the client is connected.
        """
        return self._add(database, table, sink=False, create_partitions=False)

    def add_sink(self, database: str, table: str, *, create_partitions: bool = False) -> Self:
        """Add a table that transactions write; it may be a source already.

        Args:
            database: name of the database.
            table: name of the table.
            create_partitions: register unknown partitions in the metastore when a transaction commits. Otherwise their
                files are only in the warehouse, where Hive looks for them once somebody has added the partition; until
                then a transaction's reader, and so a merge, does not see their rows either.

        Raises:
            InvalidOptionError: it was added before as one.
            MutationStateError: the client is connected.
        """
        return self._add(database, table, sink=True, create_partitions=create_partitions)

    def _add(self, database: str, table: str, *, sink: bool, create_partitions: bool) -> Self:
        if self.connected:
            raise MutationStateError("the client is connected: tables are added before")
        key = (database.lower(), table.lower())
        if not all(key):
            raise InvalidOptionError(f"no name of a table: {database!r}, {table!r}")
        if key in self._requested_tables and (self._requested_tables[key][0] or not sink):
            raise InvalidOptionError(f"table {database}.{table} was added before")
        self._requested_tables[key] = (sink, create_partitions)
        return self

    @property
    def connected(self) -> bool:
        """Whether the client is connected."""
        return self._tables is not None

    def connect(self) -> Self:
        """Connect: look the tables up and check that they can be mutated.

        Raises:
            MutationStateError: connected already, or without any table.
            NoSuchObjectError: there is no such table.
            UnsupportedAcidTableError: a table that cannot be mutated.
            TransactionError: a sink that the metastore does not let us write.
            MethodNotSupportedError: the metastore is older than 3.1.
        """
        if self.connected:
            raise MutationStateError("the client is connected already")
        if not self._requested_tables:
            raise MutationStateError("a client without tables", remedy="add sinks")
        self._tables = tuple(
            AcidTable.of(self._client.table(*name, write=sink), sink=sink, create_partitions=create_partitions)
            for name, (sink, create_partitions) in self._requested_tables.items()
        )
        return self

    @property
    def tables(self) -> tuple[AcidTable, ...]:
        """The tables, without ids of a transaction.

        Raises:
            MutationStateError: not connected.
        """
        if self._tables is None:
            raise MutationStateError("the client is not connected", remedy="call connect(), or use it in a with block")
        return self._tables

    def new_transaction_batch(self, count: int, *, inserts_only: bool = False) -> TransactionBatch:
        """Open several transactions in one call, to be used one after another; see :class:`TransactionBatch`.

        Args:
            count: how many, at least one; metastores open no more than ``hive.txn.max.open.batch`` (1000) in one call.
            inserts_only: take the locks of Hive's INSERT, which other writers of that kind may have as well, and refuse
                to commit updates and deletes; such a batch uses each of its transactions.

        Raises:
            MutationStateError: not connected, fewer than one, or another batch of this client is not closed.
            MetastoreError: the metastore refuses or cannot be reached.
        """
        tables = self.tables
        if self._batch is not None and not self._batch.closed:
            raise MutationStateError("a batch of this client is open", remedy="close it")
        self._batch = TransactionBatch(
            self._client,
            self._beats,
            count,
            self._locks,
            lambda source: self.adopt(self._make_transaction(source)),
            tables=tuple(table.qualified_name for table in tables),
            inserts_only=inserts_only,
        )
        return self._batch

    def _make_transaction(self, source: TransactionSource | None = None) -> Transaction:
        tables = self.tables
        return Transaction(self._client, self._beats, tables, self._locks, self._storage_options, source=source)

    def _disconnect(self) -> None:
        batch, self._batch, self._tables = self._batch, None, None
        try:
            if batch is not None:
                batch.close()
        finally:
            for metastore in self._own:
                metastore.close()


def _split(name: str) -> tuple[str, str]:
    database, dot, table = name.partition(".")
    if not (database and dot and table) or "." in table:
        raise InvalidOptionError(f"{name!r} is not database.table")
    return database, table
