"""Decodes DELETE blocks of log files: the deleted keys as an Arrow table.

A block holds key, partition path and, where the writer knew one, the ordering value of each deleted record. The value
is wrapped in a record per type; int 0 stands for "no ordering value".

Source: docs/format.md#delete-blocks.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import CorruptFileError, SchemaError, UnsupportedFormatError
from hudi_hive.formats.avro import avro_to_arrow, decode_records, describe
from hudi_hive.formats.log.block import BlockType, LogBlock
from hudi_hive.formats.log.kryo_deletes import decode_old_deletes

DELETE_BLOCK_VERSION: Final = 3
_OLD_VERSIONS: Final = (1, 2)
_HEAD = struct.Struct(">ii")  # block version, bytes of the payload
_NAMESPACE: Final = "org.apache.hudi.avro.model"
_LONGEST_VARINT: Final = 10

_DECIMAL: Final = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}
# Wrapper records in the order of the union, with the Avro and the Arrow type of their value.
_WRAPPERS: Final[tuple[tuple[str, Any, pa.DataType], ...]] = (
    ("BooleanWrapper", "boolean", pa.bool_()),
    ("IntWrapper", "int", pa.int32()),
    ("LongWrapper", "long", pa.int64()),
    ("FloatWrapper", "float", pa.float32()),
    ("DoubleWrapper", "double", pa.float64()),
    ("BytesWrapper", "bytes", pa.binary()),
    ("StringWrapper", "string", pa.string()),
    ("DateWrapper", "int", pa.date32()),
    ("DecimalWrapper", _DECIMAL, pa.decimal128(30, 15)),
    ("TimeMicrosWrapper", {"type": "long", "logicalType": "time-micros"}, pa.time64("us")),
    ("TimestampMicrosWrapper", "long", pa.timestamp("us", "UTC")),
)
_LOCAL_DATE: Final = ("LocalDateWrapper", "int", pa.date32())
_TYPES: Final = tuple(arrow for _, _, arrow in (*_WRAPPERS, _LOCAL_DATE))
_ARRAY_MEMBER: Final = len(_WRAPPERS)


def _wrapper(name: str, value: object) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": "value", "type": value}]}


def _optional(name: str, kind: list[Any]) -> dict[str, Any]:
    return {"name": name, "type": ["null", *kind], "default": None}


# Release 1.1 appended the array, for several ordering fields, to the union of the releases before.
_IN_ARRAY: Final[list[Any]] = ["null", *(name for name, _, _ in _WRAPPERS), _wrapper(*_LOCAL_DATE[:2])]
_ARRAY_WRAPPER: Final[dict[str, Any]] = {
    "type": "record",
    "name": "ArrayWrapper",
    "fields": [_optional("wrappedValues", [{"type": "array", "items": _IN_ARRAY}])],
}
DELETE_RECORD: Final[dict[str, Any]] = {
    "type": "record",
    "name": "HoodieDeleteRecord",
    "namespace": _NAMESPACE,
    "fields": [
        _optional("recordKey", ["string"]),
        _optional("partitionPath", ["string"]),
        _optional("orderingVal", [*(_wrapper(name, value) for name, value, _ in _WRAPPERS), _ARRAY_WRAPPER]),
    ],
}
"""Avro schema of one entry of a delete block; the block holds an array of them."""


def decode_deletes(block: LogBlock) -> pa.Table:
    """Decode the deleted keys of a DELETE block, in the order of the block.

    Columns: ``record_key`` and ``partition_path`` (strings), ``ordering`` (the ordering value in its own type; a struct
    ``f0, f1, …`` where the table has several ordering fields; of type null where no record has one), ``has_ordering``.
    A delete without an ordering value wins over whatever was written before it.

    Args:
        block: a block of type DELETE.

    Raises:
        UnsupportedFormatError: another type of block, or a block version that we cannot decode.
        CorruptFileError: lengths or records are damaged.
    """
    version, payload = _payload(block)
    if version in _OLD_VERSIONS:
        return _old_deletes(version, payload, block)
    try:
        starts, ends = _Walk(payload).records()
        batch = decode_records(payload, starts, ends, DELETE_RECORD)
        wrapped = batch.column("orderingVal")
        assert isinstance(wrapped, pa.StructArray)
        ordering = _multiple(wrapped, block) if _any(_members(wrapped)[_ARRAY_MEMBER]) else _single(wrapped, block)
    except (CorruptFileError, IndexError, pa.ArrowException) as error:
        raise _damaged(block, error) from error
    return pa.table(
        {
            "record_key": batch.column("recordKey"),
            "partition_path": batch.column("partitionPath"),
            "ordering": ordering,
            "has_ordering": pc.is_valid(ordering),
        }
    )


def was_written_by_kryo(block: LogBlock) -> bool:
    """Whether a DELETE block is of version 1 or 2: ordering values have the Java classes that the writer had."""
    return _payload(block)[0] in _OLD_VERSIONS


def _damaged(block: LogBlock, error: Exception) -> CorruptFileError:
    message = error.message if isinstance(error, CorruptFileError) else describe(error)
    message = f"delete block at offset {block.offset} is damaged: {message}"
    return CorruptFileError(message, path=block.path, instant=block.instant)


def _old_deletes(version: int, payload: bytes, block: LogBlock) -> pa.Table:
    """The deletes of a block that Hudi 0.13 or an older release wrote."""
    try:
        deletes = decode_old_deletes(payload)
        # The int 0 means "no ordering value", as in version 3.
        values = [None if value == 0 and type(value) is int else value for _, _, value in deletes]
        ordering = pa.array(values) if values else pa.nulls(0)
    except (CorruptFileError, pa.ArrowException) as error:
        raise _damaged(block, error) from error
    except UnsupportedFormatError as error:
        raise UnsupportedFormatError(
            f"delete block version {version} with {error.message.removeprefix('delete records with ')}",
            path=block.path,
            instant=block.instant,
            remedy="compact the table with the release that wrote it",
        ) from error
    return pa.table(
        {
            "record_key": pa.array([delete.record_key for delete in deletes], pa.string()),
            "partition_path": pa.array([delete.partition_path for delete in deletes], pa.string()),
            "ordering": ordering,
            "has_ordering": pc.is_valid(ordering),
        }
    )


def _payload(block: LogBlock) -> tuple[int, bytes]:
    """The block's version and what its records were written to."""
    if block.type is not BlockType.DELETE:
        raise UnsupportedFormatError(f"{block.type.name} block where DELETE is due", path=block.path)
    content = block.content
    if len(content) < _HEAD.size:
        raise CorruptFileError(f"delete block at offset {block.offset} is too short", path=block.path)
    version, length = _HEAD.unpack_from(content, 0)
    if version != DELETE_BLOCK_VERSION and version not in _OLD_VERSIONS:
        raise UnsupportedFormatError(
            f"delete block version {version}: versions 1 to {DELETE_BLOCK_VERSION} are known",
            path=block.path,
            instant=block.instant,
        )
    if length != len(content) - _HEAD.size:
        raise CorruptFileError(f"length of the delete block at offset {block.offset} is wrong", path=block.path)
    return version, bytes(content[_HEAD.size :])


# -- where the records lie -------------------------------------------------------------------------------------------

_FIXED_WIDTHS: Final = {1: 1, 4: 4, 5: 8}  # branch of the union -> bytes: boolean, float, double
_WITH_LENGTH: Final = frozenset((6, 7, 9))  # bytes, string, decimal
_ARRAY_BRANCH: Final = _ARRAY_MEMBER + 1  # inside of an array the local date has this number


class _Walk:
    """Steps over the array of delete records to find where each begins.

    No length is trusted: a step beyond the end raises IndexError at the next byte that is read.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def records(self) -> tuple[np.ndarray, np.ndarray]:
        """Start and end offsets of the records."""
        starts: list[int] = []
        ends: list[int] = []
        data, at = self._data, self._at
        while count := self._count(at):
            at = self._at
            for _ in range(count):
                starts.append(at)
                for _ in range(2):  # key, partition path
                    branch, length = data[at], 0
                    at += 1
                    if branch == 2:
                        length = data[at]
                        if length & 0x81:  # of more than one byte, or negative
                            length, at = self._length(at)
                        else:
                            length >>= 1
                            at += 1
                    elif branch:
                        raise CorruptFileError("a key is neither text nor null")
                    at += length
                branch = data[at]
                at = at + 1 if branch == 0 else self._behind_value(at)
                ends.append(at)
        if self._at != len(data):
            raise CorruptFileError("its records do not fill it")
        return np.array(starts, np.int64), np.array(ends, np.int64)

    def _count(self, at: int) -> int:
        """Read the number of items in the array block at a position, and store the position behind it."""
        count, self._at = self._varint(at)
        if count < 0:  # a negative count is followed by the block's bytes
            _, self._at = self._varint(self._at)
        return abs(count)

    def _behind_value(self, at: int, *, in_array: bool = False) -> int:
        """Position behind the wrapped value, null or not, at a position."""
        branch, at = self._varint(at)
        if not 0 <= branch <= _ARRAY_BRANCH:
            raise CorruptFileError(f"there is no ordering value of kind {branch}")
        if branch == 0:
            return at
        if branch == _ARRAY_BRANCH and not in_array:
            return self._behind_array(at)
        if branch in _FIXED_WIDTHS:
            return at + _FIXED_WIDTHS[branch]
        if branch in _WITH_LENGTH:
            length, at = self._length(at)
            return at + length
        return self._varint(at)[1]

    def _behind_array(self, at: int) -> int:
        present, at = self._varint(at)
        if present not in (0, 1):
            raise CorruptFileError(f"there is no list of ordering values of kind {present}")
        if present:
            while count := self._count(at):
                at = self._at
                for _ in range(count):
                    at = self._behind_value(at, in_array=True)
            at = self._at
        return at

    def _length(self, at: int) -> tuple[int, int]:
        length, at = self._varint(at)
        if length < 0:
            raise CorruptFileError("a length is negative")
        return length, at

    def _varint(self, at: int) -> tuple[int, int]:
        """Zig-zag number at a position, and the position behind it."""
        value = 0
        for i in range(_LONGEST_VARINT):
            byte = self._data[at + i]
            value |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1), at + i + 1
        raise CorruptFileError("a number has more than ten bytes")


# -- ordering values -------------------------------------------------------------------------------------------------


def _members(wrapped: pa.StructArray) -> list[pa.StructArray]:
    return cast(list[pa.StructArray], wrapped.flatten())  # the wrapper records of the union


def _any(array: pa.Array) -> bool:
    return bool(array.null_count < len(array))


def _single(wrapped: pa.StructArray, block: LogBlock) -> pa.Array:
    """Values of one ordering field; null where there is none."""
    values = _values(wrapped)
    if 1 in values:
        # The default of a missing ordering value is the int 0, whatever the field's type.
        ints = values[1]
        values[1] = pc.if_else(pc.equal(ints, 0), pa.scalar(None, ints.type), ints)
        if not _any(values[1]):
            del values[1]
    return _one_type(list(values.values()), len(wrapped), block)


def _multiple(wrapped: pa.StructArray, block: LogBlock) -> pa.Array:
    """Values of several ordering fields as a struct; null where there are none."""
    lists = _members(wrapped)[_ARRAY_MEMBER].flatten()[0]
    widths = pc.list_value_length(lists)
    sizes = pc.drop_null(pc.unique(pc.if_else(pc.equal(widths, 0), pa.scalar(None, widths.type), widths)))
    if _any(pc.if_else(pc.is_null(lists), _without_default(wrapped), pa.scalar(None, pa.bool_()))) or len(sizes) > 1:
        raise CorruptFileError("ordering values are different in number")
    if not len(sizes):
        return pa.nulls(len(wrapped))
    present = pc.fill_null(pc.greater(widths, 0), False)
    rows = np.cumsum(present.to_numpy(zero_copy_only=False)) - 1
    full = lists.filter(present)
    fields = []
    for i in range(sizes[0].as_py()):
        column = pc.list_element(full, i)
        assert isinstance(column, pa.StructArray)
        values = _values(column)
        field = _one_type(list(values.values()), len(column), block)
        fields.append(field.take(pa.array(rows, mask=~present.to_numpy(zero_copy_only=False))))
    return pa.StructArray.from_arrays(fields, [f"f{i}" for i in range(len(fields))], mask=pc.invert(present))


def _without_default(wrapped: pa.StructArray) -> pa.Array:
    """True where a record has a single ordering value that is not the int 0, else null."""
    values = _values(wrapped)
    is_default = pa.nulls(len(wrapped), pa.bool_())
    for member, array in values.items():
        there = pc.not_equal(array, 0) if member == 1 else pc.is_valid(array)
        is_default = pc.if_else(pc.fill_null(there, False), True, is_default)
    return is_default


def _values(wrapped: pa.StructArray) -> dict[int, pa.Array]:
    """The values in their Arrow types by index of the union's member, for the members that occur."""
    arrays: dict[int, pa.Array] = {}
    for number, (member, arrow) in enumerate(zip(_members(wrapped), _TYPES, strict=False)):
        if _any(member) and not (number == _ARRAY_MEMBER and "wrappedValues" in {field.name for field in member.type}):
            arrays[number] = member.flatten()[0].cast(arrow)
    return arrays


def _one_type(arrays: list[pa.Array], length: int, block: LogBlock) -> pa.Array:
    """Combine arrays of different types to one array; numbers get the widest of their types."""
    if not arrays:
        return pa.nulls(length)
    types = {array.type for array in arrays}
    arrow = types.pop() if len(types) == 1 else _widest(types)
    if arrow is None:
        raise UnsupportedFormatError(
            "deletes of one log block have ordering values of different types", path=block.path, instant=block.instant
        )
    return pc.coalesce(*(array.cast(arrow) for array in arrays))


def _widest(types: set[pa.DataType]) -> pa.DataType | None:
    for among, widest in (
        ({pa.int32(), pa.int64()}, pa.int64()),
        ({pa.float32(), pa.float64()}, pa.float64()),
    ):
        if types <= among:
            return widest
    return None


# -- ordering values to their wrappers -------------------------------------------------------------------------------


def _record(kind: pa.DataType) -> pa.StructType:
    assert isinstance(kind, pa.StructType)
    return kind


_UNION: Final = _record(avro_to_arrow(DELETE_RECORD).field("orderingVal").type)
_INT_WRAPPER: Final = _record(_UNION.field(1).type)
_HOLDER: Final = _record(_UNION.field(_ARRAY_MEMBER).type)


def wrap_ordering(columns: Sequence[pa.Array], rows: int) -> pa.StructArray:
    """Wrap ordering values in the union of delete records; rows without a value get the int 0, which means none.

    Args:
        columns: the ordering fields, in their order; none where the table has none.
        rows: number of deletes.

    Raises:
        SchemaError: a type that has no order in Hudi, a decimal that its wrapper cannot hold, or a row with a value in
            some of several fields only.
    """
    none = np.ones(rows, np.bool_)
    for column in columns:
        none &= pc.is_null(column).to_numpy(zero_copy_only=False)
    if len(columns) < 2:
        arrays = [pa.nulls(rows, member.type) for member in _UNION]
        if columns and not none.all():
            number, values = _unwrapped(columns[0])
            arrays[number] = _held(values, _record(_UNION.field(number).type))
        zero = _held(pa.array(np.zeros(rows, np.int32), mask=~none), _INT_WRAPPER)
        arrays[1] = pc.if_else(pa.array(none), zero, arrays[1]) if arrays[1].null_count < rows else zero
        return pa.StructArray.from_arrays(arrays, fields=list(_UNION))
    if any((pc.is_null(column).to_numpy(zero_copy_only=False) != none).any() for column in columns):
        raise SchemaError(
            "a delete with a value in some of the table's ordering fields only", remedy="give all or none"
        )
    return _wrap_several(columns, none)


def _wrap_several(columns: Sequence[pa.Array], none: np.ndarray) -> pa.StructArray:
    rows, lists_type = len(none), _HOLDER.field(0).type
    assert pa.types.is_list(lists_type)
    members = _record(lists_type.value_type)
    wrapped = []
    for column in columns:
        number, values = _unwrapped(column)
        arrays: list[pa.Array] = [pa.nulls(rows, member.type) for member in members]
        arrays[number] = _held(values, _record(members.field(number).type))
        wrapped.append(pa.StructArray.from_arrays(arrays, fields=list(members)))
    # Field after field to row after row.
    places = np.arange(rows * len(columns)).reshape(len(columns), rows).T.ravel()
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * len(columns), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, pa.concat_arrays(wrapped).take(pa.array(places)))
    arrays = [pa.nulls(rows, member.type) for member in _UNION]
    lists = lists.cast(lists_type)
    arrays[_ARRAY_MEMBER] = pa.StructArray.from_arrays([lists], fields=list(_HOLDER), mask=pa.array(none))
    arrays[1] = _held(pa.array(np.zeros(rows, np.int32), mask=~none), _INT_WRAPPER)
    return pa.StructArray.from_arrays(arrays, fields=list(_UNION))


def _held(values: pa.Array, holder: pa.StructType) -> pa.StructArray:
    """Make the wrapper records of values; null where there is no value."""
    return pa.StructArray.from_arrays([values.cast(holder.field(0).type)], fields=list(holder), mask=pc.is_null(values))


def _unwrapped(column: pa.Array) -> tuple[int, pa.Array]:
    """The index of the wrapper for a column's type, and the values in the wrapper's own type.

    Timestamps are long numbers: so the Avro records of base files and of log files hold them.
    """
    kind = column.type
    try:
        if pa.types.is_timestamp(kind) or pa.types.is_uint32(kind):
            return 2, column.cast(pa.int64())
        if pa.types.is_time32(kind):
            return 1, column.cast(pa.int32())
        if pa.types.is_date(kind):
            return 7, column.cast(pa.date32()).cast(pa.int32())
        if pa.types.is_decimal(kind):
            return 8, column.cast(pa.decimal128(30, 15))
    except pa.ArrowInvalid as error:
        raise SchemaError(f"ordering values of type {kind} do not fit the records of deletes") from error
    for number, (_, _, arrow) in enumerate(_WRAPPERS):
        if kind == arrow:
            return number, column
    if pa.types.is_signed_integer(kind) or pa.types.is_uint8(kind) or pa.types.is_uint16(kind):
        return 1, column.cast(pa.int32())
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return (6, column.cast(pa.string())) if pa.types.is_large_string(kind) else (5, column.cast(pa.binary()))
    raise SchemaError(f"values of type {kind} have no order")
