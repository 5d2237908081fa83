"""Refuses writes to stores that cannot create files atomically, unless a lock provider keeps writers apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hudi_hive.errors import LockError
from hudi_hive.options import as_texts
from hudi_hive.options import locks as lock_options
from hudi_hive.storage import Storage


def check_store(storage: Storage, options: Mapping[str, Any]) -> None:
    """Refuse to write to a store on which two writers could both create the same instant.

    Args:
        storage: rooted at the table's base path.
        options: write options; with ``hoodie.write.lock.provider`` any store is written to.

    Raises:
        LockError: the store does not create files atomically, and no lock provider is set.
    """
    if not storage.creates_atomically and lock_options.LOCK_PROVIDER.of(as_texts(options)) is None:
        raise not_atomic(storage)


def not_atomic(storage: Storage) -> LockError:
    """The error of a store that does not create files atomically, where no lock provider is set."""
    return LockError(
        "the store cannot create a file only if it is absent, so that two writers could overwrite each other's commits",
        path=storage.uri(),
        remedy=f"set {lock_options.LOCK_PROVIDER} to a lock that all writers share, such as "
        f"{lock_options.OTHER_LOCKS}, or to InProcessLockProvider if this process alone writes",
    )
