"""What tests of transactions on metastores of the releases share: a server for each release, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from integration.support.metastores import HIVE_EXEC, RELEASES, TRANSACTIONS, ReleasedMetastore


class OnReleases:
    """Base of tests that run on each release; ``properties`` are the metastore's."""

    properties: ClassVar[Mapping[str, str]] = TRANSACTIONS

    @pytest.fixture(scope="class", params=sorted(RELEASES))
    @classmethod
    def server(
        cls, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[ReleasedMetastore]:
        """One version after the other, so that one Java process runs at a time."""
        version, folder = request.param, tmp_path_factory.mktemp("metastore")
        with ReleasedMetastore(version, folder, properties=cls.properties, jars=[HIVE_EXEC[version]]) as running:
            yield running

    @pytest.fixture
    def metastore(self, server: ReleasedMetastore) -> ReleasedMetastore:
        return server

    @pytest.fixture
    def warehouse(self, server: ReleasedMetastore) -> Path:
        return server.warehouse
