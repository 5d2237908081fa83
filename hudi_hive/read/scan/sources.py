"""Finds the sources of the columns of a plan: the partition path, or a file column of an older name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from hudi_hive.errors import PartitionValueError, SchemaError
from hudi_hive.plan.model import ScanPlan
from hudi_hive.read.columns import ColumnMapping
from hudi_hive.schema import EvolvedSchema, FieldSource, InternalSchema, field_sources, is_identity
from hudi_hive.table import TableConfig
from hudi_hive.table.keys import partition_value_columns


def partition_columns(plan: ScanPlan, files: pa.Table) -> pa.Table | None:
    """Typed partition values of each file: those that files lack, or else all that are in the path.

    Args:
        plan: the plan that the files are of.
        files: a table with a column ``partition``.

    Raises:
        SchemaError: a value that must come from the path is none of the column's type.
    """
    schema = plan.schema if plan.table_schema is None else plan.table_schema
    fields = [name for name in plan.partition_fields if name in schema.names]
    if not fields or not files.num_rows:
        return None
    try:
        texts = partition_value_columns(
            files.column("partition"),
            plan.partition_fields,
            hive_style=plan.hive_style,
            url_encoded=plan.url_encoded,
        )
    except PartitionValueError:
        if plan.path_columns:
            raise
        return None  # the files hold the columns
    columns: dict[str, pa.ChunkedArray] = {}
    for name in plan.path_columns or fields:
        kind = schema.field(name).type
        try:
            columns[name] = texts.column(name).cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            if plan.path_columns:
                raise SchemaError(
                    f"the partition path's value of column {name!r} is no {kind}: {error}", path=plan.base_path
                ) from error
    return pa.table(columns) if columns else None


def skeleton_columns(config: TableConfig, partition: str, schema: pa.Schema) -> pa.Table | None:
    """Typed partition values of a skeleton, for columns that its source file lacks; None where the path tells none.

    Args:
        config: of the table.
        partition: the skeleton's partition path.
        schema: columns of the table.
    """
    fields = [name for name in config.partition_fields if name in schema.names]
    if not fields:
        return None
    try:
        texts = partition_value_columns(
            pa.array([partition]),
            config.partition_fields,
            hive_style=config.hive_style_partitioning,
            url_encoded=config.url_encode_partitioning,
        )
        return pa.table({name: texts.column(name).cast(schema.field(name).type) for name in fields})
    except (PartitionValueError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None  # a source file without the column is refused when it is read


def mapping_at(evolved: EvolvedSchema | None, instant: str, path: str | None = None) -> ColumnMapping | None:
    """The column names of the query in files and log blocks of a commit; None where they are the same.

    Args:
        evolved: the versions; None where columns go by name.
        instant: requested time of the commit.
        path: the file, for messages.

    Raises:
        SchemaError: columns have ids, and nothing tells which the commit's are.
    """
    if evolved is None:
        return None
    if evolved.is_lost(instant):
        raise SchemaError(
            "the history of the table's columns is lost: nothing tells what the files of this commit call them",
            path=path,
            instant=instant,
            remedy="restore .hoodie/.schema, or match columns by name: hoodie.schema.on.read.enable=false",
        )
    return evolved.of_version(instant, _mapping_of_version)


def shown_schema(schema: Mapping[str, Any], mapping: ColumnMapping) -> Mapping[str, Any]:
    """A block's Avro schema with the column names of the query, without columns that the query lacks."""
    names = {source.lower(): name for name, source in mapping.sources.items() if source is not None}
    taken = {name.lower() for name in mapping.sources}
    fields = []
    for item in schema["fields"]:
        lower = item["name"].lower()
        if lower in names:
            fields.append({**item, "name": names[lower]})
        elif lower not in taken:
            fields.append(item)
    return {**schema, "fields": fields}


def source_names(evolved: EvolvedSchema | None, names: Sequence[str]) -> list[str]:
    """All names that columns have or had, the current ones first."""
    sources = dict.fromkeys(names)
    for version in evolved.versions if evolved is not None else ():
        before = {item.id: item.name for item in version.fields}
        assert evolved is not None
        sources.update(
            dict.fromkeys(before[f.id] for f in evolved.query.fields if f.name in sources and f.id in before)
        )
    return list(sources)


def _mapping_of_version(evolved: EvolvedSchema, written: InternalSchema | None) -> ColumnMapping | None:
    if written is None:
        return None
    sources = field_sources(evolved.query, written)
    return None if is_identity(sources) else _mapping(sources)


def _mapping(sources: Mapping[str, FieldSource]) -> ColumnMapping:
    return ColumnMapping(
        sources={name: source.name for name, source in sources.items()},
        nested={name: _mapping(source.children) for name, source in sources.items() if source.children},
    )
