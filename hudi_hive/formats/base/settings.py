"""How base files are encoded, by their formats.

Source: docs/format.md#base-files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from hudi_hive.errors import InvalidOptionError

# Arrow's own default of gzip is the slowest level. Level 3 takes half the time of zlib's default for 2 % more bytes.
CODECS: Final[Mapping[str, int | None]] = {"gzip": 3, "zstd": 3, "snappy": None, "lz4": None, "uncompressed": None}
"""Compression codecs and the level that each is used with."""

HFILE_CODECS: Final = ("gz", "none")
"""Compressions of HFiles."""

ORC_CODECS: Final[Mapping[str, str]] = {
    "zlib": "zlib",
    "snappy": "snappy",
    "zstd": "zstd",
    "none": "uncompressed",
}
"""Compressions by Hudi's names, and what Arrow calls them."""


_GROUP_BYTES: Final = 120 << 20
"""Bytes of a row group (``hoodie.parquet.block.size``)."""


@dataclass(frozen=True, slots=True)
class ParquetSettings:
    """How Parquet files are encoded.

    Attributes:
        codec: compression of pages: gzip, zstd, snappy, lz4 or uncompressed.
        row_group_bytes: bytes in memory after which a row group is written.
        page_bytes: bytes of values, before compression, after which a page ends.
        dictionary: whether columns of few values are written as dictionaries, all others never; files with nested
            columns try one of each.
    """

    codec: str = "gzip"
    row_group_bytes: int = _GROUP_BYTES
    page_bytes: int = 1 << 20
    dictionary: bool = True


@dataclass(frozen=True, slots=True)
class OrcSettings:
    """How ORC files are encoded.

    Attributes:
        codec: compression: zlib, snappy, zstd or none.
        stripe_bytes: bytes in memory after which a stripe is written.
    """

    codec: str = "zlib"
    stripe_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class HFileSettings:
    """How HFiles are encoded.

    Attributes:
        codec: compression of blocks: gz or none.
    """

    codec: str = "gz"


@dataclass(frozen=True, slots=True)
class BaseFileSettings:
    """How base files are encoded, by their formats.

    Attributes:
        parquet: Parquet files.
        orc: ORC files.
        hfile: HFiles.
    """

    parquet: ParquetSettings = field(default_factory=ParquetSettings)
    orc: OrcSettings = field(default_factory=OrcSettings)
    hfile: HFileSettings = field(default_factory=HFileSettings)


def checked_codec(codec: str, supported: Iterable[str], what: str, path: str) -> str:
    """A codec's name in lower case.

    Args:
        codec: as the settings of a format have it.
        supported: names of the codecs that files of the format are written with.
        what: compression of what, for messages.
        path: URI of the file, for messages.

    Raises:
        InvalidOptionError: it is none of them.
    """
    name = codec.strip().lower()
    if name not in supported:
        raise InvalidOptionError(f"{what} {codec!r}", path=path, remedy=f"one of {', '.join(supported)}")
    return name
