"""Checks the sizes that Parquet pages' headers claim before the pages are decompressed.

Source: Parquet format, ``PageHeader``.

The reader library allocates memory for a page as its header claims. Headers are checked only where the footer claims
that a column chunk is many times larger than its compressed bytes.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError

if TYPE_CHECKING:
    from hudi_hive.formats.parquet import PageHeader

MOST_INFLATED: Final = 128
"""Bytes that each byte of a page may become where that is more than the next limit."""

LEAST_INFLATED: Final = 64 << 20
_BATCH_ITEMS: Final = 4 << 20
"""Items of lists and maps that one batch is made for, by the average of its row group."""

_MOST_ITEMS: Final = 64 << 20
"""Items that the rows of a row group may have on average."""

_HEADER_BYTES: Final = 4096
_MOST_HEADER_BYTES: Final = 16 << 20
"""Bytes of a header, which holds the least and the greatest value of its page."""


def check_pages(
    stream: pa.NativeFile,
    row_group: Any,  # noqa: ANN401 - pyarrow's RowGroupMetaData
    columns: Container[str],
    path: str,
) -> None:
    """Refuse columns with a page that claims to be far larger than its bytes in the file.

    Args:
        stream: the open file.
        row_group: the row group's metadata.
        columns: top-level columns that are to be read.
        path: the file, for errors.

    Raises:
        UnsupportedFormatError: one has such a page.
        CorruptFileError: the pages' headers cannot be read.
    """
    if row_group.total_byte_size <= LEAST_INFLATED:
        return
    for index in range(row_group.num_columns):
        chunk = row_group.column(index)
        if chunk.path_in_schema.partition(".")[0] in columns:
            _check_chunk(stream, chunk, path)


def _check_chunk(stream: pa.NativeFile, chunk: Any, path: str) -> None:  # noqa: ANN401 - pyarrow's ColumnChunkMetaData
    if chunk.total_uncompressed_size <= most_inflated(chunk.total_compressed_size):
        return
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    position, end = start, start + chunk.total_compressed_size
    while position < end:
        header = _header(stream, position, end, path)
        if header.uncompressed > most_inflated(header.compressed):
            raise UnsupportedFormatError(
                f"a page of column {chunk.path_in_schema!r} has {header.compressed:,} bytes and claims "
                f"{header.uncompressed:,}",
                path=path,
                remedy="write the file again with pages of the usual size",
            )
        position += header.end + header.compressed


def rows_of_lists(row_group: Any, columns: Container[str], path: str) -> int:  # noqa: ANN401 - pyarrow's
    """The rows of a batch whose lists and maps hold no more items than a batch is made for.

    Args:
        row_group: the row group's metadata.
        columns: top-level columns with lists or maps.
        path: the file, for errors.

    Raises:
        UnsupportedFormatError: a single row has far too many.
    """
    chunks = [row_group.column(i) for i in range(row_group.num_columns)]
    items = max((chunk.num_values for chunk in chunks if chunk.path_in_schema.partition(".")[0] in columns), default=0)
    each = items / max(row_group.num_rows, 1)
    if each > _MOST_ITEMS:
        raise UnsupportedFormatError(f"rows with {each:,.0f} items in their lists on average", path=path)
    return max(1, int(_BATCH_ITEMS / max(each, 1)))


def most_inflated(compressed: int) -> int:
    """The greatest number of bytes that a number of compressed bytes may become."""
    return max(MOST_INFLATED * compressed, LEAST_INFLATED)


def _header(stream: pa.NativeFile, position: int, end: int, path: str) -> PageHeader:
    """The header of the page at a position, of which the first bytes are enough where its values are short."""
    from hudi_hive.formats.parquet import CompactError, read_page_header  # hardly any file needs it

    length = _HEADER_BYTES
    while True:
        try:
            return read_page_header(stream.read_at(min(length, end - position), position))
        except CompactError as error:
            if length >= min(_MOST_HEADER_BYTES, end - position):
                raise CorruptFileError(f"the header of a page cannot be read: {error}", path=path) from error
        length *= 8
