"""One process at a time at the instant of a table service, and what others do meanwhile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import WriteConflictError
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant
from hudi_hive.timeline.archival import archive
from hudi_hive.timeline.core import TimelineWriter
from hudi_hive.timeline.instants import CLEAN, COMPACTION, DELTA_COMMIT, REPLACE_COMMIT, ROLLBACK
from hudi_hive.timeline.payloads import encode_requested_replace
from hudi_hive.write.coordination.heartbeat import FOLDER, WriterHeartbeat, beating_instants
from hudi_hive.write.coordination.locks import InProcessLock, TableLock
from hudi_hive.write.rollback.rollback_action import rollback, rollback_failed_writes
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services.cleaning import clean, schedule_clean
from hudi_hive.write.services.clustering import cluster, execute_clustering, schedule_clustering
from hudi_hive.write.services.compaction import compact, execute_compaction, schedule_compaction
from tests.support.running.long import with_long_cases

OFF = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.clean.commits.retained": "1",
    "hoodie.clustering.plan.strategy.sort.columns": "id",
}
LAZY = {**OFF, "hoodie.cleaner.policy.failed.writes": "LAZY"}
VERSIONS = pytest.mark.parametrize("version", [6, 8])


def rows(*values: tuple[str, int]) -> pa.Table:
    return pa.table({"id": [v[0] for v in values], "ts": pa.array([v[1] for v in values], pa.int64())})


def make(path: Path, version: int) -> HudiTable:
    table = HudiTable.create(
        path / "t",
        name="t",
        version=version,
        table_type="MERGE_ON_READ",
        record_keys=["id"],
        merge_mode="COMMIT_TIME_ORDERING",
    )
    table.insert(rows(("a", 1), ("b", 1)), OFF)
    table.upsert(rows(("a", 2)), OFF)
    return table


def seen(table: HudiTable) -> list[tuple[Any, ...]]:
    found = HudiTable.open(table.path).scan(selected_fields=["id", "ts"]).to_arrow()
    return sorted(zip(*found.to_pydict().values(), strict=True))


def context_of(table: HudiTable, options: dict[str, str] = OFF) -> ServiceContext:
    client = MetaClient.load(table.path)
    lock = TableLock(InProcessLock(client.base_path), client.base_path)
    return ServiceContext(client, options, lock=lambda: lock)


def begin(table: HudiTable, instant: Instant) -> Instant:
    return TimelineWriter(table.client.storage, table.config).transition_inflight(instant.action, instant.requested)


def dead_heartbeat(table: HudiTable, path: Path, instant: str) -> None:
    """The heartbeat of a process that has ended."""
    code = "import sys\nfrom hudi_hive.storage import Storage\n"
    code += "from hudi_hive.write.coordination.heartbeat import WriterHeartbeat"
    code += "\nWriterHeartbeat(Storage(sys.argv[1]), sys.argv[2]).start()"
    subprocess.run([sys.executable, "-c", code, str(path / "t"), instant], check=True)
    assert beating_instants(table.client.storage) == [instant]


SERVICES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "compaction": (schedule_compaction, execute_compaction, compact),
    "clustering": (schedule_clustering, execute_clustering, cluster),
}


@VERSIONS
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_that_another_process_is_at(tmp_path: Path, service: str, version: int) -> None:
    schedule, execute, run = SERVICES[service]
    table = make(tmp_path, version)
    planned = schedule(context_of(table))
    begin(table, planned)
    with WriterHeartbeat(table.client.storage, planned.requested):
        with pytest.raises(WriteConflictError, match="another process is at work"):
            execute(context_of(table), planned)
        assert run(context_of(table)) == []
        pending = MetaClient.load(table.path).timeline.pending()
        assert [(i.requested, i.state.name) for i in pending] == [(planned.requested, "INFLIGHT")]
    assert run(context_of(table))[0].requested == planned.requested
    with pytest.raises(WriteConflictError, match="completed or undone"):
        execute(context_of(table), planned)
    assert seen(table) == [("a", 2), ("b", 1)]
    assert beating_instants(table.client.storage) == []


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_whose_process_died_is_taken_up(tmp_path: Path, service: str) -> None:
    schedule, _, run = SERVICES[service]
    table = make(tmp_path, 8)
    planned = schedule(context_of(table))
    begin(table, planned)
    dead_heartbeat(table, tmp_path, planned.requested)
    assert run(context_of(table))[0].requested == planned.requested
    assert not (tmp_path / "t" / FOLDER / planned.requested).exists()
    assert seen(table) == [("a", 2), ("b", 1)]


@VERSIONS
def test_a_clean_that_another_process_is_at(tmp_path: Path, version: int) -> None:
    table = make(tmp_path, version)
    compact(context_of(table))
    table.upsert(rows(("b", 3)), OFF)
    planned = schedule_clean(context_of(table))
    assert planned is not None
    begin(table, planned)
    with WriterHeartbeat(table.client.storage, planned.requested):
        clean(context_of(table))
        assert planned.requested in {i.requested for i in MetaClient.load(table.path).timeline.pending({CLEAN})}
    done = clean(context_of(table))
    assert done is not None and done.instant.requested == planned.requested
    assert seen(table) == [("a", 2), ("b", 3)]


def abandoned(table: HudiTable) -> str:
    """A write that has begun, and of which no more is heard."""
    instant = "20990101000000000"
    writer = TimelineWriter(table.client.storage, table.config)
    writer.create_requested(DELTA_COMMIT, instant)
    writer.transition_inflight(DELTA_COMMIT, instant)
    return instant


@VERSIONS
def test_a_rollback_that_another_process_is_at(tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path, version)
    dead = abandoned(table)
    context, found = context_of(table, LAZY), []

    def undo(*arguments: Any) -> Any:
        monkeypatch.undo()  # the files are about to be undone: another writer begins now
        found.append(rollback_failed_writes(context_of(table, LAZY)))
        with pytest.raises(WriteConflictError, match="is being undone"):
            rollback(context_of(table), dead)
        from hudi_hive.write.rollback.rollback_action import undo as real

        return real(*arguments)

    monkeypatch.setattr("hudi_hive.write.rollback.rollback_action.undo", undo)
    assert len(rollback_failed_writes(context)) == 1
    assert found == [[]]
    timeline = MetaClient.load(table.path).timeline
    assert len(timeline.completed({ROLLBACK})) == 1 and not timeline.pending()
    assert beating_instants(table.client.storage) == []


def test_an_overwrite_that_was_undone_since_the_timeline_was_read(tmp_path: Path) -> None:
    table = make(tmp_path, 8)
    writer = TimelineWriter(table.client.storage, table.config)
    lost = writer.create_requested(REPLACE_COMMIT, "20990101000000000", encode_requested_replace())
    reader = HudiTable.open(table.path)
    assert reader.timeline.pending()
    writer.delete(lost)
    assert reader.scan().count() == 2
    assert reader.timeline.pending_clustering().num_rows == 0
    assert not reader.timeline.pending({COMPACTION})


@pytest.mark.parametrize(
    ("version", "archived"),
    with_long_cases([(6, True), (8, False)], [(version, archived) for version in (6, 8) for archived in (False, True)]),
)
def test_a_write_that_completes_while_it_is_looked_at_is_no_dead_one(
    version: int, archived: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its heartbeat ends when it completes; others may write, clean and archive before a slow process goes on."""
    table = make(tmp_path, version)
    first = table.client.timeline.write_instants()[0]
    for ts in range(3, 8 if archived else 4):
        table.upsert(rows(("a", ts)), {**OFF, "hoodie.metadata.enable": "false"})  # it would hold archival back
    if archived:
        archive(HudiTable.open(table.path).client, min_commits=2, max_commits=3)
    context = ServiceContext(HudiTable.open(table.path).client, LAZY)
    assert archived == all(i.requested != first.requested for i in context.client.timeline.instants)
    monkeypatch.setattr("hudi_hive.write.rollback.rollback_action._dead_writes", lambda context: [first])
    assert rollback_failed_writes(context) == []
    assert seen(table)[0] == ("a", 7 if archived else 3)
