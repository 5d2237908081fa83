"""The metadata table says what real Hudi says, and is not believed where it cannot be."""

import base64
import datetime as dt
import decimal
import logging
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive.errors import HudiHiveError, MetadataTableError, UnknownColumnError
from hudi_hive.metadata import MetadataListing, MetadataTable, validate
from hudi_hive.metadata.reader.records import WRAPPERS
from hudi_hive.metrics import MetadataMetrics
from hudi_hive.table import MetaClient
from hudi_hive.table.view import DirectoryLister
from tests.support.fixture_tables import encode_value, expected, fixture_names, unzip_fixture

ALL = fixture_names()
WITH = tuple(name for name in ALL if expected(name).get("mdt_files_partition"))
WITHOUT = tuple(name for name in ALL if name not in WITH)
CRASHED = tuple(name for name in WITH if "crash" in name)


def client_of(name, folder=None, listing=None):
    return MetaClient.load(unzip_fixture(name) if folder is None else folder, listing=listing)


def table_of(name):
    return MetadataTable.open(client_of(name))


def with_index(index):
    return [name for name in WITH if expected(name).get(f"mdt_{index}")]


def files_by_partition(table):
    found = {}
    for row in table.to_pylist():
        found.setdefault(row["partition"], {})[row["name"]] = row["size"]
    return found


def on_disk(name, client):
    """Committed files that Hudi's own records name."""
    entries = expected(name)["mdt_files_partition"]
    return {
        "" if entry["key"] == "." else entry["key"]: {file: info["size"] for file, info in entry["files"].items()}
        for entry in entries
        if entry["type"] == 2 and entry["files"]
    }


def test_fixtures_have_metadata_tables():
    assert len(WITH) == 18 and len(WITHOUT) == 66


@pytest.mark.parametrize("name", WITH)
def test_the_metadata_table_lists_partitions(name):
    assert table_of(name).partitions() == sorted(expected(name)["partitions_by_mdt"])


@pytest.mark.parametrize("name", [name for name in WITH if name not in CRASHED])
def test_the_metadata_table_lists_the_files_on_disk(name):
    client = client_of(name)
    table = MetadataTable.open(client)
    wanted = on_disk(name, client)
    assert files_by_partition(table.files_table()) == wanted
    looked_up = table_of(name)
    assert files_by_partition(looked_up.files_table(list(wanted))) == wanted
    for partition, files in wanted.items():
        assert files_by_partition(table_of(name).files(partition)) == {partition: files}


@pytest.mark.parametrize("name", CRASHED)
def test_files_of_commits_that_did_not_complete_are_not_seen(name):
    client = client_of(name)
    files = MetadataTable.open(client).files_table()
    pending = [i.requested for i in client.timeline.pending()]
    assert pending or name.startswith("v")
    times = {i.requested for i in client.timeline.completed()}
    spark_sees = {file for files in on_disk(name, client).values() for file in files}
    assert set(files.column("name").to_pylist()) <= spark_sees
    # What Hudi's records as a table hold beyond ours was written by instants that are not complete.
    for extra in spark_sees - set(files.column("name").to_pylist()):
        assert not any(time in extra for time in times) or name.startswith("v6")


@pytest.mark.parametrize("name", WITH)
def test_slices_by_metadata_are_those_by_listing(name):
    listed = client_of(name)
    client = client_of(name, listing=MetadataListing())
    assert client.lister.source == "metadata table"
    partitions = client.partition_paths()
    ours = client.file_system_view(partitions).latest_merged_file_slices()
    theirs = listed.file_system_view(listed.partition_paths()).latest_merged_file_slices()
    if expected(name)["file_slices_by_mdt_same"]:
        assert ours.equals(theirs)
    else:
        assert name == "v6_mor_crash_mdt"
        assert ours.select(["partition", "file_id", "base_file"]).equals(
            theirs.select(["partition", "file_id", "base_file"])
        )
    assert client.counters["lists"] < 6


@pytest.mark.parametrize("name", WITHOUT)
def test_tables_without_are_listed(name, caplog):
    client = client_of(name, listing=MetadataListing())
    with pytest.raises(MetadataTableError):
        MetadataTable.open(client)
    with caplog.at_level(logging.INFO):
        assert client.partition_paths() == client_of(name).partition_paths()
        files = client.list_files()
    assert files.equals(client_of(name).list_files())
    if client.config.is_partitioned:
        assert "metadata table is off" in client.lister.source
        assert "folders are listed" in caplog.text


# -- statistics ----------------------------------------------------------------------------------------------------


def stats_rows(table):
    rows = {}
    for row in table.to_pylist():
        rows[row["file_name"], row["column"]] = row
    return rows


def wrapped(value, kinds):
    """Hudi's wrapper as (wrapper name, encoded value)."""
    if value is None:
        return None
    ((member, inner),) = value.items()
    return list(kinds)[int(member.removeprefix("member"))], inner["value"]


def ours_wrapped(value):
    if value is None:
        return None
    found = [(name, inner) for name, inner in value.items() if inner is not None]
    if not found:
        return None
    ((name, inner),) = found
    return name, encode_value(inner, WRAPPERS[name])


def as_shown_by_0_15(wrapper, value):
    """Release 0.15 shows, of merged records, dates as ints and decimals as the bytes of their unscaled value."""
    if wrapper == "DateWrapper":
        return "IntWrapper", value
    assert wrapper == "DecimalWrapper"
    unscaled = int(decimal.Decimal(value).scaleb(15))
    size = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return "BytesWrapper", base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


def assert_stats(name, index):
    want = expected(name)[f"mdt_{index}"]
    got = stats_rows(table_of(name).raw_stats(index))
    counted = 0
    for row in want:
        ours = got.pop((row["fileName"], row["columnName"]), None)
        if ours is None:
            assert name in CRASHED, row
            continue
        counted += 1
        assert ours["is_deleted"] == row["isDeleted"]
        if row["isDeleted"]:
            continue
        assert (ours["value_count"], ours["null_count"]) == (row["valueCount"], row["nullCount"]), row
        assert (ours["total_size"], ours["total_uncompressed_size"]) == (
            row["totalSize"],
            row["totalUncompressedSize"],
        )
        for side in ("min", "max"):
            theirs = wrapped(row[f"{side}Value"], WRAPPERS)
            mine = ours_wrapped(ours[side])
            if theirs is not None and theirs[0] in ("DateWrapper", "LocalDateWrapper") and isinstance(theirs[1], str):
                mine = mine[0], (dt.date(1970, 1, 1) + dt.timedelta(mine[1])).isoformat()
            if name.startswith("v6") and mine != theirs:
                mine = as_shown_by_0_15(*mine)
            assert mine == theirs, (row, ours)
    assert not got
    assert counted


@pytest.mark.parametrize("name", with_index("column_stats"))
def test_column_stats_are_those_of_hudi(name):
    assert_stats(name, "column_stats")


@pytest.mark.parametrize("name", with_index("partition_stats"))
def test_partition_stats_are_those_of_hudi(name):
    assert_stats(name, "partition_stats")


@pytest.mark.parametrize("name", with_index("column_stats"))
def test_column_ranges_hold_the_values_of_the_files(name):
    """Typed bounds against the rows: no value of a base file lies outside, and bounds are not simply missing."""
    import pyarrow.parquet as pq

    client = client_of(name)
    table = MetadataTable.open(client)
    schema = client.schema()
    columns = [f.name for f in schema if not pa.types.is_nested(f.type) and f.name in _indexed(name)]
    ranges = table.column_ranges(columns)
    files = client.list_files()
    files = files.filter(pc.ends_with(files.column("name"), ".parquet"))
    known = 0
    for row in files.to_pylist():
        path = f"{row['partition']}/{row['name']}".lstrip("/")
        data = pq.read_table(client.storage.full_path(path), partitioning=None)
        for column in columns:
            found = ranges[column].filter(pc.equal(ranges[column].column("file_name"), row["name"]))
            if not found.num_rows or column not in data.column_names:
                continue
            assert found.num_rows == 1
            values = data.column(column)
            assert found.column("value_count")[0].as_py() == len(values)
            assert found.column("null_count")[0].as_py() == values.null_count
            values = values.cast(schema.field(column).type)
            bounds = found.column("min")[0], found.column("max")[0]
            assert bounds[0].type == schema.field(column).type
            if bounds[0].as_py() is None or values.null_count == len(values):
                continue
            known += 1
            if pa.types.is_boolean(values.type) or pa.types.is_binary(values.type):
                ordered = sorted(value for value in values.to_pylist() if value is not None)
                assert bounds[0].as_py() <= ordered[0] and ordered[-1] <= bounds[1].as_py()
            elif not pa.types.is_floating(values.type):
                assert pc.all(pc.greater_equal(values, bounds[0])).as_py(), (column, row, bounds)
                assert pc.all(pc.less_equal(values, bounds[1])).as_py(), (column, row, bounds)
    assert known > 10


def _indexed(name):
    return {row["columnName"] for row in expected(name)["mdt_column_stats"]}


@pytest.mark.parametrize("version", (6, 8, 9))
def test_bounds_of_every_type_are_decoded(version):
    client = client_of(f"v{version}_cow_types")
    table = MetadataTable.open(client)
    kinds = {"at": dt.datetime, "b": bool, "bin": bytes, "d": float, "day": dt.date, "dec": decimal.Decimal,
             "f": float, "i": int, "id": int, "s": str, "small": decimal.Decimal, "ts": int}  # fmt: skip
    for column, ranges in table.column_ranges(list(kinds)).items():
        bounds = [value for value in ranges.column("min").to_pylist() if value is not None]
        assert bounds and all(isinstance(value, kinds[column]) for value in bounds), column


def test_ranges_of_chosen_files_and_partitions():
    table = table_of("v9_cow_part_mdt")
    everything = table.column_ranges(["page", "visit_id"])
    names = everything["page"].column("file_name").to_pylist()
    assert len(names) > 2
    one = table.column_ranges(["page"], [names[0]])["page"]
    assert one.column("file_name").to_pylist() == [names[0]]
    oslo = table.column_ranges(["page"], partitions=["oslo"])["page"]
    assert oslo.column("file_name").to_pylist() == table.files("oslo").column("name").to_pylist()
    assert table.column_ranges(["page"], partitions=[])["page"].num_rows == 0
    by_partition = table.partition_ranges(["visit_id"])["visit_id"]
    assert set(by_partition.column("partition").to_pylist()) >= {"kyiv", "lima", "oslo"}
    with pytest.raises(UnknownColumnError):
        table.column_ranges(["nowhere"])


# -- record index --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", with_index("record_index"))
def test_the_record_index_is_that_of_hudi(name):
    import uuid

    want = {}
    for row in expected(name)["mdt_record_index"]:
        high, low = row["fileIdHighBits"] & (2**64 - 1), row["fileIdLowBits"] & (2**64 - 1)
        want[row["key"]] = (row["partitionName"], f"{uuid.UUID(int=high << 64 | low)}-{row['fileIndex']}")
    table = table_of(name)
    found = {row["key"]: (row["partition"], row["file_id"]) for row in table.record_locations().to_pylist()}
    assert found == want
    keys = sorted(want)[:5]
    some = table_of(name).record_locations([*keys, "no such key"])
    assert some.column("key").to_pylist() == keys
    completed = {instant.requested for instant in table._client.timeline.completed()}
    assert set(some.column("instant").to_pylist()) <= completed


# -- refusals and fallbacks ----------------------------------------------------------------------------------------


def damaged(name, tmp_path, pattern, data=None):
    base = unzip_fixture(name, tmp_path)
    found = sorted((base / ".hoodie/metadata").glob(pattern))
    assert found
    for path in found:
        if data is None:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        else:
            path.write_bytes(data)
    return base


@pytest.mark.parametrize("name", ["v6_cow_part_mdt", "v8_mor_part_rli", "v9_cow_types"])
@pytest.mark.parametrize(
    ("pattern", "data"),
    [
        (".hoodie/hoodie.properties", None),
        ("files", None),
        ("files/*.hfile", b"no HFile"),
        ("files/.files*", b"#HUDI#\x00\x00"),
        (".hoodie/hoodie.properties", b"hoodie.table.name=x\n"),
    ],
)
def test_a_damaged_metadata_table_is_not_used(name, pattern, data, tmp_path, caplog):
    base = damaged(name, tmp_path, pattern, data)
    client = client_of(name, base, MetadataListing())
    plain = client_of(name, base)
    with caplog.at_level(logging.WARNING):
        partitions = client.partition_paths()
        files = client.list_files(partitions)
    if client.lister.source == "metadata table":
        # Log files torn to nothing are corrupt blocks, which readers pass over; then the table must be behind.
        pytest.fail("a damaged metadata table was believed")
    assert partitions == plain.partition_paths()
    assert files.equals(plain.list_files(partitions))
    assert "folders are listed" in caplog.text


@pytest.mark.parametrize("name", ["v6_cow_part_mdt", "v8_cow_part_mdt", "v9_mor_part_rli"])
def test_a_metadata_table_that_lacks_a_commit_is_not_used(name, tmp_path):
    base = unzip_fixture(name, tmp_path)
    last = MetaClient.load(base).timeline.last_completed_write().requested
    for path in (base / ".hoodie/metadata/.hoodie").rglob(f"{last}*"):
        path.unlink()
    client = client_of(name, base, MetadataListing())
    client.partition_paths()
    assert "lacks the completed" in client.lister.source
    with pytest.raises(MetadataTableError, match=last):
        MetadataTable.open(client)


def test_enable_false_lists():
    client = client_of("v9_cow_part_mdt", listing=MetadataListing(enable=False))
    assert client.lister.source == "directory listing (hoodie.metadata.enable=false)"
    assert client.partition_paths() == client_of("v9_cow_part_mdt").partition_paths()
    assert not any("metadata" in path for path in client.counters.opened)


def test_one_client_opens_it_once():
    client = client_of("v9_cow_part_mdt", listing=MetadataListing())
    assert MetadataTable.open(client) is MetadataTable.open(client)
    other = client.with_listing(MetadataListing(validate=True))
    assert MetadataTable.open(other) is MetadataTable.open(client)
    assert client.with_listing(MetadataListing()) is client
    assert other.timeline is client.timeline


# -- cost ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH)
def test_reads_do_not_grow_with_partitions_and_questions(name):
    client = client_of(name, listing=MetadataListing())
    with client.counters.measure() as first:
        partitions = client.partition_paths()
        client.list_files(partitions)
    # Two timelines and the folder of the partition ``files``; its base and log files and the two properties.
    assert first["lists"] == 3
    files = [path for path in client.counters.opened if "/.hoodie/metadata/files/" in path]
    assert all(client.counters.opened[path] == 1 for path in files)
    with client.counters.measure() as again:
        for partition in partitions:
            client.list_files([partition])
    assert again.get("lists", 0) == 0 and again.get("opens", 0) == 0


# -- validation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH)
def test_validation_finds_metadata_and_disk_alike(name):
    metrics = MetadataMetrics()
    report = validate(client_of(name), metrics)
    assert report.is_valid, str(report)
    assert report.files > 0 and report.partitions > 0
    assert metrics.snapshot()["HoodieMetadata.validate_files.count"] == 1


@pytest.mark.parametrize("name", ["v6_cow_part_mdt", "v9_mor_part_rli"])
def test_validation_reports_a_missing_file(name, tmp_path, caplog):
    base = unzip_fixture(name, tmp_path)
    client = client_of(name, base)
    victim = next(base.glob("*/*.parquet"))
    victim.unlink()
    report = validate(client)
    assert report.errors == 1 and victim.name in str(report)
    assert report.differences.column("listed").to_pylist() == [None]
    validating = client_of(name, base, MetadataListing(validate=True))
    with caplog.at_level(logging.WARNING):
        files = validating.list_files(validating.partition_paths())
    assert victim.name not in files.column("name").to_pylist()
    order = [("partition", "ascending"), ("name", "ascending")]
    listed = DirectoryLister(client.storage).files(client.partition_paths())
    assert files.sort_by(order).equals(listed.sort_by(order))
    assert victim.name in caplog.text


def test_validation_needs_a_metadata_table():
    with pytest.raises(HudiHiveError, match="is off"):
        validate(client_of("v9_cow_nonpart"))
