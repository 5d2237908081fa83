"""Reports metrics as lines of text and as a JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from hudi_hive.errors import StorageError


def metric_lines(values: Mapping[str, float]) -> list[str]:
    """A line ``name value`` for each metric; durations in milliseconds with three decimals."""
    return [f"{name} {value if isinstance(value, int) else round(value, 3)}" for name, value in values.items()]


def write_json(path: str | os.PathLike[str], values: Mapping[str, float]) -> None:
    """Replace a local file by one JSON object of the metrics; readers see the file of before or the new one.

    Raises:
        StorageError: it cannot be written.
    """
    text = os.fspath(path)
    temporary = f"{text}.{os.getpid()}.tmp"
    try:
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(dict(values), file, indent=1)
                file.write("\n")
            os.replace(temporary, text)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)
    except OSError as error:
        raise StorageError(f"the metrics cannot be written: {error.strerror or error}", path=text) from error
