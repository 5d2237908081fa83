"""Makes the records of secondary and expression indexes from rows of the table.

What an action changes in a secondary index is the difference between the rows of the file groups that it touches before
and behind it: so records that only move, as clustering moves them, change nothing.

Source: docs/format.md#secondary-indexes, docs/format.md#expression-indexes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MetadataTableError
from hudi_hive.formats.base import WRAPPERS
from hudi_hive.formats.hash import BloomBuilder, BloomSettings
from hudi_hive.metadata.reader import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    EXPRESSION_PREFIX,
    SECONDARY_PREFIX,
    IndexDefinition,
    MetadataChanges,
    MetadataTable,
    column_key,
    column_type,
    file_key,
    index_definitions,
    indexed_function,
    partition_identifier,
    partition_key,
    secondary_index_keys,
)
from hudi_hive.metadata.writer import records
from hudi_hive.metadata.writer.changed_files import (
    TouchedSlices,
    each_file,
    file_name,
    file_size,
    touched_slices,
)
from hudi_hive.metadata.writer.column_stats import KEYED_STATS_SCHEMA, data_files, deleted_file_stats
from hudi_hive.metadata.writer.records import RecordChanges, Records, join_records
from hudi_hive.metadata.writer.stats_columns import IndexedColumn, indexed_column
from hudi_hive.table import MetaClient
from hudi_hive.table.view import SLICE_SCHEMA

PARTITION_STAT: Final = "__partition_stat__"
"""What stands for a file in the keys of an expression index's records of partitions."""

_KEY: Final = "key"


class RowSource(Protocol):
    """The interface of what reads rows of file slices."""

    def rows(self, client: MetaClient, slices: pa.Table, columns: Sequence[str]) -> pa.Table:
        """Read the merged rows of slices.

        Args:
            client: the table; its timeline tells which log blocks count.
            slices: a table of ``SLICE_SCHEMA``.
            columns: columns to read, fields of structs by dotted names.

        Returns:
            ``key``, the record keys, and the columns.
        """


@dataclass(frozen=True, slots=True)
class ColumnIndexRecords:
    """The secondary and expression indexes of a table, while one action is written or one index is made.

    Attributes:
        now: the table before the action.
        behind: the table as the action leaves it.
        source: reads rows.
        definitions: of the indexes.
    """

    now: MetaClient
    behind: MetaClient
    source: RowSource
    definitions: tuple[IndexDefinition, ...]

    def changes(self, instant: str, changes: MetadataChanges) -> dict[str, RecordChanges]:
        """What an action changes in the indexes, by partition of the metadata table."""
        result: dict[str, RecordChanges] = {}
        secondary = [one for one in self.definitions if one.name.startswith(SECONDARY_PREFIX)]
        others = [one for one in self.definitions if one.name.startswith(EXPRESSION_PREFIX)]
        touched = touched_slices(self.now, changes) if self.definitions else None
        if secondary and touched is not None and changes.moves_rows:
            columns = list(dict.fromkeys(one.columns[0] for one in secondary))
            old = self.source.rows(self.now, touched.before, columns)
            new = self.source.rows(self.behind, touched.behind, columns)
            for one in secondary:
                result[one.name] = self._difference(one, old, new)
        for one in others:
            made = self._expression(one, instant, touched, changes)
            if len(made):
                result[one.name] = RecordChanges(made)
        return result

    def initial(self, definition: IndexDefinition, instant: str, files: pa.Table | None = None) -> Records:
        """All records of an index of the newest slices.

        Args:
            definition: of the index.
            instant: of the last write.
            files: the table's files (``FILES_SCHEMA``); they are listed without.
        """
        slices = self.now.file_system_view(files=files).latest_merged_file_slices()
        if definition.name.startswith(SECONDARY_PREFIX):
            rows = self.source.rows(self.now, slices, definition.columns)
            keys = self._keys(definition, rows)
            return records.secondary_keys(keys, self.now.config.version)
        return self._of_files(definition, instant, each_file(slices), {})

    # -- secondary indexes ---------------------------------------------------------------------------------------

    def _keys(self, definition: IndexDefinition, rows: pa.Table) -> pa.Array:
        values = rows.column(definition.columns[0])
        return secondary_index_keys(_one(values), _one(rows.column(_KEY)), self.now.config.version, definition.name)

    def _difference(self, definition: IndexDefinition, old: pa.Table, new: pa.Table) -> RecordChanges:
        before, after = self._keys(definition, old), self._keys(definition, new)
        added = after.filter(pc.invert(pc.is_in(after, value_set=before))).unique()
        gone = before.filter(pc.invert(pc.is_in(before, value_set=after))).unique()
        return RecordChanges(records.secondary_keys(added, self.now.config.version), gone)

    # -- expression indexes --------------------------------------------------------------------------------------

    def of_partitions(self, definition: IndexDefinition, files: pa.Table) -> Records:
        """What an index of statistics has of whole partitions, from its records of their files.

        Args:
            definition: of the index.
            files: the table's files (``FILES_SCHEMA``).
        """
        if definition.kind != COLUMN_STATS:
            return Records.none()
        column = _indexed(self.behind, definition)
        rows = each_file(self.now.file_system_view(files=files).latest_merged_file_slices())
        names: dict[str, list[str]] = {}
        for row in rows:
            names.setdefault(row["partition"], []).append(file_name(row))
        there = MetadataTable.open(self.now).expression_stats(definition.name, column.name, list(names))
        known = set(there.column("file_name").to_pylist())
        empty = {file_name(row) for row in rows if file_name(row) not in known and self._is_empty(definition, row)}
        wide = self._partition_rows(definition, column, (), names, empty)
        return records.column_stats(wide, records.PARTITION_STATS_TYPE, self.now.config.version)

    def _expression(
        self, definition: IndexDefinition, instant: str, touched: TouchedSlices | None, changes: MetadataChanges
    ) -> Records:
        gone = data_files(changes.files_deleted)
        parts = [self._deleted(definition, instant, gone)]
        if touched is not None:
            parts.append(self._of_files(definition, instant, touched.files, touched.partitions))
        return join_records(parts)

    def _of_files(
        self,
        definition: IndexDefinition,
        instant: str,
        files: Sequence[Mapping[str, Any]],
        partitions: Mapping[str, Sequence[str]] | None,
    ) -> Records:
        """Records of files, and of the partitions that hold them.

        Args:
            definition: of the index.
            instant: the action's.
            files: slices of one file each, as rows.
            partitions: all files of the partitions behind the action; those of ``files`` alone without any.
        """
        every = {(row["partition"], file_name(row)): self._results(definition, row) for row in files}
        results = {key: values for key, values in every.items() if values is not None}
        passing = {path for (path, _), values in every.items() if values is None}
        version = self.now.config.version
        if definition.kind == BLOOM_FILTERS:
            return _filters(definition, results, instant, version)
        column = _indexed(self.behind, definition)
        rows = [
            _stats_row(column, key, file_name(row), results[key], file_size(row))
            for row in files
            if len(results.get(key := (row["partition"], file_name(row)), ()))
        ]
        table = pa.Table.from_pylist([_keyed(column, row) for row in rows], KEYED_STATS_SCHEMA)
        made = records.column_stats(table, records.COLUMN_STATS_TYPE, version)
        empty = {name for (_, name), values in results.items() if not len(values)}
        wide = self._partition_rows(definition, column, rows, partitions, empty, passing)
        return join_records([made, records.column_stats(wide, records.PARTITION_STATS_TYPE, version)])

    def _results(self, definition: IndexDefinition, row: Mapping[str, Any]) -> pa.Array | None:
        """What the function comes to for the rows of one file; None if that may be something else tomorrow.

        A file of which an index has no record is never left out.
        """
        slices = pa.Table.from_pylist([dict(row)], SLICE_SCHEMA)
        rows = self.source.rows(self.behind, slices, definition.columns)
        function = indexed_function(definition)
        assert function is not None  # others are refused before
        values = _one(rows.column(definition.columns[0]))
        return _one(function.of(values, values.type)) if function.is_lasting(values) else None

    def _is_empty(self, definition: IndexDefinition, row: Mapping[str, Any]) -> bool:
        results = self._results(definition, row)
        return results is not None and not len(results)

    def _partition_rows(
        self,
        definition: IndexDefinition,
        column: IndexedColumn,
        rows: Sequence[Mapping[str, Any]],
        partitions: Mapping[str, Sequence[str]] | None,
        empty: set[str],
        passing: Collection[str] = (),
    ) -> pa.Table:
        """Records of partitions: bounds over all their files, a deletion where one of them is not known.

        Args:
            definition, column: the index.
            rows: records of files.
            partitions: as of :meth:`_of_files`.
            empty: names of files without rows.
            passing: partitions with files that have no record.
        """
        by_partition: dict[str, dict[str, Mapping[str, Any]]] = {}
        for row in rows:
            by_partition.setdefault(row["partition"], {})[row["file_name"]] = row
        if (
            partitions and definition.name in self.now.config.metadata_partitions
        ):  # one that is being built tells little
            metadata = MetadataTable.open(self.now)
            known = metadata.expression_stats(definition.name, column.name, list(partitions))
            for row in known.to_pylist():
                owner = next((path for path, names in partitions.items() if row["file_name"] in names), None)
                if owner is not None:
                    by_partition.setdefault(owner, {}).setdefault(row["file_name"], row)
        made = []
        for path in partitions or dict.fromkeys([*by_partition, *passing]):
            here = by_partition.get(path, {})
            names = (partitions or {}).get(path, list(here))
            missing = set(names) - set(here) - empty
            is_unknown = bool(missing) or path in passing
            made.append(_partition_row(column, path, [here[name] for name in names if name in here], is_unknown))
        return pa.Table.from_pylist(made, KEYED_STATS_SCHEMA)

    def _deleted(self, definition: IndexDefinition, instant: str, gone: pa.Table) -> Records:
        version = self.now.config.version
        if definition.kind == COLUMN_STATS:
            table = deleted_file_stats(definition.columns[0], gone)
            return records.column_stats(table, records.COLUMN_STATS_TYPE, version)
        pairs = zip(gone.column("partition").to_pylist(), gone.column("name").to_pylist(), strict=True)
        keys = pa.array([partition_key(path) + file_key(name) for path, name in pairs], pa.string())
        nothing = pa.array([""] * len(keys), pa.string())
        return records.bloom_filters(keys, nothing, nothing, True, instant, version)


def written_definitions(client: MetaClient, partitions: Sequence[str]) -> tuple[IndexDefinition, ...]:
    """The definitions of the secondary and expression indexes among partitions of the metadata table.

    Raises:
        MetadataTableError: one has no definition, or a function or type of column that is not understood.
    """
    names = [name for name in partitions if name.startswith((SECONDARY_PREFIX, EXPRESSION_PREFIX))]
    if not names:
        return ()
    defined = {one.name: one for one in index_definitions(client)}
    written = []
    for name in sorted(names):
        definition = defined.get(name)
        if definition is None or not is_written(client, definition):
            raise MetadataTableError(
                f"the metadata table has the index {name!r}, which is not kept in step: "
                + (
                    "it has no definition" if definition is None else "its function, or the column's type, is not known"
                ),
                path=client.base_path,
                remedy=f"`hudi-hive metadata delete --partition {name}`, or set hoodie.metadata.enable=false",
            )
        written.append(definition)
    return tuple(written)


def is_written(client: MetaClient, definition: IndexDefinition) -> bool:
    """Whether an index of a definition is kept in step: of one column of a type and a function that are understood."""
    if len(definition.columns) != 1 or not client.config.populate_meta_fields or client.config.version < 8:
        return False
    if definition.name.startswith(SECONDARY_PREFIX):
        return definition.function in ("", "identity")
    function = indexed_function(definition)
    if function is None or definition.kind not in (COLUMN_STATS, BLOOM_FILTERS):
        return False
    schema = client.schema()
    try:
        result = function.result_type(column_type(schema, definition.columns[0]))
    except KeyError:
        return False
    if result is None:
        return False
    if definition.kind == BLOOM_FILTERS:
        return bool(pa.types.is_string(result))
    return indexed_column(definition.columns[0], result, client.config.version) is not None


# -- statistics --------------------------------------------------------------------------------------------------------


def _indexed(client: MetaClient, definition: IndexDefinition) -> IndexedColumn:
    function = indexed_function(definition)
    assert function is not None  # others are refused before
    result = function.result_type(column_type(client.schema(), definition.columns[0]))
    assert result is not None
    column = indexed_column(definition.columns[0], result, client.config.version)
    assert column is not None
    return column


def _stats_row(column: IndexedColumn, key: tuple[str, str], name: str, values: pa.Array, size: int) -> dict[str, Any]:
    bounds = pc.min_max(values).as_py()
    if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values), min_count=0).as_py():
        bounds["max"] = float("nan")  # the greatest of all, as in Spark
    return {
        "partition": key[0],
        "file_name": name,
        "min": _wrapped(column, values.type, bounds["min"]),
        "max": _wrapped(column, values.type, bounds["max"]),
        "value_count": len(values) - values.null_count,
        "null_count": values.null_count,
        "total_size": size,
        "total_uncompressed_size": 2 * size,
    }


def _wrapped(column: IndexedColumn, kind: pa.DataType, value: object) -> dict[str, Any] | None:
    if value is None:
        return None
    number: object = value
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        width = pa.int32() if pa.types.is_date(kind) else pa.int64()
        number = pa.array([value], kind).cast(width)[0].as_py()
    return {name: number if name == column.wrapper else None for name in WRAPPERS}


def _keyed(column: IndexedColumn, row: Mapping[str, Any], *, partition: bool = False) -> dict[str, Any]:
    path = row["partition"]
    head = column_key(column.name)
    key = (
        head + column_key(PARTITION_STAT) + partition_key(path)
        if partition
        else head + partition_key(path) + file_key(row["file_name"])
    )
    return {
        **{name: row.get(name) for name in KEYED_STATS_SCHEMA.names},
        "key": key,
        "column": column.name,
        "is_deleted": False,
        "is_tight": partition,
        "value_type": column.ordinal,
        "type_info": column.info,
    }


def _partition_row(
    column: IndexedColumn, path: str, rows: Sequence[Mapping[str, Any]], is_unknown: bool
) -> dict[str, Any]:
    """The record of a partition from those of its files; a deletion where one is not known, or none is there."""
    sums = ("value_count", "null_count", "total_size", "total_uncompressed_size")
    wide: dict[str, Any] = {name: sum(row[name] or 0 for row in rows) for name in sums}
    for side, choose in (("min", min), ("max", max)):
        # Of files with nulls alone Hudi keeps a bound that is null.
        values = [row[side][column.wrapper] for row in rows if row[side] is not None and row["value_count"]]
        chosen = choose(values) if values and None not in values else None
        wide[side] = None if chosen is None else {name: chosen if name == column.wrapper else None for name in WRAPPERS}
    wide |= {"partition": path, "file_name": partition_identifier(path)}
    record = _keyed(column, wide, partition=True)
    if is_unknown or not rows:
        nothing = dict.fromkeys((*sums, "min", "max", "value_type", "type_info"))
        return {**record, **nothing, "is_deleted": True, "is_tight": False}
    return record


# -- filters -----------------------------------------------------------------------------------------------------------


def _filters(
    definition: IndexDefinition, results: Mapping[tuple[str, str], pa.Array], instant: str, version: int
) -> Records:
    """Bloom filters of the results of base files; Hudi takes none of log files, which so are never left out."""
    options = {key.lower(): value for key, value in definition.options.items()}
    defaults = BloomSettings()
    settings = BloomSettings(
        int(options.get("numentries", defaults.entries)),
        float(options.get("fpp", defaults.fpp)),
        int(options.get("maxentries", defaults.max_entries)),
        options.get("filtertype", defaults.kind),
    )
    made: list[tuple[str, str]] = []
    for (path, name), values in results.items():
        if name.startswith(".") or not len(values):
            continue
        builder = BloomBuilder(settings)
        builder.add(values)
        made.append((partition_key(path) + file_key(name), builder.finish().encode()))
    keys, texts = pa.array([key for key, _ in made], pa.string()), pa.array([text for _, text in made], pa.string())
    kinds = pa.array([settings.kind] * len(made), pa.string())
    return records.bloom_filters(keys, kinds, texts, False, instant, version)


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column


__all__ = [
    "PARTITION_STAT",
    "ColumnIndexRecords",
    "RowSource",
    "is_written",
    "written_definitions",
]
