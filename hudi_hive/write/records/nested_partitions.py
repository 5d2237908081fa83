"""Refuses partitions below other partitions, which listings would not find.

Hudi's listing and ours look no deeper than a folder with a partition metafile. Values with slashes that are not escaped
(``a`` and ``a/b``) would make a partition whose rows the metadata table knows and no listing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import KeyGenerationError
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import PARTITION_METAFILES, holds_partitions
from hudi_hive.table.view import list_concurrently, list_folders, walk

_REMEDY: Final = (
    "give values of which none begins with another one and a slash, "
    "or set hoodie.datasource.write.partitionpath.urlencode when the table is made"
)


def refuse_nested_partitions(client: MetaClient, paths: Sequence[str], *, lists_all: bool) -> None:
    """Refuse rows of partitions that lie below or above other partitions.

    Args:
        client: the table as of the write.
        paths: partition paths of the rows.
        lists_all: the write learns all partitions of the table in any case; else the folders of ``paths`` alone are
            listed.

    Raises:
        KeyGenerationError: there is such a partition.
    """
    config = client.config
    if not config.is_partitioned or config.url_encode_partitioning or not paths:
        return
    written = set(paths)
    above = _ancestors(written, len(config.partition_fields))
    _refuse(((outer, path) for outer, path in above.items() if outer in written))
    _refuse((outer, above[outer]) for outer in _partitions_among(client, sorted(above)))
    if lists_all:
        below = _ancestors(client.partition_paths(), len(config.partition_fields))
        _refuse((outer, path) for outer, path in below.items() if outer in written)
    else:
        _refuse(_partitions_below(client, sorted(written)))


def _ancestors(paths: Iterable[str], least: int) -> dict[str, str]:
    """Folders above partitions that could be partitions themselves, each with a path below it.

    Args:
        paths: partition paths.
        least: folders that a partition path has at least: one a field.
    """
    folders_above: dict[str, str] = {}
    for path in paths:
        if path.count("/") < least:
            continue
        parts = path.split("/")
        for depth in range(least, len(parts)):
            folders_above.setdefault("/".join(parts[:depth]), path)
    return folders_above


def _partitions_among(client: MetaClient, folders: list[str]) -> list[str]:
    """Those of some folders that are partitions, whatever the metadata table says: listings go by their files."""
    if not folders:
        return []
    listed = list_folders(client.storage, folders)
    marked = pc.is_in(listed.column("name"), value_set=pa.array(PARTITION_METAFILES))
    partitions: list[str] = listed.filter(marked).column("partition").unique().to_pylist()
    return partitions


def _partitions_below(client: MetaClient, paths: list[str]) -> list[tuple[str, str]]:
    """New partitions and for each a partition below its folder."""
    storage = client.storage
    pairs = []
    for path, entries in zip(
        paths, list_concurrently(storage, lambda path: storage.list(path, missing_ok=True), paths), strict=True
    ):
        names = pc.replace_substring_regex(entries.column("path"), r"(?s)^.*/", "")
        inner = entries.filter(pc.and_(entries.column("is_dir"), holds_partitions(names)))
        if inner.num_rows:
            partitions = walk(storage, inner.column("path").to_pylist())[0]
            pairs += [(path, below) for below in partitions[:1]]
    return pairs


def _refuse(pairs: Iterable[tuple[str, str]]) -> None:
    for outer, inner in pairs:
        raise KeyGenerationError(
            f"partition {inner!r} lies below partition {outer!r}, where listings do not look", remedy=_REMEDY
        )
