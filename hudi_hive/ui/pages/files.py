"""Partitions of a table with their files, and the file groups of a partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PathNotFoundError
from hudi_hive.table.view import log_bytes
from hudi_hive.table_api import HudiTable
from hudi_hive.ui.paging import Page, page_number

SMALL_FILE_BYTES: Final = 104_857_600
"""Base files below it take new records of upserts: Hudi's ``hoodie.parquet.small.file.limit``."""
_LOG_SHARE: Final = 0.3
"""Log bytes of a slice's base bytes from which on reading costs noticeably more."""
_LOG_FILES: Final = 10


def partitions_page(table: HudiTable, parameters: Mapping[str, str]) -> dict[str, Any]:
    """A page of the partitions; files are listed for those on it alone."""
    asked = parameters.get("find", "").strip()
    paths = [path for path in table.partitions() if asked in path] if asked else table.partitions()
    page = Page.of(paths, page_number(parameters))
    rows = _by_partition(table, page.items) if page.items else []
    return {"page": page, "rows": rows, "find": asked, "small_file_bytes": SMALL_FILE_BYTES}


def files_page(table: HudiTable, parameters: Mapping[str, str]) -> dict[str, Any]:
    """The newest slices of the file groups of one partition, a page of them, the largest first.

    Raises:
        PathNotFoundError: the table has no such partition.
    """
    partition = parameters.get("partition", "")
    if partition not in table.partitions():
        raise PathNotFoundError(
            f"no such partition: {partition!r}", path=table.path, remedy="see the list of partitions"
        )
    slices = table.client.file_system_view([partition]).latest_merged_file_slices()
    logs = log_bytes(slices)
    size = pc.fill_null(slices["base_size"], 0).to_numpy() + logs
    page = Page.of(np.argsort(-size, kind="stable").tolist(), page_number(parameters))
    columns = ["file_id", "base_instant", "base_file", "base_size", "log_files"]
    shown = pa.array(page.items, pa.int64())
    rows = slices.select(columns).append_column("log_bytes", pa.array(logs)).take(shown).to_pylist()
    for row in rows:
        row["notes"] = _slice_notes(row)
    return {"partition": partition, "page": page, "rows": rows}


def _by_partition(table: HudiTable, partitions: Sequence[str]) -> list[dict[str, Any]]:
    slices = table.client.file_system_view(list(partitions)).latest_merged_file_slices()
    has_base = pc.is_valid(slices["base_file"])
    sizes = pc.fill_null(slices["base_size"], 0)
    columns = {
        "partition": slices["partition"],
        "groups": pa.repeat(1, slices.num_rows),
        "base_bytes": sizes,
        "small": pc.and_(has_base, pc.less(sizes, SMALL_FILE_BYTES)).cast(pa.int64()),
        "log_files": pc.list_value_length(slices["log_files"]).cast(pa.int64()),
        "log_bytes": pa.array(log_bytes(slices)),
    }
    summed = pa.table(columns).group_by("partition").aggregate([(name, "sum") for name in list(columns)[1:]])
    by_path = {row.pop("partition"): row for row in summed.to_pylist()}
    rows = []
    for path in partitions:
        counts = {name: by_path.get(path, {}).get(f"{name}_sum", 0) for name in list(columns)[1:]}
        rows.append({"partition": path, **counts, "notes": _partition_notes(counts)})
    return rows


def _partition_notes(counts: Mapping[str, int]) -> list[str]:
    notes = []
    if not counts["groups"]:
        notes.append("no files")
    if counts["small"] > 1:
        notes.append(f"{counts['small']:,} small base files")
    if counts["log_bytes"] > _LOG_SHARE * counts["base_bytes"] and counts["log_files"]:
        notes.append("logs are large beside their base files: compact")
    return notes


def _slice_notes(row: Mapping[str, Any]) -> list[str]:
    notes = []
    if row["base_file"] is None:
        notes.append("log files alone")
    elif row["log_bytes"] > _LOG_SHARE * (row["base_size"] or 0):
        notes.append("logs are large beside the base file")
    if len(row["log_files"]) >= _LOG_FILES:
        notes.append(f"{len(row['log_files'])} log files")
    if row["base_file"] is not None and (row["base_size"] or 0) < SMALL_FILE_BYTES:
        notes.append("small")
    return notes
