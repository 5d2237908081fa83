"""Changes of records by key and where their records are, as readers saw the table when a write began.

Updates and deletes must find their record, inserts must not, and what the table's merge mode would drop is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import (
    DuplicateRecordError,
    MutationError,
    RecordPartitionError,
    StaleRecordError,
    UnknownRecordError,
    UnsupportedTableError,
)
from hudi_hive.read.merge import not_less, ordering_columns
from hudi_hive.table import MetaClient
from hudi_hive.table.merge import MergeSpec, Order
from hudi_hive.write.files import PARTITION_PATH, RECORD_KEY, RECORD_LOCATIONS
from hudi_hive.write.index import existing_records, one_array
from hudi_hive.write.records.keyed_records import KeyedRecords
from hudi_hive.write.records.operations import DELETE, INSERT, OPERATION, UPDATE

LINES_SCHEMA: Final = pa.schema(
    [
        ("row", pa.int64()),
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("is_new", pa.bool_()),
        ("is_gone", pa.bool_()),
    ]
)
"""Where changes go; ``is_gone`` marks records that are deleted there."""

LookUp = Callable[[pa.Table], tuple[pa.Table, pa.Table]]
"""Asks the index; see ``MutationWriter.locate``."""

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_LINE: Final = ["record_id", "partition", "file_id"]
_SEPARATOR: Final = "\x00"


@dataclass(frozen=True)
class TaggedChanges:
    """Changes and where their records are.

    Attributes:
        client: the table.
        operations: of each change.
        keys, paths: record key and partition path of each change.
        record_ids: number of each change's record.
        existing: records as readers see them: ``record_id``, ``partition``, ``file_id``; several lines where a record
            stands in several groups.
        tombstoned: records that log files have deleted, above a file that still has their keys, in the partition that
            they are inserted into; likewise.
        assigned_groups: of each record the file group that it must go to if it is new, or null.
    """

    client: MetaClient
    operations: npt.NDArray[np.int8]
    keys: pa.Array
    paths: pa.Array
    record_ids: Ints
    existing: pa.Table
    tombstoned: pa.Table
    assigned_groups: pa.Array

    @classmethod
    def of(cls, client: MetaClient, look_up: LookUp, changes: pa.Table, *, is_global: bool) -> TaggedChanges:
        """Look all records up, and refuse changes that do not fit what is there.

        Args:
            client: the table.
            look_up: asks the index.
            changes: :data:`OPERATION`, record key, partition path, and columns of ordering values.
            is_global: a key stands for one record in the whole table.

        Raises:
            UnknownRecordError, DuplicateRecordError, RecordPartitionError, StaleRecordError: as of
                ``MutationWriter.commit``.
            MutationError: a record that a file of a merge-on-read table holds several times.
            UnsupportedTableError: records cannot be read back, as the table has no meta columns.
        """
        operations = changes.column(OPERATION).to_numpy().astype(np.int8)
        keys, paths = (one_array(changes.column(name)) for name in (RECORD_KEY, PARTITION_PATH))
        records = _DistinctRecords.of(keys, paths, is_global=is_global)
        _refuse_twice(client, operations, keys, paths, records)
        sought = pa.table(
            [keys.take(records.first), paths.take(records.first), pa.array(np.arange(len(records.first)))],
            names=["key", "partition", "row"],
        )
        hits, assigned = look_up(sought)
        hits = records.numbered(hits)
        spec = MergeSpec.from_config(client.config)
        by_event = _by_event(client, spec)
        existing = hits
        reads_records = client.config.is_merge_on_read or (by_event and bool((operations == UPDATE).any()))
        if reads_records and hits.num_rows:
            existing = _as_readers_see(client, records, hits, spec.ordering_fields if by_event else ())
        tombstoned = hits.filter(
            pc.invert(pc.is_in(hits.column("record_id"), value_set=one_array(existing.column("record_id"))))
        )
        tombstoned = _where_inserted(tombstoned, operations, records.record_ids, paths)
        groups = np.full(len(records.first), None, object)
        groups[assigned.column("row").to_numpy()] = assigned.column("new_file_id").to_numpy()
        assigned_groups = pa.array(groups, pa.string())
        tagged = cls(client, operations, keys, paths, records.record_ids, existing, tombstoned, assigned_groups)
        tagged._check(is_global=is_global)
        if client.config.is_merge_on_read:
            tagged._refuse_repeated()
        if by_event:
            tagged._refuse_older(changes, spec.ordering_fields)
        if tombstoned.num_rows and (by_event or spec.needs_ordering or spec.partial is not None):
            tagged._refuse_tombstoned()
        # A file may hold a key several times: it is one place all the same.
        return replace(tagged, existing=existing.group_by(_LINE, use_threads=False).aggregate([]))

    # -- rules ------------------------------------------------------------------------------------------------------

    def _check(self, *, is_global: bool) -> None:
        """Updates and deletes find their record, inserts find none."""
        there = np.zeros(len(self.assigned_groups), np.bool_)
        there[self.existing.column("record_id").to_numpy()] = True
        exists, inserts = there[self.record_ids], self.operations == INSERT
        self._refuse(
            UnknownRecordError, ~inserts & ~exists, "is not in the table", "read the table again: it may be deleted"
        )
        if is_global:
            first = np.zeros(len(self.assigned_groups), np.int64)
            first[self.existing.column("record_id").to_numpy()] = np.arange(self.existing.num_rows)
            home = one_array(self.existing.column("partition")).take(pa.array(first[self.record_ids], mask=~exists))
            elsewhere = pc.fill_null(pc.not_equal(home, self.paths), False).to_numpy(zero_copy_only=False)
            self._refuse(
                RecordPartitionError,
                ~inserts & elsewhere,
                "is in another partition",
                "give the partition that it is in; to move it delete it there and insert it here",
            )
            leaving = np.zeros(len(self.assigned_groups), np.bool_)
            leaving[self.record_ids[self.operations == DELETE]] = True
            exists &= ~leaving[self.record_ids]
        self._refuse(DuplicateRecordError, inserts & exists, "is in the table already", "update it")

    def _refuse_older(self, changes: pa.Table, fields: Sequence[str]) -> None:
        """By event time a row that is older than the record would be dropped."""
        updates = self._lines(self.existing, UPDATE)
        if not updates.num_rows:
            return
        mine = ordering_columns(changes.take(updates.column("row")), fields)
        theirs = ordering_columns(self.existing.take(updates.column("line")), fields)
        older = np.zeros(len(self.record_ids), np.bool_)
        older[updates.column("row").to_numpy()] = ~not_less(mine, theirs, updates.num_rows)
        remedy = "give it the ordering value of the record, or a greater one"
        self._refuse(StaleRecordError, older, f"is older than the table's, by {', '.join(fields)}", remedy)

    def _refuse_repeated(self) -> None:
        """Of a key that a base file holds several times log files change the first row alone, as all releases read."""
        groups = self.existing.group_by(_LINE, use_threads=False).aggregate([([], "count_all")])
        repeated = np.zeros(len(self.assigned_groups), np.bool_)
        repeated[groups.filter(pc.greater(groups["count_all"], 1))["record_id"].to_numpy()] = True
        self._refuse(
            MutationError,
            repeated[self.record_ids] & (self.operations != INSERT),
            "is several times in one file, and a log file would change one of them",
            "overwrite its partition without those that are too many",
        )

    def _refuse_tombstoned(self) -> None:
        lost = np.zeros(len(self.record_ids), np.bool_)
        lost[self._lines(self.tombstoned, INSERT).column("row").to_numpy()] = True
        self._refuse(
            StaleRecordError,
            lost,
            "is deleted in a log file: what stands below, or the delete itself, may win over a row that is inserted",
            "compact the table, then insert it",
        )

    def refuse_marked(self, ready: KeyedRecords) -> None:
        """Rows that a column marks as deleted are deletes of another kind.

        Raises:
            MutationError: there is one.
        """
        marked = ready.marked().to_numpy(zero_copy_only=False) & (self.operations != DELETE)
        self._refuse(MutationError, marked, "is marked as deleted in the row that is to be written", "delete it")

    def _refuse(self, kind: type[MutationError], wrong: Flags, what: str, remedy: str) -> None:
        if not wrong.any():
            return
        at = int(np.argmax(wrong))
        name = ("insert", "update", "delete")[int(self.operations[at])]
        count = int(wrong.sum()) - 1
        more = f" (and {count} more)" if count else ""
        raise kind(
            f"{name} of record {self.keys[at].as_py()!r} of partition {self.paths[at].as_py()!r}{more}: it {what}",
            path=self.client.base_path,
            remedy=remedy,
        )

    # -- locations --------------------------------------------------------------------------------------------------

    @property
    def inserts(self) -> int:
        """Number of inserts."""
        return int((self.operations == INSERT).sum())

    def locations(self) -> pa.Table:
        """Locate the rows that cannot go to any file group (``RECORD_LOCATIONS``)."""
        updated = _locations(self.existing, self._lines(self.existing, UPDATE), new=False)
        tombstoned = self._lines(self.tombstoned, INSERT)
        first = np.unique(tombstoned.column("row").to_numpy(), return_index=True)[1]
        again = _locations(self.tombstoned, tombstoned.take(pa.array(first)), new=True)
        assigned = np.flatnonzero(self._is_assigned())
        groups = self.assigned_groups.take(pa.array(self.record_ids[assigned]))
        columns = [pa.array(assigned), self.paths.take(pa.array(assigned)), groups, pa.repeat(True, len(assigned))]
        return pa.concat_tables([updated, again, pa.table(columns, schema=RECORD_LOCATIONS)])

    def unassigned_inserts(self) -> Ints:
        """Changes that insert records which any group may take."""
        anywhere = (self.operations == INSERT) & ~self._is_assigned() & ~self._is_tombstoned()
        return np.flatnonzero(anywhere).astype(np.int64)

    def deletes(self) -> pa.Table:
        """The records that go, by their place (``LINES_SCHEMA``)."""
        return with_is_gone(_locations(self.existing, self._lines(self.existing, DELETE), new=False), True)

    def _is_assigned(self) -> Flags:
        has_group = self.assigned_groups.is_valid().to_numpy(zero_copy_only=False)[self.record_ids]
        result: Flags = has_group & (self.operations == INSERT) & ~self._is_tombstoned()
        return result

    def _is_tombstoned(self) -> Flags:
        tombstoned = np.zeros(len(self.assigned_groups), np.bool_)
        tombstoned[self.tombstoned.column("record_id").to_numpy()] = True
        result: Flags = tombstoned[self.record_ids]
        return result

    def _lines(self, locations: pa.Table, operation: int) -> pa.Table:
        """Changes of one kind and the lines of their records: ``row`` and ``line``."""
        rows = np.flatnonzero(self.operations == operation)
        row_of = np.full(len(self.assigned_groups), -1, np.int64)
        row_of[self.record_ids[rows]] = rows
        row = row_of[locations.column("record_id").to_numpy()]
        return pa.table({"row": pa.array(row[row >= 0]), "line": pa.array(np.flatnonzero(row >= 0))})


@dataclass(frozen=True)
class _DistinctRecords:
    """The distinct records of changes: what two changes of one record have in common.

    Attributes:
        texts: of each record, key and, unless the key stands for one record in the whole table, partition.
        record_ids: number of each change's record.
        first: of each record the first change.
    """

    texts: pa.Array
    record_ids: Ints
    first: pa.Array
    is_global: bool

    @classmethod
    def of(cls, keys: pa.Array, paths: pa.Array, *, is_global: bool) -> _DistinctRecords:
        coded = _names(keys, paths, is_global).dictionary_encode()
        record_ids = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        first = np.unique(record_ids, return_index=True)[1]
        return cls(coded.dictionary, record_ids, pa.array(first), is_global)

    def numbered(self, hits: pa.Table) -> pa.Table:
        """Hits with the numbers of their records in a column ``record_id``; others are left out."""
        names = _names(one_array(hits.column("key")), one_array(hits.column("partition")), self.is_global)
        numbers = pc.index_in(names, value_set=self.texts)
        hits = hits.append_column("record_id", numbers.cast(pa.int64()))
        return hits.filter(numbers.is_valid()).combine_chunks()


def _names(keys: pa.Array, paths: pa.Array, is_global: bool) -> pa.Array:
    return keys if is_global else pc.binary_join_element_wise(paths, keys, _SEPARATOR)


def _refuse_twice(
    client: MetaClient, operations: npt.NDArray[np.int8], keys: pa.Array, paths: pa.Array, records: _DistinctRecords
) -> None:
    """One change a record; but where a key stands for one record in the whole table, it may move."""
    counts = np.bincount(records.record_ids)
    twice = (counts > 1)[records.record_ids]
    if not twice.any():
        return
    if records.is_global:
        kinds = [
            np.bincount(records.record_ids[operations == kind], minlength=len(counts)) for kind in (INSERT, DELETE)
        ]
        moves = (counts == 2) & (kinds[0] == 1) & (kinds[1] == 1)
        twice &= ~moves[records.record_ids]
        pairs = np.flatnonzero(moves[records.record_ids])
        order = pairs[np.argsort(records.record_ids[pairs], kind="stable")]
        same = pc.equal(paths.take(pa.array(order[::2])), paths.take(pa.array(order[1::2])))
        twice[order[::2][same.to_numpy(zero_copy_only=False)]] = True
        if not twice.any():
            return
    at = int(np.argmax(twice))
    raise DuplicateRecordError(
        f"record {keys[at].as_py()!r} of partition {paths[at].as_py()!r} is changed more than once",
        path=client.base_path,
        remedy="change a record once in a transaction, and count one attempt at each task",
    )


def _by_event(client: MetaClient, spec: MergeSpec) -> bool:
    """Whether a row may lose against the record that it is to replace."""
    orders = {spec.on_base, spec.in_log} if client.config.is_merge_on_read else {spec.on_base}
    return bool(spec.ordering_fields) and Order.EVENT_TIME in orders


def _as_readers_see(client: MetaClient, records: _DistinctRecords, hits: pa.Table, ordering: Sequence[str]) -> pa.Table:
    """Records of hits that are not deleted, with their ordering values."""
    if not client.config.populate_meta_fields:
        raise UnsupportedTableError(
            "mutations of a merge-on-read table, or of one ordered by events, need its meta columns",
            path=client.base_path,
            remedy="upsert and delete the rows",
        )
    keys = pc.unique(one_array(hits.column("key")))
    records_there = existing_records(client, keys, pc.unique(hits.column("partition")).to_pylist(), ordering)
    return records.numbered(records_there)


def _where_inserted(
    tombstoned: pa.Table, operations: npt.NDArray[np.int8], record_ids: Ints, paths: pa.Array
) -> pa.Table:
    """Those in the partitions that their records are inserted into: with a global index they may be in others."""
    rows = np.flatnonzero(operations == INSERT)
    row_of = np.full(int(record_ids.max()) + 1 if len(record_ids) else 0, -1, np.int64)
    row_of[record_ids[rows]] = rows
    row = row_of[tombstoned.column("record_id").to_numpy()]
    inserted_into = paths.take(pa.array(row, mask=row < 0))
    return tombstoned.filter(pc.fill_null(pc.equal(inserted_into, one_array(tombstoned.column("partition"))), False))


def _locations(there: pa.Table, lines: pa.Table, *, new: bool) -> pa.Table:
    """Places of changes, one for each group: a file may hold a record several times, which its merge sees to."""
    chosen = there.take(lines.column("line"))
    locations = pa.table(
        [lines.column("row"), chosen["partition"], chosen["file_id"]], names=RECORD_LOCATIONS.names[:3]
    )
    locations = locations.group_by(RECORD_LOCATIONS.names[:3], use_threads=False).aggregate([])
    return locations.append_column("is_new", pa.repeat(new, locations.num_rows)).cast(RECORD_LOCATIONS)


def with_is_gone(locations: pa.Table, gone: bool) -> pa.Table:
    """Places (``RECORD_LOCATIONS``) as :data:`LINES_SCHEMA`."""
    return locations.append_column("is_gone", pa.repeat(gone, locations.num_rows)).cast(LINES_SCHEMA)
