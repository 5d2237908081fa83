"""Incremental pulls one after the other, from a checkpoint on: each commit's rows once, whatever is killed underway.

Source: RFC-04 (``HiveIncrementalPuller``), docs/reading.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_hive.caching import cached_property
from hudi_hive.errors import CheckpointError, IncrementalRangeError, InvalidOptionError, SchemaError
from hudi_hive.plan import Query, QueryType
from hudi_hive.plan.core import BatchLimits, CommitOffset, Commits, Filter, is_on_timeline
from hudi_hive.plan.model import EARLIEST, IncrementalFormat, ReadOptions
from hudi_hive.progress import tracked
from hudi_hive.storage import Credentials, Storage
from hudi_hive.table_api.checkpoint import Checkpoint, CheckpointFile, PendingRange
from hudi_hive.table_api.scan import Scan
from hudi_hive.table_api.table import HudiTable

_LATEST: Final = "latest"


@dataclass(frozen=True, slots=True)
class PullReport:
    """What one pull did.

    Attributes:
        begin: exclusive begin of its range.
        end: inclusive end; the checkpoint stands there now.
        rows: number of rows; None when an earlier try had written the file already.
        file: the file that they were written to; None without an output folder, and for a range without rows.
    """

    begin: str
    end: str
    rows: int | None
    file: str | None


@dataclass(frozen=True)
class PullQuery:
    """What a puller asks of the table.

    Attributes:
        start: where a new checkpoint begins, exclusive: ``earliest``, ``latest`` or a time.
        max_commits: most commits of a range; None for all.
        row_filter: SQL text, DNF tuples or an Arrow expression.
        selected_fields: columns to return, in this order; None for all.
        options: Hudi's read options; change data by ``hoodie.datasource.query.incremental.format=cdc``.
    """

    start: str = "earliest"
    max_commits: int | None = None
    row_filter: Filter = None
    selected_fields: Sequence[str] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def read_options(self) -> ReadOptions:
        """The read options.

        Raises:
            InvalidOptionError: an option or argument that does not go with pulls.
        """
        if self.max_commits is not None and self.max_commits < 1:
            raise InvalidOptionError(f"max_commits must be at least 1, not {self.max_commits}")
        read = ReadOptions.parse(self.options)
        if read.query_type not in (None, QueryType.INCREMENTAL, QueryType.CDC):
            raise InvalidOptionError(
                f"a pull is an incremental query, not {read.query_type}", remedy="leave the query type out"
            )
        if read.begin is not None or read.end is not None or read.as_of is not None:
            raise InvalidOptionError("a pull takes its range from the checkpoint", remedy="leave the times out")
        return read

    def scan(self, table: HudiTable, begin: str, end: str) -> Scan:
        """The scan of a range."""
        read = self.read_options
        changes = read.query_type is QueryType.CDC or read.incremental_format is IncrementalFormat.CDC
        kind = QueryType.CDC if changes else QueryType.INCREMENTAL
        return table.scan(self.row_filter, self.selected_fields, kind.value, begin=begin, end=end, options=self.options)


class IncrementalPuller:
    """Pulls the rows of new commits, range by range, and keeps in a checkpoint file up to where it has come.

    With an output folder each range is one Parquet file, ``BEGIN_END.parquet``, which appears whole. A range is noted
    in the checkpoint before its file is written and passed behind it, so that a killed puller's successor writes the
    same range to the same file: no row is lost or doubled.

    Args:
        table: base path of the table.
        checkpoint: a local file: what an earlier puller left, the offset of a stream, or a bare time as
            ``ScanPlan.checkpoint``; it is made by the first pull.
        output: a folder, local or on a store, for the rows; None for :meth:`pull_into` alone.
        query: what is asked of the table.
        storage_options: of the table's store and of the folder's.

    Raises:
        InvalidOptionError: an argument that cannot be, or an option that does not go with pulls.
    """

    def __init__(
        self,
        table: str | os.PathLike[str],
        checkpoint: str | os.PathLike[str],
        output: str | os.PathLike[str] | None = None,
        query: PullQuery | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._query = query or PullQuery()
        self._policy = self._query.read_options.hollow_policy
        self._path = table
        self._storage_options = Credentials(storage_options or {})
        self._checkpoint = CheckpointFile(checkpoint)
        self._output = None if output is None else Storage(output, storage_options)

    # -- pulls -------------------------------------------------------------------------------------------------------

    def pull(self) -> PullReport | None:
        """Write the rows of the next range to the output folder; None when there is no new commit.

        Raises:
            CheckpointError: the checkpoint is damaged, in use, or of another table; or the range's file is there
                already though no earlier try of this checkpoint can have written it.
            IncrementalRangeError: files of the range were cleaned, or the checkpoint's commit is gone.
            HollowCommitError: table version 6: a pending commit is older than a completed one.
            HudiHiveError: the table cannot be read, or the folder cannot be written.
        """
        if self._output is None:
            raise InvalidOptionError("the puller has no output folder", remedy="give one, or use pull_into")
        with self._checkpoint.locked():
            return self._pull_file(self._output)

    def pull_all(self) -> Iterator[PullReport]:
        """Pull one range after the other until there is no new commit; errors as of :meth:`pull`."""
        with tracked(f"pulling {os.fspath(self._path)}", None, "ranges") as progress:
            while (report := self.pull()) is not None:
                progress.advance()
                yield report

    def pull_into(self, sink: Callable[[Scan], int]) -> PullReport | None:
        """Hand the scan of the next range to a function, and advance the checkpoint when it has returned.

        A puller that is killed in between hands the same commits out again, perhaps with later ones.

        Args:
            sink: reads the scan and returns the number of its rows.

        Raises:
            HudiHiveError: as :meth:`pull`; and whatever the function raises: the checkpoint stays then.
        """
        with self._checkpoint.locked():
            table = self._open()
            checkpoint = self._load(table)
            if checkpoint.pending is not None:
                raise CheckpointError(
                    "the checkpoint has a range that was begun with an output folder",
                    path=str(self._checkpoint.path),
                    remedy="end it with the folder first",
                )
            end = self._end(table, checkpoint)
            if end is None:
                return None
            rows = sink(self._query.scan(table, checkpoint.offset.time, end))
            self._checkpoint.advance(checkpoint, end)
            return PullReport(checkpoint.offset.time, end, rows, None)

    def _pull_file(self, output: Storage) -> PullReport | None:
        table = self._open()
        checkpoint = self._load(table)
        pending = checkpoint.pending
        begin = checkpoint.offset.time
        if pending is None:
            end = self._end(table, checkpoint)
            if end is None:
                return None
            pending = PendingRange(end, f"{begin}_{end}.parquet")
            if output.exists(pending.file):
                raise CheckpointError(
                    "the file of the next range is there, and not by this checkpoint",
                    path=output.uri(pending.file),
                    remedy="use an output folder for each checkpoint",
                )
            self._checkpoint.write(replace(checkpoint, pending=pending))
        rows: int | None = None
        written = output.exists(pending.file)
        if not written:
            rows = _write_file(self._query.scan(table, begin, pending.end), output, pending.file)
        self._checkpoint.advance(checkpoint, pending.end)
        return PullReport(begin, pending.end, rows, output.uri(pending.file) if written or rows else None)

    # -- ranges ------------------------------------------------------------------------------------------------------

    def _open(self) -> HudiTable:
        return HudiTable.open(self._path, self._storage_options)

    def _load(self, table: HudiTable) -> Checkpoint:
        """The checkpoint; without one that of the start, which is written.

        Raises:
            CheckpointError: it is of another table.
            IncrementalRangeError: its commit is not on the table's timeline any more.
        """
        checkpoint = self._checkpoint.read()
        if checkpoint is None:
            checkpoint = Checkpoint(self._first_offset(table), table.name)
            self._checkpoint.write(checkpoint)  # ``latest`` is another one next time
            return checkpoint
        if checkpoint.table is not None and checkpoint.table != table.name:
            raise CheckpointError(
                f"the checkpoint is of the table {checkpoint.table!r}, not of {table.name!r}",
                path=str(self._checkpoint.path),
                remedy="use a checkpoint for each table",
            )
        if not is_on_timeline(table.client, checkpoint.offset, self._policy):
            raise IncrementalRangeError(
                "the checkpoint's commit is not on the table's timeline any more: the table was restored or made anew",
                path=table.client.base_path,
                instant=checkpoint.offset.time,
                remedy="start with a new checkpoint",
            )
        return replace(checkpoint, table=table.name)

    def _first_offset(self, table: HudiTable) -> CommitOffset:
        start = self._query.start.strip()
        if start.lower() == _LATEST:
            newest = Commits(table.client, EARLIEST, self._policy).newest()
            return CommitOffset(EARLIEST, is_commit=False) if newest is None else CommitOffset(newest)
        begin = Query.of("incremental", begin=start, timezone=table.config.timezone).begin
        return CommitOffset(begin or EARLIEST, is_commit=False)

    def _end(self, table: HudiTable, checkpoint: Checkpoint) -> str | None:
        """End of the next range; None when there is no new commit."""
        limits = BatchLimits(self._query.max_commits)
        return Commits(table.client, checkpoint.offset.time, self._policy, limits).end()


def _write_file(scan: Scan, output: Storage, name: str) -> int:
    """Write a range's rows to a file that appears whole; a range without rows leaves none. Gives the number of rows."""
    hidden = f".{name}.tmp"  # hidden from engines that read the folder
    rows = 0
    try:
        with (
            scan.to_reader() as reader,
            output.open_output(hidden) as stream,
            pq.ParquetWriter(stream, reader.schema) as writer,
        ):
            for batch in reader:
                writer.write_batch(batch)
                rows += batch.num_rows
        if rows:
            output.flush([hidden])
            output.move(hidden, output, name)
            output.flush_folders([""])
    except pa.ArrowNotImplementedError as error:
        raise SchemaError(
            f"Parquet has no type for a column: {error}", path=output.uri(name), remedy="leave the column out"
        ) from error
    finally:
        output.delete(hidden)
    return rows
