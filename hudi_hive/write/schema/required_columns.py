"""Checks that rows have the columns of keys, partition paths and ordering, which must not become null.

A partition column that is left out would send rows to the default partition, one of several key columns would make
records of other keys, and rows without ordering value lose against all that have one.
"""

from __future__ import annotations

import pyarrow as pa

from hudi_hive.errors import UnknownColumnError
from hudi_hive.table import TableConfig
from hudi_hive.table.merge import MergeSpec
from hudi_hive.write.options import Operation, WriteConfig


def check_required_columns(incoming: pa.Schema, table: TableConfig, config: WriteConfig) -> None:
    """Refuse rows without the columns of record keys, partition paths and ordering values.

    Args:
        incoming: schema of the rows as they came.
        table: the table's properties.
        config: the write; rows that are looked at for other rows of their key need ordering columns.

    Raises:
        UnknownColumnError: a column is missing.
    """
    _check(incoming, table.record_keys, "record keys are made of")
    _check(incoming, table.partition_fields, "partition paths are made of")
    spec = MergeSpec.from_config(table)
    if spec.needs_ordering and (config.operation is Operation.UPSERT or config.combines):
        _check(incoming, spec.ordering_fields, "tells which row of a key is the newer one")


def _check(incoming: pa.Schema, names: tuple[str, ...], use: str) -> None:
    missing = [name for name in names if not _has(list(incoming), name)]
    if missing:
        raise UnknownColumnError(
            f"the rows have no column {', '.join(map(repr, missing))}, which {use}",
            remedy="add the column to the rows",
        )


def _has(fields: list[pa.Field], name: str) -> bool:
    """Whether a column is there, below structs too; case does not count, as in all columns of rows."""
    lower = name.lower()
    if any(field.name.lower() == lower for field in fields):
        return True
    head, _, rest = lower.partition(".")
    types = [field.type for field in fields if field.name.lower() == head]
    return bool(rest and types) and pa.types.is_struct(types[0]) and _has(list(types[0]), rest)
