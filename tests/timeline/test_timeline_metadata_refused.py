"""Instants' files whose record belongs to another action, instant or table are refused."""

from __future__ import annotations

import json

import pytest

from hudi_hive.errors import CorruptInstantError
from tests.support.fixture_tables import fixture_names, unzip_fixture
from tests.timeline.shared.metadata_helpers import ROLLED_BACK, TARGET, C, T, completed, load

# -- records of something else -------------------------------------------------------------------------------------

OWN = {"fileId": "f-0", "path": f"p/f-0_1-2-3_{T}.parquet", "prevCommit": "null"}
LOG = {"fileId": "f-0", "path": f"p/.f-0_{T}.log.1_1-2-3", "prevCommit": T, "logVersion": 1, "baseFile": ""}
OLD = "20240101000000000"


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize("stat", [OWN, LOG])
@pytest.mark.parametrize("failed", [None, ""])
def test_a_completed_commit_of_its_own_files(layout, stat, failed):
    record = {"partitionToWriteStats": {"p": [stat, {**OWN, "path": failed}]}, "extraMetadata": None}
    assert completed("deltacommit", layout, **record).write_stats.num_rows == 2
    root = {**stat, "path": stat["path"].removeprefix("p/")}
    assert completed("commit", layout, partitionToWriteStats={"": [root]}).write_stats.num_rows == 1


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize(
    ("partition", "folder"),
    [("p/", "p/"), ("/p", "p/"), ("a//b", "a/b/"), ("a/b", "s3://bucket/t/a/b/"), ("p", "/t/p/"), ("", "file:/t/")],
)
def test_paths_as_a_file_system_writes_them(layout, partition, folder):
    stat = {**OWN, "path": OWN["path"].replace("p/", folder, 1)}
    assert completed("commit", layout, partitionToWriteStats={partition: [stat]}).write_stats.num_rows == 1


@pytest.mark.parametrize("layout", [1, 2])
def test_a_completed_commit_that_had_nothing_to_write(layout):
    stat = {**OWN, "path": None, "numInserts": 0, "numUpdateWrites": 0, "numWrites": 0}
    assert completed("commit", layout, partitionToWriteStats={"p": [stat]}).write_stats.num_rows == 1
    with pytest.raises(CorruptInstantError, match="no write stat names a file"):
        completed("commit", layout, partitionToWriteStats={"p": [{**stat, "numInserts": 1}]})


@pytest.mark.parametrize("name", [*fixture_names("cow_archived"), *fixture_names("mor_event_time")])
def test_what_a_pending_commit_announced_is_no_completed_commit(name, tmp_path):
    base = unzip_fixture(name, tmp_path)
    last = load(base).last_completed_write()
    (inflight,) = (file for file in (base / last.path).parent.glob(f"{last.requested}.*inflight"))
    (base / last.path).write_bytes(inflight.read_bytes())
    with pytest.raises(CorruptInstantError, match="no write stat names a file") as raised:
        load(base).commit_metadata(load(base).last_completed_write())
    assert raised.value.path.endswith(last.path)


@pytest.mark.parametrize("name", fixture_names("mor_schema_evo"))
def test_changes_of_the_schema_announced_and_of_other_commits(name, tmp_path):
    """They have no write stats, pending or completed."""
    base = unzip_fixture(name, tmp_path)
    timeline = load(base)
    writes = timeline.write_instants()
    altered = [one for one in writes if timeline.commit_metadata(one).operation == "ALTER_SCHEMA"]
    pending = [(base / one.path).with_name(f"{one.requested}.{one.action}.inflight") for one in altered]
    assert len(altered) > 2 and not any(timeline.commit_metadata(one).write_stats.num_rows for one in altered)
    for target, match in ((writes[-1], "neither write stats nor a schema"), (altered[0], "schema")):
        for source in [*pending, *(base / one.path for one in altered if one != target)]:
            file = base / target.path
            whole = file.read_bytes()
            file.write_bytes(source.read_bytes())
            with pytest.raises(CorruptInstantError, match=match if source in pending else "schema is that") as raised:
                load(base).commit_metadata(target)
            assert raised.value.path.endswith(target.path) and raised.value.instant == target.requested
            file.write_bytes(whole)


@pytest.mark.parametrize("name", [*fixture_names("mor_part_rli"), *fixture_names("mor_parquet_log_rollback")])
def test_no_record_of_the_metadata_table_is_a_commit_of_the_table(name, tmp_path):
    base = unzip_fixture(name, tmp_path)
    last = load(base).last_completed_write()
    records = [one for one in (base / ".hoodie/metadata/.hoodie").rglob("*deltacommit*") if one.stat().st_size]
    assert {one.suffix for one in records} >= {".deltacommit", ".inflight"}
    for record in records:
        (base / last.path).write_bytes(record.read_bytes())
        with pytest.raises(CorruptInstantError) as raised:
            load(base).commit_metadata(last)
        assert raised.value.path.endswith(last.path) and raised.value.instant == last.requested


@pytest.mark.parametrize("layout", [1, 2])
def test_completed_commits_without_files(layout):
    """As of an empty batch, whose schema may be an empty text."""
    for schema in ("", '{"type":"record","fields":[]}'):
        empty = {"partitionToWriteStats": {}, "extraMetadata": {"schema": schema, "checkpoint": "7"}}
        assert completed("commit", layout, **empty).extra["checkpoint"] == "7"
        assert completed("replacecommit", layout, partitionToReplaceFileIds={"p": ["f-0"]}, **empty).replaced.num_rows
        with pytest.raises(CorruptInstantError, match="replacecommit"):
            completed("commit", layout, partitionToReplaceFileIds={"p": ["f-0"]}, **empty)
    for extra in ({}, None, {"latest_schema": "{}"}):
        with pytest.raises(CorruptInstantError, match="neither write stats nor a schema"):
            completed("deltacommit", layout, partitionToWriteStats={"p": []}, extraMetadata=extra)


@pytest.mark.parametrize(
    ("begun", "version", "base_file", "layouts"),
    [
        (OLD, 1, f"f-0_1-2-3_{OLD}.parquet", {1, 2}),  # appended before an upgrade
        (OLD, 2, "", {1, 2}),
        (OLD, 1, "", {1}),  # the first log file of a slice without base file is of its own commit
        (OLD, 1, f"f-0_1-2-3_{T}.parquet", {1}),
        (T, 1, "", {1, 2}),
        (T, 1, f"f-0_1-2-3_{OLD}.parquet", {1, 2}),  # written before a downgrade
        (T, 1, f"f-0_1-2-3_{T}.parquet", {2}),  # of version 6: the next commit's log file on this one's base file
        ("00000000000000011", 1, "", set()),  # of the metadata table
        (C, 1, "", {1}),  # a compaction that another writer scheduled while the commit was pending
        (C, 1, f"f-0_1-2-3_{C}.parquet", set()),  # later than the commit
        ("x", 1, "", set()),
    ],
)
@pytest.mark.parametrize("layout", [1, 2])
def test_log_files_that_carry_the_time_of_their_slice(layout, begun, version, base_file, layouts):
    stat = {**LOG, "path": f"p/.f-0_{begun}.log.{version}_1-2-3", "prevCommit": begun}
    stat |= {"logVersion": version, "baseFile": base_file}
    if layout in layouts:
        assert completed("deltacommit", layout, partitionToWriteStats={"p": [stat]}).write_stats.num_rows == 1
    else:
        with pytest.raises(CorruptInstantError, match=r"no file of this commit"):
            completed("deltacommit", layout, partitionToWriteStats={"p": [stat]})


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize(
    ("partition", "change"),
    [
        ("q", {}),
        ("", {}),
        ("p", {"fileId": "g-0"}),
        ("p", {"fileId": None}),
        ("p", {"path": OWN["path"].replace(T, OLD)}),
        ("p", {"path": OWN["path"].replace(T, T[:-1])}),
        ("p", {"path": f"p/x/f-0_1-2-3_{T}.parquet"}),
        ("p", {"path": f"p/f-0_{T}"}),
        ("p", {"path": f"p/.g-0_{T}.log.1_1-2-3"}),
    ],
)
def test_files_of_other_commits_partitions_and_groups_are_refused(layout, partition, change):
    with pytest.raises(CorruptInstantError, match=r"no file of this commit") as raised:
        completed("commit", layout, partitionToWriteStats={partition: [{**OWN, **change}]})
    assert raised.value.path == "x" and raised.value.instant == T and raised.value.remedy


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize(
    ("suffix", "ask", "record"),
    [
        ("commit", "commit_metadata", {}),
        ("deltacommit", "commit_metadata", {"extraMetadata": {}, "operationType": "UPSERT"}),
        ("commit", "commit_metadata", {"partitionToWriteStats": None}),
        ("replacecommit", "commit_metadata", {"partitionToWriteStats": {}}),
        ("replacecommit", "replaced_file_groups", {"partitionToWriteStats": {}, "partitionToReplaceFileIds": None}),
        ("commit", "commit_metadata", {"startCleanTime": T, "partitionMetadata": {}}),
        ("clean", "clean_metadata", {"partitionToWriteStats": {}}),
        ("clean", "clean_metadata", {"startCleanTime": OLD, "partitionMetadata": {}}),
        ("rollback", "rollback_metadata", {**ROLLED_BACK, "startRollbackTime": OLD}),
        ("rollback", "rollback_metadata", {"startRollbackTime": T, "partitionMetadata": {}}),
        ("restore", "restore_metadata", {"startRestoreTime": T}),
        (
            "restore",
            "restore_metadata",
            {"startRestoreTime": OLD, "instantsToRollback": [], "hoodieRestoreMetadata": {}},
        ),
        ("savepoint", "savepoint_metadata", {"partitionToWriteStats": {}}),
        ("clean.requested", "cleaner_plan", {"operations": []}),
        ("compaction.requested", "compaction_plan", {"policy": "x"}),
        ("rollback.requested", "rollback_plan", {"RollbackRequests": []}),
        ("restore.requested", "restore_plan", {"instantToRollback": TARGET}),
        ("replacecommit.requested", "requested_replace_metadata", {"operations": []}),
    ],
)
def test_records_of_other_actions_and_instants_are_refused(tmp_path, layout, suffix, ask, record):
    folder = tmp_path / (".hoodie/timeline" if layout == 2 else ".hoodie")
    folder.mkdir(parents=True)
    time = T if layout == 1 or "." in suffix else f"{T}_{C}"
    (folder / f"{time}.{suffix}").write_bytes(json.dumps(record).encode())
    timeline = load(tmp_path)
    with pytest.raises(CorruptInstantError) as raised:
        getattr(timeline, ask)(*([] if ask == "replaced_file_groups" else timeline.instants))
    assert raised.value.path.endswith(suffix) and raised.value.instant == T
