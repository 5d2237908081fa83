"""Cleans of tables that real Hudi wrote: what each policy keeps, savepoints, dropped partitions, taking up again."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.compute as pc
import pytest

from hudi_hive.errors import InvalidOptionError, TimeTravelError
from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline.core import InstantClock
from hudi_hive.timeline.instants import CLEAN
from hudi_hive.write.rollback.savepoint_action import create_savepoint, delete_savepoint
from hudi_hive.write.services.cleaning import (
    BY_COMMITS,
    BY_VERSIONS,
    CleanPolicy,
    clean,
    plan_clean,
    schedule_clean,
)
from hudi_hive.write.services.compaction import execute_compaction, schedule_compaction
from hudi_hive.write.writers import LocalWriter
from tests.support.options.write_cases import LEAN, make
from tests.support.options.write_cases import rows as rows_of
from tests.write.shared.services_rollback_helpers import context_of, copy_of, files, rows, version

__all__ = ["version"]

COMMITS = {"hoodie.clean.policy": BY_COMMITS, "hoodie.clean.commits.retained": "1"}


def test_old_versions_go_and_rows_stay(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_nonpart", tmp_path)
    before, seen = rows(path), files(path)
    writes = MetaClient.load(path).timeline.write_instants()
    done = clean(context_of(path, **COMMITS))
    assert done is not None
    gone = {f"{p}/{n}".lstrip("/") for p, part in done.partitions.items() for n in part.deleted}
    assert gone and files(path) == seen - gone
    assert done.earliest_retained == writes[-1].requested
    assert rows(path) == before
    client = MetaClient.load(path)
    assert client.timeline.clean_metadata(done.instant).partitions == done.partitions
    assert client.timeline.cleaner_plan(done.instant).files.num_rows == done.total_files_deleted == len(gone)
    with pytest.raises(TimeTravelError):
        HudiTable.open(path).scan(as_of=writes[0].requested).to_arrow()
    assert clean(context_of(path, **COMMITS)) is None


def test_retained_commits_stay_readable(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_nonpart", tmp_path)
    writes = MetaClient.load(path).timeline.write_instants()
    answers = {w.requested: HudiTable.open(path).scan(as_of=w.requested).to_arrow() for w in writes}
    clean(context_of(path, **{**COMMITS, "hoodie.clean.commits.retained": "2"}))
    for write in writes[-2:]:
        assert HudiTable.open(path).scan(as_of=write.requested).to_arrow().equals(answers[write.requested])


def test_merge_on_read_keeps_what_its_rows_need(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_mor_event_time", tmp_path)
    before = rows(path)
    done = clean(context_of(path, **COMMITS))
    assert done is not None and done.total_files_deleted > 0
    assert rows(path) == before


def test_cleaning_keeps_the_latest_file_versions(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_nonpart", tmp_path)
    client = MetaClient.load(path)
    everything = plan_clean(client, CleanPolicy(BY_VERSIONS, versions=100))
    assert everything.files.num_rows == 0
    kept = plan_clean(client, CleanPolicy(BY_VERSIONS, versions=1))
    bases = client.list_files()
    bases = bases.filter(pc.ends_with(bases["name"], ".parquet"))
    latest = client.file_system_view().latest_base_files()
    assert kept.files.num_rows == bases.num_rows - latest.num_rows
    assert kept.earliest_retained is None


def test_cleaning_keeps_the_latest_hours(version: int, tmp_path: Path) -> None:
    client = MetaClient.load(copy_of(f"v{version}_cow_nonpart", tmp_path))
    writes = client.timeline.write_instants()
    from hudi_hive.timeline.instants import instant_to_millis

    last = instant_to_millis(writes[-1].requested, client.config.timezone)
    plan = plan_clean(client, CleanPolicy("KEEP_LATEST_BY_HOURS", hours=1), now_ms=last + 3_600_000)
    assert plan.earliest_retained == writes[-1].requested and plan.files.num_rows > 0
    young = plan_clean(client, CleanPolicy("KEEP_LATEST_BY_HOURS", hours=1), now_ms=last)
    assert young.earliest_retained == writes[0].requested and young.files.num_rows == 0


def test_a_write_cleans_by_hours(tmp_path: Path) -> None:
    make(tmp_path)
    hours = {**LEAN, "hoodie.cleaner.policy": "KEEP_LATEST_BY_HOURS", "hoodie.cleaner.hours.retained": "2"}
    bases = []
    for ago in (9, 8, 1, 0):
        writer = LocalWriter(HudiTable.open(tmp_path).client, hours)
        writer.clock = InstantClock(partial(lambda past: time.time_ns() // 1_000_000 - past * 3_600_000, ago))
        writer.write(rows_of(0, 5, p=["a"] * 5, ts=[9 - ago] * 5))
        bases.append(len(list(tmp_path.glob("a/*.parquet"))))
    # The slice of 8 hours ago is the newest one at the earliest commit that stays readable, of 1 hour ago.
    assert bases == [1, 2, 2, 3]
    (cleaned,) = HudiTable.open(tmp_path).timeline.completed({"clean"})
    metadata = HudiTable.open(tmp_path).timeline.clean_metadata(cleaned)
    assert metadata.earliest_retained == HudiTable.open(tmp_path).timeline.write_instants()[2].requested


def test_savepoints_keep_their_files(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_nonpart", tmp_path)
    context = context_of(path, **COMMITS)
    first = context.client.timeline.write_instants()[0]
    old = {name for name in files(path) if first.requested in name}
    point = create_savepoint(context, first.requested, user="me", comments="before the change")
    assert {name for names in point.partitions.values() for name in names} == {Path(name).name for name in old}
    client = MetaClient.load(path)
    kept = client.timeline.savepoint_metadata(client.timeline.completed({"savepoint"})[0])
    assert (kept.by, kept.comments, kept.partitions) == ("me", "before the change", point.partitions)
    clean(context_of(path, **COMMITS))
    assert old <= files(path)
    delete_savepoint(context_of(path), first.requested)
    assert clean(context_of(path, **COMMITS)) is not None
    assert not old & files(path)


def test_a_clean_that_died_is_taken_up(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_nonpart", tmp_path)
    before = rows(path)
    instant = schedule_clean(context_of(path, **COMMITS))
    assert instant is not None
    plan = MetaClient.load(path).timeline.cleaner_plan(instant)
    (path / plan.files["name"][0].as_py()).unlink()  # it had deleted one file
    done = clean(context_of(path, **COMMITS))
    assert done is not None and done.instant.requested == instant.requested
    assert not MetaClient.load(path).timeline.pending({CLEAN})
    assert not {str(name) for name in plan.files["name"].to_pylist()} & files(path)
    assert rows(path) == before


def test_emptied_partitions_are_dropped(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_cdc", tmp_path)
    before = rows(path)
    done = clean(context_of(path, **COMMITS))
    assert done is not None
    assert rows(path) == before
    dropped = [p for p, part in done.partitions.items() if part.partition_deleted]
    assert all(not (path / partition).exists() for partition in dropped)


def test_unknown_policies_are_refused() -> None:
    with pytest.raises(InvalidOptionError, match="is not one of KEEP_LATEST_COMMITS"):
        CleanPolicy.of({"hoodie.clean.policy": "KEEP_ALL"})
    with pytest.raises(InvalidOptionError, match="above zero"):
        CleanPolicy.of({"hoodie.clean.commits.retained": "0"})


@pytest.mark.parametrize(
    ("policy", "retained"),  # the base files and log files that Hudi 1.0.2 and 1.1.1 keep of such a table
    [
        (CleanPolicy("KEEP_LATEST_BY_HOURS", hours=1), (1, 2)),
        (CleanPolicy("KEEP_LATEST_BY_HOURS", hours=6), (2, 3)),
        (CleanPolicy("KEEP_LATEST_BY_HOURS", hours=7), (3, 4)),
        (CleanPolicy(BY_COMMITS, commits=2), (1, 2)),
        (CleanPolicy(BY_COMMITS, commits=3), (2, 3)),
        (CleanPolicy(BY_VERSIONS, versions=1), (1, 2)),
        (CleanPolicy(BY_VERSIONS, versions=2), (2, 3)),
    ],
)
def test_a_pending_compaction_keeps_what_it_reads_and_no_slice_more(
    policy: CleanPolicy, retained: tuple[int, int], compacting_table: Path
) -> None:
    table = HudiTable.open(compacting_table)
    names = table.client.list_files()["name"].to_pylist()
    gone = set(plan_clean(table.client, policy).files["name"].to_pylist())
    left = [name for name in names if name not in gone]
    assert (sum(name.endswith(".parquet") for name in left), sum(".log." in name for name in left)) == retained


@pytest.fixture(scope="module")
def compacting_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Deltacommits 9, 8, 7, 6 and 5 hours ago, a compaction after each, the last one pending, and a write after it."""
    path = tmp_path_factory.mktemp("compacting")
    make(path, table_type="MERGE_ON_READ")
    options = {**LEAN, "hoodie.clean.automatic": "false", "hoodie.compact.inline.max.delta.commits": "1"}

    def ago(hours: float) -> InstantClock:
        return InstantClock(lambda: time.time_ns() // 1_000_000 - int(hours * 3_600_000))

    for hours in (9, 8, 7, 6, 5, 0.5):
        writer = LocalWriter(HudiTable.open(path).client, options)
        writer.clock = ago(hours)
        writer.write(rows_of(0, 5, p=["a"] * 5))
        if 0.5 < hours < 9:
            context = replace(context_of(path, **options), clock=ago(hours - 0.3))
            plan = schedule_compaction(context)
            if hours > 5 and plan is not None:
                execute_compaction(context, plan)
    return path
