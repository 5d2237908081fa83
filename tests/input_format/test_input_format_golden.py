"""The scenarios that the real ``HoodieParquetInputFormat`` was run through, against ours."""

import dataclasses

import pytest

from hudi_hive.errors import HollowCommitError, HudiHiveError, InvalidOptionError, PathNotFoundError
from hudi_hive.input_format import HoodieParquetInputFormat
from tests.input_format.shared.input_format_golden_helpers import (
    COMMON,
    COW,
    REALTIME,
    base_path,
    job,
    scenarios,
)

DEVIATIONS = {
    "cow nonexistent partition": ("input-paths: a missing folder is an error", PathNotFoundError),
    "cow nonexistent partition only": ("input-paths: a missing folder is an error", PathNotFoundError),
    "cow file as input path": ("input-paths: the file named there does not exist", PathNotFoundError),
    "nomdt nonexistent, metadata.enable=false": ("input-paths: a missing folder is an error", PathNotFoundError),
    "inc wrong table name": ("input-paths: a key that names no table is an error", InvalidOptionError),
    "inc usedb": ("input-paths: the table has no database, so the key names no table", InvalidOptionError),
    "cow glob": ("input-paths: globs work", "cow snapshot all partitions"),
    "inc base path input": ("input-paths: incremental mode on a base path works", "inc from 0 max -1"),
    "mixed: inc table + snapshot table + plain": (
        "job-configuration: real Hive lost the Hudi files of the job between listing and splitting",
        "mixed: inc table + snapshot table + plain",
    ),
    "hollow inc default": (
        "hollow-commits: from version 8 on a pending commit stops a range only when the job names a policy",
        "hollow inc USE_TRANSITION_TIME",
    ),
}
"""Scenario -> why ours differs (a heading of docs/format/rules.md, then in words), and what comes instead: an error, or
the outcome of another scenario."""

ERRORS = {
    "org.apache.hudi.exception.HoodieException": HollowCommitError,
    "java.lang.NullPointerException": InvalidOptionError,
    "java.lang.IllegalArgumentException": InvalidOptionError,
    "org.apache.hudi.exception.HoodieIOException": HudiHiveError,
    "org.apache.hudi.exception.HoodieTimeTravelException": HudiHiveError,
}


def texts(paths):
    return sorted(path.replace("BASE_PATH", str(base_path())) for path in paths)


def test_every_scenario_is_accounted_for():
    assert len(COW) + len(REALTIME) == 71
    assert set(DEVIATIONS) <= set(COW)
    assert all("rt" in name.split() for name in REALTIME)  # merge-on-read with logs: not this class


@pytest.mark.parametrize("name", COW)
def test_splits_are_those_of_hudi_s_input_format(name):
    scenario = scenarios()[name]
    outcome = scenario
    error = ERRORS[scenario["exception"][0]] if "exception" in scenario else None
    if name in DEVIATIONS:
        other = DEVIATIONS[name][1]
        outcome, error = (scenarios()[other], None) if isinstance(other, str) else (scenario, other)
    conf = job(scenario)
    before = dict(conf)
    input_format = HoodieParquetInputFormat(conf)
    if error is not None:
        with pytest.raises(error) as raised:
            input_format.list_status()
        assert raised.value.remedy or raised.value.path
        return
    if "list_status" in outcome:
        wanted = [(path.replace("BASE_PATH", str(base_path())), length) for _, path, length in outcome["list_status"]]
        assert sorted((status.path, status.length) for status in input_format.list_status()) == sorted(wanted)
    assert_splits(input_format, outcome, lost="mixed" in name)
    assert_input_paths(input_format, scenario, outcome)
    assert dict(conf) == before, "job-configuration: the caller's conf is left alone"


def assert_splits(input_format, outcome, lost):
    splits = sorted(input_format.get_splits(outcome.get("num_splits_hint", 1)), key=lambda s: (s.path, s.start))
    files = [(split["path"], split["start"], split["length"]) for split in outcome["splits"]]
    if lost:
        files = [(path, 0, length) for _, path, length in outcome["list_status"]]
    wanted = sorted((path.replace("BASE_PATH", str(base_path())), start, length) for path, start, length in files)
    assert [(split.path, split.start, split.length) for split in splits] == wanted


def assert_input_paths(input_format, scenario, outcome):
    groups = input_format.classify()
    if not groups.incremental or groups.snapshot or groups.non_hudi:
        # docs/format/rules.md#job-configuration: Hive is left with the plain folders alone; ours names all that is read
        assert set(input_format.plan.input_paths) >= set(groups.non_hudi)
    elif outcome.get("list_status"):
        assert sorted(input_format.plan.input_paths) == texts(outcome["input_dir_after_list_status"])
    else:
        assert input_format.plan.input_paths == ()  # nothing is affected: Hive leaves the paths as they were


@pytest.mark.parametrize("name", [name for name in COW if "readers" in scenarios()[name]])
def test_rows_are_those_of_hudi_s_readers(name):
    scenario = scenarios()[name]
    input_format = HoodieParquetInputFormat(job(scenario))
    splits = {split.path: split for split in input_format.get_splits(1)}
    assert len(splits) == len(scenario["splits"]) == len(scenario["readers"])
    columns = COMMON["columns"].split(",")
    for split, reader in zip(scenario["splits"], scenario["readers"], strict=True):
        batches = list(input_format.get_record_reader(splits[split["path"].replace("BASE_PATH", str(base_path()))]))
        assert all(batch.schema.names == reader["names_after"].split(",") for batch in batches)
        rows = [row for batch in batches for row in batch.to_pylist()]
        texts = [[None if row.get(name) is None else str(row[name]) for name in columns] for row in rows]
        assert texts == reader["rows"]


def test_metadata_enable_makes_no_difference_but_in_modification_times():
    scenario = scenarios()["cow snapshot all partitions"]
    statuses = [
        HoodieParquetInputFormat(job(scenario).with_({"hoodie.metadata.enable": flag})).list_status()
        for flag in (True, False)
    ]
    assert [dataclasses.replace(s, mtime_ms=None) for s in statuses[1]] == statuses[0]
