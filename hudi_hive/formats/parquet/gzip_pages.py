"""Packs the pages of a Parquet file by gzip while it is written, with a faster library than Arrow's.

Compression by zlib is most of what writing a Parquet file costs, and ISA-L needs a tenth of its time. Arrow has no
place for a codec of others, so it writes pages as they are, and what it writes goes through this stream.

Source: Parquet format, "parquet.thrift"; RFC 1952.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

import pyarrow as pa

from hudi_hive.errors import UnsupportedFormatError
from hudi_hive.formats.gzip_codec import pack
from hudi_hive.formats.parquet.compact import (
    CompactError,
    Field,
    fields,
    integer,
    structs,
    texts,
)
from hudi_hive.formats.parquet.page_header import PageHeader, packed_page_header, read_page_header
from hudi_hive.formats.varints import signed_varint

_MAGIC: Final = b"PAR1"
_GZIP_CODEC: Final = 2

_ROW_GROUPS: Final = 4
"""Field of ``FileMetaData``."""

_COLUMNS, _GROUP_SIZE, _GROUP_OFFSET, _GROUP_PACKED = 1, 2, 5, 6
"""Fields of ``RowGroup``."""

_CHUNK_OFFSET, _CHUNK_METADATA = 2, 3
"""Fields of ``ColumnChunk``."""

_PATH, _CODEC, _UNCOMPRESSED, _COMPRESSED, _FIRST_PAGE, _DICTIONARY_PAGE = 3, 4, 6, 7, 9, 11
"""Fields of ``ColumnMetaData``."""


class _Place(NamedTuple):
    """Where a page begins in the file, and bytes by which the headers before it became longer."""

    position: int
    longer: int


class _Edit(NamedTuple):
    """Bytes of the footer that others take the place of."""

    start: int
    end: int
    data: bytes


class GzipPages:
    """The file that Arrow's writer of uncompressed Parquet writes to, without checksums and indexes of pages.

    Its positions are those of the uncompressed file, since Arrow writes them into the footer.

    Args:
        stream: where the packed file goes to; left open.
        path: the file, for messages.
    """

    def __init__(self, stream: pa.NativeFile, path: str) -> None:
        self._stream, self._path = stream, path
        self._written = 0  # bytes by Arrow
        self._waiting = bytearray()  # the beginning of a page
        self._required = len(_MAGIC) + 1  # bytes of it that are to be there before it is looked at
        self._begun = False
        self._in_footer = False
        self._places = {0: _Place(0, 0)}  # by where the page begins in the uncompressed file
        self._longer = 0
        self._dropped = False
        self.closed = False  # Arrow asks
        self.sizes: dict[str, tuple[int, int]] = {}
        """Bytes of each leaf column, compressed and uncompressed, once the file has ended."""

    def tell(self) -> int:
        """Bytes that were written, as they were."""
        return self._written

    def write(self, data: bytes) -> int:
        """Take bytes, and write the pages that are whole."""
        self._written += len(data)
        if self._dropped:
            return len(data)
        self._waiting += data
        if not self._in_footer and len(self._waiting) >= self._required:
            self._write_pages()
        return len(data)

    def flush(self) -> None:
        """Nothing: pages are written when they are whole."""

    def close(self) -> None:
        """Nothing: the stream behind stays open."""

    def drop(self) -> None:
        """Write nothing more: the file is given up, and Arrow still ends it."""
        self._dropped = True

    def begin_footer(self) -> None:
        """What is written from now on is the footer.

        Raises:
            UnsupportedFormatError: the last page is not whole.
        """
        if len(self._waiting) > (0 if self._begun else len(_MAGIC)):
            raise self._refused("a page without an end")
        self._place()
        self._in_footer = True

    def finish(self) -> None:
        """Write the footer, whose positions and sizes become those of the packed pages.

        Raises:
            UnsupportedFormatError: the footer is not that of the pages.
        """
        data, end = bytes(self._waiting), len(self._waiting) - len(_MAGIC) - 4
        footer = data[:end]
        if data[end + 4 :] != _MAGIC or int.from_bytes(data[end : end + 4], "little") != end:
            raise self._refused("more than a footer behind the pages")
        try:
            edits = list(self._edits(footer))
        except (CompactError, KeyError) as error:
            raise self._refused(str(error)) from error
        packed, position = [], 0
        for edit in edits:
            packed += [footer[position : edit.start], edit.data]
            position = edit.end
        packed.append(footer[position:])
        length = sum(map(len, packed))
        self._stream.write(b"".join((*packed, length.to_bytes(4, "little"), _MAGIC)))

    def _write_pages(self) -> None:
        """Write the pages that are whole, and say how many bytes the next one needs."""
        data, start = bytes(self._waiting), 0
        if not self._begun:
            self._stream.write(data[: len(_MAGIC)])
            self._begun, start = True, len(_MAGIC)
        self._required = 1
        while start < len(data):
            try:
                header = read_page_header(data, start)
            except CompactError:
                start, whole = self._other_struct(data, start)
                if whole:
                    continue
                self._required = len(data) - start + 1  # the rest of the header comes with the next bytes
                break
            end = header.end + header.compressed
            if end > len(data):
                self._required = end - start
                break
            self._place(len(data) - start)
            self._longer += self._write_page(data, header) - (header.end - start)
            start = end
        self._waiting = bytearray(data[start:])

    def _other_struct(self, data: bytes, start: int) -> tuple[int, bool]:
        """Leave out a struct that is no header: where it ends, and whether all of it is there.

        Earlier releases of Arrow repeat the metadata of a column chunk behind its pages, which the footer has, too.
        """
        try:
            *_, end = fields(data, start)
        except CompactError:
            return start, False
        self._place(len(data) - start)
        return end.end, True

    def _write_page(self, data: bytes, header: PageHeader) -> int:
        """Write a page; the bytes of its header."""
        page = pack(memoryview(data)[header.end : header.end + header.compressed])
        try:
            packed = packed_page_header(data, header, len(page), zlib.crc32(page))
        except CompactError as error:
            raise self._refused(str(error)) from error
        self._stream.write(packed)
        self._stream.write(page)
        return len(packed)

    def _place(self, behind: int = 0) -> None:
        """Note where the page begins that so many bytes before the end of what was written begin with."""
        position = int(self._stream.tell()) if self._begun else len(_MAGIC)
        self._places[self._written - behind] = _Place(position, self._longer)

    def _edits(self, footer: bytes) -> Iterator[_Edit]:
        """What changes in the footer, from its beginning on."""
        for field in fields(footer, 0):
            if field.number == _ROW_GROUPS:
                for group in structs(footer, field.start):
                    yield from self._group_edits(footer, group)

    def _group_edits(self, footer: bytes, group: int) -> Iterator[_Edit]:
        longer = packed = 0
        for field in fields(footer, group):
            if field.number == _COLUMNS:
                for chunk in structs(footer, field.start):
                    edits, sizes = self._chunk_edits(footer, chunk)
                    yield from edits
                    longer, packed = longer + sizes[0], packed + sizes[1]
            elif field.number == _GROUP_SIZE:
                yield _changed(field, integer(footer, field.start)[0] + longer)
            elif field.number == _GROUP_OFFSET:
                yield _changed(field, self._places[integer(footer, field.start)[0]].position)
            elif field.number == _GROUP_PACKED:
                yield _changed(field, packed)

    def _chunk_edits(self, footer: bytes, chunk: int) -> tuple[list[_Edit], tuple[int, int]]:
        """What changes of a column chunk; bytes by which its headers became longer, and its packed bytes."""
        parts = {field.number: field for field in fields(footer, chunk)}
        # The offset of a chunk is deprecated, and 0 in newer files.
        edits = [_changed(parts[_CHUNK_OFFSET], 0)] if _CHUNK_OFFSET in parts else []
        parts = {field.number: field for field in fields(footer, parts[_CHUNK_METADATA].start)}
        plain, raw = (integer(footer, parts[number].start)[0] for number in (_UNCOMPRESSED, _COMPRESSED))
        pages = {
            number: page
            for number in (_FIRST_PAGE, _DICTIONARY_PAGE)
            if number in parts and (page := integer(footer, parts[number].start)[0])
        }
        start = min(pages.values(), default=0)  # none where there are no rows
        first, behind = self._places[start], self._places[start + raw]
        longer, packed = behind.longer - first.longer, behind.position - first.position
        values = {_CODEC: _GZIP_CODEC, _UNCOMPRESSED: plain + longer, _COMPRESSED: packed}
        values |= {number: self._places[page].position for number, page in pages.items()}
        self._count(".".join(name.decode() for name in texts(footer, parts[_PATH].start)), packed, plain + longer)
        return edits + [_changed(parts[number], values[number]) for number in sorted(values)], (longer, packed)

    def _count(self, leaf: str, packed: int, plain: int) -> None:
        before = self.sizes.get(leaf, (0, 0))
        self.sizes[leaf] = (before[0] + packed, before[1] + plain)

    def _refused(self, reason: str) -> UnsupportedFormatError:
        return UnsupportedFormatError(
            f"this release of Arrow writes Parquet files in another way than is looked for ({reason})",
            path=self._path,
            remedy="uninstall isal, so that Arrow's own gzip is taken, and report it",
        )


def _changed(field: Field, value: int) -> _Edit:
    return _Edit(field.start, field.end, signed_varint(value))
