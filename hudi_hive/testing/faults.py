"""Faults that a fake metastore simulates on demand."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import Enum


class FaultKind(Enum):
    """The kind of a fault."""

    DROP = "drop"
    """The connection is closed before the call is done."""
    DROP_AFTER = "drop after"
    """The call is done, then the connection is closed without an answer."""
    DIE = "die"
    """The whole server goes away before the call is done."""
    DIE_AFTER = "die after"
    """The call is done, then the whole server goes away without an answer."""
    REFUSE = "refuse"
    """The call is answered with a MetaException."""
    INTERNAL = "internal"
    """The call is answered with Thrift's internal error."""
    DELAY = "delay"
    """The call is done after ``seconds``."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault and when it happens.

    Args:
        kind: what goes wrong.
        method: only calls of this Thrift method count; None for all.
        at: the first call that it happens to, counted from 1 since it was injected.
        times: to so many calls in a row; None for ever.
        larger_than: only calls with more names or partitions than this count.
        seconds: length of a delay.
        message: text of a refusal.
    """

    kind: FaultKind
    method: str | None = None
    at: int = 1
    times: int | None = 1
    larger_than: int | None = None
    seconds: float = 0.0
    message: str = "refused on demand"


class Faults:
    """The faults of one server and how many calls each of them has seen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[tuple[Fault, list[int]]] = []

    def inject(self, fault: Fault) -> None:
        """Add a fault."""
        with self._lock:
            self._faults.append((fault, [0]))

    def clear(self) -> None:
        """Forget all faults."""
        with self._lock:
            self._faults.clear()

    def due(self, method: str, size: int) -> list[Fault]:
        """The faults that apply to this call; must be called once for each call.

        Args:
            method: Thrift method.
            size: names or partitions in its arguments.
        """
        faults = []
        with self._lock:
            for fault, seen in self._faults:
                if fault.method not in (None, method) or (fault.larger_than is not None and size <= fault.larger_than):
                    continue
                seen[0] += 1
                if seen[0] >= fault.at and (fault.times is None or seen[0] < fault.at + fault.times):
                    faults.append(fault)
        return faults
