"""Input paths of jobs: prefixes, globs, links, nested tables, and folders of plain files."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive.errors import (
    InvalidOptionError,
    UnsupportedFormatError,
)
from tests.input_format.shared.table_job_helpers import VERSIONS, commits, incremental, job, names_of, numbers, rows_of
from tests.support.fixture_tables import (
    expected,
    unzip_fixture,
)

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
