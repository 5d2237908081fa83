"""Selects the columns of the statistics indexes, and how the bounds of each are kept.

Source: docs/format.md#column-statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from hudi_hive.errors import UnknownColumnError
from hudi_hive.metadata.reader import column_type, index_definitions
from hudi_hive.names import COMMIT_TIME_COLUMN, PARTITION_PATH_COLUMN, RECORD_KEY_COLUMN
from hudi_hive.options import write
from hudi_hive.schema import META_FIELDS, InternalSchema, to_arrow
from hudi_hive.table import MetaClient

_ALWAYS: Final = (COMMIT_TIME_COLUMN, PARTITION_PATH_COLUMN, RECORD_KEY_COLUMN)
_SCALE: Final = 15


@dataclass(frozen=True, slots=True)
class IndexedColumn:
    """A column of the statistics indexes.

    Attributes:
        name: its name, dotted for a field of structs.
        wrapper: record that its bounds are in.
        ordinal: what version 9 says of its type, else None.
        info: what it adds to that: precision and scale of a decimal.
        type: its type in the table.
    """

    name: str
    wrapper: str
    ordinal: int | None
    info: str | None
    type: pa.DataType

    @property
    def decimal(self) -> pa.Decimal32Type | pa.Decimal64Type | pa.Decimal128Type | pa.Decimal256Type | None:
        """Its type, if it is a decimal."""
        return self.type if pa.types.is_decimal(self.type) else None


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of the statistics indexes, and what files of one version of an id-based schema call it.

    Attributes:
        now: the column as it is in the table's newest schema.
        then: what it is in the files; None where they have no statistics of it.
        is_absent: the version does not have it, so that it is null in the files' rows.
    """

    now: IndexedColumn
    then: IndexedColumn | None
    is_absent: bool = False


def file_columns(
    columns: Sequence[IndexedColumn], newest: InternalSchema, then: InternalSchema, version: int
) -> tuple[FileColumn, ...]:
    """The columns of the statistics indexes as files of one version of an id-based schema have them.

    Args:
        columns: the columns as they are now.
        newest: the newest version of the schema.
        then: the version of the files.
        version: table version.
    """
    schema = to_arrow(then)
    result = []
    for column in columns:
        item = newest.find(column.name)
        name = column.name if item is None else then.name_of(item.id)
        if item is not None and name is None:
            result.append(FileColumn(column, None, is_absent=True))
            continue
        found = None if name is None else then.find(name)
        if found == item or (found is not None and item is not None and (name, found.type) == (column.name, item.type)):
            result.append(FileColumn(column, column))
            continue
        assert name is not None
        try:
            result.append(FileColumn(column, indexed_column(name, column_type(schema, name), version)))
        except UnknownColumnError:
            result.append(FileColumn(column, None))
    return tuple(result)


def indexed_columns(
    client: MetaClient, schema: pa.Schema, options: Mapping[str, str], versions: Sequence[InternalSchema] = ()
) -> tuple[IndexedColumn, ...]:
    """The columns of the statistics indexes: those of the index definition, else those of the options.

    Args:
        client: the table.
        schema: the table's schema, meta columns in front.
        options: Hudi's write options.
        versions: of the id-based schema, the newest first, by which a column of the definition is followed.
    """
    version = client.config.version
    defined = next((item for item in index_definitions(client) if item.name == "column_stats"), None)
    if defined is not None:
        column_names: Sequence[str] = current_names(defined.columns, versions)
    else:
        column_names = _chosen(schema, version, options)
    if not client.config.populate_meta_fields:
        # No file has the meta columns: all would lack a range.
        column_names = [name for name in column_names if name not in META_FIELDS]
    indexed = []
    for name in column_names:
        try:
            column = indexed_column(name, column_type(schema, name), version)
        except UnknownColumnError:
            continue  # dropped since
        if column is not None:
            indexed.append(column)
    return tuple(indexed)


def current_names(names: Sequence[str], versions: Sequence[InternalSchema]) -> list[str]:
    """Names of columns, and what these and those that had any of the names are called now.

    The definition of the statistics only grows, since nothing tells which version's names are in it; a name that no
    column has does no harm.

    Args:
        names: names of columns now or before.
        versions: of the id-based schema, the newest first.
    """
    current = list(names)
    for name in current:  # grows meanwhile
        for version in versions:
            field = version.find(name)
            renamed = None if field is None else versions[0].name_of(field.id)
            if renamed is not None and renamed not in current:
                current.append(renamed)
    return current


def _chosen(schema: pa.Schema, version: int, options: Mapping[str, str]) -> list[str]:
    """Names of columns without a definition: version 6 keeps every column, later ones the first 32."""
    data = [field.name for field in schema if field.name not in META_FIELDS]
    listed = list(write.COLUMN_STATS_COLUMNS.of(options))
    if version < 8:
        return listed or [field.name for field in schema]
    data = [name for name in data if indexed_column(name, schema.field(name).type, version) is not None]
    meta = [name for name in _ALWAYS if name in schema.names]
    return meta + (listed or data[: write.COLUMN_STATS_MAX_COLUMNS.of(options)])


def indexed_column(name: str, kind: pa.DataType, version: int) -> IndexedColumn | None:
    """How a column's bounds are kept; None for types that have none."""
    simple = _simple(kind, version)
    if simple is None:
        return None
    wrapper, ordinal, info = simple
    return IndexedColumn(name, wrapper, ordinal if version >= 9 else None, info if version >= 9 else None, kind)


def _simple(kind: pa.DataType, version: int) -> tuple[str, int, str | None] | None:
    typed = version >= 9
    if pa.types.is_timestamp(kind):
        first = {"ms": 15, "us": 16, "ns": 17}.get(kind.unit)
        return None if first is None else ("LongWrapper", first if kind.tz else first + 3, None)
    if pa.types.is_date(kind):
        return "IntWrapper" if typed else "DateWrapper", 12, None
    if pa.types.is_decimal(kind):
        if typed:
            return "BytesWrapper", 10, f"{kind.precision},{kind.scale}"
        fits = kind.scale <= _SCALE and kind.precision - kind.scale <= _SCALE
        return ("DecimalWrapper", 0, None) if fits else None
    tests = (
        (pa.types.is_boolean, "BooleanWrapper", 2),
        (pa.types.is_int32, "IntWrapper", 3),
        (pa.types.is_int64, "LongWrapper", 4),
        (pa.types.is_float32, "FloatWrapper", 5),
        (pa.types.is_float64, "DoubleWrapper", 6),
        (pa.types.is_string, "StringWrapper", 7),
    )
    return next(((wrapper, ordinal, None) for test, wrapper, ordinal in tests if test(kind)), None)
