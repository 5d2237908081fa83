"""Blocks of rows of log files, and the column ranges of the rows in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_hive.formats.base import ColumnRanges
from hudi_hive.formats.log import HeaderKey, data_block, parquet_block
from hudi_hive.write.files.base_positions import BasePositions
from hudi_hive.write.files.context import WriteContext


def data_blocks(
    context: WriteContext,
    batch: pa.RecordBatch,
    *,
    changes: bool = False,
    headers: Mapping[HeaderKey, str] | None = None,
    positions: BasePositions | None = None,
) -> Iterator[bytes]:
    """Rows, or their changed columns, as data blocks of about equal size, none of them too large.

    Args:
        context: the write.
        batch: the rows, with all columns of the file.
        changes: write :attr:`WriteContext.changed_columns` alone.
        headers: further header entries.
        positions: of the rows, whose order is theirs; None where they are not known.
    """
    schema = context.avro_schema
    if changes:
        schema, headers = context.changed_avro_schema, {**(headers or {}), HeaderKey.IS_PARTIAL: "true"}
        batch = batch.select([entry["name"] for entry in schema["fields"]])
    count = max(1, -(-batch.nbytes // context.files.log_block_bytes))
    bounds = [batch.num_rows * number // count for number in range(count + 1)]
    for start, end in itertools.pairwise(bounds):
        part = batch.slice(start, end - start)
        own = headers if positions is None else {**(headers or {}), **positions.headers(start, end)}
        if context.files.log_format == "avro":
            yield data_block(context.instant, schema, part, extra_headers=own)
            continue
        image = pa.BufferOutputStream()
        codec = None if context.files.base.parquet.codec == "uncompressed" else context.files.base.parquet.codec
        rows = pa.Table.from_batches([part])
        pq.write_table(rows, image, compression=codec, store_schema=False, write_page_checksum=True)
        yield parquet_block(context.instant, schema, image.getvalue().to_pybytes(), extra_headers=own)


def log_ranges(batch: pa.RecordBatch) -> pa.Table:
    """The ranges of the columns of rows in a log file."""
    ranges = ColumnRanges(batch.schema)
    ranges.add(batch)
    return ranges.table()
