"""HDFS by ``hdfs-native``, which needs neither Java nor libhdfs: files are created by a rename in the name node."""

from __future__ import annotations

import os
import posixpath
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from hudi_hive.errors import MissingDependencyError, StorageError, StoreAccessDeniedError, StoreUnreachableError
from hudi_hive.storage.stores.base import LISTING_SCHEMA, MISSING, FileRanges, PathKind, PathStatus, forked
from hudi_hive.storage.stores.remote_streams import RangeFile, RangeStream

if TYPE_CHECKING:
    from hdfs_native import Client

_ATTEMPTS: Final = "dfs.client.failover.max.attempts"
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 15.0
_NO_SERVICE: Final = "No NameNode hosts found"
_HOST_ALONE: Final = re.compile(r"hdfs://[^/:]+")
_PORT: Final = 8020
"""Hadoop's port of a name node that is named without one."""


class HdfsStore:
    """One HDFS cluster.

    Args:
        url: ``hdfs://host:port`` of the name node, or ``hdfs://name`` of a service that the configuration names.
        configuration: Hadoop's properties, added to those of ``HADOOP_CONF_DIR``.
        retry_timeout_s: seconds in which a name node that does not answer is tried again.

    Raises:
        MissingDependencyError: ``hdfs-native`` is not installed.
        StorageError: the configuration does not know the service.
    """

    creates_atomically = True
    has_folders = True

    def __init__(self, url: str, configuration: Mapping[str, str], retry_timeout_s: float) -> None:
        try:
            from hdfs_native import Client
        except ImportError as error:
            raise MissingDependencyError(
                "HDFS needs hdfs-native", path=url, remedy="pip install 'hudi_hive[hdfs]'"
            ) from error
        self._url = url
        self._process = os.getpid()
        merged = {_ATTEMPTS: _attempts(retry_timeout_s), **configuration}
        with self._mapped(""):
            try:
                self._client: Client = Client(url, config=merged)
            except (RuntimeError, ValueError) as error:
                if _NO_SERVICE not in str(error) or not _HOST_ALONE.fullmatch(url):
                    raise
                self._client = Client(f"{url}:{_PORT}", config=merged)  # it is no service: a host, as for Hadoop

    @contextmanager
    def _mapped(self, path: str) -> Iterator[None]:
        """Turn the client's errors, which have traces of Java in them, into ours."""
        if self._process != os.getpid():
            raise forked(f"{self._url}{path}")
        try:
            yield
        except (FileNotFoundError, FileExistsError, NotADirectoryError):
            raise
        except PermissionError as error:
            raise StoreAccessDeniedError(
                f"access denied: {_first_line(error)}", path=f"{self._url}{path}", remedy="give this user the right"
            ) from None
        except OSError as error:
            raise StoreUnreachableError(
                f"no answer from HDFS: {_first_line(error)}", path=f"{self._url}{path}", remedy="check the name node"
            ) from None
        except (RuntimeError, ValueError) as error:
            raise StorageError(f"HDFS refused: {_first_line(error)}", path=f"{self._url}{path}") from None

    def list_folder(self, path: str, *, recursive: bool, without: str = "") -> pa.Table:
        """List a folder."""
        cut = len(path.rstrip("/")) + 1
        with self._mapped(path):
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
            with self._mapped(path):
                info = self._client.get_file_info(path or "/")
        except FileNotFoundError:
            return MISSING
        if info.isdir:
            return PathStatus(PathKind.FOLDER, 0, info.modification_time)
        return PathStatus(PathKind.FILE, info.length, info.modification_time)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read a file or a part of it."""
        with self._mapped(path), self._client.read(path) as reader:
            size = len(reader)
            end = size if length is None else min(offset + length, size)
            return bytes(reader.read_range(offset, end - offset)) if end > offset else b""

    @property
    def identity(self) -> str:
        """Its URL."""
        return self._url

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]], e_tag: str | None = None) -> FileRanges:
        """Read ranges of a file, which HDFS has no names of contents for: it can only be appended to."""
        with self._mapped(path), self._client.read(path) as reader:
            size = len(reader)
            parts = [bytes(reader.read_range(start, min(end, size) - start)) for start, end in ranges if start < size]
        return FileRanges([*parts, *[b""] * (len(ranges) - len(parts))], size, None)

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a file as a random-access stream."""
        with self._mapped(path):
            reader: Any = self._client.read(path)
            length = len(reader)

        def fetch(ranges: Sequence[tuple[int, int]]) -> list[bytes]:
            with self._mapped(path):
                return [bytes(reader.read_range(start, end - start)) for start, end in ranges]

        return RangeStream(RangeFile(length, fetch), "r")

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
            with self._mapped(path):
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

        with self._mapped(path):
            return pa.PythonFile(self._client.create(path, WriteOptions(overwrite=True)), mode="w")

    def create_folder(self, path: str) -> None:
        """Create a folder and its parents."""
        with self._mapped(path):
            self._client.mkdirs(path, create_parent=True)

    def delete_file(self, path: str) -> None:
        """Delete a file."""
        with self._mapped(path):
            if not self._client.delete(path):
                raise FileNotFoundError(path)

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete files, one after the other."""
        for path in paths:
            with suppress(FileNotFoundError):
                self.delete_file(path)

    def delete_tree(self, path: str) -> None:
        """Delete a folder and all below it."""
        with self._mapped(path):
            if not self._client.delete(path, recursive=True):
                raise FileNotFoundError(path)

    def move(self, source: str, target: str) -> None:
        """Rename a file; the folder of the target is made."""
        with self._mapped(source):
            self._client.mkdirs(posixpath.dirname(target), create_parent=True)
            self._client.rename(source, target, overwrite=False)


def _attempts(timeout_s: float) -> str:
    """How often the client tries in some seconds: its waits double, from half a second to fifteen."""
    attempts, wait, total = 1, _FIRST_WAIT_S, 0.0
    while total + wait <= timeout_s:
        attempts, total, wait = attempts + 1, total + wait, min(2 * wait, _LONGEST_WAIT_S)
    return str(attempts)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300]
