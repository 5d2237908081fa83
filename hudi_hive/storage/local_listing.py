"""Lists local folders: what is in one, in all below it, or in each of many, as columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import StorageError, UnsafePathError
from hudi_hive.metrics import IoCounters
from hudi_hive.storage.errors import mapped_errors
from hudi_hive.storage.links import LinkRules
from hudi_hive.storage.stores import LISTING_SCHEMA

try:
    import resource
except ImportError:  # no system but POSIX has it
    resource = None  # type: ignore[assignment]

FOLDER_ENTRIES_SCHEMA: Final = pa.schema([("folder", pa.int64()), ("name", pa.string()), *list(LISTING_SCHEMA)[1:]])
"""What is in each of some folders: the folder's place among them, a name in it, and the columns of a listing."""

_THREADS: Final = 4
_PROBED: Final = 64
"""Entries of folders that are listed one after the other before it is known whether the disk has calls wait."""
_SHARE: Final = 16
"""Folders that a thread lists at once, at most."""
_ROWS: Final = 1 << 16
"""Entries that are held as Python values, about; then they become columns."""


_Skips = Callable[["os.DirEntry[str]", str], bool]
"""Whether a symbolic link is left out, by its path in the listing."""


class Place(Protocol):
    """The interface of a storage whose folders are listed; ``Storage`` implements it."""

    @property
    def counters(self) -> IoCounters:
        """Where listings are counted."""

    def uri(self, path: str) -> str:
        """URI of a path below the root."""

    def full_path(self, path: str) -> str:
        """The full path."""

    def check_read(self, path: str) -> None:
        """Refuse a path that leaves the root through a symbolic link."""


class _Entries:
    """Entries of folders that become columns, some ten thousand at a time."""

    def __init__(self, skips: _Skips | None) -> None:
        self._skips = skips
        self._tables = [FOLDER_ENTRIES_SCHEMA.empty_table()]
        self._clear()
        self.rows = 0

    def _clear(self) -> None:
        self._numbers: list[int] = []
        self._counts: list[int] = []
        self._names: list[str] = []
        self._sizes: list[int] = []
        self._mtimes: list[int] = []
        self._dirs: list[bool] = []

    def add(self, number: int, path: str, entries: list[os.DirEntry[str]]) -> list[str]:
        """Take the entries of a folder in; gives the names of folders among them, without links.

        Args:
            number: the folder's place among those that are listed.
            path: its path in the listing.
            entries: all that is in it.
        """
        # A list at a time: a loop that looks at each entry for itself takes twice as long.
        links = [entry.is_symlink() for entry in entries]
        try:
            if any(links):
                raise OSError
            details = [entry.stat() for entry in entries]
            dirs = [entry.is_dir() for entry in entries]
        except OSError:  # a link, or an entry that is gone
            entries, details, dirs = _looked_at(entries, path, self._skips)
            links = [entry.is_symlink() for entry in entries]
        self._names += [entry.name for entry in entries]
        self._sizes += [detail.st_size for detail in details]
        self._mtimes += [detail.st_mtime_ns for detail in details]
        self._dirs += dirs
        self._numbers.append(number)
        self._counts.append(len(entries))
        self.rows += len(entries)
        if len(self._names) >= _ROWS:
            self._flush()
        if not any(dirs):
            return []
        return [e.name for e, is_dir, link in zip(entries, dirs, links, strict=True) if is_dir and not link]

    def _flush(self) -> None:
        folders = np.repeat(np.array(self._numbers, np.int64), self._counts)
        dirs = np.array(self._dirs, np.bool_)
        sizes = np.array(self._sizes, np.int64)
        sizes[dirs] = 0
        columns = [folders, sizes, np.array(self._mtimes, np.int64) // 1_000_000, dirs]
        try:
            names = pa.array(self._names, pa.string())
        except UnicodeEncodeError:
            keep = np.array([_is_utf8(name) for name in self._names], np.bool_)
            odd = np.flatnonzero(~keep & dirs).tolist()
            if odd:
                raise StorageError("a folder's name is not UTF-8", path=ascii(self._names[odd[0]])) from None
            # No file of a table has such a name: it is none that anybody asks for.
            names = pa.array([name for name in self._names if _is_utf8(name)], pa.string())
            columns = [column[keep] for column in columns]
        arrays = [pa.array(columns[0]), names, *(pa.array(column) for column in columns[1:])]
        self._tables.append(pa.table(arrays, schema=FOLDER_ENTRIES_SCHEMA))
        self._clear()

    def table(self) -> pa.Table:
        """All entries, as :data:`FOLDER_ENTRIES_SCHEMA`.

        Raises:
            StorageError: a folder's name is not UTF-8; files of such names are left out.
        """
        if self._names:
            self._flush()
        return pa.concat_tables(self._tables)


def _looked_at(
    entries: list[os.DirEntry[str]], path: str, skips: _Skips | None
) -> tuple[list[os.DirEntry[str]], list[os.stat_result], list[bool]]:
    """Entries, what each is, and whether it is a folder, without those that are passed over or gone."""
    kept, details, dirs = [], [], []
    for entry in entries:
        is_link = entry.is_symlink()
        if is_link and skips is not None and skips(entry, f"{path}/{entry.name}" if path else entry.name):
            continue
        try:
            is_dir, detail = entry.is_dir(), entry.stat()
        except OSError:
            if not is_link:
                continue  # removed between readdir and stat
            # Reading it fails by name, where a name left out would be rows that are missed.
            is_dir, detail = False, entry.stat(follow_symlinks=False)
        kept.append(entry)
        details.append(detail)
        dirs.append(is_dir)
    return kept, details, dirs


class LocalFolders:
    """Lists the folders of a storage on the local disk.

    Args:
        place: the storage.
        rules: of symbolic links below its root.
    """

    def __init__(self, place: Place, rules: LinkRules) -> None:
        self._place = place
        self._skips = rules.passes_over

    def tree(self, path: str, *, recursive: bool, missing_ok: bool, walk: bool) -> pa.Table:
        """List a folder, or all below it, as a table of ``LISTING_SCHEMA``; the arguments are ``Storage.list``'s."""
        self._place.check_read(path)
        found = _Entries(self._skips if walk or recursive else None)
        folders: list[str] = []
        todo = [path]
        while todo:
            folder = todo.pop()
            entries = self._scan(folder, missing_ok=missing_ok or folder != path)
            inner = found.add(len(folders), folder, entries)
            folders.append(folder)
            if recursive:
                todo += [f"{folder}/{name}" if folder else name for name in inner]
        table = found.table()
        begins = pa.array([f"{folder}/" if folder else "" for folder in folders], pa.string())
        paths = pc.binary_join_element_wise(begins.take(table.column("folder")), table.column("name"), "")
        return pa.table([paths, *(table.column(name) for name in LISTING_SCHEMA.names[1:])], schema=LISTING_SCHEMA)

    def each(self, paths: Sequence[str], refuses: Callable[[str], bool] | None) -> pa.Table:
        """List each of some folders as a table of :data:`FOLDER_ENTRIES_SCHEMA`, in their order.

        One after the other where the disk answers at once, since threads that take turns then cost more than they
        save; on several threads where its calls wait, as on one behind a network.

        Args:
            paths: the folders.
            refuses: whether one outside the root is refused, which is empty otherwise; without it all are.
        """
        found = _Entries(self._skips)
        waits = _waits()
        for number, path in enumerate(paths):
            self._add(found, number, path, refuses)
            calls = found.rows + number
            if waits is not None and calls >= _PROBED:
                is_slow = (_waits() or 0) - waits > calls // 4
                waits = None
                if is_slow:
                    return pa.concat_tables([found.table(), *self._side_by_side(paths, number + 1, refuses)])
        return found.table()

    def _side_by_side(self, paths: Sequence[str], first: int, refuses: Callable[[str], bool] | None) -> list[pa.Table]:
        """Tables of the folders from ``first`` on, by several threads."""
        size = max(1, min(_SHARE, (len(paths) - first) // _THREADS))

        def share(begin: int) -> pa.Table:
            found = _Entries(self._skips)
            for number in range(begin, min(begin + size, len(paths))):
                self._add(found, number, paths[number], refuses)
            return found.table()

        begins = range(first, len(paths), size)
        if not begins:
            return []
        with ThreadPoolExecutor(min(_THREADS, len(begins)), thread_name_prefix="hudi-list") as threads:
            return list(threads.map(share, begins))

    def _add(self, found: _Entries, number: int, path: str, refuses: Callable[[str], bool] | None) -> None:
        try:
            with mapped_errors(self._place.uri(path)):
                self._place.check_read(path)
                found.add(number, path, self._scan(path, missing_ok=True))
        except UnsafePathError:
            if refuses is None or refuses(path):
                raise

    def _scan(self, path: str, *, missing_ok: bool) -> list[os.DirEntry[str]]:
        self._place.counters.add("lists", path=self._place.uri(path))
        try:
            with os.scandir(self._place.full_path(path)) as entries:
                return list(entries)
        except FileNotFoundError:
            if not missing_ok:
                raise
            return []


def _waits() -> int | None:
    """How often this thread has waited for something until now; None where the system does not count it."""
    who = getattr(resource, "RUSAGE_THREAD", None)
    return None if who is None else resource.getrusage(who).ru_nvcsw


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
