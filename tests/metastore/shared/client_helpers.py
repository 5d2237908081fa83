"""A metastore for tests with a client and a table of it."""

from __future__ import annotations

import pytest

from hudi_hive.metastore import HiveMetastore, Retries, Timeouts
from hudi_hive.testing import FakeMetastore
from tests.support.metastore.metastore_behaviour import table_of

FAST = Retries(attempts=3, wait=0.001, wait_max=0.01)


@pytest.fixture
def server():
    with FakeMetastore() as server:
        yield server


@pytest.fixture
def client(server):
    with HiveMetastore(server.uri, retries=FAST, timeouts=Timeouts(connect=300, read=300)) as client:
        yield client


@pytest.fixture
def table(server, client, tmp_path):
    client.create_table(table_of("default", "t", tmp_path / "t"))
    return client.table("default", "t")
