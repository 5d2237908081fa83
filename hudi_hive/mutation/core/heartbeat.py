"""Heartbeats of a transaction and its lock while workers write, and notification of a lost lock.

Source: ``HeartbeatTimerTask`` and ``LockFailureListener`` of HIVE-10165.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hudi_hive.errors import HudiHiveError, InvalidOptionError, TransactionLockError, TransactionLostError
from hudi_hive.metastore.transactions import TransactionClient


@dataclass(frozen=True, slots=True)
class LockFailure:
    """A lost lock of a transaction, which is passed to the failure listener.

    Args:
        transaction_id: the transaction.
        lock_id: its lock; None if it had none yet.
        tables: ``database.table`` of all its tables.
        cause: what the metastore said, or that it was silent for too long.
    """

    transaction_id: int
    lock_id: int | None
    tables: tuple[str, ...]
    cause: HudiHiveError


_BEATS: Final = 3
"""Beats in the time that the metastore gives."""

LockFailureListener = Callable[[LockFailure], None]
"""Called once, in the thread of the beats."""


@dataclass(frozen=True, slots=True)
class LockSettings:
    """Settings of the locks that transactions hold.

    Args:
        wait_s: seconds to wait for locks that others hold.
        heartbeat_s: seconds between two heartbeats; None for a third of the metastore's own time-out.
        on_failure: called once, in another thread, when the lock of a transaction is lost; ``commit`` raises then.

    Raises:
        InvalidOptionError: times that are not positive.
    """

    wait_s: float = 150.0
    heartbeat_s: float | None = None
    on_failure: LockFailureListener | None = None

    def __post_init__(self) -> None:
        if self.wait_s < 0 or (self.heartbeat_s is not None and self.heartbeat_s <= 0):
            raise InvalidOptionError(f"waiting {self.wait_s} s for locks, beating every {self.heartbeat_s} s")

    def interval_s(self, timeout_s: float) -> float:
        """Seconds between two heartbeats, for a metastore that gives so many seconds."""
        return self.heartbeat_s or timeout_s / _BEATS


class _HeartbeatThread(ABC):
    """Beats from a thread, from ``start`` to ``stop``.

    Args:
        name: of the thread.
        interval_s: seconds from beat to beat.
        timeout_s: seconds without a beat after which the metastore takes a transaction for dead.
    """

    def __init__(self, name: str, *, interval_s: float, timeout_s: float) -> None:
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._last = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the heartbeats."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the heartbeats; waits for a running one."""
        self._ended.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    @abstractmethod
    def _beat(self) -> None:
        """Send heartbeats now."""

    @abstractmethod
    def _lose(self, error: HudiHiveError) -> None:
        """Everything is lost."""

    def _beat_once(self) -> None:
        began = time.monotonic()
        self._beat()
        self._last = began

    def _run(self) -> None:
        while not self._ended.wait(self._interval_s):
            try:
                self._beat_once()
            except (TransactionLostError, TransactionLockError) as error:
                self._lose(error)
                return
            except HudiHiveError as error:
                if time.monotonic() - self._last > self._timeout_s:
                    self._lose(self._silence(error))
                    return

    def _silence(self, error: HudiHiveError) -> HudiHiveError:
        return TransactionLostError(
            f"{self._thread.name} got no beat through for {self._timeout_s:g} s: {error.message}",
            path=error.path,
            remedy="repeat it in a new transaction",
        )


class TransactionHeartbeat(_HeartbeatThread):
    """Sends the heartbeats of one transaction and its lock from a thread, from ``start`` to ``stop``.

    Args:
        client: to beat through; it needs a connection that no long call keeps busy.
        transaction_id: the transaction.
        interval_s: seconds from beat to beat.
        timeout_s: seconds without a beat after which the metastore takes the transaction for dead.
        on_loss: told once when it is lost.
    """

    def __init__(
        self,
        client: TransactionClient,
        transaction_id: int,
        *,
        interval_s: float,
        timeout_s: float,
        on_loss: Callable[[HudiHiveError], None],
    ) -> None:
        super().__init__(f"transaction {transaction_id}", interval_s=interval_s, timeout_s=timeout_s)
        self.lock_id: int | None = None
        self._client = client
        self._transaction_id = transaction_id
        self._on_loss = on_loss
        self._loss: HudiHiveError | None = None

    def verify(self) -> None:
        """Send a heartbeat now.

        Raises:
            TransactionLostError: the transaction has ended.
            TransactionLockError: its lock is gone.
            MetastoreTransportError: the metastore cannot be asked.
        """
        if self._loss is not None:
            raise self._loss
        self._beat_once()

    def _beat(self) -> None:
        self._client.heartbeat(self._transaction_id, self.lock_id)

    def _lose(self, error: HudiHiveError) -> None:
        if self._ended.is_set():
            return  # somebody is about to commit or abort, and hears it there
        self._loss = error
        self._on_loss(error)


class BatchHeartbeat(_HeartbeatThread):
    """Sends the heartbeats of open transactions that are not used yet, a call for each run of numbers.

    Args:
        client: to beat through; it needs a connection that no long call keeps busy.
        transaction_ids: the transactions.
        interval_s: seconds from round to round.
        timeout_s: seconds without a beat after which the metastore takes a transaction for dead.
        on_loss: called in the thread for each that is lost.
    """

    def __init__(
        self,
        client: TransactionClient,
        transaction_ids: Sequence[int],
        *,
        interval_s: float,
        timeout_s: float,
        on_loss: Callable[[int, HudiHiveError], None],
    ) -> None:
        name = f"transactions {min(transaction_ids)} to {max(transaction_ids)}"
        super().__init__(name, interval_s=interval_s, timeout_s=timeout_s)
        self._client = client
        self._on_loss = on_loss
        self._guard = threading.Lock()
        self._waiting = sorted(transaction_ids)
        self._lost: dict[int, HudiHiveError] = {}

    @property
    def waiting(self) -> tuple[int, ...]:
        """The transactions that are kept alive, ascending."""
        with self._guard:
            return tuple(self._waiting)

    def release(self, transaction_id: int) -> None:
        """Leave a transaction to others, who keep it alive from now on or end it.

        Raises:
            TransactionLostError: it is not open any more.
        """
        with self._guard:
            if transaction_id in self._waiting:
                self._waiting.remove(transaction_id)
            error = self._lost.get(transaction_id)
        if error is not None:
            raise error

    def _beat(self) -> None:
        for first, last in _runs(self.waiting):
            aborted, ended = self._client.heartbeat_range(first, last)
            for number in sorted(aborted | ended):
                self._forget(number, TransactionLostError(f"transaction {number} is not open any more"))

    def _forget(self, number: int, error: HudiHiveError) -> None:
        with self._guard:
            if number not in self._waiting:
                return
            self._waiting.remove(number)
            self._lost[number] = error
        self._on_loss(number, error)

    def _lose(self, error: HudiHiveError) -> None:
        if not self._ended.is_set():
            for number in self.waiting:
                self._forget(number, error)


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of ascending numbers: those between two runs belong to others."""
    starts = [number for before, number in zip((None, *numbers), numbers, strict=False) if before != number - 1]
    ends = [number for number, behind in zip(numbers, (*numbers[1:], None), strict=True) if behind != number + 1]
    return list(zip(starts, ends, strict=True))
