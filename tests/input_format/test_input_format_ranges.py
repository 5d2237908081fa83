"""Incremental jobs of the input format over real tables: ranges of commits, pending commits, time travel."""

import os

import pytest

from hudi_hive.errors import (
    HollowCommitError,
    IncrementalRangeError,
    InstantNotFoundError,
    TimeTravelError,
    UnsupportedTableError,
)
from tests.input_format.shared.table_job_helpers import VERSIONS, commits, incremental, job, keys, names_of, rows_of
from tests.support.fixture_tables import expected, fixture_names, one_version_of_each, unzip_fixture
from tests.support.running.long import with_long_cases

POLICY = "hoodie.read.timeline.holes.resolution.policy"
FULL_SCAN = "hoodie.datasource.read.incr.fallback.fulltablescan.enable"


_IDENTITY = ["_hoodie_record_key", "_hoodie_commit_time", "_hoodie_partition_path"]


# -- ranges --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_one_commit_at_a_time_sees_every_row_version_once(version):
    name = f"{version}_cow_archived"
    base = unzip_fixture(name)
    start, seen = "0", []
    while True:
        input_format = job(base, incremental(name, start))
        (table,) = input_format.plan.tables.values()
        if not len(table.incremental.commit_times):
            break
        assert len(table.incremental.commit_times) == 1
        assert set(rows_of(input_format)["_hoodie_commit_time"].to_pylist()) == {
            *table.incremental.commit_times.to_pylist()
        }
        seen += table.incremental.commit_times.to_pylist()
        start = table.incremental.checkpoint
    archived = {c["requested"] for c in expected(name)["archived_commits"] if c["action"] == "commit"}
    assert seen == sorted(archived | {c["requested"] for c in commits(name)})


_PULLED = [*fixture_names("mor"), *(n for n in fixture_names("cow", 8) if not n.endswith("virtual_keys"))]


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(_PULLED), _PULLED))
def test_pulling_commit_by_commit_misses_no_row_of_the_snapshot(name):
    """Who reads only base files, one commit at a time, has seen in the end every row that the base files hold."""
    base = unzip_fixture(name)
    table_name = expected(name)["table_name"]
    conf = {POLICY: "USE_TRANSITION_TIME"} if name == "v6_mor_crash_mdt" else {}
    start, seen = "0", set()
    while True:
        input_format = job(base, {**incremental(table_name, start), FULL_SCAN: "true", **conf})
        (table,) = input_format.plan.tables.values()
        if not len(table.incremental.commit_times):
            break
        seen |= {tuple(row.values()) for row in rows_of(input_format).select(_IDENTITY).to_pylist()}
        start = table.incremental.checkpoint
    if expected(name)["commits"]:
        assert {tuple(row.values()) for row in rows_of(job(base)).select(_IDENTITY).to_pylist()} <= seen


@pytest.mark.parametrize("version", VERSIONS)
def test_a_range_whose_files_were_cleaned_is_refused_or_scanned_in_full(version):
    name = f"{version}_cow_part_mdt"
    base = unzip_fixture(name)
    first, last = commits(name)[0], commits(name)[-1]
    with pytest.raises(IncrementalRangeError) as error:
        job(base, incremental(name)).list_status()
    assert FULL_SCAN in str(error.value)
    scan = job(base, {**incremental(name), FULL_SCAN: "true"})
    (table,) = scan.plan.tables.values()
    assert table.incremental.full_scan
    assert names_of(scan) == names_of(job(base))
    assert set(rows_of(scan)["_hoodie_commit_time"].to_pylist()) <= {first["requested"]}
    # The last commit's files are all there: no full scan is made although it is allowed.
    start = commits(name)[-2]["requested"]
    short = job(base, {**incremental(name, start), FULL_SCAN: "true"})
    (table,) = short.plan.tables.values()
    assert not table.incremental.full_scan
    assert table.incremental.commit_times.to_pylist() == [last["requested"]]


def test_only_cleaned_files_below_the_input_paths_matter():
    name = "v8_cow_part_mdt"
    base = unzip_fixture(name)
    with pytest.raises(IncrementalRangeError):
        job(base / "lima", incremental(name)).list_status()
    start = commits(name)[0]["requested"]
    touched = {stat for stat in os.listdir(base) if not stat.startswith(".")}
    assert "lima" in touched
    assert job(base / "lima", incremental(name, start, max__commits="-1")).list_status()


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_commit_that_completed_late_is_not_lost(version, tmp_path):
    """Two writers: the second commit completed before the first.

    A reader that saw the second and remembers its commit time still gets the first; by requested times it would be
    lost.
    """
    name = f"{version}_cow_wide_250"
    base = unzip_fixture(name, tmp_path)
    first, second = commits(name)
    timeline = base / ".hoodie" / "timeline"
    late = str(int(second["completed"]) + 1000)
    os.rename(
        timeline / f"{first['requested']}_{first['completed']}.commit", timeline / f"{first['requested']}_{late}.commit"
    )
    got = job(base, incremental(name, second["requested"])).plan.tables[str(base)].incremental
    assert (got.commit_times.to_pylist(), got.checkpoint) == ([first["requested"]], late)
    everything = job(base, incremental(name)).plan.tables[str(base)].incremental
    assert (everything.commit_times.to_pylist(), everything.checkpoint) == ([second["requested"]], second["completed"])


@pytest.mark.parametrize("version", VERSIONS)
def test_end_is_inclusive_and_lifts_the_default_number(version):
    name = f"{version}_cow_archived"
    times = [c["requested"] for c in commits(name)]

    def got(**consume):
        table = job(unzip_fixture(name), incremental(name, times[0], **consume)).plan.tables
        return next(iter(table.values())).incremental.commit_times.to_pylist()

    assert got() == times[1:2]
    assert got(max__commits="2") == times[1:3]
    assert got(max__commits="-1") == times[1:]
    assert got(end__timestamp=times[2]) == times[1:3]
    assert got(end__timestamp=times[2], max__commits="1") == times[1:2]
    assert got(end__timestamp=times[0]) == []


def test_rows_of_older_commits_are_left_out_unless_configured():
    name = "v8_cow_nonpart"
    conf = incremental(name, commits(name)[0]["requested"], max__commits="-1")
    filtered, whole = (
        rows_of(job(unzip_fixture(name), {**conf, **keys(name, filter__rows=flag)})) for flag in ("true", "false")
    )
    assert 0 < filtered.num_rows < whole.num_rows == expected(name)["queries"][0]["row_count"]


def test_an_empty_range_gives_no_files_and_no_paths():
    name = "v9_cow_nonpart"
    input_format = job(unzip_fixture(name), incremental(name, commits(name)[-1]["requested"]))
    assert input_format.list_status() == [] and input_format.get_splits(4) == []
    assert input_format.plan.input_paths == ()
    assert input_format.list_status_table().schema.names[0] == "path"


def test_incremental_needs_meta_columns():
    with pytest.raises(UnsupportedTableError, match="meta columns"):
        job(unzip_fixture("v8_cow_virtual_keys"), incremental("v8_cow_virtual_keys")).list_status()


# -- pending commits and holes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_pending_commits_show_what_a_running_write_has_written(version):
    name = f"{version}_cow_crash_leftover"
    base = unzip_fixture(name)
    pending = next(c["requested"] for c in expected(name)["commits"] if c["state"] != "COMPLETED")
    without, within = job(base), job(base, keys(name, pending__commits="true"))
    assert not any(pending in path for path in names_of(without))
    assert sum(pending in path for path in names_of(within)) == 2
    at = job(base, keys(name, pending__commits="true", commit=pending))
    assert names_of(at) == names_of(within)
    with pytest.raises(InstantNotFoundError):
        job(base, keys(name, commit=pending)).list_status()


@pytest.mark.parametrize("version", VERSIONS)
def test_commits_that_are_not_complete_end_a_range(version):
    name = f"{version}_mor_crash_mdt"
    base = unzip_fixture(name)
    first, third = (c["requested"] for c in commits(name))

    def got(**policy):
        conf = {**incremental(name, max__commits="-1"), **policy}
        return job(base, conf).plan.tables[str(base)].incremental.commit_times.to_pylist()

    with pytest.raises(HollowCommitError):
        got(**{POLICY: "fail"})
    assert got(**{POLICY: "BLOCK"}) == [first]
    assert got(**{POLICY: "USE_TRANSITION_TIME"}) == [first, third]
    if version == "v6":
        with pytest.raises(HollowCommitError):
            got()
    else:
        assert got() == [first, third]


def test_blocked_commits_hold_back_what_completed_after_them(tmp_path):
    """With BLOCK a consumer goes on from the last completion time it got: nothing that completed before it may wait."""
    name = "v8_mor_crash_mdt"
    base = unzip_fixture(name, tmp_path)
    first, third = commits(name)
    timeline = base / ".hoodie" / "timeline"
    late = str(int(third["completed"]) + 1000)
    os.rename(
        timeline / f"{first['requested']}_{first['completed']}.deltacommit",
        timeline / f"{first['requested']}_{late}.deltacommit",
    )
    conf = {**incremental(name, max__commits="-1"), POLICY: "BLOCK"}
    assert job(base, conf).plan.tables[str(base)].incremental.commit_times.to_pylist() == []


# -- time travel ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_consume_commit_must_be_an_instant_and_snapshot_time_any_moment(version):
    name = f"{version}_cow_nonpart"
    base = unzip_fixture(name)
    second = commits(name)[1]["requested"]
    between = str(int(second) + 1)
    exact = job(base, keys(name, commit=second))
    assert names_of(job(base, keys(name, snapshot__time=between))) == names_of(exact) != names_of(job(base))
    assert set(rows_of(exact)["_hoodie_commit_time"].to_pylist()) <= {c["requested"] for c in commits(name)[:2]}
    with pytest.raises(InstantNotFoundError) as error:
        job(base, keys(name, commit=between)).list_status()
    assert second in str(error.value) and "snapshot.time" in str(error.value)
    with pytest.raises(TimeTravelError):
        job(base, keys(name, snapshot__time="2020-01-01")).list_status()
