"""Writes Parquet base files with the metadata of Hudi's in their footer.

Each page has a checksum. Types are those that Hudi's readers want: lists in three levels, decimals as fixed bytes,
timestamps as 64-bit numbers.

Source: docs/format.md#base-files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_hive.errors import InvalidOptionError, SchemaError, StorageError
from hudi_hive.formats.base.column_ranges import ColumnRanges
from hudi_hive.formats.hash import BloomBuilder, BloomSettings
from hudi_hive.names import RECORD_KEY_COLUMN
from hudi_hive.storage import Storage

RECORD_KEY: Final = RECORD_KEY_COLUMN
_SCHEMA: Final = "parquet.avro.schema"
_BLOOM: Final = "org.apache.hudi.bloomfilter"
_BLOOM_TYPE: Final = "hoodie_bloom_filter_type_code"
_LEAST_KEY: Final = "hoodie_min_record_key"
_GREATEST_KEY: Final = "hoodie_max_record_key"

# Arrow's own default of gzip is the slowest level. Level 3 takes half the time of zlib's default for 2 % more bytes.
CODECS: Final[Mapping[str, int | None]] = {"gzip": 3, "zstd": 3, "snappy": None, "lz4": None, "uncompressed": None}
"""Compression codecs and the level that each is used with."""

_HIGH: Final = r"[\x{E000}-\x{10FFFF}]"
_FIRST_HIGH_BYTE: Final = 0xEE

_GROUP_BYTES: Final = 120 << 20
"""Bytes of a row group (``hoodie.parquet.block.size``)."""


_SAMPLE_ROWS: Final = 20_000
"""Rows that tell whether a dictionary is worth its bytes; also what the first page of Hudi's writer holds."""


@dataclass(frozen=True, slots=True)
class WrittenBase:
    """Size, rows, key range and column statistics of a base file that was written.

    Attributes:
        size: bytes.
        rows: rows.
        min_key: least record key in Java's order; None where there are no rows or no keys.
        max_key: the greatest.
        ranges: what the file holds of each column, see :data:`hudi_hive.formats.base.COLUMN_RANGES_SCHEMA`;
            no rows if statistics were not wanted.
    """

    size: int
    rows: int
    min_key: str | None
    max_key: str | None
    ranges: pa.Table


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


class ParquetBaseWriter:
    """Writes one Parquet base file under its final name; a context manager that closes it.

    Args:
        storage: the table's storage.
        path: the file, relative to it.
        schema: Arrow schema of the rows, meta columns included.
        avro_schema: Avro schema of the rows, for the footer.
        bloom: whether, and in which size, the footer holds a filter of the record keys; files without the column
            ``_hoodie_record_key`` have none.
        settings: how the file is encoded.
        statistics: whether :meth:`close` tells the ranges of columns.

    Raises:
        InvalidOptionError: an unknown codec.
        SchemaError: a type that Parquet files of Hudi tables do not have.
        StorageError: the file cannot be made.
    """

    def __init__(
        self,
        storage: Storage,
        path: str,
        schema: pa.Schema,
        avro_schema: Mapping[str, Any],
        *,
        bloom: bool | BloomSettings = True,
        settings: ParquetSettings | None = None,
        statistics: bool = True,
    ) -> None:
        settings = settings or ParquetSettings()
        self._settings = settings
        self._codec = settings.codec.strip().lower()
        if self._codec not in CODECS:
            remedy = f"one of {', '.join(CODECS)}"
            raise InvalidOptionError(
                f"Parquet compression codec {settings.codec!r}", path=storage.uri(path), remedy=remedy
            )
        self._path = storage.uri(path)
        self._schema = schema.remove_metadata()
        self._avro_schema = avro_schema
        self._keys = schema.get_field_index(RECORD_KEY)
        bloom_settings = BloomSettings() if bloom is True else bloom
        self._bloom = BloomBuilder(bloom_settings) if bloom_settings and self._keys >= 0 else None
        self._ranges = ColumnRanges(self._schema) if statistics else ColumnRanges(pa.schema([]))
        self._group_bytes = max(1, settings.row_group_bytes)
        self._rows = 0
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._bounds: tuple[str, str] | None = None
        self._check_types()
        self._writer: pq.ParquetWriter | None = None  # opened when the first rows are known
        self._stream = storage.open_output(path)

    def _opened(self, first: pa.Table) -> pq.ParquetWriter:
        """Arrow's writer of the file, whose first rows tell what is written as dictionaries."""
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._stream,
                self._schema,
                compression=None if self._codec == "uncompressed" else self._codec,
                compression_level=CODECS[self._codec],
                data_page_size=self._settings.page_bytes,
                use_dictionary=_with_few_values(first) if self._settings.dictionary else False,
                version="2.6",
                data_page_version="1.0",
                use_compliant_nested_type=True,
                write_page_checksum=True,
                store_schema=False,
            )
        return self._writer

    def _check_types(self) -> None:
        for entry in self._schema:
            if pa.types.is_null(entry.type) or pa.types.is_unsigned_integer(entry.type):
                raise SchemaError(
                    f"column {entry.name!r} of type {entry.type} cannot be in a base file", path=self._path
                )

    def write(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Append rows, whose columns are matched by name.

        Raises:
            SchemaError: a column is missing, or is of a type whose values do not fit that of the file.
            StorageError: the file cannot be written.
        """
        for batch in rows.to_batches() if isinstance(rows, pa.Table) else [rows]:
            if batch.num_rows:
                self._add(self._fitted(batch))

    def _fitted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.schema.equals(self._schema, check_metadata=False):
            return batch
        try:
            arrays = [batch.column(entry.name).cast(entry.type) for entry in self._schema]
        except KeyError as error:
            raise SchemaError(f"rows without the column {error.args[0]}", path=self._path) from error
        except pa.ArrowException as error:
            raise SchemaError(f"rows do not fit the file's types: {error}", path=self._path) from error
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _add(self, batch: pa.RecordBatch) -> None:
        self._rows += batch.num_rows
        self._ranges.add(batch)
        if self._keys >= 0:
            keys = batch.column(self._keys)
            self._bounds = _java_bounds(self._bounds, keys)
            if self._bloom is not None:
                self._bloom.add(keys)
        # Row groups end where they are full, inside of a batch too.
        start, width = 0, max(1, batch.nbytes // batch.num_rows)
        while start < batch.num_rows:
            room = max(1, (self._group_bytes - self._pending_bytes) // width)
            piece = batch.slice(start, room)
            self._pending.append(piece)
            self._pending_bytes += piece.num_rows * width
            start += piece.num_rows
            if self._pending_bytes + width > self._group_bytes:
                self._flush()

    def _flush(self) -> None:
        if not self._pending:
            return
        table = pa.Table.from_batches(self._pending, self._schema)
        try:
            self._opened(table).write_table(table, row_group_size=max(1, table.num_rows))
        except (OSError, pa.ArrowException) as error:
            raise StorageError(f"base file cannot be written: {error}", path=self._path) from error
        self._pending, self._pending_bytes = [], 0

    def close(self) -> WrittenBase:
        """Write the remaining rows and the footer, and close the file.

        Raises:
            StorageError: the file cannot be written.
        """
        self._flush()
        least, greatest = (None, None) if self._bounds is None else self._bounds
        footer = {_SCHEMA: json.dumps(self._avro_schema, separators=(",", ":"))}
        if self._bloom is not None:
            bloom = self._bloom.finish()
            footer |= {_BLOOM: bloom.encode(), _BLOOM_TYPE: bloom.kind}
            if least is not None and greatest is not None:
                footer |= {_LEAST_KEY: least, _GREATEST_KEY: greatest}
        try:
            writer = self._opened(self._schema.empty_table())
            writer.add_key_value_metadata(footer)
            writer.close()
            size = int(self._stream.tell())
            self._stream.close()
        except (OSError, pa.ArrowException) as error:
            raise StorageError(f"base file cannot be written: {error}", path=self._path) from error
        return WrittenBase(size, self._rows, least, greatest, self._ranges.table(_sizes(writer)))

    def abandon(self) -> None:
        """Close an unfinished file without a footer; the caller deletes it."""
        self._pending = []
        if not self._stream.closed:
            self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            if not self._stream.closed:
                self.close()
        else:
            self.abandon()


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


def _java_bounds(bounds: tuple[str, str] | None, keys: pa.Array) -> tuple[str, str] | None:
    """Minimum and maximum of keys and earlier bounds in the order of Java's strings: by UTF-16 units.

    Readers leave files out by these bounds. Only texts with characters from U+E000 on are in another order by their
    bytes, and only among themselves.
    """
    texts = list(bounds or ())
    if _has_high_bytes(keys):
        high = pc.match_substring_regex(keys, _HIGH).fill_null(False)
        texts += keys.filter(high).to_pylist()
        keys = keys.filter(pc.invert(high))
    if keys.null_count < len(keys):
        ends = pc.min_max(keys)
        texts += [ends["min"].as_py(), ends["max"].as_py()]
    return (min(texts, key=_utf16), max(texts, key=_utf16)) if texts else None


def _has_high_bytes(keys: pa.Array) -> bool:
    """Whether any text has a character from U+E000 on, which alone begin with the UTF-8 bytes 0xEE and above."""
    data = keys.cast(pa.binary()).buffers()[2]
    if data is None or not data.size:
        return False
    return bool(np.frombuffer(data, np.uint8).max() >= _FIRST_HIGH_BYTE)


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")
