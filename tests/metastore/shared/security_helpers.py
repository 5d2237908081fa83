"""A metastore for tests behind TLS or SASL, and clients of it."""

from __future__ import annotations

import pytest

from hudi_hive.metastore import HiveMetastore, Timeouts
from hudi_hive.testing import FakeMetastore
from tests.support.metastore import secure_metastore as secure
from tests.support.metastore.metastore_behaviour import add_numbered, table_of


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return secure.Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def fake(tmp_path):
    with FakeMetastore(tmp_path) as fake:
        yield fake


def front(fake, relay):
    return secure.Front(int(fake.uri.rpartition(":")[2]), relay)


def client_of(uri, **settings):
    return HiveMetastore(uri, timeouts=Timeouts(connect=300, read=300), **settings)


def use(client, folder):
    """Answers and requests of many frames, several connections, one that the pool takes up again."""
    client.create_database("db")
    table = table_of("db", "t", folder / "t")
    client.create_table(table)
    names = add_numbered(client, table, 300, folder)
    assert [f"p={p.values[0]}" for p in client.partitions("db", "t")] == names
    assert client.table("db", "t").tableName == "t"
