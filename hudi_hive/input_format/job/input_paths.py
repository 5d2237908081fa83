"""Classifies the input paths of a job by table: incremental, snapshot, or plain files.

RFC-04: a job may name folders of several tables and folders that are no table at all. Each table's meta client is made
once, here, and travels with its paths; later steps read no properties again.

Source: docs/format/hive.md#hive-input-formats, docs/format/rules.md#input-paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError
from hudi_hive.input_format.filters import JobFilter
from hudi_hive.input_format.job.consume import (
    ConsumeOptions,
    incremental_names,
    qualified_name,
    time_travel_names,
)
from hudi_hive.input_format.job.job_conf import check_job, job_value
from hudi_hive.metadata import MetadataListing
from hudi_hive.metrics import IoCounters
from hudi_hive.options import jobs, read, write
from hudi_hive.storage import ExpandedPath, HadoopPath, PathKind, Stores, expand
from hudi_hive.table import MetaClient

_HOODIE = ".hoodie"


@dataclass(frozen=True, slots=True)
class InputPath:
    """An existing input path of a job, after globs are expanded.

    Attributes:
        path: the path as the caller writes paths.
        relative: what of it is below its table's base path (``""`` is the base path); of a plain path all of it.
        is_file: whether it is a single file.
        size, mtime_ms: of a single file: bytes, milliseconds since the epoch.
    """

    path: HadoopPath
    relative: str
    is_file: bool
    size: int = 0
    mtime_ms: int | None = None

    @property
    def folder(self) -> str:
        """The relative folder: the path's own, or the one that holds the file."""
        return self.relative.rpartition("/")[0] if self.is_file else self.relative

    @property
    def name(self) -> str | None:
        """The file's name; None for a folder."""
        return self.relative.rpartition("/")[2] if self.is_file else None

    def __str__(self) -> str:
        return str(self.path)


class Coverage:
    """The part of a table that its input paths cover, by whole path segments: ``p=1`` is not ``p=11``."""

    def __init__(self, paths: Iterable[InputPath]) -> None:
        paths = list(paths)
        self._folders = {path.relative for path in paths if not path.is_file}
        self._files = {path.relative for path in paths if path.is_file and not self.wholly(path.folder)}
        self._partly = {path.folder for path in paths if path.relative in self._files}

    def wholly(self, partition: str) -> bool:
        """Whether a partition is an input path or lies below one."""
        return partition in self._folders or any(above in self._folders for above in _ancestors(partition))

    def covers(self, partition: str) -> bool:
        """Whether files of a partition are covered: all of them, or some by name."""
        return partition in self._partly or self.wholly(partition)

    @property
    def roots(self) -> list[str]:
        """The folders to look into, none below another, sorted."""
        folders = self._folders | self._partly
        return sorted(folder for folder in folders if not any(above in folders for above in _ancestors(folder)))

    def mask(self, partitions: pa.ChunkedArray, names: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
        """Whether each file (partition and name) is covered."""
        wholly = [partition for partition in pc.unique(partitions).to_pylist() if self.wholly(partition)]
        mask = pc.is_in(partitions, value_set=pa.array(wholly, pa.string()))
        if self._files:
            paths = pc.utf8_ltrim(pc.binary_join_element_wise(partitions, names, "/"), "/")
            mask = pc.or_(mask, pc.is_in(paths, value_set=pa.array(sorted(self._files), pa.string())))
        return mask


@dataclass(frozen=True, slots=True)
class TableInputs:
    """The input paths of one table.

    Attributes:
        base: the base path as the caller writes paths.
        client: the table's meta client.
        options: what the job's keys ask of the table.
        paths: its input paths, in the job's order.
        job_filter: the rows that the job wants of the table.
    """

    base: HadoopPath
    client: MetaClient = field(compare=False)
    options: ConsumeOptions
    paths: tuple[InputPath, ...]
    job_filter: JobFilter = field(default=JobFilter(), compare=False, repr=False)

    @property
    def coverage(self) -> Coverage:
        """The part of the table that the paths cover."""
        return Coverage(self.paths)

    def partitions_read(self, partitions: Iterable[str]) -> list[str]:
        """Those of the partitions that the paths cover and the job's filter leaves, in their order."""
        coverage = self.coverage
        return self.job_filter.partitions_left(self.client, [path for path in partitions if coverage.covers(path)])

    def reads(self, partition: str) -> bool:
        """Whether :meth:`partitions_read` leaves a partition."""
        return bool(self.partitions_read([partition]))

    @property
    def name(self) -> str:
        """The table's name; two tables of a job may share one."""
        return self.client.config.name


@dataclass(frozen=True, slots=True)
class PathGroups:
    """The three groups of a job's paths.

    Attributes:
        incremental: base path -> inputs, in the order in which the job's keys name the tables.
        snapshot: base path -> inputs, in the order of the input paths.
        plain: the paths that belong to no Hudi table.
    """

    incremental: Mapping[str, TableInputs]
    snapshot: Mapping[str, TableInputs]
    plain: tuple[InputPath, ...]

    @property
    def non_hudi(self) -> tuple[str, ...]:
        """The paths that belong to no Hudi table, as text."""
        return tuple(str(path) for path in self.plain)

    @property
    def tables(self) -> Iterator[TableInputs]:
        """All tables, incremental ones first."""
        yield from self.incremental.values()
        yield from self.snapshot.values()


def classify(
    paths: Iterable[str],
    conf: Mapping[str, str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    counters: IoCounters | None = None,
    stores: Stores | None = None,
) -> PathGroups:
    """Classify the input paths of a job into the three groups of RFC-04.

    A path belongs to the nearest folder above it (or itself) that holds ``.hoodie``: the longest base path wins, by
    whole path segments, so that tables may lie in each other's folders. Nothing is listed but what globs need; each
    folder on the way up is asked for once.

    Args:
        paths: folders, single files and globs; local or URIs.
        conf: the job's keys; ``hoodie.<table>.consume.*`` and ``hoodie.metadata.*`` are looked
            at.
        storage_options: as for :class:`~hudi_hive.storage.Storage`.
        counters: where all I/O is counted, that of the tables too.
        stores: open file systems to use in place of new ones.

    Raises:
        PathNotFoundError: a path does not exist, or a glob matches nothing.
        InvalidOptionError: a key of Hudi that is unknown, not supported in jobs, has a bad value, or names no table
            among the paths.
        TableError: a ``.hoodie`` folder without usable properties.
    """
    stores = stores if stores is not None else Stores(storage_options, counters)
    check_job(conf)
    names = incremental_names(conf)
    listing = listing_of_job(conf)
    expanded = expand(paths, stores)
    bases = _find_bases(expanded, stores)
    by_table: dict[tuple[str, str], list[InputPath]] = {}
    spelled: dict[tuple[str, str], HadoopPath] = {}
    plain: list[InputPath] = []
    for item, base in zip(expanded, bases, strict=True):
        if base is None:
            if not item.hidden:
                plain.append(InputPath(item.path, item.path.key, not item.is_dir, item.size, item.mtime_ms))
            continue
        relative = item.path.key[len(base) :].strip("/")
        if relative.split("/")[0] == _HOODIE:
            raise InvalidOptionError(
                "input path lies in the metadata folder of a table", path=str(item.path), remedy="give the table's path"
            )
        key = (item.path.store, base)
        spelled.setdefault(key, item.path.at(base))
        by_table.setdefault(key, []).append(InputPath(item.path, relative, not item.is_dir, item.size, item.mtime_ms))
    tables: list[TableInputs] = []
    for key, inputs in by_table.items():
        base_path = spelled[key]
        storage = stores.of(base_path).child(base_path.key)
        client = MetaClient.load(str(base_path), storage=storage, listing=listing)
        options = ConsumeOptions.parse(conf, client.config)
        # With several tables nobody tells whose columns a filter names; Hive gives each a job of its own.
        job_filter = JobFilter.of(conf) if len(by_table) == 1 else JobFilter()
        tables.append(TableInputs(base_path, client, options, tuple(inputs), job_filter))
    _check_names(conf, names, tables)
    return PathGroups(
        incremental={
            str(table.base): table
            for name in names
            for table in tables
            if table.options.incremental and qualified_name(conf, table.client.config) == name
        },
        snapshot={str(table.base): table for table in tables if not table.options.incremental},
        plain=tuple(plain),
    )


def _find_bases(paths: list[ExpandedPath], stores: Stores) -> list[str | None]:
    """The key of each path's table: the nearest folder with ``.hoodie`` in it, or None.

    Goes up level by level with all paths at once, so that a remote store sees one batch per level and no folder twice.
    """
    holds: dict[tuple[str, str], bool] = {}
    current = [item.path.key if item.is_dir else _parent(item.path.key) for item in paths]
    bases: list[str | None] = [None] * len(paths)
    open_indexes = list(range(len(paths)))
    while open_indexes:
        missing: dict[str, dict[str, HadoopPath]] = {}
        for index in open_indexes:
            path, key = paths[index].path, current[index]
            if key is not None and (path.store, key) not in holds:
                missing.setdefault(path.store, {})[key] = path
        for store, folders in missing.items():
            storage = stores.of(next(iter(folders.values())))
            statuses = storage.statuses([f"{key}/{_HOODIE}".lstrip("/") for key in folders])
            for key, status in zip(folders, statuses, strict=True):
                holds[store, key] = status.kind is PathKind.FOLDER
        following: list[int] = []
        for index in open_indexes:
            key = current[index]
            if key is None:
                continue
            if holds[paths[index].path.store, key]:
                bases[index] = key
                continue
            current[index] = _parent(key)
            following.append(index)
        open_indexes = following
    return bases


def _ancestors(relative: str) -> Iterator[str]:
    """The folders above a relative path, up to the root ``""``."""
    while relative:
        relative = relative.rpartition("/")[0]
        yield relative


def _parent(key: str) -> str | None:
    """The folder above; None above the root."""
    return key.rpartition("/")[0] if key else None


def _check_names(conf: Mapping[str, str], names: list[str], tables: list[TableInputs]) -> None:
    """Refuse keys that name no table: Hudi ignores them and answers with today's snapshot."""
    table_names = {qualified_name(conf, table.client.config) for table in tables}
    for name in names:
        if name not in table_names:
            raise InvalidOptionError(
                f"{jobs.CONSUME_MODE.of_table(name)} names no table among the input paths",
                remedy="tables here: " + (", ".join(sorted(table_names)) or "none") + "; names are case-sensitive",
            )
    bare = {table.name for table in tables}
    for key, name in time_travel_names(conf):
        if name not in bare:
            raise InvalidOptionError(
                f"{key} names no table among the input paths",
                remedy="tables here: " + (", ".join(sorted(bare)) or "none") + "; names are case-sensitive",
            )


def listing_of_job(conf: Mapping[str, str]) -> MetadataListing:
    """The lister of the tables of a Hive job, by its metadata keys.

    Args:
        conf: the job's keys.

    Raises:
        InvalidOptionError: a key is neither true nor false.
    """
    enable = job_value(conf, write.METADATA_ENABLE)
    return MetadataListing(enable, enable and bool(job_value(conf, read.METADATA_VALIDATE)))
