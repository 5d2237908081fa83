"""The log files of a file slice: which blocks are committed, and their records."""

from __future__ import annotations

from hudi_hive.table.logs.committed_logs import with_recorded_sizes
from hudi_hive.table.logs.log_data import RECORD_KEY, LogData, LogDeletes, PieceRules, decode_block, one_batch
from hudi_hive.table.logs.log_scanner import BlockRange, LogBlocks, LogRecords, open_logs, scan_logs

__all__ = [
    "RECORD_KEY",
    "BlockRange",
    "LogBlocks",
    "LogData",
    "LogDeletes",
    "LogRecords",
    "PieceRules",
    "decode_block",
    "one_batch",
    "open_logs",
    "scan_logs",
    "with_recorded_sizes",
]
