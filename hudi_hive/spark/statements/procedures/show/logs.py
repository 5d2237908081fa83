"""Procedures about log files: their blocks and their records.

Source: Hudi's ``ShowHoodieLogFileMetadataProcedure``, ``ShowHoodieLogFileRecordsProcedure``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import SparkError
from hudi_hive.formats.log import BlockType, LogBlock, iter_blocks
from hudi_hive.names import RECORD_KEY_COLUMN
from hudi_hive.spark.statements.procedures.base import (
    FILTER,
    PATH,
    TABLE,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    limited,
)
from hudi_hive.table.core import glob_regex
from hudi_hive.table.logs import LogData, LogDeletes, decode_block
from hudi_hive.table.view import FileKind, parse_file_names

_LIMIT: Final = Parameter("limit", "int", default=10)
_PATTERN: Final = Parameter("log_file_path_pattern", required=True)
_TYPES: Final = {
    BlockType.COMMAND: "COMMAND_BLOCK",
    BlockType.DELETE: "DELETE_BLOCK",
    BlockType.CORRUPT: "CORRUPT_BLOCK",
    BlockType.AVRO_DATA: "AVRO_DATA_BLOCK",
    BlockType.HFILE_DATA: "HFILE_DATA_BLOCK",
    BlockType.PARQUET_DATA: "PARQUET_DATA_BLOCK",
    BlockType.CDC_DATA: "CDC_DATA_BLOCK",
}
_DATA: Final = frozenset({BlockType.AVRO_DATA, BlockType.HFILE_DATA, BlockType.PARQUET_DATA, BlockType.CDC_DATA})


def _log_files(call: ProcedureCall) -> list[str]:
    """Log files of the table whose paths fit the pattern, relative to the base path.

    Raises:
        SparkError: no log file of the table fits.
    """
    client = call.client
    pattern = _plain(str(call.text("log_file_path_pattern")))
    base = _plain(call.location.rstrip("/"))
    regex = glob_regex(pattern)
    files = client.list_files(client.partition_paths())
    kinds = parse_file_names(files.column("name")).column("kind").to_pylist()
    paths = []
    for partition, name, kind in zip(
        *(files.column(one).to_pylist() for one in ("partition", "name")), kinds, strict=True
    ):
        relative = f"{partition}/{name}" if partition else name
        if kind in (FileKind.LOG.value, FileKind.CDC.value) and regex.fullmatch(f"{base}/{relative}"):
            paths.append(relative)
    if not paths:
        raise SparkError(
            f"CALL {call.procedure.name}: no log file of the table fits {pattern!r}",
            path=call.location,
            remedy="give whole paths, as show_fsview_all lists them, with the wildcards *, ?, […] and {…}",
        )
    return sorted(paths)


def _plain(path: str) -> str:
    """A path without scheme and host."""
    return re.sub(r"^\w+:(//[^/]*)?", "", path)


def _blocks(call: ProcedureCall) -> Iterator[LogBlock]:
    storage = call.client.storage
    for path in _log_files(call):
        yield from iter_blocks(storage.read_bytes(path), storage.uri(path))


def _decoded(block: LogBlock) -> LogData | LogDeletes:
    return decode_block(block, block.instant or "", None)


def _show_metadata(call: ProcedureCall) -> Rows:
    return limited(call, _block_rows(call))


def _block_rows(call: ProcedureCall) -> Iterator[list[Any]]:
    corrupt = 0
    for block in _blocks(call):
        instant = block.instant
        if instant is None:
            corrupt += 1
            instant = f"corrupt_block_{corrupt}"
        records = 0
        if block.type in _DATA:
            decoded = _decoded(block)
            records = decoded.batch.num_rows if isinstance(decoded, LogData) else 0
        headers = {key.name: text for key, text in sorted(block.headers.items())}
        yield [instant, records, _TYPES[block.type], json.dumps(headers, separators=(",", ":")), "{}"]


def _show_records(call: ProcedureCall) -> Rows:
    rows = _merged(call) if call.flag("merge") else _records(call)
    return limited(call, ([json.dumps(row, ensure_ascii=False, default=str)] for row in rows))


def _records(call: ProcedureCall) -> Iterator[dict[str, Any]]:
    for block in _blocks(call):
        if block.type in _DATA:
            decoded = _decoded(block)
            if isinstance(decoded, LogData):
                yield from _rows(decoded.batch)


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = batch.to_pylist()
    return rows


def _merged(call: ProcedureCall) -> list[dict[str, Any]]:
    """The newest record of each key: by the ordering fields, then by the order of blocks; without deleted ones."""
    ordering = call.client.config.ordering_fields
    newest: dict[str, dict[str, Any]] = {}
    blocks = sorted((block for block in _blocks(call)), key=lambda block: block.instant or "")
    for block in blocks:
        if block.type not in _DATA and block.type is not BlockType.DELETE:
            continue
        decoded = _decoded(block)
        if isinstance(decoded, LogDeletes):
            for key in decoded.table.column("record_key").to_pylist():
                newest.pop(key, None)
            continue
        for row in _rows(decoded.batch):
            key = str(row.get(RECORD_KEY_COLUMN))
            before = newest.get(key)
            if before is None or _order(row, ordering) >= _order(before, ordering):
                newest[key] = row
    return list(newest.values())


def _order(row: dict[str, Any], ordering: tuple[str, ...]) -> list[tuple[bool, Any]]:
    return [(row.get(name) is not None, row.get(name)) for name in ordering]


LOG_PROCEDURES: Final = (
    Procedure(
        "show_logfile_metadata",
        "instant_time string, record_count int, block_type string, header_metadata string, footer_metadata string",
        _show_metadata,
        (TABLE, _PATTERN, _LIMIT, PATH, FILTER),
        "The blocks of log files, with their headers and the number of their records.",
    ),
    Procedure(
        "show_logfile_records",
        "records string",
        _show_records,
        (TABLE, _PATTERN, Parameter("merge", "boolean", default=False), _LIMIT, PATH, FILTER),
        "The records of log files as JSON; with merge the newest of each key.",
    ),
)
