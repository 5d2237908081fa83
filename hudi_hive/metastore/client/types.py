"""The metastore's own objects, typed, which the client takes and returns.

They are the structs of the wire, so reading thousands of partitions makes no second copy. Fields have the metastore's
names (``tableName``, ``sd.cols``); all constructor arguments are keywords that may be left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from hudi_hive.metastore._thrift.ttypes import (
    Database,
    FieldSchema,
    Order,
    Partition,
    PrincipalPrivilegeSet,
    PrincipalType,
    PrivilegeGrantInfo,
    SerDeInfo,
    SkewedInfo,
    StorageDescriptor,
    Table,
)
from hudi_hive.metastore.client.partition_names import format_partition_name

__all__ = [
    "Database",
    "FieldSchema",
    "Order",
    "Partition",
    "PrincipalPrivilegeSet",
    "PrincipalType",
    "PrivilegeGrantInfo",
    "SerDeInfo",
    "SkewedInfo",
    "StorageDescriptor",
    "Table",
    "partition_name",
]


def partition_name(keys: Sequence[FieldSchema], values: Sequence[str]) -> str:
    """The metastore's name of a partition: ``k1=v1/k2=v2`` with Hive's escapes.

    Args:
        keys: the table's partition keys, in its order.
        values: one value a key, not escaped.

    Raises:
        ValueError: the counts differ.
    """
    return format_partition_name([key.name for key in keys], values)
