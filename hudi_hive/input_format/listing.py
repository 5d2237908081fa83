"""Listing what a job's paths name: partitions of a table below its input paths, and plain folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError
from hudi_hive.input_format.job_conf import INPUT_RECURSIVE
from hudi_hive.plan.classify import InputPath
from hudi_hive.plan.hadoop_paths import Stores, is_hidden
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient

PARTITION_METAFILES = tuple(".hoodie_partition_metadata" + suffix for suffix in ("", ".parquet", ".orc"))

LISTED_SCHEMA = pa.schema(
    [("partition", pa.string()), ("name", pa.string()), ("size", pa.int64()), ("mtime_ms", pa.int64())]
)
"""Files of partitions: the columns of a file-system view's listing, and when each was last changed."""

PLAIN_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("mtime_ms", pa.int64())])
"""Plain files: path as the caller writes paths, bytes, milliseconds since the epoch."""

# Listing is waiting: many at once for a store behind a network, few for a local disk.
_LOCAL_LISTERS, _REMOTE_LISTERS = 4, 16


def list_partitions(client: MetaClient, roots: Sequence[str]) -> pa.Table:
    """Files of all partitions at or below some folders of a table, each folder listed once.

    A folder is a partition when it holds a partition metafile (table format, section 1.2); others are gone down into,
    but for tables nested in this one's folders.

    Args:
        client: the table.
        roots: folders relative to the base path, none below another.

    Returns:
        A table of :data:`LISTED_SCHEMA`.
    """
    storage = client.storage
    if not client.config.is_partitioned:
        client.partition_paths()  # refuses a table whose properties have lost the partition columns
        listing = storage.list("", missing_ok=True) if "" in roots else None
        return LISTED_SCHEMA.empty_table() if listing is None else _files("", listing)
    tables: list[pa.Table] = []
    level = list(roots)
    while level:
        listings = _concurrently(storage, lambda path: storage.list(path, missing_ok=True), level)
        following: list[str] = []
        for path, listing in zip(level, listings, strict=True):
            files = _files(path, listing)
            folders: list[str] = listing.filter(listing.column("is_dir")).column("path").to_pylist()
            if path and f"{path}/.hoodie" in folders:
                continue  # first: the base path of a nested table without partitions is marked as a partition
            if path and pc.any(pc.is_in(files.column("name"), value_set=pa.array(PARTITION_METAFILES))).as_py():
                tables.append(files)
                continue
            following += [folder for folder in folders if not folder.rpartition("/")[2].startswith(".hoodie")]
        level = following
    return pa.concat_tables(tables) if tables else LISTED_SCHEMA.empty_table()


def _files(partition: str, listing: pa.Table) -> pa.Table:
    files = listing.filter(pc.invert(listing.column("is_dir")))
    names = files.column("path")
    if partition:
        names = pc.utf8_slice_codeunits(names, len(partition) + 1)
    partitions = pa.repeat(pa.scalar(partition, pa.string()), files.num_rows)
    return pa.table([partitions, names, files.column("size"), files.column("mtime_ms")], schema=LISTED_SCHEMA)


def _concurrently(storage: Storage, function: Callable[[str], pa.Table], paths: Sequence[str]) -> list[pa.Table]:
    workers = min(len(paths), _LOCAL_LISTERS if storage.is_local else _REMOTE_LISTERS)
    if workers <= 1:
        return [function(path) for path in paths]
    with ThreadPoolExecutor(workers, thread_name_prefix="hudi-list") as pool:
        return list(pool.map(function, paths))


def list_plain(paths: Sequence[InputPath], stores: Stores, recursive: bool) -> pa.Table:
    """Files that plain input paths name: single files, and the files of folders without hidden ones.

    Args:
        paths: the paths.
        stores: the job's file systems.
        recursive: go down into sub-folders.

    Returns:
        A table of :data:`PLAIN_SCHEMA`: the files of folders, by input path and name, then the single files; each once.

    Raises:
        InvalidOptionError: a folder has sub-folders and ``recursive`` is false (Hadoop fails on them, too), or one of
            them is a Hudi table or a partition of one, whose old file versions a plain listing would read.
    """
    listed: set[tuple[str, str]] = set()
    tables: list[pa.Table] = []
    single = [path for path in paths if path.is_file]
    for path in paths:
        if path.is_file:
            continue
        level = [path.path.key]
        while level:
            level = [key for key in level if (path.path.store, key) not in listed]
            listed.update((path.path.store, key) for key in level)
            storage = stores.of(path.path)
            following: list[str] = []
            for folder, listing in zip(level, _concurrently(storage, storage.list, level), strict=True):
                files, folders = _visible(path, folder, listing)
                tables.append(files)
                if folders and not recursive:
                    raise InvalidOptionError(
                        "a plain input folder has sub-folders",
                        path=str(path.path.at(folders[0])),
                        remedy=f"set {INPUT_RECURSIVE}=true to read them too",
                    )
                following += folders
            level = following
    alone = [path for path in single if (path.path.store, path.path.key.rpartition("/")[0]) not in listed]
    columns = [[str(path) for path in alone], [path.size for path in alone], [path.mtime_ms for path in alone]]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, PLAIN_SCHEMA.types, strict=True)]
    return pa.concat_tables([*tables, pa.table(arrays, schema=PLAIN_SCHEMA)])


def _visible(path: InputPath, folder: str, listing: pa.Table) -> tuple[pa.Table, list[str]]:
    """Files and sub-folders of one listing that are data, sorted; a Hudi table is refused."""
    listing = listing.sort_by("path")
    names = pc.replace_substring_regex(listing.column("path"), r"(?s)^.*/", "")
    is_dir = listing.column("is_dir")
    if pc.any(pc.and_(is_dir, pc.equal(names, ".hoodie"))).as_py():
        raise InvalidOptionError(
            "a Hudi table lies below a plain input folder",
            path=str(path.path.at(folder)),
            remedy="give the table's path as an input path of its own",
        )
    if pc.any(pc.is_in(names, value_set=pa.array(PARTITION_METAFILES))).as_py():
        raise InvalidOptionError(
            "a plain input folder is a partition of a Hudi table whose base path is not above it",
            path=str(path.path.at(folder)),
            remedy="give the partition below the table's base path, not a link to it or a copy of it",
        )
    suspicious = pc.match_substring_regex(names, "^[._]")  # the exact rule is asked for these alone
    hidden = [name for name in names.filter(suspicious).to_pylist() if is_hidden(name)]
    seen = pc.invert(pc.is_in(names, value_set=pa.array(hidden, pa.string())))
    files = listing.filter(pc.and_(seen, pc.invert(is_dir)))
    prefix = pa.scalar(str(path.path.at("")).rstrip("/"), pa.string())
    texts = pc.binary_join_element_wise(prefix, files.column("path"), "/")
    table = pa.table([texts, files.column("size"), files.column("mtime_ms")], schema=PLAIN_SCHEMA)
    folders: list[str] = listing.filter(pc.and_(seen, is_dir)).column("path").to_pylist()
    return table, folders
