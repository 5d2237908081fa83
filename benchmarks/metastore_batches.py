"""Partitions read from a real metastore: one by one on eight threads against our batches on eight connections.

``python benchmarks/metastore_batches.py [NEAR [FAR]]``: FAR (200) partitions behind a loopback proxy that makes each
call 100 ms later, as a metastore in another region is, and NEAR (10,000) without delay. Both sides ask for the names
first, have their connections open, and give the same partitions. Calls are those that the proxy saw.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from counting_proxy import CountingProxy

from hudi_hive.metastore import (
    EmbeddedMetastore,
    FieldSchema,
    HiveMetastore,
    Partition,
    SerDeInfo,
    StorageDescriptor,
    Table,
)

THREADS = 8
DELAY = 0.1
COLUMNS = 20
Read = Callable[[HiveMetastore, str], list[Partition]]


def descriptor(folder: Path) -> StorageDescriptor:
    return StorageDescriptor(
        cols=[FieldSchema(name=f"column_{number}", type="string", comment="") for number in range(COLUMNS)],
        location=str(folder),
        inputFormat="org.apache.hudi.hadoop.HoodieParquetInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        serdeInfo=SerDeInfo(serializationLib="org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"),
    )


def make_table(client: HiveMetastore, name: str, count: int, folder: Path) -> None:
    folder.mkdir()
    keys = [FieldSchema(name="dt", type="string", comment="")]
    external = {"EXTERNAL": "TRUE"}
    client.create_table(
        Table(
            dbName="default",
            tableName=name,
            sd=descriptor(folder),
            partitionKeys=keys,
            parameters=external,
            tableType="EXTERNAL_TABLE",
        )
    )
    partitions = [
        Partition(dbName="default", tableName=name, values=[f"{number:06d}"], sd=descriptor(folder), parameters={})
        for number in range(count)
    ]
    client.add_partitions("default", name, partitions)


def one_by_one(client: HiveMetastore, table: str) -> list[Partition]:
    names = client.partition_names("default", table)
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(lambda name: client.partition("default", table, [name.partition("=")[2]]), names))


def batches(client: HiveMetastore, table: str) -> list[Partition]:
    return list(client.partitions("default", table))


def measure(proxy: CountingProxy, table: str, count: int, read: Read, rounds: int) -> tuple[float, dict[str, int]]:
    """Median seconds of some rounds, and the calls of one."""
    seconds = []
    with HiveMetastore(proxy.uri, pool_size=THREADS) as client:
        with ThreadPoolExecutor(THREADS) as threads:  # as many calls at once as open all connections
            list(threads.map(lambda _: client.databases(), range(THREADS * 2)))
        for _ in range(rounds):
            proxy.take()
            start = time.perf_counter()
            found = read(client, table)
            seconds.append(time.perf_counter() - start)
            calls = proxy.take()
            assert len(found) == count
    return statistics.median(seconds), calls


def compare(title: str, proxy: CountingProxy, table: str, count: int, rounds: int) -> None:
    slow, slow_calls = measure(proxy, table, count, one_by_one, rounds)
    fast, fast_calls = measure(proxy, table, count, batches, rounds)
    print(f"{title}: {count:,} partitions, median of {rounds}")
    for name, seconds, calls in (("one by one, 8 threads", slow, slow_calls), ("our batches", fast, fast_calls)):
        print(f"  {name:24} {seconds * 1000:9,.0f} ms  {sum(calls.values()):6,} calls {calls}")
    print(f"  ratio {slow / fast:.1f}x", flush=True)


def main() -> None:
    near = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    far = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as folder, EmbeddedMetastore(Path(folder) / "metastore") as metastore:
        assert metastore.port is not None
        with HiveMetastore(metastore.uri) as client:
            for name, count in (("far", far), ("near", near)):
                make_table(client, name, count, Path(folder) / name)
        with CountingProxy(metastore.port, DELAY) as proxy:
            compare(f"{DELAY * 1000:.0f} ms away", proxy, "far", far, rounds=5)
        with CountingProxy(metastore.port) as proxy:
            compare("no delay", proxy, "near", near, rounds=1)


if __name__ == "__main__":
    main()
