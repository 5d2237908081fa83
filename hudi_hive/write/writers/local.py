"""Writing without an engine: Arrow tables in, one commit out; for data that fits into memory.

Rows are prepared, their records are looked up by the index, each is given a file group, and each group's file is
written by a task. The same parts make up the writers of engines, which shuffle rows where this one takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import REPLACE_COMMIT
from hudi_hive.write.commit import WriteTransaction
from hudi_hive.write.coordination import TableLock, TaskExecutor
from hudi_hive.write.files import DELETES_SCHEMA, PARTITION_PATH, POSITION, RECORD_KEY, RECORD_LOCATIONS, FileGroupId
from hudi_hive.write.index import BucketIndex, open_index
from hudi_hive.write.options import DuplicatePolicy, Operation, WriteConfig
from hudi_hive.write.records import KeyedRecords, prepare_deletes, prepare_records
from hudi_hive.write.writers.base import Writer, refuse_sort_columns
from hudi_hive.write.writers.file_groups import (
    FileGroupPlan,
    locate_in_file_groups,
    newest_slices,
    refuse_clustered_groups,
)
from hudi_hive.write.writers.report import WriteReport


class LocalWriter(Writer[pa.Table]):
    """Writes Arrow tables to one Hudi table.

    Args:
        client: the table.
        options: Hudi's write options; the table's own properties need not be repeated.
        executor: where tasks run; threads of this process without it.
        lock: the table's lock; that of the options without it.
        extra: extra metadata of the commits.

    Raises:
        InvalidOptionError: an option is unknown, not supported, or contradicts the table.
        UnsupportedTableError: the table is of a kind that is not written.
    """

    def __init__(
        self,
        client: MetaClient,
        options: Mapping[str, Any] | None = None,
        *,
        executor: TaskExecutor | None = None,
        lock: TableLock | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        config = WriteConfig.of(options or {}, client.config)
        super().__init__(client, config, executor=executor, lock=lock, extra=extra)

    def _begin(self, rows: pa.Table) -> None:
        self.client = self.client.reload()  # others may have added columns since the table was opened

    def _column_names(self, rows: pa.Table) -> Sequence[str]:
        names: list[str] = rows.column_names
        return names

    @contextmanager
    def _transaction(self, precondition: Callable[[MetaClient], None] | None = None) -> Iterator[WriteTransaction]:
        """A transaction on the table as it was just read, whose base files are read once."""
        transaction = self.transaction(precondition=precondition, recent=True)
        with self.client.storage.small_files.cached(), transaction:
            yield transaction

    def _insert(self, rows: pa.Table) -> WriteReport:
        records = prepare_records(self.client, self.config, rows)
        refuse_sort_columns(self.config, records.rows.schema, self.client.base_path)
        partitions = records.partitions()
        precondition = partial(self.refuse_nested, partitions=partitions)
        with self._transaction(precondition=precondition) as transaction:
            client = transaction.client
            records = records.at(transaction.instant)
            if self.config.operation is Operation.BULK_INSERT:
                records = replace(records, rows=_sorted(records.rows, self.config))
            context = self.write_context(transaction, records)
            index = open_index(self.config, client)
            updates = self.updates_records(index)
            tags = index.tag(records.index_keys(), self.executor) if updates or self.drops_duplicates else None
            if tags is not None:
                tags = self._without_duplicates(tags) if self.drops_duplicates else tags
                records = records.where_tagged(client, tags)
            slices = newest_slices(client, _partitions(records, tags)) if self.fills_small_groups(index) else None
            located = self._locate(client, records, tags, slices, updates=updates)
            groups = FileGroupPlan.of(client, slices, located.small_groups, can_index_log_files=index.assigns_inserts)
            refuse_clustered_groups(client, located.locations, located.deletes)
            tasks = groups.write_tasks(records.rows, located.locations, located.deletes)
            statuses = self.write_files(transaction, context, tasks)
            return self.commit_files(transaction, statuses, records.schema_text)

    def _overwrite(self, rows: pa.Table) -> WriteReport:
        self.refuse_consistent_overwrite(open_index(self.config, self.client))
        records = prepare_records(self.client, self.config, rows)
        partitions = records.partitions()
        precondition = partial(self.refuse_nested, partitions=partitions)
        with self.transaction(REPLACE_COMMIT, precondition=precondition, recent=True) as transaction:
            client = transaction.client
            records = records.at(transaction.instant)
            context = self.write_context(transaction, records)
            replaced = self.replaced_groups(client, records.partitions())
            index = open_index(self.config, client)
            tags = None
            if isinstance(index, BucketIndex):
                index.start_anew(records.partitions())
                tags = index.tag(records.index_keys(), self.executor)
            located = self._locate(client, records, tags, None, updates=False)
            groups = FileGroupPlan.of(client, None, located.small_groups)
            tasks = groups.write_tasks(records.rows, located.locations, located.deletes)
            statuses = self.write_files(transaction, context, tasks)
            return self.commit_files(transaction, statuses, records.schema_text, replaced)

    def _delete(self, rows: pa.Table) -> WriteReport:
        records = prepare_deletes(self.client, self.config, rows)
        with self._transaction() as transaction:
            client = transaction.client
            records = records.at(transaction.instant)
            context = self.write_context(transaction, records)
            index = open_index(self.config, client)
            tags = index.tag(records.index_keys(deleted=True), self.executor)
            deletes = _deletes(records, tags.filter(pc.is_valid(tags.column("current_file_id"))))
            slices = newest_slices(client, pc.unique(deletes.column("partition")).to_pylist())
            refuse_clustered_groups(client, deletes)
            groups = FileGroupPlan.of(client, slices, can_index_log_files=index.assigns_inserts)
            tasks = groups.write_tasks(records.rows, RECORD_LOCATIONS.empty_table(), deletes)
            statuses = self.write_files(transaction, context, tasks)
            return self.commit_files(transaction, statuses, records.schema_text)

    def _without_duplicates(self, tags: pa.Table) -> pa.Table:
        """Tags of rows whose records the table does not have; an error for others if the policy says so."""
        exists = pc.is_valid(tags.column("current_file_id"))
        if self.config.duplicate_policy is DuplicatePolicy.FAIL and pc.any(exists).as_py():
            raise self.duplicates_error(pc.sum(exists).as_py())
        return tags.filter(pc.invert(exists))

    def _locate(
        self,
        client: MetaClient,
        records: KeyedRecords,
        tags: pa.Table | None,
        slices: pa.Table | None,
        *,
        updates: bool,
    ) -> _Located:
        """Locate all rows: in the groups of their records, in those that the index assigns, or in any."""
        marked = records.marked()
        updated, deletes = RECORD_LOCATIONS.empty_table(), DELETES_SCHEMA.empty_table()
        assigned: pa.Table = RECORD_LOCATIONS.empty_table()
        if tags is None:
            new = np.arange(records.rows.num_rows)
        else:
            tags = tags.combine_chunks()
            inserts = tags
            if updates:
                has_group = pc.is_valid(tags.column("file_id"))
                updated = _tagged_locations(tags.filter(has_group), "file_id", new=False)
                moved = pc.not_equal(tags.column("current_partition"), tags.column("partition")).fill_null(False)
                deletes = _deletes(records, tags.filter(moved))
                inserts = tags.filter(pc.invert(has_group))
            inserts = inserts.filter(pc.invert(marked.take(inserts.column("row"))))
            is_assigned = pc.is_valid(inserts.column("new_file_id"))
            assigned = _tagged_locations(inserts.filter(is_assigned), "new_file_id", new=True)
            new = inserts.filter(pc.invert(is_assigned)).column("row").to_numpy()
        if pc.any(marked).as_py():
            new = new[~marked.to_numpy(zero_copy_only=False)[new]]
        paths = records.rows.column(PARTITION_PATH)
        partitions = (paths if tags is None and len(new) == len(paths) else paths.take(pa.array(new))).combine_chunks()
        inserted = locate_in_file_groups(client, self.config, partitions, new, slices)
        some = [table for table in (updated, assigned) if table.num_rows]  # whose dictionaries are to be unified
        locations = pa.concat_tables([*some, inserted.locations], promote_options="default")
        return _Located(locations, deletes, inserted.small_groups)


class _Located(NamedTuple):
    """Where rows go (``RECORD_LOCATIONS``), what is deleted elsewhere, and the small groups that take new rows."""

    locations: pa.Table
    deletes: pa.Table
    small_groups: frozenset[FileGroupId]


def _deletes(records: KeyedRecords, tags: pa.Table) -> pa.Table:
    """Deletes of the tagged records from the groups that they are in (``DELETES_SCHEMA``)."""
    keys = records.rows.column(RECORD_KEY).take(tags.column("row"))
    places = [tags.column("current_partition"), tags.column("current_file_id")]
    return _with_positions(pa.table([keys, *places], schema=DELETES_SCHEMA), tags)


def _partitions(records: KeyedRecords, tags: pa.Table | None) -> list[str]:
    """Partitions that rows go to or leave."""
    paths = dict.fromkeys(records.partitions())
    if tags is not None:
        paths |= dict.fromkeys(pc.unique(tags.column("current_partition").drop_null()).to_pylist())
    return list(paths)


def _sorted(rows: pa.Table, config: WriteConfig) -> pa.Table:
    """Rows of a bulk insert in the order that ``hoodie.bulkinsert.sort.mode`` or the sort columns ask for."""
    names = list(config.files.bulk_insert_sort_columns)
    if not names and config.files.bulk_insert_sort in ("GLOBAL_SORT", "PARTITION_SORT"):
        names = [PARTITION_PATH, RECORD_KEY]
    if not names and config.files.bulk_insert_sort == "PARTITION_PATH_REPARTITION_AND_SORT":
        names = [PARTITION_PATH]
    return rows.sort_by([(name, "ascending") for name in names]) if names else rows


def _tagged_locations(tags: pa.Table, column: str, *, new: bool) -> pa.Table:
    """Locations of tagged rows in the groups that a column of the tags names."""
    columns = [tags.column("row"), tags.column("partition"), tags.column(column)]
    locations = pa.table([*columns, pa.repeat(new, tags.num_rows)], schema=RECORD_LOCATIONS)
    return locations if new else _with_positions(locations, tags)


def _with_positions(places: pa.Table, tags: pa.Table) -> pa.Table:
    """Places with the rows of base files that tagged records are at, if the index tells them."""
    return places.append_column(POSITION, tags.column(POSITION)) if POSITION in tags.column_names else places
