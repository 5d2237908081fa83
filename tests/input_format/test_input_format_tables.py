"""Listing and reading the fixture tables as a Hive job does: rows, files and the exact cost of planning."""

import functools
import os
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    FileVanishedError,
    HollowCommitError,
    HudiHiveError,
    IncrementalRangeError,
    InstantNotFoundError,
    InvalidOptionError,
    TimeTravelError,
    UnknownColumnError,
    UnsupportedFormatError,
    UnsupportedTableError,
)
from hudi_hive.input_format import HoodieParquetInputFormat, JobConf
from hudi_hive.input_format.job_report import report
from tests.support.fixture_tables import (
    assert_same_rows,
    columns_of,
    encode_rows,
    expected,
    fixture_names,
    named_gap,
    queries,
    query_id,
    rows_sha256,
    unzip_fixture,
)

POLICY = "hoodie.read.timeline.holes.resolution.policy"
FULL_SCAN = "hoodie.datasource.read.incr.fallback.fulltablescan.enable"
VERSIONS = ("v6", "v8", "v9")


def keys(name, **consume):
    return {f"hoodie.{name}.consume.{key.replace('__', '.')}": value for key, value in consume.items()}


def incremental(name, start="0", **consume):
    return keys(name, mode="INCREMENTAL", start__timestamp=start, **consume)


def job(paths, conf=None):
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return HoodieParquetInputFormat(JobConf(conf or {}).with_input_paths([str(path) for path in paths]))


def rows_of(input_format, number=1):
    """All rows of the only table of a job, split by split."""
    (table,) = input_format.plan.tables.values()
    batches = [batch for split in input_format.get_splits(number) for batch in input_format.get_record_reader(split)]
    return pa.Table.from_batches(batches, schema=table.scan.schema)


def names_of(input_format):
    return sorted(path.rpartition("/")[2] for path in input_format.list_status_table().column("path").to_pylist())


def commits(name, *actions):
    found = [c for c in expected(name)["commits"] if c["state"] == "COMPLETED"]
    return [c for c in found if c["action"] in (actions or ("commit", "deltacommit", "replacecommit"))]


def tree(path, base):
    return path.removeprefix(f"{base}/")


# -- the same rows as Hudi's own queries ---------------------------------------------------------------------------

CASES = [
    *((n, q) for n in fixture_names("cow") for q in queries(n, "snapshot", "time_travel", "incremental")),
    *((n, q) for n in fixture_names("mor") for q in queries(n, "read_optimized")),
]


def write_context_of(name, query):
    table = expected(name)["table_name"]
    conf = {k: v for k, v in query["options"].items() if "instant" not in k and not k.endswith("query.type")}
    if query["kind"] == "incremental":
        conf |= incremental(table, query["begin"], max__commits="-1")
        if query.get("end"):
            conf |= keys(table, end__timestamp=query["end"])
    if query["kind"] == "time_travel":
        conf |= keys(table, snapshot__time=query["as_of"])
    return job(unzip_fixture(name), conf)


@pytest.mark.parametrize(("name", "query"), CASES, ids=[f"{n}-{query_id(q)}" for n, q in CASES])
def test_same_rows_as_hudi(name, query):
    gap = named_gap(name, query)
    if "error" in query and gap is None:
        with pytest.raises(HudiHiveError):
            rows_of(write_context_of(name, query))
        return
    rows = rows_of(write_context_of(name, query), 64)
    if gap is None:
        assert_same_rows(rows, name, query)
        return
    ours = HudiTable.open(unzip_fixture(name)).scan(options=query["options"]).to_arrow()
    assert rows.schema == ours.schema
    assert rows_sha256(encode_rows(rows)) == rows_sha256(encode_rows(ours))


# -- the cost of planning ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("inputs", ["base path", "250 partitions"])
def test_incremental_lists_no_partition(version, inputs):
    name = f"{version}_cow_wide_250"
    base = unzip_fixture(name)
    paths = [base] if inputs == "base path" else [base / p for p in expected(name)["partitions"]]
    input_format = job(paths, incremental(name, commits(name)[0]["requested"]))
    input_format.classify()
    asked = 2 if inputs == "base path" else 501  # there? holds .hoodie? for each path; then the base path's .hoodie
    assert input_format.counters.snapshot().items() >= {"exists": asked, "opens": 1, "reads": 1}.items()
    assert input_format.counters["lists"] == 0
    assert [tree(path, base) for path in input_format.plan.input_paths] == ["p007", "p123", "p249"]
    assert input_format.list_status_table().num_rows == 3
    # The timeline, and from version 8 on a look whether there is an archive; the one commit of the range.
    listed = [path.removeprefix(f"file:{base}/") for path in input_format.counters.listed]
    assert listed == {"v6": [".hoodie"]}.get(version, [".hoodie/timeline", ".hoodie/timeline/history"])
    opened = [path for path in input_format.counters.opened if path.endswith("commit")]
    assert len(opened) == 1 and commits(name)[1]["requested"] in opened[0]
    assert input_format.counters["exists"] == asked  # no file had to be looked for


@pytest.mark.parametrize("version", VERSIONS)
def test_snapshot_lists_only_what_is_asked_for(version):
    name = f"{version}_cow_wide_250"
    base = unzip_fixture(name)
    for paths, lists, files in (([base / "p007", base / "p123"], 3, 2), ([base / "p00*"], 12, 10), ([base], 252, 250)):
        input_format = job(paths)
        assert input_format.list_status_table().num_rows == files
        # The timeline; a listing per partition; the base folder for the glob, or to find the partitions.
        assert input_format.counters["lists"] == lists
        assert input_format.counters["opens"] == 1  # hoodie.properties


def test_mixed_job_makes_each_client_once():
    names = ["v6_cow_wide_250", "v8_cow_wide_250", "v9_cow_nonpart"]
    bases = [unzip_fixture(name) for name in names]
    paths = [bases[0] / "p001", bases[1] / "p001", bases[2], bases[0] / "p007", bases[1] / "p123"]
    input_format = job(paths, incremental(names[1], commits(names[1])[0]["requested"]))
    input_format.list_status()
    opened = input_format.counters.opened
    assert [opened[f"file:{base}/.hoodie/hoodie.properties"] for base in bases] == [1, 1, 1]
    assert list(input_format.groups.incremental) == [str(bases[1])]
    assert list(input_format.groups.snapshot) == [str(bases[0]), str(bases[2])]
    statuses = input_format.list_status()
    assert statuses[0].table == names[1] and len(statuses) == 4


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


@pytest.mark.parametrize("name", _PULLED)
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


def test_rows_of_older_commits_are_left_out_unless_asked_for():
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
def test_holes(version):
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


# -- input paths ---------------------------------------------------------------------------------------------------


def test_prefixes_globs_files_and_overlaps():
    name = "v8_cow_ymd_hive"
    base = unzip_fixture(name)
    everything = job(base).list_status()
    year = sorted({status.partition.split("/")[0] for status in everything})[0]
    below = [status.path for status in everything if status.partition.startswith(year + "/")]
    assert below
    assert [s.path for s in job(base / year).list_status()] == below
    assert [s.path for s in job(f"{base}/{year}/*/*").list_status()] == below
    assert [s.path for s in job(f"{base}/{year}/*/*/*.parquet").list_status()] == below
    assert [s.path for s in job([base / year, base, f"file://{base}/{year}", below[0]]).list_status()] == [
        s.path for s in everything
    ]
    assert [s.path for s in job(below[0]).list_status()] == below[:1]
    assert {s.mtime_ms is None for s in everything} == {False}


def test_a_file_that_is_not_newest_is_no_part_of_the_snapshot():
    name = "v8_cow_nonpart"
    base = unzip_fixture(name)
    (newest,) = names_of(job(base))
    old = next(path for path in base.glob("*.parquet") if path.name != newest)
    assert job(old).list_status() == []
    assert names_of(job(base / newest)) == [newest]


def test_incremental_on_a_file_and_on_part_of_the_partitions():
    name = "v8_cow_wide_250"
    base = unzip_fixture(name)
    conf = incremental(name, commits(name)[0]["requested"])
    (path,) = [status.path for status in job(base, conf).list_status() if status.partition == "p123"]
    single = job([path, base / "p008"], conf)
    assert [status.path for status in single.list_status()] == [path]
    assert single.plan.input_paths == (path,)


def test_a_nested_table_without_partitions_is_not_read_as_a_partition(tmp_path):
    outer = unzip_fixture("v8_cow_part_mdt", tmp_path)
    before = names_of(job(outer))
    unzip_fixture("v8_cow_nonpart", outer / "deep")
    assert names_of(job(outer)) == before
    assert names_of(job(outer / "deep")) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_link_to_a_partition_is_not_read_as_plain_files(tmp_path, version):
    base = unzip_fixture(f"{version}_cow_part_mdt")
    (tmp_path / "link").symlink_to(base / expected(base.name)["partitions"][0])
    with pytest.raises(InvalidOptionError, match="partition of a Hudi table") as caught:
        job(tmp_path / "link").list_status()
    assert caught.value.path == str(tmp_path / "link") and caught.value.remedy
    (tmp_path / "table").symlink_to(base)
    assert names_of(job(tmp_path / "table")) == names_of(job(base))


def test_nested_tables_keep_to_themselves(tmp_path):
    outer = unzip_fixture("v8_cow_ymd_hive", tmp_path)
    inner = unzip_fixture("v9_cow_nonpart", outer / "year=2024")
    alone = {path.name for path in inner.glob("*.parquet")}
    assert not alone & set(names_of(job(outer)))
    both = job([outer / "year=2024", inner])
    assert {status.table for status in both.list_status()} == {"v8_cow_ymd_hive", "v9_cow_nonpart"}
    assert list(job([f"{outer}/year=2024/*"]).groups.snapshot) == [str(outer), str(inner)]


def test_a_relative_path_and_a_uri_give_the_callers_spelling(monkeypatch):
    base = unzip_fixture("v9_cow_nonpart")
    monkeypatch.chdir(base.parent)
    assert job(base.name).list_status()[0].path.startswith(f"{base}/")
    assert job(f"file://{base}").list_status()[0].path.startswith(f"file:{base}/")


def test_url_encoded_partitions_are_not_decoded_in_paths():
    base = unzip_fixture("v8_cow_types")
    partition = next(p for p in expected("v8_cow_types")["partitions"] if "%3A" in p)
    for text in (f"{base}/{partition}", f"file://{base}/{partition}"):
        rows = rows_of(job(text))
        assert set(rows["grp"].to_pylist()) == {"x:y"}


# -- reading -------------------------------------------------------------------------------------------------------


def test_projection():
    name = "v8_cow_part_mdt"
    base = unzip_fixture(name)
    conf = {"columns": "visit_id,PAGE,dwell,city", "partition_columns": "city"}

    def read(**more):
        input_format = job(base / "lima", {**conf, **more})
        (split,) = input_format.get_splits()
        return pa.Table.from_batches(list(input_format.get_record_reader(split)))

    assert read(**{"hive.io.file.readcolumn.names": "page"}).column_names == ["page", "city"]
    assert read(**{"hive.io.file.readcolumn.ids": ",2,0"}).column_names == ["dwell", "visit_id", "city"]
    assert read(**{"hive.io.file.readcolumn.names": "page,city"}).column_names == ["page", "city"]
    count = read(**{"hive.io.file.readcolumn.names": "", "hive.io.file.readcolumn.ids": ""})
    assert count.column_names == ["city"] and set(count["city"].to_pylist()) == {"lima"}
    assert read(**{"hive.io.file.readcolumn.names": "page", "partition_columns": ""}).column_names == ["page"]
    with pytest.raises(UnknownColumnError):
        read(**{"hive.io.file.readcolumn.names": "nothing"})
    with pytest.raises(InvalidOptionError):
        read(**{"hive.io.file.readcolumn.ids": "9"})


def test_count_of_a_table_without_partition_columns():
    input_format = job(unzip_fixture("v8_cow_nonpart"), {"hive.io.file.readcolumn.names": ""})
    batches = [b for split in input_format.get_splits(8) for b in input_format.get_record_reader(split)]
    assert sum(batch.num_rows for batch in batches) == expected("v8_cow_nonpart")["queries"][0]["row_count"]
    assert all(batch.num_columns == 0 for batch in batches)


def test_a_file_that_vanishes_before_it_is_read(tmp_path):
    base = unzip_fixture("v8_cow_nonpart", tmp_path)
    input_format = job(base)
    (split,) = input_format.get_splits()
    os.unlink(split.path)
    with pytest.raises(FileVanishedError) as error:
        list(input_format.get_record_reader(split))
    assert error.value.path.endswith(split.path)


def test_a_split_of_another_job_is_refused():
    (split,) = job(unzip_fixture("v8_cow_nonpart")).get_splits()
    with pytest.raises(InvalidOptionError):
        job(unzip_fixture("v9_cow_nonpart")).get_record_reader(split)


def test_the_object_sees_one_moment(tmp_path):
    base = unzip_fixture("v8_cow_nonpart", tmp_path)
    input_format = job(base)
    before = input_format.list_status()
    last = commits("v8_cow_nonpart")[-1]
    os.unlink(base / ".hoodie" / "timeline" / f"{last['requested']}_{last['completed']}.commit")
    assert input_format.list_status() == before
    assert job(base).list_status() != before


# -- plain files ---------------------------------------------------------------------------------------------------


@functools.cache
def numbers():
    return pa.table({"id": range(1000), "name": [f"n{i}" for i in range(1000)]})


def test_plain_files_are_passed_through_and_split_by_row_groups(tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    pq.write_table(numbers(), folder / "000000_0", row_group_size=100)  # Hive gives its files no extension
    (folder / "_SUCCESS").write_bytes(b"")
    (folder / ".hidden.parquet").write_bytes(b"junk")
    pq.write_table(numbers().slice(0, 0), folder / "empty.parquet")
    (folder / "nothing.parquet").write_bytes(b"")
    input_format = job(folder)
    assert input_format.plan.input_paths == (str(folder),)
    assert [os.path.basename(s.path) for s in input_format.list_status()] == [
        "000000_0",
        "empty.parquet",
        "nothing.parquet",
    ]
    for number in (1, 7, 500):
        splits = input_format.get_splits(number)
        ids = [i for s in splits for b in input_format.get_record_reader(s) for i in b.column("id").to_pylist()]
        assert ids == list(range(1000))
    assert len({s.start for s in input_format.get_splits(500)}) > 100


def test_projection_of_plain_files(tmp_path):
    pq.write_table(numbers(), tmp_path / "f.parquet")
    conf = {"hive.io.file.readcolumn.names": "NAME,later"}
    input_format = job(tmp_path / "f.parquet", conf)
    (split,) = input_format.get_splits()
    table = pa.Table.from_batches(list(input_format.get_record_reader(split)))
    assert table.column_names == ["name", "later"] and table["later"].null_count == 1000


def test_plain_sub_folders(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    pq.write_table(numbers(), tmp_path / "a/b/f.parquet")
    with pytest.raises(InvalidOptionError, match="sub-folders"):
        job(tmp_path / "a").list_status()
    recursive = {"mapred.input.dir.recursive": "true"}
    assert [s.path for s in job(tmp_path / "a", recursive).list_status()] == [f"{tmp_path}/a/b/f.parquet"]
    unzip_fixture("v8_cow_nonpart", tmp_path / "a")
    with pytest.raises(InvalidOptionError, match="Hudi table"):
        job(tmp_path / "a", recursive).list_status()
    with pytest.raises(InvalidOptionError, match="sub-folders"):
        job(tmp_path / "a").list_status()


def test_other_formats_are_refused_when_they_are_read(tmp_path):
    (tmp_path / "f.csv").write_text("a,b\n")
    input_format = job(tmp_path)
    (split,) = input_format.get_splits()
    with pytest.raises(UnsupportedFormatError):
        list(input_format.get_record_reader(split))


def test_an_empty_folder_gives_an_empty_list(tmp_path):
    (tmp_path / "void").mkdir()
    input_format = job(tmp_path / "void")
    assert input_format.list_status() == [] and input_format.get_splits() == []
    base = unzip_fixture("v8_mor_empty")
    assert job(base).list_status() == []


# -- report --------------------------------------------------------------------------------------------------------


def test_report_of_a_mixed_job(tmp_path):
    name, other = "v8_cow_wide_250", "v9_cow_nonpart"
    base, second = unzip_fixture(name), unzip_fixture(other)
    pq.write_table(numbers(), tmp_path / "f.parquet")
    start = commits(name)[0]["requested"]
    found = report(job([base, second, tmp_path], incremental(name, start)), 4)
    assert [(row["group"], row["table"], row["files"]) for row in found.groups] == [
        ("incremental", name, 3),
        ("snapshot", other, 1),
        ("plain", None, 1),
    ]
    assert found.groups[0]["note"] == f"from commit metadata; next start {commits(name)[1]['completed']}"
    assert [row["path"] for row in found.rewritten] == [
        *(f"{base}/{p}" for p in ("p007", "p123", "p249")),
        str(second),
        str(tmp_path),
    ]
    assert [row["path"] for row in found.input_paths] == [str(base), str(second), str(tmp_path)]
    assert len(found.statuses) == 5 and found.splits >= 5
    assert found.io["lists"] == sum(found.listed.values()) == 2 + 2 + 1
    assert not any(path.startswith(f"file:{base}/p") for path in found.listed)


def test_columns_of_an_old_snapshot():
    """docs/format/rules.md#time-travel-bounds: the past shows the schema of then."""
    name = "v8_cow_schema_evo"
    first = commits(name)[0]["requested"]
    rows = rows_of(job(unzip_fixture(name), keys(name, commit=first)))
    query = next(q for q in queries(name, "time_travel") if q["as_of"] == first)
    assert set(rows.column_names) == set(columns_of(name, query))


# -- other file systems, other processes ---------------------------------------------------------------------------


def test_a_table_behind_fsspec():
    fsspec = pytest.importorskip("fsspec")
    name = "v8_cow_part_mdt"
    base = unzip_fixture(name)
    memory = fsspec.filesystem("memory")
    memory.put(str(base), "/lake/t", recursive=True)
    try:
        local, remote = job(base / "lima"), job("memory://lake/t/lima")
        assert names_of(remote) == names_of(local)
        assert remote.list_status()[0].path.startswith("memory://lake/t/lima/")
        assert rows_of(remote).equals(rows_of(local))
        globbed = job("memory://lake/t/{lima,os*}", incremental(name, commits(name)[0]["requested"], max__commits="-1"))
        assert globbed.list_status()
        assert all(status.path.startswith("memory://lake/t/") for status in globbed.list_status())
    finally:
        memory.rm("/lake", recursive=True)


def test_conf_splits_and_plan_can_be_shipped():
    base = unzip_fixture("v8_cow_nonpart")
    input_format = job(base)
    splits = input_format.get_splits(2)
    conf, plan, shipped = pickle.loads(pickle.dumps((input_format.conf, input_format.plan, splits)))
    assert conf == input_format.conf and shipped == splits
    assert plan.statuses == input_format.plan.statuses
    elsewhere = HoodieParquetInputFormat(conf)
    got, want = (list(f.get_record_reader(splits[0])) for f in (elsewhere, input_format))
    assert got == want
