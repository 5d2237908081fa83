"""Decodes many bare Avro records to one Arrow batch, field by field over all records at once.

Source: Avro specification 1.11 ("Binary Encoding", "Schema Resolution"); docs/format.md#avro-schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hudi_hive.errors import CorruptFileError, UnknownColumnError, UnsupportedFormatError
from hudi_hive.formats.avro.columns import TargetRows, decode
from hudi_hive.formats.avro.cursor import PADDING, Cursor, Positions, RecordBytes, check_memory
from hudi_hive.formats.avro.schema import RecordNode, parse_record
from hudi_hive.formats.avro.skipping import skip

_CHUNK_BYTES: Final = 32 << 20
"""Records are decoded in runs of about so many bytes, which bounds what is held beside the result."""


def decode_records(
    data: bytes | memoryview,
    starts: NDArray[Any],
    ends: NDArray[Any],
    writer_schema: Mapping[str, Any],
    *,
    columns: Sequence[str] | None = None,
) -> pa.RecordBatch:
    """Decode bare Avro binaries (records without a container) to an Arrow batch.

    Fields that are not selected are skipped; those behind the last selected one are not read at all.

    Args:
        data: bytes that hold the records.
        starts: where each record begins in the data, in bytes.
        ends: where each record ends.
        writer_schema: the Avro schema that the records were written with; Arrow types are those of
            :func:`~hudi_hive.formats.avro.avro_to_arrow`.
        columns: names of the top-level fields to give, in that order; all in the schema's order when not given.

    Returns:
        A row per span, in the order of the spans.

    Raises:
        CorruptFileError: a record does not follow the schema or does not fill its span, spans overlap or do not lie in
            the data. Time and memory stay in proportion to the data, whatever it holds.
        SchemaError: the schema cannot be converted.
        UnknownColumnError: the schema has no field of a name in ``columns``.
        UnsupportedFormatError: a column has more than 2 GiB of text, or the columns would take up a great many times
            the bytes of the records.
    """
    root = parse_record(writer_schema)
    positions = _positions(root, columns)
    octets = np.frombuffer(data, np.uint8)
    starts, ends = _checked_spans(starts, ends, len(octets))
    schema = pa.schema([root.fields[at] for at in positions])
    if not positions:
        # A batch without columns has its number of rows from a struct's length alone.
        return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), len(starts), [None]))
    order = None
    if (starts[1:] < ends[:-1]).any():
        # Cursors run through the bytes in one direction; a span that is given twice is decoded once.
        starts, first, order = np.unique(starts, return_index=True, return_inverse=True)
        ends = ends[first]
        if (starts[1:] < ends[:-1]).any():
            raise CorruptFileError("Avro records overlap")
    check_memory(len(starts) * sum(root.children[at].width for at in set(positions)), int((ends - starts).sum()))
    chunks = [_decode_chunk(octets, starts[run], ends[run], root, positions) for run in _runs(starts, ends)]
    batch = pa.RecordBatch.from_arrays([_joined(arrays) for arrays in zip(*chunks, strict=True)], schema=schema)
    return batch if order is None else batch.take(pa.array(order))


def _positions(root: RecordNode, columns: Sequence[str] | None) -> list[int]:
    if columns is None:
        return list(range(len(root.fields)))
    by_name = {field.name: at for at, field in reversed(list(enumerate(root.fields)))}
    missing = [name for name in columns if name not in by_name]
    if missing:
        raise UnknownColumnError(f"the Avro schema has no field {missing[0]!r}")
    return [by_name[name] for name in columns]


def _checked_spans(starts: NDArray[Any], ends: NDArray[Any], size: int) -> tuple[Positions, Positions]:
    starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    if starts.ndim != 1 or starts.shape != ends.shape:
        raise ValueError("starts and ends must be one-dimensional and of the same length")
    wrong = (starts < 0) | (starts > ends) | (ends > size)
    if wrong.any():
        raise CorruptFileError(f"Avro record {int(np.argmax(wrong))} does not lie in its block")
    return starts, ends


def _runs(starts: Positions, ends: Positions) -> Iterator[slice]:
    """Split records to runs of about the bytes of a chunk; one empty run for no records."""
    begin = 0
    while True:
        limit = starts[begin] + _CHUNK_BYTES if begin < len(starts) else 0
        end = max(int(np.searchsorted(ends, limit, "right")), min(begin + 1, len(starts)))
        yield slice(begin, end)
        begin = end
        if begin >= len(starts):
            return


def _decode_chunk(
    octets: NDArray[np.uint8], starts: Positions, ends: Positions, root: RecordNode, positions: list[int]
) -> list[pa.Array]:
    low, high = (int(starts[0]), int(ends[-1])) if len(starts) else (0, 0)
    block = RecordBytes(octets[low:high], low)
    cursor = Cursor(block, starts - (low - PADDING), ends - (low - PADDING))
    targets = TargetRows(len(starts))
    selected = set(positions)
    arrays: dict[int, pa.Array] = {}
    last = max(positions)
    for at in range(last + 1):
        if at in selected:
            arrays[at] = decode(root.children[at], cursor, targets)
        else:
            skip(root.children[at], cursor)
    if last + 1 == len(root.children) and (cursor.pos != cursor.end).any():
        raise block.damaged("it does not fill its length", int(cursor.pos[np.argmax(cursor.pos != cursor.end)]))
    return [arrays[at] for at in positions]


def _joined(arrays: tuple[pa.Array, ...]) -> pa.Array:
    if len(arrays) == 1:
        return arrays[0]
    try:
        return pa.concat_arrays(arrays)
    except pa.ArrowInvalid as error:
        raise UnsupportedFormatError("a column of one block has more than 2 GiB of text or bytes") from error
