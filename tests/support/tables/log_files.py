"""Log files made by hand: blocks of every kind, and a timeline that says which instants are committed."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.log import DELETE_RECORD, BlockType, HeaderKey, encode_block

ROW_SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "_hoodie_record_key", "type": ["null", "string"], "default": None},
        {"name": "ts", "type": ["null", "long"], "default": None},
        {"name": "name", "type": ["null", "string"], "default": None},
    ],
}
MODEL = "org.apache.hudi.avro.model"


class Committed:
    """A timeline that knows only which instants are committed."""

    def __init__(self, *instants: str) -> None:
        self._instants = pa.array(instants, pa.string())

    def committed_mask(self, instants: pa.Array) -> pa.BooleanArray:
        return pc.is_in(instants, value_set=self._instants)


def row(key: str, ts: int | None = 0, name: str | None = None) -> dict[str, Any]:
    return {"_hoodie_record_key": key, "ts": ts, "name": name}


def avro_content(rows: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] = ROW_SCHEMA) -> bytes:
    parts = [struct.pack(">ii", 3, len(rows))]
    for record in rows:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, fastavro.parse_schema(dict(schema)), record)
        parts += [struct.pack(">i", len(stream.getvalue())), stream.getvalue()]
    return b"".join(parts)


def data_block(
    instant: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    schema: Mapping[str, Any] = ROW_SCHEMA,
    kind: BlockType = BlockType.AVRO_DATA,
    content: bytes | None = None,
    **headers: str,
) -> bytes:
    """A data block; more headers by the names of :class:`HeaderKey`."""
    entries = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: json.dumps(schema)}
    entries |= {HeaderKey[name]: text for name, text in headers.items()}
    return encode_block(kind, entries, avro_content(rows, schema) if content is None else content)


def delete_content(deletes: Sequence[tuple[str | None, str | None, Any]], version: int = 3) -> bytes:
    """Content of a delete block of (key, partition, ordering), where ordering is null, ``("Int", 5)`` or a list."""

    def wrap(value: Any) -> Any:
        if isinstance(value, list):
            return (f"{MODEL}.ArrayWrapper", {"wrappedValues": [wrap(one) for one in value]})
        return value if value is None else (f"{MODEL}.{value[0]}Wrapper", {"value": value[1]})

    records = [{"recordKey": k, "partitionPath": p, "orderingVal": wrap(o)} for k, p, o in deletes]
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema({"type": "array", "items": DELETE_RECORD}), records)
    return struct.pack(">ii", version, len(stream.getvalue())) + stream.getvalue()


def delete_block(
    instant: str, deletes: Sequence[tuple[str | None, str | None, Any]], version: int = 3, **headers: str
) -> bytes:
    entries = {HeaderKey.INSTANT_TIME: instant} | {HeaderKey[name]: text for name, text in headers.items()}
    return encode_block(BlockType.DELETE, entries, delete_content(deletes, version))


def rollback_block(instant: str, target: str) -> bytes:
    headers = {
        HeaderKey.INSTANT_TIME: instant,
        HeaderKey.TARGET_INSTANT_TIME: target,
        HeaderKey.COMMAND_BLOCK_TYPE: "0",
    }
    return encode_block(BlockType.COMMAND, headers, b"")


def write_logs(folder: Path, *files: bytes) -> list[str]:
    """Write the files as log files of one slice; their names in order."""
    names = [f".f-0_20250101000000000.log.{number}_1-0-1" for number in range(1, len(files) + 1)]
    for name, data in zip(names, files, strict=True):
        (folder / name).write_bytes(data)
    return names
