"""The scenarios that the real ``HoodieParquetRealtimeInputFormat`` was run through, against ours."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import FileVanishedError, InvalidOptionError, UnsupportedTableError
from hudi_hive.input_format import HoodieParquetInputFormat, HoodieParquetRealtimeInputFormat, JobConf, RealtimeSplit
from hudi_hive.input_format.job.job_conf import INPUT_DIR
from tests.input_format.shared.input_format_golden_helpers import REALTIME, base_path, job, scenarios
from tests.support.fixture_tables import fixture_names, one_version_of_each, unzip_fixture
from tests.support.running.long import with_long_cases

TIME_TRAVEL = "input-format.md 8: real Hive gives the newest values; ours are those of the instant"
WHOLE = (
    "input-format.md 6: real Hive misses a log file written after the compaction was requested; ours is the snapshot's"
)
DEVIATIONS = {
    "mor rt time travel t1": TIME_TRAVEL,
    "mor rt time travel t2": TIME_TRAVEL,
    "pend rt inc stop=false": WHOLE,
    "pend rt inc stop=false USE_TRANSITION": WHOLE,
}


def full(path):
    return path.replace("BASE_PATH", str(base_path()))


def splits_of(scenario, **more):
    input_format = HoodieParquetRealtimeInputFormat(job(scenario).with_(more))
    splits = input_format.get_splits(scenario.get("num_splits_hint", 1))
    return input_format, sorted(splits, key=lambda split: (split.path, split.start))


@pytest.mark.parametrize("name", [name for name in REALTIME if name not in DEVIATIONS])
def test_splits_are_those_of_hudi_s_realtime_format(name):
    scenario = scenarios()[name]
    input_format, splits = splits_of(scenario)
    got = [
        (s.path, s.start, s.length, s.max_commit_time, s.incremental, [log for log, _ in s.log_files]) for s in splits
    ]
    names = ("path", "start", "length", "max_commit_time", "incremental", "logs")
    wanted = sorted([full(split["path"]), *(split[key] for key in names[1:])] for split in scenario["splits"])
    assert [list(split) for split in got] == wanted
    for split, theirs in zip(splits, sorted(scenario["splits"], key=lambda s: (s["path"], s["start"])), strict=True):
        key = theirs.get("virtual_key")
        assert (split.virtual_key is None) == (key is None)
        if key is not None:
            assert split.virtual_key.record_keys == (key["record_key"],)
            assert split.virtual_key.partition_fields == (key["partition_path"],)
    if "list_status" in scenario:
        statuses = [(status.path, status.length) for status in input_format.list_status()]
        assert sorted(statuses) == sorted((full(path), size) for _, path, size in scenario["list_status"])


@pytest.mark.parametrize("name", [n for n in REALTIME if n not in DEVIATIONS and "readers" in scenarios()[n]])
def test_rows_are_those_of_hudi_s_realtime_readers(name):
    scenario = scenarios()[name]
    input_format, splits = splits_of(scenario)
    by_path = {split.path: split for split in splits}
    columns = input_format.conf["columns"].split(",")
    for theirs, reader in zip(scenario["splits"], scenario["readers"], strict=True):
        split = by_path[full(theirs["path"])]
        batches = list(input_format.get_record_reader(split))
        asked = [c for c in input_format.conf["hive.io.file.readcolumn.names"].split(",") if c]
        asked += [] if "country" in asked else ["country"]
        assert all(batch.schema.names == asked for batch in batches)
        rows = [row for batch in batches for row in batch.to_pylist()]
        wanted = [[row[columns.index(name)] for name in asked] for row in reader["rows"]]
        got = [[None if row[name] is None else str(row[name]) for name in asked] for row in rows]
        assert sorted(got) == sorted(wanted)
        assert len(rows) == reader["row_count"]
        if "legacy" in name and split.log_files and "skip" not in name:
            # The old reader reads the columns that merging needs, too; so do we, but for those it reads in vain.
            needed = set(input_format.required_columns(split))
            assert set(asked) < needed | {"_"} and needed - set(asked) <= set(reader["names_after"].split(","))
            assert ("id" if name.startswith("vk") else "_hoodie_record_key") in needed


@pytest.mark.parametrize(("name", "commit"), [("mor rt time travel t1", 0), ("mor rt time travel t2", 1)])
def test_time_travel_shows_the_instant(name, commit):
    scenario = scenarios()[name]
    instant = next(value for key, value in scenario["job"].items() if key.endswith("consume.commit"))
    input_format, splits = splits_of(scenario)
    assert {split.max_commit_time for split in splits} == {instant}
    assert all(instant >= log.split("_")[1].split(".")[0] for split in splits for log, _ in split.log_files)
    assert ids_and_values(input_format, splits) == rows_of("if_mor", as_of=instant)
    wanted = {0: {("1", "a"), ("2", "b"), ("3", "c")}, 1: {("1", "a2"), ("2", "b"), ("3", "c")}}
    assert set(ids_and_values(input_format, splits)) == wanted[commit]


def ids_and_values(input_format, splits):
    rows = [r for split in splits for batch in input_format.get_record_reader(split) for r in batch.to_pylist()]
    return sorted((str(row["id"]), row["val"]) for row in rows)


def rows_of(table, **query):
    rows = HudiTable.open(base_path() / table).scan(selected_fields=["id", "val"], **query).to_arrow().to_pylist()
    return sorted((str(row["id"]), row["val"]) for row in rows)


@pytest.mark.parametrize("name", ["pend rt inc stop=false", "pend rt inc stop=false USE_TRANSITION"])
def test_a_range_takes_the_log_files_after_a_pending_compaction(name):
    input_format, splits = splits_of(scenarios()[name])
    theirs = sorted(full(split["path"]) for split in scenarios()[name]["splits"])
    assert [split.path for split in splits] == theirs
    assert ids_and_values(input_format, splits) == rows_of("if_pend")
    assert ("1", "a3") in ids_and_values(input_format, splits)


def test_a_deleted_row_is_gone_and_a_slice_is_one_split():
    scenario = scenarios()["mor rt snapshot"]
    input_format, splits = splits_of({**scenario, "num_splits_hint": 50})
    with_logs = [split for split in splits if split.log_files]
    assert len({split.path for split in with_logs}) == len(with_logs) == 3
    assert all((split.start, split.length) == (0, split.file_length) for split in with_logs)
    assert ids_and_values(input_format, splits) == rows_of("if_mor")


WITH_ROWS = [n for n in fixture_names("mor") if "empty" not in n]


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(WITH_ROWS), WITH_ROWS))
def test_the_splits_of_a_table_hold_its_snapshot(name):
    path = unzip_fixture(name)
    table = HudiTable.open(path)
    conf = JobConf({INPUT_DIR: str(path)})
    realtime, optimised = HoodieParquetRealtimeInputFormat(conf), HoodieParquetInputFormat(conf)
    for ours, query_type in ((realtime, "snapshot"), (optimised, "read_optimized")):
        batches = [batch for split in ours.get_splits(3) for batch in ours.get_record_reader(split)]
        rows = pa.Table.from_batches(batches, schema=table.schema())
        assert same(rows, table.scan(query_type=query_type).to_arrow())


def same(one, other):
    return sorted(map(str, one.to_pylist())) == sorted(map(str, other.to_pylist()))


def test_skip_merge_gives_every_record():
    scenario = scenarios()["mor rt snapshot"]
    rows = {}
    for keys in ({"hoodie.realtime.merge.skip": "true"}, {"hoodie.datasource.merge.type": "skip_merge"}):
        input_format, splits = splits_of(scenario, **keys)
        rows[tuple(keys)] = ids_and_values(input_format, splits)
    first, second = rows.values()
    assert first == second and len(first) == 6
    both = {"hoodie.realtime.merge.skip": "true", "hoodie.datasource.merge.type": "payload_combine"}
    assert ids_and_values(*splits_of(scenario, **both)) == rows_of("if_mor")
    with pytest.raises(InvalidOptionError, match=r"hoodie\.datasource\.merge\.type"):
        splits_of(scenario, **{"hoodie.datasource.merge.type": "none"})


def test_a_split_goes_to_another_process():
    scenario = scenarios()["mor rt snapshot"]
    input_format, splits = splits_of(scenario)
    shipped = [pickle.loads(pickle.dumps(split)) for split in splits]
    assert shipped == splits
    other = HoodieParquetRealtimeInputFormat(job(scenario))
    assert ids_and_values(other, shipped) == ids_and_values(input_format, splits)


def test_splits_of_the_other_format_are_refused():
    scenario = scenarios()["mor rt snapshot"]
    plain = HoodieParquetInputFormat(job(scenario)).get_splits(1)[0]
    with pytest.raises(InvalidOptionError, match="realtime") as caught:
        HoodieParquetRealtimeInputFormat(job(scenario)).get_record_reader(plain)
    assert caught.value.remedy
    assert not isinstance(plain, RealtimeSplit)


def test_pending_commits_are_refused():
    scenario = scenarios()["mor rt snapshot"]
    with pytest.raises(UnsupportedTableError, match=r"pending\.commits"):
        splits_of(scenario, **{"hoodie.if_mor.consume.pending.commits": "true"})


@pytest.mark.parametrize("name", fixture_names("mor_part_rli"))
def test_a_log_file_that_vanished(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    input_format = HoodieParquetRealtimeInputFormat(JobConf({INPUT_DIR: str(path)}))
    split = next(split for split in input_format.get_splits(1) if split.log_files)
    (path / split.partition / split.log_files[-1][0]).unlink()
    with pytest.raises(FileVanishedError) as caught:
        list(input_format.get_record_reader(split))
    assert caught.value.remedy
