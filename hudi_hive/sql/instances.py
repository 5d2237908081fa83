"""DuckDB instances for statements: each has one to itself, which waits for the next one when it has ended well."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from hudi_hive.connector.files import quoted, text_literal
from hudi_hive.errors import InvalidOptionError, MissingDependencyError, StorageError
from hudi_hive.sql.statement import message_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CATALOG: Final = "hudi-hive sql"
"""Name of DuckDB's own database, out of the way of schemas that are called ``memory``."""

_GUARDS: Final[Sequence[str]] = (
    "python_enable_replacements",  # no names of Python variables
    "autoinstall_known_extensions",
    "autoload_known_extensions",
    "enable_external_access",  # no files but those below the folders of tables
)

_MOST_WAITING: Final = 2
"""Instances of an engine that wait for a statement."""


class Instance:
    """A DuckDB instance with its temporary folder.

    Args:
        settings: DuckDB's settings.
        parent: where the temporary folder is made; None for the system's place.
        folders: local folders whose files may be read; none for no files.

    Raises:
        StorageError: no temporary folder can be made below ``parent``.
        InvalidOptionError: a setting that DuckDB does not take.
    """

    def __init__(self, settings: Mapping[str, Any], parent: str | None, folders: frozenset[str]) -> None:
        self.folders = folders
        self.folder = _make_folder(parent)
        # Also when the statement is never begun or never closed.
        self.remove_folder = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.root = _connect({**settings, "temp_directory": self.folder}, folders)
        self.described: dict[str, Mapping[str, str]] = {}

    def rest(self) -> bool:
        """Give the temporary folder back to the system until the next statement; False where that cannot be done."""
        with suppress(OSError):
            if self.folder:
                os.rmdir(self.folder)
            return True
        return False

    def resume(self) -> bool:
        """Take the temporary folder again; False where that cannot be done."""
        with suppress(OSError):
            if self.folder:
                os.mkdir(self.folder, 0o700)
            return True
        return False

    def close(self) -> None:
        """End the instance."""
        self.root.close()
        self.remove_folder()


class InstancePool:
    """The instances of an engine; safe to use from several threads.

    Args:
        settings, parent: as for :class:`Instance`.
    """

    def __init__(self, settings: Mapping[str, Any], parent: str | None) -> None:
        self._settings = settings
        self._parent = parent
        self._folders: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._waiting: list[Instance] = []
        _POOLS.add(self)

    def check(self) -> None:
        """Try the settings.

        Raises:
            MissingDependencyError: DuckDB is not installed.
            InvalidOptionError: a setting that DuckDB does not take.
        """
        _connect(self._settings, frozenset()).close()

    def take(self, folders: frozenset[str] = frozenset()) -> Instance:
        """An instance that may read files below some folders, and of tables that were named before.

        Raises:
            StorageError, InvalidOptionError: see :class:`Instance`.
        """
        with self._lock:
            self._folders |= folders
            fit = next((one for one in reversed(self._waiting) if one.folders >= self._folders), None)
            dropped = [one for one in self._waiting if one is not fit and not one.folders >= self._folders]
            self._waiting = [one for one in self._waiting if one is not fit and one not in dropped]
        for one in dropped:
            one.close()
        if fit is not None:
            if fit.resume():
                return fit
            fit.close()
        return Instance(self._settings, self._parent, self._folders)

    def strict(self) -> Instance:
        """An instance of its own that reads no file at all."""
        return Instance(self._settings, self._parent, frozenset())

    def give_back(self, instance: Instance) -> None:
        """Keep an instance whose statement has ended well, and left nothing, for the next one."""
        if instance.folders and instance.rest():
            with self._lock:
                if len(self._waiting) < _MOST_WAITING:
                    self._waiting.append(instance)
                    return
        instance.close()

    def clear(self) -> None:
        """Close the instances that wait."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.close()


_POOLS: weakref.WeakSet[InstancePool] = weakref.WeakSet()


def _clear_pools() -> None:
    # An instance that is inherited by a forked process can be neither used nor closed there.
    for pool in list(_POOLS):
        pool.clear()


os.register_at_fork(before=_clear_pools)
atexit.register(_clear_pools)


def _make_folder(parent: str | None) -> str:
    """A folder for rows that do not fit into memory, that nobody else can look into; empty if there is no place."""
    try:
        if parent is not None:
            os.makedirs(parent, exist_ok=True)
        return tempfile.mkdtemp(prefix="hudi-hive-sql-", dir=parent)
    except OSError as error:
        if parent is None:
            return ""
        raise StorageError(f"no temporary folder can be made: {error.strerror}", path=parent) from error


def _connect(settings: Mapping[str, Any], folders: frozenset[str]) -> DuckDBPyConnection:
    try:
        import duckdb
    except ImportError as error:
        raise MissingDependencyError("DuckDB is not installed", remedy="pip install 'hudi_hive[duckdb]'") from error
    connection = duckdb.connect()
    try:
        connection.execute(f"ATTACH ':memory:' AS {quoted(CATALOG)}; USE {quoted(CATALOG)}; DETACH memory")
        for name, value in settings.items():
            connection.execute(f"SET GLOBAL {name} = {_literal(value)}")  # also for cursors
        if folders:
            listed = ", ".join(_literal(folder.rstrip("/") + "/") for folder in sorted(folders))
            connection.execute(f"SET allowed_directories = [{listed}]")
        for name in _GUARDS:
            connection.execute(f"SET {name} = false")
        # Statements that follow open the same files, which do not change under their names.
        connection.execute("SET GLOBAL parquet_metadata_cache = true")
        connection.execute("SET allowed_configs = ['explain_output']")
        connection.execute("SET lock_configuration = true")
    except duckdb.Error as error:
        connection.close()
        raise InvalidOptionError(message_of(error)) from error
    return connection


def _literal(value: object) -> str:
    return str(value) if isinstance(value, int) else text_literal(str(value))
