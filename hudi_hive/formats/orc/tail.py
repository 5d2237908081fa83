"""Parses the tail of an ORC file and rewrites it with user metadata and a calendar.

A file ends with stripe statistics, footer, postscript and one byte, the postscript's length (ORC specification v1,
"File Tail"; messages are Protocol Buffers). Arrow's writer can set neither user metadata nor the calendar, and Hive
needs both; so the footer is put together again here. Stripes and their statistics stay as they are.

Source: docs/format/hive.md#hive-acid-orc-footer.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError
from hudi_hive.formats.orc.footer import message_fields, unpacked, whole_number
from hudi_hive.formats.varints import varint

JULIAN: Final = 1
"""The calendar of days that is Julian before 1582-10-15, which Hive 4 writes."""

PROLEPTIC_GREGORIAN: Final = 2
"""The calendar of days before 1582-10-15 that Arrow has, too. Readers take files without a calendar for Julian ones."""

_FOOTER_LENGTH, _PACKING, _BLOCK, _MAGIC = 1, 2, 3, 8000
_STRIPE, _METADATA, _ROWS, _CALENDAR = 3, 5, 6, 11
_STRIPE_ROWS: Final = 5
_DEFAULT_BLOCK: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class OrcTail:
    """Footer and postscript of an ORC file.

    Attributes:
        footer: the footer's message, unpacked.
        postscript: the postscript's message.
        length: bytes of footer, postscript and its length at the file's end.
        stripe_rows: rows of each stripe.
        rows: rows of the file.
        user_metadata: values by name.
        calendar: 0 unknown, 1 Julian and Gregorian, 2 proleptic Gregorian.
    """

    footer: bytes
    postscript: bytes
    length: int
    stripe_rows: tuple[int, ...]
    rows: int
    user_metadata: Mapping[str, bytes]
    calendar: int

    def patched(self, metadata: Mapping[str, bytes], calendar: int = PROLEPTIC_GREGORIAN) -> bytes:
        """The tail (the last ``length`` bytes) with user metadata and a calendar added.

        Args:
            metadata: values by name, none of which the file has yet.
            calendar: as the attribute.

        Raises:
            UnsupportedFormatError: the file has one of the names already.
        """
        if known := sorted(set(metadata) & set(self.user_metadata)):
            raise UnsupportedFormatError(f"ORC file has the user metadata {', '.join(known)} already")
        added = [
            bytes_field(_METADATA, bytes_field(1, name.encode()) + bytes_field(2, value))
            for name, value in metadata.items()
        ]
        # The last value of a protobuf field counts, so an earlier calendar field may stay.
        footer = self.footer + b"".join(added) + number_field(_CALENDAR, calendar)
        fields = dict(message_fields(self.postscript))
        if whole_number(fields.get(_PACKING, 0)):
            footer = _chunks(footer, whole_number(fields.get(_BLOCK, _DEFAULT_BLOCK)))
        postscript = b"".join(
            message_field(number, value)
            for number, value in message_fields(self.postscript)
            if number != _FOOTER_LENGTH
        )
        postscript = number_field(_FOOTER_LENGTH, len(footer)) + postscript
        return footer + postscript + bytes([len(postscript)])


def read_tail(stream: pa.NativeFile, path: str) -> OrcTail:
    """Read the tail of an open ORC file.

    Args:
        stream: the open file.
        path: its URI, for messages.

    Raises:
        CorruptFileError: the tail breaks the format.
        UnsupportedFormatError: the footer is packed in a way that is not unpacked here (LZO, LZ4).
    """
    size = stream.size()
    end = stream.read_at(min(size, 16 * 1024), max(0, size - 16 * 1024))
    need = _length(end, path)
    return parse_tail(end if need <= len(end) else stream.read_at(need, max(0, size - need)), path)


def parse_tail(data: bytes, path: str) -> OrcTail:
    """Parse the tail of a file from its last bytes, which must include footer and postscript.

    Raises:
        CorruptFileError, UnsupportedFormatError: as :func:`read_tail`.
    """
    length = _length(data, path)
    try:
        if length > len(data):
            raise ValueError("too short")
        postscript = data[-1 - data[-1] : -1]
        fields = dict(message_fields(postscript))
        packed = data[len(data) - length : len(data) - 1 - data[-1]]
        footer = unpacked(
            packed, whole_number(fields.get(_PACKING, 0)), whole_number(fields.get(_BLOCK, _DEFAULT_BLOCK))
        )
        if footer is None:
            raise UnsupportedFormatError("ORC footer in a compression that is not unpacked", path=path)
        return _parsed(footer, postscript, length)
    except (ValueError, IndexError, zlib.error, pa.ArrowException) as error:
        raise _corrupt(error, path) from error


def _corrupt(error: Exception, path: str) -> CorruptFileError:
    return CorruptFileError(f"ORC file tail cannot be decoded: {error}", path=path)


def _length(data: bytes, path: str) -> int:
    """The number of bytes of footer, postscript and its length byte."""
    try:
        fields = dict(message_fields(data[-1 - data[-1] : -1]))
        if fields.get(_MAGIC) != b"ORC":
            raise ValueError("no ORC magic")
        return whole_number(fields.get(_FOOTER_LENGTH, 0)) + data[-1] + 1
    except (ValueError, IndexError) as error:
        raise _corrupt(error, path) from error


def _parsed(footer: bytes, postscript: bytes, length: int) -> OrcTail:
    stripes: list[int] = []
    metadata: dict[str, bytes] = {}
    rows = calendar = 0
    for number, value in message_fields(footer):
        if number == _STRIPE and isinstance(value, bytes):
            stripes.append(whole_number(dict(message_fields(value)).get(_STRIPE_ROWS, 0)))
        elif number == _METADATA and isinstance(value, bytes):
            item = dict(message_fields(value))
            name, content = item.get(1, b""), item.get(2, b"")
            if isinstance(name, int) or isinstance(content, int):
                raise ValueError("a number where bytes must be")
            metadata[name.decode()] = content
        elif number == _ROWS:
            rows = whole_number(value)
        elif number == _CALENDAR:
            calendar = whole_number(value)
    return OrcTail(footer, postscript, length, tuple(stripes), rows, metadata, calendar)


def _chunks(data: bytes, block: int) -> bytes:
    """Split bytes into chunks that are marked as not compressed, which every codec allows."""
    parts = []
    for start in range(0, len(data), block):
        chunk = data[start : start + block]
        parts.append((len(chunk) << 1 | 1).to_bytes(3, "little") + chunk)
    return b"".join(parts)


def message_field(number: int, value: int | bytes) -> bytes:
    """A protobuf field: a varint for an integer, else length and bytes."""
    return bytes_field(number, value) if isinstance(value, bytes) else number_field(number, value)


def replaced_numbers(message: bytes, numbers: Mapping[int, int]) -> bytes:
    """Replace the numbers in some fields of a protobuf message.

    Args:
        message: what has the fields.
        numbers: new values by the fields' numbers.
    """
    return b"".join(message_field(number, numbers.get(number, value)) for number, value in message_fields(message))


def number_field(number: int, value: int) -> bytes:
    """A protobuf field that holds a varint."""
    return varint(number << 3) + varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    """A protobuf field that holds bytes, a text or a message."""
    return varint(number << 3 | 2) + varint(len(value)) + value
