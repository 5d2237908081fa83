"""Avro object containers: plans and metadata of the timeline.

Source: docs/format.md#states-and-payloads, docs/format.md#avro-records-of-the-timeline.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from hudi_hive.errors import CorruptFileError, SchemaError, UnsupportedFormatError
from hudi_hive.formats.avro.codecs import CODECS, unpacked_block
from hudi_hive.formats.avro.object_count import count_objects
from hudi_hive.formats.avro.schema import ArrayNode, MapNode, Node, RecordNode, UnionNode, parse_record

if TYPE_CHECKING:
    from fastavro.types import Schema

MAGIC = b"Obj\x01"
"""First bytes of every Avro object container."""

_MARKER: Final = 16  # bytes of the marker behind each block
_NO_CODEC: Final = "null"
_MOST_INFLATED: Final = 64
"""Bytes that each byte of a container may become where that is more than the next limit."""

_LEAST_INFLATED: Final = 16 << 20
_MOST_OBJECTS: Final = 16
"""Python objects that each byte of a container may become where that is more than the next limit."""

_LEAST_OBJECTS: Final = 400_000


def is_container(data: bytes) -> bool:
    """Whether the bytes begin as an Avro object container does."""
    return data[:4] == MAGIC


def read_container(data: bytes, path: str) -> list[dict[str, Any]]:
    """The records of an Avro object container, decoded with the schema in its header.

    Args:
        data: the container's bytes.
        path: named in errors.

    Raises:
        CorruptFileError: the bytes are no container, are truncated or damaged, or hold something other than records.
            Time and memory stay in proportion to the bytes.
        UnsupportedFormatError: they are compressed in a way that Avro does not name.
    """
    if not is_container(data):
        raise CorruptFileError("not an Avro object container: wrong magic", path=path)
    try:
        stream = io.BytesIO(data)
        stream.seek(len(MAGIC))
        header = _read_header(stream)
        root, schema = checked_schema(header.get("avro.schema", b"").decode())
        codec = header.get("avro.codec", _NO_CODEC.encode()).decode()
        if codec not in (_NO_CODEC, *CODECS):
            raise UnsupportedFormatError(f"Avro container with the codec {codec!r}", path=path)
        limits = _Limits.of(len(data))
        records = list(_read_records(stream, root, schema, codec, limits))
    except (CorruptFileError, UnsupportedFormatError):
        raise
    except Exception as error:
        # Damaged bytes make the decoder fail in any place: struct, zlib, Unicode, key, index, type and memory errors.
        raise CorruptFileError(f"Avro container cannot be decoded: {describe(error)}", path=path) from error
    if not all(isinstance(record, dict) for record in records):
        raise CorruptFileError("Avro container holds something other than records", path=path)
    return records


@lru_cache(maxsize=128)
def checked_schema(text: str) -> tuple[RecordNode, Schema]:
    """Parse the JSON text of a record schema: to a tree of nodes, and for fastavro.

    What fastavro would follow without end is refused: types that hold themselves, and items or records without bytes,
    of which damaged data may claim any number.

    Raises:
        SchemaError: it is no record schema, or is recursive.
        Exception: what fastavro raises.
    """
    root = parse_record(text)
    if not root.least or _has_empty_items(root):
        raise SchemaError("records or items without bytes")
    import fastavro  # where it is needed: queries that read no container do without

    return root, fastavro.parse_schema(json.loads(text))


def _has_empty_items(node: Node) -> bool:
    if isinstance(node, RecordNode):
        return any(_has_empty_items(child) for child in node.children)
    if isinstance(node, UnionNode):
        return any(_has_empty_items(branch) for branch in node.branches)
    if isinstance(node, ArrayNode):
        return not node.item.least or _has_empty_items(node.item)
    return isinstance(node, MapNode) and _has_empty_items(node.entry)


def _read_long(stream: io.BytesIO) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = stream.read(1)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise ValueError("a number has no end")


def _read_exactly(stream: io.BytesIO, length: int) -> bytes:
    data = stream.read(length) if length >= 0 else b""
    if len(data) != length:
        raise EOFError(f"{length} bytes are due")
    return data


def _read_header(stream: io.BytesIO) -> dict[str, bytes]:
    """Read the entries of a container's header and leave the stream behind them."""
    entries: dict[str, bytes] = {}
    while count := _read_long(stream):
        if count < 0:  # followed by the size of this run of entries
            _read_long(stream)
        for _ in range(abs(count)):
            key = _read_exactly(stream, _read_long(stream)).decode()
            entries[key] = _read_exactly(stream, _read_long(stream))
    return entries


@dataclass(slots=True)
class _Limits:
    """Limits of the rest of a container: bytes after decompression, Python objects after decoding."""

    bytes: int
    objects: int

    @classmethod
    def of(cls, size: int) -> _Limits:
        """Limits of a container of so many bytes."""
        return cls(max(_MOST_INFLATED * size, _LEAST_INFLATED), max(_MOST_OBJECTS * size, _LEAST_OBJECTS))


def _read_records(
    stream: io.BytesIO, root: RecordNode, schema: Schema, codec: str, limits: _Limits
) -> Iterator[dict[str, Any]]:
    """Read the records of the blocks that follow the header, within the limits."""
    import fastavro

    marker = _read_exactly(stream, _MARKER)
    end = len(stream.getbuffer())
    while stream.tell() < end:
        count = _read_long(stream)
        content = _read_exactly(stream, _read_long(stream))
        if _read_exactly(stream, _MARKER) != marker:
            raise ValueError("a block is not followed by the marker")
        if codec != _NO_CODEC:
            content = unpacked_block(codec, content, limits.bytes)
            limits.bytes -= len(content)
        if not 0 <= count <= len(content) // root.least:
            raise ValueError("a block has more records than bytes")
        limits.objects -= count_objects(root, content, count, limits.objects)
        block = io.BytesIO(content)
        for _ in range(count):
            record: Any = fastavro.schemaless_reader(block, schema, None)
            yield record
        if block.tell() != len(content):
            raise ValueError("records do not fill their block")


def write_container(
    schema: Mapping[str, Any], records: Iterable[Mapping[str, Any]], *, metadata: Mapping[str, str] | None = None
) -> bytes:
    """The bytes of an Avro object container without compression, the form of the files of a timeline.

    Args:
        schema: Avro schema of the records.
        records: the records.
        metadata: further entries of the container's header.
    """
    import fastavro

    stream = io.BytesIO()
    fastavro.writer(stream, dict(schema), records, codec="null", metadata=dict(metadata or {}))
    return stream.getvalue()


def describe(error: BaseException) -> str:
    """One short line with type and message of a decoder's exception, which may quote damaged bytes."""
    text = " ".join(str(error).split())[:200]
    printable = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return f"{type(error).__name__} {printable}".strip()
