"""Merges a slice in parts, by the hash of record keys, where its log records are too many for the memory.

Log records and base rows go to files on the local disk, two for each part; then each part is merged like a slice of its
own. All that is said of a record is in one part and in its old order, so that the rules of merging stay as they are.
Rows come out by parts.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from hudi_hive.batches import gathered_tables
from hudi_hive.formats.hash import text_hashes
from hudi_hive.read.merge.keys import record_keys
from hudi_hive.read.merge.merge import merge_slice
from hudi_hive.read.merge.ordering_values import Flags, Ints
from hudi_hive.read.merge.part_file import PartFile
from hudi_hive.read.merge.part_folder import part_folder
from hudi_hive.table.logs import LogData, LogDeletes, LogRecords, one_batch
from hudi_hive.table.merge import MergeSpec

_WAITING_BYTES: Final = 32 << 20
"""Bytes of base rows that are gathered before they are spread over the parts' files."""

_KEY: Final = "record_key"

_Rows = Callable[[], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class MergeParts:
    """How a slice is merged in parts.

    Attributes:
        count: of parts.
        share: the number of a share of the keys, and how many shares there are, of which others are merged elsewhere.
        folder: where their files go, as of :func:`~hudi_hive.storage.spill_folder`.
        on_spill: is told the bytes that went to the disk.
        in_order: gives the rows of producers, of which it may run some at a time, in their order.
        beside: whether log records and base rows may go to their files at the same time.
    """

    count: int
    folder: str
    on_spill: Callable[[int], None]
    in_order: Callable[[Iterable[_Rows]], Generator[pa.RecordBatch, None, None]]
    beside: bool = False
    share: tuple[int, int] = (0, 1)


def merge_in_parts(
    base_batches: Iterable[pa.RecordBatch] | None,
    pieces: Iterable[LogData | LogDeletes],
    spec: MergeSpec,
    schema: pa.Schema,
    parts: MergeParts,
    *,
    reconcile: Callable[[LogData], pa.RecordBatch],
    path: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the merged rows of a file slice, part by part.

    Args:
        base_batches: rows of the base file with the columns of ``schema``; None or nothing for a slice without one.
        pieces: the records and deletes of its log files that count, oldest first.
        spec, schema, path: as of :func:`~hudi_hive.read.merge.merge.merge_slice`.
        parts: how many, and where.
        reconcile: data blocks to ``schema``.

    Raises:
        StorageError: the local disk is full, or the folder cannot be written.
        HudiHiveError: as :func:`~hudi_hive.read.merge.merge.merge_slice`.
    """
    with part_folder(parts.folder) as folder:
        files = [PartFile(os.path.join(folder, str(number))) for number in range(2 * parts.count)]
        logs, base = files[: parts.count], files[parts.count :]
        try:
            with ThreadPoolExecutor(1, thread_name_prefix="hudi-hive-merge") as pool:
                spreading = pool.submit(_spread_logs, pieces, spec, reconcile, _Files(logs, parts.share))
                if not parts.beside:
                    spreading.result()
                _spread_base(base_batches or (), spec, _Files(base, parts.share))
                blocks = spreading.result()
            for file in files:
                parts.on_spill(file.close())

            def rows_of(number: int) -> Iterator[pa.RecordBatch]:
                records = _records(blocks, logs[number])
                rows = base[number].batches()
                yield from merge_slice(rows, records, spec, schema, reconcile=lambda block: block.batch, path=path)
                logs[number].remove()
                base[number].remove()

            with closing(parts.in_order(partial(rows_of, number) for number in range(parts.count))) as rows:
                yield from rows
        finally:
            for file in files:
                file.close()


def _spread_logs(
    pieces: Iterable[LogData | LogDeletes],
    spec: MergeSpec,
    reconcile: Callable[[LogData], pa.RecordBatch],
    files: _Files,
) -> list[LogData | LogDeletes]:
    """Write pieces to the files of their keys' parts, each to all of them; returns the pieces without their rows."""
    blocks: list[LogData | LogDeletes] = []
    for piece in pieces:
        if isinstance(piece, LogDeletes):
            rows = one_batch(piece.table)
            keys = rows.column(_KEY).cast(pa.string())
            blocks.append(replace(piece, table=rows.schema.empty_table()))
        else:
            rows = reconcile(piece)
            keys = record_keys(rows, spec, piece.path or None)
            blocks.append(replace(piece, batch=one_batch(rows.schema.empty_table())))
        for file, part in files.of_parts(rows, keys):
            file.add(part)
    return blocks


def _spread_base(batches: Iterable[pa.RecordBatch], spec: MergeSpec, files: _Files) -> None:
    """Write base rows to the files of their keys' parts, many at a time, so that these have few small batches."""
    for table in gathered_tables(batches, _WAITING_BYTES):
        rows = one_batch(table)
        for file, part in files.of_parts(rows, record_keys(rows, spec)):
            if part.num_rows:
                file.add(part)


def in_share(keys: pa.Array, share: tuple[int, int]) -> Flags:
    """Which keys are those of a share (:attr:`MergeParts.share`)."""
    flags: Flags = _numbers(keys, share[1]) == share[0]
    return flags


def _numbers(keys: pa.Array, count: int) -> Ints:
    return (text_hashes(keys) % np.uint64(count)).astype(np.int64)


class _Files(NamedTuple):
    """The files of the parts of a share."""

    files: list[PartFile]
    share: tuple[int, int]

    def of_parts(self, rows: pa.RecordBatch, keys: pa.Array) -> Iterator[tuple[PartFile, pa.RecordBatch]]:
        """The file of each part, and its rows, in their order."""
        own, shares = self.share
        number = _numbers(keys, len(self.files) * shares)
        at = np.flatnonzero(number % shares == own) if shares > 1 else np.arange(len(number))
        part = number[at] // shares
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(len(self.files) + 1))
        sorted_rows = rows.take(pa.array(at[order]))
        for file, (begin, end) in zip(self.files, itertools.pairwise(ends.tolist()), strict=True):
            yield file, sorted_rows.slice(begin, end - begin)


def _records(blocks: list[LogData | LogDeletes], file: PartFile) -> LogRecords:
    """The log records of one part."""
    whole: list[LogData | LogDeletes] = []
    for block, rows in zip(blocks, file.batches(), strict=True):
        if isinstance(block, LogDeletes):
            whole.append(replace(block, table=pa.Table.from_batches([rows])))
        else:
            whole.append(replace(block, batch=rows))
    return LogRecords(tuple(whole))


__all__ = ["MergeParts", "in_share", "merge_in_parts"]
