"""Reads, writes, table services and syncs as they happen: counts of this process, and spans of OpenTelemetry.

Counts are always kept, which costs a few additions an operation. Spans and OpenTelemetry's own counts are made where a
program has loaded OpenTelemetry; who shows them is up to its providers.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, NamedTuple

from hudi_hive.redaction import redact

KINDS: Final = ("read", "write", "service", "sync")
"""Kinds of operations; a span is called ``hudi.<kind>``."""

AMOUNTS: Final = {
    "rows": "Rows that were read or written",
    "files": "Data files that were planned for a read or written",
    "bytes": "Bytes of these files",
    "calls": "Calls of the catalog by syncs",
}
"""What operations count beside themselves; ``hudi_operation_<amount>_total`` for Prometheus, ``hudi.<amount>`` else."""

COUNTED: Final = {"hudi_operations": "Operations that ended", "hudi_operation_seconds": "Seconds that they took"}
"""Prometheus' names of the first two counts, ``_total`` behind each, and what they count."""

LABELS: Final = ("kind", "action", "outcome")
"""Labels of all counts."""


class CountKey(NamedTuple):
    """What a count is of: the operations' kind, action and outcome, and the name of what is counted."""

    kind: str
    action: str
    outcome: str
    name: str


class OperationMetrics:
    """Thread-safe counts of the operations of a process, by kind, action and outcome (``ok``, ``error``)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: Counter[CountKey] = Counter()

    def add(self, kind: str, action: str, outcome: str, values: dict[str, float]) -> None:
        """Count an operation that ended.

        Args:
            kind: one of :data:`KINDS`.
            action: what was done: ``upsert``, ``compact``, ``snapshot`` …
            outcome: ``ok`` or ``error``.
            values: what it counted: ``seconds`` and those of :data:`AMOUNTS`.
        """
        with self._lock:
            self._values[CountKey(kind, action, outcome, "operations")] += 1
            for name, value in values.items():
                self._values[CountKey(kind, action, outcome, name)] += value  # type: ignore[assignment] # seconds have fractions

    def snapshot(self) -> dict[CountKey, float]:
        """All counts so far, sorted."""
        with self._lock:
            return dict(sorted(self._values.items()))


OPERATION_METRICS: Final = OperationMetrics()
"""Counts of this process."""


class ObservedOperation:
    """An operation under way, which is told what it counts."""

    def __init__(self, kind: str, action: str) -> None:
        self.kind = kind
        self.action = action
        self.instant = ""
        self.amounts: dict[str, float] = {}

    def count(self, **amounts: float) -> None:
        """Add to amounts of :data:`AMOUNTS`."""
        for name, amount in amounts.items():
            self.amounts[name] = self.amounts.get(name, 0) + amount


@contextmanager
def observed(kind: str, action: str, path: str, table: str = "", *, nested: bool = True) -> Iterator[ObservedOperation]:
    """Count the block as one operation, and make a span of it where OpenTelemetry is loaded.

    Args:
        kind: one of :data:`KINDS`.
        action: what is done.
        path: the table's base path.
        table: its name.
        nested: operations inside the block are children of the span; not so in generators, whose caller goes on
            between their steps.
    """
    operation = ObservedOperation(kind, action)
    begun = time.perf_counter()
    outcome, failure = "ok", ""
    with _span(operation, path, table, nested=nested) as span:
        try:
            yield operation
        except BaseException as error:
            if not isinstance(error, GeneratorExit):  # a reader that has seen enough
                outcome, failure = "error", type(error).__name__
            raise
        finally:
            values = {"seconds": time.perf_counter() - begun, **operation.amounts}
            OPERATION_METRICS.add(kind, action, outcome, values)
            if span is not None:
                _finish(span, operation, outcome, failure)
            if "opentelemetry.metrics" in sys.modules:
                _measure(operation, outcome, values)


def _span(operation: ObservedOperation, path: str, table: str, *, nested: bool) -> Any:  # noqa: ANN401 - of a library
    """The span of an operation as a context manager; that of None where OpenTelemetry is not loaded."""
    if "opentelemetry.trace" not in sys.modules:
        return nullcontext()
    from opentelemetry import trace

    attributes = {"hudi.action": operation.action, "hudi.path": redact(path), "hudi.table": table}
    tracer, name = trace.get_tracer("hudi_hive"), f"hudi.{operation.kind}"
    # What went wrong is said by its class alone: foreign errors may hold secrets.
    quiet: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False}
    if nested:
        return tracer.start_as_current_span(name, attributes=attributes, **quiet)
    return _ended(tracer.start_span(name, attributes=attributes, **quiet))


@contextmanager
def _ended(span: Any) -> Iterator[Any]:  # noqa: ANN401 - a span of a library
    try:
        yield span
    finally:
        span.end()


def _finish(span: Any, operation: ObservedOperation, outcome: str, failure: str) -> None:  # noqa: ANN401
    from opentelemetry.trace import StatusCode

    span.set_attribute("hudi.outcome", outcome)
    span.set_attribute("hudi.action", operation.action)
    if operation.instant:
        span.set_attribute("hudi.instant", operation.instant)
    for name, amount in operation.amounts.items():
        span.set_attribute(f"hudi.{name}", amount)
    if failure:
        span.set_attribute("error.type", failure)
        span.set_status(StatusCode.ERROR, failure)


def _measure(operation: ObservedOperation, outcome: str, values: dict[str, float]) -> None:
    labels = {"kind": operation.kind, "action": operation.action, "outcome": outcome}
    instruments = _instruments()
    instruments["operations"].add(1, labels)
    instruments["duration"].record(values["seconds"], labels)
    for name in AMOUNTS.keys() & values.keys():
        instruments[name].add(values[name], labels)


@functools.cache
def _instruments() -> dict[str, Any]:
    from opentelemetry import metrics

    meter = metrics.get_meter("hudi_hive")
    made: dict[str, Any] = {
        "operations": meter.create_counter("hudi.operations", description=COUNTED["hudi_operations"]),
        "duration": meter.create_histogram("hudi.operation.duration", unit="s", description="How long they took"),
    }
    for name, description in AMOUNTS.items():
        unit = "By" if name == "bytes" else "1"
        made[name] = meter.create_counter(f"hudi.{name}", unit=unit, description=description)
    return made
