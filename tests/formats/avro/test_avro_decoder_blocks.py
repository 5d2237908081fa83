"""Log blocks that Hudi wrote: columns as fastavro reads them, record by record."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hudi_hive.formats.avro import decode_records
from hudi_hive.formats.avro.schema import parse_record
from hudi_hive.formats.log.block import BlockType, HeaderKey, avro_spans, iter_blocks
from tests.support import fixture_tables as support
from tests.support.tables.avro_oracle import decode_with_fastavro

NAMES = [name for name in support.fixture_names() if "_mor_" in name]


def avro_blocks(name: str):
    root = support.unzip_fixture(name)
    for path in sorted(root.rglob(".*.log.*")):
        if ".hoodie" not in path.relative_to(root).parts[:-1] and not path.name.endswith(".crc"):
            for block in iter_blocks(path.read_bytes(), path.name):
                if block.type is BlockType.AVRO_DATA:
                    yield block


@pytest.mark.parametrize("name", NAMES)
def test_blocks_that_hudi_wrote(name):
    for block in avro_blocks(name):
        schema = json.loads(block.headers[HeaderKey.SCHEMA])
        spans = avro_spans(block)
        starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
        batch = decode_records(block.content, starts, ends, schema)
        batch.validate(full=True)
        assert batch.num_rows == len(spans)
        for column, other in zip(
            batch.columns, decode_with_fastavro(block.content, spans, parse_record(schema)), strict=True
        ):
            assert column.equals(other)
        some = batch.schema.names[-1:0:-3]
        alone = decode_records(block.content, starts, ends, schema, columns=some)
        assert alone.schema.names == some
        assert all(column.equals(batch.column(one)) for one, column in zip(some, alone.columns, strict=True))


def test_fixtures_have_avro_blocks():
    assert sum(1 for name in NAMES for _ in avro_blocks(name)) > 50
