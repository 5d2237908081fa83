"""Tells which rows of a base file log records are for, by the positions that log blocks have.

The keys of the base file need not be read then. Positions are trusted, as Hudi's readers trust them, where they can be
true: each block has them, for the base file of the slice, as many as it has records, none behind the file's end, and
each key is at one row that no other key is at. Whether a row has the key is not looked at. Blocks that were written
here have a checksum over positions too.

Source: docs/format.md#record-positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.formats.log import BlockType, RecordPositions, avro_count
from hudi_hive.read.merge import distinct_keys
from hudi_hive.read.scan.slices import SliceReader
from hudi_hive.table.bootstrap import open_table_file
from hudi_hive.table.logs import RECORD_KEY, LogBlocks, LogData, LogDeletes, LogRecords, one_batch
from hudi_hive.table.merge import IS_DELETED, OPERATION, MergeSpec


@dataclass(frozen=True, slots=True)
class RowsOfRecords:
    """The rows of a base file that log records are for.

    Attributes:
        numbers: of the rows in the file, ascending.
        batch: for each its record key and ordering values, as far as they are compared; other columns are null.
        base_rows: rows of the base file.
    """

    numbers: npt.NDArray[np.int64]
    batch: pa.RecordBatch
    base_rows: int


def rows_of_records(
    reader: SliceReader, logs: LogRecords, row: Mapping[str, Any], values: pa.Table | None
) -> RowsOfRecords | None:
    """The rows of a slice's base file that its log records are for; None where only keys tell them.

    Of the file its ordering values alone are read, or its number of rows where these do not count.

    Args:
        reader: of the columns that merging reads.
        logs: the records of the slice.
        row, values: as of :meth:`SliceReader.rows`.

    Raises:
        HudiHiveError: as reading the base file.
    """
    if not reader.merge.use_positions or row["base_file"] is None:
        return None
    spec = reader.merge.spec
    hits = _hits(logs, spec, row["base_instant"])
    if hits is None:
        return None
    columns: dict[str, pa.Array] = {RECORD_KEY: hits.keys}
    names = spec.ordering_columns(reader.needed)
    if names:
        base_rows, read = _values_at(reader, hits.rows, names, row, values)
        columns |= read
    else:
        with open_table_file(reader.storage, row["path"], size=row["base_size"]) as file:
            base_rows = file.num_rows
    count = len(hits.rows)
    if count and hits.rows[-1] >= base_rows:
        return None
    arrays = [columns[item.name] if item.name in columns else pa.nulls(count, item.type) for item in reader.needed]
    return RowsOfRecords(hits.rows, pa.RecordBatch.from_arrays(arrays, schema=reader.needed), base_rows)


def _values_at(
    reader: SliceReader,
    rows: npt.NDArray[np.int64],
    names: Sequence[str],
    row: Mapping[str, Any],
    values: pa.Table | None,
) -> tuple[int, dict[str, pa.Array]]:
    """How many rows the base file has, and columns at some of them, as far as it has these."""
    schema = pa.schema([reader.needed.field(name) for name in names])
    parts: list[pa.RecordBatch] = []
    end = 0
    for batch in replace(reader, needed=schema).base(row, values):
        begin, end = end, end + batch.num_rows
        low, high = np.searchsorted(rows, [begin, end])
        parts.append(batch.take(pa.array(rows[low:high] - begin)))
    batch = one_batch(pa.Table.from_batches(parts, schema))
    return end, dict(zip(names, batch.columns, strict=True))


def rows_if_replaced(reader: SliceReader, blocks: LogBlocks, row: Mapping[str, Any]) -> int | None:
    """The number of rows of a slice whose log records all stand for rows of the base file; None where that is not told.

    Whether a record or the row that it is for counts, it is one row: neither records nor keys are read, as long as no
    record can be a delete. A row that several records stand for is not told so: that they are of one key, as merging
    makes sure, only their keys say.

    Args:
        reader: of a slice whose merge makes no rows.
        blocks: of its log files.
        row: the slice, as of :meth:`SliceReader.rows`.

    Raises:
        HudiHiveError: as reading the base file.
    """
    merge = reader.merge
    if not merge.use_positions or row["base_file"] is None or reader.evolved is not None or blocks.are_partial:
        return None
    marks = merge.spec.delete_field is not None or not {IS_DELETED, OPERATION}.isdisjoint(reader.needed.names)
    if marks or merge.spec.key_fields:
        return None
    replaced = [np.zeros(0, np.int64)]
    for block in blocks.blocks:
        positions = RecordPositions.of(block)
        if block.type is not BlockType.AVRO_DATA or positions is None or positions.base_instant != row["base_instant"]:
            return None
        rows = positions.rows(avro_count(block))
        if rows is None:
            return None
        replaced.append(rows)
    ascending = np.sort(np.concatenate(replaced))
    if (ascending[1:] == ascending[:-1]).any():
        return None
    with open_table_file(reader.storage, row["path"], size=row["base_size"]) as file:
        return file.num_rows if not len(ascending) or ascending[-1] < file.num_rows else None


@dataclass(frozen=True, slots=True)
class _Hits:
    """Rows of a base file, ascending, and the key of each."""

    rows: npt.NDArray[np.int64]
    keys: pa.Array


def _hits(logs: LogRecords, spec: MergeSpec, base_instant: str) -> _Hits | None:
    """The base rows that the positions of log blocks tell; None where only keys do.

    A key at two rows is left to its first one, which keys tell: the base file has it twice.
    """
    if spec.key_fields:
        return None  # columns of any type make up the key
    keys: list[pa.Array] = []
    parts: list[npt.NDArray[np.int64]] = []
    for block in logs.blocks:
        of_block = _keys_of(block)
        if of_block is None:
            return None
        if not len(of_block):
            continue
        positions = block.positions
        if positions is None or positions.base_instant != base_instant:
            return None
        rows = positions.rows(len(of_block))
        if rows is None:
            return None
        keys.append(of_block)
        parts.append(rows)
    distinct, key = distinct_keys(pa.concat_arrays([pa.nulls(0, pa.string()), *keys]))
    row = np.concatenate([np.zeros(0, np.int64), *parts])
    row_of = np.zeros(len(distinct), np.int64)
    row_of[key] = row
    if not (row_of[key] == row).all():
        return None
    if (row_of[1:] > row_of[:-1]).all():
        return _Hits(row_of, distinct)
    order = np.argsort(row_of)
    ascending = row_of[order]
    return _Hits(ascending, distinct.take(pa.array(order))) if (ascending[1:] > ascending[:-1]).all() else None


def _keys_of(block: LogData | LogDeletes) -> pa.Array | None:
    """The record key of each record or delete; None where the block does not tell all of them."""
    if isinstance(block, LogDeletes):
        column = block.table.column("record_key")
        keys = pa.concat_arrays([pa.nulls(0, pa.string()), *column.cast(pa.string()).chunks])
    else:
        place = block.batch.schema.get_field_index(RECORD_KEY)
        if place < 0:
            return None
        keys = block.batch.column(place).cast(pa.string())
    return None if keys.null_count else keys
