"""A metastore, a client, and the partitions that a table has there."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest

from hudi_hive.metastore import HiveMetastore
from hudi_hive.table.core import MetaClient
from hudi_hive.testing import FakeMetastore
from tests.support.metastore.sync_behaviour import DATABASE


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with FakeMetastore(tmp_path_factory.mktemp("metastore")) as fake:
        yield fake


@pytest.fixture
def client(server):
    with HiveMetastore(server.uri) as client:
        yield client
        if DATABASE in client.databases():
            client.drop_database(DATABASE, cascade=True)


def partition_paths(client, path, name):
    """Registered partitions as paths below the table."""
    found = [item.sd.location.partition(f"{path}/")[2] for item in client.partitions(DATABASE, name)]
    return sorted(found)


def current_partitions(path):
    """Partitions that hold rows now."""
    slices = MetaClient.load(path).file_system_view().latest_file_slices()
    return sorted(item for item in pc.unique(slices["partition"]).to_pylist() if item)
