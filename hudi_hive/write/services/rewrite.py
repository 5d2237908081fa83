"""Rewrites rows of file slices to new base files, for compaction and clustering, a task for each file group.

Rows keep their meta columns but for the file name: a rewritten row was not written anew.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.base import WrittenBase
from hudi_hive.options import read
from hudi_hive.plan import ScanPlan
from hudi_hive.plan.core import plan_of_slices
from hudi_hive.plan.model import Query, ReadOptions, with_paths
from hudi_hive.read.scan import read_plan
from hudi_hive.table import MetaClient
from hudi_hive.table.bootstrap import source_file
from hudi_hive.table.view import SLICE_SCHEMA, data_file_path
from hudi_hive.timeline.payloads import NewCommitMetadata
from hudi_hive.write.files import FILE_NAME, RECORD_KEY, Attempt, WriteContext, status
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import KeyedRecords, write_context_of
from hudi_hive.write.schema import SCHEMA_KEY, with_version
from hudi_hive.write.service_base import ServiceContext

_ATTEMPTS: Final = 1 << 30
BATCH_ROWS: Final = 65_536
"""Most rows of the batches by which a base file is written of rows that are in memory."""


def service_write_context(context: ServiceContext, instant: str) -> tuple[WriteContext, NewCommitMetadata]:
    """The job of a table service, and its commit, which tells the table's schema.

    Files are read by the schema of the time in their names: so in a table whose columns have ids the schema is that of
    the instant, though the service may run after others have changed it.

    Raises:
        SchemaError: the table has no schema.
    """
    client = context.client
    ready = KeyedRecords.of_table(client, _schema_time(client, instant))
    config = WriteConfig.of(context.options, client.config)
    write_context = write_context_of(client, config, instant, ready)
    metadata = NewCommitMetadata("", extra={SCHEMA_KEY: ready.schema_text})
    return write_context, with_version(
        metadata, ready.avro, () if write_context.evolved is None else (write_context.evolved.query,)
    )


def plan_of(context: ServiceContext, write_context: WriteContext, slices: pa.Table) -> ScanPlan:
    """How the rows of slices (``SLICE_SCHEMA``) are read: all of them, merged, with the job's columns."""
    client, options = context.client, context.options
    memory = read.SERVICE_MEMORY.of(options) or read.MERGE_MEMORY.of(options)
    in_memory = ReadOptions(merge_memory=memory, spill_folder=read.SPILL_FOLDER.of(options))
    query = Query(as_of=_schema_time(client, write_context.instant), options=in_memory)
    return plan_of_slices(client, query, with_paths(slices.select(SLICE_SCHEMA.names)))


def with_source_files(client: MetaClient, slices: pa.Table) -> pa.Table:
    """The slices of a plan with a column ``bootstrap_file``, by which Hudi reads skeletons when it carries it out.

    Raises:
        PathNotFoundError, UnsupportedTableError: nothing tells the source of a skeleton.
    """
    if not client.config.is_bootstrapped:
        return slices
    places = zip(slices["partition"].to_pylist(), slices["base_file"].to_pylist(), strict=True)
    files = [source_file(client.storage, data_file_path(folder, name)) if name else None for folder, name in places]
    return slices.append_column("bootstrap_file", pa.array(files, pa.string()))


def _schema_time(client: MetaClient, instant: str) -> str | None:
    return instant if client.evolved_schema() is not None else None


def slice_rows(write_context: WriteContext, plan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """Rows of a plan's slices as the job's files hold them."""
    for batch in read_plan(write_context.storage, plan, write_context.schema.names, threads=1):
        yield batch if batch.schema.equals(write_context.schema) else batch.cast(write_context.schema)


@dataclass(frozen=True)
class NewBase:
    """A base file to be written.

    Attributes:
        partition: its partition.
        file_id: its file group.
        attempt: who writes.
        merges: the group has a base file already.
    """

    partition: str
    file_id: str
    attempt: Attempt
    merges: bool = False

    @cached_property
    def token(self) -> str:
        """The write token, drawn where the task runs: one that is run again, or twice at a time, makes another file."""
        return replace(self.attempt, attempt=secrets.randbelow(_ATTEMPTS)).token

    def name(self, write_context: WriteContext) -> str:
        """The file's name."""
        return f"{self.file_id}_{self.token}_{write_context.instant}.{write_context.config.base_file_format}"


def write_base(write_context: WriteContext, base: NewBase, rows: Iterable[pa.RecordBatch]) -> WrittenBase:
    """Write rows to a base file, which is marked before it exists."""
    name = base.name(write_context)
    writer = write_context.begin_base_file(base.partition, name, merges=base.merges, rewrites=True, statistics=True)
    at = write_context.schema.get_field_index(FILE_NAME)
    for batch in rows:
        if at >= 0:
            names = pa.repeat(pa.scalar(name, pa.string()), batch.num_rows)
            batch = batch.set_column(at, write_context.schema.field(at), names)
        writer.write(batch)
    return writer.close()


def write_group(write_context: WriteContext, base: NewBase, rows: Iterable[pa.RecordBatch]) -> pa.Table:
    """Write rows to the base file of a new file group.

    Returns:
        Its status (``WRITE_STATUS_SCHEMA``).
    """
    keys: list[pa.Array] = [pa.array([], pa.string())]
    written = write_base(write_context, base, _with_keys(rows, keys) if write_context.tracks_keys else rows)
    return status(
        base.partition,
        base.file_id,
        base.name(write_context),
        num_writes=written.rows,
        num_inserts=written.rows,
        size=written.size,
        ranges=written.ranges if write_context.ranges else None,
        keys_added=pa.concat_arrays(keys) if write_context.tracks_keys else None,
    )


def _with_keys(rows: Iterable[pa.RecordBatch], keys: list[pa.Array]) -> Iterator[pa.RecordBatch]:
    """The rows, whose record keys go to a list on the way."""
    for batch in rows:
        keys.append(batch.column(RECORD_KEY))
        yield batch


def slices_of(client: MetaClient, operations: pa.Table) -> pa.Table:
    """Slices of a plan that names files, with the sizes of now.

    The plan has ``partition``, ``file_id``, ``base_instant``, ``base_file`` and ``log_files``; the result is of
    ``SLICE_SCHEMA``, in the plan's order.
    """
    partitions = pc.unique(operations["partition"]).to_pylist()
    files = client.directory_lister.files(partitions)
    places = zip(files["partition"].to_pylist(), files["name"].to_pylist(), strict=True)
    sizes = dict(zip(places, files["size"].to_pylist(), strict=True))
    base_sizes, log_sizes = [], []
    for row in operations.select(["partition", "base_file", "log_files"]).to_pylist():
        partition = row["partition"]
        base_sizes.append(None if row["base_file"] is None else sizes.get((partition, row["base_file"])))
        log_sizes.append([sizes.get((partition, name)) for name in row["log_files"]])
    table = operations.select(["partition", "file_id", "base_instant", "base_file"])
    table = table.append_column("base_size", pa.array(base_sizes, pa.int64()))
    table = table.append_column("log_files", operations["log_files"])
    return table.append_column("log_sizes", pa.array(log_sizes, pa.list_(pa.int64()))).cast(SLICE_SCHEMA)
