"""Arrays whose structs hide values below their nulls."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import orc

from hudi_hive.formats.orc.acid_writer import DeltaWriter
from hudi_hive.formats.orc.null_struct_children import with_null_struct_children

_LEAVES = {"int": pa.int32(), "string": pa.string(), "double": pa.float64()}


@st.composite
def _types(draw, depth=3):
    """Hive's and Arrow's name of a type."""
    kind = draw(st.sampled_from([*_LEAVES, "struct", "struct", "array", "map"] if depth else list(_LEAVES)))
    if kind in _LEAVES:
        return kind, _LEAVES[kind]
    if kind == "map":
        text, arrow = draw(_types(depth=depth - 1))
        return f"map<int,{text}>", pa.map_(pa.int32(), arrow)
    parts = [draw(_types(depth=depth - 1)) for _ in range(1 if kind == "array" else draw(st.integers(1, 3)))]
    if kind == "array":
        return f"array<{parts[0][0]}>", pa.list_(parts[0][1])
    fields = [(f"f{place}", arrow) for place, (_, arrow) in enumerate(parts)]
    return f"struct<{','.join(f'f{i}:{text}' for i, (text, _) in enumerate(parts))}>", pa.struct(fields)


def _made(kind, count, chance):
    """Random values of a type: structs and lists that are null have values below them all the same."""
    extra = int(chance.integers(0, 3))
    mask = chance.random(count + extra) < chance.choice([0.0, 0.4])
    null = pa.array(mask)
    if pa.types.is_struct(kind):
        children = [_made(field.type, count + extra, chance) for field in kind]
        array = pa.StructArray.from_arrays(children, fields=list(kind), mask=null)
    elif pa.types.is_list(kind) or pa.types.is_map(kind):
        offsets = np.concatenate(([0], np.cumsum(chance.integers(0, 3, count + extra)))).astype(np.int32)
        if pa.types.is_map(kind):
            keys = pa.array(np.arange(offsets[-1], dtype=np.int32))
            items = _made(kind.item_type, int(offsets[-1]), chance)
            array = pa.MapArray.from_arrays(pa.array(offsets), keys, items, type=kind, mask=null)
        else:
            values = _made(kind.value_type, int(offsets[-1]), chance)
            array = pa.ListArray.from_arrays(pa.array(offsets), values, type=kind, mask=null)
    else:
        array = pa.array(chance.integers(0, 100, count + extra).astype(str).tolist()).cast(kind)
        array = pa.array([None if gone else value for gone, value in zip(mask, array.to_pylist(), strict=True)], kind)
    return array.slice(extra)


def _hides_nothing(array):
    assert array.offset == 0
    if pa.types.is_struct(array.type):
        for place, child in enumerate(array.flatten()):
            _hides_nothing(array.field(place))
            assert array.field(place).null_count == child.null_count
    elif pa.types.is_list(array.type):
        _hides_nothing(array.values)
    elif pa.types.is_map(array.type):
        _hides_nothing(array.items)


@given(kind=_types(), count=st.integers(0, 12), seed=st.integers(0, 10_000))
def test_values_stay_and_nothing_is_hidden(kind, count, seed):
    text, arrow = kind
    array = _made(arrow, count, np.random.default_rng(seed))
    shown = with_null_struct_children(array)
    shown.validate(full=True)
    assert shown.type == array.type and shown.to_pylist() == array.to_pylist()
    if "struct" in text:
        _hides_nothing(shown)
    if count:
        sink = io.BytesIO()
        with DeltaWriter(sink, columns=[("c", text)], write_id=1, bucket=0) as writer:
            writer.write(pa.table({"c": array}))
        read = orc.ORCFile(io.BytesIO(sink.getvalue())).read().column("row").to_pylist()
        assert [row["c"] for row in read] == array.to_pylist()


@pytest.mark.parametrize(
    "array", [pa.array([1, None]), pa.array([[1], None]), pa.array([[(1, 2)]], pa.map_("i8", "i8"))]
)
def test_arrays_without_structs_come_back(array):
    assert with_null_struct_children(array) is array


def test_arrow_itself_does_not_write_them_rightly():
    """If this fails, Arrow's writer has become better, and ``hidden_values`` may go."""
    inner = pa.StructArray.from_arrays([pa.array([1, 2])], names=["n"], mask=pa.array([True, False]))
    sink = io.BytesIO()
    orc.write_table(pa.table({"row": pa.StructArray.from_arrays([inner], names=["s"])}), sink)
    assert orc.ORCFile(io.BytesIO(sink.getvalue())).read()["row"].to_pylist() != [{"s": None}, {"s": {"n": 2}}]
