"""Reads Parquet base files as Arrow batches, with each file's own column names and types.

Row groups whose statistics rule a filter out are not read. Lists in the old two-level layout, INT96 and
TIMESTAMP_MILLIS columns come out as lists and timestamps (Parquet format, "LogicalTypes.md").

Source: docs/format.md#base-files.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.base.base_file import BATCH_ROWS, BaseFile, ByteRange, OpenBaseFile, decoding, empty_columns
from hudi_hive.formats.base.parquet_pages import check_pages, rows_of_lists
from hudi_hive.formats.base.parquet_ranges import column_ranges
from hudi_hive.metrics import IoCounters
from hudi_hive.predicate import RowFilter
from hudi_hive.storage import RangeStream

_WORTH_SKIPPING: Final = 4_096
"""Files with fewer rows are sooner decoded than their statistics are weighed."""

_WORTH_INDICES: Final = 16_384
"""Files with fewer rows are sooner decoded value by value than opened a second time to give dictionary indices."""

_DICTIONARY_ENCODINGS: Final = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})
"""Encodings of column chunks that the decoder can give as dictionary indices."""

_FEW_KEYS: Final = 64
"""Values up to which a condition on a column is a look-up: most rows of a row group are hoped not to be needed."""

_LOOKUP_ROWS: Final = 8_192
"""Rows decoded at a time on the way to the last row that a look-up found."""

_MOST_BYTES: Final = 64 << 20
"""Bytes of text up to which a batch is made of dictionary indices; one with more comes in slices."""

_LONG_VALUES: Final = 64 << 10
"""Bytes of a dictionary that can hold values so long that it matters."""

_RARE_INDICES: Final = 16
"""Values for each compressed byte of data pages from which on only a dictionary can hold their text."""


def open_parquet_bytes(content: memoryview, path: str) -> BaseFile:
    """Open a Parquet file that lies in memory, such as the content of a log block; ``path`` is for error messages."""
    return ParquetBaseFile(pa.BufferReader(pa.py_buffer(content)), path, IoCounters(), remote=False)


def parquet_layout(file: BaseFile) -> str | None:
    """The Parquet schema of an open base file as text; None for other formats."""
    return file.layout if isinstance(file, ParquetBaseFile) else None


def sole_value(file: BaseFile, column: str) -> object:
    """The one value of a column by the file's statistics; None where they do not say that it is one."""
    return file.sole_value(column) if isinstance(file, ParquetBaseFile) else None


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of an open file.

    Attributes:
        rows: how many it has.
        may_pass: whether a row of it can pass a filter, by its statistics.
    """

    rows: int
    may_pass: bool


def row_groups_of(file: BaseFile, skip: RowFilter | None) -> list[RowGroup]:
    """The row groups of an open file, in their order; one for all rows of a file of another format than Parquet.

    Args:
        file: the open file.
        skip: a filter that is bound to its columns; None for all rows.
    """
    return file.row_groups(skip) if isinstance(file, ParquetBaseFile) else [RowGroup(file.num_rows, may_pass=True)]


def read_row_groups(
    file: BaseFile, columns: Sequence[str], groups: Sequence[int], *, batch_size: int, use_threads: bool
) -> Iterator[pa.RecordBatch]:
    """Read all rows of some of the row groups of :func:`row_groups_of`; arguments as of :meth:`BaseFile.batches`."""
    if isinstance(file, ParquetBaseFile):
        yield from file.of_groups(file.require_columns(columns), groups, None, batch_size, use_threads)
    elif groups:
        yield from file.batches(columns, batch_size=batch_size, use_threads=use_threads)


class ParquetBaseFile(OpenBaseFile):
    """An open Parquet file."""

    def __init__(self, stream: pa.NativeFile, path: str, counters: IoCounters, remote: bool) -> None:
        self._remote = remote
        self._leaf_positions: dict[str, int] | None = None
        self._nested: set[str] | None = None
        with decoding(path):
            self._file = self._reader(stream)
            self._metadata = self._file.metadata
            super().__init__(stream, path, counters, self._file.schema_arrow)

    def _reader(
        self, stream: pa.NativeFile, metadata: pq.FileMetaData | None = None, as_indices: Sequence[str] = ()
    ) -> pq.ParquetFile:
        return pq.ParquetFile(
            stream,
            metadata=metadata,
            read_dictionary=list(as_indices) or None,
            coerce_int96_timestamp_unit="us",  # as nanoseconds, dates before 1677 and after 2262 would wrap round
            page_checksum_verification=True,
            pre_buffer=self._remote and not isinstance(stream, RangeStream),  # those are fetched by _prefetch
        )

    @property
    def num_rows(self) -> int:
        """Number of rows of the file."""
        return int(self._metadata.num_rows)

    @property
    def writer(self) -> str:
        """The name of the program that wrote the file, from its footer; empty without one."""
        return str(self._metadata.created_by or "")

    @property
    def layout(self) -> str:
        """The Parquet schema as text: physical types, annotations, nesting."""
        with decoding(self.path):
            return str(self._metadata.schema).partition("\n")[2]  # the first line is the object's address

    def sole_value(self, column: str) -> object:
        """The one value of a column by the statistics of all row groups; None where they do not say that it is one."""
        with decoding(self.path):
            values: set[object] = set()
            for leaf in self._leaves({column}):
                for group in range(self._metadata.num_row_groups):
                    statistics = self._metadata.row_group(group).column(leaf).statistics
                    if statistics is None or not statistics.has_min_max or statistics.null_count:
                        return None
                    values.update((statistics.min, statistics.max))
            return values.pop() if len(values) == 1 else None

    def groups(self, skip: RowFilter | None) -> tuple[int, int]:
        """Numbers of row groups: all, and those left to read under a filter."""
        return int(self._metadata.num_row_groups), len(self._row_groups_to_read(skip, None))

    def batches(
        self,
        columns: Sequence[str],
        *,
        skip: RowFilter | None = None,
        byte_range: ByteRange | None = None,
        batch_size: int = BATCH_ROWS,
        use_threads: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """Read rows as record batches; see :meth:`BaseFile.batches`."""
        names = self.require_columns(columns)
        groups = self._row_groups_to_read(skip, byte_range)
        self.counters.add("row_groups_read", len(groups))
        self.counters.add("row_groups_skipped", self._metadata.num_row_groups - len(groups))
        yield from self.of_groups(names, groups, skip, batch_size, use_threads)

    def row_groups(self, skip: RowFilter | None) -> list[RowGroup]:
        """The row groups of the file, with what their statistics say of a filter; see :func:`row_groups_of`."""
        left = set(self._row_groups_to_read(skip, None))
        with decoding(self.path):
            rows = [int(self._metadata.row_group(i).num_rows) for i in range(self._metadata.num_row_groups)]
        return [RowGroup(count, number in left) for number, count in enumerate(rows)]

    def of_groups(
        self, names: list[str], groups: Sequence[int], skip: RowFilter | None, batch_size: int, use_threads: bool
    ) -> Iterator[pa.RecordBatch]:
        """Read the rows of row groups; arguments as of :meth:`batches`."""
        if not names:
            for group in groups:
                yield empty_columns(self._metadata.row_group(group).num_rows)
            return
        with decoding(self.path):
            indexed = self._repetitive(names, groups)
            file = self._reader(self.stream, self._metadata, indexed) if indexed else self._file
            lookup = self._lookup(skip, names, groups)
            for group in groups:
                check_pages(self.stream, self._metadata.row_group(group), names, self.path)
        schema = pa.schema([self.schema.field(name) for name in names], self.schema.metadata)

        # One row group at a time: buffers that were read ahead are kept until the iterator ends.
        for group in groups:
            row_numbers = None if lookup is None else self._rows_that_match(lookup, group)
            if row_numbers is not None and not len(row_numbers):
                continue
            self._prefetch(group, names)
            with decoding(self.path):
                most = self._nested_rows(names, group)
                rows = min(batch_size if row_numbers is None else min(batch_size, _LOOKUP_ROWS), most)
                decoder = file.iter_batches(rows, [group], names, use_threads=use_threads)
            batches = self._check_row_count(_decoded(decoder, self.path), group, whole=row_numbers is None)
            for batch in batches if row_numbers is None else _take_rows(batches, row_numbers):
                batch = batch.select(names)
                if indexed:
                    yield from _decoded(_dense(batch, indexed, schema), self.path)
                else:
                    yield batch

    def _prefetch(self, group: int, names: Container[str]) -> None:
        """Fetch the column chunks of a row group of a remote file together."""
        if isinstance(self.stream, RangeStream):
            with decoding(self.path):
                row_group = self._metadata.row_group(group)
                chunks = [row_group.column(index) for index in range(row_group.num_columns)]
                self.stream.prefetch(
                    [_chunk_range(chunk) for chunk in chunks if chunk.path_in_schema.partition(".")[0] in names]
                )

    def _check_row_count(
        self, batches: Iterator[pa.RecordBatch], group: int, *, whole: bool
    ) -> Iterator[pa.RecordBatch]:
        """Check that batches hold all rows of a row group, since the decoder skips pages of unknown types."""
        rows = 0
        for batch in batches:
            rows += batch.num_rows
            yield batch
        if whole and rows != self._metadata.row_group(group).num_rows:
            raise CorruptFileError(
                f"row group {group} has {rows} rows where the footer tells {self._metadata.row_group(group).num_rows}",
                path=self.path,
                remedy="restore the file or roll its commit back",
            )

    def row_ranges(self) -> list[ByteRange]:
        """The byte range of each part of the file that can be read alone."""
        with decoding(self.path):
            return [_extent(self._metadata.row_group(i)) for i in range(self._metadata.num_row_groups)]

    def _nested_rows(self, names: Sequence[str], group: int) -> int:
        """The number of rows of a batch, limited by the items in their lists and maps."""
        if self._nested is None:
            self._nested = {field.name for field in self.schema if pa.types.is_nested(field.type)}
        if self._nested.isdisjoint(names):
            return BATCH_ROWS
        return rows_of_lists(self._metadata.row_group(group), self._nested, self.path)

    def _lookup(self, skip: RowFilter | None, names: Sequence[str], groups: Sequence[int]) -> RowFilter | None:
        """The conjuncts of a filter on few values of columns with many distinct values, which are read first."""
        if skip is None or self.num_rows < _WORTH_INDICES or not groups:
            return None
        columns = []
        row_group = self._metadata.row_group(groups[0])
        for name in skip.columns:
            values = skip.required_values(name)
            if values is None or len(values) > _FEW_KEYS or "." in name:
                continue
            chunks = [row_group.column(leaf) for leaf in self._leaves({name})]
            if chunks and all(chunk.total_uncompressed_size >= chunk.num_values for chunk in chunks):
                columns.append(name)
        return skip.restrict(columns) if columns and not set(columns).issuperset(names) else None

    def _rows_that_match(self, lookup: RowFilter, group: int) -> npt.NDArray[np.int64]:
        """Positions of the rows of a row group that pass the filter."""
        self._prefetch(group, lookup.columns)
        matches, start = [np.empty(0, np.int64)], 0
        with decoding(self.path):
            for batch in self._file.iter_batches(BATCH_ROWS, [group], list(lookup.columns), use_threads=False):
                matches.append(pc.indices_nonzero(lookup.evaluate(batch)).to_numpy().astype(np.int64) + start)
                start += batch.num_rows
        if start != self._metadata.row_group(group).num_rows:
            raise CorruptFileError(f"row group {group} has {start} rows, and the footer tells others", path=self.path)
        return np.concatenate(matches)

    def _repetitive(self, names: Sequence[str], groups: Sequence[int]) -> list[str]:
        """Text columns that are faster to read as dictionary indices and to convert to text afterwards.

        A value that is not in a dictionary takes four bytes at least, so a column of less than one byte a value has
        hardly any such; those few cost only time. Most of Hudi's meta columns are of this kind.
        """
        if self.num_rows < _WORTH_INDICES and not self._inflates_much(groups):
            return []
        # The reader takes a dotted name for the path of a nested column.
        text = (pa.string(), pa.binary())
        repetitive = {name for name in names if self.schema.field(name).type in text and "." not in name}
        for group in groups:
            if not repetitive:
                break
            row_group = self._metadata.row_group(group)
            for index in self._leaves(repetitive):
                chunk = row_group.column(index)
                encodings = set(chunk.encodings)
                if not (
                    self._is_repetitive(chunk)
                    and encodings <= _DICTIONARY_ENCODINGS
                    and encodings & {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}
                ):
                    repetitive.discard(chunk.path_in_schema)
        return [name for name in names if name in repetitive]

    def _inflates_much(self, groups: Sequence[int]) -> bool:
        """Whether pages decompress to so much more than the file that they may repeat long values very often."""
        plain = sum(int(self._metadata.row_group(group).total_byte_size) for group in groups)
        return plain > _LONG_VALUES and plain > _RARE_INDICES * int(self.stream.size())

    def _is_repetitive(self, chunk: Any) -> bool:  # noqa: ANN401 - pyarrow's ColumnChunkMetaData
        """Whether nearly all values are dictionary-encoded, and the dictionary is much smaller than the text."""
        if self.num_rows >= _WORTH_INDICES and chunk.total_uncompressed_size < chunk.num_values:
            return True
        # A few long values repeated very often: as text they could take any amount of memory.
        dictionary, data = chunk.dictionary_page_offset, chunk.data_page_offset
        if not dictionary or data <= dictionary:
            return False
        indices = chunk.total_compressed_size - (data - dictionary)
        return bool(indices * _RARE_INDICES < chunk.num_values and chunk.total_uncompressed_size > _LONG_VALUES)

    def _leaves(self, names: Container[str]) -> list[int]:
        """Positions of top-level columns of one leaf among the leaves."""
        if self._leaf_positions is None:
            schema = self._metadata.schema
            self._leaf_positions = {schema.column(i).path: i for i in range(len(schema))}
        return [place for name, place in self._leaf_positions.items() if name in names]

    def _row_groups_to_read(self, skip: RowFilter | None, byte_range: ByteRange | None) -> list[int]:
        count = self._metadata.num_row_groups
        keep = np.ones(count, np.bool_)
        with decoding(self.path):
            if byte_range is not None:
                start, length = byte_range
                middles = np.array([first + size // 2 for first, size in self.row_ranges()], np.int64)
                keep &= (middles >= start) & (middles < start + length)
            if skip is not None and self.num_rows > _WORTH_SKIPPING and keep.any():
                ranges = column_ranges(self._metadata, self.schema, skip.root)
                keep &= skip.groups_that_may_match(ranges, count)
        return [int(i) for i in np.flatnonzero(keep)]


def _decoded(batches: Iterator[pa.RecordBatch], path: str) -> Iterator[pa.RecordBatch]:
    """Iterate over the batches of a decoder and convert its exceptions."""
    while True:
        with decoding(path):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _take_rows(batches: Iterator[pa.RecordBatch], rows: npt.NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Take rows by ascending positions; batches after the last one are not decoded."""
    start = 0
    for batch in batches:
        first, last = np.searchsorted(rows, [start, start + batch.num_rows])
        if last > first:
            yield batch.take(pa.array(rows[first:last] - start))
        if last == len(rows):
            return
        start += batch.num_rows


def _dense(batch: pa.RecordBatch, indexed: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Convert dictionary columns of a batch to text; several slices where the text would exceed 64 MiB.

    Indices that a damaged file has beyond its dictionary are an error.
    """
    rows = batch.num_rows
    for name in indexed:
        column = batch.column(name)
        assert isinstance(column, pa.DictionaryArray)
        lengths = pc.binary_length(column.dictionary)
        widest = pc.max(lengths).as_py() or 0
        if widest * batch.num_rows > _MOST_BYTES < pc.sum(lengths.take(column.indices)).as_py():
            rows = min(rows, max(1, _MOST_BYTES // widest))
    rows = max(rows, 1)
    for start in range(0, batch.num_rows, rows):
        piece = batch if rows >= batch.num_rows else batch.slice(start, rows)
        arrays = [
            column.dictionary.take(column.indices)
            if name in indexed and isinstance(column, pa.DictionaryArray)
            else column
            for name, column in zip(schema.names, piece.columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _chunk_range(chunk: Any) -> tuple[int, int]:  # noqa: ANN401 - pyarrow's ColumnChunkMetaData
    """Where the pages of a column chunk begin and end."""
    start = min((offset for offset in (chunk.dictionary_page_offset, chunk.data_page_offset) if offset), default=0)
    return int(start), int(start + chunk.total_compressed_size)


def _extent(group: Any) -> ByteRange:  # noqa: ANN401 - pyarrow's RowGroupMetaData
    """Start and length of a row group, as ``ParquetInputFormat`` uses them to split files."""
    if group.num_columns == 0:
        return 0, 0
    first = group.column(0)
    starts = [offset for offset in (first.dictionary_page_offset, first.data_page_offset) if offset]
    size = sum(group.column(i).total_compressed_size for i in range(group.num_columns))
    return int(min(starts, default=0)), int(size)
