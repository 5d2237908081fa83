"""Finds base files whose timestamps are labelled wrongly, which Spark's own reader would misread.

It takes a file's word for what its numbers are. All files of a commit are written with one schema, so the footer of one
of them tells of all. Local timestamps are plain numbers in Spark, as hive-sync declares them, whatever files call them.
"""

from __future__ import annotations

import threading
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from hudi_hive.names import HOODIE_TABLE_INITIAL_VERSION
from hudi_hive.plan import ScanPlan
from hudi_hive.schema import any_leaf, holds_mislabelled, may_be_mislabelled
from hudi_hive.storage import Storage
from hudi_hive.table import TableConfig
from hudi_hive.table.bootstrap import open_table_file
from hudi_hive.table.view import list_concurrently

_RIGHT_FROM: Final = 9
"""Tables that were made in this version have no writers that label timestamps wrongly."""


def has_doubtful_times(config: TableConfig, schema: pa.Schema) -> bool:
    """Whether base files of a table may call its timestamps something else.

    Args:
        config: of the table.
        schema: the table's.
    """
    made_in = config.properties.get(HOODIE_TABLE_INITIAL_VERSION, "")
    if config.base_file_format != "parquet" or (made_in.isdigit() and int(made_in) >= _RIGHT_FROM):
        return False
    return any(_is_doubtful(field.type) for field in schema)


def orc_changes_times(schema: pa.Schema) -> bool:
    """Whether Spark's reader of ORC files would read columns of a table as others.

    It takes timestamps for those of the zone that the JVM is in, and times without a zone are plain numbers in the
    files.

    Args:
        schema: the table's.
    """
    return any(any_leaf(field.type, _is_time) for field in schema)


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_time(kind))


def _is_doubtful(kind: pa.DataType) -> bool:
    """Whether milliseconds in UTC are in a type: files may call them microseconds."""
    return any_leaf(kind, lambda leaf: may_be_mislabelled(leaf) and pa.types.is_timestamp(leaf) and leaf.tz is not None)


class FileLabels:
    """Schemas of base files by commit, each read once from one file; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._schemas: dict[str, pa.Schema] = {}

    def wrong(self, storage: Storage, plan: ScanPlan, columns: StructType | None = None) -> tuple[pa.Array, str | None]:
        """The slices of a plan whose base file labels a timestamp wrongly.

        Args:
            storage: rooted at the table's base path.
            plan: of any query.
            columns: those that a scan reads; all of the table without it.

        Returns:
            Whether each slice is one, and a column that is why; None when there is no such slice.

        Raises:
            FileVanishedError: a file is not there any more.
            CorruptFileError: a footer cannot be decoded.
        """
        slices = plan.slices
        names = None if columns is None else {name.lower() for name in columns.names}
        doubtful_fields = [
            field
            for field in plan.schema
            if _is_doubtful(field.type) and (names is None or field.name.lower() in names)
        ]
        if not doubtful_fields or not slices.num_rows:
            return pa.array(np.zeros(slices.num_rows, np.bool_)), None
        instants = slices.column("base_instant").combine_chunks().dictionary_encode()
        schemas = self.of(storage, slices)
        reasons = [_wrong_column(schemas.get(text), doubtful_fields) for text in instants.dictionary.to_pylist()]
        differs = np.array([reason is not None for reason in reasons], np.bool_)
        has_file = slices.column("base_file").is_valid().to_numpy()
        mask = differs[instants.indices.to_numpy(zero_copy_only=False)] & has_file
        return pa.array(mask), next((reason for reason in reasons if reason is not None), None) if mask.any() else None

    def of(self, storage: Storage, slices: pa.Table) -> dict[str, pa.Schema]:
        """The schemas of base files of slices, by requested time of their commit; errors as of :meth:`wrong`."""
        files = slices.filter(pc.is_valid(slices.column("base_file"))).select(["base_instant", "path"])
        firsts = files.group_by("base_instant").aggregate([("path", "min")])
        with self._lock:
            cached = dict(self._schemas)
        left = [row for row in firsts.to_pylist() if row["base_instant"] not in cached]
        read = list_concurrently(storage, lambda path: _schema(storage, path), [row["path_min"] for row in left])
        schemas = {row["base_instant"]: schema for row, schema in zip(left, read, strict=True)}
        with self._lock:
            self._schemas |= schemas
        instants = firsts.column("base_instant").to_pylist()
        return {instant: schemas[instant] if instant in schemas else cached[instant] for instant in instants}


def _schema(storage: Storage, path: str) -> pa.Schema:
    with open_table_file(storage, path) as file:
        return file.schema


def _wrong_column(file: pa.Schema | None, doubtful_fields: list[pa.Field]) -> str | None:
    if file is None:
        return None
    kinds = {field.name.lower(): field.type for field in file}
    for field in doubtful_fields:
        kind = kinds.get(field.name.lower())
        if kind is not None and holds_mislabelled(kind, field.type):
            return str(field.name)
    return None
