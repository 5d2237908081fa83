"""Options of several writers at one table: modes, locks, heartbeats."""

from __future__ import annotations

from typing import Final

from hudi_hive.options.declaration import Face, Option
from hudi_hive.options.parsers import between, choice, integer, java_class, optional, optional_text, positive, whole

WRITE, LOCK = Face.WRITE, Face.LOCK

CONCURRENCY_MODE: Final = Option(
    "hoodie.write.concurrency.mode",
    choice("SINGLE_WRITER", "OPTIMISTIC_CONCURRENCY_CONTROL", "NON_BLOCKING_CONCURRENCY_CONTROL"),
    "SINGLE_WRITER",
    "Whether others may write at the same time; then a lock provider is needed.",
    honoured_by=(WRITE,),
)
HEARTBEAT_INTERVAL: Final = Option(
    "hoodie.client.heartbeat.interval_in_ms",
    between(1000, 10**9),
    60_000,
    "Milliseconds between two heartbeats of a writer.",
    honoured_by=(WRITE,),
)
HEARTBEAT_MISSES: Final = Option(
    "hoodie.client.heartbeat.tolerable.misses",
    whole,
    2,
    "Heartbeats that may fail to come before a writer is taken for dead.",
    honoured_by=(WRITE,),
)

# -- locks -------------------------------------------------------------------------------------------------------------

LOCK_PROVIDER: Final = Option(
    "hoodie.write.lock.provider",
    optional(
        java_class(
            "FileSystemBasedLockProvider",
            "HiveMetastoreBasedLockProvider",
            "InProcessLockProvider",
            "LocalProcessLockProvider",
            others="name one of these locks",
        )
    ),
    None,
    "Which lock writers share: a file, the metastore's, or this process's.",
    honoured_by=(LOCK,),
)
LOCK_PATH: Final = Option(
    "hoodie.write.lock.filesystem.path",
    optional_text,
    None,
    "Folder of the lock file; the table's own by default.",
    honoured_by=(LOCK,),
)
LOCK_EXPIRE: Final = Option(
    "hoodie.write.lock.filesystem.expire",
    whole,
    0,
    "Minutes after which the lock file of a silent holder is void; 0 is never.",
    honoured_by=(LOCK,),
)
LOCK_CLIENT_RETRIES: Final = Option(
    "hoodie.write.lock.client.num_retries",
    whole,
    50,
    "Tries at the lock after the first.",
    honoured_by=(LOCK,),
)
LOCK_CLIENT_RETRY_WAIT: Final = Option(
    "hoodie.write.lock.client.wait_time_ms_between_retry",
    whole,
    5000,
    "Milliseconds between two tries, at most.",
    honoured_by=(LOCK,),
)
LOCK_WAIT: Final = Option(
    "hoodie.write.lock.wait_time_ms",
    whole,
    0,
    "Milliseconds that each try waits for the lock; by default a try is a look.",
    honoured_by=(LOCK,),
)
LOCK_DATABASE: Final = Option(
    "hoodie.write.lock.hivemetastore.database",
    optional_text,
    None,
    "The metastore's lock: database of the table that is locked.",
    honoured_by=(LOCK,),
)
LOCK_TABLE: Final = Option(
    "hoodie.write.lock.hivemetastore.table",
    optional_text,
    None,
    "The metastore's lock: name of the table that is locked.",
    honoured_by=(LOCK,),
)
LOCK_URIS: Final = Option(
    "hoodie.write.lock.hivemetastore.uris",
    optional_text,
    None,
    "The metastore's lock: addresses of the metastore.",
    honoured_by=(LOCK,),
)
LOCK_HEARTBEAT: Final = Option(
    "hoodie.write.lock.heartbeat_interval_ms",
    positive,
    60_000,
    "The metastore's lock: milliseconds between two heartbeats of its holder.",
    honoured_by=(LOCK,),
)
_ZOOKEEPER: Final = (
    "it counts tries inside Hudi's client of ZooKeeper, which is not supported; those here are counted by "
    "hoodie.write.lock.client.*"
)
LOCK_RETRIES: Final = Option[int | None](
    "hoodie.write.lock.num_retries", integer, None, "Tries inside the lock provider.", harmless={LOCK: _ZOOKEEPER}
)
LOCK_RETRY_WAIT: Final = Option[int | None](
    "hoodie.write.lock.wait_time_ms_between_retry",
    integer,
    None,
    "Milliseconds between tries inside the lock provider.",
    harmless={LOCK: _ZOOKEEPER},
)

LOCK_OPTIONS: Final = (
    CONCURRENCY_MODE,
    HEARTBEAT_INTERVAL,
    HEARTBEAT_MISSES,
    LOCK_PROVIDER,
    LOCK_PATH,
    LOCK_EXPIRE,
    LOCK_CLIENT_RETRIES,
    LOCK_CLIENT_RETRY_WAIT,
    LOCK_WAIT,
    LOCK_DATABASE,
    LOCK_TABLE,
    LOCK_URIS,
    LOCK_HEARTBEAT,
    LOCK_RETRIES,
    LOCK_RETRY_WAIT,
)
