"""Reads ORC base files as Arrow batches (ORC specification v1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.orc as orc

from hudi_hive.errors import UnsupportedAcidValueError, UnsupportedFormatError
from hudi_hive.formats.base.base_file import (
    BATCH_ROWS,
    ByteRange,
    OpenBaseFile,
    decoding,
    empty_columns,
    in_range,
    select,
)
from hudi_hive.formats.orc import is_out_of_range, read_stripes, read_wide_stripe
from hudi_hive.metrics import IoCounters
from hudi_hive.predicate import RowFilter


class OrcBaseFile(OpenBaseFile):
    """An open ORC file."""

    def __init__(self, stream: pa.NativeFile, path: str, counters: IoCounters, remote: bool) -> None:
        del remote
        with decoding(path):
            self._stream = stream
            self._stripes = read_stripes(stream, path)
            self._file = orc.ORCFile(stream)
            super().__init__(stream, path, counters, self._file.schema)
            self._size = int(stream.size())

    @property
    def num_rows(self) -> int:
        """Number of rows of the file."""
        return int(self._file.nrows)

    @property
    def writer(self) -> str:
        """The name of the program that wrote the file, from its footer; empty without one."""
        return "orc"

    def groups(self, skip: RowFilter | None) -> tuple[int, int]:
        """Numbers of row groups: all, and those left to read under a filter."""
        del skip  # the reader shows no statistics
        return int(self._file.nstripes), int(self._file.nstripes)

    def batches(
        self,
        columns: Sequence[str],
        *,
        skip: RowFilter | None = None,
        byte_range: ByteRange | None = None,
        batch_size: int = BATCH_ROWS,
        use_threads: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """Read rows as record batches; see :meth:`BaseFile.batches`."""
        del skip, use_threads  # the reader shows no statistics and has one thread
        names = self.require_columns(columns)
        if not names and byte_range is None:
            yield empty_columns(self.num_rows)
            return
        for stripe in self._in_range(byte_range):
            with decoding(self.path):
                # A stripe cannot be read without any column; the first one stands for the number of rows.
                batch = select(self._read_stripe(stripe, names or self.schema.names[:1]), names)
                batch.validate(full=True)  # the reader does not look whether text is UTF-8
            for start in range(0, batch.num_rows, batch_size):
                yield batch.slice(start, batch_size)

    def _read_stripe(self, stripe: int, names: Sequence[str]) -> pa.RecordBatch:
        """A stripe; its timestamps are microseconds if one is there that nanoseconds do not hold."""
        try:
            return self._file.read_stripe(stripe, columns=list(names))
        except pa.ArrowInvalid as error:
            if not is_out_of_range(error):
                raise
        try:
            return read_wide_stripe(self._stream, stripe, names, self.path)
        except UnsupportedAcidValueError as error:
            raise UnsupportedFormatError(error.message, path=self.path, remedy="read other columns") from error

    def row_ranges(self) -> list[ByteRange]:
        """The byte range of each part of the file that can be read alone."""
        count = int(self._file.nstripes)
        if self._stripes is not None and len(self._stripes) == count:
            return [(stripe.offset, stripe.length) for stripe in self._stripes]
        # The places are unknown; equally long stripes also put each stripe into exactly one part of the file.
        return [(self._size * i // count, self._size // count) for i in range(count)]

    def _in_range(self, byte_range: ByteRange | None) -> list[int]:
        return [i for i, part in enumerate(self.row_ranges()) if in_range(part, byte_range)]
