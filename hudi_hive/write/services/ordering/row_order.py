"""The order in which clustering writes the rows of an input group: by columns, or along a space-filling curve.

Coordinates on the curve are whole numbers of 64 bits in the order of the column's values, spread over the range of the
group's values: high bits that all of them share would leave the order to the other columns.

Source: RFC-28, ``SpaceCurveSortingHelper``, ``RangeSampleSort``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnknownColumnError, UnsupportedTableError
from hudi_hive.options import CurveBuildMethod, LayoutStrategy, Option
from hudi_hive.options import services as options
from hudi_hive.write.options import ClusteringSettings
from hudi_hive.write.schema import has_order
from hudi_hive.write.services.ordering.space_curves import BITS, Words, curve_order

SORT_COLUMNS: Final = options.CLUSTERING_SORT_COLUMNS.name
_OF_CURVES: Final[tuple[Option[Any], ...]] = (
    options.LAYOUT_STRATEGY,
    options.CURVE_BUILD_METHOD,
    options.CURVE_SAMPLE_SIZE,
)
_SIGN: Final = np.uint64(1 << (BITS - 1))
_PREFIX: Final = BITS // 8


@dataclass(frozen=True)
class RowOrder:
    """How the rows of an input group are ordered.

    Attributes:
        columns: the sort columns; rows stay as they are read without any.
        layout: by one column after the other, or along a curve.
        build_method: what places values on the curve.
        sample_size: how many rows are sampled where it is by a sample.
    """

    columns: tuple[str, ...] = ()
    layout: LayoutStrategy = LayoutStrategy.LINEAR
    build_method: CurveBuildMethod = CurveBuildMethod.DIRECT
    sample_size: int = options.CURVE_SAMPLE_SIZE.default

    @classmethod
    def of_settings(cls, settings: ClusteringSettings) -> RowOrder:
        """The order that options ask for."""
        return cls(settings.sort_columns, settings.layout, settings.build_method, settings.sample_size)

    @classmethod
    def of_plan(cls, params: Mapping[str, str], texts: Mapping[str, str]) -> RowOrder:
        """The order of a planned clustering.

        Args:
            params: those of the plan's strategy, which name the sort columns. Plans of Hudi say nothing about curves.
            texts: options of the run; what they say about curves counts more than the plan.

        Raises:
            InvalidOptionError: a parameter has a value that its option does not take.
        """
        merged = {**params, **texts}
        columns = options.CLUSTERING_SORT_COLUMNS.of({SORT_COLUMNS: params.get(SORT_COLUMNS, "")})
        return cls(columns, *(option.of(merged) for option in _OF_CURVES))

    @property
    def params(self) -> dict[str, str]:
        """The parameters of a plan's strategy that :meth:`of_plan` takes; of rows in linear order those of Hudi."""
        if not self.columns:
            return {}
        params = {SORT_COLUMNS: ",".join(self.columns)}
        if self.layout.is_curve:
            values = (self.layout, self.build_method, self.sample_size)
            params |= {option.name: str(value) for option, value in zip(_OF_CURVES, values, strict=True)}
        return params

    def check(self, schema: pa.Schema, path: str) -> None:
        """Refuse columns that rows cannot be ordered by.

        Args:
            schema: of the table.
            path: its base path.

        Raises:
            UnknownColumnError: the table has no such column.
            UnsupportedTableError: values of a column's type have no order.
        """
        missing = sorted(set(self.columns) - set(schema.names))
        if missing:
            raise UnknownColumnError(f"the table has no sort column {missing[0]!r}", path=path)
        for name in self.columns:
            kind = schema.field(name).type
            if not has_order(kind) or (self.layout.is_curve and pa.types.is_nested(kind)):
                raise UnsupportedTableError(
                    f"rows are not sorted by column {name!r} of type {kind}", path=path, remedy="name others"
                )

    def sorted(self, rows: pa.Table) -> pa.Table:
        """The rows of an input group in this order; equal ones stay as they are."""
        if not self.columns or not rows.num_rows:
            return rows
        if len(self.columns) == 1 or not self.layout.is_curve:  # a curve through one column is that column's order
            return rows.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in self.columns]))
        points = [self._coordinates(rows.column(name)) for name in self.columns]
        return rows.take(pa.array(curve_order(points, hilbert=self.layout is LayoutStrategy.HILBERT)))

    def _coordinates(self, column: pa.ChunkedArray) -> Words:
        """Coordinates of a column's values; null is the greatest, but for the types where Hudi has it as the least."""
        valid = np.concatenate([chunk.is_valid().to_numpy(zero_copy_only=False) for chunk in column.chunks])
        if self.build_method is CurveBuildMethod.SAMPLE:
            return _spread(_ranks(column, self.sample_size), valid, nulls_first=False)
        words = np.concatenate([_ordered_words(chunk) for chunk in column.chunks])
        return _spread(words, valid, nulls_first=self._has_nulls_first(column.type))

    def _has_nulls_first(self, kind: pa.DataType) -> bool:
        if pa.types.is_boolean(kind):
            return True
        return self.layout is LayoutStrategy.ZORDER and _is_bytes(kind)


def _spread(words: Words, valid: npt.NDArray[np.bool_], *, nulls_first: bool) -> Words:
    """Words less the least of them, moved up to the highest bits; those that are not valid at one end."""
    values = words[valid]
    if not len(values):
        return np.zeros_like(words)
    least, most = int(values.min()), int(values.max())
    free = BITS - (most - least).bit_length()
    spread = (words - np.uint64(least)) << np.uint64(free) if free < BITS else np.zeros_like(words)
    return np.where(valid, spread, np.uint64(0) if nulls_first else ~np.uint64(0))


def _ordered_words(chunk: pa.Array) -> Words:
    """Whole numbers in the order of values: all bits of numbers and times, the first eight bytes of texts."""
    kind = chunk.type
    if _is_bytes(kind):
        return _prefixes(chunk)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers: npt.NDArray[Any] = pc.cast(chunk, pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)  # one zero, and NaN above all
        return np.where(bits & _SIGN, ~bits, bits | _SIGN)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        chunk = pc.cast(chunk, pa.int32())
    whole = pc.cast(chunk, pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return whole.view(np.uint64) ^ _SIGN


def _is_bytes(kind: pa.DataType) -> bool:
    return (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    ) and not pa.types.is_decimal(kind)


def _prefixes(chunk: pa.Array) -> Words:
    """The first eight bytes of each value as a number, zeros behind shorter ones."""
    if not len(chunk):
        return np.empty(0, np.uint64)  # without buffers
    texts = pc.cast(chunk, pa.large_binary())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    words = np.zeros(len(texts), np.uint64)
    for place in range(_PREFIX):
        at = ends[:-1] + place
        byte = np.where(at < ends[1:], content[np.minimum(at, len(content) - 1)], np.uint8(0))
        words |= byte.astype(np.uint64) << np.uint64(8 * (_PREFIX - 1 - place))
    return words


def _ranks(column: pa.ChunkedArray, size: int) -> Words:
    """How many different values of a sample are at most each value.

    Args:
        column: the values.
        size: rows of the sample, which are evenly apart.
    """
    rows = len(column)
    at = np.linspace(0, rows - 1, min(size, rows)).astype(np.int64)
    bounds = pc.drop_null(pc.unique(column.take(pa.array(at))))
    order = np.asarray(pc.sort_indices(pa.chunked_array([bounds, *column.chunks], column.type)))  # stable
    ranks = np.empty(len(order), np.uint64)
    ranks[order] = np.cumsum(order < len(bounds))
    return ranks[len(bounds) :]
