"""HFiles that we write, read back by our reader."""

from __future__ import annotations

import json
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import UnsupportedFormatError
from hudi_hive.formats.hash.bloom import BloomFilter, key_hashes
from hudi_hive.formats.hfile import HFileReader, blocks
from hudi_hive.formats.hfile.writer import write_hfile

SCHEMA = json.dumps({"type": "record", "name": "r", "fields": []})


def reader(data: bytes) -> HFileReader:
    return HFileReader(data, "f")


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=40) | st.just("long" * 60), st.binary(max_size=30) | st.just(b"x" * 9000), max_size=40
    ),
    st.sampled_from(["gz", "none"]),
)
def test_written_entries_are_read_back(entries, codec):
    pairs = sorted((key.encode(), value) for key, value in entries.items())
    keys = pa.array([key for key, _ in pairs], pa.binary())
    values = pa.array([value for _, value in pairs], pa.binary())
    found = reader(write_hfile(keys, values, schema=SCHEMA, codec=codec))
    table = found.scan()
    assert [key.encode() for key in table.column("key").to_pylist()] == keys.to_pylist()
    assert table.column("value").to_pylist() == values.to_pylist()
    assert found.schema == json.loads(SCHEMA)
    for key, value in pairs[:3]:
        assert found.lookup([key.decode()]).column("value").to_pylist() == [value]


def block_sizes(data: bytes) -> list[tuple[int, int]]:
    """Sizes on disk, without checksums, and uncompressed of the data blocks."""
    sizes, at, before = [], 0, -1
    while data[at : at + 8] == blocks.DATA:
        _, on_disk, uncompressed, previous, _, _, size = blocks.HEADER.unpack_from(data, at)
        assert previous == before
        sizes.append((size, uncompressed))
        before, at = at, at + blocks.HEADER.size + on_disk
    return sizes


@pytest.mark.parametrize("codec", ["gz", "none"])
def test_many_entries_lie_in_blocks_of_64_kib(codec):
    count = 300_000
    keys = pa.chunked_array([pa.array([f"{number:08d}" for number in range(count)])])
    values = pa.array(np.arange(count)).cast(pa.string()).cast(pa.binary())
    data = write_hfile(keys, pa.chunked_array([values[:100], values[100:]]), schema=SCHEMA, codec=codec)
    found = reader(data)
    table = found.scan()
    assert table.column("key").combine_chunks().equals(keys.combine_chunks())
    assert table.column("value").combine_chunks().equals(values)
    sizes = block_sizes(data)
    assert len(sizes) > 100
    assert all((1 << 15) < uncompressed <= 1 << 16 for _, uncompressed in sizes[:-1])
    assert max(size for size, _ in sizes) <= 80 << 10
    assert found.num_entries == count


def test_filters_and_file_info():
    keys = pa.array(["a", "b"])
    bloom = BloomFilter.build(keys, entries=10)
    extra = {"minRecordKey": b"a", "maxRecordKey": b"b"}
    found = reader(write_hfile(keys, pa.array([b"1", b"2"]), schema=SCHEMA, bloom=bloom, extra=extra))
    again = BloomFilter.parse(found.meta("bloomFilter"), found.info["bloomFilterTypeCode"].decode(), "f")
    assert again.may_contain(key_hashes(keys, again.hashes)).all()
    assert found.info["minRecordKey"] == b"a"
    assert found.info["MAX_MEMSTORE_TS_KEY"] == bytes(8)
    assert found.info["hfile.LASTKEY"] == b"\0\1b\0" + struct.pack(">q", 2**63 - 1) + b"\4"
    assert found.info["hfile.AVG_KEY_LEN"] == struct.pack(">i", 13)


def test_an_empty_file():
    found = reader(write_hfile(pa.array([], pa.string()), pa.array([], pa.binary()), schema=SCHEMA))
    assert found.num_entries == 0
    assert found.scan().num_rows == 0


@pytest.mark.parametrize(
    ("keys", "message"),
    [(["b", "a"], "ascend"), (["a", "a"], "ascend"), (["x" * 40_000], "40000 bytes"), ([None], "needs a key")],
)
def test_keys_that_cannot_be_are_refused(keys, message):
    with pytest.raises(UnsupportedFormatError, match=message):
        write_hfile(pa.array(keys, pa.string()), pa.array([b""] * len(keys)), schema=SCHEMA)


def test_an_unknown_codec_is_refused():
    with pytest.raises(UnsupportedFormatError, match="'lzo'"):
        write_hfile(pa.array(["a"]), pa.array([b""]), schema=SCHEMA, codec="lzo")
