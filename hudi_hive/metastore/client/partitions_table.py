"""Metastore partitions as an Arrow table, for planning and for comparing with what a table's timeline says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from hudi_hive.errors import MetastoreError
from hudi_hive.metastore.client.partition_names import format_partition_name
from hudi_hive.metastore.client.types import Partition

KEY_PREFIX = "key_"


def partitions_schema(keys: Sequence[str]) -> pa.Schema:
    """Schema of ``to_arrow`` for a table with these partition keys."""
    text = pa.string()
    return pa.schema(
        [
            pa.field("values", pa.list_(text), nullable=False),
            pa.field("name", text, nullable=False),
            pa.field("location", text),
            pa.field("input_format", text),
            pa.field("serde", text),
            pa.field("create_time", pa.int64()),
            pa.field("parameters", pa.map_(text, text)),
            *(pa.field(KEY_PREFIX + key, text) for key in keys),
        ]
    )


def to_arrow(keys: Sequence[str], batches: Iterable[Sequence[Partition]]) -> pa.Table:
    """One row per partition, in the order in which they come.

    Raises:
        MetastoreError: a partition with another number of values than there are keys.
    """
    schema = partitions_schema(keys)
    made = [pa.RecordBatch.from_pydict(_columns(keys, batch), schema=schema) for batch in batches if batch]
    return pa.Table.from_batches(made, schema=schema)


def _columns(keys: Sequence[str], batch: Sequence[Partition]) -> dict[str, list[object]]:
    for partition in batch:
        if len(partition.values) != len(keys):
            raise MetastoreError(
                f"partition {partition.values} of {partition.dbName}.{partition.tableName} has {len(partition.values)}"
                f" values for {len(keys)} partition keys",
                remedy="drop it from the metastore and sync again",
            )
    descriptors = [partition.sd for partition in batch]
    columns: dict[str, list[object]] = {
        "values": [partition.values for partition in batch],
        "name": [format_partition_name(keys, partition.values) for partition in batch],
        "location": [sd.location if sd else None for sd in descriptors],
        "input_format": [sd.inputFormat if sd else None for sd in descriptors],
        "serde": [sd.serdeInfo.serializationLib if sd and sd.serdeInfo else None for sd in descriptors],
        "create_time": [partition.createTime for partition in batch],
        "parameters": [list((partition.parameters or {}).items()) for partition in batch],
    }
    for index, key in enumerate(keys):
        columns[KEY_PREFIX + key] = [partition.values[index] for partition in batch]
    return columns
