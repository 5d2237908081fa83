"""Statistics of tables whose columns have ids, under the names and types of now.

Readers of Hudi look for the statistics of a column under its name of now, with bounds of its type of now, and take a
file without them to hold nulls alone. So when columns change, the statistics of all files and partitions are written
again: under the new name, with bounds that hold for the new type, if need be by being wider than they were. What stood
under a name that another column has now is deleted.

Source: docs/format.md#column-statistics, docs/format.md#id-based-schemas.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.base import WRAPPED, WRAPPERS
from hudi_hive.metadata.reader import (
    COLUMN_STATS,
    PARTITION_STATS,
    RANGES_SCHEMA,
    Bounds,
    MetadataChanges,
    MetadataTable,
    partition_identifier,
    promoted_bounds,
    ranges_by_id,
)
from hudi_hive.metadata.writer.column_stats import (
    Statistics,
    bound_values,
    deleted_file_stats,
    deleted_partition_stats,
    file_statistics,
    partition_statistics,
    statistics,
    tight,
)
from hudi_hive.metadata.writer.records import unscaled
from hudi_hive.metadata.writer.stats_columns import FileColumn, IndexedColumn, file_columns
from hudi_hive.names import RECORD_KEY_COLUMN
from hudi_hive.schema import EvolvedSchema, InternalField, InternalSchema
from hudi_hive.table import MetaClient
from hudi_hive.table.view import FileKind, parse_file_names

_FIRST_DAY: Final = -719_528
_LAST_DAY: Final = 2_932_896
"""Days of the year 0 and of the last one of 9999, between which texts of dates are."""

_VERSION_WITH_TIGHT_BOUNDS: Final = 8
"""From this table version on a record can take the place of another, and a log file is one commit's."""

_COUNTS: Final = pa.schema([("file_name", pa.string()), ("value_count", pa.int64())])

_SECONDS_OF_YEAR_1: Final = -62_135_596_800
_SECONDS_OF_YEAR_10000: Final = 253_402_300_800
_UNITS: Final[Mapping[str, int]] = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

_AFTER_NUMBERS: Final = "~"
"""A text behind those of all numbers and dates."""

_AFTER_ALL: Final = "\U0010ffff"


class EvolvedStatistics:
    """Makes the statistics of actions on a table whose columns have ids.

    Args:
        client: the table.
        columns: the columns of the statistics indexes, as they are called now.
        versions: of the schema, the newest first, that which an action makes among them.
    """

    def __init__(
        self, client: MetaClient, columns: Sequence[IndexedColumn], versions: Sequence[InternalSchema]
    ) -> None:
        self._client = client
        self._columns = columns
        self._versions = versions
        self._evolved = EvolvedSchema(versions[0], tuple(reversed(versions)))
        self._of_fields: dict[tuple[InternalField, ...], tuple[FileColumn, ...]] = {}

    def file_columns(self, instants: Collection[str]) -> dict[str, tuple[FileColumn, ...]]:
        """The columns of the indexes as files of commits have them, by requested time."""
        evolved = self._evolved.with_commits(self._client.commit_schemas(instants))
        return {instant: self._of_version(evolved.written(instant) or self._versions[0]) for instant in instants}

    def _of_version(self, version: InternalSchema) -> tuple[FileColumn, ...]:
        if version.fields not in self._of_fields:
            columns = file_columns(self._columns, self._versions[0], version, self._client.config.version)
            self._of_fields[version.fields] = columns
        return self._of_fields[version.fields]

    def of_action(self, changes: MetadataChanges, instant: str | None) -> Statistics:
        """Statistics of what an action changes.

        Args:
            changes: what it changes.
            instant: requested time of the action, which wrote its files with the version of then; None for one that
                wrote them with the newest version.
        """
        columns = self._of_version(self._versions[0]) if instant is None else self.file_columns([instant])[instant]
        if all(column.then is column.now for column in columns):
            return statistics(changes, self._columns, former_names=self._former_names())
        changes = replace(changes, ranges=ranges_of_now(changes.ranges, columns))
        return statistics(changes, self._columns, former_names=self._former_names())

    def with_change(self, made: Statistics, changes: MetadataChanges, before: Collection[str]) -> Statistics:
        """Add what a change of columns, the newest version, makes of statistics that are there.

        Args:
            made: the statistics of the action that makes the change; its files have the newest version.
            changes: what the action changes.
            before: partitions of the metadata table, of the statistics', that were there before.
        """
        columns = self._of_version(self._versions[1])
        changed = [column for column in columns if column.then is not column.now]
        metadata = MetadataTable.open(self._client)
        files, partitions = made.files, made.partitions
        if COLUMN_STATS in before:
            files = pa.concat_tables([*self._changed_files(metadata, columns), files])
        if PARTITION_STATS in before and changed:
            now = [column.now for column in changed]
            names = pa.array([column.name for column in now], pa.string())
            carried = carried_ranges(metadata, changed)
            ranges = changes.ranges.filter(pc.is_in(changes.ranges.column("column"), value_set=names))
            rows = partition_statistics(pa.concat_tables([carried, ranges]), now)
            paths = carried.column("partition").unique().to_pylist()
            rows = tight(rows, [partition_identifier(path) for path in paths])
            others = partitions.filter(pc.invert(pc.is_in(partitions.column("column"), value_set=names)))
            gone = [column.then.name for column in changed if column.then is not None]
            gone = [name for name in gone if name not in {column.name for column in self._columns}]
            partitions = pa.concat_tables([others, rows, *_deleted_partitions(metadata, gone)])
        return Statistics(files, partitions, made.complete)

    def _changed_files(self, metadata: MetadataTable, columns: Sequence[FileColumn]) -> list[pa.Table]:
        """Records of files for columns that change: those of before as they are now, and nulls where they lack one."""
        changed = self._to_be_written(columns)
        names = list(dict.fromkeys([*(column.name for column in self._columns), *self._former_names()]))
        stats = metadata.column_ranges(dict.fromkeys(names, pa.string())) if changed else {}
        counts = pa.concat_tables(
            [table.select(["file_name", "value_count"]) for table in stats.values()] or [_COUNTS.empty_table()]
        )
        counts = counts.group_by("file_name", use_threads=False).aggregate([("value_count", "max")])
        listing = metadata.files_table()
        listing = listing.filter(pc.is_in(listing.column("name"), value_set=_one(counts.column("file_name"))))
        instants = dict(zip(listing.column("name").to_pylist(), _instants(self._client, listing), strict=True))
        times = {instant for instant in instants.values() if instant is not None}
        evolved = self._evolved.with_commits(self._client.commit_schemas(times))
        if self._client.config.version < _VERSION_WITH_TIGHT_BOUNDS:
            return self._added_files(metadata, evolved, changed, listing, instants, stats)
        result = []
        for column in changed:
            name = column.now.name
            lacking = pa.array([self._lacks(evolved, name, instant) for instant in instants.values()], pa.bool_())
            absent, present = listing.filter(lacking), listing.filter(pc.invert(lacking))
            ranges = ranges_by_id(metadata, evolved, name, column.now.type, instants)
            nulls = _nulls_alone(column.now, absent, counts)
            rows = file_statistics(pa.concat_tables([_of_files(column.now, present, ranges), nulls]), column.now)
            result.append(tight(rows, list(instants)))
        return result

    def _added_files(
        self,
        metadata: MetadataTable,
        evolved: EvolvedSchema,
        changed: Sequence[FileColumn],
        listing: pa.Table,
        instants: Mapping[str, str | None],
        stats: Mapping[str, pa.Table],
    ) -> list[pa.Table]:
        """The same for versions in which records only widen what stands under their key.

        Bounds of an older type under the same name stay, since real Hudi then prunes nothing. Files with statistics of
        another column under the name lose all of theirs, as do log files, which may yet grow by values of the new type.
        """
        lost: set[str] = set()
        written, deleted = [], []
        for column in changed:
            name = column.now.name
            lacking = {file for file, instant in instants.items() if self._lacks(evolved, name, instant)}
            there = set(stats[name].column("file_name").to_pylist()) & set(instants)
            deleted += [(name, file) for file in there & lacking]
            same = column.then is not None and column.then.name == name
            lost |= {file for file in there - lacking if not same or instants[file] is None}
            fresh = pa.array(sorted(set(instants) - there - lacking), pa.string())
            ranges = ranges_by_id(metadata, evolved, name, column.now.type, instants)
            new = listing.filter(pc.is_in(listing.column("name"), value_set=fresh))
            written.append(file_statistics(_of_files(column.now, new, ranges), column.now))
        gone = pa.array(sorted(lost), pa.string())
        rows = [table.filter(pc.invert(pc.is_in(table.column("file_name"), value_set=gone))) for table in written]
        for name, table in stats.items():
            files = sorted(
                {file for file in table.column("file_name").to_pylist() if file in lost or (name, file) in deleted}
            )
            chosen = pc.is_in(listing.column("name"), value_set=pa.array(files, pa.string()))
            rows.append(deleted_file_stats(name, listing.filter(chosen)))
        return rows

    def _to_be_written(self, columns: Sequence[FileColumn]) -> list[FileColumn]:
        """Columns that change, and those that once had a name which changing ones get.

        Statistics of theirs, which other writers left under that name, would be lost.
        """
        names = {column.now.name for column in columns if column.then is not column.now}

        def former(column: FileColumn) -> set[str | None]:
            item = self._versions[0].find(column.now.name)
            return set() if item is None else {version.name_of(item.id) for version in self._versions}

        return [column for column in columns if names and not names.isdisjoint({column.now.name, *former(column)})]

    def _lacks(self, evolved: EvolvedSchema, name: str, instant: str | None) -> bool:
        """Whether files of a commit surely do not have a column of now."""
        item = self._versions[0].find(name)
        version = None if instant is None or item is None else evolved.written(instant)
        return version is not None and item is not None and version.name_of(item.id) is None

    def _former_names(self) -> list[str]:
        """What the columns of the indexes were called in earlier versions."""
        ids = {item.id for column in self._columns if (item := self._versions[0].find(column.name)) is not None}
        names = [version.name_of(field_id) for version in self._versions[1:] for field_id in ids]
        return list(dict.fromkeys(name for name in names if name is not None))


# -- bounds of another type --------------------------------------------------------------------------------------------


def converted(bounds: Bounds, kind: pa.DataType) -> Bounds:
    """Bounds that hold for the same values in a newer type, if need be wider ones; null stays null."""
    then = bounds.low.type
    if then == kind:
        return bounds
    promoted, widest = promoted_bounds(bounds, kind), extremes(kind, then)
    sides = zip(bounds, promoted, widest, strict=True)
    return Bounds(*(pc.if_else(pc.and_(old.is_valid(), new.is_null()), wide[0], new) for old, new, wide in sides))


def extremes(kind: pa.DataType, then: pa.DataType | None = None) -> Bounds:
    """Bounds, one row, outside of which there is no value of a type; those of timestamps are their numbers.

    Args:
        kind: the type.
        then: the type that the values had before; None if that is not known.
    """
    if pa.types.is_boolean(kind):
        return Bounds(pa.array([False]), pa.array([True]))
    if pa.types.is_integer(kind):
        edge = np.iinfo(kind.to_pandas_dtype())
        return Bounds(pa.array([edge.min], kind), pa.array([edge.max], kind))
    if pa.types.is_floating(kind):
        return Bounds(pa.array([-np.inf], kind), pa.array([np.inf], kind))
    if pa.types.is_decimal(kind):
        digits = (9,) * kind.precision
        low, high = (Decimal((sign, digits, -kind.scale)) for sign in (1, 0))
        return Bounds(pa.array([low], kind), pa.array([high], kind))
    if pa.types.is_date(kind):
        return Bounds(pa.array([_FIRST_DAY], pa.int32()).cast(kind), pa.array([_LAST_DAY], pa.int32()).cast(kind))
    if pa.types.is_timestamp(kind):
        edges = (_SECONDS_OF_YEAR_1 * _UNITS[kind.unit], _SECONDS_OF_YEAR_10000 * _UNITS[kind.unit])
        return Bounds(*(pa.array([edge], pa.int64()) for edge in edges))
    numbers = then is not None and not pa.types.is_binary(then) and not pa.types.is_string(then)
    return Bounds(pa.array([""], pa.string()), pa.array([_AFTER_NUMBERS if numbers else _AFTER_ALL], pa.string()))


def _wrapped(values: pa.Array, column: IndexedColumn) -> pa.StructArray:
    """Values of a column's type as ``WRAPPED``."""
    wrapper = column.wrapper
    if column.decimal is not None:
        wrapper, values = "BytesWrapper", unscaled(values.cast(pa.decimal128(38, column.decimal.scale)))
    elif pa.types.is_date(column.type):
        values = values.cast(pa.int32())
    values = values.cast(WRAPPERS[wrapper])
    arrays = [values if name == wrapper else pa.nulls(len(values), kind) for name, kind in WRAPPERS.items()]
    return pa.StructArray.from_arrays(arrays, fields=list(WRAPPED), mask=pc.is_null(values))


# -- ranges under names and types of now -------------------------------------------------------------------------------


def ranges_of_now(ranges: pa.Table, columns: Sequence[FileColumn]) -> pa.Table:
    """Ranges of files of one version (``RANGES_SCHEMA``) under the names of now, with bounds of the types of now."""
    parts = [RANGES_SCHEMA.empty_table()]
    for column in columns:
        if column.then is not None:
            table = ranges.filter(pc.equal(ranges.column("column"), column.then.name))
            parts.append(table if column.then is column.now else _as_now(table, column.then, column.now))
        else:
            parts.append(_without_bounds(ranges, column))
    return pa.concat_tables(parts)


def _as_now(table: pa.Table, then: IndexedColumn, now: IndexedColumn) -> pa.Table:
    table = table.combine_chunks()
    if then.type != now.type:
        sides = [bound_values(_one(table.column(side)), then) for side in ("min", "max")]
        for side, values in zip(("min", "max"), converted(Bounds(*sides), now.type), strict=True):
            table = table.set_column(table.schema.get_field_index(side), side, _wrapped(values, now))
    names = pa.array([now.name] * table.num_rows, pa.string())
    return table.set_column(table.schema.get_field_index("column"), "column", names)


def _without_bounds(ranges: pa.Table, column: FileColumn) -> pa.Table:
    """Ranges of a column of which files have none: nulls alone where they lack the column, else anything."""
    files = ranges.group_by(["partition", "name"], use_threads=False).aggregate([("value_count", "max")])
    rows = _one(files.column("value_count_max"))
    return _range_table(
        column.now,
        _one(files.column("partition")),
        _one(files.column("name")),
        None if column.is_absent else Bounds(*(_repeated(side, len(rows)) for side in extremes(column.now.type))),
        rows if column.is_absent else pc.add(rows, 1),
        rows if column.is_absent else pa.array(np.ones(len(rows), np.int64)),
    )


def _range_table(
    column: IndexedColumn, partitions: pa.Array, names: pa.Array, bounds: Bounds | None, rows: pa.Array, nulls: pa.Array
) -> pa.Table:
    count = len(partitions)
    sides = dict.fromkeys(("min", "max"), pa.nulls(count, WRAPPED))
    if bounds is not None:
        sides = {side: _wrapped(values, column) for side, values in zip(("min", "max"), bounds, strict=True)}
    zero = pa.array(np.zeros(count, np.int64))
    filled = {
        "partition": partitions,
        "name": names,
        "column": pa.array([column.name] * count, pa.string()),
        **sides,
        "value_count": rows,
        "null_count": nulls,
        "total_size": zero,
        "total_uncompressed_size": zero,
    }
    return pa.table([filled[name] for name in RANGES_SCHEMA.names], schema=RANGES_SCHEMA)


def _repeated(value: pa.Array, count: int) -> pa.Array:
    return value.take(pa.array(np.zeros(count, np.int64)))


def _one(column: pa.ChunkedArray) -> pa.Array:
    joined = column.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


# -- a change of columns -----------------------------------------------------------------------------------------------


def carried_ranges(metadata: MetadataTable, columns: Sequence[FileColumn]) -> pa.Table:
    """What partitions hold of columns that change, by their statistics of before, as ranges (``RANGES_SCHEMA``).

    Args:
        metadata: the metadata table before the change.
        columns: the changed columns; ``then`` is what they were in the version before.
    """
    kinds = {column.then.name: column.then.type for column in columns if column.then is not None}
    tables = metadata.partition_ranges({RECORD_KEY_COLUMN: pa.string(), **kinds})
    everywhere = tables[RECORD_KEY_COLUMN].combine_chunks()
    partitions, totals = _one(everywhere.column("partition")), _one(everywhere.column("value_count"))
    no_names = pa.array([""] * len(partitions), pa.string())
    parts = [RANGES_SCHEMA.empty_table()]
    for column in columns:
        if column.is_absent:
            parts.append(_range_table(column.now, partitions, no_names, None, totals, totals))
        else:
            before = None if column.then is None else tables[column.then.name].combine_chunks()
            parts.append(_carried(column, before, partitions, totals))
    return pa.concat_tables(parts)


def _carried(column: FileColumn, before: pa.Table | None, partitions: pa.Array, totals: pa.Array) -> pa.Table:
    """The ranges of one column: those of before where they tell of all rows, else wider than any value."""
    no_names = pa.array([""] * len(partitions), pa.string())
    if before is None:
        nothing = pa.nulls(len(partitions), pa.int64())
        bounds = Bounds(*(pa.nulls(len(partitions), side.type) for side in extremes(column.now.type)))
        return _filled_ranges(column.now, partitions, no_names, bounds, nothing, nothing)
    place = pc.index_in(partitions, value_set=_one(before.column("partition")))
    rows, nulls = (_one(before.column(name)).take(place) for name in ("value_count", "null_count"))
    sides = converted(Bounds(*(_one(before.column(side)).take(place) for side in ("min", "max"))), column.now.type)
    rows = pc.if_else(pc.fill_null(pc.equal(rows, totals), False), rows, pa.scalar(None, pa.int64()))
    return _filled_ranges(column.now, partitions, no_names, Bounds(*map(_untyped, sides)), rows, nulls)


def _filled_ranges(
    column: IndexedColumn, partitions: pa.Array, names: pa.Array, bounds: Bounds, rows: pa.Array, nulls: pa.Array
) -> pa.Table:
    """Ranges with bounds that are wider than any value where there are none, though there are values, or no counts."""
    widest = Bounds(*(_repeated(side, len(partitions)) for side in extremes(column.type)))
    counted = pc.and_(rows.is_valid(), nulls.is_valid())
    alone = pc.fill_null(pc.equal(rows, nulls), False)
    bounded = pc.and_(counted, pc.or_(alone, pc.and_(bounds.low.is_valid(), bounds.high.is_valid())))
    sides = (pc.if_else(bounded, own, wide) for own, wide in zip(bounds, widest, strict=True))
    # Of a column with neither bounds nor counts: that it has null as well as values.
    rows, nulls = pc.if_else(counted, rows, 2), pc.if_else(counted, nulls, 1)
    return _range_table(column, partitions, names, Bounds(*sides), rows, nulls)


def _untyped(values: pa.Array) -> pa.Array:
    """Timestamps as the numbers that their bounds are."""
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def _deleted_partitions(metadata: MetadataTable, columns: Sequence[str]) -> list[pa.Table]:
    """Records that delete the statistics of partitions under names that no column has now."""
    tables = metadata.partition_ranges(dict.fromkeys(columns, pa.string())) if columns else {}
    return [deleted_partition_stats(name, table.column("partition").to_pylist()) for name, table in tables.items()]


def _instants(client: MetaClient, files: pa.Table) -> list[str | None]:
    """The commit of each file; None where a file may hold blocks of several."""
    parts = parse_file_names(files.column("name"))
    instants: list[str | None] = parts.column("instant").cast(pa.string()).to_pylist()
    if client.config.version >= _VERSION_WITH_TIGHT_BOUNDS:
        return instants
    logs = pc.equal(parts.column("kind"), FileKind.LOG.value).to_pylist()
    return [None if log else time for log, time in zip(logs, instants, strict=True)]


def _nulls_alone(column: IndexedColumn, files: pa.Table, counts: pa.Table) -> pa.Table:
    """Ranges of a column that files lack."""
    place = pc.index_in(_one(files.column("name")), value_set=_one(counts.column("file_name")))
    rows = _one(counts.column("value_count_max")).take(place)
    partitions, names = (_one(files.column(name)) for name in ("partition", "name"))
    return _range_table(column, partitions, names, None, rows, rows)


def _of_files(column: IndexedColumn, files: pa.Table, ranges: pa.Table) -> pa.Table:
    """Ranges of a column in files: those that are there, and wider than any value for the others."""
    ranges = ranges.combine_chunks()
    place = pc.index_in(_one(files.column("name")), value_set=_one(ranges.column("file_name")))
    rows, nulls = (_one(ranges.column(name)).take(place) for name in ("value_count", "null_count"))
    low, high = (_untyped(_one(ranges.column(side)).take(place)) for side in ("min", "max"))
    partitions, names = (_one(files.column(name)) for name in ("partition", "name"))
    return _filled_ranges(column, partitions, names, Bounds(low, high), rows, nulls)
