"""Options of the formats of base files: Parquet, ORC and HFile."""

from __future__ import annotations

from typing import Final

from hudi_hive.options.declaration import Face, Option
from hudi_hive.options.parsers import boolean, choice, positive

BLOCK_SIZE: Final = Option(
    "hoodie.parquet.block.size", positive, 120 << 20, "Bytes of a row group of base files.", honoured_by=(Face.WRITE,)
)
PAGE_SIZE: Final = Option(
    "hoodie.parquet.page.size", positive, 1 << 20, "Bytes of a page of base files.", honoured_by=(Face.WRITE,)
)
DICTIONARY: Final = Option(
    "hoodie.parquet.dictionary.enabled", boolean, True, "Encode columns by dictionaries.", honoured_by=(Face.WRITE,)
)
COMPRESSION: Final = Option(
    "hoodie.parquet.compression.codec",
    choice("gzip", "snappy", "zstd", "uncompressed", "lz4"),
    "gzip",
    "Compression of base files and of Parquet log blocks.",
    honoured_by=(Face.WRITE,),
)
ORC_MAX_FILE_SIZE: Final = Option(
    "hoodie.orc.max.file.size",
    positive,
    120 << 20,
    "ORC tables: bytes that a base file is to have at most, beside the limit of Parquet files.",
    honoured_by=(Face.WRITE,),
)
ORC_STRIPE_SIZE: Final = Option(
    "hoodie.orc.stripe.size",
    positive,
    64 << 20,
    "ORC tables: bytes in memory of a stripe of base files.",
    honoured_by=(Face.WRITE,),
)
ORC_COMPRESSION: Final = Option(
    "hoodie.orc.compression.codec",
    choice("ZLIB", "SNAPPY", "ZSTD", "NONE"),
    "ZLIB",
    "ORC tables: compression of base files.",
    honoured_by=(Face.WRITE,),
)
HFILE_MAX_FILE_SIZE: Final = Option(
    "hoodie.hfile.max.file.size",
    positive,
    120 << 20,
    "HFile tables: bytes that a base file is to have at most, beside the limit of Parquet files.",
    honoured_by=(Face.WRITE,),
)
HFILE_COMPRESSION: Final = Option(
    "hoodie.hfile.compression.algorithm",
    choice("GZ", "NONE"),
    "GZ",
    "HFile tables: compression of base files.",
    honoured_by=(Face.WRITE,),
)

FORMAT_OPTIONS: Final = (
    BLOCK_SIZE,
    PAGE_SIZE,
    DICTIONARY,
    COMPRESSION,
    ORC_MAX_FILE_SIZE,
    ORC_STRIPE_SIZE,
    ORC_COMPRESSION,
    HFILE_MAX_FILE_SIZE,
    HFILE_COMPRESSION,
)
