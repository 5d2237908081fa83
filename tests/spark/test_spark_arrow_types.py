"""Schemas between Spark and Arrow, by PySpark's functions with the signatures of each release."""

from __future__ import annotations

import ast
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.pandas import types as installed
from pyspark.sql.types import StructType

import hudi_hive
from hudi_hive.spark.bridge.arrow_types import from_arrow_schema, numbers_of_tasks, to_arrow_schema

SPARK = StructType.fromJson(
    {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "string", "nullable": True, "metadata": {}},
            {"name": "at", "type": "timestamp", "nullable": True, "metadata": {}},
            {"name": "wall", "type": "timestamp_ntz", "nullable": True, "metadata": {}},
        ],
    }
)
ARROW = pa.schema([("id", pa.string()), ("at", pa.timestamp("us", "UTC")), ("wall", pa.timestamp("us"))])


def to_arrow_of_4_1(
    schema: StructType,
    error_on_duplicated_field_names_in_struct: bool = False,
    timestamp_utc: bool = True,
    prefers_large_types: bool = False,
) -> pa.Schema:
    """As PySpark 4.0 and 4.1 declare it."""
    assert timestamp_utc and not prefers_large_types and not error_on_duplicated_field_names_in_struct
    kinds = {"string": pa.string(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us")}
    return pa.schema([(item.name, kinds[item.dataType.typeName()]) for item in schema])


def to_arrow_of_4_2(
    schema: StructType,
    *,
    error_on_duplicated_field_names_in_struct: bool = False,
    timezone: str | None = None,
    prefers_large_types: bool = False,
) -> pa.Schema:
    """As PySpark 4.2 and later declare it: a timestamp without a zone is an error."""
    assert timezone is not None and not prefers_large_types and not error_on_duplicated_field_names_in_struct
    kinds = {"string": pa.string(), "timestamp": pa.timestamp("us", timezone), "timestamp_ntz": pa.timestamp("us")}
    return pa.schema([(item.name, kinds[item.dataType.typeName()]) for item in schema])


def from_arrow_of_4_1(arrow_schema: pa.Schema, prefer_timestamp_ntz: bool = False) -> StructType:
    """As PySpark 4.0 and 4.1 declare it."""
    return installed.from_arrow_schema(arrow_schema, prefer_timestamp_ntz)


def from_arrow_of_4_2(arrow_schema: pa.Schema, prefer_timestamp_ntz: bool = True) -> StructType:
    """As PySpark 4.2 and later declare it."""
    return installed.from_arrow_schema(arrow_schema, prefer_timestamp_ntz)


@pytest.mark.parametrize("convert", [to_arrow_of_4_1, to_arrow_of_4_2, None])
def test_timestamps_are_in_utc(convert):
    assert to_arrow_schema(SPARK, convert) == ARROW


@pytest.mark.parametrize("convert", [from_arrow_of_4_1, from_arrow_of_4_2, None])
def test_timestamps_without_a_zone_stay_so(convert):
    assert [item.dataType.typeName() for item in from_arrow_schema(ARROW, convert)] == [
        item.dataType.typeName() for item in SPARK
    ]


def test_numbers_of_tasks_hash_to_their_own():
    """The hashes of 0 to 3 are Spark's: by themselves they would send three of four numbers to the last task."""
    hashes = {0: 933211791, 1: -559580957, 2: 1765031574, 3: -1823081949}
    assert [value % 4 for value in hashes.values()] == [3, 3, 2, 3]
    numbers = numbers_of_tasks(4)
    assert len(set(numbers)) == 4
    assert numbers[2:] == (2, 0)
    assert len(set(numbers_of_tasks(1024))) == 1024


def test_no_other_module_calls_what_changed_between_releases():
    """PySpark's conversions, and the shuffle that 4.0 lacks, are called in one place and by families of releases."""
    changed = {"to_arrow_schema", "from_arrow_schema", "to_arrow_type", "from_arrow_type", "repartitionById"}
    package = Path(hudi_hive.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.parts[-3:] == ("spark", "bridge", "arrow_types.py") or path.parts[-3:-1] == ("spark", "versions"):
            continue
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in changed):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyspark.sql.pandas"):
                assert not changed & {item.name for item in node.names}, path
            assert not (isinstance(node, ast.Attribute) and node.attr in changed), path
