"""Encodes ORC base files with the metadata of Hudi's in their footer.

Source: docs/format.md#base-files, ORC specification v1; ``HoodieAvroOrcWriter`` and ``AvroOrcUtils`` of Hudi.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.orc as orc

from hudi_hive.errors import SchemaError
from hudi_hive.formats.base.base_file_writer import FileFooter, RowEncoder
from hudi_hive.formats.base.settings import ORC_CODECS, OrcSettings, checked_codec
from hudi_hive.formats.orc import HeldOutput, parse_tail, writable


class OrcEncoder(RowEncoder):
    """Turns rows into an ORC file.

    Args:
        schema: Arrow schema of the rows, meta columns included.
        path: URI of the file, for messages.
        settings: how the file is encoded.

    Raises:
        InvalidOptionError: an unknown codec.
    """

    def __init__(self, schema: pa.Schema, path: str, settings: OrcSettings) -> None:
        super().__init__(schema, path)
        codec = ORC_CODECS[checked_codec(settings.codec, ORC_CODECS, "ORC compression codec", path)]
        self._held = HeldOutput()
        self._writer = orc.ORCWriter(self._held, compression=codec, stripe_size=max(1, settings.stripe_bytes))
        self._is_empty = True

    def append(self, stream: pa.NativeFile, batch: pa.RecordBatch) -> None:
        """Write rows; stripes that are full go to the file.

        Raises:
            SchemaError: a value that the format would change.
        """
        columns = [self._column(name, batch.column(place)) for place, name in enumerate(batch.schema.names)]
        self._writer.write(pa.Table.from_arrays(columns, names=batch.schema.names))
        self._is_empty = False
        stream.write(b"".join(self._held.take()))

    def _column(self, name: str, array: pa.Array) -> pa.Array:
        try:
            return writable(array)
        except (ValueError, pa.ArrowException) as error:
            raise SchemaError(
                f"column {name!r} of type {array.type} holds what an ORC file cannot: {error}",
                path=self.path,
                remedy="write a table of Parquet files, or cut the fractions off",
            ) from error

    def finish(self, stream: pa.NativeFile, footer: FileFooter) -> dict[str, tuple[int, int]]:
        """Write the last stripe and the footer; nobody counts the bytes of columns."""
        if self._is_empty:
            self.append(stream, pa.RecordBatch.from_pylist([], self.schema))
        self._writer.close()
        data = b"".join(self._held.take())
        tail = parse_tail(data, self.path)
        stream.write(data[: len(data) - tail.length])
        texts = footer.texts("orc.avro.schema")
        stream.write(tail.patched({name: value.encode() for name, value in texts.items()}))
        return {}

    def drop_rows(self) -> None:
        """Forget rows of the stripe that is not full."""
        self._writer.close()
        self._held.take()
