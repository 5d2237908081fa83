"""Markers: empty files that announce the files of a write, so that a failed write can be rolled back.

Direct markers are written: ``.hoodie/.temp/<instant>/<partition>/<file name>.marker.<CREATE|MERGE|APPEND>``. A marker
is there before its file is; whatever a marker names and no status does was left by an attempt that did not finish.
Those that Hudi's timeline server writes, in files ``MARKERS0`` …, are read.

Source: docs/format.md#markers.
"""

from __future__ import annotations

import logging
import posixpath
import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PathNotFoundError
from hudi_hive.storage import Storage
from hudi_hive.table.view import FileKind, delete_data_files, is_partition_path, parse_file_names
from hudi_hive.timeline.core import STAGING, staging_folder

_log = logging.getLogger(__name__)

MARKERS: Final = ".hoodie/.temp"
"""Folder of all markers and staged records."""

_MARKER: Final = ".marker."
_SERVER_FILE: Final = re.compile(r"MARKERS[0-9]+")
_made_here: Final[dict[tuple[str, str], list[str]]] = {}
"""Markers on stores that this process has made, by table and instant."""
_guard: Final = threading.Lock()


class MarkerKind(StrEnum):
    """The kind of a marker: what a write does to the file that it names."""

    CREATE = "CREATE"
    MERGE = "MERGE"
    APPEND = "APPEND"


def marker_folder(instant: str) -> str:
    """Folder of an instant's markers, relative to the base path."""
    return f"{MARKERS}/{instant}"


def create_marker(storage: Storage, instant: str, partition: str, name: str, kind: MarkerKind) -> None:
    """Create the marker of a file, before the file is written.

    Args:
        storage: rooted at the table's base path.
        instant: the write.
        partition: partition path.
        name: the file.
        kind: what happens to it.
    """
    path = posixpath.join(marker_folder(instant), partition, f"{name}{_MARKER}{kind.value}")
    if not storage.is_local:
        with _guard:
            _made_here.setdefault((storage.uri(), instant), []).append(path)
    storage.write_bytes(path, b"")


def marked_files(storage: Storage, instant: str, listing: pa.Table | None = None) -> pa.Table:
    """The files that an instant's markers name, in no order: ``partition``, ``name``, ``kind``.

    Args:
        storage: rooted at the table's base path.
        instant: the instant.
        listing: of all below its folder of markers, if there is one already.
    """
    folder = marker_folder(instant)
    if listing is None:
        listing = storage.list(folder, recursive=True, missing_ok=True)
    listing = listing.filter(pc.invert(listing.column("is_dir")))
    partitions, names, kinds = [], [], []
    for path in listing.column("path").to_pylist():
        place, separator, kind = path.rpartition(_MARKER)
        if not separator or kind not in MarkerKind.__members__:
            continue
        partition, name = posixpath.split(place[len(folder) + 1 :])
        partitions.append(partition)
        names.append(name)
        kinds.append(kind)
    columns = [pa.array(column, pa.string()) for column in (partitions, names, kinds)]
    return pa.table(columns, names=["partition", "name", "kind"])


def marked_in_partition(storage: Storage, partition: str, instant: str) -> list[str]:
    """Names of the files in one partition that an instant's markers name, of either kind.

    The files of a timeline server are looked for where the partition has no direct markers.

    Args:
        storage: rooted at the table's base path.
        partition: partition path.
        instant: the instant.
    """
    folder = marker_folder(instant)
    listing = storage.list(f"{folder}/{partition}" if partition else folder, missing_ok=True)
    names = [str(name) for name in marked_files(storage, instant, listing)["name"].to_pylist()]
    if names:
        return names
    if partition:
        listing = storage.list(folder, missing_ok=True)
    paths = server_marked_paths(storage, instant, listing)
    return [name for place, name in map(posixpath.split, sorted(paths)) if place == partition]


def server_marked_paths(storage: Storage, instant: str, listing: pa.Table) -> set[str]:
    """Paths of the files that an instant's markers of a timeline server name.

    Args:
        storage: rooted at the table's base path.
        instant: the instant.
        listing: of its folder of markers, or of all below it.
    """
    folder = marker_folder(instant)
    paths: set[str] = set()
    for path in listing.column("path").to_pylist():
        place, name = posixpath.split(path)
        if place != folder or not _SERVER_FILE.fullmatch(name):
            continue
        with suppress(PathNotFoundError):  # its writer writes it anew for each marker, or is done
            for line in storage.read_bytes(path).decode("utf-8", "replace").splitlines():
                marked, separator, kind = line.rpartition(_MARKER)
                if separator and kind in MarkerKind.__members__:
                    paths.add(marked)
    return paths


def remove_unclaimed(storage: Storage, instant: str, written: Iterable[str]) -> list[str]:
    """Delete the files that markers name and no write status does: those of failed attempts.

    Args:
        storage: rooted at the table's base path.
        instant: the write.
        written: paths of all files that the commit is to hold, change files too.

    Returns:
        Paths of the files that are gone.
    """
    claimed = set(written)
    removed = []
    marked = marked_files(storage, instant)
    parts = parse_file_names(marked["name"])
    others = pc.and_(
        pc.equal(parts["kind"], FileKind.BASE.value), pc.not_equal(parts["instant"].cast(pa.string()), instant)
    )
    foreign = pc.or_(pc.equal(parts["kind"], FileKind.OTHER.value), pc.fill_null(others, False))
    rows = (marked[name].to_pylist() for name in ("partition", "name"))
    for partition, name, is_foreign in zip(*rows, foreign.to_pylist(), strict=True):
        path = posixpath.join(partition, name)
        if path in claimed:
            continue
        if not is_partition_path(partition) or (is_foreign and storage.exists(path)):
            _log.warning("a marker of %s names %r, which no write of that instant makes: it stays", instant, path)
            continue
        if not is_foreign:
            delete_data_files(storage, partition, [name], instant=instant)
        removed.append(path)
    storage.flush_folders(map(posixpath.dirname, removed))  # a loss of power must not bring them back
    return removed


def made_markers(storage: Storage, instant: str) -> list[str]:
    """Paths of the markers on a store that this process has made for a write, which is at its end."""
    with _guard:
        return _made_here.pop((storage.uri(), instant), [])


def remove_markers(storage: Storage, instant: str) -> None:
    """Delete an instant's markers, if there are any."""
    made_markers(storage, instant)
    storage.delete_tree(marker_folder(instant))


def remove_staging(storage: Storage, instant: str) -> None:
    """Delete the staged records of an instant, if there are any."""
    storage.delete_tree(staging_folder(instant))


def try_remove_leftovers(storage: Storage, instant: str) -> None:
    """Delete the markers and staged records of an instant; errors are logged and not raised."""
    try_remove_markers(storage, instant)
    try:
        remove_staging(storage, instant)
    except Exception as error:
        _log.warning("what workers staged for %s is left: %s", instant, error)


def try_remove_markers(storage: Storage, instant: str, *, made_here: bool = False) -> None:
    """Delete the markers of a completed instant; errors are logged and not raised.

    Args:
        storage: rooted at the table's base path.
        instant: the instant.
        made_here: all of them are of this process and on a store, which need not list them.
    """
    try:
        if made_here and not storage.has_folders:
            storage.delete_files(made_markers(storage, instant))
        else:
            remove_markers(storage, instant)
    except Exception as error:
        _log.warning("markers of %s are left: %s", instant, error)


def marked_instants(storage: Storage) -> list[str]:
    """Requested times of the instants that have markers or staged records."""
    listing = storage.list(MARKERS, missing_ok=True)
    names = map(posixpath.basename, listing.column("path").filter(listing.column("is_dir")).to_pylist())
    instants = dict.fromkeys(name.removeprefix(STAGING) for name in names)
    return [name for name in instants if name.isascii() and name.isdigit()]
