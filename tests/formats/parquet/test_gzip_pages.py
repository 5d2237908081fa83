"""Parquet pages packed on their way to the file: the rows, the checksums, and each size and position of the footer."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from isal import isal_zlib

from hudi_hive.errors import StorageError, UnsupportedFormatError
from hudi_hive.formats import gzip_codec
from hudi_hive.formats.base import create_base_file, open_base_file
from hudi_hive.formats.parquet import GzipPages, PageHeader, read_page_header
from hudi_hive.storage import Storage

AVRO = {"type": "record", "name": "t_record", "fields": []}
ROWS = 30_000


def rows() -> pa.Table:
    number = np.arange(ROWS)
    return pa.table(
        {
            "_hoodie_record_key": pa.array([f"key-{i:09d}" for i in number]),
            "id": pa.array(number),
            "city": pa.array([None if i % 7 == 0 else f"city-{i % 50}" for i in number]),
            "price": pa.array([Decimal(int(i)) / 4 for i in number], pa.decimal128(20, 2)),
            "blob": pa.array([bytes([i % 256]) * (i % 40) for i in number.tolist()]),
            "noise": pa.array(np.random.default_rng(5).random(ROWS)),
            "paid": pa.array(number % 3 == 0),
            "none": pa.nulls(ROWS, pa.string()),
            "tags": pa.array([["x", None] * (i % 3) for i in number.tolist()], pa.list_(pa.string())),
            "place": pa.array([None if i % 2 else {"x": int(i), "name": f"n{i}"} for i in number]),
        }
    )


def packed(table: pa.Table, group: int = 7_000, piece: int | None = None, **options: object) -> tuple[bytes, GzipPages]:
    """The file as it is packed; with a piece, what Arrow writes comes in pieces of so many bytes."""
    out = pa.BufferOutputStream()
    pages = GzipPages(out, "f.parquet")
    if piece is not None:
        write = pages.write
        pages.write = lambda data: sum(write(data[i : i + piece]) for i in range(0, len(data), piece))  # type: ignore[method-assign]
    settings = {"compression": "NONE", "store_schema": False, "data_page_size": 20_000, **options}
    writer = pq.ParquetWriter(pa.PythonFile(pages, mode="w"), table.schema, **settings)
    writer.write_table(table, row_group_size=group)
    pages.begin_footer()
    writer.close()
    pages.finish()
    return out.getvalue().to_pybytes(), pages


def test_rows_come_back_with_their_checksums():
    data, _ = packed(rows())
    assert pq.read_table(pa.BufferReader(data), page_checksum_verification=True).equals(rows())


def test_another_reader_has_the_same_rows(tmp_path: Path):
    (tmp_path / "f.parquet").write_bytes(packed(rows())[0])
    theirs = duckdb.sql(f"SELECT * FROM '{tmp_path}/f.parquet' ORDER BY id").to_arrow_table()
    assert (
        theirs.select(["id", "city", "noise", "tags"]).to_pylist()
        == rows().select(["id", "city", "noise", "tags"]).to_pylist()
    )


@pytest.mark.parametrize("dictionary", [False, True])
def test_each_size_and_position_is_that_of_the_pages(dictionary: bool):
    data, pages = packed(rows(), use_dictionary=dictionary)
    metadata = pq.read_metadata(pa.BufferReader(data))
    position, sizes = 4, {}
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        in_group = 0
        for column in range(group.num_columns):
            chunk = group.column(column)
            start, plain = position, 0
            assert chunk.compression == "GZIP" and chunk.file_offset == 0
            assert (chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset) == start
            while position < start + chunk.total_compressed_size:
                header = read_page_header(data, position)
                page = data[header.end : header.end + header.compressed]
                assert len(gzip.decompress(page)) == header.uncompressed
                plain += header.end - position + header.uncompressed
                position = header.end + header.compressed
            assert (position, plain) == (start + chunk.total_compressed_size, chunk.total_uncompressed_size)
            in_group += plain
            before = sizes.get(chunk.path_in_schema, (0, 0))
            sizes[chunk.path_in_schema] = (before[0] + chunk.total_compressed_size, before[1] + plain)
        assert group.total_byte_size == in_group
    assert metadata.num_row_groups == 5 and position == len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    assert pages.sizes == sizes


@pytest.mark.parametrize("piece", [1, 13, 4_096])
def test_pieces_of_any_size_make_the_same_file(piece: int):
    table = rows().slice(0, 2_000)
    assert packed(table, piece=piece)[0] == packed(table)[0]


def test_a_file_without_rows():
    data, _ = packed(rows().slice(0, 0))
    assert pq.read_table(pa.BufferReader(data)).equals(rows().slice(0, 0))


@pytest.mark.parametrize("option", [{"write_page_index": True}, {"write_page_checksum": True}])
def test_files_of_other_parts_are_refused(option: dict[str, object]):
    with pytest.raises(UnsupportedFormatError, match="isal"):
        packed(rows(), **option)


def test_a_page_without_an_end_is_refused():
    pages = GzipPages(pa.BufferOutputStream(), "f.parquet")
    pages.write(b"PAR1")
    pages.write(b"\x15\x00\x15\x10")
    with pytest.raises(UnsupportedFormatError, match="without an end"):
        pages.begin_footer()


def _written(folder: Path, table: pa.Table) -> bytes:
    with create_base_file(Storage(str(folder)), "f.parquet", table.schema, AVRO) as writer:
        writer.write(table)
    return (folder / "f.parquet").read_bytes()


def _packed_by_isal(data: bytes, header: PageHeader) -> bytes:
    return isal_zlib.compress(gzip.decompress(data[header.end : header.end + header.compressed]), 1, wbits=31)


@pytest.mark.parametrize("installed", [True, False])
def test_base_files_are_the_same_with_and_without_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
):
    if not installed:
        monkeypatch.setattr(gzip_codec, "_isal", lambda: None)
    data = _written(tmp_path, rows())
    metadata = pq.read_metadata(pa.BufferReader(data))
    chunks = [metadata.row_group(0).column(i) for i in range(metadata.num_columns)]
    assert {chunk.compression for chunk in chunks} == {"GZIP"}
    table = pq.read_table(pa.BufferReader(data), page_checksum_verification=True)
    assert table.to_pylist() == rows().to_pylist()
    header = read_page_header(data, chunks[1].data_page_offset)
    assert (data[header.end : header.end + header.compressed] == _packed_by_isal(data, header)) == installed


def test_an_abandoned_file_has_no_footer(tmp_path: Path):
    writer = create_base_file(Storage(str(tmp_path)), "f.parquet", rows().schema, AVRO)
    with pytest.raises(ZeroDivisionError), writer:
        writer.write(rows())
        writer._encoder._flush(writer._stream)  # as when a row group is full
        raise ZeroDivisionError
    del writer
    assert not (tmp_path / "f.parquet").read_bytes().endswith(b"PAR1")


def test_a_store_that_fails_is_named(tmp_path: Path):
    class Full(pa.PythonFile):
        def write(self, data: bytes) -> int:
            raise OSError("no space left")

    writer = create_base_file(Storage(str(tmp_path)), "f.parquet", rows().schema, AVRO)
    writer.write(rows())
    writer._stream.close()
    writer._stream = Full(pa.BufferOutputStream(), mode="w")
    with pytest.raises(StorageError, match="no space left"):
        writer.close()


def test_metadata_behind_the_pages_of_a_column_is_left_out():
    """As Arrow's releases up to 17 write it."""
    out = pa.BufferOutputStream()
    pages = GzipPages(out, "f.parquet")
    page = b"\x15\x00\x15\x06\x15\x06\x2c\x15\x06\x15\x00\x15\x06\x15\x06\x00\x00abc"
    metadata = b"\x15\x02\x19\x15\x00\x19\x18\x01a\x15\x00\x16\x06\x16\x06\x16\x06\x26\x08\x00"
    for byte in b"PAR1" + page + metadata + page:
        pages.write(bytes([byte]))
    pages.begin_footer()
    data = out.getvalue().to_pybytes()
    first = read_page_header(data, 4)
    second = read_page_header(data, first.end + first.compressed)
    assert second.end + second.compressed == len(data)
    for header in (first, second):
        assert gzip.decompress(data[header.end : header.end + header.compressed]) == b"abc"


def test_row_groups_of_little_per_column_are_left_to_arrow(tmp_path: Path):
    """There going from page to page takes longer than what is saved."""
    texts = pa.array([f"{number:08d}" for number in range(200)])
    for columns, packed_here in ((500, False), (1, True)):
        of_rows = 200 if columns > 1 else 500_000
        column = texts if columns > 1 else pa.array(np.arange(of_rows))
        table = pa.table({"_hoodie_record_key": pc.cast(pa.array(np.arange(of_rows)), pa.string())})
        for number in range(columns):
            table = table.append_column(f"c{number}", column)
        folder = tmp_path / str(columns)
        folder.mkdir()
        assert table.nbytes > 1 << 20
        data = _written(folder, table)
        header = read_page_header(data, pq.read_metadata(pa.BufferReader(data)).row_group(0).column(1).data_page_offset)
        assert (data[header.end : header.end + header.compressed] == _packed_by_isal(data, header)) == packed_here


def test_headers_of_pages_may_be_longer_than_what_is_read_first(tmp_path: Path):
    """They hold the least and the greatest value of the page, and are read where a page packs well."""
    count = 30_000
    texts = pa.array([f"{number:06d}" * 600 for number in range(count)])
    table = pa.table({"_hoodie_record_key": pc.cast(pa.array(np.arange(count)), pa.string()), "text": texts})
    data = _written(tmp_path, table)
    chunk = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(1)
    assert chunk.total_uncompressed_size > 128 * chunk.total_compressed_size > 1 << 19
    header = read_page_header(data, chunk.data_page_offset)
    assert header.end - header.start > 7_000
    with open_base_file(Storage(str(tmp_path)), "f.parquet") as file:
        read = pa.Table.from_batches(list(file.batches(["text"])))
    assert read.column("text").equals(table.column("text"))
