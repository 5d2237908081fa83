"""Upserts and deletes of tables that we write ourselves, with each index: rows end where they belong, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import UnsupportedTableError
from tests.support.running.long import VERSION_CASES

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
GLOBAL = ("GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX")
KINDS = ("SIMPLE", "BLOOM", "BUCKET", *GLOBAL)
Place = dict[tuple[int, str], str]


def rows(ids: range | list[int], partition: str | None, value: str, ts: int) -> pa.Table:
    """Rows of a partition, or of ``a`` and ``b`` by turns."""
    partitions = [partition or "ba"[i % 2] for i in ids]
    columns: dict[str, Any] = {"id": list(ids), "p": partitions, "v": [value] * len(ids), "ts": [ts] * len(ids)}
    return pa.table(
        columns, pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.string()), ("ts", pa.int64())])
    )


def make(tmp_path: Path, table_type: str, version: int, **settings: Any) -> HudiTable:
    settings = {"ordering_fields": ["ts"], **settings}
    return HudiTable.create(
        tmp_path / "t",
        name="t",
        table_type=table_type,
        version=version,
        record_keys=["id"],
        partition_fields=["p"],
        **settings,
    )


def options_of(kind: str, **more: str) -> dict[str, str]:
    return {
        "hoodie.index.type": kind,
        "hoodie.metadata.enable": "false",
        "hoodie.bucket.index.num.buckets": "4",
        **more,
    }


def held(table: HudiTable) -> list[tuple[int, str, str]]:
    """Ids, partition paths and values, sorted: a record that is there twice is seen twice."""
    found = HudiTable.open(table.path).scan(selected_fields=["id", "_hoodie_partition_path", "v"]).to_arrow()
    return sorted(tuple(row.values()) for row in found.to_pylist())


def buckets_of(path: Any) -> dict[str, list[str]]:
    """Partition -> ids of its file groups."""
    groups: dict[str, list[str]] = {}
    for part in HudiTable.open(path).scan().plan().slices.to_pylist():
        groups.setdefault(part["partition"], []).append(part["file_id"])
    return groups


@pytest.mark.parametrize(("table_type", "version"), [(COW, 6), (MOR, 6), (COW, 8), (MOR, 8), (MOR, 9)])
def test_overwritten_buckets_get_new_file_groups(table_type: str, version: int, tmp_path: Path) -> None:
    table, options = make(tmp_path, table_type, version), options_of("BUCKET")
    table.upsert(rows(range(40), None, "old", 1), options)
    before = buckets_of(table.path)
    HudiTable.open(table.path).insert_overwrite(rows(range(100, 120), "a", "new", 2), options)
    model = {(i, "b"): "old" for i in range(0, 40, 2)} | {(i, "a"): "new" for i in range(100, 120)}
    assert held(table) == sorted((*place, value) for place, value in model.items())
    HudiTable.open(table.path).upsert(rows(range(110, 130), "a", "newer", 3), options)
    model |= {(i, "a"): "newer" for i in range(110, 130)}
    assert held(table) == sorted((*place, value) for place, value in model.items())
    after = buckets_of(table.path)
    assert after["b"] == before["b"] and not set(after["a"]) & set(before["a"])
    assert sorted(name[:8] for name in after["a"]) == [f"{number:08d}" for number in range(4)]
    HudiTable.open(table.path).insert_overwrite_table(rows(range(3), "a", "last", 4), options)
    assert held(table) == [(i, "a", "last") for i in range(3)]


@pytest.mark.parametrize(("table_type", "version"), [(COW, 6), (MOR, 8)])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_found_where_they_are(kind: str, table_type: str, version: int, tmp_path: Path) -> None:
    table, options = make(tmp_path, table_type, version), options_of(kind)
    table.upsert(rows(range(40), None, "one", 1), options)
    table.upsert(rows(range(20, 60), None, "two", 2), options)
    table.upsert(rows(range(10), "c", "three", 3), options)
    table.delete(rows([1, 3, 30], None, "", 0).select(["id", "p"]), options)
    model: Place = {(i, "ba"[i % 2]): "two" if i >= 20 else "one" for i in range(60)}
    for i in range(10):
        if kind in ("GLOBAL_SIMPLE", "GLOBAL_BLOOM"):
            del model[i, "ba"[i % 2]]
        stays = kind == "RECORD_INDEX"  # which by default lets no record move
        model[i, "ba"[i % 2] if stays else "c"] = "three"
    for i in (1, 3, 30):
        gone = [place for place in model if place[0] == i and (kind in GLOBAL or place[1] == "ba"[i % 2])]
        for place in gone:
            del model[place]
    assert held(table) == sorted((i, partition, value) for (i, partition), value in model.items())


@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("kind", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def test_a_record_moves_back_and_forth_and_is_there_once(kind: str, table_type: str, tmp_path: Path) -> None:
    table, options = make(tmp_path, table_type, 8), options_of(kind)
    for number, partition in enumerate("abac"):
        table.upsert(rows([1, 2], partition, f"v{number}", number), options)
        assert held(table) == [(i, partition, f"v{number}") for i in (1, 2)]
    table.delete(rows([2], "zzz", "", 0).select(["id", "p"]), options)
    assert held(table) == [(1, "c", "v3")]
    table.upsert(rows([2], "b", "again", 9), options)
    assert held(table) == [(1, "c", "v3"), (2, "b", "again")]


@pytest.mark.parametrize("version", VERSION_CASES)
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_older_rows_move_nothing_by_event_time(table_type: str, version: int, tmp_path: Path) -> None:
    settings = {"merge_mode": "EVENT_TIME_ORDERING"}
    table, options = make(tmp_path, table_type, version, **settings), options_of("GLOBAL_SIMPLE")
    table.upsert(rows([1, 2, 3], "a", "new", 5), options)
    late = pa.concat_tables([rows([1], "b", "late", 4), rows([2], "b", "equal", 5), rows([3], "b", "newer", 6)])
    table.upsert(late, options)
    assert held(table) == [(1, "a", "new"), (2, "b", "equal"), (3, "b", "newer")]


def test_by_commit_time_any_row_moves_its_record(tmp_path: Path) -> None:
    table = make(tmp_path, MOR, 8, merge_mode="COMMIT_TIME_ORDERING")
    table.upsert(rows([1], "a", "new", 5), options_of("GLOBAL_BLOOM"))
    table.upsert(rows([1], "b", "late", 4), options_of("GLOBAL_BLOOM"))
    assert held(table) == [(1, "b", "late")]


def test_moves_of_records_in_tables_without_meta_columns_are_refused(tmp_path: Path) -> None:
    table, options = make(tmp_path, MOR, 8, populate_meta_fields=False), options_of("GLOBAL_SIMPLE")
    table.upsert(rows([1], "a", "new", 5), options)
    before = table.scan(selected_fields=["id", "p", "v"]).to_arrow()
    with pytest.raises(UnsupportedTableError, match="no meta columns"):
        table.upsert(rows([1], "b", "moved", 6), options)
    assert HudiTable.open(table.path).scan(selected_fields=["id", "p", "v"]).to_arrow().equals(before)


@pytest.mark.parametrize("kind", ["SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "INMEMORY"])
def test_rows_that_a_bucket_index_put_into_log_files_are_found(kind: str, tmp_path: Path) -> None:
    table = make(tmp_path, MOR, 8)
    table.upsert(rows(range(20), None, "one", 1), options_of("BUCKET"))
    table.upsert(rows(range(10, 30), None, "two", 2), options_of("BUCKET"))
    table.upsert(rows(range(30), None, "three", 3), options_of(kind))
    assert held(table) == [(i, "ba"[i % 2], "three") for i in range(30)]
