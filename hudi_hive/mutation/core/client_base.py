"""Base class of clients: the driver's side of mutations, one transaction at a time.

Source: ``MutatorClient`` of HIVE-10165.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Generic, Self, TypeVar

from hudi_hive.errors import MutationStateError
from hudi_hive.mutation.core.transaction_base import TransactionBase, TransactionState

T = TypeVar("T", bound=TransactionBase)


class ClientBase(ABC, Generic[T]):
    """Connects, makes transactions one after another, and closes; in a ``with`` block it connects and closes."""

    def __init__(self) -> None:
        self._transaction: T | None = None

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether the client is connected."""

    @abstractmethod
    def connect(self) -> Self:
        """Connect: look the tables up and check that they can be mutated.

        Raises:
            MutationStateError: connected already.
        """

    @abstractmethod
    def _make_transaction(self) -> T:
        """Make a transaction that has not begun.

        Raises:
            MutationStateError: not connected.
        """

    @abstractmethod
    def _disconnect(self) -> None:
        """Close what the client itself opened."""

    def new_transaction(self) -> T:
        """Make a transaction over all tables, for ``begin`` or a ``with`` block.

        One that was made before and has not begun never will.

        Raises:
            MutationStateError: not connected, or another transaction is open.
        """
        return self.adopt(self._make_transaction())

    def adopt(self, made: T) -> T:
        """Take a transaction that has not begun as the client's only one; the one before it never begins.

        Raises:
            MutationStateError: another transaction is open.
        """
        if self._transaction is not None:
            if self._transaction.state is TransactionState.OPEN:
                raise MutationStateError("a transaction of this client is open", remedy="commit or abort it")
            self._transaction.retire()
        self._transaction = made
        return made

    def close(self) -> None:
        """Abort an open transaction, and close the connections that the client opened."""
        transaction, self._transaction = self._transaction, None
        try:
            if transaction is not None:
                transaction.retire()
                if transaction.state is TransactionState.OPEN:
                    transaction.abort()
        finally:
            self._disconnect()

    def __enter__(self) -> Self:
        return self if self.connected else self.connect()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
