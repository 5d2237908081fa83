"""Types of changes that are merged: values that the table would hold as others are refused, or are the same to Hive."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive.errors import MutationError, SchemaError
from hudi_hive.mutation.acid_table import AcidPartition, AcidReader
from hudi_hive.mutation.acid_write import merge
from tests.support.mutation.acid_rows import insert, snapshot, table_at

NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 5)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("date", pa.array([NOON])),
        ("date", pa.array([20240229], pa.int32())),
        ("timestamp", pa.array([1], pa.int64())),
        ("timestamp", pa.array([NOON], pa.timestamp("us", "UTC"))),
        ("timestamp", pa.array([1], pa.timestamp("ns"))),
        ("float", pa.array([0.1])),
        ("string", pa.array([7])),
        ("int", pa.array(["7"])),
        ("int", pa.array([2.0])),
        ("boolean", pa.array([2])),
        ("decimal(5,1)", pa.array([1.5])),
        ("struct<a:date>", pa.array([{"a": NOON}])),
    ],
)
def test_types_that_hold_other_values_are_refused(tmp_path: Path, kind: str, values: pa.Array) -> None:
    table = table_at(tmp_path, f"id:int v:{kind}", buckets=0)
    changes = pa.table([pa.array([1], pa.int32()), values], names=["id", "v"])
    with pytest.raises(SchemaError, match="column v is"):
        merge(AcidReader(table, snapshot(9)), changes, ["id"])


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("bigint", pa.array([1], pa.int8()), 1),
        ("double", pa.array([0.5], pa.float32()), 0.5),
        ("decimal(12,1)", pa.array([7], pa.int32()), 7),
        ("timestamp", pa.array([NOON], pa.timestamp("us")).cast(pa.timestamp("ns")), NOON),
        ("string", pa.array(["a"]).dictionary_encode(), "a"),
        ("string", pa.nulls(1), None),
    ],
)
def test_types_of_the_same_values_are_taken(tmp_path: Path, kind: str, values: pa.Array, expected: Any) -> None:
    table = table_at(tmp_path, f"id:int v:{kind}", buckets=0)
    changes = pa.table([pa.array([1], pa.int32()), values], names=["id", "v"])
    assert merge(AcidReader(table, snapshot(9)), changes, ["id"]).records["v"].to_pylist() == [expected]


def test_padding_makes_no_other_key(tmp_path: Path) -> None:
    table = table_at(tmp_path, "k:char(4) v:int", buckets=0)
    names = ["k", "v"]
    insert(table, 1, 0, pa.table([["ab  ", "cd", "e"], pa.array([1, 2, 3], pa.int32())], names=names))
    changes = pa.table([["ab", "cd ", "new"], pa.array([10, 20, 30], pa.int32())], names=names)
    result = merge(AcidReader(table, snapshot(9)), changes, ["k"])
    assert (result.updated, result.inserted) == (2, 1)
    assert sorted(result.records["k"].to_pylist()) == ["ab", "cd", "new"]


@pytest.mark.parametrize("value", ["many", "01", "1.0", ""])
def test_partitions_that_are_no_number_are_refused_by_name(tmp_path: Path, value: str) -> None:
    table = table_at(tmp_path, keys="p:int")
    partitions = [AcidPartition((value,), f"{tmp_path}/p={value}")]
    changes = pa.table([pa.array([1], pa.int32()), ["a"], pa.array([1])], names=["id", "name", "p"])
    with pytest.raises(MutationError, match=f"'{value}' of p is not how Hive writes"):
        merge(AcidReader(table, snapshot(9), partitions=partitions), changes, ["id"])


def test_partitions_of_char_are_padded(tmp_path: Path) -> None:
    """As Hive writes their names; to Hive ``ab`` is the same value, and another folder."""
    table = table_at(tmp_path, keys="p:char(4)", buckets=0)
    rows = pa.table([pa.array([1], pa.int32()), ["a"]], names=["id", "name"])
    insert(table, 1, 0, rows, partition="p=ab  ")
    for text in ("ab", "ab ", "ab  "):
        changes = rows.append_column("p", pa.array([text]))
        result = merge(AcidReader(table, snapshot(9)), changes, ["id", "p"])
        assert (result.updated, result.inserted) == (1, 0)
        assert result.records["p"].to_pylist() == ["ab  "]
    partitions = [AcidPartition(("ab",), f"{tmp_path}/p=ab")]
    with pytest.raises(MutationError, match="'ab' of p is not how Hive writes"):
        merge(AcidReader(table, snapshot(9), partitions=partitions), changes, ["id", "p"])
