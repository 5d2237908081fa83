"""Encodes records of the metadata table as bare Avro binaries, by column.

A record is its fields' binaries one behind the other, so each kind of record is a join of binary columns. The ``key``
in it is blank: HFiles hold it beside the value.

Source: docs/format.md#metadata-records, docs/format.md#metadata-record-schema, docs/format.md#hfile-file-info.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats import signed_varint
from hudi_hive.formats.base import WRAPPERS
from hudi_hive.metadata.reader import rows_of_groups
from hudi_hive.metadata.writer.record_schema import branches

ALL_PARTITIONS_TYPE: Final = 1
FILES_TYPE: Final = 2
COLUMN_STATS_TYPE: Final = 3
BLOOM_FILTER_TYPE: Final = 4
RECORD_INDEX_TYPE: Final = 5
PARTITION_STATS_TYPE: Final = 6
SECONDARY_INDEX_TYPE: Final = 7

_NULL: Final = b"\x00"
_PRESENT: Final = b"\x02"  # second branch of a union
_HEAD: Final = _NULL * 5 + b"\x00"  # the meta fields, the blank key
_SCALE: Final = 15

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Records:
    """Records to write: ``keys`` (string) and ``values`` (binary) of one length."""

    keys: pa.Array
    values: pa.Array

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def none(cls) -> Records:
        """No records."""
        return cls(pa.array([], pa.string()), pa.array([], pa.binary()))


@dataclass(frozen=True, slots=True)
class RecordChanges:
    """The part of a delta commit for one partition of the metadata table.

    Attributes:
        records: what is new.
        deleted: deleted keys, of ``files`` and of indexes of records.
        again: records, of keys among the new ones, in a block of their own behind these.
    """

    records: Records
    deleted: pa.Array | None = None
    again: Records | None = None

    @property
    def is_some(self) -> bool:
        """Whether there is anything to write."""
        return len(self.records) > 0 or (self.deleted is not None and len(self.deleted) > 0)


@dataclass(frozen=True, slots=True)
class PartitionedChanges:
    """The part of a delta commit for a record index of each partition.

    Attributes:
        each: changes of the index of each partition of the table, by its path, empty ones included: the index of a
            partition that has none yet begins with them.
        new_groups: file groups of such an index.
    """

    each: Mapping[str, RecordChanges]
    new_groups: int

    @property
    def is_some(self) -> bool:
        """Whether there may be anything to write."""
        return bool(self.each)


def join_records(parts: list[Records]) -> Records:
    """Concatenate records."""
    return Records(
        pa.concat_arrays([pa.array([], pa.string()), *(part.keys for part in parts)]),
        pa.concat_arrays([pa.array([], pa.binary()), *(part.values for part in parts)]),
    )


def whole_keys(keys: pa.Array) -> pa.Array:
    """What is hashed of keys to find their file groups: all of them."""
    return keys


def split_by_group(
    records: Records, groups: int, hashed: Callable[[pa.Array], pa.Array] = whole_keys
) -> Iterable[tuple[int, Records]]:
    """Records by the number of the file group that their key belongs to.

    Args:
        records: the records.
        groups: number of file groups.
        hashed: gives what of the keys is hashed.
    """
    if not len(records):
        return
    for number, positions in rows_of_groups(hashed(records.keys), groups):
        rows = pa.array(positions)
        yield number, Records(records.keys.take(rows), records.values.take(rows))


def file_lists(keys: pa.Array, names: pa.Array, sizes: pa.Array, deleted: pa.Array, kind: int, version: int) -> Records:
    """Encode file lists: one record for each key with its entries, which may be in any order.

    Args:
        keys: of each entry the record that it is in.
        names: names of files, or of partitions in the record of all partitions.
        sizes: bytes; 0 for partitions and tombstones.
        deleted: which entries are tombstones.
        kind: type of the records.
        version: table version.
    """
    order = pc.sort_indices(keys)
    keys, names, sizes, deleted = (column.take(order) for column in (keys, names, sizes, deleted))
    flags = pc.if_else(deleted, pa.scalar(b"\x01", pa.binary()), pa.scalar(b"\x00", pa.binary()))
    entries = _join(_texts(names), _varints(_longs(sizes)), flags)
    codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[: len(codes)]).astype(np.int64)
    ends = np.append(starts[1:], len(codes)).astype(np.int64)[: len(starts)]
    maps = _join(_varints(ends - starts), _slices(entries, starts, ends), b"\x00")
    return Records(keys.take(pa.array(starts)), _join(_head(kind), _PRESENT, maps, _NULL * _behind(version, 1)))


def empty_list(key: str, kind: int, version: int) -> Records:
    """Encode a file list without entries."""
    value = _head(kind) + _PRESENT + b"\x00" + _NULL * _behind(version, 1)
    return Records(pa.array([key], pa.string()), pa.array([value], pa.binary()))


def column_stats(table: pa.Table, kind: int, version: int) -> Records:
    """Encode column or partition statistics.

    Args:
        table: columns of ``STATS_SCHEMA`` behind ``key``; bounds are in the wrapper that the version wants.
        kind: type of the records.
        version: table version.
    """
    table = table.combine_chunks()
    column = {name: _one(table.column(name)) for name in table.column_names}
    parts: list[pa.Array | bytes] = [_head(kind), _NULL, _NULL, _PRESENT]
    parts += [_optional_texts(column["file_name"]), _optional_texts(column["column"])]
    parts += [_bounds(column["min"], version), _bounds(column["max"], version)]
    for name in ("value_count", "null_count", "total_size", "total_uncompressed_size"):
        parts.append(_optional_longs(column[name]))
    parts.append(_booleans(column["is_deleted"]))
    if version >= 8:
        parts.append(_booleans(column["is_tight"]))
    if version >= 9:
        info = _join(_PRESENT, _varints(_longs(column["value_type"])), _optional_texts(column["type_info"]))
        parts.append(pc.if_else(pc.is_valid(column["value_type"]), info, pa.scalar(_NULL, pa.binary())))
    parts.append(_NULL * _behind(version, 3))
    return Records(column["key"], _join(*parts))


def record_locations(
    keys: pa.Array, partitions: pa.Array, file_ids: pa.Array, millis: int | pa.Array, version: int
) -> Records:
    """Encode record locations of the record index.

    Args:
        keys: record keys.
        partitions: partition paths.
        file_ids: ids of the file groups.
        millis: epoch milliseconds of the instant that wrote them, one for all or of each.
        version: table version.
    """
    distinct = pc.dictionary_encode(file_ids)
    distinct = distinct.combine_chunks() if isinstance(distinct, pa.ChunkedArray) else distinct
    ids, encodings = _file_ids(distinct.dictionary.to_pylist())
    place = distinct.indices
    tail = _PRESENT + signed_varint(millis) if isinstance(millis, int) else _optional_longs(millis)
    parts: list[pa.Array | bytes] = [_head(RECORD_INDEX_TYPE), _NULL, _NULL, _NULL, _PRESENT]
    parts += [_optional_texts(partitions), ids.take(place), tail, encodings.take(place)]
    if version >= 8:
        parts.append(_NULL)  # position
    parts.append(_NULL * _behind(version, 4))
    return Records(keys, _join(*parts))


def bloom_filters(
    keys: pa.Array, kinds: pa.Array, filters: pa.Array, deleted: bool, instant: str | pa.Array, version: int
) -> Records:
    """Encode bloom filters of base files; ``filters`` is Base64 text, empty for deleted files."""
    time = _text(instant) if isinstance(instant, str) else _texts(instant)
    parts: list[pa.Array | bytes] = [_head(BLOOM_FILTER_TYPE), _NULL, _PRESENT, _texts(kinds), time, _texts(filters)]
    flag = b"\x01" if deleted else b"\x00"
    return Records(keys, _join(*parts, flag, _NULL * _behind(version, 2)))


def secondary_keys(keys: pa.Array, version: int) -> Records:
    """Encode records of a secondary index, whose keys say everything."""
    parts = [_head(SECONDARY_INDEX_TYPE), _NULL * 4, _PRESENT, b"\x00"]
    value = b"".join(parts)
    assert version >= 8
    return Records(keys, pa.array([value] * len(keys), pa.binary()))


# -- kinds of fields -----------------------------------------------------------------------------------------------


def _behind(version: int, field: int) -> int:
    """Number of fields behind the one that is filled, counted from 1, the file lists, on."""
    return (5 if version >= 8 else 4) - field


def _head(kind: int) -> bytes:
    return _HEAD + signed_varint(kind)


def _text(value: str) -> bytes:
    data = value.encode()
    return signed_varint(len(data)) + data


def _file_ids(ids: list[str]) -> tuple[pa.Array, pa.Array]:
    """Fields ``fileIdHighBits`` to ``fileId``, and the encoding, of each distinct file id: there are few."""
    fields, encodings = [], []
    for file_id in ids:
        halves = _uuid_halves(file_id)
        high, low, index, text, encoding = (*halves, "", 0) if halves is not None else (-1, -1, -1, file_id, 1)
        numbers = b"".join(_PRESENT + signed_varint(value) for value in (high, low, index))
        fields.append(numbers + _PRESENT + _text(text))
        encodings.append(signed_varint(encoding))
    return pa.array(fields, pa.binary()), pa.array(encodings, pa.binary())


def _uuid_halves(file_id: str) -> tuple[int, int, int] | None:
    """Signed halves of a file id's UUID and the number behind it (-1: none); None for an id of another form."""
    uuid, number = file_id[:36], file_id[36:]
    digits = uuid.replace("-", "")
    lengths = [len(part) for part in uuid.split("-")]
    if lengths != [8, 4, 4, 4, 12] or digits != digits.lower() or set(digits) - set("0123456789abcdef"):
        return None
    if number and not (number[0] == "-" and number[1:].isascii() and number[1:].isdigit()):
        return None
    if number and str(int(number[1:])) != number[1:]:
        return None  # a number that would not come back as it was
    high, low = (int.from_bytes(bytes.fromhex(half), "big", signed=True) for half in (digits[:16], digits[16:]))
    return high, low, int(number[1:]) if number else -1


def _bounds(bounds: pa.Array, version: int) -> pa.Array:
    """Bounds as branches of their union."""
    result = pa.array([_NULL] * len(bounds), pa.binary()) if len(bounds) else pa.array([], pa.binary())
    for number, name in enumerate(branches(version), start=1):
        if name not in WRAPPERS:
            continue
        values = pc.struct_field(bounds, name)
        if values.null_count == len(values):
            continue
        encoded = _join(signed_varint(number), _wrapped(name, values))
        result = pc.if_else(pc.is_valid(values), encoded, result)
    return result


def _wrapped(name: str, values: pa.Array) -> pa.Array:
    kind = WRAPPERS[name]
    if pa.types.is_boolean(kind):
        return _booleans(values)
    if pa.types.is_integer(kind):
        return _varints(_longs(values))
    if pa.types.is_floating(kind):
        width = kind.bit_width // 8
        data = pc.fill_null(values, 0).to_numpy(zero_copy_only=False).astype(f"<f{width}").tobytes()
        return pa.Array.from_buffers(pa.binary(width), len(values), [None, pa.py_buffer(data)]).cast(pa.binary())
    if pa.types.is_decimal(kind):
        return _texts(unscaled(values))
    return _texts(values)


def unscaled(values: pa.Array) -> pa.Array:
    """The unscaled values of decimals as the shortest big-endian two's complement; null stays null."""
    raw = np.frombuffer(values.buffers()[1], np.uint8).reshape(-1, 16)[values.offset : values.offset + len(values)]
    digits = np.ascontiguousarray(raw[:, ::-1])
    sign = np.where(digits[:, 0] >= 0x80, 0xFF, 0).astype(np.uint8)
    # A leading byte may go where it only repeats the sign, and the byte behind it begins with the sign's bit.
    filler = (digits[:, :-1] == sign[:, None]) & ((digits[:, 1:] >= 0x80) == (sign[:, None] == 0xFF))
    dropped = np.cumprod(filler, axis=1).sum(axis=1)
    used_bytes = np.arange(16)[None, :] >= dropped[:, None]
    return _binary(digits[used_bytes], 16 - dropped, pc.is_valid(values))


# -- binary columns ------------------------------------------------------------------------------------------------


def _join(*parts: pa.Array | bytes) -> pa.Array:
    scalars = [pa.scalar(part, pa.binary()) if isinstance(part, bytes) else part for part in parts]
    return _one(pc.binary_join_element_wise(*scalars, pa.scalar(b"", pa.binary())))


def _varints(values: Longs) -> pa.Array:
    """Zigzag variable-length integers."""
    zigzag = ((values << 1) ^ (values >> 63)).view(np.uint64)
    groups = np.empty((len(values), 10), np.uint8)
    lengths = np.ones(len(values), np.int64)
    for at in range(10):
        shifted = zigzag >> np.uint64(7 * at)
        groups[:, at] = (shifted & np.uint64(127)).astype(np.uint8)
        if at:
            more = shifted != 0
            if not more.any():
                break
            groups[more, at - 1] |= 128
            lengths += more
    used_bytes = np.arange(10)[None, :] < lengths[:, None]
    return _binary(groups[used_bytes], lengths)


def _texts(values: pa.Array) -> pa.Array:
    """Length and bytes of texts or binaries; a null as an empty one."""
    data = pc.fill_null(values.cast(pa.binary()), b"")
    return _join(_varints(_longs(pc.binary_length(data))), data)


def _optional_texts(values: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_valid(values), _join(_PRESENT, _texts(values)), pa.scalar(_NULL, pa.binary()))


def _optional_longs(values: pa.Array) -> pa.Array:
    present = _join(_PRESENT, _varints(_longs(values)))
    return pc.if_else(pc.is_valid(values), present, pa.scalar(_NULL, pa.binary()))


def _booleans(values: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(values, False), pa.scalar(b"\x01", pa.binary()), pa.scalar(b"\x00", pa.binary()))


def _longs(values: pa.Array) -> Longs:
    numbers: Longs = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _binary(data: npt.NDArray[np.uint8], lengths: npt.NDArray[Any], valid: pa.Array | None = None) -> pa.Array:
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(np.ascontiguousarray(data).tobytes())]
    array = pa.Array.from_buffers(pa.binary(), len(lengths), buffers)
    return array if valid is None else pc.if_else(valid, array, pa.scalar(None, pa.binary()))


def _slices(values: pa.Array, starts: Longs, ends: Longs) -> pa.Array:
    """Binaries of several neighbours each, joined: they lie behind each other already."""
    if not len(values):
        return pa.array([], pa.binary())
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    bounds = np.append(offsets[starts], offsets[ends[-1:]])
    buffers = [None, pa.py_buffer(bounds.astype(np.int32).tobytes()), values.buffers()[2]]
    return pa.Array.from_buffers(pa.binary(), len(starts), buffers)


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return (
            column.chunk(0)
            if column.num_chunks == 1
            else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
        )
    return column
