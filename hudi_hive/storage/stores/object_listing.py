"""Pages of an object store's listing as listings of files: relative names, without objects that mark folders."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.storage.stores.base import LISTING_SCHEMA

OBJECTS: Final = pa.schema([("path", pa.string()), ("size", pa.int64()), ("last_modified", pa.timestamp("ms", "UTC"))])
"""What is read of an object: its key, its bytes, when it was written."""


def named_objects(page: Any) -> pa.Table:  # noqa: ANN401 - obstore's RecordBatch or Table
    """Objects of a page of a listing, without what nobody reads."""
    table = pa.table(page)
    return pa.table([table.column(field.name).cast(field.type, safe=False) for field in OBJECTS], schema=OBJECTS)


def file_entries(objects: pa.Table, key: str) -> pa.Table:
    """Objects that a store listed, with paths relative to the listed folder."""
    paths = objects.column("path")
    if key:
        paths = pc.utf8_slice_codeunits(paths, len(key) + 1)
    times = objects.column("last_modified").cast(pa.int64())
    folders = pa.repeat(pa.scalar(False), objects.num_rows)
    table = pa.table([paths, objects.column("size"), times, folders], schema=LISTING_SCHEMA)
    return table.filter(pc.not_equal(paths, ""))  # without the object that marks the folder itself


def without_markers(table: pa.Table) -> pa.Table:
    """A listing without objects that mark folders: empty ones whose name, with a slash, begins another's."""
    empty = table.filter(pc.equal(table.column("size"), 0)).column("path")
    if not len(empty):
        return table
    below = table.column("path").filter(pc.match_substring(table.column("path"), "/"))
    parents = pc.replace_substring_regex(below, "/[^/]*$", "")
    return table.filter(pc.invert(pc.and_(pc.equal(table.column("size"), 0), pc.is_in(table.column("path"), parents))))
