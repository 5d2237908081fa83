"""A file's columns brought to the table's schema: names, nesting, promotions, renames, and what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import SchemaError
from hudi_hive.read import ColumnMapping, Reconciler
from tests.support.running.long import examples

UTC = dt.UTC
MOMENT = dt.datetime(2001, 2, 3, 4, 5, 6, 789000, UTC)


def convert(values: list, source: pa.DataType, target: pa.DataType, mapping: ColumnMapping | None = None) -> list:
    """One column through a reconciler; whole and as a slice, which must agree."""
    schema, wanted = pa.schema([("c", source)]), pa.schema([("c", target)])
    reconciler = Reconciler(schema, wanted, mapping or ColumnMapping(), "f.parquet")
    array = pa.array(values, source) if not isinstance(values, pa.Array) else values
    result = reconciler.apply(pa.record_batch([array], schema))
    result.validate(full=True)
    assert result.schema == wanted
    if len(array) > 2:
        part = reconciler.apply(pa.record_batch([array.slice(1, len(array) - 2)], schema))
        part.validate(full=True)
        assert part.column(0).equals(result.column(0).slice(1, len(array) - 2)) or any(v != v for v in values)
    return result.column(0).to_pylist()


@pytest.mark.parametrize(
    ("source", "values", "target", "expected"),
    [
        (pa.int32(), [1, None, -5], pa.int64(), [1, None, -5]),
        (pa.int8(), [1], pa.int32(), [1]),
        (pa.int32(), [1, 2**24 + 1], pa.float32(), [1.0, 2.0**24]),
        (pa.int64(), [1, 2**53 + 1], pa.float64(), [1.0, 2.0**53]),
        (pa.int32(), [1], pa.decimal128(10, 2), [Decimal("1.00")]),
        (pa.int64(), [-12, None], pa.string(), ["-12", None]),
        (pa.float32(), [0.1, None, 1.5, float("inf")], pa.float64(), [0.1, None, 1.5, float("inf")]),
        (
            pa.float32(),
            [0.1, 1.0, 1e10, 1.5e-5, float("nan"), float("-inf"), -0.0, 123456.7, 0.001],
            pa.string(),
            ["0.1", "1.0", "1.0E10", "1.5E-5", "NaN", "-Infinity", "-0.0", "123456.7", "0.001"],
        ),
        (
            pa.float64(),
            [1e7, 12345678.9, 9999999.0, 1e-3, 9.99e-4, 100.0, 1e22, 5e-324, 1.7976931348623157e308],
            pa.string(),
            ["1.0E7", "1.23456789E7", "9999999.0", "0.001", "9.99E-4", "100.0", "1.0E22", "4.9E-324",
             "1.7976931348623157E308"],
        ),
        (pa.float64(), [0.125, None, -3.0], pa.decimal128(10, 2), [Decimal("0.13"), None, Decimal("-3.00")]),
        (pa.float32(), [0.1], pa.decimal128(10, 2), [Decimal("0.10")]),
        (pa.decimal128(5, 2), [Decimal("1.50")], pa.decimal128(10, 3), [Decimal("1.500")]),
        (pa.decimal128(5, 2), [Decimal("-1.50"), None], pa.string(), ["-1.50", None]),
        (pa.date32(), [dt.date(2024, 2, 29)], pa.string(), ["2024-02-29"]),
        (pa.string(), ["2024-02-29", None], pa.date32(), [dt.date(2024, 2, 29), None]),
        (pa.string(), ["1.5"], pa.decimal128(5, 2), [Decimal("1.50")]),
        (pa.string(), ["é"], pa.binary(), ["é".encode()]),
        (pa.binary(), ["é".encode()], pa.string(), ["é"]),
        (pa.binary(2), [b"ab"], pa.string(), ["ab"]),
        (pa.binary(2), [b"ab"], pa.binary(), [b"ab"]),
        (pa.large_string(), ["a"], pa.string(), ["a"]),
        (
            pa.timestamp("ms", "UTC"),
            [dt.datetime(2001, 2, 3, 4, 5, 6, 789000, UTC)],
            pa.timestamp("us", "UTC"),
            [dt.datetime(2001, 2, 3, 4, 5, 6, 789000, UTC)],
        ),
        (pa.timestamp("us"), [MOMENT.replace(tzinfo=None)], pa.timestamp("us", "UTC"), [MOMENT]),
        (pa.timestamp("us", "UTC"), [MOMENT], pa.timestamp("us"), [MOMENT.replace(tzinfo=None)]),
        (pa.time32("ms"), [dt.time(1, 2, 3)], pa.time64("us"), [dt.time(1, 2, 3)]),
        (pa.null(), [None], pa.int32(), [None]),
    ],
)  # fmt: skip
def test_values_are_promoted_also_in_lists_and_maps(source, values, target, expected):
    result = convert(values, source, target)
    assert [repr(v) if v != v else v for v in result] == [repr(v) if v != v else v for v in expected]
    listed = convert([values, None, [], values], pa.list_(source), pa.list_(pa.field("element", target)))
    if all(v == v for v in expected):
        assert listed == [expected, None, [], expected]
        mapped = convert([[("k", v) for v in values], None], pa.map_(pa.string(), source), pa.map_(pa.string(), target))
        assert mapped == [[("k", v) for v in expected], None]


def test_nanoseconds_are_cut_towards_the_past():
    values = pa.array([-1, 1999, None], pa.int64()).cast(pa.timestamp("ns"))
    result = convert(values, pa.timestamp("ns"), pa.timestamp("us", "UTC"))
    assert [None if v is None else v.microsecond for v in result] == [999999, 1, None]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (pa.int64(), pa.int32()),
        (pa.float64(), pa.float32()),
        (pa.float64(), pa.int64()),
        (pa.string(), pa.int64()),
        (pa.string(), pa.timestamp("us", "UTC")),
        (pa.bool_(), pa.string()),
        (pa.bool_(), pa.int32()),
        (pa.int32(), pa.bool_()),
        (pa.int64(), pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), pa.int64()),
        (pa.timestamp("us", "UTC"), pa.date32()),
        (pa.date32(), pa.timestamp("us", "UTC")),
        (pa.decimal128(10, 2), pa.decimal128(9, 2)),
        (pa.decimal128(10, 2), pa.decimal128(12, 5)),
        (pa.decimal128(10, 2), pa.float64()),
        (pa.binary(), pa.decimal128(10, 2)),
        (pa.struct([("a", pa.int32())]), pa.string()),
        (pa.int32(), pa.list_(pa.int32())),
        (pa.list_(pa.int32()), pa.struct([("a", pa.int32())])),
        (pa.map_(pa.string(), pa.int32()), pa.struct([("a", pa.int32())])),
    ],
)
def test_changes_without_a_rule_are_refused_by_column_and_file(source, target):
    with pytest.raises(SchemaError, match=r"'c' is .* in the file and .* in the table.*f\.parquet"):
        convert([], source, target)
    nested = pa.struct([("x", pa.list_(source))])
    wanted = pa.struct([("x", pa.list_(target))])
    with pytest.raises(SchemaError, match=r"'c\.x\.element'"):
        convert([], nested, wanted)


@pytest.mark.parametrize(
    ("source", "value", "target"),
    [
        (pa.string(), "no date", pa.date32()),
        (pa.string(), "no number", pa.decimal128(5, 2)),
        (pa.int64(), 10**9, pa.decimal128(5, 2)),
        (pa.float64(), float("nan"), pa.decimal128(5, 2)),
        (pa.binary(), b"\xff", pa.string()),
        (pa.timestamp("us"), dt.datetime(2001, 1, 1, 0, 0, 0, 1), pa.timestamp("ms", "UTC")),
        (pa.timestamp("us"), dt.datetime(2001, 1, 1, 0, 0, 0, 1), pa.timestamp("ms")),
    ],
)
def test_values_that_do_not_fit_are_refused(source, value, target):
    with pytest.raises(SchemaError, match=r"column 'c': a value.*f\.parquet"):
        convert([value], source, target)


# -- names and nesting
# ----------------------------------------------------------------------------------------------------


def test_missing_reordered_and_extra_columns():
    schema = pa.schema([("a", pa.int32()), ("gone", pa.string()), ("b", pa.string())])
    target = pa.schema([("b", pa.string()), ("new", pa.list_(pa.int32())), ("a", pa.int64())])
    reconciler = Reconciler(schema, target)
    assert reconciler.sources == {"b": "b", "new": None, "a": "a"}
    assert [reconciler.same_values(name) for name in target.names] == [True, False, False]
    batch = pa.record_batch([pa.array([1], pa.int32()), pa.array(["x"])], names=["a", "b"])
    assert reconciler.apply(batch).to_pylist() == [{"b": "x", "new": None, "a": 1}]


def test_no_columns_keep_the_number_of_rows():
    schema = pa.schema([("a", pa.int32())])
    result = Reconciler(schema, pa.schema([])).apply(pa.record_batch([pa.array([1, 2], pa.int32())], schema))
    assert (result.num_rows, result.num_columns) == (2, 0)


def test_case_is_ignored_only_when_that_is_unambiguous():
    target = pa.schema([("Name", pa.int32())])
    assert Reconciler(pa.schema([("NAME", pa.int32())]), target).sources == {"Name": "NAME"}
    assert Reconciler(pa.schema([("name", pa.int32()), ("Name", pa.int32())]), target).sources == {"Name": "Name"}
    with pytest.raises(SchemaError, match=r"'Name' could be any of 'NAME', 'name'.*f\.parquet"):
        Reconciler(pa.schema([("NAME", pa.int32()), ("name", pa.int32())]), target, path="f.parquet")
    with pytest.raises(SchemaError, match=r"'c\.x' could be any of"):
        convert([], pa.struct([("X", pa.int32()), ("X", pa.int32())]), pa.struct([("x", pa.int32())]))


def test_structs_gain_lose_and_reorder_fields():
    source = pa.struct([("a", pa.int32()), ("old", pa.string()), ("in", pa.struct([("p", pa.float32())]))])
    target = pa.struct(
        [("in", pa.struct([("q", pa.string()), ("p", pa.float64())])), ("a", pa.int64()), ("new", pa.date32())]
    )
    values = [
        {"a": 1, "old": "x", "in": {"p": 0.1}},
        None,
        {"a": None, "old": None, "in": None},
        {"a": 4, "old": "y", "in": {"p": None}},
    ]
    expected = [
        {"in": {"q": None, "p": 0.1}, "a": 1, "new": None},
        None,
        {"in": None, "a": None, "new": None},
        {"in": {"q": None, "p": None}, "a": 4, "new": None},
    ]
    assert convert(values, source, target) == expected
    assert convert([values, None, values[:1]], pa.list_(source), pa.list_(pa.field("element", target))) == [
        expected,
        None,
        expected[:1],
    ]
    as_map = [[(str(i), value) for i, value in enumerate(values)], [], None]
    wanted = [[(str(i), value) for i, value in enumerate(expected)], [], None]
    assert convert(as_map, pa.map_(pa.string(), source), pa.map_(pa.string(), target)) == wanted


def test_list_of_the_old_layout_takes_the_tables_names():
    source = pa.list_(pa.field("array", pa.int32(), nullable=False))
    target = pa.list_(pa.field("element", pa.int32()))
    schema = pa.schema([("c", target)])
    batch = pa.record_batch([pa.array([[1], None, []], source)], names=["c"])
    result = Reconciler(batch.schema, schema).apply(batch)
    assert str(result.schema.field("c").type) == "list<element: int32>"
    assert result.column("c").to_pylist() == [[1], None, []]
    pa.concat_tables([pa.Table.from_batches([result]), schema.empty_table()]).validate(full=True)


def test_mapping_by_hand():
    """Renamed, dropped and re-added columns, nested ones too: what evolution by ids will ask for."""
    source = pa.schema(
        [("name", pa.string()), ("x", pa.int32()), ("info", pa.struct([("b", pa.string()), ("c", pa.int32())]))]
    )
    target = pa.schema(
        [("full_name", pa.string()), ("x", pa.int32()), ("info", pa.struct([("bee", pa.string()), ("b", pa.string())]))]
    )
    mapping = ColumnMapping(
        sources={"full_name": "name", "x": None}, nested={"info": ColumnMapping({"bee": "b", "b": None})}
    )
    batch = pa.record_batch(
        [pa.array(["n"]), pa.array([1], pa.int32()), pa.array([{"b": "v", "c": 2}], source.field(2).type)], source
    )
    assert Reconciler(source, target, mapping).apply(batch).to_pylist() == [
        {"full_name": "n", "x": None, "info": {"bee": "v", "b": None}}
    ]
    below_list = ColumnMapping(nested={"c": ColumnMapping(nested={"element": ColumnMapping({"y": "x"})})})
    element, renamed = pa.struct([("x", pa.int32())]), pa.struct([("y", pa.int32())])
    assert convert([[{"x": 1}]], pa.list_(element), pa.list_(renamed), below_list) == [[{"y": 1}]]
    below_map = ColumnMapping(nested={"c": ColumnMapping(nested={"value": ColumnMapping({"y": "x"})})})
    assert convert([[("k", {"x": 1})]], pa.map_(pa.string(), element), pa.map_(pa.string(), renamed), below_map) == [
        [("k", {"y": 1})]
    ]


def test_constants_stand_in():
    schema = pa.schema([("a", pa.int32())])
    target = pa.schema([("a", pa.int32()), ("p", pa.date32())])
    batch = pa.record_batch([pa.array([1, 2], pa.int32())], schema)
    day = pa.scalar(dt.date(2024, 1, 1))
    result = Reconciler(schema, target).apply(batch, {"p": day})
    assert result.column("p").to_pylist() == [dt.date(2024, 1, 1)] * 2


TYPES = st.recursive(
    st.sampled_from([pa.int32(), pa.string(), pa.float32(), pa.date32()]),
    lambda inner: (
        st.builds(pa.list_, inner)
        | st.builds(lambda item: pa.map_(pa.string(), item), inner)
        | st.lists(inner, min_size=1, max_size=3).map(
            lambda types: pa.struct([(f"f{i}", t) for i, t in enumerate(types)])
        )
    ),
    max_leaves=5,
)


def values_of(arrow: pa.DataType) -> st.SearchStrategy:
    if pa.types.is_list(arrow):
        return st.none() | st.lists(values_of(arrow.value_type), max_size=3)
    if pa.types.is_map(arrow):
        return st.none() | st.lists(st.tuples(st.text(max_size=2), values_of(arrow.item_type)), max_size=2)
    if pa.types.is_struct(arrow):
        return st.none() | st.fixed_dictionaries({field.name: values_of(field.type) for field in arrow})
    return (
        st.none()
        | {
            pa.int32(): st.integers(-5, 5),
            pa.string(): st.text(max_size=2),
            pa.float32(): st.sampled_from([0.5, -1.0]),
            pa.date32(): st.dates(),
        }[arrow]
    )


def widened(arrow: pa.DataType) -> pa.DataType:
    """The same shape with longer numbers, list elements renamed, structs turned round."""
    if pa.types.is_list(arrow):
        return pa.list_(pa.field("element", widened(arrow.value_type)))
    if pa.types.is_map(arrow):
        return pa.map_(pa.string(), widened(arrow.item_type))
    if pa.types.is_struct(arrow):
        return pa.struct([pa.field(field.name, widened(field.type)) for field in reversed(list(arrow))])
    return {pa.int32(): pa.int64(), pa.float32(): pa.float64()}.get(arrow, arrow)


@settings(max_examples=examples(200), deadline=None)
@given(st.data(), TYPES)
def test_any_nesting_keeps_its_values(data, source):
    values = data.draw(st.lists(values_of(source), min_size=3, max_size=6))
    assert convert(values, source, widened(source)) == values
