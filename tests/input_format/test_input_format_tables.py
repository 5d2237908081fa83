"""Listing and reading the fixture tables as a Hive job does: rows, files and the exact cost of planning."""

import os
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    FileVanishedError,
    HudiHiveError,
    InvalidOptionError,
    UnknownColumnError,
)
from hudi_hive.input_format import HoodieParquetInputFormat
from hudi_hive.input_format.job_report import report
from tests.input_format.shared.table_job_helpers import (
    VERSIONS,
    commits,
    incremental,
    job,
    keys,
    names_of,
    numbers,
    rows_of,
)
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
from tests.support.running.long import long_case


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


def parameters():
    """The first query of each kind of each fixture in every run, of version 8 of snapshots, all in a long one."""
    seen = set()
    for name, query in CASES:
        again = (name, query["kind"]) in seen or (name.startswith("v8_") and query["kind"] != "snapshot")
        seen.add((name, query["kind"]))
        id_ = f"{name}-{query_id(query)}"
        yield long_case(name, query, name=id_) if again else pytest.param(name, query, id=id_)


@pytest.mark.parametrize(("name", "query"), list(parameters()))
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
def test_a_snapshot_lists_only_its_input_paths(version):
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


# -- reading -------------------------------------------------------------------------------------------------------


def test_a_job_s_columns_are_projected():
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
