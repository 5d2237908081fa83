"""Procedures about the metadata table, and about the properties of a table.

Source: Hudi's ``ShowMetadataTablePartitionsProcedure``, ``ShowMetadataTableFilesProcedure``,
``ShowMetadataTableStatsProcedure``, ``ShowMetadataTableColumnStatsProcedure``, ``ShowColumnStatsOverlapProcedure``,
``ValidateMetadataTableFilesProcedure``, ``ShowTablePropertiesProcedure``, ``ShowBootstrapMappingProcedure``.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SparkError
from hudi_hive.metadata.reader import MetadataTable
from hudi_hive.spark.statements.procedures.base import (
    FILTER,
    PATH,
    TABLE,
    TABLE_OR_PATH,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    java_order,
    limited,
)
from hudi_hive.table.bootstrap import BootstrapIndex
from hudi_hive.table.view import FileKind, parse_file_names

_LIMIT: Final = Parameter("limit", "int", default=10)
_EPOCH: Final = datetime.datetime(1970, 1, 1)


def _show_partitions(call: ProcedureCall) -> Rows:
    return [[path] for path in MetadataTable.open(call.client).partitions()]


def _show_files(call: ProcedureCall) -> Rows:
    names = MetadataTable.open(call.client).files((call.text("partition") or "").strip("/")).column("name")
    return limited(call, ([name] for name in sorted(names.to_pylist())))


def _show_stats(call: ProcedureCall) -> Rows:
    """None: Hudi shows what its metrics counted in the very reader that it has just made."""
    _ = MetadataTable.open(call.client)
    return []


# -- column statistics -------------------------------------------------------------------------------------------------


def _newest_files(call: ProcedureCall, partition: str) -> pa.Table:
    """Newest base files of one partition, or of all where it is empty and the table has none."""
    client = call.client
    return client.file_system_view([partition] if partition else None).latest_base_files()


def _columns(call: ProcedureCall) -> list[str]:
    return [name.strip() for name in (call.text("targetColumns") or "").split(",") if name.strip()]


def _ranges(call: ProcedureCall, names: list[str], columns: list[str]) -> dict[str, pa.Table]:
    table = MetadataTable.open(call.client)
    return table.column_ranges(columns, names) if names and columns else {}


def _show_column_stats(call: ProcedureCall) -> Rows:
    names = _newest_files(call, (call.text("partition") or "").strip("/")).column("name").to_pylist()
    rows = []
    for column, ranges in _ranges(call, names, _columns(call)).items():
        for one in ranges.to_pylist():
            bounds = [_bound_text(one[side]) for side in ("min", "max")]
            rows.append([one["file_name"], column, *bounds, one["null_count"]])
    return rows


def _bound_text(value: Any) -> str | None:  # noqa: ANN401
    """A bound as the metadata table holds it, in Java's text: days and microseconds as numbers."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        naive = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
        return str((naive - _EPOCH) // datetime.timedelta(microseconds=1))
    if isinstance(value, datetime.date):
        return str((value - _EPOCH.date()).days)
    if isinstance(value, float | Decimal):
        return _number_text(value)
    return None if value is None else str(value)


def _number_text(value: float | Decimal) -> str:
    """A number as Java's ``toString`` has it."""
    if isinstance(value, Decimal) or value != value or value in (float("inf"), float("-inf")):
        return str(value).replace("nan", "NaN").replace("inf", "Infinity")
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return format(Decimal(repr(value)), "f") if "." in repr(value) else f"{value}.0"
    digits, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _show_overlap(call: ProcedureCall) -> Rows:
    wanted = (call.text("partition") or "").strip("/")
    partitions = [wanted] if wanted or not call.client.config.partition_fields else []
    rows: list[list[Any]] = []
    for partition in partitions:
        names = _newest_files(call, partition).column("name").to_pylist()
        columns = _columns(call) or [
            field.name for field in call.client.schema() if not field.name.startswith("_hoodie")
        ]
        for column, ranges in sorted(_ranges(call, names, columns).items()):
            bounds = [(one["min"], one["max"]) for one in ranges.to_pylist() if one["min"] is not None]
            if bounds:
                rows.append([partition, column, *_overlap(bounds)])
    return rows


def _overlap(bounds: list[tuple[Any, Any]]) -> list[Any]:
    """Of the bounds' values, how many files have each in their range: mean, largest, files, quantiles, values."""
    lows, highs = sorted(low for low, _ in bounds), sorted(high for _, high in bounds)
    values = sorted({*lows, *highs})
    position = {value: at for at, value in enumerate(values)}
    begun = np.cumsum(np.bincount([position[low] for low in lows], minlength=len(values)))
    ended = np.cumsum(np.bincount([position[high] for high in highs], minlength=len(values)))
    counts = begun - np.concatenate([[0], ended[:-1]])
    ordered = np.sort(counts)

    def quantile(part: int) -> int:
        return int(ordered[min(int(len(ordered) * part / 100), len(ordered) - 1)])

    quantiles = [quantile(part) for part in (50, 75, 95, 99)]
    return [float(counts.mean()), int(counts.max()), len(bounds), *quantiles, len(values)]


# -- the metadata table against the folders ----------------------------------------------------------------------------


def _validate(call: ProcedureCall) -> Rows:
    """Files that only one of both has, or that differ in size; with ``verbose`` all files."""
    return list(_compared(call, every=call.flag("verbose")))


def _compared(call: ProcedureCall, *, every: bool) -> Iterator[list[Any]]:
    client = call.client
    metadata = MetadataTable.open(client)
    partitions = dict.fromkeys([*client.directory_lister.partitions(), *metadata.partitions()])
    listed = client.directory_lister.files(list(partitions))
    kinds = parse_file_names(listed.column("name")).column("kind")
    listed = listed.filter(pc.not_equal(kinds, FileKind.OTHER.value))
    recorded = metadata.files_table()
    keys = ["partition", "name"]
    sides = [
        table.select([*keys, "size"]).rename_columns([*keys, name])
        for table, name in ((listed, "listed"), (recorded, "recorded"))
    ]
    joined = sides[0].join(sides[1], keys, join_type="full outer")
    joined = joined.sort_by([(key, "ascending") for key in keys])
    for one in joined.to_pylist():
        sizes = [one["listed"], one["recorded"]]
        if every or sizes[0] != sizes[1]:
            there = [size is not None for size in sizes]
            yield [one["partition"], one["name"], *there, *(size or 0 for size in sizes)]


# -- properties --------------------------------------------------------------------------------------------------------


def _show_table_properties(call: ProcedureCall) -> Rows:
    properties = call.client.config.properties
    return limited(call, ([name, properties[name]] for name in java_order(list(properties), copied=True)))


def _bootstrap_index(call: ProcedureCall) -> BootstrapIndex:
    client = call.client
    if not client.config.is_bootstrapped or not BootstrapIndex.is_present(client.storage):
        raise SparkError(
            f"CALL {call.procedure.name}: the table has no bootstrap index",
            path=call.location,
            remedy="this procedure is for tables that were bootstrapped by METADATA_ONLY",
        )
    return BootstrapIndex(client.storage)


def _show_bootstrap_partitions(call: ProcedureCall) -> Rows:
    return [[partition] for partition in _bootstrap_index(call).partitions()]


def _show_bootstrap_mapping(call: ProcedureCall) -> Rows:
    """The source files of skeletons, sorted by a column."""
    partition, ids = call.text("partition_path") or "", call.text("file_ids") or ""
    if ids and not partition:
        raise SparkError(f"CALL {call.procedure.name}: file_ids go with a partition_path", remedy="give partition_path")
    index, chosen = _bootstrap_index(call), {one.strip() for one in ids.split(",") if one.strip()}
    rows = [
        [one.partition, one.file_id, index.base_path, one.source_partition, one.uri]
        for one in index.sources()
        if (not partition or one.partition == partition) and (not chosen or one.file_id in chosen)
    ]
    names = ["partition", "file_id", "source_base_path", "source_partition", "source_file"]
    if call.text("sort_by") not in names:
        raise SparkError(f"CALL {call.procedure.name}: no column {call.text('sort_by')}", remedy=", ".join(names))
    rows.sort(key=lambda row: row[names.index(str(call.text("sort_by")))], reverse=call.flag("desc"))
    return limited(call, rows)


_INTEGERS: Final = (
    "Maximum file overlap",
    "Total file number",
    "50% overlap",
    "75% overlap",
    "95% overlap",
    "99% overlap",
    "Total value number",
)

METADATA_PROCEDURES: Final = (
    Procedure(
        "show_metadata_table_partitions",
        "`partition` string",
        _show_partitions,
        (TABLE, PATH, FILTER),
        "The partitions that the metadata table knows.",
    ),
    Procedure(
        "show_metadata_table_files",
        "file_path string",
        _show_files,
        (TABLE, Parameter("partition", default=""), Parameter("limit", "int", default=100), PATH, FILTER),
        "The files of a partition that the metadata table knows.",
    ),
    Procedure(
        "show_metadata_table_stats",
        "stat_key string, stat_value string",
        _show_stats,
        (TABLE, PATH, FILTER),
        "Metrics of Hudi's metadata reader: none, as in Hudi's own answer.",
    ),
    Procedure(
        "show_metadata_table_column_stats",
        "file_name string, column_name string, min_value string, max_value string, null_number bigint",
        _show_column_stats,
        (TABLE, Parameter("partition"), Parameter("targetColumns"), PATH, FILTER),
        "Column statistics of the newest base files, of the columns that targetColumns names.",
    ),
    Procedure(
        "show_metadata_column_stats_overlap",
        "`Partition path` string, `Field name` string, `Average overlap` double, "
        + ", ".join(f"`{name}` int" for name in _INTEGERS),
        _show_overlap,
        (TABLE, Parameter("partition"), Parameter("targetColumns"), PATH, FILTER),
        "How many files of a partition have the same values in their ranges, by column.",
    ),
    Procedure(
        "validate_metadata_table_files",
        "`partition` string, file_name string, is_present_in_fs boolean, is_present_in_metadata boolean, "
        "fs_size bigint, metadata_size bigint",
        _validate,
        (TABLE, Parameter("verbose", "boolean", default=False), PATH, FILTER),
        "Files that the metadata table and the folders disagree about; with verbose all files.",
    ),
    Procedure(
        "show_table_properties",
        "key string, value string",
        _show_table_properties,
        (*TABLE_OR_PATH, _LIMIT, FILTER),
        "The properties of a table, of hoodie.properties.",
    ),
    Procedure(
        "show_bootstrap_partitions",
        "indexed_partitions string",
        _show_bootstrap_partitions,
        (TABLE, PATH, FILTER),
        "The partitions whose files the bootstrap index names.",
    ),
    Procedure(
        "show_bootstrap_mapping",
        "`partition` string, file_id string, source_base_path string, source_partition string, source_file string",
        _show_bootstrap_mapping,
        (
            TABLE,
            Parameter("partition_path", default=""),
            Parameter("file_ids", default=""),
            _LIMIT,
            Parameter("sort_by", default="partition"),
            Parameter("desc", "boolean", default=False),
            PATH,
            FILTER,
        ),
        "The source file of each skeleton of a bootstrapped table.",
    ),
)
