"""What services must leave for later: replaced rows stay so, savepoints can be gone back to, plans can be run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.errors import TimeTravelError, UnsupportedTableError, WriteError
from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline import Instant
from hudi_hive.timeline.instants import COMPACTION, REPLACE_COMMIT
from hudi_hive.write.rollback.restore_action import restore
from hudi_hive.write.rollback.rollback_action import rollback
from hudi_hive.write.rollback.savepoint_action import create_savepoint, delete_savepoint
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services.archival import archive_instants
from hudi_hive.write.services.cleaning import clean, schedule_clean
from hudi_hive.write.services.clustering import cluster, execute_clustering, schedule_clustering
from hudi_hive.write.services.compaction import execute_compaction, schedule_compaction
from tests.support.fixture_tables import VERSIONS, unzip_fixture

BARE = {"hoodie.metadata.enable": "false", "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
KEEP = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
BEYOND = {**KEEP, "hoodie.archive.beyond.savepoint": "true"}


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def make(folder: Path, version: int, kind: str = "COPY_ON_WRITE") -> Path:
    HudiTable.create(folder / "t", name="t", version=version, table_type=kind, record_keys=["id"])
    return folder / "t"


def rows(number: int, *ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "n": pa.array([number] * len(ids), pa.int64())})


def seen(path: Path, as_of: str | None = None) -> dict[int, int]:
    found = HudiTable.open(path).scan(selected_fields=["id", "n"], as_of=as_of).to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["n"] for row in found}


def context(path: Path, options: dict[str, str] | None = None) -> ServiceContext:
    return ServiceContext(MetaClient.load(path), {**BARE, **(options or {})})


def writes(path: Path) -> list[str]:
    return sorted(i.requested for i in MetaClient.load(path).timeline.write_instants())


def test_replaced_rows_do_not_come_back_when_their_savepoint_goes(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version)
    HudiTable.open(path).insert(rows(0, 1, 2), BARE)
    saved = create_savepoint(context(path)).instant.requested
    HudiTable.open(path).insert_overwrite_table(rows(1, 3), BARE)
    for number in range(2, 7):
        HudiTable.open(path).upsert(rows(number, 3), BARE)
    clean(context(path, KEEP))  # leaves the savepoint's files
    delete_savepoint(context(path), saved)
    report = archive_instants(context(path, KEEP))
    assert report.reason == "replaced files that are there yet"
    assert seen(path) == {3: 6}
    HudiTable.open(path).upsert(rows(7, 3), BARE)
    clean(context(path, KEEP))
    replacing = MetaClient.load(path).timeline.completed({REPLACE_COMMIT})
    archived = archive_instants(context(path, KEEP)).archived
    assert {i.requested for i in replacing} <= {i.requested for i in archived}
    assert seen(path) == {3: 7}


def test_replaced_rows_do_not_come_back_beyond_a_savepoint(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version)
    HudiTable.open(path).insert(rows(0, 1, 2), BARE)
    saved = create_savepoint(context(path)).instant.requested
    HudiTable.open(path).insert_overwrite_table(rows(1, 3), BARE)
    for number in range(2, 7):
        HudiTable.open(path).upsert(rows(number, 3), BARE)
    clean(context(path, KEEP))
    archive_instants(context(path, BEYOND))
    assert seen(path) == {3: 6}
    restore(context(path), saved)
    assert seen(path) == {1: 0, 2: 0}


def test_a_restore_over_archived_writes_is_refused(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version)
    for number in range(6):
        HudiTable.open(path).upsert(rows(number, 1, number), BARE)
        if number == 0:
            saved = create_savepoint(context(path)).instant.requested
    assert archive_instants(context(path, BEYOND)).archived
    before, known = seen(path), writes(path)
    with pytest.raises(WriteError, match="archived and cannot be undone") as caught:
        restore(context(path), saved)
    assert caught.value.remedy and caught.value.instant == saved
    assert (seen(path), writes(path)) == (before, known)
    assert not MetaClient.load(path).timeline.pending()


def test_a_table_has_its_schema_after_a_restore(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version)
    for number in range(3):
        HudiTable.open(path).upsert(rows(number, 1, 2), BARE)
    cluster(context(path, {"hoodie.clustering.plan.strategy.sort.columns": "id"}))
    saved = create_savepoint(context(path)).instant.requested  # of the clustering, which tells no schema
    for number in range(3, 8):
        HudiTable.open(path).upsert(rows(number, 1, 2), BARE)
    archive_instants(context(path, KEEP))
    restore(context(path), saved)
    assert seen(path) == {1: 2, 2: 2}
    HudiTable.open(path).upsert(rows(9, 2), BARE)
    assert seen(path) == {1: 2, 2: 9}


def test_a_write_under_a_planned_compaction_is_not_undone(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version, "MERGE_ON_READ")
    HudiTable.open(path).insert(rows(0, 1, 2), BARE)
    HudiTable.open(path).upsert(rows(1, 2), BARE)
    last = writes(path)[-1]
    planned = schedule_compaction(context(path))
    assert planned is not None
    with pytest.raises(WriteError, match=f"the compaction planned at {planned.requested}"):
        rollback(context(path), last)
    assert seen(path) == {1: 0, 2: 1}
    HudiTable.open(path).upsert(rows(2, 1), BARE)
    rollback(context(path), writes(path)[-1])  # it came after the plan
    execute_compaction(context(path), MetaClient.load(path).timeline.pending({COMPACTION})[0])
    assert seen(path) == {1: 0, 2: 1}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_write_under_a_planned_clustering_is_not_undone(version: int, kind: str, tmp_path: Path) -> None:
    path = make(tmp_path, version, kind)
    HudiTable.open(path).insert(rows(0, 1, 2), BARE)
    HudiTable.open(path).upsert(rows(1, 2), BARE)
    planned = schedule_clustering(context(path, {"hoodie.clustering.plan.strategy.sort.columns": "id"}))
    assert planned is not None
    with pytest.raises(WriteError, match=f"the clustering planned at {planned.requested}"):
        rollback(context(path), writes(path)[-1])
    execute_clustering(context(path), planned)
    assert seen(path) == {1: 0, 2: 1}


def test_schema_versions_are_not_lost(version: int, tmp_path: Path) -> None:
    """Hudi of versions from 8 on keeps one history file, which goes with the write that is undone."""
    path = unzip_fixture(f"v{version}_cow_schema_evo", tmp_path)
    as_it_was = writes(path)
    past = HudiTable.open(path).scan(as_of=as_it_was[-2]).to_arrow()
    versions = MetaClient.load(path).schema_history()
    rollback(context(path), as_it_was[-1])
    assert writes(path) == as_it_was[:-1]
    assert HudiTable.open(path).scan().to_arrow().sort_by("id").equals(past.sort_by("id"))
    left = tuple(one for one in versions if one.version_id <= int(as_it_was[-2]))
    assert MetaClient.load(path).schema_history() == left
    assert not [name for name in os.listdir(path / ".hoodie/.schema") if name.startswith(as_it_was[-1])]


def test_a_clean_by_file_versions_does_not_hide_one_by_commits(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version)
    for number in range(4):
        HudiTable.open(path).upsert(rows(number, 1), BARE)
    first = writes(path)[0]
    clean(context(path, KEEP))
    HudiTable.open(path).upsert(rows(9, 1), BARE)
    by_versions = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
    clean(context(path, by_versions))
    with pytest.raises(TimeTravelError):
        seen(path, first)


@pytest.mark.parametrize("options", [{}, {"hoodie.index.type": "BUCKET"}])
def test_buckets_are_not_clustered(version: int, options: dict[str, str], tmp_path: Path) -> None:
    path = unzip_fixture(f"v{version}_mor_bucket", tmp_path)
    sort = {"hoodie.clustering.plan.strategy.sort.columns": "_hoodie_record_key"}
    with pytest.raises(UnsupportedTableError, match="a table with a bucket index"):
        schedule_clustering(context(path, sort | options))
    assert not MetaClient.load(path).timeline.pending()


def test_an_old_version_that_a_savepoint_keeps_does_not_come_back(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version)
    HudiTable.open(path).insert(rows(0, 1, 2), BARE)
    create_savepoint(context(path))
    HudiTable.open(path).upsert(rows(1, 1), BARE)
    HudiTable.open(path).insert_overwrite_table(rows(2, 3), BARE)
    by_versions = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
    assert clean(context(path, by_versions))
    with pytest.raises(WriteError, match="was cleaned"):
        rollback(context(path), writes(path)[-1])
    assert seen(path) == {3: 2}


def test_rows_are_not_sorted_by_lists(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version)
    HudiTable.open(path).insert(pa.table({"id": [1, 2], "tags": [["a"], ["b"]]}), BARE)
    sort = {"hoodie.clustering.plan.strategy.sort.columns": "tags"}
    with pytest.raises(UnsupportedTableError, match="not sorted by column 'tags'"):
        schedule_clustering(context(path, sort))
    assert not MetaClient.load(path).timeline.pending()


def test_no_savepoint_of_what_a_planned_clean_takes(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version)
    for number in range(3):
        HudiTable.open(path).upsert(rows(number, 1, 2), BARE)
    first, second, _ = writes(path)
    planned = schedule_clean(context(path, KEEP))
    assert planned is not None
    with pytest.raises(WriteError, match=f"the clean planned at {planned.requested} is to delete files"):
        create_savepoint(context(path), first)
    create_savepoint(context(path), second)
    clean(context(path, KEEP))
    restore(context(path), second)
    assert seen(path) == {1: 1, 2: 1}


def test_no_savepoint_of_what_a_clean_by_file_versions_took(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version)
    for number in range(3):
        HudiTable.open(path).upsert(rows(number, 1, 2), BARE)
    by_versions = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "2"}
    clean(context(path, by_versions))
    first, second, _ = writes(path)
    with pytest.raises(WriteError, match="files of this instant were cleaned"):
        create_savepoint(context(path), first)
    create_savepoint(context(path), second)


@pytest.mark.parametrize("plan", [schedule_compaction, schedule_clustering])
def test_a_plan_is_taken_back(version: int, plan: Callable[..., Instant], tmp_path: Path) -> None:
    path = make(tmp_path, version, "MERGE_ON_READ")
    HudiTable.open(path).insert(rows(0, 1, 2), BARE)
    HudiTable.open(path).upsert(rows(1, 2), BARE)
    last = writes(path)[-1]
    planned = plan(context(path, {"hoodie.clustering.plan.strategy.sort.columns": "id"}))
    rollback(context(path), planned)
    assert not MetaClient.load(path).timeline.pending()
    assert seen(path) == {1: 0, 2: 1}
    rollback(context(path), last)
    assert seen(path) == {1: 0, 2: 0}


def test_a_compaction_under_log_files_is_not_taken_back(version: int, tmp_path: Path) -> None:
    path = make(tmp_path, version, "MERGE_ON_READ")
    HudiTable.open(path).insert(rows(0, 1, 2), BARE)
    HudiTable.open(path).upsert(rows(1, 2), BARE)
    planned = schedule_compaction(context(path))
    assert planned is not None
    HudiTable.open(path).upsert(rows(2, 1), BARE)
    if version == 6:  # its log files name the slice that is yet to be made
        with pytest.raises(WriteError, match="on top of this planned compaction"):
            rollback(context(path), planned)
        execute_compaction(context(path), planned)
    else:
        rollback(context(path), planned)
    assert not MetaClient.load(path).timeline.pending()
    assert seen(path) == {1: 2, 2: 1}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_groups_whose_replacement_is_archived_are_no_part_of_the_past(version: int, kind: str, tmp_path: Path) -> None:
    """What a clean by file versions has deleted of them is missing in no view behind their replacement."""
    path = make(tmp_path, version, kind)
    HudiTable.open(path).insert(rows(0, 1, 2), BARE)
    HudiTable.open(path).insert_overwrite_table(rows(1, 3), BARE)
    clean(context(path, {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"}))
    for number in range(2, 7):
        HudiTable.open(path).upsert(rows(number, 3), BARE)
    archive_instants(context(path, KEEP))
    assert not MetaClient.load(path).timeline.completed({REPLACE_COMMIT})
    newest = writes(path)[-1]
    assert seen(path, newest) == {3: 6}
    assert create_savepoint(context(path)).instant.requested == newest
