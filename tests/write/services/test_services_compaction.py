"""Compaction and clustering of tables that real Hudi wrote: the same rows from new files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive.errors import CorruptFileError, UnknownColumnError, UnsupportedTableError
from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline.instants import COMMIT, COMPACTION, DELTA_COMMIT, instant_to_millis
from hudi_hive.write.options.settings import CompactionSettings
from hudi_hive.write.rollback.restore_action import restore
from hudi_hive.write.rollback.savepoint_action import create_savepoint
from hudi_hive.write.services.clustering import cluster, pending_clusterings, schedule_clustering
from hudi_hive.write.services.compaction import (
    compact,
    compaction_is_due,
    execute_compaction,
    plan_operations,
    schedule_compaction,
)
from tests.support.fixture_tables import VERSIONS
from tests.support.running.long import with_long_cases
from tests.write.shared.services_compaction_helpers import all_rows
from tests.write.shared.services_rollback_helpers import context_of, copy_of, files, version

__all__ = ["version"]

MOR = ("mor_event_time", "mor_commit_time", "mor_rollback", "mor_types", "mor_schema_evo", "mor_bucket")


def each_in_one_version(cases: tuple[str, ...]) -> list[Any]:
    """Each case with a table version, by turns, and in a long run with all."""
    short = [(case, VERSIONS[at % len(VERSIONS)]) for at, case in enumerate(cases)]
    return with_long_cases(short, itertools.product(cases, VERSIONS))


@pytest.mark.parametrize(("case", "version"), each_in_one_version(MOR))
def test_compaction_keeps_all_rows(case: str, version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_{case}", tmp_path)
    before = all_rows(path)
    done = compact(context_of(path))
    assert len(done) == 1
    assert all_rows(path) == before
    client = MetaClient.load(path)
    assert not client.timeline.pending()
    metadata = client.timeline.commit_metadata(client.timeline.completed({COMMIT})[-1])
    assert (metadata.operation, metadata.compacted) == ("COMPACT", True)
    slices = client.file_system_view().latest_merged_file_slices()
    assert pc.max(pc.list_value_length(slices["log_files"])).as_py() == 0
    assert not compaction_is_due(client, CompactionSettings(after_commits=1))
    optimised = HudiTable.open(path).scan(query_type="read_optimized").to_arrow()
    assert optimised.num_rows == len(before)
    assert compact(context_of(path)) == []


def test_the_strategy_says_which_slices_come_first(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    definition: dict[str, Any] = {"table_type": "MERGE_ON_READ", "record_keys": ["id"], "partition_fields": ["p"]}
    table = HudiTable.create(path, name="t", **definition)
    table.upsert(pa.table({"id": [1, 2], "p": ["many", "large"], "v": ["", ""]}))
    for part in ("many", "large", "many"):
        text = "".join(map(chr, range(256, 9000))) if part == "large" else ""
        table.upsert(pa.table({"id": [1 if part == "many" else 2], "p": [part], "v": [text]}))
    for strategy, first in (("LogFileNumBased", "many"), ("LogFileSizeBased", "large")):
        settings = CompactionSettings(strategy=f"{strategy}CompactionStrategy")
        assert plan_operations(MetaClient.load(path), settings, None)["partition"].to_pylist()[0] == first


def test_the_plan_opens_a_slice_and_can_be_run_later(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_mor_event_time", tmp_path)
    before = all_rows(path)
    planned = schedule_compaction(context_of(path))
    assert planned is not None
    client = MetaClient.load(path)
    plan = client.timeline.compaction_plan(client.timeline.pending({COMPACTION})[0])
    assert plan.operations.num_rows == 1 and plan.version == 2
    assert all_rows(path) == before
    assert schedule_compaction(context_of(path)) is None
    execute_compaction(context_of(path), planned)
    assert all_rows(path) == before


def test_a_compaction_that_fails_is_requested_again(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_mor_event_time", tmp_path)
    before, seen = all_rows(path), files(path)
    planned = schedule_compaction(context_of(path))
    assert planned is not None
    log = str(MetaClient.load(path).timeline.compaction_plan(planned).operations["log_files"][0][0])
    data = (path / log).read_bytes()
    (path / log).write_bytes(b"no log file at all" + data)
    with pytest.raises(CorruptFileError):
        execute_compaction(context_of(path), planned)
    (path / log).write_bytes(data)
    assert files(path) == seen
    pending = MetaClient.load(path).timeline.pending({COMPACTION})
    assert [(i.requested, i.state.name) for i in pending] == [(planned.requested, "REQUESTED")]
    assert all_rows(path) == before
    assert len(compact(context_of(path))) == 1
    assert all_rows(path) == before


def test_a_compaction_that_died_is_run_again(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_mor_event_time", tmp_path)
    before = all_rows(path)
    done = compact(context_of(path))[0]
    (path / done.path).unlink()  # died before completing, its files all written
    assert all_rows(path) == before
    again = compact(context_of(path))
    assert [i.requested for i in again] == [done.requested]
    assert all_rows(path) == before


def test_when_a_compaction_is_due(version: int, tmp_path: Path) -> None:
    client = MetaClient.load(copy_of(f"v{version}_mor_rollback", tmp_path))
    count = len(client.timeline.write_instants())
    assert compaction_is_due(client, CompactionSettings(after_commits=count))
    assert not compaction_is_due(client, CompactionSettings(after_commits=count + 1))
    with pytest.raises(UnsupportedTableError, match="merge-on-read"):
        schedule_compaction(context_of(copy_of(f"v{version}_cow_nonpart", tmp_path)))


@pytest.mark.parametrize(
    ("trigger", "few_early", "many_early", "few_late", "many_late"),
    [
        ("NUM_COMMITS", False, True, False, True),
        ("NUM_COMMITS_AFTER_LAST_REQUEST", False, True, False, True),
        ("TIME_ELAPSED", False, False, True, True),
        ("NUM_OR_TIME", False, True, True, True),
        ("NUM_AND_TIME", False, False, False, True),
    ],
)
def test_a_compaction_is_due_by_commits_and_by_time(
    trigger: str, few_early: bool, many_early: bool, few_late: bool, many_late: bool, version: int, tmp_path: Path
) -> None:
    path = copy_of(f"v{version}_mor_rollback", tmp_path)
    client = MetaClient.load(path)
    deltas = [i.requested for i in client.timeline.completed({DELTA_COMMIT})]
    assert not client.timeline.completed({COMMIT})
    first = instant_to_millis(min(deltas), client.config.timezone) // 1000 * 1000
    answers = []
    for now_ms in (first + 59_999, first + 60_000):
        for after in (len(deltas) + 1, len(deltas)):
            asked = CompactionSettings(after_commits=after, after_seconds=60, trigger=trigger)
            answers.append(compaction_is_due(client, asked, now_ms=now_ms))
    assert answers == [few_early, many_early, few_late, many_late]
    planned = schedule_compaction(context_of(path))
    assert planned is not None
    requested = trigger == "NUM_COMMITS_AFTER_LAST_REQUEST"
    one = CompactionSettings(after_commits=1, trigger="NUM_COMMITS_AFTER_LAST_REQUEST" if requested else "NUM_COMMITS")
    assert compaction_is_due(MetaClient.load(path), one) is not requested
    done = execute_compaction(context_of(path), planned)
    client = MetaClient.load(path)
    assert not compaction_is_due(client, CompactionSettings(after_commits=1))
    now_ms = instant_to_millis(done.requested, client.config.timezone) + 60_000
    asked = CompactionSettings(after_seconds=60, trigger=trigger)
    assert compaction_is_due(client, asked, now_ms=now_ms) == (trigger in ("TIME_ELAPSED", "NUM_OR_TIME"))


@pytest.mark.parametrize(
    ("case", "version"), each_in_one_version(("cow_ymd_hive", "cow_wide_250", "mor_rollback", "cow_types"))
)
def test_clustering_keeps_all_rows(case: str, version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_{case}", tmp_path)
    before = all_rows(path)
    key = "_hoodie_record_key"
    options = {"hoodie.clustering.plan.strategy.sort.columns": key}
    done = cluster(context_of(path, **options))
    assert len(done) == 1 and done[0].action == "replacecommit"
    assert all_rows(path) == before
    client = MetaClient.load(path)
    metadata = client.timeline.commit_metadata(client.timeline.write_instants()[-1])
    assert metadata.operation == "CLUSTER"
    assert metadata.replaced.num_rows >= metadata.write_stats.num_rows > 0
    for row in metadata.write_stats.select(["path"]).to_pylist():
        keys = pa.parquet.read_table(path / row["path"], columns=[key])[key].to_pylist()
        assert keys == sorted(keys)


def test_clustering_joins_small_groups_only(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_ymd_hive", tmp_path)
    small = {"hoodie.clustering.plan.strategy.small.file.limit": "1"}
    assert schedule_clustering(context_of(path, **small)) is None
    with pytest.raises(UnknownColumnError):
        schedule_clustering(context_of(path, **{"hoodie.clustering.plan.strategy.sort.columns": "nowhere"}))
    assert not pending_clusterings(MetaClient.load(path))


def test_restore_undoes_everything_after_a_savepoint(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_mor_event_time", tmp_path)
    before, seen = all_rows(path), files(path)
    point = create_savepoint(context_of(path))
    compact(context_of(path))
    cluster(context_of(path, **{"hoodie.clustering.plan.strategy.sort.columns": "_hoodie_record_key"}))
    assert files(path) > seen
    done = restore(context_of(path), point.instant.requested)
    assert len(done.rolled_back) == 2
    assert list(done.rolled_back) == sorted(done.rolled_back, reverse=True)
    assert (all_rows(path), files(path)) == (before, seen)
    client = MetaClient.load(path)
    assert client.timeline.restore_metadata(done.instant).rolled_back == done.rolled_back
    assert not client.timeline.pending()
