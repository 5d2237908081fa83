"""The input formats learn files from the metadata table, as planning does, and list folders where it cannot serve."""

from __future__ import annotations

import shutil

import pytest

from hudi_hive.errors import InvalidOptionError
from hudi_hive.input_format import HoodieParquetInputFormat, HoodieParquetRealtimeInputFormat, JobConf
from hudi_hive.input_format.job.job_conf import INPUT_DIR
from hudi_hive.input_format.job_report import report
from hudi_hive.metrics import METADATA_METRICS
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture

WITH_METADATA_TABLE = [*fixture_names("cow_part_mdt"), *fixture_names("mor_part_rli"), *fixture_names("cow_crash_mdt")]
FORMATS = [HoodieParquetInputFormat, HoodieParquetRealtimeInputFormat]


def job(kind, paths, **keys):
    paths = paths if isinstance(paths, list) else [paths]
    conf = {name.replace("__", "."): value for name, value in keys.items()}
    return kind(JobConf({INPUT_DIR: ",".join(map(str, paths)), **conf}))


def files(input_format) -> list[tuple]:
    return sorted((s.path, s.length, s.partition, s.file_id, s.instant) for s in input_format.list_status())


def folders(input_format, base) -> list[str]:
    """The folders of data that were listed."""
    listed = [path.removeprefix(f"file:{base}").strip("/") for path in input_format.counters.listed]
    return sorted(path for path in listed if not path.startswith(".hoodie"))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", WITH_METADATA_TABLE)
def test_the_metadata_table_answers(name, kind):
    base = unzip_fixture(name)
    by_table, by_listing = job(kind, base), job(kind, base, hoodie__metadata__enable=False)
    assert files(by_table) == files(by_listing) != []
    assert folders(by_table, base) == [] and len(folders(by_listing, base)) > 1
    assert report(by_table).groups[0]["note"] == "latest; files by metadata table"
    assert "directory listing (hoodie.metadata.enable=false)" in report(by_listing).groups[0]["note"]
    # some partitions only
    partition = expected(name)["partitions"][0]
    asked = job(kind, base / partition)
    assert files(asked) == [file for file in files(by_table) if file[2] == partition]
    assert folders(asked, base) == []


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", [*fixture_names("cow_part_mdt"), *fixture_names("mor_part_rli")])
def test_folders_are_listed_where_the_metadata_table_is_damaged(tmp_path, name, kind):
    base = unzip_fixture(name, tmp_path)
    partition = expected(name)["partitions"][0]
    whole = files(job(kind, base))
    shutil.rmtree(base / ".hoodie" / "metadata" / "files")
    assert files(job(kind, base)) == whole
    asked = job(kind, base / partition)
    assert files(asked) == [file for file in whole if file[2] == partition]
    assert folders(asked, base) == [partition], "no folder beside the input path's"
    note = report(asked).groups[0]["note"]
    assert note.startswith("latest; files by directory listing (") and len(note) > len("latest; files by directory ()")


@pytest.mark.parametrize("name", fixture_names("cow_crash_mdt"))
def test_files_of_inflight_commits_are_not_in_the_metadata_table(name):
    base = unzip_fixture(name)
    keys = {f"hoodie__{name}__consume__pending__commits": True}
    pending = job(HoodieParquetInputFormat, base, **keys)
    assert files(pending) == files(job(HoodieParquetInputFormat, base, hoodie__metadata__enable=False, **keys))
    assert files(pending) != files(job(HoodieParquetInputFormat, base))
    assert "pending.commits" in report(pending).groups[0]["note"]


@pytest.mark.parametrize("name", fixture_names("cow_part_mdt"))
def test_listings_of_the_metadata_table_are_validated(tmp_path, name):
    base = unzip_fixture(name, tmp_path)
    checked = job(HoodieParquetInputFormat, base, hoodie__metadata__validate=True)
    errors = METADATA_METRICS.snapshot().get("HoodieMetadata.validate_errors.count", 0)
    assert files(checked) == files(job(HoodieParquetInputFormat, base))
    assert METADATA_METRICS.snapshot().get("HoodieMetadata.validate_errors.count", 0) == errors
    assert "hoodie.metadata.validate=true" in report(checked).groups[0]["note"]
    with pytest.raises(InvalidOptionError, match=r"hoodie\.metadata\.enable"):
        job(HoodieParquetInputFormat, base, hoodie__metadata__enable="perhaps").classify()
