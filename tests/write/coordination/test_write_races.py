"""Several processes, or threads, that write one table without knowing of each other.

``HUDI_HIVE_RACES=N`` runs N races of two processes in place of a few, ``HUDI_HIVE_RACE=SEED`` begins with that seed.
"""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    LockLostError,
    LockTimeoutError,
    TableExistsError,
    TableNotFoundError,
    WriteConflictError,
    WriteError,
)
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.timeline.core import InstantClock
from hudi_hive.timeline.instants import COMMIT, DELTA_COMMIT
from hudi_hive.write.commit.transaction import WriteTransaction
from hudi_hive.write.coordination.executor import LocalExecutor
from hudi_hive.write.coordination.folder_lock import TableFolderLock
from hudi_hive.write.coordination.heartbeat import WriterHeartbeat, beating_instants, remove_heartbeat
from hudi_hive.write.coordination.locks import InProcessLock, TableLock, table_lock
from hudi_hive.write.files.markers import MarkerKind, create_marker, marked_instants
from hudi_hive.write.files.write_tasks import run_write_task
from hudi_hive.write.options.config import WriteConfig
from hudi_hive.write.rollback.restore_action import restore
from hudi_hive.write.rollback.rollback_action import rollback, rollback_failed_writes, undo
from hudi_hive.write.rollback.savepoint_action import create_savepoint
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services.archival import archive_instants
from hudi_hive.write.services.cleaning import schedule_clean
from hudi_hive.write.services.clustering import schedule_clustering
from hudi_hive.write.services.compaction import schedule_compaction
from hudi_hive.write.writers.local import LocalWriter
from tests.support.faults.table_races import Outcome, Race, run
from tests.support.running.long import with_long_cases

FILE_SYSTEM = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
QUICK = {"hoodie.metadata.enable": "false", "hoodie.clean.automatic": "false"}
AT_ONCE = {"hoodie.write.lock.client.num_retries": "0"}
ROOT = Path(__file__).resolve().parents[3]

kinds = pytest.mark.parametrize("kind", [COPY_ON_WRITE, MERGE_ON_READ])
everywhere = pytest.mark.parametrize(
    ("version", "kind"), [(6, COPY_ON_WRITE), (8, MERGE_ON_READ), (9, COPY_ON_WRITE), (6, MERGE_ON_READ)]
)


def rows(*keys: str, value: int = 1, **columns: str) -> pa.Table:
    more = {name: [text] * len(keys) for name, text in columns.items()}
    return pa.table({"id": list(keys), "value": pa.array([value] * len(keys), pa.int64()), **more})


def make(path: Path, version: int = 8, kind: str = COPY_ON_WRITE) -> HudiTable:
    table = HudiTable.create(path / "t", name="t", version=version, table_type=kind, record_keys=["id"])
    table.insert(rows("a", "b"), QUICK)
    return table


def seen(table: HudiTable, *columns: str) -> list[tuple[Any, ...]]:
    found = HudiTable.open(table.path).scan(selected_fields=["id", "value", *columns]).to_arrow()
    return sorted(zip(*found.to_pydict().values(), strict=True))


def transaction(table: HudiTable, options: dict[str, str] | None = None, **settings: Any) -> WriteTransaction:
    action = DELTA_COMMIT if table.config.is_merge_on_read else COMMIT
    config = WriteConfig.of({**QUICK, **(options or {})}, table.config)
    return WriteTransaction(table.refresh().client, config, action=action, operation="UPSERT", **settings)


class Meanwhile(LocalExecutor):
    """Writes the files of one write, and lets something happen behind that or ahead of it."""

    def __init__(self, what: Callable[[], object], *, ahead: bool = False) -> None:
        super().__init__(1)
        self._what = what
        self._ahead = ahead

    def map(self, function: Any, tasks: Any) -> Any:
        if function is run_write_task and self._ahead:
            self._what()
        done = super().map(function, tasks)
        if function is run_write_task and not self._ahead:
            self._what()
        return done


def upsert_while(
    table: HudiTable, what: Callable[[], object], written: pa.Table, *, ahead: bool = False, **options: str
) -> None:
    given = {**QUICK, "hoodie.datasource.write.operation": "upsert", **options}
    LocalWriter(table.refresh().client, given, executor=Meanwhile(what, ahead=ahead)).write(written)


def data_files(table: HudiTable) -> set[str]:
    return {path.name for path in Path(table.client.storage.root).glob("*") if path.is_file()}


# -- races of two processes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", with_long_cases(range(1, 7), range(1, 101)))
def test_nothing_acknowledged_is_lost_to_another_process(tmp_path: Path, seed: int) -> None:
    outcome: Outcome = run(Race.of(seed), tmp_path)
    assert not outcome.wrong, "\n".join(outcome.wrong)
    assert outcome.counts["acknowledged"] + outcome.counts["killed"]


def _create(path: Path, start: Any, results: Any) -> None:
    start.wait()
    try:
        HudiTable.create(path, name=f"t{os.getpid()}", record_keys=["id"])
        results.put("made")
    except TableExistsError as error:
        results.put("there" if str(path) in str(error) else str(error))
    except BaseException as error:
        results.put(repr(error))


def test_one_of_six_processes_creates_a_table(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hudi_hive.write.writers.local", "tests.support.faults.table_races"])
    start, results = context.Barrier(6), context.Queue()
    processes = [context.Process(target=_create, args=(tmp_path / "t", start, results)) for _ in range(6)]
    for process in processes:
        process.start()
    said = Counter(results.get(timeout=300) for _ in processes)
    for process in processes:
        process.join(300)
    assert said == {"made": 1, "there": 5}
    table = HudiTable.open(tmp_path / "t")
    assert int(table.name[1:]) in {process.pid for process in processes}
    table.insert(rows("a"), QUICK)
    assert seen(table) == [("a", 1)]


def _write_at(path: Path, worker: int, start: Any, results: Any) -> None:
    """Write with a wall clock that stands still."""
    import hudi_hive.timeline.core.instant_times as times

    times.time.time_ns = lambda: 1_800_000_000_000_000_000  # type: ignore[assignment]
    start.wait()
    done = 0
    for number in range(3):
        for _ in range(50):
            try:
                HudiTable.open(path).upsert(rows(f"{worker}-{number}"), QUICK)
            except WriteConflictError:
                continue
            done += 1
            break
    results.put(done)


@pytest.mark.parametrize("version", [6, 8])
def test_processes_whose_clocks_stand_still_draw_distinct_instants(tmp_path: Path, version: int) -> None:
    table = make(tmp_path, version)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hudi_hive.write.writers.local", "tests.support.faults.table_races"])
    start, results = context.Barrier(2), context.Queue()
    path = tmp_path / "t"
    processes = [context.Process(target=_write_at, args=(path, one, start, results)) for one in range(2)]
    for process in processes:
        process.start()
    assert [results.get(timeout=300) for _ in processes] == [3, 3]
    for process in processes:
        process.join(300)
    assert len(seen(table)) == 8
    instants = HudiTable.open(table.path).timeline.instants
    times = [i.requested for i in instants] + [i.completed for i in instants if i.completed]
    assert len(times) == len(set(times))


# -- two writers in one process, step by step --------------------------------------------------------------------------


@everywhere
def test_a_single_writer_leaves_a_living_one_alone(tmp_path: Path, version: int, kind: str) -> None:
    table = make(tmp_path, version, kind)
    with pytest.raises(WriteConflictError, match=r"of another writer completed meanwhile.*lock provider"):
        upsert_while(table, lambda: table.upsert(rows("c"), QUICK), rows("n"))
    assert seen(table) == [("a", 1), ("b", 1), ("c", 1)]
    assert table.refresh().timeline.pending() == ()
    upsert_while(table, lambda: rollback_failed_writes(ServiceContext(table.client, QUICK)), rows("n"))
    assert seen(table) == [("a", 1), ("b", 1), ("c", 1), ("n", 1)]
    assert beating_instants(table.client.storage) == []


@pytest.mark.parametrize("policy", ["EAGER", "LAZY"])
def test_a_write_whose_heartbeat_ended_is_undone(tmp_path: Path, policy: str) -> None:
    table = make(tmp_path)
    dead, living = transaction(table), transaction(table)
    dead.begin()
    living.begin()
    assert dead._heartbeat is not None
    dead._heartbeat.stop()
    table.upsert(rows("c"), {**QUICK, "hoodie.cleaner.policy.failed.writes": policy})
    assert [i.requested for i in table.refresh().timeline.pending()] == [living.instant]
    living.abort()
    assert table.refresh().timeline.pending() == ()


@everywhere
@pytest.mark.parametrize("ahead", [True, False])
def test_files_written_after_a_rollback_by_others_are_removed(
    tmp_path: Path, version: int, kind: str, ahead: bool
) -> None:
    table = make(tmp_path, version, kind)
    left: set[str] = set()

    def taken_for_dead() -> None:
        for instant in beating_instants(table.client.storage):
            remove_heartbeat(table.client.storage, instant)
        table.upsert(rows("c"), QUICK)
        left.update(data_files(table))

    with pytest.raises(WriteConflictError, match="rolled it back"):
        upsert_while(table, taken_for_dead, rows("a", "n", value=2), ahead=ahead)
    assert data_files(table) == left
    assert seen(table) == [("a", 1), ("b", 1), ("c", 1)]
    assert marked_instants(table.client.storage) == []


@pytest.mark.parametrize("version", [6, 8])
def test_a_refused_write_leaves_no_log_files_of_new_groups(tmp_path: Path, version: int) -> None:
    """Once its instant is archived they would count."""
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "8"}
    table = HudiTable.create(tmp_path / "t", name="t", version=version, table_type=MERGE_ON_READ, record_keys=["id"])
    table.upsert(rows("a"), {**QUICK, **buckets})
    keys = [f"n{number}" for number in range(40)]
    with pytest.raises(WriteConflictError):
        upsert_while(table, lambda: table.upsert(rows("b"), {**QUICK, **buckets}), rows(*keys), **buckets)
    instants = {instant.requested for instant in table.refresh().timeline.write_instants()}
    logs = [name for name in data_files(table) if ".log." in name]
    assert {re.split("[_.]", name)[2] for name in logs if not name.endswith("_1-0-1")} <= instants
    archive = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}
    for value in range(2, 7):
        table.upsert(rows("a", value=value), {**QUICK, **buckets, **archive, "hoodie.clean.automatic": "true"})
    assert table.timeline.write_instants()[0].requested > max(instants)
    assert seen(table) == [("a", 6), ("b", 1)]


def test_files_of_an_undone_write_that_came_late_go_with_their_markers(tmp_path: Path) -> None:
    table = make(tmp_path)
    before = data_files(table)
    instant = InstantClock().new_instant(table.timeline)
    name = f"{uuid.uuid4()}-0_0-0-0_{instant}.parquet"
    create_marker(table.client.storage, instant, "", name, MarkerKind.CREATE)
    table.client.storage.write_bytes(name, b"of a task that nobody waits for")
    done = table.timeline.write_instants()[0].requested
    kept = next(name for name in before if done in name)
    create_marker(table.client.storage, done, "", kept, MarkerKind.CREATE)
    table.upsert(rows("c"), QUICK)
    assert before <= data_files(table) and name not in data_files(table)
    assert marked_instants(table.client.storage) == []
    assert seen(table) == [("a", 1), ("b", 1), ("c", 1)]


@pytest.mark.parametrize("service", [schedule_clean, schedule_compaction, schedule_clustering, create_savepoint])
def test_nothing_is_planned_while_a_completed_write_is_being_rolled_back(
    tmp_path: Path, service: Callable[[ServiceContext], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clean would delete the files of before, which are needed once those of the write are gone."""
    table = make(tmp_path, 8, MERGE_ON_READ)
    last = table.upsert(rows("a", value=2), QUICK).instant
    context = ServiceContext(table.client, {**QUICK, "hoodie.clustering.plan.strategy.sort.columns": "id"})

    def during(*_: object, **__: object) -> object:
        with pytest.raises(WriteConflictError, match="a rollback of this instant has not ended"):
            service(context.reload())
        return undo(*_, **__)  # type: ignore[arg-type]

    monkeypatch.setattr("hudi_hive.write.rollback.rollback_action.undo", during)
    rollback(context, last)
    assert seen(table) == [("a", 1), ("b", 1)]


def test_a_restore_undoes_what_was_written_while_it_was_asked_for(tmp_path: Path) -> None:
    table = make(tmp_path)
    context = ServiceContext(table.client, QUICK)
    savepoint = create_savepoint(context).instant.requested
    reload = ServiceContext.reload
    written: list[str] = []

    def late(self: ServiceContext) -> ServiceContext:
        now = reload(self)
        if not written:
            written.append("c")
            table.upsert(rows(*written), QUICK)
        return now

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServiceContext, "reload", late)
        done = restore(context, savepoint)
    assert len(done.rolled_back) == 1 and len(written) == 1
    assert seen(table) == [("a", 1), ("b", 1)]


def test_a_schema_that_grew_since_a_table_was_opened_does_not_shrink(tmp_path: Path) -> None:
    table = make(tmp_path)
    early = HudiTable.open(table.path)
    assert early.schema().names[-1] == "value"
    table.upsert(rows("c", more="new"), QUICK)
    early.upsert(rows("d"), QUICK)
    assert seen(table, "more") == [("a", 1, None), ("b", 1, None), ("c", 1, "new"), ("d", 1, None)]


def test_rows_that_were_prepared_before_the_schema_grew_are_refused(tmp_path: Path) -> None:
    table = make(tmp_path)
    early = HudiTable.open(table.path).client
    assert early.avro_schema() is not None
    table.update_schema(QUICK).add("more", "string").commit()
    late = transaction(table)
    late.client = early
    with pytest.raises(WriteConflictError, match="schema"), late:
        from hudi_hive.write.files.statuses import joined
        from hudi_hive.write.records.keyed_records import KeyedRecords

        late.commit(joined([]), schema=KeyedRecords.of_table(early).schema_text)
    assert HudiTable.open(table.path).schema().names[-1] == "more"


@kinds
def test_an_alter_waits_for_no_writer_and_the_writer_is_refused(tmp_path: Path, kind: str) -> None:
    table = make(tmp_path, 8, kind)
    alter = table.refresh().update_schema(QUICK).add("more", "string")
    with pytest.raises(WriteConflictError, match="write again"):
        upsert_while(table, alter.commit, rows("c"))
    assert seen(table, "more") == [("a", 1, None), ("b", 1, None)]


def test_what_a_write_has_read_may_not_be_rolled_back(tmp_path: Path) -> None:
    table = make(tmp_path)
    undone = table.upsert(rows("c"), QUICK).instant
    context = ServiceContext(table.client, QUICK)
    with pytest.raises(WriteConflictError, match=f"{undone.requested}, which it read, was rolled back"):
        upsert_while(table, lambda: rollback(context, undone), rows("a", value=2))
    assert seen(table) == [("a", 1), ("b", 1)]


def test_a_record_index_that_was_made_meanwhile_lacks_no_record(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.upsert(rows("c"), {"hoodie.clean.automatic": "false"})

    def index() -> None:
        with table_lock({}, table.client.storage):
            MetadataWriter(MetaClient.load(table.path), {}).initialise(["record_index"])

    with pytest.raises(WriteConflictError, match="record index meanwhile"):
        upsert_while(table, index, rows("d"), **{"hoodie.metadata.enable": "true"})
    table.refresh().upsert(rows("d"), {"hoodie.index.type": "RECORD_INDEX"})
    table.upsert(rows("d", value=2), {"hoodie.index.type": "RECORD_INDEX"})
    assert seen(table) == [("a", 1), ("b", 1), ("c", 1), ("d", 2)]


def test_an_instant_with_a_living_heartbeat_is_not_drawn(tmp_path: Path) -> None:
    """So writers of stores without locks, which may draw one instant at the same time, do not share it."""
    table = make(tmp_path)
    now = 4_000_000_000_000
    unlocked = TableLock(_NoLock(), table.path)
    first = transaction(table, lock=unlocked, clock=InstantClock(lambda: now))
    second = transaction(table, lock=unlocked, clock=InstantClock(lambda: now))
    taken = InstantClock(lambda: now).new_instant(table.timeline)
    with WriterHeartbeat(table.client.storage, taken):
        first.begin()
        assert first.instant > taken
    second.begin()
    assert second.instant not in (first.instant, taken)
    first.abort()
    second.abort()
    assert table.refresh().timeline.pending() == () and beating_instants(table.client.storage) == []


class _NoLock:
    def try_acquire(self) -> bool:
        return True

    def verify(self) -> None:
        pass

    def release(self) -> None:
        pass

    def holder(self) -> str:
        return "nobody"


def test_threads_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    table = make(tmp_path)
    done: list[str] = []
    refused: list[str] = []

    def write(worker: int) -> None:
        for number in range(4):
            try:
                HudiTable.open(table.path).upsert(rows(f"{worker}-{number}", "shared", value=worker), QUICK)
                done.append(f"{worker}-{number}")
            except WriteConflictError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) + len(refused) == 12 and done
    assert [row[0] for row in seen(table)] == sorted([*done, "a", "b", "shared"])


# -- the lock of the folder --------------------------------------------------------------------------------------------

_HOLDER = """
import os, sys, time
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks import table_lock
lock = table_lock({}, Storage(sys.argv[1]))
lock.acquire()
child = os.fork()  # has copies of the lock's descriptor
if child == 0:
    os.close(1)
    time.sleep(600)
print(child, flush=True)
time.sleep(600)
"""


def test_a_killed_process_lets_go_though_its_forked_child_lives(tmp_path: Path) -> None:
    table = make(tmp_path)
    command = [sys.executable, "-c", _HOLDER, str(tmp_path / "t")]
    holder = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    try:
        with pytest.raises(LockTimeoutError, match=f"process {holder.pid} holds"):
            table.upsert(rows("c"), {**QUICK, **AT_ONCE})
        other = {**QUICK, **AT_ONCE, "hoodie.write.lock.provider": FILE_SYSTEM}
        with pytest.raises(LockTimeoutError):
            archive_instants(ServiceContext(table.client, other))
        assert not (tmp_path / "t/.hoodie/lock").exists()
    finally:
        holder.kill()
        holder.wait()
    table.upsert(rows("c"), {**QUICK, **AT_ONCE})
    os.kill(child, signal.SIGKILL)
    assert seen(table) == [("a", 1), ("b", 1), ("c", 1)]
    assert not [name for name in os.listdir(tmp_path / "t/.hoodie") if "lock" in name]


def test_a_forked_child_neither_holds_the_lock_nor_ends_the_write(tmp_path: Path) -> None:
    table = make(tmp_path)
    running = transaction(table)
    running.begin()
    lock = table_lock(AT_ONCE, table.client.storage)
    lock.acquire()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with pytest.raises(LockLostError):
                lock.verify()
            lock.release()
            running.abort()  # the parent's
            with pytest.raises(WriteError, match="fork"):
                running.commit(pa.table({}), schema="{}")
            with pytest.raises(LockTimeoutError):
                table_lock(AT_ONCE, table.client.storage).acquire()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    lock.verify()
    lock.release()
    assert [i.requested for i in table.refresh().timeline.pending()] == [running.instant]
    assert beating_instants(table.client.storage) == [running.instant]
    running.abort()


def test_the_lock_of_a_table_that_was_replaced_is_lost(tmp_path: Path) -> None:
    table = make(tmp_path)
    lock = TableFolderLock(table.client.storage)
    assert lock.try_acquire()
    os.rename(tmp_path / "t", tmp_path / "gone")
    for replace in (lambda: None, lambda: make(tmp_path)):
        replace()
        with pytest.raises(LockLostError, match="write again"):
            lock.verify()
    lock.release()
    with pytest.raises(TableNotFoundError):
        TableFolderLock(Storage(tmp_path / "none")).try_acquire()


def test_a_file_is_locked_where_folders_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path)
    real, refused = fcntl.flock, set()

    def flock(descriptor: int, operation: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            refused.add("folder")
            raise OSError(errno.EBADF, "not open for writing")
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    first, second = TableFolderLock(table.client.storage), TableFolderLock(table.client.storage)
    assert first.try_acquire() and not second.try_acquire()
    first.verify()
    first.release()
    assert second.try_acquire()
    second.release()
    table.upsert(rows("c"), QUICK)
    assert seen(table) == [("a", 1), ("b", 1), ("c", 1)] and refused


def test_table_services_take_the_lock_without_being_given_one(tmp_path: Path) -> None:
    table = make(tmp_path)
    with InProcess(table), pytest.raises(LockTimeoutError):
        archive_instants(ServiceContext(table.client, {**QUICK, **AT_ONCE}))


class InProcess:
    """The lock of this process, held by another thread."""

    def __init__(self, table: HudiTable) -> None:
        self._lock = InProcessLock(table.client.storage.uri())

    def __enter__(self) -> None:
        thread = threading.Thread(target=self._lock.try_acquire)
        thread.start()
        thread.join()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
