"""Partition values that look like a table's own names: read by every lister, or refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.errors import KeyGenerationError
from hudi_hive.storage import Storage
from hudi_hive.table.keys import MAX_DEPTH, MAX_FOLDER_BYTES, path_defect
from hudi_hive.table_api import HudiTable
from hudi_hive.write.records import longest_partition_path
from tests.support.running.long import VERSION_CASES, with_long_cases
from tests.support.tables.written_rows import HOODIE_NAMES, rows_by_listing, rows_by_metadata, tree

COLUMNS = ["id", "p"]


def make(path: Path, version: int = 8, **settings: object) -> HudiTable:
    return HudiTable.create(path, name="t", version=version, record_keys=["id"], partition_fields=["p"], **settings)


def rows(*values: str | None) -> pa.Table:
    return pa.table({"id": [f"{number}" for number in range(len(values))], "p": pa.array(values, pa.string())})


@pytest.mark.parametrize("version", VERSION_CASES)
@pytest.mark.parametrize("metadata", ["false", "true"])
def test_values_that_begin_like_the_metadata_folder_are_read_again(tmp_path, version, metadata):
    """Hudi 0.15.0 and 1.1.1 write such folders and list them: only ``.hoodie`` itself is passed over."""
    values = [".hoodie_x", ".hoodie.d", ".hoodiex", ".hoodie/x", "ok"]
    table = make(tmp_path / "t", version, url_encode_partitioning=True)
    table.upsert(rows(*values), {"hoodie.metadata.enable": metadata})
    expected = sorted((f"{number}", value) for number, value in enumerate(values))
    assert rows_by_listing(table.path, COLUMNS) == rows_by_metadata(table.path, COLUMNS) == expected


@pytest.mark.parametrize("encoded", [False, True])
def test_every_such_value_is_read_again_or_refused_and_leaves_nothing(tmp_path, encoded):
    outcomes = {}
    for number, value in enumerate(HOODIE_NAMES):
        table = make(tmp_path / f"t{number}", url_encode_partitioning=encoded)
        before = tree(table.path)
        try:
            table.bulk_insert(rows(value, "ok"), {"hoodie.metadata.enable": "false"})
        except KeyGenerationError:
            assert tree(table.path) == before
            outcomes[value] = "refused"
        else:
            assert rows_by_listing(table.path, COLUMNS) == [("0", value), ("1", "ok")]
            outcomes[value] = "read"
    refused = {value for value, outcome in outcomes.items() if outcome == "refused"}
    plain = {value for value in HOODIE_NAMES if "/" not in value}
    named = {value for value in plain if value == ".hoodie" or value.startswith(".hoodie_partition_metadata")}
    assert refused & plain == named
    assert refused - plain == (set() if encoded else {".hoodie/x", "x/.hoodie", "x/.hoodie_partition_metadata"})


def test_a_partition_named_like_a_metafile_is_read_where_another_writer_made_it(tmp_path):
    """Real Hudi writes and lists it at the top: a folder of that name makes no partition of the folder above it."""
    table = make(tmp_path / "t")
    table.upsert(rows("a", "b"), {"hoodie.metadata.enable": "false"})
    (tmp_path / "t" / "a").rename(tmp_path / "t" / ".hoodie_partition_metadata")
    assert rows_by_listing(table.path, ["id"]) == [("0",), ("1",)]


@pytest.mark.parametrize(
    ("path", "defect"),
    [
        ("__all_partitions__", "metadata table"),
        ("é" * 128, "256 bytes"),
        ("a/" * MAX_DEPTH + "b", "folders deep"),
        ("a\0b", "NUL"),
        ("\ud800", "surrogate"),
        ("a//b", "no folder"),
        ("..", "no folder"),
        ("a/.hoodie", "no folder"),
    ],
)
def test_paths_that_no_reader_would_follow_are_refused(path, defect):
    assert defect in (path_defect(path) or "")


@pytest.mark.parametrize("path", ["é" * 127, "a" * MAX_FOLDER_BYTES, "a/__all_partitions__", "x/.hoodie_y", "...", " "])
def test_other_paths_are_written(path):
    assert path_defect(path) is None


def test_a_path_leaves_room_for_files_below_it_and_for_their_markers(tmp_path):
    table = make(tmp_path / "t")
    room = longest_partition_path(Storage(tmp_path / "t"))
    folders = "/".join(["d" * 200] * (room // 201))
    fits = folders + "/" + "e" * (room - len(folders) - 1) if room - len(folders) > 1 else folders
    before = tree(table.path)
    with pytest.raises(KeyGenerationError, match="bytes"):
        table.upsert(rows(f"{fits}/ffff"))
    assert tree(table.path) == before
    table.upsert(rows(fits))
    assert rows_by_listing(table.path, COLUMNS) == [("0", fits)]


# -- partitions below partitions -----------------------------------------------------------------------------------

OPERATIONS = ("insert", "upsert", "bulk_insert", "insert_overwrite", "insert_overwrite_table")
NESTED = [("a", "a/b"), ("a/b/c", "a"), ("a/b", "a/b/c"), ("x", "a/b|a")]
SOME_NESTED = [
    *(("true", operation, "a", "a/b") for operation in OPERATIONS),
    *(("false", "upsert", first, then) for first, then in NESTED),
]
EVERY_NESTED = [(on, operation, *pair) for on in ("false", "true") for operation in OPERATIONS for pair in NESTED]


@pytest.mark.parametrize(("metadata", "operation", "first", "then"), with_long_cases(SOME_NESTED, EVERY_NESTED))
def test_partitions_below_partitions_are_refused(tmp_path, metadata, operation, first, then):
    """A listing ends at the first partition on its way down: rows of `a/b` below `a` would be acknowledged and lost."""
    options = {"hoodie.metadata.enable": metadata}
    table = make(tmp_path / "t")
    table.insert(rows(first), options)
    before = tree(table.path)
    with pytest.raises(KeyGenerationError, match="lies below partition"):
        table.write(operation, rows("ok", *then.split("|")), options)
    assert tree(table.path) == before
    assert rows_by_listing(table.path, COLUMNS) == rows_by_metadata(table.path, COLUMNS) == [("0", first)]


@pytest.mark.parametrize("operation", OPERATIONS[:3])
def test_partitions_of_several_folders_beside_each_other_are_written(tmp_path, operation):
    table = make(tmp_path / "t")
    values = ["2026/01/05", "2026/01/06", "2027/01", "2028", "2026/010"]
    for number in (2, 4, 5):
        table.write(operation, rows(*values[:number]))
    found = {row[1] for row in rows_by_listing(table.path, COLUMNS)}
    assert found == {row[1] for row in rows_by_metadata(table.path, COLUMNS)} == set(values)


def test_a_dropped_partition_still_ends_listings(tmp_path):
    """The metadata table forgets it, its folder stays: what lies below would be found by one and not by the other."""
    table = make(tmp_path / "t")
    table.insert(rows("a", "b"))
    table.delete_partitions(["a"])
    with pytest.raises(KeyGenerationError, match="'a/c' lies below partition 'a'"):
        table.upsert(rows("a/c"))


@pytest.mark.parametrize("hive_style", [False, True])
def test_filters_find_all_that_the_default_partition_holds(tmp_path, hive_style):
    table = make(tmp_path / "t", hive_style_partitioning=hive_style)
    table.upsert(rows("__HIVE_DEFAULT_PARTITION__", "", None, "x"))

    def ids(row_filter: str) -> list[str]:
        return sorted(HudiTable.open(table.path).scan(row_filter=row_filter).to_arrow().column("id").to_pylist())

    assert ids("p = '__HIVE_DEFAULT_PARTITION__'") == ["0"]
    assert ids("p = ''") == ["1"]
    assert ids("p is null") == ["2"]
    assert ids("p <> 'x'") == ["0", "1"]
    assert ids("p > '_' and p < 'a'") == ["0"]


def test_a_key_of_a_megabyte_is_written_looked_up_and_read(tmp_path):
    table = make(tmp_path / "t")
    keys = ["k" * (1 << 20), "short"]
    for operation in ("insert", "upsert"):
        table.write(operation, pa.table({"id": keys, "p": ["x", "x"]}), {"hoodie.index.type": "BLOOM"})
    assert rows_by_listing(table.path, COLUMNS) == rows_by_metadata(table.path, COLUMNS) == [(key, "x") for key in keys]
