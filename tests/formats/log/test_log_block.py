"""Framing of log files: a worked example, real files, corruption and its recovery."""

from __future__ import annotations

import io
import json
import struct

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import CorruptFileError, FormatError, UnsupportedFormatError
from hudi_hive.formats.log.block import (
    MAGIC,
    BlockType,
    HeaderKey,
    LogBlock,
    avro_spans,
    block_schema,
    decode_avro_record,
    encode_block,
    iter_blocks,
)
from tests.support.fixture_tables import fixture_names, unzip_fixture
from tests.support.running.long import examples


def decode_avro_records(block: LogBlock, reader_schema: object = None) -> list[dict]:
    """Records of an AVRO_DATA block, one by one with the schema in its header: what archived timelines are read by."""
    schema = block_schema(block)
    return [
        decode_avro_record(block.content[start:end], schema, block.path, reader_schema)
        for start, end in avro_spans(block)
    ]


EMPTY_DELETE = bytes.fromhex(
    "234855444923"
    "0000000000000042"
    "00000001"
    "00000001"
    "00000001"
    "00000000"
    "00000011" + b"00000000000000000".hex() + "0000000000000009"
    "00000003"
    "00000001"
    "00"
    "00000000"
    "0000000000000048"
)
SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]}
RECORDS = [{"a": 1, "b": "x"}, {"a": -7, "b": "é"}]
INSTANT = {HeaderKey.INSTANT_TIME: "20250101000000000"}


def avro_content(records, version=3):
    parts = [struct.pack(">ii", version, len(records))]
    for record in records:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, SCHEMA, record)
        parts += [struct.pack(">i", len(stream.getvalue())), stream.getvalue()]
    return b"".join(parts)


def avro_block(records=RECORDS, version=3, headers=None):
    wanted = {**INSTANT, HeaderKey.SCHEMA: json.dumps(SCHEMA)} if headers is None else headers
    return encode_block(BlockType.AVRO_DATA, wanted, avro_content(records, version))


def kinds(data):
    return [(block.type, block.offset, block.size) for block in iter_blocks(data, "f.log")]


def test_the_bytes_of_an_empty_delete_block_are_parsed():
    (block,) = iter_blocks(EMPTY_DELETE, "f.log")
    assert len(EMPTY_DELETE) == 80
    assert block.type is BlockType.DELETE
    assert block.headers == {HeaderKey.INSTANT_TIME: "00000000000000000"}
    assert block.instant == "00000000000000000"
    assert bytes(block.content) == bytes.fromhex("000000030000000100")
    assert (block.offset, block.size) == (0, 80)
    assert EMPTY_DELETE[block.content_offset :][: len(block.content)] == block.content
    assert encode_block(block.type, block.headers, bytes(block.content)) == EMPTY_DELETE


def test_no_bytes_no_blocks():
    assert kinds(b"") == []


def test_blocks_back_to_back_from_any_buffer():
    data = EMPTY_DELETE + avro_block() + encode_block(BlockType.COMMAND, {HeaderKey.COMMAND_BLOCK_TYPE: "0"}, b"")
    wanted = [BlockType.DELETE, BlockType.AVRO_DATA, BlockType.COMMAND]
    for buffer in (data, bytearray(data), memoryview(data)):
        blocks = list(iter_blocks(buffer, "f.log"))
        assert [block.type for block in blocks] == wanted
        assert sum(block.size for block in blocks) == len(data)
    assert decode_avro_records(blocks[1]) == RECORDS


@pytest.mark.parametrize("name", fixture_names())
def test_real_log_files_are_whole(name):
    for path in sorted(unzip_fixture(name).rglob(".*.log.*")):
        data = path.read_bytes()
        blocks = list(iter_blocks(data, str(path)))
        assert blocks or not data
        assert sum(block.size for block in blocks) == len(data)
        for block in blocks:
            assert block.type is not BlockType.CORRUPT
            assert block.instant is not None and block.instant.isdecimal()
            if block.type is BlockType.AVRO_DATA:
                assert len(decode_avro_records(block)) == len(avro_spans(block)) > 0
            if block.type is BlockType.PARQUET_DATA:
                assert bytes(block.content[:4]) == bytes(block.content[-4:]) == b"PAR1"
            assert encode_block(block.type, block.headers, bytes(block.content)) == bytes(
                data[block.offset : block.offset + block.size]
            )


def test_rollback_command_of_table_version_6():
    root = unzip_fixture("v6_mor_rollback")
    commands = [
        block
        for path in sorted(root.rglob(".*_1-0-1"))
        for block in iter_blocks(path.read_bytes(), str(path))
        if block.type is BlockType.COMMAND
    ]
    assert commands
    for block in commands:
        assert block.headers[HeaderKey.COMMAND_BLOCK_TYPE] == "0"
        assert block.headers[HeaderKey.TARGET_INSTANT_TIME] < block.headers[HeaderKey.INSTANT_TIME]
        assert not len(block.content)


# -- corruption ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", range(1, 80))
def test_a_torn_last_block_is_corrupt_and_the_first_survives(cut):
    found = kinds(EMPTY_DELETE + EMPTY_DELETE[:cut])
    assert found == [(BlockType.DELETE, 0, 80), (BlockType.CORRUPT, 80, cut)]


@pytest.mark.parametrize("cut", range(6, 80))
def test_reading_goes_on_after_a_torn_block(cut):
    # The torn block's declared end lies inside the next one, so its trailing length does not fit.
    rest = avro_block()
    assert kinds(EMPTY_DELETE[:cut] + rest) == [(BlockType.CORRUPT, 0, cut), (BlockType.AVRO_DATA, cut, len(rest))]


@pytest.mark.parametrize("size", [-1, 0, 1, 31, 65, 67, 2**31, 2**62, -(2**63)])
def test_wrong_block_sizes_are_corrupt(size):
    data = MAGIC + struct.pack(">q", size) + EMPTY_DELETE[14:] + EMPTY_DELETE
    assert kinds(data) == [(BlockType.CORRUPT, 0, 80), (BlockType.DELETE, 80, 80)]


def test_wrong_trailing_length_is_corrupt():
    data = EMPTY_DELETE[:-1] + b"\x49" + EMPTY_DELETE
    assert kinds(data) == [(BlockType.CORRUPT, 0, 80), (BlockType.DELETE, 80, 80)]


def test_a_block_that_nothing_legal_follows_is_corrupt():
    assert kinds(EMPTY_DELETE + b"garbage" + EMPTY_DELETE) == [(BlockType.CORRUPT, 0, 87), (BlockType.DELETE, 87, 80)]


@pytest.mark.parametrize("rest", [b"\0", b"\0\0\0\0\0", b"#HUD?"])
def test_a_block_before_fewer_bytes_than_a_magic_is_whole(rest):
    assert kinds(EMPTY_DELETE + rest) == [(BlockType.DELETE, 0, 80), (BlockType.CORRUPT, 80, len(rest))]


def test_a_file_that_does_not_begin_with_a_block_is_refused():
    with pytest.raises(CorruptFileError, match=r"wrong magic.*f\.log"):
        list(iter_blocks(b"PAR1PAR1PAR1", "f.log"))


def framed(body):
    size = len(body) + 8
    return MAGIC + struct.pack(">q", size) + body + struct.pack(">q", size + 6)


def body(version=1, kind=1, headers=b"\0\0\0\0", length=0, content=b"", footer=b"\0\0\0\0"):
    return struct.pack(">ii", version, kind) + headers + struct.pack(">q", length) + content + footer


@pytest.mark.parametrize(
    "bad",
    [
        body(headers=struct.pack(">i", 5)),
        body(headers=struct.pack(">i", -1)),
        body(headers=struct.pack(">iii", 1, 0, 2**31 - 1)),
        body(headers=struct.pack(">iii", 1, 0, -1)),
        body(headers=struct.pack(">iii", 1, 0, 1) + b"\xff"),
        body(length=1),
        body(length=-1),
        body(length=2**62),
        body(length=0, content=b"rest"),
        body(footer=struct.pack(">iiii", 1, 0, 0, 7)),
    ],
)
def test_wrong_lengths_inside_a_whole_block(bad):
    with pytest.raises(CorruptFileError, match="damaged at offset"):
        list(iter_blocks(framed(bad), "f.log"))


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        (body(version=0), "version 0"),
        (body(version=2), "version 2"),
        (body(kind=7), "type 7"),
        (body(kind=-1), "type -1"),
        (body(headers=struct.pack(">iii", 1, 99, 0)), "header 99"),
    ],
)
def test_what_we_do_not_know_is_refused_by_name(bad, what):
    with pytest.raises(UnsupportedFormatError, match=what):
        list(iter_blocks(framed(bad), "f.log"))


@given(st.data())
@settings(max_examples=examples(300))
def test_damaged_bytes_give_blocks_or_our_error(data):
    whole = bytearray(EMPTY_DELETE + avro_block() + EMPTY_DELETE)
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    position = 0
    try:
        for block in iter_blocks(cut, "f.log"):
            assert block.offset == position and block.size > 0
            position += block.size
            if block.type is BlockType.AVRO_DATA:
                decode_avro_records(block)
    except FormatError:
        return
    assert position == len(cut)


# -- AVRO_DATA -------------------------------------------------------------------------------------------------------


def only(data):
    (block,) = iter_blocks(data, "f.log")
    return block


def with_content(content):
    headers = {**INSTANT, HeaderKey.SCHEMA: json.dumps(SCHEMA)}
    return only(encode_block(BlockType.AVRO_DATA, headers, content))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_avro_block_versions(version):
    assert decode_avro_records(only(avro_block(version=version))) == RECORDS


def test_avro_narrow_schema():
    narrow = fastavro.parse_schema({**SCHEMA, "fields": SCHEMA["fields"][1:]})
    assert decode_avro_records(only(avro_block()), narrow) == [{"b": "x"}, {"b": "é"}]


@pytest.mark.parametrize("version", [0, 4])
def test_avro_block_versions_that_we_do_not_know(version):
    with pytest.raises(UnsupportedFormatError, match=f"version {version}"):
        decode_avro_records(only(avro_block(version=version)))


def test_avro_of_another_type():
    with pytest.raises(UnsupportedFormatError, match="DELETE"):
        avro_spans(only(EMPTY_DELETE))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\0\3",
        struct.pack(">ii", 3, -1),
        struct.pack(">ii", 3, 2**31 - 1),
        struct.pack(">ii", 3, 1),
        struct.pack(">iii", 3, 1, -1),
        struct.pack(">iii", 3, 1, 2**31 - 1),
        struct.pack(">iii", 3, 1, 0),
        avro_content(RECORDS)[:-1],
        avro_content(RECORDS) + b"\0",
        struct.pack(">iii", 3, 1, 4) + b"\x02\x02x\x00",
    ],
)
def test_damaged_avro_content(content):
    with pytest.raises(CorruptFileError):
        decode_avro_records(with_content(content))


@pytest.mark.parametrize("schema", [None, "", "{", '{"type":"nothing"}', "[1]"])
def test_missing_or_broken_schema(schema):
    headers = dict(INSTANT) if schema is None else {**INSTANT, HeaderKey.SCHEMA: schema}
    with pytest.raises(CorruptFileError, match="schema"):
        decode_avro_records(only(avro_block(headers=headers)))
