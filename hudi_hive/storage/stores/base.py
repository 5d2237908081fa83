"""The interface of the stores behind :class:`~hudi_hive.storage.Storage`: object stores, HDFS, Arrow's file systems."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from hudi_hive.errors import StorageError

LISTING_SCHEMA: Final = pa.schema(
    [("path", pa.string()), ("size", pa.int64()), ("mtime_ms", pa.int64()), ("is_dir", pa.bool_())]
)
"""Columns of listings: path relative to the listed folder (:meth:`Storage.list`: to the root), bytes (0 for
folders), milliseconds since the epoch."""


class PathKind(enum.Enum):
    """What a path names."""

    FILE = "file"
    FOLDER = "folder"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class PathStatus:
    """What a store says of a path.

    Attributes:
        kind: whether it is a file, a folder or nothing.
        size: bytes of a file.
        mtime_ms: when a file was written, milliseconds since the epoch; None if the store does not say.
    """

    kind: PathKind
    size: int = 0
    mtime_ms: int | None = None


MISSING: Final = PathStatus(PathKind.MISSING)
"""The status of a path that names nothing."""


def forked(path: str) -> StorageError:
    """The error of a store's client that a process has from the one it was forked from."""
    return StorageError(
        "this process was forked from one that has used the store, whose connections stayed there",
        path=path,
        remedy='start processes by multiprocessing.get_context("spawn") or "forkserver"',
    )


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One version of a file, by which a store knows whether it is still the last one.

    Attributes:
        data: all of the file.
        e_tag: what the store calls this content; changes with it.
        version: the store's number of the version, where it has one.
        marked: it was put by this package under a condition.
    """

    data: bytes
    e_tag: str | None
    version: str | None
    marked: bool = False


@runtime_checkable
class VersionedStore(Protocol):
    """A store that replaces a file only if it is still of a version."""

    @property
    def replaces_atomically(self) -> bool:
        """Whether it does; some servers ignore such conditions, which their first file shows."""

    def read_version(self, path: str) -> FileVersion:
        """Read a whole file with what identifies its version."""

    def write_version(self, path: str, data: bytes, current: FileVersion | None) -> FileVersion:
        """Replace the current version of a file, or create a file, in one step; gives the new version.

        Args:
            path: the file.
            data: all of the new version.
            current: the version that is replaced; None if there is to be no such file.

        Raises:
            FileExistsError: the file is of another version, was deleted, or, without a current version, is there.
        """

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        """Delete a file; a request whose answer was lost is sent again only if the file is still the same one.

        Args:
            path: the file.
            is_own: whether these bytes are those of the file that is to go.
        """

    def copy(self, path: str, target: str) -> None:
        """Copy a file in one step; a copy that is carried out when the file is gone makes nothing.

        Args:
            path: the file.
            target: the copy, which replaces what is there.

        Raises:
            FileNotFoundError: there is no such file.
        """


@dataclass(frozen=True, slots=True)
class BlockLocation:
    """A part of a file and where its replicas are.

    Attributes:
        offset, length: bytes.
        hosts: the nodes that hold a replica.
        racks: the rack of each of them; all in one without it.
    """

    offset: int
    length: int
    hosts: tuple[str, ...] = ("localhost",)
    racks: tuple[str, ...] = ()


class FileRanges(NamedTuple):
    """Ranges of a file, all of one content of it.

    Attributes:
        parts: the bytes of each range, fewer where the file ends.
        size: bytes of the file.
        e_tag: what the store calls this content; None where it has no name for it.
    """

    parts: Sequence[bytes]
    size: int
    e_tag: str | None


class FileStore(Protocol):
    """A store of files, addressed by full paths without scheme: ``bucket/key``, ``/folder/file``.

    Methods raise ``FileNotFoundError``, ``FileExistsError``, other ``OSError`` and errors of :mod:`hudi_hive.errors`.
    Transient faults are tried again inside of them.
    """

    @property
    def creates_atomically(self) -> bool:
        """Whether of several that :meth:`create` one file at the same time exactly one succeeds."""

    @property
    def has_folders(self) -> bool:
        """Whether folders exist by themselves, and not only as beginnings of the names of files."""

    def list_folder(self, path: str, *, recursive: bool, without: str = "") -> pa.Table:
        """List a folder as a table of :data:`LISTING_SCHEMA`.

        Args:
            path: the folder.
            recursive: what is in folders below it, too.
            without: name of a folder in it that a recursive listing may pass over.

        Raises:
            FileNotFoundError: there is no such folder; where folders are only beginnings of names: no file in it.
        """

    def status(self, path: str) -> PathStatus:
        """What a path names."""

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read a file from an offset, up to its end or ``length`` bytes."""

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a file as a random-access stream; ``size`` are its bytes if they are known."""

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file, replacing an existing one."""

    def create(self, path: str, data: bytes) -> None:
        """Create a whole file; readers never see a part of it.

        Raises:
            FileExistsError: it is there.
        """

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a stream that writes a file, which is whole when the stream is closed."""

    def create_folder(self, path: str) -> None:
        """Create a folder and its parents; nothing where folders do not exist by themselves."""

    def delete_file(self, path: str) -> None:
        """Delete a file."""

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete files; that one is not there is not said."""

    def delete_tree(self, path: str) -> None:
        """Delete a folder and all below it."""

    def move(self, source: str, target: str) -> None:
        """Move a file; the target does not exist."""


@runtime_checkable
class LocatingStore(Protocol):
    """A store that can tell on which nodes the parts of its files are."""

    @property
    def has_locations(self) -> bool:
        """Whether it does, as it is configured."""

    def block_locations(self, path: str) -> Sequence[BlockLocation]:
        """The parts of a file and their nodes; none where nobody can be asked."""


@runtime_checkable
class CacheableStore(FileStore, Protocol):
    """A store whose files can be told apart from those of all other stores."""

    @property
    def identity(self) -> str:
        """The store, by what it is called and where it is; without secrets."""

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]], e_tag: str | None = None) -> FileRanges:
        """Read ranges (start, end) of a file at the same time.

        Args:
            path: the file.
            ranges: they begin before its end.
            e_tag: the content that they are to be of; None for any one.

        Raises:
            StorageError: the file was overwritten.
        """
