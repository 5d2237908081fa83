"""Lists local folders: what is in one, in all below it, or in each of many, as columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs

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
_BATCH: Final = 1 << 12
"""Entries that are looked at together, about."""
_ROWS: Final = 1 << 16
"""Entries that are held as Python values, about; then they become columns."""

_DISK: Final = pafs.LocalFileSystem()

_Skips = Callable[["os.DirEntry[str]", str], bool]
"""Whether a symbolic link is left out, by its path in the listing."""

_Refuses = Callable[[str], bool]
"""Whether a folder outside the root is refused, which is empty otherwise."""


class _Folder(NamedTuple):
    """A folder's place among those that are listed, its path in the listing, and all that is in it."""

    number: int
    path: str
    entries: list[os.DirEntry[str]]


class ListedPlace(Protocol):
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

    def _clear(self) -> None:
        self._numbers: list[int] = []
        self._paths: list[str] = []
        self._counts: list[int] = []
        self._names: list[str] = []
        self._sizes: list[int | None] = []  # of files
        self._mtimes: list[int] = []
        self._dirs: list[bool] = []

    def add(self, folders: Sequence[_Folder]) -> None:
        """Take in what is in some folders, none of it a symbolic link.

        Raises:
            OSError: there is a link, or an entry that is gone.
        """
        entries = list(chain.from_iterable(folder.entries for folder in folders))
        # A call over all at a time: a loop that looks at each entry for itself takes twice as long.
        if any(map(os.DirEntry.is_symlink, entries)):
            raise OSError("a symbolic link")
        details, dirs = _sizes_and_times(entries), list(map(os.DirEntry.is_dir, entries))
        self._dirs += dirs
        self._extend(folders, [len(folder.entries) for folder in folders], entries, details)

    def add_each(self, folder: _Folder) -> None:
        """Take in what is in a folder, without links that are passed over and entries that are gone."""
        entries: list[os.DirEntry[str]] = []
        sizes: list[int | None] = []
        mtimes: list[int] = []
        dirs: list[bool] = []
        for entry in folder.entries:
            is_link = entry.is_symlink()
            path = f"{folder.path}/{entry.name}" if folder.path else entry.name
            if is_link and self._skips is not None and self._skips(entry, path):
                continue
            try:
                is_dir, detail = entry.is_dir(), entry.stat()
            except OSError:
                if not is_link:
                    continue  # removed between readdir and stat
                # Reading it fails by name, where a name left out would be rows that are missed.
                is_dir, detail = False, entry.stat(follow_symlinks=False)
            entries.append(entry)
            sizes.append(detail.st_size)
            mtimes.append(detail.st_mtime_ns)
            dirs.append(is_dir)
        self._dirs += dirs
        self._extend([folder], [len(entries)], entries, (sizes, mtimes))

    def _extend(
        self,
        folders: Sequence[_Folder],
        counts: list[int],
        entries: list[os.DirEntry[str]],
        sizes_and_times: tuple[list[int | None], list[int]],
    ) -> None:
        self._numbers += [folder.number for folder in folders]
        self._paths += [folder.path for folder in folders]
        self._counts += counts
        self._names += map(attrgetter("name"), entries)
        self._sizes += sizes_and_times[0]
        self._mtimes += sizes_and_times[1]
        if len(self._names) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        folders = np.repeat(np.array(self._numbers, np.int64), self._counts)
        dirs = np.array(self._dirs, np.bool_)
        sizes = pa.array(self._sizes, pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).copy()
        sizes[dirs] = 0
        columns = [folders, sizes, np.array(self._mtimes, np.int64) // 1_000_000, dirs]
        try:
            names = pa.array(self._names, pa.string())
        except UnicodeEncodeError:
            keep = np.array([_is_utf8(name) for name in self._names], np.bool_)
            odd = np.flatnonzero(~keep & dirs).tolist()
            if odd:
                above = self._paths[int(np.searchsorted(np.cumsum(self._counts), odd[0], side="right"))]
                path = f"{above}/{self._names[odd[0]]}" if above else self._names[odd[0]]
                raise StorageError("a folder's name is not UTF-8", path=ascii(path)) from None
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


class LocalFolders:
    """Lists the folders of a storage on the local disk.

    Args:
        place: the storage.
        rules: of symbolic links below its root.
    """

    def __init__(self, place: ListedPlace, rules: LinkRules) -> None:
        self._place = place
        self._skips = rules.passes_over

    def tree(self, path: str, *, recursive: bool, missing_ok: bool, walk: bool) -> pa.Table:
        """List a folder, or all below it, as a table of ``LISTING_SCHEMA``; the arguments are ``Storage.list``'s."""
        self._place.check_read(path)
        collected = _Entries(self._skips if walk or recursive else None)
        folders: list[str] = []
        todo = [path]
        while todo:
            place = todo.pop()
            self._place.counters.add_lists([self._place.uri(place)])
            folder = _Folder(len(folders), place, self._scan(place, missing_ok=missing_ok or place != path))
            folders.append(place)
            try:
                collected.add([folder])
            except OSError:
                collected.add_each(folder)
            if recursive:
                inner = [entry.name for entry in folder.entries if entry.is_dir(follow_symlinks=False)]
                todo += [f"{place}/{name}" if place else name for name in inner]
        table = collected.table()
        begins = pa.array([f"{folder}/" if folder else "" for folder in folders], pa.string())
        paths = pc.binary_join_element_wise(begins.take(table.column("folder")), table.column("name"), "")
        return pa.table([paths, *(table.column(name) for name in LISTING_SCHEMA.names[1:])], schema=LISTING_SCHEMA)

    def each(self, paths: Sequence[str], refuses: _Refuses | None) -> pa.Table:
        """List each of some folders as a table of :data:`FOLDER_ENTRIES_SCHEMA`, in their order.

        One after the other where the disk answers at once, since threads that take turns then cost more than they
        save; on several threads where its calls wait, as on one behind a network.

        Args:
            paths: the folders.
            refuses: whether one outside the root is refused, which is empty otherwise; without it all are.
        """
        before, number = _waits(), 0
        probe = _Entries(self._skips)
        calls = 0
        while number < len(paths) and calls < _PROBED:
            calls += 1 + self._take(probe, paths, range(number, number + 1), refuses)
            number += 1
        rest = range(number, len(paths))
        if before is not None and (_waits() or 0) - before > calls // 4:
            return pa.concat_tables([probe.table(), *self._side_by_side(paths, rest, refuses)])
        self._take(probe, paths, rest, refuses)
        return probe.table()

    def _side_by_side(self, paths: Sequence[str], rest: range, refuses: _Refuses | None) -> list[pa.Table]:
        """Tables of the folders at some places, by several threads."""
        size = max(1, min(_SHARE, len(rest) // _THREADS))

        def share(begin: int) -> pa.Table:
            collected = _Entries(self._skips)
            self._take(collected, paths, range(begin, min(begin + size, rest.stop)), refuses)
            return collected.table()

        begins = range(rest.start, rest.stop, size)
        if not begins:
            return []
        with ThreadPoolExecutor(min(_THREADS, len(begins)), thread_name_prefix="hudi-list") as threads:
            return list(threads.map(share, begins))

    def _take(self, collected: _Entries, paths: Sequence[str], numbers: range, refuses: _Refuses | None) -> int:
        """Take in what is in the folders at some places; gives the number of entries."""
        total = waiting = 0
        folders: list[_Folder] = []
        listed: list[str] = []
        try:
            for number in numbers:
                path = paths[number]
                try:
                    self._place.check_read(path)
                    listed.append(self._place.uri(path))
                    folders.append(_Folder(number, path, self._scan(path, missing_ok=True)))
                    waiting += len(folders[-1].entries)
                except (UnsafePathError, OSError) as error:
                    self._pass_over(error, path, refuses)
                if waiting >= _BATCH or number == numbers[-1]:
                    self._collect(collected, folders, refuses)
                    total, waiting, folders = total + waiting, 0, []
        finally:  # all at once: to count each for itself takes as long as it takes to see whether it is a link
            self._place.counters.add_lists(listed)
        return total

    def _collect(self, collected: _Entries, folders: list[_Folder], refuses: _Refuses | None) -> None:
        try:
            collected.add(folders)
        except OSError:
            for folder in folders:
                try:
                    collected.add_each(folder)
                except (UnsafePathError, OSError) as error:
                    self._pass_over(error, folder.path, refuses)

    def _pass_over(self, error: Exception, path: str, refuses: _Refuses | None) -> None:
        """Pass over a folder that lies outside the root if that may be; raise other errors, with the folder's path."""
        if isinstance(error, UnsafePathError):
            if refuses is None or refuses(path):
                raise error
            return
        with mapped_errors(self._place.uri(path)):
            raise error

    def _scan(self, path: str, *, missing_ok: bool) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self._place.full_path(path)) as entries:
                return list(entries)
        except FileNotFoundError:
            if not missing_ok:
                raise
            return []


def _sizes_and_times(entries: list[os.DirEntry[str]]) -> tuple[list[int | None], list[int]]:
    """Sizes of files and none of folders, and times of change in nanoseconds, of entries that are no symbolic links.

    Arrow looks at many paths in one call and makes no ``os.stat_result`` of each, which takes longer than the look.

    Raises:
        OSError: an entry is gone.
    """
    try:
        infos = _DISK.get_file_info(list(map(attrgetter("path"), entries)))
    except UnicodeEncodeError:
        details = list(map(os.DirEntry.stat, entries))
        return [detail.st_size for detail in details], [detail.st_mtime_ns for detail in details]
    mtimes = list(map(attrgetter("mtime_ns"), infos))
    if None in mtimes:
        raise FileNotFoundError("an entry is gone")
    return list(map(attrgetter("size"), infos)), mtimes


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
