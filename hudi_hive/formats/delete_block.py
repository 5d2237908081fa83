"""DELETE blocks of log files: the keys that were deleted, as one Arrow table (table format, section 4.2).

A block holds key, partition path and, where the writer knew one, the ordering value of each deleted record. The value
is wrapped in a record per type; int 0 stands for "no ordering value".
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from typing import Any, Final

import fastavro
import pyarrow as pa

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError
from hudi_hive.formats.avro_container import describe
from hudi_hive.formats.log_block import BlockType, LogBlock

DELETE_BLOCK_VERSION: Final = 3
_HEAD = struct.Struct(">ii")  # block version, bytes of the payload
_NAMESPACE: Final = "org.apache.hudi.avro.model"

# Wrapper records in the order of the union, with the Avro type and the Arrow type of their value.
_WRAPPERS: Final[tuple[tuple[str, Any, pa.DataType], ...]] = (
    ("BooleanWrapper", "boolean", pa.bool_()),
    ("IntWrapper", "int", pa.int32()),
    ("LongWrapper", "long", pa.int64()),
    ("FloatWrapper", "float", pa.float32()),
    ("DoubleWrapper", "double", pa.float64()),
    ("BytesWrapper", "bytes", pa.binary()),
    ("StringWrapper", "string", pa.string()),
    ("DateWrapper", "int", pa.date32()),
    (
        "DecimalWrapper",
        {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15},
        pa.decimal128(30, 15),
    ),
    ("TimeMicrosWrapper", {"type": "long", "logicalType": "time-micros"}, pa.time64("us")),
    ("TimestampMicrosWrapper", "long", pa.timestamp("us", "UTC")),
)
_LOCAL_DATE: Final = ("LocalDateWrapper", "int", pa.date32())
_TYPES: Final = {f"{_NAMESPACE}.{name}": arrow for name, _, arrow in (*_WRAPPERS, _LOCAL_DATE)}
_INT: Final = f"{_NAMESPACE}.IntWrapper"
_ARRAY: Final = f"{_NAMESPACE}.ArrayWrapper"


def _wrapper(name: str, value: object) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": "value", "type": value}]}


# Release 1.1 appended the array, for several ordering fields, to the union of the releases before.
_SCHEMA: Final = fastavro.parse_schema(
    {
        "type": "record",
        "name": "HoodieDeleteRecordList",
        "namespace": _NAMESPACE,
        "fields": [
            {
                "name": "deleteRecordList",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "HoodieDeleteRecord",
                        "fields": [
                            {"name": "recordKey", "type": ["null", "string"], "default": None},
                            {"name": "partitionPath", "type": ["null", "string"], "default": None},
                            {
                                "name": "orderingVal",
                                "type": [
                                    "null",
                                    *(_wrapper(name, value) for name, value, _ in _WRAPPERS),
                                    {
                                        "type": "record",
                                        "name": "ArrayWrapper",
                                        "fields": [
                                            {
                                                "name": "wrappedValues",
                                                "type": [
                                                    "null",
                                                    {
                                                        "type": "array",
                                                        "items": [
                                                            "null",
                                                            *(name for name, _, _ in _WRAPPERS),
                                                            _wrapper(*_LOCAL_DATE[:2]),
                                                        ],
                                                    },
                                                ],
                                                "default": None,
                                            }
                                        ],
                                    },
                                ],
                                "default": None,
                            },
                        ],
                    },
                },
            }
        ],
    }
)


def decode_deletes(block: LogBlock) -> pa.Table:
    """Deleted keys of a DELETE block, in its order.

    Columns: ``record_key`` and ``partition_path`` (strings), ``ordering`` (the ordering value in its own type; a struct
    ``f0, f1, …`` where the table has several ordering fields; of type null where no record has one), ``has_ordering``.
    A delete without an ordering value wins over whatever was written before it.

    Args:
        block: a block of type DELETE.

    Raises:
        UnsupportedFormatError: another type of block, or a block version that we cannot decode.
        CorruptFileError: lengths or records are damaged.
    """
    payload = _payload(block)
    stream = io.BytesIO(payload)
    try:
        decoded: Any = fastavro.schemaless_reader(stream, _SCHEMA, None, return_record_name=True)
        deletes = decoded["deleteRecordList"]
    except Exception as error:  # damaged bytes make the decoder fail in any place
        raise CorruptFileError(f"delete block of a log file: {describe(error)}", path=block.path) from error
    if stream.tell() != len(payload):
        raise CorruptFileError("delete block of a log file does not fill its length", path=block.path)
    values = [_without_default(delete["orderingVal"]) for delete in deletes]
    return pa.table(
        {
            "record_key": pa.array([delete["recordKey"] for delete in deletes], pa.string()),
            "partition_path": pa.array([delete["partitionPath"] for delete in deletes], pa.string()),
            "ordering": _ordering(values, block),
            "has_ordering": pa.array([value is not None for value in values], pa.bool_()),
        }
    )


def _payload(block: LogBlock) -> bytes:
    if block.type is not BlockType.DELETE:
        raise UnsupportedFormatError(f"{block.type.name} block where DELETE is due", path=block.path)
    content = block.content
    if len(content) < _HEAD.size:
        raise CorruptFileError(f"delete block at offset {block.offset} is too short", path=block.path)
    version, length = _HEAD.unpack_from(content, 0)
    if version != DELETE_BLOCK_VERSION:
        raise UnsupportedFormatError(
            f"delete block version {version}: only version {DELETE_BLOCK_VERSION} can be decoded",
            path=block.path,
            instant=block.instant,
            remedy="compact the table with the release that wrote it" if version in (1, 2) else None,
        )
    if length != len(content) - _HEAD.size:
        raise CorruptFileError(f"length of the delete block at offset {block.offset} is wrong", path=block.path)
    return bytes(content[_HEAD.size :])


_Wrapped = tuple[str, dict[str, Any]]


def _without_default(value: _Wrapped | None) -> _Wrapped | None:
    """The wrapped value, or null where it says that there is none."""
    if value is None or (value[0] == _INT and value[1]["value"] == 0):
        return None
    if value[0] == _ARRAY and not value[1]["wrappedValues"]:
        return None
    return value


def _ordering(values: Sequence[_Wrapped | None], block: LogBlock) -> pa.Array:
    kinds = {value[0] for value in values if value is not None}
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {_ARRAY}:
        rows = [None if value is None else value[1]["wrappedValues"] for value in values]
        widths = {len(row) for row in rows if row is not None}
        if len(widths) != 1:
            raise CorruptFileError("deletes of one log block have ordering values of different number", path=block.path)
        fields = [_plain([None if row is None else row[i] for row in rows], block) for i in range(widths.pop())]
        missing = pa.array([row is None for row in rows], pa.bool_())
        return pa.StructArray.from_arrays(fields, [f"f{i}" for i in range(len(fields))], mask=missing)
    return _plain(values, block)


def _plain(values: Sequence[_Wrapped | None], block: LogBlock) -> pa.Array:
    """Wrapped values of one type as an array of it; numbers of several types as the widest of them."""
    types = {_TYPES.get(value[0]) for value in values if value is not None}
    if not types:
        return pa.nulls(len(values))
    arrow = next(iter(types)) if len(types) == 1 else _widest(types)
    if arrow is None:
        raise UnsupportedFormatError(
            "deletes of one log block have ordering values of different types", path=block.path, instant=block.instant
        )
    plain = [None if value is None else value[1]["value"] for value in values]
    try:
        return pa.array(plain, arrow)
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise CorruptFileError(f"ordering value of a deleted record: {describe(error)}", path=block.path) from error


def _widest(types: set[pa.DataType | None]) -> pa.DataType | None:
    for among, widest in (
        ({pa.int32(), pa.int64()}, pa.int64()),
        ({pa.int32(), pa.int64(), pa.float32(), pa.float64()}, pa.float64()),
    ):
        if types <= among:
            return widest
    return None
