"""Writes delta and delete delta files of Hive ACID tables as ORC.

An update is a delete event and an insert event (HIVE-14035). Readers trust the order of a file: deletes that are not
ascending by (write id, bucket property, row id) are lost without an error, so nothing else is written. Arrow's writer
makes the rows of inserts; what Hive 3.1 needs in the footer is put in afterwards.

Source: docs/format/hive.md#hive-acid-events, docs/format/hive.md#hive-acid-orc-footer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import (
    BucketIdError,
    InvalidOptionError,
    MutationStateError,
    RecordIdentifierError,
    RecordSequenceError,
    SchemaError,
    UnsupportedAcidTableError,
    UnsupportedAcidValueError,
)
from hudi_hive.formats.orc.acid import (
    ACID_FIELDS,
    DELETE,
    INSERT,
    KEY_INDEX,
    STATS,
    VERSION,
    BucketProperty,
    Ints,
    Key,
    first_descent,
)
from hudi_hive.formats.orc.constant_columns import ConstantColumns
from hudi_hive.formats.orc.held_output import HeldOutput
from hudi_hive.formats.orc.hive_type import HiveType, parse_hive_type
from hudi_hive.formats.orc.made_columns import BLOCK, ConstantColumn, MadeColumn, NumberColumn, RowNumbers
from hudi_hive.formats.orc.null_rows import NullRowFile
from hudi_hive.formats.orc.null_struct_children import with_null_struct_children
from hudi_hive.formats.orc.tail import parse_tail
from hudi_hive.formats.orc.writable import has_early_fraction

CODECS: Final = ("zlib", "snappy", "uncompressed")
"""Compressions that every Hive from 3.1 on reads; zstd is not one of them."""

ROW_COLUMN: Final = "row"
"""The column behind those of the event."""

Longs = npt.NDArray[np.int64]

_ROWS: Final = 1 << 16
"""Rows that become events at a time."""


class Sink(Protocol):
    """The interface of the target of a file's bytes, such as Arrow's output streams and Python's binary files."""

    def write(self, data: bytes, /) -> object:
        """Append bytes to the file."""


@dataclass(frozen=True, slots=True)
class WrittenAcidFile:
    """Size, events and key range of an ACID file that was written.

    Attributes:
        size: bytes.
        rows: events.
        stripes: stripes.
        first: identifier of the first event's row: write id, bucket property, row id.
        last: of the last.
    """

    size: int
    rows: int
    stripes: int
    first: Key
    last: Key


class AcidFileWriter(ABC):
    """Base class of the writers of delta and delete delta files; a context manager that completes the file.

    The file is complete after :meth:`close`, for the tail comes last; until then it is no ORC file. Bytes go to the
    sink in order and once, so that it may be an object store's upload. The sink is not closed.

    Args:
        sink: takes the file's bytes.
        columns: names and Hive types of the table's columns, without the partition keys.
        write_id: of the transaction, in this table.
        bucket: number of the bucket, which must be the one in the file's name.
        codec: zlib, snappy or uncompressed.
        stripe_bytes: bytes in memory after which a stripe is written.
        path: the file's URI, for messages.

    Raises:
        InvalidOptionError: another codec.
        SchemaError: a column type that is not handled, or no columns.
        UnsupportedAcidTableError: a bucket that is not in 0 to 4095, or a write id below 1.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        columns: Sequence[tuple[str, str]],
        write_id: int,
        bucket: int,
        codec: str = "zlib",
        stripe_bytes: int = 64 << 20,
        path: str | None = None,
    ) -> None:
        if codec not in CODECS:
            remedy = f"one of {', '.join(CODECS)}, which every Hive from 3.1 on reads"
            raise InvalidOptionError(f"compression {codec!r} of an ACID file", path=path, remedy=remedy)
        if not columns:
            raise SchemaError("an ACID file of no columns", path=path)
        if write_id < 1:
            raise UnsupportedAcidTableError(f"write id {write_id}", path=path)
        BucketProperty.encode(bucket)
        self._path, self._sink = path, sink
        self._columns = [(name, parse_hive_type(text), text) for name, text in columns]
        self._row_type = pa.struct([(name, kind.arrow) for name, kind, _ in self._columns])
        self._write_id, self._bucket = write_id, bucket
        self._codec, self._stripe_bytes = codec, stripe_bytes
        self._size = self._rows = 0
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.discard()
        elif not self._closed:
            self.close()

    @property
    def rows(self) -> int:
        """Number of events that were written."""
        return self._rows

    def discard(self) -> None:
        """Abandon the file; the bytes that the sink has are no ORC file."""
        if not self._closed:
            self._closed = True
            self._release()

    @abstractmethod
    def _release(self) -> None:
        """Let go of what is not written yet."""

    def _drain(self, data: bytes) -> None:
        if data:
            self._sink.write(data)
            self._size += len(data)

    def _check_open(self) -> None:
        if self._closed:
            raise MutationStateError("the file is closed", path=self._path)

    def close(self) -> WrittenAcidFile:
        """Write the last stripe and the tail, which completes the file.

        Raises:
            MutationStateError: the file is closed already, or has no events.
        """
        self._check_open()
        if not self._rows:
            self.discard()
            raise MutationStateError("an ACID file without events", path=self._path)
        self._closed = True  # also if the sink fails: half of a file is not written on
        data = b""
        for part in self._finished():
            self._drain(data)
            data = part
        tail = parse_tail(data, self._path or "")
        ends = np.cumsum(tail.stripe_rows) - 1
        index = "".join("{},{},{};".format(*self._key(int(end))) for end in ends)
        metadata = {KEY_INDEX: index.encode(), STATS: self._stats().encode(), VERSION: b"2"}
        self._drain(data[: len(data) - tail.length])
        self._drain(tail.patched(metadata))
        return WrittenAcidFile(self._size, self._rows, len(ends), self._key(0), self._key(self._rows - 1))

    @abstractmethod
    def _finished(self) -> Iterable[bytes]:
        """What is not written yet, in parts; the last one has the tail."""

    @abstractmethod
    def _key(self, place: int) -> Key:
        """Identifier of the row of an event."""

    @abstractmethod
    def _stats(self) -> str:
        """Numbers of inserts, updates and deletes."""


class DeltaWriter(AcidFileWriter):
    """Writes the insert events of one bucket; row identifiers are the write id, the bucket property and 0, 1, 2 ….

    Args:
        statement: number of the statement within the transaction, 0 to 4095; all else as :class:`AcidFileWriter`.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        columns: Sequence[tuple[str, str]],
        write_id: int,
        bucket: int,
        statement: int = 0,
        codec: str = "zlib",
        stripe_bytes: int = 64 << 20,
        path: str | None = None,
    ) -> None:
        self._property = int(BucketProperty.encode(bucket, statement))
        super().__init__(
            sink,
            columns=columns,
            write_id=write_id,
            bucket=bucket,
            codec=codec,
            stripe_bytes=stripe_bytes,
            path=path,
        )
        import pyarrow.orc as orc  # few tables have ORC files

        self._units: dict[str, pa.DataType] = {}
        self._held = HeldOutput()
        self._writer = orc.ORCWriter(
            self._held, compression=codec, compression_block_size=BLOCK, stripe_size=stripe_bytes
        )
        events = _event_columns(operation=INSERT, original=write_id, bucket=self._property, row=None, current=write_id)
        self._made = ConstantColumns([*events, ROW_COLUMN], codec, path or "")

    def write(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Append rows.

        Args:
            rows: the table's columns by name, in any order, of its types or of others that hold the same values.

        Raises:
            MutationStateError: the file is closed.
            SchemaError: a column is missing, there is one too many, or its type does not hold the table's values.
            UnsupportedAcidValueError: a value that the file cannot hold, or that Hive would read as another.
        """
        self._check_open()
        if sorted(rows.schema.names) != sorted(name for name, _, _ in self._columns):
            wanted = ", ".join(name for name, _, _ in self._columns)
            raise SchemaError(
                f"rows of columns {', '.join(rows.schema.names)} for a table of {wanted}", path=self._path
            )
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        for start in range(0, table.num_rows, _ROWS):
            part = table.slice(start, _ROWS)
            arrays = [self._value(name, kind, text, part[name]) for name, kind, text in self._columns]
            row = pa.StructArray.from_arrays(arrays, names=[name for name, _, _ in self._columns])
            self._writer.write(pa.Table.from_arrays([row], names=[ROW_COLUMN]))
            self._drain(self._made.add(self._held.take()))
            self._rows += part.num_rows

    def _value(self, name: str, kind: HiveType, text: str, column: pa.ChunkedArray) -> pa.Array:
        target = kind.arrow
        if kind.kind == "timestamp" and pa.types.is_timestamp(column.type) and column.type.tz is None:
            # Files have nanoseconds and a wider range than they have in 64 bits: the first rows tell the unit.
            target = self._units.setdefault(name, column.type)
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            raise SchemaError(f"column {name} is {text} and has no zone, the rows' {column.type}", path=self._path)
        try:
            array = (column if column.type == target else column.cast(target)).combine_chunks()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise UnsupportedAcidValueError(
                f"column {name} is {text}, the rows' {column.type}: {error}", path=self._path
            ) from error
        array = array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks or [pa.array([], target)])
        if problem := _problem(array, kind):
            raise UnsupportedAcidValueError(f"column {name}, {text}: {problem[0]}", path=self._path, remedy=problem[1])
        return with_null_struct_children(array)

    def _release(self) -> None:
        self._writer.close()
        self._held.take()

    def _finished(self) -> Iterable[bytes]:
        self._writer.close()
        yield self._made.finish(self._held.take())

    def _key(self, place: int) -> Key:
        return self._write_id, self._property, place

    def _stats(self) -> str:
        return f"{self._rows},0,0"


class DeleteDeltaWriter(AcidFileWriter):
    """Writes the delete events of one bucket: identifiers of deleted rows, without values.

    Args: as :class:`AcidFileWriter`.
    """

    _keys: tuple[list[Longs], list[Longs], list[Longs]] | None = None

    def write(self, write_ids: Ints, properties: Ints, row_ids: Ints) -> None:
        """Append delete events, which ascend by (write id, bucket property, row id) over all calls.

        Args:
            write_ids: of the rows, as they were read.
            properties: their bucket properties.
            row_ids: their row ids.

        Raises:
            MutationStateError: the file is closed.
            RecordIdentifierError: parts of different length, or an identifier that no row has.
            BucketIdError: a row of another bucket: Hive would not find the event.
            RecordSequenceError: not ascending, or a row twice.
        """
        self._check_open()
        keys = [np.asarray(part, np.int64) for part in (write_ids, properties, row_ids)]
        count = len(keys[0])
        if len({part.shape for part in keys}) != 1:
            raise RecordIdentifierError("parts of identifiers of different lengths", path=self._path)
        if not count:
            return
        self._check(keys)
        if self._keys is None:
            self._keys = ([], [], [])
        for kept, part in zip(self._keys, keys, strict=True):
            kept.append(part)
        self._rows += count

    def _release(self) -> None:
        self._keys = None

    def _finished(self) -> Iterable[bytes]:
        """All events, as only now it is certain which parts of the identifiers are the same in all of them."""
        write_ids, properties, row_ids = self._joined()
        one_writer = write_ids[0] == write_ids[-1]  # they ascend
        one_property = (properties == properties[0]).all()
        columns = _event_columns(
            operation=DELETE,
            original=int(write_ids[0]) if one_writer else write_ids,
            bucket=int(properties[0]) if one_property else properties,
            row=row_ids,
            current=self._write_id,
        )
        file = NullRowFile(
            columns,
            ROW_COLUMN,
            self._row_type,
            codec=self._codec,
            rows=self._rows,
            stripe_bytes=self._stripe_bytes,
        )
        return file.parts()

    def _check(self, keys: list[npt.NDArray[np.int64]]) -> None:
        if min(keys[0].min(), keys[2].min()) < 0:
            raise RecordIdentifierError("an identifier with a negative write id or row id", path=self._path)
        buckets, _ = BucketProperty.decode(keys[1])
        if (buckets != self._bucket).any():
            other = int(buckets[buckets != self._bucket][0])
            raise BucketIdError(f"a row of bucket {other} in the file of bucket {self._bucket}", path=self._path)
        at = first_descent(keys)
        if at is not None:
            raise self._out_of_order(_row_key(keys, at - 1), _row_key(keys, at))
        if self._keys is not None:
            last, first = _row_key([kept[-1] for kept in self._keys], -1), _row_key(keys, 0)
            if first <= last:
                raise self._out_of_order(last, first)

    def _out_of_order(self, *keys: Key) -> RecordSequenceError:
        return RecordSequenceError(
            f"deletes out of order: {', '.join(map(str, keys))}",
            path=self._path,
            remedy="order them by write id, bucket property and row id, each row once",
        )

    def _joined(self) -> tuple[Longs, ...]:
        assert self._keys is not None
        joined = tuple(part[0] if len(part) == 1 else np.concatenate(part) for part in self._keys)
        for kept, part in zip(self._keys, joined, strict=True):
            kept[:] = [part]
        return joined

    def _key(self, place: int) -> Key:
        return _row_key(self._joined(), place)

    def _stats(self) -> str:
        return f"0,0,{self._rows}"


def _event_columns(
    *, operation: int, original: int | Longs, bucket: int | Longs, row: Longs | None, current: int
) -> list[MadeColumn]:
    """The columns before the row, of one value or of those given; without row ids they count from 0 on."""
    columns: list[MadeColumn] = []
    for field, values in zip(ACID_FIELDS, (operation, original, bucket, row, current), strict=True):
        kind: Literal["int", "bigint"] = "int" if field.type == pa.int32() else "bigint"
        if values is None:
            columns.append(RowNumbers(field.name))
        elif isinstance(values, int):
            columns.append(ConstantColumn(field.name, kind, values))
        else:
            columns.append(NumberColumn(field.name, kind, values))
    return columns


def _row_key(keys: Sequence[Ints], place: int) -> Key:
    write_id, bucket, row_id = (int(part[place]) for part in keys)
    return write_id, bucket, row_id


def _problem(array: pa.Array, kind: HiveType) -> tuple[str, str] | None:
    """Why a file cannot hold an array's values, if so, and what to do about it."""
    check = _CHECKS.get(kind.kind)
    if check is not None:
        return check(array, kind)
    if kind.kind == "array":
        assert isinstance(array, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray))
        parts = [array.flatten()]
    elif kind.kind == "map":
        assert isinstance(array, pa.MapArray)
        parts = [array.keys, array.items]
    else:
        parts = array.flatten() if isinstance(array, pa.StructArray) else []
    for part, child in zip(parts, kind.children, strict=True):
        if problem := _problem(part, child):
            return problem
    return None


def _text_problem(array: pa.Array, kind: HiveType) -> tuple[str, str] | None:
    longest = pc.max(pc.utf8_length(pc.utf8_rtrim(array, " ") if kind.kind == "char" else array)).as_py() or 0
    if longest <= kind.length:
        return None
    return f"text of {longest} characters, which Hive would cut off", "shorten it, or widen the column"


def _timestamp_problem(array: pa.Array, kind: HiveType) -> tuple[str, str] | None:
    del kind
    # With these Hive fails to read the whole file.
    return (
        ("a time before 1970 with a fraction of a second", "cut the fractions off")
        if has_early_fraction(array)
        else None
    )


_CHECKS: Final[dict[str, Callable[[pa.Array, HiveType], tuple[str, str] | None]]] = {
    "varchar": _text_problem,
    "char": _text_problem,
    "timestamp": _timestamp_problem,
}
