"""Makes and changes the metastore's structs of tables and partitions by a ``TableSpec``."""

from __future__ import annotations

import copy
import getpass
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from hudi_hive.metastore import FieldSchema, Order, Partition, SerDeInfo, StorageDescriptor, Table
from hudi_hive.sync.diff.changes import NEVER, LastSync
from hudi_hive.sync.table import (
    LAST_COMMIT,
    LAST_COMPLETION,
    MADE_BY_SQL,
    NUM_PARTS,
    Column,
    TableSpec,
    absolute,
    declared_parameters,
    declared_types,
    join,
    qualified_like,
    same_location,
)

_OWN_PARAMETERS = frozenset(
    {
        *(LAST_COMMIT, LAST_COMPLETION, "EXTERNAL", "transient_lastDdlTime", "last_modified_by", "last_modified_time"),
        *("numFiles", "totalSize", "numRows", "rawDataSize", "numFilesErasureCoded", "numPartitions"),
        *("COLUMN_STATS_ACCURATE", "STATS_GENERATED", "STATS_GENERATED_VIA_STATS_TASK", "DO_NOT_UPDATE_STATS"),
    }
)
"""Table parameters of a sync and of the metastore itself."""

_PATH = "path"
_FORMAT_PARAMETER = {"serialization.format": "1"}


def serde_parameters(spec: TableSpec) -> dict[str, str]:
    """The SerDe parameters of a table: those of the spec, the base path, and Hive's constant."""
    return {**spec.serde_parameters, _PATH: spec.base_path, **_FORMAT_PARAMETER}


def existing_columns(fields: Sequence[FieldSchema] | None) -> tuple[Column, ...]:
    """Columns or keys of a metastore table."""
    return tuple(Column(field.name, field.type, field.comment or "") for field in fields or ())


def read_stamp(table: Table) -> LastSync | None:
    """Read the stamp of the last sync of a metastore table; None without a completed sync."""
    parameters = table.parameters or {}
    requested = parameters.get(LAST_COMMIT)
    if not requested or requested == NEVER.requested:
        return None
    return LastSync(requested, parameters.get(LAST_COMPLETION) or None)


def is_hudi(table: Table) -> bool:
    """Whether a metastore table was made for a Hudi table, by a sync or by Spark."""
    parameters, input_format = table.parameters or {}, table.sd.inputFormat or ""
    made_for_hudi = LAST_COMMIT in parameters or parameters.get("spark.sql.sources.provider") == "hudi"
    return made_for_hudi or input_format.startswith(("org.apache.hudi.", "com.uber.hoodie."))


def stamp_parameters(stamp: LastSync | None) -> dict[str, str]:
    """Table parameters of a stamp."""
    if stamp is None:
        return {}
    parameters = {LAST_COMMIT: stamp.requested}
    if stamp.completed is not None:
        parameters[LAST_COMPLETION] = stamp.completed
    return parameters


def new_table(spec: TableSpec, stamp: LastSync | None, replaced: Table | None = None) -> Table:
    """Make the struct of a new table, with the comments of its columns.

    Args:
        spec: the table as it is to be.
        stamp: what to stamp; None: nothing.
        replaced: the table that this one takes the place of: parameters and comments that users gave it live on.
    """
    user_parameters = {} if replaced is None else _user_parameters(replaced)
    comments = (
        {} if replaced is None else {column.name: column.comment for column in existing_columns(replaced.sd.cols)}
    )
    parameters = {**user_parameters, **spec.table_parameters, **stamp_parameters(stamp)}
    if not spec.managed:
        parameters["EXTERNAL"] = "TRUE"
    return Table(
        tableName=spec.name,
        dbName=spec.database,
        owner=_user(),
        createTime=0,
        lastAccessTime=0,
        retention=0,
        sd=_descriptor(spec, spec.base_path, _fields(spec.columns, {**comments, **spec.commented})),
        partitionKeys=_fields(spec.partition_keys, {}),
        parameters=parameters,
        tableType="MANAGED_TABLE" if spec.managed else "EXTERNAL_TABLE",
    )


def _user() -> str:
    """Who runs the sync; in containers a user often has a number and no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return str(os.getuid()) if hasattr(os, "getuid") else ""


def _user_parameters(table: Table) -> dict[str, str]:
    """Parameters that neither a sync nor the metastore set, as far as their names tell."""
    return {
        name: text
        for name, text in (table.parameters or {}).items()
        if name not in _OWN_PARAMETERS and not name.startswith("spark.sql.")
    }


def changed_table(
    existing: Table,
    spec: TableSpec,
    *,
    columns: bool,
    properties: bool,
    stamp: LastSync | None,
    unstamp: bool = False,
    renames: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """Copy a metastore table with the changes of the sync; everything else is kept.

    Args:
        existing: the table as the metastore has it.
        spec: the table as it is to be.
        columns: replace the columns; comments that the sync does not decide about are kept.
        properties: set parameters, SerDe, classes and location.
        stamp: what to stamp; None leaves the stamp as it is.
        unstamp: stamp that no sync was ever finished: until the next stamp a sync will compare everything.
        renames: new names of columns and those that they have in the metastore.
    """
    table = copy.deepcopy(existing)
    table.parameters = dict(table.parameters or {})
    descriptor = table.sd
    if columns:
        descriptor.cols = _fields(spec.columns, {**existing_comments(existing, renames), **spec.commented})
    elif spec.commented:
        for field in descriptor.cols:
            field.comment = spec.commented.get(field.name, field.comment)
    if properties:
        table.parameters |= spec.table_parameters
        for name in outdated_parameters(existing, spec):
            del table.parameters[name]
        if not same_location(descriptor.location or "", spec.base_path):
            descriptor.location = qualified_like(spec.base_path, descriptor.location or "")
        if needs_serde(existing, spec):
            _set_classes(descriptor, spec)
        if needs_buckets(existing, spec):
            _set_buckets(descriptor, spec)
    if unstamp:
        table.parameters.pop(LAST_COMPLETION, None)
        table.parameters |= stamp_parameters(NEVER)
    table.parameters |= stamp_parameters(stamp)
    return table


def needs_serde(existing: Table, spec: TableSpec) -> bool:
    """Whether SerDe parameters or class names differ from the spec; additional parameters are ignored."""
    descriptor = existing.sd
    have = descriptor.serdeInfo.parameters or {}
    classes = (descriptor.inputFormat, descriptor.outputFormat, descriptor.serdeInfo.serializationLib)
    required = (spec.classes.input_format, spec.classes.output_format, spec.classes.serde)
    if _PATH in have and have[_PATH].startswith(("/", spec.base_path.partition("/")[0])):
        # Other tools write the base path as it was given to them, with slashes at its end or double ones.
        have = {**have, _PATH: absolute(have[_PATH])}
    return classes != required or not serde_parameters(spec).items() <= have.items()


def needs_buckets(existing: Table, spec: TableSpec) -> bool:
    """Whether the buckets differ from the spec, if it has any."""
    if spec.buckets is None:
        return False
    have, required = existing.sd, StorageDescriptor()
    _set_buckets(required, spec)
    return (have.numBuckets, have.bucketCols or [], [(item.col, item.order) for item in have.sortCols or []]) != (
        required.numBuckets,
        required.bucketCols,
        [(item.col, item.order) for item in required.sortCols],
    )


def changed_parameters(existing: Table, spec: TableSpec) -> dict[str, str]:
    """Table parameters that are missing or have another value."""
    have = existing.parameters or {}
    return {name: value for name, value in spec.table_parameters.items() if have.get(name) != value}


def outdated_parameters(existing: Table, spec: TableSpec) -> tuple[str, ...]:
    """Table parameters that must go: Spark's schema in one piece.

    Spark writes it when it makes a table itself, and reads it rather than the pieces that a sync keeps in step.
    """
    whole = NUM_PARTS.removesuffix(".numParts")
    return (whole,) if whole in (existing.parameters or {}) and NUM_PARTS in spec.table_parameters else ()


def existing_comments(existing: Table, renames: Mapping[str, str]) -> dict[str, str]:
    """Column comments that the metastore has, of renamed columns under their new names.

    Args:
        existing: the table as the metastore has it.
        renames: new names and those that the metastore has.
    """
    comments = {column.name: column.comment for column in existing_columns(existing.sd.cols)}
    return comments | {new: comments[old] for new, old in renames.items() if old in comments}


def with_declared_columns(
    existing: Table, spec: TableSpec, renames: Mapping[str, str], *, made_by_sql: bool = False
) -> TableSpec:
    """The spec with Spark's schema as statements declared it, where ``CREATE TABLE`` made the table.

    Spark shows columns from there. The catalog alone has comments of ``CREATE TABLE``: a column without one in the
    table's schema keeps its own; and times without a zone, which a sync registers as numbers, stay what they are, and
    are such in new columns.

    Args:
        existing: the table as the metastore has it.
        spec: the table as it is to be.
        renames: as of :func:`changed_table`.
        made_by_sql: ``CREATE TABLE`` made this or another of the table's names.
    """
    types = declared_types(existing.parameters or {})
    types |= {new: types[old] for new, old in renames.items() if old in types}
    new_types = spec.declared_types if made_by_sql else {}
    if not is_made_by_sql(existing):
        return replace(spec, table_parameters=declared_parameters(spec.table_parameters, {}, types, new_types))
    keys = {column.name: column.comment for column in existing_columns(existing.partitionKeys)}
    commented = {name: text for name, text in spec.commented.items() if text}
    comments = {**existing_comments(existing, renames), **keys, **commented}
    parameters = declared_parameters(spec.table_parameters, comments, types, new_types)
    return replace(spec, table_parameters=parameters, commented=commented)


def with_new_columns(spec: TableSpec) -> TableSpec:
    """The spec of a name that is to be made beside one that ``CREATE TABLE`` made, with what statements declare."""
    return replace(spec, table_parameters=declared_parameters(spec.table_parameters, {}, {}, spec.declared_types))


def is_made_by_sql(existing: Table) -> bool:
    """Whether ``CREATE TABLE`` made a table of the metastore, and not a sync."""
    return MADE_BY_SQL in (existing.parameters or {})


def changed_comments(existing: Table, spec: TableSpec) -> dict[str, str]:
    """Comments that differ from what they should be, of columns that are there already."""
    comments = {column.name: column.comment for column in existing_columns(existing.sd.cols)}
    return {name: text for name, text in spec.commented.items() if name in comments and comments[name] != text}


def new_partitions(
    spec: TableSpec, rows: Iterable[tuple[Sequence[str], str]], comments: Mapping[str, str], *, fresh: bool
) -> list[Partition]:
    """Make the structs of new partitions.

    They share the structs of their columns: many partitions of a wide table would else have millions of them.

    Args:
        spec: the table that they belong to.
        rows: of each partition one value per partition key, and its path relative to the base path.
        comments: column name -> comment, as the table has them.
        fresh: the table was made in the same sync: partitions then have the parameters asked for and no more.
    """
    columns = _fields(spec.columns, comments)
    partitions = []
    for values, path in rows:
        descriptor = _descriptor(spec, join(spec.base_path, path), columns)
        if fresh:
            descriptor.serdeInfo.parameters = {**spec.serde_parameters, **_FORMAT_PARAMETER}
        partition = Partition(
            values=list(values),
            dbName=spec.database,
            tableName=spec.name,
            createTime=0,
            lastAccessTime=0,
            sd=descriptor,
            parameters={},
        )
        partitions.append(partition)
    return partitions


def moved_partition(existing: Partition, spec: TableSpec, path: str, comments: Mapping[str, str]) -> Partition:
    """Copy a partition with a new location and the table's columns and classes; its parameters are kept."""
    partition = copy.deepcopy(existing)
    location = qualified_like(join(spec.base_path, path), partition.sd.location or "")
    partition.sd = _descriptor(spec, location, _fields(spec.columns, comments))
    return partition


def _descriptor(spec: TableSpec, location: str, columns: list[FieldSchema]) -> StorageDescriptor:
    descriptor = StorageDescriptor(
        cols=columns,
        location=location,
        compressed=False,
        numBuckets=0,
        bucketCols=[],
        sortCols=[],
        parameters={},
        serdeInfo=SerDeInfo(),
    )
    _set_classes(descriptor, spec)
    _set_buckets(descriptor, spec)
    return descriptor


def _set_buckets(descriptor: StorageDescriptor, spec: TableSpec) -> None:
    if spec.buckets is not None:
        descriptor.numBuckets = spec.buckets.count
        descriptor.bucketCols = list(spec.buckets.columns)
        descriptor.sortCols = [Order(col=name, order=int(ascending)) for name, ascending in spec.buckets.sorted_by]


def _set_classes(descriptor: StorageDescriptor, spec: TableSpec) -> None:
    descriptor.inputFormat = spec.classes.input_format
    descriptor.outputFormat = spec.classes.output_format
    descriptor.serdeInfo.serializationLib = spec.classes.serde
    descriptor.serdeInfo.parameters = serde_parameters(spec)


def _fields(columns: Sequence[Column], comments: Mapping[str, str]) -> list[FieldSchema]:
    return [FieldSchema(name=item.name, type=item.type, comment=comments.get(item.name, "")) for item in columns]
