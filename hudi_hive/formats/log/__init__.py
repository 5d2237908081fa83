"""Log files of merge-on-read tables: blocks, delete records and the writer of both.

Source: docs/format.md#log-files.
"""

from __future__ import annotations

from hudi_hive.formats.log.block import (
    MAGIC,
    BlockType,
    HeaderKey,
    LogBlock,
    Positions,
    avro_bounds,
    avro_count,
    avro_spans,
    block_schema,
    decode_avro_record,
    encode_block,
    iter_blocks,
)
from hudi_hive.formats.log.deletes import DELETE_RECORD, decode_deletes, was_written_by_kryo
from hudi_hive.formats.log.record_positions import RecordPositions
from hudi_hive.formats.log.writer import cdc_block, command_block, data_block, delete_block, hfile_block, parquet_block

__all__ = [
    "DELETE_RECORD",
    "MAGIC",
    "BlockType",
    "HeaderKey",
    "LogBlock",
    "Positions",
    "RecordPositions",
    "avro_bounds",
    "avro_count",
    "avro_spans",
    "block_schema",
    "cdc_block",
    "command_block",
    "data_block",
    "decode_avro_record",
    "decode_deletes",
    "delete_block",
    "encode_block",
    "hfile_block",
    "iter_blocks",
    "parquet_block",
    "was_written_by_kryo",
]
