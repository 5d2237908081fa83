"""Avro object containers: plans and metadata of the timeline (table format, sections 2.3 and appendix A)."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import fastavro

from hudi_hive.errors import CorruptFileError

MAGIC = b"Obj\x01"
"""First bytes of every Avro object container."""


def is_container(data: bytes) -> bool:
    """Whether the bytes begin as an Avro object container does."""
    return data[:4] == MAGIC


def read_container(data: bytes, path: str) -> list[dict[str, Any]]:
    """All records of an Avro object container, decoded with the schema it carries.

    Args:
        data: the container's bytes.
        path: named in errors.

    Raises:
        CorruptFileError: the bytes are no container, are truncated or damaged, or hold something other than records.
    """
    if not is_container(data):
        raise CorruptFileError("not an Avro object container: wrong magic", path=path)
    try:
        records: list[Any] = list(fastavro.reader(io.BytesIO(data)))
    except Exception as error:
        # Damaged bytes make the decoder fail in any place: struct, zlib, Unicode, key, index, type and memory errors.
        raise CorruptFileError(f"Avro container cannot be decoded: {describe(error)}", path=path) from error
    if not all(isinstance(record, dict) for record in records):
        raise CorruptFileError("Avro container holds something other than records", path=path)
    return records


def write_container(
    schema: Mapping[str, Any], records: Iterable[Mapping[str, Any]], *, metadata: Mapping[str, str] | None = None
) -> bytes:
    """An Avro object container without compression, as the timeline wants it.

    Args:
        schema: Avro schema of the records.
        records: the records.
        metadata: further entries of the container's header.
    """
    stream = io.BytesIO()
    fastavro.writer(stream, dict(schema), records, codec="null", metadata=dict(metadata or {}))
    return stream.getvalue()


def describe(error: BaseException) -> str:
    """Kind and text of a decoder's exception, short enough for one line; it may quote damaged bytes."""
    text = " ".join(str(error).split())[:200]
    printable = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return f"{type(error).__name__} {printable}".strip()
