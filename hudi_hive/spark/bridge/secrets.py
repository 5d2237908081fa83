"""Keeps secrets of stores out of what Spark and py4j show: event logs, web pages, logs of calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark import SparkContext

from hudi_hive.spark.versions import JavaValue

REDACTION: Final = "spark.redaction.regex"
REDACTED_NAMES: Final = (
    "(?i)secret|password|passwd|token|access[.]?key|api[.]?key|account[.]?key|encryption[.]?key|azure[.]sas"
)
"""Names of properties whose values Spark hides: those of its own default, and all of S3A's and ABFS's."""

_LOGGERS: Final = ("py4j.clientserver", "py4j.java_gateway")
_calls: Final = threading.local()


class _SecretCallFilter(logging.Filter):
    """Drops py4j's records of calls that :func:`unlogged` is around."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_calls, "unlogged", 0)


_FILTER: Final = _SecretCallFilter()


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep py4j from logging the calls of this thread, whose arguments or answers hold secrets."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)  # once, however often it is added
    _calls.unlogged = getattr(_calls, "unlogged", 0) + 1
    try:
        yield
    finally:
        _calls.unlogged -= 1


def hide_secrets(context: SparkContext, session: JavaValue | None) -> None:
    """Let Spark hide the values of :data:`REDACTED_NAMES`, unless the user has said what it hides.

    Args:
        context: over the JVM's Spark context.
        session: a session of the JVM that is there; None before the first one is, which takes the context's settings.
    """
    settings = context._jsc.sc().conf()
    if not settings.contains(REDACTION):
        settings.set(REDACTION, REDACTED_NAMES)
        if session is not None:
            session.sessionState().conf().setConfString(REDACTION, REDACTED_NAMES)
