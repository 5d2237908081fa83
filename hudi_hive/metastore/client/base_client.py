"""The common parts of all calls of the client: the pool, the threads for batches, the counters."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

from hudi_hive.errors import (
    AlreadyExistsError,
    InvalidOptionError,
    MetastoreError,
    MetastoreLostError,
    NoSuchObjectError,
)
from hudi_hive.metastore.client.batches import BatchSize, run_batches, was_refused
from hudi_hive.metastore.connection import (
    BatchSizes,
    CallCounter,
    ConnectionPool,
    Retries,
    Sasl,
    Timeouts,
    Tls,
    parse_addresses,
)
from hudi_hive.progress import tracked

Item = TypeVar("Item")
Result = TypeVar("Result")


class BaseClient:
    """A pool of connections and the ways to call through it; see ``HiveMetastore`` for the arguments."""

    def __init__(
        self,
        uris: str | Iterable[str],
        *,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        batch: BatchSizes | None = None,
        pool_size: int = 4,
        ugi: str | None = None,
        tls: Tls | None = None,
        sasl: Sasl | None = None,
    ) -> None:
        if pool_size < 1:
            raise InvalidOptionError(f"the pool needs at least one connection, not {pool_size}")
        self.batch = batch or BatchSizes()
        self._pool = ConnectionPool(
            parse_addresses(uris), timeouts or Timeouts(), retries or Retries(), pool_size, ugi, tls, sasl
        )
        self._pool_size = pool_size
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None

    # -- the client itself ------------------------------------------------------------------------------------------

    @property
    def uri(self) -> str:
        """The address that answered last (before any call: the first one)."""
        return str(self._pool.address)

    @property
    def login(self) -> Sasl | None:
        """How it logs in at the address that answered last; None where it does not."""
        return self._pool.login

    @property
    def calls(self) -> Counter[str]:
        """Calls sent so far, by Thrift method, repeated tries included. A copy: compare two of them."""
        return self._pool.calls.snapshot()

    @property
    def call_counter(self) -> CallCounter:
        """The live counter: ``with client.call_counter.measure() as calls: ...``."""
        return self._pool.calls

    def close(self) -> None:
        """Close all connections. Calls under way in other threads end with an error."""
        self._pool.close()
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        uris = ",".join(str(address) for address in self._pool.addresses)
        return f"HiveMetastore({uris!r}, calls={self._pool.calls.total()})"

    def call(self, method: str, *arguments: object, about: str, repeatable: bool = True) -> Any:  # noqa: ANN401
        """Call a Thrift method through a connection of the pool.

        Args:
            method: name of the method.
            arguments: its arguments.
            about: the object that it is about, for messages.
            repeatable: it may be sent again after a lost connection.

        Raises:
            MetastoreError: the metastore refuses, or cannot be reached.
        """
        return self._pool.call(method, *arguments, about=about, repeatable=repeatable)

    def _executor(self) -> Executor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._pool_size, thread_name_prefix="metastore")
            return self._threads

    def create_object(self, method: str, what: object, *, about: str, quiet: bool) -> bool:
        """Call a method that creates an object; False if it exists and ``quiet`` is set.

        Raises:
            AlreadyExistsError: it exists and ``quiet`` is not set.
        """
        try:
            self.call(method, what, about=about, repeatable=quiet)
        except AlreadyExistsError:
            if not quiet:
                raise
            return False
        return True

    def drop_object(self, method: str, *arguments: object, about: str, quiet: bool) -> bool:
        """Call a method that drops an object; False if there is none and ``quiet`` is set.

        Raises:
            NoSuchObjectError: there is none and ``quiet`` is not set.
        """
        try:
            self.call(method, *arguments, about=about, repeatable=quiet)
        except NoSuchObjectError:
            if not quiet:
                raise
            return False
        return True

    def read_batches(
        self, items: Sequence[Item], fetch: Callable[[Sequence[Item]], Result], sizes: BatchSizes | None = None
    ) -> Iterator[Result]:
        """Fetch items in growing batches, several of them at a time."""
        sizes = sizes or self.batch
        size = BatchSize(sizes.initial, sizes.maximum)
        return run_batches(items, fetch, size, executor=self._executor, ahead=self._pool_size)

    def write_batches(
        self,
        items: Sequence[Item],
        write: Callable[[Sequence[Item]], None],
        batch_size: int | None,
        *,
        repeatable: bool,
        ahead: int = 1,
    ) -> None:
        """Write items in batches of one size.

        With ``ahead`` 1 they go one after the other, so that a failure leaves a prefix done. With more, a failure stops
        those that have not begun, and is raised when the others have ended.

        A refused batch is halved, but one that met another transaction in the metastore's database (a deadlock, a lock
        not got in time) is tried again as it is. One whose connection broke is halved only if it may be repeated; one
        that was not answered in time never is, because the server is still at it.
        """
        if batch_size is not None and batch_size < 1:
            raise InvalidOptionError(f"batch size must be at least 1, not {batch_size}")
        size = BatchSize(batch_size or self.batch.write, batch_size or self.batch.write)

        def smaller_helps(error: MetastoreError) -> bool:
            return was_refused(error) or (repeatable and isinstance(error, MetastoreLostError))

        with tracked("writing to the metastore", len(items), "entries") as progress:

            def write_and_tell(batch: Sequence[Item]) -> None:
                write(batch)
                progress.advance(len(batch))

            for _ in run_batches(
                items,
                write_and_tell,
                size,
                executor=self._executor,
                ahead=ahead,
                smaller_helps=smaller_helps,
                drain=True,
            ):
                pass
