"""Gives rows whose records stay in another partition the values of that partition.

A global index whose rows do not move records writes a row where its record is, whatever partition it names. Filters go
by partition paths, and Hudi 1.x shows the path's values of such rows: a file that said otherwise would hold rows that
no filter on a partition column finds.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PartitionValueError
from hudi_hive.plan.model import prunable_fields
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import partition_value_columns
from hudi_hive.table.merge import MergeSpec
from hudi_hive.write.files import PARTITION_PATH


def with_partitions(client: MetaClient, spec: MergeSpec, rows: pa.Table, paths: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Rows with the partition paths that they are written to, and with the values that these tell.

    Columns whose values key generators format (times, decimals …) are not asked by their paths, and stay, as do those
    that merging reads: whether a row counts is told by its own ordering values and marks.

    Args:
        client: the table.
        spec: how its records merge.
        rows: their own partition path, and the table's columns.
        paths: of the partition that each row is written to.
    """
    at = rows.schema.get_field_index(PARTITION_PATH)
    elsewhere = pc.not_equal(rows.column(at), paths).fill_null(False)
    if pc.any(elsewhere, min_count=0).as_py() and client.config.is_partitioned:
        rows = _with_values(client, spec, rows, paths, elsewhere)
    return rows.set_column(at, rows.schema.field(at), paths)


def _with_values(
    client: MetaClient,
    spec: MergeSpec,
    rows: pa.Table,
    paths: pa.Array | pa.ChunkedArray,
    elsewhere: pa.ChunkedArray,
) -> pa.Table:
    config = client.config
    try:
        texts = partition_value_columns(
            paths,
            config.partition_fields,
            hive_style=config.hive_style_partitioning,
            url_encoded=config.url_encode_partitioning,
        )
    except PartitionValueError:
        return rows  # such paths tell filters nothing
    merging = spec.columns(rows.schema)
    fields = (client.avro_schema() or {"fields": []})["fields"]
    required = [field["name"] for field in fields if "null" not in field["type"]]
    for name in prunable_fields(client):
        if name in merging:
            continue
        at = rows.schema.get_field_index(name)
        if at < 0:
            continue  # a field of a struct, or a column that is in no file
        kind = rows.schema.field(at)
        try:
            values = texts.column(name).cast(kind.type)
        except pa.ArrowInvalid:
            continue
        if name in required:  # the path of the default partition tells no value
            values = pc.coalesce(values, rows.column(at))
        rows = rows.set_column(at, kind, pc.if_else(elsewhere, values, rows.column(at)))
    return rows
