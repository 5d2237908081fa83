"""Makes the lock that Hudi's options name.

Providers bear the names of Hudi's classes and keep their locks where Hudi keeps them, so that real Hudi's writers and
ours exclude each other. On a local disk our own processes exclude each other beyond that, whatever is configured: they
lock the folder ``.hoodie`` too. On a store they do where no provider reaches other processes: by a file of their own.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hudi_hive.errors import InvalidOptionError, TableError
from hudi_hive.formats.hash import hash_id
from hudi_hive.options import as_texts
from hudi_hive.options import locks as lock_options
from hudi_hive.options import table as table_options
from hudi_hive.storage import Storage
from hudi_hive.table.properties import TableConfig
from hudi_hive.write.coordination.locks.aws import aws_client
from hudi_hive.write.coordination.locks.dynamodb_lock import DynamoDbLock, DynamoDbSettings
from hudi_hive.write.coordination.locks.file_lock import FileSystemLock
from hudi_hive.write.coordination.locks.folder_lock import TableFolderLock
from hudi_hive.write.coordination.locks.lock_provider import LockProvider
from hudi_hive.write.coordination.locks.process_lock import InProcessLock
from hudi_hive.write.coordination.locks.storage_lock import StorageLock
from hudi_hive.write.coordination.locks.store_lock import StoreLock
from hudi_hive.write.coordination.locks.table_lock import TableLock
from hudi_hive.write.coordination.locks.zookeeper_lock import ZookeeperLock, ZookeeperSettings
from hudi_hive.write.coordination.store_checks import check_store

_FILE_NAME: Final = "lock"
_IMPLICIT_KEY: Final = "lock_key"
_WAIT_MS: Final = 60_000
"""Milliseconds that a try waits for the lock, and of a lease in DynamoDB, as Hudi has them."""
_MIN_VALIDITY_S: Final = 10
_RENEWALS: Final = 10

MetastoreLockFactory = Callable[[str, str, str, int], LockProvider]
"""Makes the metastore's lock of URIs, database, table and milliseconds between two heartbeats.

Packages that know the metastore pass ``MetastoreLock.connect``.
"""


@dataclass(frozen=True)
class _Request:
    """What a lock is made of: options, the table, and what this layer does not know."""

    texts: Mapping[str, str]
    storage: Storage
    metastore: MetastoreLockFactory | None
    sleep: Callable[[float], None]

    def table_name(self, option: lock_options.TextOption) -> str:
        """The table's name, in place of an option that is not given.

        Raises:
            InvalidOptionError: there is no table, and no option that names it.
        """
        name = table_options.NAME.of(self.texts)
        if name:
            return name
        try:
            return TableConfig.load(self.storage).name
        except TableError as error:
            raise InvalidOptionError(
                f"{option}: the lock has no name", path=self.storage.uri(), remedy=f"give {option}"
            ) from error

    def hashed_path(self) -> str:
        """The hash of the table's base path, by which Hudi names locks; ``s3a://`` and ``s3://`` are one."""
        path = re.sub("^s3a://", "s3://", self.storage.uri().rstrip("/"), flags=re.IGNORECASE)
        return hash_id(path).hex().upper()


def table_lock(
    options: Mapping[str, Any],
    storage: Storage,
    *,
    metastore: MetastoreLockFactory | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> TableLock:
    """Make the lock of a table: that of Hudi's options; on a local disk the folder lock, on a store its own, too.

    Args:
        options: write options, ``hoodie.write.lock.*`` among them; see ``docs/options.md``.
        storage: rooted at the table's base path.
        metastore: makes the metastore's lock; this layer knows no metastore.
        sleep: waits a number of seconds.

    Raises:
        InvalidOptionError: a provider that is not supported, or an option that is missing or no number.
        LockError: the provider cannot lock this table; or there is none, and the store creates no files atomically.
        MissingDependencyError: the provider's client is not installed.
    """
    texts = as_texts(options)
    check_store(storage, texts)
    name = lock_options.LOCK_PROVIDER.of(texts)
    make = _in_process if name is None else _PROVIDERS[name.rpartition(".")[2]]
    provider, folder = make(_Request(texts, storage, metastore, sleep)), TableFolderLock.of(storage)
    # Other providers keep writers of all machines apart by themselves.
    store = StoreLock.of(storage) if isinstance(provider, InProcessLock) else None
    # Hudi's lock file is looked at once in each try, and its single writers take no lock.
    wait_ms = lock_options.LOCK_WAIT.of(texts)
    if wait_ms is None:
        wait_ms = 0 if name is None or isinstance(provider, FileSystemLock) else _WAIT_MS
    if isinstance(provider, DynamoDbLock) and wait_ms:
        wait_ms += provider.settings.lease_ms  # as AWS's client, which waits for the end of the holder's lease too
    return TableLock(
        provider,
        storage.uri(),
        retries=lock_options.LOCK_CLIENT_RETRIES.of(texts),
        wait_ms=lock_options.LOCK_CLIENT_RETRY_WAIT.of(texts),
        try_ms=wait_ms,
        sleep=sleep,
        folder=folder,
        store=store,
    )


def _file_system(request: _Request) -> LockProvider:
    expire = lock_options.LOCK_EXPIRE.of(request.texts)
    folder = lock_options.LOCK_PATH.of(request.texts)
    if folder:
        return FileSystemLock(Storage(folder, request.storage.storage_options), _FILE_NAME, expire_minutes=expire)
    return FileSystemLock(request.storage, f".hoodie/{_FILE_NAME}", expire_minutes=expire)


def _in_process(request: _Request) -> LockProvider:
    return InProcessLock(request.storage.uri())


def _in_metastore(request: _Request) -> LockProvider:
    if request.metastore is None:
        raise InvalidOptionError(
            f"{lock_options.LOCK_PROVIDER}: the metastore's lock is not to be had here", remedy="name its URIs"
        )
    named = (lock_options.LOCK_URIS, lock_options.LOCK_DATABASE, lock_options.LOCK_TABLE)
    uris, database, table = (option.of(request.texts) for option in named)
    if uris is None or database is None or table is None:
        missing = [option.name for option in named if option.of(request.texts) is None]
        raise InvalidOptionError(f"the metastore's lock needs {', '.join(missing)}")
    return request.metastore(uris, database, table, lock_options.LOCK_HEARTBEAT.of(request.texts))


def _storage_based(request: _Request) -> LockProvider:
    validity = lock_options.STORAGE_VALIDITY.of(request.texts)
    renew = lock_options.STORAGE_RENEW_INTERVAL.of(request.texts)
    if validity < max(renew * _RENEWALS, _MIN_VALIDITY_S):
        raise InvalidOptionError(
            f"{lock_options.STORAGE_VALIDITY}={validity} is too short",
            remedy=f"give {_MIN_VALIDITY_S} s or more, and at least {_RENEWALS} times "
            f"{lock_options.STORAGE_RENEW_INTERVAL}",
        )
    return StorageLock(request.storage, validity_s=validity, renew_s=renew)


def _zookeeper(request: _Request) -> LockProvider:
    base = lock_options.ZOOKEEPER_BASE_PATH.of(request.texts)
    if base is None:
        raise InvalidOptionError(
            f"ZooKeeper's lock needs {lock_options.ZOOKEEPER_BASE_PATH}",
            remedy="give it, or use ZookeeperBasedImplicitBasePathLockProvider",
        )
    key = lock_options.ZOOKEEPER_LOCK_KEY.of(request.texts)
    return _zookeeper_lock(request, base, key or request.table_name(lock_options.ZOOKEEPER_LOCK_KEY))


def _zookeeper_implicit(request: _Request) -> LockProvider:
    return _zookeeper_lock(request, f"/tmp/{request.hashed_path()}", _IMPLICIT_KEY)


def _zookeeper_lock(request: _Request, base: str, key: str) -> LockProvider:
    texts = request.texts
    hosts = lock_options.ZOOKEEPER_URL.of(texts)
    if hosts is None:
        raise InvalidOptionError(f"ZooKeeper's lock needs {lock_options.ZOOKEEPER_URL}", remedy="give it: host:port")
    path = "/" + "/".join(part for part in f"{base}/{key}".split("/") if part)
    settings = ZookeeperSettings(
        hosts,
        path,
        session_ms=lock_options.ZOOKEEPER_SESSION_TIMEOUT.of(texts),
        connection_ms=lock_options.ZOOKEEPER_CONNECTION_TIMEOUT.of(texts),
        retries=lock_options.LOCK_RETRIES.of(texts),
        wait_ms=lock_options.LOCK_RETRY_WAIT.of(texts),
        longest_wait_ms=lock_options.LOCK_RETRY_LONGEST_WAIT.of(texts),
    )
    return ZookeeperLock(settings, sleep=request.sleep)


def _dynamodb(request: _Request) -> LockProvider:
    key = lock_options.DYNAMODB_PARTITION_KEY.of(request.texts)
    return _dynamodb_lock(request, key or request.table_name(lock_options.DYNAMODB_PARTITION_KEY))


def _dynamodb_implicit(request: _Request) -> LockProvider:
    return _dynamodb_lock(request, request.hashed_path())


def _dynamodb_lock(request: _Request, key: str) -> LockProvider:
    texts = request.texts
    settings = DynamoDbSettings(
        lock_options.DYNAMODB_TABLE.of(texts),
        key,
        lease_ms=lock_options.LOCK_WAIT.of(texts) or _WAIT_MS,
        billing_mode=lock_options.DYNAMODB_BILLING_MODE.of(texts),
        read_capacity=lock_options.DYNAMODB_READ_CAPACITY.of(texts),
        write_capacity=lock_options.DYNAMODB_WRITE_CAPACITY.of(texts),
        creation_ms=lock_options.DYNAMODB_CREATION_TIMEOUT.of(texts),
    )
    region = lock_options.DYNAMODB_REGION.of(texts) or os.environ.get("AWS_REGION") or "us-east-1"
    endpoint = lock_options.DYNAMODB_ENDPOINT.of(texts)
    if endpoint is not None and "://" not in endpoint:
        endpoint = f"https://{endpoint}"
    credentials = {**as_texts(request.storage.storage_options), **texts}
    return DynamoDbLock(
        lambda: aws_client("dynamodb", credentials, region=region, endpoint=endpoint), settings, sleep=request.sleep
    )


_PROVIDERS: Final[Mapping[str, Callable[[_Request], LockProvider]]] = {
    "FileSystemBasedLockProvider": _file_system,
    "InProcessLockProvider": _in_process,
    "LocalProcessLockProvider": _in_process,
    "HiveMetastoreBasedLockProvider": _in_metastore,
    "StorageBasedLockProvider": _storage_based,
    "ZookeeperBasedLockProvider": _zookeeper,
    "ZookeeperBasedImplicitBasePathLockProvider": _zookeeper_implicit,
    "DynamoDBBasedLockProvider": _dynamodb,
    "DynamoDBBasedImplicitPartitionKeyLockProvider": _dynamodb_implicit,
}
