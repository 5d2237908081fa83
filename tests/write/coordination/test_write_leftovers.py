"""What writers and table services that died around an instant's beginning or end leave, and who takes it away."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive.cli import cli
from hudi_hive.errors import (
    InvalidOptionError,
    LockLostError,
    LockTimeoutError,
    MetastoreError,
    StorageError,
    WriteConflictError,
)
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.table_api import HudiTable
from hudi_hive.testing import FakeMetastore
from hudi_hive.timeline.core import TimelineWriter
from hudi_hive.timeline.instants import COMMIT, COMPACTION, REPLACE_COMMIT
from hudi_hive.write.commit.transaction import WriteTransaction
from hudi_hive.write.coordination.executor import LocalExecutor
from hudi_hive.write.coordination.heartbeat import WriterHeartbeat
from hudi_hive.write.coordination.locks import InProcessLock, TableLock
from hudi_hive.write.files.markers import MarkerKind, create_marker, marked_instants
from hudi_hive.write.options.config import WriteConfig
from hudi_hive.write.rollback.restore_action import restore
from hudi_hive.write.rollback.rollback_action import rollback_failed_writes
from hudi_hive.write.rollback.savepoint_action import create_savepoint
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services.clustering import cluster, schedule_clustering
from hudi_hive.write.services.clustering import execute_clustering as run_clustering
from hudi_hive.write.services.compaction import compact, execute_compaction, schedule_compaction

OFF = {"hoodie.metadata.enable": "false", "hoodie.clean.automatic": "false"}
MANY = {
    **OFF,
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
LAZY = {**OFF, "hoodie.cleaner.policy.failed.writes": "LAZY"}
METASTORE = {
    **MANY,
    "hoodie.write.lock.provider": "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider",
    "hoodie.write.lock.hivemetastore.database": "db",
    "hoodie.write.lock.hivemetastore.table": "t",
    "hoodie.write.lock.hivemetastore.uris": "thrift://127.0.0.1:1",
    "hoodie.write.lock.client.num_retries": "0",
}
SERVICES = {"compaction": (MERGE_ON_READ, compact), "clustering": (COPY_ON_WRITE, cluster)}

versions = pytest.mark.parametrize("version", [6, 8])


def rows(*values: tuple[str, int]) -> pa.Table:
    return pa.table({"id": [v[0] for v in values], "ts": pa.array([v[1] for v in values], pa.int64())})


def make(path: Path, version: int = 8, kind: str = COPY_ON_WRITE) -> HudiTable:
    table = HudiTable.create(
        path / "t", name="t", version=version, table_type=kind, record_keys=["id"], ordering_fields=["ts"]
    )
    table.insert(rows(("a", 1), ("b", 1)), OFF)
    table.upsert(rows(("a", 2)), OFF)
    return table


def seen(table: HudiTable) -> list[tuple[Any, ...]]:
    found = HudiTable.open(table.path).scan(selected_fields=["id", "ts"]).to_arrow()
    return sorted(zip(*found.to_pydict().values(), strict=True))


def context_of(table: HudiTable, lock: TableLock | None = None, **options: str) -> ServiceContext:
    given = {**OFF, "hoodie.clustering.plan.strategy.sort.columns": "id", **options}
    client = MetaClient.load(table.path)
    if lock is None:
        return ServiceContext(client, given, LocalExecutor(1))
    return ServiceContext(client, given, LocalExecutor(1), lock=lambda: lock)


def mark(table: HudiTable, instant: str) -> None:
    create_marker(table.client.storage, instant, "", f"x_0-0-0_{instant}.parquet", MarkerKind.CREATE)


# -- markers ---------------------------------------------------------------------------------------------------------


@versions
@pytest.mark.parametrize("options", [OFF, LAZY], ids=["eager", "lazy"])
def test_markers_of_what_completed_go(tmp_path: Path, version: int, options: dict[str, str]) -> None:
    table = make(tmp_path, version)
    done = table.client.timeline.write_instants()[0].requested
    mark(table, done)
    table.upsert(rows(("b", 3)), options)
    assert marked_instants(table.client.storage) == []
    assert seen(table) == [("a", 2), ("b", 3)]


def test_markers_of_what_is_pending_stay(tmp_path: Path) -> None:
    table = make(tmp_path)
    living = WriteTransaction(
        table.client, WriteConfig.of(MANY, table.client.config), action=COMMIT, operation="UPSERT"
    )
    living.begin()
    mark(table, living.instant)
    rollback_failed_writes(context_of(table, **LAZY))
    assert marked_instants(table.client.storage) == [living.instant]
    living.abort()
    assert marked_instants(table.client.storage) == []


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    table = make(tmp_path)
    (tmp_path / "t/.hoodie/.temp/not_an_instant").mkdir(parents=True)
    rollback_failed_writes(context_of(table))
    assert (tmp_path / "t/.hoodie/.temp/not_an_instant").is_dir()


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_stands_even_if_its_markers_cannot_go(
    tmp_path: Path, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, run = SERVICES[service]
    table = make(tmp_path, 8, kind)
    before = seen(table)

    def refuse(self: Storage, path: str, **_: object) -> None:
        raise StorageError("injected", path=path)

    with monkeypatch.context() as patch:
        patch.setattr(Storage, "delete_tree", refuse)
        done = run(context_of(table))
    assert marked_instants(table.client.storage) == [done[0].requested]
    assert seen(table) == before
    now = table.refresh().timeline
    assert now.pending() == () and now.get(done[0].requested).is_completed
    rollback_failed_writes(context_of(table))
    assert marked_instants(table.client.storage) == []


# -- heartbeats ------------------------------------------------------------------------------------------------------


def test_silent_heartbeats_without_an_instant_go(tmp_path: Path) -> None:
    table = make(tmp_path)
    storage = table.client.storage
    heartbeat = WriterHeartbeat(storage, "20200101000000000")
    heartbeat.beat()
    folder = tmp_path / "t/.hoodie/.heartbeat"
    rollback_failed_writes(context_of(table, **LAZY))
    assert [p.name for p in folder.iterdir()] == ["20200101000000000"]  # its writer is about to be on the timeline
    old = 1_577_836_800
    os.utime(folder / "20200101000000000", (old, old))
    rollback_failed_writes(context_of(table, **LAZY))
    assert list(folder.iterdir()) == []


# -- beginning -------------------------------------------------------------------------------------------------------


def test_a_write_that_cannot_begin_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path)
    storage = table.client.storage
    lock = TableLock(InProcessLock(storage.uri()), "t", retries=0)
    config = WriteConfig.of(MANY, table.client.config)
    original: Callable[..., object] = TimelineWriter.transition_inflight
    write = WriteTransaction(table.client, config, action=COMMIT, operation="UPSERT", lock=lock)
    with monkeypatch.context() as patch:
        patch.setattr(TimelineWriter, "transition_inflight", _letting(original, COMMIT))
        with pytest.raises(StorageError, match="injected"):
            write.begin()
    assert table.refresh().timeline.pending() == ()
    assert list((tmp_path / "t/.hoodie/.heartbeat").iterdir()) == []
    table.upsert(rows(("b", 3)), OFF)
    assert seen(table) == [("a", 2), ("b", 3)]


def _letting(original: Callable[..., Any], refused: str) -> Callable[..., Any]:
    """A transition that fails for one action and works for all others."""

    def transition(self: TimelineWriter, action: str, *arguments: Any, **options: Any) -> Any:
        if action == refused:
            raise StorageError("injected")
        return original(self, action, *arguments, **options)

    return transition


# -- services complete -----------------------------------------------------------------------------------------------


class _LostLock(InProcessLock):
    def verify(self) -> None:
        raise LockLostError("lost on demand")


@versions
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_without_its_lock_does_not_complete(tmp_path: Path, version: int, service: str) -> None:
    kind, run = SERVICES[service]
    table = make(tmp_path, version, kind)
    before, writes = seen(table), len(table.refresh().timeline.write_instants())
    with pytest.raises(LockLostError):
        run(context_of(table, TableLock(_LostLock("t"), "t", retries=0)))
    assert len(table.refresh().timeline.write_instants()) == writes
    assert seen(table) == before
    rollback_failed_writes(context_of(table))
    assert run(context_of(table))
    assert seen(table) == before


def test_a_savepoint_without_its_lock_does_not_complete(tmp_path: Path) -> None:
    table = make(tmp_path)
    with pytest.raises(LockLostError):
        create_savepoint(context_of(table, TableLock(_LostLock("t"), "t", retries=0)))
    assert table.refresh().timeline.completed({"savepoint"}) == ()


class _Meanwhile(LocalExecutor):
    """Does something once, when the first tasks of a service are done."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__(1)
        self._act: Callable[[], object] | None = act

    def map(self, function: Any, tasks: Any) -> Any:
        done = super().map(function, tasks)
        act, self._act = self._act, None
        if act is not None:
            act()
        return done


def with_executor(context: ServiceContext, act: Callable[[], object]) -> ServiceContext:
    return ServiceContext(context.client, context.options, _Meanwhile(act), context.lock, context.clock)


@versions
def test_clustering_gives_way_to_a_write_of_its_groups(tmp_path: Path, version: int) -> None:
    table = make(tmp_path, version)
    context = context_of(table)
    planned = schedule_clustering(context)
    assert planned is not None

    def foreign() -> None:
        """A writer that does not know of clustering: an upsert of the clustered group from a copy of the table."""
        other = tmp_path / "other" / "t"
        shutil.copytree(tmp_path / "t", other, ignore=shutil.ignore_patterns(f"*{planned.requested}*"))
        HudiTable.open(other).upsert(rows(("b", 9)), OFF)
        shutil.copytree(other, tmp_path / "t", dirs_exist_ok=True)

    with pytest.raises(WriteConflictError, match="same file group"):
        run_clustering(with_executor(context, foreign), planned)
    assert seen(table) == [("a", 2), ("b", 9)]
    assert not MetaClient.load(table.path).timeline.pending()  # a plan that cannot succeed bars its groups no longer


@versions
def test_compaction_gives_way_to_who_undid_it(tmp_path: Path, version: int) -> None:
    table = make(tmp_path, version, MERGE_ON_READ)
    before = seen(table)
    planned = schedule_compaction(context_of(table))
    assert planned is not None

    def undo() -> None:
        for path in (tmp_path / "t/.hoodie").rglob(f"{planned.requested}.compaction.inflight"):
            path.unlink()

    with pytest.raises(WriteConflictError, match="rolled it back"):
        execute_compaction(with_executor(context_of(table), undo), planned)
    assert seen(table) == before
    assert len(compact(context_of(table))) == 1
    assert seen(table) == before


@pytest.mark.parametrize("service", SERVICES)
def test_a_plan_outlives_a_restore(tmp_path: Path, service: str) -> None:
    kind, run = SERVICES[service]
    table = make(tmp_path, 8, kind)
    schedule = schedule_compaction if service == "compaction" else schedule_clustering
    planned = schedule(context_of(table))
    assert planned is not None
    table.insert(rows(("c", 1)), {**OFF, "hoodie.parquet.small.file.limit": "0"})
    create_savepoint(context_of(table))
    point = MetaClient.load(table.path).timeline.completed({"savepoint"})[0].requested
    table.insert(rows(("d", 1)), {**OFF, "hoodie.parquet.small.file.limit": "0"})
    restore(context_of(table), point)
    before = seen(table)
    assert run(context_of(table))[0].requested == planned.requested
    assert seen(table) == before == [("a", 2), ("b", 1), ("c", 1)]
    assert MetaClient.load(table.path).timeline.pending({COMPACTION, REPLACE_COMMIT}) == ()


# -- the metastore's lock --------------------------------------------------------------------------------------------


def with_metastore(metastore: FakeMetastore) -> dict[str, str]:
    uris = {"hoodie.write.lock.hivemetastore.uris": metastore.uri}
    return {**METASTORE, **uris, "hoodie.write.lock.wait_time_ms": "10"}


def test_writes_take_the_metastores_lock(tmp_path: Path) -> None:
    table = make(tmp_path)
    with FakeMetastore() as metastore:
        options = with_metastore(metastore)
        table.upsert(rows(("b", 3)), options)
        assert metastore.counts["lock"] == metastore.counts["unlock"] >= 2
        other = MetastoreLock.connect(metastore.uri, "db", "t")
        assert other.try_acquire()
        with pytest.raises(LockTimeoutError, match=r"metastore.s lock of db\.t"):
            table.upsert(rows(("b", 4)), options)
        with pytest.raises(LockTimeoutError):
            table.delete_partitions([""], options)
        used = other._metastore
        other.release()
        with pytest.raises(MetastoreError):
            used.databases()  # closed: the lock keeps no connection that it has no use for
        assert other.try_acquire()
        other.release()
        table.upsert(rows(("b", 5)), options)
    assert seen(table) == [("a", 2), ("b", 5)]


def test_table_commands_take_the_metastores_lock(tmp_path: Path) -> None:
    table = make(tmp_path)
    with FakeMetastore() as metastore:
        options = with_metastore(metastore)
        given = [f"--conf={key}={value}" for key, value in options.items()]
        other = MetastoreLock.connect(metastore.uri, "db", "t")
        assert other.try_acquire()
        refused = CliRunner().invoke(cli, ["table", "savepoint", table.path, *given])
        assert isinstance(refused.exception, LockTimeoutError) or "metastore's lock of db.t" in refused.output
        assert refused.exit_code != 0
        other.release()
        done = CliRunner().invoke(cli, ["table", "savepoint", table.path, *given])
        assert done.exit_code == 0, done.output
    assert len(table.refresh().timeline.completed({"savepoint"})) == 1


def test_the_metastores_lock_needs_its_names(tmp_path: Path) -> None:
    table = make(tmp_path)
    options = {key: value for key, value in METASTORE.items() if not key.endswith(".table")}
    with pytest.raises(InvalidOptionError, match=r"hivemetastore\.table"):
        table.upsert(rows(("b", 3)), options)
