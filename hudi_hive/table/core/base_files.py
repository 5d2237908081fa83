"""Checks that base files are those that their names, rows and footers describe.

The rows carry the file's name: another file of the table, or an older version of the same file, in its place names
itself. The footer holds the schema twice.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.base import BaseFile
from hudi_hive.names import FILE_NAME_COLUMN

_FILE_NAME: Final = FILE_NAME_COLUMN
_NAME: Final = re.compile(r"(?P<file_id>[^_/]+)_[^_/]*_(?P<instant>[0-9]+)\.[a-z]+")
_AVRO_SCHEMA: Final = b"parquet.avro.schema"
_MOST_CHANGED: Final = 4
_REMEDY: Final = "restore the file or roll its commit back"

# Releases before 0.11 left the older name in rows that they copied. They came with older releases of Parquet.
_NAMING_WRITER: Final = re.compile(r"parquet-cpp-arrow|parquet-mr version 1\.(?:1[2-9]|[2-9][0-9])\.|orc")
_COPIES_BEFORE: Final = "2023"
"""Year from which on such copies are not to be expected: some ran older releases with newer Parquet, or with ORC."""


def refuse_rows_of_others(file: BaseFile, batch: pa.RecordBatch) -> None:
    """Refuse a base file whose rows name another file group or another instant; write tokens may differ.

    Args:
        file: the open file.
        batch: some of its rows; only the first is looked at, and only if it has the column.

    Raises:
        CorruptFileError: another file stands in its place.
    """
    place = batch.schema.get_field_index(_FILE_NAME)
    if place < 0 or not batch.num_rows:
        return
    there, name = batch.column(place)[0].as_py(), file.path.rpartition("/")[2]
    if there == name or not isinstance(there, str) or _NAMING_WRITER.match(file.writer) is None:
        return
    own, held = _NAME.fullmatch(name), _NAME.fullmatch(there)
    if own is None or held is None or own.groups() == held.groups():
        return
    is_copy = own["file_id"] == held["file_id"] and held["instant"] < own["instant"] < _COPIES_BEFORE
    if not is_copy:
        raise CorruptFileError(
            f"the file's rows are those of {there}", path=file.path, instant=own["instant"], remedy=_REMEDY
        )


def refuse_damaged_names(file: BaseFile) -> None:
    """Refuse a Parquet file whose footer has column names that differ from those of the Avro schema in it.

    Raises:
        CorruptFileError: the footer was damaged: the names are alike but for a few characters.
    """
    text = (file.schema.metadata or {}).get(_AVRO_SCHEMA)
    if text is None:
        return
    try:
        schema: Any = json.loads(text)
        names = {field["name"] for field in schema["fields"]}
    except (ValueError, RecursionError, KeyError, TypeError):
        raise CorruptFileError("the Avro schema in the footer is damaged", path=file.path, remedy=_REMEDY) from None
    there = set(file.schema.names)
    for name in there - names:
        if any(_is_near(name, other) for other in names - there):
            raise CorruptFileError(
                f"column {name!r} has another name in the footer's Avro schema", path=file.path, remedy=_REMEDY
            )


def _is_near(text: str, other: str) -> bool:
    if len(text) != len(other):
        return False
    changed = sum(a != b for a, b in zip(text, other, strict=True))
    return changed == 1 or (1 < changed <= _MOST_CHANGED and len(text) >= 2 * _MOST_CHANGED)
