"""Records that come one by one: Python's values become the table's, or are refused by name."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hudi_hive.errors import MutationError, RecordIdentifierError, SchemaError
from hudi_hive.formats.orc import DELETE, INSERT
from hudi_hive.mutation.acid_table.row_ids import ROW_ID
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator, RowId
from hudi_hive.mutation.acid_write.records import column_of, to_table
from tests.support.mutation.acid_rows import table_at

NOON = datetime.datetime(2024, 2, 29, 12, 30)
DAY = datetime.date(2024, 2, 29)
EAST = datetime.timezone(datetime.timedelta(hours=5))


def _values(kind: str, values: Sequence[Any]) -> list[Any]:
    table = table_at("/t", f"v:{kind}", buckets=0)
    found: list[Any] = to_table(table, [(INSERT, {"V": value}) for value in values])["v"].to_pylist()
    return found


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 1.5),
        ("int", 2.0),
        ("int", Decimal("1.5")),
        ("int", np.float32(1.5)),
        ("int", True),
        ("int", "1"),
        ("tinyint", 128),
        ("date", NOON),
        ("date", 5),
        ("date", np.datetime64("2024-02-29T12")),
        ("date", "2024-02-29"),
        ("timestamp", 5),
        ("timestamp", NOON.replace(tzinfo=EAST)),
        ("timestamp", pd.Timestamp("2024-02-29 00:00:00.000000123")),
        ("timestamp", np.datetime64("2024-02-29T00:00:00.000000123")),
        ("float", 1e300),
        ("float", -1e300),
        ("double", True),
        ("double", 10**400),
        ("decimal(5,1)", Decimal("1.25")),
        ("decimal(5,1)", 1.5),
        ("string", 5),
        ("boolean", 1),
        ("struct<a:int>", {"a": 1, "b": 2}),
        ("struct<a:int>", {"a": 1.5}),
        ("struct<a:int>", [("a", 1)]),
        ("array<int>", [1, 1.5]),
        ("array<int>", b"ab"),
        ("array<date>", [[NOON]]),
        ("array<int>", 5),
        ("map<string,int>", [("a", 1.5)]),
        ("map<string,int>", {"a": 1.5}),
        ("map<string,int>", [5]),
    ],
)
def test_values_that_would_become_others_are_refused(kind: str, value: object) -> None:
    with pytest.raises(SchemaError, match="does not fit its column v"):
        _values(kind, [None, value])


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("int", [1, np.int64(2), None], [1, 2, None]),
        ("double", [1, 0.5, np.float32(0.5)], [1.0, 0.5, 0.5]),
        ("float", [0.5, 3e38, -math.inf, None], [0.5, 3.0000000054977558e38, -math.inf, None]),
        ("date", [DAY, None], [DAY, None]),
        ("timestamp", [NOON, pd.Timestamp(NOON)], [NOON] * 2),
        ("decimal(5,1)", [1, Decimal("1.5")], [Decimal("1.0"), Decimal("1.5")]),
        ("struct<a:int,b:date>", [{"b": DAY}, None], [{"a": None, "b": DAY}, None]),
        ("struct<a:int,b:date>", [(1, None)], [{"a": 1, "b": None}]),
        ("array<int>", [[1, None], (2,), np.array([3])], [[1, None], [2], [3]]),
        ("map<string,int>", [[("a", 1)], [("b", None)]], [[("a", 1)], [("b", None)]]),
        ("map<string,int>", [{"a": 1}], [[("a", 1)]]),
    ],
)
def test_values_of_a_column(kind: str, values: list[object], expected: list[object]) -> None:
    assert _values(kind, values) == expected


@pytest.mark.parametrize(
    ("record", "what"),
    [
        ([1, "a"], "is a list"),
        ({1: 1}, "is a dict"),
        ({"id": 1}, "lacks name"),
        ({"id": 1, "name": "a", "more": 2}, "unknown more"),
        ({"id": 1, "ID": 2, "name": "a"}, "differ only in case"),
    ],
)
def test_records_that_are_none_of_the_table(record: Any, what: str) -> None:
    with pytest.raises(SchemaError, match=what):
        to_table(table_at("/t"), [(INSERT, record)])


@pytest.mark.parametrize(
    "value", [5, (1, 2), "abc", ("a", 1, 2), {"rowid": 1}, {"writeid": "x", "bucketid": 1, "rowid": 2}]
)
def test_what_is_no_identifier(value: object) -> None:
    with pytest.raises(RecordIdentifierError):
        to_table(table_at("/t"), [(DELETE, {ROW_ID: value})])


def test_row_identifiers_are_taken_in_three_forms() -> None:
    given = [RowId(1, 2, 3), [1, 2, 3], {"writeId": 1, "bucketId": 2, "rowId": 3}]
    found = to_table(table_at("/t"), [(DELETE, {"row__id": value, "id": "anything"}) for value in given])
    assert found[ROW_ID].to_pylist() == [{"writeid": 1, "bucketid": 2, "rowid": 3}] * 3
    assert found["id"].null_count == 3


def test_a_coordinator_refuses_them_and_nothing_counts(tmp_path: Path) -> None:
    coordinator = MutatorCoordinator(table_at(tmp_path).in_transaction(1, 1))
    coordinator.insert((), {"id": 1.5, "name": "a"})
    with pytest.raises(SchemaError, match=r"1\.5"):
        coordinator.close()
    with pytest.raises(MutationError, match="has failed"):
        coordinator.close()


@pytest.mark.parametrize(
    ("kind", "value", "same"),
    [
        (pa.timestamp("ms"), NOON.replace(microsecond=1000), True),
        (pa.timestamp("ms"), NOON.replace(microsecond=1001), False),
        (pa.timestamp("s"), NOON.replace(microsecond=1), False),
        (pa.timestamp("us", "UTC"), NOON.replace(tzinfo=EAST), True),
        (pa.timestamp("us"), NOON.replace(tzinfo=EAST), False),
        (pa.timestamp("ns"), pd.Timestamp("2024-02-29 00:00:00.000000123"), True),
        (pa.large_list(pa.int32()), [1.5], False),
        (pa.time32("ms"), datetime.time(1, 2, 3, 4000), True),
        (pa.time32("ms"), datetime.time(1, 2, 3, 4567), False),
        (pa.time64("us"), datetime.time(1, 2, 3, 4567), True),
        (pa.time64("us"), datetime.time(1, tzinfo=EAST), False),
        (pa.time64("us"), 5.7, False),
    ],
)
def test_types_that_other_tables_have(kind: pa.DataType, value: object, same: bool) -> None:
    field = pa.field("v", kind)
    if same:
        assert column_of([value, None], field, "t")[0].as_py() == value
    else:
        with pytest.raises(SchemaError, match="does not fit its column v"):
            column_of([value], field, "t")
