"""Many bare Avro records to one Arrow batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hudi_hive.errors import CorruptFileError, UnknownColumnError
from hudi_hive.formats.avro.fallback import decode_with_fastavro
from hudi_hive.formats.avro.schema import RecordNode, parse_record


def decode_records(
    data: bytes | memoryview,
    starts: np.ndarray,
    ends: np.ndarray,
    writer_schema: Mapping[str, Any],
    *,
    columns: Sequence[str] | None = None,
) -> pa.RecordBatch:
    """Decode bare Avro binaries (no container) to columns.

    Args:
        data: bytes that hold the records.
        starts: where each record begins in the data, in bytes.
        ends: where each record ends.
        writer_schema: the Avro schema that the records were written with; Arrow types are those of
            :func:`~hudi_hive.formats.avro.avro_to_arrow`.
        columns: names of the top-level fields to give, in that order; all in the schema's order when not given.

    Raises:
        CorruptFileError: a record does not follow the schema, or a span does not lie in the data.
        SchemaError: the schema cannot be converted.
        UnknownColumnError: the schema has no field of a name in ``columns``.
    """
    root = parse_record(writer_schema)
    wanted = _positions(root, columns)
    view = memoryview(data).cast("B")
    starts, ends = _checked_spans(starts, ends, len(view))
    arrays = decode_with_fastavro(view, list(zip(starts.tolist(), ends.tolist(), strict=True)), root)
    schema = pa.schema([root.fields[at] for at in wanted])
    if not wanted:
        # A batch without columns has its number of rows from a struct's length alone.
        return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), len(starts), [None]))
    return pa.RecordBatch.from_arrays([arrays[at] for at in wanted], schema=schema)


def _positions(root: RecordNode, columns: Sequence[str] | None) -> list[int]:
    if columns is None:
        return list(range(len(root.fields)))
    by_name = {field.name: at for at, field in reversed(list(enumerate(root.fields)))}
    missing = [name for name in columns if name not in by_name]
    if missing:
        raise UnknownColumnError(f"the Avro schema has no field {missing[0]!r}")
    return [by_name[name] for name in columns]


def _checked_spans(starts: np.ndarray, ends: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    if starts.ndim != 1 or starts.shape != ends.shape:
        raise ValueError("starts and ends must be one-dimensional and of the same length")
    wrong = (starts < 0) | (starts > ends) | (ends > size)
    if wrong.any():
        raise CorruptFileError(f"Avro record {int(np.argmax(wrong))} does not lie in its block")
    return starts, ends
