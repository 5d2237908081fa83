"""Data skipping never leaves out a file that holds a row passing the filter, and does leave out others."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import logging
import zipfile
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.cli import cli
from hudi_hive.errors import CorruptFileError, HudiHiveError
from hudi_hive.metadata import MetadataTable
from hudi_hive.plan.model.scan_plan import PLAN_SCHEMA
from hudi_hive.plan.pruning import SkipContext, prune, statistics
from hudi_hive.plan.pruning.keys import by_bloom_filters, required_record_keys
from hudi_hive.plan.pruning.statistics import by_column_stats, by_partition_stats, prunable_columns
from hudi_hive.predicate import parse_filter
from hudi_hive.table import BlockRange, scan_logs
from hudi_hive.table_api import HudiTable
from tests.support.fixture_tables import encode_rows, fixture_names, unzip_fixture
from tests.support.running.long import long_case, with_long_cases

SCHEMA = pa.schema(
    [
        ("_hoodie_record_key", pa.string()),
        ("i", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("d", pa.decimal128(6, 2)),
        ("b", pa.bool_()),
        ("t", pa.date32()),
    ]
)
EXAMPLES = [150, long_case(5000)]
"""Made tables."""
DATA = Path(__file__).parents[1] / "data" / "pruning"
COLUMNS = ("i", "f", "s", "d", "b", "t")

# -- made tables: any rows in any files, statistics as the writers make them ------------------------------------------

TEXTS = ["", "a", "b", "ab", "Z", "é", "\ue000x", "\uffff", "😀", "a😀"]
LONG = "l" * 2_100  # a row group with it for both bounds has no statistics
VALUES = {
    "i": st.integers(-3, 3),
    "f": st.sampled_from([-1.5, -0.0, 0.0, 2.0, float("nan"), float("inf")]),
    "s": st.sampled_from([*TEXTS, LONG]),
    "d": st.integers(-300, 300).map(lambda number: decimal.Decimal(number).scaleb(-2)),
    "b": st.booleans(),
    "t": st.dates(dt.date(2024, 1, 1), dt.date(2024, 1, 4)),
}
LITERALS = {
    "i": ["-2", "0", "1", "2.5"],
    "f": ["-1.5", "0", "1", "2"],
    "s": [f"'{text}'" for text in (*TEXTS, LONG)],
    "d": ["-1.00", "0.5", "2"],
    "b": ["TRUE", "FALSE"],
    "t": ["DATE '2024-01-02'", "DATE '2024-01-03'"],
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


@st.composite
def column_tests(draw):
    name = draw(st.sampled_from(COLUMNS))
    literals = st.sampled_from(LITERALS[name])
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return f"{name} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    if kind == 1:
        return f"{name} IN ({', '.join(draw(st.lists(literals, min_size=1, max_size=3)))})"
    if kind == 2 and name == "s":
        return f"s LIKE {draw(literals)[:-1]}%'"
    return f"{name} {draw(st.sampled_from(['=', '<>', '<', '<=', '>', '>=']))} {draw(literals)}"


filters = st.recursive(
    column_tests(),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda text: f"NOT ({text})"),
    ),
    max_leaves=4,
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


def passing(row_filter, files, owner_column, owners):
    """For each owner whether one of its rows passes; a file may well hold a column of which it has no statistics."""
    found = []
    for owner in owners:
        rows = [row for file in files if owner_column(file) == owner for row in file["rows"]]
        table = pa.Table.from_pylist(rows, SCHEMA)
        found.append(bool(pc.any(row_filter.evaluate(table)).as_py()) if rows else False)
    return np.array(found, np.bool_)


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
    by_partitions = by_partition_stats(metadata, slices, row_filter, columns)
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
    by_partitions = by_partition_stats(metadata, slices, parse_filter("i > 100", SCHEMA), ["i"])
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


def test_files_of_one_name_in_two_partitions_are_not_told_apart():
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

    assert of(6) == of(8) == ("i", "s")
    assert of(9) == ("i", "ts", "s")
    assert of(9, ("s",)) == ("i", "ts")


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
        def bloom_filters(self, partition, file_names):
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


# -- real tables -------------------------------------------------------------------------------------------------------

INDEXED = [
    name
    for name in fixture_names()
    if name.split("_", 1)[1]
    in ("cow_part_mdt", "cow_types", "cow_crash_mdt", "mor_part_rli", "mor_parquet_log_rollback", "mor_crash_mdt")
]
SOME = ("v6_cow_part_mdt", "v8_cow_types", "v8_mor_part_rli", "v9_mor_crash_mdt")
"""Tables of a short run."""


@pytest.mark.parametrize("name", with_long_cases(SOME, INDEXED))
def test_no_real_row_is_lost(name, thorough):
    """For each column and some of its values, the rows of a filtered scan wherever it leaves out files."""
    table = HudiTable.open(unzip_fixture(name))
    everything = table.scan().to_arrow()
    removed = 0
    for expression in expressions(everything, thorough=thorough):
        scan = table.scan(row_filter=expression)
        left_out = sum(s.before - s.after for s in scan.plan().steps if "statistics" in s.name)
        if left_out:
            passing = parse_filter(expression, everything.schema).evaluate(everything)
            assert scan.count() == everything.filter(passing).num_rows, expression
        removed += left_out
    assert removed or "column_stats" not in table.client.config.metadata_partitions


def expressions(rows, *, thorough):
    for column in rows.schema:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            continue
        values = pc.unique(rows.column(column.name).drop_null())
        values = values.take(pc.sort_indices(values)) if len(values) > 1 else values
        yield [(column.name, "is", None)]
        if len(values) and thorough:
            places = sorted({0, len(values) // 2, len(values) - 1})
            yield from ([(column.name, operator, values[place])] for place in places for operator in ("=", "<", ">"))
        elif len(values):
            yield [(column.name, "=", values[len(values) // 2])]
            yield [(column.name, ">", values[-2 if len(values) > 1 else -1])]


def row_groups_table(folder):
    with zipfile.ZipFile(DATA / "v9_cow_row_groups.zip") as file:
        file.extractall(folder)
    return folder / "v9_cow_row_groups"


def test_row_groups_without_statistics(tmp_path):
    """Files whose statistics do not tell of all their rows, in which the release's own data skipping loses some."""
    table = HudiTable.open(row_groups_table(tmp_path))
    queries = json.loads((DATA / "v9_cow_row_groups.expected.json").read_text())["queries"]
    for query in queries:
        scan = table.scan(row_filter=query["filter"].format(long="x" * 2_100), selected_fields=["id"])
        assert sorted(scan.to_arrow().column("id").to_pylist()) == query["keys"], query["filter"][:30]
    assert table.scan(row_filter="whole > 1196").plan().slices.num_rows == 0
    assert table.scan(row_filter="ts = 5").plan().slices.num_rows == 1


@pytest.mark.parametrize("name", ["v8_cow_types", "v9_cow_types"])
def test_the_past_is_not_judged_by_the_bounds_of_today(name):
    """Partition statistics tell of the newest files alone."""
    table = HudiTable.open(unzip_fixture(name))
    assert "partition_stats" in table.client.config.metadata_partitions
    as_of = table.timeline.write_instants()[0].requested
    everything = table.scan(as_of=as_of).to_arrow()
    for column in everything.schema:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            continue
        for value in list(pc.unique(everything.column(column.name).drop_null()))[:3]:
            expression = [(column.name, "=", value)]
            passing = parse_filter(expression, everything.schema).evaluate(everything)
            found = table.scan(row_filter=expression, as_of=as_of).count()
            assert found == everything.filter(passing).num_rows, (column.name, value)


@pytest.mark.parametrize("name", [n for n in fixture_names() if n.split("_", 1)[1] in ("cow_part_mdt", "mor_part_rli")])
def test_ranges_are_pruned_where_that_is_safe(name):
    table = HudiTable.open(unzip_fixture(name))
    query = {"begin": "earliest"}
    everything = table.scan(**query).to_arrow()
    removed = 0
    for key in everything.column("_hoodie_record_key").to_pylist()[::7]:
        scan = table.scan(row_filter=[("_hoodie_record_key", "=", key)], **query)
        assert scan.count() == pc.sum(pc.equal(everything.column("_hoodie_record_key"), key)).as_py()
        steps = {step.name.split(" that ")[0]: step for step in scan.plan().steps}
        assert "partition statistics" not in steps
        removed += sum(s.before - s.after for n, s in steps.items() if n in ("column statistics", "bloom filters"))
    assert removed or "mor" in name


@pytest.mark.parametrize("name", [name for name in fixture_names() if "cdc" in name])
def test_changes_are_pruned_by_time_and_operation(name):
    table = HudiTable.open(unzip_fixture(name))
    query = {"query_type": "cdc", "begin": "earliest"}
    everything = table.scan(**query).to_arrow()
    removed = 0
    times = pc.unique(everything.column("ts_ms")).to_pylist()
    for text in [f"ts_ms = '{time}'" for time in times] + [f"op = '{op}'" for op in "iud"] + ["before IS NULL"]:
        scan = table.scan(row_filter=text, **query)
        passing = parse_filter(text, everything.schema).evaluate(everything)
        assert scan.to_arrow().sort_by("after").equals(everything.filter(passing).sort_by("after")), text
        removed += sum(s.before - s.after for s in scan.plan().steps if s.name.startswith("changes"))
    assert removed


@pytest.mark.parametrize("name", [name for name in fixture_names() if "_mor_" in name])
def test_key_look_ups_find_what_the_merge_gives(name):
    """Keys go below the merge, to base rows and log records alike."""
    table = HudiTable.open(unzip_fixture(name))
    if not table.client.config.populate_meta_fields:
        pytest.skip("no keys to look for")
    try:
        everything = table.scan().to_arrow()
    except HudiHiveError:
        pytest.skip("not read")
    columns = [c.name for c in everything.schema if not pa.types.is_nested(c.type)]
    keys = pc.unique(everything.column("_hoodie_record_key")).to_pylist()
    for wanted in (keys[::9], keys[-1:], ["nobody"]):
        scan = table.scan(row_filter=[("_hoodie_record_key", "in", wanted)], selected_fields=columns)
        merge = scan.plan().merge
        assert merge is None or merge.keys is not None
        chosen = everything.filter(
            pc.is_in(everything.column("_hoodie_record_key"), value_set=pa.array(wanted, pa.string()))
        )
        order = [("_hoodie_record_key", "ascending"), ("_hoodie_commit_seqno", "ascending")]
        ours, expected = scan.to_arrow().sort_by(order), chosen.select(columns).sort_by(order)
        assert encode_rows(ours) == encode_rows(expected)


def test_only_wanted_records_of_a_log_are_decoded():
    table = HudiTable.open(unzip_fixture("v8_mor_part_rli"))
    plan = table.scan().plan()
    row = next(row for row in plan.slices.to_pylist() if row["log_files"])
    storage = table.client.storage
    args = (storage, row["partition"], row["log_files"])
    everything = scan_logs(*args, blocks=BlockRange(table.timeline))
    key = everything.data[0].batch.column("_hoodie_record_key")[0].as_py()
    some = scan_logs(*args, blocks=BlockRange(table.timeline), keys=pa.array([key]))
    assert len(some.blocks) == len(everything.blocks)
    for mine, whole in zip(some.data, everything.data, strict=True):
        passing = pc.equal(whole.batch.column("_hoodie_record_key"), key)
        assert mine.batch.equals(whole.batch.filter(passing))
    for deletes, all_deletes in zip(some.deletes, everything.deletes, strict=True):
        assert deletes.table.equals(all_deletes.table.filter(pc.equal(all_deletes.table.column("record_key"), key)))
    assert sum(block.batch.num_rows for block in some.data) < sum(block.batch.num_rows for block in everything.data)


def test_data_skipping_can_be_turned_off():
    table = HudiTable.open(unzip_fixture("v9_cow_part_mdt"))
    for options, skips in (({}, True), ({"hoodie.enable.data.skipping": "false"}, False)):
        plan = table.scan(row_filter="_hoodie_record_key = 'nobody'", options=options).plan()
        assert any("statistics" in step.name for step in plan.steps) == skips
        assert (plan.slices.num_rows == 0) == skips


@pytest.mark.parametrize("name", [name for name in fixture_names() if name.endswith("mor_part_rli")])
def test_the_record_index_is_asked_when_the_caller_relies_on_it(name):
    table = HudiTable.open(unzip_fixture(name))
    on = {"hoodie.metadata.record.index.enable": "true"}
    keys = table.scan(selected_fields=["_hoodie_record_key"]).to_arrow().column(0).to_pylist()
    for key in keys[::5]:
        expression = [("_hoodie_record_key", "=", key)]
        scan = table.scan(row_filter=expression, options=on)
        assert scan.to_arrow().num_rows == 1
        assert scan.plan().slices.num_rows == 1
        assert any(s.name.startswith("record index") for s in scan.plan().steps)
        for other in (
            table.scan(row_filter=expression),
            table.scan(row_filter=expression, query_type="read_optimized"),
        ):
            assert not any(s.name.startswith("record index") for s in other.plan().steps)
    assert table.scan(row_filter=[("_hoodie_record_key", "=", "nobody")], options=on).plan().slices.num_rows == 0


def test_an_index_that_cannot_be_read_prunes_nothing(monkeypatch, caplog):
    def broken(*_args, **_kwargs):
        raise CorruptFileError("damaged", path="f")

    monkeypatch.setattr(MetadataTable, "column_ranges", broken)
    monkeypatch.setattr(MetadataTable, "partition_ranges", broken)
    table = HudiTable.open(unzip_fixture("v9_cow_part_mdt"))
    with caplog.at_level(logging.WARNING):
        plan = table.scan(row_filter="_hoodie_record_key = 'nobody'").plan()
    assert plan.slices.num_rows and "column statistics prune nothing" in caplog.text


def test_tables_without_metadata_table_are_planned_as_ever():
    table = HudiTable.open(unzip_fixture("v9_cow_nonpart"))
    plan = table.scan(row_filter="_hoodie_record_key = 'nobody'").plan()
    assert plan.slices.num_rows and not any(
        "that the filter leaves" in s.name and s.unit == "files" for s in plan.steps
    )


def test_renamed_columns_have_no_statistics():
    table = HudiTable.open(unzip_fixture("v9_cow_part_mdt"))
    plan = table.scan().plan()
    row_filter = parse_filter("_hoodie_record_key = 'nobody'", plan.schema)
    kept, steps = prune(table.client, plan.slices, row_filter, SkipContext(renamed=True))
    assert kept.equals(plan.slices) and not steps
    kept, steps = prune(table.client, plan.slices, row_filter, SkipContext())
    assert not kept.num_rows and steps


def test_the_plan_counts_what_footers_rule_out(tmp_path):
    folder = tmp_path / "v9_cow_row_groups"
    table = HudiTable.open(row_groups_table(tmp_path))
    with patch("hudi_hive.formats.base.parquet_base_file._WORTH_SKIPPING", 1):
        files, groups = table.scan(row_filter="ts = 599 OR number = 1.5").footer_steps()
        with table.client.counters.measure() as cost:
            table.scan(row_filter="ts = 599 OR number = 1.5").to_arrow()
    assert (files.unit, files.before, groups.unit) == ("files", 2, "row groups")
    assert groups.before > groups.after == cost["row_groups_read"]
    assert groups.before - groups.after == cost["row_groups_skipped"]
    assert table.scan().footer_steps() == []
    result = CliRunner().invoke(cli, ["plan", str(folder), "--where", "ts = 599", "--format", "json"])
    assert [step["unit"] for step in json.loads(result.stdout)["steps"]][-2:] == ["files", "row groups"]
