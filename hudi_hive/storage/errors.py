"""Turns errors of file systems into those of :mod:`hudi_hive.errors`, with the path and without secrets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from hudi_hive.errors import PathExistsError, PathNotFoundError, StorageError, StoreAccessDeniedError
from hudi_hive.storage.resolve import without_secrets


@contextmanager
def mapped_errors(path: str) -> Iterator[None]:
    """Context manager that turns a file system's errors into ours, for one path."""
    try:
        yield
    except FileNotFoundError as error:
        raise PathNotFoundError("no such file or folder", path=path) from error
    except FileExistsError as error:
        raise PathExistsError("file exists already", path=path) from error
    except NotADirectoryError as error:
        raise PathNotFoundError("not a folder", path=path) from error
    except PermissionError as error:
        raise StoreAccessDeniedError(
            "permission denied", path=path, remedy="run it as a user who may do this, or have the right granted"
        ) from without_secrets(error)
    except (OSError, pa.ArrowException) as error:
        raise StorageError(f"storage call failed: {error}", path=path) from without_secrets(error)
