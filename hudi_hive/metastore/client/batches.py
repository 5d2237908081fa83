"""Cuts work into batches that grow, runs them ahead on several threads, and halves what the server cannot take.

What its database refused for the sake of another transaction is tried again as it is, fewer batches at once.

Knows nothing of Thrift: in come items and a function for one batch, out come the results in the order of the items.
"""

from __future__ import annotations

import random
import re
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from typing import Final, TypeVar

from hudi_hive.errors import (
    AlreadyExistsError,
    InvalidOperationError,
    MetastoreError,
    MetastoreLostError,
    MetastoreServerError,
    MetastoreTextError,
    MetastoreTimeoutError,
    MethodNotSupportedError,
    NoSuchObjectError,
)

Item = TypeVar("Item")
Result = TypeVar("Result")

_NOT_ABOUT_SIZE = (
    NoSuchObjectError,
    AlreadyExistsError,
    InvalidOperationError,
    MetastoreTextError,
    MethodNotSupportedError,
)

_ANOTHER_TRANSACTION: Final = re.compile(
    r"deadlock|lock wait timeout|try restarting transaction|could not serialize access|lock could not be obtained"
    r"|connection is not available, request timed out",
    re.IGNORECASE,
)
"""Of messages of MySQL and MariaDB, PostgreSQL and Derby about transactions that they rolled back for another one.

The last is of a metastore whose connections to its database (ten by default) all have transactions.
"""

_MOST_TRIES: Final = 8
_FIRST_WAIT_S: Final = 0.05
_LONGEST_WAIT_S: Final = 2.0


def met_another_transaction(error: MetastoreError) -> bool:
    """True if the metastore's database rolled the call back for another transaction: the same call is right again."""
    return was_refused(error) and _ANOTHER_TRANSACTION.search(error.message) is not None


def may_be_too_large(error: MetastoreError) -> bool:
    """True if a smaller batch may succeed where this error came: refused, not answered in time, connection dropped."""
    return was_refused(error) or isinstance(error, MetastoreTimeoutError | MetastoreLostError)


def was_refused(error: MetastoreError) -> bool:
    """True if the server answered that it cannot do the batch, for a reason that may be its size."""
    return isinstance(error, MetastoreServerError) and not isinstance(error, _NOT_ABOUT_SIZE)


class BatchSize:
    """The size of the next batch: ``initial``, doubled with each batch up to ``maximum``, less after a failure."""

    def __init__(self, initial: int, maximum: int) -> None:
        self._next = initial
        self._maximum = maximum

    @property
    def maximum(self) -> int:
        """The largest size still tried."""
        return self._maximum

    def take(self) -> int:
        """The size of the next batch."""
        size = min(self._next, self._maximum)
        self._next = min(size * 2, self._maximum)
        return size

    def refused(self, size: int) -> None:
        """A batch of ``size`` failed: never exceed half of it again."""
        self._maximum = min(self._maximum, max(1, size // 2))


class _Retries:
    """How often one batch was tried again because it met another transaction."""

    def __init__(self) -> None:
        self._tries = 0

    def reset(self) -> None:
        """The batch was done."""
        self._tries = 0

    def waited(self) -> bool:
        """Wait for a random while before another try; False if there were enough of them."""
        if self._tries == _MOST_TRIES:
            return False
        time.sleep(random.uniform(0, min(_FIRST_WAIT_S * 2**self._tries, _LONGEST_WAIT_S)))
        self._tries += 1
        return True


def _at_once_after(error: MetastoreError, ahead: int) -> int:
    """How many batches may be under way after a failure: fewer if the server may still be at this one."""
    return max(1, ahead // 2) if isinstance(error, MetastoreTimeoutError) else ahead


@contextmanager
def _stopped_at_end(
    pending: Collection[tuple[Sequence[Item], Future[Result] | None]], *, drain: bool
) -> Iterator[None]:
    """Cancel what has not begun of ``pending`` at the end; with ``drain`` an error also waits for what has begun."""
    try:
        yield
    except Exception:
        if drain:
            wait([future for _, future in pending if future is not None and not future.cancel()])
        raise
    finally:
        for _, future in pending:
            if future is not None:
                future.cancel()


def run_batches(
    items: Sequence[Item],
    run: Callable[[Sequence[Item]], Result],
    size: BatchSize,
    *,
    executor: Callable[[], Executor],
    ahead: int,
    smaller_helps: Callable[[MetastoreError], bool] = may_be_too_large,
    drain: bool = False,
) -> Iterator[Result]:
    """The result of ``run`` for each batch of ``items``, in their order.

    Args:
        items: what to cut.
        run: does one batch; called from other threads when there is more than one batch.
        size: gives the batch sizes; keeps what was learned for the caller's next use.
        executor: asked for only when there is more than one batch and ``ahead`` is above 1.
        ahead: batches under way at once; 1 runs them in the caller's thread, one when the last one's result was taken.
        smaller_helps: whether to cut a batch that failed this way into smaller ones.
        drain: an error is raised only when no batch is under way any more, so that none is done behind the caller.

    Raises:
        MetastoreError: what ``run`` raised for a batch of one item, or where smaller batches are no help.
    """
    pending: deque[tuple[Sequence[Item], Future[Result] | None]] = deque()
    position, retries = 0, _Retries()

    def start(batch: Sequence[Item], *, alone: bool = False) -> tuple[Sequence[Item], Future[Result] | None]:
        return batch, None if ahead == 1 or alone else executor().submit(run, batch)

    with _stopped_at_end(pending, drain=drain):
        while position < len(items) or pending:
            while position < len(items) and len(pending) < ahead:
                batch = items[position : position + size.take()]
                position += len(batch)
                pending.append(start(batch, alone=not pending and position == len(items)))
            batch, future = pending.popleft()
            try:
                result = run(batch) if future is None else future.result()
            except MetastoreError as error:
                if met_another_transaction(error) and retries.waited():
                    # It may have been one of ours: this one goes alone, and fewer follow at once.
                    wait([under_way for _, under_way in pending if under_way is not None])
                    ahead = max(1, ahead // 2)
                    pending.appendleft((batch, None))
                    continue
                if len(batch) == 1 or not smaller_helps(error):
                    raise
                ahead = _at_once_after(error, ahead)
                size.refused(len(batch))
                waiting = [(batch, None), *pending]
                pending.clear()
                for whole, under_way in waiting:
                    if len(whole) > size.maximum and (under_way is None or under_way.cancel()):
                        parts = (whole[at : at + size.maximum] for at in range(0, len(whole), size.maximum))
                        pending.extend(start(part) for part in parts)
                    else:
                        pending.append((whole, under_way))
                continue
            retries.reset()
            yield result
