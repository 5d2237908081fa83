"""Conditions of Spark as row filters: never stricter than Spark, and nothing where the two might differ."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from hudi_hive.plan import Query
from hudi_hive.predicate import parse_filter
from hudi_hive.spark.scan.filters import filter_of_json
from hudi_hive.spark.scan.snapshot import TableSnapshot, location_of
from tests.support.fixture_tables import unzip_fixture

CATALYST = "org.apache.spark.sql.catalyst.expressions."
FIELDS = {"n": pa.int64(), "i": pa.int32(), "s": pa.string(), "d": pa.float64(), "f": pa.float32()}
SCHEMA = pa.schema(FIELDS | {"day": pa.date32(), "b": pa.bool_(), "p": pa.string()})
KINDS = {"n": "long", "i": "integer", "s": "string", "d": "double", "f": "float", "day": "date", "b": "boolean"}
ROWS = pa.RecordBatch.from_pylist(
    [
        {"n": 1, "i": 1, "s": "a'\\", "d": float("nan"), "f": 1.0, "day": None, "b": True, "p": "x"},
        {"n": 5, "i": None, "s": "b", "d": -0.0, "f": 2.0, "day": None, "b": False, "p": "y"},
        {"n": None, "i": 7, "s": None, "d": None, "f": None, "day": None, "b": None, "p": None},
    ],
    schema=SCHEMA,
)


def column(name, kind=None):
    return [
        {"class": CATALYST + "AttributeReference", "num-children": 0, "name": name, "dataType": kind or KINDS[name]}
    ]


def literal(value, kind):
    return [{"class": CATALYST + "Literal", "num-children": 0, "value": value, "dataType": kind}]


def node(kind, *children):
    return [{"class": CATALYST + kind, "num-children": len(children)}, *(item for child in children for item in child)]


def passing(*conditions, **options):
    """Numbers of the rows that pass, or None when nothing could be said."""
    found = filter_of_json([json.dumps(item) for item in conditions], SCHEMA, ["P"], **options)
    if found is None:
        return None
    return [row for row, kept in enumerate(found.evaluate(ROWS).to_pylist()) if kept]


UNKNOWN = node("Rand", literal("1", "long"))
N5 = node("EqualTo", column("n"), literal("5", "long"))


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (N5, [1]),
        (node("GreaterThan", literal("5", "long"), column("n")), [0]),
        (node("LessThanOrEqual", literal("5", "long"), column("N", "long")), [1]),
        (node("Not", N5), [0]),
        (node("EqualTo", column("s"), literal("a'\\", "string")), [0]),
        (node("In", column("s"), literal("b", "string"), literal("c", "string")), [1]),
        (node("IsNull", column("i")), [1]),
        (node("IsNotNull", column("i")), [0, 2]),
        (node("EqualNullSafe", column("i"), literal("7", "integer")), [2]),
        (column("b"), [0]),
        (node("Not", column("b")), [1]),
        # NaN is the greatest number of Spark, and both zeros are equal.
        (node("GreaterThan", column("d"), literal("1.5", "double")), [0]),
        (node("EqualTo", column("d"), literal("0.0", "double")), [1]),
        (node("Or", N5, node("IsNull", column("n"))), [1, 2]),
        # A part that is not understood: as little as the rest says.
        (node("And", N5, UNKNOWN), [1]),
        (node("Or", node("And", N5, UNKNOWN), node("IsNull", column("n"))), [1, 2]),
        (node("Or", N5, UNKNOWN), None),
        (node("Not", node("And", N5, UNKNOWN)), None),
        (UNKNOWN, None),
        # What Spark compares in another way, or the table holds in another type.
        (node("EqualTo", column("s", "string collate UTF8_LCASE"), literal("B", "string collate UTF8_LCASE")), None),
        (node("EqualTo", column("i", "long"), literal("7", "long")), None),
        (node("GreaterThan", column("f"), literal("1.1", "float")), None),
        (node("In", column("d"), literal("0.0", "double")), None),
        (node("EqualTo", column("d"), literal("NaN", "double")), None),
        (node("EqualTo", column("n"), literal(None, "long")), None),
        (node("EqualTo", column("p", "string"), literal("x", "string")), None),
        (node("EqualTo", node("Cast", column("i")), literal("7", "long")), None),
        (node("GreaterThan", column("day"), literal("+12024-01-01", "date")), None),
        (node("InSet", column("n")), None),
    ],
)
def test_sparks_conditions_pass_the_same_rows(condition, rows):
    assert passing(condition) == rows


@pytest.mark.parametrize("kind", ["UnixTimestamp", "ToUnixTimestamp"])
def test_nothing_is_said_of_patterns_under_the_legacy_policy(kind):
    call = node(kind, column("s"), literal("yyyy-MM-dd", "string"))
    condition = node("And", N5, node("IsNull", call))
    assert passing(condition) == passing(condition, legacy_times=True) == [1]
    assert passing(node("IsNull", call)) == [0, 1, 2]
    assert passing(node("IsNull", call), legacy_times=True) is None


def test_all_conditions_hold():
    assert passing(node("IsNotNull", column("n")), UNKNOWN, node("Not", N5)) == [0]
    assert passing() is None


@pytest.mark.parametrize("name", ["v6_cow_part_mdt", "v8_cow_part_mdt", "v9_cow_part_mdt", "v9_mor_part_rli"])
def test_each_file_of_the_metadata_table_is_read_once(name):
    snapshot = TableSnapshot(location_of(unzip_fixture(name)), Query.of("snapshot"))
    assert snapshot.has_indexes
    schema = snapshot.plan().schema
    condition = "visit_id > 100" if "cow" in name else "stops > 2"
    files = snapshot.files(beside_logs=True, row_filter=parse_filter(condition, schema))
    everything = snapshot.files(beside_logs=True)
    assert files.files.num_rows == everything.files.num_rows - files.skipped
    opened = {path: count for path, count in snapshot.client.counters.opened.items() if "metadata/" in path}
    assert any("column_stats" in path for path in opened)
    assert set(opened.values()) == {1}
    assert not any(path.startswith(tuple(snapshot.partition_paths())) for path in snapshot.client.counters.listed)
