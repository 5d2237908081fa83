"""HFiles: real ones of the metadata tables, made ones of every shape, damaged ones."""

from __future__ import annotations

import functools
import json
import random
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import CorruptFileError, FormatError, UnsupportedFormatError
from hudi_hive.formats.hfile import ENTRY_SCHEMA, HFileReader
from hudi_hive.formats.hfile.index import BlockIndex
from hudi_hive.formats.log.block import BlockType, iter_blocks
from tests.support.fixture_tables import fixture_names, unzip_fixture
from tests.support.running.long import examples
from tests.support.tables.hfile_writer import HFileWriter

ENTRIES = [(f"key-{number:04d}".encode(), b"v" * (number % 7) + b"%d" % number) for number in range(100)]
SHAPES = [
    {"codec": "GZ"},
    {"codec": "SNAPPY"},
    {"codec": "SNAPPY", "framed": True},
    {"codec": "LZ4"},
    {"codec": "LZ4", "framed": True},
    {"codec": "ZSTD"},
    {"codec": "BZIP2"},
    {"checksums": True},
    {"levels": 2},
    {"levels": 3, "codec": "GZ", "checksums": True},
    {"levels": 4, "native": True},
    {"native": True},
    {"fake_keys": True, "levels": 2},
    {"mvcc": False},
]


def rows(table):
    keys = [key.encode() for key in table.column("key").to_pylist()]
    return list(zip(keys, table.column("value").to_pylist(), strict=True))


def reader(**shape):
    return HFileReader(HFileWriter(**shape).write(ENTRIES), "f.hfile")


@functools.cache
def real_hfiles():
    """(path, bytes) of base files and of blocks of log files of all metadata tables."""
    found = []
    for name in fixture_names():
        for path in sorted(Path(unzip_fixture(name)).glob(".hoodie/metadata/**/*")):
            if path.suffix == ".hfile":
                found.append((str(path), path.read_bytes()))
            elif ".log." in path.name and not path.name.endswith(".crc"):
                blocks = iter_blocks(path.read_bytes(), str(path))
                found += [(str(path), bytes(b.content)) for b in blocks if b.type is BlockType.HFILE_DATA]
    return found


# -- real files ----------------------------------------------------------------------------------------------------


def test_all_real_files_scan_and_look_up_alike():
    assert len(real_hfiles()) > 200
    for path, data in real_hfiles():
        hfile = HFileReader(data, path)
        table = hfile.scan()
        keys = table.column("key").to_pylist()
        assert table.schema == ENTRY_SCHEMA and len(keys) == hfile.num_entries
        assert keys == sorted(keys) and hfile.schema["name"] == "HoodieMetadataRecord"
        assert rows(hfile.lookup(keys)) == rows(table)
        assert hfile.lookup(["\0", "\U0010ffff"]).num_rows == 0
        for key in keys[:3]:
            prefix = key[: len(key) // 2]
            expected = [row for row in rows(table) if row[0].startswith(prefix.encode())]
            assert rows(hfile.scan_prefixes([prefix, prefix])) == expected


def test_real_base_files_hold_their_bloom_filter():
    base_files = [(path, data) for path, data in real_hfiles() if path.endswith(".hfile")]
    texts = [HFileReader(data, path).meta("bloomFilter") for path, data in base_files]
    assert any(texts)
    assert HFileReader(base_files[0][1], "f").meta("no such block") is None


def test_streams_are_read_in_part(tmp_path):
    path = tmp_path / "big.hfile"
    entries = [(b"%08d" % number, random.Random(number).randbytes(900)) for number in range(2000)]
    path.write_bytes(HFileWriter(block_entries=50, levels=2, fan_out=20).write(entries))
    with pa.OSFile(str(path)) as stream:
        hfile = HFileReader(stream, str(path))
        assert hfile.bytes_read <= 64 << 10 and hfile.blocks_read == 0
        assert rows(hfile.lookup(["00001234"])) == [entries[1234]]
        assert hfile.blocks_read == 2  # one leaf of the index, one data block
        before = hfile.blocks_read
        assert rows(hfile.scan_prefixes(["000010"])) == entries[1000:1100]
        assert hfile.blocks_read - before <= 2 + 3
        assert hfile.bytes_read < path.stat().st_size / 4
        assert rows(hfile.scan()) == entries


# -- made files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(f"{k}={v}" for k, v in shape.items()))
def test_files_of_every_shape_are_scanned_and_searched(shape):
    hfile = reader(**shape)
    assert rows(hfile.scan()) == ENTRIES
    assert rows(hfile.lookup(["key-0099", "key-0000", "key-0042", "key-0042x", "", "z"])) == [
        ENTRIES[0],
        ENTRIES[42],
        ENTRIES[99],
    ]
    assert rows(hfile.scan_prefixes(["key-003", "key-0031", "key-009", "nothing"])) == ENTRIES[30:40] + ENTRIES[90:]
    assert rows(hfile.scan_prefixes([""])) == ENTRIES
    assert hfile.lookup([]).num_rows == hfile.scan_prefixes([]).num_rows == 0


@pytest.mark.parametrize("codec", ["SNAPPY", "LZ4"])
def test_blocks_of_several_frames(codec):
    """Hadoop's codecs cut a block into chunks of at most 256 KiB."""
    entries = [(b"%06d" % number, random.Random(number).randbytes(60) * 20) for number in range(900)]
    data = HFileWriter(codec=codec, framed=True, block_entries=900).write(entries)
    assert rows(HFileReader(data, "f").scan()) == entries


def test_long_keys_in_the_root_index_of_either_writer():
    """The release 1.1.1 writes lengths from 128 on as protobuf integers."""
    entries = [(f"{number:03d}".encode() + b"x" * number, b"v") for number in range(0, 700, 7)]
    for native in (False, True):
        hfile = HFileReader(HFileWriter(native=native, block_entries=1).write(entries), "f")
        assert rows(hfile.scan()) == entries
        assert rows(hfile.lookup([entries[70][0].decode()])) == [entries[70]]


def test_entries_at_the_very_end_of_a_big_block():
    """Hudi's own reader loses those within the length of the checksums; the uncompressed size is the end."""
    entries = [(b"%06d" % number, b"") for number in range(60_000)]
    data = HFileWriter(block_entries=60_000, checksums=True).write(entries)
    hfile = HFileReader(data, "f")
    assert hfile.scan().num_rows == 60_000
    assert rows(hfile.lookup(["059999"])) == [entries[-1]]


def test_equal_rows_across_blocks_are_all_found():
    entries = [(b"a", b"%d" % number) for number in range(10)] + [(b"b", b"x")]
    hfile = HFileReader(HFileWriter(levels=2, block_entries=3, fan_out=2).write(entries), "f")
    assert rows(hfile.lookup(["a"])) == entries[:10]
    assert rows(hfile.scan_prefixes(["b"])) == entries[10:]


def test_a_file_without_entries_is_read():
    hfile = HFileReader(HFileWriter().write([]), "f")
    assert hfile.num_entries == 0
    for table in (hfile.scan(), hfile.lookup(["a"]), hfile.scan_prefixes(["a"])):
        assert table.num_rows == 0 and table.schema == ENTRY_SCHEMA


def test_info_schema_and_meta_blocks():
    schema = {"type": "record", "name": "r", "fields": []}
    metas = (("bloomFilter", b"abc"), ("other", b""))
    hfile = HFileReader(HFileWriter(codec="GZ", schema=json.dumps(schema), metas=metas).write(ENTRIES), "f")
    assert hfile.schema == schema
    assert hfile.meta("bloomFilter") == b"abc" and hfile.meta("other") == b""
    assert hfile.info["KEY_VALUE_VERSION"] == b"\0\0\0\1"
    assert reader().schema is None
    with pytest.raises(CorruptFileError, match="not JSON"):
        _ = reader(schema="{").schema


keys = st.lists(st.text(max_size=6), unique=True, max_size=40).map(lambda some: sorted(key.encode() for key in some))


@given(
    rows_=keys,
    values=st.lists(st.binary(max_size=20), min_size=40, max_size=40),
    shape=st.fixed_dictionaries(
        {
            "codec": st.sampled_from(["NONE", "GZ", "ZSTD", "LZ4"]),
            "levels": st.integers(1, 4),
            "block_entries": st.integers(1, 9),
            "fan_out": st.integers(2, 5),
            "native": st.booleans(),
            "fake_keys": st.booleans(),
        }
    ),
    sought=st.lists(st.text(max_size=6), max_size=8),
)
@settings(max_examples=examples(200), deadline=None)
def test_look_ups_equal_filtered_scans(rows_, values, shape, sought):
    entries = list(zip(rows_, values, strict=False))
    hfile = HFileReader(HFileWriter(**shape).write(entries), "f")
    assert rows(hfile.scan()) == entries
    wanted = [*sought, *(key.decode() for key in rows_[::3])]
    assert rows(hfile.lookup(wanted)) == [row for row in entries if row[0].decode() in wanted]
    beginnings = tuple(text.encode() for text in sought)
    assert rows(hfile.scan_prefixes(sought)) == [row for row in entries if row[0].startswith(beginnings)]


# -- refusals and damage -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"family": b"cf"}, "column families"),
        ({"kind": 8}, "not puts"),
        ({"rows_alone": True}, "pre-releases of Hudi 1.1.0 .* not damaged"),
        ({"rows_alone": True, "codec": "GZ"}, "pre-releases of Hudi 1.1.0 .* not damaged"),
        ({"mvcc_byte": b"\7"}, "MVCC"),
        ({"info": ((b"hfile.MAX_TAGS_LEN", b"\0\0\0\5"),)}, "tags"),
        ({"info": ((b"DATA_BLOCK_ENCODING", b"PREFIX"),)}, "encoded"),
        ({"minor_major": b"\0\0\0\2"}, "major version 2"),
        ({"trailer": ((12, 0),)}, "LZO"),
        ({"trailer": ((12, 99),)}, "codec number 99"),
    ],
)
def test_features_that_are_refused_by_name(shape, words):
    with pytest.raises(UnsupportedFormatError, match=words):
        reader(**shape).scan()


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"trailer": ((7, 101),)}, "holds 100"),
        ({"trailer": ((7, 99),)}, "holds 100"),
        ({"trailer": ((2, 1 << 60),)}, "load-on-open"),
        ({"trailer": ((8, 200),)}, "levels"),
        ({"trailer": ((8, 3),)}, "IDXLEAF2"),
        ({"trailer": ((5, 1 << 40),)}, "index entries"),
        ({"trailer": ((7, 0),)}, "0 entries"),
    ],
)
def test_trailers_that_contradict_the_file(shape, words):
    with pytest.raises(CorruptFileError, match=words) as caught:
        reader(**shape).scan()
    assert caught.value.path == "f.hfile"


@pytest.mark.parametrize("length", [0, 7, 4095, 4096, 5000])
def test_files_that_are_cut_off_are_refused(length):
    data = HFileWriter().write(ENTRIES)
    for part in (data[:length], data[len(data) - length :] if length else b""):
        if part != data:
            with pytest.raises(FormatError):
                HFileReader(part, "f").scan()


def test_keys_that_are_not_utf8():
    data = HFileWriter().write([(b"\xff\xfe", b"v")])
    with pytest.raises(CorruptFileError, match="UTF-8"):
        HFileReader(data, "f").scan()


@pytest.mark.parametrize("codec", ["NONE", "GZ", "SNAPPY", "LZ4", "ZSTD", "BZIP2"])
def test_damaged_bytes_end_in_our_errors_or_rows(codec):
    """Whatever is damaged: no other exception, no memory out of proportion."""
    data = HFileWriter(codec=codec, levels=2, block_entries=10, schema="{}", metas=(("bloomFilter", b"x"),)).write(
        ENTRIES
    )
    chance = random.Random(codec)
    used = [*range(len(data) - 4096 + 80), *range(len(data) - 4, len(data))]
    tracemalloc.start()
    held = pa.total_allocated_bytes()
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(chance.choice((1, 1, 4))):
            broken[chance.choice(used)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        try:
            hfile = HFileReader(bytes(broken), "f")
            assert hfile.scan().num_rows == 100
            assert hfile.lookup(["key-0042"]).num_rows <= 1
            hfile.scan_prefixes(["key-005"])
            hfile.meta("bloomFilter")
        except FormatError as error:
            assert error.path == "f"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20 and pa.total_allocated_bytes() - held < 1 << 20


def test_a_compressed_block_cannot_claim_boundless_memory():
    data = bytearray(HFileWriter(codec="ZSTD", block_entries=100).write(ENTRIES))
    data[12:16] = b"\x7f\xff\xff\xff"  # the uncompressed size of the first block
    with pytest.raises(CorruptFileError):
        HFileReader(bytes(data), "f").scan()


def test_an_index_that_leads_to_a_block_twice_is_refused():
    """Else a small damaged index could ask for one block without end."""
    hfile = reader()
    index = hfile._root
    assert len(index.keys) > 2
    hfile._root = BlockIndex(index.keys, [index.locations[1]] * len(index.keys))
    with pytest.raises(CorruptFileError, match="in their order"):
        hfile.scan()
    with pytest.raises(CorruptFileError, match="in their order"):
        hfile.scan_prefixes([""])


def test_a_schema_that_is_not_json_is_an_error():
    deep = reader(schema="[" * 100_000)
    with pytest.raises(CorruptFileError, match="not JSON"):
        _ = deep.schema
