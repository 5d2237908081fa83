from collections.abc import Sequence
from typing import Any

from pyarrow._tables import RecordBatch, Table
from pyarrow._types import KeyValueMetadata, Schema

class ORCFile:
    def __init__(self, source: Any) -> None: ...
    @property
    def metadata(self) -> KeyValueMetadata: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def nrows(self) -> int: ...
    @property
    def nstripes(self) -> int: ...
    @property
    def compression(self) -> str: ...
    @property
    def writer(self) -> str | int: ...
    @property
    def file_length(self) -> int: ...
    def read_stripe(self, n: int, columns: Sequence[str] | Sequence[int] | None = None) -> RecordBatch: ...
    def read(self, columns: Sequence[str] | Sequence[int] | None = None) -> Table: ...

class ORCWriter:
    def __init__(
        self,
        where: Any,
        *,
        file_version: str = "0.12",
        batch_size: int = 1024,
        stripe_size: int = 67108864,
        compression: str = "uncompressed",
        compression_block_size: int = 65536,
        compression_strategy: str = "speed",
        row_index_stride: int = 10000,
        padding_tolerance: float = 0.0,
        dictionary_key_size_threshold: float = 0.0,
        bloom_filter_columns: Sequence[int] | None = None,
        bloom_filter_fpp: float = 0.05,
    ) -> None: ...
    def write(self, table: Table) -> None: ...
    def close(self) -> None: ...
