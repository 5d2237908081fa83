"""What tests of transactions on metastores of the releases share: a server for each release, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from integration.support.metastore_pool import MetastorePool
from integration.support.metastores import RELEASES, TRANSACTIONS, ReleasedMetastore
from tests.support.running.long import long_case


class OnReleases:
    """Base of tests that run on each release; ``properties`` are the metastore's."""

    properties: ClassVar[Mapping[str, str]] = TRANSACTIONS

    @pytest.fixture(scope="class", params=sorted(RELEASES))
    @classmethod
    def server(cls, request: pytest.FixtureRequest, metastores: MetastorePool) -> ReleasedMetastore:
        """One version after the other."""
        return metastores.start(request.param, cls.properties, with_hive=True)

    @pytest.fixture
    def metastore(self, server: ReleasedMetastore) -> ReleasedMetastore:
        return server

    @pytest.fixture
    def warehouse(self, server: ReleasedMetastore) -> Path:
        return server.warehouse


class OnOldestRelease(OnReleases):
    """Base of tests that run on the oldest release."""

    @pytest.fixture(scope="class")
    @classmethod
    def server(cls, metastores: MetastorePool) -> ReleasedMetastore:
        """The oldest release."""
        return metastores.start("3.1.3", cls.properties, with_hive=True)


class OnNewestRelease(OnReleases):
    """Base of tests that run on the newest release, and in a long run on each."""

    @pytest.fixture(scope="class", params=["4.0.1", long_case("3.1.3")])
    @classmethod
    def server(cls, request: pytest.FixtureRequest, metastores: MetastorePool) -> ReleasedMetastore:
        """One version after the other."""
        return metastores.start(request.param, cls.properties, with_hive=True)
