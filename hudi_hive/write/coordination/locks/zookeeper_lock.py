"""The lock of Hudi's ``ZookeeperBasedLockProvider``: Curator's ``InterProcessMutex`` in ZooKeeper, by ``kazoo``.

Writers queue below one node by ephemeral sequential nodes ``_c_<uuid>-lock-<number>``; the one with the least number
has the lock. ZooKeeper removes the nodes of a session that has ended, or was silent for the session's time-out.

Source: docs/format.md#heartbeats-and-locks.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hudi_hive.errors import LockError, LockLostError, MissingDependencyError
from hudi_hive.options import locks as lock_options

if TYPE_CHECKING:
    from kazoo.client import KazooClient

_T = TypeVar("_T")

_NODE: Final = "lock-"


@dataclass(frozen=True)
class ZookeeperSettings:
    """Where a lock is kept in ZooKeeper, and how patiently servers are asked.

    Attributes:
        hosts: addresses of servers, ``host:port,host:port``, with a path behind them if need be.
        path: node below which writers queue.
        session_ms: milliseconds of silence after which the servers end a session, and with it its lock.
        connection_ms: milliseconds in which a connection is to be made.
        retries: tries after the first, of connections and requests.
        wait_ms: milliseconds before the second try; each further wait is twice as long.
        longest_wait_ms: the longest wait.
    """

    hosts: str
    path: str
    session_ms: int = 60_000
    connection_ms: int = 15_000
    retries: int = 15
    wait_ms: int = 1_000
    longest_wait_ms: int = 16_000


class ZookeeperLock:
    """A lock in ZooKeeper, with a session of its own while it is held or waited for.

    Args:
        settings: where it is kept.
        sleep: waits a number of seconds.

    Raises:
        MissingDependencyError: ``kazoo`` is not installed.
    """

    def __init__(self, settings: ZookeeperSettings, *, sleep: Callable[[float], None] = time.sleep) -> None:
        try:
            import kazoo.client  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError(
                "ZooKeeper's locks need kazoo", remedy="pip install 'hudi_hive[zookeeper]'"
            ) from error
        self.settings = settings
        self._sleep = sleep
        self._prefix = ""
        self._client: KazooClient | None = None
        self._process = 0
        self._held = False

    @property
    def _name(self) -> str:
        return f"zookeeper://{self.settings.hosts}{self.settings.path}"

    def try_acquire(self) -> bool:
        """Take the lock if it is free; otherwise stay in the queue until the next try or release.

        Raises:
            LockError: it is held already by the one who asks, or ZooKeeper cannot be asked.
        """
        if self._held and self._process == os.getpid():
            raise LockError("the lock is held already by the one who asks", path=self._name)
        if self._client is None or self._process != os.getpid():
            self._client, self._process = self._connect(), os.getpid()
            self._prefix = f"_c_{uuid.uuid4()}-{_NODE}"
        client = self._client
        self._held = self._ask(lambda: self._is_first(client))
        return self._held

    def _connect(self) -> KazooClient:
        from kazoo.client import KazooClient

        def attempt() -> KazooClient:
            client = KazooClient(
                hosts=self.settings.hosts,
                timeout=self.settings.session_ms / 1000,
                connection_retry={"max_tries": -1, "max_delay": self.settings.longest_wait_ms / 1000},
            )
            try:
                client.start(timeout=self.settings.connection_ms / 1000)
            except BaseException:
                _end(client)
                raise
            return client

        return self._ask(attempt)

    def _ask(self, request: Callable[[], _T]) -> _T:
        """Run a request that may be repeated, again after a loss of the connection."""
        from kazoo.exceptions import ConnectionLoss, KazooException, OperationTimeoutError, SessionExpiredError
        from kazoo.handlers.threading import KazooTimeoutError

        for tries in range(self.settings.retries + 1):
            try:
                return request()
            except (ConnectionLoss, OperationTimeoutError, SessionExpiredError, KazooTimeoutError) as error:
                if tries == self.settings.retries:
                    raise self._unreachable(error) from error
                self._sleep(min(self.settings.wait_ms << tries, self.settings.longest_wait_ms) / 1000)
            except KazooException as error:
                raise LockError(
                    f"ZooKeeper refused the lock: {type(error).__name__}",
                    path=self._name,
                    remedy=f"look at the rights on the node and its parents, and at {lock_options.ZOOKEEPER_BASE_PATH}",
                ) from error
        raise AssertionError("the last try returns or raises")

    def _unreachable(self, error: BaseException) -> LockError:
        return LockError(
            f"no answer from ZooKeeper: {type(error).__name__}",
            path=self._name,
            remedy=f"look at {lock_options.ZOOKEEPER_URL} and the servers, or wait longer: "
            f"{lock_options.ZOOKEEPER_CONNECTION_TIMEOUT}, {lock_options.LOCK_RETRIES}",
        )

    def _is_first(self, client: KazooClient) -> bool:
        """Queue, unless a request before this one did, and see who is first."""
        client.ensure_path(self.settings.path)
        queue = self._queue(client)
        if not any(name.startswith(self._prefix) for name in queue):
            client.create(f"{self.settings.path}/{self._prefix}", _address(), ephemeral=True, sequence=True)
            queue = self._queue(client)
        return bool(queue) and queue[0].startswith(self._prefix)

    def _queue(self, client: KazooClient) -> list[str]:
        names: list[str] = client.get_children(self.settings.path)
        return sorted(names, key=lambda name: name.rpartition(_NODE)[2])

    def verify(self) -> None:
        """Verify with ZooKeeper that the session lives and its node is the first.

        Raises:
            LockLostError: it is not, or ZooKeeper cannot be asked.
        """
        client, reason = self._client, "it is not held"
        if self._held and client is not None and self._process == os.getpid():
            try:
                client.sync(self.settings.path)  # the server that is asked may lag behind
                queue = self._queue(client)
                if queue and queue[0].startswith(self._prefix):
                    return
                reason = "its session has ended"
            except Exception as error:  # kazoo raises errors of several kinds
                reason = f"ZooKeeper cannot be asked: {type(error).__name__}"
        raise LockLostError(
            f"the lock in ZooKeeper was lost: {reason}",
            path=self._name,
            remedy=f"write again; if the process was paused raise {lock_options.ZOOKEEPER_SESSION_TIMEOUT}",
        )

    def release(self) -> None:
        """Release the lock, or leave the queue, and end the session."""
        client, self._client, self._held = self._client, None, False
        if client is None or self._process != os.getpid():
            return
        try:
            for name in self._queue(client) if client.connected else ():
                if name.startswith(self._prefix):
                    client.delete(f"{self.settings.path}/{name}")
        except Exception as error:  # kazoo raises errors of several kinds
            raise LockError(
                f"the lock in ZooKeeper could not be released: {type(error).__name__}",
                path=self._name,
                remedy=f"it ends with its session, after {self.settings.session_ms} ms at most",
            ) from error
        finally:
            _end(client)

    def holder(self) -> str:
        """The holder of the lock, for messages."""
        with suppress(Exception):
            assert self._client is not None
            first = self._queue(self._client)[0]
            data: bytes = self._client.get(f"{self.settings.path}/{first}")[0]
            return f"a writer on {data.decode()} holds {self._name}/{first}"
        return f"another writer holds {self._name}"


def _end(client: Any) -> None:  # noqa: ANN401 - a client of kazoo
    with suppress(Exception):  # the servers end the session by themselves
        client.stop()
        client.close()


def _address() -> bytes:
    """What Curator's nodes hold: the address of the writer's machine."""
    try:
        return socket.gethostbyname(socket.gethostname()).encode()
    except OSError:
        return socket.gethostname().encode()
