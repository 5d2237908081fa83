"""Names of base, log and other files."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.table.view.file_names import FILE_NAMES_SCHEMA, FileKind, parse_file_names, stored_names
from tests.support.running.long import examples

ID = "8aa6ed29-1f1d-4fb2-8c4f-ea8a1e1f1ac1-0"


def parse(*names):
    table = parse_file_names(pa.array(names, pa.string()))
    table.validate(full=True)
    assert table.schema == FILE_NAMES_SCHEMA
    return table.to_pylist()


@pytest.mark.parametrize("extension", ["parquet", "orc", "hfile", "lance"])
def test_names_of_base_files_are_parsed(extension):
    assert parse(f"{ID}_0-1047-3000_20251220210125441.{extension}") == [
        {
            "kind": FileKind.BASE,
            "file_id": ID,
            "instant": "20251220210125441",
            "write_token": "0-1047-3000",
            "log_version": None,
            "extension": extension,
        }
    ]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("part-0_1.c000.snappy.parquet_20240101000000000_hudiext", "part-0_1.c000.snappy.parquet"),
        ("data.parquet_12_fg%3Dbucket-0_hudiext", "bucket-0/data.parquet"),
        ("data.parquet_12_fg%3Db%2Fc_hudiext", "b/c/data.parquet"),
        (f"{ID}_0-1-2_11.orc_12_hudiext", f"{ID}_0-1-2_11.orc"),
    ],
)
def test_names_of_files_that_hudi_did_not_write(name: str, path: str) -> None:
    (row,) = parse(name)
    assert (row["kind"], row["file_id"], row["write_token"]) == (FileKind.BASE, path, None)
    assert row["instant"] == name[len(path.rpartition("/")[2]) + 1 :].partition("_")[0]
    assert row["extension"] == path.rpartition(".")[2]
    names = [None, name, f"{ID}_0-1-2_11.parquet", f".{ID}_11.log.1_0-1-2"]
    assert [row["file_id"] for row in parse(*names)] == [None, path, ID, ID]
    assert stored_names(pa.array(names)).to_pylist() == [None, path, *names[2:]]


@pytest.mark.parametrize(
    "name",
    [
        "x.parquet_12_fg%3D..%2Fy_hudiext",
        "x.parquet_12_fg%3D%2F_hudiext",
        "x.parquet_12_fg%3D%00_hudiext",
        "../x.parquet_12_hudiext",
        "..\\x.parquet_12_hudiext",
        ".parquet_12_hudiext",
        "x.parquet_hudiext",
        "x.txt_12_hudiext",
        "_hudiext",
    ],
)
def test_names_that_lead_elsewhere_are_of_no_data_files(name: str) -> None:
    assert parse(name)[0] == dict.fromkeys(FILE_NAMES_SCHEMA.names) | {"kind": FileKind.OTHER}
    assert stored_names(pa.array([name])).to_pylist() == [name]


@pytest.mark.parametrize(
    ("name", "instant", "version", "token", "kind"),
    [
        (f".{ID}_20251220210125441.log.1_0-1047-3000", "20251220210125441", 1, "0-1047-3000", FileKind.LOG),
        (f".{ID}_20251220210125441.log.12_1-0-1", "20251220210125441", 12, "1-0-1", FileKind.LOG),
        (f".{ID}_20251220210125.log.3", "20251220210125", 3, None, FileKind.LOG),
        (f".{ID}_20251220210125441.log.1_0-2-3.cdc", "20251220210125441", 1, "0-2-3", FileKind.CDC),
        (f".{ID}_20251220210125441010.log.1_0-0-0", "20251220210125441010", 1, "0-0-0", FileKind.LOG),
    ],
)
def test_names_of_log_files_are_parsed(name, instant, version, token, kind):
    (row,) = parse(name)
    assert row == {
        "kind": kind,
        "file_id": ID,
        "instant": instant,
        "write_token": token,
        "log_version": version,
        "extension": "cdc" if kind == FileKind.CDC else "log",
    }


@pytest.mark.parametrize(
    "name",
    [
        "",
        None,
        ".hoodie_partition_metadata",
        ".hoodie_partition_metadata.parquet",
        f"{ID}_0-1-2_20251220210125441.parquet.crc",
        f".{ID}_0-1-2_20251220210125441.parquet.crc",
        f".{ID}_20251220210125441.log.1_0-1-2.crc",
        f"{ID}_0-1-2_20251220210125441.parquet.marker.CREATE",
        f"{ID}_0-1-2_20251220210125441.txt",
        f"{ID}_0-1-2_2025122021012544x.parquet",
        f"{ID}_20251220210125441.parquet",
        f"{ID}_0-1-2_20251220210125441",
        "__20251220210125441.parquet",
        "a_b_c_20251220210125441.parquet",
        f".{ID}_20251220210125441.log.x_0-1-2",
        f".{ID}_20251220210125441.log.1_0-1",
        f".{ID}_20251220210125441.log.1_0-1-2.tmp",
        f".{ID}_20251220210125441.log.99999999999999999999_0-1-2",
        ".commits_.archive.1_1-0-1",
        "_SUCCESS",
        "part-00000-1b2c-c000.snappy.parquet",
    ],
)
def test_other_names_are_of_no_hudi_file(name):
    (row,) = parse(name)
    assert row == {**dict.fromkeys(FILE_NAMES_SCHEMA.names), "kind": FileKind.OTHER}


def test_order_is_kept_and_chunks_and_slices_are_taken():
    names = ["x", f"{ID}_0-1-2_1.parquet", f".{ID}_1.log.1_0-1-2", "y", "b_0-1-2_2.orc", f".{ID}_1.log.1_0-1-2.cdc"]
    kinds = [3, 0, 1, 3, 0, 2]
    array = pa.array(["skipped", *names, "skipped"]).slice(1, len(names))
    chunked = pa.chunked_array([pa.array(names[:2]), pa.array([], pa.string()), pa.array(names[2:])])
    for column in (array, chunked, array.dictionary_encode(), chunked.dictionary_encode()):
        table = parse_file_names(column)
        assert table["kind"].to_pylist() == kinds
        assert table["instant"].to_pylist() == [None, "1", "1", None, "2", "1"]
    assert parse_file_names(array.slice(0, 0)).num_rows == 0
    assert parse_file_names(pa.chunked_array([], pa.string())).num_rows == 0


def test_dictionaries_hold_each_text_once():
    names = [f"{c}_0-1-2_7.{extension}" for c in "abc" for extension in ("parquet", "orc")]
    table = parse_file_names(pa.array(names))
    assert table["instant"].combine_chunks().dictionary.to_pylist() == ["7"]
    assert sorted(table["extension"].combine_chunks().dictionary.to_pylist()) == ["orc", "parquet"]


_ID = st.text("abcdef0123456789-", min_size=1, max_size=40)
_NUMBER = st.integers(0, 10**9 - 1)
_INSTANT = st.text("0123456789", min_size=1, max_size=20)


@st.composite
def _named(draw):
    file_id, instant = draw(_ID), draw(_INSTANT)
    token = f"{draw(_NUMBER)}-{draw(_NUMBER)}-{draw(_NUMBER)}"
    kind = draw(st.sampled_from(["base", "log", "cdc", "old", "other"]))
    if kind == "base":
        extension = draw(st.sampled_from(["parquet", "orc", "hfile"]))
        return f"{file_id}_{token}_{instant}.{extension}", (FileKind.BASE, file_id, instant, token, None, extension)
    version = draw(_NUMBER)
    if kind == "log":
        name = f".{file_id}_{instant}.log.{version}_{token}"
        return name, (FileKind.LOG, file_id, instant, token, version, "log")
    if kind == "cdc":
        name = f".{file_id}_{instant}.log.{version}_{token}.cdc"
        return name, (FileKind.CDC, file_id, instant, token, version, "cdc")
    if kind == "old":
        return f".{file_id}_{instant}.log.{version}", (FileKind.LOG, file_id, instant, None, version, "log")
    return draw(st.text(max_size=8)) + "~", (FileKind.OTHER, None, None, None, None, None)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(_named(), max_size=20))
def test_names_of_files_are_parsed_as_they_were_composed(cases):
    rows = parse(*[name for name, _ in cases])
    columns = ("kind", "file_id", "instant", "write_token", "log_version", "extension")
    assert [tuple(row[column] for column in columns) for row in rows] == [parts for _, parts in cases]
