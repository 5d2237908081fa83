"""Reads of tables with many partitions through a connector, and their calls."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector
from hudi_hive.metastore import HiveMetastore, Retries
from hudi_hive.testing import FakeMetastore
from tests.support.metastore.registered import make_table


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with FakeMetastore(tmp_path_factory.mktemp("metastore")) as fake:
        yield fake


@pytest.fixture(scope="module")
def client(server):
    with HiveMetastore(server.uri, retries=Retries(attempts=1)) as client:
        yield client


@pytest.fixture
def fresh(client):
    yield client
    for name in client.tables("default"):
        if not name.startswith("kept_"):
            client.drop_table("default", name)


def ids(batches) -> list[str]:
    return sorted(value for batch in batches for value in batch.column(0).to_pylist())


def expected_ids(path, row_filter) -> list[str]:
    return sorted(HudiTable.open(path).scan(row_filter, ["id"]).to_arrow().column(0).to_pylist())


def read(client, name, row_filter=None, **options) -> tuple[list[str], Counter[str]]:
    """Ids of the rows, and the calls after the handle was made."""
    connector = HudiConnector(client)
    handle = connector.metadata.table("default", name)
    with client.call_counter.measure() as calls:
        found = ids(connector.read(handle, ["id"], row_filter, **options))
    return found, Counter(calls)


# -- calls ---------------------------------------------------------------------------------------------------------


def days(path, count, hive_style=True):
    start = dt.date(2024, 1, 1)
    rows = [{"id": f"r{n:03d}", "day": (start + dt.timedelta(n)).isoformat(), "v": n} for n in range(count)]
    prefix = "day=" if hive_style else ""
    return make_table(
        path,
        {"id": "string", "v": "long", "day": "string"},
        rows,
        lambda row: prefix + row["day"],
        hoodie__table__partition__fields="day",
        hoodie__datasource__write__hive_style_partitioning=str(hive_style).lower(),
    )
