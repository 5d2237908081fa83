"""Merges changes by key: joins them with a table's rows to records for coordinators, in their order.

The join finds the identifiers that HIVE-10165's coordinators want from their caller; what is done then is told by the
rules in ``merge_rules``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MutationError
from hudi_hive.formats.orc import DELETE
from hudi_hive.metastore.client import DEFAULT_PARTITION
from hudi_hive.mutation.acid_table import AcidColumn, AcidPartition, AcidReader, partition_path, partition_texts
from hudi_hive.mutation.acid_write.merge_rules import (
    Longs,
    MergeClauses,
    MergeRecords,
    MergeRules,
    WhenMatched,
    WhenNotMatched,
)
from hudi_hive.mutation.core import join_values
from hudi_hive.predicate import Dnf, FilterTerm, RowFilter

__all__ = [
    "MergeRecords",
    "WhenMatched",
    "WhenNotMatched",
    "check_keys",
    "check_partition_folders",
    "key_pairs",
    "key_tests",
    "merge",
    "refuse_unregistered",
]

_FEW_VALUES: Final = 1_000


def merge(
    reader: AcidReader,
    changes: pa.Table,
    on: Sequence[str],
    *,
    when_matched: WhenMatched = "update",
    when_not_matched: WhenNotMatched = "insert",
    delete_where: str | Dnf | RowFilter | None = None,
    writer: int = 0,
) -> MergeRecords:
    """Merge changes by key: join them with the table's rows to inserts, updates and deletes.

    Args:
        reader: of the table, under the snapshot of the transaction that will write.
        changes: a row for each key. Columns of the table that it lacks keep their values in updates, and are null in
            inserts. Columns that the table lacks may only be there for ``delete_where``.
        on: the columns of the key. A null in it matches nothing, as in SQL.
        when_matched: update or delete rows whose key is among the changes, or leave them.
        when_not_matched: insert changes whose key the table does not have, or leave them.
        delete_where: a filter on the changes' columns: those that pass delete the rows of their key, whatever
            ``when_matched`` says, and insert nothing.
        writer: where inserts go in a table without buckets, as given to the coordinator.

    Raises:
        MutationError: two changes of one key, or partitions whose rows a coordinator would not find.
        UnknownColumnError: a column that changes or table do not have.
        SchemaError: a key that cannot be joined by, or a type that does not fit the table's.
        MutationError: rows go to a partition that has some already and is not registered in the metastore.
        InvalidOptionError: another word for what is to be done.
    """
    clauses = MergeClauses(when_matched, when_not_matched, delete_where)
    rules = MergeRules(reader.table, tuple(name.lower() for name in on), clauses)
    typed_changes = rules.convert(changes)
    check_keys(typed_changes, rules.on)
    check_partition_folders(reader)
    removing = clauses.removing(changes)
    matched = _matching_rows(reader, typed_changes, rules, whole=not removing.all())
    merged = rules.records(typed_changes, removing, matched, key_pairs(matched, typed_changes, rules.on), writer)
    refuse_unregistered(reader, _inserted_partitions(reader, merged))
    return merged


def _inserted_partitions(reader: AcidReader, merged: MergeRecords) -> Iterable[tuple[str | None, ...]]:
    """The partitions that get rows, each once."""
    keys = reader.table.partition_keys
    rows = merged.records.filter(pa.array(merged.operations != DELETE)) if keys else merged.records.slice(0, 0)
    texts = [partition_texts(key, rows[key.name]) for key in keys]
    distinct = pa.table(texts, [key.name for key in keys]).group_by([key.name for key in keys]).aggregate([])
    return zip(*(column.to_pylist() for column in distinct.columns), strict=True)


def refuse_unregistered(reader: AcidReader, partitions: Iterable[tuple[str | None, ...]]) -> None:
    """Refuse partitions that have rows in the warehouse which the reader has not read, as nobody registered them.

    Args:
        reader: of the table, under the snapshot of the merge.
        partitions: values of partitions that get rows.

    Raises:
        MutationError: it says which; a key that is there would be inserted again.
    """
    known = {partition.values for partition in reader.partitions()}
    for values in partitions:
        path = partition_path(reader.table.key_names, values)
        if values in known or not reader.storage.list(path, missing_ok=True).num_rows:
            continue
        if reader.state(AcidPartition(values, path)).data_files:
            raise MutationError(
                f"partition {path} of {reader.table.qualified_name} has rows and is not registered in the metastore, "
                "so that the merge has not read them",
                path=reader.storage.uri(path),
                remedy="register it before: ALTER TABLE ADD PARTITION, or MSCK REPAIR TABLE",
            )


def check_keys(changes: pa.Table, keys: Sequence[str]) -> None:
    """Refuse two changes of one key.

    Raises:
        MutationError: there are such.
    """
    rows = changes.select(keys).drop_null()
    names = [f"k{place}" for place in range(len(keys))]
    joined = pa.table([*(join_values(rows[key]) for key in keys), pa.array(np.arange(rows.num_rows))], [*names, "row"])
    counts = joined.group_by(names).aggregate([([], "count_all"), ("row", "min")])
    twice = counts.filter(pc.greater(counts["count_all"], 1))
    if twice.num_rows:
        example = rows.slice(twice["row_min"][0].as_py(), 1).to_pylist()[0]
        raise MutationError(
            f"{twice.num_rows} keys come several times in the changes, {example} for one", remedy="give one row per key"
        )


def check_partition_folders(reader: AcidReader) -> None:
    """Refuse partitions whose location is not that of their key values.

    Raises:
        MutationError: it says which.
    """
    for partition in reader.partitions():
        place = partition_path(reader.table.key_names, partition.values)
        # Those of the metastore have URIs, which are found again by their values.
        if ":" not in partition.location and not partition.location.startswith("/") and partition.location != place:
            raise MutationError(
                f"partition {place} of {reader.table.qualified_name} is not in the folder of its name",
                path=partition.location,
            )
        for key, field, text in zip(reader.table.partition_keys, reader.key_schema, partition.values, strict=True):
            if text is None or text == DEFAULT_PARTITION:
                continue
            if _rewritten(text, key, field.type) != text:
                raise MutationError(f"partition value {text!r} of {field.name} is not how Hive writes a {field.type}")


def _rewritten(text: str, key: AcidColumn, kind: pa.DataType) -> str | None:
    """A partition value as it would be written again; None for what is no value of its type."""
    try:
        rewritten: str | None = partition_texts(key, pa.array([text]).cast(kind))[0].as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return rewritten


# -- what is there ----------------------------------------------------------------------------------------------------


def _matching_rows(reader: AcidReader, changes: pa.Table, rules: MergeRules, *, whole: bool) -> pa.Table:
    """Rows of the table whose key columns each have a value of the changes, one batch after the other."""
    keys = rules.on
    values = {key: pc.unique(changes[key]).drop_null() for key in keys}
    columns = rules.needed(changes.schema if whole else rules.schema)
    schema = reader.output_schema(columns)
    if not all(len(distinct) for distinct in values.values()):
        return schema.empty_table()
    tests = [test for key in keys for test in key_tests(key, values[key])]
    most = max(len(distinct) for distinct in values.values())
    joined = {key: pc.unique(join_values(distinct)) for key, distinct in values.items()}
    parts = [schema.empty_table()]
    for part in _gathered(reader.read_batches(columns, tests or None), most):
        mask = np.ones(part.num_rows, np.bool_)
        for key in keys:
            mask &= pc.is_in(join_values(part[key]), value_set=joined[key]).to_numpy(zero_copy_only=False)
        parts.append(part if mask.all() else part.filter(pa.array(mask)))
    return pa.concat_tables(parts).combine_chunks()


def _gathered(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Batches put together until they have so many rows: every look-up among values begins by hashing them all."""
    gathered: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        gathered.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(gathered)
            gathered, count = [], 0
    if gathered:
        yield pa.Table.from_batches(gathered)


def key_tests(key: str, values: pa.Array, complete: bool = True) -> list[FilterTerm]:
    """A row filter that rows with one of the values of a key pass: a list of values, or their range.

    Args:
        key: the column.
        values: values that are wanted, without null.
        complete: whether they are all of them; otherwise, the least and the greatest are among them.
    """
    if pa.types.is_floating(values.type):
        return []  # statistics know no -0.0 and no NaN
    if complete and len(values) <= _FEW_VALUES:
        return [FilterTerm(key, "in", values.to_pylist())]
    if pa.types.is_integer(values.type) or pa.types.is_date(values.type) or pa.types.is_string(values.type):
        ends = pc.min_max(values)
        return [FilterTerm(key, ">=", ends["min"].as_py()), FilterTerm(key, "<=", ends["max"].as_py())]
    return []


def key_pairs(rows: pa.Table, changes: pa.Table, keys: Sequence[str]) -> tuple[Longs, Longs]:
    """Indexes of the rows and changes that have the same key."""
    names = [f"k{place}" for place in range(len(keys))]

    def numbered(table: pa.Table, number: str) -> pa.Table:
        columns = [join_values(table[key]) for key in keys]
        return pa.table([*columns, pa.array(np.arange(table.num_rows))], names=[*names, number])

    joined = numbered(rows, "row").join(numbered(changes, "change"), names, join_type="inner")
    return joined["row"].to_numpy(), joined["change"].to_numpy()
