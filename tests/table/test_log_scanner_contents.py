"""Contents of log blocks: columns, Parquet and HFile blocks, damage, and what reading them costs."""

from __future__ import annotations

import io
import json
import struct
import zipfile

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive import HudiTable
from hudi_hive.errors import (
    CorruptFileError,
    FileVanishedError,
    FormatError,
    SchemaError,
    UnsupportedFormatError,
)
from hudi_hive.formats.avro import decode_records
from hudi_hive.formats.hfile import ENTRY_SCHEMA
from hudi_hive.formats.log import BlockType, HeaderKey, encode_block
from hudi_hive.storage import Storage
from hudi_hive.table.logs import BlockRange, scan_logs
from hudi_hive.table.logs.log_data import LogData
from tests.support.fixture_tables import DATA, unzip_fixture
from tests.support.running.long import examples
from tests.support.tables.hfile_writer import HFileWriter
from tests.support.tables.log_files import (
    ROW_SCHEMA,
    Committed,
    data_block,
    delete_block,
    rollback_block,
    row,
    write_logs,
)
from tests.table.shared.log_scanner_helpers import ALL, T1, T2, T3, T4, T5, keys, rows, scan

LOG_BLOCKS = DATA / "log_blocks"


# -- contents ------------------------------------------------------------------------------------------------------


def test_selected_columns_of_a_data_block(tmp_path):
    files = (data_block(T1, [row("a", 5, "x")]),)
    (block,) = scan(tmp_path, *files, columns=["name", "no such column", "ts"]).data
    assert block.batch.to_pylist() == [{"name": "x", "ts": 5}]
    (block,) = scan(tmp_path, *files, columns=[]).data
    assert (block.batch.num_rows, block.batch.num_columns) == (1, 0)


def parquet_image(rows_: list[dict], **options) -> bytes:
    sink = io.BytesIO()
    schema = pa.schema([("_hoodie_record_key", pa.string()), ("ts", pa.int64()), ("name", pa.string())])
    pq.write_table(pa.Table.from_pylist(rows_, schema), sink, **options)
    return sink.getvalue()


@pytest.mark.parametrize("columns", [None, ["ts", "_hoodie_record_key"], []])
def test_blocks_of_parquet_are_decoded(tmp_path, columns):
    content = parquet_image([row("a", 1, "x"), row("b", None, "y"), row("c", 3)], row_group_size=2)
    file = data_block(T1, [], kind=BlockType.PARQUET_DATA, content=content)
    (block,) = scan(tmp_path, file, columns=columns).data
    assert block.schema == ROW_SCHEMA
    assert block.batch.num_rows == 3
    wanted = columns if columns is not None else ["_hoodie_record_key", "ts", "name"]
    assert block.batch.schema.names == wanted
    if "ts" in wanted:
        assert block.batch.column("ts").to_pylist() == [1, None, 3]


def test_parquet_block_without_rows(tmp_path):
    file = data_block(T1, [], kind=BlockType.PARQUET_DATA, content=parquet_image([]))
    (block,) = scan(tmp_path, file).data
    assert block.batch.num_rows == 0
    assert block.batch.schema.names == ["_hoodie_record_key", "ts", "name"]


def test_partial_blocks_are_marked(tmp_path):
    narrow = {**ROW_SCHEMA, "fields": [ROW_SCHEMA["fields"][0], ROW_SCHEMA["fields"][2]]}
    file = data_block(T1, [{"_hoodie_record_key": "a", "name": "n"}], schema=narrow, IS_PARTIAL="true")
    whole, partial = scan(tmp_path, rows(T1, "a", IS_PARTIAL="false"), file).data
    assert (whole.is_partial, partial.is_partial) == (False, True)
    assert partial.batch.schema.names == ["_hoodie_record_key", "name"]


def test_record_positions_are_passed_over(tmp_path):
    headers = {"RECORD_POSITIONS": "AAAA", "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS": T1}
    assert keys(scan(tmp_path, rows(T2, "a", **headers) + delete_block(T2, [("b", "", None)], **headers))) == [
        "a",
        "-b",
    ]


def test_change_data_blocks_are_records(tmp_path):
    assert keys(scan(tmp_path, rows(T1, "a", kind=BlockType.CDC_DATA))) == ["a"]


# -- damage --------------------------------------------------------------------------------------------------------


def test_torn_tail_is_passed_over(tmp_path, caplog):
    whole = rows(T1, "a")
    torn = rows(T2, "b")
    for cut in range(1, len(torn)):
        records = scan(tmp_path, whole + torn[:cut], rows(T3, "c"))
        assert keys(records) == ["a", "c"]
        assert (records.corrupt, records.blocks_seen) == (1, 3)
    assert "corrupt block" in caplog.text


def test_a_block_torn_in_the_middle_is_passed_over(tmp_path):
    torn = rows(T2, "b")
    assert keys(scan(tmp_path, rows(T1, "a") + torn[:60] + rows(T3, "c"))) == ["a", "c"]


def test_a_block_that_does_not_count_is_not_decoded(tmp_path):
    bad = encode_block(BlockType.AVRO_DATA, {HeaderKey.INSTANT_TIME: T2, HeaderKey.SCHEMA: "{"}, b"rubbish")
    assert keys(scan(tmp_path, rows(T1, "a"), bad, timeline=Committed(T1))) == ["a"]
    with pytest.raises(CorruptFileError, match=r"schema of a log block.*\.log\.2"):
        scan(tmp_path, rows(T1, "a"), bad)


def test_old_delete_blocks_are_refused_if_they_count(tmp_path):
    files = (rows(T1, "a"), delete_block(T2, [("a", "", None)], version=2))
    assert keys(scan(tmp_path, *files, max_instant=T1)) == ["a"]
    with pytest.raises(UnsupportedFormatError, match=rf"delete block version 2.*\.log\.2.*{T2}"):
        scan(tmp_path, *files)


@pytest.mark.parametrize(
    "headers",
    [
        {HeaderKey.INSTANT_TIME: T1},
        {HeaderKey.INSTANT_TIME: T1, HeaderKey.SCHEMA: "[1]"},
        {HeaderKey.INSTANT_TIME: T1, HeaderKey.SCHEMA: '{"type":"record","name":"r"}'},
        {HeaderKey.INSTANT_TIME: T1, HeaderKey.SCHEMA: "[" * 100_000},
        {HeaderKey.SCHEMA: json.dumps(ROW_SCHEMA)},
    ],
)
def test_data_blocks_without_a_schema_or_instant(tmp_path, headers):
    with pytest.raises(CorruptFileError, match=r"(schema|instant).*\.log\.1"):
        scan(tmp_path, encode_block(BlockType.AVRO_DATA, headers, struct.pack(">ii", 3, 0)))


def test_a_schema_without_columnar_form_is_refused(tmp_path):
    tree = {"type": "record", "name": "r", "fields": [{"name": "next", "type": ["null", "r"]}]}
    headers = {HeaderKey.INSTANT_TIME: T1, HeaderKey.SCHEMA: json.dumps(tree)}
    with pytest.raises(SchemaError, match=r"recursive.*\.log\.1"):
        scan(tmp_path, encode_block(BlockType.AVRO_DATA, headers, struct.pack(">ii", 3, 0)))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(40) + b"PAR1"])
def test_a_damaged_block_of_parquet_is_an_error(tmp_path, content):
    with pytest.raises(CorruptFileError, match=r"cannot be decoded.*\.log\.1"):
        scan(tmp_path, data_block(T1, [], kind=BlockType.PARQUET_DATA, content=content))


def test_a_damaged_block_of_records_is_an_error(tmp_path):
    with pytest.raises(CorruptFileError, match=rf"log block at offset 0.*\.log\.1.*{T1}"):
        scan(tmp_path, data_block(T1, [], content=struct.pack(">iii", 3, 1, 2) + b"\x02\xff"))


def test_a_file_that_is_gone(tmp_path):
    with pytest.raises(FileVanishedError, match=r"p/\.gone.*plan the query again"):
        scan_logs(Storage(str(tmp_path)), "p", [".gone_1.log.1_1-0-1"], blocks=BlockRange(ALL))


@given(st.data())
@settings(max_examples=examples(300), deadline=None)
def test_damaged_bytes_give_records_or_our_error(tmp_path_factory, data):
    whole = bytearray(
        rows(T1, "a", "b")
        + delete_block(T2, [("a", "p", ("Long", 7)), ("b", None, None)])
        + data_block(T3, [], kind=BlockType.PARQUET_DATA, content=PARQUET)
        + rows(T4, "c", COMPACTED_BLOCK_TIMES=f"{T1},{T2}")
        + rollback_block(T5, T4)
    )
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)) | st.just(len(whole)))])
    try:
        records = scan(tmp_path_factory.getbasetemp(), cut)
    except (FormatError, SchemaError):
        return
    for block in records.blocks:
        if isinstance(block, LogData):
            block.batch.validate(full=True)
        else:
            block.table.validate(full=True)


PARQUET = parquet_image([row("x", 1, "y")], compression="none")


# -- cost ----------------------------------------------------------------------------------------------------------


def test_each_file_is_opened_once_and_counted(tmp_path):
    files = (rows(T1, "a") + rows(T2, "b"), rows(T3, "c")[:-1])
    names = write_logs(tmp_path, *files)
    storage = Storage(str(tmp_path))
    with storage.counters.measure() as cost:
        scan_logs(storage, "", names, blocks=BlockRange(Committed(T1)))
    assert cost == {
        "opens": 2,
        "reads": 2,
        "bytes_read": sum(map(len, files)),
        "log_files": 2,
        "log_blocks": 3,
        "log_blocks_skipped": 1,
        "log_blocks_corrupt": 1,
    }


def test_files_of_a_remote_store_keep_their_order(tmp_path):
    storage = Storage(f"memory://{tmp_path.name}")
    names = [f".f-0_{T1}.log.{number}_1-0-1" for number in range(1, 13)]
    for number, name in enumerate(names):
        storage.write_bytes(f"p/{name}", rows(T1, f"k{number}"))
    records = scan_logs(storage, "p", names, blocks=BlockRange(ALL))
    assert keys(records) == [f"k{number}" for number in range(12)]
    assert storage.counters["opens"] == 12
    with pytest.raises(FileVanishedError):
        scan_logs(storage, "p", [*names, ".f-0_1.log.99_1-0-1"], blocks=BlockRange(ALL))


# -- HFile blocks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["v6_mor_part_rli", "v8_mor_part_rli", "v9_mor_part_rli"])
def test_hfile_blocks_of_real_metadata_tables(name):
    root = unzip_fixture(name) / ".hoodie" / "metadata"
    storage = Storage(str(root))
    kinds = set()
    for file in sorted(root.rglob(".*.log.*")):
        partition = file.parent.relative_to(root).as_posix()
        records = scan_logs(storage, partition, [file.name], blocks=BlockRange(), columns=["type"])
        for block in records.data:
            assert block.batch.schema == ENTRY_SCHEMA
            assert block.batch.num_rows > 0
            found = block.batch.column("key").to_pylist()
            assert found == sorted(found)
            assert block.schema["name"] == "HoodieMetadataRecord"
            lengths = np.cumsum([0, *map(len, block.batch.column("value").to_pylist())])
            values = b"".join(block.batch.column("value").to_pylist())
            decoded = decode_records(values, lengths[:-1], lengths[1:], block.schema, columns=["key", "type"])
            assert set(decoded.column("key").to_pylist()) == {""}
            kinds |= set(decoded.column("type").to_pylist())
    assert kinds >= {1, 2, 5}


@pytest.mark.parametrize("version", [6, 8])
@pytest.mark.parametrize("columns", [None, ["id", "v", "st"]], ids=["all", "some"])
def test_hfile_blocks_of_real_data_tables(tmp_path, version, columns):
    with zipfile.ZipFile(LOG_BLOCKS / f"v{version}_hfile_log_blocks.zip") as archive:
        archive.extractall(tmp_path)
    wanted = json.loads((LOG_BLOCKS / f"v{version}_hfile_log_blocks.rows.json").read_text())
    names = columns or list(wanted[0])
    found = HudiTable.open(tmp_path).scan(selected_fields=names).to_arrow().sort_by("id").to_pylist()
    for row_ in found:
        row_.update({"m": dict(row_["m"]), "dec": str(row_["dec"])} if columns is None else {})
    assert found == [{name: row_[name] for name in names} for row_ in wanted]


def test_the_key_of_an_hfile_entry_belongs_to_the_field_key(tmp_path):
    schema = {"type": "record", "name": "r", "fields": [{"name": n, "type": "string"} for n in ("key", "v")]}
    image = HFileWriter().write([(b"k1", b"\0\x02a"), (b"k2", b"\0\x02b")])
    headers = {HeaderKey.INSTANT_TIME: T1, HeaderKey.SCHEMA: json.dumps(schema)}
    block = encode_block(BlockType.HFILE_DATA, headers, image)
    (data,) = scan(tmp_path, block).data
    assert data.batch.to_pylist() == [{"key": "k1", "v": "a"}, {"key": "k2", "v": "b"}]
    (data,) = scan(tmp_path, block, columns=["v"]).data
    assert data.batch.to_pylist() == [{"v": "a"}, {"v": "b"}]


@pytest.mark.parametrize("kind", [BlockType.AVRO_DATA, BlockType.PARQUET_DATA, BlockType.HFILE_DATA], ids=str)
@pytest.mark.parametrize("columns", [None, ["_hoodie_record_key"], ["ts"]], ids=str)
def test_selected_keys_of_each_kind_of_block(tmp_path, kind, columns):
    records = [row(name) for name in "abcde"]
    content = None
    if kind is BlockType.PARQUET_DATA:
        content = parquet_image(records)
    elif kind is BlockType.HFILE_DATA:
        binaries = []
        for record in records:
            stream = io.BytesIO()
            fastavro.schemaless_writer(stream, ROW_SCHEMA, record)
            binaries.append((record["_hoodie_record_key"].encode(), stream.getvalue()))
        content = HFileWriter().write(binaries)
    logs = [data_block(T1, records, kind=kind, content=content), delete_block(T2, [(key, "", None) for key in "dz"])]
    (whole,) = scan(tmp_path, *logs, columns=columns).data
    found = scan(tmp_path, *logs, columns=columns, keys=pa.array(["b", "d", "none"]))
    (data,) = found.data
    assert data.batch.to_pylist() == whole.batch.take(pa.array([1, 3])).to_pylist()
    assert found.deletes[0].table["record_key"].to_pylist() == ["d"]


@pytest.mark.parametrize("content", [b"", bytes(5000)])
def test_damaged_hfile_blocks(tmp_path, content):
    with pytest.raises(CorruptFileError, match=r"HFile.*\.log\.1"):
        scan(tmp_path, data_block(T1, [], kind=BlockType.HFILE_DATA, content=content))
