"""What tests of connector share with others."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.testing import FakeMetastore
from tests.support.fixture_tables import encode_rows, rows_sha256, unzip_fixture


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with FakeMetastore(tmp_path_factory.mktemp("metastore")) as fake:
        yield fake


@pytest.fixture
def client(server):
    with HiveMetastore(server.uri) as client:
        yield client
        for name in client.tables("default"):
            client.drop_table("default", name)


@pytest.fixture
def connector(client):
    with HudiConnector(client) as made:
        yield made


def rows(table: pa.Table) -> str:
    return rows_sha256(encode_rows(table, sorted(table.column_names)))


def all_rows(connector, handle, columns=None, row_filter=None, **options) -> pa.Table:
    batches = list(connector.read(handle, columns, row_filter, **options))
    schema = handle.schema if columns is None else pa.schema([handle.schema.field(name) for name in columns])
    return pa.Table.from_batches(batches, schema)


def check_synced(client, connector, name):
    """Each table that a sync leaves shows the rows of its view, partitions by their registered locations."""
    path = unzip_fixture(name)
    HiveSyncTool(HiveSyncConfig(base_path=str(path), database="default", table="t"), metastore=client).sync()
    table = HudiTable.open(path)
    names = ["t"] if table.type == "COPY_ON_WRITE" else ["t", "t_ro", "t_rt"]
    assert connector.metadata.tables("default") == names
    for one in names:
        kind = "read_optimized" if one == "t_ro" else "snapshot"
        handle = connector.metadata.table("default", one)
        assert str(handle.query_type) == kind
        wanted = table.scan(query_type=kind).to_arrow()
        found = all_rows(connector, handle)
        assert found.schema.equals(wanted.schema)
        assert rows(found) == rows(wanted)
        listed = {c.name for c in connector.metadata.columns(handle) if c.hive_type is not None}
        assert listed == set(handle.schema.names)
