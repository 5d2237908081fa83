"""Reads file slices with log files: base rows merged with log records, then filtered.

The row filter is applied to merged rows only: a base row that it would drop may be what a log record is merged with,
and one that it would keep may be replaced or deleted by one. Only what it says of record keys goes below the merge, to
base rows and log records alike: records of other keys have no part in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SchemaError, UnsupportedTableError
from hudi_hive.formats.base import select
from hudi_hive.plan.model import LogMerge, ScanPlan
from hudi_hive.predicate import ColumnRef, In, RowFilter
from hudi_hive.progress import tracked
from hudi_hive.read.columns import BY_NAME, ColumnMapping, Reconciler
from hudi_hive.read.merge import MergeParts, errors_at, fold, merge_in_parts, merge_slice
from hudi_hive.read.scan.files import COMMIT_TIME, BaseScan, files_at_once, output_schema, read_base_files
from hudi_hive.read.scan.ordered import counted, in_order
from hudi_hive.read.scan.sources import mapping_at, partition_columns, shown_schema, source_names
from hudi_hive.schema import EvolvedSchema
from hudi_hive.storage import Storage, spill_folder
from hudi_hive.table import FileSystemView
from hudi_hive.table.logs import (
    RECORD_KEY,
    BlockRange,
    LogBlocks,
    LogData,
    LogDeletes,
    LogRecords,
    PieceRules,
    open_logs,
)

PIECE_BYTES: Final = 8 << 20
"""Bytes of log records that are decoded at a time where not all of them are."""


@dataclass(frozen=True, slots=True)
class SliceReader:
    """Reads slices of a plan; holds what is the same for all of them.

    Attributes:
        storage: rooted at the table's base path.
        merge: how logs are read and merged.
        needed: columns of merged rows: the output's, those of the filter and those that merging reads.
        output: columns to give.
        row_filter: rows to give, or None for all.
        commit_times: commit times of the rows to give, or None for all.
        evolved: what older files call the columns.
        partition_fields: columns that the partition path tells when a file does not have them.
        from_path: the path's values replace those of the files.
        batch_size: greatest number of rows of a batch.
        part_threads: parts of a slice that are merged at a time, where it is merged in parts.
    """

    storage: Storage
    merge: LogMerge
    needed: pa.Schema
    output: pa.Schema
    row_filter: RowFilter | None
    commit_times: pa.Array | None
    evolved: EvolvedSchema | None
    partition_fields: tuple[str, ...]
    from_path: bool
    batch_size: int
    part_threads: int = 1

    @classmethod
    def of(
        cls, storage: Storage, plan: ScanPlan, columns: Sequence[str] | None, batch_size: int, *, schema: pa.Schema
    ) -> SliceReader:
        """Make the reader of a plan with log files, for the columns of ``schema``.

        Raises:
            UnknownColumnError: a column that the schema does not have.
        """
        assert plan.merge is not None
        output = output_schema(schema, columns)
        row_filter = plan.row_filter if plan.changes is None else None
        names = list(output.names)
        names += [] if row_filter is None else row_filter.columns
        names += [] if plan.commit_times is None else [COMMIT_TIME]
        names += [] if plan.merge.skip else plan.merge.spec.columns(schema)
        names += [] if plan.merge.keys is None else [RECORD_KEY]
        needed = pa.schema([schema.field(name) for name in dict.fromkeys(names)], metadata=output.metadata)
        return cls(
            storage=storage,
            merge=plan.merge,
            needed=needed,
            output=output,
            row_filter=row_filter,
            commit_times=plan.commit_times,
            evolved=plan.evolved_schema,
            partition_fields=plan.partition_fields,
            from_path=bool(plan.path_columns),
            batch_size=batch_size,
        )

    def rows(self, row: Mapping[str, Any], values: pa.Table | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a slice: merged, filtered, with the output columns.

        Args:
            row: the slice: a row of a plan's slices.
            values: typed partition values of the slice, one row.
        """
        for batch in self._located(row, values):
            if self.commit_times is not None:
                batch = batch.filter(pc.is_in(batch.column(COMMIT_TIME), value_set=self.commit_times))
            if self.row_filter is not None:
                batch = batch.filter(self.row_filter.evaluate(batch))
            if batch.num_rows:
                yield select(batch, self.output.names)

    def _located(self, row: Mapping[str, Any], values: pa.Table | None) -> Iterator[pa.RecordBatch]:
        """As :meth:`merged`; what cannot be merged names the slice."""
        name = row["base_file"] or next(iter(row["log_files"] or ()), "")
        with errors_at(self.storage.uri("/".join(part for part in (row["partition"], name) if part))):
            yield from self.merged(row, values)

    def merged(self, row: Mapping[str, Any], values: pa.Table | None) -> Iterator[pa.RecordBatch]:
        """Yield all merged rows of a slice with the needed columns."""
        if not row["log_files"]:
            yield from self.base(row, values)
            return
        parts = self.merge.memory.parts(row.get("log_sizes") or ())
        if parts > 1 and self.merge.keys is None:
            yield from self._merged_in_parts(row, values, parts)
            return
        logs = self.logs(row["partition"], row["log_files"], row.get("log_sizes"))
        if self.commit_times is not None and not self.merge.skip and self._updates_in_part(logs):
            # What the range wrote of a row is not the row: the rest of it was written before.
            yield from self._whole(row, values)
            return
        base = self.base(row, values)
        reconcile = self.reconciler(values)
        if self.merge.skip:
            yield from base
            for block in logs.data:
                yield reconcile(block)
            return
        path = self.storage.uri()
        rows = merge_slice(base, logs, self.merge.spec, self.needed, reconcile=reconcile, path=path)
        del logs  # the merge lets go of blocks as soon as it has their rows
        yield from rows

    def _merged_in_parts(self, row: Mapping[str, Any], values: pa.Table | None, parts: int) -> Iterator[pa.RecordBatch]:
        """Rows of a slice whose log files do not fit in memory; arguments as of :meth:`rows`."""
        folder = spill_folder(self.merge.memory.folder)
        blocks = self.open_blocks(row["partition"], row["log_files"], row.get("log_sizes"), mapped_in=folder)
        if self.commit_times is not None and not self.merge.skip and (self.merge.spec.makes_rows or blocks.are_partial):
            yield from self._whole(row, values)
            return
        base, reconcile = self.base(row, values), self.reconciler(values)
        pieces = (self.as_shown(piece) for piece in blocks.decoded_in_pieces(PieceRules(PIECE_BYTES)))
        if self.merge.skip:
            yield from base
            yield from (reconcile(piece) for piece in pieces if isinstance(piece, LogData))
            return
        rule = MergeParts(
            count=parts,
            folder=folder,
            on_spill=partial(self.storage.counters.add, "bytes_spilled"),
            in_order=partial(in_order, threads=self.part_threads),
            beside=self.part_threads > 1,
        )
        path = self.storage.uri()
        yield from merge_in_parts(base, pieces, self.merge.spec, self.needed, rule, reconcile=reconcile, path=path)

    def merged_log(self, row: Mapping[str, Any], values: pa.Table | None) -> MergedLog | None:
        """Merge the log files of a slice with one another, and not with its base file; arguments as of :meth:`rows`.

        Returns:
            What they come to; None where they hold neither records nor deletes.

        Raises:
            UnsupportedTableError: records that hold a part of the columns, or that others are filled from.
        """
        spec, partition = self.merge.spec, row["partition"]
        logs = self.logs(partition, row["log_files"], row.get("log_sizes"))
        if self._updates_in_part(logs):
            raise UnsupportedTableError(
                "log records that change a part of the columns are not merged without their base file",
                path=self.storage.uri(partition),
                remedy="compact the table instead",
            )
        folded = fold(logs, spec, self.needed, self.reconciler(values))
        if folded is None:
            return None
        entries = np.flatnonzero(folded.row < 0)
        keys = folded.keys.take(pa.array(entries))
        deletes = {"record_key": keys, "partition_path": pa.repeat(pa.scalar(partition, pa.string()), len(keys))}
        # One that deletes whatever came before has no ordering value, even if it was met by one that has.
        sure = pa.array(folded.always[entries] & (not spec.deletes_yield))
        for name, ordering in zip(spec.ordering_fields, folded.ordering, strict=False):
            of_entries = ordering.take(pa.array(entries))
            deletes[name] = pc.if_else(sure, pa.scalar(None, of_entries.type), of_entries)
        records = np.sort(folded.row[folded.row >= 0])
        return MergedLog(
            rows=folded.rows.take(pa.array(records)).select(self.output.names),
            deletes=pa.table(deletes),
            instants=tuple(dict.fromkeys(block.instant for block in reversed(logs.blocks))),
            records=sum(block.batch.num_rows for block in logs.data) + sum(b.table.num_rows for b in logs.deletes),
            blocks=len(logs.blocks),
        )

    def _updates_in_part(self, logs: LogRecords) -> bool:
        return self.merge.spec.makes_rows or any(block.is_partial for block in logs.data)

    def _whole(self, row: Mapping[str, Any], values: pa.Table | None) -> Iterator[pa.RecordBatch]:
        """Rows of all that a slice's file group holds up to the end of the range."""
        partition, group = row["partition"], row["file_id"]
        listing = self.storage.list(partition)
        files = pa.table(
            {
                "partition": pa.repeat(pa.scalar(partition, pa.string()), listing.num_rows),
                "name": pc.replace_substring_regex(listing.column("path"), r"(?s)^.*/", ""),
                "size": listing.column("size"),
            }
        )
        files = files.filter(pc.invert(listing.column("is_dir")))
        slices = FileSystemView(files, self.merge.timeline).latest_merged_file_slices(self.merge.max_instant)
        slices = slices.filter(pc.equal(slices.column("file_id"), group))
        before = replace(self, commit_times=None, merge=replace(self.merge, range_first=False))
        for whole in slices.to_pylist():
            yield from before.merged(whole, values)

    def logs(self, partition: str, log_files: Sequence[str], sizes: Sequence[int | None] | None = None) -> LogRecords:
        """Read the valid blocks of log files, with the needed columns under any name that they ever had.

        Args:
            partition: partition path.
            log_files: names of a slice's log files, in the order of reading.
            sizes: bytes of each, as planned.
        """
        memory = self.merge.memory
        mapped_in = spill_folder(memory.folder) if memory.parts(sizes or ()) > 1 else None
        return self.decoded(self.open_blocks(partition, log_files, sizes, mapped_in))

    def decoded(self, blocks: LogBlocks) -> LogRecords:
        """The records of blocks, as :meth:`logs` gives them."""
        logs = blocks.decoded(self.merge.keys)
        # Merging asks a block's schema which columns it has, by the names that the query shows.
        return logs if self.evolved is None else replace(logs, blocks=tuple(map(self.as_shown, logs.blocks)))

    def open_blocks(
        self,
        partition: str,
        log_files: Sequence[str],
        sizes: Sequence[int | None] | None,
        mapped_in: str | None = None,
    ) -> LogBlocks:
        """Choose the valid blocks of log files; as :meth:`logs`, with a folder for copies that are not in memory."""
        return open_logs(
            self.storage,
            partition,
            log_files,
            blocks=BlockRange(self.merge.timeline, self.merge.max_instant),
            columns=source_names(self.evolved, self.needed.names),
            sizes=sizes,
            mapped_in=mapped_in,
        )

    def as_shown(self, block: LogData | LogDeletes) -> LogData | LogDeletes:
        """A block whose schema has the names that the query shows."""
        if isinstance(block, LogDeletes) or self.evolved is None:
            return block
        mapping = mapping_at(self.evolved, block.instant, block.path)
        return block if mapping is None else replace(block, schema=shown_schema(block.schema, mapping))

    def base(self, row: Mapping[str, Any], values: pa.Table | None) -> Iterable[pa.RecordBatch]:
        """The rows of a slice's base file with the needed columns; arguments as of :meth:`rows`."""
        if row["base_file"] is None:
            return iter(())
        files = pa.table({"partition": [row["partition"]], "name": [row["base_file"]], "size": [row["base_size"]]})
        mapping = mapping_at(self.evolved, row["base_instant"])
        scan = BaseScan(
            target_schema=self.needed,
            row_filter=self._of_keys(),
            partition_columns=values,
            partition_values_from_path=self.from_path,
            partition_fields=self.partition_fields,
            commit_times=self.commit_times if self.merge.range_first else None,
            mapping_of=None if mapping is None else lambda _: mapping,
        )
        return read_base_files(self.storage, files, scan, batch_size=self.batch_size, threads=1)

    def _of_keys(self) -> RowFilter | None:
        """The filter for base rows of the wanted keys."""
        if self.merge.keys is None:
            return None
        column = ColumnRef((RECORD_KEY,), pa.string())
        return RowFilter(In(column, self.merge.keys), self.needed)

    def reconciler(self, values: pa.Table | None) -> Callable[[LogData], pa.RecordBatch]:
        """What gives the records of data blocks the needed columns; with typed partition values of the slice."""

        def reconcile(block: LogData) -> pa.RecordBatch:
            mapping: ColumnMapping = mapping_at(self.evolved, block.instant, block.path) or BY_NAME
            reconciler = Reconciler(block.batch.schema, self.needed, mapping, block.path)
            return reconciler.apply(block.batch, self._constants(reconciler, values, block))

        return reconcile

    def _constants(self, reconciler: Reconciler, values: pa.Table | None, block: LogData) -> dict[str, pa.Scalar]:
        """Partition columns that the block does not tell itself."""
        constants: dict[str, pa.Scalar] = {}
        for name, source in reconciler.sources.items():
            told = values is not None and name in values.column_names
            if told and (self.from_path or source is None):
                assert values is not None
                constants[name] = values.column(name)[0].cast(self.needed.field(name).type)
            elif source is None and name in self.partition_fields and not block.is_partial:
                raise SchemaError(
                    f"partition column {name!r} is not in the log block, and the path does not tell its value",
                    path=block.path,
                    instant=block.instant,
                )
        return constants


@dataclass(frozen=True, slots=True)
class MergedLog:
    """The records and deletes that the log files of a slice come to, a key each; a base file takes them as it does all.

    Attributes:
        rows: records, marked ones that delete included, in the order of the log.
        deletes: ``record_key``, ``partition_path`` and ordering values of entries of delete blocks, which the records
            of no other block follow.
        instants: of the blocks that were merged, newest first.
        records: how many records and deletes these blocks hold.
        blocks: how many blocks.
    """

    rows: pa.Table
    deletes: pa.Table
    instants: tuple[str, ...]
    records: int
    blocks: int


def _mean_bytes(slices: pa.Table) -> float | None:
    """Bytes of a slice on average, as far as they are known."""
    if not slices.num_rows:
        return None
    logs = pc.sum(pc.list_flatten(slices.column("log_sizes"))).as_py() if "log_sizes" in slices.column_names else 0
    return float((pc.sum(slices.column("base_size")).as_py() or 0) + (logs or 0)) / slices.num_rows


def read_slices(
    storage: Storage,
    plan: ScanPlan,
    slices: pa.Table,
    columns: Sequence[str] | None,
    *,
    batch_size: int,
    threads: int | None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of slices with log files, in their order; raises as :func:`~hudi_hive.read.scan.scan.read_plan`.

    Args:
        storage: rooted at the table's base path.
        plan: the plan that the slices are of.
        slices: rows of :attr:`ScanPlan.slices`.
        columns: columns to give; None for all.
        batch_size: greatest number of rows of a batch.
        threads: slices read at the same time; as many as suit the store and their sizes without it.
    """
    reader = SliceReader.of(storage, plan, columns, batch_size, schema=plan.schema)
    values = partition_columns(plan, slices)
    at_once = files_at_once(storage, _mean_bytes(slices), threads)
    if slices.num_rows == 1:
        reader = replace(reader, part_threads=at_once)

    with tracked("merging log files", slices.num_rows, "file slices") as progress:

        def producers() -> Iterator[Callable[[], Iterator[pa.RecordBatch]]]:
            for number, row in enumerate(slices.to_pylist()):
                own = None if values is None else values.slice(number, 1)
                yield counted(partial(reader.rows, row, own), progress)

        batches = in_order(producers(), at_once)
        try:
            yield from batches
        finally:
            batches.close()
