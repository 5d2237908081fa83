"""Reads and writes the history of an id-based schema: ``.hoodie/.schema/<instant>.schemacommit``.

Every commit of a table with ids has a file of its own with all versions up to it. Readers take the newest whose commit
is completed, so a file may be there before its commit is, and what a dead writer left says nothing.

Source: docs/format.md#id-based-schemas.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa

from hudi_hive.schema import InternalSchema, history_bytes
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import SAVEPOINT

FOLDER: Final = ".hoodie/.schema"
_NAME: Final = re.compile(r"(\d+)(?:_\d+)?\.schemacommit(?:\.requested|\.inflight)?")

_TEMPORARY: Final = ".tmp-"


def read(client: MetaClient) -> tuple[InternalSchema, ...]:
    """Read the versions of a table's schema, newest first; empty for a table without ids.

    A version whose history was pruned or lost stands in the newest commit still.

    Raises:
        SchemaError: the history cannot be decoded.
    """
    evolved = client.evolved_schema()
    if evolved is None:
        return ()
    versions = {version.version_id: version for version in (*evolved.history, evolved.query)}
    return tuple(versions[version_id] for version_id in sorted(versions, reverse=True))


def persist(client: MetaClient, instant: str, completion: str, history: Sequence[InternalSchema]) -> None:
    """Write the history of the next commit; called under the table's lock.

    What dead writers left is removed, and of the files older than the active timeline all but the newest, which a
    restore might go back to.

    Args:
        client: the table, read under the lock.
        instant: requested time of the commit.
        completion: its completion time, which names of layout 2 have.
        history: all versions, the newest first.

    Raises:
        StorageError: a file cannot be written.
    """
    tidy(client, keep=instant)
    storage, path = client.storage, f"{FOLDER}/{instant}"
    storage.write_bytes(f"{path}.schemacommit.requested", b"")
    storage.write_bytes(f"{path}.schemacommit.inflight", b"")
    name = path if client.config.layout == 1 else f"{path}_{completion}"
    storage.replace_bytes(f"{name}.schemacommit", history_bytes(history))


def remove(storage: Storage, instants: Iterable[str]) -> None:
    """Delete the history files of instants that were rolled back or never completed."""
    gone = set(instants)
    for time, path in _files(_paths(storage)):
        if time in gone:
            storage.delete(path)


def tidy(client: MetaClient, *, keep: str = "") -> None:
    """Delete history files that are not needed: of instants that are no commits, and of archived ones but the newest.

    Those of savepoints stay.

    Args:
        client: the table, read under its lock.
        keep: requested time of a commit in the making.
    """
    paths = _paths(client.storage)
    for path in paths:
        if posixpath.basename(path).startswith(_TEMPORARY):
            client.storage.delete(path)
    files = _files(paths)
    times = sorted({time for time, _ in files} - {keep})
    if not times:
        return
    timeline = client.timeline
    needed = {
        instant.requested for instant in timeline.instants if instant.action == SAVEPOINT or not instant.is_completed
    }
    mask = timeline.committed_mask(pa.array(times, pa.string())).to_pylist()
    committed = [time for time, yes in zip(times, mask, strict=True) if yes]
    first = timeline.first_active()
    archived = [time for time in committed if first is not None and time < first]
    retained = {keep, *needed, *(set(committed) - set(archived[:-1]))}
    for time, path in files:
        if time not in retained:
            client.storage.delete(path)


def _paths(storage: Storage) -> list[str]:
    paths: list[str] = storage.list(FOLDER, missing_ok=True).column("path").to_pylist()
    return paths


def _files(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Files of all states, with the requested time that each names."""
    matches = [_NAME.fullmatch(posixpath.basename(path)) for path in paths]
    return [(match[1], f"{FOLDER}/{match[0]}") for match in matches if match is not None]
