"""Encodes HFiles as base files: rows as bare Avro binaries, sorted by record key.

Source: docs/format.md#hfile-writing, docs/format.md#hfile-file-info; ``HoodieAvroHFileWriter`` of Hudi.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SchemaError, UnsupportedFormatError, WriteError
from hudi_hive.formats.avro import encode_binaries
from hudi_hive.formats.base.base_file_writer import FileFooter, RowEncoder
from hudi_hive.formats.base.settings import HFILE_CODECS, HFileSettings, checked_codec
from hudi_hive.formats.hfile import write_hfile
from hudi_hive.names import RECORD_KEY_COLUMN


class HFileEncoder(RowEncoder):
    """Turns rows into an HFile; it keeps them until the end, since they are sorted by key.

    Args:
        schema: Arrow schema of the rows, meta columns included.
        path: URI of the file, for messages.
        settings: how the file is encoded.

    Raises:
        InvalidOptionError: an unknown codec.
        SchemaError: rows without ``_hoodie_record_key``.
    """

    def __init__(self, schema: pa.Schema, path: str, settings: HFileSettings) -> None:
        super().__init__(schema, path)
        self._codec = checked_codec(settings.codec, HFILE_CODECS, "HFile compression", path)
        if RECORD_KEY_COLUMN not in schema.names:
            raise SchemaError("rows without record keys cannot be in an HFile", path=path)
        self._pending: list[pa.RecordBatch] = []

    def append(self, stream: pa.NativeFile, batch: pa.RecordBatch) -> None:
        """Keep rows."""
        del stream
        self._pending.append(batch)

    def finish(self, stream: pa.NativeFile, footer: FileFooter) -> dict[str, tuple[int, int]]:
        """Write the file; nobody counts the bytes of columns.

        Raises:
            WriteError: a key twice, or one that is too long.
        """
        try:
            stream.write(self._image(footer))
        except UnsupportedFormatError as error:
            raise WriteError(
                f"record keys cannot be in one HFile: {error.message}", path=self.path, remedy="write each record once"
            ) from error
        return {}

    def _image(self, footer: FileFooter) -> bytes:
        rows = pa.Table.from_batches(self._pending, self.schema)
        keys = rows.column(RECORD_KEY_COLUMN).cast(pa.binary())
        order = pc.sort_indices(keys)
        names = ("minRecordKey", "maxRecordKey")
        return write_hfile(
            keys.take(order),
            encode_binaries(rows, footer.avro_schema).take(order),
            schema=footer.avro_schema,
            codec=self._codec,
            bloom=footer.bloom,
            extra=dict(zip(names, map(str.encode, footer.bounds or ()), strict=False)),
        )

    def drop_rows(self) -> None:
        """Forget the rows."""
        self._pending = []
