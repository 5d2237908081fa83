"""Files of undone writes that appear behind the rollback, as a store carries requests out late."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.formats.log import BlockType, iter_blocks
from hudi_hive.table.view import FileKind, parse_file_names
from hudi_hive.timeline.instants import RESTORE, ROLLBACK, Instant
from hudi_hive.write.files.markers import MarkerKind, create_marker
from tests.support.running.long import with_long_cases
from tests.write.shared.services_rollback_helpers import files

OPTIONS = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}
QUIET = {**OPTIONS, "hoodie.archive.automatic": "false"}
Rows = Mapping[str, int]


def batch(value: int, *keys: str) -> pa.Table:
    """Rows whose partition is the first letter of their key."""
    return pa.table({"id": list(keys), "p": [key[0] for key in keys], "v": pa.array([value] * len(keys), pa.int64())})


def root(table: HudiTable) -> Path:
    return Path(table.client.storage.root)


def seen(table: HudiTable) -> Rows:
    rows = table.refresh().scan().to_arrow()
    return dict(zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True))


def make(path: Path, version: int, kind: str) -> HudiTable:
    table = HudiTable.create(
        path / "t", name="t", version=version, table_type=kind, record_keys=["id"], partition_fields=["p"]
    )
    table.upsert(batch(0, "a1", "b1"), QUIET)
    return table


def dying(table: HudiTable, *keys: str) -> tuple[str, dict[str, bytes]]:
    """A write that died while all its files were under way: its instant, and the files."""
    path = root(table)
    before = files(path)
    instant = table.refresh().upsert(batch(99, *keys), QUIET).instant
    made = (name for name in files(path) - before if ".hoodie_partition" not in name and not name.endswith(".crc"))
    late = {name: (path / name).read_bytes() for name in made}
    for name in late:
        folder, _, file = name.rpartition("/")
        create_marker(table.client.storage, instant.requested, folder, file, MarkerKind.CREATE)
        (path / name).unlink()
    (path / instant.path).unlink()
    return instant.requested, late


def bring_back(table: HudiTable, late: Mapping[str, bytes]) -> None:
    for name, data in late.items():
        (root(table) / name).write_bytes(data)


def archived(table: HudiTable, instant: str) -> bool:
    """Whether an instant counts as complete because it is older than the active timeline."""
    first = table.refresh().client.timeline.first_active()
    return first is not None and instant < first


def undo_by_write(table: HudiTable) -> None:
    table.refresh().upsert(batch(1, "a1"), QUIET)


def undo_by_restore(table: HudiTable) -> None:
    point = table.refresh().client.timeline.write_instants()[-1].requested
    table.refresh().savepoint(options=QUIET)
    table.refresh().restore(point, options=QUIET)
    table.refresh().delete_savepoint(point, options=QUIET)


UNDO: Mapping[str, Callable[[HudiTable], None]] = {"write": undo_by_write, "restore": undo_by_restore}


@pytest.mark.parametrize(
    ("undo", "version", "kind"),
    with_long_cases(
        [("write", 6, "MERGE_ON_READ"), ("restore", 8, "COPY_ON_WRITE"), ("restore", 9, "MERGE_ON_READ")],
        itertools.product(UNDO, (6, 8, 9), ("COPY_ON_WRITE", "MERGE_ON_READ")),
    ),
)
def test_late_files_never_count(tmp_path: Path, version: int, kind: str, undo: str) -> None:
    table = make(tmp_path, version, kind)
    instant, late = dying(table, "b1", "c1")
    assert {name[0] for name in late} == {"b", "c"}
    UNDO[undo](table)
    bring_back(table, late)
    steps = range(2, 9)
    for step in steps:
        table.refresh().upsert(batch(step, "a1"), OPTIONS)
        assert seen(table) == {"a1": step, "b1": 0}, f"{step} {archived(table, instant)}"
    assert archived(table, instant)
    voided = {name for name in late if is_appended(table, name, instant)}
    assert bool(voided) == (version == 6 and kind == "MERGE_ON_READ")
    assert set(late) & files(root(table)) == voided


def is_appended(table: HudiTable, name: str, instant: str) -> bool:
    """Whether a log file bears another instant than that of its write."""
    parts = parse_file_names(pa.array([name.rpartition("/")[2]])).to_pylist()[0]
    return parts["kind"] == FileKind.LOG.value and parts["instant"] != instant


def test_a_command_is_behind_a_log_file_that_is_not_there(tmp_path: Path) -> None:
    table = make(tmp_path, 6, "MERGE_ON_READ")
    table.upsert(batch(1, "b1"), QUIET)
    _, late = dying(table, "b1")
    (name,) = late
    undo_by_write(table)
    version = int(name.rpartition(".log.")[2].partition("_")[0])
    command = f"{name.rpartition('.log.')[0]}.log.{version + 1}_1-0-1"
    assert name not in files(root(table))
    blocks = list(iter_blocks((root(table) / command).read_bytes(), command))
    assert [block.type for block in blocks] == [BlockType.COMMAND]
    (done,) = table.refresh().client.timeline.completed({ROLLBACK})
    part = table.refresh().client.timeline.rollback_metadata(done).partitions["b"]
    assert set(part.command_logs) == {command.rpartition("/")[2]} and not part.failed_commit_logs


@pytest.mark.parametrize("version", [6, 9])
def test_files_that_come_behind_the_first_sweep_go_with_the_rollback(tmp_path: Path, version: int) -> None:
    table = make(tmp_path, version, "COPY_ON_WRITE")
    undo_by_write(table)
    instant, late = dying(table, "b1")
    undo_by_write(table)
    step, rollbacks = 2, 1
    came = False
    while rollbacks:
        table.refresh().upsert(batch(step, "a1"), OPTIONS)
        rollbacks = len(table.refresh().client.timeline.completed({ROLLBACK}))
        if archived(table, instant) and not came and rollbacks:
            bring_back(table, late)
            came = True
        step += 1
    assert came and not set(late) & files(root(table))
    assert seen(table)["b1"] == 0


def test_archival_waits_for_commits_behind_a_rollback(tmp_path: Path) -> None:
    """Not for a time: as many writes come between as stay active."""
    table = make(tmp_path, 9, "COPY_ON_WRITE")
    instant, _ = dying(table, "b1")
    heartbeat = root(table) / ".hoodie/.heartbeat" / instant
    heartbeat.write_bytes(b"")  # another machine's writer that lives
    for step in range(2, 6):
        table.refresh().upsert(batch(step, "a1"), QUIET)
    heartbeat.unlink()
    table.refresh().rollback(instant, options=QUIET)
    for missing in (2, 1):
        report = table.refresh().archive(options=OPTIONS).result
        assert not archived(table, instant)
        assert report.reason == "a write that was undone lately", missing
        table.refresh().upsert(batch(9, "a1"), QUIET)
    table.refresh().archive(options=OPTIONS)
    assert archived(table, instant)


def test_nothing_is_listed_where_nothing_was_undone(tmp_path: Path) -> None:
    table = make(tmp_path, 9, "COPY_ON_WRITE")
    for step in range(1, 6):
        table.refresh().upsert(batch(step, "a1"), QUIET)
    table = HudiTable.open(root(table))
    report = table.archive(options=OPTIONS).result
    assert report.archived
    places = [table.client.storage.uri(name) for name in "ab"]
    assert not set(places) & set(table.client.storage.counters.listed)


def test_files_of_a_service_that_ran_again_stay(tmp_path: Path) -> None:
    """A rollback of a compaction leaves its plan, so that the same instant completes later."""
    table = make(tmp_path, 9, "MERGE_ON_READ")
    table.upsert(batch(1, "a1", "b1"), QUIET)
    (plan,) = (
        table.refresh().compact(schedule=True, options={**QUIET, "hoodie.compact.inline.max.delta.commits": "1"}).result
    )
    table.refresh().compact(execute=True, options=QUIET)
    done: Instant = next(i for i in table.refresh().client.timeline.write_instants() if i.requested == plan.requested)
    (root(table) / done.path).unlink()
    table.refresh().rollback(plan.requested, options=QUIET)
    assert not table.refresh().client.timeline.completed({RESTORE})
    (again,) = table.refresh().compact(execute=True, options=QUIET).result
    assert again.requested == plan.requested
    for step in range(2, 8):
        table.refresh().upsert(batch(step, "a1"), OPTIONS)
    assert archived(table, plan.requested)
    assert seen(table) == {"a1": 7, "b1": 1}
    assert any(plan.requested in name for name in files(root(table)))
