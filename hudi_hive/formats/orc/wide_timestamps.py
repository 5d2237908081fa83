"""Reads stripes with timestamps that 64-bit nanoseconds do not hold, as microseconds.

Arrow's ORC reader gives nanoseconds and refuses times before 1677 and after 2262. ORC keeps whole seconds and
nanoseconds in two streams, the seconds encoded as a ``bigint``; so the same file, with ``bigint`` for ``timestamp`` in
its footer, gives the seconds, nested columns and nulls included, and the nanoseconds are decoded here.

Source: ORC specification v1, "Timestamp Columns"; the rule for seconds before 1970 is that of ORC's readers.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import CorruptFileError, UnsupportedAcidValueError
from hudi_hive.formats.orc.footer import message_fields, read_varint, unpacked, whole_number
from hudi_hive.formats.orc.hive_values import days_as_hive_reads
from hudi_hive.formats.orc.null_struct_children import list_offsets
from hudi_hive.formats.orc.run_lengths import unsigned_numbers
from hudi_hive.formats.orc.tail import OrcTail, bytes_field, message_field, number_field, read_tail

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_LONG, _TIMESTAMP, _LIST, _MAP, _STRUCT = 4, 9, 10, 11, 12
_DATA_STREAM, _SECONDARY, _VERSION_2 = 1, 5, (2, 3)
_EPOCH_S: Final = 1_420_070_400
"""2015-01-01, from which ORC counts."""

_UTC: Final = ("", "UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z", "Zulu", "Etc/UCT", "UCT", "Universal")
_DAY_US: Final = 86_400_000_000
_OUT_OF_RANGE: Final = "out of range for nanosecond resolution"


def is_out_of_range(error: pa.ArrowInvalid) -> bool:
    """Whether Arrow refused a timestamp that nanoseconds do not hold."""
    return _OUT_OF_RANGE in str(error)


def read_wide_stripe(stream: pa.NativeFile, stripe: int, columns: Sequence[str], path: str) -> pa.RecordBatch:
    """Read a stripe with all its timestamps as microseconds.

    Args:
        stream: the open file.
        stripe: number of the stripe.
        columns: names as of ``pyarrow.orc.ORCFile.read_stripe``.
        path: the file's URI, for messages.

    Raises:
        UnsupportedAcidValueError: a time finer than microseconds, one that the writer's time zone shifts, or one before
            1582-10-15 in a file that does not say its calendar.
        UnsupportedFormatError: the footer is packed in a way that is not unpacked here (LZO, LZ4).
        CorruptFileError: the file breaks the format.
    """
    import pyarrow.orc as orc

    tail = read_tail(stream, path)
    types = _types(tail.footer)
    with pa.PythonFile(_Overlay(stream, _patched_tail(tail)), mode="r") as patched:
        batch = orc.ORCFile(patched).read_stripe(stripe, columns=list(columns))
    reader = _StripeReader(stream, tail, stripe, types, path)
    names = types[0].names
    arrays = [
        reader.converted(batch.column(place), types[0].children[names.index(name)])
        for place, name in enumerate(batch.schema.names)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


@dataclass(frozen=True, slots=True)
class _Type:
    """A type of the footer: its kind, the numbers of its children, and their names in a struct."""

    kind: int
    children: tuple[int, ...]
    names: tuple[str, ...]


def _types(footer: bytes) -> list[_Type]:
    types = []
    for number, message in message_fields(footer):
        if number != 4 or not isinstance(message, bytes):
            continue
        kind, children, names = 0, list[int](), list[str]()
        for part, value in message_fields(message):
            if part == 1:
                kind = whole_number(value)
            elif part == 2:
                children += _packed(value) if isinstance(value, bytes) else [value]
            elif part == 3 and isinstance(value, bytes):
                names.append(value.decode())
        types.append(_Type(kind, tuple(children), tuple(names)))
    return types


def _packed(value: bytes) -> list[int]:
    numbers, position = [], 0
    while position < len(value):
        number, position = read_varint(value, position)
        numbers.append(number)
    return numbers


def _patched_tail(tail: OrcTail) -> bytes:
    """The tail with ``bigint`` for ``timestamp``."""
    footer = b"".join(
        bytes_field(4, _as_long(value)) if number == 4 and isinstance(value, bytes) else message_field(number, value)
        for number, value in message_fields(tail.footer)
    )
    # Everything else of the tail stays as it is: the calendar is added with its own value.
    return OrcTail(
        footer, tail.postscript, tail.length, tail.stripe_rows, tail.rows, tail.user_metadata, tail.calendar
    ).patched({}, tail.calendar)


def _as_long(message: bytes) -> bytes:
    parts = list(message_fields(message))
    if dict(parts).get(1) != _TIMESTAMP:
        return message
    return number_field(1, _LONG) + b"".join(message_field(number, value) for number, value in parts if number != 1)


class _Overlay(io.RawIOBase):
    """A file with another tail."""

    def __init__(self, stream: pa.NativeFile, tail: bytes) -> None:
        super().__init__()
        self._stream, self._tail = stream, tail
        whole = stream.read_at(1, stream.size() - 1)[0]
        postscript = dict(message_fields(stream.read_at(whole, stream.size() - 1 - whole)))
        self._body_bytes = stream.size() - 1 - whole - whole_number(postscript.get(1, 0))
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._body_bytes + len(self._tail)}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        start, end = self._position, self._position + len(target)
        data = self._stream.read_at(min(end, self._body_bytes) - start, start) if start < self._body_bytes else b""
        data += self._tail[max(0, start - self._body_bytes) : max(0, end - self._body_bytes)]
        target[: len(data)] = data
        self._position += len(data)
        return len(data)


class _StripeReader:
    """Turns seconds of a stripe into microseconds."""

    def __init__(self, stream: pa.NativeFile, tail: OrcTail, stripe: int, types: Sequence[_Type], path: str) -> None:
        self._stream, self._tail, self._types, self._path = stream, tail, types, path
        fields = dict(message_fields(tail.postscript))
        self._packing, self._block = whole_number(fields.get(2, 0)), whole_number(fields.get(3, 256 * 1024))
        self._streams: dict[tuple[int, int], tuple[int, int]] = {}
        self._encodings: list[int] = []
        zone = ""
        messages = [value for number, value in message_fields(tail.footer) if number == 3 and isinstance(value, bytes)]
        parts = dict(message_fields(messages[stripe]))
        offset, *lengths = (whole_number(parts.get(part, 0)) for part in (1, 2, 3, 4))
        footer = self._unpacked(offset + lengths[0] + lengths[1], lengths[2])
        for number, value in message_fields(footer):
            if number == 1 and isinstance(value, bytes):
                one = dict(message_fields(value))
                kind, column, length = (whole_number(one.get(part, 0)) for part in (1, 2, 3))
                self._streams[kind, column] = (offset, length)
                offset += length
            elif number == 2 and isinstance(value, bytes):
                self._encodings.append(whole_number(dict(message_fields(value)).get(1, 0)))
            elif number == 3 and isinstance(value, bytes):
                zone = value.decode()
        self._zone = zone

    def _unpacked(self, offset: int, length: int) -> bytes:
        data = unpacked(self._stream.read_at(length, offset), self._packing, self._block)
        if data is None:
            raise self._refused("in a compression that is not unpacked here", "let Hive write the rows anew")
        return data

    def _refused(self, why: str, remedy: str) -> UnsupportedAcidValueError:
        return UnsupportedAcidValueError(
            f"a timestamp before 1677-09-22 or after 2262-04-11 {why}", path=self._path, remedy=remedy
        )

    def converted(self, array: pa.Array, number: int) -> pa.Array:
        """A column with microseconds in place of the seconds of its timestamps."""
        kind = self._types[number]
        if kind.kind == _TIMESTAMP:
            return self._times(array, number)
        if isinstance(array, pa.StructArray) and kind.kind == _STRUCT:
            names = [field.name for field in array.type]
            children = [
                self.converted(child, kind.children[kind.names.index(name)])
                for child, name in zip(array.flatten(), names, strict=True)
            ]
            fields = [pa.field(name, child.type) for name, child in zip(names, children, strict=True)]
            return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null())
        if isinstance(array, pa.MapArray) and kind.kind == _MAP:
            entry = pa.struct([array.type.key_field.with_nullable(False), array.type.item_field])
            lists = array.cast(pa.list_(entry))
            entries = lists.flatten()
            assert isinstance(entries, pa.StructArray)
            keys, items = (
                self.converted(part, child) for part, child in zip(entries.flatten(), kind.children, strict=True)
            )
            return pa.MapArray.from_arrays(list_offsets(lists), keys, items)
        if isinstance(array, pa.ListArray) and kind.kind == _LIST:
            return pa.ListArray.from_arrays(list_offsets(array), self.converted(array.flatten(), kind.children[0]))
        return array

    def _times(self, seconds: pa.Array, number: int) -> pa.Array:
        if self._zone not in _UTC:
            raise self._refused(f"in a file of the time zone {self._zone}", "let Hive 3.1 or later write the rows anew")
        valid = seconds.is_valid().to_numpy(zero_copy_only=False)
        whole = seconds.drop_null().to_numpy() + _EPOCH_S
        nanos = self._nanos(number, len(whole))
        whole = np.where((whole < 0) & (nanos > 999_999), whole - 1, whole)
        if (nanos % 1000).any():
            raise self._refused("beside one that is finer than microseconds", "read other columns")
        times = np.zeros(len(valid), np.int64)
        times[valid] = self._of_calendar(whole * 1_000_000 + nanos // 1000)
        return pa.array(times, pa.timestamp("us"), mask=~valid)

    def _nanos(self, number: int, count: int) -> npt.NDArray[np.int64]:
        offset, length = self._streams.get((_SECONDARY, number), (0, 0))
        version = 2 if self._encodings[number] in _VERSION_2 else 1
        try:
            packed = unsigned_numbers(self._unpacked(offset, length), count, version=version)
        except (ValueError, IndexError, OverflowError, zlib.error, pa.ArrowException) as error:
            raise CorruptFileError(f"nanoseconds of a column cannot be decoded: {error}", path=self._path) from error
        zeros = (packed & np.uint64(7)).astype(np.int64)
        nanos: npt.NDArray[np.int64] = (packed >> np.uint64(3)).astype(np.int64)
        return np.where(zeros > 0, nanos * 10 ** (zeros + 1), nanos)

    def _of_calendar(self, times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Days of the Julian calendar, which Hive 4 writes, are moved as those of dates are."""
        days = times // _DAY_US
        read = days_as_hive_reads(pa.array(days.astype(np.int32), pa.date32()), self._tail.calendar, self._path)
        moved: npt.NDArray[np.int64] = read.cast(pa.int32()).to_numpy().astype(np.int64)
        return moved * _DAY_US + times % _DAY_US
