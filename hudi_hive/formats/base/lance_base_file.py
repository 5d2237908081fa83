"""Reads Lance base files as Arrow batches, with the package pylance.

Lance's reader opens files of the local disk by itself, here by the number of one that is open. A file of a store is
copied there first, part by part, to one without a name: Lance's own clients of stores take other settings than tables.

Source: docs/format.md#lance-files.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Final

import pyarrow as pa

from hudi_hive.errors import (
    CorruptFileError,
    HudiHiveError,
    MissingDependencyError,
    StorageError,
    UnsupportedFormatError,
)
from hudi_hive.formats.base.base_file import BATCH_ROWS, ByteRange, UndividedBaseFile, empty_columns, in_range
from hudi_hive.metrics import IoCounters
from hudi_hive.predicate import RowFilter
from hudi_hive.storage import mapped_errors, spill_folder

if TYPE_CHECKING:
    from lance.file import LanceFileReader

_BATCH_BYTES: Final = 16 << 20
"""Bytes of a file that a batch is read from, about: Lance reads ahead of a request as much as the request is for."""

_PART: Final = 8 << 20
"""Bytes that are copied at a time."""

_PLACE: Final = re.compile(r",? ?\S+\.rs:\d+(:\d+)?")
"""Where in Lance's source something went wrong."""

_DAMAGED: Final = "restore the file or roll its commit back"


class LanceBaseFile(UndividedBaseFile):
    """An open Lance file."""

    def __init__(self, stream: pa.NativeFile, path: str, counters: IoCounters, remote: bool) -> None:
        self._stream = stream
        _require_package(path)
        self._copy = _copied(stream, path, counters) if remote else None
        try:
            with _lance(path):
                metadata = self._reader().metadata()
            self._rows = int(metadata.num_rows)
            self._sizes = [sum(buffer.size for page in c.pages for buffer in page.buffers) for c in metadata.columns]
            self._written: pa.Schema = metadata.schema
            super().__init__(stream, path, counters, pa.schema([_plain_field(field) for field in self._written]))
        except BaseException:
            self._remove_copy()
            raise

    def _reader(self, columns: Sequence[str] | None = None) -> LanceFileReader:
        from lance.file import LanceFileReader  # not at the start of every command: it loads much

        file = self._copy or self._stream
        return LanceFileReader(f"/dev/fd/{file.fileno()}", columns=None if columns is None else list(columns))

    @property
    def num_rows(self) -> int:
        """Number of rows of the file."""
        return self._rows

    @property
    def writer(self) -> str:
        """The name of the program that wrote the file, from its footer; empty without one."""
        return "lance"

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
        del skip, use_threads  # no statistics, and threads of Lance's own
        names = self.require_columns(columns)
        if not in_range((0, self.size), byte_range):
            return
        if not names:
            yield empty_columns(self._rows)
            return
        with _lance(self.path):
            reader = self._reader(names)
        step = max(1, min(batch_size, _BATCH_BYTES * self._rows // max(1, self._bytes_of(names))))
        for start in range(0, self._rows, step):
            # A range at a time: it reads ahead all that is asked for, up to 2 GB.
            yield from self._range(reader, start, min(step, self._rows - start), names)

    def _range(self, reader: LanceFileReader, start: int, count: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """A range of rows, each of them."""
        left = count
        with _lance(self.path):
            for batch in reader.read_range(start, count, batch_size=count, batch_readahead=1).to_batches():
                batch.validate(full=True)  # the reader does not look whether text is UTF-8
                left -= batch.num_rows
                yield self._plain(batch, names)
        if left:
            raise CorruptFileError(
                f"file gives {count - left} of {count} rows from row {start} on", path=self.path, remedy=_DAMAGED
            )

    def _plain(self, batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
        schema = pa.schema([self.schema.field(name) for name in names])
        columns = [batch.column(batch.schema.get_field_index(name)) for name in names]
        plain = [
            column if column.type.equals(field.type) else column.cast(field.type)
            for column, field in zip(columns, schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(plain, schema=schema)

    def _bytes_of(self, names: Sequence[str]) -> int:
        """Bytes that columns have in the file; those of all columns where it is not told whose they are."""
        wanted = set(names)
        for headers in (True, False):
            counts = [_parts(field.type, headers) for field in self._written]
            if sum(counts) == len(self._sizes):
                owners = [field.name for field, count in zip(self._written, counts, strict=True) for _ in range(count)]
                return sum(size for name, size in zip(owners, self._sizes, strict=True) if name in wanted)
        return sum(self._sizes)

    def close(self) -> None:
        """Close the file."""
        self._remove_copy()
        super().close()

    def _remove_copy(self) -> None:
        if self._copy is not None:
            self._copy.close()


def _require_package(path: str) -> None:
    try:
        import lance.file  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "Lance files are read with the package pylance, which is not installed",
            path=path,
            remedy="pip install 'hudi_hive[lance]'",
        ) from error


def _copied(stream: pa.NativeFile, path: str, counters: IoCounters) -> IO[bytes]:
    """A copy on the local disk, which has no name and ends when it is closed."""
    place = spill_folder(None)
    with ExitStack() as stack, mapped_errors(place):
        copy = stack.enter_context(tempfile.TemporaryFile(dir=place))
        while True:
            with mapped_errors(path):
                part = stream.read(_PART)
            if not part:
                break
            copy.write(part)
            counters.add("reads")
            counters.add("bytes_read", len(part))
        copy.flush()
        stack.pop_all()  # it is closed with the reader
        return copy


@contextmanager
def _lance(path: str) -> Iterator[None]:
    """Turns the exceptions of Lance into errors of :mod:`hudi_hive.errors`.

    Args:
        path: URI of the file, for messages.

    Raises:
        CorruptFileError: the file breaks its format.
        UnsupportedFormatError: it uses a feature that the reader does not have.
        StorageError: the storage failed.
    """
    try:
        yield
    except HudiHiveError:
        raise
    except NotImplementedError as error:
        raise UnsupportedFormatError(f"file uses what the reader does not know: {_line(error)}", path=path) from error
    except (pa.ArrowException, OSError, ValueError, RuntimeError, TypeError, KeyError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise StorageError(f"read failed: {_line(error)}", path=path) from error
        raise _damaged(error, path) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust, whose panics are no exceptions
            raise
        raise _damaged(error, path) from error


def _damaged(error: BaseException, path: str) -> CorruptFileError:
    return CorruptFileError(f"file cannot be decoded: {_line(error)}", path=path, remedy=_DAMAGED)


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return _PLACE.sub("", text)[:300]


def _plain_field(field: pa.Field) -> pa.Field:
    """A field without metadata, and with the types that files of other formats have."""
    return pa.field(field.name, _plain_type(field.type), field.nullable)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_large_string(kind):
        return pa.string()
    if types.is_large_binary(kind):
        return pa.binary()
    if types.is_struct(kind):
        return pa.struct([_plain_field(kind.field(at)) for at in range(kind.num_fields)])
    if types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_field(kind.item_field))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    return kind


def _parts(kind: pa.DataType, headers: bool) -> int:
    """Columns that a file has for a type: one for each leaf and, in files of version 2.0, each struct and list."""
    types = pa.types
    if types.is_struct(kind):
        return headers + sum(_parts(kind.field(at).type, headers) for at in range(kind.num_fields))
    if types.is_list(kind) or types.is_large_list(kind):
        return headers + _parts(kind.value_type, headers)
    if types.is_map(kind):
        return headers + _parts(kind.key_type, headers) + _parts(kind.item_type, headers)
    return 1
