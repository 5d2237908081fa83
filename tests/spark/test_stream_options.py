"""Offsets, options and batches of a stream of commits, without Spark."""

from __future__ import annotations

import json

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CheckpointError, HollowCommitError, InvalidOptionError
from hudi_hive.plan.core import CommitOffset, is_on_timeline
from hudi_hive.plan.model import EARLIEST
from hudi_hive.spark.source.stream_options import StreamOptions
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import fixture_names, unzip_fixture
from tests.support.tables.mor_table import MorTable

START = "hoodie.datasource.streaming.startOffset"


def options(path="/t", **more):
    return StreamOptions.parse({"path": str(path), **{key.replace("__", "."): value for key, value in more.items()}})


def batches(path, **more):
    """Ends of the batches of a stream over a table, from its beginning."""
    parsed = options(path, **more)
    begin, ends = EARLIEST, []
    while (end := parsed.commits(MetaClient.load(parsed.location), begin).end()) is not None:
        assert end > begin
        ends.append(end)
        begin = end
    return ends


def made(path, version=8, commits=3):
    table = MorTable(path, version)
    table.base(1, [{"id": "k1", "ts": 1, "a": "x"}])
    for number in range(2, commits + 1):
        table.log(number, [{"id": f"k{number}", "ts": number, "a": "y"}])
    return table


# -- offsets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [CommitOffset("20260101000000000"), CommitOffset("000", is_commit=False)])
def test_offset_round_trip(offset):
    text = offset.to_json()
    assert "\n" not in text
    assert CommitOffset.parse(text) == offset


@pytest.mark.parametrize("key", ["commitTime", "offsetCommitTime"])
def test_offset_of_hudis_own_source(key):
    assert CommitOffset.parse(json.dumps({key: "20260101000000000"})) == CommitOffset("20260101000000000", False)


@pytest.mark.parametrize("text", ["", "7", "[]", "{}", '{"hudiHiveOffset": 2, "time": "1"}', '{"hudiHiveOffset": 1}'])
def test_unknown_offset_is_refused(text):
    with pytest.raises(CheckpointError, match="unknown format"):
        CommitOffset.parse(text)


# -- options -----------------------------------------------------------------------------------------------------------


def test_option_names_in_any_case_of_letters():
    parsed = options(maxcommitspertrigger="3", **{START.lower(): "LATEST", "failondataloss": "False"})
    assert (parsed.limits.max_commits, parsed.start, parsed.fail_on_data_loss) == (3, "latest", False)
    assert options(**{START: "2026-01-01"}).start == "20260101000000000"
    assert options(**{"hoodie.datasource.query.incremental.format": "cdc"}).query("1", "2").query_type == "cdc"


@pytest.mark.parametrize(
    "more",
    [
        {"maxCommitsPerTrigger": "0"},
        {"maxCommitsPerTrigger": "many"},
        {"maxBytesPerTrigger": "-1"},
        {"failOnDataLoss": "perhaps"},
        {START: "yesterday"},
        {"hoodie.datasource.read.begin.instanttime": "20260101000000000"},
        {"as.of.instant": "20260101000000000"},
        {"hoodie.datasource.query.type": "read_optimized"},
        {"hoodie.query.as.ro.table": "true"},
        {"hoodie.unknown": "1"},
        {"path": ""},
    ],
)
def test_wrong_options_are_refused(more):
    with pytest.raises(InvalidOptionError):
        options(**more)


# -- batches -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", (6, 8))
def test_limits_of_a_trigger_divide_commits(tmp_path, version):
    table = made(tmp_path, version, commits=5)
    times = [table.t(n) if version == 6 else table.completed(n) for n in range(1, 6)]
    assert batches(tmp_path) == times[-1:]
    assert batches(tmp_path, maxCommitsPerTrigger=1) == times
    assert batches(tmp_path, maxCommitsPerTrigger=2) == [times[1], times[3], times[4]]
    assert batches(tmp_path, maxBytesPerTrigger=1) == times
    assert batches(tmp_path, maxBytesPerTrigger=1 << 30) == times[-1:]
    client, parsed = MetaClient.load(tmp_path), options(tmp_path, maxCommitsPerTrigger=1)
    commits = parsed.commits(client, EARLIEST)
    assert commits.newest() == times[-1]
    assert commits.end(limited=False) == times[-1]
    assert commits.end(times[1], limited=False) == times[1]
    assert commits.end("000") is None


SERVICED = [name for name in fixture_names() if name.endswith(("part_mdt", "part_rli", "log_compaction", "rollback"))]


@pytest.mark.parametrize("name", SERVICED)
def test_batches_of_one_commit_are_the_whole_range(name):
    """Real tables with table services: every row of the whole range comes in one of the batches."""
    path = unzip_fixture(name)
    cleaned = {"hoodie.datasource.read.incr.fallback.fulltablescan.enable": True}
    table = HudiTable.open(path)
    whole = table.scan(query_type="incremental", begin="earliest", options=cleaned).to_arrow()
    ends = batches(path, maxCommitsPerTrigger=1)
    seen = set()
    for begin, end in zip([EARLIEST, *ends], ends, strict=False):
        rows = table.scan(query_type="incremental", begin=begin, end=end, options=cleaned).to_arrow()
        seen |= set(zip(*(rows.column(f"_hoodie_{c}").to_pylist() for c in ("commit_time", "record_key")), strict=True))
    last = set(zip(*(whole.column(f"_hoodie_{c}").to_pylist() for c in ("commit_time", "record_key")), strict=True))
    assert last <= seen
    assert batches(path) == ends[-1:]


def test_a_pending_commit_of_version_6_holds_a_stream_up(tmp_path):
    table = made(tmp_path, 6, commits=3)
    (tmp_path / ".hoodie" / f"{table.t(2)}.deltacommit").unlink()
    with pytest.raises(HollowCommitError):
        batches(tmp_path)
    blocked = {"hoodie.read.timeline.holes.resolution.policy": "BLOCK"}
    assert batches(tmp_path, **blocked) == [table.t(1)]
    table.log(2, [{"id": "k2", "ts": 2, "a": "y"}])
    assert batches(tmp_path, **blocked) == [table.t(3)]


def test_a_commit_that_is_gone_is_noticed(tmp_path):
    table = made(tmp_path)
    client, policy = MetaClient.load(tmp_path), options(tmp_path).read.hollow_policy
    assert is_on_timeline(client, CommitOffset(table.completed(2)), policy)
    assert not is_on_timeline(client, CommitOffset("20250101000000000"), policy)
    assert is_on_timeline(client, CommitOffset("20250101000000000", is_commit=False), policy)


@pytest.mark.parametrize("version", ("v6", "v8", "v9"))
def test_clustering_starts_no_batch(version):
    path = unzip_fixture(f"{version}_mor_parquet_log_rollback")
    timeline = MetaClient.load(path).timeline
    operations = {
        item.completed or item.requested: timeline.commit_metadata(item).operation for item in timeline.write_instants()
    }
    assert "CLUSTER" in operations.values()
    ends = batches(path, maxCommitsPerTrigger=1)
    assert ends == sorted(time for time, operation in operations.items() if operation not in ("CLUSTER", "COMPACT"))


@pytest.mark.parametrize("name", ("v6_cow_archived", "v8_cow_archived", "v9_cow_archived"))
def test_archived_commits_count_as_committed(name):
    client = MetaClient.load(unzip_fixture(name))
    policy = options().read.hollow_policy
    archived = [item for item in client.timeline.archived().instants if item.is_completed and item.is_write]
    assert archived
    for item in archived:
        time = item.completed if client.timeline.layout == 2 else item.requested
        assert is_on_timeline(client, CommitOffset(time), policy)
