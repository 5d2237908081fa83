"""Opening base files of a table so that a damaged or swapped one is refused.

The commit that wrote a file recorded its size, and the rows carry the file's name: another file of the table, or an
older version of the same file, in its place has another size or names itself.
"""

from __future__ import annotations

import re
from typing import Final

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.base_file import BaseFile, open_base_file
from hudi_hive.storage import Storage

_FILE_NAME: Final = "_hoodie_file_name"
_NAME: Final = re.compile(r"(?P<file_id>[^_/]+)_[^_/]*_(?P<instant>[0-9]+)\.[a-z]+")

# Releases before 0.11 left the older name in rows that they copied. They came with older releases of Parquet.
_NAMING_WRITER: Final = re.compile(
    r"parquet-cpp-arrow|parquet-mr version 1\.(?:1[2-9]|[2-9][0-9])\.|orc", re.IGNORECASE
)


def open_table_file(storage: Storage, path: str, size: int | None = None) -> BaseFile:
    """Open a base file of a table.

    Args:
        storage: rooted at the table's base path.
        path: relative to it.
        size: bytes that it has by its listing or the commit that wrote it; null: not known.

    Raises:
        FileVanishedError: it is not there any more.
        CorruptFileError: it is no file of its format, of another size, or another file in its place.
        UnsupportedFormatError: a format that is not read.
    """
    file = open_base_file(storage, path, size=size)
    try:
        _refuse_other_file(file, path.rpartition("/")[2])
    except BaseException:
        file.close()
        raise
    return file


def _refuse_other_file(file: BaseFile, name: str) -> None:
    """Refuse a file whose rows name another file group or another version; write tokens may differ."""
    bounds = file.text_bounds(_FILE_NAME)
    if bounds is None or name in bounds:
        return
    own, held = _NAME.fullmatch(name), [_NAME.fullmatch(text) for text in bounds]
    if own is None or None in held or _NAMING_WRITER.match(file.writer) is None:
        return
    if all(match is not None and match.groups() != own.groups() for match in held):
        raise CorruptFileError(
            f"the file's rows are those of {bounds[1]}",
            path=file.path,
            instant=own["instant"],
            remedy="restore the file or roll its commit back",
        )
