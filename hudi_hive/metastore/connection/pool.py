"""A pool of connections for threads, with failover between addresses and retries.

A call borrows a connection that nobody uses, or opens one; at most ``size`` are open. A pooled connection that the
server closed meanwhile is noticed before anything is sent on it, so an idle time-out of the server costs no call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from hudi_hive.errors import (
    MetastoreConnectError,
    MetastoreError,
    MetastoreLostError,
    MetastoreSecurityError,
    MetastoreTimeoutError,
    MetastoreTransportError,
)
from hudi_hive.metastore.connection.address import Address
from hudi_hive.metastore.connection.calls import CallCounter
from hudi_hive.metastore.connection.connection import Connection, broke_off
from hudi_hive.metastore.connection.security import Sasl, Tls
from hudi_hive.metastore.connection.settings import Retries, Timeouts


class ConnectionPool:
    """A pool of at most ``size`` connections to the first of ``addresses`` that answers.

    Args:
        addresses: tried in order, from the one that answered last.
        timeouts: for each connection.
        retries: how often and after which waits a call is tried again.
        size: connections open at once; further callers wait for a free one.
        user: announced on each new connection, None for nobody.
        tls: for addresses that do not say it themselves; None for plain connections.
        sasl: for addresses that do not say it themselves; None logs in nowhere.
    """

    def __init__(
        self,
        addresses: tuple[Address, ...],
        timeouts: Timeouts,
        retries: Retries,
        size: int,
        user: str | None,
        tls: Tls | None = None,
        sasl: Sasl | None = None,
    ) -> None:
        self.addresses = addresses
        self.calls = CallCounter()
        self._timeouts = timeouts
        self._retries = retries
        self._user = user
        self._tls = tls
        self._sasl = sasl
        self._slots = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._preferred = 0
        self._start = 0
        self._closed = False

    def call(self, method: str, *arguments: object, about: str, repeatable: bool) -> Any:  # noqa: ANN401
        """Call a method, retried on a new connection as ``retries`` allows.

        Args:
            repeatable: doing it twice is the same as once, so it is tried again even when its request was sent.

        Raises:
            MetastoreConnectError: no address could be reached.
            MetastoreSecurityError: TLS or the login failed (a refusal is never tried again, nor at the next address).
            MetastoreLostError: the connection broke; if the call is not repeatable its outcome is unknown.
            MetastoreTimeoutError: no answer in time (never tried again: the server is busy already).
            MetastoreServerError: the metastore refused.
        """
        attempts = self._retries.attempts

        def once() -> Any:  # noqa: ANN401
            return self._once(method, arguments, about)

        try:
            return once()
        except MetastoreTransportError as error:
            if attempts == 1 or not _try_again(error, repeatable):
                raise _outcome_unknown(error, repeatable) from error
            return self._again(once, error, repeatable)

    def _again(self, once: Callable[[], Any], first: MetastoreTransportError, repeatable: bool) -> Any:  # noqa: ANN401
        # Loaded only now: most runs never need it and it costs more than the rest of the client together.
        import tenacity

        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self._retries.attempts - 1),
            wait=tenacity.wait_random_exponential(multiplier=self._retries.wait, max=self._retries.wait_max),
            retry=tenacity.retry_if_exception(lambda error: _try_again(error, repeatable)),
            reraise=True,
        )
        try:
            return retrying(once)
        except MetastoreConnectError as error:
            if isinstance(first, MetastoreLostError):
                # What the caller was doing broke; that it cannot be taken up again is the second half of the story.
                raise MetastoreLostError(
                    f"{first.message}; {error.message}", path=error.path, remedy=first.remedy
                ) from error
            raise
        except MetastoreTransportError as error:
            raise _outcome_unknown(error, repeatable) from error

    def _once(self, method: str, arguments: tuple[object, ...], about: str) -> Any:  # noqa: ANN401
        with self._slots:
            connection = self._borrow()
            try:
                return connection.call(method, *arguments, about=about)
            except MetastoreLostError:
                # Something that accepts for a dead metastore (a load balancer) looks alive until now.
                with self._lock:
                    if self.addresses[self._start] is connection.address:
                        self._start = (self._start + 1) % len(self.addresses)
                raise
            finally:
                self._give_back(connection)

    def _borrow(self) -> Connection:
        while True:
            with self._lock:
                if self._closed:
                    raise MetastoreTransportError("the metastore client is closed", path=str(self.addresses[0]))
                connection = self._idle.pop() if self._idle else None
                if connection is not None:
                    self._busy.add(connection)
            if connection is None:
                return self._open()
            if connection.is_open:
                return connection
            with self._lock:
                self._busy.discard(connection)

    def _open(self) -> Connection:
        failures: list[MetastoreError] = []
        start = self._start
        for step in range(len(self.addresses)):
            index = (start + step) % len(self.addresses)
            try:
                connection = Connection(
                    self.addresses[index],
                    self._timeouts,
                    self.calls,
                    tls=self._tls,
                    sasl=self._sasl,
                    user=self._user,
                )
            except MetastoreTransportError as error:
                if isinstance(error, MetastoreSecurityError) and not broke_off(error):
                    raise
                failures.append(error)
                continue
            with self._lock:
                self._preferred = self._start = index
                self._busy.add(connection)
                closed = self._closed
            if closed:
                self._give_back(connection)
                raise MetastoreTransportError("the metastore client is closed", path=str(self.addresses[0]))
            return connection
        if len(failures) == 1:
            only = failures[0]
            if isinstance(only, MetastoreLostError):
                # It broke before the caller's own request was sent.
                raise MetastoreConnectError(only.message, path=only.path, remedy=only.remedy) from only
            raise only
        reasons = "; ".join(f"{error.path}: {error.message}" for error in failures)
        raise MetastoreConnectError(
            f"none of {len(failures)} metastores can be reached: {reasons}",
            path=",".join(str(address) for address in self.addresses),
            remedy=failures[0].remedy,
        ) from failures[-1]

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            self._busy.discard(connection)
            keep = not self._closed and not connection.closed
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()

    @property
    def address(self) -> Address:
        """The address that answered last (the first one before any call)."""
        return self.addresses[self._preferred]

    @property
    def login(self) -> Sasl | None:
        """How that address is logged in at; None where it wants no login."""
        return self.address.sasl or self._sasl

    def close(self) -> None:
        """Close all connections; calls that other threads wait in end with MetastoreLostError."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for connection in idle:
            connection.close()
        for connection in busy:
            connection.abort()


def _try_again(error: BaseException, repeatable: bool) -> bool:
    if isinstance(error, MetastoreSecurityError):
        return broke_off(error)
    return isinstance(error, MetastoreConnectError) or (repeatable and isinstance(error, MetastoreLostError))


def _outcome_unknown(error: MetastoreTransportError, repeatable: bool) -> MetastoreTransportError:
    if repeatable or not isinstance(error, MetastoreLostError | MetastoreTimeoutError):
        return error
    return type(error)(
        error.message, path=error.path, remedy="whether it was done is unknown: look at the object, then run again"
    )
