"""The path filter for engines that list folders, compared with Hudi's own class."""

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError
from hudi_hive.input_format import HoodieROTablePathFilter
from hudi_hive.metrics import IoCounters
from tests.input_format.shared.input_format_answers import accepted_by_ours, answers, differs_for_a_reason, files_of
from tests.support.fixture_tables import unzip_fixture


def test_accepts_what_hudis_class_accepts(thorough):
    cases = answers()["accept"]
    cases = cases if thorough else [*cases[::12], *(case for case in cases if case[1] == "v9_mor_part_rli")]
    assert {release for release, *_ in cases} == {"0.15.0", "1.0.2", "1.1.1"}
    for release, name, instant, theirs in cases:
        ours = accepted_by_ours(name, instant, files_of(name))
        assert ours == theirs or differs_for_a_reason(name, instant, ours, theirs), (release, name, instant)


def test_files_below_a_path():
    base = unzip_fixture("v8_cow_archived")
    newest = HoodieROTablePathFilter()
    scanned = HudiTable.open(base).scan(query_type="read_optimized").plan().files.column("path").to_pylist()
    assert newest.files(str(base)) == sorted(f"{base}/{path}" for path in scanned)
    assert newest.files(f"file://{base}") == sorted(f"file:{base}/{path}" for path in scanned)
    (first, *_) = newest.files(str(base))
    assert newest.files(first) == [first]
    assert newest.accept(first)


def test_what_is_in_no_table_is_accepted(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.parquet").write_bytes(b"")
    (tmp_path / "_hidden").write_bytes(b"")
    path_filter = HoodieROTablePathFilter()
    assert path_filter.accepted([str(tmp_path / "a" / "x.parquet"), str(tmp_path / "a"), "/nowhere/y"]) == [
        str(tmp_path / "a" / "x.parquet"),
        str(tmp_path / "a"),
        "/nowhere/y",
    ]
    assert path_filter.files(str(tmp_path)) == [str(tmp_path / "a" / "x.parquet")]


def test_metadata_and_other_files_of_a_table_are_not_read():
    base = unzip_fixture("v8_cow_archived")
    path_filter = HoodieROTablePathFilter()
    assert not path_filter.accept(f"{base}/.hoodie/hoodie.properties")
    assert not path_filter.accept(f"{base}/.hoodie")
    partition = HudiTable.open(base).partitions()[0]
    assert path_filter.accept(f"{base}/{partition}")
    assert not path_filter.accept(f"{base}/{partition}/.hoodie_partition_metadata")
    assert not path_filter.accept(f"{base}/{partition}/notes.txt")


def test_a_table_is_opened_once():
    base = unzip_fixture("v8_cow_archived")
    counters = IoCounters()
    path_filter = HoodieROTablePathFilter(counters=counters)
    files = path_filter.files(str(base))
    before = counters.snapshot()
    assert path_filter.accepted(files) == files
    assert counters.snapshot() == before


def test_times_that_cannot_be_shown():
    base = unzip_fixture("v8_cow_archived")
    (file, *_) = HoodieROTablePathFilter().files(str(base))
    assert not HoodieROTablePathFilter("20000101000000000").accept(file)
    with pytest.raises(InvalidOptionError):
        HoodieROTablePathFilter("soon").accept(file)
