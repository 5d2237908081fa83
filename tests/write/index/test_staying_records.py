"""Rows of a global index whose records stay where they are say the partition that they are in, as its path does."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.sql import SqlEngine
from tests.support.running.long import VERSION_CASES

KINDS = {
    "GLOBAL_SIMPLE": {"hoodie.simple.index.update.partition.path": "false"},
    "GLOBAL_BLOOM": {"hoodie.bloom.index.update.partition.path": "false"},
    "RECORD_INDEX": {"hoodie.metadata.record.index.enable": "true"},
}
"""Kinds of indexes, with options by which records stay."""

DAY, OTHER_DAY = datetime.date(2024, 5, 1), datetime.date(1969, 12, 31)
COLUMNS: dict[str, tuple[pa.DataType, Any, Any]] = {
    "text": (pa.string(), "a b/c", "é=%"),
    "number": (pa.int32(), -5, 17),
    "flag": (pa.bool_(), True, False),
    "day": (pa.date32(), DAY, OTHER_DAY),
    "nothing": (pa.string(), None, "x"),
}
"""Types of partition columns, with the value of the partition, and the one that the row names."""


def rows(names: list[str], records: list[tuple[str, str, int]]) -> pa.Table:
    """Rows ``(id, partition, n)``: in the first partition (``here``), or in the other one."""
    columns = [pa.array([record[0] for record in records], pa.string())]
    for name in names:
        kind, here, other = COLUMNS[name]
        columns.append(pa.array([here if record[1] == "here" else other for record in records], kind))
    columns.append(pa.array([record[2] for record in records], pa.int64()))
    return pa.table(columns, names=["id", *names, "n"])


def written(path, names: list[str], index: str, **fields: Any) -> HudiTable:
    table = HudiTable.create(
        path, name="t", record_keys=["id"], partition_fields=names, url_encode_partitioning=True, **fields
    )
    options = {"hoodie.index.type": index, **KINDS[index]}
    table.upsert(rows(names, [("a", "here", 1), ("b", "other", 1)]), options)
    table.upsert(rows(names, [("a", "other", 2), ("c", "other", 2)]), options)
    return table


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("index", KINDS)
@pytest.mark.parametrize("version", VERSION_CASES)
def test_filters_find_records_that_stayed(version, index, kind, tmp_path):
    """Real Hudi 1.0.2 shows its own rows so: the path's value, by which it filters too."""
    table = written(tmp_path, ["number"], index, version=version, table_type=kind)
    engine = SqlEngine(tables={"t": str(tmp_path)})
    right = {("a", -5, 2), ("b", 17, 1), ("c", 17, 2)}

    def seen(condition: str | None) -> set[tuple[Any, ...]]:
        scanned = table.scan(row_filter=condition, selected_fields=["id", "number", "n"]).to_arrow()
        sql = f"SELECT id, number, n FROM t WHERE {condition or 'true'}"
        for _ in range(2):
            assert sorted(engine.query(sql).read_all().to_pylist(), key=str) == sorted(scanned.to_pylist(), key=str)
        return {tuple(row.values()) for row in scanned.to_pylist()}

    assert seen(None) == right
    assert seen("number = -5") == {row for row in right if row[1] == -5}
    assert seen("number = 17") == {row for row in right if row[1] == 17}


@pytest.mark.parametrize("hive_style", [False, True])
@pytest.mark.parametrize("names", [[name] for name in COLUMNS] + [["text", "number"], ["day", "nothing"]])
def test_values_are_those_of_the_path(names, hive_style, tmp_path):
    table = written(tmp_path, names, "GLOBAL_SIMPLE", hive_style_partitioning=hive_style)
    here, other = ([COLUMNS[name][1] for name in names], [COLUMNS[name][2] for name in names])
    seen = {
        row.pop("id"): list(row.values()) for row in table.scan(selected_fields=["id", *names]).to_arrow().to_pylist()
    }
    assert seen == {"a": here, "b": other, "c": other}


def test_formatted_values_stay(tmp_path):
    """A path of a timestamp key generator does not tell the column's value, and no filter goes by it."""
    properties = {
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy",
    }
    table = HudiTable.create(
        tmp_path,
        name="t",
        record_keys=["id"],
        partition_fields=["at"],
        key_generator="TIMESTAMP",
        properties=properties,
    )
    options = {"hoodie.index.type": "GLOBAL_SIMPLE", **KINDS["GLOBAL_SIMPLE"]}
    year = 365 * 86_400_000
    for at in (0, 3 * year):
        table.upsert(pa.table({"id": ["a"], "at": [at]}), options)
    [row] = table.scan(selected_fields=["_hoodie_partition_path", "at"]).to_arrow().to_pylist()
    assert row == {"_hoodie_partition_path": "1970", "at": 3 * year}
