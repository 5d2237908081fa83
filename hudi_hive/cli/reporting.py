"""What commands tell beside their results, on standard error: log lines and progress bars."""

from __future__ import annotations

import datetime
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from hudi_hive.redaction import escaped, printable, redact

LOG_FORMATS: Final = ("text", "json")

_LOGGER: Final = "hudi_hive"


class LogLines(logging.Formatter):
    """One line a record, as text for people or as a JSON object, without secrets and control characters.

    Args:
        log_format: ``text`` or ``json``.
    """

    def __init__(self, log_format: str) -> None:
        super().__init__()
        self._is_json = log_format == "json"

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        message = redact(" ".join(record.getMessage().split()))
        level = record.levelname.lower()
        if not self._is_json:
            return printable(f"{level}: {message}")
        time = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": level, "logger": record.name, "message": message}
        return escaped(json.dumps(line, ensure_ascii=False))


@contextmanager
def log_lines(verbosity: int, log_format: str) -> Iterator[None]:
    """Write log lines of this package to standard error while the block runs.

    Args:
        verbosity: -1 errors alone, 0 warnings too, 1 what is done, 2 everything.
        log_format: one of :data:`LOG_FORMATS`.
    """
    levels = {-1: logging.ERROR, 0: logging.WARNING, 1: logging.INFO}
    logger = logging.getLogger(_LOGGER)
    before = logger.level
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLines(log_format))
    logger.addHandler(handler)
    logger.setLevel(levels.get(verbosity, logging.DEBUG))
    try:
        yield
    finally:  # another command, or a program of its own, may go on in this process
        logger.removeHandler(handler)
        logger.setLevel(before)
