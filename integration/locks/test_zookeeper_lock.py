"""Our lock in ZooKeeper beside Curator's, by which Hudi keeps it: both run in the JVM of the tests' Spark session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hudi_hive.errors import LockLostError, LockTimeoutError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks import ZookeeperLock, table_lock

pytestmark = pytest.mark.jvm

P = "hoodie.write.lock."
TICK_MS = 200
"""The server looks for silent sessions this often, and allows sessions of two ticks."""


@pytest.fixture(scope="module")
def jvm(spark: Any) -> Any:
    return spark._jvm


@pytest.fixture(scope="module")
def hosts(jvm: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a ZooKeeper server."""
    server, folder = jvm.org.apache.zookeeper.server, jvm.java.io.File(str(tmp_path_factory.mktemp("zookeeper")))
    connections = server.NIOServerCnxnFactory()
    connections.configure(jvm.java.net.InetSocketAddress("127.0.0.1", 0), 50)
    connections.startup(server.ZooKeeperServer(folder, folder, TICK_MS))
    yield f"127.0.0.1:{connections.getLocalPort()}"
    connections.shutdown()


@pytest.fixture(scope="module")
def curator(jvm: Any, hosts: str) -> Iterator[Any]:
    """Curator's client, as Hudi uses it."""
    framework = jvm.org.apache.curator
    client = framework.framework.CuratorFrameworkFactory.newClient(hosts, framework.retry.RetryOneTime(100))
    client.start()
    yield client
    client.close()


class CuratorsLock:
    """The lock that Hudi takes."""

    def __init__(self, jvm: Any, curator: Any, path: str) -> None:
        self._mutex = jvm.org.apache.curator.framework.recipes.locks.InterProcessMutex(curator, path)
        self._milliseconds = jvm.java.util.concurrent.TimeUnit.MILLISECONDS

    def acquire(self, wait_ms: int) -> bool:
        return bool(self._mutex.acquire(wait_ms, self._milliseconds))

    def release(self) -> None:
        self._mutex.release()


def options_of(hosts: str, **more: str) -> dict[str, str]:
    """Options of a lock at which one looks once."""
    return {
        P + "provider": "ZookeeperBasedLockProvider",
        P + "zookeeper.url": hosts,
        P + "zookeeper.base_path": "/hudi/locks",
        P + "zookeeper.lock_key": "t",
        P + "client.num_retries": "0",
        P + "wait_time_ms": "1",
        **{P + name: value for name, value in more.items()},
    }


@pytest.mark.long
def test_curators_lock_and_ours_exclude_each_other(jvm: Any, curator: Any, hosts: str, storage: Storage) -> None:
    theirs = CuratorsLock(jvm, curator, "/hudi/locks/t")
    assert theirs.acquire(10_000)
    with pytest.raises(LockTimeoutError, match="holds zookeeper"):
        table_lock(options_of(hosts), storage).acquire()
    theirs.release()
    with table_lock(options_of(hosts), storage) as ours:
        assert not theirs.acquire(1)
        ours.verify()
        with pytest.raises(LockTimeoutError):
            table_lock(options_of(hosts), storage).acquire()
    assert theirs.acquire(10_000)
    theirs.release()
    assert curator.getChildren().forPath("/hudi/locks/t").isEmpty()


def test_a_lock_whose_node_is_gone_is_lost(curator: Any, hosts: str, storage: Storage) -> None:
    """What a server does when a session was silent for its time-out."""
    ours = table_lock(options_of(hosts, **{"zookeeper.lock_key": "u"}), storage)
    ours.acquire()
    ours.verify()
    for name in list(curator.getChildren().forPath("/hudi/locks/u")):
        curator.delete().forPath(f"/hudi/locks/u/{name}")
    with pytest.raises(LockLostError, match="session has ended"):
        ours.verify()
    ours.release()


def test_the_implicit_base_path_has_nodes_as_curators(curator: Any, hosts: str, storage: Storage) -> None:
    lock = table_lock(options_of(hosts, provider="ZookeeperBasedImplicitBasePathLockProvider"), storage)
    assert isinstance(lock.provider, ZookeeperLock)
    with lock:
        (name,) = curator.getChildren().forPath(lock.provider.settings.path)
        assert name.startswith("_c_") and "-lock-" in name


@pytest.fixture
def storage(tmp_path: Any) -> Storage:
    (tmp_path / ".hoodie").mkdir()
    return Storage(tmp_path)
