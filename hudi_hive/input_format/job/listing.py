"""Listing what a job's paths name: partitions of a table below its input paths, and plain folders."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError
from hudi_hive.input_format.job.input_paths import InputPath, TableInputs
from hudi_hive.input_format.job.job_conf import INPUT_RECURSIVE
from hudi_hive.metadata.reader import MetadataLister, ValidatingLister
from hudi_hive.storage import Stores, is_hidden
from hudi_hive.table.keys import METAFOLDER, PARTITION_METAFILES
from hudi_hive.table.view import LISTED_SCHEMA, list_concurrently, list_folders, walk

PLAIN_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("mtime_ms", pa.int64())])
"""Plain files: path as the caller writes paths, bytes, milliseconds since the epoch."""


def list_partitions(table: TableInputs) -> pa.Table:
    """Files of the partitions at or below a table's input paths that the job's filter leaves.

    They are learnt from the metadata table, as in planning; it knows no modification times. Where it is off, not usable
    or does not know files that are asked for (those of inflight commits), the folders below the input paths are listed,
    each once, and no others.

    Args:
        table: the table and its input paths.

    Returns:
        A table of :data:`~hudi_hive.table.view.listing.LISTED_SCHEMA`.
    """
    client, coverage = table.client, table.coverage
    partitions = _listed_partitions(table)
    if partitions is not None:
        files = client.lister.files(table.partitions_read(partitions))
        return files.append_column(LISTED_SCHEMA.field("mtime_ms"), pa.nulls(files.num_rows, pa.int64()))
    roots = coverage.roots
    if not client.config.is_partitioned:
        client.partition_paths()  # refuses a table whose properties have lost the partition columns
        return list_folders(client.storage, [""] if "" in roots else [])
    files = walk(client.storage, roots)[1]
    partitions_left = table.partitions_read(files.column("partition").unique().to_pylist())
    return files.filter(pc.is_in(files.column("partition"), value_set=pa.array(partitions_left, pa.string())))


def listed_by(table: TableInputs) -> str:
    """The source of the files of :func:`list_partitions`, and the reason when it is not the metadata table."""
    if table.options.pending_commits:
        return "directory listing (consume.pending.commits=true)"
    return table.client.lister.source


def _listed_partitions(table: TableInputs) -> list[str] | None:
    """All partitions, where the table's lister answers; None for a walk through the folders below the input paths."""
    client = table.client
    if table.options.pending_commits:
        return None
    lister = client.lister
    listed = lister.listed_partitions() if isinstance(lister, MetadataLister) else None
    if listed is None and not isinstance(lister, ValidatingLister):
        return None
    return listed if listed is not None and client.config.is_partitioned else client.partition_paths()


def list_plain(paths: Sequence[InputPath], stores: Stores, recursive: bool) -> pa.Table:
    """Files that plain input paths name: single files, and the files of folders without hidden ones.

    Args:
        paths: the paths.
        stores: the job's file systems.
        recursive: go down into sub-folders, into each real one once.

    Returns:
        A table of :data:`PLAIN_SCHEMA`: the files of folders, by input path and name, then the single files; each once.

    Raises:
        InvalidOptionError: a folder has sub-folders and ``recursive`` is false (Hadoop fails on them, too), or one of
            them is a Hudi table or a partition of one, whose old file versions a plain listing would read.
    """
    listed: set[tuple[str, str]] = set()
    walked: set[tuple[str, str]] = set()
    tables: list[pa.Table] = []
    single = [path for path in paths if path.is_file]
    for path in paths:
        if path.is_file:
            continue
        level = [path.path.key]
        while level:
            level = [key for key in level if (path.path.store, key) not in listed]
            level = _not_yet(path, level, walked) if recursive else level
            listed.update((path.path.store, key) for key in level)
            storage = stores.of(path.path)
            following: list[str] = []
            for folder, listing in zip(level, list_concurrently(storage, storage.list, level), strict=True):
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


def _not_yet(path: InputPath, folders: Sequence[str], walked: set[tuple[str, str]]) -> list[str]:
    """The folders that no walk was in yet, by whatever name: symbolic links may lead back to where it came from."""
    new = []
    for folder in folders:
        place = path.path.store, os.path.realpath(f"/{folder}") if path.path.is_local else folder
        if place not in walked:
            walked.add(place)
            new.append(folder)
    return new


def _visible(path: InputPath, folder: str, listing: pa.Table) -> tuple[pa.Table, list[str]]:
    """Files and sub-folders of one listing that are data, sorted; a Hudi table is refused."""
    listing = listing.sort_by("path")
    names = pc.replace_substring_regex(listing.column("path"), r"(?s)^.*/", "")
    is_dir = listing.column("is_dir")
    if pc.any(pc.and_(is_dir, pc.equal(names, METAFOLDER))).as_py():
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
