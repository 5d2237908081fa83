"""Reads column ranges of ORC stripes, by which stripes are skipped in which no row can pass a filter.

Integers, dates and texts have ranges, other types have none. Statistics are in a part of their own before the
footer (ORC specification v1, "File Tail" and "Column Statistics"; messages are Protocol Buffers).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from hudi_hive.formats.orc.footer import message_fields, read_varint, unpacked, whole_number
from hudi_hive.predicate import ColumnRange

_FOOTER_LENGTH, _PACKING, _BLOCK, _METADATA_LENGTH, _WRITER = 1, 2, 3, 5, 6
_DEFAULT_BLOCK: Final = 256 * 1024
_FIRST_TRUSTED: Final = 1
"""Writer version since which bounds of stripes are right (HIVE-8732)."""

_WHOLE: Final = (1, 2, 3, 4)
_TEXT: Final = (7, 16)
_DATE: Final = 15
_INTEGER_STATISTICS, _STRING_STATISTICS, _DATE_STATISTICS = 2, 4, 7
_FIRST_GREGORIAN_DAY: Final = -141_427
"""1582-10-15: writers differ in what they call the days before."""


@dataclass(frozen=True, slots=True)
class _Type:
    kind: int
    children: tuple[int, ...]
    names: tuple[str, ...]


def stripe_ranges(
    stream: pa.NativeFile, columns: Mapping[tuple[str, ...], pa.DataType]
) -> dict[tuple[str, ...], ColumnRange]:
    """Ranges of the given columns in each stripe, by column path; columns without reliable statistics are left out.

    Args:
        stream: the open file.
        columns: paths of columns, of which all but the last name are structs that are never null, and the types in
            which ranges are wanted; a file's column of another kind is left out.
    """
    try:
        tail = _read(stream)
        if tail is None:
            return {}
        types, rows, stripes = tail
        if any(len(stripe) != len(types) for stripe in stripes) or len(stripes) != len(rows):
            return {}
        result = {}
        for path, wanted in columns.items():
            number = _number(types, path)
            if number is not None and _fits(types[number].kind, wanted):
                result[path] = _range([stripe[number] for stripe in stripes], types[number].kind, wanted, rows)
        return result
    except (ValueError, IndexError, OverflowError, zlib.error, pa.ArrowException):
        return {}  # the file is read without them


def _read(stream: pa.NativeFile) -> tuple[list[_Type], list[int], list[list[bytes]]] | None:
    """Types, rows of each stripe, and statistics of each column and stripe; None if they are not reliable."""
    size = stream.size()
    end = stream.read_at(min(size, 256), max(0, size - 256))
    postscript = dict(message_fields(end[-1 - end[-1] : -1]))
    if whole_number(postscript.get(_WRITER, 0)) < _FIRST_TRUSTED:
        return None
    packing, block = whole_number(postscript.get(_PACKING, 0)), whole_number(postscript.get(_BLOCK, _DEFAULT_BLOCK))
    lengths = [whole_number(postscript.get(part, 0)) for part in (_METADATA_LENGTH, _FOOTER_LENGTH)]
    start = size - 1 - end[-1] - sum(lengths)
    if start < 0:
        return None
    data = stream.read_at(sum(lengths), start)
    metadata, footer = (unpacked(part, packing, block) for part in (data[: lengths[0]], data[lengths[0] :]))
    if metadata is None or footer is None:
        return None
    stripes = [[one for _, one in message_fields(_bytes(stripe))] for _, stripe in message_fields(metadata)]
    types = [_type(_bytes(value)) for number, value in message_fields(footer) if number == 4]
    rows = [
        whole_number(dict(message_fields(_bytes(value))).get(5, 0))
        for number, value in message_fields(footer)
        if number == 3
    ]
    return types, rows, [[_bytes(one) for one in stripe] for stripe in stripes]


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where bytes must be")
    return value


def _type(message: bytes) -> _Type:
    kind, children, names = 0, list[int](), list[str]()
    for number, value in message_fields(message):
        if number == 1:
            kind = whole_number(value)
        elif number == 2 and isinstance(value, int):
            children.append(value)
        elif number == 2:
            place = 0
            while place < len(_bytes(value)):
                child, place = read_varint(_bytes(value), place)
                children.append(child)
        elif number == 3:
            names.append(_bytes(value).decode())
    return _Type(kind, tuple(children), tuple(names))


def _number(types: Sequence[_Type], path: Sequence[str]) -> int | None:
    """The ORC column id of a path."""
    at = 0
    for name in path:
        if types[at].names.count(name) != 1:
            return None
        at = types[at].children[types[at].names.index(name)]
    return at


def _fits(kind: int, arrow: pa.DataType) -> bool:
    if kind in _WHOLE:
        return bool(pa.types.is_signed_integer(arrow))
    if kind in _TEXT:
        return bool(pa.types.is_string(arrow))
    return kind == _DATE and bool(pa.types.is_date32(arrow))


def _range(messages: Sequence[bytes], kind: int, arrow: pa.DataType, rows: Sequence[int]) -> ColumnRange:
    bounds = [_bounds(message, kind) for message in messages]
    exact = kind not in _TEXT
    stored = pa.int32() if kind == _DATE else arrow
    low, high = (pa.array([pair[side] for pair in bounds], stored).cast(arrow) for side in (0, 1))
    nulls = pa.nulls(len(rows), pa.int64())
    return ColumnRange(low, high, nulls, pa.array(rows, pa.int64()), nan_possible=False, exact=exact)


def _bounds(message: bytes, kind: int) -> tuple[int | str | None, int | str | None]:
    """Minimum and maximum of a column in a stripe."""
    field = _STRING_STATISTICS if kind in _TEXT else _DATE_STATISTICS if kind == _DATE else _INTEGER_STATISTICS
    statistics = dict(message_fields(message)).get(field)
    values = {} if statistics is None else dict(message_fields(_bytes(statistics)))
    if 1 not in values or 2 not in values:
        return None, None
    if kind in _TEXT:
        return _bytes(values[1]).decode(), _bytes(values[2]).decode()
    low, high = (_signed(whole_number(values[part])) for part in (1, 2))
    if kind == _DATE and low < _FIRST_GREGORIAN_DAY:
        return None, None
    return low, high


def _signed(number: int) -> int:
    return number >> 1 ^ -(number & 1)
