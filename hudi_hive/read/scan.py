"""A plan to rows: the planned files with their partition values and renamed columns, read in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from hudi_hive.errors import PartitionValueError, SchemaError
from hudi_hive.formats.base_file import BATCH_ROWS
from hudi_hive.plan import ScanPlan
from hudi_hive.read.reconcile import ColumnMapping
from hudi_hive.read.scan_files import DEFAULT_THREADS, MappingOf, read_base_files
from hudi_hive.schema.internal import FieldSource
from hudi_hive.storage import Storage
from hudi_hive.table.partition_path import partition_value_columns


def read_plan(
    storage: Storage,
    plan: ScanPlan,
    columns: Sequence[str] | None = None,
    *,
    files: pa.Table | None = None,
    batch_size: int = BATCH_ROWS,
    threads: int = DEFAULT_THREADS,
) -> Iterator[pa.RecordBatch]:
    """The rows that a plan asks for, its filter, commit times and limit applied.

    Args:
        storage: rooted at the table's base path.
        plan: the plan.
        columns: columns to return, in this order; None for all, an empty list for batches that only count rows.
        files: only these of :attr:`ScanPlan.files` (a split's share); all of them without it.
        batch_size: greatest number of rows of a batch.
        threads: files read at the same time.

    Raises:
        FileVanishedError: a planned file was cleaned since; plan again.
        CorruptFileError: a file cannot be decoded.
        SchemaError: a column of a file, or of a partition path, cannot become the table's type.
        UnknownColumnError: ``columns`` names one that the table does not have.
    """
    chosen = plan.files if files is None else files
    yield from read_base_files(
        storage,
        chosen,
        plan.schema,
        columns,
        plan.row_filter,
        partition_columns=partition_columns(plan, chosen),
        partition_values_from_path=bool(plan.path_columns),
        partition_fields=plan.partition_fields,
        commit_times=plan.commit_times,
        limit=plan.query.limit,
        batch_size=batch_size,
        threads=threads,
        mapping_of=_mapping_of(plan, chosen),
    )


def partition_columns(plan: ScanPlan, files: pa.Table) -> pa.Table | None:
    """Typed partition values of each file: those that must come from the path, or else all that the path can tell.

    Raises:
        SchemaError: a value that must come from the path is none of the column's type.
    """
    fields = [name for name in plan.partition_fields if name in plan.schema.names]
    if not fields or not files.num_rows:
        return None
    try:
        texts = partition_value_columns(
            files.column("partition"),
            plan.partition_fields,
            hive_style=plan.hive_style,
            url_encoded=plan.url_encoded,
        )
    except PartitionValueError:
        if plan.path_columns:
            raise
        return None  # the files hold the columns
    columns: dict[str, pa.ChunkedArray] = {}
    for name in plan.path_columns or fields:
        kind = plan.schema.field(name).type
        try:
            columns[name] = texts.column(name).cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            if plan.path_columns:
                raise SchemaError(
                    f"the partition path's value of column {name!r} is no {kind}: {error}", path=plan.base_path
                ) from error
    return pa.table(columns) if columns else None


def _mapping_of(plan: ScanPlan, files: pa.Table) -> MappingOf | None:
    """What older files call the plan's columns, by path."""
    evolved = plan.evolved_schema
    if evolved is None:
        return None
    instants = files.column("instant").to_pylist()
    mappings: dict[str, ColumnMapping | None] = {}
    for instant in set(instants):
        sources = evolved.sources(instant)
        mappings[instant] = None if sources is None else _mapping(sources)
    by_path = dict(zip(files.column("path").to_pylist(), instants, strict=True))
    return lambda path: mappings[by_path[path]]


def _mapping(sources: Mapping[str, FieldSource]) -> ColumnMapping:
    return ColumnMapping(
        sources={name: source.name for name, source in sources.items()},
        nested={name: _mapping(source.children) for name, source in sources.items() if source.children},
    )
