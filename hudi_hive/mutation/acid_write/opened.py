"""Where transactions that begin come from: opened one by one, or taken from a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from hudi_hive.errors import MutationError
from hudi_hive.metastore.transactions import (
    DataOperationType,
    LockKind,
    LockPart,
    TransactionClient,
    ValidTransactions,
)
from hudi_hive.mutation.acid_table import AcidTable
from hudi_hive.mutation.acid_write.manifest import BucketFiles, MutationManifest


@dataclass(frozen=True, slots=True)
class OpenedTransaction:
    """A transaction that the metastore has opened.

    Args:
        id: its number.
        before: what was visible before it was opened.
        harmless: write ids by table, committed since, that its commit does not conflict with and that it sees.
    """

    id: int
    before: ValidTransactions
    harmless: Mapping[str, Collection[int]] = field(default_factory=dict)


class TransactionSource(ABC):
    """Opens transactions for those that begin."""

    inserts_only = False
    """Whether they insert and do nothing else, so that they need no lock against other writers."""

    @abstractmethod
    def open(self) -> OpenedTransaction:
        """Open a transaction.

        Raises:
            MetastoreError: the metastore refuses or cannot be reached.
        """

    def committed(self, transaction: int, inserted: Mapping[str, int]) -> None:
        """Note a commit.

        Args:
            transaction: its id.
            inserted: write ids of tables with partitions into which it only inserted.
        """
        return


class SingleTransactions(TransactionSource):
    """Opens transactions one by one.

    Args:
        client: of the metastore.
    """

    def __init__(self, client: TransactionClient) -> None:
        self._client = client

    def open(self) -> OpenedTransaction:
        """Open a transaction now."""
        before = self._client.valid_transactions()
        return OpenedTransaction(self._client.open(), before)


def lock_part(table: AcidTable, inserts_only: bool) -> LockPart:
    """The lock that a transaction needs on a table."""
    if not table.sink:
        return LockPart(table.database, table.name, LockKind.READ, DataOperationType.SELECT)
    dynamic = bool(table.partition_keys)
    if inserts_only:  # as Hive's INSERT
        return LockPart(table.database, table.name, LockKind.READ, DataOperationType.INSERT, dynamic=dynamic)
    return LockPart(table.database, table.name, LockKind.WRITE, DataOperationType.UPDATE, dynamic=dynamic)


def only_inserted(tables: Mapping[str, AcidTable], manifests: Iterable[MutationManifest]) -> dict[str, int]:
    """Write ids of the sinks with partitions in which no row was updated or deleted.

    Of tables without partitions the metastore takes the lock's operation for what was done.
    """
    changed = {one.table for one in manifests for group in one.groups if group.updates or group.deletes}
    return {
        name: table.write_id
        for name, table in tables.items()
        if table.sink and table.partition_keys and name not in changed
    }


def check_only_inserts(table: str, files: Iterable[tuple[str, BucketFiles]]) -> None:
    """Refuse updates and deletes.

    Raises:
        MutationError: there are such.
    """
    if any(group.updates or group.deletes for _, group in files):
        raise MutationError(
            f"rows of {table} are updated or deleted in a batch of transactions that insert",
            remedy="open the batch without inserts_only",
        )
