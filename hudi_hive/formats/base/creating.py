"""Begins base files of the format that their names say.

Source: docs/format.md#base-files, docs/format.md#file-names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from hudi_hive.errors import UnsupportedFormatError
from hudi_hive.formats.base.base_file_writer import BaseFileWriter, RowEncoder
from hudi_hive.formats.base.parquet_encoder import ParquetEncoder
from hudi_hive.formats.base.settings import BaseFileSettings
from hudi_hive.formats.hash import BloomSettings
from hudi_hive.storage import Storage


def create_base_file(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    avro_schema: Mapping[str, Any],
    *,
    bloom: bool | BloomSettings = True,
    settings: BaseFileSettings | None = None,
    statistics: bool = True,
) -> BaseFileWriter:
    """Begin a base file of the format that the extension of its name says.

    Args:
        storage: the table's storage.
        path: the file, relative to it.
        schema: Arrow schema of the rows, meta columns included.
        avro_schema: Avro schema of the rows, for the footer.
        bloom: whether, and in which size, the footer holds a filter of the record keys.
        settings: how files are encoded.
        statistics: whether closing the file tells the ranges of its columns.

    Raises:
        InvalidOptionError: an unknown codec.
        SchemaError: a type that base files of the format do not have.
        StorageError: the file cannot be made.
        UnsupportedFormatError: files of this format are not written.
    """
    encoder = _encoder(storage.uri(path), schema, settings or BaseFileSettings())
    return BaseFileWriter(storage, path, avro_schema, encoder, bloom=bloom, statistics=statistics)


def _encoder(path: str, schema: pa.Schema, settings: BaseFileSettings) -> RowEncoder:
    extension = path.rpartition(".")[2].lower()
    if extension == "parquet":
        return ParquetEncoder(schema, path, settings.parquet)
    if extension == "orc":
        from hudi_hive.formats.base.orc_encoder import OrcEncoder  # few tables have ORC files

        return OrcEncoder(schema, path, settings.orc)
    if extension == "hfile":
        from hudi_hive.formats.base.hfile_encoder import HFileEncoder  # few tables have HFiles

        return HFileEncoder(schema, path, settings.hfile)
    raise UnsupportedFormatError(
        f"base files of format {extension!r} are not written", path=path, remedy="Parquet, ORC and HFile ones are"
    )
