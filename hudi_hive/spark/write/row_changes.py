"""Rows of an upsert that say what each of them is: a row, a row that an update changed in part, or a deletion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.read.merge import ordering_columns
from hudi_hive.schema import META_FIELDS
from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.table.logs import one_batch
from hudi_hive.table.merge import MergeSpec, Order
from hudi_hive.write.files import PARTITION_PATH, POSITION, RECORD_KEY, WriteContext, WriteHandle
from hudi_hive.write.records import DELETE, OPERATION, UPDATE, operation_numbers

OPERATION_FIELD: Final = pa.field(OPERATION, pa.int8())


@dataclass(frozen=True)
class RowChanges:
    """What the rows of an upsert are.

    Attributes:
        column: name of their column that says ``insert``, ``update`` or ``delete``.
        updated: names of the columns that the updates change; none where rows are to be written whole.
        inserts_are_new: the statement has looked for the records of the rows that insert, by the values that their keys
            and partition paths are made of, and the table has none of them in the partitions of the rows.
    """

    column: str
    updated: tuple[str, ...] = ()
    inserts_are_new: bool = False

    def columns_of(self, context: WriteContext) -> tuple[str, ...]:
        """The columns of the log blocks of updated rows; none if those are written whole.

        A block has what orders its records, changed or not.

        Args:
            context: of the write.
        """
        names = [name for name in context.schema.names if name not in META_FIELDS]
        heads = {name.partition(".")[0].lower() for name in (*self.updated, *context.spec.ordering_fields)}
        chosen = [name for name in names if name.lower() in heads]
        whole = context.evolved is not None or len(chosen) == len(names)
        if not self.updated or whole or not takes_partial_updates(context.config):
            return ()
        return (*META_FIELDS, *chosen)


@dataclass(frozen=True)
class StatementRows:
    """What an SQL statement says of the rows that it writes.

    Attributes:
        check: raises if the table, as it is when the commit begins, is not the one that the rows were made of.
        replaces: says of the path of a partition whether an overwrite replaces it, beside those of its rows.
        changes: what the rows of an upsert are; all are rows to put into the table without it.
        carries_places: rows of the table come with the meta columns of their records, which tell their file groups.
    """

    check: Callable[[MetaClient], None] | None = None
    replaces: Callable[[str], bool] | None = None
    changes: RowChanges | None = None
    carries_places: bool = False


def takes_partial_updates(config: TableConfig) -> bool:
    """Whether log blocks of a table may hold the changed columns of rows alone.

    Real Hudi's readers of version 8 put such rows together in tables ordered by event time alone, those of version 9 in
    tables ordered by commit time as well.
    """
    modes = {8: (Order.EVENT_TIME,), 9: (Order.EVENT_TIME, Order.COMMIT_TIME)}.get(config.version, ())
    ordered = (config.merge_mode or "").upper() in {mode.value for mode in modes}
    return config.is_merge_on_read and ordered and config.populate_meta_fields and not config.cdc_enabled


def with_operations(prepared: pa.Table, operations: pa.ChunkedArray) -> pa.Table:
    """Prepared rows with what each of them is, as a number.

    Raises:
        MutationError: another word than ``insert``, ``update`` and ``delete``.
    """
    return prepared.append_column(OPERATION_FIELD, pa.array(operation_numbers(operations), OPERATION_FIELD.type))


def without_replaced_deletes(rows: pa.Table) -> pa.Table:
    """Rows without deletions of records that other rows put there anew."""
    if OPERATION not in rows.column_names:
        return rows
    deletes = pc.equal(rows.column(OPERATION), DELETE).fill_null(False)
    if not pc.any(deletes, min_count=0).as_py():
        return rows
    names = pc.binary_join_element_wise(rows.column(PARTITION_PATH), rows.column(RECORD_KEY), "\x00")
    put = names.filter(pc.invert(deletes)).combine_chunks()
    return rows.filter(pc.invert(pc.and_(deletes, pc.is_in(names, value_set=put))))


class SplitRows(NamedTuple):
    """The lines of a file group by what becomes of them; None for none.

    Attributes:
        rows: those that are written whole.
        updates: those of which a log gets the changed columns.
        deletes: ``record_key``, ``partition_path`` and, in a log that orders by them, ordering values.
    """

    rows: pa.Table | None
    updates: pa.Table | None
    deletes: pa.Table | None


def split_rows(rows: pa.Table, gone: pa.Table, handle: WriteHandle, context: WriteContext) -> SplitRows:
    """Split the lines of a file group.

    Args:
        rows: prepared rows.
        gone: ``record_key`` and ``partition_path`` of records that leave the group for another one; these and rows with
            ``POSITION`` or without.
        handle: what happens to the group.
        context: of the write.
    """
    if OPERATION not in rows.column_names:
        return SplitRows(_some(rows), None, _some(gone))
    operations = rows.column(OPERATION)
    deleted = rows.filter(pc.equal(operations, DELETE).fill_null(False))
    if handle is WriteHandle.APPEND and context.changed_columns:
        updates = rows.filter(pc.equal(operations, UPDATE).fill_null(False))
        rows = rows.filter(pc.invert(pc.is_in(operations, value_set=pa.array([DELETE, UPDATE], pa.int8()))))
    else:
        updates = rows.slice(0, 0)
        rows = rows.filter(pc.not_equal(operations, DELETE).fill_null(True))
    if deleted.num_rows:
        keys = pa.table(
            [deleted.column(RECORD_KEY), deleted.column(PARTITION_PATH)], names=["record_key", "partition_path"]
        )
        if POSITION in deleted.column_names:
            keys = keys.append_column(POSITION, deleted.column(POSITION))
        if handle is WriteHandle.APPEND:
            keys = _with_ordering(keys, deleted, context.spec)
        gone = pa.concat_tables([keys, gone], promote_options="default")
    return SplitRows(_some(rows), _some(updates), _some(gone))


def _with_ordering(keys: pa.Table, rows: pa.Table, spec: MergeSpec) -> pa.Table:
    """Keys of deletions with the values that decide whether they come too late; such without one never do."""
    fields = spec.ordering_fields if spec.needs_ordering else ()
    values = ordering_columns(one_batch(rows), fields)
    complete = pa.repeat(True, rows.num_rows)
    for column in values:
        complete = pc.and_(complete, pc.is_valid(column))
    for name, column in zip(fields, values, strict=True):
        keys = keys.append_column(name, pc.if_else(complete, column, pa.scalar(None, column.type)))
    return keys


def _some(rows: pa.Table) -> pa.Table | None:
    return rows if rows.num_rows else None


__all__ = [
    "OPERATION_FIELD",
    "RowChanges",
    "SplitRows",
    "StatementRows",
    "split_rows",
    "takes_partial_updates",
    "with_operations",
    "without_replaced_deletes",
]
