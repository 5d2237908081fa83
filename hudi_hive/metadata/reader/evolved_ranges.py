"""Column statistics of files whose columns had other names or types (RFC-33), as ranges of the columns of now.

Writers of ours keep statistics of all files under the names and types of now, too; others leave them under those of
their version. A name is requested for only where it can be no other column's of the file.

Source: docs/format.md#column-statistics, docs/format.md#id-based-schemas, docs/format.md#type-promotions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.metadata.reader.ranges import typed_ranges
from hudi_hive.metadata.reader.records import STATS_SCHEMA
from hudi_hive.schema import EvolvedSchema, InternalField, InternalSchema, to_arrow

if TYPE_CHECKING:
    from hudi_hive.metadata.reader.table import MetadataTable

_LAST_DAY: Final = 2_932_896
_FIRST_DAY: Final = -719_162
"""Days of the years 1 to 9999, whose texts are in the order of time."""


_MAY_BE_NULL: Final = ("string", "binary")
"""Types whose values may be null in a newer type, so that nothing carries over: texts that are no number or date."""


class Bounds(NamedTuple):
    """The least and the greatest value of each row; null where it is not known."""

    low: pa.Array
    high: pa.Array


def promoted_bounds(bounds: Bounds, kind: pa.DataType) -> Bounds:
    """Bounds of the same values in a newer type; null where they do not follow from those of the older type.

    Readers differ in how they widen floats: bounds that are not exact lie outside of what any may read.

    Args:
        bounds: of the type that files have.
        kind: the newer type.
    """
    low, high = bounds
    then = low.type
    if then == kind:
        return bounds
    if pa.types.is_integer(then) and pa.types.is_integer(kind) and then.bit_width <= kind.bit_width:
        return Bounds(low.cast(kind), high.cast(kind))
    if pa.types.is_integer(then) and pa.types.is_floating(kind):
        exact = then.bit_width == 32 and kind == pa.float64()
        low, high = low.cast(kind, safe=False), high.cast(kind, safe=False)
        return Bounds(low, high) if exact else Bounds(_outward(low, -np.inf), _outward(high, np.inf))
    if then == pa.float32() and kind == pa.float64():
        return Bounds(_outward(low, -np.inf).cast(kind), _outward(high, np.inf).cast(kind))
    if pa.types.is_decimal(kind) and (pa.types.is_integer(then) or pa.types.is_decimal(then)):
        return Bounds(_as_decimals(low, kind), _as_decimals(high, kind))
    if pa.types.is_date(then) and pa.types.is_string(kind):
        return Bounds(_date_texts(low), _date_texts(high))
    return Bounds(pa.nulls(len(low), kind), pa.nulls(len(high), kind))


def _outward(values: pa.Array, to: float) -> pa.Array:
    numbers = np.asarray(pc.fill_null(values, 0).to_numpy(zero_copy_only=False))
    moved = np.nextafter(numbers, numbers.dtype.type(to))
    return pa.array(moved, values.type, mask=np.asarray(values.is_null()))


def _as_decimals(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Whole numbers and decimals as wider decimals; null where one does not fit."""
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        pass
    fitting = []
    for value in values:
        try:
            fitting.append(value.cast(kind).as_py())
        except pa.ArrowInvalid:
            fitting.append(None)
    return pa.array(fitting, kind)


def _date_texts(values: pa.Array) -> pa.Array:
    days = values.cast(pa.int32())
    plain = pc.and_(pc.greater_equal(days, _FIRST_DAY), pc.less_equal(days, _LAST_DAY))
    values = pc.if_else(plain, values, pa.scalar(None, values.type))
    return values.cast(pa.string())


# -- ranges of files by the ids of columns -----------------------------------------------------------------------------


def ranges_by_id(
    metadata: MetadataTable,
    evolved: EvolvedSchema,
    name: str,
    kind: pa.DataType,
    files: Mapping[str, str | None],
    partitions: Sequence[str] | None = None,
) -> pa.Table:
    """Statistics of a top-level column in files of all versions, in the form of :meth:`MetadataTable.column_ranges`.

    Files of versions that lack the column are not in it, nor are those of which nothing is known for sure.

    Args:
        metadata: the metadata table.
        evolved: the versions, with what the commits of the files say; ``name`` is that of its ``query``.
        name: the column's name of now.
        kind: its type of now.
        files: bare names of files -> requested time of the commit that wrote each, None if there may be several.
        partitions: partition paths to look into; all without it.
    """
    now = evolved.query.find(name)
    tables = [typed_ranges(STATS_SCHEMA.empty_table(), kind, "file_name")]
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    requested: dict[InternalSchema, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for file, instant in files.items():
        version = None if instant is None else evolved.written(instant)
        if version is None or now is None:
            continue
        if version not in requested:
            requested[version] = _names_and_types(evolved, version, now.id)
        groups.setdefault(requested[version], []).append(file)
    for (names, types), group in groups.items():
        remaining = group
        for then_named in names:
            table = _ranges_of_types(metadata, then_named, [*_arrow_types(types), kind], remaining, partitions)
            tables.append(table.cast(tables[0].schema))
            there = set(table.column("file_name").to_pylist())
            remaining = [file for file in remaining if file not in there]
            if not remaining:
                break
    return pa.concat_tables(tables)


def _names_and_types(
    evolved: EvolvedSchema, version: InternalSchema, field_id: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names that statistics of a version's files may have for a column and for no other, and its types, oldest first.

    None for a column that the version lacks, and for one whose older values say nothing of the newer ones.
    """
    later = [version, *(v for v in (*evolved.versions, evolved.query) if v.version_id >= version.version_id)]
    named = {v: next((item for item in v.fields if item.id == field_id), None) for v in later}
    first = named[version]
    if first is None:
        return (), ()
    fields = [item for item in named.values() if item is not None]
    types = list(dict.fromkeys(item.type for item in fields if isinstance(item.type, str)))
    if not isinstance(first.type, str) or (first.type in _MAY_BE_NULL and len(types) > 1):
        return (), ()
    others = {item.name for v in later for item in v.fields if item.id != field_id}
    names = dict.fromkeys(item.name for item in fields if item.name not in others)
    if others.isdisjoint({item.name for item in fields} - {first.name}):
        # Another column got the name later. Had a writer carried statistics on, they would be under the other names.
        names[first.name] = None
    return tuple(names), tuple(types)


def _arrow_types(types: Sequence[str]) -> Iterator[pa.DataType]:
    fields = tuple(InternalField(number, f"f{number}", True, text) for number, text in enumerate(types))
    yield from to_arrow(InternalSchema(0, len(fields), fields)).types


def _ranges_of_types(
    metadata: MetadataTable,
    name: str,
    kinds: Sequence[pa.DataType],
    files: Sequence[str],
    partitions: Sequence[str] | None,
) -> pa.Table:
    """Ranges under a name, whose bounds may be of any of some types, as bounds of the last one."""
    kind = kinds[-1]
    result: pa.Table | None = None
    for then in dict.fromkeys(kinds):
        table = metadata.column_ranges({name: then}, files, partitions)[name].combine_chunks()
        sides = promoted_bounds(Bounds(*(_one(table.column(side)) for side in ("min", "max"))), kind)
        for side, values in zip(("min", "max"), sides, strict=True):
            if result is not None:
                values = pc.coalesce(_one(result.column(side)), values)
            table = table.set_column(table.schema.get_field_index(side), side, values)
        result = table
    assert result is not None
    return result


def _one(column: pa.ChunkedArray) -> pa.Array:
    joined = column.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined
