"""Inserts, updates and deletes of records by key as one commit: every change is told apart, and none passes in silence.

An upsert takes rows as they come. Here an update or delete must find its record and an insert must not, as readers saw
the table when the write began; a change that the table's merge mode would drop is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError, WriteError
from hudi_hive.names import HOODIE_DATASOURCE_WRITE_OPERATION
from hudi_hive.options.locks import CONFLICT_RETRIES
from hudi_hive.table import MetaClient
from hudi_hive.table.merge import IS_DELETED, MergeSpec
from hudi_hive.table.merge import OPERATION as HUDI_OPERATION
from hudi_hive.write.commit import WriteTransaction
from hudi_hive.write.files import DELETES_SCHEMA, PARTITION_PATH, RECORD_KEY, RECORD_LOCATIONS
from hudi_hive.write.index import HITS_SCHEMA, Index, KeySource, SliceTask, joined_hits, one_array, open_index, shares
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import (
    OPERATION,
    KeyedRecords,
    TaggedChanges,
    physical_schema,
    refuse_nested_partitions,
    with_is_gone,
)
from hudi_hive.write.writers import (
    FileGroupPlan,
    TableCommitter,
    WriteReport,
    locate_in_file_groups,
    newest_slices,
    refuse_clustered_groups,
)


@dataclass(frozen=True)
class MutationPlan:
    """The locations of changes, and how their file groups are written.

    Attributes:
        lines: ``LINES_SCHEMA``; a change of a record that stands in several groups has several.
        groups: how each file group is written.
        inserts: number of new records.
    """

    lines: pa.Table
    groups: FileGroupPlan
    inserts: int


class MutationWriter(TableCommitter):
    """Writes changes of records to one table; arguments and errors as of :class:`LocalWriter`.

    Raises:
        UnsupportedTableError: the table is of a kind that is not written, or orders records by texts
            ``file.position``.
        InvalidOptionError: writes are to be done again after conflicts.
    """

    def __init__(self, client: MetaClient, options: dict[str, Any] | None = None, **settings: Any) -> None:  # noqa: ANN401
        config = WriteConfig.of({**(options or {}), HOODIE_DATASOURCE_WRITE_OPERATION: "upsert"}, client.config)
        super().__init__(client, config, **settings)
        if config.concurrency.conflict_retries:
            raise InvalidOptionError(
                f"option {CONFLICT_RETRIES}: mutations are not done again, since they are checked against the table of "
                "their beginning",
                path=client.base_path,
                remedy="leave it out, and begin a new transaction after a conflict",
            )
        # A record is changed where it is: one that is given with another partition is refused, never moved.
        stays = replace(
            self.config.index,
            bloom_update_partition=False,
            simple_update_partition=False,
            record_index_update_partition=False,
        )
        self.config = replace(self.config, index=stays)
        self._spec = MergeSpec.from_config(client.config)
        if self._spec.sequence or self._spec.first_of_equals:
            raise UnsupportedTableError(
                "mutations of a table that orders records by file positions, or keeps the first of equal ones, are not "
                "supported",
                path=client.base_path,
                remedy="upsert the rows",
            )
        if self._spec.merger is not None:
            raise UnsupportedTableError(
                f"mutations of a table that {self._spec.merger.class_name} merges are not supported: what a change "
                "leaves of its record is for the merger to say",
                path=client.base_path,
                remedy="upsert the rows",
            )

    def commit(self, transaction: WriteTransaction, changes: pa.Table) -> WriteReport:
        """Locate the records, write files and complete the instant; table services are not run.

        Args:
            transaction: of this writer; it has begun. It is neither committed nor undone when an error is raised.
            changes: ``located.OPERATION``, record key and partition path of each change, then the table's columns,
                null in deletes.

        Raises:
            UnknownRecordError: an update or delete of a record that the table did not have when the write began.
            DuplicateRecordError: an insert of a record that it had, or two changes of one record.
            RecordPartitionError: a record that is in another partition (global indexes).
            StaleRecordError: a row that is older than the record by the table's ordering fields.
            MutationError: a row that is marked as deleted, or a record that a file of a merge-on-read table holds
                several times.
            WriteConflictError: another writer changed the same file groups and completed first.
        """
        rows = changes.drop_columns([OPERATION]).combine_chunks()
        records = self.keyed_records(transaction.client, rows)
        plan = self.plan(transaction, changes)
        is_gone = plan.lines.column("is_gone")
        gone = plan.lines.filter(is_gone)
        keys = rows.column(RECORD_KEY).take(gone.column("row"))
        deletes = pa.table([keys, gone["partition"], gone["file_id"]], schema=DELETES_SCHEMA)
        locations = plan.lines.filter(pc.invert(is_gone)).select(RECORD_LOCATIONS.names)
        tasks = plan.groups.write_tasks(rows, locations, deletes)
        statuses = self.write_files(transaction, self.write_context(transaction, records), tasks)
        return self.complete(transaction, plan, statuses, records)

    def keyed_records(self, client: MetaClient, rows: pa.Table) -> KeyedRecords:
        """Rows, or some columns of them, with what their files must know.

        Args:
            client: the table.
            rows: record key, partition path and columns of the table.
        """
        table = KeyedRecords.of_table(client)
        dropped = client.config.partition_fields if client.config.drop_partition_columns else ()
        return replace(table, rows=rows, avro=physical_schema(table.avro, dropped))

    def lookup_columns(self, client: MetaClient) -> list[str]:
        """The columns of changes that :meth:`plan` looks at: an engine need not gather the others."""
        names = client.schema().names
        needed = [IS_DELETED, HUDI_OPERATION, self._spec.delete_field]
        needed += [name if name in names else name.partition(".")[0] for name in self._spec.ordering_fields]
        return [OPERATION, RECORD_KEY, PARTITION_PATH, *(name for name in names if name in needed)]

    def plan(self, transaction: WriteTransaction, changes: pa.Table) -> MutationPlan:
        """Look the records up and say where each change goes; errors as of :meth:`commit`.

        Args:
            transaction: of this writer; it has begun.
            changes: as there; the columns of :meth:`lookup_columns` are enough.
        """
        client = transaction.client
        index = open_index(self.config, client)
        tagged = TaggedChanges.of(
            client, lambda keys: self.locate(client, index, keys), changes, is_global=index.is_global
        )
        tagged.refuse_marked(self.keyed_records(client, changes.drop_columns([OPERATION])))
        partitions = _distinct(changes, PARTITION_PATH)
        refuse_nested_partitions(client, partitions, lists_all=True)
        slices = newest_slices(client, partitions)
        new = tagged.unassigned_inserts()
        paths = changes.column(PARTITION_PATH).take(pa.array(new)).combine_chunks()
        inserted = locate_in_file_groups(client, self.config, paths, new, slices)
        lines = [with_is_gone(tagged.locations(), False), with_is_gone(inserted.locations, False), tagged.deletes()]
        changed = pa.concat_tables(lines)
        refuse_clustered_groups(client, changed)
        groups = FileGroupPlan.of(client, slices, inserted.small_groups, can_index_log_files=index.assigns_inserts)
        return MutationPlan(changed.combine_chunks(), groups, tagged.inserts)

    def complete(
        self, transaction: WriteTransaction, plan: MutationPlan, statuses: pa.Table, records: KeyedRecords
    ) -> WriteReport:
        """Complete the instant with the files that were written.

        Raises:
            WriteError: the merge of base files met other records than the index had told, or changes were lost on the
                way to their files.
            WriteConflictError: another writer changed the same file groups and completed first.
        """
        if not transaction.client.config.is_merge_on_read:
            deletes = int(pc.sum(plan.lines.column("is_gone")).as_py() or 0)
            _check_counts(transaction.client, transaction.instant, statuses, plan.inserts, deletes)
        _check_all(transaction, statuses, plan.lines.num_rows)
        return self.commit_files(transaction, statuses, records.schema_text)

    def locate(self, client: MetaClient, index: Index, keys: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Locations of keys by the index.

        Args:
            client: the table.
            index: of the write.
            keys: ``key``, ``partition`` and ``row``, a number for each; no two are of one record.

        Returns:
            Where keys stand in files (``HITS_SCHEMA``), be their records deleted in a log file or not; and the rows
            with the file group that new ones must go to, which is null where any will do.
        """
        deleted = keys.append_column("deleted", pa.array(np.ones(keys.num_rows, np.bool_)))
        tags = index.tag(deleted, self.executor).combine_chunks()
        bound = tags.select(["row", "new_file_id"])
        if index.assigns_inserts:
            return self._hits_in_buckets(client, index, keys, tags), bound
        there = tags.filter(pc.is_valid(tags.column("current_file_id")))
        texts = one_array(keys.column("key")).take(there.column("row").combine_chunks())
        return pa.table([texts, there["current_partition"], there["current_file_id"]], schema=HITS_SCHEMA), bound

    def _hits_in_buckets(self, client: MetaClient, index: Index, keys: pa.Table, tags: pa.Table) -> pa.Table:
        """A bucket index tells groups without a look for the keys in them."""
        groups = set(zip(tags["current_partition"].to_pylist(), tags["current_file_id"].to_pylist(), strict=True))
        slices = [one for one in index.slices(_distinct(keys, "partition")) if (one.partition, one.file_id) in groups]
        source = KeySource.of(client)
        tasks = [(SliceTask(source, share), keys) for share in shares(slices)]
        return joined_hits(self.executor.map(_look_up_keys, tasks))


def _look_up_keys(context: tuple[SliceTask, pa.Table]) -> pa.Table:
    task, keys = context
    return task.lookup(keys)


def _distinct(table: pa.Table, column: str) -> list[str]:
    values: list[str] = pc.unique(table.column(column)).to_pylist()
    return values


def _check_counts(client: MetaClient, instant: str, statuses: pa.Table, inserts: int, deletes: int) -> None:
    """What the merge of base files met must be what the index had told."""
    met = [int(pc.sum(statuses.column(name)).as_py() or 0) for name in ("num_inserts", "num_deletes")]
    if met != [inserts, deletes]:
        raise WriteError(
            f"{met[0]} records were new and {met[1]} deleted, not {inserts} and {deletes}: the index is wrong",
            path=client.base_path,
            instant=instant,
            remedy="use another index (hoodie.index.type=SIMPLE)",
        )


def _check_all(transaction: WriteTransaction, statuses: pa.Table, changes: int) -> None:
    """An engine that computes rows again, as Spark does when it has lost them, may have made others of them."""
    done = sum(int(pc.sum(statuses.column(f"num_{kind}")).as_py() or 0) for kind in ("inserts", "updates", "deletes"))
    if done < changes:
        raise WriteError(
            f"of {changes} changes {done} were written: the others were not among the rows when these came again",
            path=transaction.client.base_path,
            instant=transaction.instant,
            remedy="give rows that are the same whenever they are computed, for one from a file",
        )
