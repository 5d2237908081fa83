"""Markers tell what a write made; what no status claims goes."""

from __future__ import annotations

import pytest

from hudi_hive.storage import Storage
from hudi_hive.write.files.markers import MarkerKind, create_marker, marked_files, remove_markers, remove_unclaimed


@pytest.fixture
def storage(tmp_path):
    return Storage(tmp_path)


def test_markers_lie_where_hudi_looks_for_them(storage, tmp_path):
    create_marker(storage, "7", "a/b", "f_0-0-0_7.parquet", MarkerKind.MERGE)
    create_marker(storage, "7", "", ".f_7.log.1_0-0-0", MarkerKind.CREATE)
    assert (tmp_path / ".hoodie/.temp/7/a/b/f_0-0-0_7.parquet.marker.MERGE").read_bytes() == b""
    found = {tuple(row.values()) for row in marked_files(storage, "7").to_pylist()}
    assert found == {("a/b", "f_0-0-0_7.parquet", "MERGE"), ("", ".f_7.log.1_0-0-0", "CREATE")}


def test_files_of_failed_attempts_go(storage, tmp_path):
    for name in ("f_0-0-0_7.parquet", "f_0-0-1_7.parquet"):
        create_marker(storage, "7", "p", name, MarkerKind.CREATE)
        storage.write_bytes(f"p/{name}", b"x")
    create_marker(storage, "7", "p", "never_written.parquet", MarkerKind.CREATE)
    removed = remove_unclaimed(storage, "7", ["p/f_0-0-1_7.parquet"])
    assert sorted(removed) == ["p/f_0-0-0_7.parquet", "p/never_written.parquet"]
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["f_0-0-1_7.parquet"]


def test_markers_of_one_instant_go_together(storage, tmp_path):
    create_marker(storage, "7", "p", "a", MarkerKind.CREATE)
    create_marker(storage, "8", "p", "a", MarkerKind.CREATE)
    remove_markers(storage, "7")
    remove_markers(storage, "7")
    assert marked_files(storage, "7").num_rows == 0
    assert marked_files(storage, "8").num_rows == 1
