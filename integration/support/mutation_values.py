"""Tables with columns of all types, and rows with the values at which types differ from each other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from hudi_hive.formats.orc import parse_hive_type

PRIMITIVES: Mapping[str, tuple[str, Sequence[Any]]] = {
    "c_boolean": ("boolean", (True, False)),
    "c_tinyint": ("tinyint", (-128, 0, 127)),
    "c_smallint": ("smallint", (-32768, 255, 32767)),
    "c_int": ("int", (-(2**31), -1, 2**31 - 1)),
    "c_bigint": ("bigint", (-(2**63), 2**32, 2**63 - 1)),
    "c_float": ("float", (0.1, -0.0, float("nan"), float("inf"), 1e-45, -3.4e38)),
    "c_double": ("double", (0.1, -0.0, float("nan"), float("-inf"), 5e-324, 1.7e308)),
    "c_string": ("string", ("", "a", "ünï", "\U0001f600", "line\nline", 'quo"te\\', "zero\0", "x" * 5000)),
    "c_varchar": ("varchar(4)", ("", "abcd", "äöüß", "ab ")),
    "c_char": ("char(4)", ("", "a", "abcd", "öö")),
    "c_binary": ("binary", (b"", b"\x00\xff", bytes(range(256)))),
    "c_date": ("date", (date(1, 1, 1), date(1500, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31))),
    "c_timestamp": (
        "timestamp",
        (
            datetime(1677, 9, 22, 1, 2, 3),
            datetime(1969, 12, 31, 23, 59, 59),
            datetime(1970, 1, 1, 0, 0, 0, 1),
            datetime(2024, 3, 10, 2, 30, 0, 120000),  # there is no such time in New York
            datetime(2262, 4, 11, 0, 0, 0, 999999),
        ),
    ),
    "c_decimal": ("decimal(10,2)", (Decimal("0"), Decimal("1.50"), Decimal("-99999999.99"), Decimal("100"))),
    "c_large": ("decimal(38,10)", (Decimal("9" * 28 + "." + "9" * 10), Decimal("-0.0000000001"))),
}
"""A column of each primitive type, and values of it."""

FAR_TIMES: Sequence[datetime] = (
    datetime(1, 1, 1),
    datetime(1500, 2, 28, 1, 2, 3),
    datetime(1582, 10, 10),  # a day that the Julian calendar does not have
    datetime(9999, 12, 31, 23, 59, 59, 999999),
)
"""Times that Hive reads, and Arrow's reader of ORC does not."""

NESTED: Mapping[str, tuple[str, Sequence[Any]]] = {
    "c_array": ("array<int>", ([], [1, None, -3], [7])),
    "c_map": ("map<string,bigint>", ([], [("a", 1), ("b", None)], [("ü", 2**40)])),
    "c_struct": (
        "struct<x:date,y:decimal(6,3),z:char(3)>",
        ({"x": None, "y": None, "z": None}, {"x": date(2020, 1, 2), "y": Decimal("-1.25"), "z": "ab"}),
    ),
    "c_deep": (
        "array<struct<n:tinyint,m:map<int,array<string>>>>",
        ([], [None, {"n": 5, "m": [(1, ["", None, "z"]), (2, [])]}], [{"n": None, "m": None}]),
    ),
}
"""A column of each nested type, and values of it."""

UNHASHED: Mapping[int, frozenset[str]] = {1: frozenset({"binary", "timestamp"}), 2: frozenset({"binary"})}
"""Primitive types that tables cannot be bucketed by, by bucketing version."""


def columns() -> list[tuple[str, str]]:
    """Names and types of a table of all types; its first column is a number."""
    return [("id", "int"), *((name, kind) for name, (kind, _) in {**PRIMITIVES, **NESTED}.items())]


def bucket_columns(version: int) -> list[str]:
    """All columns that a table of a bucketing version can be bucketed by."""
    return ["id", *(name for name, (kind, _) in PRIMITIVES.items() if kind not in UNHASHED[version])]


def rows(count: int) -> pa.Table:
    """Rows of a table of all types: each value occurs, in ever other company; the last row is null but for its id."""
    made: dict[str, pa.Array] = {"id": pa.array(range(count), pa.int32())}
    for place, (name, (kind, values)) in enumerate({**PRIMITIVES, **NESTED}.items()):
        some = itertools.islice(itertools.cycle([*values, None]), place, place + count - 1)
        made[name] = pa.array([*some, None], parse_hive_type(kind).arrow)
    return pa.table(made)
