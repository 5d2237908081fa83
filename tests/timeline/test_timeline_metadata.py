"""What instants' files say: commits in both encodings, plans and outcomes of all services, damaged files."""

from __future__ import annotations

import io
import json
import time
import tracemalloc
import zlib

import fastavro
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudi_hive.errors import CorruptFileError, CorruptInstantError, HudiHiveError, UnsupportedFormatError
from hudi_hive.formats.avro import read_container, write_container
from hudi_hive.storage import Storage
from hudi_hive.timeline import Instant, State, Timeline
from hudi_hive.timeline.payloads.commit import WRITE_STATS_SCHEMA, decode_commit
from hudi_hive.timeline.payloads.payload import decode_payload
from tests.formats.shared.avro_decoder_helpers import prefixed, varint
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture

T, C = "20250101000000000", "20250102000000000"
PENDING = Instant(T, "replacecommit", State.INFLIGHT, None, "x", "x")


def load(base):
    return Timeline.load(Storage(base), layout=2 if (base / ".hoodie/timeline").exists() else 1, timezone="UTC")


def made(tmp_path, name, data):
    folder = tmp_path / ".hoodie/timeline"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    timeline = load(tmp_path)
    return timeline, timeline.instants[0]


def avro(name, fields, record):
    schema = {"type": "record", "name": name, "namespace": "org.apache.hudi.avro.model", "fields": fields}
    return write_container(schema, [record])


def commit(**record):
    """Metadata as of a pending commit, of which less is asked for than of a completed one."""
    return decode_commit(record, PENDING, "x")


# -- commit metadata -------------------------------------------------------------------------------------------------


def test_all_columns_of_a_write_stat():
    names = {
        "fileId": "f-0", "path": "p/x.parquet", "prevCommit": "null", "numWrites": 1, "numDeletes": 2,
        "numUpdateWrites": 3, "numInserts": 4, "totalWriteErrors": 5, "totalWriteBytes": 6, "fileSizeInBytes": 7,
        "baseFile": "b", "prevBaseFile": "pb", "logFiles": ["l1", "l2"], "logVersion": 8, "logOffset": 9,
        "cdcStats": {"p/c.cdc": 10}, "minEventTime": 11, "maxEventTime": 12, "totalLogRecords": 13,
        "totalLogBlocks": 14, "totalLogFilesCompacted": 15, "totalLogSizeCompacted": 16,
        "totalUpdatedRecordsCompacted": 17, "unknownField": {"a": [1]}, "recordsStats": {"val": None},
    }  # fmt: skip
    table = commit(partitionToWriteStats={"p": [names]}).write_stats
    assert table.schema == WRITE_STATS_SCHEMA
    (row,) = table.to_pylist()
    assert list(row.values()) == [
        "p", "f-0", "p/x.parquet", "null", 1, 2, 3, 4, 5, 6, 7, "b", "pb", ["l1", "l2"], 8, 9, [("p/c.cdc", 10)],
        11, 12, 13, 14, 15, 16, 17,
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
def test_cleans(name):
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
def test_rollbacks(name):
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
TARGET = {"commitTime": T, "action": "commit"}
ROLLED_BACK = {"startRollbackTime": T, "commitsRollback": [T], "partitionMetadata": {}}


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


# -- records of something else -------------------------------------------------------------------------------------

OWN = {"fileId": "f-0", "path": f"p/f-0_1-2-3_{T}.parquet", "prevCommit": "null"}
LOG = {"fileId": "f-0", "path": f"p/.f-0_{T}.log.1_1-2-3", "prevCommit": T, "logVersion": 1, "baseFile": ""}
OLD = "20240101000000000"


def completed(action, layout, **record):
    return decode_commit(record, Instant(T, action, State.COMPLETED, C if layout == 2 else None, "x", "x"), "x")


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


# -- damaged files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"x",
        b"\0",
        b"[]",
        b"{",
        b"{}x",
        b'{"a": \xff}',
        b"{" + b'"a":{' * 200_000,
        b"Obj\x01",
        b"Obj\x02",
        avro("R", [{"name": "a", "type": "int"}], {"a": 1})[:-1],
        avro("R", [{"name": "a", "type": "int"}], {"a": 1})[:-16],
        write_container({"type": "record", "name": "R", "fields": []}, []),
        write_container({"type": "record", "name": "R", "fields": []}, [{}, {}]),
    ],
    ids=lambda data: f"{len(data)}-bytes",  # containers hold random bytes, which make no stable names
)
def test_files_that_are_no_payload(tmp_path, data):
    timeline, instant = made(tmp_path, f"{T}_{C}.commit", data)
    with pytest.raises(CorruptInstantError) as raised:
        timeline.commit_metadata(instant)
    assert raised.value.instant == T and raised.value.path.endswith(".commit") and raised.value.remedy


def test_containers_of_other_things():
    with pytest.raises(CorruptFileError, match="magic"):
        read_container(b"{}", "x")
    with pytest.raises(CorruptFileError, match="must be a record"):
        read_container(write_container({"type": "string"}, ["x"]), "x")  # type: ignore[list-item]
    records = [{"a": 1}, {"a": 2}]
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    assert read_container(write_container(schema, records), "x") == records
    with pytest.raises(fastavro.schema.UnknownType):
        write_container({"type": "nothing"}, [])


def container(schema: object, count: int, content: bytes, codec: bytes = b"null") -> bytes:
    entries = {b"avro.schema": json.dumps(schema).encode(), b"avro.codec": codec}
    header = varint(2) + b"".join(prefixed(key) + prefixed(value) for key, value in entries.items()) + b"\0"
    return b"Obj\x01" + header + b"s" * 16 + varint(count) + prefixed(content) + b"s" * 16


def test_deflated_containers():
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    stream = io.BytesIO()
    fastavro.writer(stream, schema, [{"a": number} for number in range(5000)], codec="deflate", sync_interval=1000)
    assert read_container(stream.getvalue(), "x") == [{"a": number} for number in range(5000)]


@pytest.mark.parametrize(
    ("kind", "count", "content", "codec"),
    [
        ({"type": "array", "items": "null"}, 1, varint(1 << 40) + b"\0", b"null"),
        ({"type": "array", "items": {"type": "record", "name": "E", "fields": []}}, 1, varint(1 << 40), b"null"),
        ("null", 1 << 40, b"", b"null"),
        (["null", "R"], 1, b"\x02" * 1_000_000 + b"\0", b"null"),
        ("string", 1, varint(1 << 40) + b"a", b"null"),
        ("string", -1, varint(1) + b"a", b"null"),
        ("string", 1, varint(-1) + b"a", b"null"),
        ("int", 1, b"\0\0", b"null"),
        ("bytes", 1, zlib.compress(bytes(100 << 20))[2:-4], b"deflate"),
        ("bytes", 1, zlib.compress(b"\x02a")[2:-5], b"deflate"),
    ],
    ids=["nulls", "empties", "records", "nested", "long", "negative", "minus", "more", "bomb", "torn"],
)
def test_containers_that_claim_what_they_do_not_hold(kind, count, content, codec):
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}
    begin = time.process_time()
    tracemalloc.start()
    with pytest.raises(CorruptFileError):
        read_container(container(schema, count, content, codec), "x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150 << 20
    assert time.process_time() - begin < 5


def test_containers_compressed_in_another_way():
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    with pytest.raises(UnsupportedFormatError, match="snappy"):
        read_container(container(schema, 1, b"\0", b"snappy"), "x")


FILES = [
    ("v6_mor_parquet_log_rollback", "*.deltacommit"),
    ("v6_mor_parquet_log_rollback", "*.replacecommit.requested"),
    ("v6_mor_parquet_log_rollback", "*.restore"),
    ("v6_mor_rollback", "*.rollback.requested"),
    ("v8_mor_parquet_log_rollback", "timeline/*_*.replacecommit"),
    ("v8_mor_parquet_log_rollback", "timeline/*_*.savepoint"),
    ("v9_cow_part_mdt", "timeline/*_*.clean"),
    ("v9_cow_part_mdt", "timeline/*.clean.requested"),
    ("v9_mor_event_time", "timeline/*.compaction.requested"),
]
ASKS = ["commit_metadata", "requested_replace_metadata", "clean_metadata", "cleaner_plan", "rollback_metadata",
        "rollback_plan", "restore_metadata", "restore_plan", "savepoint_metadata", "compaction_plan"]  # fmt: skip


def read_all(timeline):
    for instant in timeline.instants:
        for ask in ASKS:
            try:
                result = getattr(timeline, ask)(instant)
            except CorruptInstantError as error:
                assert error.instant == instant.requested and error.path and str(error).isprintable()
            except HudiHiveError:
                continue
            else:
                assert result.instant == instant
                if ask == "commit_metadata":
                    result.write_stats.validate(full=True)


@pytest.mark.parametrize(("name", "pattern"), FILES)
@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_instants_give_metadata_or_our_error(tmp_path_factory, name, pattern, data):
    base = tmp_path_factory.getbasetemp() / f"damaged_instants_{name}"
    if not base.exists():
        unzip_fixture(name, base)
    path = sorted((base / name / ".hoodie").glob(pattern))[0]
    whole = path.read_bytes()
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(0, 3))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    cut = len(whole) if data.draw(st.booleans()) else data.draw(st.integers(0, len(whole)))
    path.write_bytes(damaged[:cut])
    try:
        read_all(load(base / name))
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("name", ["v6_mor_parquet_log_rollback", "v8_mor_parquet_log_rollback"])
def test_every_cut_of_a_commit_is_noticed(name):
    """A file cut short anywhere, but for the empty one, is refused: never fewer files than were written."""
    timeline = load(unzip_fixture(name))
    instant = timeline.write_instants()[-1]
    data = (unzip_fixture(name) / instant.path).read_bytes()
    assert decode_payload(b"", "x", T) is None
    for cut in range(1, len(data)):
        with pytest.raises(CorruptInstantError):
            decode_payload(data[:cut], "x", T)


def test_replaced_table_has_strings_only():
    assert commit(partitionToReplaceFileIds={}).replaced.schema == pa.schema(
        [("partition", pa.string()), ("file_id", pa.string())]
    )
