"""What tests of the embedded metastore share: one of their own, which they may stop for a moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore
from tests.support.metastore.metastore_behaviour import add_numbered, table_of

LIMIT = {"hive.metastore.limit.partition.request": "15"}
"""At most so many partitions come at once."""
TRANSACTIONS = {"hive.in.test": "true"}
"""Has Hive make the tables of transactions and locks in its database, as for its own tests."""


@dataclass
class Restarted:
    """A metastore that was stopped and started again on its folder and port.

    Attributes:
        metastore: it.
        stages: what its first start told.
        pid: its process of the first start.
        port: its port of both.
        was_running: whether it said to run after it was stopped.
    """

    metastore: EmbeddedMetastore
    stages: list[str] = field(default_factory=list)
    pid: int | None = None
    port: int | None = None
    was_running: bool = True


@pytest.fixture(scope="session")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restarted]:
    """One that holds the table ``kept.t`` of thirty partitions since before its second start."""
    folder = tmp_path_factory.mktemp("embedded")
    properties = LIMIT | TRANSACTIONS
    stages: list[str] = []
    first = EmbeddedMetastore(folder / "a folder", properties=properties, progress=stages.append)
    with first, HiveMetastore(first.uri) as client:
        assert client.databases() == ["default"]
        client.create_database("kept")
        client.create_table(table_of("kept", "t", folder / "t"))
        add_numbered(client, client.table("kept", "t"), 30, folder)
        assert first.start() is first
        pid, port = first.pid, first.port
    was_running = first.is_running
    with EmbeddedMetastore(first.directory, port=port or 0, properties=properties) as second:
        yield Restarted(second, stages, pid, port, was_running)
