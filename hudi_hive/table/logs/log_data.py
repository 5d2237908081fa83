"""Decodes log blocks: data blocks to Arrow batches, delete blocks to tables of keys."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import CorruptFileError, SchemaError, UnsupportedFormatError
from hudi_hive.formats.avro import decode_records, describe
from hudi_hive.formats.base import BaseFile, decoding, empty_columns, open_parquet_bytes
from hudi_hive.formats.hfile import HFileReader
from hudi_hive.formats.log import (
    BlockType,
    HeaderKey,
    LogBlock,
    Positions,
    RecordPositions,
    avro_bounds,
    decode_deletes,
    was_written_by_kryo,
)
from hudi_hive.names import RECORD_KEY_COLUMN
from hudi_hive.options import parse_java_boolean

_METADATA_RECORD: Final = "HoodieMetadataRecord"
_KEY_FIELD: Final = "key"
_MOST_INFLATED: Final = 128
"""Bytes that each byte of a Parquet block may become where that is more than the next limit."""

_LEAST_INFLATED: Final = 64 << 20
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PieceRules:
    """How data blocks are decoded in pieces.

    Attributes:
        size: bytes of records of an Avro block that a piece has, about; one of a Parquet block has a batch of its rows.
        pick: says of so many records, which come behind those of the last call, whether they are given; the others of
            Avro blocks are not decoded. The second argument gives their record keys, or null where the block does not
            tell them. Without it all are given.
        bounds: remembers where the records of Avro blocks begin and end, by file and offset, for whoever decodes them
            again.
    """

    size: int
    pick: Callable[[int, Callable[[], pa.Array | None]], Flags] | None = None
    bounds: dict[tuple[str, int], tuple[Positions, Positions]] | None = None

    def picked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The records of a batch that are given."""
        if self.pick is None:
            return batch
        at = batch.schema.get_field_index(RECORD_KEY)
        flags = self.pick(batch.num_rows, lambda: batch.column(at) if at >= 0 else None)
        return batch.filter(pa.array(flags)) if batch.num_columns else empty_columns(int(flags.sum()))

    def bounds_of(self, block: LogBlock) -> tuple[Positions, Positions]:
        """Where the records of an Avro block begin and end."""
        key = block.path, block.offset
        if self.bounds is None or key not in self.bounds:
            bounds = avro_bounds(block)
            if self.bounds is None:
                return bounds
            self.bounds[key] = bounds
        return self.bounds[key]


@dataclass(frozen=True, slots=True)
class LogData:
    """Records of one data block.

    Args:
        instant: requested time of the instant that wrote the block.
        batch: the records, columns as in the block; of an HFile block of a metadata table ``key`` (string) and
            ``value`` (binary).
        schema: Avro schema of the block (of the values, for an HFile block of a metadata table), parsed JSON.
        is_partial: the records hold changed columns only; those that the schema lacks keep their older values.
        path: the file, for messages.
        positions: the base rows that the records are for, if the block tells them and all of its records are here.
    """

    instant: str
    batch: pa.RecordBatch
    schema: Mapping[str, Any]
    is_partial: bool = False
    path: str = field(default="", compare=False)
    positions: RecordPositions | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class LogDeletes:
    """Keys of one delete block.

    Args:
        instant: requested time of the instant that wrote the block.
        table: ``record_key``, ``partition_path``, ``ordering``, ``has_ordering``; see
            :func:`hudi_hive.formats.log.deletes.decode_deletes`.
        path: the file, for messages.
        texts_are_avro: ordering values that are texts are of the class that records have them in.
        positions: as of :class:`LogData`.
    """

    instant: str
    table: pa.Table
    path: str = field(default="", compare=False)
    texts_are_avro: bool = False
    positions: RecordPositions | None = field(default=None, compare=False)


RECORD_KEY: Final = RECORD_KEY_COLUMN


def decode_block(
    block: LogBlock, instant: str, columns: Sequence[str] | None, keys: pa.Array | None = None
) -> LogData | LogDeletes:
    """Decode a data or delete block.

    Args:
        block: the block.
        instant: its instant, for errors too.
        columns: columns that are wanted (null: all); those that the block lacks are left out.
        keys: record keys that are wanted (null: all); others are left out, unless the block does not tell its keys.

    Raises:
        CorruptFileError: lengths, schema or records are damaged.
        UnsupportedFormatError: a type or version of block that we cannot decode.
    """
    positions = RecordPositions.of(block) if keys is None else None
    if block.type is BlockType.DELETE:
        deletes = decode_deletes(block)
        if keys is not None:
            deletes = deletes.filter(pc.is_in(deletes.column("record_key"), value_set=keys))
        return LogDeletes(instant, deletes, block.path, was_written_by_kryo(block), positions)
    schema = _schema(block)
    selected = _selected_names(schema, columns)
    if block.type in (BlockType.AVRO_DATA, BlockType.CDC_DATA):
        batch = _avro_batch(block, schema, selected, keys)
    elif block.type is BlockType.PARQUET_DATA:
        batch = _parquet_batch(block, selected, keys)
    elif block.type is BlockType.HFILE_DATA:
        batch = _hfile_batch(block, schema, selected, keys)
    else:
        raise UnsupportedFormatError(f"{block.type.name} block", path=block.path, instant=instant)
    return LogData(instant, batch, schema, is_partial(block), block.path, positions)


def decode_in_pieces(
    block: LogBlock, instant: str, columns: Sequence[str] | None, rules: PieceRules
) -> Iterator[LogData | LogDeletes]:
    """Decode a data or delete block in several pieces where its records take much memory, in their order.

    Args:
        block, instant, columns: as of :func:`decode_block`.
        rules: how large pieces are, and which records they have.

    Raises:
        CorruptFileError, UnsupportedFormatError: as :func:`decode_block`, some pieces later.
    """
    pieces: Iterable[pa.RecordBatch]
    if block.type in (BlockType.AVRO_DATA, BlockType.CDC_DATA):
        schema = _schema(block)
        pieces = _avro_pieces(block, schema, _selected_names(schema, columns), rules)
    elif block.type is BlockType.PARQUET_DATA:
        schema = _schema(block)
        pieces = _parquet_pieces(block, _selected_names(schema, columns), rules)
    else:
        whole = decode_block(block, instant, columns)
        yield replace(whole, batch=rules.picked(whole.batch)) if isinstance(whole, LogData) else whole
        return
    for piece in pieces:
        yield LogData(instant, piece, schema, is_partial(block), block.path)


def is_partial(block: LogBlock) -> bool:
    """Whether a block's records hold changed columns only."""
    return parse_java_boolean(block.headers.get(HeaderKey.IS_PARTIAL, "").strip())


def _schema(block: LogBlock) -> Mapping[str, Any]:
    text = block.headers.get(HeaderKey.SCHEMA)
    if text is None:
        raise CorruptFileError(f"log block at offset {block.offset} has no schema", path=block.path)
    try:
        return _parsed(text)
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"schema of a log block: {describe(error)}", path=block.path) from error


@lru_cache(maxsize=64)
def _parsed(text: str) -> Mapping[str, Any]:
    schema = json.loads(text)
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(fields, list) or not all(isinstance(f, dict) and isinstance(f.get("name"), str) for f in fields):
        raise ValueError("no Avro record")
    return dict(schema)


def _selected_names(schema: Mapping[str, Any], columns: Sequence[str] | None) -> list[str] | None:
    if columns is None:
        return None
    there = {entry["name"] for entry in schema["fields"]}
    return [name for name in dict.fromkeys(columns) if name in there]


def _avro_batch(
    block: LogBlock, schema: Mapping[str, Any], columns: list[str] | None, keys: pa.Array | None
) -> pa.RecordBatch:
    return _records(block, block.content, avro_bounds(block), schema, columns, keys)


def _avro_pieces(
    block: LogBlock, schema: Mapping[str, Any], columns: list[str] | None, rules: PieceRules
) -> Iterator[pa.RecordBatch]:
    starts, ends = rules.bounds_of(block)
    inner = np.unique(np.searchsorted(starts, np.arange(rules.size, len(block.content), rules.size))).tolist()
    cuts = [0, *(cut for cut in inner if 0 < cut < len(starts)), len(starts)]
    for begin, end in itertools.pairwise(cuts):
        own = starts[begin:end], ends[begin:end]
        if rules.pick is not None:
            flags = rules.pick(end - begin, partial(_keys, block, own, schema))
            own = own[0][flags], own[1][flags]
        yield _records(block, block.content, own, schema, columns, None)


def _keys(block: LogBlock, bounds: tuple[Positions, Positions], schema: Mapping[str, Any]) -> pa.Array | None:
    """The record keys of Avro binaries; None if they do not tell theirs."""
    if not any(entry["name"] == RECORD_KEY for entry in schema["fields"]):
        return None
    return _records(block, block.content, bounds, schema, [RECORD_KEY], None).column(0)


def _records(
    block: LogBlock,
    content: memoryview | bytes,
    bounds: tuple[Positions, Positions],
    schema: Mapping[str, Any],
    columns: list[str] | None,
    keys: pa.Array | None,
) -> pa.RecordBatch:
    """Columns of bare Avro binaries; of those alone that have one of the keys, if the records tell theirs."""
    starts, ends = bounds
    try:
        if keys is not None and any(entry["name"] == RECORD_KEY for entry in schema["fields"]):
            found = decode_records(content, starts, ends, schema, columns=[RECORD_KEY])
            chosen = _rows_of(found.column(0), keys)
            starts, ends = starts[chosen], ends[chosen]
        return decode_records(content, starts, ends, schema, columns=columns)
    except (CorruptFileError, SchemaError, UnsupportedFormatError) as error:
        message = f"log block at offset {block.offset}: {error.message}"
        raise type(error)(message, path=block.path, instant=block.instant, remedy=error.remedy) from error


def _rows_of(column: pa.Array, keys: pa.Array) -> Positions:
    """Rows that have one of the keys."""
    return np.flatnonzero(pc.is_in(column, value_set=keys.cast(column.type)).to_numpy(zero_copy_only=False))


def _parquet_batch(block: LogBlock, columns: list[str] | None, keys: pa.Array | None) -> pa.RecordBatch:
    # The image is read where it lies in the log file's bytes.
    with open_parquet_bytes(block.content, block.path) as file:
        selected = _selected_columns(file, columns)
        chosen: pa.Array | None = None
        if keys is not None and RECORD_KEY in file.schema.names:
            chosen = pa.array(_rows_of(_whole(block, file, [RECORD_KEY]).column(0), keys))
            if not len(chosen):
                return one_batch(file.schema.empty_table().select(selected))
        batch = _whole(block, file, selected)
    return batch if chosen is None else batch.take(chosen)


def _selected_columns(file: BaseFile, columns: list[str] | None) -> list[str]:
    """Columns of a block's Parquet image that are wanted; all without ``columns``."""
    names: list[str] = file.schema.names
    return names if columns is None else [name for name in columns if name in names]


def _whole(block: LogBlock, file: BaseFile, columns: list[str]) -> pa.RecordBatch:
    """All rows of a block's Parquet image as one batch, as far as they stay in proportion to the block."""
    if not columns:
        return empty_columns(file.num_rows)
    schema = pa.schema([file.schema.field(name) for name in columns])
    return one_batch(pa.Table.from_batches(_bounded(block, file, columns), schema))


def _parquet_pieces(block: LogBlock, columns: list[str] | None, rules: PieceRules) -> Iterator[pa.RecordBatch]:
    with open_parquet_bytes(block.content, block.path) as file:
        selected = _selected_columns(file, columns)
        if not selected:
            yield rules.picked(empty_columns(file.num_rows))
            return
        if not file.num_rows:
            yield one_batch(file.schema.empty_table().select(selected))
        for batch in _bounded(block, file, selected):
            yield rules.picked(batch)


def _bounded(block: LogBlock, file: BaseFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of a block's Parquet image, as far as they stay in proportion to the block."""
    most = max(_MOST_INFLATED * block.size, _LEAST_INFLATED)
    for batch in file.batches(columns, use_threads=False):
        most -= batch.nbytes
        if most < 0:
            message = f"log block at offset {block.offset}: records far larger than its {block.size:,} bytes"
            raise UnsupportedFormatError(message, path=block.path, instant=block.instant)
        with decoding(block.path):
            batch.validate(full=True)  # the reader does not look whether text is UTF-8
        yield batch


def _hfile_batch(
    block: LogBlock, schema: Mapping[str, Any], columns: list[str] | None, keys: pa.Array | None
) -> pa.RecordBatch:
    """Keys and Avro binaries of a metadata table's block, records of a data table's.

    The key of an entry belongs to the field ``key``, which is blank in the binaries (docs/format.md#hfile-file-info).
    Hudi writes data tables' blocks the same way; where their records lack that field, the entries' keys mean nothing.
    """
    entries = one_batch(HFileReader(block.content, block.path).scan())
    if schema.get("name") == _METADATA_RECORD:
        return entries if keys is None else entries.filter(pc.is_in(entries.column("key"), value_set=keys))
    values = entries.column("value")
    ends = np.cumsum(pc.binary_length(values).to_numpy(zero_copy_only=False), dtype=np.int64)
    starts = np.concatenate([np.zeros(min(len(ends), 1), np.int64), ends[:-1]])
    _, offsets, data = values.buffers()
    content = memoryview(data)[np.frombuffer(offsets, np.int32)[values.offset] :] if len(values) else b""
    if _KEY_FIELD not in (columns if columns is not None else [entry["name"] for entry in schema["fields"]]):
        return _records(block, content, (starts, ends), schema, columns, keys)
    batch = _records(block, content, (starts, ends), schema, columns, None)
    at = batch.schema.get_field_index(_KEY_FIELD)
    if at >= 0 and pa.types.is_string(batch.schema.field(at).type):
        column = pc.if_else(pc.equal(batch.column(at), ""), entries.column("key").cast(pa.string()), batch.column(at))
        batch = batch.set_column(at, batch.schema.field(at), column)
    return batch


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """Combine the rows of a table to one batch."""
    if not table.num_columns:
        return empty_columns(table.num_rows)
    columns = [column.combine_chunks() if column.num_chunks != 1 else column.chunk(0) for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)
