"""Data skipping with id-based schemas, where the column that a name in statistics stands for depends on the file.

A column that always had one name and one type, and its name to itself, is looked up by name. Of others each file is
asked by the name that the version of its commit gives the column; files of versions without it hold nulls alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import ranges_by_id
from hudi_hive.predicate import ColumnRange, RowFilter, own_columns, walk_outlines
from hudi_hive.schema import EvolvedSchema, InternalField, InternalSchema
from hudi_hive.table import MetaClient
from hudi_hive.table.view import parse_file_names

_VERSION_WITH_INSTANTS: Final = 8
# From this table version on a log file is one commit's, whose time its name tells.


@dataclass(frozen=True, slots=True)
class MovedColumns:
    """Columns that have another name or type in some files.

    Attributes:
        evolved: tells what files call them.
        columns: their names and types in the query.
    """

    evolved: EvolvedSchema
    columns: Mapping[str, pa.DataType]


def stays(evolved: EvolvedSchema, name: str) -> bool:
    """Whether a top-level column has been the same in all versions, and the only one of its name."""
    now = _field_named(evolved.query, name)
    if now is None:
        return False
    for version in evolved.versions:
        then = _field_named(version, name)
        if then is None or then.id != now.id or then.type != now.type:
            return False
    return True


def has_one_meaning(evolved: EvolvedSchema, name: str) -> bool:
    """Whether no version gives the name of a top-level column to another column."""
    now = _field_named(evolved.query, name)
    fields = [_field_named(version, name) for version in evolved.versions]
    return now is not None and all(field is None or field.id == now.id for field in fields)


def may_match_by_version(
    client: MetaClient, evolved: EvolvedSchema, slices: pa.Table, row_filter: RowFilter, path_columns: Sequence[str]
) -> npt.NDArray[np.bool_]:
    """Whether each slice can pass with null for the columns that its base file lacks; slices with log files can."""
    columns = (column for node in walk_outlines(row_filter.root) for column in own_columns(node))
    paths = {column.path for column in columns if column.derived is None}
    from_path = {*path_columns, *client.config.partition_fields}
    file_names = {path: evolved.query.find(".".join(path)) for path in paths if path[0] not in from_path}
    ids = {
        path: field.id for path, field in file_names.items() if field is not None and not any("." in p for p in path)
    }
    alone = pc.and_(
        pc.is_valid(slices.column("base_file")), pc.equal(pc.list_value_length(slices.column("log_files")), 0)
    )
    coded = slices.column("base_instant").combine_chunks().dictionary_encode()
    verdicts = [
        _may_match(row_filter, _absent(evolved.written(instant), ids)) for instant in coded.dictionary.to_pylist()
    ]
    by_instant = pa.array(verdicts, pa.bool_()).take(coded.indices)
    kept = pc.or_(pc.invert(alone), pc.fill_null(by_instant, True))
    return np.asarray(kept.to_numpy(zero_copy_only=False), np.bool_)


def _absent(version: InternalSchema | None, ids: Mapping[tuple[str, ...], int]) -> list[tuple[str, ...]]:
    if version is None:
        return []
    return [path for path, field_id in ids.items() if version.name_of(field_id) is None]


def _may_match(row_filter: RowFilter, absent: Iterable[tuple[str, ...]]) -> bool:
    nothing, one = pa.nulls(1, pa.int64()), pa.array([1], pa.int64())
    ranges = {path: ColumnRange(nothing, nothing, one, one) for path in absent}
    return bool(row_filter.groups_that_may_match(ranges, 1)[0]) if ranges else True


def ranges_by_version(
    client: MetaClient,
    metadata: MetadataTable,
    evolved: EvolvedSchema,
    column: tuple[str, pa.DataType],
    files: pa.Table,
    partitions: Sequence[str] | None,
) -> pa.Table:
    """Statistics of a column of the query, in the form of :meth:`MetadataTable.column_ranges`.

    Args:
        client: the table.
        metadata: its metadata table.
        evolved: the versions, with what the commits of the files say.
        column: its name and type in the query.
        files: columns ``name``, ``base_instant`` and ``is_log``.
        partitions: partition paths to look into; all without it.
    """
    name, kind = column
    now = _field_named(evolved.query, name)
    assert now is not None
    instants = dict(zip(files.column("name").to_pylist(), _instants(client, files), strict=True))
    ranges = ranges_by_id(metadata, evolved, name, kind, instants, partitions)
    absent = [file for file, instant in instants.items() if instant is not None and _lacks(evolved, instant, now)]
    return pa.concat_tables([ranges, _nulls_alone(absent, ranges.schema)]).combine_chunks()


def _lacks(evolved: EvolvedSchema, instant: str, column: InternalField) -> bool:
    version = evolved.written(instant)
    return version is not None and all(field.id != column.id for field in version.fields)


def _nulls_alone(files: Sequence[str], schema: pa.Schema) -> pa.Table:
    """Statistics of files that do not have a column."""
    columns = {name: pa.nulls(len(files), schema.field(name).type) for name in schema.names}
    columns["file_name"] = pa.array(files, pa.string())
    for name in ("null_count", "value_count"):
        columns[name] = pa.repeat(pa.scalar(1, schema.field(name).type), len(files))
    for name in ("total_size", "total_uncompressed_size"):
        columns[name] = pa.repeat(pa.scalar(0, schema.field(name).type), len(files))
    return pa.table(columns, schema=schema)


def _instants(client: MetaClient, files: pa.Table) -> list[str | None]:
    """The commit of each file; None where a file may hold blocks of several."""
    if client.config.version >= _VERSION_WITH_INSTANTS:
        of_logs = parse_file_names(files.column("name")).column("instant").cast(pa.string())
    else:
        of_logs = pa.chunked_array([pa.nulls(files.num_rows, pa.string())])
    instants: list[str | None] = pc.if_else(files.column("is_log"), of_logs, files.column("base_instant")).to_pylist()
    return instants


def _field_named(version: InternalSchema, name: str) -> InternalField | None:
    return next((field for field in version.fields if field.name == name), None)
