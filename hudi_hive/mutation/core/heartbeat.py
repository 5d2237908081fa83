"""Heartbeats of a transaction and its lock while workers write, and notification of a lost lock.

Source: ``HeartbeatTimerTask`` and ``LockFailureListener`` of HIVE-10165.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

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


class TransactionHeartbeat:
    """Sends the heartbeats of one transaction from a thread, from ``start`` to ``stop``.

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
        self.lock_id: int | None = None
        self._client = client
        self._transaction_id = transaction_id
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._on_loss = on_loss
        self._last = time.monotonic()
        self._loss: HudiHiveError | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"transaction-{transaction_id}", daemon=True)

    def start(self) -> None:
        """Start the heartbeats."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the heartbeats; waits for a running one."""
        self._ended.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    def verify(self) -> None:
        """Send a heartbeat now.

        Raises:
            TransactionLostError: the transaction has ended.
            TransactionLockError: its lock is gone.
            MetastoreTransportError: the metastore cannot be asked.
        """
        if self._loss is not None:
            raise self._loss
        self._beat()

    def _beat(self) -> None:
        began = time.monotonic()
        self._client.heartbeat(self._transaction_id, self.lock_id)
        self._last = began

    def _run(self) -> None:
        while not self._ended.wait(self._interval_s):
            try:
                self._beat()
            except (TransactionLostError, TransactionLockError) as error:
                self._lose(error)
                return
            except HudiHiveError as error:
                if time.monotonic() - self._last > self._timeout_s:
                    self._lose(self._silence(error))
                    return

    def _silence(self, error: HudiHiveError) -> HudiHiveError:
        return TransactionLostError(
            f"transaction {self._transaction_id} got no beat through for {self._timeout_s:g} s: {error.message}",
            path=error.path,
            remedy="repeat it in a new transaction",
        )

    def _lose(self, error: HudiHiveError) -> None:
        if self._ended.is_set():
            return  # somebody is about to commit or abort, and hears it there
        self._loss = error
        self._on_loss(error)
