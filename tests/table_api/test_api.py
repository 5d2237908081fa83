"""The Python API on real tables, and what users see when something is wrong."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiHiveError, HudiTable
from hudi_hive.errors import (
    CorruptFileError,
    CorruptInstantError,
    FileVanishedError,
    InvalidOptionError,
    InvalidPropertiesError,
    TableNotFoundError,
    TimelineError,
    UnknownColumnError,
    UnsupportedTableError,
)
from hudi_hive.input_format import HoodieParquetInputFormat
from hudi_hive.input_format.job import INPUT_DIR
from tests.support.fixture_tables import fixture_names, unzip_fixture


@pytest.fixture
def table() -> HudiTable:
    return HudiTable.open(unzip_fixture("v8_cow_part_mdt"))


@pytest.mark.parametrize("name", fixture_names("cow_part_mdt"))
def test_lost_partition_columns_are_refused(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    properties = path / ".hoodie" / "hoodie.properties"
    lines = properties.read_text().splitlines()
    properties.write_text("".join(f"{line}\n" for line in lines if "partition.fields" not in line))
    with pytest.raises(InvalidPropertiesError, match="fields is missing") as caught:
        HudiTable.open(path).scan().to_arrow()
    assert caught.value.path.endswith("hoodie.properties") and caught.value.instant and caught.value.remedy
    with pytest.raises(InvalidPropertiesError, match="fields is missing"):
        HoodieParquetInputFormat({INPUT_DIR: str(path)}).list_status()


@pytest.mark.parametrize("name", ["v8_cow_nonpart", "v9_cow_part_mdt"])
def test_a_lost_timeline_is_no_empty_table(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    (path / ".hoodie" / "timeline").rename(tmp_path / "elsewhere")
    with pytest.raises(TimelineError, match="timeline folder does not exist") as caught:
        HudiTable.open(path).scan().to_arrow()
    assert caught.value.path.endswith(".hoodie/timeline") and caught.value.remedy


def test_properties_of_an_opened_table(table):
    assert (table.name, table.version, table.type) == ("v8_cow_part_mdt", 8, "COPY_ON_WRITE")
    assert table.partitions() == ["kyiv", "lima", "oslo"]
    assert table.properties["hoodie.table.name"] == "v8_cow_part_mdt"
    assert table.schema().names[5:] == ["visit_id", "page", "dwell", "seen_at", "city"]
    assert table.path.startswith("file:/")
    assert table.timeline.last_completed_write() is not None
    text = repr(table)
    for word in ("v8_cow_part_mdt", "copy-on-write", "version 8", "city"):
        assert word in text


def test_projection_filter_and_limit(table):
    scan = table.scan("city = 'oslo' AND visit_id < 103", selected_fields=("visit_id", "city"))
    assert scan.schema == pa.schema([("visit_id", pa.int64()), ("city", pa.string())])
    rows = scan.to_arrow()
    assert rows.to_pylist() == [{"visit_id": i, "city": "oslo"} for i in (100, 101, 102)]
    assert scan.count() == 3
    assert table.scan(limit=4).to_arrow().num_rows == table.scan(limit=4).count() == 4
    assert table.scan(limit=0).to_arrow().num_rows == 0
    assert "visit_id" in repr(scan) and "city = 'oslo'" in repr(scan)


@pytest.mark.parametrize(
    "row_filter",
    [
        "city = 'oslo' AND visit_id < 103",
        [("city", "=", "oslo"), ("visit_id", "<", 103)],
        (pc.field("city") == "oslo") & (pc.field("visit_id") < 103),
    ],
    ids=["sql", "dnf", "arrow"],
)
def test_filters_in_all_forms(table, row_filter):
    scan = table.scan(row_filter)
    assert scan.to_arrow().column("visit_id").to_pylist() == [100, 101, 102]
    if not isinstance(row_filter, pc.Expression):  # those are not taken apart
        assert scan.plan().partitions_planned == 1


def test_a_scan_gives_the_same_rows_in_every_form(table):
    scan = table.scan()
    rows = scan.to_arrow()
    assert scan.to_reader().read_all().equals(rows)
    assert pa.Table.from_batches(scan.to_batches(), schema=scan.schema).equals(rows)
    assert len(scan.to_pandas()) == rows.num_rows == scan.count()
    assert scan.plan().slices.num_rows == 3
    assert scan.to_arrow().equals(rows)  # a scan can be read again


def test_an_empty_result_keeps_its_schema(table):
    for scan in (
        table.scan("visit_id < 0"),
        table.scan("city = 'nowhere'", selected_fields=["page"]),
        table.scan(begin="2999-01-01"),
    ):
        assert scan.to_arrow().schema == scan.schema
        assert scan.to_arrow().num_rows == scan.count() == 0
        assert scan.to_reader().read_all().schema == scan.schema


def test_a_table_is_of_one_moment(tmp_path):
    path = unzip_fixture("v9_cow_nonpart", tmp_path)
    last = HudiTable.open(path).timeline.write_instants()[-1]
    file = path / last.path
    kept = file.read_bytes()
    file.unlink()
    table = HudiTable.open(path)
    assert table.scan().count() == 35
    file.write_bytes(kept)
    assert table.scan().count() == 35
    assert table.refresh().scan().count() == 31


def test_moved_tables_are_read(tmp_path):
    path = unzip_fixture("v6_cow_part_mdt", tmp_path).rename(tmp_path / "else where %20 ü")
    assert HudiTable.open(path).scan().count() == 15
    assert HudiTable.open(f"file://{path}".replace("%", "%25").replace(" ", "%20")).scan().count() == 15


@pytest.mark.parametrize("name", [*fixture_names("mor_types"), *fixture_names("cow_orc")])
def test_incremental_and_limit_on_other_formats(name):
    table = HudiTable.open(unzip_fixture(name))
    query_type = "read_optimized" if table.type == "MERGE_ON_READ" else "snapshot"
    assert table.scan(query_type=query_type, limit=3).to_arrow().num_rows == 3


# -- bad input -----------------------------------------------------------------------------------------------------


def fails(error, *words, path=None, call):
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text, text
    assert caught.value.path is None if path is None else path in caught.value.path
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), error)
    return caught.value


def test_not_a_table(tmp_path):
    fails(TableNotFoundError, "not a Hudi table", path=str(tmp_path), call=lambda: HudiTable.open(tmp_path))
    missing = tmp_path / "missing"
    fails(TableNotFoundError, "no such folder", path=str(missing), call=lambda: HudiTable.open(missing))
    inside = unzip_fixture("v8_cow_part_mdt") / "oslo"
    fails(TableNotFoundError, "base path", path=str(inside), call=lambda: HudiTable.open(inside))


def test_broken_properties_and_unknown_version(tmp_path):
    path = unzip_fixture("v8_cow_nonpart", tmp_path)
    file = path / ".hoodie" / "hoodie.properties"
    text = file.read_text()
    file.write_text(text.replace("hoodie.table.version=8", "hoodie.table.version=11"))
    fails(UnsupportedTableError, "version 11", path="hoodie.properties", call=lambda: HudiTable.open(path))
    file.write_text("hoodie.table.version=8\n")
    fails(InvalidPropertiesError, "hoodie.table.name", path="hoodie.properties", call=lambda: HudiTable.open(path))


def test_unknown_columns_and_options(table):
    fails(UnknownColumnError, "'fare'", call=lambda: table.scan(selected_fields=["fare"]).to_arrow())
    fails(UnknownColumnError, "fare", call=lambda: table.scan("fare > 1").to_arrow())
    fails(InvalidOptionError, "'hoodie.no.such'", call=lambda: table.scan(options={"hoodie.no.such": "1"}))
    fails(InvalidOptionError, "twice", call=lambda: table.scan(selected_fields=["page", "page"]))
    fails(InvalidOptionError, "not one of", call=lambda: table.scan(query_type="latest"))


@pytest.mark.parametrize("name", fixture_names("cow_nonpart"))
def test_a_file_that_vanished_after_planning(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    scan = HudiTable.open(path).scan()
    file = scan.plan().slices.column("path")[0].as_py()
    (path / file).unlink()
    fails(FileVanishedError, "plan", path=file, call=scan.to_arrow)


@pytest.mark.parametrize("name", [*fixture_names("cow_nonpart"), "v8_cow_orc"])
def test_a_damaged_base_file(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    file = path / table.scan().plan().slices.column("path")[0].as_py()
    data = file.read_bytes()
    for damaged in (b"", data[:100], data[:-20], b"\x00" * len(data)):
        file.write_bytes(damaged)
        fails(CorruptFileError, path=file.name, call=table.scan().to_arrow)


@pytest.mark.parametrize("name", fixture_names("cow_part_mdt"))
def test_a_damaged_commit(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    last = table.timeline.last_completed_write()
    (path / last.path).write_bytes(b"Obj\x01 and then nonsense")
    error = fails(CorruptInstantError, path=last.file_name, call=table.refresh().scan().to_arrow)
    assert error.instant == last.requested


@pytest.mark.parametrize("name", ["v6_cow_part_mdt", "v8_cow_nonpart", "v9_cow_archived"])
def test_truncated_metadata_gives_our_errors_or_the_right_rows(tmp_path, name):
    """Each file of .hoodie cut short or emptied, one at a time: an error of ours, or exactly the rows."""
    path = unzip_fixture(name, tmp_path)
    right = HudiTable.open(path).scan().to_arrow().sort_by("_hoodie_record_key")
    folder = path / ".hoodie"
    files = [f for f in sorted(folder.rglob("*")) if f.is_file() and "metadata" not in f.relative_to(folder).parts]
    for file in files:
        data = file.read_bytes()
        if not data:
            continue
        # A completed commit of no bytes is legal: it means that nothing is known of what it wrote.
        for damaged in (data[: len(data) // 2], data[:-1]):
            file.write_bytes(damaged)
            try:
                rows = HudiTable.open(path).scan().to_arrow()
            except HudiHiveError:
                continue
            finally:
                file.write_bytes(data)
            assert rows.sort_by("_hoodie_record_key").equals(right), file
