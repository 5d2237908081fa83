"""Base class of transactions: states and ``with`` blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from types import TracebackType
from typing import Self

from hudi_hive.errors import MutationStateError


class TransactionState(Enum):
    """State of a transaction."""

    INACTIVE = "inactive"
    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    """Metastore or storage could not be reached to say whether the commit arrived."""


class TransactionBase(ABC):
    """A transaction: ``begin``, workers write, their manifests are accepted, ``commit`` or ``abort``.

    In a ``with`` block it begins, and commits at the end unless an error aborts it.
    """

    def __init__(self) -> None:
        self._state = TransactionState.INACTIVE

    @property
    def state(self) -> TransactionState:
        """State of the transaction."""
        return self._state

    @abstractmethod
    def begin(self) -> Self:
        """Begin the transaction.

        Raises:
            MutationStateError: it began before.
        """

    @abstractmethod
    def commit(self) -> None:
        """Commit what the accepted attempts have written.

        Raises:
            MutationStateError: it is not open.
        """

    @abstractmethod
    def abort(self) -> None:
        """Abort the transaction.

        Raises:
            MutationStateError: it is not open.
        """

    @abstractmethod
    def _give_up(self) -> None:
        """Abort after an error, which is the one to be told."""

    def retire(self) -> None:
        """Prevent a transaction that has not begun from beginning, after its client was closed or made another one."""
        if self._state is TransactionState.INACTIVE:
            self._state = TransactionState.ABORTED

    def check_new(self) -> None:
        """Refuse to begin a transaction that began before.

        Raises:
            MutationStateError: it did.
        """
        if self._state is not TransactionState.INACTIVE:
            raise MutationStateError(
                f"the transaction is {self._state.value} and cannot begin", remedy="take a new one from its client"
            )

    def check_open(self) -> None:
        """Refuse to go on with a transaction that is not open.

        Raises:
            MutationStateError: it is not.
        """
        if self._state is not TransactionState.OPEN:
            raise MutationStateError(f"the transaction is {self._state.value}, not open")

    def __enter__(self) -> Self:
        return self if self._state is TransactionState.OPEN else self.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state is not TransactionState.OPEN:
            return
        if kind is None:
            self.commit()
        else:
            self._give_up()
