"""Rows as they come, made ready to be written: the table's columns and types, keys, partition paths, one row a key.

Arrow tables in and out; nothing goes row by row. What does not fit is refused here, before any file is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import KeyGenerationError, SchemaError, UnknownColumnError
from hudi_hive.names import PARTITION_PATH_COLUMN, RECORD_KEY_COLUMN
from hudi_hive.read.columns import Reconciler, scalar_promotion
from hudi_hive.read.merge import CustomMerge, Ints, fold, log_events
from hudi_hive.schema import META_FIELDS
from hudi_hive.table.keys import KeyGenerator
from hudi_hive.table.logs import LogData, LogRecords, one_batch
from hudi_hive.table.merge import CustomMerger, MergeSpec
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records.carried_keys import carried_keys, names_records
from hudi_hive.write.records.operations import OPERATION
from hudi_hive.write.schema import WriterSchema, normal_schema

RECORD_KEY: Final = RECORD_KEY_COLUMN
PARTITION_PATH: Final = PARTITION_PATH_COLUMN
RECORD_KEY_SCHEMA: Final = pa.schema([(RECORD_KEY, pa.string()), (PARTITION_PATH, pa.string())])


def prepare(
    rows: pa.Table,
    config: WriteConfig,
    generator: KeyGenerator,
    schema: WriterSchema,
    *,
    instant: str | None = None,
    task: int = 0,
    first: int = 0,
) -> pa.Table:
    """Rows of an insert, upsert or overwrite with the columns that the table will have.

    Args:
        rows: as they came; meta columns are left out, missing columns become null. Rows of a table without record key
            fields keep the keys of their records, see :mod:`hudi_hive.write.records.carried_keys`.
        config: the write.
        generator: the table's key generator.
        schema: of :func:`hudi_hive.write.schema.schemas.writer_schema` for the schema of the rows.
        instant, task, first: for keys that are made up, see :meth:`KeyGenerator.record_keys`; without an instant such
            keys are null for now.

    Returns:
        ``_hoodie_record_key``, ``_hoodie_partition_path``, then the columns of ``schema`` in its order.

    Raises:
        SchemaError: a value that does not fit its column, or a null where the table takes none.
        KeyGenerationError: a row without a record key, or without a usable partition path.
        UnknownColumnError: a column of key or partition is missing.
    """
    data = conformed(rows, schema.arrow)
    check_required(data, schema)
    if generator.makes_up_keys and instant is None:
        keys = pa.nulls(data.num_rows, pa.string())
    else:
        keys = generator.record_keys(data, instant=instant, task=task, first=first)
    paths = generator.partition_paths(data)
    generator.check_values(paths)
    if names_records(config, rows.column_names):
        carried, paths = carried_keys(rows, paths)
        keys = pc.coalesce(carried, keys)
    return pa.table([keys, paths, *data.columns], schema=pa.schema([*RECORD_KEY_SCHEMA, *data.schema]))


def prepare_keys(
    rows: pa.Table,
    generator: KeyGenerator,
    table_schema: pa.Schema | None,
    *,
    across_partitions: bool = False,
    once: bool = True,
) -> pa.Table:
    """Keys of records to delete.

    Args:
        rows: with the columns of key and partition, or with the meta columns that hold them already.
        generator: the table's key generator.
        table_schema: the table's columns: values count with its types; None for a table that has none.
        across_partitions: the index finds keys in all partitions: the partition's columns may be missing.
        once: each key once, rather than a line a row.

    Returns:
        :data:`RECORD_KEY_SCHEMA`; the path is null where nothing tells it.

    Raises:
        SchemaError: a value that does not fit the table's type.
        KeyGenerationError: a row without a record key.
        UnknownColumnError: a column of key or partition is missing.
    """
    data = _of_table(rows, table_schema)
    if _has(data, generator.record_fields) and not generator.makes_up_keys:
        keys = generator.record_keys(data)
    elif RECORD_KEY in rows.column_names:
        keys = _checked(rows.column(RECORD_KEY), RECORD_KEY).cast(pa.string()).combine_chunks()
        if keys.null_count:
            raise KeyGenerationError(f"{RECORD_KEY} is null in row {pc.index(pc.is_null(keys), True).as_py()}")
    elif generator.makes_up_keys:
        raise UnknownColumnError(f"keys of the table are in its column {RECORD_KEY} alone, which the rows do not have")
    else:
        keys = generator.record_keys(data)  # tells what is missing
    names = [item.name for item in generator.path_fields]
    carried = generator.makes_up_keys or not _has(data, names)
    if carried and PARTITION_PATH in rows.column_names:
        paths = _checked(rows.column(PARTITION_PATH), PARTITION_PATH).cast(pa.string()).combine_chunks()
        if paths.null_count and not across_partitions:
            raise KeyGenerationError(f"{PARTITION_PATH} is null in row {pc.index(pc.is_null(paths), True).as_py()}")
    elif not _has(data, names) and across_partitions:
        paths = pa.nulls(len(keys), pa.string())
    else:
        paths = generator.partition_paths(data)
    found = pa.table([keys, paths], schema=RECORD_KEY_SCHEMA)
    chosen = _first_rows(found, across_partitions and paths.null_count != 0) if once else None
    return found if chosen is None else found.take(pa.array(chosen))


def combine(
    rows: pa.Table, spec: MergeSpec, *, across_partitions: bool = False, schema: WriterSchema | None = None
) -> pa.Table:
    """One row a key: of several the one that the table's merge mode keeps, as among log records.

    Source: docs/format.md#merge-modes.

    By event time the greatest ordering value is kept, the last one among equals; by commit time the last one. Rows stay
    in their order.

    Args:
        rows: of :func:`prepare`.
        spec: how the table merges.
        across_partitions: a key is one record whatever its partition (global indexes); else each partition has its own.
        schema: the writer's schema, which partial updates need for the defaults of columns.

    Raises:
        UnsupportedTableError: ordering values that cannot be compared.
    """
    keys = rows.column(RECORD_KEY)
    if 0 < keys.null_count < len(keys):  # those without are still to be made up, and stand for themselves
        named = combine(rows.filter(pc.is_valid(keys)), spec, across_partitions=across_partitions, schema=schema)
        return pa.concat_tables([named, rows.filter(pc.is_null(keys))])
    contested = _contested(rows, across_partitions)
    if contested is None:
        return rows
    several, codes = contested
    winners, table = _folded(rows.take(pa.array(several)), codes, spec, schema)
    keep = np.ones(rows.num_rows, np.bool_)
    keep[several] = False
    if table is None:
        keep[several[winners]] = True
        return rows.filter(pa.array(keep))
    single = np.flatnonzero(keep)
    order = np.argsort(np.concatenate([single, several[winners]]), kind="stable")
    return pa.concat_tables([rows.take(pa.array(single)), table]).take(pa.array(order))


def conformed(rows: pa.Table, target: pa.Schema) -> pa.Table:
    """Rows with the columns and types of a schema, in its order; columns that they lack are null.

    Raises:
        SchemaError: a column or a value that cannot become the schema's type.
    """
    plain = _normal(rows)
    reconciler = Reconciler(plain.schema, target, promotion=scalar_promotion)
    batches = [reconciler.apply(batch) for batch in plain.to_batches()]
    return pa.Table.from_batches(batches, schema=target).combine_chunks()


def _normal(rows: pa.Table) -> pa.Table:
    """Columns with types that tables hold, without meta columns."""
    target = normal_schema(rows.schema)
    columns = []
    for item in target:
        column = _checked(rows.column(item.name), item.name)
        if not column.type.equals(item.type):
            try:
                column = _cast(column, item.type)
            except (pa.ArrowException, ValueError) as error:
                raise SchemaError(f"column {item.name!r}: {error}") from error
        columns.append(column)
    return pa.table(columns, schema=target) if columns else rows.select([])


def _checked(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A column whose values are what its type says: texts of UTF-8, offsets within their data.

    Raises:
        SchemaError: they are not; other readers would refuse the files, or show other texts.
    """
    try:
        column.validate(full=True)
    except pa.ArrowException as error:
        raise SchemaError(
            f"column {name!r} holds values that are none of {column.type}: {error}",
            remedy="give text as UTF-8, or the bytes as a column of binary",
        ) from error
    return column


def _cast(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(target) and column.type.tz != target.tz:
        column = column.cast(pa.timestamp(column.type.unit, target.tz))
    return column.cast(target)


def _of_table(rows: pa.Table, table_schema: pa.Schema | None) -> pa.Table:
    """Columns of the rows that the table has, with the table's types."""
    if table_schema is None:
        return _normal(rows)
    present = {name.lower() for name in rows.column_names}
    table_fields = [f for f in table_schema if f.name.lower() in present and f.name not in META_FIELDS]
    if not table_fields:
        return rows.select([])
    lower = {f.name.lower() for f in table_fields}
    chosen = [n for n in rows.column_names if n.lower() in lower]
    return conformed(rows.select(chosen), pa.schema(table_fields))


def _has(rows: pa.Table, names: tuple[str, ...] | list[str]) -> bool:
    return all(name in rows.column_names or name.partition(".")[0] in rows.column_names for name in names)


def check_required(rows: pa.Table, schema: WriterSchema) -> None:
    """Refuse nulls where the table takes none.

    Raises:
        SchemaError: there is one.
    """
    if not schema.required:
        return
    for entry in schema.avro["fields"]:
        for chunk in rows.column(entry["name"]).chunks:
            _check_nulls(entry["type"], chunk, str(entry["name"]))


def _check_nulls(kind: Any, values: pa.Array, column: str) -> None:  # noqa: ANN401 - JSON
    """Below a null of a struct, list or map nothing is asked."""
    branches = kind if isinstance(kind, list) else [kind]
    if values.null_count:
        if not any(branch in ("null", {"type": "null"}) for branch in branches):
            raise SchemaError(f"column {column!r} takes no null, and the rows have {values.null_count} of them")
        values = values.drop_null()
    nested = [branch for branch in branches if isinstance(branch, Mapping)]
    if not nested or len([branch for branch in branches if branch != "null"]) != 1:
        return
    inner = nested[0]
    if inner["type"] == "record" and isinstance(values, pa.StructArray):
        for entry in inner["fields"]:
            child = values.field(values.type.get_field_index(entry["name"]))
            _check_nulls(entry["type"], child, f"{column}.{entry['name']}")
    elif inner["type"] == "array" and pa.types.is_list(values.type):
        _check_nulls(inner["items"], pc.list_flatten(values), f"{column}.element")
    elif inner["type"] == "map" and isinstance(values, pa.MapArray) and len(values):
        first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
        _check_nulls(inner["values"], values.items.slice(first, last - first), f"{column}.value")


def _contested(rows: pa.Table, across_partitions: bool) -> tuple[Ints, Ints] | None:
    """Rows whose key other rows have too, and a number for each of them that is its key's; None if there are none."""
    keys = rows.column(RECORD_KEY).combine_chunks()
    if keys.null_count == len(keys):  # still to be made up
        return None
    coded = keys.dictionary_encode()
    if len(coded.dictionary) == len(keys):
        return None
    key_ids: Ints = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    several = np.flatnonzero((np.bincount(key_ids) > 1)[key_ids])
    key_ids = key_ids[several]
    if not across_partitions:
        paths = rows.column(PARTITION_PATH).combine_chunks().take(pa.array(several))
        path = paths.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        both = np.unique(key_ids * (int(path.max()) + 1) + path, return_inverse=True)[1]
        same = (np.bincount(both) > 1)[both]
        several, key_ids = several[same], both[same].astype(np.int64)
    return (several, key_ids) if len(several) else None


def _first_rows(keys: pa.Table, across_partitions: bool) -> Ints | None:
    """First row of each key; None if no key is there twice."""
    contested = _contested(keys, across_partitions)
    if contested is None:
        return None
    several, key_ids = contested
    keep = np.ones(keys.num_rows, np.bool_)
    keep[several] = False
    keep[several[np.unique(key_ids, return_index=True)[1]]] = True
    first: Ints = np.flatnonzero(keep)
    return first


def _folded(
    rows: pa.Table, key_ids: Ints, spec: MergeSpec, schema: WriterSchema | None
) -> tuple[Ints, pa.Table | None]:
    """The row that is left of each key: its number and, if others lend it values, the row itself."""
    names = pa.array(key_ids).cast(pa.string())
    batch = one_batch(rows.set_column(0, RECORD_KEY, names))
    # Rows of one write are compared before it is known which of them delete.
    plain = replace(spec, key_fields=(), named_key=False, equal_deletes=False)
    block = LogData("", batch, schema.avro if schema is not None else {"fields": []})
    if spec.merger is not None:
        return _folded_by_merger(rows, block, plain, spec.merger)
    folded = fold(LogRecords((block,)), plain, batch.schema, lambda data: data.batch)
    assert folded is not None
    order = np.argsort(folded.row)
    row = folded.row[order]
    if not folded.sources:
        return row, None
    table = rows.take(pa.array(row))
    for name, source in folded.sources.items():
        # Where no row has a value of its own the kept one's stands: the base record's goes before it later.
        if name not in (RECORD_KEY, PARTITION_PATH):
            taken = np.where(source[order] >= 0, source[order], row)
            at = table.schema.get_field_index(name)
            table = table.set_column(at, table.schema.field(at), rows.column(name).take(pa.array(taken)))
    return row, table


def _folded_by_merger(rows: pa.Table, block: LogData, spec: MergeSpec, merger: CustomMerger) -> tuple[Ints, pa.Table]:
    """As :func:`_folded` by a registered merger: the last row of each key with the values that all of them come to."""
    if OPERATION in rows.column_names:
        raise merger.error("does not see several changes of one record in one statement", None)
    events = log_events(LogRecords((block,)), spec, block.batch.schema, lambda data: data.batch)
    assert events is not None
    last = np.zeros(len(events.keys), np.int64)
    last[events.key] = np.arange(len(events.key))
    keys = rows.column(RECORD_KEY).take(pa.array(last)).combine_chunks()
    versions = CustomMerge(replace(events, keys=keys), spec, block.batch.schema).alone(np.arange(len(keys)))
    # A record that is deleted goes on as the row that deletes it.
    deleting = np.full(len(events.keys), -1, np.int64)
    deleting[events.key[events.deletes]] = np.flatnonzero(events.deletes)
    if (versions.deletes & (deleting < 0)).any():
        raise merger.error("deleted records of which a write has several rows, none of them marked as deleted", None)
    row = np.where(versions.deletes, deleting, last)
    order = np.argsort(row)
    merged = pa.Table.from_batches([versions.rows]).set_column(0, RECORD_KEY, keys).cast(rows.schema)
    either = pa.concat_tables([merged, rows])
    chosen = np.where(versions.deletes, len(keys) + row, np.arange(len(keys)))
    return row[order], either.take(pa.array(chosen[order]))
