"""Writes the log file of a log compaction: one block of records and one of deletes for all that came before."""

from __future__ import annotations

import pyarrow as pa

from hudi_hive.formats.log import HeaderKey, delete_block
from hudi_hive.read.scan import MergedLog
from hudi_hive.table.logs import one_batch
from hudi_hive.write.files.context import Attempt, WriteContext
from hudi_hive.write.files.handles import TargetSlice, log_file_name
from hudi_hive.write.files.log_blocks import data_blocks, log_ranges
from hudi_hive.write.files.statuses import status


def write_compacted_log(
    context: WriteContext, attempt: Attempt, target: TargetSlice, log: MergedLog, *, log_bytes: int
) -> pa.Table:
    """Write the log file that stands for log files of a slice; the rows keep their meta columns.

    Source: docs/format.md#log-compaction.

    Args:
        context: the log compaction.
        attempt: who writes.
        target: the slice, with the log files that were merged.
        log: what they come to.
        log_bytes: their size.

    Returns:
        The file's status (``WRITE_STATUS_SCHEMA``).
    """
    headers = {HeaderKey.COMPACTED_BLOCK_TIMES: ",".join(log.instants)}
    batch = one_batch(log.rows) if log.rows.num_rows else None
    blocks = [] if batch is None else [*data_blocks(context, batch, headers=headers)]
    if log.deletes.num_rows:
        blocks.append(delete_block(context.instant, log.deletes, extra_headers=headers))
    name, version = log_file_name(context, target, attempt)
    path = context.begin_file(target.partition, name)
    data = b"".join(blocks)
    context.storage.write_bytes(path, data)
    return status(
        target.partition,
        target.file_id,
        name,
        prev_commit=target.base_instant,
        num_writes=log.rows.num_rows,
        num_updates=log.rows.num_rows,
        num_deletes=log.deletes.num_rows,
        size=len(data),
        ranges=log_ranges(batch) if batch is not None and context.ranges else None,
        log_version=version,
        log_files=[*reversed(target.log_files), name],
        base_file=target.base_file,
        log_records=log.records,
        log_blocks=log.blocks,
        log_files_compacted=len(target.log_files),
        log_bytes_compacted=log_bytes,
        records_compacted=log.rows.num_rows,
    )
