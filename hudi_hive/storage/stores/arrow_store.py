"""Stores behind a ``pyarrow.fs`` file system: schemes that only fsspec knows."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from contextlib import suppress

import pyarrow as pa
import pyarrow.fs as pafs

from hudi_hive.storage.stores.base import LISTING_SCHEMA, MISSING, PathKind, PathStatus


class ArrowStore:
    """A ``pyarrow.fs`` file system as a store; it cannot create a file atomically.

    Args:
        filesystem: the file system.
    """

    creates_atomically = False
    has_folders = True

    def __init__(self, filesystem: pafs.FileSystem) -> None:
        self._filesystem = filesystem

    def list_folder(self, path: str, *, recursive: bool, without: str = "") -> pa.Table:
        """List a folder."""
        infos = self._filesystem.get_file_info(pafs.FileSelector(path, recursive=recursive))
        cut = len(path.rstrip("/")) + 1
        return pa.table(
            [
                pa.array([info.path[cut:] for info in infos], pa.string()),
                pa.array([info.size or 0 for info in infos], pa.int64()),
                pa.array([(info.mtime_ns or 0) // 1_000_000 for info in infos], pa.int64()),
                pa.array([info.type == pafs.FileType.Directory for info in infos], pa.bool_()),
            ],
            schema=LISTING_SCHEMA,
        )

    def status(self, path: str) -> PathStatus:
        """What a path names."""
        info = self._filesystem.get_file_info(path)
        if info.type == pafs.FileType.NotFound:
            return MISSING
        mtime_ms = None if info.mtime_ns is None else info.mtime_ns // 1_000_000
        kind = PathKind.FOLDER if info.type == pafs.FileType.Directory else PathKind.FILE
        return PathStatus(kind, int(info.size or 0), mtime_ms)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read a file or a part of it."""
        with self._filesystem.open_input_file(path) as stream:
            if offset:
                stream.seek(offset)
            data: bytes = stream.read() if length is None else stream.read(length)
        return data

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a file as a random-access stream."""
        return self._filesystem.open_input_file(path)

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file."""
        with self.open_output(path) as stream:
            stream.write(data)

    def create(self, path: str, data: bytes) -> None:
        """Create a file that is not there: a look and a write, between which others may create it."""
        if self._filesystem.get_file_info(path).type != pafs.FileType.NotFound:
            raise FileExistsError(path)
        self.write(path, data)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a stream that writes a file."""
        self._filesystem.create_dir(posixpath.dirname(path), recursive=True)
        return self._filesystem.open_output_stream(path)

    def create_folder(self, path: str) -> None:
        """Create a folder and its parents."""
        self._filesystem.create_dir(path, recursive=True)

    def delete_file(self, path: str) -> None:
        """Delete a file."""
        self._filesystem.delete_file(path)

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete files, one after the other."""
        for path in paths:
            with suppress(FileNotFoundError):
                self.delete_file(path)

    def delete_tree(self, path: str) -> None:
        """Delete a folder and all below it."""
        self._filesystem.delete_dir(path)

    def move(self, source: str, target: str) -> None:
        """Move a file."""
        self._filesystem.move(source, target)
