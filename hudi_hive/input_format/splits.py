"""Cutting files into splits by Hadoop's size rule, all files at once.

Source: docs/format/hive.md#hive-input-formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError
from hudi_hive.input_format.job import JobConf
from hudi_hive.options import jobs
from hudi_hive.storage import FileBlocks, HadoopPath, Stores, hosts_of_range

_SLOP = 1.1
"""A file is cut only while more than so many split sizes are left, so that no tiny last split comes out."""

_TELLING = "hdfs:"
"""How paths begin whose store tells where the parts of files are."""

# Hadoop's own block sizes: 32 MB for the local file system and s3a, 128 MB for HDFS and the rest, 64 MB for gs.
_BLOCK_SIZES = {
    "": jobs.LOCAL_BLOCK_SIZE,
    "file": jobs.LOCAL_BLOCK_SIZE,
    "s3": jobs.S3_BLOCK_SIZE,
    "s3a": jobs.S3_BLOCK_SIZE,
    "s3n": jobs.S3_BLOCK_SIZE,
    "gs": jobs.GS_BLOCK_SIZE,
    "abfs": jobs.AZURE_BLOCK_SIZE,
    "abfss": jobs.AZURE_BLOCK_SIZE,
}


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A byte range of one file, as a task gets it.

    Attributes:
        path: the file, as the caller writes paths.
        start, length: bytes.
        file_length: bytes of the whole file.
        group: ``incremental``, ``snapshot`` or ``plain``.
        base_path: the file's table; None for a plain file.
        partition: the file's partition path; None for a plain file.
        instant: requested time of the commit that wrote the file; None for a plain file.
        hosts: the nodes that have most of the range, where the store tells (HDFS); none elsewhere.
    """

    path: str
    start: int
    length: int
    file_length: int
    group: str
    base_path: str | None
    partition: str | None
    instant: str | None
    hosts: tuple[str, ...] = ()


def block_size(conf: JobConf, path: str) -> int:
    """Bytes of a block of the file system that a path is in."""
    scheme = path.partition(":")[0].lower() if ":" in path and not path.startswith("/") else ""
    return conf.value(_BLOCK_SIZES.get(scheme, jobs.DFS_BLOCK_SIZE))


def cut_files(statuses: pa.Table, conf: JobConf, number: int) -> pa.Table:
    """Splits of files: columns ``file`` (row of ``statuses``), ``start``, ``length``, in the order of the files.

    The goal is the sum of all lengths over ``number``; a split has max(minimum, min(goal, block size)) bytes and the
    last of a file up to 1.1 times as many. An empty file gives one empty split.

    Args:
        statuses: columns ``path``, ``length``, ``splittable``.
        conf: minimum split size and block sizes.
        number: the number of splits that the engine would like.

    Raises:
        InvalidOptionError: ``number`` is negative or a size is none.
    """
    if number < 0:
        raise InvalidOptionError(f"the number of splits must not be negative, not {number}")
    lengths: npt.NDArray[np.int64] = statuses.column("length").to_numpy().astype(np.int64)
    splittable = statuses.column("splittable").to_numpy(zero_copy_only=False).astype(bool)
    goal = int(lengths.sum()) // max(number, 1)
    minimum = max(conf.value(jobs.SPLIT_MIN_SIZE), 1)
    block_sizes = _block_sizes(statuses, conf)
    sizes = np.maximum(minimum, np.minimum(goal, block_sizes))
    sizes = np.where(splittable, np.maximum(sizes, 1), np.maximum(lengths, 1))
    # Pieces of full size: the least k with length - k * size <= 1.1 * size; the rest is one more piece if not empty.
    full = np.maximum(np.ceil((lengths - _SLOP * sizes) / sizes), 0).astype(np.int64)
    # Floating point is settled by the rule itself, once up and once down.
    full += (lengths - full * sizes) / sizes > _SLOP
    full -= (full > 0) & ~((lengths - (full - 1) * sizes) / sizes > _SLOP)
    rest = lengths - full * sizes
    pieces = full + np.where((rest > 0) | (lengths == 0), 1, 0)
    file = np.repeat(np.arange(len(lengths)), pieces)
    within = np.arange(len(file)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    start = within * sizes[file]
    length = np.where(within < full[file], sizes[file], rest[file])
    return pa.table({"file": pa.array(file, pa.int64()), "start": start, "length": length})


def _block_sizes(statuses: pa.Table, conf: JobConf) -> npt.NDArray[np.int64]:
    schemes = pc.replace_substring_regex(statuses.column("path"), r"(?s)/.*$", "")
    known = pc.unique(schemes)
    sizes = pa.array([block_size(conf, f"{scheme}/") for scheme in known.to_pylist()], pa.int64())
    found: npt.NDArray[np.int64] = sizes.take(pc.index_in(schemes, value_set=known).combine_chunks()).to_numpy()
    return found


def locations_of_files(paths: pa.ChunkedArray, stores: Stores) -> list[FileBlocks]:
    """Where the parts of files are; none of files whose store does not tell.

    Args:
        paths: of the files, as the caller writes them.
        stores: the job's file systems.
    """
    blocks: list[FileBlocks] = [()] * len(paths)
    told = pc.starts_with(paths, _TELLING)
    if not pc.any(told).as_py():
        return blocks
    by_store: dict[str, list[tuple[int, HadoopPath]]] = {}
    for place in np.flatnonzero(told.to_numpy()).tolist():
        path = HadoopPath.parse(paths[place].as_py())
        by_store.setdefault(path.store, []).append((place, path))
    for files in by_store.values():
        located = stores.of(files[0][1]).block_locations(pa.array([path.key for _, path in files]))
        if located is not None:
            for (number, _), parts in zip(files, located, strict=True):
                blocks[number] = parts
    return blocks


def file_splits(statuses: pa.Table, pieces: pa.Table, blocks: Sequence[FileBlocks]) -> list[FileSplit]:
    """The splits as objects, for engines that want them one by one; ``blocks`` has the blocks of each file."""
    columns = ["path", "length", "group", "base_path", "partition", "instant"]
    rows = statuses.select(columns).take(pieces.column("file"))
    values = [rows.column(name).to_pylist() for name in columns]
    starts, lengths = pieces.column("start").to_pylist(), pieces.column("length").to_pylist()
    hosts = [
        hosts_of_range(blocks[file], start, length)
        for file, start, length in zip(pieces.column("file").to_pylist(), starts, lengths, strict=True)
    ]
    return [
        FileSplit(path, start, length, file_length, group, base, partition, instant, nodes)
        for path, file_length, group, base, partition, instant, start, length, nodes in zip(
            *values, starts, lengths, hosts, strict=True
        )
    ]
