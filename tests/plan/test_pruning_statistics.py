"""Statistics of columns and keys rule out files, and never one with a row that passes: made tables."""

from __future__ import annotations

import datetime as dt
import decimal
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.plan.model.scan_plan import PLAN_SCHEMA
from hudi_hive.plan.pruning import statistics
from hudi_hive.plan.pruning.keys import by_bloom_filters, required_record_keys
from hudi_hive.plan.pruning.statistics import by_column_stats, by_partition_stats, prunable_columns
from hudi_hive.predicate import parse_filter
from tests.plan.shared.pruning_helpers import COLUMNS, LONG, SCHEMA, TEXTS, filters, passing
from tests.support.running.long import long_case

EXAMPLES = [80, long_case(5000)]
"""Made tables."""
VALUES = {
    "i": st.integers(-3, 3),
    "f": st.sampled_from([-1.5, -0.0, 0.0, 2.0, float("nan"), float("inf")]),
    "s": st.sampled_from([*TEXTS, LONG]),
    "d": st.integers(-300, 300).map(lambda number: decimal.Decimal(number).scaleb(-2)),
    "b": st.booleans(),
    "t": st.dates(dt.date(2024, 1, 1), dt.date(2024, 1, 4)),
}
file_rows = st.lists(
    st.fixed_dictionaries({name: st.one_of(st.none(), values) for name, values in VALUES.items()}), max_size=6
)
file_shapes = st.fixed_dictionaries(
    {
        "rows": file_rows,
        "without": st.sets(st.sampled_from(COLUMNS), max_size=2),
        "is_log": st.booleans(),
        "several": st.booleans(),
    }
)
tables = st.lists(
    st.tuples(st.sampled_from(["p", "q"]), st.lists(file_shapes, min_size=1, max_size=3)), min_size=1, max_size=5
)


class MadeStatistics:
    """A metadata table of made files: bounds in the writers' order of values, not in the kernels'."""

    def __init__(self, files):
        self._files = files

    def column_ranges(self, columns, file_names=None, partitions=None):
        names = [file["name"] for file in self._files if file["name"] in file_names]
        return {column: self._ranges(column, "file_name", names, self._files_by("name")) for column in columns}

    def partition_ranges(self, columns, partitions):
        return {
            column: self._ranges(column, "partition", list(partitions), self._files_by("partition"))
            for column in columns
        }

    def _files_by(self, what):
        grouped = {}
        for file in self._files:
            grouped.setdefault(file[what], []).append(file)
        return grouped

    def _ranges(self, column, name_column, names, grouped):
        kind = SCHEMA.field(column).type
        lines = []
        for name in names:
            known = [file for file in grouped[name] if column not in file["without"]]
            if not known:
                continue
            rows = [row for file in known for row in file["rows"]]
            low, high, nulls, size = bounds(column, rows, known)
            lines.append(
                {name_column: name, "min": low, "max": high}
                | {"null_count": nulls, "value_count": len(rows), "total_uncompressed_size": size}
            )
        schema = [(name_column, pa.string()), ("min", kind), ("max", kind)]
        schema += [(name, pa.int64()) for name in ("null_count", "value_count", "total_uncompressed_size")]
        return pa.Table.from_pylist(lines, pa.schema(schema))


def bounds(column, rows, files):
    """Least and greatest value, nulls and bytes of the column, as the writers tell them of some files together."""
    lows, highs, nulls, size = [], [], 0, 0
    for file in files:
        for group in row_groups(file):
            values = [row.get(column) for row in group if row.get(column) is not None]
            size += sum(len(str(value)) for value in values) if not file["is_log"] else 0
            low, high, missing = of_group(column, values, len(group) - len(values), file["is_log"])
            lows += [low] if low is not None else []
            highs += [high] if high is not None else []
            nulls += missing
    by_bytes = any(file["is_log"] for file in files)
    order = java_order(column, by_bytes)
    return min(lows, key=order, default=None), max(highs, key=order, default=None), nulls, size


def row_groups(file):
    """Rows of a file as they lie in it: in row groups of two, a log file's all together."""
    rows = file["rows"]
    if file["is_log"] or not file.get("several"):
        return [rows]
    return [rows[start : start + 2] for start in range(0, len(rows), 2)]


def of_group(column, values, nulls, is_log):
    if not values:
        return None, None, nulls
    order = java_order(column, is_log)
    low, high = min(values, key=order), max(values, key=order)
    if not is_log and column == "s" and len(low.encode()) + len(high.encode()) >= 4_096:
        return None, None, nulls + len(values)  # no statistics at all: every value counts as a null
    if not is_log and column == "f" and any(value != value for value in values):
        return 0.0, 0.0, nulls
    return low, high, nulls


def java_order(column, by_bytes):
    """Order of a column's values in Java; decimals of log files go by the bytes of their unscaled value."""
    orders = {
        "s": lambda text: text.encode("utf-16-be"),
        "d": lambda number: int(number * 100).to_bytes(4, "big", signed=True) if by_bytes else number,
        "f": lambda number: (number != number, number),
    }
    return orders.get(column, lambda value: value)


def made(table):
    """Slices, files and the rows of each slice."""
    slices, files = [], []
    for number, (partition, members) in enumerate(table):
        names = [f"{number}-{place}" for place in range(len(members))]
        files += [{**member, "name": name, "partition": partition} for member, name in zip(members, names, strict=True)]
        base = next((n for n, m in zip(names, members, strict=True) if not m["is_log"]), None)
        logs = [name for name in names if name != base]
        for file in files[-len(members) :]:
            file["is_log"] = file["name"] in logs
        row = {"partition": partition, "file_id": f"g{number}", "base_file": base, "log_files": logs}
        slices.append({**dict.fromkeys(PLAN_SCHEMA.names), **row, "log_sizes": [0] * len(logs)})
    return pa.Table.from_pylist(slices, PLAN_SCHEMA), files


CLIENT = SimpleNamespace(
    schema=lambda: SCHEMA, config=SimpleNamespace(version=9, is_partitioned=True, populate_meta_fields=True)
)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_statistics_never_rule_out_a_passing_row(examples):
    settings(max_examples=examples, deadline=None)(check_statistics)()


@given(tables, filters)
def check_statistics(table, text):
    slices, files = made(table)
    row_filter = parse_filter(text, SCHEMA)
    metadata = MadeStatistics(files)
    columns = prunable_columns(CLIENT, row_filter, ())
    assert set(columns) == set(row_filter.columns)
    numbers = [str(number) for number in range(slices.num_rows)]
    holds = passing(row_filter, files, lambda file: file["name"].partition("-")[0], numbers)
    with patch.object(statistics, "_ONE_ROW_GROUP", 3):  # row groups here have two rows
        by_files = by_column_stats(CLIENT, metadata, slices, row_filter, columns)
    assert not np.any(holds & ~by_files)
    by_partitions = by_partition_stats(metadata, slices, row_filter, dict(columns))
    assert not np.any(holds & ~by_partitions)


def test_statistics_do_rule_out_files():
    def file(low, high, **more):
        return {"rows": [{"i": low, "s": "a"}, {"i": high, "s": "c"}], "without": set(), "is_log": False, **more}

    slices, files = made(
        [
            ("p", [file(0, 5)]),
            ("p", [file(10, 15), file(20, 25, is_log=True)]),
            ("q", [file(30, 35, without={"i"})]),
            ("q", [file(0, 5), file(30, 35, is_log=True, without={"i"})]),
        ]
    )
    metadata = MadeStatistics(files)

    def stays(text):
        return by_column_stats(CLIENT, metadata, slices, parse_filter(text, SCHEMA), ["i", "s"]).tolist()

    assert stays("i = 3") == [True, False, True, True]
    assert stays("i = 22") == [False, True, True, True]
    assert stays("i = 17") == [False, True, True, True]  # within the slice's range, in neither file
    assert stays("i IS NULL") == [False, False, True, True]
    assert stays("s > 'c'") == [False, False, False, False]
    by_partitions = by_partition_stats(metadata, slices, parse_filter("i > 100", SCHEMA), {"i": pa.int64()})
    assert by_partitions.tolist() == [False, False, True, True]  # not all files of q are counted in


def test_bounds_in_other_orders_are_not_used():
    def stays(text, members):
        slices, files = made([("p", members)])
        columns = parse_filter(text, SCHEMA).columns
        return by_column_stats(CLIENT, MadeStatistics(files), slices, parse_filter(text, SCHEMA), columns).tolist()

    def file(column, values, is_log=False):
        return {"rows": [{column: value} for value in values], "without": set(), "is_log": is_log}

    # By UTF-16 units the emoji comes before U+FFFF, by code points behind it.
    assert stays("s = '\U0001f600'", [file("s", ["\U0001f600", "\uffff"])]) == [True]
    assert stays("s = '\uffff'", [file("s", ["\U0001f600", "\uffff"])]) == [True]
    assert stays("s = 'b'", [file("s", ["a", "a"])]) == [False]
    # Decimals of log files are ordered by their bytes, in which negative ones come last.
    one = decimal.Decimal("1.00")
    assert stays("d = 0", [file("d", [-one, one], is_log=True)]) == [True]
    assert stays("d = 5", [file("d", [one, one]), file("d", [one, one], is_log=True)]) == [True]
    assert stays("d = 5", [file("d", [-one, one])]) == [False]
    assert stays("f = 5", [file("f", [1.0, float("nan")], is_log=True)]) == [True]
    assert stays("f = 5", [file("f", [1.0, 2.0], is_log=True)]) == [False]


def test_files_of_one_name_in_two_partitions_are_not_pruned_by_each_others_statistics():
    slices = pa.Table.from_pylist(
        [
            {**dict.fromkeys(PLAN_SCHEMA.names), "partition": p, "base_file": "same", "log_files": [], "log_sizes": []}
            for p in ("p", "q")
        ],
        PLAN_SCHEMA,
    )
    metadata = MadeStatistics(
        [{"name": "same", "partition": "p", "rows": [{"i": 1}], "without": set(), "is_log": False}]
    )
    assert by_column_stats(CLIENT, metadata, slices, parse_filter("i = 9", SCHEMA), ["i"]).all()


def test_columns_whose_statistics_are_not_trusted():
    schema = SCHEMA.append(pa.field("ts", pa.timestamp("us", "UTC"))).append(pa.field("raw", pa.binary()))
    schema = schema.append(pa.field("_hoodie_file_name", pa.string()))
    schema = schema.append(pa.field("st", pa.struct([("x", pa.int32())])))
    text = "i = 1 AND ts > TIMESTAMP '2024-01-01' AND _hoodie_file_name = 'x' AND st.x = 1 AND raw IS NULL AND s = 'a'"
    row_filter = parse_filter(text, schema)

    def of(version, path_columns=()):
        client = SimpleNamespace(schema=lambda: schema, config=SimpleNamespace(version=version))
        return tuple(prunable_columns(client, row_filter, path_columns))

    assert of(6) == of(8) == ("i", "st.x", "s")
    assert of(9) == ("i", "ts", "st.x", "s")
    assert of(9, ("s",)) == ("i", "ts", "st.x")


# -- keys --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_hoodie_record_key = 'x'", ("x",)),
        ("_hoodie_record_key IN ('x', 'y', NULL) AND i > 1", ("x", "y")),
        ("i = 5", ("5", "i:5")),
        ("i IN (5, 6)", ("5", "6", "i:5", "i:6")),
        ("i = 5 OR i = 6", None),
        ("i > 5", None),
        ("NOT (i = 5)", None),
        ("s = 'x'", None),
        ("i = 5.5", None),
    ],
)
def test_required_record_keys(text, expected):
    client = SimpleNamespace(
        config=SimpleNamespace(populate_meta_fields=True, record_keys=("i",), key_generator="SIMPLE")
    )
    keys = required_record_keys(client, parse_filter(text, SCHEMA))
    assert keys == expected or (expected is None and not keys)


def test_required_record_keys_of_other_tables():
    def keys(text, **config):
        config = {"populate_meta_fields": True, "record_keys": ("s",), "key_generator": None, **config}
        return required_record_keys(SimpleNamespace(config=SimpleNamespace(**config)), parse_filter(text, SCHEMA))

    assert keys("s = ''") == ("", "__empty__", "s:", "s:__empty__")
    assert keys("s = 'a'", record_keys=("s", "i")) is None
    assert keys("s = 'a'", populate_meta_fields=False) is None
    assert keys("s = 'a'", key_generator="USER_PROVIDED") is None
    assert keys("_hoodie_record_key = 'a'", key_generator="USER_PROVIDED") == ("a",)
    assert keys(f"_hoodie_record_key IN ({', '.join(repr(str(n)) for n in range(1001))})") is None
    assert keys("f = 1.0", record_keys=("f",)) is None


def test_bloom_filters_rule_out_files():
    import tests.formats.hfile.test_bloom as blooms

    texts = {"empty": blooms.simple(), "full": blooms.simple(data=b"\xff" * 125)}

    class Made:
        def bloom_filters(self, partition, file_names, index="bloom_filters"):
            lines = [
                {"file_name": n, "type": "SIMPLE", "filter": texts[n.split("-")[1]]}
                for n in file_names
                if n.split("-")[1] in texts
            ]
            return pa.Table.from_pylist(lines)

    def row(name, logs=()):
        line = {"partition": name[0], "base_file": name, "log_files": list(logs), "log_sizes": [0] * len(logs)}
        return {**dict.fromkeys(PLAN_SCHEMA.names), **line}

    lines = [row("p-empty"), row("p-full"), row("q-empty"), row("q-empty", ["log"]), row("p-none")]
    slices = pa.Table.from_pylist(lines, PLAN_SCHEMA)
    assert by_bloom_filters(Made(), slices, ("k", "ü")).tolist() == [False, True, False, True, True]
