"""The interface of open base files of all formats, and what its implementations share.

Source: docs/format.md#base-files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Protocol, Self

import pyarrow as pa

from hudi_hive.errors import CorruptFileError, StorageError, UnknownColumnError, UnsupportedFormatError
from hudi_hive.metrics import IoCounters
from hudi_hive.predicate import RowFilter

BATCH_ROWS: Final = 131_072
"""Default number of rows of a batch."""

ByteRange = tuple[int, int]
"""Start and length in bytes of a part of a file."""


class BaseFile(Protocol):
    """The interface of an open base file of any format; a context manager that closes it."""

    @property
    def path(self) -> str:
        """URI of the file, for error messages."""

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of the file, with the names and types that it was written with."""

    @property
    def num_rows(self) -> int:
        """Number of rows of the file."""

    @property
    def writer(self) -> str:
        """The library that wrote the file, from its footer; empty where the footer has none."""

    def groups(self, skip: RowFilter | None) -> tuple[int, int]:
        """Number of row groups (ORC: stripes), and number of those in which a row can pass a filter.

        Args:
            skip: a filter that is bound to the columns of this file; None for all.
        """

    def row_ranges(self) -> list[ByteRange]:
        """Start and length in bytes of each row group (ORC: stripe).

        Whether one is in the ``byte_range`` of :meth:`batches` is decided by its middle, start + length // 2.
        """

    def batches(
        self,
        columns: Sequence[str],
        *,
        skip: RowFilter | None = None,
        byte_range: ByteRange | None = None,
        batch_size: int = BATCH_ROWS,
        use_threads: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """Read rows in file order, with the named columns in the given order.

        Args:
            columns: top-level columns of :attr:`schema`; with none the batches only have a number of rows.
            skip: row groups in which no row can pass this filter are left out, and other rows that do not pass may be;
                what comes out is yet to be filtered. It is bound to columns of this file.
            byte_range: only row groups (stripes) whose middle lies in this part, so that parts that cover a file give
                each row once.
            batch_size: greatest number of rows of a batch.
            use_threads: decode columns in parallel.

        Raises:
            CorruptFileError: the file breaks its format.
        """

    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class NamedColumns(ABC):
    """Base class of implementations of :class:`BaseFile`: finds columns by name, and is closed by its context.

    Args:
        path: URI of the file.
        schema: Arrow schema of the file.
    """

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        self._names = set(schema.names)

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def require_columns(self, columns: Sequence[str]) -> list[str]:
        """The columns as a list, each of which the file must have exactly once.

        Raises:
            UnknownColumnError: the file has no such column, or several.
        """
        for name in columns:
            if name not in self._names or self.schema.get_field_index(name) < 0:
                raise UnknownColumnError(f"no column {name!r}, or several of that name, in the file", path=self.path)
        return list(columns)


class OpenBaseFile(NamedColumns):
    """Base class of base files that are read from one stream.

    Args:
        stream: the file, closed by :meth:`close`.
        path: URI of the file.
        counters: where reading is counted.
        schema: Arrow schema of the file.
    """

    def __init__(self, stream: pa.NativeFile, path: str, counters: IoCounters, schema: pa.Schema) -> None:
        super().__init__(path, schema)
        self.stream = stream
        self.counters = counters

    def close(self) -> None:
        """Close the file."""
        self.stream.close()


class UndividedBaseFile(OpenBaseFile):
    """Base class of base files that are read as one part, and of which no statistics tell what to leave out.

    Attributes:
        size: bytes of the file.
    """

    def __init__(self, stream: pa.NativeFile, path: str, counters: IoCounters, schema: pa.Schema) -> None:
        super().__init__(stream, path, counters, schema)
        self.size = int(stream.size())

    def groups(self, skip: RowFilter | None) -> tuple[int, int]:
        """Numbers of row groups: all, and those left to read under a filter."""
        del skip
        return 1, 1

    def row_ranges(self) -> list[ByteRange]:
        """The byte range of each part of the file that can be read alone."""
        return [(0, self.size)]


def in_range(part: ByteRange, byte_range: ByteRange | None) -> bool:
    """Whether a part of a file is read with a ``byte_range`` of :meth:`BaseFile.batches`: its middle lies there."""
    if byte_range is None:
        return True
    middle = part[0] + part[1] // 2
    return byte_range[0] <= middle < byte_range[0] + byte_range[1]


def select(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Select columns of a batch; a selection of none keeps the number of rows."""
    return batch.select(list(columns)) if columns else empty_columns(batch.num_rows)


def empty_columns(rows: int) -> pa.RecordBatch:
    """A batch of ``rows`` rows without columns."""
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))


@contextmanager
def decoding(path: str) -> Iterator[None]:
    """Context manager that turns the exceptions of decoders into errors of :mod:`hudi_hive.errors`.

    Args:
        path: URI of the file, for messages.

    Raises:
        CorruptFileError: the file breaks its format.
        UnsupportedFormatError: it uses a feature that the reader does not have.
        StorageError: the storage failed.
    """
    try:
        yield
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedFormatError(f"file uses what the reader does not know: {_line(error)}", path=path) from error
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise StorageError(f"read failed: {_line(error)}", path=path) from error
        raise CorruptFileError(
            f"file cannot be decoded: {_line(error)}", path=path, remedy="restore the file or roll its commit back"
        ) from error


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else text[:300] + "…"
