"""Indexes that Hudi wrote: records by look-up equal those that Hudi itself reads, and lead to where the rows are."""

import base64
import functools
import json
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CorruptFileError, HudiHiveError, MetadataTableError
from hudi_hive.formats.hash import BloomFilter, key_hashes
from hudi_hive.metadata.reader.keys import file_key, partition_key
from tests.support.fixture_tables import DATA

FOLDER = DATA / "indexes"
NAMES = sorted(path.name.removesuffix(".expected.json") for path in FOLDER.glob("*.expected.json"))
PARTITIONED = "v9_partitioned_record_index"
TIMESTAMPS = "v8_timestamps"
WITH_RECORD_INDEX = [name for name in NAMES if name != TIMESTAMPS]
INDEXED = [name for name in NAMES if name.endswith("_indexes")]
EXPRESSION = "expr_index_by_day"


@functools.cache
def expected(name):
    return json.loads((FOLDER / f"{name}.expected.json").read_text(encoding="utf-8"))


def unpack(name, folder):
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        archive.extractall(folder)
    return Path(folder) / name


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes")
    return {name: HudiTable.open(str(unpack(name, folder))) for name in NAMES}


def places(name):
    """(record key, partition, file id) of each row, by Hudi's snapshot."""
    columns = [column.partition(":")[0] for column in expected(name)["columns"]]
    wanted = [columns.index(f"_hoodie_{what}") for what in ("record_key", "partition_path", "file_name")]
    rows = [tuple(row[at] for at in wanted) for row in expected(name)["rows"]]
    return sorted((key, partition, file.split("_")[0]) for key, partition, file in rows)


def location_rows(table):
    return [(row["key"], row["partition"], row["file_id"]) for row in table.to_pylist()]


@pytest.mark.parametrize("name", NAMES)
def test_tables_with_indexes_of_hudi_are_read(name, tables):
    columns = [column.partition(":")[0] for column in expected(name)["columns"]]
    at = columns.index("_hoodie_record_key")
    found = tables[name].scan(selected_fields=["_hoodie_record_key"]).to_arrow()
    assert sorted(found.column(0).to_pylist()) == sorted(row[at] for row in expected(name)["rows"])


@pytest.mark.parametrize("name", WITH_RECORD_INDEX)
def test_hudi_s_record_index_is_read(name, tables):
    metadata, rows = tables[name].metadata.reader, places(name)
    assert location_rows(metadata.record_locations()) == rows
    for key in {row[0] for row in rows}:
        assert location_rows(metadata.record_locations([key, "nowhere"])) == [row for row in rows if row[0] == key]
    for partition in tables[name].partitions():
        here = metadata.record_locations([row[0] for row in rows], [partition])
        assert location_rows(here) == [row for row in rows if row[1] == partition]
    assert location_rows(metadata.record_locations([])) == location_rows(metadata.record_locations(None, [])) == []


def test_a_key_may_be_in_two_partitions(tables):
    metadata = tables[PARTITIONED].metadata.reader
    assert metadata.record_locations(["k006"]).column("partition").to_pylist() == ["new_city", "oslo"]
    assert metadata.record_locations(["k006"], ["oslo"]).column("partition").to_pylist() == ["oslo"]


def test_look_ups_prune_by_an_index_kept_for_each_partition(tables):
    table = tables[PARTITIONED]
    options = {"hoodie.metadata.record.index.enable": "true"}
    for key in ("k006", "k001", "k007", "none"):
        rows = table.scan(f"_hoodie_record_key = '{key}'", options=options).to_arrow()
        wanted = [row for row in places(PARTITIONED) if row[0] == key]
        assert sorted(rows.column("_hoodie_partition_path").to_pylist()) == [row[1] for row in wanted]


def test_a_partition_that_the_index_lacks_is_no_partition_without_keys(tmp_path):
    base = unpack(PARTITIONED, tmp_path)
    for path in (base / ".hoodie/metadata/record_index").glob(".record-index-oslo-*"):
        path.unlink()
    metadata = HudiTable.open(str(base)).metadata.reader
    with pytest.raises(MetadataTableError, match="lacks the partition 'oslo'"):
        metadata.record_locations(["k000"])
    assert location_rows(metadata.record_locations(["k001"], ["rome"])) == [
        row for row in places(PARTITIONED) if row[0] == "k001"
    ]


def test_a_missing_file_group_of_an_index_is_an_error(tmp_path):
    base = unpack(PARTITIONED, tmp_path)
    for path in (base / ".hoodie/metadata/record_index").glob(".record-index-oslo-0000-*"):
        path.unlink()
    with pytest.raises(MetadataTableError, match="one is missing"):
        HudiTable.open(str(base)).metadata.reader.record_locations(["k001"])


def test_definitions_of_indexes_are_read(tables):
    (only,) = tables[PARTITIONED].metadata.reader.index_definitions
    assert (only.name, only.kind, only.columns, only.version) == ("record_index", "record_index", (), "V1")
    assert only.options == {"isPartitioned": "true"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"indexDefinitions": 3}', '{"indexDefinitions": {"a": {}}}', "\xff"])
def test_damaged_index_definitions_are_corrupt(text, tmp_path):
    base = unpack(PARTITIONED, tmp_path)
    (base / ".hoodie/.index_defs/index.json").write_bytes(text.encode("latin-1"))
    metadata = HudiTable.open(str(base)).metadata.reader
    with pytest.raises(CorruptFileError, match="index definitions"):
        _ = metadata.index_definitions
    assert metadata.record_locations().num_rows == len(places(PARTITIONED))


def test_a_table_without_definitions_has_none(tmp_path):
    base = unpack(PARTITIONED, tmp_path)
    (base / ".hoodie/.index_defs/index.json").unlink()
    assert HudiTable.open(str(base)).metadata.reader.index_definitions == ()


@pytest.mark.parametrize("name", NAMES)
def test_files_as_hudi_reads_them(name, tables):
    metadata = tables[name].metadata.reader
    for record in expected(name)["metadata"]:
        if record["type"] == 2:
            live = {file: value["size"] for file, value in record["filesystemMetadata"] if not value["isDeleted"]}
            files = metadata.files(record["key"])
            assert dict(zip(files["name"].to_pylist(), files["size"].to_pylist(), strict=True)) == live


def stats_of(records):
    """(file or partition, column, least, greatest, rows) of Hudi's statistics; a bound is its one value."""

    def bound(value):
        return next((item["value"] for item in (value or {}).values() if item is not None), None)

    found = [record["ColumnStatsMetadata"] for record in records if record["type"] in (3, 6)]
    return sorted(
        (one["fileName"], one["columnName"], bound(one["minValue"]), bound(one["maxValue"]), one["valueCount"])
        for one in found
        if not one["isDeleted"]
    )


@pytest.mark.parametrize("name", INDEXED)
def test_statistics_of_an_expression(name, tables):
    metadata = tables[name].metadata.reader
    definition = next(one for one in metadata.index_definitions if one.name == EXPRESSION)
    assert (definition.name, definition.kind, definition.columns) == (EXPRESSION, "column_stats", ("epoch",))
    assert definition.options["expr"] == definition.function == "from_unixtime"
    found = metadata.raw_stats(EXPRESSION)
    rows = [row for row in found.to_pylist() if not row["is_deleted"]]
    ours = sorted(
        (
            row["file_name"],
            row["column"],
            row["min"]["StringWrapper"],
            row["max"]["StringWrapper"],
            row["value_count"],
        )
        for row in rows
    )
    assert ours == stats_of(expected(name)["metadata"])


@pytest.mark.parametrize("name", INDEXED)
def test_an_expression_index_prunes_nothing_wrongly(name, tables):
    """Its records look like column statistics, of other values than the column's."""
    columns = [column.partition(":")[0] for column in expected(name)["columns"]]
    for column in ("epoch", "rider"):
        at = columns.index(column)
        for value in {row[at] for row in expected(name)["rows"]} - {None}:
            literal = f"'{value}'" if isinstance(value, str) else str(value)
            rows = tables[name].scan(f"{column} = {literal}").to_arrow()
            assert rows.num_rows == sum(row[at] == value for row in expected(name)["rows"])


@pytest.mark.parametrize("name", INDEXED)
def test_hudi_s_secondary_index_is_read(name, tables):
    metadata = tables[name].metadata.reader
    columns = [column.partition(":")[0] for column in expected(name)["columns"]]
    at, key = columns.index("rider"), columns.index("_hoodie_record_key")
    by_value = {}
    for row in expected(name)["rows"]:
        by_value.setdefault(row[at], set()).add(row[key])
    by_value.pop(None)
    assert any("$" in value for value in by_value) and any("\\" in value for value in by_value)
    place = {row[0]: row for row in places(name)}
    for value, keys in by_value.items():
        found = metadata.secondary_locations("by_rider", [value])
        assert location_rows(found) == [place[item] for item in sorted(keys)]
        assert set(found.column("secondary_key").to_pylist()) == {value}
    together = metadata.secondary_locations("secondary_index_by_rider", [*by_value, "none"])
    assert together.num_rows == sum(map(len, by_value.values()))


@pytest.mark.parametrize("name", INDEXED)
def test_hudi_s_bloom_filters_are_read(name, tables):
    table = tables[name]
    records = {row["key"]: row for row in expected(name)["metadata"] if row["type"] == 4}
    keys_of = {}
    for row in table.scan(selected_fields=["_hoodie_record_key", "_hoodie_file_name"]).to_arrow().to_pylist():
        keys_of.setdefault(row["_hoodie_file_name"], []).append(row["_hoodie_record_key"])
    for partition in table.partitions():
        names = table.metadata.reader.files(partition).column("name").to_pylist()
        found = table.metadata.reader.bloom_filters(partition, [*names, "unknown.parquet"])
        assert set(found.column("file_name").to_pylist()) == set(names)
        for line in found.to_pylist():
            record = records[partition_key(partition) + file_key(line["file_name"])]["BloomFilterMetadata"]
            assert line["type"] == record["type"] and line["filter"] == base64.b64decode(record["bloomFilter"])
            bloom = BloomFilter.parse(line["filter"], line["type"], line["file_name"])
            keys = keys_of.get(line["file_name"], [])
            assert bloom.may_contain(key_hashes(keys, bloom.hashes)).all()
            others = [f"absent{number}" for number in range(200)]
            assert bloom.may_contain(key_hashes(others, bloom.hashes)).mean() < 0.2


def test_bounds_of_timestamps_in_files_of_either_unit(tables):
    """The table's schema says microseconds; where a bound could be of either unit it must be unknown."""
    table = tables[TIMESTAMPS]
    (ranges,) = table.metadata.reader.column_ranges(["at"]).values()
    units = {"ms": 0, "us": 0}
    for row in ranges.to_pylist():
        column = pq.read_table(Path(table.path.removeprefix("file:")) / row["file_name"], columns=["at"]).column(0)
        units[column.type.unit] += 1
        values = sorted(column.cast(pa.timestamp("us", "UTC")).to_pylist())
        if column.type.unit == "ms":
            assert (row["min"], row["max"]) == (None, None)
        else:
            assert row["min"] in (None, values[0]) and row["max"] == values[-1]
    assert units["ms"] and units["us"]


@pytest.mark.parametrize(
    ("partition", "here", "there"),
    [
        ("files", b'"size"', b'"sjze"'),
        ("files", b'"isDeleted"', b'"isDelefed"'),
        ("files", b'"map"', b'"mbp"'),
        ("record_index", b'"partitionName"', b'"qartitionName"'),
        ("record_index", b'"fileIdHighBits"', b'"fileIdHjghBits"'),
        ("record_index", b'"fields"', b'"fjelds"'),
    ],
)
def test_a_damaged_schema_ends_in_an_error_of_ours(partition, here, there, tmp_path):
    base = unpack(PARTITIONED, tmp_path)
    for path in (base / ".hoodie/metadata" / partition).glob(".*log*"):
        path.write_bytes(path.read_bytes().replace(here, there))
    metadata = HudiTable.open(str(base)).metadata.reader
    ask = metadata.files_table if partition == "files" else metadata.record_locations
    with pytest.raises(HudiHiveError):
        ask()
    assert HudiTable.open(str(base)).scan().to_arrow().num_rows == len(expected(PARTITIONED)["rows"])
