"""What integration tests share: one real metastore and one small Spark session on it per test process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from integration.support.hudi_peer import NOT_THERE, HudiPeer, may_start
from integration.support.metastore_pool import MetastorePool, removing_new_tables
from integration.support.spark_options import JAVA_OPTIONS
from integration.support.stores.proxy import StoreProxy
from integration.support.stores.s3 import S3Server
from tests.support.fixture_tables import unzip_fixture

DATABASE = "hudi_it"


@pytest.fixture(scope="session")
def embedded_metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """An embedded metastore."""
    with EmbeddedMetastore(tmp_path_factory.mktemp("metastore")) as running:
        yield running


@pytest.fixture(scope="session")
def metastore_uri(embedded_metastore: EmbeddedMetastore) -> str:
    """URI of the embedded metastore."""
    return embedded_metastore.uri


@pytest.fixture(scope="session")
def metastores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastorePool]:
    """Metastores of the releases."""
    with MetastorePool(lambda: tmp_path_factory.mktemp("metastore")) as pool:
        yield pool


@pytest.fixture(scope="session")
def metastore(metastore_uri: str) -> Iterator[HiveMetastore]:
    """A client of the embedded metastore."""
    with HiveMetastore(metastore_uri) as client:
        yield client


@pytest.fixture(scope="module")
def metastore_server(embedded_metastore: EmbeddedMetastore) -> Iterator[EmbeddedMetastore]:
    """The embedded metastore for one file, which leaves nothing in it."""
    with HiveMetastore(embedded_metastore.uri) as client, removing_new_tables(client):
        yield embedded_metastore


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """An S3 server; ``s3.folder()`` gives a URI of its own to each test, ``s3.options()`` the storage options."""
    with S3Server() as running:
        yield running


@pytest.fixture
def s3_proxy(s3: S3Server) -> Iterator[StoreProxy]:
    """A proxy in front of the S3 server: ``s3.options(s3_proxy.port)`` goes through it."""
    with StoreProxy(s3.port) as running:
        yield running


@pytest.fixture(scope="session")
def hudi_peer() -> Iterator[Callable[[int], HudiPeer]]:
    """``hudi_peer(version)`` gives real Hudi of a table version: a process that runs until another version is used."""
    running: list[HudiPeer] = []

    def stop() -> None:
        while running:
            running.pop().__exit__(None, None, None)

    def start(version: int) -> HudiPeer:
        if not may_start(version):
            pytest.skip(NOT_THERE)
        if not running or running[0].version != version:
            stop()
            running.append(HudiPeer(version).__enter__())
        return running[0]

    yield start
    stop()


@pytest.fixture(scope="session")
def spark(metastore_uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A running session of plain PySpark on the metastore, already used, and then enabled."""
    import hudi_hive.spark as hudi_spark

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        hudi_spark.session_builder(metastore_uri)
        .master("local[2,2]")  # a task that fails is run again, once
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.log.level", "OFF")
        .config("spark.python.daemon.module", "integration.support.python_daemon")
        .config("spark.executorEnv.PYTHONPATH", str(Path(__file__).parents[1]))
        .getOrCreate()
    )
    session.sql("SELECT 1").collect()
    hudi_spark.enable(session)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def synced(metastore: HiveMetastore) -> Callable[..., str]:
    """``synced(name)`` syncs a fixture (a shared copy, or one in a folder of the test) and gives ``db.table``."""
    done: dict[str, str] = {}

    def sync(name: str, folder: Path | None = None, table: str | None = None, **options: object) -> str:
        table = table or name
        if folder is None and table in done:
            return done[table]
        config = HiveSyncConfig(base_path=str(unzip_fixture(name, folder)), database=DATABASE, table=table, **options)
        HiveSyncTool(config, metastore=metastore).sync()
        full = f"{DATABASE}.{table}"
        if folder is None:
            done[table] = full
        return full

    return sync
