"""What instants' files say: commits in both encodings, plans and outcomes of all services, damaged files."""

from __future__ import annotations

import json

import pytest

from hudi_hive.errors import CorruptInstantError
from hudi_hive.formats.avro import read_container
from hudi_hive.timeline.payloads.commit import WRITE_STATS_SCHEMA, decode_commit
from hudi_hive.timeline.payloads.payload import decode_payload
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture
from tests.timeline.shared.metadata_helpers import ROLLED_BACK, TARGET, C, T, commit, load, made

# -- commit metadata -------------------------------------------------------------------------------------------------


def test_all_columns_of_a_write_stat():
    names = {
        "fileId": "f-0", "path": "p/x.parquet", "prevCommit": "null", "numWrites": 1, "numDeletes": 2,
        "numUpdateWrites": 3, "numInserts": 4, "totalWriteErrors": 5, "totalWriteBytes": 6, "fileSizeInBytes": 7,
        "baseFile": "b", "prevBaseFile": "pb", "logFiles": ["l1", "l2"], "logVersion": 8, "logOffset": 9,
        "cdcStats": {"p/c.cdc": 10}, "minEventTime": 11, "maxEventTime": 12, "totalLogRecords": 13,
        "totalLogBlocks": 14, "totalLogFilesCompacted": 15, "totalLogSizeCompacted": 16,
        "totalUpdatedRecordsCompacted": 17, "totalCorruptLogBlock": 18, "totalRollbackBlocks": 19,
        "unknownField": {"a": [1]}, "recordsStats": {"val": None},
    }  # fmt: skip
    table = commit(partitionToWriteStats={"p": [names]}).write_stats
    assert table.schema == WRITE_STATS_SCHEMA
    (row,) = table.to_pylist()
    assert list(row.values()) == [
        "p", "f-0", "p/x.parquet", "null", 1, 2, 3, 4, 5, 6, 7, "b", "pb", ["l1", "l2"], 8, 9, [("p/c.cdc", 10)],
        11, 12, 13, 14, 15, 16, 17, 18, 19,
    ]  # fmt: skip


def test_stats_keep_the_order_of_partitions_and_partitions_without_files():
    stats = {"b": [{"fileId": "1"}, {"fileId": "2"}], "a": [], "": [{"fileId": "3"}]}
    metadata = commit(partitionToWriteStats=stats, partitionToReplaceFileIds={"z": ["r1", "r2"], "y": []})
    assert metadata.write_stats.select(["partition", "file_id"]).to_pydict() == {
        "partition": ["b", "b", ""],
        "file_id": ["1", "2", "3"],
    }
    assert metadata.replaced.to_pydict() == {"partition": ["z", "z"], "file_id": ["r1", "r2"]}
    assert metadata.partitions_written() == ["", "a", "b"]
    assert metadata.partitions_touched() == ["", "a", "b", "y", "z"]


def test_nulls_and_absent_fields():
    metadata = commit(
        partitionToWriteStats=None, extraMetadata={"a": "1", "b": None}, compacted=None, operationType=None
    )
    assert (metadata.operation, metadata.compacted, metadata.extra) == ("UNKNOWN", False, {"a": "1"})
    assert metadata.schema is None
    assert commit(extraMetadata={"schema": ""}).schema is None
    assert commit(extraMetadata={"schema": '{"type":"record","fields":[]}'}).schema == {"type": "record", "fields": []}


NO_RECORDS = ['{"type":"record"}', '{"fields":{}}', '{"fields":[7]}', '{"fields":[{"nane":"a","type":"int"}]}']


@pytest.mark.parametrize("text", ["{", "[]", "null", "7", "[" * 100_000, *NO_RECORDS])
def test_a_schema_that_is_no_record(text):
    with pytest.raises(CorruptInstantError, match="schema") as raised:
        commit(extraMetadata={"schema": text}).schema  # noqa: B018
    assert raised.value.instant == T


@pytest.mark.parametrize(
    "record",
    [
        {"partitionToWriteStats": []},
        {"partitionToWriteStats": {"p": None}},
        {"partitionToWriteStats": {"p": {}}},
        {"partitionToWriteStats": {"p": [None]}},
        {"partitionToWriteStats": {"p": ["x"]}},
        {"partitionToWriteStats": {"p": [{"fileId": 7}]}},
        {"partitionToWriteStats": {"p": [{"numWrites": "7"}]}},
        {"partitionToWriteStats": {"p": [{"numWrites": 2**63}]}},
        {"partitionToWriteStats": {"p": [{"logFiles": "x"}]}},
        {"partitionToWriteStats": {"p": [{"cdcStats": {"x": "y"}}]}},
        {"partitionToWriteStats": {"p": [{"path": "\ud800"}]}},
        {"partitionToReplaceFileIds": ["x"]},
        {"partitionToReplaceFileIds": {"p": "x"}},
        {"partitionToReplaceFileIds": {"p": [7]}},
        {"partitionToReplaceFileIds": {"\udfff": ["x"]}},
        {"extraMetadata": {"a": 1}},
        {"extraMetadata": "a"},
        {"operationType": 7},
        {"compacted": "yes"},
    ],
)
def test_fields_of_wrong_types_are_corrupt(record):
    with pytest.raises(CorruptInstantError) as raised:
        commit(**record)
    assert (raised.value.instant, raised.value.path) == (T, "x")


@pytest.mark.parametrize("name", fixture_names("cow_cdc"))
def test_cdc_files_with_their_sizes(name):
    base, timeline = unzip_fixture(name), load(unzip_fixture(name))
    sizes = {}
    for instant in timeline.write_instants():
        for pairs in timeline.commit_metadata(instant).write_stats["cdc_stats"].to_pylist():
            sizes.update(pairs or [])
    there = {str(path.relative_to(base)): path.stat().st_size for path in base.rglob(".*.cdc")}
    assert there and sizes == there


@pytest.mark.parametrize("name", fixture_names("mor_part_rli"))
def test_log_files_of_deltacommits(name):
    timeline = load(unzip_fixture(name))
    stats = timeline.commit_metadata(timeline.write_instants()[1]).write_stats
    logs = [row for row in stats.to_pylist() if ".log." in row["path"]]
    assert logs
    for row in logs:
        assert row["log_files"] == [row["path"].rsplit("/", 1)[1]]
        assert row["log_version"] >= 1
        assert (row["prev_commit"] == timeline.write_instants()[1].requested) == (timeline.layout == 2)


def test_both_encodings_give_the_same(tmp_path):
    """The same commit, as JSON and as Avro with the schema of a real one."""
    name = "v8_cow_part_mdt"
    timeline = load(unzip_fixture(name))
    instant = timeline.completed({"replacecommit"})[0]
    (record,) = read_container((unzip_fixture(name) / instant.path).read_bytes(), "x")
    as_json = decode_payload(json.dumps(record, indent=2).encode(), "x", T)
    want = timeline.commit_metadata(instant)
    got = decode_commit(as_json, instant, "x")
    assert got == want or (got.write_stats.equals(want.write_stats) and got.replaced.equals(want.replaced))
    assert (got.extra, got.operation, got.partitions_touched()) == (
        want.extra,
        want.operation,
        want.partitions_touched(),
    )


def test_one_hundred_thousand_stats():
    stat = {"fileId": "f", "path": "p/f_0-0-0_20250101000000000.parquet", "numWrites": 1, "logFiles": None}
    metadata = commit(partitionToWriteStats={f"p{i}": [stat] * 100 for i in range(1000)})
    table = metadata.write_stats
    assert table.num_rows == 100_000
    assert table["partition"][100].as_py() == "p1" and table["partition"][99_999].as_py() == "p999"
    assert len(metadata.partitions_written()) == 1000


# -- services --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", fixture_names("cow_part_mdt"))
def test_plans_and_metadata_of_cleans_are_read(name):
    base, timeline = unzip_fixture(name), load(unzip_fixture(name))
    cleans = timeline.completed({"clean"})
    assert len(cleans) == 2
    for instant in cleans:
        plan, done = timeline.cleaner_plan(instant), timeline.clean_metadata(instant)
        assert plan.policy == "KEEP_LATEST_COMMITS"
        assert plan.earliest_retained == done.earliest_retained < instant.requested
        planned = sorted(zip(*plan.files.to_pydict().values(), strict=True))
        deleted = sorted((p, file) for p, part in done.partitions.items() for file in part.deleted)
        assert planned == deleted and len(deleted) == done.total_files_deleted
        assert all("/" not in file and not (base / p / file).exists() for p, file in deleted)
    first = timeline.clean_metadata(cleans[0])
    assert [p for p, part in first.partitions.items() if part.partition_deleted] == ["rome"]


@pytest.mark.parametrize("name", fixture_names("mor_rollback"))
def test_plans_and_metadata_of_rollbacks_are_read(name):
    base, timeline = unzip_fixture(name), load(unzip_fixture(name))
    (instant,) = timeline.completed({"rollback"})
    target = expected(name)["rolled_back"]["requested"]
    plan, done = timeline.rollback_plan(instant), timeline.rollback_metadata(instant)
    assert plan.target == (target, "deltacommit")
    assert done.rolled_back == (target,) and done.targets == ((target, "deltacommit"),)
    assert {request.partition for request in plan.requests} == set(done.partitions)
    for partition, part in done.partitions.items():
        assert not part.failed
        assert not any((base / partition / file).exists() for file in part.deleted)
        for logs in (part.command_logs, part.failed_commit_logs):
            assert {file: (base / partition / file).stat().st_size for file in logs} == logs
    commands = [file for part in done.partitions.values() for file in part.command_logs]
    assert bool(commands) == (timeline.layout == 1)


@pytest.mark.parametrize("name", fixture_names("mor_parquet_log_rollback"))
def test_savepoint_and_restore(name):
    base, timeline = unzip_fixture(name), load(unzip_fixture(name))
    (savepoint,) = timeline.completed({"savepoint"})
    kept = timeline.savepoint_metadata(savepoint)
    assert set(kept.partitions) == {"w0", "w1"} and kept.at_ms > 1_700_000_000_000
    assert all((base / p / file).exists() for p, files in kept.partitions.items() for file in files)
    (restore,) = timeline.completed({"restore"})
    plan, done = timeline.restore_plan(restore), timeline.restore_metadata(restore)
    assert plan.savepoint == savepoint.requested
    assert plan.targets == done.targets and len(plan.targets) == 1
    (time,) = done.rolled_back
    (rollback,) = done.rollbacks[time]
    assert rollback.rolled_back == (time,) and set(rollback.partitions) == {"w0", "w1"}


@pytest.mark.parametrize("name", fixture_names("mor_parquet_log_rollback"))
def test_requested_clustering_of_a_completed_one(name):
    timeline = load(unzip_fixture(name))
    (instant,) = timeline.completed({"replacecommit"})
    plan, done = timeline.requested_replace_metadata(instant), timeline.commit_metadata(instant)
    assert plan.is_clustering and done.operation == "CLUSTER"
    assert plan.slices.select(["partition", "file_id"]).to_pylist() == done.replaced.to_pylist()
    assert plan.slices["group"].to_pylist() == list(range(plan.slices.num_rows))
    assert plan.strategy and plan.strategy.startswith("org.apache.hudi.")


@pytest.mark.parametrize("name", fixture_names("mor_log_compaction"))
def test_log_compaction_plan_of_a_completed_one(name):
    timeline = load(unzip_fixture(name))
    instants = [i for i in timeline.write_instants() if timeline.commit_metadata(i).operation == "LOG_COMPACT"]
    assert [i.action for i in instants] == ["deltacommit"]
    plan = timeline.compaction_plan(instants[0])
    assert plan.version == 2 and plan.operations.num_rows == 1
    assert len(plan.operations["log_files"][0].as_py()) > 1


def test_cleaner_plan_of_version_1(tmp_path):
    """The first plans listed bare names, and a plan may keep everything."""
    plan = {"policy": "KEEP_LATEST_FILE_VERSIONS", "filesToBeDeletedPerPartition": {"p": ["a.parquet", "b.parquet"]}}
    timeline, instant = made(tmp_path, f"{C}.clean.requested", json.dumps(plan).encode())
    found = timeline.cleaner_plan(instant)
    assert found.files.to_pydict() == {"partition": ["p", "p"], "name": ["a.parquet", "b.parquet"]}
    assert found.earliest_retained is None and found.partitions_to_delete == ()


def test_plans_name_files_bare_and_partitions_of_unpartitioned_tables(tmp_path):
    plan = {
        "version": 2,
        "operations": [
            {"fileId": "f", "partitionPath": None, "baseInstantTime": T, "dataFilePath": None,
             "deltaFilePaths": ["s3://b/t/.f_1.log.1_0-0-0"]},
        ],
    }  # fmt: skip
    timeline, instant = made(tmp_path, f"{C}.compaction.requested", json.dumps(plan).encode())
    assert timeline.compaction_plan(instant).operations.to_pylist() == [
        {"partition": "", "file_id": "f", "base_instant": T, "base_file": None, "log_files": [".f_1.log.1_0-0-0"]}
    ]
    assert timeline.pending_compactions().to_pylist() == [
        {"partition": "", "file_id": "f", "compaction_instant": C, "base_instant": T}
    ]


CLUSTER = {"operationType": "CLUSTER"}


@pytest.mark.parametrize(
    ("suffix", "ask", "record"),
    [
        ("compaction.requested", "compaction_plan", {"operations": [{"fileId": None}]}),
        ("compaction.requested", "compaction_plan", {"operations": {}}),
        ("compaction.requested", "compaction_plan", {"operations": ["x"]}),
        ("compaction.requested", "compaction_plan", {"operations": [{"fileId": "f", "deltaFilePaths": [1]}]}),
        ("compaction.requested", "compaction_plan", {"operations": [], "version": "2"}),
        ("compaction.requested", "compaction_plan", {"operations": [], "version": True}),
        ("clustering.requested", "requested_replace_metadata", {**CLUSTER, "clusteringPlan": []}),
        (
            "clustering.requested",
            "requested_replace_metadata",
            {**CLUSTER, "clusteringPlan": {"inputGroups": [{"slices": 1}]}},
        ),
        ("clean.requested", "cleaner_plan", {"policy": "x", "filePathsToBeDeletedPerPartition": {"p": [{}]}}),
        ("clean.requested", "cleaner_plan", {"policy": "x", "filesToBeDeletedPerPartition": {"p": "x"}}),
        ("rollback.requested", "rollback_plan", {"instantToRollback": {"commitTime": T}, "RollbackRequests": []}),
        (
            "rollback.requested",
            "rollback_plan",
            {"instantToRollback": TARGET, "RollbackRequests": [{"logBlocksToBeDeleted": {"x": "y"}}]},
        ),
        ("restore.requested", "restore_plan", {"instantsToRollback": [{}]}),
    ],
)
def test_plans_with_fields_of_wrong_types(tmp_path, suffix, ask, record):
    timeline, instant = made(tmp_path, f"{C}.{suffix}", json.dumps(record).encode())
    with pytest.raises(CorruptInstantError) as raised:
        getattr(timeline, ask)(instant)
    assert raised.value.instant == C and raised.value.path.endswith(suffix)


@pytest.mark.parametrize(
    ("suffix", "ask", "record"),
    [
        ("clean", "clean_metadata", {"startCleanTime": T, "partitionMetadata": {"p": 1}}),
        ("clean", "clean_metadata", {"startCleanTime": T, "partitionMetadata": []}),
        ("rollback", "rollback_metadata", {**ROLLED_BACK, "commitsRollback": [1]}),
        (
            "restore",
            "restore_metadata",
            {"startRestoreTime": T, "instantsToRollback": [], "hoodieRestoreMetadata": {"t": {}}},
        ),
        ("savepoint", "savepoint_metadata", {"partitionMetadata": {}, "savepointedAt": "now"}),
    ],
)
def test_outcomes_with_fields_of_wrong_types(tmp_path, suffix, ask, record):
    timeline, instant = made(tmp_path, f"{T}_{C}.{suffix}", json.dumps(record).encode())
    with pytest.raises(CorruptInstantError):
        getattr(timeline, ask)(instant)
