"""Prunes partitions by the values in their paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PartitionValueError
from hudi_hive.predicate import ColumnRange, RowFilter
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import DEFAULT_PARTITION, partition_value_columns

_EXACT = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_date32,
)
"""Types whose value is told by its text in the path; others (timestamps, decimals …) have several spellings."""


def prunable_fields(client: MetaClient) -> tuple[str, ...]:
    """Partition fields whose value in the path is that of the column, not a value that a key generator formats."""
    config = client.config
    schema = client.partition_schema()
    pairs = zip(config.partition_fields, config.partition_field_types, strict=True)
    return tuple(
        name for name, kind in pairs if kind == "SIMPLE" and any(test(schema.field(name).type) for test in _EXACT)
    )


def prune_partitions(client: MetaClient, paths: Sequence[str], row_filter: RowFilter | None) -> list[str]:
    """The partitions among ``paths`` that may hold rows passing the filter, in their order.

    A path that does not tell its values is kept.
    """
    if row_filter is None or not client.config.is_partitioned or not paths:
        return list(paths)
    fields = [name for name in prunable_fields(client) if name in row_filter.columns]
    if not fields:
        return list(paths)
    values = partition_value_table(client, paths, fields)
    if values is None:
        return list(paths)
    keep = may_match(row_filter, values)
    return [path for path, kept in zip(paths, keep.tolist(), strict=True) if kept]


def may_match(
    row_filter: RowFilter, values: pa.Table, ranges: Mapping[tuple[str, ...], ColumnRange] | None = None
) -> npt.NDArray[np.bool_]:
    """For each of some partitions whether it may hold rows passing a filter, by values in paths.

    The default partition holds nulls, empty texts and texts of its own name: it is kept if any of them passes, in any
    combination of columns.

    Args:
        row_filter: the filter.
        values: typed values, null for the default partition; columns that it does not have may be anything.
        ranges: columns of which a range is known alone, as of :meth:`RowFilter.partitions_that_may_match`.
    """
    variants = [values]
    for index, name in enumerate(values.schema.names):
        column = values.column(name)
        if column.null_count and pa.types.is_string(column.type):
            texts = [pc.fill_null(column, text) for text in ("", DEFAULT_PARTITION)]
            variants += [other.set_column(index, name, text) for other in variants for text in texts]
    keep = np.zeros(values.num_rows, np.bool_)
    for variant in variants:
        keep |= row_filter.partitions_that_may_match(variant, ranges).to_numpy(zero_copy_only=False)
    return keep


def partition_value_table(client: MetaClient, paths: Sequence[str], fields: Sequence[str]) -> pa.Table | None:
    """Typed values of partition fields, a row per path; None when a path or a value in it does not fit."""
    config = client.config
    schema = client.partition_schema()
    try:
        texts = partition_value_columns(
            pa.array(paths, pa.string()),
            config.partition_fields,
            hive_style=config.hive_style_partitioning,
            url_encoded=config.url_encode_partitioning,
        )
        columns = [texts.column(name).cast(schema.field(name).type) for name in fields]
    except (PartitionValueError, pa.ArrowInvalid):
        return None
    return pa.table(columns, names=list(fields))
