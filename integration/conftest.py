"""What integration tests share: one real metastore and one small Spark session on it per test process."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_hive.errors import MetastoreTextError
from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from integration.support import older_pyspark
from integration.support.hudi_peer import NOT_THERE, HudiPeer, may_start
from integration.support.metastore_pool import MetastorePool, removing_new_tables
from integration.support.metastores import HIVE_EXEC, QUICK_DERBY, RELEASES, TRANSACTIONS, ReleasedMetastore
from integration.support.spark_options import INTERPRETED, JAVA_OPTIONS, PYTHON_WORKERS
from integration.support.stores.database import DatabaseServer
from integration.support.stores.database_servers import DATABASES
from integration.support.stores.hadoop_aws import s3a_class_path
from integration.support.stores.proxy import StoreProxy
from integration.support.stores.s3 import S3Server
from integration.support.stores.zookeeper import ZookeeperServer
from tests.support.fixture_tables import unzip_fixture

older_pyspark.fill_in()

DATABASE = "hudi_it"
DATABASE_NAME = os.environ.get("HUDI_HIVE_TEST_DATABASE", "")
"""The database, of ``DATABASES``, that all metastores are to run on; empty for Derby."""
RELEASE = os.environ.get("HUDI_HIVE_TEST_RELEASE", "4.0.1")
"""The metastore that takes the place of the embedded one where a database is named."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On MariaDB, a partition beyond latin1 is refused, and nothing else goes wrong with the tables that have one."""
    if DATABASE_NAME != "mariadb":
        return
    refused = pytest.mark.xfail(raises=MetastoreTextError, strict=True, reason="MariaDB's schema has latin1")
    for item in items:
        if item.nodeid.endswith(("[v6_cow_types]", "[v6_mor_types]")) and "/sync/" in item.nodeid:
            item.add_marker(refused)


@pytest.fixture(scope="session")
def databases() -> Iterator[Callable[[str], DatabaseServer]]:
    """``databases(name)`` gives a running server of ``DATABASES``."""
    with ExitStack() as stack:
        yield functools.cache(lambda name: stack.enter_context(DATABASES[name]()))


@pytest.fixture(scope="session")
def embedded_metastore(
    tmp_path_factory: pytest.TempPathFactory, databases: Callable[[str], DatabaseServer]
) -> Iterator[EmbeddedMetastore | ReleasedMetastore]:
    """An embedded metastore, or that which the tests are to run on instead."""
    folder = tmp_path_factory.mktemp("metastore")
    if not DATABASE_NAME:
        (folder / "derby.properties").write_text(QUICK_DERBY)
        with EmbeddedMetastore(folder) as running:
            yield running
        return
    store = databases(DATABASE_NAME).make_store(RELEASES[RELEASE])
    jars = [HIVE_EXEC[RELEASE]]
    with ReleasedMetastore(RELEASE, folder, properties=TRANSACTIONS, jars=jars, store=store) as released:
        yield released


@pytest.fixture(scope="session")
def metastore_uri(embedded_metastore: EmbeddedMetastore | ReleasedMetastore) -> str:
    """URI of the embedded metastore."""
    return embedded_metastore.uri


@pytest.fixture(scope="session")
def metastores(
    tmp_path_factory: pytest.TempPathFactory, databases: Callable[[str], DatabaseServer]
) -> Iterator[MetastorePool]:
    """Metastores of the releases."""
    database = databases(DATABASE_NAME) if DATABASE_NAME else None
    with MetastorePool(lambda: tmp_path_factory.mktemp("metastore"), database) as pool:
        yield pool


@pytest.fixture(scope="session")
def metastore(metastore_uri: str) -> Iterator[HiveMetastore]:
    """A client of the embedded metastore."""
    with HiveMetastore(metastore_uri) as client:
        yield client


@pytest.fixture(scope="module")
def metastore_server(
    embedded_metastore: EmbeddedMetastore | ReleasedMetastore,
) -> Iterator[EmbeddedMetastore | ReleasedMetastore]:
    """The embedded metastore for one file, which leaves nothing in it."""
    with HiveMetastore(embedded_metastore.uri) as client, removing_new_tables(client):
        yield embedded_metastore


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """An S3 server; ``s3.folder()`` gives a URI of its own to each test, ``s3.options()`` the storage options."""
    with S3Server() as running:
        yield running


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZookeeperServer]:
    """A ZooKeeper server."""
    with ZookeeperServer() as running:
        yield running


@pytest.fixture(scope="session")
def ports_of_proxies() -> set[int]:
    """Ports that proxies had: what a process has learned of a store at an address holds for its life."""
    return set()


@pytest.fixture
def s3_proxy(s3: S3Server, ports_of_proxies: set[int]) -> Iterator[StoreProxy]:
    """A proxy in front of the S3 server: ``s3.options(s3_proxy.port)`` goes through it. No other one had its port."""
    with ExitStack() as stack:
        running = stack.enter_context(StoreProxy(s3.port))
        while running.port in ports_of_proxies:  # those that are open keep theirs
            running = stack.enter_context(StoreProxy(s3.port))
        ports_of_proxies.add(running.port)
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
    # Behind Spark's own jars: an archive of classes is for a class path that begins as its own did.
    os.environ["SPARK_DIST_CLASSPATH"] = s3a_class_path()
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
        .config("spark.sql.scripting.enabled", "true")  # not by itself in 4.0
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.log.level", "OFF")
        .config(map=PYTHON_WORKERS)
        .getOrCreate()
    )
    del os.environ["SPARK_DIST_CLASSPATH"]
    session.sql("SELECT 1").collect()
    hudi_spark.enable(session)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Has the session interpret expressions in one file."""
    for name, text in INTERPRETED.items():
        spark.conf.set(name, text)
    yield
    for name in INTERPRETED:
        spark.conf.unset(name)


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
