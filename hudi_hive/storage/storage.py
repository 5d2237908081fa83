"""The storage of one root folder: list, open, read, create-if-absent, delete; counted."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from hudi_hive.errors import (
    InvalidOptionError,
    MissingDependencyError,
    PathExistsError,
    PathNotFoundError,
    StorageError,
    UnsafePathError,
)
from hudi_hive.metrics import IoCounters

LISTING_SCHEMA = pa.schema(
    [("path", pa.string()), ("size", pa.int64()), ("mtime_ms", pa.int64()), ("is_dir", pa.bool_())]
)
"""Columns of :meth:`Storage.list`: path relative to the root, bytes (0 for folders), milliseconds since the epoch."""

_ARROW_SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfss"}


class Storage:
    """All files below one root, addressed by paths relative to it (``/``-separated, ``""`` is the root).

    Args:
        root: local path or URI. ``file:``, ``s3:``/``s3a:``, ``gs:``, ``abfs:`` and ``hdfs:`` go to ``pyarrow.fs``,
            any other scheme to fsspec.
        storage_options: keyword arguments of the file system class (keys, region, endpoint …).
        counters: where calls are counted; a new one if not given.

    Raises:
        StorageError: the scheme cannot be served.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        counters: IoCounters | None = None,
        filesystem: pafs.FileSystem | None = None,
    ) -> None:
        text = os.fspath(root)
        self.counters = counters if counters is not None else IoCounters()
        self.storage_options = dict(storage_options or {})
        self._prefix, self._filesystem, self._root, self._account = _resolve(text, self.storage_options)
        if filesystem is not None:
            self._filesystem = filesystem
        self.is_local = isinstance(self._filesystem, pafs.LocalFileSystem)

    # -- names ---------------------------------------------------------------------------------------------------

    @property
    def root(self) -> str:
        """The root as the file system sees it: no scheme, no trailing slash."""
        return self._root

    @property
    def filesystem(self) -> pafs.FileSystem:
        """The Arrow file system, for readers that take one; what they do with it is not counted."""
        return self._filesystem

    def uri(self, path: str = "") -> str:
        """Full URI of a relative path (``file:/…`` for local files, as Hadoop writes it)."""
        full = self.full_path(path)
        if self._account:
            container, slash, below = full.partition("/")
            full = f"{container}{self._account}{slash}{below}"
        return self._prefix + full

    def full_path(self, path: str = "") -> str:
        """The path as :attr:`filesystem` takes it.

        Raises:
            UnsafePathError: the path is absolute or leaves the root through ``..``.
        """
        if not path:
            return self._root
        if path.startswith("/") or ".." in PurePosixPath(path).parts:
            raise UnsafePathError("path leaves its root", path=path, remedy="metadata names files outside the table")
        return f"{self._root.rstrip('/')}/{path}"

    def child(self, path: str) -> Storage:
        """The same storage rooted at a sub-folder; counts go to the same counters."""
        child = object.__new__(Storage)
        child.__dict__.update(self.__dict__)
        child._root = self.full_path(path)
        return child

    def __repr__(self) -> str:
        return f"Storage({self.uri()!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"root": self.uri(), "storage_options": self.storage_options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["root"], state["storage_options"])  # type: ignore[misc]

    # -- listing -------------------------------------------------------------------------------------------------

    def list(self, path: str = "", *, recursive: bool = False, missing_ok: bool = False) -> pa.Table:
        """One listing of a folder as a table of :data:`LISTING_SCHEMA`, in no particular order.

        A recursive listing of a local folder counts one list per folder walked; of an object store, one in all.

        Raises:
            PathNotFoundError: the folder does not exist and ``missing_ok`` is false.
        """
        full = self.full_path(path)
        with _mapped(self.uri(path)):
            if self.is_local:
                return self._list_local(full, path, recursive, missing_ok)
            self.counters.add("lists", path=self.uri(path))
            selector = pafs.FileSelector(full, recursive=recursive, allow_not_found=missing_ok)
            infos = self._filesystem.get_file_info(selector)
        cut = len(self._root.rstrip("/")) + 1
        return pa.table(
            [
                pa.array([info.path[cut:] for info in infos], pa.string()),
                pa.array([info.size or 0 for info in infos], pa.int64()),
                pa.array([(info.mtime_ns or 0) // 1_000_000 for info in infos], pa.int64()),
                pa.array([info.type == pafs.FileType.Directory for info in infos], pa.bool_()),
            ],
            schema=LISTING_SCHEMA,
        )

    def _list_local(self, full: str, path: str, recursive: bool, missing_ok: bool) -> pa.Table:
        # os.scandir gives name, kind and size in one go: several times faster than FileSelector's object per file.
        paths: list[str] = []
        sizes: list[int] = []
        mtimes: list[int] = []
        dirs: list[bool] = []
        todo = [(full, path)]
        while todo:
            folder, relative = todo.pop()
            self.counters.add("lists", path=self.uri(relative))
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        try:
                            is_dir = entry.is_dir()
                            stat = entry.stat()
                        except FileNotFoundError:
                            continue  # removed between readdir and stat
                        name = f"{relative}/{entry.name}" if relative else entry.name
                        paths.append(name)
                        sizes.append(0 if is_dir else stat.st_size)
                        mtimes.append(stat.st_mtime_ns // 1_000_000)
                        dirs.append(is_dir)
                        if recursive and is_dir:
                            todo.append((entry.path, name))
            except FileNotFoundError:
                if not missing_ok and folder == full:
                    raise
        return pa.table(
            [pa.array(paths, pa.string()), pa.array(sizes, pa.int64()), pa.array(mtimes, pa.int64()), pa.array(dirs)],
            schema=LISTING_SCHEMA,
        )

    def exists(self, path: str = "") -> bool:
        """Whether a file or folder is there."""
        return bool(self._info(path).type != pafs.FileType.NotFound)

    def is_dir(self, path: str = "") -> bool:
        """Whether a folder is there."""
        return bool(self._info(path).type == pafs.FileType.Directory)

    def size(self, path: str) -> int:
        """Bytes of a file.

        Raises:
            PathNotFoundError: it does not exist.
        """
        info = self._info(path)
        if info.type != pafs.FileType.File:
            raise PathNotFoundError("no such file", path=self.uri(path))
        return int(info.size)

    def _info(self, path: str) -> pafs.FileInfo:
        self.counters.add("exists")
        with _mapped(self.uri(path)):
            return self._filesystem.get_file_info(self.full_path(path))

    # -- reading -------------------------------------------------------------------------------------------------

    def open_input(self, path: str) -> pa.NativeFile:
        """A random-access stream; use as context manager.

        Raises:
            PathNotFoundError: the file does not exist.
        """
        self.counters.add("opens", path=self.uri(path))
        with _mapped(self.uri(path)):
            return self._filesystem.open_input_file(self.full_path(path))

    def read_bytes(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of a file, or ``length`` of them from ``offset`` (fewer at its end).

        Raises:
            PathNotFoundError: the file does not exist.
        """
        with self.open_input(path) as stream, _mapped(self.uri(path)):
            if offset:
                stream.seek(offset)
            data: bytes = stream.read(length) if length is not None else stream.read()
        self.counters.add("reads")
        self.counters.add("bytes_read", len(data))
        return data

    # -- writing -------------------------------------------------------------------------------------------------

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a whole file, replacing one that is there; missing parent folders are made."""
        self.counters.add("writes")
        full = self.full_path(path)
        with _mapped(self.uri(path)):
            self._drop_checksum(full)
            self._filesystem.create_dir(posixpath.dirname(full), recursive=True)
            with self._filesystem.open_output_stream(full) as stream:
                stream.write(data)

    def replace_bytes(self, path: str, data: bytes) -> None:
        """Write a whole file in one step: who reads the one that is there gets all of the old or all of the new one.

        True of local files and of object stores; HDFS shows the file while it is written.
        """
        if not self.is_local:
            self.write_bytes(path, data)
            return
        self.counters.add("writes")
        full = self.full_path(path)
        with _mapped(self.uri(path)):
            self._drop_checksum(full)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            os.replace(_temporary(full, data), full)

    def open_output(self, path: str) -> pa.NativeFile:
        """A stream that writes a file, replacing one that is there; missing parent folders are made.

        The file is whole when the stream is closed.
        """
        self.counters.add("writes")
        full = self.full_path(path)
        with _mapped(self.uri(path)):
            self._drop_checksum(full)
            self._filesystem.create_dir(posixpath.dirname(full), recursive=True)
            return self._filesystem.open_output_stream(full)

    def create_if_absent(self, path: str, data: bytes) -> None:
        """Write a whole file that must not exist yet; a reader never sees part of it (local: link of a finished file).

        Raises:
            PathExistsError: somebody else was first.
        """
        self.counters.add("writes")
        full = self.full_path(path)
        with _mapped(self.uri(path)):
            if self.is_local:
                _link_new(full, data)
                return
            if self._filesystem.get_file_info(full).type != pafs.FileType.NotFound:
                raise PathExistsError("file exists already", path=self.uri(path))
            with self._filesystem.open_output_stream(full) as stream:
                stream.write(data)

    def create_dir(self, path: str) -> None:
        """Make a folder and its parents; nothing happens when it is there."""
        with _mapped(self.uri(path)):
            self._filesystem.create_dir(self.full_path(path), recursive=True)

    def delete(self, path: str, *, missing_ok: bool = True) -> None:
        """Delete one file.

        Raises:
            PathNotFoundError: it does not exist and ``missing_ok`` is false.
        """
        self.counters.add("deletes")
        full = self.full_path(path)
        try:
            with _mapped(self.uri(path)):
                self._drop_checksum(full)
                self._filesystem.delete_file(full)
        except PathNotFoundError:
            if not missing_ok:
                raise

    def _drop_checksum(self, full: str) -> None:
        """Delete what Hadoop's local file system wrote beside a local file, against which it holds what comes next."""
        if self.is_local:
            folder, name = os.path.split(full)
            with suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(os.path.join(folder, f".{name}.crc"))

    def delete_tree(self, path: str, *, missing_ok: bool = True) -> None:
        """Delete a folder and all below it; counted as one call.

        Raises:
            UnsafePathError: the path is empty: the root itself is never deleted.
            PathNotFoundError: it does not exist and ``missing_ok`` is false.
        """
        if not path.strip("/"):
            raise UnsafePathError("a storage's root is not deleted", path=self.uri())
        self.counters.add("deletes")
        try:
            with _mapped(self.uri(path)):
                self._filesystem.delete_dir(self.full_path(path))
        except PathNotFoundError:
            if not missing_ok:
                raise


def _link_new(full: str, data: bytes) -> None:
    """Write a local file that has no name until it is whole, so that a death leaves nothing behind."""
    folder = os.path.dirname(full)
    os.makedirs(folder, exist_ok=True)
    nameless = _open_nameless(folder)
    if nameless is None:
        _link_temporary(full, data)
        return
    with open(nameless, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
        # A folder's descriptor makes it the call that follows the link to the open file.
        os.link(f"/proc/self/fd/{nameless}", full, src_dir_fd=nameless, follow_symlinks=True)


def _open_nameless(folder: str) -> int | None:
    """Descriptor of a new file without a name; None where the system or the file system has none."""
    if not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except OSError:
        return None


def _link_temporary(full: str, data: bytes) -> None:
    temporary = _temporary(full, data)
    try:
        os.link(temporary, full)
    finally:
        os.unlink(temporary)


def _temporary(full: str, data: bytes) -> str:
    """A whole file beside another, under a name that no table takes for a log file or an instant."""
    temporary = f"{os.path.dirname(full)}/.tmp-{os.getpid()}-{os.urandom(4).hex()}"
    with open(temporary, "xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    return temporary


@contextmanager
def _mapped(path: str) -> Iterator[None]:
    """Turn the file system's errors into ours."""
    try:
        yield
    except FileNotFoundError as error:
        raise PathNotFoundError("no such file or folder", path=path) from error
    except FileExistsError as error:
        raise PathExistsError("file exists already", path=path) from error
    except NotADirectoryError as error:
        raise PathNotFoundError("not a folder", path=path) from error
    except (OSError, pa.ArrowException) as error:
        raise StorageError(f"storage call failed: {error}", path=path) from error


def _resolve(text: str, options: Mapping[str, Any]) -> tuple[str, pafs.FileSystem, str, str]:
    """Prefix for URIs, file system, root path and ``@account`` (abfs; else empty) of a user's path or URI."""
    if not text:
        raise InvalidOptionError("empty path", remedy="give the table's base path")
    scheme, separator, _ = text.partition(":")
    if not separator or "/" in scheme or len(scheme) < 2:
        return "file:", pafs.LocalFileSystem(), os.path.abspath(text).rstrip("/") or "/", ""
    scheme = scheme.lower()
    if scheme == "file":
        path = unquote(_after_authority(text)[1]) if text[len("file:") :].startswith("//") else text[len("file:") :]
        return "file:", pafs.LocalFileSystem(), os.path.abspath(path).rstrip("/") or "/", ""
    authority, below = _after_authority(text)
    if scheme in _ARROW_SCHEMES and not options.get("use_fsspec"):
        filesystem = _arrow_filesystem(_ARROW_SCHEMES[scheme], authority, options, text)
        # abfs: the file system is that of the account, and its paths begin with the container alone.
        container, at, account = authority.rpartition("@")
        bucket = container or account
        return f"{scheme}://", filesystem, f"{bucket}{below}".rstrip("/"), f"{at}{account}" if container else ""
    if scheme == "hdfs":
        try:
            filesystem, path = pafs.FileSystem.from_uri(text)
        except (OSError, pa.ArrowException) as error:
            raise StorageError(
                f"cannot reach HDFS: {error}", path=text, remedy="set HADOOP_HOME and CLASSPATH"
            ) from error
        return f"hdfs://{authority}", filesystem, path.rstrip("/"), ""
    return _fsspec_filesystem(scheme, text, options)


def _after_authority(text: str) -> tuple[str, str]:
    """Authority and path of a URI; ``?`` and ``#`` are characters of the path, as in names of files and objects."""
    authority, slash, path = text.partition(":")[2].removeprefix("//").partition("/")
    return authority, slash + path


def _arrow_filesystem(kind: str, netloc: str, options: Mapping[str, Any], text: str) -> pafs.FileSystem:
    try:
        if kind == "s3":
            return pafs.S3FileSystem(**options)
        if kind == "gs":
            return pafs.GcsFileSystem(**options)
        account = netloc.rpartition("@")[2].split(".")[0]
        return pafs.AzureFileSystem(**{"account_name": account, **options})
    except (TypeError, AttributeError, ValueError, OSError) as error:
        raise StorageError(f"cannot make the {kind} file system: {error}", path=text) from error


def _fsspec_filesystem(scheme: str, text: str, options: Mapping[str, Any]) -> tuple[str, pafs.FileSystem, str, str]:
    try:
        import fsspec
    except ImportError as error:
        raise MissingDependencyError(
            f"scheme {scheme!r} needs fsspec", path=text, remedy="pip install 'hudi_hive[fsspec]'"
        ) from error
    kwargs = {k: v for k, v in options.items() if k != "use_fsspec"}
    try:
        filesystem, root = fsspec.core.url_to_fs(text, **kwargs)
    except (ValueError, ImportError, OSError) as error:
        raise StorageError(f"no file system for scheme {scheme!r}: {error}", path=text) from error
    root = root.rstrip("/")
    prefix = text[: text.index("://") + 3] if not root.startswith("/") else f"{scheme}://"
    return prefix, pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), root, ""
