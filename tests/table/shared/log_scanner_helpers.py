"""Scans log files that tests wrote."""

from __future__ import annotations

from hudi_hive.storage import Storage
from hudi_hive.table.logs import BlockRange, LogRecords, scan_logs
from hudi_hive.table.logs.log_data import LogData
from tests.support.tables.log_files import (
    Committed,
    data_block,
    row,
    write_logs,
)

T1, T2, T3, T4, T5, T6 = (f"2025010{day}000000000" for day in range(1, 7))
ALL = Committed(T1, T2, T3, T4, T5, T6)


def scan(folder, *files: bytes, timeline=ALL, max_instant=None, instants=None, **more) -> LogRecords:
    names = write_logs(folder, *files)
    return scan_logs(Storage(str(folder)), "", names, blocks=BlockRange(timeline, max_instant, instants), **more)


def keys(records: LogRecords) -> list[str]:
    """Keys of all blocks in order, deleted ones with a minus."""
    found = []
    for block in records.blocks:
        if isinstance(block, LogData):
            found += block.batch.column("_hoodie_record_key").to_pylist()
        else:
            found += [f"-{key}" for key in block.table["record_key"].to_pylist()]
    return found


def rows(instant: str, *names: str, **headers: str) -> bytes:
    return data_block(instant, [row(name) for name in names], **headers)
