"""ACID tables on disk for tests: what transactions of Hive 3 leave, written by our own writers without a metastore."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from hudi_hive.formats.orc import DeleteDeltaWriter, DeltaWriter
from hudi_hive.metastore.transactions import ValidWriteIds
from hudi_hive.mutation.acid_table import AcidColumn, AcidTable

Key = tuple[int, int, int]


def table_at(folder, columns="id:int name:string", keys="", buckets=2, bucket_columns=("id",)) -> AcidTable:
    """A table whose rows lie in a folder."""
    parts = [[AcidColumn(*one.split(":", 1)) for one in text.split()] for text in (columns, keys)]
    return AcidTable(
        "db", "t", str(folder), tuple(parts[0]), tuple(parts[1]), bucket_columns if buckets else (), buckets, 2
    )


def key(write_id: int, bucket: int, row_id: int, statement: int = 0) -> Key:
    """The identifier of a row."""
    return write_id, 1 << 29 | bucket << 16 | statement, row_id


def insert(table: AcidTable, write_id: int, bucket: int, rows: pa.Table, *, partition="", statement=0, folder=None):
    """One delta file; returns its path."""
    name = folder or f"delta_{write_id:07d}_{write_id:07d}_{statement:04d}"
    path = os.path.join(table.location, partition, name, f"bucket_{bucket:05d}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    columns = [(column.name, column.type) for column in table.columns if column.name in rows.column_names]
    with (
        open(path, "xb") as sink,
        DeltaWriter(sink, columns=columns, write_id=write_id, bucket=bucket, statement=statement) as writer,
    ):
        writer.write(rows)
    return path


def delete(table: AcidTable, write_id: int, keys: Sequence[Key], *, partition="", statement=0, folder=None):
    """Delete delta files, a bucket each."""
    name = folder or f"delete_delta_{write_id:07d}_{write_id:07d}_{statement:04d}"
    columns = [(column.name, column.type) for column in table.columns]
    for bucket in sorted({one[1] >> 16 & 0xFFF for one in keys}):
        path = os.path.join(table.location, partition, name, f"bucket_{bucket:05d}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        chosen = sorted(one for one in keys if one[1] >> 16 & 0xFFF == bucket)
        with (
            open(path, "xb") as sink,
            DeleteDeltaWriter(sink, columns=columns, write_id=write_id, bucket=bucket) as writer,
        ):
            writer.write(*(np.array(part) for part in zip(*chosen, strict=True)))


def names(*pairs: tuple[int, str]) -> pa.Table:
    """Rows of the columns id and name."""
    ids, texts = zip(*pairs, strict=True)
    return pa.table([pa.array(ids, pa.int32()), pa.array(texts, pa.string())], names=["id", "name"])


def snapshot(high: int, opened: Sequence[int] = (), aborted: Sequence[int] = ()) -> ValidWriteIds:
    """Valid write ids of the table."""
    return ValidWriteIds(high, tuple(opened), tuple(aborted), min(opened, default=2**63 - 1), table="db.t")
