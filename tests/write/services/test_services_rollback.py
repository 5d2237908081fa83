"""Rollback of tables that real Hudi wrote: pending and completed instants, markers or none, both layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive.errors import WriteError
from hudi_hive.metadata import validate
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline.instants import ROLLBACK
from hudi_hive.timeline.payloads import RollbackMetadata
from hudi_hive.write.files.markers import MarkerKind, create_marker, marker_folder
from hudi_hive.write.rollback import rollback_action
from hudi_hive.write.rollback.rollback_action import rollback, rollback_failed_writes
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import clean
from tests.write.shared.services_rollback_helpers import (
    context_of,
    copy_of,
    files,
    rows,
    version,
)

__all__ = ["version"]

OPTIMISTIC = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}


def test_leftovers_of_a_dead_writer_go(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_crash_leftover", tmp_path)
    before, seen = rows(path), files(path)
    done = rollback_failed_writes(context_of(path))
    assert len(done) == 1
    gone = {f"{p}/{n}" for p, part in done[0].partitions.items() for n in part.deleted}
    assert gone and files(path) == seen - gone
    assert all(done[0].rolled_back[0] in name for name in gone)
    client = MetaClient.load(path)
    assert not client.timeline.pending()
    assert [i.requested for i in client.timeline.completed({ROLLBACK})] == [done[0].instant.requested]
    assert client.timeline.rollback_metadata(done[0].instant).partitions == done[0].partitions
    assert rows(path) == before
    assert rollback_failed_writes(context_of(path)) == []


def test_a_rollback_finds_its_partitions_by_markers(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_crash_leftover", tmp_path)
    context = context_of(path)
    pending = context.client.timeline.pending()[0]
    left = [name for name in files(path) if pending.requested in name]
    for name in left:
        create_marker(context.client.storage, pending.requested, *name.rsplit("/", 1), MarkerKind.CREATE)
    done = rollback(context, pending)
    assert {f"{p}/{n}" for p, part in done.partitions.items() for n in part.deleted} == set(left)
    assert not context.client.storage.exists(marker_folder(pending.requested))


def test_server_markers_are_read(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_crash_leftover", tmp_path)
    context = context_of(path)
    pending = context.client.timeline.pending()[0]
    left = sorted(name for name in files(path) if pending.requested in name)
    folder = marker_folder(pending.requested)
    context.client.storage.write_bytes(f"{folder}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    text = "".join(f"{name}.marker.CREATE\n" for name in left)
    context.client.storage.write_bytes(f"{folder}/MARKERS0", text.encode())
    done = rollback(context, pending)
    assert {f"{p}/{n}" for p, part in done.partitions.items() for n in part.deleted} == set(left)


def test_the_last_delta_commit_is_undone(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_mor_rollback", tmp_path)
    writes = MetaClient.load(path).timeline.write_instants()
    table = HudiTable.open(path).scan(as_of=writes[-2].requested).to_arrow()
    names = [name for name in table.column_names if not name.startswith("_hoodie")]
    before = sorted(table.select(names).to_pylist(), key=repr)
    assert rows(path) != before
    done = rollback(context_of(path), writes[-1])
    assert rows(path) == before
    commands = {name for part in done.partitions.values() for name in part.command_logs}
    assert bool(commands) == (version == 6)
    assert all(name.endswith("_1-0-1") for name in commands)
    client = MetaClient.load(path)
    assert writes[-1].requested not in {i.requested for i in client.timeline.instants}
    assert client.timeline.rollback_metadata(done.instant).targets == ((writes[-1].requested, "deltacommit"),)


def test_pending_delta_commit_of_version_6_is_found_by_its_blocks(tmp_path: Path) -> None:
    """Without markers and without commit metadata the blocks themselves tell what it appended to."""
    path = copy_of("v6_mor_rollback", tmp_path)
    last = MetaClient.load(path).timeline.write_instants()[-1]
    before = HudiTable.open(path).scan().to_arrow().num_rows
    (path / last.path).unlink()
    for inflight in path.glob(f".hoodie/{last.requested}*inflight"):
        inflight.write_bytes(b"")
    hidden = rows(path)
    done = rollback_failed_writes(context_of(path))
    voided = {name for part in done[0].partitions.values() for name in part.failed_commit_logs}
    assert voided and before >= len(hidden)
    assert rows(path) == hidden


def test_a_rollback_that_died_is_taken_up(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_crash_leftover", tmp_path)
    before = rows(path)
    context = context_of(path)
    done = rollback_failed_writes(context)
    folder = path / Path(done[0].instant.path).parent
    (folder / done[0].instant.file_name).unlink()  # as if it had died just before completing
    again = rollback_failed_writes(context_of(path))
    assert [one.instant.requested for one in again] == [done[0].instant.requested]
    assert again[0].partitions == done[0].partitions
    assert not MetaClient.load(path).timeline.pending()
    assert rows(path) == before


def test_what_a_clean_deletes_beside_a_rollback_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In version 6 log files of a dead write stay, but a clean may give up their slice before they are listed."""
    path = tmp_path / "t"
    table = HudiTable.create(path, name="t", version=6, table_type="MERGE_ON_READ", record_keys=["id"])
    quiet = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false", **OPTIMISTIC}
    table.upsert(pa.table({"id": ["a"], "n": [1]}), quiet)
    dead = table.refresh().upsert(pa.table({"id": ["a"], "n": [2]}), quiet).instant
    log_files = {name for name in files(path) if ".log." in name}
    (path / dead.path).unlink()
    beat = path / ".hoodie" / ".heartbeat" / dead.requested
    beat.parent.mkdir(exist_ok=True)
    beat.touch()
    table.refresh().insert_overwrite(pa.table({"id": ["b"], "n": [3]}), quiet)
    beat.unlink()
    undo = rollback_action.undo

    def undo_beside_a_clean(*arguments: Any) -> RollbackMetadata:
        done = undo(*arguments)
        policy = {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "1"}
        assert clean(ServiceContext(MetaClient.load(path), quiet | policy)) is not None
        assert log_files and not log_files & files(path)
        return done

    monkeypatch.setattr(rollback_action, "undo", undo_beside_a_clean)
    assert rollback_failed_writes(ServiceContext(MetaClient.load(path), quiet))
    report = validate(MetaClient.load(path))
    assert report.is_valid, str(report)
    assert rows(path) == [{"id": "b", "n": 3}]


def test_living_writers_are_left_alone(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_crash_leftover", tmp_path)
    pending = MetaClient.load(path).timeline.pending()[0]
    Storage(path).write_bytes(f".hoodie/.heartbeat/{pending.requested}", b"")
    lazy = {"hoodie.cleaner.policy.failed.writes": "LAZY"}
    assert rollback_failed_writes(context_of(path, **lazy)) == []
    assert MetaClient.load(path).timeline.pending() == (pending,)
    Storage(path).delete(f".hoodie/.heartbeat/{pending.requested}")
    assert len(rollback_failed_writes(context_of(path, **lazy))) == 1


def test_what_cannot_be_undone_is_refused(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_part_mdt", tmp_path)
    writes = MetaClient.load(path).timeline.write_instants()
    seen = files(path)
    with pytest.raises(WriteError, match="completed after this one"):
        rollback(context_of(path), writes[0])
    savepointed = copy_of(f"v{version}_mor_parquet_log_rollback", tmp_path)
    point = MetaClient.load(savepointed).timeline.completed({"savepoint"})[0]
    with pytest.raises(WriteError, match="savepoint"):
        rollback(context_of(savepointed), point.requested)
    assert files(path) == seen
