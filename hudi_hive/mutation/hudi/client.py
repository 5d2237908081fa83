"""``HudiMutatorClient``: the driver's side of mutations of a Hudi table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

from hudi_hive.errors import InvalidOptionError, MutationStateError
from hudi_hive.metadata import MetadataListing
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.mutation.core import ClientBase
from hudi_hive.mutation.hudi.table import HudiMutationTable
from hudi_hive.mutation.hudi.transaction import HudiTransaction, OnCommit
from hudi_hive.names import HOODIE_DATASOURCE_WRITE_OPERATION
from hudi_hive.storage import Credentials
from hudi_hive.table import MetaClient
from hudi_hive.write.coordination import TaskExecutor, table_lock
from hudi_hive.write.mutation import MutationWriter
from hudi_hive.write.options import WriteConfig

_OPERATION = HOODIE_DATASOURCE_WRITE_OPERATION


class HudiMutatorClient(ClientBase[HudiTransaction]):
    """Changes records of a Hudi table, one transaction at a time; needs no metastore.

    ::

        with HudiMutatorClient("/lake/accounts") as client, client.new_transaction() as txn:
            coordinator = HudiMutatorCoordinator(txn.table())
            coordinator.insert(["nl"], {"id": 1, "amount": 10})
            txn.accept(coordinator.close())

    Args:
        path: base path of the table: a local path or a URI.
        options: Hudi's write options: index, files, services, and concurrency mode with a lock provider where several
            writers share the table; without one this must be the only one from begin to commit.
        storage_options: of the table's file system.
        extra: extra metadata of the commits.
        executor: where files are written; threads of this process without it.
        on_commit: called with the table and the instant behind each commit, for a sync; what it raises is in
            ``failed`` of the report, and the commit stands.

    Raises:
        InvalidOptionError: an operation other than upsert is asked for.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        options: Mapping[str, Any] | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
        extra: Mapping[str, str] | None = None,
        executor: TaskExecutor | None = None,
        on_commit: OnCommit | None = None,
    ) -> None:
        super().__init__()
        write_options = dict(options or {})
        operation = str(write_options.pop(_OPERATION, "upsert")).strip().lower()
        if operation != "upsert":
            raise InvalidOptionError(
                f"option {_OPERATION}={operation} does not go with mutations", remedy="leave the option out"
            )
        self._path = path
        self._options = write_options
        self._storage_options = Credentials(storage_options or {})
        self._extra = extra
        self._executor = executor
        self._on_commit = on_commit
        self._client: MetaClient | None = None

    @property
    def connected(self) -> bool:
        """Whether the table was looked up, and the client was not closed since."""
        return self._client is not None

    def connect(self) -> Self:
        """Connect: load the table and check that it can be mutated.

        Raises:
            MutationStateError: connected already.
            TableNotFoundError: there is no Hudi table at the path.
            InvalidOptionError: an option is unknown, not supported, or contradicts the table, or the table has no
                record key fields.
            UnsupportedTableError: a table of a kind that is not written.
            SchemaError: the table has no schema yet.
        """
        if self.connected:
            raise MutationStateError("the client is connected already")
        client = MetaClient.load(self._path, self._storage_options, listing=MetadataListing())
        if not client.config.record_keys:
            raise InvalidOptionError(
                "records of a table without record key fields cannot be named by their values",
                path=client.base_path,
                remedy="read the rows with their meta columns and upsert or delete those",
            )
        writer = self._writer_of(client)
        if writer.config.sync_enabled and self._on_commit is None:
            raise InvalidOptionError(
                "a sync to the metastore is asked for, and nothing is there to do it",
                remedy="take the client from HudiTable.mutator, or leave the options of the sync out",
            )
        HudiMutationTable.of(client, writer.config.options)
        self._client = client
        return self

    def _writer_of(self, client: MetaClient) -> MutationWriter:
        config = WriteConfig.of({**self._options, _OPERATION: "upsert"}, client.config)
        lock = table_lock(config.options, client.storage, metastore=MetastoreLock.connect)
        return MutationWriter(client, self._options, executor=self._executor, lock=lock, extra=self._extra)

    def _connected(self) -> MetaClient:
        if self._client is None:
            raise MutationStateError("the client is not connected", remedy="call connect(), or use it in a with block")
        return self._client

    @property
    def tables(self) -> tuple[HudiMutationTable, ...]:
        """The table, without the instant of a transaction.

        Raises:
            MutationStateError: not connected.
        """
        client = self._connected().reload()
        return (HudiMutationTable.of(client, self._writer_of(client).config.options),)

    def _make_transaction(self) -> HudiTransaction:
        client = self._connected()
        return HudiTransaction(lambda: self._writer_of(client.reload()), self._on_commit)

    def _disconnect(self) -> None:
        self._client = None
