"""The set-up of ``docker/compose.yaml`` without docker, on loopback: ``python -m tools.demo_full [--once]``.

An S3 server, a Hive metastore, a Spark Thrift server and the pages of ``hudi-hive ui``; a merge-on-read table on S3
that is synced and queried through each of them. They run until Ctrl-C, or end at once with ``--once`` or where nobody
sits at a terminal. Nothing of them stays.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyhive import hive

from hudi_hive import HudiTable
from hudi_hive.spark import ThriftServer
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.ui import UiServer, UiSettings
from integration.support.stores.hadoop_aws import s3a_jars
from integration.support.stores.s3 import BUCKET, S3Server
from integration.support.stores.spark_s3 import S3aMetastore

TABLE = f"s3a://{BUCKET}/trips"


def main() -> int:
    """Start all servers, ask each of them once, and wait."""
    parser = argparse.ArgumentParser(description="Start the whole set-up on loopback.")
    parser.add_argument("--once", action="store_true", help="End as soon as each server was asked.")
    once = parser.parse_args().once or not sys.stdin.isatty()
    signal.signal(signal.SIGTERM, _interrupt)
    started = time.monotonic()
    try:
        with TemporaryDirectory(prefix="hudi-hive-demo-full-") as folder, ExitStack() as stack:
            start(Path(folder), stack)
            print(f"all of it is there after {time.monotonic() - started:.0f} s", flush=True)
            if not once:
                print("Ctrl-C ends it", flush=True)
                threading.Event().wait()
    except KeyboardInterrupt:
        pass
    print("ended; nothing of it stays", flush=True)
    return 0


def start(folder: Path, stack: ExitStack) -> None:
    """Start the servers in their order, each of which ``stack`` stops, and say what each answers.

    Args:
        folder: for what they keep while they run.
        stack: ends them.
    """
    s3 = stack.enter_context(S3Server())
    say("S3", s3.endpoint, f"bucket {BUCKET}")
    options = s3.options()
    table = HudiTable.create(
        TABLE,
        name="trips",
        table_type="MERGE_ON_READ",
        record_keys=["id"],
        partition_fields=["city"],
        ordering_fields=["ts"],
        storage_options=options,
    )
    table.upsert(pa.table({"id": ["a", "b"], "city": ["sf", "rio"], "fare": [12.5, 8.0], "ts": [1, 1]}))
    table.upsert(pa.table({"id": ["b"], "city": ["rio"], "fare": [9.5], "ts": [2]}))
    say("table", TABLE, f"{table.scan().count()} rows, merge-on-read, 2 commits")

    metastore = stack.enter_context(S3aMetastore(folder / "metastore", properties=s3.hadoop()))
    config = HiveSyncConfig(
        base_path=TABLE, database="lake", table="trips", metastore_uris=metastore.uri, storage_options=options
    )
    report = HiveSyncTool(config).sync()
    say("metastore", metastore.uri, f"lake.trips, lake.trips_ro and lake.trips_rt synced in {report.total_calls} calls")

    server = stack.enter_context(ThriftServer(metastore.uri, storage_options=options, jars=s3a_jars()))
    say("Thrift server", server.jdbc_url, f"SELECT id, fare FROM lake.trips_rt: {ask(server)}")

    pages = UiServer(UiSettings(paths=(f"s3a://{BUCKET}",), metastore_uris=metastore.uri, storage_options=options))
    stack.enter_context(pages)
    with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(pages.url) as answer:
        shown = "trips" in answer.read().decode()
    say("pages", pages.url, "they show the table" if shown else "they do not show the table")
    if not shown:
        raise SystemExit("error: the pages do not show the table")


def ask(server: ThriftServer) -> list[tuple[object, ...]]:
    """The rows of the table, merged, as a client of HiveServer2's protocol sees them."""
    address = server.jdbc_url.removeprefix("jdbc:hive2://").partition("/")[0]
    host, _, port = address.partition(":")
    with hive.connect(host=host, port=int(port), username="demo") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT id, fare FROM lake.trips_rt ORDER BY id")
        return [tuple(row) for row in cursor.fetchall()]


def say(what: str, where: str, how: str) -> None:
    """Print a line about a server that has started."""
    print(f"{what:<14} {where}\n{'':<14} {how}", flush=True)


def _interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
