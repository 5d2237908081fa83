"""Reads HFiles as base files: their entries are records as bare Avro binaries, sorted by record key.

The file info holds the Avro schema of the records. A field that is called ``key`` is blank in the binaries, its value
being the entry's key.

Source: docs/format.md#hfile-file-info.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.avro import avro_to_arrow, decode_records
from hudi_hive.formats.base.base_file import BATCH_ROWS, ByteRange, UndividedBaseFile, empty_columns, in_range
from hudi_hive.formats.hfile import HFileReader
from hudi_hive.metrics import IoCounters
from hudi_hive.names import RECORD_KEY_COLUMN
from hudi_hive.predicate import RowFilter

_RECORD_KEY: Final = RECORD_KEY_COLUMN
_KEY_FIELD: Final = "key"
_MOST_KEYS: Final = 1_000
"""Keys up to which a file is asked key by key."""


class HFileBaseFile(UndividedBaseFile):
    """An open HFile of records."""

    def __init__(self, stream: pa.NativeFile, path: str, counters: IoCounters, remote: bool) -> None:
        del remote
        self._reader = HFileReader(stream, path)
        schema = self._reader.schema
        if schema is None or not isinstance(schema.get("fields"), list):
            raise CorruptFileError("HFile without the Avro schema of its records", path=path)
        self._writer_schema: Mapping[str, Any] = schema
        super().__init__(stream, path, counters, avro_to_arrow(dict(schema)))

    @property
    def num_rows(self) -> int:
        """Number of rows of the file."""
        return self._reader.num_entries

    @property
    def writer(self) -> str:
        """The name of the program that wrote the file, from its footer; empty without one."""
        return ""

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
        del use_threads  # one thread
        names = self.require_columns(columns)
        if not in_range((0, self.size), byte_range):
            return
        keys = None if skip is None or _RECORD_KEY not in skip.columns else skip.required_values(_RECORD_KEY)
        if keys is not None and len(keys) <= _MOST_KEYS:
            entries = self._reader.lookup(keys.to_pylist())
        elif names:
            entries = self._reader.scan()
        else:
            yield empty_columns(self.num_rows)
            return
        for start in range(0, entries.num_rows, batch_size):
            part = entries.slice(start, batch_size)
            yield self._records(part, names) if names else empty_columns(part.num_rows)

    def _records(self, entries: pa.Table, names: list[str]) -> pa.RecordBatch:
        values = _one_array(entries.column("value"))
        offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
        data = values.buffers()[2]
        content = memoryview(data) if data is not None else b""
        starts, ends = offsets[:-1].astype(np.int64), offsets[1:].astype(np.int64)
        try:
            batch = decode_records(content, starts, ends, self._writer_schema, columns=names)
        except CorruptFileError as error:
            raise CorruptFileError(error.message, path=self.path, remedy=error.remedy) from error
        at = batch.schema.get_field_index(_KEY_FIELD)
        if at >= 0 and pa.types.is_string(batch.schema.field(at).type):
            keys = _one_array(entries.column("key")).cast(pa.string())
            column = pc.if_else(pc.equal(batch.column(at), ""), keys, batch.column(at))
            batch = batch.set_column(at, batch.schema.field(at), column)
        return batch


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
