"""Ranges of commits: what is in them, what the archive adds, what a pending commit does, what was cleaned."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CorruptInstantError, HollowCommitError, IncrementalRangeError, InvalidOptionError
from hudi_hive.plan import Query, plan_scan
from hudi_hive.plan.core.incremental import select_commits
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Timeline
from tests.support.fixture_tables import VERSIONS, expected, fixture_names, one_version_of_each, unzip_fixture
from tests.support.running.long import with_long_cases

FULL_SCAN = {"hoodie.datasource.read.incr.fallback.fulltablescan.enable": "true"}
POLICY = "hoodie.read.timeline.holes.resolution.policy"


def commits_of(name: str) -> list[dict]:
    """All completed writes, the archived first."""
    answer = expected(name)
    found = [
        c
        for c in [*(answer["archived_commits"] or []), *answer["commits"]]
        if c["state"] == "COMPLETED" and c["action"] in ("commit", "deltacommit", "replacecommit")
    ]
    return sorted(found, key=lambda c: c["requested"])


def stamp(name: str, commit: dict) -> str:
    return commit["requested"] if name.startswith("v6") else commit["completed"]


def plus_one(instant: str) -> str:
    return str(int(instant) + 1).zfill(len(instant))


RANGED = [n for n in fixture_names("cow") if "crash" not in n]


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(RANGED), RANGED))
def test_every_range_of_commits(name):
    """Begin exclusive, end inclusive, by requested time in version 6 and completion time above, archive included."""
    client, commits = MetaClient.load(unzip_fixture(name)), commits_of(name)
    stamps = [stamp(name, c) for c in commits]
    edges = stamps if len(stamps) < 20 else stamps[::5]
    for begin in ["000", *edges, *map(plus_one, edges)]:
        for end in [None, *edges]:
            if end is not None and end < begin:
                continue
            chosen = select_commits(client, begin, end)
            wanted = [
                c["requested"]
                for c, time in zip(commits, stamps, strict=True)
                if begin < time and (end is None or time <= end)
            ]
            assert [i.requested for i in chosen.instants] == wanted
            in_range = [time for time in stamps if begin < time and (end is None or time <= end)]
            assert chosen.checkpoint == max(in_range, default=None)


@pytest.mark.parametrize("name", ["v8_cow_archived", "v9_cow_archived"])
def test_completion_times_are_taken_from_the_instants(monkeypatch, name):
    """A look-up goes through all instants, so that one for each commit would cost the square of their number."""
    asked = []
    look_up = Timeline.completion_times
    monkeypatch.setattr(Timeline, "completion_times", lambda self, times: asked.append(times) or look_up(self, times))
    chosen = select_commits(MetaClient.load(unzip_fixture(name)), "000")
    assert len(chosen.instants) > len(chosen.archived) > 0
    assert not asked


@pytest.mark.parametrize("name", fixture_names("cow_archived"))
def test_archived_commits_are_answered(name):
    """One new row a commit: each range of commits, archived or not, gives its rows or is refused as cleaned."""
    table, commits = HudiTable.open(unzip_fixture(name)), commits_of(name)
    assert table.scan(begin="earliest").to_arrow().num_rows == table.scan().count()
    answered = 0
    for first, second in itertools.pairwise(commits):
        scan = table.scan(begin=stamp(name, first), end=stamp(name, second))
        try:
            times = scan.to_arrow().column("_hoodie_commit_time").unique().to_pylist()
        except IncrementalRangeError:
            continue
        answered += 1
        assert times == [second["requested"]]
    assert answered >= len(commits) - 3


@pytest.mark.parametrize("name", fixture_names("cow_archived"))
def test_an_archived_commit_with_an_active_savepoint_is_answered(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    rows = table.scan(begin="earliest").count()
    archived = [i for i in table.timeline.archived().instants if i.is_completed and i.is_write][-1]
    time = archived.requested if archived.completed is None else f"{archived.requested}_{archived.completed}"
    folder = (path / table.timeline.instants[0].path).parent
    (folder / f"{time}.savepoint").write_bytes(b"")  # bears the time of the commit that it protects
    assert HudiTable.open(path).scan(begin="earliest").count() == rows


@pytest.mark.parametrize("name", fixture_names("cow_part_mdt"))
def test_cleaned_ranges_are_refused_or_scanned_in_full(name):
    table, commits = HudiTable.open(unzip_fixture(name)), commits_of(name)
    end = stamp(name, commits[1])
    with pytest.raises(IncrementalRangeError, match="cleaned") as caught:
        table.scan(begin="earliest", end=end).to_arrow()
    assert "fulltablescan" in caught.value.remedy and caught.value.instant and caught.value.path.endswith(".parquet")
    scan = table.scan(begin="earliest", end=end, options=FULL_SCAN)
    rows, everything = scan.to_arrow(), table.scan().to_arrow()
    wanted = [commits[0]["requested"], commits[1]["requested"]]
    kept = [time for time in everything.column("_hoodie_commit_time").to_pylist() if time in wanted]
    assert sorted(rows.column("_hoodie_commit_time").to_pylist()) == sorted(kept)
    assert any("full scan" in step.name for step in scan.plan().steps)
    # What is still there needs no full scan.
    last = table.scan(begin=stamp(name, commits[-2]), options=FULL_SCAN)
    assert not any("full scan" in step.name for step in last.plan().steps)
    assert last.to_arrow().column("_hoodie_commit_time").unique().to_pylist() == [commits[-1]["requested"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_consuming_by_checkpoint_sees_every_row_once(version):
    """Polling commit by commit gives, after the last poll, what one query of the whole range gives."""
    name = f"v{version}_cow_nonpart"
    table = HudiTable.open(unzip_fixture(name))
    begin, polls = "earliest", []
    for commit in commits_of(name):
        scan = table.scan(begin=begin, end=stamp(name, commit))
        polls.append(scan.to_arrow())
        begin = scan.plan().checkpoint
        assert begin == stamp(name, commit)
    assert table.scan(begin=begin).to_arrow().num_rows == 0
    assert table.scan(begin=begin).plan().checkpoint == begin
    newest: dict[str, tuple] = {}
    for row in pa.concat_tables(polls).to_pylist():
        newest[row["_hoodie_record_key"]] = row
    now = {row["_hoodie_record_key"]: row for row in table.scan().to_arrow().to_pylist()}
    untold = set(newest) - set(now)  # rows deleted later: deletes are not part of an incremental query
    assert len(untold) == 4
    for key, row in now.items():
        assert {k: v for k, v in newest[key].items() if k != "_hoodie_file_name"} == {
            k: v for k, v in row.items() if k != "_hoodie_file_name"
        }


# -- hollow commits ------------------------------------------------------------------------------------------------


@pytest.fixture
def hollow(tmp_path):
    """A version 6 table whose second commit has not completed, though the third has."""
    path = unzip_fixture("v6_cow_nonpart", tmp_path)
    first, second, third = commits_of("v6_cow_nonpart")
    (path / ".hoodie" / f"{second['requested']}.commit").unlink()
    return HudiTable.open(path), first["requested"], second["requested"], third["requested"]


def test_hollow_commits_fail_by_default(hollow):
    table, _, second, _ = hollow
    with pytest.raises(HollowCommitError, match=second) as caught:
        table.scan(begin="earliest").plan()
    assert caught.value.instant == second
    assert POLICY in caught.value.remedy
    assert table.scan().count() > 0  # a snapshot does not mind


def test_hollow_commits_block(hollow):
    table, first, _, _ = hollow
    plan = table.scan(begin="earliest", options={POLICY: "BLOCK"}).plan()
    assert plan.commit_times.to_pylist() == [first]
    assert plan.checkpoint == first


def test_hollow_commits_by_transition_time(hollow):
    table, first, _, third = hollow
    plan = table.scan(begin="earliest", options={POLICY: "USE_TRANSITION_TIME"}).plan()
    assert plan.commit_times.to_pylist() == [first, third]
    # Files were unpacked just now: by transition time both commits lie after their requested times.
    later = table.scan(begin=third, options={POLICY: "USE_TRANSITION_TIME"}).plan()
    written = [table.timeline.mtime_ms(i) for i in table.timeline.write_instants()]
    assert all(time is not None for time in written)
    assert set(later.commit_times.to_pylist()) <= {first, third}


@pytest.mark.parametrize("version", (8, 9))
def test_completion_times_need_no_policy(tmp_path, version):
    name = f"v{version}_cow_nonpart"
    path = unzip_fixture(name, tmp_path)
    first, second, third = commits_of(name)
    (path / ".hoodie" / "timeline" / f"{second['requested']}_{second['completed']}.commit").unlink()
    plan = HudiTable.open(path).scan(begin="earliest").plan()
    assert plan.commit_times.to_pylist() == [first["requested"], third["requested"]]


# -- other ---------------------------------------------------------------------------------------------------------


def test_late_completion_is_seen_by_completion_time(tmp_path):
    """A commit requested first and completed last lies after a checkpoint between the two completions."""
    name = "v8_cow_nonpart"
    path = unzip_fixture(name, tmp_path)
    first, second, third = commits_of(name)
    late = plus_one(third["completed"])
    timeline = path / ".hoodie" / "timeline"
    (timeline / f"{second['requested']}_{second['completed']}.commit").rename(
        timeline / f"{second['requested']}_{late}.commit"
    )
    plan = HudiTable.open(path).scan(begin=third["completed"]).plan()
    assert plan.commit_times.to_pylist() == [second["requested"]]
    assert plan.checkpoint == late
    assert first["requested"] not in plan.commit_times.to_pylist()


def test_a_glob_of_paths_limits_the_files(tmp_path):
    table = HudiTable.open(unzip_fixture("v8_cow_ymd_hive"))
    everything = table.scan(begin="earliest")
    option = "hoodie.datasource.read.incr.path.glob"
    for glob, kept in {
        "/year=2024/*": lambda path: path.startswith("year=2024/"),
        "month={01,02}/*": lambda path: "month=01" in path or "month=02" in path,
        "*.orc": lambda path: False,
        "/year=202?/month=01/day=1?/*.parquet": lambda path: "month=01/day=1" in path,
    }.items():
        paths = table.scan(begin="earliest", options={option: glob}).plan().slices.column("path").to_pylist()
        assert paths == [path for path in everything.plan().slices.column("path").to_pylist() if kept(path)], glob
    with pytest.raises(InvalidOptionError, match=r"path\.glob"):
        table.scan(options={option: "*"})


def test_schema_of_the_last_commit_of_the_range():
    name = "v9_cow_schema_evo"
    table = HudiTable.open(unzip_fixture(name))
    first = commits_of(name)[0]
    options = {"hoodie.datasource.read.schema.use.end.instanttime": "true"}
    scan = table.scan(begin="earliest", end=first["completed"], options=options)
    assert scan.schema == table.schema(first["requested"])
    assert scan.to_arrow().num_rows == 3
    newest = table.scan(begin="earliest", end=first["completed"])
    assert newest.schema == table.schema()
    assert newest.to_arrow().column("full_name").null_count == 0  # renamed since


def test_replaced_file_groups_are_left_out():
    """insert_overwrite in the range: the rows that it replaced are not shown, those that it wrote are."""
    for name in fixture_names("cow_cdc"):
        table = HudiTable.open(unzip_fixture(name))
        rows = table.scan(begin="earliest").to_arrow()
        assert sorted(rows.column("acct").to_pylist()) == sorted(table.scan().to_arrow().column("acct").to_pylist())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"\x00" * len(data)])
def test_a_corrupt_commit_is_named(tmp_path, version, damage):
    path = unzip_fixture(f"v{version}_cow_nonpart", tmp_path)
    client = MetaClient.load(path)
    instant = client.timeline.write_instants()[1]
    file = path / instant.path
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(CorruptInstantError) as caught:
        plan_scan(client.reload(), Query.of(begin="earliest"))
    assert caught.value.instant == instant.requested
    assert caught.value.path.endswith(instant.file_name)


@pytest.mark.parametrize("name", [*fixture_names("cow_nonpart"), *fixture_names("cow_archived")])
def test_commits_from_before_a_table_became_merge_on_read(tmp_path, name):
    """Not every commit of a merge-on-read table is a compaction: those of a converted table have new rows."""
    path = unzip_fixture(name, tmp_path)
    begins = ["earliest", HudiTable.open(path).timeline.write_instants()[0].requested]
    wanted = [HudiTable.open(path).scan(begin=begin) for begin in begins]
    rows = [scan.to_arrow().sort_by("_hoodie_record_key") for scan in wanted]
    properties = path / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace("=COPY_ON_WRITE", "=MERGE_ON_READ"))
    for begin, before, expected_rows in zip(begins, wanted, rows, strict=True):
        scan = HudiTable.open(path).scan(begin=begin)
        assert expected_rows.num_rows
        assert scan.to_arrow().sort_by("_hoodie_record_key").equals(expected_rows)
        assert scan.plan().checkpoint == before.plan().checkpoint
