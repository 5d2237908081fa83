"""Table locks under Hudi's names and formats (RFC-22): one writer at a time draws and completes instants.

In come the options ``hoodie.write.lock.*`` and a table's storage, out comes the :class:`TableLock` of its writers.

Source: docs/format.md#heartbeats-and-locks.
"""

from __future__ import annotations

from hudi_hive.write.coordination.locks.dynamodb_lock import DynamoDbLock, DynamoDbSettings
from hudi_hive.write.coordination.locks.file_lock import FileSystemLock
from hudi_hive.write.coordination.locks.folder_lock import TableFolderLock
from hudi_hive.write.coordination.locks.lock_provider import LockProvider
from hudi_hive.write.coordination.locks.owner import Owner
from hudi_hive.write.coordination.locks.process_lock import InProcessLock
from hudi_hive.write.coordination.locks.providers import MetastoreLockFactory, table_lock
from hudi_hive.write.coordination.locks.storage_lock import StorageLock
from hudi_hive.write.coordination.locks.store_lock import StoreLock
from hudi_hive.write.coordination.locks.table_lock import TableLock
from hudi_hive.write.coordination.locks.zookeeper_lock import ZookeeperLock, ZookeeperSettings

__all__ = [
    "DynamoDbLock",
    "DynamoDbSettings",
    "FileSystemLock",
    "InProcessLock",
    "LockProvider",
    "MetastoreLockFactory",
    "Owner",
    "StorageLock",
    "StoreLock",
    "TableFolderLock",
    "TableLock",
    "ZookeeperLock",
    "ZookeeperSettings",
    "table_lock",
]
