"""``Storage``: lists, opens, reads, creates and deletes files below a root; every call is counted."""

from __future__ import annotations

import os
import posixpath
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs

from hudi_hive.errors import PathNotFoundError, StorageError, UnsafePathError
from hudi_hive.metrics import IoCounters
from hudi_hive.storage import local_files
from hudi_hive.storage.block_locations import FileBlocks, locations_of
from hudi_hive.storage.cache import cached_files
from hudi_hive.storage.errors import mapped_errors
from hudi_hive.storage.links import LinkRules, follows_links
from hudi_hive.storage.local_listing import LocalFolders
from hudi_hive.storage.pickling import OpenedWhenUsed
from hudi_hive.storage.resolve import complete_options, has_user_info, resolve, with_user_info
from hudi_hive.storage.small_files import SmallFiles
from hudi_hive.storage.stores import LISTING_SCHEMA, ArrowStore, FileVersion, PathKind, PathStatus, VersionedStore
from hudi_hive.storage.together import run_together


class Storage(OpenedWhenUsed):
    """All files below one root, addressed by paths relative to it (``/``-separated, ``""`` is the root).

    Args:
        root: local path or URI; schemes that are neither local, an object store's nor HDFS go to fsspec.
        storage_options: keys, region, endpoint … (``docs/options.md#stores``); for fsspec the arguments of its class.
        counters: where calls are counted; a new one if not given.
        filesystem: a ``pyarrow.fs`` file system that has the root, in place of the one that the scheme says.

    A pickle has the root and the options but for the secrets (docs/credentials.md#pickles). If these are missing
    when it is loaded, they are looked for again when it is used.

    Raises:
        StorageError: the scheme cannot be served.
        InvalidOptionError: a storage option that is unknown or does not fit.
        MissingSecretError: options of a pickle, whose secrets are nowhere in this process.
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
        self.storage_options = with_user_info(text, complete_options(text, storage_options or {}))
        self._prefix, self._store, self._root, self._account = resolve(text, self.storage_options)
        self._origin = text if has_user_info(text) and isinstance(self._store, ArrowStore) else ""
        if filesystem is not None:
            self._store = ArrowStore(filesystem)
        self.small_files = SmallFiles()
        self._cache = cached_files(self._store, self.storage_options, self.counters)
        follow = follows_links(self.storage_options)
        self._links = LinkRules(self._root, follow=follow) if self._store is None else None

    # -- names ---------------------------------------------------------------------------------------------------

    @property
    def root(self) -> str:
        """The root path on the file system, without scheme and trailing slash."""
        return self._root

    @property
    def is_local(self) -> bool:
        """Whether the files are on the local disk."""
        return self._store is None

    @property
    def has_folders(self) -> bool:
        """Whether folders exist by themselves, and not only as beginnings of the names of files."""
        return self._store is None or self._store.has_folders

    @property
    def creates_atomically(self) -> bool:
        """Whether of several that :meth:`create_if_absent` one file at the same time exactly one succeeds."""
        return self._store is None or self._store.creates_atomically

    @property
    def replaces_atomically(self) -> bool:
        """Whether :meth:`write_version` can replace a file only if nobody has changed it."""
        return isinstance(self._store, VersionedStore) and self._store.replaces_atomically

    def uri(self, path: str = "") -> str:
        """Full URI of a relative path (``file:/…`` for local files, as Hadoop writes it)."""
        full = self.full_path(path)
        if self._account:
            container, slash, below = full.partition("/")
            full = f"{container}{self._account}{slash}{below}"
        return self._prefix + full

    def full_path(self, path: str = "") -> str:
        """The full path for :attr:`filesystem`.

        Raises:
            UnsafePathError: the path is absolute, leaves the root through ``..``, or has a NUL in it.
        """
        if not path:
            return self._root
        if path.startswith("/") or "\0" in path or (".." in path and ".." in path.split("/")):
            raise UnsafePathError("path leaves its root", path=path, remedy="metadata names files outside the table")
        return f"{self._root.rstrip('/')}/{path}"

    def child(self, path: str) -> Storage:
        """A storage rooted at a sub-folder, with the same counters."""
        root = self.full_path(path)
        child = object.__new__(Storage)
        child.__dict__.update(self.__dict__)
        child._root = root
        child._origin = f"{self._origin.rstrip('/')}/{path}" if self._origin else ""
        child._links = None if self._links is None else self._links.child(path)
        return child

    @property
    def links_out(self) -> Mapping[str, str]:
        """Symbolic links out of the root, to files or missing targets, that listings have found, with their targets."""
        return {} if self._links is None else self._links.leaving

    def check_read(self, path: str) -> None:
        """Refuse to read a path that leaves the root through a symbolic link; for readers that open files themselves.

        Raises:
            UnsafePathError: it does, and the storage option ``follow_links`` is not set.
        """
        if self._links is not None:
            self._links.check_read(path)

    def check_write(self, path: str) -> None:
        """Refuse to write a file through a symbolic link; for writers that create files themselves.

        Raises:
            UnsafePathError: the file or a folder on the way to it is one.
        """
        if self._links is not None:
            self._links.check_write(path)

    def is_alias(self, path: str) -> bool:
        """Whether a path goes through a symbolic link to another folder inside the root, which has its own name."""
        return self._links is not None and self._links.is_alias(path)

    def may_hold(self, path: str, names: Collection[str]) -> bool:
        """Whether a folder outside the root, to which a symbolic link leads, may hold files of some names."""
        return self._links is not None and self._links.may_hold(path, names)

    # -- listing -------------------------------------------------------------------------------------------------

    def list(
        self,
        path: str = "",
        *,
        recursive: bool = False,
        missing_ok: bool = False,
        walk: bool = False,
        without: str = "",
    ) -> pa.Table:
        """List a folder as a table of :data:`LISTING_SCHEMA`, in no particular order.

        A recursive listing of a local folder counts one list per folder walked; of an object store, one in all.

        Args:
            path: the folder.
            recursive: what is in folders below it, too.
            missing_ok: a folder that does not exist is empty.
            walk: the listing is a step of a walk: symbolic links to folders inside the root, which have names of their
                own, are left out. So they are of a recursive listing.
            without: name of a folder in it that a recursive listing of a store without folders may pass over.

        Raises:
            PathNotFoundError: the folder does not exist and ``missing_ok`` is false.
            UnsafePathError: a symbolic link on the way to it leads out of the root.
        """
        full = self.full_path(path)
        with mapped_errors(self.uri(path)):
            if self._store is None:
                return self._local_folders().tree(path, recursive=recursive, missing_ok=missing_ok, walk=walk)
            self.counters.add("lists", path=self.uri(path))
            try:
                listing = self._store.list_folder(full, recursive=recursive, without=without)
            except FileNotFoundError:
                if not missing_ok:
                    raise
                return LISTING_SCHEMA.empty_table()
        if not path:
            return listing
        names = pc.binary_join_element_wise(path, listing.column("path"), "/")
        return listing.set_column(0, LISTING_SCHEMA.field("path"), names)

    def list_local_folders(self, paths: Sequence[str], refuses: Callable[[str], bool] | None = None) -> pa.Table:
        """List local folders as steps of a walk (:meth:`list`), as a table of ``FOLDER_ENTRIES_SCHEMA``.

        Args:
            paths: the folders; one that does not exist is empty.
            refuses: whether one outside the root is refused, which is empty otherwise; without it all are.
        """
        return self._local_folders().each(paths, refuses)

    def _local_folders(self) -> LocalFolders:
        assert self._links is not None
        return LocalFolders(self, self._links)

    def exists(self, path: str = "") -> bool:
        """Whether a file or folder exists."""
        return self.status(path).kind is not PathKind.MISSING

    def is_dir(self, path: str = "") -> bool:
        """Whether a folder exists."""
        return self.status(path).kind is PathKind.FOLDER

    def size(self, path: str) -> int:
        """Size of a file in bytes.

        Raises:
            PathNotFoundError: it does not exist.
        """
        status = self.status(path)
        if status.kind is not PathKind.FILE:
            raise PathNotFoundError("no such file", path=self.uri(path))
        return status.size

    def status(self, path: str = "") -> PathStatus:
        """What a path names, its size and when it was written."""
        self.counters.add("exists")
        full = self.full_path(path)
        with mapped_errors(self.uri(path)):
            return local_files.status(full) if self._store is None else self._store.status(full)

    def statuses(self, paths: Sequence[str]) -> Sequence[PathStatus]:
        """What each of some paths names; a remote store is asked for several at the same time."""
        return run_together(self, [partial(self.status, path) for path in paths])

    def block_locations(self, paths: pa.Array) -> Sequence[FileBlocks] | None:
        """Where the parts of files are, on a store that tells (HDFS whose web address is known); None on others."""
        return locations_of(self, self._store, paths)

    # -- reading -------------------------------------------------------------------------------------------------

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a file as a random-access stream, a context manager.

        Args:
            path: the file.
            size: its bytes if they are known, as from a listing: an object store is not asked then.

        Raises:
            PathNotFoundError: the file does not exist.
        """
        self.counters.add("opens", path=self.uri(path))
        with mapped_errors(self.uri(path)):
            self.check_read(path)
            full = self.full_path(path)
            source = self._cache or self._store
            return pa.OSFile(full) if source is None else self.small_files.open(source, full, size)

    def read_bytes(self, path: str, offset: int = 0, length: int | None = None, *, size: int | None = None) -> bytes:
        """Read a file, or ``length`` bytes from ``offset`` (fewer at its end); whole files of a ``size`` are cached.

        Raises:
            PathNotFoundError: the file does not exist.
        """
        if self._store is None:
            with self.open_input(path) as stream, mapped_errors(self.uri(path)):
                if offset:
                    stream.seek(offset)
                data: bytes = stream.read(length) if length is not None else stream.read()
        else:
            self.counters.add("opens", path=self.uri(path))
            with mapped_errors(self.uri(path)):
                full = self.full_path(path)
                if self._cache is not None and size is not None and length is None and not offset:
                    data = self._cache.read(full, size)
                else:
                    data = self._store.read(full, offset, length)
        self.counters.add("reads")
        self.counters.add("bytes_read", len(data))
        return data

    # -- writing -------------------------------------------------------------------------------------------------

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a whole file, replacing an existing one; missing parent folders are created."""
        self.counters.add("writes")
        full = self.full_path(path)
        with mapped_errors(self.uri(path)):
            if self._store is not None:
                self._store.write(full, data)
                return
            self.check_write(path)
            local_files.prepare_file(full)
            with pa.OSFile(full, "wb") as stream:
                stream.write(data)

    def replace_bytes(self, path: str, data: bytes) -> None:
        """Replace a whole file in one step: readers get either the old or the new content.

        A local file outlasts a loss of power then.
        """
        if not self.is_local:
            self.write_bytes(path, data)
            return
        self.counters.add("writes")
        full = self.full_path(path)
        with mapped_errors(self.uri(path)):
            self.check_write(path)
            local_files.drop_checksum(full)
            local_files.replace_file(full, data)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a stream that writes a file, replacing an existing one; missing parent folders are created.

        The file is whole when the stream is closed.
        """
        self.counters.add("writes")
        full = self.full_path(path)
        with mapped_errors(self.uri(path)):
            if self._store is not None:
                return self._store.open_output(full)
            self.check_write(path)
            local_files.prepare_file(full)
            return pa.OSFile(full, "wb")

    def create_if_absent(self, path: str, data: bytes, *, lasting: bool = True) -> None:
        """Create a whole file that must not exist; readers never see a part of it (local: a link to the complete file).

        Args:
            path: the file.
            data: all of it.
            lasting: the name of a local file outlasts a loss of power when this returns, as its bytes do in any case.

        Raises:
            PathExistsError: somebody else was first.
        """
        self.counters.add("writes")
        full = self.full_path(path)
        with mapped_errors(self.uri(path)):
            if self._store is not None:
                self._store.create(full, data)
                return
            if self._links is not None:
                self._links.check_folder(posixpath.dirname(path))
            local_files.create_new(full, data, lasting=lasting)

    def read_version(self, path: str) -> FileVersion:
        """Read a whole file with what identifies its version, where :attr:`replaces_atomically`."""
        self.counters.add("opens", path=self.uri(path))
        with mapped_errors(self.uri(path)):
            return self._versions.read_version(self.full_path(path))

    def write_version(self, path: str, data: bytes, current: FileVersion | None) -> FileVersion:
        """Replace a file if it is still of a version, or create it, in one step; gives the new version.

        Args:
            path: the file.
            data: all of the new version.
            current: the version that was read or written last; None if there is to be no file. If another version is
                there, or none any more, PathExistsError is raised.
        """
        self.counters.add("writes")
        with mapped_errors(self.uri(path)):
            return self._versions.write_version(self.full_path(path), data, current)

    def copy(self, path: str, target: str) -> None:
        """Copy a file in one step, where :attr:`replaces_atomically`; one that comes late, to no file, makes nothing.

        Raises:
            PathNotFoundError: there is no such file.
        """
        self.counters.add("writes")
        with mapped_errors(self.uri(path)):
            self._versions.copy(self.full_path(path), self.full_path(target))

    @property
    def _versions(self) -> VersionedStore:
        if not isinstance(self._store, VersionedStore):
            raise StorageError("this store has no conditional puts", path=self.uri())
        return self._store

    def create_dir(self, path: str) -> None:
        """Create a folder and its parents, if it does not exist."""
        with mapped_errors(self.uri(path)):
            if self._store is not None:
                self._store.create_folder(self.full_path(path))
                return
            if self._links is not None:
                self._links.check_folder(path)
            local_files.make_folders(self.full_path(path))

    def flush(self, paths: Iterable[str]) -> None:
        """Flush local files and their folder entries to the disk; other stores are durable by themselves.

        Args:
            paths: files that were written, by this process or by another one.

        Raises:
            PathNotFoundError: one does not exist.
            StorageError: the disk refused it.
        """
        if self.is_local:
            with mapped_errors(self.uri()):
                local_files.flush_files([self.full_path(path) for path in paths])

    def flush_folders(self, paths: Iterable[str]) -> None:
        """Flush creations and deletions in local folders to the disk; missing folders are skipped."""
        if self.is_local:
            with mapped_errors(self.uri()):
                folders = (self.full_path(path) for path in paths)
                local_files.flush_folders(folder for folder in folders if os.path.isdir(folder))

    def delete(self, path: str, *, missing_ok: bool = True) -> None:
        """Delete a file; of a symbolic link the link.

        Raises:
            PathNotFoundError: it does not exist and ``missing_ok`` is false.
            UnsafePathError: a folder on the way to it is a symbolic link.
        """
        self.counters.add("deletes")
        full = self.full_path(path)
        try:
            with mapped_errors(self.uri(path)):
                if self._store is not None:
                    self._store.delete_file(full)
                elif self._links is not None:
                    self._links.delete_file(path)
        except PathNotFoundError:
            if not missing_ok:
                raise

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        """Delete a file that others may create anew: where a request is sent again, only if its bytes are one's own."""
        if not self.replaces_atomically:
            self.delete(path)
            return
        self.counters.add("deletes")
        with mapped_errors(self.uri(path)):
            self._versions.delete_own(self.full_path(path), is_own)

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete some files with as few requests as a store allows; that one is not there is not said."""
        if self._store is None:
            for path in paths:
                self.delete(path)
        elif paths:
            self.counters.add("deletes")
            with mapped_errors(self.uri(paths[0])):
                self._store.delete_files([self.full_path(path) for path in paths])

    def move(self, path: str, target: Storage, target_path: str) -> None:
        """Move a file to a place of the same store where there is none.

        Args:
            path: the file.
            target: the storage of the new place, on the same store.
            target_path: the new place in it.

        Raises:
            PathNotFoundError: the file does not exist.
        """
        old, new = self.full_path(path), target.full_path(target_path)
        with mapped_errors(self.uri(path)):
            if self._store is not None:
                self._store.move(old, new)
            else:
                shutil.move(old, new)

    def delete_tree(self, path: str, *, missing_ok: bool = True) -> None:
        """Delete a folder and all below it; counted as one call.

        Raises:
            UnsafePathError: the path is empty: the root itself is never deleted; or a folder on the way to it is a
                symbolic link.
            PathNotFoundError: it does not exist and ``missing_ok`` is false.
        """
        if not path.strip("/") or all(part in ("", ".") for part in path.split("/")):
            raise UnsafePathError("a storage's root is not deleted", path=self.uri())
        self.counters.add("deletes")
        full = self.full_path(path)
        try:
            with mapped_errors(self.uri(path)):
                if self._store is not None:
                    self._store.delete_tree(full)
                elif self._links is not None:
                    self._links.delete_tree(path)
        except PathNotFoundError:
            if not missing_ok:
                raise
