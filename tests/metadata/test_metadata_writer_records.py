"""Records of the metadata table as we encode them, decoded by fastavro and by our own reader."""

from __future__ import annotations

import decimal
import io
import json
import uuid

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.formats.hfile import HFileReader
from hudi_hive.formats.log import iter_blocks
from hudi_hive.metadata.reader.records import STATS_SCHEMA, WRAPPED, WRAPPERS
from hudi_hive.metadata.writer import records as written
from hudi_hive.metadata.writer.record_schema import branches, record_schema
from tests.support.fixture_tables import VERSIONS, unzip_fixture


def _decode(records, version):
    schema = fastavro.parse_schema(json.loads(record_schema(version)))
    decoded = {}
    for key, value in zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True):
        stream = io.BytesIO(value)
        decoded[key] = fastavro.schemaless_reader(
            stream, schema, return_record_name=True, return_record_name_override=True
        )
        assert not stream.read(), "bytes behind the record"
    return decoded


@pytest.mark.parametrize("version", VERSIONS)
def test_schema_is_that_of_real_hudi(version):
    base = unzip_fixture(f"v{version}_mor_part_rli") / ".hoodie/metadata/files"
    newest = max(base.glob(".files*"), key=lambda path: path.name)
    (block,) = iter_blocks(newest.read_bytes(), str(newest))
    theirs = HFileReader(bytes(block.content), "x").schema
    assert _plain(json.loads(record_schema(version))) == _plain(theirs)


def _plain(schema):
    if isinstance(schema, dict):
        return {key: _plain(value) for key, value in schema.items() if key != "doc"}
    return [_plain(item) for item in schema] if isinstance(schema, list) else schema


_ENTRY = st.tuples(st.sampled_from(["", ".", "a", "é"]), st.text(max_size=8), st.integers(0, 2**62), st.booleans())


@settings(max_examples=60, deadline=None)
@given(st.lists(_ENTRY, max_size=12, unique_by=lambda entry: entry[:2]), st.sampled_from(VERSIONS))
def test_records_of_file_lists(entries, version):
    keys, names, sizes, deleted = (list(column) for column in zip(*entries, strict=True)) if entries else ([],) * 4
    records = written.file_lists(
        pa.array(keys, pa.string()),
        pa.array(names, pa.string()),
        pa.array(sizes, pa.int64()),
        pa.array(deleted, pa.bool_()),
        written.FILES_TYPE,
        version,
    )
    found = _decode(records, version)
    assert set(found) == set(keys)
    for key, record in found.items():
        expected = {name: {"size": size, "isDeleted": gone} for k, name, size, gone in entries if k == key}
        assert record["filesystemMetadata"] == expected
        assert record["type"] == 2 and record["key"] == ""


@pytest.mark.parametrize("version", VERSIONS)
def test_the_record_of_an_empty_list(version):
    record = _decode(written.empty_list("k", written.ALL_PARTITIONS_TYPE, version), version)["k"]
    assert record["type"] == 1 and record["filesystemMetadata"] == {}


_DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=15, min_value=-(10**14), max_value=10**14)
_BOUNDS = {
    "BooleanWrapper": st.booleans(),
    "IntWrapper": st.integers(-(2**31), 2**31 - 1),
    "LongWrapper": st.integers(-(2**63), 2**63 - 1),
    "FloatWrapper": st.floats(width=32, allow_nan=False),
    "DoubleWrapper": st.floats(allow_nan=False),
    "BytesWrapper": st.binary(max_size=6),
    "StringWrapper": st.text(max_size=6),
    "DateWrapper": st.integers(-(2**31), 2**31 - 1),
    "DecimalWrapper": _DECIMALS,
}


@st.composite
def _stats_rows(draw):
    rows = []
    for number in range(draw(st.integers(1, 5))):
        wrapper = draw(st.sampled_from(sorted(_BOUNDS)))
        bounds = [draw(st.none() | _BOUNDS[wrapper].map(lambda value, name=wrapper: {name: value})) for _ in "ab"]
        counts = [draw(st.none() | st.integers(0, 2**40)) for _ in range(4)]
        kind = draw(st.none() | st.integers(0, 20))
        rows.append(
            {
                "key": str(number),
                "file_name": draw(st.none() | st.text(max_size=5)),
                "column": draw(st.text(max_size=5)),
                "min": bounds[0],
                "max": bounds[1],
                **dict(zip(STATS_SCHEMA.names[4:8], counts, strict=True)),
                "is_deleted": draw(st.booleans()),
                "is_tight": draw(st.booleans()),
                "value_type": kind,
                "type_info": None if kind is None else draw(st.none() | st.text(max_size=5)),
            }
        )
    return rows


@settings(max_examples=80, deadline=None)
@given(_stats_rows(), st.sampled_from(VERSIONS))
def test_records_of_column_stats(rows, version):
    table = pa.Table.from_pylist(rows, pa.schema([pa.field("key", pa.string()), *STATS_SCHEMA]))
    found = _decode(written.column_stats(table, written.COLUMN_STATS_TYPE, version), version)
    for row in rows:
        record = found[row["key"]]["ColumnStatsMetadata"]
        assert (record["fileName"], record["columnName"]) == (row["file_name"], row["column"])
        for theirs, ours in (("minValue", "min"), ("maxValue", "max")):
            assert _unwrap(record[theirs]) == row[ours]
        assert [record[n] for n in ("valueCount", "nullCount", "totalSize", "totalUncompressedSize")] == [
            row[n] for n in STATS_SCHEMA.names[4:8]
        ]
        assert record["isDeleted"] == row["is_deleted"]
        if version >= 8:
            assert record["isTightBound"] == row["is_tight"]
        if version >= 9:
            kind = row["value_type"]
            expected = None if kind is None else {"typeOrdinal": kind, "additionalInfo": row["type_info"]}
            assert record["valueType"] == expected


def _unwrap(bound):
    if bound is None:
        return None
    name, record = bound
    return {name.rpartition(".")[2]: record["value"]}


def test_every_wrapper_has_a_branch():
    assert set(WRAPPERS) == {name for name in branches(9) if name != "ArrayWrapper"}
    assert [field.name for field in WRAPPED] == list(WRAPPERS)


@settings(max_examples=60, deadline=None)
@given(st.lists(_DECIMALS | st.none(), max_size=8))
def test_decimals_are_written_unscaled_and_short(values):
    found = written.unscaled(pa.array(values, pa.decimal128(30, 15))).to_pylist()
    for value, data in zip(values, found, strict=True):
        if value is None:
            assert data is None
            continue
        number = int(value.scaleb(15, decimal.Context(prec=60)))
        assert int.from_bytes(data, "big", signed=True) == number
        assert len(data) == max(1, ((number if number >= 0 else ~number).bit_length() + 8) // 8)


_FILE_IDS = st.one_of(
    st.uuids().map(str),
    st.tuples(st.uuids(), st.integers(0, 2**31 - 1)).map(lambda pair: f"{pair[0]}-{pair[1]}"),
    st.sampled_from(["00000003-f00d-0", "00000003-0000-0000-0000-000000000000-07", "x", ""]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=4), _FILE_IDS), max_size=8), st.sampled_from(VERSIONS))
def test_records_of_record_locations(rows, version):
    keys = [str(number) for number in range(len(rows))]
    partitions, ids = [row[0] for row in rows], [row[1] for row in rows]
    records = written.record_locations(
        pa.array(keys, pa.string()),
        pa.array(partitions, pa.string()),
        pa.array(ids, pa.string()),
        1700000000123,
        version,
    )
    found = _decode(records, version)
    for key, partition, file_id in zip(keys, partitions, ids, strict=True):
        record = found[key]["recordIndexMetadata"]
        assert record["partitionName"] == partition and record["instantTime"] == 1700000000123
        if record["fileIdEncoding"] == 1:
            assert record["fileId"] == file_id and record["fileIndex"] == -1
        else:
            halves = (record["fileIdHighBits"] % 2**64) << 64 | record["fileIdLowBits"] % 2**64
            number = "" if record["fileIndex"] < 0 else f"-{record['fileIndex']}"
            assert f"{uuid.UUID(int=halves)}{number}" == file_id


@pytest.mark.parametrize("version", VERSIONS)
def test_records_of_bloom_filters(version):
    records = written.bloom_filters(
        pa.array(["k"]), pa.array(["DYNAMIC_V0"]), pa.array([b"abc"], pa.binary()), False, "20260101000000000", version
    )
    record = _decode(records, version)["k"]["BloomFilterMetadata"]
    assert record == {
        "type": "DYNAMIC_V0",
        "timestamp": "20260101000000000",
        "bloomFilter": b"abc",
        "isDeleted": False,
    }
