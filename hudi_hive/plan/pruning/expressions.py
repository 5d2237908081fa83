"""Pruning by expression indexes: statistics and bloom filters of a function of a column, file by file.

The record of a file stays true, for files never change; a file without one may hold anything. Functions of the time of
day are taken to be those of UTC.

Source: RFC-63, docs/format.md#expression-indexes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import BLOOM_FILTERS, COLUMN_STATS, IndexDefinition, indexed_function
from hudi_hive.plan.pruning.keys import by_filters
from hudi_hive.plan.pruning.statistics import Mask, ranges_of_slices
from hudi_hive.predicate import ColumnRange, ColumnRef, RowFilter, own_columns, walk_outlines
from hudi_hive.table import MetaClient

MOST_VALUES: Final = 1000
"""With more values than this, looking each of them up in a filter costs more than it saves."""


class ExpressionLookup(NamedTuple):
    """A function in a filter of which a table has an index.

    Attributes:
        name: the index, a partition of the metadata table.
        column: the column that the function is of.
        result: the function's place in the filter.
        values: texts that the function must come to, for bloom filters; empty for statistics.
    """

    name: str
    column: str
    result: ColumnRef
    values: tuple[str, ...]


def expression_lookups(
    client: MetaClient, definitions: Sequence[IndexDefinition], row_filter: RowFilter, columns: Sequence[str]
) -> list[ExpressionLookup]:
    """The expression indexes of functions that a filter calls.

    Args:
        client: the table.
        definitions: of its indexes.
        row_filter: the filter.
        columns: those that all files call as the table does, with the table's type.
    """
    called = {
        (ref.derived.function, ".".join(ref.derived.source)): ref
        for node in walk_outlines(row_filter.root)
        for ref in own_columns(node)
        if ref.derived is not None and ref.derived.source[0] in columns
    }
    if not called:
        return []
    complete, lookups = set(client.config.metadata_partitions), []
    for one in definitions:
        function = indexed_function(one)
        if function is None or one.name not in complete or len(one.columns) != 1:
            continue
        result = called.get((function, one.columns[0]))
        if result is None:
            continue
        if one.kind == COLUMN_STATS:
            lookups.append(ExpressionLookup(one.name, one.columns[0], result, ()))
        elif one.kind == BLOOM_FILTERS:
            values = row_filter.required_values_at(result.path)
            if values is not None and pa.types.is_string(values.type) and 0 < len(values) <= MOST_VALUES:
                lookups.append(ExpressionLookup(one.name, one.columns[0], result, tuple(values.to_pylist())))
    return lookups


def by_expression_stats(
    metadata: MetadataTable, slices: pa.Table, row_filter: RowFilter, lookup: ExpressionLookup
) -> Mask:
    """Whether base and log files of each slice can hold a row that passes, by statistics of a function."""
    partitions = pc.unique(slices.column("partition")).to_pylist()
    table = metadata.expression_ranges(lookup.name, lookup.column, lookup.result.type, partitions)
    # Other than in statistics of columns, the count of values is one without nulls.
    rows = pc.add(table.column("value_count"), table.column("null_count"))
    table = table.set_column(table.schema.get_field_index("value_count"), "value_count", rows)
    ranges: Mapping[tuple[str, ...], ColumnRange] = {lookup.result.path: ranges_of_slices(table, slices)}
    return np.asarray(row_filter.groups_that_may_match(ranges, slices.num_rows))


def by_expression_filters(metadata: MetadataTable, slices: pa.Table, lookup: ExpressionLookup) -> Mask:
    """Whether each slice may hold a row for which a function comes to one of some values, by bloom filters."""
    return by_filters(metadata, slices, lookup.values, lookup.name)
