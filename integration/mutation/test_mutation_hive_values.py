"""What Hive 4.0.1 itself writes: times that nanoseconds do not hold, and partitions by numbers and times."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import pyarrow as pa
import pytest

from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation import MutatorClient, merge
from hudi_hive.mutation.acid_table import AcidReader
from integration.support import hive_sql
from integration.support.metastore_pool import MetastorePool
from integration.support.metastores import TRANSACTIONS, ReleasedMetastore
from tests.support.mutation.acid_definitions import acid_table

pytestmark = [pytest.mark.jvm, pytest.mark.long]

TIMES = (
    "0001-01-01 00:00:00",
    "1500-03-01 12:30:00.25",
    "1582-10-04 23:59:59",
    "1582-10-15 00:00:00",
    "1677-01-01 00:00:00.000001",
    "1969-12-31 23:59:58.5",  # fractions of the second behind it Hive itself reads as those of the second behind 1970
    "2020-01-01 01:02:03.5",
    "2262-04-12 00:00:00",
    "9999-12-31 23:59:59.999999",
)
PARTITIONS = {
    "double": (["1", "1.5", "1e10", "1e-5", "123456789.125", "'NaN'", "'Infinity'"], pa.float64()),
    "float": (["1", "1.1", "1e10", "16777216", "'NaN'"], pa.float32()),
    "timestamp": ([f"'{time}'" for time in TIMES], pa.timestamp("us")),
    "decimal(10,3)": (["1", "1.500", "0", "-12.125"], pa.decimal128(10, 3)),
}


@pytest.fixture(scope="module")
def server(metastores: MetastorePool) -> ReleasedMetastore:
    return metastores.start("4.0.1", TRANSACTIONS, with_hive=True)


@pytest.fixture(scope="module")
def sql(server: ReleasedMetastore) -> Iterator[hive_sql.HiveSql]:
    with hive_sql.HiveSql(server) as running:
        yield running


@pytest.fixture
def transactions(server: ReleasedMetastore) -> Iterator[TransactionClient]:
    with HiveMetastore(server.uri) as store:
        yield TransactionClient(store)


def test_times_of_hive_that_nanoseconds_do_not_hold(
    server: ReleasedMetastore, sql: hive_sql.HiveSql, transactions: TransactionClient
) -> None:
    columns = [("n", "int"), ("t", "timestamp"), ("many", "array<timestamp>")]
    made = acid_table(f"file:{server.warehouse}/wide", columns, buckets=1, bucket_columns=["n"], name="wide")
    transactions.create_table(made)
    rows = (
        f"select {n}, cast('{time}' as timestamp), array(cast('{time}' as timestamp))" for n, time in enumerate(TIMES)
    )
    sql.run(f"insert into wide {' union all '.join(rows)}")
    found = AcidReader.open(transactions, "default", "wide").read(with_row_id=False).sort_by("n").to_pylist()
    expected = [datetime.datetime.fromisoformat(time) for time in TIMES]
    assert [row["t"] for row in found] == expected
    assert [row["many"] for row in found] == [[time] for time in expected]


@pytest.mark.parametrize("kind", PARTITIONS)
def test_merges_into_partitions_that_hive_made(
    kind: str, server: ReleasedMetastore, sql: hive_sql.HiveSql, transactions: TransactionClient
) -> None:
    values, arrow = PARTITIONS[kind]
    name = f"by_{kind[:3]}"
    keys = [("k", kind)]
    columns = [("n", "int"), ("m", "string")]
    made = acid_table(f"file:{server.warehouse}/{name}", columns, keys, buckets=1, bucket_columns=["n"], name=name)
    transactions.create_table(made)
    sql.run(f"insert into {name} values " + ", ".join(f"({n}, 'm', cast({v} as {kind}))" for n, v in enumerate(values)))
    of_hive = transactions.metastore.partition_names("default", name)
    client = MutatorClient(server.uri, sinks=[f"default.{name}"], create_partitions=True)
    with client, client.new_transaction() as transaction:
        reader = transaction.reader("default", name)
        rows = reader.read(["n", "k"], with_row_id=False)
        changes = pa.table({"k": rows["k"], "m": ["x"] * rows.num_rows})
        assert changes["k"].type == arrow
        merged = merge(reader, changes, ["k"])
        assert (merged.updated, merged.inserted) == (len(values), 0)
        merged.feed(transaction.coordinator("default", name))
    assert transactions.metastore.partition_names("default", name) == of_hive
    assert sorted(sql.run(f"select n, m from {name}")) == sorted([str(n), "x"] for n in range(len(values)))
