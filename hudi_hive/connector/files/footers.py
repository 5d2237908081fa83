"""Footers of local Parquet base files, read and checked once for each file: base files never change under their name.

What our own reader checks of a file before its first row is checked here, since an engine's reader knows nothing of it:
its size as the commit recorded it, the names in its footer, the file group that its rows name, symbolic links.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice
from typing import Final

import pyarrow as pa

from hudi_hive.errors import HudiHiveError
from hudi_hive.formats.base import parquet_layout, sole_value
from hudi_hive.names import FILE_NAME_COLUMN
from hudi_hive.storage import Storage
from hudi_hive.table.bootstrap import open_table_file
from hudi_hive.table.core import refuse_damaged_names, refuse_rows_of_others

_MOST: Final = 65_536
"""Footers that are remembered; those used longest ago are dropped first."""

_MOST_LAYOUTS: Final = 1_024
"""Layouts that are remembered as one object each."""


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet file's footer says.

    Attributes:
        schema: the file's Arrow schema, as our reader gives it.
        layout: the Parquet schema as text, one object for all files that have it: physical types, annotations, nesting.
        rows: number of rows.
    """

    schema: pa.Schema
    layout: str
    rows: int


class FooterCache:
    """Footers of files by path, size, time of change and inode; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._footers: OrderedDict[tuple[str, int, int, int], Footer] = OrderedDict()
        self._alike: dict[str, Footer] = {}

    def footer(self, storage: Storage, path: str, size: int | None) -> Footer | None:
        """The footer of a file; None where reading the file is to say what is wrong with it.

        Args:
            storage: where it is: a local one.
            path: relative to its root.
            size: bytes that the commit recorded; None or 0 if it did not.

        Raises:
            UnsafePathError: the path leaves the table through a symbolic link.
        """
        storage.check_read(path)
        try:
            status = os.stat(storage.full_path(path))
        except (OSError, ValueError):
            return None
        if size and status.st_size != size:
            return None
        key = (storage.full_path(path), status.st_size, status.st_mtime_ns, status.st_ino)
        with self._lock:
            cached = self._footers.get(key)
            if cached is not None:
                self._footers.move_to_end(key)
                return cached
        try:
            footer = _read(storage, path, size)
        except HudiHiveError:
            return None
        if footer is None:
            return None
        with self._lock:
            footer = self._shared(footer)
            self._footers[key] = footer
            while len(self._footers) > _MOST:
                self._footers.popitem(last=False)
        return footer

    def _shared(self, footer: Footer) -> Footer:
        """The footer with the schema and layout objects of an earlier one that has equal ones."""
        alike = self._alike.get(footer.layout)
        if alike is not None and alike.schema.equals(footer.schema):
            return Footer(alike.schema, alike.layout, footer.rows)
        if len(self._alike) >= _MOST_LAYOUTS:
            self._alike.clear()
        self._alike[footer.layout] = footer
        return footer


def _read(storage: Storage, path: str, size: int | None) -> Footer | None:
    with open_table_file(storage, path, size=size) as file:
        layout = parquet_layout(file)
        if layout is None:
            return None
        refuse_damaged_names(file)
        if file.num_rows and file.schema.get_field_index(FILE_NAME_COLUMN) >= 0:
            named = sole_value(file, FILE_NAME_COLUMN)
            if named != path.rpartition("/")[2]:
                for batch in islice(file.batches([FILE_NAME_COLUMN], batch_size=1, use_threads=False), 1):
                    refuse_rows_of_others(file, batch)
        # The file's own metadata has its bloom filter in it.
        return Footer(file.schema.remove_metadata(), layout, file.num_rows)
