"""Writes base files of any format: what goes into every footer, and what a written file is told to hold.

Source: docs/format.md#base-files.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SchemaError, StorageError
from hudi_hive.formats.base.column_ranges import ColumnRanges
from hudi_hive.formats.hash import BloomBuilder, BloomFilter, BloomSettings
from hudi_hive.names import RECORD_KEY_COLUMN
from hudi_hive.storage import Storage

RECORD_KEY: Final = RECORD_KEY_COLUMN
_BLOOM: Final = "org.apache.hudi.bloomfilter"
_BLOOM_TYPE: Final = "hoodie_bloom_filter_type_code"
_LEAST_KEY: Final = "hoodie_min_record_key"
_GREATEST_KEY: Final = "hoodie_max_record_key"

_HIGH: Final = r"[\x{E000}-\x{10FFFF}]"
_FIRST_HIGH_BYTE: Final = 0xEE


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
class FileFooter:
    """What a base file holds beside its rows.

    Attributes:
        avro_schema: Avro schema of the rows, as JSON.
        bloom: filter of the record keys; None without one.
        bounds: least and greatest record key; None without keys.
    """

    avro_schema: str
    bloom: BloomFilter | None
    bounds: tuple[str, str] | None

    def texts(self, schema_name: str) -> dict[str, str]:
        """Key-value metadata of the footer of a Parquet or an ORC file.

        Args:
            schema_name: what it calls the Avro schema.
        """
        texts = {schema_name: self.avro_schema}
        if self.bloom is not None:
            texts |= {_BLOOM: self.bloom.encode(), _BLOOM_TYPE: self.bloom.kind}
            if self.bounds is not None:
                texts |= dict(zip((_LEAST_KEY, _GREATEST_KEY), self.bounds, strict=True))
        return texts


class RowEncoder(ABC):
    """Base class of what turns rows into the bytes of a file of one format.

    Args:
        schema: Arrow schema of the rows, meta columns included.
        path: URI of the file, for messages.
    """

    def __init__(self, schema: pa.Schema, path: str) -> None:
        self.schema = schema.remove_metadata()
        self.path = path

    def row_schema(self, incoming: pa.Schema) -> pa.Schema:
        """The schema that :meth:`append` wants rows of a schema in."""
        return self.schema

    @abstractmethod
    def append(self, stream: pa.NativeFile, batch: pa.RecordBatch) -> None:
        """Write rows to the file, or keep them for later."""

    @abstractmethod
    def finish(self, stream: pa.NativeFile, footer: FileFooter) -> dict[str, tuple[int, int]]:
        """Write all rows that are left and the footer; the bytes of each leaf column, compressed and uncompressed."""

    @abstractmethod
    def drop_rows(self) -> None:
        """Forget rows that are kept for later."""


class BaseFileWriter:
    """Writes one base file under its final name; a context manager that closes it.

    Args:
        storage: the table's storage.
        path: the file, relative to it.
        avro_schema: Avro schema of the rows, for the footer.
        encoder: of the file's format, with the columns of the file.
        bloom: whether, and in which size, the file holds a filter of the record keys; files without the column
            ``_hoodie_record_key`` have none.
        statistics: whether :meth:`close` tells the ranges of columns.

    Raises:
        SchemaError: a type that base files of Hudi tables do not have.
        StorageError: the file cannot be made.
    """

    def __init__(
        self,
        storage: Storage,
        path: str,
        avro_schema: Mapping[str, Any],
        encoder: RowEncoder,
        *,
        bloom: bool | BloomSettings = True,
        statistics: bool = True,
    ) -> None:
        self._path, self._encoder, self._schema = storage.uri(path), encoder, encoder.schema
        self._avro_schema = avro_schema
        self._keys = self._schema.get_field_index(RECORD_KEY)
        bloom_settings = BloomSettings() if bloom is True else bloom
        self._bloom = BloomBuilder(bloom_settings) if bloom_settings and self._keys >= 0 else None
        self._ranges = ColumnRanges(self._schema) if statistics else ColumnRanges(pa.schema([]))
        self._rows = 0
        self._bounds: tuple[str, str] | None = None
        self._check_types()
        self._stream = storage.open_output(path)

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
        schema = self._encoder.row_schema(batch.schema)
        if batch.schema.equals(schema, check_metadata=False):
            return batch
        try:
            arrays = [batch.column(entry.name).cast(entry.type) for entry in schema]
        except KeyError as error:
            raise SchemaError(f"rows without the column {error.args[0]}", path=self._path) from error
        except pa.ArrowException as error:
            raise SchemaError(f"rows do not fit the file's types: {error}", path=self._path) from error
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _add(self, batch: pa.RecordBatch) -> None:
        self._rows += batch.num_rows
        self._ranges.add(batch)
        if self._keys >= 0:
            keys = batch.column(self._keys)
            self._bounds = _java_bounds(self._bounds, keys)
            if self._bloom is not None:
                self._bloom.add(keys)
        try:
            self._encoder.append(self._stream, batch)
        except (OSError, pa.ArrowException) as error:
            raise self._write_failed(error) from error

    def close(self) -> WrittenBase:
        """Write the remaining rows and the footer, and close the file.

        Raises:
            StorageError: the file cannot be written.
        """
        least, greatest = (None, None) if self._bounds is None else self._bounds
        avro = json.dumps(self._avro_schema, separators=(",", ":"))
        footer = FileFooter(avro, None if self._bloom is None else self._bloom.finish(), self._bounds)
        try:
            sizes = self._encoder.finish(self._stream, footer)
            size = int(self._stream.tell())
            self._stream.close()
        except (OSError, pa.ArrowException) as error:
            raise self._write_failed(error) from error
        return WrittenBase(size, self._rows, least, greatest, self._ranges.table(sizes))

    def _write_failed(self, error: Exception) -> StorageError:
        return StorageError(f"base file cannot be written: {error}", path=self._path)

    def abandon(self) -> None:
        """Close an unfinished file without a footer; the caller deletes it."""
        self._encoder.drop_rows()
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
