"""Exclusive locks of tables in a fake metastore, as Hive's own transaction manager queues them."""

from __future__ import annotations

from hudi_hive.metastore._thrift import ttypes as t


class LockQueue:
    """Locks in the order of the requests: the first that names a table has it, the others wait."""

    def __init__(self) -> None:
        self._last = 0
        self._asked: dict[int, frozenset[tuple[str, str | None]]] = {}

    def lock(self, request: t.LockRequest) -> t.LockResponse:
        """Queue a request; the table need not exist."""
        self._last += 1
        self._asked[self._last] = frozenset((part.dbname, part.tablename) for part in request.component)
        return self._state(self._last)

    def check_lock(self, request: t.CheckLockRequest) -> t.LockResponse:
        """Whether it is a request's turn."""
        self._known(request.lockid)
        return self._state(request.lockid)

    def unlock(self, request: t.UnlockRequest) -> None:
        """Give a lock back, or leave the queue."""
        self._known(request.lockid)
        del self._asked[request.lockid]

    def heartbeat(self, request: t.HeartbeatRequest) -> None:
        """Keep a lock; here none is ever lost by time."""
        self._known(request.lockid)

    def _known(self, lock: int | None) -> None:
        if lock not in self._asked:
            raise t.NoSuchLockException(message=f"No such lock lockid:{lock}")

    def _state(self, lock: int) -> t.LockResponse:
        wanted = self._asked[lock]
        waits = any(other < lock and names & wanted for other, names in self._asked.items())
        return t.LockResponse(lock, t.LockState.WAITING if waits else t.LockState.ACQUIRED)
