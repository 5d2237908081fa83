"""Log blocks and records of real files, decoded and encoded again: the same bytes as those that real Hudi wrote."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive.formats.avro import decode_records
from hudi_hive.formats.avro.encoder import encode_binaries
from hudi_hive.formats.hfile import HFileReader
from hudi_hive.formats.log.block import BlockType, HeaderKey, LogBlock, iter_blocks
from hudi_hive.formats.log.writer import cdc_block, command_block, data_block, delete_block
from hudi_hive.table.logs import decode_block
from tests.support.fixture_tables import fixture_names, unzip_fixture


def blocks_of(name: str) -> list[LogBlock]:
    folder = Path(unzip_fixture(name))
    paths = [path for path in sorted(folder.rglob(".*.log.*")) if not path.name.endswith(".crc") and path.is_file()]
    return list(itertools.chain.from_iterable(iter_blocks(path.read_bytes(), str(path)) for path in paths))


def again(block: LogBlock) -> bytes:
    """The block as we write it."""
    instant = block.instant
    if block.type is BlockType.COMMAND:
        return command_block(instant, block.headers[HeaderKey.TARGET_INSTANT_TIME])
    decoded = decode_block(block, instant, None)
    if block.type is BlockType.DELETE:
        table = decoded.table.drop_columns(["has_ordering"])
        if pa.types.is_null(table.schema.field("ordering").type):
            table = table.drop_columns(["ordering"])
        return delete_block(instant, table)
    schema = json.loads(block.headers[HeaderKey.SCHEMA])
    write = cdc_block if block.type is BlockType.CDC_DATA else data_block
    return write(instant, schema, decoded.batch)


def same_values(data: bytes, path: str) -> int:
    """Number of an HFile's values, which must be the same when encoded again."""
    reader = HFileReader(data, path)
    values = pa.concat_arrays([pa.array([], pa.binary()), *reader.scan().column("value").chunks])
    ends = np.cumsum(pc.binary_length(values).to_numpy(zero_copy_only=False), dtype=np.int64)
    starts = np.concatenate([np.zeros(min(1, len(ends)), np.int64), ends[:-1]])
    batch = decode_records(b"".join(values.to_pylist()), starts, ends, reader.schema)
    assert encode_binaries(batch, reader.schema).to_pylist() == values.to_pylist()
    return len(values)


@pytest.mark.parametrize("name", fixture_names())
def test_real_blocks_come_out_as_they_were(name):
    for block in blocks_of(name):
        if block.type is BlockType.HFILE_DATA:
            same_values(bytes(block.content), block.path)
        elif block.type in (BlockType.COMMAND, BlockType.DELETE, BlockType.AVRO_DATA, BlockType.CDC_DATA):
            (ours,) = iter_blocks(again(block), "ours")
            assert bytes(ours.content) == bytes(block.content), (block.path, block.offset)
            for key, value in ours.headers.items():
                if key is HeaderKey.TARGET_INSTANT_TIME and value.startswith("crc32:"):
                    continue  # the checksum that Hudi's blocks do not have
                theirs = block.headers[key]
                assert value == theirs or (key is HeaderKey.SCHEMA and json.loads(value) == json.loads(theirs))
    for path in Path(unzip_fixture(name)).rglob("*.hfile"):
        same_values(path.read_bytes(), str(path))


def test_blocks_of_every_kind_are_among_them():
    kinds = {block.type for name in fixture_names() for block in blocks_of(name)}
    assert kinds >= {BlockType.COMMAND, BlockType.DELETE, BlockType.AVRO_DATA, BlockType.CDC_DATA, BlockType.HFILE_DATA}
