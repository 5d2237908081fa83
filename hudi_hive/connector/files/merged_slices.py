"""What log files do to base files, kept in memory for a table at one moment: files never change under their names."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from hudi_hive.plan import ScanPlan
from hudi_hive.read.scan import ReplacedRows, replaced_rows
from hudi_hive.storage import Storage

_MOST_BYTES: Final = 256 << 20
"""Of a table: slices beyond are merged each time."""


class MergedSlices:
    """What the log files of slices do, worked out when a slice is wanted the second time, in bounded memory.

    Args:
        storage: rooted at the table's base path.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lock = threading.Lock()
        self._requested: set[str] = set()
        self._cached: dict[str, ReplacedRows | None] = {}
        self._bytes = 0

    def __call__(self, plan: ScanPlan, row: Mapping[str, Any], values: pa.Table | None) -> ReplacedRows | None:
        """What the log files of a slice do; None the first time, and where memory or merging does not allow it.

        Raises:
            HudiHiveError: as reading the slice.
        """
        key = f"{row['path']} {row['log_files']}"
        with self._lock:
            if key in self._cached:
                return self._cached[key]
            # A merge for some keys says nothing of the others.
            if (
                key not in self._requested
                or self._bytes >= _MOST_BYTES
                or plan.merge is None
                or plan.merge.keys is not None
            ):
                self._requested.add(key)
                return None
        replaced = replaced_rows(self._storage, plan, row, values)
        size = 0 if replaced is None else replaced.nbytes
        with self._lock:
            if key not in self._cached:
                self._cached[key] = replaced if self._bytes + size <= _MOST_BYTES else None
                self._bytes += size if self._cached[key] is not None else 0
            return self._cached[key]
