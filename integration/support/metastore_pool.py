"""Metastores of the releases that go on running from one test file to the next, because each start takes seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hudi_hive.metastore import HiveMetastore
from integration.support.metastores import HIVE_EXEC, RELEASES, ReleasedMetastore
from integration.support.stores.database import DatabaseServer

_MOST: Final = 3
"""So many run at a time; one more ends that which was used longest ago."""


class MetastorePool:
    """Metastores by release and properties, started when first used; a context manager that stops them.

    Args:
        make_folder: makes an empty folder for a metastore.
        database: keeps what the metastores keep, unless a test says otherwise; None for Derby.
    """

    def __init__(self, make_folder: Callable[[], Path], database: DatabaseServer | None = None) -> None:
        self._make_folder = make_folder
        self._database = database
        self._running: dict[tuple[str, frozenset[tuple[str, str]], bool, str], ReleasedMetastore] = {}

    def start(
        self,
        version: str,
        properties: Mapping[str, str],
        *,
        with_hive: bool = False,
        database: DatabaseServer | None = None,
    ) -> ReleasedMetastore:
        """A running metastore, which tests before may have left tables in.

        Args:
            version: a key of ``RELEASES``.
            properties: metastore properties on top of its own.
            with_hive: with Hive itself on its class path, which ACID tables need.
            database: keeps what the metastore keeps; None for that of the pool.
        """
        database = database or self._database
        key = version, frozenset(properties.items()), with_hive, database.name if database else ""
        server = self._running.pop(key, None)
        if server is None:
            while len(self._running) >= _MOST:
                self._running.pop(next(iter(self._running))).stop()
            jars = [HIVE_EXEC[version]] if with_hive else []
            store = database.make_store(RELEASES[version]) if database else None
            folder = self._make_folder()
            server = ReleasedMetastore(version, folder, properties=properties, jars=jars, store=store).start()
        self._running[key] = server
        return server

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._running:
            self._running.popitem()[1].stop()


@contextmanager
def removing_new_tables(metastore: HiveMetastore) -> Iterator[None]:
    """Drop the databases, and the tables of the database ``default``, that were made meanwhile."""
    databases, tables = set(metastore.databases()), set(metastore.tables("default"))
    yield
    for name in sorted(set(metastore.databases()) - databases):
        metastore.drop_database(name, cascade=True)
    for name in sorted(set(metastore.tables("default")) - tables):
        metastore.drop_table("default", name)
