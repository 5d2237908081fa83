"""Rows of a global index whose records stay where they are say the partition that they are in, as its path does."""

from __future__ import annotations

import datetime
import json
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


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("index", KINDS)
def test_late_rows_lose_by_the_partition_that_they_name(index, kind, tmp_path):
    """Where the partition column orders records, a row is as late as it says, not as the path of its record."""
    table = HudiTable.create(
        tmp_path, name="t", record_keys=["id"], partition_fields=["dt"], ordering_fields=["dt"], table_type=kind
    )
    options = {"hoodie.index.type": index, **KINDS[index]}
    for number, day in enumerate(["2024-05-01", "2024-01-01", "2024-07-01", "2024-06-01"]):
        table.upsert(pa.table({"id": ["a"], "dt": [day], "n": [number]}), options)
    [row] = table.scan(selected_fields=["dt", "n"]).to_arrow().to_pylist()
    assert row == {"dt": "2024-07-01", "n": 2}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_deletes_by_a_mark_in_the_partition_column(kind, tmp_path):
    names = {"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "D"}
    properties = names | {f"hoodie.record.merge.property.{name}": value for name, value in names.items()}
    table = HudiTable.create(
        tmp_path, name="t", record_keys=["id"], partition_fields=["op"], table_type=kind, version=8
    )
    file = tmp_path / ".hoodie/hoodie.properties"
    file.write_text(file.read_text() + "".join(f"{name}={value}\n" for name, value in properties.items()))
    table = HudiTable.open(tmp_path)
    options = {"hoodie.index.type": "RECORD_INDEX", **KINDS["RECORD_INDEX"]}
    table.upsert(pa.table({"id": ["a", "b"], "op": ["I", "I"], "n": [1, 1]}), options)
    table.upsert(pa.table({"id": ["a"], "op": ["D"], "n": [2]}), options)
    assert table.scan(selected_fields=["id", "n"]).to_arrow().to_pylist() == [{"id": "b", "n": 1}]


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_columns_without_null_keep_the_value_that_a_row_names(kind, tmp_path):
    """The default partition tells none."""
    fields = [{"name": "id", "type": "string"}, {"name": "dt", "type": "string"}, {"name": "n", "type": "long"}]
    schema = json.dumps({"type": "record", "name": "t_record", "fields": fields})
    HudiTable.create(tmp_path, name="t", record_keys=["id"], partition_fields=["dt"], table_type=kind)
    file = tmp_path / ".hoodie/hoodie.properties"
    escaped = schema.replace(":", "\\:")
    file.write_text(file.read_text() + f"hoodie.table.create.schema={escaped}\n")
    table = HudiTable.open(tmp_path)
    options = {"hoodie.index.type": "RECORD_INDEX", **KINDS["RECORD_INDEX"]}
    for day, number in (("", 1), ("y", 2)):
        table.upsert(pa.table({"id": ["a"], "dt": [day], "n": [number]}), options)
    assert table.scan(selected_fields=["dt", "n"]).to_arrow().to_pylist() == [{"dt": "y", "n": 2}]
