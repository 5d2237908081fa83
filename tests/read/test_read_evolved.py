"""Filters in the terms of older files: names, types and columns that they do not have."""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_hive.predicate import parse_filter
from hudi_hive.read.columns.reconcile import ColumnMapping
from hudi_hive.read.scan.files import BaseScan, read_base_files
from hudi_hive.storage import Storage

ROWS = 30_000
"""Enough that statistics are looked at; row groups of 1,000."""


def write(folder, name, table, row_group_size=1_000):
    """A file and its row of a plan."""
    pq.write_table(table, folder / name, row_group_size=row_group_size)
    return pa.table({"partition": [""], "name": [name], "size": [(folder / name).stat().st_size]})


def read(storage, files, schema, text, mapping=None):
    """Rows that pass by reading, those that pass by filtering all rows afterwards, and row groups read."""
    row_filter = parse_filter(text, schema)
    before = storage.counters.snapshot()
    found = pa.Table.from_batches(
        read_base_files(
            storage, files, BaseScan(target_schema=schema, row_filter=row_filter, mapping_of=lambda _: mapping)
        ),
        schema,
    )
    after = storage.counters.snapshot()
    scan = BaseScan(target_schema=schema, mapping_of=lambda _: mapping)
    everything = pa.Table.from_batches(read_base_files(storage, files, scan), schema)
    return (
        found,
        everything.filter(row_filter.evaluate(everything)),
        after.get("row_groups_read", 0) - before.get("row_groups_read", 0),
    )


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """Storage and files of a table with one old file."""
    folder = tmp_path_factory.mktemp("old")
    numbers = list(range(ROWS))
    files = write(
        folder,
        "old.parquet",
        pa.table(
            {
                "n": pa.array(numbers, pa.int32()),
                "f": pa.array([i / 10 for i in numbers], pa.float32()),
                "d": pa.array([Decimal(i).scaleb(-2) for i in numbers], pa.decimal128(9, 2)),
                "s": pa.array([{"a": i, "b": i} for i in numbers], pa.struct([("a", pa.int32()), ("b", pa.int32())])),
                "gone": pa.array(numbers, pa.int64()),
            }
        ),
    )
    return Storage(folder), files


NEW = pa.schema(
    [
        ("gone", pa.int64()),  # dropped and added anew
        ("wide", pa.int64()),
        ("real", pa.float64()),
        ("ratio", pa.float64()),
        ("price", pa.decimal128(18, 4)),
        ("text", pa.string()),
        ("st", pa.struct([("b", pa.int64()), ("x", pa.int64()), ("new", pa.string())])),
    ]
)
MAPPING = ColumnMapping(
    {"gone": None, "wide": "n", "real": "n", "ratio": "f", "price": "d", "text": "n", "st": "s"},
    {"st": ColumnMapping({"b": "a", "x": "b", "new": None})},
)


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("wide = 1500", 1),
        ("wide < 2000", 2),
        ("wide in (5, 29999)", 2),
        ("wide > 3000000000", 0),
        ("not (wide >= 1000)", 1),
        ("wide is null", 0),
        ("real > 28999.5", 1),
        ("real = 12.0", 1),
        ("ratio = 0.3", 1),  # the file's float is not the double of that
        ("ratio <= 99.9", 1),
        ("ratio < 100", 2),  # rounded down it might be the next one's first
        ("not (ratio < 100)", 30),  # not told exactly, so not at all
        ("ratio < 0.05 or wide = 29999", 2),
        ("price between 10.01 and 19.99", 1),
        ("text = '17'", 30),
        ("text is null", 0),
        ("st.b = 1500", 1),
        ("st.x > 28999 and st.b > 0", 1),
        ("st.new = 'x'", 0),
        ("gone = 5", 0),
        ("gone is null", 30),
        ("gone = 5 or wide = 7", 1),
        ("not (gone = 5)", 0),
        ("gone = wide", 0),
    ],
)
def test_row_groups_of_an_old_file(old, text, groups):
    storage, files = old
    found, wanted, read_groups = read(storage, files, NEW, text, MAPPING)
    assert found.equals(wanted)
    assert read_groups == groups


def test_arrow_expressions_are_turned_by_their_outlines(old):
    storage, files = old
    for expression, groups in (
        (pc.field("wide") == 1500, 1),
        (pc.field("gone") == 5, 0),
        ((pc.field("st", "b") < 1000) & (pc.field("wide") + 1 > 0), 1),
        (~(pc.field("wide") >= 1000), 1),
        (pc.field("text") == "17", 30),
    ):
        found, wanted, read_groups = read(storage, files, NEW, expression, MAPPING)
        assert found.equals(wanted), str(expression)
        assert read_groups == groups, str(expression)


def _leaf(choose):
    column = choose.choice(["gone", "wide", "real", "ratio", "price", "text", "st.b", "st.x", "st.new", "name", "nan"])
    kind = choose.randrange(5)
    if kind == 0:
        return f"{column} is {choose.choice(['', 'not '])}null"
    if column in ("text", "st.new", "name"):
        texts = [f"'{choose.choice(['', 'k', '1', '17', '-3'])}'" for _ in range(3)]
        if kind == 1:
            return f"{column} like {texts[0][:-1]}%'"
        return f"{column} in ({', '.join(texts)})" if kind == 2 else f"{column} {choose.choice('=<>')} {texts[0]}"
    numbers = [choose.choice([0, -1, 5, 4999, 5000, 2**31, 2**40, 0.1, 49.9, 2.5, 250.05]) for _ in range(3)]
    if kind == 1:
        return f"{column} in ({', '.join(map(str, numbers))})"
    if kind == 2:
        return f"{column} between {min(numbers)} and {max(numbers)}"
    if kind == 3:
        return f"{column} {choose.choice(['=', '<', '>='])} {choose.choice(['gone', 'wide', 'real', 'st.b', 'st.x'])}"
    return f"{column} {choose.choice(['=', '!=', '<', '<=', '>', '>='])} {numbers[0]}"


def _condition(choose, depth):
    if depth == 0 or choose.random() < 0.3:
        return _leaf(choose)
    inner = [_condition(choose, depth - 1) for _ in range(2)]
    return choose.choice([f"({inner[0]} and {inner[1]})", f"({inner[0]} or {inner[1]})", f"not ({inner[0]})"])


def test_no_filter_loses_rows(tmp_path):
    """Random filters over a file with nulls, NaN and columns of all promotions: what is skipped passes nowhere."""
    choose = random.Random(7)

    def some(values, kind):
        return pa.array([None if choose.random() < 0.1 and i % 900 > 300 else v for i, v in enumerate(values)], kind)

    rows = 6_000
    inner = [some(range(rows), pa.int32()), some([i % 7 for i in range(rows)], pa.int64())]
    table = pa.table(
        {
            "n": some([i - 1000 for i in range(rows)], pa.int32()),
            "f": some([i / 10 for i in range(rows)], pa.float32()),
            "nan": some([float("nan") if i % 1000 < 5 else i / 10 for i in range(rows)], pa.float32()),
            "d": some([Decimal(i).scaleb(-1) for i in range(rows)], pa.decimal128(8, 1)),
            "s": pa.StructArray.from_arrays(inner, ["a", "b"], mask=pa.array([i % 11 == 0 for i in range(rows)])),
            "gone": some(range(rows), pa.int64()),
            "older name": some([f"k{i // 500}" for i in range(rows)], pa.string()),
        }
    )
    files = write(tmp_path, "old.parquet", table, row_group_size=500)
    schema = NEW.append(pa.field("name", pa.string())).append(pa.field("nan", pa.float64()))
    mapping = ColumnMapping({**MAPPING.sources, "name": "older name", "nan": "nan"}, MAPPING.nested)
    storage = Storage(tmp_path)
    scan = BaseScan(target_schema=schema, mapping_of=lambda _: mapping)
    everything = pa.Table.from_batches(read_base_files(storage, files, scan), schema)
    skipped = 0
    for _ in range(400):
        row_filter = parse_filter(_condition(choose, 3), schema)
        before = storage.counters.snapshot().get("row_groups_read", 0)
        wide = BaseScan(target_schema=schema, columns=["wide"], row_filter=row_filter, mapping_of=lambda _: mapping)
        found = read_base_files(storage, files, wide)
        got = [value for batch in found for value in batch.column(0).to_pylist()]
        skipped += storage.counters.snapshot().get("row_groups_read", 0) - before < 12
        assert got == everything.filter(row_filter.evaluate(everything)).column("wide").to_pylist(), row_filter.root
    assert skipped > 100
