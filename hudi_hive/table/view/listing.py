"""Lists the partitions and files of a table: the interface of listers, and the lister of folders.

A :class:`Lister` gives a table's partitions and their files. :class:`DirectoryLister` lists folders; the metadata table
gives another one, which planning hands to :class:`~hudi_hive.table.MetaClient`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.storage import LISTING_SCHEMA, Storage
from hudi_hive.table.keys import METAFOLDER, PARTITION_METAFILES, holds_partitions
from hudi_hive.table.view.data_files import refuse_linked_files
from hudi_hive.table.view.file_system_view import FILES_SCHEMA
from hudi_hive.table.view.ranks import BoolArray, IntArray
from hudi_hive.table.view.spread_listing import Runner, SpreadListing

LISTED_SCHEMA: Final = FILES_SCHEMA.append(pa.field("mtime_ms", pa.int64()))
"""Files of partitions (``FILES_SCHEMA``) and when each was last changed, milliseconds since the epoch."""

_T = TypeVar("_T")
_R = TypeVar("_R")

# Listing is waiting: many at once for a store behind a network, few for a local disk.
_LOCAL_LISTERS, _REMOTE_LISTERS = 4, 16


_SERIES: Final = (10, 20, 40, 80, 100)
"""Partitions in the first batches; the last number goes on."""

_FEW_FOLDERS: Final = 16
"""Partitions up to which they are listed one by one where one listing could give all files of the table."""

_SHARE: Final = 100
"""Folders that one task lists."""

_ENTRY: Final = [*LISTED_SCHEMA.names[1:], "is_dir"]
"""Columns of what is in a folder."""

FolderFilter: TypeAlias = Callable[[Sequence[str]], BoolArray]
"""For each of some folders below a table's base path: whether partitions at or below it may be needed."""


class FilteredPartitions(NamedTuple):
    """Partitions that were looked for with a :data:`FolderFilter`.

    Attributes:
        partitions: their sorted paths; all that may be needed, and perhaps others.
        left_out: folders that the filter left out, so that they were not listed; each was a partition or held some.
    """

    partitions: list[str]
    left_out: int


class Lister(Protocol):
    """The interface of a source of a table's partitions and files, which are all of one moment."""

    @property
    def source(self) -> str:
        """Name of the source, for plans and logs."""

    @property
    def lists_at_once(self) -> bool:
        """Whether files of many partitions cost no more than those of a few, so that planners request all at once."""

    @property
    def is_authoritative(self) -> bool:
        """Whether the source has only files of this table; a folder may also hold those of an earlier one."""

    def partitions(self) -> list[str]:
        """Sorted paths of all partitions of a partitioned table, relative to its base path."""

    def partitions_matching(self, may_match: FolderFilter) -> FilteredPartitions:
        """The partitions that a filter of folders leaves; a source that has all partitions at once gives them all."""

    def partition_batches(self, may_match: FolderFilter | None = None) -> Iterator[list[str]]:
        """Yield batches of the paths of partitions as they are found, each once, in no order.

        Args:
            may_match: folders that it leaves out need not be looked into.
        """

    def files(self, partitions: Sequence[str]) -> pa.Table:
        """List the files of partitions as a table of ``FILES_SCHEMA``; a missing partition has no rows."""


def in_batches(partitions: Iterable[_T]) -> Iterator[list[_T]]:
    """Split partitions into batches of 10, 20, 40, 80, 100, 100 …, so that the first results come soon."""
    batch: list[_T] = []
    sizes = iter(_SERIES)
    size = next(sizes)
    for partition in partitions:
        batch.append(partition)
        if len(batch) == size:
            yield batch
            batch, size = [], next(sizes, size)
    if batch:
        yield batch


class DirectoryLister:
    """Lists folders; the files that are seen while partitions are searched are not listed again.

    Args:
        storage: rooted at the table's base path.
        spread: gives how executors list where there are many folders, and is asked when the first are listed; this
            process lists them all without it.
    """

    def __init__(self, storage: Storage, spread: Callable[[], SpreadListing] | None = None) -> None:
        self._storage = storage
        self._make_spread = spread
        # Partitions and files of all folders; both at once, since threads share a lister.
        self._walked: tuple[list[str], pa.Table] | None = None
        self._listed: dict[str, pa.Table] = {}
        # The folders in each folder that a filtered walk listed; None for a partition.
        self._below: dict[str, list[str] | None] = {}

    @cached_property
    def spread(self) -> SpreadListing | None:
        """How executors list; None where this process lists alone."""
        return None if self._make_spread is None else self._make_spread()

    @property
    def source(self) -> str:
        """The source of listings: directory listings."""
        return "directory listing"

    @property
    def lists_at_once(self) -> bool:
        """Whether all folders were listed already."""
        return self._walked is not None

    @property
    def is_authoritative(self) -> bool:
        """False: folders may hold files of an earlier table."""
        return False

    def partitions(self) -> list[str]:
        """Sorted paths of all partitions, found by one listing for each folder."""
        if self._walked is None:
            spread = self.spread
            partitions, listed = walk(self._storage, [""]) if spread is None else _walk_spread(self._storage, spread)
            self._walked = partitions, listed.select(FILES_SCHEMA.names)
        return list(self._walked[0])

    def partitions_matching(self, may_match: FolderFilter) -> FilteredPartitions:
        """The partitions that a filter of folders leaves, level by level; what it leaves out is not listed.

        The folders of one level are listed side by side, and none is listed again for another filter. Where folders are
        only beginnings of names, and the filter leaves many of them, the whole table is listed in one go.
        """
        partitions: list[str] = []
        level, left_out, folders = [""], 0, 1
        while level and self._walked is None:
            if self._costs_more_than_all(len(level), folders):
                return FilteredPartitions(self.partitions(), 0)
            self._list_level(level)
            ended, below = self._parted(level)
            partitions += ended
            level, folders = _left(below, may_match), len(below)
            left_out += folders - len(level)
        if self._walked is not None:
            return FilteredPartitions(self.partitions(), 0)
        return FilteredPartitions(sorted(partitions), left_out)

    def _costs_more_than_all(self, count: int, folders: int) -> bool:
        """Whether listing some of a level's folders is more requests than listing all files may well be."""
        if self._storage.has_folders or (self.spread is not None and count > self.spread.threshold):
            return False
        return count > max(_FEW_FOLDERS, folders // _FEW_FOLDERS)

    def _parted(self, folders: Sequence[str]) -> tuple[list[str], list[str]]:
        """Those of some listed folders that are partitions, and the folders in the others."""
        inside = [(folder, self._below[folder]) for folder in folders]
        below = itertools.chain.from_iterable(paths for _, paths in inside if paths is not None)
        return [folder for folder, paths in inside if paths is None], list(below)

    def _list_level(self, level: Sequence[str]) -> None:
        """List those folders of a level that no walk with a filter has listed."""
        fresh = [folder for folder in level if folder not in self._below]
        if not fresh:
            return
        spread = self.spread
        steps = [_step(self._storage, fresh)] if spread is None else _spread_over(self._storage, spread, _step, fresh)
        below: dict[str, list[str] | None] = {folder: [] for folder in fresh}
        for found, files, further in steps:
            below.update(dict.fromkeys(found))
            self._listed.update(dict.fromkeys(found, files.select(FILES_SCHEMA.names)))
            for path in further:
                inside = below[path.rpartition("/")[0]]
                assert inside is not None
                inside.append(path)
        self._below.update(below)  # after their files, which other threads take from there

    def partition_batches(self, may_match: FolderFilter | None = None) -> Iterator[list[str]]:
        """All partitions, or those that a filter leaves, a batch at a time while the folders are walked, depth first.

        Folders whose files were seen on the way are not listed again. One listing per folder, as for
        :meth:`partitions`.
        """
        if self._walked is not None or not self._storage.has_folders:
            yield from in_batches(self.partitions() if may_match is None else self.partitions_matching(may_match)[0])
            return
        if may_match is not None:
            yield from self._matching_batches(may_match)
            return
        tables = [LISTED_SCHEMA.empty_table()]
        paths: list[str] = []
        for partitions, listed in walk_batches(self._storage, [""]):
            files = listed.select(FILES_SCHEMA.names)
            tables.append(files)
            paths += partitions
            self._listed.update(dict.fromkeys(partitions, files))
            yield partitions
        self._walked = sorted(paths), pa.concat_tables([table.select(FILES_SCHEMA.names) for table in tables])
        self._listed = {}

    def _matching_batches(self, may_match: FolderFilter) -> Iterator[list[str]]:
        """The partitions that a filter leaves, in batches, depth first; as :func:`walk_batches`."""

        def look(folders: list[str]) -> tuple[list[str], list[str]]:
            self._list_level(folders)
            partitions, below = self._parted(folders)
            return partitions, _left(below, may_match)

        return _depth_first(self._storage, [""], look)

    def files(self, partitions: Sequence[str]) -> pa.Table:
        """List the files of partitions concurrently, one listing for each that was not listed before."""
        remaining = list(dict.fromkeys(partitions))
        unseen = sum(path not in self._listed for path in remaining)
        is_spread = self.spread is not None and unseen > self.spread.threshold
        if unseen > _FEW_FOLDERS and not self._storage.has_folders and not is_spread:
            self.partitions()
        listed = self._listed  # a walk that goes on in another thread adds to it, and puts another in its place
        seen = {path: table for path in remaining if (table := listed.get(path)) is not None}
        tables: list[pa.Table] = []
        if seen:
            mine = pa.array(list(seen), pa.string())
            each = {id(table): table for table in seen.values()}
            tables = [table.filter(pc.is_in(table.column("partition"), value_set=mine)) for table in each.values()]
            remaining = [path for path in remaining if path not in seen]
        if (walked := self._walked) is not None:
            walked_paths, files = set(walked[0]), walked[1]
            if not walked_paths.issubset(remaining):
                mask = pc.is_in(files.column("partition"), value_set=pa.array(remaining, pa.string()))
                files = files.filter(mask)
            tables.append(files)
            remaining = [path for path in remaining if path not in walked_paths]
        fresh = _list_spread(self._storage, remaining, self.spread).select(FILES_SCHEMA.names)
        if not self._storage.is_local:  # each is a request
            listed.update(dict.fromkeys(remaining, fresh))
        return pa.concat_tables([*tables, fresh])


def walk(storage: Storage, roots: Sequence[str], run: Runner | None = None) -> tuple[list[str], pa.Table]:
    """Find the partitions at or below folders of a table, and their files; each folder is listed once.

    A folder is a partition when it holds a partition metafile (docs/format.md#partition-metafile); others are gone down
    into, level by level, but for tables nested in this one's folders. Where folders are only beginnings of names, a
    whole table is listed in one go.

    Args:
        storage: rooted at the table's base path.
        roots: folders relative to the base path, none below another.
        run: lists shares of a level's folders; without it this process lists them all.

    Returns:
        The partitions, sorted, and a table of :data:`LISTED_SCHEMA`.
    """
    partitions: list[str] = []
    tables = [LISTED_SCHEMA.empty_table()]
    level = list(roots)
    step = partial(_step, storage)
    if run is None and level == [""] and not storage.has_folders:
        step = partial(_step_in, _tree(storage.list(recursive=True, without=METAFOLDER, missing_ok=True)))
    while level:
        shares = [level[at : at + _SHARE] for at in range(0, len(level), _SHARE)]
        steps = [step(level)] if run is None else run(step, shares)
        level = []
        for found, files, further in steps:
            partitions += found
            tables.append(files)
            level += further
    return sorted(partitions), pa.concat_tables(tables)


def _walk_spread(storage: Storage, spread: SpreadListing) -> tuple[list[str], pa.Table]:
    """As :func:`walk` of a whole table; levels of many folders are listed by executors.

    Where folders are only beginnings of names, and the partitions are few, the whole table is listed in one go.
    """
    partitions: list[str] = []
    tables = [LISTED_SCHEMA.empty_table()]
    level, depth = [""], 0
    while level:
        if not storage.has_folders and depth >= max(spread.levels, 1) and len(level) <= spread.threshold:
            return walk(storage, [""])
        steps = _spread_over(storage, spread, _step, level)
        level = []
        depth += 1
        for found, files, further in steps:
            partitions += found
            tables.append(files)
            level += further
    return sorted(partitions), pa.concat_tables(tables)


def _list_spread(storage: Storage, folders: Sequence[str], spread: SpreadListing | None) -> pa.Table:
    """As :func:`list_folders`; many folders are listed by executors."""
    if spread is None:
        return list_folders(storage, folders)
    return pa.concat_tables(_spread_over(storage, spread, list_folders, folders))


def _spread_over(
    storage: Storage, spread: SpreadListing, list_share: Callable[[Storage, Sequence[str]], _R], folders: Sequence[str]
) -> list[_R]:
    """Results for shares of folders, made by executors where there are several shares; all listings are counted."""
    shares = spread.shares(folders)
    if len(shares) < 2:
        return [list_share(storage, folders)]
    results = spread.run(partial(list_share, storage), shares)
    storage.counters.add_lists(list(map(storage.uri, folders)))
    return results


def _left(folders: list[str], may_match: FolderFilter) -> list[str]:
    """The folders that a filter leaves."""
    if not folders:
        return folders
    return [folder for folder, kept in zip(folders, may_match(folders).tolist(), strict=True) if kept]


def _depth_first(
    storage: Storage, roots: Sequence[str], look: Callable[[list[str]], tuple[_R | None, list[str]]]
) -> Iterator[_R]:
    """Look into batches of folders that become larger, the last ones found first.

    Args:
        storage: where they are; on a store a batch has as many at least as threads wait for.
        roots: where to begin.
        look: gives what is found in some folders, empty or None for nothing, and the folders to look into next.
    """
    waiting = list(roots)
    sizes = iter(_SERIES)
    size = next(sizes)
    while waiting:
        at_once = size if storage.is_local else max(size, _REMOTE_LISTERS)
        batch, waiting = waiting[-at_once:], waiting[:-at_once]
        result, further = look(batch)
        waiting += further
        if result:
            yield result
            size = next(sizes, size)


def walk_batches(storage: Storage, roots: Sequence[str]) -> Iterator[tuple[list[str], pa.Table]]:
    """Yield what :func:`walk` finds as it is found, depth first.

    Yields:
        Partitions and their files, for batches of folders that become larger.
    """

    def look(folders: list[str]) -> tuple[tuple[list[str], pa.Table] | None, list[str]]:
        rows, files, further = _step(storage, folders)
        return ((rows, files) if rows else None), further

    return _depth_first(storage, roots, look)


@dataclass(frozen=True, slots=True)
class _Entries:
    """What is in folders: the folders, and for each entry the place of its folder among them and its listing."""

    folders: Sequence[str]
    places: IntArray
    rows: pa.Table  # name, size, mtime_ms, is_dir

    def files(self, chosen: BoolArray | None = None) -> pa.Table:
        """The files in the folders, or in those that are chosen, as :data:`LISTED_SCHEMA`."""
        keep = ~self.rows.column("is_dir").to_numpy()
        if chosen is not None:
            keep &= chosen[self.places]
        rows, places = self.rows, self.places
        if not keep.all():
            rows, places = rows.filter(pa.array(keep)), places[keep]
        partitions = pa.array(list(self.folders) or [""], pa.string()).take(pa.array(places))
        columns = [rows.column(name) for name in LISTED_SCHEMA.names[1:]]
        return pa.table([partitions, *columns], schema=LISTED_SCHEMA)


def _step(storage: Storage, folders: Sequence[str]) -> tuple[list[str], pa.Table, list[str]]:
    """Those of some folders that are partitions, the files of these, and the folders in the others to look into."""
    return _judged(_entries(storage, folders, is_walk=True))


def _step_in(tree: pa.Table, folders: Sequence[str]) -> tuple[list[str], pa.Table, list[str]]:
    """As :func:`_step`, of all entries of a table."""
    places = pc.index_in(tree.column("partition"), value_set=pa.array(folders, pa.string()))
    inside = pc.is_valid(places)
    numbers = places.filter(inside).to_numpy().astype(np.int64)
    return _judged(_Entries(folders, numbers, tree.filter(inside).select(_ENTRY)))


def _tree(listing: pa.Table) -> pa.Table:
    """All entries of a table by a listing of its files, with the folder and the name of each: folders are added."""
    parents = pc.replace_substring_regex(listing.column("path"), r"(?s)/?[^/]*$", "")
    folders: set[str] = set()
    for path in pc.unique(parents).to_pylist():
        while path and path not in folders:
            folders.add(path)
            path = path.rpartition("/")[0]
    paths = pa.array(sorted(folders), pa.string())
    zeros = pa.repeat(pa.scalar(0, pa.int64()), len(paths))
    marks = pa.repeat(pa.scalar(True), len(paths))
    entries = pa.concat_tables([listing, pa.table([paths, zeros, zeros, marks], schema=LISTING_SCHEMA)])
    parents = pc.replace_substring_regex(entries.column("path"), r"(?s)/?[^/]*$", "")
    names = pc.replace_substring_regex(entries.column("path"), r"(?s)^.*/", "")
    return entries.append_column("partition", parents).append_column("name", names)


def _judged(entries: _Entries) -> tuple[list[str], pa.Table, list[str]]:
    """What :func:`_step` gives, of the entries of its folders."""
    folders, places = entries.folders, entries.places
    names, is_dir = entries.rows.column("name"), entries.rows.column("is_dir").to_numpy()
    # Another table nested in this one's folder ends a branch; if it has no partitions, its base path is marked
    # as one. This table's own base path, marked or not, is no partition either.
    inner = np.flatnonzero(is_dir)
    inner_names, parents = names.take(pa.array(inner)), places[inner]
    holds = holds_partitions(inner_names).to_numpy()
    is_table, is_marked = np.zeros(len(folders), np.bool_), np.zeros(len(folders), np.bool_)
    is_table[parents[pc.equal(inner_names, METAFOLDER).to_numpy()]] = True
    marks = pc.is_in(names, value_set=pa.array(PARTITION_METAFILES)).to_numpy()
    is_marked[places[marks & ~is_dir]] = True
    is_base = np.array([not folder for folder in folders], np.bool_)
    is_ended = is_marked & ~is_table & ~is_base
    is_closed = is_ended | (is_table & ~is_base)
    further = np.flatnonzero(holds & ~is_closed[parents])
    below = zip(parents[further].tolist(), inner_names.take(pa.array(further)).to_pylist(), strict=True)
    return (
        [folders[place] for place in np.flatnonzero(is_ended).tolist()],
        entries.files(is_ended),
        [f"{folders[place]}/{name}" if folders[place] else name for place, name in below],
    )


def list_folders(storage: Storage, folders: Sequence[str]) -> pa.Table:
    """List the files of folders concurrently as a table of :data:`LISTED_SCHEMA`; a missing folder has none."""
    return _entries(storage, folders).files()


def list_concurrently(storage: Storage, function: Callable[[str], _T], paths: Sequence[str]) -> list[_T]:
    """Call ``function`` for each path on as many threads as suit the storage; results are in the order of the paths."""
    workers = min(len(paths), _LOCAL_LISTERS if storage.is_local else _REMOTE_LISTERS)
    if workers <= 1:
        return [function(path) for path in paths]
    with ThreadPoolExecutor(workers, thread_name_prefix="hudi-list") as pool:
        return list(pool.map(function, paths))


def _entries(storage: Storage, folders: Sequence[str], *, is_walk: bool = False) -> _Entries:
    """What is in folders.

    Args:
        storage: rooted at the table's base path.
        folders: paths relative to it; a missing one is empty.
        is_walk: a walk has come to them: a link out of the table is an empty folder, unless there are partitions.

    Raises:
        UnsafePathError: a data file, or a folder with partitions, is a symbolic link that leads out of the table.
    """
    if storage.is_local:
        refuses = partial(storage.may_hold, names=PARTITION_METAFILES) if is_walk else None
        listed = storage.list_local_folders(folders, refuses)
        refuse_linked_files(storage)
        return _Entries(folders, listed.column("folder").to_numpy(), listed.select(_ENTRY))
    listings = list_concurrently(storage, lambda path: storage.list(path, missing_ok=True, walk=True), folders)
    entries = pa.concat_tables(listings or [LISTING_SCHEMA.empty_table()])
    places = np.repeat(np.arange(len(listings)), [listing.num_rows for listing in listings])
    names = pc.replace_substring_regex(entries.column("path"), r"(?s)^.*/", "")
    return _Entries(folders, places, entries.append_column("name", names).select(_ENTRY))
