"""Checks records of a caller, and converts them to columns: operation, partition, bucket, identifier, row.

Source: the rules of HIVE-10165's coordinator for one record (identifier there, bucket right), applied to whole batches.
The rules that look at more than one record are in ``groups``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import (
    BucketIdError,
    MutationError,
    RecordIdentifierError,
    SchemaError,
    UnknownColumnError,
)
from hudi_hive.formats.hash import bucket_numbers
from hudi_hive.formats.orc import DELETE, INSERT, UPDATE, BucketProperty, parse_hive_type
from hudi_hive.mutation.acid_table import (
    MAX_BUCKETS,
    ROW_ID,
    ROW_ID_TYPE,
    AcidColumn,
    AcidTable,
    partition_texts,
    stored_value,
)
from hudi_hive.mutation.core import holds

Ints = npt.NDArray[np.int64]

_FEW: Final = 8
"""Records to a stretch of one partition, from which on stretches are looked at and not each record."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """Checked records, in the caller's order.

    Args:
        operations: 0, 1 or 2 for each record.
        rows: rows in the table's columns; None if the caller gave none, because all records are deletes.
        write_ids: of the identifiers; -1 for inserts, like the next two.
        properties: bucket properties of the identifiers.
        row_ids: row ids of the identifiers.
        buckets: bucket number of each record.
        partitions: index into ``partition_values`` of each record.
        partition_values: the distinct partitions, each a value (None: Hive's default partition) for each key.
    """

    operations: npt.NDArray[np.int8]
    rows: pa.Table | None
    write_ids: Ints
    properties: Ints
    row_ids: Ints
    buckets: npt.NDArray[np.int32]
    partitions: npt.NDArray[np.int64]
    partition_values: tuple[tuple[str | None, ...], ...]


def read_incoming(
    table: AcidTable,
    data: pa.RecordBatch | pa.Table,
    operations: npt.NDArray[np.int8],
    partition_values: Sequence[str | None] | None,
    writer: int | npt.NDArray[np.int32],
    record_id_column: str = ROW_ID,
) -> Incoming:
    """Check all records of a batch, each by itself.

    Args:
        table: what they are for.
        data: the table's columns, identifiers where rows are updated or deleted, and the partition keys unless
            ``partition_values`` says them.
        operations: one for each record.
        partition_values: of all records; None to take them from the data's columns.
        writer: "bucket" of inserts into a table without buckets, from 0 to 4095; of all, or one for each record.
        record_id_column: the column of identifiers, in any case.

    Raises:
        MutationError: partition values of the wrong number or form, or writers that cannot be.
        UnknownColumnError: a column that the table does not have.
        SchemaError: a missing column, or one of the wrong type.
        RecordIdentifierError: an update or delete without identifier, an insert with one, or one that cannot be.
        BucketIdError: an update whose row belongs into another bucket than its identifier says.
    """
    columns = _columns(table, data, record_id_column, keys_apart=partition_values is not None)
    if len(operations) and not INSERT <= operations.min() <= operations.max() <= DELETE:
        raise MutationError("operations are 0 (insert), 1 (update) and 2 (delete)")
    identifiers = columns.get(record_id_column.lower())
    if identifiers is None and (operations != INSERT).any():
        raise RecordIdentifierError(
            f"updates and deletes need the column {record_id_column}", remedy="read rows with their identifiers"
        )
    write_ids, properties, row_ids = _identifiers(table, identifiers, operations)
    rows = _rows(table, columns, data.num_rows, needed=bool((operations != DELETE).any()))
    buckets = _buckets(table, rows, operations, properties, writer)
    if partition_values is not None:
        partitions = np.zeros(data.num_rows, np.int64)
        distinct: tuple[tuple[str | None, ...], ...] = (check_values(table, partition_values),)
    else:
        partitions, distinct = _partitions(table, columns, data.num_rows)
    return Incoming(operations, rows, write_ids, properties, row_ids, buckets, partitions, distinct)


def check_values(table: AcidTable, values: Sequence[str | None]) -> tuple[str | None, ...]:
    """Convert partition values to the form that the metastore stores.

    Raises:
        MutationError: not one for each key, or one that Hive writes in another way (``01`` for the number 1).
    """
    if isinstance(values, str) or any(value is not None and not isinstance(value, str) for value in values):
        raise MutationError(
            f"partition values {values!r} of {table.qualified_name} are not texts", remedy="give a text or None each"
        )
    if len(values) != len(table.partition_keys):
        raise MutationError(
            f"{len(values)} partition values for {len(table.partition_keys)} partition keys of {table.qualified_name}"
        )
    for key, value in zip(table.partition_keys, values, strict=True):
        _check_value(key, value)
    return tuple(None if value == "" else value for value in values)


def _check_value(key: AcidColumn, value: str | None) -> None:
    if value is None or value == "":
        return
    if value == stored_value(None):
        raise MutationError(f"{value} is what Hive writes for a missing {key.name}", remedy="give None")
    if "\0" in value:
        raise MutationError(f"partition value {value!r} of {key.name} cannot name a folder")
    kind = parse_hive_type(key.type)
    try:
        text = pa.scalar(value).cast(kind.arrow).cast(pa.string()).as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise MutationError(f"partition value {value!r} of {key.name} is no {key.type}: {error}") from error
    written = text if pa.types.is_integer(kind.arrow) or kind.kind in ("date", "boolean") else value
    if kind.kind == "decimal":
        written = format(Decimal(value).normalize(), "f")
    elif kind.kind == "char":
        written = value.rstrip(" ").ljust(kind.length)
    if written != value or (kind.length and len(value) > kind.length):
        raise MutationError(
            f"partition value {value!r} of {key.name} is not how Hive writes a {key.type}",
            remedy="give the value as SHOW PARTITIONS shows it: decimals without zeros at the end, char padded",
        )


def _columns(
    table: AcidTable, data: pa.RecordBatch | pa.Table, record_id_column: str, *, keys_apart: bool
) -> Mapping[str, pa.ChunkedArray]:
    """The data's columns by lower-case name."""
    whole = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
    by_name = dict(zip((name.lower() for name in whole.column_names), whole.columns, strict=True))
    allowed = {column.name for column in table.columns} | {record_id_column.lower()}
    if not keys_apart:
        allowed |= set(table.key_names)
    if len(by_name) < whole.num_columns:
        raise SchemaError(f"columns of records for {table.qualified_name} differ only in case, or not at all")
    unknown = sorted(set(by_name) - allowed)
    if unknown:
        raise UnknownColumnError(f"table {table.qualified_name} has no column {', '.join(unknown)}")
    return by_name


def _identifiers(
    table: AcidTable, column: pa.ChunkedArray | None, operations: npt.NDArray[np.int8]
) -> tuple[Ints, Ints, Ints]:
    """Write ids, bucket properties and row ids; -1 for inserts."""
    identified = operations != INSERT
    none = np.full(len(operations), -1, np.int64)
    if column is None:
        return none, none, none
    parts_of = [field.name.lower() for field in column.type] if pa.types.is_struct(column.type) else []
    # By name and place: two of the three have the same type.
    if not pa.types.is_null(column.type) and parts_of != [field.name for field in ROW_ID_TYPE]:
        raise RecordIdentifierError(f"{ROW_ID} is {column.type}, not {ROW_ID_TYPE}")
    if identified.all() and (identifiers := _complete_identifiers(table, column)) is not None:
        return identifiers
    present = column.combine_chunks().is_valid().to_numpy(zero_copy_only=False)
    if (present & ~identified).any():
        raise RecordIdentifierError(
            f"record {int(np.argmax(present & ~identified))} is an insert and has an identifier",
            remedy="set it to null",
        )
    unknown = pa.types.is_null(column.type)
    parts = [none if unknown else _part(column, place) for place in range(3)]
    write_ids, properties, row_ids = parts
    fits = (write_ids >= 0) & (row_ids >= 0) & (properties >> 29 == 1)
    fits &= write_ids < table.write_id
    _refuse_identifier(table, identified & ~(present & fits), present, parts)
    return write_ids, properties, row_ids


def _complete_identifiers(table: AcidTable, column: pa.ChunkedArray) -> tuple[Ints, Ints, Ints] | None:
    """Identifiers that are all there and right, as most are; None if each must be looked at."""
    array = column.combine_chunks()
    if not isinstance(array, pa.StructArray) or array.type != ROW_ID_TYPE or not len(array) or array.null_count:
        return None
    parts = [array.field(place) for place in range(3)]
    if any(part.null_count for part in parts):
        return None
    write_ids, properties, row_ids = (np.asarray(part).astype(np.int64, copy=False) for part in parts)
    if write_ids.min() < 0 or write_ids.max() >= table.write_id or row_ids.min() < 0:
        return None
    if properties.min() >> 29 != 1 or properties.max() >> 29 != 1:
        return None
    return write_ids, properties, row_ids


def _part(column: pa.ChunkedArray, place: int) -> Ints:
    """One part of the identifiers; -1 where there is none."""
    values = pc.struct_field(column, [place]).fill_null(-1)
    if not pa.types.is_integer(values.type):
        raise RecordIdentifierError(f"{ROW_ID} is {column.type}, not {ROW_ID_TYPE}")
    return np.asarray(values.cast(pa.int64()).to_numpy())


def _refuse_identifier(
    table: AcidTable, wrong: npt.NDArray[np.bool_], present: npt.NDArray[np.bool_], parts: Sequence[Ints]
) -> None:
    if not wrong.any():
        return
    at = int(np.argmax(wrong))
    if not present[at]:
        raise RecordIdentifierError(
            f"record {at} has no identifier, which updates and deletes need", remedy=f"read rows with {ROW_ID}"
        )
    values = tuple(int(part[at]) for part in parts)
    raise RecordIdentifierError(
        f"record {at} has the identifier {values}, which no row of {table.qualified_name} had "
        f"before write id {table.write_id}",
        remedy="read the rows under the snapshot of this transaction",
    )


def _rows(table: AcidTable, columns: Mapping[str, pa.ChunkedArray], count: int, *, needed: bool) -> pa.Table | None:
    """The rows in the table's columns and types."""
    schema = table.row_schema
    missing = [field.name for field in schema if field.name not in columns]
    if missing and not needed:
        return None
    if missing:
        raise SchemaError(f"records for {table.qualified_name} lack the column {', '.join(missing)}")
    arrays = [_cast(table, columns[field.name], field) for field in schema]
    return pa.table(
        arrays, schema=pa.schema([(field.name, array.type) for field, array in zip(schema, arrays, strict=True)])
    )


def _cast(table: AcidTable, array: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if array.type == field.type:
        return array
    if pa.types.is_timestamp(field.type) and pa.types.is_timestamp(array.type) and array.type.tz is None:
        return array  # a unit fits or not value by value: the file has nanoseconds and a wider range than they have
    if not holds(field.type, array.type):
        raise SchemaError(
            f"column {field.name} of {table.qualified_name} is {field.type}, the records' {array.type}",
            remedy="cast it before",
        )
    try:
        return array.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise SchemaError(
            f"column {field.name} of {table.qualified_name} is {field.type}, the records' {array.type}: {error}"
        ) from error


def _buckets(
    table: AcidTable,
    rows: pa.Table | None,
    operations: npt.NDArray[np.int8],
    properties: Ints,
    writer: int | npt.NDArray[np.int32],
) -> npt.NDArray[np.int32]:
    """Where each record belongs: deletes to the bucket of their identifier, all others to that of their columns."""
    decoded = _decoded(table, operations, properties)
    if not table.buckets:
        numbers = np.broadcast_to(np.asarray(writer, np.int32), (len(operations),))
        chosen = np.where(operations == INSERT, numbers, decoded).astype(np.int32)
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < MAX_BUCKETS:
            raise MutationError(f"writers {chosen.min()} to {chosen.max()} are out of range (0 to {MAX_BUCKETS - 1})")
        return chosen
    if rows is None:
        return decoded
    # The columns of deletes may hold anything, so they are left out of what is checked and hashed.
    written = operations != DELETE
    part = rows if written.all() else rows.filter(pa.array(written))
    columns = [part[name].combine_chunks() for name in table.bucket_columns]
    computed = decoded.copy()
    computed[written] = bucket_numbers(columns, table.bucket_types, table.buckets, table.bucketing_version)
    moved = (operations == UPDATE) & (computed != decoded)
    if moved.any():
        at = int(np.argmax(moved))
        raise BucketIdError(
            f"record {at} updates a row of bucket {decoded[at]} and belongs into bucket {computed[at]}",
            remedy="an update cannot change bucketing columns: delete the row and insert another",
        )
    return computed


def _decoded(table: AcidTable, operations: npt.NDArray[np.int8], properties: Ints) -> npt.NDArray[np.int32]:
    """Bucket numbers of the identifiers; -1 for inserts."""
    decoded = np.full(len(operations), -1, np.int32)
    identified = operations != INSERT
    if not identified.any():
        return decoded
    buckets = BucketProperty.decode(properties if identified.all() else properties[identified])[0]
    if table.buckets and buckets.max() >= table.buckets:
        raise BucketIdError(
            f"an identifier is of bucket {buckets.max()}; {table.qualified_name} has {table.buckets} buckets"
        )
    decoded[identified] = buckets
    return decoded


def _partitions(
    table: AcidTable, columns: Mapping[str, pa.ChunkedArray], count: int
) -> tuple[npt.NDArray[np.int64], tuple[tuple[str | None, ...], ...]]:
    """Index of each record's partition, and the partitions, out of the key columns."""
    if not table.partition_keys:
        return np.zeros(count, np.int64), ((),)
    texts: list[pa.Array] = []
    for key in table.partition_keys:
        if key.name not in columns:
            raise SchemaError(
                f"records for {table.qualified_name} lack the partition key {key.name}",
                remedy="give it as a column, or give partition values",
            )
        texts.append(partition_texts(key, columns[key.name]))
    starts = _starts(texts, count)
    if len(starts) <= count // _FEW:
        texts = [text.take(pa.array(starts)) for text in texts]
    numbers = np.zeros(len(texts[0]), np.int64)
    first = numbers[:0]
    for text in texts:
        encoded = text.dictionary_encode(null_encoding="encode")
        numbers = numbers * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
        # Renumbered after each key, so that many keys of many values do not run over.
        first, numbers = _renumbered(numbers)
    values = [text.take(pa.array(first)).to_pylist() for text in texts]
    distinct = tuple(check_values(table, row) for row in zip(*values, strict=True))
    if len(numbers) < count:
        numbers = np.repeat(numbers, np.diff(starts, append=count))
    return numbers.astype(np.int64, copy=False), distinct


def _starts(texts: Sequence[pa.Array], count: int) -> Ints:
    """Places of the first record and of each that has not the texts of the one before it; a null is like no other."""
    same: npt.NDArray[np.bool_] = np.ones(max(0, count - 1), np.bool_)
    for text in texts:
        equal = pc.equal(text.slice(1), text.slice(0, max(0, count - 1))).fill_null(False)
        same &= equal.to_numpy(zero_copy_only=False)
    return np.concatenate([np.zeros(min(1, count), np.int64), np.flatnonzero(~same) + 1])


def _renumbered(numbers: Ints) -> tuple[Ints, Ints]:
    """Where each distinct number is first, and the numbers as places in that list."""
    if not len(numbers) or numbers.max() > 2 * len(numbers):
        _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
        return first, numbers
    place = np.full(int(numbers.max()) + 1, -1, np.int64)
    place[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # of equal ones the last assignment stays
    used = place >= 0
    return place[used], (np.cumsum(used) - 1)[numbers]
