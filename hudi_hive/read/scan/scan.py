"""Reads scan plans: planned files with partition values and renamed columns, in order.

Slices of a base file alone come first, then those with log files, each in the order of the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.base import BATCH_ROWS
from hudi_hive.plan import ScanPlan
from hudi_hive.plan.model import PlanStep
from hudi_hive.read.scan.cdc import read_changes
from hudi_hive.read.scan.files import BaseScan, MappingOf, limited, read_base_files, row_groups
from hudi_hive.read.scan.slices import read_slices
from hudi_hive.read.scan.sources import mapping_at, partition_columns
from hudi_hive.storage import Storage


def read_plan(
    storage: Storage,
    plan: ScanPlan,
    columns: Sequence[str] | None = None,
    *,
    files: pa.Table | None = None,
    batch_size: int = BATCH_ROWS,
    threads: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a plan, with its filter, commit times and limit applied.

    Args:
        storage: rooted at the table's base path.
        plan: the plan.
        columns: columns to return, in this order; None for all, an empty list for batches that only count rows.
        files: only these of :attr:`ScanPlan.files` (a split's share); all of them without it.
        batch_size: greatest number of rows of a batch.
        threads: files read at the same time; as many as suit the store and their sizes without it.

    Raises:
        FileVanishedError: a planned file was cleaned since; plan again.
        CorruptFileError: a file cannot be decoded.
        SchemaError: a column of a file, or of a partition path, cannot become the table's type.
        UnknownColumnError: ``columns`` names one that the table does not have.
    """
    limit = plan.query.limit
    if plan.changes is not None:
        names = None if columns is None else list(columns)
        changes = read_changes(storage, plan, names, batch_size=batch_size, threads=threads)
        yield from limited(changes, limit)
        return
    merged = None
    if files is None and plan.merge is not None:
        with_logs = pc.greater(pc.list_value_length(plan.slices.column("log_files")), 0)
        merged = plan.slices.filter(with_logs)
        plan = replace(plan, slices=plan.slices.filter(pc.invert(with_logs)))
    chosen = plan.files if files is None else files
    scan = replace(_base_scan(plan, chosen), columns=columns, limit=limit)
    rows = read_base_files(storage, chosen, scan, batch_size=batch_size, threads=threads)
    if merged is not None:
        rows = chain(rows, read_slices(storage, plan, merged, columns, batch_size=batch_size, threads=threads))
    yield from limited(rows, limit)


def footer_steps(storage: Storage, plan: ScanPlan) -> list[PlanStep]:
    """Count the base files, and row groups in them, that a plan's filter rules out by footers.

    Base files that log files go with count whole; their row groups are left out by record keys alone, if at all.

    Raises:
        FileVanishedError, CorruptFileError, SchemaError: see :func:`read_plan`.
    """
    if plan.changes is not None or (plan.row_filter is None and plan.skip_filter is None and plan.commit_times is None):
        return []
    alone = pc.equal(pc.list_value_length(plan.slices.column("log_files")), 0)
    files = replace(plan, slices=plan.slices.filter(alone)).files
    groups_of_files = row_groups(storage, files, _base_scan(plan, files))
    total, groups_left = sum(count for count, _ in groups_of_files), sum(left for _, left in groups_of_files)
    with_rows = sum(left > 0 for _, left in groups_of_files)
    return [
        PlanStep("base files without logs that their footers leave", "files", len(groups_of_files), with_rows),
        PlanStep("row groups of them that the footers leave", "row groups", total, groups_left),
    ]


def _base_scan(plan: ScanPlan, files: pa.Table) -> BaseScan:
    """All columns and rows of base files that pass a plan's filter and commit times."""
    return BaseScan(
        target_schema=plan.schema,
        row_filter=plan.row_filter,
        skip_filter=plan.skip_filter,
        partition_columns=partition_columns(plan, files),
        partition_values_from_path=bool(plan.path_columns),
        partition_fields=plan.partition_fields,
        commit_times=plan.commit_times,
        mapping_of=_mapping_of(plan, files),
    )


def _mapping_of(plan: ScanPlan, files: pa.Table) -> MappingOf | None:
    """What older files call the plan's columns, by path."""
    evolved = plan.evolved_schema
    if evolved is None:
        return None
    instants = files.column("instant").to_pylist()
    mappings = {instant: mapping_at(evolved, instant) for instant in set(instants)}
    by_path = dict(zip(files.column("path").to_pylist(), instants, strict=True))
    return lambda path: mappings[by_path[path]]
