"""Several processes, or threads, that write one table without knowing of each other.

``HUDI_HIVE_RACES=N`` runs N races of two processes in place of a few, ``HUDI_HIVE_RACE=SEED`` begins with that seed.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    WriteConflictError,
)
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.table import MetaClient
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.timeline.core import InstantClock
from hudi_hive.write.coordination.executor import LocalExecutor
from hudi_hive.write.coordination.heartbeat import WriterHeartbeat, beating_instants, remove_heartbeat
from hudi_hive.write.coordination.locks import TableLock, table_lock
from hudi_hive.write.files.markers import MarkerKind, create_marker, marked_instants
from hudi_hive.write.files.write_tasks import run_write_task
from hudi_hive.write.rollback.restore_action import restore
from hudi_hive.write.rollback.rollback_action import rollback, rollback_failed_writes, undo
from hudi_hive.write.rollback.savepoint_action import create_savepoint
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services.cleaning import schedule_clean
from hudi_hive.write.services.clustering import schedule_clustering
from hudi_hive.write.services.compaction import schedule_compaction
from hudi_hive.write.writers.local import LocalWriter
from tests.write.shared.concurrency_helpers import QUICK, make, rows, seen, transaction

kinds = pytest.mark.parametrize("kind", [COPY_ON_WRITE, MERGE_ON_READ])
everywhere = pytest.mark.parametrize(
    ("version", "kind"), [(6, COPY_ON_WRITE), (8, MERGE_ON_READ), (9, COPY_ON_WRITE), (6, MERGE_ON_READ)]
)


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


def test_a_restore_undoes_what_was_written_after_its_request(tmp_path: Path) -> None:
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
