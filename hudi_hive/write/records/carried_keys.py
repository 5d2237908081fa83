"""Rows that carry the meta columns of their records: what names a record in a table without record key fields.

Such rows come from reading the table. An upsert or a delete of them goes to those very records; of a row without meta
columns an upsert makes a new record. What the columns name must be there and must fit the row, else it is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import KeyGenerationError, UnknownColumnError, WriteError
from hudi_hive.names import FILE_NAME_COLUMN, HOODIE_DATASOURCE_WRITE_OPERATION, PARTITION_PATH_COLUMN
from hudi_hive.table import MetaClient
from hudi_hive.table.logs import RECORD_KEY
from hudi_hive.write.options import Operation, WriteConfig

PARTITION_PATH: Final = PARTITION_PATH_COLUMN
FILE_NAME: Final = FILE_NAME_COLUMN
GROUPS_SCHEMA: Final = pa.schema([("partition", pa.string()), ("file_name", pa.string())])
"""Files that rows name as those of their records."""

_OPERATION: Final = HOODIE_DATASOURCE_WRITE_OPERATION
_AGAIN: Final = "read the rows again and change them, or insert them without the meta columns"


def config_for(config: WriteConfig, columns: Collection[str]) -> WriteConfig:
    """The configuration of a write of rows with such columns: as in Hudi they decide for tables without record key.

    Without an operation in the options, rows with ``_hoodie_record_key`` are upserted. An upsert of rows without it
    inserts them.

    Args:
        config: the write's configuration.
        columns: names of the rows' columns.
    """
    if config.table.record_keys:
        return config
    carry = RECORD_KEY in columns
    if carry and config.operation is Operation.BULK_INSERT and _OPERATION not in config.options:
        return config.with_operation(Operation.UPSERT)
    if not carry and config.operation is Operation.UPSERT:
        return config.with_operation(Operation.INSERT)
    return config


def names_records(config: WriteConfig, columns: Collection[str]) -> bool:
    """Whether a write goes to the records that the meta columns of its rows name."""
    named = config.operation in (Operation.UPSERT, Operation.DELETE)
    return not config.table.record_keys and named and RECORD_KEY in columns


def carried_keys(rows: pa.Table, paths: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Record key and partition path of each row; made of the meta columns where the row has them.

    Args:
        rows: with the meta columns.
        paths: partition paths that the rows' own values come to.

    Returns:
        Keys, null for rows without meta columns; partition paths.

    Raises:
        UnknownColumnError: one of the meta columns is missing.
        KeyGenerationError: a row has some of them only, or the values of another partition than its record.
    """
    columns = [_texts(rows, name) for name in (RECORD_KEY, PARTITION_PATH, FILE_NAME)]
    keys, carried, _ = columns
    without = [pc.is_null(column) for column in columns]
    some = pc.or_(pc.xor(without[0], without[1]), pc.xor(without[0], without[2]))
    _refuse(some, f"has some of {RECORD_KEY}, {PARTITION_PATH} and {FILE_NAME}, and others are null", _AGAIN)
    _refuse(pc.equal(keys, ""), f"has an empty {RECORD_KEY}", _AGAIN)
    _refuse(
        pc.not_equal(carried, paths),
        f"has partition values that are not those of its {PARTITION_PATH}",
        "delete the record by its meta columns, then insert the row without them",
    )
    return keys, pc.coalesce(carried, paths)


def carried_files(rows: pa.Table) -> pa.Table:
    """The files that rows name, each once: :data:`GROUPS_SCHEMA`; none where a column is missing."""
    if FILE_NAME not in rows.column_names or PARTITION_PATH not in rows.column_names:
        return GROUPS_SCHEMA.empty_table()
    found = pa.table([_texts(rows, PARTITION_PATH), _texts(rows, FILE_NAME)], schema=GROUPS_SCHEMA).drop_null()
    return found.group_by(GROUPS_SCHEMA.names, use_threads=False).aggregate([]).cast(GROUPS_SCHEMA)


def refuse_gone_groups(client: MetaClient, files: pa.Table | None) -> None:
    """Refuse rows of file groups that the table does not have any more, or never had.

    Args:
        client: the table.
        files: :data:`GROUPS_SCHEMA`; None for none.

    Raises:
        WriteError: there is one.
    """
    if files is None or not files.num_rows:
        return
    there = set(client.partition_paths())
    partitions = [path for path in pc.unique(files.column("partition")).to_pylist() if path in there]
    slices = client.file_system_view(partitions).latest_file_slices()
    existing = set(zip(slices["partition"].to_pylist(), slices["file_id"].to_pylist(), strict=True))
    # Log records carry the file id in the place of a name; names of log files begin with a dot.
    ids = pc.replace_substring_regex(files.column("file_name"), r"^\.?([^_]*)(_.*)?$", r"\1")
    for partition, file_id, name in zip(
        files["partition"].to_pylist(), ids.to_pylist(), files["file_name"].to_pylist(), strict=True
    ):
        if (partition, file_id) not in existing:
            raise WriteError(
                f"rows carry {FILE_NAME}={name}, of a file group that partition {partition!r} does not have: it was "
                "clustered, replaced or deleted since they were read, or they are rows of another table",
                path=client.base_path,
                remedy=_AGAIN,
            )


def _texts(rows: pa.Table, name: str) -> pa.Array:
    if name not in rows.column_names:
        raise UnknownColumnError(
            f"the rows carry {RECORD_KEY} but not {name}, which names their records with it",
            remedy=f"keep {PARTITION_PATH} and {FILE_NAME}, or leave all meta columns out to insert",
        )
    column = rows.column(name).cast(pa.string())
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _refuse(bad: pa.Array, what: str, remedy: str) -> None:
    bad = pc.fill_null(bad, False)
    if pc.any(bad, min_count=0).as_py():
        raise KeyGenerationError(f"row {pc.index(bad, True).as_py()} {what}", remedy=remedy)
