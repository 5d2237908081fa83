"""Puts the path into errors of a merge, which knows values and not where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hudi_hive.errors import HudiHiveError
from hudi_hive.redaction import redact


@contextmanager
def errors_at(path: str) -> Iterator[None]:
    """Let errors that name no path name this one.

    Args:
        path: of the table, folder or file that is merged.
    """
    try:
        yield
    except HudiHiveError as error:
        if error.path is None:
            error.path = redact(path)
        raise
