"""The bootstrap index: which file of the source each skeleton belongs to.

Two HFiles, by partition and by file group, of Avro containers. The paths in them are absolute, and all below the
source's base path: they are taken relative to it, so that none leads elsewhere.

Source: docs/format.md#bootstrap-index; Hudi's ``HFileBootstrapIndex``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import CorruptFileError, InvalidOptionError, PathNotFoundError, UnsafePathError
from hudi_hive.formats.avro import read_container
from hudi_hive.formats.hfile import HFileReader
from hudi_hive.storage import HadoopPath, Storage

FOLDER: Final = ".hoodie/.aux/.bootstrap"
"""Folder of the index, relative to the base path."""

NAME: Final = "00000000-0000-0000-0000-000000000000-0_1-0-1_00000000000001.hfile"
"""Name of each of its two files."""

BY_PARTITION: Final = f"{FOLDER}/.partitions/{NAME}"
BY_FILE_ID: Final = f"{FOLDER}/.fileids/{NAME}"
INFO_KEY: Final = "INDEX_INFO"
_REMEDY: Final = "restore the index, or bootstrap the table again"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The file of the source that a skeleton belongs to.

    Attributes:
        partition: partition path in the table.
        file_id: file group of the skeleton.
        source_partition: its partition path in the source.
        path: relative to the source's base path.
        uri: as the index has it.
        size: bytes when the table was bootstrapped; None if the index does not tell.
        modified_ms: when it was changed last, milliseconds since the epoch.
    """

    partition: str
    file_id: str
    source_partition: str
    path: str
    uri: str
    size: int | None
    modified_ms: int = 0


class BootstrapIndex:
    """The index of one table, which is written once, with the table's first commit.

    Args:
        storage: rooted at the table's base path.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._path = storage.uri(BY_FILE_ID)
        if not self.is_present(storage):
            raise PathNotFoundError(
                "the bootstrap index is not there, without which nothing tells the source of skeletons",
                path=self._path,
                remedy=_REMEDY,
            )
        self._reader = HFileReader(storage.read_bytes(BY_FILE_ID), self._path)
        info = self._reader.info.get(INFO_KEY)
        if info is None:
            raise CorruptFileError(f"bootstrap index without {INFO_KEY}", path=self._path, remedy=_REMEDY)
        (record,) = read_container(info, self._path)
        self.base_path = str(record.get("bootstrapBasePath") or "")
        """The source's base path when the table was bootstrapped."""
        self._base = self._parsed(self.base_path)

    @staticmethod
    def is_present(storage: Storage) -> bool:
        """Whether a table has both files of the index, without which Hudi asks neither."""
        return storage.exists(BY_PARTITION) and storage.exists(BY_FILE_ID)

    def source_of(self, partition: str, file_id: str) -> SourceFile | None:
        """The source of a file group's skeleton; None if the index has none.

        Raises:
            CorruptFileError: the index is damaged.
            UnsafePathError: it leads out of the source's base path.
        """
        found = self._reader.lookup([file_key(partition, file_id)])
        return next(self._sources(found), None)

    def sources(self) -> list[SourceFile]:
        """The sources of all skeletons, by partition and file id; errors as of :meth:`source_of`."""
        return sorted(self._sources(self._reader.scan()), key=lambda one: (one.partition, one.file_id))

    def partitions(self) -> list[str]:
        """Partitions with skeletons, as the index by partition has them.

        Raises:
            PathNotFoundError, CorruptFileError: the file is missing or damaged.
        """
        path = self._storage.uri(BY_PARTITION)
        keys = HFileReader(self._storage.read_bytes(BY_PARTITION), path).scan().column("key").to_pylist()
        if not all(key.startswith("part=") for key in keys):
            raise CorruptFileError("bootstrap index: a key that names no partition", path=path, remedy=_REMEDY)
        return [key.removeprefix("part=") for key in keys]

    def _sources(self, entries: pa.Table) -> Iterator[SourceFile]:
        for key, value in zip(entries.column("key").to_pylist(), entries.column("value").to_pylist(), strict=True):
            (record,) = read_container(value, self._path)
            yield self._source(key, record)

    def _source(self, key: str, record: Mapping[str, Any]) -> SourceFile:
        head, separator, file_id = key.rpartition(";fileid=")
        status = record.get("bootstrapFileStatus") or {}
        uri = (status.get("path") or {}).get("uri")
        if not separator or not head.startswith("part=") or not uri:
            raise CorruptFileError(f"bootstrap index: entry {key!r} names no file", path=self._path, remedy=_REMEDY)
        size = status.get("length")
        return SourceFile(
            partition=head.removeprefix("part="),
            file_id=file_id,
            source_partition=str(record.get("bootstrapPartitionPath") or ""),
            path=self._relative(uri),
            uri=uri,
            size=int(size) if size else None,
            modified_ms=int(status.get("modificationTime") or 0),
        )

    def _relative(self, uri: str) -> str:
        """A path of the index, relative to the source's base path."""
        path, base = self._parsed(uri), self._base
        folder = base.path.rstrip("/") + "/"
        if path.store != base.store or not path.path.startswith(folder):
            raise UnsafePathError(
                f"the bootstrap index leads out of the source's base path {self.base_path}", path=uri, remedy=_REMEDY
            )
        return path.path[len(folder) :]

    def _parsed(self, text: str) -> HadoopPath:
        try:
            return HadoopPath.parse(text)
        except InvalidOptionError as error:
            raise CorruptFileError(
                f"bootstrap index: {text!r} is no path of a source", path=self._path, remedy=_REMEDY
            ) from error


def file_key(partition: str, file_id: str) -> str:
    """The key of a file group in the index by file group."""
    return f"part={partition};fileid={file_id}"
