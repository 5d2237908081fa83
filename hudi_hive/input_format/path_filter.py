"""``HoodieROTablePathFilter``: which files an engine may read that lists folders itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.metadata import MetadataListing
from hudi_hive.metrics import IoCounters
from hudi_hive.plan import Query, plan_scan
from hudi_hive.storage import HadoopPath, PathKind, Stores
from hudi_hive.table import MetaClient
from hudi_hive.table.core import external_commit
from hudi_hive.table.keys import METAFOLDER, PARTITION_METAFILES
from hudi_hive.table.view import FileKind, parse_file_names

_NEWEST: Final = "read_optimized"
_DATA_FILES: Final = (".parquet", ".orc")


class HoodieROTablePathFilter:
    """Accepts the newest base files of Hudi tables, or those of a moment, and all that lies in no table.

    For engines that list folders: ``spark.read.parquet(*filter.files(path))``. An object sees one moment of each table
    and folder; a new one sees newer commits. Log files are in no answer: of a merge-on-read table this is the
    read-optimised view.

    Args:
        as_of: show tables as of this time, as ``as.of.instant`` does (``yyyyMMddHHmmssSSS`` or a date).
        storage_options: keys, region, endpoint … of file systems that are not local.
        counters: where all I/O is counted.
    """

    def __init__(
        self,
        as_of: str | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
        counters: IoCounters | None = None,
    ) -> None:
        self._as_of = as_of
        self._stores = Stores(storage_options, counters)
        self._bases: dict[tuple[str, str], str | None] = {}
        self._clients: dict[tuple[str, str], MetaClient] = {}
        self._shown: dict[tuple[str, str], frozenset[str]] = {}

    def accept(self, path: str) -> bool:
        """Whether a file is to be read; errors as in :meth:`accepted`."""
        return bool(self.accepted([path]))

    def accepted(self, paths: Iterable[str]) -> list[str]:
        """The paths that are to be read, in their order; the table of each folder is looked into once.

        Args:
            paths: files, local or URIs; a folder is accepted unless it is one of a table's metadata.

        Raises:
            TableError: a ``.hoodie`` folder without usable properties.
            TimeTravelError: a table cannot be shown as of that time.
        """
        parsed = [(text, HadoopPath.parse(text)) for text in paths]
        of_folders: dict[tuple[str, str], list[HadoopPath]] = {}
        for _, path in parsed:
            if not _is_metadata(path):
                of_folders.setdefault((path.store, path.key.rpartition("/")[0]), []).append(path)
        kept: set[tuple[str, str]] = set()
        for paths_of in of_folders.values():
            kept.update((path.store, path.key) for path in self._of_folder(paths_of))
        return [text for text, path in parsed if (path.store, path.key) in kept]

    def files(self, path: str) -> list[str]:
        """All files below a path that are to be read, sorted; hidden ones are none of them.

        Raises:
            PathNotFoundError: there is no such path; and what :meth:`accepted` raises.
        """
        root = HadoopPath.parse(path)
        storage = self._stores.of(root)
        if storage.status(root.key).kind is PathKind.FILE:
            return self.accepted([path])
        listed = storage.list(root.key, recursive=True)
        keys = listed.filter(pc.invert(listed.column("is_dir"))).column("path").to_pylist()
        visible = [key for key in sorted(keys) if not _is_hidden(key[len(root.key) :])]
        return self.accepted(str(root.at(key)) for key in visible)

    # -- one folder --------------------------------------------------------------------------------------------------

    def _of_folder(self, paths: list[HadoopPath]) -> list[HadoopPath]:
        folder = paths[0].key.rpartition("/")[0]
        base = self._base_of(paths[0], folder)
        if base is None:
            return paths
        names = [path.key.rpartition("/")[2] for path in paths]
        shown = self._shown_names(paths[0], base, folder)
        kinds = parse_file_names(pa.array(names, pa.string())).column("kind").to_pylist()
        others = [name not in shown and kind == FileKind.OTHER for name, kind in zip(names, kinds, strict=True)]
        if any(others) and external_commit(self._client(paths[0], base)) is not None:
            # Their names do not tell files that were replaced, and no metafile tells partitions.
            others = [other and not name.endswith(_DATA_FILES) for name, other in zip(names, others, strict=True)]
        # In a partition nothing else is data; elsewhere it may be a folder on the way to one.
        is_partition = any(others) and self._is_partition(paths[0], folder)
        return [
            path
            for path, name, other in zip(paths, names, others, strict=True)
            if name in shown or (other and not is_partition)
        ]

    def _base_of(self, path: HadoopPath, folder: str) -> str | None:
        """The nearest folder, from ``folder`` up, that is a table."""
        storage = self._stores.of(path)
        passed: list[str] = []
        current: str | None = folder
        base: str | None = None
        while current is not None:
            if (path.store, current) in self._bases:
                base = self._bases[path.store, current]
                break
            passed.append(current)
            if storage.status(f"{current}/{METAFOLDER}".lstrip("/")).kind is PathKind.FOLDER:
                base = current
                break
            current = current.rpartition("/")[0] if current else None
        self._bases.update(((path.store, key), base) for key in passed)
        return base

    def _shown_names(self, path: HadoopPath, base: str, folder: str) -> frozenset[str]:
        place = path.store, folder
        if place not in self._shown:
            client = self._client(path, base)
            query = Query.of(_NEWEST, as_of=self._as_of, timezone=client.config.timezone)
            plan = plan_scan(client, query, partitions=[folder[len(base) :].strip("/")])
            self._shown[place] = frozenset(plan.files.column("name").to_pylist())
        return self._shown[place]

    def _client(self, path: HadoopPath, base: str) -> MetaClient:
        place = path.store, base
        if place not in self._clients:
            base_path = path.at(base)
            storage = self._stores.of(base_path).child(base_path.key)
            self._clients[place] = MetaClient.load(str(base_path), storage=storage, listing=MetadataListing())
        return self._clients[place]

    def _is_partition(self, path: HadoopPath, folder: str) -> bool:
        storage = self._stores.of(path)
        statuses = storage.statuses([f"{folder}/{name}".lstrip("/") for name in PARTITION_METAFILES])
        return any(status.kind is PathKind.FILE for status in statuses)


def _is_metadata(path: HadoopPath) -> bool:
    return f"/{METAFOLDER}/" in f"{path.path}/"


def _is_hidden(relative: str) -> bool:
    """Whether a file or a folder on the way to it is hidden, as Spark and Hadoop see it."""
    return any(part.startswith((".", "_")) and "=" not in part for part in relative.strip("/").split("/"))
