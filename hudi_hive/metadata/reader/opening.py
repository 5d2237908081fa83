"""Opens the metadata table of a table: its properties and timeline, at the same time where they are waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MetadataTableError, PathNotFoundError, TableNotFoundError
from hudi_hive.names import HOODIE_TABLE_METADATA_PARTITIONS_INFLIGHT
from hudi_hive.storage import Storage, run_together
from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.table.view import list_folders

METADATA_FOLDER: Final = ".hoodie/metadata"

FILES: Final = "files"

SIZES_SCHEMA: Final = pa.schema(
    [("partition", pa.string())]
    + [(name, pa.int64()) for name in ("file_groups", "base_files", "base_bytes", "log_files", "log_bytes")]
)
"""Columns of :meth:`MetadataTable.stats`."""


class OpenedTable(NamedTuple):
    """A metadata table with its timeline.

    Attributes:
        client: its client, whose timeline was read.
        files: a listing of the partition ``files`` that was made meanwhile; None where it would have cost time.
    """

    client: MetaClient
    files: pa.Table | None


def open_own(client: MetaClient) -> OpenedTable:
    """Open the metadata table of a client's table.

    A remote store is asked for all at the same time, the timeline where tables of the same version have it, and once
    more if the properties say another place.

    Raises:
        MetadataTableError: it is missing, or its base files are no HFiles.
    """
    storage = client.storage.child(METADATA_FOLDER)
    if storage.is_local:
        own = MetaClient(storage, _properties(storage))
        _ = own.timeline
        return OpenedTable(own, None)
    folder = ".hoodie" if client.config.layout == 1 else ".hoodie/timeline"

    def instants() -> pa.Table | None:
        try:
            return storage.list(folder)
        except PathNotFoundError:
            return None

    calls: list[Callable[[], Any]] = [partial(_properties, storage), instants, partial(list_folders, storage, [FILES])]
    config, listing, files = run_together(storage, calls)
    own = MetaClient(storage, config)
    if listing is not None and own.timeline_folder == folder:
        own.load_timeline(listing)
    _ = own.timeline
    return OpenedTable(own, files)


def _properties(storage: Storage) -> TableConfig:
    try:
        config = TableConfig.load(storage, metadata_table=True)
    except TableNotFoundError as error:
        raise MetadataTableError("the metadata table is missing", path=storage.uri()) from error
    if config.base_file_format != "hfile":
        raise MetadataTableError("the metadata table's base files are no HFiles", path=storage.uri())
    return config


def data_table_path(path: str | os.PathLike[str]) -> str | None:
    """The base path of the table whose metadata table is at a path; None if the path is none of a metadata table."""
    text = os.fspath(path).rstrip("/")
    if text == METADATA_FOLDER:
        return "."
    return text.removesuffix(f"/{METADATA_FOLDER}") if text.endswith(f"/{METADATA_FOLDER}") else None


def inflight_partitions(config: TableConfig) -> list[str]:
    """Partitions of the metadata table that are being built."""
    text = config.properties.get(HOODIE_TABLE_METADATA_PARTITIONS_INFLIGHT, "")
    return [item.strip() for item in text.split(",") if item.strip()]


def written_partitions(config: TableConfig) -> frozenset[str]:
    """Partitions of the metadata table that writes keep in step: those that are complete, or being built."""
    return frozenset((*config.metadata_partitions, *inflight_partitions(config)))


def slice_sizes(slices: pa.Table) -> dict[str, int]:
    """Numbers of files and bytes of file slices, by the columns of :data:`SIZES_SCHEMA`."""
    logs = pc.list_flatten(slices.column("log_sizes"))
    return {
        "file_groups": slices.num_rows,
        "base_files": slices.num_rows - slices.column("base_file").null_count,
        "base_bytes": pc.sum(slices.column("base_size")).as_py() or 0,
        "log_files": len(logs),
        "log_bytes": pc.sum(logs).as_py() or 0,
    }
