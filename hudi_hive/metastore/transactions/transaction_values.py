"""Values of transaction calls: locks, operations, times, errors.

In come the metastore's answers and exceptions; out come values and errors of ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from hudi_hive.errors import (
    HudiHiveError,
    MetastoreServerError,
    TransactionConflictError,
    TransactionError,
    TransactionLockError,
    TransactionLostError,
)
from hudi_hive.metastore._thrift import ttypes

_LOST: Final = "it was ended, or had no heartbeat for hive.txn.timeout: repeat it in a new transaction"
_AGAIN: Final = "read the rows again and repeat the transaction"
_TIME: Final = re.compile(r"\s*(\d+)\s*([a-z]*)\s*", re.IGNORECASE)
# The short name of a unit, what its long names begin with, and its seconds.
_UNITS: Final = (
    ("ms", "msec", 1e-3),
    ("us", "usec", 1e-6),
    ("ns", "nsec", 1e-9),
    ("d", "day", 86400.0),
    ("h", "hour", 3600.0),
    ("m", "min", 60.0),
    ("s", "sec", 1.0),
)


class LockKind(Enum):
    """The kind of a lock: which other locks it excludes."""

    READ = "read"
    """Only those who want the table for themselves."""
    WRITE = "write"
    """Other writers that change or delete rows; readers and mere inserters stay."""
    EXCLUSIVE = "exclusive"
    """Everybody."""


class DataOperationType(Enum):
    """What a transaction does to a table: updates and deletes conflict with each other, inserts with nothing."""

    SELECT = "SELECT"
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class LockState(Enum):
    """State of a lock request."""

    ACQUIRED = "acquired"
    WAITING = "waiting"
    ABORTED = "aborted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class LockPart:
    """One table of a lock request.

    Args:
        database: name of the database.
        table: name of the table.
        kind: how much it keeps out.
        operation: what for; ``SELECT`` for tables that are only read.
        dynamic: the touched partitions are told later, by ``add_dynamic_partitions``: before any file is where readers
            look, because metastore 3.1 forgets an aborted transaction of which it knows no partition, and its write id
            counts as valid then. Not for unpartitioned tables, whose lock alone tells what is changed.
    """

    database: str
    table: str
    kind: LockKind
    operation: DataOperationType
    dynamic: bool = False


@dataclass(frozen=True, slots=True)
class LockStatus:
    """The answer to a lock request: its number, its state and, from metastore 4, why it waits or failed."""

    id: int
    state: LockState
    message: str = ""


@dataclass(frozen=True, slots=True)
class TransactionInfo:
    """A transaction that is open or aborted, and whose it is."""

    id: int
    aborted: bool
    user: str
    host: str
    agent: str


_STATES: Final = {
    ttypes.LockState.ACQUIRED: LockState.ACQUIRED,
    ttypes.LockState.WAITING: LockState.WAITING,
    ttypes.LockState.ABORT: LockState.ABORTED,
    ttypes.LockState.NOT_ACQUIRED: LockState.REFUSED,
}


def status_of(answer: ttypes.LockResponse) -> LockStatus:
    """The answer to a lock request as a value."""
    return LockStatus(answer.lockid, _STATES[ttypes.LockState(answer.state)], answer.errorMessage or "")


def named(error: MetastoreServerError) -> HudiHiveError:
    """Convert an error of the metastore about a transaction to one of this package; others stay."""
    cause = error.__cause__
    if isinstance(cause, ttypes.TxnAbortedException) and "write conflict" in error.message:
        return TransactionConflictError(error.message, path=error.path, remedy=_AGAIN)
    if isinstance(cause, ttypes.TxnAbortedException | ttypes.NoSuchTxnException):
        return TransactionLostError(error.message, path=error.path, remedy=_LOST)
    if isinstance(cause, ttypes.NoSuchLockException):
        return TransactionLockError(error.message, path=error.path, remedy=_LOST)
    return error


def parse_seconds(text: str, path: str) -> float:
    """A time of Hive's configuration in seconds: ``300s``, ``5 min``; a number without a unit is of seconds.

    Args:
        text: as the metastore says it.
        path: the metastore's address, for the error.

    Raises:
        TransactionError: it is none, or no time at all.
    """
    match = _TIME.fullmatch(text)
    if match is not None:
        unit = match[2].lower() or "s"
        for short, beginning, seconds in _UNITS:
            if unit == short or unit.startswith(beginning):
                if int(match[1]) > 0:
                    return int(match[1]) * seconds
                break
    raise TransactionError(f"hive.txn.timeout: no time that can pass: {text!r}", path=path)
