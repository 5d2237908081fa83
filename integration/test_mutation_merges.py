"""Reading and merging over whole transactions, against real metastores: 3.1.3 and 4.0.1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.metastores import HIVE_EXEC, RELEASES, ReleasedMetastore
from tests.merge_behaviour import MergeBehaviour

pytestmark = pytest.mark.jvm

PROPERTIES = {
    "hive.support.concurrency": "true",
    "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
    "metastore.hmshandler.retry.interval": "1ms",
}


@pytest.fixture(scope="module", params=sorted(RELEASES))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReleasedMetastore]:
    """One version after the other, so that one Java process runs at a time."""
    folder = tmp_path_factory.mktemp("metastore")
    with ReleasedMetastore(request.param, folder, properties=PROPERTIES, jars=[HIVE_EXEC[request.param]]) as running:
        yield running


class TestReleasedMetastore(MergeBehaviour):
    @pytest.fixture
    def metastore(self, server: ReleasedMetastore) -> ReleasedMetastore:
        return server

    @pytest.fixture
    def warehouse(self, server: ReleasedMetastore) -> Path:
        return server.warehouse
