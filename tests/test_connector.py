"""The connector against a metastore: names, handles, partitions and their cost, rows as HudiTable gives them."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector
from hudi_hive.metastore import HiveMetastore
from hudi_hive.metastore.testing import FakeMetastore
from tests.registered import ORC, REALTIME, register
from tests.support import encode_rows, expected, fixture_names, rows_sha256, unzip_fixture


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


def readable(name: str) -> bool:
    return any(query["kind"] == "snapshot" and "error" not in query for query in expected(name)["queries"])


@pytest.mark.parametrize("name", [name for name in fixture_names() if readable(name)])
def test_rows_are_those_of_the_table(client, connector, name):
    path = unzip_fixture(name)
    table = HudiTable.open(path)
    formats = ORC if table.config.base_file_format == "orc" else None
    register(client, path, "t", input_format=formats or REALTIME)
    handle = connector.metadata.table("DEFAULT", "T")
    assert handle.instant == table.scan().plan_info().instant
    wanted = table.scan().to_arrow()
    for copy in (handle, pickle.loads(pickle.dumps(handle))):
        found = all_rows(connector, copy)
        assert found.schema.equals(wanted.schema)
        assert rows(found) == rows(wanted)
