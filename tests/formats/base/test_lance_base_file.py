"""Lance base files: columns, ranges and types of files of all versions, damage, and a machine without the package."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest
from lance.file import LanceFileWriter

from hudi_hive.errors import (
    CorruptFileError,
    FileVanishedError,
    MissingDependencyError,
    UnknownColumnError,
)
from hudi_hive.formats.base import lance_base_file, open_base_file
from hudi_hive.storage import Storage
from tests.support.fixture_tables import unzip_fixture

ROWS = 1000
VERSIONS = ("2.0", "2.1", "2.2")


def numbers(rows: int = ROWS) -> pa.Table:
    """Columns of all kinds; without null structs, which version 2.0 does not have."""
    return pa.table(
        {
            "n": pa.array([i if i % 3 else None for i in range(rows)], pa.int64()),
            "text": pa.array([f"text {i}" if i % 5 else None for i in range(rows)]),
            "flag": pa.array([i % 2 == 0 for i in range(rows)]),
            "list": pa.array([list(range(i % 4)) if i % 7 else None for i in range(rows)], pa.list_(pa.int32())),
            "pair": pa.array([{"x": i, "y": {"z": str(i)}} for i in range(rows)]),
            "pairs": pa.array([[{"k": str(i), "v": i / 4}] * (i % 3) for i in range(rows)]),
            "vector": pa.array([[float(i), 0.5] for i in range(rows)], pa.list_(pa.float32(), 2)),
            "blob": pa.array([b"x" * (i % 9) for i in range(rows)], pa.large_binary()),
            "wide": pa.array([str(i) for i in range(rows)], pa.large_string()),
        }
    )


def write(path: Path, table: pa.Table, version: str = "2.0") -> Path:
    with LanceFileWriter(str(path), table.schema, version=version) as writer:
        for start in range(0, table.num_rows, 300):  # copies, as Lance cannot take slices of structs
            writer.write_batch(table.take(list(range(start, min(start + 300, table.num_rows)))))
    return path


def plain(table: pa.Table) -> list[dict]:
    return table.to_pylist()


def read(path: Path, columns: list[str] | None = None, **options: object) -> pa.Table:
    with open_base_file(Storage(str(path.parent)), path.name) as file:
        names = file.schema.names if columns is None else columns
        return pa.Table.from_batches(list(file.batches(names, **options)))


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_of_files_of_each_version(tmp_path: Path, version: str) -> None:
    path = write(tmp_path / "a.lance", numbers(), version)
    table = read(path)
    assert plain(table) == plain(numbers())
    assert [str(kind) for kind in table.schema.types[-3:]] == ["list<item: float>", "binary", "string"]
    for size in (1, 7, 299, 5000):
        batches = read(path, ["pairs", "n"], batch_size=size).to_batches()
        assert max(batch.num_rows for batch in batches) == min(size, ROWS)
        assert plain(pa.Table.from_batches(batches)) == plain(numbers().select(["pairs", "n"]))


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_null_structs_of_newer_versions(tmp_path: Path, version: str) -> None:
    table = pa.table({"s": pa.array([{"x": 1}, None, {"x": None}])})
    assert plain(read(write(tmp_path / "a.lance", table, version))) == plain(table)


def test_lance_files_have_one_row_range_and_a_number_of_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.lance", numbers())
    with open_base_file(Storage(str(tmp_path)), "a.lance", size=path.stat().st_size) as file:
        assert (file.num_rows, file.writer, file.groups(None)) == (ROWS, "lance", (1, 1))
        assert file.row_ranges() == [(0, path.stat().st_size)]
        assert [batch.num_rows for batch in file.batches([])] == [ROWS]
        assert list(file.batches(["n"], byte_range=(0, 5))) == []
        half = path.stat().st_size // 2
        assert sum(batch.num_rows for batch in file.batches(["n"], byte_range=(half, half + 1))) == ROWS
        with pytest.raises(UnknownColumnError, match="'other'"):
            list(file.batches(["n", "other"]))


def test_a_file_without_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.lance", numbers().slice(0, 0))
    with open_base_file(Storage(str(tmp_path)), path.name) as file:
        assert file.num_rows == 0
        assert list(file.batches(["n"])) == []
        assert file.schema.names == numbers().column_names


@pytest.mark.parametrize("version", VERSIONS)
def test_batches_are_as_small_as_the_rows_of_their_columns_are_large(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance_base_file, "_BATCH_BYTES", 20_000)
    large = pa.table({"n": list(range(400)), "blob": [bytes([i % 251]) * 1000 for i in range(400)]})
    path = write(tmp_path / "a.lance", large, version)
    assert len(read(path, ["n"]).to_batches()) == 1
    batches = read(path, ["blob"]).to_batches()
    assert max(batch.num_rows for batch in batches) <= 20 or version != "2.0"  # others compress them
    assert pa.Table.from_batches(batches)["blob"].to_pylist() == large["blob"].to_pylist()


def test_files_of_a_store_are_copied_part_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lance_base_file, "_PART", 1000)
    path = write(tmp_path / "a.lance", numbers())
    storage = Storage(str(tmp_path))
    monkeypatch.setattr(Storage, "is_local", property(lambda _: False))
    with storage.counters.measure() as counts, open_base_file(storage, "a.lance") as file:
        assert plain(pa.Table.from_batches(list(file.batches(["n", "pair"])))) == plain(numbers().select(["n", "pair"]))
    assert counts["bytes_read"] == path.stat().st_size
    assert counts["reads"] == -(-path.stat().st_size // 1000)


def test_reading_without_pylance_names_the_extra_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.lance", numbers())
    monkeypatch.setitem(sys.modules, "lance.file", None)
    with pytest.raises(MissingDependencyError, match="pylance") as raised:
        read(tmp_path / "a.lance")
    assert raised.value.path is not None and raised.value.path.endswith("/a.lance")
    assert raised.value.remedy == "pip install 'hudi_hive[lance]'"


def test_damaged_files_are_no_rows(tmp_path: Path) -> None:
    content = write(tmp_path / "a.lance", numbers()).read_bytes()
    path = tmp_path / "b.lance"
    for damaged in (b"", b"x", b"LANC", content[:-1], content[:-40], content[100:], b"\0" * len(content)):
        path.write_bytes(damaged)
        with pytest.raises(CorruptFileError, match="cannot be decoded") as raised:
            read(path)
        assert raised.value.path is not None and raised.value.path.endswith("/b.lance")
        assert ".rs" not in raised.value.message
    with pytest.raises(CorruptFileError, match="its commit recorded 7"):
        open_base_file(Storage(str(tmp_path)), "a.lance", size=7)
    with pytest.raises(FileVanishedError, match="plan the query again"):
        read(tmp_path / "c.lance")


def test_text_that_is_no_unicode_is_refused(tmp_path: Path) -> None:
    table = pa.table({"t": ["abcdef" * 4] * 3})
    path = write(tmp_path / "a.lance", table)
    path.write_bytes(path.read_bytes().replace(b"abcdef" * 4, b"abc\xffef" * 4))
    with pytest.raises(CorruptFileError):
        read(path)


def test_nothing_is_loaded_before_a_lance_file_is_read() -> None:
    import subprocess

    path = unzip_fixture("v9_cow_lance")
    code = f"""
import sys
from hudi_hive import HudiTable
table = HudiTable.open({str(path)!r})
assert table.scan().plan().slices.num_rows == 2
assert "lance" not in sys.modules
assert table.scan().to_arrow().num_rows == 9
assert "lance" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
