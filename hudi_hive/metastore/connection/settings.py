"""Settings of the client: time-outs, retries, batch sizes, as checked frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_hive.errors import InvalidOptionError


def _check(condition: bool, what: str) -> None:
    if not condition:
        raise InvalidOptionError(what)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time-outs in seconds.

    Args:
        connect: for opening one connection to one address, for TLS, and for the login.
        read: for each call, from the first byte of the request to the last one of the answer. A partition
            batch that does not come within it is asked for again in halves.

    Raises:
        InvalidOptionError: a time-out that is not positive.
    """

    connect: float = 10.0
    read: float = 120.0

    def __post_init__(self) -> None:
        _check(self.connect > 0, f"connect time-out must be positive, not {self.connect}")
        _check(self.read > 0, f"read time-out must be positive, not {self.read}")


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a call is tried again after the connection broke.

    Calls that may be repeated without harm are tried ``attempts`` times in all; any other call is only repeated while
    the connection could not even be opened.

    Args:
        attempts: tries in all, 1 = never again.
        wait: the second try comes at once, on a fresh connection; before the third one up to this many seconds pass,
            and up to twice as many before each further one (the length is random).
        wait_max: the longest wait in seconds.
    """

    attempts: int = 3
    wait: float = 0.1
    wait_max: float = 5.0

    def __post_init__(self) -> None:
        _check(self.attempts >= 1, f"retry attempts must be at least 1, not {self.attempts}")
        _check(0 <= self.wait <= self.wait_max, f"retry waits must be 0 <= {self.wait} <= {self.wait_max}")


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """Sizes of partition batches, in partitions.

    Reading starts with ``initial`` and doubles up to ``maximum`` (10, 20, 40, 80, 100, 100 …), so that the first
    partitions come at once and a large table needs few calls. A size that the server refuses, drops or does not answer
    in time is halved and not exceeded again. ``write`` is the size of add, alter and drop batches.
    """

    initial: int = 10
    maximum: int = 100
    write: int = 1000

    def __post_init__(self) -> None:
        _check(1 <= self.initial <= self.maximum, f"batch sizes must be 1 <= {self.initial} <= {self.maximum}")
        _check(self.write >= 1, f"write batch size must be at least 1, not {self.write}")
