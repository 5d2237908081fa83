"""Builds of indexes that stop in their middle, and what an index must hold when the build has ended."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive import HudiTable
from hudi_hive.metadata.writer import IndexBuild
from hudi_hive.table import MetaClient
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.services import TableServices
from tests.support.column_indexes import refuse_differences

_DEATH = 9
HANGING = 600
"""Seconds after which something hangs; nothing depends on them otherwise."""


@contextmanager
def in_the_middle(act: Callable[[], object], *, behind: bool = False) -> Iterator[None]:
    """Do something once in the middle of a build, in a thread of its own, and wait for it.

    Args:
        act: what is done; it may take the table's lock, which the build so cannot hold.
        behind: when the base files are written, in place of before any file of the table is read.
    """
    make, left = IndexBuild.make, [act]

    def paused(self: IndexBuild) -> None:
        if behind:
            make(self)
        if left:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(left.pop()).result(HANGING)
        if not behind:
            make(self)

    with patch.object(IndexBuild, "make", paused):
        yield


def services(path: Path, options: Mapping[str, str]) -> TableServices:
    return TableServices.open(MetaClient.load(path), dict(options), executor=LocalExecutor(1))


def die_in_the_middle(build: Callable[[], object], *, behind: bool = False) -> None:
    """Begin a build in another process, which ends in its middle; ``behind`` as of :func:`in_the_middle`."""
    with in_the_middle(die, behind=behind):
        in_a_process_that_dies(build)


def in_a_process_that_dies(act: Callable[[], object]) -> None:
    """Do something in another process, which is to end by :func:`die` on the way."""
    child = os.fork()
    if not child:
        try:
            act()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == _DEATH


def die(*arguments: object, **options: object) -> None:
    """End this process at once, whatever it was called for."""
    os._exit(_DEATH)


def check_indexes(path: Path, names: set[str], folder: Path) -> None:
    """Indexes are complete, nothing of their builds is left, and they hold what those made from scratch hold."""
    client = MetaClient.load(path)
    assert names <= set(client.config.metadata_partitions)
    assert not client.config.properties.get("hoodie.table.metadata.partitions.inflight")
    assert not client.timeline.pending()
    assert not list((path / ".hoodie" / ".heartbeat").glob("*"))
    table = HudiTable.open(path)
    assert table.metadata.validate().is_valid
    refuse_differences(path)
    copy = folder / "scratch"
    shutil.copytree(path, copy)
    by_name = sorted(names.intersection(("column_stats", "partition_stats", "bloom_filters", "record_index")))
    if by_name:
        made = services(copy, {"hoodie.metadata.record.index.enable": "false"})
        made.metadata.delete(by_name)
        made.metadata.init(by_name)
        for name in by_name:
            if name in MetaClient.load(copy).config.metadata_partitions:
                assert _records(path, name) == _records(copy, name), name
    shutil.rmtree(copy)
    if "record_index" in names:
        assert _records(path, "record_index") == _places(table)


def _records(path: Path, name: str) -> object:
    """What an index says of the newest files, without what depends on when it was made."""
    table = HudiTable.open(path)
    reader, slices = table.metadata.reader, table.scan().plan().slices.to_pylist()
    files = {one["base_file"] for one in slices if one["base_file"]}
    if name == "record_index":
        rows = reader.record_locations().select(["key", "partition", "file_id"]).to_pylist()
        return sorted(tuple(row.values()) for row in rows)
    if name == "bloom_filters":
        return [
            reader.bloom_filters(one["partition"], [one["base_file"]]).to_pylist() for one in slices if one["base_file"]
        ]
    stats = reader.raw_stats(name)
    stats = stats.filter(pc.invert(stats.column("is_deleted")))
    columns = ("key", "column", "min", "max", "null_count", "value_count")
    rows = {row["key"]: {column: row[column] for column in columns} for row in stats.to_pylist()}
    if name == "column_stats":
        of_files = dict(zip(stats.column("key").to_pylist(), stats.column("file_name").to_pylist(), strict=True))
        return {key: row for key, row in rows.items() if of_files[key] in files}
    return {key: (row["min"] is None, row["max"] is None) for key, row in rows.items()}


def _places(table: HudiTable) -> list[tuple[Any, ...]]:
    found: pa.Table = table.scan(options={"hoodie.enable.data.skipping": "false"}).to_arrow()
    names = found.column("_hoodie_file_name").to_pylist()
    keys, paths = (found.column(f"_hoodie_{name}").to_pylist() for name in ("record_key", "partition_path"))
    by_file = {row["log"]: row["file_id"] for row in _files(table)}
    return sorted((k, p, by_file.get(n, n.partition("_")[0])) for k, p, n in zip(keys, paths, names, strict=True))


def _files(table: HudiTable) -> list[dict[str, str]]:
    slices = table.scan().plan().slices.to_pylist()
    return [{"log": log, "file_id": one["file_id"]} for one in slices for log in one["log_files"]]
