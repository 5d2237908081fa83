"""Options of several writers at one table: modes, locks, heartbeats; and of what is checked before a commit."""

from __future__ import annotations

from typing import Final

from hudi_hive.options.declaration import Face, Option
from hudi_hive.options.parsers import (
    between,
    boolean,
    choice,
    items,
    java_class,
    optional,
    optional_text,
    positive,
    queries,
    text,
    whole,
)

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
CONFLICT_RETRIES: Final = Option(
    "hoodie.write.num.retries.on.conflict.failures",
    whole,
    0,
    "How often a write that met a conflict is done again, on the table as it is then.",
    honoured_by=(WRITE,),
)
EARLY_DETECTION: Final = Option(
    "hoodie.write.concurrency.early.conflict.detection.enable",
    boolean,
    False,
    "Look for other writers' markers before each file, and end a write that would meet a conflict at its commit.",
    honoured_by=(WRITE,),
)

VALIDATORS: Final = Option(
    "hoodie.precommit.validators",
    items,
    (),
    "Classes that check the partitions which a write changes, before its commit: SqlQueryEqualityPreCommitValidator, "
    "SqlQueryInequalityPreCommitValidator, SqlQuerySingleResultPreCommitValidator; on Spark.",
    honoured_by=(WRITE,),
)
EQUALITY_QUERIES: Final = Option(
    "hoodie.precommit.validators.equality.sql.queries",
    queries,
    (),
    "Queries on `<TABLE_NAME>` whose rows must be the same before and after a commit, with ; between them.",
    honoured_by=(WRITE,),
)
INEQUALITY_QUERIES: Final = Option(
    "hoodie.precommit.validators.inequality.sql.queries",
    queries,
    (),
    "Queries on `<TABLE_NAME>` whose rows must not be the same before and after a commit, with ; between them.",
    honoured_by=(WRITE,),
)
SINGLE_VALUE_QUERIES: Final = Option(
    "hoodie.precommit.validators.single.value.sql.queries",
    queries,
    (),
    "Queries on `<TABLE_NAME>` after a commit and the value of each, `query#value`, with ; between them.",
    honoured_by=(WRITE,),
)

VALIDATOR_OPTIONS: Final = (VALIDATORS, EQUALITY_QUERIES, INEQUALITY_QUERIES, SINGLE_VALUE_QUERIES)

TextOption = Option[str | None]
"""An option that is a text, or not given."""

OTHER_LOCKS: Final = "ZookeeperBasedLockProvider, DynamoDBBasedLockProvider or HiveMetastoreBasedLockProvider"
"""Locks that do not depend on what the table's store can do, for remedies."""

# -- locks -------------------------------------------------------------------------------------------------------------

LOCK_PROVIDER: Final = Option(
    "hoodie.write.lock.provider",
    optional(
        java_class(
            "FileSystemBasedLockProvider",
            "HiveMetastoreBasedLockProvider",
            "InProcessLockProvider",
            "LocalProcessLockProvider",
            "StorageBasedLockProvider",
            "ZookeeperBasedLockProvider",
            "ZookeeperBasedImplicitBasePathLockProvider",
            "DynamoDBBasedLockProvider",
            "DynamoDBBasedImplicitPartitionKeyLockProvider",
            others="name one of these locks",
        )
    ),
    None,
    "Which lock writers share: a file, the metastore's, ZooKeeper's, DynamoDB's, or this process's.",
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
LOCK_WAIT: Final[Option[int | None]] = Option(
    "hoodie.write.lock.wait_time_ms",
    optional(whole),
    None,
    "Milliseconds that each try waits for the lock: 60,000 by default. Without a provider, and at a lock file, a try "
    "is a look by default. In DynamoDB also the lease.",
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
LOCK_RETRIES: Final = Option(
    "hoodie.write.lock.num_retries",
    whole,
    15,
    "ZooKeeper's lock: tries of a connection or request after the first.",
    honoured_by=(LOCK,),
)
LOCK_RETRY_WAIT: Final = Option(
    "hoodie.write.lock.wait_time_ms_between_retry",
    whole,
    1000,
    "ZooKeeper's lock: milliseconds before the second try of a connection or request; further waits double.",
    honoured_by=(LOCK,),
)
LOCK_RETRY_LONGEST_WAIT: Final = Option(
    "hoodie.write.lock.max_wait_time_ms_between_retry",
    whole,
    16_000,
    "ZooKeeper's lock: the longest of these waits in milliseconds.",
    honoured_by=(LOCK,),
)
ZOOKEEPER_URL: Final[TextOption] = Option(
    "hoodie.write.lock.zookeeper.url",
    optional_text,
    None,
    "ZooKeeper's lock: addresses of the servers, host:port,host:port.",
    honoured_by=(LOCK,),
)
ZOOKEEPER_BASE_PATH: Final[TextOption] = Option(
    "hoodie.write.lock.zookeeper.base_path",
    optional_text,
    None,
    "ZooKeeper's lock: node below which the lock's key is.",
    honoured_by=(LOCK,),
)
ZOOKEEPER_LOCK_KEY: Final[TextOption] = Option(
    "hoodie.write.lock.zookeeper.lock_key",
    optional_text,
    None,
    "ZooKeeper's lock: its key; the table's name by default.",
    honoured_by=(LOCK,),
)
ZOOKEEPER_SESSION_TIMEOUT: Final = Option(
    "hoodie.write.lock.zookeeper.session_timeout_ms",
    positive,
    60_000,
    "ZooKeeper's lock: milliseconds of a holder's silence after which it is free.",
    honoured_by=(LOCK,),
)
ZOOKEEPER_CONNECTION_TIMEOUT: Final = Option(
    "hoodie.write.lock.zookeeper.connection_timeout_ms",
    positive,
    15_000,
    "ZooKeeper's lock: milliseconds in which a connection is to be made.",
    honoured_by=(LOCK,),
)
ZOOKEEPER_PORT: Final[TextOption] = Option(
    "hoodie.write.lock.zookeeper.port",
    optional_text,
    None,
    "ZooKeeper's lock: port of the servers.",
    harmless={LOCK: "Hudi's client of ZooKeeper takes ports from hoodie.write.lock.zookeeper.url alone, and so do we"},
)
STORAGE_VALIDITY: Final = Option(
    "hoodie.write.lock.storage.validity.timeout.secs",
    positive,
    300,
    "The storage's lock: seconds for which it is held unless it is prolonged; at least ten intervals.",
    honoured_by=(LOCK,),
)
STORAGE_RENEW_INTERVAL: Final = Option(
    "hoodie.write.lock.storage.renew.interval.secs",
    positive,
    30,
    "The storage's lock: seconds between two prolongations by its holder.",
    honoured_by=(LOCK,),
    aliases=("hoodie.write.lock.storage.heartbeat.poll.secs",),
)
DYNAMODB_TABLE: Final = Option(
    "hoodie.write.lock.dynamodb.table",
    text,
    "hudi_locks",
    "DynamoDB's lock: name of the table of locks, which is made if it does not exist.",
    honoured_by=(LOCK,),
)
DYNAMODB_PARTITION_KEY: Final[TextOption] = Option(
    "hoodie.write.lock.dynamodb.partition_key",
    optional_text,
    None,
    "DynamoDB's lock: its key; the Hudi table's name by default.",
    honoured_by=(LOCK,),
)
DYNAMODB_REGION: Final[TextOption] = Option(
    "hoodie.write.lock.dynamodb.region",
    optional_text,
    None,
    "DynamoDB's lock: AWS region; by default that of AWS_REGION, else us-east-1.",
    honoured_by=(LOCK,),
)
DYNAMODB_ENDPOINT: Final[TextOption] = Option(
    "hoodie.write.lock.dynamodb.endpoint_url",
    optional_text,
    None,
    "DynamoDB's lock: URL of the service where it is not AWS's own.",
    honoured_by=(LOCK,),
)
DYNAMODB_BILLING_MODE: Final = Option(
    "hoodie.write.lock.dynamodb.billing_mode",
    choice("PAY_PER_REQUEST", "PROVISIONED"),
    "PAY_PER_REQUEST",
    "DynamoDB's lock: how a new table of locks is paid for.",
    honoured_by=(LOCK,),
)
DYNAMODB_READ_CAPACITY: Final = Option(
    "hoodie.write.lock.dynamodb.read_capacity",
    positive,
    20,
    "DynamoDB's lock: read capacity of a new table that is PROVISIONED.",
    honoured_by=(LOCK,),
)
DYNAMODB_WRITE_CAPACITY: Final = Option(
    "hoodie.write.lock.dynamodb.write_capacity",
    positive,
    10,
    "DynamoDB's lock: write capacity of a new table that is PROVISIONED.",
    honoured_by=(LOCK,),
)
DYNAMODB_CREATION_TIMEOUT: Final = Option(
    "hoodie.write.lock.dynamodb.table_creation_timeout",
    positive,
    120_000,
    "DynamoDB's lock: milliseconds in which a new table is to be ready.",
    honoured_by=(LOCK,),
)

LOCK_OPTIONS: Final = (
    CONCURRENCY_MODE,
    HEARTBEAT_INTERVAL,
    HEARTBEAT_MISSES,
    CONFLICT_RETRIES,
    EARLY_DETECTION,
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
    LOCK_RETRY_LONGEST_WAIT,
    ZOOKEEPER_URL,
    ZOOKEEPER_BASE_PATH,
    ZOOKEEPER_LOCK_KEY,
    ZOOKEEPER_SESSION_TIMEOUT,
    ZOOKEEPER_CONNECTION_TIMEOUT,
    ZOOKEEPER_PORT,
    STORAGE_VALIDITY,
    STORAGE_RENEW_INTERVAL,
    DYNAMODB_TABLE,
    DYNAMODB_PARTITION_KEY,
    DYNAMODB_REGION,
    DYNAMODB_ENDPOINT,
    DYNAMODB_BILLING_MODE,
    DYNAMODB_READ_CAPACITY,
    DYNAMODB_WRITE_CAPACITY,
    DYNAMODB_CREATION_TIMEOUT,
)
