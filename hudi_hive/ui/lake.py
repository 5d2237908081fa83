"""The tables that the pages show: those at given paths, those below folders, and those of a metastore."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from hudi_hive.errors import HudiHiveError, PathNotFoundError, TableNotFoundError
from hudi_hive.storage import Storage
from hudi_hive.table_api import HudiTable
from hudi_hive.ui.settings import UiSettings

METASTORE: Final = "metastore"
"""The source of tables that a metastore has."""


@dataclass(frozen=True)
class TableEntry:
    """A table of the list: where it is, and what statements call it.

    Attributes:
        key: stands for the table in addresses of pages; the same in every run.
        path: base path.
        sql_name: its name in the query box, ``name`` or ``database.name``.
        source: where it was found: a path of the command line, or :data:`METASTORE`.
    """

    key: str
    path: str
    sql_name: str
    source: str


class Lake:
    """Finds the tables; the list is made once, and again by :meth:`refresh`."""

    def __init__(self, settings: UiSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._entries: dict[str, TableEntry] | None = None
        self._problems: tuple[str, ...] = ()

    def entries(self) -> list[TableEntry]:
        """All tables, in the order of the paths, then those of the metastore by name."""
        return list(self._by_key().values())

    @property
    def problems(self) -> tuple[str, ...]:
        """Why some of the tables could not be found, a sentence each."""
        self._by_key()
        return self._problems

    def refresh(self) -> None:
        """Look for tables anew at the next call."""
        with self._lock:
            self._entries = None

    def entry(self, key: str) -> TableEntry:
        """The table with a key.

        Raises:
            TableNotFoundError: the list has none.
        """
        found = self._by_key().get(key)
        if found is None:
            raise TableNotFoundError("no such table in this list", path=key, remedy="go back to the list of tables")
        return found

    def open(self, entry: TableEntry) -> HudiTable:
        """A table as it is now.

        Raises:
            HudiHiveError: it cannot be read.
        """
        return HudiTable.open(entry.path, storage_options=dict(self.settings.storage_options))

    def _by_key(self) -> dict[str, TableEntry]:
        with self._lock:
            if self._entries is None:
                problems: list[str] = []
                entries: dict[str, TableEntry] = {}
                names: set[str] = set()
                for path, name, source in self._candidates(problems):
                    key = hashlib.sha256(path.encode()).hexdigest()[:16]
                    if key in entries:
                        continue
                    unique, number = name, 2
                    while unique.lower() in names:
                        unique, number = f"{name}_{number}", number + 1
                    names.add(unique.lower())
                    entries[key] = TableEntry(key, path, unique, source)
                self._entries, self._problems = entries, tuple(problems)
            return self._entries

    def _candidates(self, problems: list[str]) -> Iterator[tuple[str, str, str]]:
        """Base path, name and source of each table; what fails becomes a sentence of ``problems``."""
        for place in self.settings.paths:
            try:
                for path in self._below(place):
                    yield path, path.rstrip("/").rpartition("/")[2] or "table", place
            except HudiHiveError as error:
                problems.append(str(error))
        if self.settings.metastore_uris is not None:
            try:
                yield from self._of_metastore(self.settings.metastore_uris, problems)
            except HudiHiveError as error:
                problems.append(str(error))

    def _below(self, path: str) -> list[str]:
        from hudi_hive.sync.run import discover_tables

        options = dict(self.settings.storage_options)
        storage = Storage(path, options)
        with suppress(PathNotFoundError):
            if storage.list(".hoodie", missing_ok=True).num_rows:
                return [path]
        return discover_tables(path, options)

    def _of_metastore(self, uris: str, problems: list[str]) -> Iterator[tuple[str, str, str]]:
        from hudi_hive.connector import HudiConnector

        with HudiConnector(uris, dict(self.settings.storage_options)) as connector:
            for schema in connector.metadata.schemas():
                try:
                    paths = connector.metadata.base_paths(schema)
                except HudiHiveError as error:
                    problems.append(str(error))
                    continue
                # Of a merge-on-read table's entries t, t_ro and t_rt the shortest name stands for it.
                for name in sorted(paths, key=lambda name: (len(name), name)):
                    yield paths[name], f"{schema}.{name}", METASTORE
