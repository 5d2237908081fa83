"""Plans made while a writer and its cleaner go on: refused when the answer would be neither of before nor of after."""

from __future__ import annotations

import shutil

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import FileVanishedError, TimeTravelError
from hudi_hive.input_format import HoodieParquetInputFormat
from hudi_hive.input_format.job import INPUT_DIR
from hudi_hive.timeline import Instant
from tests.support.fixture_tables import fixture_names, unzip_fixture

CASES = fixture_names("cow_part_mdt")
LISTED = {"hoodie.metadata.enable": "false"}
"""The commits that these tests make do not write to the metadata table."""


def later(table: HudiTable, seconds: int) -> str:
    return str(int(table.timeline.instants[-1].requested) + seconds * 1000)


def complete(path, like: Instant, requested: str, action: str | None = None, state: str = "") -> None:
    """A later instant with the payload of one that is there, in which its time is the later one."""
    completed = "_" in like.file_name and not state
    name = f"{requested}_{int(requested) + 1}" if completed else requested
    payload = (path / like.path).read_bytes().replace(like.requested.encode(), requested.encode())
    (path / like.path).with_name(f"{name}.{action or like.action}{state}").write_bytes(payload)


def rewrite_and_clean(path, table: HudiTable) -> None:
    """A commit rewrites one file, and a clean removes the version before."""
    files = table.scan().plan().slices.to_pylist()
    commit = later(table, 10)
    old = path / files[0]["path"]
    old.rename(old.with_name(old.name.replace(files[0]["base_instant"], commit)))
    complete(path, table.timeline.last_completed_write(), commit)
    complete(path, table.timeline.completed({"clean"})[-1], later(table, 20))


@pytest.mark.parametrize("name", CASES)
def test_a_clean_between_timeline_and_listing_is_refused(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    rows = HudiTable.open(path).scan().count()
    table, input_format = HudiTable.open(path), HoodieParquetInputFormat({INPUT_DIR: str(path), **LISTED})
    assert table.timeline.instants
    (inputs,) = input_format.groups.snapshot.values()
    assert inputs.client.timeline.instants
    rewrite_and_clean(path, HudiTable.open(path))
    for plan in (table.scan(options=LISTED).plan, input_format.list_status):
        with pytest.raises(FileVanishedError, match="since the table was opened") as caught:
            plan()
        assert caught.value.path and caught.value.instant and caught.value.remedy
    assert table.refresh().scan().count() == rows


@pytest.mark.parametrize("name", CASES)
def test_a_file_that_is_gone_though_the_metadata_table_names_it_is_refused_when_read(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    assert table.timeline.instants
    rewrite_and_clean(path, HudiTable.open(path))
    with pytest.raises(FileVanishedError) as caught:
        table.scan().count()
    assert caught.value.path and caught.value.remedy


@pytest.mark.parametrize("name", CASES)
def test_a_later_commit_alone_does_no_harm(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    last = table.timeline.last_completed_write()
    files = HudiTable.open(path).scan().plan().slices.to_pylist()
    old = path / files[0]["path"]
    shutil.copy(old, old.with_name(old.name.replace(files[0]["base_instant"], later(table, 10))))
    complete(path, last, later(table, 10))
    assert table.scan().plan().slices.column("path").to_pylist() == [file["path"] for file in files]


@pytest.mark.parametrize("name", CASES)
def test_a_rollback_between_timeline_and_listing_is_refused(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    last = table.timeline.last_completed_write()
    assert table.schema(last.requested)  # read while the commit was there
    for file in path.glob(f"*/*_{last.requested}.parquet"):
        file.unlink()
    (path / last.path).unlink()
    with pytest.raises(FileVanishedError, match="rolled back"):
        table.scan(as_of=last.requested).plan()


@pytest.mark.parametrize("name", CASES)
def test_a_running_clean_counts_for_time_travel(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    clean = table.timeline.completed({"clean"})[-1]
    retained = table.timeline.cleaner_plan(clean).earliest_retained
    (path / clean.path).unlink()  # requested and inflight stay: it is deleting
    table = HudiTable.open(path)
    before = [i.requested for i in table.timeline.write_instants() if i.requested < retained]
    assert before
    for as_of in before:
        with pytest.raises(TimeTravelError, match="cleaned"):
            table.scan(as_of=as_of).plan()
    assert table.scan(as_of=retained).count()
