"""More partitions than the 16 bits of the wire's ``max_parts`` can count."""

from __future__ import annotations

import pytest

from hudi_hive.metastore import HiveMetastore
from hudi_hive.testing import FakeMetastore
from tests.support.metastore.metastore_behaviour import partition_of, table_of

COUNT = 40_000


def add_many(client, folder, count=COUNT) -> list[str]:
    """``count`` partitions ``p=00000`` … of ``default.many``, all in one folder; their names."""
    folder.mkdir(exist_ok=True)
    client.create_table(table_of("default", "many", folder))
    table = client.table("default", "many")
    client.add_partitions("default", "many", [partition_of(table, [f"{i:05d}"], folder) for i in range(count)])
    return [f"p={i:05d}" for i in range(count)]


def check_many(client, names):
    """Every way of asking gives all, and a limit above 16 bits is kept too."""
    assert client.partition_names("default", "many") == names
    assert client.partition_names("default", "many", 35_000) == names[:35_000]
    assert client.partition_names("default", "many", 32_767) == names[:32_767]
    assert len(client.partition_names("default", "many", values=[""])) == len(names)
    assert client.count_partitions("default", "many") == len(names)
    assert client.count_partitions("default", "many", 'p >= "01000"') == len(names) - 1000


@pytest.fixture
def client(tmp_path):
    with FakeMetastore(tmp_path / "warehouse") as fake, HiveMetastore(fake.uri) as client:
        yield client


def test_thousands_of_partitions_take_few_calls(client, tmp_path):
    with client.call_counter.measure() as calls:
        names = add_many(client, tmp_path / "t")
    assert calls["add_partitions_req"] == COUNT / client.batch.write
    check_many(client, names)
    with client.call_counter.measure() as calls:
        found = sorted(p.values[0] for p in client.partitions("default", "many", filter='p >= "35000"'))
    assert (len(found), found[-1]) == (COUNT - 35_000, f"{COUNT - 1:05d}")
    assert calls == {"get_partitions_by_filter": 1}
    client.drop_partitions("default", "many", names[30_000:-1])
    assert client.partition_names("default", "many") == [*names[:30_000], names[-1]]
