"""Headers of Parquet's pages: their sizes, and where they end.

Source: Parquet format, ``PageHeader`` of "parquet.thrift".
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hudi_hive.formats.parquet.compact import I32, CompactError, fields, integer
from hudi_hive.formats.varints import signed_varint

_UNCOMPRESSED, _COMPRESSED, _CHECKSUM = 2, 3, 4
_ONE_FURTHER: Final = 0x10
"""A step of field numbers in the header of a field."""


class PageHeader(NamedTuple):
    """The sizes of a page and of its header.

    Attributes:
        uncompressed: bytes of the page's values as they are.
        compressed: bytes of the page in the file.
        start: where the header begins.
        end: where it ends, and the page begins.
        size_start: where it tells the compressed bytes.
        size_end: where it goes on behind them.
    """

    uncompressed: int
    compressed: int
    start: int
    end: int
    size_start: int
    size_end: int


def read_page_header(data: bytes, start: int = 0) -> PageHeader:
    """The header of the page that begins at a position of some bytes.

    Raises:
        CompactError: none begins there, or the bytes end inside of it.
    """
    uncompressed = compressed = -1
    size_start = size_end = end = start
    for field in fields(data, start):
        if field.kind == I32 and field.number == _UNCOMPRESSED:
            uncompressed = integer(data, field.start)[0]
        elif field.kind == I32 and field.number == _COMPRESSED:
            compressed, size_start, size_end = integer(data, field.start)[0], field.start, field.end
        end = field.end
    if min(uncompressed, compressed) < 0:
        raise CompactError("the header of a page tells no sizes")
    return PageHeader(uncompressed, compressed, start, end, size_start, size_end)


def packed_page_header(data: bytes, header: PageHeader, compressed: int, checksum: int) -> bytes:
    """The header of a page whose bytes were compressed, with a checksum.

    Args:
        data: bytes with the header of the page as it was, without a checksum.
        header: what that header tells.
        compressed: bytes of the page now.
        checksum: CRC-32 of these.

    Raises:
        CompactError: the header has a checksum, or nothing behind the sizes.
    """
    following = data[header.size_end]
    if following >> 4 <= _CHECKSUM - _COMPRESSED:
        raise CompactError("the header of a page has a checksum, or tells nothing of its values")
    signed = checksum - (1 << 32) if checksum >> 31 else checksum
    return b"".join(
        (
            data[header.start : header.size_start],
            signed_varint(compressed),
            bytes([_ONE_FURTHER | I32]),
            signed_varint(signed),
            bytes([following - _ONE_FURTHER]),
            data[header.size_end + 1 : header.end],
        )
    )
