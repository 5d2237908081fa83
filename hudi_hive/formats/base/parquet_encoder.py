"""Encodes Parquet base files with the metadata of Hudi's in their footer.

Each page has a checksum. Types are those that Hudi's readers want: lists in three levels, decimals as fixed bytes,
timestamps as 64-bit numbers.

Source: docs/format.md#base-files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_hive.formats.base.base_file_writer import RECORD_KEY, FileFooter, RowEncoder
from hudi_hive.formats.base.settings import CODECS, ParquetSettings, checked_codec
from hudi_hive.formats.gzip_codec import packs_fast

if TYPE_CHECKING:
    from hudi_hive.formats.parquet import GzipPages

_SCHEMA: Final = "parquet.avro.schema"

_DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())

_LEAST_PACKED: Final = 256 << 10
_LEAST_OF_LEAF: Final = 16 << 10
"""Bytes of a row group, and of each of its leaf columns, from which on another library packs a file by gzip.

Below, going from page to page and over the footer takes as long as what is saved.
"""

_SAMPLE_ROWS: Final = 4_000
"""Rows that tell whether a dictionary is worth its bytes."""


class ParquetEncoder(RowEncoder):
    """Turns rows into a Parquet file.

    Args:
        schema: Arrow schema of the rows, meta columns included.
        path: URI of the file, for messages.
        settings: how the file is encoded.

    Raises:
        InvalidOptionError: an unknown codec.
    """

    def __init__(self, schema: pa.Schema, path: str, settings: ParquetSettings) -> None:
        super().__init__(schema, path)
        self._settings = settings
        self._codec = checked_codec(settings.codec, CODECS, "Parquet compression codec", path)
        self._group_bytes = max(1, settings.row_group_bytes)
        self._rows_as: pa.Schema | None = None  # how the first rows came
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._writer: pq.ParquetWriter | None = None  # opened when the first rows are known
        self._pages: GzipPages | None = None  # what it writes to, where Arrow does not compress

    def _opened(self, stream: pa.NativeFile, first: pa.Table) -> pq.ParquetWriter:
        """Arrow's writer of the file, whose first rows tell what is written as dictionaries."""
        if self._writer is None:
            self._pages = self._packing(stream, first)
            plain = self._codec == "uncompressed" or self._pages is not None
            self._writer = pq.ParquetWriter(
                stream if self._pages is None else pa.PythonFile(self._pages, mode="w"),
                first.schema,
                compression=None if plain else self._codec,
                compression_level=None if plain else CODECS[self._codec],
                data_page_size=self._settings.page_bytes,
                use_dictionary=_with_few_values(first) if self._settings.dictionary else False,
                version="2.6",
                data_page_version="1.0",
                use_compliant_nested_type=True,
                write_page_checksum=self._pages is None,
                store_schema=False,
            )
        return self._writer

    def _packing(self, stream: pa.NativeFile, first: pa.Table) -> GzipPages | None:
        """What packs pages faster than Arrow does, where there is enough to pack."""
        if self._codec != "gzip" or not packs_fast():
            return None
        if first.nbytes < max(_LEAST_PACKED, _LEAST_OF_LEAF * _leaves(first.schema)):
            return None
        from hudi_hive.formats.parquet import GzipPages  # readers need none of it

        return GzipPages(stream, self.path)

    def row_schema(self, incoming: pa.Schema) -> pa.Schema:
        """The file's schema, with dictionaries where the first rows have their texts as such: they are not spread out.

        Keys are: each is hashed.
        """
        if self._rows_as is None:
            coded = {entry.name for entry in incoming if entry.type == _DICTIONARY} - {RECORD_KEY}
            self._rows_as = pa.schema(
                [
                    entry.with_type(_DICTIONARY) if entry.name in coded and entry.type == pa.string() else entry
                    for entry in self.schema
                ]
            )
        return self._rows_as

    def append(self, stream: pa.NativeFile, batch: pa.RecordBatch) -> None:
        """Write full row groups, and keep what is left."""
        # Row groups end where they are full, inside of a batch too.
        start, width = 0, max(1, batch.nbytes // batch.num_rows)
        while start < batch.num_rows:
            room = max(1, (self._group_bytes - self._pending_bytes) // width)
            piece = batch.slice(start, room)
            self._pending.append(piece)
            self._pending_bytes += piece.num_rows * width
            start += piece.num_rows
            if self._pending_bytes + width > self._group_bytes:
                self._flush(stream)

    def _flush(self, stream: pa.NativeFile) -> None:
        if not self._pending:
            return
        table = pa.Table.from_batches(self._pending)
        self._opened(stream, table).write_table(table, row_group_size=max(1, table.num_rows))
        self._pending, self._pending_bytes = [], 0

    def drop_rows(self) -> None:
        """Forget rows that are kept for later, and what Arrow writes of the file at its end."""
        self._pending, self._pending_bytes = [], 0
        if self._pages is not None:
            self._pages.drop()

    def finish(self, stream: pa.NativeFile, footer: FileFooter) -> dict[str, tuple[int, int]]:
        """Write the last row group and the footer."""
        self._flush(stream)
        writer = self._opened(stream, self.schema.empty_table())
        writer.add_key_value_metadata(footer.texts(_SCHEMA))
        if self._pages is None:
            writer.close()
            return _sizes(writer)
        self._pages.begin_footer()
        writer.close()
        self._pages.finish()
        return self._pages.sizes


def _leaves(fields: Iterable[pa.Field]) -> int:
    """The leaf columns of fields and what lies in them."""
    return sum(
        _leaves(entry.type.field(place) for place in range(entry.type.num_fields))
        if pa.types.is_nested(entry.type)
        else 1
        for entry in fields
    )


def _sizes(writer: pq.ParquetWriter) -> dict[str, tuple[int, int]]:
    """Bytes of each leaf column, compressed and uncompressed."""
    metadata: pq.FileMetaData = writer.writer.metadata
    sizes: dict[str, tuple[int, int]] = {}
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for index in range(row_group.num_columns):
            chunk = row_group.column(index)
            packed, plain = sizes.get(chunk.path_in_schema, (0, 0))
            sizes[chunk.path_in_schema] = (
                packed + chunk.total_compressed_size,
                plain + chunk.total_uncompressed_size,
            )
    return sizes


def _with_few_values(rows: pa.Table) -> list[str] | bool:
    """The columns of a row group whose dictionary and indices are likely smaller than their values.

    Hudi's writer asks that of its first page. Here that page is asked what the whole row group will hold, and so are
    rows from all over it: neither different first rows nor long runs of one value hide that values come again.
    Building the dictionary of a key takes a fifth of the time of a file, and makes it larger.
    """
    if not rows.num_rows or any(pa.types.is_nested(entry.type) for entry in rows.schema):
        return True  # Arrow wants the names of the leaves, which it makes itself
    samples = [rows.slice(0, _SAMPLE_ROWS)]
    if rows.num_rows > _SAMPLE_ROWS:
        samples.append(rows.take(np.linspace(0, rows.num_rows - 1, _SAMPLE_ROWS).astype(np.int64)))
    return [
        name for name in rows.column_names if any(_repeats(sample.column(name), rows.num_rows) for sample in samples)
    ]


def _repeats(sample: pa.ChunkedArray, rows: int) -> bool:
    """Whether so many rows as a sample is of are smaller with a dictionary."""
    values = len(sample) - sample.null_count
    try:
        distinct = int(pc.count_distinct(sample).as_py())
    except pa.ArrowNotImplementedError:
        return True
    if not values:
        return True
    width = sample.nbytes / values  # with four bytes for the length of each text, as in the file
    values, distinct = values * rows // len(sample), _distinct(values, distinct, rows / len(sample))
    indices = values * max(1, (distinct - 1).bit_length()) / 8
    return distinct * width + indices < values * width


def _distinct(values: int, distinct: int, times: float) -> int:
    """Different values among so many times the values, if each of them is met as often as others.

    Of N values n draws meet N (1 - exp(-n / N)) ones.
    """
    if times <= 1 or distinct == values:
        return round(distinct * times)
    least, most = 0.0, float(values)  # of n / N, which more draws of fewer values make greater
    for _ in range(50):
        middle = (least + most) / 2
        if -math.expm1(-middle) / middle > distinct / values:
            least = middle
        else:
            most = middle
    return max(distinct, round(-math.expm1(-most * times) * values / most))
