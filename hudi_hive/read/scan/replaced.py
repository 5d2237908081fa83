"""Says which rows of a slice's base file its log files leave out, and gives the records that stand for them.

Whoever reads base files itself, such as the reader of an engine, needs no more. Only the columns that merging reads are
merged: record keys, ordering values and marks of deletes; two numbers more say which row of the base file or of the log
files each one is. Log files that are too large for the memory are merged in parts so, and read a second time, a piece
at a time, for the records that count.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.base import BATCH_ROWS
from hudi_hive.formats.log import Positions
from hudi_hive.plan.model import ScanPlan
from hudi_hive.read.merge import MergeParts, in_share, merge_in_parts, merge_slice
from hudi_hive.read.scan.ordered import in_order
from hudi_hive.read.scan.record_positions import RowsOfRecords, rows_if_replaced, rows_of_records
from hudi_hive.read.scan.slices import PIECE_BYTES, SliceReader
from hudi_hive.read.scan.sources import source_names
from hudi_hive.storage import Storage, spill_folder
from hudi_hive.table.logs import LogBlocks, LogData, LogRecords, PieceRules

_BASE_ROW: Final = "hudi-hive base row"
_LOG_ROW: Final = "hudi-hive log row"

Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ReplacedRows:
    """What the log files of a slice do to its base file.

    Attributes:
        left_out: rows of the base file that do not count any more, by their number in it, ascending.
        base_rows: rows of the base file.
        rows: the rows of the log files that stand for them, and new ones, with the columns asked for.
        instants: of all blocks of records and deletes in the log files; which of them count is told by the timeline.
    """

    left_out: npt.NDArray[np.int64]
    base_rows: int
    rows: pa.Table
    instants: frozenset[str] = frozenset()

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return int(self.left_out.nbytes + self.rows.nbytes)


@dataclass(frozen=True, slots=True)
class ReplacedShare:
    """What the log files of a slice do to a share of the rows of its base file, by their record keys.

    Attributes:
        rows: how many rows the share has: those of the base file that count, and the records beside them.
        left_out: of each row of the base file whether it does not count any more, or is of another share: a row counts
            that one of the shares does not leave out. None where rows were counted only.
        records: how many rows of the log files stand for them, new ones included.
        batches: gives these rows once, with the columns asked for.
        instants: as of :class:`ReplacedRows`.
    """

    rows: int
    left_out: Flags | None
    records: int
    batches: Iterator[pa.RecordBatch]
    instants: frozenset[str]


def replaced_rows(
    storage: Storage,
    plan: ScanPlan,
    row: Mapping[str, Any],
    values: pa.Table | None,
    columns: Sequence[str] | None = None,
) -> ReplacedRows | None:
    """Merge the keys and ordering values of a slice with log files, and say which rows are whose.

    Args:
        storage: rooted at the table's base path.
        plan: the plan that the slice is of, without a filter.
        row: the slice: a row of the plan's slices.
        values: typed partition values of the slice, one row.
        columns: of the rows; None for all.

    Returns:
        None where a row of the result may be made of both, or the merge does not see all rows: partial updates,
        registered mergers, unmerged reads, ranges of commits; and where the log files are too large for the memory.

    Raises:
        HudiHiveError: as reading the slice.
    """
    if not _is_separable(plan) or _parts(plan, row) > 1:
        return None
    reader = SliceReader.of(storage, plan, columns, BATCH_ROWS, schema=plan.schema)
    blocks = reader.open_blocks(row["partition"], row["log_files"], row.get("log_sizes"))
    return None if blocks.are_partial else _at_once(reader, reader.decoded(blocks), row, values)


def replaced_share(
    storage: Storage,
    plan: ScanPlan,
    row: Mapping[str, Any],
    values: pa.Table | None,
    columns: Sequence[str] | None = None,
    share: tuple[int, int] = (0, 1),
) -> ReplacedShare | None:
    """As :func:`replaced_rows`, in bounded memory for log files of any size; its rows come in the order of the log.

    Args:
        storage, plan, row, values, columns: as of :func:`replaced_rows`.
        share: the number of a share of the record keys, and how many there are. Log files that fit in memory are in
            the first one as a whole, and the others are empty.

    Returns:
        None as :func:`replaced_rows`, but for large log files.

    Raises:
        StorageError: the local disk is full, or the folder cannot be written.
        HudiHiveError: as reading the slice.
    """
    parts = _parts(plan, row)
    if parts > 1 and _is_separable(plan):
        reader = SliceReader.of(storage, plan, columns, BATCH_ROWS, schema=plan.schema)
        return _in_parts(reader, row, values, max(2, -(-parts // share[1])), share)
    replaced = replaced_rows(storage, plan, row, values, columns)
    if replaced is None:
        return None
    left_out = np.full(replaced.base_rows, share[0] > 0)
    left_out[replaced.left_out] = True
    rows = replaced.rows if share[0] == 0 else replaced.rows.slice(0, 0)
    return _share(left_out, rows.num_rows, iter(rows.to_batches()), replaced.instants)


def counted_share(
    storage: Storage, plan: ScanPlan, row: Mapping[str, Any], values: pa.Table | None
) -> ReplacedShare | None:
    """As :func:`replaced_share` of a whole slice, for whoever counts its rows only; without its records.

    Where log blocks tell by positions which base rows all of their records stand for, nothing else is read.
    """
    if not _is_separable(plan) or _parts(plan, row) > 1:
        return replaced_share(storage, plan, row, values, _narrowest(plan))
    reader = SliceReader.of(storage, plan, _narrowest(plan), BATCH_ROWS, schema=plan.schema)
    blocks = reader.open_blocks(row["partition"], row["log_files"], row.get("log_sizes"))
    if blocks.are_partial:
        return None
    rows = rows_if_replaced(reader, blocks, row)
    if rows is not None:
        return ReplacedShare(rows, None, 0, iter(()), _instants(blocks.about))
    replaced = _at_once(reader, reader.decoded(blocks), row, values)
    left_out = np.zeros(replaced.base_rows, np.bool_)
    left_out[replaced.left_out] = True
    return _share(left_out, replaced.rows.num_rows, iter(()), replaced.instants)


def _narrowest(plan: ScanPlan) -> list[str]:
    """A column that merging reads anyway, an ordering value if it reads one."""
    assert plan.merge is not None
    return plan.merge.spec.columns(plan.schema)[-1:]


def _share(left_out: Flags, records: int, batches: Iterator[pa.RecordBatch], instants: frozenset[str]) -> ReplacedShare:
    rows = len(left_out) - int(np.count_nonzero(left_out)) + records
    return ReplacedShare(rows, left_out, records, batches, instants)


def _is_separable(plan: ScanPlan) -> bool:
    """Whether each row of the result is one of the base file or of the log files, and the merge sees all of them."""
    merge = plan.merge
    if merge is None or merge.skip or merge.keys is not None or merge.spec.makes_rows:
        return False
    return plan.commit_times is None and plan.row_filter is None


def _parts(plan: ScanPlan, row: Mapping[str, Any]) -> int:
    return 1 if plan.merge is None else plan.merge.memory.parts(row.get("log_sizes") or ())


class _Numbers:
    """Gives rows with the columns that merging reads the number that each has in the base file, or among log records.

    Args:
        reader: of the slice.

    Attributes:
        reader: one of the columns that merging reads.
        schema: of the rows.
        base_rows, log_rows: how many rows have got one.
    """

    def __init__(self, reader: SliceReader) -> None:
        columns = pa.schema([reader.needed.field(name) for name in reader.merge.spec.columns(reader.needed)])
        self.reader = replace(reader, needed=columns)
        self.schema = pa.schema([*columns, (_BASE_ROW, pa.int64()), (_LOG_ROW, pa.int64())])
        self.base_rows = 0
        self.log_rows = 0

    def of_base(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of the base file."""
        for batch in batches:
            numbers = pa.array(np.arange(self.base_rows, self.base_rows + batch.num_rows))
            self.base_rows += batch.num_rows
            columns = [*batch.columns, numbers, pa.nulls(batch.num_rows, pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def of_hits(self, hits: RowsOfRecords) -> pa.RecordBatch:
        """The rows of the base file that log records are for, where others need not be read."""
        self.base_rows = hits.base_rows
        columns = [*hits.batch.columns, pa.array(hits.numbers), pa.nulls(len(hits.numbers), pa.int64())]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def of_log(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Records of a data block."""
        numbers = pa.array(np.arange(self.log_rows, self.log_rows + batch.num_rows))
        self.log_rows += batch.num_rows
        columns = [batch.column(name) for name in self.reader.needed.names]
        columns += [pa.nulls(batch.num_rows, pa.int64()), numbers]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _at_once(reader: SliceReader, logs: LogRecords, row: Mapping[str, Any], values: pa.Table | None) -> ReplacedRows:
    """What log files in memory, without partial updates, do to a slice's base file."""
    numbers = _Numbers(reader)
    whole = reader.reconciler(values)
    of_logs: list[pa.RecordBatch] = []

    def reconcile(block: LogData) -> pa.RecordBatch:
        batch = whole(block)
        of_logs.append(batch)
        return numbers.of_log(batch)

    left: list[pa.Array] = []
    chosen: list[pa.Array] = []
    hits = rows_of_records(numbers.reader, logs, row, values)
    base = numbers.of_base(numbers.reader.base(row, values)) if hits is None else iter([numbers.of_hits(hits)])
    for batch in merge_slice(base, logs, reader.merge.spec, numbers.schema, reconcile=reconcile):
        left.append(pc.drop_null(batch.column(_BASE_ROW)))
        chosen.append(pc.drop_null(batch.column(_LOG_ROW)))
    keep = np.full(numbers.base_rows, hits is not None)
    if hits is not None:
        keep[hits.numbers] = False
    for each in left:
        keep[each.to_numpy(zero_copy_only=False)] = True
    rows = pa.Table.from_batches(of_logs, reader.needed).select(reader.output.names)
    taken = rows.take(pa.chunked_array(chosen, pa.int64())) if rows.num_rows else rows
    return ReplacedRows(np.flatnonzero(~keep), numbers.base_rows, taken, _instants(logs))


def _in_parts(
    reader: SliceReader, row: Mapping[str, Any], values: pa.Table | None, parts: int, share: tuple[int, int]
) -> ReplacedShare | None:
    """What log files do to a share of a slice's base file; None where they have partial updates."""
    numbers = _Numbers(reader)
    narrow, storage = numbers.reader, reader.storage
    folder = spill_folder(reader.merge.memory.folder)
    blocks = narrow.open_blocks(row["partition"], row["log_files"], row.get("log_sizes"), mapped_in=folder)
    if blocks.are_partial:
        return None
    rule = MergeParts(
        count=parts,
        folder=folder,
        on_spill=partial(storage.counters.add, "bytes_spilled"),
        in_order=partial(in_order, threads=1),
        share=share,
    )
    picks = _Picks(share)
    # Of the keys in a table without meta columns nothing is told before the records are decoded.
    by_keys = share[1] > 1 and not reader.merge.spec.key_fields
    pieces = PieceRules(PIECE_BYTES, picks.of_keys if by_keys else None, picks.bounds)
    reconcile = narrow.reconciler(values)
    merged = merge_in_parts(
        numbers.of_base(narrow.base(row, values)),
        map(reader.as_shown, blocks.decoded_in_pieces(pieces)),
        reader.merge.spec,
        numbers.schema,
        rule,
        reconcile=lambda block: numbers.of_log(reconcile(block)),
        path=storage.uri(),
    )
    first = next(merged, None)  # all rows have their numbers before the first part is merged
    counting, chosen = np.zeros(numbers.base_rows, np.bool_), np.zeros(numbers.log_rows, np.bool_)
    for batch in itertools.chain(() if first is None else (first,), merged):
        for flags, name in ((counting, _BASE_ROW), (chosen, _LOG_ROW)):
            flags[pc.drop_null(batch.column(name)).to_numpy(zero_copy_only=False)] = True
    picks.narrow(chosen)
    records = _records(reader, blocks, picks, values)
    return _share(~counting, int(np.count_nonzero(chosen)), records, _instants(blocks.about))


class _Picks:
    """Picks the log records of a share by their keys, and then, as they come again, those of them that count.

    Args:
        share: as of :func:`replaced_share`.

    Attributes:
        bounds: as of :class:`~hudi_hive.table.logs.PieceRules`.
    """

    def __init__(self, share: tuple[int, int]) -> None:
        self.bounds: dict[tuple[str, int], tuple[Positions, Positions]] = {}
        self._share = share
        self._own: list[Flags] = []
        self._counting: Flags = np.zeros(0, np.bool_)
        self._at = 0

    def of_keys(self, count: int, keys: Callable[[], pa.Array | None]) -> Flags:
        """Those of the share."""
        array = keys()
        # That a block has no keys is said when they are merged.
        every = np.ones(count, np.bool_)
        self._own.append(every if array is None else in_share(array.cast(pa.string()), self._share))
        return self._own[-1]

    def narrow(self, chosen: Flags) -> None:
        """Say of each record of the share whether it counts."""
        own = np.concatenate(self._own) if self._own else np.ones(len(chosen), np.bool_)
        self._counting = own.copy()
        self._counting[own] = chosen

    def in_turn(self, count: int, _: Callable[[], pa.Array | None]) -> Flags:
        """Those that count."""
        self._at += count
        return self._counting[self._at - count : self._at]


def _records(
    reader: SliceReader, blocks: LogBlocks, picks: _Picks, values: pa.Table | None
) -> Iterator[pa.RecordBatch]:
    """The records of log files that count, with the columns asked for."""
    reconcile = replace(reader, needed=reader.output).reconciler(values)
    whole = replace(blocks, columns=source_names(reader.evolved, reader.output.names))
    pieces = PieceRules(PIECE_BYTES, picks.in_turn, picks.bounds)
    for piece in map(reader.as_shown, whole.decoded_in_pieces(pieces)):
        if isinstance(piece, LogData) and piece.batch.num_rows:
            yield reconcile(piece)


def _instants(logs: LogRecords) -> frozenset[str]:
    return frozenset(instant for _, instant in logs.seen if instant is not None)
