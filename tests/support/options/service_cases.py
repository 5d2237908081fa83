"""Cases of the options of table services, of several writers and of locks."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, LockError, WriteConflictError
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.options import Face, Option, locks, services, table, write
from hudi_hive.storage import Storage
from hudi_hive.testing import FakeMetastore
from hudi_hive.timeline import TimelineWriter
from hudi_hive.timeline.core import InstantClock
from hudi_hive.timeline.instants import instant_to_millis
from hudi_hive.write.coordination import LocalExecutor, WriterHeartbeat, table_lock
from hudi_hive.write.coordination.locks import DynamoDbLock, StorageLock
from hudi_hive.write.files import run_write_task
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.rollback import create_savepoint
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import CleanPolicy, TableServices, compaction_is_due, plan_clean
from hudi_hive.write.writers import LocalWriter
from tests.support.options.cases import Case, Scenario
from tests.support.options.made_tables import made_once
from tests.support.options.observed import data_files, observed
from tests.support.options.write_cases import LEAN, make, make_with_rows, put, rows

FILE_LOCK = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
METASTORE_LOCK = "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider"
_NEW_FILES = {write.SMALL_FILE_LIMIT.name: "0"}
_UPDATES = [rows(0, 40, ts=[number] * 40) for number in range(1, 5)]


@made_once
def _make_with_savepoint(path: Path) -> None:
    make_with_rows(path)
    create_savepoint(ServiceContext(HudiTable.open(path).client))


@made_once
def _make_with_updates(path: Path) -> None:
    make_with_rows(path)
    put(path, LEAN, *_UPDATES)


@made_once
def _make_with_cleaned_partitions(path: Path) -> None:
    make(path)
    put(path, LEAN | {"hoodie.cleaner.commits.retained": "1"}, *_UPDATES)
    put(path, LEAN, rows(0, 5, p=["a"] * 5, ts=[9] * 5), rows(0, 5, p=["a"] * 5, ts=[10] * 5))


@made_once
def _make_with_inserts(path: Path) -> None:
    make(path)
    put(path, LEAN | _NEW_FILES, rows(), rows(40), rows(80), operation="insert")


@made_once
def _make_with_delta_commits(path: Path) -> None:
    make(path, table_type="MERGE_ON_READ")
    put(path, LEAN, rows(), _UPDATES[0])


def compacted(path: Path, options: Mapping[str, str]) -> Any:
    """Updates of a merge-on-read table, one partition more often than the other."""
    _make_with_delta_commits(path)
    put(path, options, rows(0, 20, p=["a"] * 20, ts=[9] * 20))
    return observed(path)


def updated(path: Path, options: Mapping[str, str]) -> Any:
    """Several updates of a copy-on-write table."""
    make_with_rows(path)
    put(path, options, *_UPDATES)
    return observed(path)


def saved(path: Path, options: Mapping[str, str]) -> Any:
    """Updates behind a savepoint, with an archival of all but few instants."""
    _make_with_savepoint(path)
    put(path, options, *_UPDATES)
    return observed(path)


def late(path: Path, options: Mapping[str, str]) -> Any:
    """Whether a compaction is due half an hour after the first delta commit."""
    _make_with_delta_commits(path)
    client = HudiTable.open(path).client
    now = instant_to_millis(client.timeline.write_instants()[0].requested, client.config.timezone) + 1_800_000
    return compaction_is_due(client, WriteConfig.of(options, client.config).compaction, now_ms=now)


def aged(path: Path, options: Mapping[str, str]) -> Any:
    """What a clean would delete an hour after the last of some updates."""
    _make_with_updates(path)
    client = HudiTable.open(path).client
    now = instant_to_millis(client.timeline.write_instants()[-1].requested, client.config.timezone) + 3_600_000
    plan = plan_clean(client, CleanPolicy.of(options), now_ms=now)
    return plan.files.num_rows


def looked_for(path: Path, options: Mapping[str, str]) -> Any:
    """Folders that are listed to plan a clean when one partition was written since the last one."""
    _make_with_cleaned_partitions(path)
    client = HudiTable.open(path).client
    plan_clean(client, CleanPolicy.of({**options, "hoodie.cleaner.commits.retained": "1"}))
    return client.storage.counters["lists"]


def inserted(path: Path, options: Mapping[str, str]) -> Any:
    """Inserts into new files."""
    _make_with_inserts(path)
    put(path, _NEW_FILES | options, rows(120), operation="insert")
    view = observed(path)
    files = HudiTable.open(path).client.file_system_view().latest_base_files()
    names = [pq.read_table(one)["name"].to_pylist() for one in data_files(path)]
    view["files"] = sorted((len(one), one == sorted(one)) for one in names), files.num_rows
    return view


def clustered_twice(path: Path, options: Mapping[str, str]) -> Any:
    """How many clusterings were done in each of two runs, and of how many file groups; nothing is written between."""
    make_with_rows(path)
    done = []
    for _ in range(2):
        table = HudiTable.open(path)
        commits = table.cluster(options).result
        done.append([table.client.timeline.commit_metadata(one).replaced.num_rows for one in commits])
    return done


def cluster_planned(path: Path, options: Mapping[str, str]) -> Any:
    """What the plan of a clustering says: its strategy, and partition and file groups of each input group."""
    _make_with_inserts(path)
    table = HudiTable.open(path)
    plans = [table.timeline.requested_replace_metadata(one) for one in table.cluster(options, schedule=True).result]
    return [
        (plan.strategy, Counter(plan.slices.select(["group", "partition"]).to_pandas().itertuples(index=False)))
        for plan in plans
    ]


def laid_out(path: Path, options: Mapping[str, str]) -> Any:
    """The keys in each file of a clustering by two columns, in their order."""
    make(path)
    put(path, LEAN, rows(ts=[one**4 for one in reversed(range(40))]))
    table = HudiTable.open(path)
    table.cluster(options, sort_columns=["ts", "name"])
    files = table.client.file_system_view().latest_base_files()
    paths = [path / row["partition"] / row["name"] for row in files.to_pylist()]
    return sorted(tuple(pq.read_table(one)["id"].to_pylist()) for one in paths)


def left_behind(path: Path, options: Mapping[str, str]) -> Any:
    """A write to a table where a writer of another machine has had no heartbeat for 90 seconds."""
    make_with_rows(path)
    client = HudiTable.open(path).client
    instant = "20200101000000000"
    writer = TimelineWriter(client.storage, client.config)
    writer.create_requested("commit", instant)
    writer.transition_inflight("commit", instant)
    beat = path / ".hoodie" / ".heartbeat" / instant
    beat.parent.mkdir(exist_ok=True)
    beat.write_bytes(b"")
    then = time.time() - 90
    os.utime(beat, (then, then))
    put(path, options, rows(20))
    return observed(path)


def lapsed(path: Path, options: Mapping[str, str]) -> Any:
    """The partitions with rows behind a write to a table of old ones, one of which was updated two days ago."""
    make(path)
    for days, name in ((20, "a"), (19, "b"), (2, "a"), (0, "c")):
        writer = LocalWriter(HudiTable.open(path).client, LEAN if days else options)
        writer.clock = InstantClock(partial(lambda past: time.time_ns() // 1_000_000 - past * 86_400_000, days))
        writer.write(rows(0, 5, p=[name] * 5))
    return set(HudiTable.open(path).scan().to_arrow()["p"].to_pylist())


class _Interleaved(LocalExecutor):
    """An executor during whose first tasks another writer commits, to another partition unless a batch is given."""

    def __init__(self, path: Path, batch: pa.Table | None = None) -> None:
        super().__init__(1)
        self._path: Path | None = path
        self._batch = rows(100, 5, p=["c"] * 5) if batch is None else batch

    def map(self, function: Any, tasks: Any) -> Any:
        path, self._path = self._path, None
        if path is not None:
            put(path, LEAN, self._batch)
        return super().map(function, tasks)


def interleaved(path: Path, options: Mapping[str, str]) -> Any:
    """A write during which another writer commits to another partition."""
    make(path)
    put(path, LEAN, rows(0, 10, p=["a"] * 10))
    client = HudiTable.open(path).client
    LocalWriter(client, options, executor=_Interleaved(path)).write(rows(0, 10, p=["a"] * 10, ts=[2] * 10))
    return observed(path)


def conflicting(path: Path, options: Mapping[str, str]) -> Any:
    """A write during which another writer changes a record of it."""
    make(path)
    put(path, LEAN, rows(0, 10, p=["a"] * 10))
    executor = _Interleaved(path, rows(0, 2, p=["a"] * 2, ts=[3] * 2))
    LocalWriter(HudiTable.open(path).client, options, executor=executor).write(rows(0, 10, p=["a"] * 10, ts=[2] * 10))
    return observed(path)


class _Met(LocalExecutor):
    """An executor behind whose files, which no commit names yet, another writer changes the same records."""

    def __init__(self, path: Path, options: Mapping[str, str]) -> None:
        super().__init__(1)
        self._path, self._options = path, options
        self.outcome = ""

    def map(self, function: Any, tasks: Any) -> Any:
        results = super().map(function, tasks)
        if function is run_write_task and not self.outcome:
            try:
                put(self._path, self._options, rows(0, 2, p=["a"] * 2, ts=[3] * 2))
                self.outcome = "committed"
            except WriteConflictError:
                self.outcome = "refused"
        return results


def met(path: Path, options: Mapping[str, str]) -> Any:
    """What becomes of a write that begins when another one has written its files, and of that one."""
    make(path)
    put(path, LEAN, rows(0, 10, p=["a"] * 10))
    executor = _Met(path, options)
    given = {name: text for name, text in options.items() if name != locks.EARLY_DETECTION.name}
    try:
        LocalWriter(HudiTable.open(path).client, given, executor=executor).write(rows(0, 10, p=["a"] * 10))
    except WriteConflictError:
        return executor.outcome, "refused"
    return executor.outcome, "committed"


# -- indexes -----------------------------------------------------------------------------------------------------------


def indexed(path: Path, options: Mapping[str, str]) -> Any:
    """Partitions of the metadata table behind a write whose options ask for an index."""
    make(path)
    put(path, options, rows())
    return HudiTable.open(path).client.config.metadata_partitions


def built_beside_a_write(path: Path, options: Mapping[str, str]) -> Any:
    """An index that is built while a write runs, which ends when the build waits for it."""
    make(path)
    put(path, {write.COLUMN_STATS.name: "false"}, rows())
    client = HudiTable.open(path).client
    writer, instant = TimelineWriter(client.storage, client.config), InstantClock().new_instant(client.timeline)
    heartbeat = WriterHeartbeat(client.storage, instant)
    heartbeat.start()
    running = writer.create_requested("commit", instant)

    def end(seconds: float) -> None:
        heartbeat.stop()
        writer.delete(running)

    with patch("hudi_hive.write.services.indexing.index_builder.time.sleep", end):
        return TableServices.open(client, dict(options)).metadata.build().created


# -- locks -------------------------------------------------------------------------------------------------------------


def held(path: Path, options: Mapping[str, str]) -> Any:
    """Where a lock is while it is held."""
    make(path / "table")
    given = {name: text.replace("{path}", str(path)) for name, text in options.items()}
    with table_lock(given, Storage(path / "table")):
        return sorted(str(one.relative_to(path)) for one in path.rglob("lock*"))


def waited(path: Path, options: Mapping[str, str]) -> Any:
    """How long a lock that another one holds is waited for."""
    make(path)
    storage, waits = Storage(path), []
    table_lock({locks.LOCK_PROVIDER.name: FILE_LOCK}, storage).provider.try_acquire()
    try:
        table_lock(options, storage, sleep=waits.append).acquire()
    except HudiHiveError:
        return sum(waits)
    return "taken"


def expired(path: Path, options: Mapping[str, str]) -> Any:
    """Whether the lock of another machine that is ten minutes old is taken over."""
    make(path)
    file = path / ".hoodie" / "lock"
    file.write_text("{}")
    then = time.time() - 600
    os.utime(file, (then, then))
    with table_lock(options, Storage(path), sleep=lambda seconds: None):
        return "taken"


def in_metastore(path: Path, options: Mapping[str, str]) -> Any:
    """The lock that a metastore holds."""
    make(path / "table")
    with FakeMetastore(path / "metastore") as server:
        given = {name: text.replace("{uri}", server.uri) for name, text in options.items()}
        lock = table_lock(given, Storage(path / "table"), metastore=MetastoreLock.connect)
        with lock:
            provider = lock.provider
            return provider.holder(), getattr(provider, "heartbeat_ms", None)


def place_of_lock(path: Path, options: Mapping[str, str]) -> Any:
    """Where a lock is kept outside of the table, and how."""
    storage: Any = Storage("s3://lake/t", {"endpoint": "http://127.0.0.1:1"})
    provider: Any = table_lock(options, storage).provider
    if isinstance(provider, StorageLock):
        return provider.validity_s, provider.renew_s
    client = provider._connect().meta if isinstance(provider, DynamoDbLock) else None
    return provider.settings, client and (client.region_name, client.endpoint_url)


def not_connected(path: Path, options: Mapping[str, str]) -> Any:
    """How often ZooKeeper is asked in vain, and the waits between."""
    waits: list[float] = []
    lock = table_lock(options, Storage(path), sleep=waits.append)
    try:
        lock.provider.try_acquire()
    except LockError:
        return waits
    return "taken"


def _case(option: Option[Any], value: str, scenario: Scenario, **beside: str) -> Case:
    constants = {**vars(table), **vars(services), **vars(locks), **vars(write)}
    face = Face.LOCK if Face.LOCK in option.faces else Face.WRITE
    named = {constants[name].name: text for name, text in beside.items()}
    return Case(option, face, scenario, value, {**LEAN, **named})


_NOW = {"COMPACT_INLINE": "true", "COMPACT_AFTER_COMMITS": "3"}
_KEEP = {"CLEAN_COMMITS": "1", "ARCHIVE_AUTOMATIC": "false"}
_FEW = {"KEEP_MIN_COMMITS": "2", "KEEP_MAX_COMMITS": "3", "CLEAN_COMMITS": "1"}
_CLUSTER = {"CLUSTERING_INLINE": "true", "CLUSTERING_AFTER_COMMITS": "4"}
_RECENT = {"CLUSTERING_PARTITION_FILTER": "RECENT_DAYS"}
_SELECTED = {"CLUSTERING_PARTITION_FILTER": "SELECTED_PARTITIONS"}
_OCC = "OPTIMISTIC_CONCURRENCY_CONTROL"
_HELD = {"LOCK_PROVIDER": FILE_LOCK, "LOCK_CLIENT_RETRIES": "1", "LOCK_CLIENT_RETRY_WAIT": "100"}
_IN_METASTORE = {"LOCK_PROVIDER": METASTORE_LOCK, "LOCK_DATABASE": "d", "LOCK_TABLE": "t", "LOCK_URIS": "{uri}"}
_ZOOKEEPER = {"LOCK_PROVIDER": "ZookeeperBasedLockProvider", "ZOOKEEPER_URL": "127.0.0.1:1"}
_IN_VAIN = {
    "LOCK_PROVIDER": "ZookeeperBasedImplicitBasePathLockProvider",
    "ZOOKEEPER_URL": "127.0.0.1:1",
    "ZOOKEEPER_CONNECTION_TIMEOUT": "20",
}


def _metastore_case(option: Option[Any], value: str) -> Case:
    case = _case(option, value, in_metastore, **_IN_METASTORE)
    return Case(option, case.face, in_metastore, value, {k: v for k, v in case.beside.items() if k != option.name})


SERVICE_CASES = (
    _case(services.COMPACT_INLINE, "true", compacted, COMPACT_AFTER_COMMITS="3"),
    _case(services.COMPACT_SCHEDULE_INLINE, "true", compacted, COMPACT_AFTER_COMMITS="3"),
    _case(services.COMPACT_AFTER_COMMITS, "2", compacted, COMPACT_INLINE="true"),
    _case(services.COMPACT_AFTER_SECONDS, "1", late, COMPACT_INLINE="true", COMPACT_TRIGGER="TIME_ELAPSED"),
    _case(services.COMPACT_TRIGGER, "NUM_AND_TIME", compacted, **_NOW),
    _case(services.COMPACTION_STRATEGY, "UnBoundedCompactionStrategy", compacted, **_NOW, COMPACTION_TARGET_IO="1"),
    _case(services.COMPACTION_TARGET_IO, "1", compacted, **_NOW),
    _case(services.COMPACTION_LOG_SIZE, "1000000", compacted, **_NOW),
    _case(services.COMPACTION_LOG_COUNT, "2", compacted, **_NOW),
    _case(services.LOG_COMPACT_INLINE, "true", compacted, LOG_COMPACT_BLOCKS="2"),
    _case(services.LOG_COMPACT_BLOCKS, "2", compacted, LOG_COMPACT_INLINE="true"),
    _case(services.CLEAN_AUTOMATIC, "false", updated, **_KEEP),
    _case(services.CLEAN_POLICY, "KEEP_LATEST_FILE_VERSIONS", updated, CLEAN_VERSIONS="1"),
    _case(services.CLEAN_COMMITS, "1", updated),
    _case(services.CLEAN_HOURS, "1", aged, CLEAN_POLICY="KEEP_LATEST_BY_HOURS"),
    _case(services.CLEAN_INCREMENTAL, "false", looked_for),
    _case(services.CLEAN_VERSIONS, "1", updated, CLEAN_POLICY="KEEP_LATEST_FILE_VERSIONS"),
    _case(services.CLEAN_TRIGGER_COMMITS, "9", updated, **_KEEP),
    _case(services.FAILED_WRITES_POLICY, "NEVER", left_behind, HEARTBEAT_INTERVAL="1000"),
    _case(services.ARCHIVE_AUTOMATIC, "false", updated, **_FEW),
    _case(services.KEEP_MIN_COMMITS, "3", updated, **{**_FEW, "KEEP_MAX_COMMITS": "4"}),
    _case(services.KEEP_MAX_COMMITS, "3", updated, CLEAN_COMMITS="1", KEEP_MIN_COMMITS="2"),
    _case(services.ARCHIVE_BEYOND_SAVEPOINT, "true", saved, **_FEW, METADATA_ENABLE="false"),
    _case(services.CLUSTERING_INLINE, "true", inserted, CLUSTERING_AFTER_COMMITS="4"),
    _case(services.CLUSTERING_SCHEDULE_INLINE, "true", inserted, CLUSTERING_AFTER_COMMITS="4"),
    _case(services.CLUSTERING_AFTER_COMMITS, "9", inserted, CLUSTERING_INLINE="true"),
    _case(services.CLUSTERING_SORT_COLUMNS, "name", inserted, **_CLUSTER),
    _case(services.CLUSTERING_SMALL_FILE_LIMIT, "100", inserted, **_CLUSTER),
    _case(services.CLUSTERING_TARGET_SIZE, "1000", inserted, **_CLUSTER),
    _case(services.CLUSTERING_MAX_GROUP_SIZE, "1000", inserted, **_CLUSTER),
    _case(services.CLUSTERING_MAX_GROUPS, "1", inserted, **_CLUSTER),
    _case(services.CLUSTERING_SINGLE_GROUPS, "true", clustered_twice),
    _case(services.INCREMENTAL_SERVICES, "true", clustered_twice, CLUSTERING_SORT_COLUMNS="name"),
    _case(services.CLUSTERING_PARTITION_REGEX, "a", inserted, **_CLUSTER),
    _case(services.CLUSTERING_PARTITIONS, "a", inserted, **_CLUSTER),
    _case(services.CLUSTERING_PLAN_STRATEGY, services.SINGLE_FILE_PLAN, cluster_planned),
    _case(services.CLUSTERING_EXECUTION_STRATEGY, "JavaSortAndSizeExecutionStrategy", cluster_planned),
    _case(services.CLUSTERING_PARTITION_FILTER, "RECENT_DAYS", cluster_planned, CLUSTERING_LOOKBACK="1"),
    _case(services.CLUSTERING_LOOKBACK, "1", cluster_planned, **_RECENT),
    _case(services.CLUSTERING_SKIPPED, "1", cluster_planned, **_RECENT),
    _case(services.CLUSTERING_BEGIN_PARTITION, "b", cluster_planned, **_SELECTED, CLUSTERING_END_PARTITION="b"),
    _case(services.CLUSTERING_END_PARTITION, "a", cluster_planned, **_SELECTED, CLUSTERING_BEGIN_PARTITION="a"),
    _case(services.TTL_INLINE, "true", lapsed, TTL_DAYS="5"),
    _case(services.TTL_BY_CREATION, "KEEP_BY_CREATION_TIME", lapsed, TTL_INLINE="true", TTL_DAYS="5"),
    _case(services.TTL_DAYS, "5", lapsed, TTL_INLINE="true"),
    _case(services.TTL_PARTITIONS, "a", lapsed, TTL_INLINE="true", TTL_DAYS="5"),
    _case(services.TTL_MOST, "1", lapsed, TTL_INLINE="true", TTL_DAYS="1"),
    _case(services.LAYOUT_STRATEGY, "z-order", laid_out),
    _case(services.CURVE_BUILD_METHOD, "SAMPLE", laid_out, LAYOUT_STRATEGY="hilbert"),
    _case(services.CURVE_SAMPLE_SIZE, "2", laid_out, LAYOUT_STRATEGY="z-order", CURVE_BUILD_METHOD="SAMPLE"),
)

INDEX_BUILD_CASES = (
    Case(write.METADATA_INDEX_ASYNC, Face.WRITE, indexed, "true", {write.RECORD_INDEX.name: "true"}),
    Case(write.INDEX_CHECK_TIMEOUT, Face.WRITE, built_beside_a_write, "0", {write.RECORD_INDEX.name: "true"}),
)

LOCK_CASES = (
    _case(locks.CONCURRENCY_MODE, _OCC, interleaved, LOCK_PROVIDER=FILE_LOCK),
    _case(locks.HEARTBEAT_INTERVAL, "1000", left_behind),
    _case(locks.HEARTBEAT_MISSES, "1", left_behind),
    _case(locks.CONFLICT_RETRIES, "1", conflicting, CONCURRENCY_MODE=_OCC, LOCK_PROVIDER=FILE_LOCK),
    _case(locks.EARLY_DETECTION, "true", met, CONCURRENCY_MODE=_OCC, LOCK_PROVIDER=FILE_LOCK),
    _case(locks.LOCK_PROVIDER, FILE_LOCK, held),
    _case(locks.LOCK_PATH, "{path}/elsewhere", held, LOCK_PROVIDER=FILE_LOCK),
    _case(locks.LOCK_EXPIRE, "5", expired, **_HELD),
    _case(locks.LOCK_CLIENT_RETRIES, "3", waited, LOCK_PROVIDER=FILE_LOCK, LOCK_CLIENT_RETRY_WAIT="100"),
    _case(locks.LOCK_CLIENT_RETRY_WAIT, "70", waited, LOCK_PROVIDER=FILE_LOCK, LOCK_CLIENT_RETRIES="2"),
    _case(locks.LOCK_WAIT, "500", waited, **_HELD),
    _metastore_case(locks.LOCK_DATABASE, "other"),
    _metastore_case(locks.LOCK_TABLE, "other"),
    _metastore_case(locks.LOCK_URIS, "{uri}"),
    _metastore_case(locks.LOCK_HEARTBEAT, "5000"),
    _case(locks.LOCK_RETRIES, "1", not_connected, **_IN_VAIN, LOCK_RETRY_WAIT="1"),
    _case(locks.LOCK_RETRY_WAIT, "70", not_connected, **_IN_VAIN, LOCK_RETRIES="3"),
    _case(locks.LOCK_RETRY_LONGEST_WAIT, "30", not_connected, **_IN_VAIN, LOCK_RETRIES="3", LOCK_RETRY_WAIT="20"),
    _case(locks.ZOOKEEPER_URL, "h:1", place_of_lock, LOCK_PROVIDER="ZookeeperBasedImplicitBasePathLockProvider"),
    _case(locks.ZOOKEEPER_BASE_PATH, "/a", place_of_lock, **{**_ZOOKEEPER, "ZOOKEEPER_LOCK_KEY": "k"}),
    _case(locks.ZOOKEEPER_LOCK_KEY, "k", place_of_lock, **_ZOOKEEPER, ZOOKEEPER_BASE_PATH="/a", NAME="t"),
    _case(locks.ZOOKEEPER_SESSION_TIMEOUT, "9", place_of_lock, **_ZOOKEEPER, ZOOKEEPER_BASE_PATH="/a", NAME="t"),
    _case(locks.ZOOKEEPER_CONNECTION_TIMEOUT, "9", place_of_lock, **_ZOOKEEPER, ZOOKEEPER_BASE_PATH="/a", NAME="t"),
    _case(locks.STORAGE_VALIDITY, "600", place_of_lock, LOCK_PROVIDER="StorageBasedLockProvider"),
    _case(locks.STORAGE_RENEW_INTERVAL, "10", place_of_lock, LOCK_PROVIDER="StorageBasedLockProvider"),
    _case(locks.DYNAMODB_PARTITION_KEY, "k", place_of_lock, LOCK_PROVIDER="DynamoDBBasedLockProvider", NAME="t"),
    *(
        _case(option, value, place_of_lock, LOCK_PROVIDER="DynamoDBBasedImplicitPartitionKeyLockProvider")
        for option, value in (
            (locks.DYNAMODB_TABLE, "other"),
            (locks.DYNAMODB_REGION, "eu-west-1"),
            (locks.DYNAMODB_ENDPOINT, "http://127.0.0.1:1"),
            (locks.DYNAMODB_BILLING_MODE, "PROVISIONED"),
            (locks.DYNAMODB_READ_CAPACITY, "1"),
            (locks.DYNAMODB_WRITE_CAPACITY, "1"),
            (locks.DYNAMODB_CREATION_TIMEOUT, "1"),
        )
    ),
)
