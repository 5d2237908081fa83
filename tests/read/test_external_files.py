"""Tables whose files Hudi did not write: rows are those that Hudi reads, by statistics too, and nothing is written."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CorruptInstantError, UnsupportedTableError
from hudi_hive.input_format import HoodieROTablePathFilter
from tests.support.fixture_tables import DATA

FOLDER = DATA / "external"
ANSWERS = json.loads((FOLDER / "answers.json").read_text("utf-8"))
KEYED = {"hoodie.datasource.write.recordkey.field": "id"}


def opened(name: str, folder: Path) -> HudiTable:
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as file:
        file.extractall(folder)
    return HudiTable.open(folder / name)


def rows(table: pa.Table) -> list[list[object]]:
    names = [name for name in ("id", "name", "amount", "region") if name in table.column_names]
    return sorted((list(row.values()) for row in table.select(names).to_pylist()), key=str)


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_rows_are_those_that_hudi_reads(name: str, tmp_path: Path) -> None:
    table, answers = opened(name, tmp_path), ANSWERS[name]
    assert rows(table.scan().to_arrow()) == answers["snapshot"]
    for moment, due in answers["as_of"].items():
        assert rows(table.scan(as_of=moment).to_arrow()) == due
    scan = table.scan("id > 10000000004", selected_fields=["id"])
    assert rows(scan.to_arrow()) == answers["filter"]
    if table.version == 6:  # with statistics, by the files' own names
        assert len(scan.plan().slices) == 1
    report = table.metadata.validate()
    assert report.is_valid and report.files == 4


def test_a_file_that_is_gone_or_cut_is_a_difference(tmp_path: Path) -> None:
    table = opened("v6_hive_style", tmp_path)
    path = tmp_path / "v6_hive_style" / "region=APAC" / "00000-5-dd44-00001.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    assert table.metadata.validate().differences.column("listed").to_pylist() == [path.stat().st_size]


@pytest.mark.parametrize("name", ["v6_hive_style", "v6_flat"])
def test_folders_are_not_listed_in_place_of_the_metadata_table(name: str, tmp_path: Path) -> None:
    table = opened(name, tmp_path)
    for option in ("hoodie.metadata.enable", "hoodie.metadata.validate"):
        value = {"hoodie.metadata.enable": "false", "hoodie.metadata.validate": "true"}[option]
        with pytest.raises(UnsupportedTableError, match="metadata table alone can list") as raised:
            table.scan(options={option: value}).to_arrow()
        assert raised.value.instant == "20240103000000003"


@pytest.mark.parametrize("name", ["v6_hive_style", "v9_hive_style"])
def test_nothing_is_written(name: str, tmp_path: Path) -> None:
    table = opened(name, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    some = table.scan().to_arrow().slice(0, 1)
    changes: list[Callable[[], object]] = [
        lambda: table.upsert(some, KEYED),
        table.compact,
        table.clean,
        table.archive,
        lambda: table.rollback("20240103000000003"),
        table.savepoint,
        table.metadata.delete,
        lambda: table.update_schema().add_column("more", "int").commit(),
    ]
    for change in changes:
        with pytest.raises(UnsupportedTableError, match="are read, and not changed"):
            change()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_path_that_leads_out_of_its_partition_is_refused(tmp_path: Path) -> None:
    opened("v6_flat", tmp_path)
    commit = next((tmp_path / "v6_flat" / ".hoodie").glob("20240103000000003.replacecommit"))
    commit.write_text(
        commit.read_text().replace("00000-5-dd44-00001.parquet_2024", "../00000-5-dd44-00001.parquet_2024")
    )
    with pytest.raises(CorruptInstantError, match="no file of this commit"):
        HudiTable.open(tmp_path / "v6_flat").scan().to_arrow()


def test_a_filter_of_paths_leaves_the_files_of_the_snapshot(tmp_path: Path) -> None:
    for name in ("v6_partitioned", "v6_flat"):
        table = opened(name, tmp_path)
        shown = {str(tmp_path / name / path) for path in table.scan().plan().slices.column("path").to_pylist()}
        assert set(HoodieROTablePathFilter().files(str(tmp_path / name))) == shown
    assert HoodieROTablePathFilter().accept(str(tmp_path / "v6_partitioned" / "EU"))


def test_files_are_opened_below_their_partition(tmp_path: Path) -> None:
    table = opened("v6_partitioned", tmp_path)
    slices = table.scan().plan().slices
    for path, size in zip(slices.column("path").to_pylist(), slices.column("base_size").to_pylist(), strict=True):
        stored = tmp_path / "v6_partitioned" / path
        assert stored.stat().st_size == size
        assert pq.ParquetFile(stored).metadata.num_rows
