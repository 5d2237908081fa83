"""Space-filling curves against plain references, and rows in their order."""

from __future__ import annotations

import itertools
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive.errors import UnknownColumnError, UnsupportedTableError
from hudi_hive.options import CurveBuildMethod, LayoutStrategy
from hudi_hive.options import services as options
from hudi_hive.write.services.ordering import RowOrder
from hudi_hive.write.services.ordering.space_curves import curve_order, hilbert_places, z_order_places

HIGH = 64


def _points(dimensions: int, number: int = 200) -> list[np.ndarray]:
    generator = np.random.default_rng(dimensions)
    return [generator.integers(0, 1 << 63, number, dtype=np.uint64) * np.uint64(2) for _ in range(dimensions)]


def _numbers(words: list[np.ndarray]) -> list[int]:
    return [sum(int(part) << (HIGH * at) for at, part in enumerate(reversed(one))) for one in zip(*words, strict=True)]


def _bits(value: int, width: int) -> list[int]:
    return [value >> at & 1 for at in reversed(range(width))]


def _whole(bits: list[int]) -> int:
    return int("".join(map(str, bits)), 2)


def _z_order(point: list[int], width: int) -> int:
    """Bit by bit."""
    return _whole([bit for level in zip(*(_bits(value, width) for value in point), strict=True) for bit in level])


def _cells(width: int, dimensions: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(1 << width), repeat=dimensions))


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
def test_places_on_the_z_order_curve_are_the_bits_in_turn(dimensions: int) -> None:
    points = _points(dimensions)
    rows = [[int(value) for value in row] for row in zip(*points, strict=True)]
    assert _numbers(z_order_places(points)) == [_z_order(row, HIGH) for row in rows]


@pytest.mark.parametrize(("dimensions", "width"), [(2, 1), (2, 5), (3, 3), (4, 2)])
def test_the_hilbert_curve_goes_from_neighbour_to_neighbour_through_every_cell(dimensions: int, width: int) -> None:
    cells = _cells(width, dimensions)
    points = [np.array(column, np.uint64) << np.uint64(HIGH - width) for column in zip(*cells, strict=True)]
    path = [cells[at] for at in curve_order(points, hilbert=True)]
    assert path[0] == (0,) * dimensions and len(set(path)) == len(cells)
    steps = [sum(abs(a - b) for a, b in zip(one, other, strict=True)) for one, other in itertools.pairwise(path)]
    assert set(steps) == {1}
    coarse = [tuple(value >> 1 for value in cell) for cell in path]  # the same curve, one level up
    whole = [key for key, _ in itertools.groupby(coarse)]
    assert len(whole) == len(set(coarse))


def _hilbert(x: int, y: int, width: int) -> int:
    """The place of a cell on Hilbert's curve in the plane, quadrant by quadrant, turned as the curve is there."""
    place, side = 0, 1 << (width - 1)
    while side:
        right, up = int(bool(x & side)), int(bool(y & side))
        place += side * side * ((3 * right) ^ up)
        if not up:
            if right:
                x, y = side - 1 - (x & (side - 1)), side - 1 - (y & (side - 1))
            x, y = y, x
        x, y = x & (side - 1), y & (side - 1)
        side >>= 1
    return place


def test_places_on_the_hilbert_curve_are_those_of_the_plane_all_bits_deep() -> None:
    x, y = _points(2, 300)
    expected = [_hilbert(int(a), int(b), HIGH) for a, b in zip(x, y, strict=True)]
    mirrored = [_hilbert(int(b), int(a), HIGH) for a, b in zip(x, y, strict=True)]
    assert _numbers(hilbert_places([x, y])) in (expected, mirrored)


def test_many_points_are_placed_as_few_are() -> None:
    points = _points(2, 70_000)
    for places in (z_order_places, hilbert_places):
        several = places(points)
        assert [int(word[69_000]) for word in several] == [
            int(word[0]) for word in places([column[69_000:69_001] for column in points])
        ]


# -- rows --------------------------------------------------------------------------------------------------------------

VALUES = {
    "int": pa.array([5, -7, 0, 3, -1, 1 << 30], pa.int32()),
    "long": pa.array([1 << 62, -(1 << 63), 7, -7, 0, 1], pa.int64()),
    "double": pa.array([1.5, -2.5, float("inf"), -0.0, 1e-300, float("-inf")]),
    "float": pa.array([1.5, -2.5, 0.0, 4.0, -4.0, 9.0], pa.float32()),
    "string": pa.array(["b", "", "abcdefgh", "abc", "zz", "ä"]),
    "binary": pa.array([b"\xff", b"", b"\x00", b"a", b"ab", b"b"]),
    "fixed": pa.array([b"ab", b"aa", b"\x00\x00", b"zz", b"a\xff", b"b\x00"], pa.binary(2)),
    "decimal": pa.array([Decimal("1.25"), Decimal("-3"), Decimal(0), Decimal("9.5"), Decimal(7), Decimal("-0.5")]),
    "date": pa.array([date(2020, 1, day) for day in (3, 1, 2, 9, 5, 4)]),
    "timestamp": pa.array([datetime(2020, 1, 1, hour) for hour in (3, 1, 2, 9, 5, 4)], pa.timestamp("us", "UTC")),
    "time": pa.array([3, 1, 2, 9, 5, 4], pa.time32("ms")),
    "boolean": pa.array([True, False, True, False, True, False]),
}


@pytest.mark.parametrize("layout", [LayoutStrategy.ZORDER, LayoutStrategy.HILBERT])
@pytest.mark.parametrize("method", list(CurveBuildMethod))
@pytest.mark.parametrize("kind", VALUES)
def test_a_curve_beside_a_constant_column_is_the_order_of_the_other(
    kind: str, method: CurveBuildMethod, layout: LayoutStrategy
) -> None:
    values = VALUES[kind]
    rows = pa.table({"a": values, "b": pa.array([7] * len(values)), "n": pa.array(range(len(values)))})
    rows = pa.concat_tables([rows.slice(0, 0), rows.slice(0, 2), rows.slice(2)])  # in chunks: none, first and last rows
    expected = rows.sort_by([("a", "ascending"), ("n", "ascending")])
    assert RowOrder(("a", "b"), layout, method).sorted(rows)["a"].to_pylist() == expected["a"].to_pylist()


@pytest.mark.parametrize(
    ("layout", "method", "kind", "first"),
    [
        ("z-order", "DIRECT", "long", False),
        ("z-order", "DIRECT", "string", True),
        ("z-order", "DIRECT", "boolean", True),
        ("z-order", "SAMPLE", "string", False),
        ("hilbert", "DIRECT", "string", False),
        ("hilbert", "DIRECT", "double", False),
    ],
)
def test_nulls_are_at_the_end_where_hudi_has_them(layout: str, method: str, kind: str, first: bool) -> None:
    values = pa.array([None, *VALUES[kind].to_pylist(), None], VALUES[kind].type)
    rows = pa.table({"a": values, "b": pa.array([7] * len(values))})
    order = RowOrder(("a", "b"), LayoutStrategy(layout), CurveBuildMethod(method))
    ordered = order.sorted(rows)["a"].to_pylist()
    greater = [value is not None and value != min(VALUES[kind].to_pylist()) for value in ordered]
    assert None not in (ordered[greater.index(True) :] if first else ordered[:-2])


def test_columns_of_nulls_alone_and_no_rows_are_sorted_too() -> None:
    rows = pa.table({"a": pa.array([None, None], pa.int32()), "b": pa.array([2, 1])})
    order = RowOrder(("a", "b"), LayoutStrategy.ZORDER)
    assert order.sorted(rows)["b"].to_pylist() == [1, 2]
    sampled = RowOrder(("a", "b"), LayoutStrategy.HILBERT, CurveBuildMethod.SAMPLE)
    assert sampled.sorted(rows)["b"].to_pylist() == [1, 2]
    assert order.sorted(rows.slice(0, 0)).num_rows == 0


def _mean_width(rows: pa.Table, name: str, files: int = 64) -> float:
    """How much of a column's values a file spans on average, of all."""
    values = rows[name].to_numpy()
    parts = [part.max() - part.min() for part in np.array_split(values, files)]
    return float(np.mean(parts)) / float(values.max() - values.min())


@pytest.mark.parametrize("layout", [LayoutStrategy.ZORDER, LayoutStrategy.HILBERT])
def test_files_along_a_curve_hold_narrow_ranges_of_both_columns_whatever_their_scale(layout: LayoutStrategy) -> None:
    generator = np.random.default_rng(1)
    number = 20_000
    rows = pa.table({"t": 1_700_000_000_000_000 + generator.permutation(number), "n": generator.permutation(number)})
    order = RowOrder(("t", "n"), layout).sorted(rows)
    linear = RowOrder(("t", "n")).sorted(rows)
    assert _mean_width(linear, "n") > 0.95
    assert _mean_width(order, "t") < 0.3 and _mean_width(order, "n") < 0.3


def test_a_sample_spreads_values_that_are_not_even_the_finer_the_larger_it_is() -> None:
    generator = np.random.default_rng(2)
    number = 20_000
    rows = pa.table(
        {"a": np.exp2(generator.uniform(0, 60, number)).astype(np.int64), "b": generator.permutation(number)}
    )
    place = np.empty(number)
    place[np.argsort(rows["a"].to_numpy())] = np.arange(number)

    def width(method: CurveBuildMethod, size: int = 200_000) -> float:
        order = RowOrder(("a", "b"), LayoutStrategy.ZORDER, method, size)
        return _mean_width(order.sorted(rows.append_column("rank", pa.array(place))), "rank")

    direct, coarse, fine = (
        width(CurveBuildMethod.DIRECT),
        width(CurveBuildMethod.SAMPLE, 4),
        width(CurveBuildMethod.SAMPLE),
    )
    assert fine < 0.3 < coarse and fine < direct / 2


def test_a_plan_keeps_its_order_and_the_options_of_a_run_go_before_it() -> None:
    order = RowOrder(("a", "b"), LayoutStrategy.HILBERT, CurveBuildMethod.SAMPLE, 7)
    assert RowOrder.of_plan(order.params, {}) == order
    assert RowOrder.of_plan(order.params, {options.LAYOUT_STRATEGY.name: "ZORDER"}).layout is LayoutStrategy.ZORDER
    assert RowOrder(("a",)).params == {options.CLUSTERING_SORT_COLUMNS.name: "a"}  # all that Hudi's plans hold
    assert RowOrder.of_plan({}, {}) == RowOrder() and RowOrder().params == {}


def test_columns_without_an_order_are_refused() -> None:
    schema = pa.schema([("a", pa.int32()), ("s", pa.struct([("x", pa.int32())])), ("l", pa.list_(pa.int32()))])
    with pytest.raises(UnknownColumnError):
        RowOrder(("z",)).check(schema, "/t")
    with pytest.raises(UnsupportedTableError):
        RowOrder(("l",)).check(schema, "/t")
    with pytest.raises(UnsupportedTableError):
        RowOrder(("a", "s"), LayoutStrategy.ZORDER).check(schema, "/t")
