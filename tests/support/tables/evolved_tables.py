"""The fixtures whose schema changed by ids, commit by commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant
from tests.support.fixture_tables import fixture_names, unzip_fixture

EVOLVED = (*fixture_names("cow_schema_evo"), *fixture_names("mor_schema_evo"))


def commits(name: str) -> tuple[Instant, ...]:
    """Completed commits of a fixture, oldest first."""
    found = MetaClient.load(unzip_fixture(name)).timeline.write_instants()
    return tuple(sorted(found, key=lambda instant: instant.requested))


class History:
    """A fixture that lives through its commits again: ``for instant in history`` makes one after the other visible.

    Files of later commits are there from the start, where no reader looks at them.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.path = unzip_fixture(name, folder)
        self.instants = commits(name)
        self._timeline = self.path / ".hoodie" / ("." if name.startswith("v6") else "timeline")
        self._later = folder / f"later_{name}"
        self._later.mkdir()
        for file in list(self._timeline.iterdir()):
            if file.is_file() and file.name[:17].isdigit():
                file.rename(self._later / file.name)

    def __iter__(self) -> Iterator[Instant]:
        for instant in self.instants:
            for file in list(self._later.iterdir()):
                if file.name[:17] <= instant.requested:
                    file.rename(self._timeline / file.name)
            yield instant
