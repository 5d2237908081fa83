"""What commands tell beside their results, on standard error: log lines and progress bars."""

from __future__ import annotations

import datetime
import json
import logging
import sys
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


def set_up_logging(verbosity: int, log_format: str) -> None:
    """Write log lines of this package to standard error.

    Args:
        verbosity: -1 errors alone, 0 warnings too, 1 what is done, 2 everything.
        log_format: one of :data:`LOG_FORMATS`.
    """
    levels = {-1: logging.ERROR, 0: logging.WARNING, 1: logging.INFO}
    logger = logging.getLogger(_LOGGER)
    for handler in list(logger.handlers):
        if isinstance(handler.formatter, LogLines):  # of a command that ran before in this process
            logger.removeHandler(handler)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLines(log_format))
    logger.addHandler(handler)
    logger.setLevel(levels.get(verbosity, logging.DEBUG))
    logger.propagate = False
