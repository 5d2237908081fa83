"""Source files that Spark's own reader reads in place of skeletons, where a scan needs no meta column.

A skeleton has nothing but the meta columns, so that the rows of its source file are those of the slice. Which columns a
source file has, and that it is as it was when the table was bootstrapped, is read of its footer once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from hudi_hive.plan import ScanPlan
from hudi_hive.schema import META_FIELDS
from hudi_hive.storage import Storage
from hudi_hive.table.bootstrap import of_skeletons, open_table_file, source_file
from hudi_hive.table.view import list_concurrently

_MOST: Final = 4_096
"""Skeletons of a scan whose footers the driver reads; with more their rows come by Arrow."""


class SourceOfSlice(NamedTuple):
    """The source file of a skeleton: where Spark finds it, its bytes, its columns, and when it was changed last."""

    uri: str
    size: int
    schema: pa.Schema
    modified_ns: int

    @property
    def is_unchanged(self) -> bool:
        """Whether the file is the one that was read."""
        try:
            status = os.stat(_local(self.uri))
        except OSError:
            return False  # reading it again says what is wrong
        return (status.st_size, status.st_mtime_ns) == (self.size, self.modified_ns)


class SkeletonSources:
    """The source files of the skeletons of one table on the local disk; thread-safe."""

    def __init__(self) -> None:
        self._sources: dict[str, SourceOfSlice] = {}
        self._lock = threading.Lock()

    def readable(
        self, storage: Storage, plan: ScanPlan, columns: StructType | None, from_path: Collection[str]
    ) -> npt.NDArray[np.bool_]:
        """Which slices of a plan have no log files and a skeleton whose source file Spark's own reader can read.

        Args:
            storage: rooted at the table's base path.
            plan: of any query; slices with log files are none.
            columns: those that a scan reads; without it there are none.
            from_path: columns that the partition path tells.

        Raises:
            PathNotFoundError, CorruptFileError: a source file is gone, or has changed.
        """
        slices = plan.slices
        alone = pc.equal(pc.list_value_length(slices["log_files"]), 0).to_numpy(zero_copy_only=False)
        chosen = of_skeletons(slices).to_numpy(zero_copy_only=False) & alone
        path_columns = {name.lower() for name in from_path}
        names = [] if columns is None else [name for name in columns.names if name.lower() not in path_columns]
        if columns is None or not storage.is_local or chosen.sum() > _MOST or not set(names).isdisjoint(META_FIELDS):
            return np.zeros(slices.num_rows, np.bool_)
        paths = slices["path"].filter(pa.array(chosen)).to_pylist()
        fits = {path: _has(one.schema, plan.schema, names) for path, one in self.of(storage, paths).items()}
        mask: npt.NDArray[np.bool_] = np.array([fits.get(path, False) for path in slices["path"].to_pylist()], np.bool_)
        mask &= chosen
        return mask

    def of(self, storage: Storage, paths: Sequence[str]) -> dict[str, SourceOfSlice]:
        """The source files of skeletons, by the paths of these."""
        with self._lock:
            before = {path: self._sources[path] for path in paths if path in self._sources}
        new = [path for path in paths if path not in before or not before[path].is_unchanged]
        read = list_concurrently(storage, lambda path: _read(storage, path), new)
        with self._lock:
            self._sources |= dict(zip(new, read, strict=True))
            return {path: self._sources[path] for path in paths}


def _read(storage: Storage, path: str) -> SourceOfSlice:
    with open_table_file(storage, path) as file:
        schema = file.schema
    uri = source_file(storage, path)
    assert uri is not None
    status = os.stat(_local(uri))
    return SourceOfSlice(uri, status.st_size, schema, status.st_mtime_ns)


def _local(uri: str) -> str:
    return uri.removeprefix("file:")


def _has(source: pa.Schema, table: pa.Schema, names: Sequence[str]) -> bool:
    """Whether a file has columns under their names, with the types of the table."""
    of_file = {field.name.lower(): field for field in source}
    of_table = {field.name.lower(): field for field in table}
    if len(of_file) != len(source):
        return False  # names that differ in case alone
    return all(
        name.lower() in of_file
        and name.lower() in of_table
        and of_file[name.lower()].type.equals(of_table[name.lower()].type)
        for name in names
    )
