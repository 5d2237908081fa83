"""Tables of versions 0 to 5, by Hudi 0.5.3 to 0.13.1: rows are those that Hudi reads, and nothing is written."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidPropertiesError, UnsupportedTableError
from tests.support.fixture_tables import DATA, unzip_fixture

FOLDER = DATA / "old_versions"
ANSWERS = json.loads((FOLDER / "answers.json").read_text("utf-8"))
COLUMNS = ("id", "name", "v", "ts", "part")
BY_TYPE = ("bool", "date", "decimal", "double", "float", "int", "long", "smallint", "string", "timestamp")


def opened(name: str, folder: Path) -> HudiTable:
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as file:
        file.extractall(folder)
    return HudiTable.open(folder / name)


def rows(table: pa.Table, columns=COLUMNS) -> list[list[object]]:
    return sorted(([row[name] for name in columns] for row in table.select(columns).to_pylist()), key=repr)


@pytest.mark.parametrize("name", sorted(name for name in ANSWERS if "snapshot" in ANSWERS[name]))
def test_rows_of_queries(name: str, tmp_path: Path) -> None:
    table, answers = opened(name, tmp_path), ANSWERS[name]
    assert table.version == answers["version"]
    assert rows(table.scan().to_arrow()) == answers["snapshot"]
    if "read_optimized" in answers:
        assert rows(table.scan(query_type="read_optimized").to_arrow()) == answers["read_optimized"]
    for begin, due in answers["incremental"].items():
        assert rows(table.scan(begin=begin).to_arrow()) == due, begin


@pytest.mark.parametrize("kind", BY_TYPE)
def test_deletes_that_kryo_wrote_are_ordered_as_hudi_does(kind: str, tmp_path: Path) -> None:
    name = f"order_by_{kind}"
    assert rows(opened(name, tmp_path).scan().to_arrow(), ("id", "name")) == ANSWERS[name]["orders"]


def test_nothing_is_written(tmp_path: Path) -> None:
    for name in ("hudi_0.5.3_mor", "hudi_0.13.1_mor"):
        table = opened(name, tmp_path)
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        some = table.scan().to_arrow().select(COLUMNS).slice(0, 1)
        for change in (
            lambda table=table, some=some: table.upsert(some, {"hoodie.datasource.write.recordkey.field": "id"}),
            lambda table=table: table.compact(),
            lambda table=table: table.clean(),
            lambda table=table: table.savepoint(),
            lambda table=table: table.metadata.delete(),
            lambda table=table: table.update_schema().add_column("more", "int").commit(),
        ):
            with pytest.raises(UnsupportedTableError, match="are read, and not written") as raised:
                change()
            assert "upgrade it to version 6" in (raised.value.remedy or "")
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_name_alone_is_a_table_of_version_0(tmp_path: Path) -> None:
    table = opened("hudi_0.5.3_cow", tmp_path)
    due = rows(table.scan().to_arrow())
    properties = tmp_path / "hudi_0.5.3_cow" / ".hoodie" / "hoodie.properties"
    properties.write_text("hoodie.table.name=t\n")
    again = HudiTable.open(properties.parents[1])
    assert (again.version, again.type) == (0, "COPY_ON_WRITE")
    assert rows(again.scan().to_arrow()) == due


def test_a_version_that_was_lost_is_missed(tmp_path: Path) -> None:
    for name in ("v6_cow_nonpart", "v8_cow_nonpart"):
        path = unzip_fixture(name, tmp_path) / ".hoodie" / "hoodie.properties"
        lines = [line for line in path.read_text().splitlines(keepends=True) if "table.version" not in line]
        path.write_text("".join(lines))
        with pytest.raises(InvalidPropertiesError, match=r"hoodie\.table\.version"):
            HudiTable.open(path.parents[1])
