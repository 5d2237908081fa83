"""Reads a file of an ACID table by stripe: identifiers as numpy arrays, columns as Arrow arrays.

Columns are found by name, whatever its case; files that only have ``_col0`` … are refused, and columns that a file
lacks are null (ORC schema evolution). Source: Hive's ORC ACID format (HIVE-10165, HIVE-14035).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Final, Self

import numpy as np
import pyarrow as pa

from hudi_hive.errors import (
    CorruptFileError,
    FileVanishedError,
    PathNotFoundError,
    SchemaError,
    UnsupportedAcidTableError,
    UnsupportedAcidValueError,
    UnsupportedFormatError,
)
from hudi_hive.formats.base import decoding
from hudi_hive.formats.orc import (
    ACID_FIELDS,
    DELETE,
    INSERT,
    PROLEPTIC_GREGORIAN,
    UPDATE,
    HiveType,
    as_hive_reads,
    has_days,
    is_out_of_range,
    read_stripes,
    read_tail,
    read_wide_stripe,
    stripe_ranges,
)
from hudi_hive.mutation.acid_table.directories import AcidFile
from hudi_hive.mutation.acid_table.row_ids import Longs, RowIdColumns
from hudi_hive.predicate import RowFilter
from hudi_hive.storage import Storage

_META: Final = pa.schema(ACID_FIELDS)
_ROW: Final = "row"
_NAMELESS: Final = re.compile(r"_col\d+")
_NO_CALENDAR: Final = 0
_FEW_ROWS: Final = 4096
"""Files with fewer rows are read faster than their statistics."""

_RANGED: Final = ("tinyint", "smallint", "int", "bigint", "date", "string", "varchar")


@dataclass(frozen=True, slots=True)
class AcidEvents:
    """Events of a stripe: identifiers, the write ids of the events, and the selected columns."""

    keys: RowIdColumns
    written: Longs
    columns: list[pa.Array]


class OpenAcidFile:
    """An open file of a base, delta or delete delta; a context manager.

    Args:
        storage: the table's, or the partition's.
        file: which file.

    Raises:
        FileVanishedError: the cleaner was faster.
        CorruptFileError: no ORC file.
        UnsupportedAcidTableError: its columns are not those of an ACID file.
    """

    def __init__(self, storage: Storage, file: AcidFile) -> None:
        import pyarrow.orc as orc

        self._file, self.uri = file, storage.uri(file.path)
        self._counters = storage.counters
        self._stream = _open(storage, file)
        try:
            with decoding(self.uri):
                read_stripes(self._stream, self.uri)
                self._orc = orc.ORCFile(self._stream)
            self.row_type = self._row_type(self._orc.schema)
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def _row_type(self, schema: pa.Schema) -> pa.StructType:
        fields = list(schema)
        meta = [(field.name, field.type) for field in fields[:-1]]
        is_acid = meta == [(field.name, field.type) for field in _META]
        if not is_acid or fields[-1].name != _ROW or not pa.types.is_struct(fields[-1].type):
            raise UnsupportedAcidTableError(
                "file without row identifiers, from before the table was transactional or from LOAD DATA",
                path=self.uri,
                remedy="run a major compaction",
            )
        return fields[-1].type

    def deletes(self) -> Iterator[AcidEvents]:
        """Yield the delete events, a stripe at a time.

        Raises:
            CorruptFileError: it has other events, or an event without identifier.
        """
        for batch in self._stripes([]):
            yield self._events(batch, {DELETE}, [])

    def rows(
        self, columns: Sequence[pa.Field], kinds: Mapping[str, HiveType], row_filter: RowFilter | None = None
    ) -> Iterator[AcidEvents]:
        """Yield the rows, a stripe at a time, without stripes in which no row can pass a filter.

        Args:
            columns: the table's columns that are wanted.
            kinds: their Hive types by name.
            row_filter: on the table's columns and partition keys; the rows that are given need not pass it.

        Raises:
            UnsupportedAcidTableError: a delta of the legacy layout, with updates and deletes in it.
            SchemaError: a column of the file is not of the table's type, nor of one that widens to it.
            UnsupportedAcidValueError: a value that the table's Arrow type cannot hold, or a day of no known calendar.
            CorruptFileError: the file breaks its format.
        """
        places = self._places(columns)
        names = [self.row_type.field(place).name for place in places if place is not None]
        # Compactions of tables of the legacy layout leave what was updated as it was written.
        allowed = {INSERT, UPDATE} if self._file.directory.kind == "base" else {INSERT}
        for batch in self._stripes(names, self._chosen(columns, kinds, places, row_filter)):
            yield self._events(batch, allowed, self._columns(batch, columns, kinds, places))

    def _chosen(
        self,
        columns: Sequence[pa.Field],
        kinds: Mapping[str, HiveType],
        places: Sequence[int | None],
        row_filter: RowFilter | None,
    ) -> Sequence[int]:
        """The stripes in which a row may pass a filter, by the file's statistics of them."""
        every = range(self._orc.nstripes)
        if row_filter is None or self._orc.nrows < _FEW_ROWS:
            return every
        paths: dict[tuple[str, ...], tuple[str, ...]] = {
            (field.name,): (_ROW, self.row_type.field(place).name)
            for field, place in zip(columns, places, strict=True)
            if place is not None and field.name in row_filter.columns and kinds[field.name].kind in _RANGED
        }
        types = {field.name: field.type for field in columns}
        found = stripe_ranges(self._stream, {path: types[name[0]] for name, path in paths.items()}) if paths else {}
        ranges = {name: found[path] for name, path in paths.items() if path in found}
        if not ranges:
            return every
        may_match = row_filter.groups_that_may_match(ranges, len(every))
        return [stripe for stripe in every if may_match[stripe]]

    def _stripes(self, names: Sequence[str], stripes: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        selected = [*_META.names, *(f"{_ROW}.{name}" for name in names)]
        for stripe in range(self._orc.nstripes) if stripes is None else stripes:
            self._counters.add("stripes")
            with decoding(self.uri):
                batch = self._read_stripe(stripe, selected)
                batch.validate(full=True)
            yield batch

    def _read_stripe(self, stripe: int, columns: Sequence[str]) -> pa.RecordBatch:
        try:
            return self._orc.read_stripe(stripe, columns=columns)
        except pa.ArrowInvalid as error:
            # Arrow's ORC reader knows nanoseconds in 64 bits alone.
            if not is_out_of_range(error):
                raise
        return read_wide_stripe(self._stream, stripe, columns, self.uri)

    def _events(self, batch: pa.RecordBatch, allowed: set[int], columns: list[pa.Array]) -> AcidEvents:
        if any(batch.column(name).null_count for name in _META.names):
            raise CorruptFileError("an event has no row identifier", path=self.uri)
        operations = batch.column("operation").to_numpy()
        if len(operations) and (operations.min() < min(allowed) or operations.max() > max(allowed)):
            if self._file.directory.kind == "delta":
                raise UnsupportedAcidTableError(
                    "updates and deletes among the rows of a delta: the legacy layout",
                    path=self.uri,
                    remedy="run a major compaction",
                )
            raise CorruptFileError(
                f"events of kind {operations.min()} to {operations.max()}, not {allowed}", path=self.uri
            )
        write, bucket, row, written = (batch.column(name).to_numpy().astype(np.int64) for name in _META.names[1:])
        if len(row) and row.min() < 0:
            raise CorruptFileError("negative row id", path=self.uri)
        return AcidEvents(RowIdColumns(write, bucket, row), written, columns)

    def _places(self, columns: Sequence[pa.Field]) -> list[int | None]:
        """Where in the file's rows each column is."""
        names = [field.name.lower() for field in self.row_type]
        if len(set(names)) != len(names):
            raise SchemaError("several columns of one name in a file's rows", path=self.uri)
        if names and all(_NAMELESS.fullmatch(name) for name in names):
            raise SchemaError(
                "the file does not name its columns",
                path=self.uri,
                remedy="run a major compaction with Hive 3 or later",
            )
        known = {name: place for place, name in enumerate(names)}
        return [known.get(field.name.lower()) for field in columns]

    def _columns(
        self,
        batch: pa.RecordBatch,
        columns: Sequence[pa.Field],
        kinds: Mapping[str, HiveType],
        places: Sequence[int | None],
    ) -> list[pa.Array]:
        fields: dict[str, pa.Array] = {}
        if any(place is not None for place in places):
            row = batch.column(_ROW)
            assert isinstance(row, pa.StructArray)
            fields = dict(zip((field.name for field in row.type), row.flatten(), strict=True))
        return [
            pa.nulls(batch.num_rows, field.type)
            if place is None
            else self._value(fields[self.row_type.field(place).name], field, kinds[field.name])
            for field, place in zip(columns, places, strict=True)
        ]

    def _value(self, array: pa.Array, field: pa.Field, kind: HiveType) -> pa.Array:
        calendar = self._calendar if has_days(kind) else PROLEPTIC_GREGORIAN
        return as_hive_reads(self._cast(array, field), kind, calendar, self.uri)

    @cached_property
    def _calendar(self) -> int:
        try:
            return read_tail(self._stream, self.uri).calendar
        except UnsupportedFormatError:
            return _NO_CALENDAR

    def _cast(self, array: pa.Array, field: pa.Field) -> pa.Array:
        if array.type == field.type:
            return array
        if not _widens(array.type, field.type):
            raise SchemaError(
                f"column {field.name!r} is {array.type} in the file and {field.type} in the table", path=self.uri
            )
        try:
            return array.cast(field.type)
        except pa.ArrowInvalid as error:
            raise UnsupportedAcidValueError(
                f"column {field.name!r} has a value that {field.type} cannot hold: {error}", path=self.uri
            ) from error


def _open(storage: Storage, file: AcidFile) -> pa.NativeFile:
    try:
        if file.length is not None:
            return pa.BufferReader(storage.read_bytes(file.path, 0, file.length))
        return storage.open_input(file.path)
    except PathNotFoundError as error:
        raise FileVanishedError(
            "file of the snapshot is not there any more",
            path=storage.uri(file.path),
            remedy="it was compacted and cleaned: read under a newer snapshot",
        ) from error


def _widens(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether values of one type are values of another without a change that Hive makes in its own way."""
    kinds = pa.types
    if source == target or (kinds.is_timestamp(source) and kinds.is_timestamp(target)):
        return True
    if kinds.is_integer(source) and kinds.is_integer(target):
        return bool(source.bit_width <= target.bit_width)
    if kinds.is_integer(source):
        return bool(kinds.is_string(target) or kinds.is_float64(target))
    if kinds.is_decimal(source) and kinds.is_decimal(target):
        whole = source.precision - source.scale <= target.precision - target.scale
        return bool(source.scale <= target.scale and whole)
    if source.num_fields and source.num_fields == target.num_fields and source.id == target.id:
        pairs = [(source.field(i), target.field(i)) for i in range(source.num_fields)]
        named = not kinds.is_struct(source) or all(one.name == two.name for one, two in pairs)
        return bool(named) and all(_widens(one.type, two.type) for one, two in pairs)
    return bool(kinds.is_float32(source) and kinds.is_float64(target))
