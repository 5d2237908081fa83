"""Types of what this project uses of Lance's files."""

from collections.abc import Sequence

import pyarrow as pa

class LanceBufferDescriptor:
    size: int

class LancePageMetadata:
    buffers: Sequence[LanceBufferDescriptor]

class LanceColumnMetadata:
    pages: Sequence[LancePageMetadata]

class LanceFileMetadata:
    schema: pa.Schema
    num_rows: int
    columns: Sequence[LanceColumnMetadata]

class ReaderResults:
    def to_batches(self) -> pa.RecordBatchReader: ...

class LanceFileReader:
    def __init__(self, path: str, *, columns: list[str] | None = None) -> None: ...
    def metadata(self) -> LanceFileMetadata: ...
    def read_range(self, start: int, num_rows: int, *, batch_size: int, batch_readahead: int) -> ReaderResults: ...
