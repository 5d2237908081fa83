"""A file on the local disk for batches that are too many for the memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from hudi_hive.storage import mapped_errors

_CODEC: Final = "lz4"


class PartFile:
    """A file of Arrow batches of several schemas, written once and then read.

    Args:
        path: the file, on the local disk; it is made.

    Raises:
        StorageError: of each method, too: the disk is full, or the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._options = pa.ipc.IpcWriteOptions(compression=_CODEC)
        with mapped_errors(path):
            self._stream: pa.NativeFile | None = pa.OSFile(path, "wb")

    def add(self, batch: pa.RecordBatch) -> int:
        """Write a batch as a stream of its own; returns where it begins."""
        assert self._stream is not None
        with mapped_errors(self._path):
            begin = int(self._stream.tell())
            with pa.ipc.new_stream(self._stream, batch.schema, options=self._options) as writer:
                writer.write_batch(batch)
        return begin

    def close(self) -> int:
        """End writing; the bytes of the file, or none if that was done before."""
        if self._stream is None:
            return 0
        stream, self._stream = self._stream, None
        with mapped_errors(self._path):
            size = int(stream.tell())
            stream.close()
        return size

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All batches, in their order."""
        with mapped_errors(self._path), pa.OSFile(self._path) as stream:
            size = stream.size()
            while stream.tell() < size:
                with pa.ipc.open_stream(stream) as reader:
                    yield from reader

    def batches_at(self, begins: Iterable[int]) -> Iterator[pa.RecordBatch]:
        """The batches that begin at some places, in the order of these."""
        with mapped_errors(self._path), pa.OSFile(self._path) as stream:
            for begin in begins:
                stream.seek(begin)
                with pa.ipc.open_stream(stream) as reader:
                    yield from reader

    def remove(self) -> None:
        """Give the disk back."""
        with mapped_errors(self._path):
            os.remove(self._path)


__all__ = ["PartFile"]
