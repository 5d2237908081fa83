"""Discovers the tables to sync: in folders, by glob patterns, from lists.

In come texts that a user wrote; out go base paths, sorted, each once. Nothing but folders is looked at.
"""

from __future__ import annotations

import fnmatch
import shlex
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from hudi_hive.errors import InvalidOptionError, PathNotFoundError, StorageError, UnsafePathError
from hudi_hive.names import HOODIE_DATASOURCE_HIVE_SYNC_PREFIX, HOODIE_PREFIX
from hudi_hive.redaction import redact, redact_options
from hudi_hive.storage import Storage

_THREADS = 8
_WILD = "*?["
_MARKER = ".hoodie"


@dataclass(frozen=True)
class ListedTable:
    """A line of a list of tables: a base path and options of its own."""

    base_path: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"ListedTable({redact(self.base_path)!r}, {redact_options(self.options)!r})"


def discover_tables(folder: str, storage_options: Mapping[str, Any] | None = None, *, depth: int = 4) -> list[str]:
    """Base paths of all Hudi tables below a folder (which may be one itself).

    Folders that begin with ``.`` or ``_`` are passed over, and nothing is searched below a table. A symbolic link may
    lead to a table elsewhere, but no search goes on behind it.

    Args:
        folder: local path or URI.
        storage_options: keyword arguments of the file system.
        depth: how many levels of folders to search.

    Raises:
        PathNotFoundError: no such folder, or no table in it.
    """
    tables = _below(folder, Storage(folder, storage_options), [""], depth)
    if not tables:
        raise PathNotFoundError("no Hudi table here", path=folder, remedy="give a folder that holds tables")
    return tables


def expand_pattern(pattern: str, storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """Base paths of the Hudi tables that a glob pattern names (``*``, ``?``, ``[…]`` within one folder's name).

    A path without such characters is given back as it is, whether there is a table or not.

    Raises:
        PathNotFoundError: the pattern names no table.
    """
    first_wild = min((at for sign in _WILD if (at := pattern.find(sign)) >= 0), default=-1)
    if first_wild < 0:
        return [pattern]
    root = pattern[:first_wild].rpartition("/")[0] or ("/" if pattern.startswith("/") else ".")
    words = [word for word in pattern[len(root) if root != "." else 0 :].split("/") if word]
    storage = Storage(root, storage_options)
    level = [""]
    for word in words:
        level = [path for path, _ in _folders(storage, level) if fnmatch.fnmatchcase(path.rpartition("/")[2], word)]
    tables = _below(root, storage, level, 0)
    if not tables:
        raise PathNotFoundError("the pattern names no Hudi table", path=pattern, remedy="check the path")
    return [path.removeprefix("./") for path in tables] if root == "." else tables


def read_table_list(path: str) -> list[ListedTable]:
    """Tables of a text file: a base path in each line, then options of that table alone as ``key=value``.

    Options have hive-sync's names, ``hoodie.datasource.hive_sync.`` may be left out. ``#`` begins a comment; names with
    blanks stand in quotes.

    Raises:
        InvalidOptionError: a line that is not of this form.
        StorageError: the file cannot be read.
    """
    try:
        with open(path, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except (OSError, UnicodeError) as error:
        raise StorageError(f"the list of tables cannot be read: {error}", path=path) from error
    return [table for number, line in enumerate(lines, 1) if (table := _parse(line, f"{path}:{number}")) is not None]


def _parse(line: str, where: str) -> ListedTable | None:
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise InvalidOptionError(f"a line that cannot be read: {error}", path=where) from error
    if not words:
        return None
    options = {}
    for word in words[1:]:
        name, separator, value = word.partition("=")
        if not separator or not name:
            raise InvalidOptionError(f"options are key=value, not {word!r}", path=where)
        options[name if name.startswith(HOODIE_PREFIX) else f"{HOODIE_DATASOURCE_HIVE_SYNC_PREFIX}{name}"] = value
    return ListedTable(words[0], options)


def _below(folder: str, storage: Storage, level: list[str], depth: int) -> list[str]:
    tables_below: list[str] = []
    for step in range(depth + 1):
        listed = _folders(storage, level, with_own=True)
        tables = {path for path, is_table in listed if is_table}
        tables_below += sorted(tables)
        inside = [path for path, is_table in listed if not is_table and path not in level]
        level = [path for path in inside if path.rpartition("/")[0] not in tables]
        if step == depth or not level:
            break
    return sorted(_join(folder, path) for path in tables_below)


def _folders(storage: Storage, level: Iterable[str], *, with_own: bool = False) -> list[tuple[str, bool]]:
    """Folders in the folders of a level, and whether each is a table (known of the level itself, with ``with_own``)."""

    def elsewhere(path: str) -> Storage:
        return Storage(storage.uri(path), storage.storage_options)

    def look(path: str) -> list[tuple[str, bool]]:
        try:
            folders = _subfolders(storage, path, walk=with_own)
            leaves = False
        except (
            UnsafePathError
        ):  # a link out of the folder: its own name is as good as others, but no walk goes on there
            folders = [f"{path}/{name}" for name in _subfolders(elsewhere(path), "", walk=with_own)]
            leaves = True
        own = [(path, any(item.rpartition("/")[2] == _MARKER for item in folders))] if with_own else []
        if leaves and with_own:
            return own
        return own + [(item, False) for item in folders if not item.rpartition("/")[2].startswith((".", "_"))]

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="discover") as threads:
        return [item for items in threads.map(look, level) for item in items]


def _subfolders(storage: Storage, path: str, *, walk: bool) -> list[str]:
    listed = storage.list(path, walk=walk)
    paths: list[str] = listed.filter(listed["is_dir"])["path"].to_pylist()
    return paths


def _join(folder: str, path: str) -> str:
    return f"{folder.rstrip('/') or ''}/{path}" if path else folder
