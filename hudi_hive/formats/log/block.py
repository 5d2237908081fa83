"""Parses log files to their blocks and encodes blocks.

A log file is zero or more blocks back to back, each with its length in front and behind. A block whose two lengths do
not agree, or that nothing legal follows, is corrupt (a writer died): it is given as such and reading goes on at the
next magic. All integers are big-endian.

Source: docs/format.md#log-files.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError
from hudi_hive.formats.avro import checked_schema, describe
from hudi_hive.storage import read_through, release_pages

if TYPE_CHECKING:
    from fastavro.types import Schema

Positions = npt.NDArray[np.int64]
"""Offsets in bytes."""

MAGIC: Final = b"#HUDI#"
"""First bytes of every block."""

FORMAT_VERSION: Final = 1
_FIRST_FIELDS = struct.Struct(">6sqii")  # magic, block size, format version, type
_SIZE = struct.Struct(">q")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">ii")
_MAGIC_PATTERN = re.compile(re.escape(MAGIC))
# Block size counts neither the magic nor itself; the least block is version, type, two empty headers and two lengths.
_SIZE_END = 14
_MIN_BLOCK_SIZE = 4 + 4 + 4 + 8 + 4 + 8


class BlockType(IntEnum):
    """Types of log blocks, by their numbers in the file."""

    COMMAND = 0
    DELETE = 1
    CORRUPT = 2
    AVRO_DATA = 3
    HFILE_DATA = 4
    PARQUET_DATA = 5
    CDC_DATA = 6


class HeaderKey(IntEnum):
    """Keys of the header entries of log blocks, by their numbers in the file."""

    INSTANT_TIME = 0
    TARGET_INSTANT_TIME = 1
    SCHEMA = 2
    COMMAND_BLOCK_TYPE = 3
    COMPACTED_BLOCK_TIMES = 4
    RECORD_POSITIONS = 5
    BLOCK_IDENTIFIER = 6
    IS_PARTIAL = 7
    BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS = 8


@dataclass(frozen=True, slots=True)
class LogBlock:
    """A log block: its type, header entries and content.

    Args:
        type: what the content is; ``CORRUPT`` for bytes that follow no block's form.
        headers: header entries.
        content: the content, a view of the file's bytes; of a corrupt block all its bytes.
        offset: where the block begins in the file, at its magic.
        size: bytes from there to the next block.
        content_offset: where the content begins in the file.
        path: the file, for errors.
    """

    type: BlockType
    headers: Mapping[HeaderKey, str]
    content: memoryview = field(repr=False)
    offset: int
    size: int
    content_offset: int
    path: str

    @property
    def instant(self) -> str | None:
        """Requested time of the instant that wrote the block."""
        return self.headers.get(HeaderKey.INSTANT_TIME)


def iter_blocks(data: bytes | bytearray | memoryview, path: str) -> Iterator[LogBlock]:
    """Parse the blocks of a log file in file order; bytes that are no block become blocks of type ``CORRUPT``.

    Every length is checked against the bytes there are before it is used.

    Args:
        data: the whole file.
        path: the file, for errors.

    Raises:
        CorruptFileError: the file does not begin with a block, or a block whose lengths are right has wrong headers.
        UnsupportedFormatError: a format version, block type or header key that we do not know.
    """
    view = memoryview(data)
    offset = 0
    while offset < len(view):
        if len(view) - offset < len(MAGIC):
            yield _corrupt_block(view, offset, len(view), path)  # torn inside a magic
            return
        if bytes(view[offset : offset + len(MAGIC)]) != MAGIC:
            # Later blocks begin where a magic was found, so this is the file's first byte.
            raise CorruptFileError("not a log file: wrong magic", path=path)
        end = _block_end(view, offset)
        if end is None:
            following = _MAGIC_PATTERN.search(view, offset + 1)
            end = following.start() if following else len(view)
            yield _corrupt_block(view, offset, end, path)
        else:
            yield _parse_block(view, offset, end, path)
        offset = end


def _block_end(view: memoryview, offset: int) -> int | None:
    """End of the block at an offset, or null if it is corrupt."""
    if offset + _SIZE_END > len(view):
        return None
    block_size = _SIZE.unpack_from(view, offset + len(MAGIC))[0]
    end = offset + _SIZE_END + int(block_size)
    if block_size < _MIN_BLOCK_SIZE or end > len(view):
        return None
    if _SIZE.unpack_from(view, end - _SIZE.size)[0] != block_size + len(MAGIC):
        return None
    following = bytes(view[end : end + len(MAGIC)])
    # Bytes too few for a magic are the file's end to Hudi: this block is whole and they are the corrupt one.
    return end if len(following) < len(MAGIC) or following == MAGIC else None


def _corrupt_block(view: memoryview, offset: int, end: int, path: str) -> LogBlock:
    return LogBlock(BlockType.CORRUPT, {}, view[offset:end], offset, end - offset, offset, path)


def _parse_block(view: memoryview, offset: int, end: int, path: str) -> LogBlock:
    _, _, version, ordinal = _FIRST_FIELDS.unpack_from(view, offset)
    if version != FORMAT_VERSION:
        raise UnsupportedFormatError(f"log format version {version} at offset {offset}", path=path)
    try:
        kind = BlockType(ordinal)
    except ValueError as error:
        raise UnsupportedFormatError(f"log block type {ordinal} at offset {offset}", path=path) from error
    limit = end - _SIZE.size
    headers, position = _parse_headers(view, offset + _FIRST_FIELDS.size, limit, path)
    if position + _SIZE.size > limit:
        raise _damaged(path, position)
    length = _SIZE.unpack_from(view, position)[0]
    start = position + _SIZE.size
    if length < 0 or length > limit - start:
        raise _damaged(path, position)
    _, footer_end = _parse_headers(view, start + length, limit, path)
    if footer_end != limit:
        raise _damaged(path, footer_end)
    _refuse_odd_headers(kind, headers, path, offset)
    if kind is not BlockType.COMMAND and HeaderKey.TARGET_INSTANT_TIME in headers:
        block = view[offset:end]
        if bytes(block[_DIGITS : _DIGITS + 8]) != _checksum(block):
            raise CorruptFileError(f"log block at offset {offset} does not match its checksum", path=path)
    return LogBlock(kind, headers, view[start : start + length], offset, end - offset, start, path)


def _parse_headers(view: memoryview, position: int, limit: int, path: str) -> tuple[dict[HeaderKey, str], int]:
    """Parse the header entries at a position, within the limit; returns them and the position behind them."""
    if position + _COUNT.size > limit:
        raise _damaged(path, position)
    count = _COUNT.unpack_from(view, position)[0]
    position += _COUNT.size
    if count < 0 or count * _ENTRY.size > limit - position:
        raise _damaged(path, position)
    entries: dict[HeaderKey, str] = {}
    for _ in range(count):
        if position + _ENTRY.size > limit:
            raise _damaged(path, position)
        key, length = _ENTRY.unpack_from(view, position)
        start = position + _ENTRY.size
        if length < 0 or length > limit - start:
            raise _damaged(path, position)
        position = start + length
        if key in entries:
            raise _damaged(path, start)
        try:
            entries[HeaderKey(key)] = str(view[start:position], "utf-8")
        except UnicodeDecodeError as error:
            raise _damaged(path, start) from error
        except ValueError as error:
            raise UnsupportedFormatError(f"log block header {key} at offset {start}", path=path) from error
    return entries, position


_CHECKSUM: Final = re.compile(r"crc32:[0-9a-f]{8}")
_NO_CHECKSUM: Final = "crc32:00000000"
_DIGITS: Final = _FIRST_FIELDS.size + _COUNT.size + _ENTRY.size + len("crc32:")
"""Where the digits of a block's checksum begin: the checksum is its first header entry."""


def _checksum(block: memoryview) -> bytes:
    """The hex digits of the checksum of all bytes of a block but the digits themselves."""
    value = zlib.crc32(block[:_DIGITS])
    for part in read_through(block[_DIGITS + 8 :]):
        value = zlib.crc32(part, value)
    return b"%08x" % value


_INSTANT = re.compile(r"[0-9]+")
_HEADER_FORMS: Final[Mapping[HeaderKey, re.Pattern[str]]] = {
    HeaderKey.INSTANT_TIME: _INSTANT,
    HeaderKey.COMPACTED_BLOCK_TIMES: re.compile(r"[0-9, ]*"),
    HeaderKey.RECORD_POSITIONS: re.compile(r"[A-Za-z0-9+/]*={0,2}"),
    HeaderKey.BLOCK_IDENTIFIER: re.compile(r"[0-9]+(?:,[0-9]+)*"),
    HeaderKey.IS_PARTIAL: re.compile(r"\s*(?:true|false)\s*", re.IGNORECASE),
    HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS: _INSTANT,
}


def _refuse_odd_headers(kind: BlockType, headers: Mapping[HeaderKey, str], path: str, offset: int) -> None:
    """Refuse headers that no writer writes: keys of another block type, values of another form.

    Blocks have no checksum of their own: a key or value that was damaged would change which records count.

    Raises:
        CorruptFileError: a header cannot be what was written.
    """
    if kind is BlockType.CORRUPT:  # what readers make of other bytes; no writer writes such a block
        raise _damaged(path, offset)
    for key, text in headers.items():
        form = _HEADER_FORMS.get(key)
        if form is not None and form.fullmatch(text) is None:
            raise _damaged(path, offset)
    target = headers.get(HeaderKey.TARGET_INSTANT_TIME)
    if kind is BlockType.COMMAND:
        if target is not None and _INSTANT.fullmatch(target) is None:
            raise _damaged(path, offset)
    elif HeaderKey.COMMAND_BLOCK_TYPE in headers or (target is not None and _CHECKSUM.fullmatch(target) is None):
        raise _damaged(path, offset)


def _damaged(path: str, offset: int) -> CorruptFileError:
    return CorruptFileError(f"log block is damaged at offset {offset}: a length or text inside it is wrong", path=path)


def encode_block(kind: BlockType, headers: Mapping[HeaderKey, str], content: bytes, *, checksum: bool = False) -> bytes:
    """Encode one log block, as :func:`iter_blocks` reads it.

    Args:
        kind: what the content is.
        headers: header entries.
        content: the content.
        checksum: protect the block by a checksum. It is in a header entry that means something in command blocks alone,
            so that Hudi's readers pass over it; not for these.
    """
    if checksum:
        block = bytearray(_encoded(kind, {HeaderKey.TARGET_INSTANT_TIME: _NO_CHECKSUM, **headers}, content))
        block[_DIGITS : _DIGITS + 8] = _checksum(memoryview(block))
        return bytes(block)
    return _encoded(kind, headers, content)


def _encoded(kind: BlockType, headers: Mapping[HeaderKey, str], content: bytes) -> bytes:
    parts = [_COUNT.pack(len(headers))]
    for key, text in headers.items():
        encoded = text.encode()
        parts += [_ENTRY.pack(key, len(encoded)), encoded]
    parts += [_SIZE.pack(len(content)), content, _COUNT.pack(0)]
    body = b"".join(parts)
    block_size = 4 + 4 + len(body) + _SIZE.size
    return _FIRST_FIELDS.pack(MAGIC, block_size, FORMAT_VERSION, kind) + body + _SIZE.pack(block_size + len(MAGIC))


# -- AVRO_DATA and CDC_DATA (docs/format.md#avro-data-blocks) --------------------------------------------------------

_AVRO_VERSIONS = (1, 2, 3)
_WALKED: Final = 65_536
"""Records between whose ends a list of them becomes numbers."""

_AVRO_TYPES = (BlockType.AVRO_DATA, BlockType.CDC_DATA)


def avro_spans(block: LogBlock) -> list[tuple[int, int]]:
    """Start and end offset of each record's Avro binary within the content of an AVRO_DATA or CDC_DATA block.

    Raises:
        UnsupportedFormatError: another type of block, or a block version that we do not know.
        CorruptFileError: a length is wrong.
    """
    starts, ends = avro_bounds(block)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def avro_bounds(block: LogBlock) -> tuple[Positions, Positions]:
    """Start and end offsets of the records' Avro binaries within the content of an AVRO_DATA or CDC_DATA block.

    Raises:
        UnsupportedFormatError: another type of block, or a block version that we do not know.
        CorruptFileError: a length is wrong.
    """
    content, count, position = block.content, avro_count(block), _ENTRY.size
    ends = np.empty(count + 1, np.int64)
    ends[0] = position
    if not _walk(content, position, ends):
        raise _damaged(block.path, block.offset)
    # The walk is the one loop over records, so its steps are judged afterwards, all at once.
    if (ends[1:] - ends[:-1] < _COUNT.size).any() or ends[-1] != len(content):
        raise _damaged(block.path, block.offset)
    return ends[:-1] + _COUNT.size, ends[1:]


def avro_count(block: LogBlock) -> int:
    """How many records an AVRO_DATA or CDC_DATA block says that it has.

    Raises:
        UnsupportedFormatError: another type of block, or a block version that we do not know.
        CorruptFileError: more than its bytes can hold.
    """
    if block.type not in _AVRO_TYPES:
        raise UnsupportedFormatError(f"{block.type.name} block where AVRO_DATA is due", path=block.path)
    if len(block.content) < _ENTRY.size:
        raise _damaged(block.path, block.offset)
    version, count = _ENTRY.unpack_from(block.content, 0)
    if version not in _AVRO_VERSIONS:
        raise UnsupportedFormatError(f"AVRO_DATA block version {version}", path=block.path)
    if count < 0 or count * _COUNT.size > len(block.content) - _ENTRY.size:
        raise _damaged(block.path, block.offset)
    return int(count)


def _walk(content: memoryview, position: int, ends: Positions) -> bool:
    """Fill in the end offset of each record; returns whether every length was valid."""
    unpack, width = _COUNT.unpack_from, _COUNT.size
    try:
        for begin in range(1, len(ends), _WALKED):
            run: list[int] = []
            append = run.append
            for _ in range(min(_WALKED, len(ends) - begin)):
                position += unpack(content, position)[0] + width
                append(position)
            ends[begin : begin + len(run)] = run
            release_pages(content)
    except struct.error:
        return False
    return True


def block_schema(block: LogBlock) -> Schema:
    """Avro schema from the header of a block, parsed for fastavro.

    Raises:
        CorruptFileError: there is none, or it is no Avro schema.
    """
    text = block.headers.get(HeaderKey.SCHEMA)
    if text is None:
        raise CorruptFileError(f"log block at offset {block.offset} has no schema", path=block.path)
    try:
        return checked_schema(text)[1]
    except Exception as error:  # fastavro raises its own errors, key, type and value errors
        raise CorruptFileError(f"schema of a log block: {describe(error)}", path=block.path) from error


def decode_avro_record(
    data: bytes | memoryview, schema: Schema, path: str, reader_schema: Schema | None = None
) -> dict[str, Any]:
    """Decode one record from a bare Avro binary, which must hold nothing else.

    Args:
        data: the binary.
        schema: writer's schema, parsed.
        path: the file, for errors.
        reader_schema: narrower schema to resolve to, parsed.

    Raises:
        CorruptFileError: the binary does not follow the schema.
    """
    import fastavro

    stream = io.BytesIO(data)
    try:
        record = fastavro.schemaless_reader(stream, schema, reader_schema)
    except Exception as error:  # damaged bytes make the decoder fail in any place
        raise CorruptFileError(f"record of a log block: {describe(error)}", path=path) from error
    if stream.tell() != len(data) or not isinstance(record, dict):
        raise CorruptFileError("record of a log block does not fill its length", path=path)
    return record
