"""A folder that holds files of a table that was there before: they are no rows of this one, by whatever face."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, TimelineError
from hudi_hive.input_format import HoodieParquetInputFormat, JobConf
from hudi_hive.metadata import validate
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import encode_rows, fixture_names, rows_sha256, unzip_fixture

LISTED = {"hoodie.metadata.enable": "false"}
HISTORY = ".hoodie/timeline/history"


def rows(value):
    return pa.table({"id": [f"k{i}" for i in range(4)], "v": [value] * 4, "p": ["a", "b"] * 2})


def create(path, version, kind, partitioned):
    fields = ["p"] if partitioned else []
    return HudiTable.create(
        path, name="t", table_type=kind, version=version, record_keys=["id"], partition_fields=fields
    )


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize(
    ("kind", "partitioned"), [("COPY_ON_WRITE", True), ("COPY_ON_WRITE", False), ("MERGE_ON_READ", True)]
)
def test_files_of_an_earlier_table_are_refused_in_all_faces(tmp_path, version, kind, partitioned):
    create(tmp_path / "t", version, kind, partitioned).insert(rows(1), LISTED)
    shutil.move(tmp_path / "t/.hoodie", tmp_path / "earlier")
    table = create(tmp_path / "t", version, kind, partitioned)
    table.insert(rows(2), LISTED)
    first = table.timeline.write_instants()[0].requested
    job = JobConf({"mapreduce.input.fileinputformat.inputdir": str(tmp_path / "t"), **LISTED})
    asked = [
        lambda: HudiTable.open(tmp_path / "t").scan().to_arrow(),
        lambda: HudiTable.open(tmp_path / "t").scan(options=LISTED).to_arrow(),
        lambda: HudiTable.open(tmp_path / "t").scan(query_type="read_optimized").to_arrow(),
        lambda: HudiTable.open(tmp_path / "t").scan(as_of=first).to_arrow(),
        lambda: list(HudiTable.open(tmp_path / "t").scan().splits()),
        lambda: HoodieParquetInputFormat(job).list_status_table(),
        lambda: HudiTable.open(tmp_path / "t").upsert(rows(3), LISTED),
        lambda: HudiTable.open(tmp_path / "t").upsert(rows(3)),  # which would make a metadata table of it
    ]
    for number, ask in enumerate(asked):
        with pytest.raises(HudiHiveError, match="its timeline does not know") as raised:
            ask()
        assert raised.value.remedy, number
    for instant in MetaClient.load(tmp_path / "t").timeline.instants:
        assert instant.requested == first or not (instant.is_completed and instant.is_write)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_metadata_table_that_lacks_them_gives_the_rows(tmp_path, kind):
    """The metadata table was there first; then somebody copied files of another table into the folders."""
    other = create(tmp_path / "other", 8, kind, True)
    other.insert(rows(1), LISTED)
    table = create(tmp_path / "t", 8, kind, True)
    table.insert(rows(2))
    for file in (tmp_path / "other").glob("*/*.parquet"):
        shutil.copy(file, tmp_path / "t" / file.parent.name)
    assert HudiTable.open(tmp_path / "t").scan().to_arrow().column("v").to_pylist() == [2] * 4
    assert not validate(MetaClient.load(tmp_path / "t")).is_valid
    with pytest.raises(TimelineError, match="nothing was archived"):
        HudiTable.open(tmp_path / "t").scan(options=LISTED).to_arrow()


def test_files_from_before_the_archive_of_layout_2(tmp_path):
    base = unzip_fixture("v9_cow_archived", tmp_path)
    right = HudiTable.open(base).scan(options=LISTED).to_arrow()
    file = next((base / "p3").glob("*.parquet"))
    archived = sorted((base / HISTORY).glob("*.parquet"))[0].name[:17]
    group, token, _ = file.stem.rsplit("_", 2)
    shutil.copy(file, file.with_name(f"x{group}_{token}_{int(archived) - 1}.parquet"))
    with pytest.raises(TimelineError, match=f"archive begins at {archived}"):
        HudiTable.open(base).scan(options=LISTED).to_arrow()
    assert json.loads((base / HISTORY / "manifest_6").read_text())["files"] and right.num_rows


@pytest.mark.parametrize("name", [name for name in fixture_names() if name.endswith(("archived", "ymd_hive"))])
def test_archived_tables_are_read(name):
    table = HudiTable.open(unzip_fixture(name))
    listed, known = (table.scan(options=options).to_arrow() for options in (LISTED, {}))
    assert listed.num_rows and rows_sha256(encode_rows(listed)) == rows_sha256(encode_rows(known))


@pytest.mark.parametrize("name", [name for name in fixture_names() if name.endswith("_cow_archived")])
def test_a_table_that_lost_its_archive_is_read(tmp_path, name, caplog):
    """Hudi's exporter copies no archive, and there are those who delete it to save space."""
    base = unzip_fixture(name, tmp_path)
    right = HudiTable.open(base).scan(options=LISTED).to_arrow()
    for folder in (base / HISTORY, base / ".hoodie/archived"):
        shutil.rmtree(folder, ignore_errors=True)
    read = HudiTable.open(base).scan(options=LISTED).to_arrow()
    assert rows_sha256(encode_rows(read)) == rows_sha256(encode_rows(right))
    assert "the archived timeline" in caplog.text
