"""A database server that keeps metastores: each gets a database of its own with Hive's schema of its release."""

from __future__ import annotations

import itertools
import os
import tarfile
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self

from integration.support.metastores import Artifact, Release, Store, cache_folder, fetch, locked
from integration.support.stores.server_process import ServerProcess, free_port

USER: Final = "hive"


class DatabaseServer(ABC):
    """A database server on loopback, in a folder of temporary files; a context manager that stops it."""

    name: ClassVar[str]
    """What it is called in tests."""
    dialect: ClassVar[str]
    """What Hive calls it in the names of its schema scripts."""
    driver: ClassVar[Artifact]
    driver_class: ClassVar[str]

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self.port = free_port()

    def make_store(self, release: Release) -> Store:
        """A new database with the schema of a release, for one metastore."""
        name = f"metastore{next(self._numbers)}"
        self._create(name)
        script = _schema_script(release, self.dialect)
        self._load(name, script)
        properties = {
            "javax.jdo.option.ConnectionURL": self._url(name),
            "javax.jdo.option.ConnectionDriverName": self.driver_class,
            "javax.jdo.option.ConnectionUserName": USER,
            "javax.jdo.option.ConnectionPassword": USER,
        }
        return Store(self.name, name, properties, self.driver)

    @abstractmethod
    def query(self, statement: str, database: str | None = None) -> list[list[str]]:
        """The rows of a statement, as texts."""

    @abstractmethod
    def end_connections(self, database: str) -> int:
        """End all connections to a database, as a restart or a fail-over does; how many there were."""

    @abstractmethod
    def _create(self, database: str) -> None: ...

    @abstractmethod
    def _load(self, database: str, script: Path) -> None: ...

    @abstractmethod
    def _url(self, database: str) -> str: ...

    @abstractmethod
    def start(self) -> Self:
        """Make its folder and start it."""

    def stop(self) -> None:
        """Stop it and remove its folder."""
        self._process.stop()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _schema_script(release: Release, dialect: str) -> Path:
    """The script by which Hive itself makes a release's schema in a database; scripts that it reads stand beside it.

    Args:
        release: the release.
        dialect: ``postgres`` or ``mysql``.
    """
    folder = cache_folder() / f"metastore-schema-{release.version}-{release.archive.sha256[:8]}"
    with locked(folder.with_name(f"{folder.name}.lock")):
        if not folder.exists():
            fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f"{folder.name}-"))
            with tarfile.open(fetch(release.archive)) as packed:
                for member in packed:
                    _, _, inside = member.name.partition("/scripts/metastore/upgrade/")
                    if member.isfile() and inside.startswith(("postgres/", "mysql/")):
                        member.name = inside
                        packed.extract(member, fresh)  # names below the two folders, no links
            os.replace(fresh, folder)
    major = release.version[0]
    return max((folder / dialect).glob(f"hive-schema-{major}.?.0.{dialect}.sql"))
