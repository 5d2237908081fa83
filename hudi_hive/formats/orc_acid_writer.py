"""Writing delta and delete delta files of Hive ACID tables: Arrow rows or row identifiers in, one ORC file out.

An update is a delete event and an insert event (HIVE-14035). Readers trust the order of a file: deletes that are not
ascending by (write id, bucket property, row id) are lost without an error, so nothing else is written. Arrow's writer
makes the stripes; what Hive 3.1 needs in the footer is put in afterwards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self

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
from hudi_hive.formats.hidden_values import without_hidden_values
from hudi_hive.formats.hive_type import HiveType, parse_hive_type
from hudi_hive.formats.orc_acid import (
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
from hudi_hive.formats.orc_tail import parse_tail

CODECS: Final = ("zlib", "snappy", "uncompressed")
"""Compressions that every Hive from 3.1 on reads; zstd is not one of them."""

_ROWS: Final = 1 << 16
"""Rows that become events at a time."""


class Sink(Protocol):
    """Where a file's bytes go: Arrow's output streams and Python's binary files are such."""

    def write(self, data: bytes, /) -> object:
        """Take the next bytes."""


@dataclass(frozen=True, slots=True)
class WrittenAcidFile:
    """What became of a file.

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


class _Held:
    """Python file that keeps what the ORC writer writes until it is taken."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits anywhere else."""

    def close(self) -> None:
        """Arrow closes what it writes to; what is held stays."""

    def take(self) -> bytes:
        data = b"".join(self._parts)
        self._parts.clear()
        return data


class AcidFileWriter(ABC):
    """What writers of both kinds of files share; a context manager that finishes the file unless there was an error.

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
        import pyarrow.orc as orc  # few tables have ORC files

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
        self._held = _Held()
        self._writer = orc.ORCWriter(self._held, compression=codec, stripe_size=stripe_bytes)
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
        """Events written so far."""
        return self._rows

    def discard(self) -> None:
        """Give the file up: what the sink has of it is no ORC file."""
        if not self._closed:
            self._closed = True
            self._writer.close()
            self._held.take()

    def _append(self, operation: int, keys: Sequence[Ints], row: pa.StructArray) -> None:
        count = len(row)
        numbers = [np.full(count, operation), *keys, np.full(count, self._write_id)]
        arrays = [pa.array(part, field.type) for part, field in zip(numbers, ACID_FIELDS, strict=True)]
        names = [*(field.name for field in ACID_FIELDS), "row"]
        self._writer.write(pa.Table.from_arrays([*arrays, row], names=names))
        self._rows += count
        self._drain(self._held.take())

    def _drain(self, data: bytes) -> None:
        if data:
            self._sink.write(data)
            self._size += len(data)

    def _check_open(self) -> None:
        if self._closed:
            raise MutationStateError("the file is closed", path=self._path)

    def close(self) -> WrittenAcidFile:
        """Write the last stripe and the tail.

        Raises:
            MutationStateError: the file is closed already, or has no events.
        """
        self._check_open()
        if not self._rows:
            self.discard()
            raise MutationStateError("an ACID file without events", path=self._path)
        self._closed = True
        self._writer.close()
        data = self._held.take()
        tail = parse_tail(data, self._path or "")
        ends = np.cumsum(tail.stripe_rows) - 1
        index = "".join("{},{},{};".format(*self._key(int(end))) for end in ends)
        metadata = {KEY_INDEX: index.encode(), STATS: self._stats().encode(), VERSION: b"2"}
        self._drain(data[: len(data) - tail.length])
        self._drain(tail.patched(metadata))
        return WrittenAcidFile(self._size, self._rows, len(ends), self._key(0), self._key(self._rows - 1))

    @abstractmethod
    def _key(self, place: int) -> Key:
        """Identifier of the row of an event."""

    @abstractmethod
    def _stats(self) -> str:
        """Numbers of inserts, updates and deletes."""


class DeltaWriter(AcidFileWriter):
    """Writes a bucket's file of inserted rows. Their identifiers are the write id, the bucket property and 0, 1, 2, ….

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
        self._units: dict[str, pa.DataType] = {}

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
            count = part.num_rows
            ids = np.arange(self._rows, self._rows + count)
            self._append(INSERT, [np.full(count, self._write_id), np.full(count, self._property), ids], row)

    def _value(self, name: str, kind: HiveType, text: str, column: pa.ChunkedArray) -> pa.Array:
        wanted = kind.arrow
        if kind.kind == "timestamp" and pa.types.is_timestamp(column.type) and column.type.tz is None:
            # Files have nanoseconds and a wider range than they have in 64 bits: the first rows tell the unit.
            wanted = self._units.setdefault(name, column.type)
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            raise SchemaError(f"column {name} is {text} and has no zone, the rows' {column.type}", path=self._path)
        try:
            array = (column if column.type == wanted else column.cast(wanted)).combine_chunks()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise UnsupportedAcidValueError(
                f"column {name} is {text}, the rows' {column.type}: {error}", path=self._path
            ) from error
        array = array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks or [pa.array([], wanted)])
        if problem := _problem(array, kind):
            raise UnsupportedAcidValueError(f"column {name}, {text}: {problem[0]}", path=self._path, remedy=problem[1])
        return without_hidden_values(array)

    def _key(self, place: int) -> Key:
        return self._write_id, self._property, place

    def _stats(self) -> str:
        return f"{self._rows},0,0"


class DeleteDeltaWriter(AcidFileWriter):
    """Writes a bucket's file of delete events: the identifiers of the rows that are gone, and no values.

    Args: as :class:`AcidFileWriter`.
    """

    _keys: tuple[list[Ints], list[Ints], list[Ints]] | None = None

    def write(self, write_ids: Ints, properties: Ints, row_ids: Ints) -> None:
        """Append delete events, ascending by (write id, bucket property, row id), those of earlier calls included.

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
        for start in range(0, count, _ROWS):
            events = [values[start : start + _ROWS] for values in keys]
            self._append(DELETE, events, pa.nulls(len(events[0]), self._row_type))

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

    def _key(self, place: int) -> Key:
        assert self._keys is not None
        joined = tuple(part[0] if len(part) == 1 else np.concatenate(part) for part in self._keys)
        for kept, part in zip(self._keys, joined, strict=True):
            kept[:] = [part]
        return int(joined[0][place]), int(joined[1][place]), int(joined[2][place])

    def _stats(self) -> str:
        return f"0,0,{self._rows}"


def _row_key(keys: Sequence[Ints], place: int) -> Key:
    write_id, bucket, row_id = (int(part[place]) for part in keys)
    return write_id, bucket, row_id


def _problem(array: pa.Array, kind: HiveType) -> tuple[str, str] | None:
    """Why a file cannot hold an array's values, if so, and what to do about it."""
    check = _CHECKS.get(kind.kind)
    if check is not None:
        return check(array, kind)
    if kind.kind == "array":
        parts = [array.flatten()]
    elif kind.kind == "map":
        parts = [array.keys, array.items]
    else:
        parts = array.flatten() if kind.kind == "struct" else []
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
    ticks = array.drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False)
    unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[array.type.unit]
    # Arrow's ORC writer gives these negative nanoseconds, at which Hive fails to read the whole file.
    if unit == 1 or not len(ticks) or ticks.min() >= 0 or not ((ticks < 0) & (ticks % unit != 0)).any():
        return None
    return "a time before 1970 with a fraction of a second", "cut the fractions off"


_CHECKS: Final[dict[str, Callable[[pa.Array, HiveType], tuple[str, str] | None]]] = {
    "varchar": _text_problem,
    "char": _text_problem,
    "timestamp": _timestamp_problem,
}
