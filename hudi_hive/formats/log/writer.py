"""Encodes Arrow rows and deleted keys as blocks of log files.

What is written here :mod:`hudi_hive.formats.log.block`, :mod:`hudi_hive.formats.log.deletes` and
:mod:`hudi_hive.table.logs.log_data` read. A log file is such blocks back to back. Blocks of records and deletes have a
checksum, which Hudi's readers pass over.

Source: docs/format.md#log-files.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedFormatError
from hudi_hive.formats.avro import encode_binaries
from hudi_hive.formats.log.block import BlockType, HeaderKey, encode_block
from hudi_hive.formats.log.deletes import DELETE_BLOCK_VERSION, DELETE_RECORD, wrap_ordering

DATA_BLOCK_VERSION: Final = 3
ROLLBACK: Final = "0"
"""What a command block tells readers to do: forget the blocks of its target instant."""

_PAIR: Final = struct.Struct(">ii")
_MOST_CONTENT: Final = (1 << 31) - 1
"""Bytes of a block that Java's readers can hold in one array."""

_KEYS: Final = ("record_key", "partition_path")
Headers = Mapping[HeaderKey, str]


def data_block(
    instant: str,
    schema: Mapping[str, Any],
    batch: pa.RecordBatch | pa.Table,
    *,
    extra_headers: Headers | None = None,
) -> bytes:
    """Encode an AVRO_DATA block (docs/format.md#avro-data-blocks).

    Args:
        instant: requested time of the instant that writes it.
        schema: Avro schema of the records, meta columns included.
        batch: the records.
        extra_headers: further header entries.

    Raises:
        SchemaError: the records do not fit the schema.
        UnsupportedFormatError: a block of more than 2 GiB.
    """
    return _avro_block(BlockType.AVRO_DATA, instant, schema, batch, extra_headers)


def cdc_block(instant: str, schema: Mapping[str, Any], batch: pa.RecordBatch | pa.Table) -> bytes:
    """Encode a CDC_DATA block of change records; arguments and errors are those of :func:`data_block`.

    Source: docs/format.md#change-data.
    """
    return _avro_block(BlockType.CDC_DATA, instant, schema, batch, None)


def delete_block(instant: str, keys: pa.Table, *, extra_headers: Headers | None = None) -> bytes:
    """Encode a DELETE block (docs/format.md#delete-blocks).

    Args:
        instant: requested time of the instant that writes it.
        keys: ``record_key``, ``partition_path`` and the ordering fields, in their order; a row without ordering value
            deletes whatever was written before. Several fields are for tables of version 9 alone.
        extra_headers: further header entries.

    Raises:
        SchemaError: an ordering field of a type that has no order in Hudi, or a row with some of several values.
        UnsupportedFormatError: a block of more than 2 GiB.
    """
    columns = [_flat(keys.column(name)).cast(pa.string()) for name in _KEYS]
    ordering = [_flat(keys.column(name)) for name in keys.schema.names if name not in _KEYS]
    rows = pa.table([*columns, wrap_ordering(ordering, keys.num_rows)], ["recordKey", "partitionPath", "orderingVal"])
    records = [_content_of(chunk) for chunk in encode_binaries(rows, DELETE_RECORD).chunks]
    payload = b"".join([_varint(keys.num_rows) if keys.num_rows else b"", *records, b"\0"])
    content = _PAIR.pack(DELETE_BLOCK_VERSION, _checked(len(payload))) + payload
    headers = {HeaderKey.INSTANT_TIME: instant, **(extra_headers or {})}
    return encode_block(BlockType.DELETE, headers, content, checksum=True)


def command_block(instant: str, target: str) -> bytes:
    """Encode a COMMAND block that rolls an instant's blocks in this slice back (docs/format.md#command-blocks).

    Args:
        instant: requested time of the rollback.
        target: requested time of the instant that is taken back.
    """
    headers = {
        HeaderKey.INSTANT_TIME: instant,
        HeaderKey.TARGET_INSTANT_TIME: target,
        HeaderKey.COMMAND_BLOCK_TYPE: ROLLBACK,
    }
    return encode_block(BlockType.COMMAND, headers, b"")


def hfile_block(instant: str, schema: Mapping[str, Any] | str, hfile: bytes) -> bytes:
    """Encode an HFILE_DATA block of the bytes of an HFile (docs/format.md#parquet-and-hfile-blocks).

    Args:
        instant: requested time of the instant that writes it.
        schema: Avro schema of the values, parsed or as JSON.
        hfile: what :func:`hudi_hive.formats.hfile.writer.write_hfile` gives.
    """
    return encode_block(BlockType.HFILE_DATA, _headers(instant, schema, None), hfile, checksum=True)


def parquet_block(
    instant: str, schema: Mapping[str, Any], image: bytes, *, extra_headers: Headers | None = None
) -> bytes:
    """Encode a PARQUET_DATA block of the bytes of a Parquet file (docs/format.md#parquet-and-hfile-blocks)."""
    return encode_block(BlockType.PARQUET_DATA, _headers(instant, schema, extra_headers), image, checksum=True)


def _avro_block(
    kind: BlockType,
    instant: str,
    schema: Mapping[str, Any],
    batch: pa.RecordBatch | pa.Table,
    extra_headers: Headers | None,
) -> bytes:
    parts: list[bytes | memoryview] = [_PAIR.pack(DATA_BLOCK_VERSION, batch.num_rows)]
    for chunk in encode_binaries(batch, schema).chunks:
        lengths = np.frombuffer(pc.binary_length(chunk).buffers()[1], np.int32)[: len(chunk)].astype(">i4")
        prefix = pa.Array.from_buffers(pa.binary(4), len(chunk), [None, pa.py_buffer(lengths.tobytes())])
        parts.append(_content_of(pc.binary_join_element_wise(prefix.cast(pa.binary()), chunk, b"")))
    _checked(sum(map(len, parts)))
    return encode_block(kind, _headers(instant, schema, extra_headers), b"".join(parts), checksum=True)


def _headers(instant: str, schema: Mapping[str, Any] | str, extra: Headers | None) -> dict[HeaderKey, str]:
    text = schema if isinstance(schema, str) else json.dumps(schema, separators=(",", ":"))
    return {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: text, **(extra or {})}


def _content_of(binaries: pa.Array) -> memoryview:
    offsets = np.frombuffer(binaries.buffers()[1], np.int32)[binaries.offset : binaries.offset + len(binaries) + 1]
    data = binaries.buffers()[2]
    return memoryview(data)[offsets[0] : offsets[-1]] if data is not None else memoryview(b"")


def _checked(length: int) -> int:
    if length > _MOST_CONTENT:
        raise UnsupportedFormatError(
            f"a log block of {length} bytes: readers take no more than 2 GiB", remedy="write fewer rows a block"
        )
    return length


def _varint(value: int) -> bytes:
    """Encode a non-negative number as a zig-zag varint."""
    rest, out = value << 1, bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)])
