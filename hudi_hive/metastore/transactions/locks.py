"""A table lock in the metastore, the same as that of Hudi's ``HiveMetastoreBasedLockProvider``.

The table need not exist in the metastore: its name is all that is locked. The metastore lets go of a lock whose holder
sends no heartbeat for ``hive.txn.timeout`` (300 s), so that a dead writer does not lock a table for ever.
"""

from __future__ import annotations

import getpass
import socket
import threading
from typing import Final

from hudi_hive.errors import HudiHiveError, LockError, LockLostError, NoSuchObjectError
from hudi_hive.metastore._thrift import ttypes
from hudi_hive.metastore.client import HiveMetastore

HEARTBEAT_MS: Final = 60_000
"""Milliseconds between two heartbeats of a lock's holder, unless it says otherwise."""


class MetastoreLock:
    """An exclusive lock of one table, with heartbeats from a thread while it is held.

    Args:
        metastore: a client, which others may use too.
        database: name of the database.
        table: name of the table.
        heartbeat_ms: milliseconds between two heartbeats.
    """

    def __init__(
        self,
        metastore: HiveMetastore,
        database: str,
        table: str,
        *,
        heartbeat_ms: int = HEARTBEAT_MS,
    ) -> None:
        self._metastore = metastore
        self._uris = ""  # of a client of its own, which keeps no connection while the lock is not wanted
        self._name = f"{database}.{table}"
        self._component = ttypes.LockComponent(
            ttypes.LockType.EXCLUSIVE,
            ttypes.LockLevel.TABLE,
            dbname=database,
            tablename=table,
            operationType=ttypes.DataOperationType.NO_TXN,
        )
        self._heartbeat_s = heartbeat_ms / 1000
        self._id: int | None = None
        self._held = False
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def connect(cls, uris: str, database: str, table: str, heartbeat_ms: int = HEARTBEAT_MS) -> MetastoreLock:
        """Make a lock with a client of its own, which keeps no connection while the lock is not held.

        Args:
            uris: addresses of the metastore.
            database: name of the database.
            table: name of the table.
            heartbeat_ms: milliseconds between two heartbeats.
        """
        lock = cls(HiveMetastore(uris), database, table, heartbeat_ms=heartbeat_ms)
        lock._uris = uris
        return lock

    @property
    def heartbeat_ms(self) -> int:
        """Milliseconds between two heartbeats."""
        return round(self._heartbeat_s * 1000)

    def try_acquire(self) -> bool:
        """Take the lock if it is free; otherwise stay in the metastore's queue until the next try or release.

        Raises:
            LockError: it is held already by the one who asks.
            MetastoreError: the metastore cannot lock, or cannot be reached.
        """
        if self._held:
            raise LockError("the lock is held already by the one who asks", path=self._name)
        answer = self._ask()
        if answer is None or answer.state != ttypes.LockState.ACQUIRED:
            if answer is not None and answer.state != ttypes.LockState.WAITING:
                self._id = None
            return False
        self._held = True
        self._ended.clear()
        self._thread = threading.Thread(target=self._beat, name=f"lock-{self._name}", daemon=True)
        self._thread.start()
        return True

    def _ask(self) -> ttypes.LockResponse | None:
        if self._id is not None:
            check = ttypes.CheckLockRequest(self._id)
            try:
                answer: ttypes.LockResponse = self._metastore.call("check_lock", check, about=self._name)
            except NoSuchObjectError:
                self._id = None  # timed out in the queue
                return None
            return answer
        request = ttypes.LockRequest(
            [self._component], user=getpass.getuser(), hostname=socket.gethostname(), agentInfo="hudi_hive"
        )
        # Not repeatable: a second request would queue behind the first, which nobody answers for.
        answer = self._metastore.call("lock", request, about=self._name, repeatable=False)
        self._id = answer.lockid
        return answer

    def _beat(self) -> None:
        while not self._ended.wait(self._heartbeat_s):
            try:
                self._send()
            except HudiHiveError:
                continue  # the next one may arrive; verify() notices if none did in time

    def _send(self) -> None:
        self._metastore.call("heartbeat", ttypes.HeartbeatRequest(self._id), about=self._name)

    def verify(self) -> None:
        """Verify with the metastore that the lock is still held.

        Raises:
            LockLostError: it does not.
        """
        try:
            if self._held:
                self._send()
                return
        except NoSuchObjectError:
            pass
        raise LockLostError(
            "the metastore's lock was lost",
            path=self._name,
            remedy="it had no heartbeat for too long: send them at shorter intervals; write again",
        )

    def release(self) -> None:
        """Release the lock, or leave the queue."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        lock, self._id, self._held = self._id, None, False
        try:
            if lock is not None:
                self._metastore.call("unlock", ttypes.UnlockRequest(lock), about=self._name)
        except NoSuchObjectError:
            pass  # it was lost before
        finally:
            if self._uris:
                self._metastore.close()
                self._metastore = HiveMetastore(self._uris)

    def holder(self) -> str:
        """The holder of the lock, for messages."""
        return f"another writer holds the metastore's lock of {self._name}"
