"""Checks the names of data files that plans, markers and records name, before they are written or deleted.

A data file lies in a partition of the table and has the name of a base file, a log file or a file of change data.
Nothing else is written or deleted on the word of metadata: not the table's own metadata, not what lies outside.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsafePathError
from hudi_hive.storage import Storage
from hudi_hive.table.view.file_names import FileKind, parse_file_names

METADATA_FOLDER: Final = ".hoodie"
"""Folder of a table's metadata, and of every table nested in this one."""

_UNSAFE_FOLDERS: Final = frozenset({"", ".", "..", METADATA_FOLDER})
_REMEDY: Final = "the metadata is damaged or was tampered with: look into the instant's file before anything else"


def is_partition_path(partition: str) -> bool:
    """Whether a path can be that of a partition: relative, below the base path, outside of metadata folders."""
    return partition == "" or ("\0" not in partition and _UNSAFE_FOLDERS.isdisjoint(partition.split("/")))


def check_partitions(partitions: Iterable[str], *, instant: str | None = None) -> None:
    """Refuse paths that no partition of a table can have.

    Raises:
        UnsafePathError: one is absolute, has ``..`` in it, or is in a metadata folder.
    """
    for partition in partitions:
        if not is_partition_path(partition):
            raise UnsafePathError("no path of a partition", path=partition, instant=instant, remedy=_REMEDY)


def check_data_files(partition: str, names: Sequence[str], *, instant: str | None = None) -> None:
    """Refuse names that are not those of data files of a partition.

    Args:
        partition: its path.
        names: of files.
        instant: requested time of what names them.

    Raises:
        UnsafePathError: the path is none of a partition, or a file is no base file, log file or file of change data.
    """
    check_partitions([partition], instant=instant)
    array = pa.array(names, pa.string())
    foreign = pc.or_(
        pc.equal(parse_file_names(array)["kind"].combine_chunks(), FileKind.OTHER.value),
        pc.match_substring_regex(array, "[/\\x00]"),
    )
    if pc.any(foreign).as_py():
        name = array.filter(foreign)[0].as_py()
        raise UnsafePathError(
            "no data file of a partition", path=posixpath.join(partition, name), instant=instant, remedy=_REMEDY
        )


def data_file_path(partition: str, name: str) -> str:
    """Make the path of a data file that is to be written, relative to the base path.

    Raises:
        UnsafePathError: it would not be a data file of a partition.
    """
    check_data_files(partition, [name])
    return f"{partition}/{name}" if partition else name


def delete_data_files(storage: Storage, partition: str, names: Sequence[str], *, instant: str | None = None) -> None:
    """Delete data files of a partition; missing files are skipped.

    Args:
        storage: rooted at the table's base path.
        partition: its path.
        names: of files.
        instant: requested time of what is to delete them.

    Raises:
        UnsafePathError: as of :func:`check_data_files`, before anything is deleted; or the partition is behind a
            symbolic link.
    """
    check_data_files(partition, names, instant=instant)
    storage.delete_files([posixpath.join(partition, name) for name in names])


def refuse_linked_files(storage: Storage) -> None:
    """Refuse data files in listings that are symbolic links to files outside of the table.

    Raises:
        UnsafePathError: there is one; or a link that leads nowhere, and may have been a partition.
    """
    links = storage.links_out
    if not links:
        return
    paths = pa.array(list(links), pa.string())
    names = pc.replace_substring_regex(paths, r"(?s)^.*/", "")
    data = pc.not_equal(parse_file_names(names)["kind"].combine_chunks(), FileKind.OTHER.value)
    for path in paths.filter(data).to_pylist():
        storage.check_read(path)
    for path in paths.filter(pc.invert(data)).to_pylist():
        if not storage.exists(path):
            storage.check_read(path)
