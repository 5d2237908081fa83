"""HDFS by ``hdfs-native``, which needs neither Java nor libhdfs: files are created by a rename in the name node."""

from __future__ import annotations

import posixpath
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_hive.errors import MissingDependencyError
from hudi_hive.storage.stores.base import LISTING_SCHEMA, MISSING, PathKind, PathStatus
from hudi_hive.storage.stores.remote_streams import RangeFile, RangeStream

if TYPE_CHECKING:
    from hdfs_native import Client


class HdfsStore:
    """One HDFS cluster.

    Args:
        url: ``hdfs://host:port`` of the name node, or ``hdfs://name`` of a service that the configuration knows.
        configuration: Hadoop's properties, added to those of ``HADOOP_CONF_DIR``.

    Raises:
        MissingDependencyError: ``hdfs-native`` is not installed.
    """

    creates_atomically = True
    has_folders = True

    def __init__(self, url: str, configuration: Mapping[str, str]) -> None:
        try:
            from hdfs_native import Client
        except ImportError as error:
            raise MissingDependencyError(
                "HDFS needs hdfs-native", path=url, remedy="pip install 'hudi_hive[hdfs]'"
            ) from error
        self._client: Client = Client(url, config=dict(configuration))

    def list_folder(self, path: str, *, recursive: bool) -> pa.Table:
        """List a folder."""
        cut = len(path.rstrip("/")) + 1
        entries = list(self._client.list_status(path or "/", recursive=recursive))
        if len(entries) == 1 and entries[0].path == path:
            raise NotADirectoryError(path)
        return pa.table(
            [
                pa.array([entry.path[cut:] for entry in entries], pa.string()),
                pa.array([0 if entry.isdir else entry.length for entry in entries], pa.int64()),
                pa.array([entry.modification_time for entry in entries], pa.int64()),
                pa.array([entry.isdir for entry in entries], pa.bool_()),
            ],
            schema=LISTING_SCHEMA,
        )

    def status(self, path: str) -> PathStatus:
        """What a path names."""
        try:
            info = self._client.get_file_info(path or "/")
        except FileNotFoundError:
            return MISSING
        if info.isdir:
            return PathStatus(PathKind.FOLDER, 0, info.modification_time)
        return PathStatus(PathKind.FILE, info.length, info.modification_time)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read a file or a part of it."""
        with self._client.read(path) as reader:
            size = len(reader)
            end = size if length is None else min(offset + length, size)
            return bytes(reader.read_range(offset, end - offset)) if end > offset else b""

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a file as a random-access stream."""
        reader: Any = self._client.read(path)

        def fetch(ranges: Sequence[tuple[int, int]]) -> list[bytes]:
            return [bytes(reader.read_range(start, end - start)) for start, end in ranges]

        return RangeStream(RangeFile(len(reader), fetch), "r")

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file, which appears complete."""
        self._publish(path, data, overwrite=True)

    def create(self, path: str, data: bytes) -> None:
        """Create a file: the name node gives its name to one of several that are complete."""
        if self.status(path).kind is not PathKind.MISSING:
            raise FileExistsError(path)
        self._publish(path, data, overwrite=False)

    def _publish(self, path: str, data: bytes, *, overwrite: bool) -> None:
        temporary = f"{posixpath.dirname(path)}/.tmp-{uuid.uuid4().hex}"
        try:
            with self._client.create(temporary) as writer:
                writer.write(data)
            self._client.rename(temporary, path, overwrite=overwrite)
        except BaseException:
            with suppress(Exception):
                self._client.delete(temporary)
            raise

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a stream that writes a file, replacing one."""
        from hdfs_native import WriteOptions

        return pa.PythonFile(self._client.create(path, WriteOptions(overwrite=True)), mode="w")

    def create_folder(self, path: str) -> None:
        """Create a folder and its parents."""
        self._client.mkdirs(path)

    def delete_file(self, path: str) -> None:
        """Delete a file."""
        if not self._client.delete(path):
            raise FileNotFoundError(path)

    def delete_tree(self, path: str) -> None:
        """Delete a folder and all below it."""
        if not self._client.delete(path, recursive=True):
            raise FileNotFoundError(path)

    def move(self, source: str, target: str) -> None:
        """Rename a file."""
        self._client.rename(source, target, overwrite=False)
