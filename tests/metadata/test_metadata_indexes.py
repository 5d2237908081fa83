"""Bloom filters and secondary indexes: partitions that no fixture has, written here in the format's own way."""

import copy
import io
import json

import fastavro
import pytest

from hudi_hive.errors import MetadataTableError
from hudi_hive.formats.log import BlockType, HeaderKey, encode_block, iter_blocks
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader.keys import escape_secondary, file_key, group_indexes, partition_key
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import unzip_fixture
from tests.support.tables.hfile_writer import HFileWriter

NAME = "v9_mor_part_rli"
SECONDARY = "secondary_index_by_city"


def record_schema(base):
    """The records' schema, from a log block that Hudi wrote."""
    for path in sorted((base / ".hoodie/metadata/files").glob(".files*")):
        for block in iter_blocks(path.read_bytes(), str(path)):
            if block.type is BlockType.HFILE_DATA:
                return json.loads(block.headers[HeaderKey.SCHEMA])
    raise AssertionError("no data block")


def value_of(schema, kind, field, payload):
    stream = io.BytesIO()
    record = {"key": "", "type": kind, "filesystemMetadata": None, field: payload}
    fastavro.schemaless_writer(stream, fastavro.parse_schema(copy.deepcopy(schema)), record)
    return stream.getvalue()


def write_index(base, partition, prefix, blocks, groups=2):
    """Log files of an index partition: per instant (key, value) pairs, spread over the file groups."""
    schema = record_schema(base)
    folder = base / ".hoodie/metadata" / partition
    folder.mkdir()
    for group in range(groups):
        start = f".{prefix}-{group:04d}-0"
        empty = (base / ".hoodie/metadata/files").glob(".files-0000-0_00000000000000000.log*")
        (folder / f"{start}_00000000000000000.log.1_0-0-0").write_bytes(next(empty).read_bytes())
        for instant, entries in blocks:
            mine = [pair for pair in entries if group_indexes([pair[0]], groups)[0] == group]
            if mine:
                headers = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: json.dumps(schema)}
                rows = sorted((key.encode(), value) for key, value in mine)
                content = HFileWriter(schema=headers[HeaderKey.SCHEMA], codec="GZ").write(rows)
                block = encode_block(BlockType.HFILE_DATA, headers, content)
                (folder / f"{start}_{instant}.log.1_0-0-1").write_bytes(block)
    properties = base / ".hoodie/hoodie.properties"
    text = properties.read_text()
    properties.write_text(text.replace("metadata.partitions=", f"metadata.partitions={partition},"))


@pytest.fixture
def base(tmp_path):
    return unzip_fixture(NAME, tmp_path)


def instants(base):
    return [instant.requested for instant in MetaClient.load(base).timeline.write_instants()]


def test_the_newest_bloom_filter_of_a_file_counts(base):
    first, second = instants(base)[:2]
    schema = record_schema(base)

    def entry(partition, name, text, deleted=False):
        payload = {"type": "DYNAMIC_V0", "timestamp": first, "bloomFilter": text, "isDeleted": deleted}
        return partition_key(partition) + file_key(name), value_of(schema, 4, "BloomFilterMetadata", payload)

    write_index(
        base,
        "bloom_filters",
        "bloom-filters",
        [
            (first, [entry("north", f"file{i}.parquet", b"old%d" % i) for i in range(8)]),
            (second, [entry("north", "file1.parquet", b"new"), entry("north", "file2.parquet", b"", deleted=True)]),
        ],
    )
    table = MetadataTable.open(MetaClient.load(base))
    wanted = ["file0.parquet", "file1.parquet", "file2.parquet", "file9.parquet"]
    found = {row["file_name"]: row["filter"] for row in table.bloom_filters("north", wanted).to_pylist()}
    assert found == {"file0.parquet": b"old0", "file1.parquet": b"new"}
    assert table.bloom_filters("south", wanted).num_rows == 0
    with pytest.raises(MetadataTableError, match="secondary_index_x"):
        table.secondary_locations("x", ["a"])


def test_the_newest_entry_of_a_secondary_key_counts(base):
    first, second = instants(base)[:2]
    schema = record_schema(base)
    located = MetadataTable.open(MetaClient.load(base)).record_locations()
    keys = located.column("key").to_pylist()[:4]

    def entry(city, key, deleted=False):
        text = f"{escape_secondary(city)}${escape_secondary(key)}"
        return text, value_of(schema, 7, "SecondaryIndexMetadata", {"isDeleted": deleted})

    write_index(
        base,
        SECONDARY,
        "secondary-index-by-city",
        [
            (first, [entry("a$b", keys[0]), entry("a", keys[1]), entry("a", keys[2]), entry("ab", keys[3])]),
            (second, [entry("a", keys[1], deleted=True)]),
        ],
    )
    table = MetadataTable.open(MetaClient.load(base))
    found = table.secondary_locations("by_city", ["a", "a$b", "none"]).to_pylist()
    assert sorted((row["secondary_key"], row["key"]) for row in found) == [("a", keys[2]), ("a$b", keys[0])]
    places = {row["key"]: row["file_id"] for row in located.to_pylist()}
    assert all(row["file_id"] == places[row["key"]] for row in found)
