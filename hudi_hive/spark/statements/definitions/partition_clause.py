"""``PARTITION (…)`` clauses: from the values of columns to the partition's path.

Source: Hudi's ``HoodieSqlCommonUtils.normalizePartitionSpec`` and ``makePartitionPath``.
"""

from __future__ import annotations

from collections.abc import Mapping

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import JavaValue, scala_items
from hudi_hive.spark.statements.writes import WriteTarget
from hudi_hive.table.keys import partition_path, path_defect

Values = Mapping[str, str | None]
"""Values of a clause as texts, by column as it is written."""


def clause_values(clause: JavaValue) -> dict[str, str | None]:
    """The values of a parsed ``UnresolvedPartitionSpec``."""
    pairs = [(item.productElement(0), item.productElement(1)) for item in scala_items(clause.spec().toSeq())]
    return {str(name): None if value is None else str(value) for name, value in pairs}


def path_of_values(target: WriteTarget, values: Values) -> str:
    """The path of the partition with these values.

    Args:
        target: the table.
        values: of all partition columns, in any order.

    Raises:
        SparkError: the table has no partitions, a column is none of its partition columns, or one has no value.
    """
    config = target.client.config
    fields = config.partition_fields
    if not fields:
        raise SparkError(
            f"{target.name} is not partitioned: PARTITION names nothing", path=target.location, remedy="leave it out"
        )
    by_name = {name.lower(): value for name, value in values.items()}
    unknown = [name for name in values if name.lower() not in {field.lower() for field in fields}]
    missing = [field for field in fields if field.lower() not in by_name]
    if unknown or missing:
        what = f"{unknown[0]} is no partition column of" if unknown else f"PARTITION gives no {missing[0]} of"
        raise SparkError(
            f"{what} {target.name}", path=target.location, remedy=f"give values of {', '.join(fields)}, and of no other"
        )
    path = partition_path(
        [by_name[field.lower()] for field in fields],
        fields,
        hive_style=config.hive_style_partitioning,
        url_encoded=config.url_encode_partitioning,
    )
    defect = path_defect(path)
    if defect is not None:
        raise SparkError(f"PARTITION names no partition of {target.name}: {defect}", path=target.location)
    return path


__all__ = ["Values", "clause_values", "path_of_values"]
