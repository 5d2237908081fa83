"""Rows of a partition by their buckets: in memory as long as they are few, behind that in a file on the local disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

import pyarrow as pa

from hudi_hive.batches import gathered_tables, rows_by_number
from hudi_hive.read.merge import Ints, PartFile, part_folder
from hudi_hive.storage import spill_folder
from hudi_hive.table.logs import one_batch

_WRITTEN_BYTES: Final = 8 << 20
"""Bytes of rows that are combined before they are given back, so that files are not written in many small batches."""


class BucketRows:
    """Rows by bucket; a context manager, at whose end the local disk is given back.

    Args:
        memory: bytes of rows to hold; when there are more, all of them go to the disk.
        folder: where to, as of :func:`~hudi_hive.storage.spill_folder`.
        on_spill: is told the bytes that went there.
    """

    def __init__(self, memory: int, folder: str | None, on_spill: Callable[[int], None]) -> None:
        self._memory = memory
        self._folder = folder
        self._on_spill = on_spill
        self._waiting: dict[int, list[pa.RecordBatch]] = {}
        self._waiting_bytes = 0
        self._file: PartFile | None = None
        self._begins: dict[int, list[int]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.clear()
        if self._file is not None:
            self._file.close()
        self._stack.close()

    def add(self, rows: pa.RecordBatch, buckets: Ints) -> None:
        """Add rows, before any are read.

        Args:
            rows: a batch of them.
            buckets: the number of each row's bucket.

        Raises:
            StorageError: the local disk is full, or the folder cannot be written.
        """
        for bucket, positions in rows_by_number(buckets):
            share = rows.take(pa.array(positions))
            self._waiting.setdefault(bucket, []).append(share)
            self._waiting_bytes += share.nbytes
        if self._waiting_bytes > self._memory:
            self._spill()

    def buckets(self) -> list[int]:
        """The buckets that have rows, in ascending order."""
        return sorted({*self._begins, *self._waiting})

    def of(self, bucket: int) -> Iterator[pa.RecordBatch]:
        """The rows of a bucket in their order, once.

        Raises:
            StorageError: the local disk cannot be read.
        """
        for table in gathered_tables(self._parts(bucket), _WRITTEN_BYTES):
            yield one_batch(table)

    def _parts(self, bucket: int) -> Iterator[pa.RecordBatch]:
        if self._file is not None:
            self._on_spill(self._file.close())
            yield from self._file.batches_at(self._begins.get(bucket, ()))
        yield from self._waiting.pop(bucket, ())

    def _spill(self) -> None:
        if self._file is None:
            folder = self._stack.enter_context(part_folder(spill_folder(self._folder)))
            self._file = PartFile(os.path.join(folder, "rows"))
        for bucket in list(self._waiting):
            rows = one_batch(pa.Table.from_batches(self._waiting.pop(bucket)))
            self._begins.setdefault(bucket, []).append(self._file.add(rows))
        self._waiting_bytes = 0


__all__ = ["BucketRows"]
