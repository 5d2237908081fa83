"""Validates the grouping and order of records, and writes the files of the current group.

Source: ``GroupingValidator`` and ``SequenceValidator`` of HIVE-10165, with what is wrong in them put right. Hive merges
deletes with rows in the order of (write id, bucket property, row id): a file ordered by write id and row id, which is
what the Java API asks for, loses deletes as soon as one bucket has rows of several statements
(docs/format/hive.md#hive-acid-events).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import GroupRevisitedError, RecordSequenceError, StorageError
from hudi_hive.formats.orc import DELETE, INSERT, UPDATE, DeleteDeltaWriter, DeltaWriter, Key, first_descent
from hudi_hive.mutation.acid_table import AcidTable, RowIdColumns, bucket_file, delta_folder, partition_path
from hudi_hive.mutation.acid_write.incoming import Incoming, Ints
from hudi_hive.mutation.acid_write.manifest import BucketFiles
from hudi_hive.mutation.core import Mutator
from hudi_hive.storage import Storage

Group = tuple[tuple[str | None, ...], int]
"""A partition's values and a bucket number."""

_BEFORE_ALL: Final = (-1, -1, -1)


class GroupValidator:
    """Validates that records come in groups, each group once, and in order within a group."""

    def __init__(self) -> None:
        self._left: set[Group] = set()
        self._group: Group | None = None
        self._last = _BEFORE_ALL

    def enter(self, group: Group) -> bool:
        """Validate the group of the next records.

        Returns:
            Whether it is another one than before.

        Raises:
            GroupRevisitedError: it was left before.
        """
        if group == self._group:
            return False
        if group in self._left:
            raise GroupRevisitedError(
                f"bucket {group[1]} of partition {group[0]} comes again after records of others",
                remedy="order records by partition and bucket",
            )
        if self._group is not None:
            self._left.add(self._group)
        self._group, self._last = group, _BEFORE_ALL
        return True

    def follow(self, write_ids: Ints, properties: Ints, row_ids: Ints) -> None:
        """Validate the order of the identifiers of the next updates and deletes.

        Raises:
            RecordSequenceError: one is not greater than the one before it.
        """
        if not len(write_ids):
            return
        keys = (write_ids, properties, row_ids)
        first = _key(keys, 0)
        if first <= self._last:
            raise _out_of_order(self._last, first)
        at = first_descent(keys)
        if at is not None:
            raise _out_of_order(_key(keys, at - 1), _key(keys, at))
        self._last = _key(keys, -1)


def _key(keys: Sequence[Ints], place: int) -> Key:
    write_id, bucket, row_id = (int(part[place]) for part in keys)
    return write_id, bucket, row_id


def _out_of_order(before: Key, identifier: Key) -> RecordSequenceError:
    return RecordSequenceError(
        f"identifier {identifier} comes after {before}",
        remedy="order the records of a bucket by write id, bucket property and row id, and change a row once",
    )


def runs(incoming: Incoming) -> Iterator[tuple[Group, slice]]:
    """Split records into runs of one partition and bucket."""
    count = len(incoming.operations)
    if not count:
        return
    changes = (np.diff(incoming.partitions) != 0) | (np.diff(incoming.buckets) != 0)
    starts = [0, *(np.flatnonzero(changes) + 1).tolist()]
    for start, end in zip(starts, [*starts[1:], count], strict=True):
        values = incoming.partition_values[int(incoming.partitions[start])]
        yield (values, int(incoming.buckets[start])), slice(start, end)


class AcidMutator(Mutator[BucketFiles]):
    """Writes the records of one partition and bucket to a delta file and a delete delta file.

    Args:
        group: the partition and bucket.
        table: what they are of.
        storage: of the table's location.
        staging: the attempt's folder below it.
        statement: number of the statement.
    """

    def __init__(self, group: Group, table: AcidTable, storage: Storage, staging: str, statement: int) -> None:
        self.group = group
        self._table = table
        self._storage = storage
        self._staging = staging
        self._statement = statement
        self._folder = partition_path(table.key_names, group[0])
        self._counts = np.zeros(3, np.int64)
        self._streams: list[pa.NativeFile] = []
        self._delta: DeltaWriter | None = None
        self._deletes: DeleteDeltaWriter | None = None

    def write(
        self,
        operations: npt.NDArray[np.int8],
        rows: pa.Table | None,
        row_ids: Sequence[Ints] | None = None,
    ) -> None:
        """Write a run of records.

        Args:
            operations: of each record.
            rows: a row for each, in the table's columns; None if all are deletes.
            row_ids: identifiers of the updates and deletes among them, see ``changed_row_ids``.

        Raises:
            UnsupportedAcidValueError: a value that Hive would read as another.
            StorageError: the files cannot be written.
        """
        self._counts += np.bincount(operations, minlength=3)
        with self._writing():
            self._add_rows(rows, operations != DELETE)
            if row_ids is not None and len(row_ids[0]):
                if self._deletes is None:
                    stream, path = self._open(delete=True)
                    self._deletes = DeleteDeltaWriter(stream, path=path, **self._about())
                self._deletes.write(*row_ids)

    def _add_rows(self, rows: pa.Table | None, written: npt.NDArray[np.bool_]) -> None:
        if rows is None or not written.any():
            return
        if self._delta is None:
            stream, path = self._open(delete=False)
            self._delta = DeltaWriter(stream, statement=self._statement, path=path, **self._about())
        self._delta.write(rows if written.all() else rows.filter(pa.array(written)))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(f"cannot write staged files: {error}", path=self._storage.uri(self._staging)) from error

    def _open(self, *, delete: bool) -> tuple[pa.NativeFile, str]:
        path = posixpath.join(self._staging, self._path(delete=delete))
        self._streams.append(self._storage.open_output(path))
        return self._streams[-1], self._storage.uri(path)

    def _about(self) -> dict[str, Any]:
        columns = [(column.name, column.type) for column in self._table.columns]
        about = {"columns": columns, "write_id": self._table.write_id, "bucket": self.group[1]}
        return {**about, "codec": self._table.codec}

    def _path(self, *, delete: bool) -> str:
        """Where a file belongs below the table's location."""
        name = delta_folder(self._table.write_id, statement=self._statement, delete=delete)
        return posixpath.join(self._folder, name, bucket_file(self.group[1]))

    def close(self) -> BucketFiles:
        """Finish the files.

        Raises:
            StorageError: they cannot be written.
        """
        with self._writing():
            for writer in (self._delta, self._deletes):
                if writer is not None:
                    writer.close()
            for stream in self._streams:
                stream.close()
        inserts, updates, deletes = (int(self._counts[operation]) for operation in (INSERT, UPDATE, DELETE))
        return BucketFiles(
            self.group[0],
            self.group[1],
            self._statement,
            inserts,
            updates,
            deletes,
            self._path(delete=False) if self._delta is not None else "",
            self._path(delete=True) if self._deletes is not None else "",
        )

    def discard(self) -> None:
        """Abandon the files, which remain in the staging folder."""
        for writer in (self._delta, self._deletes):
            if writer is not None:
                writer.discard()
        for stream in self._streams:
            with suppress(OSError, pa.ArrowException):
                stream.close()


def changed_row_ids(incoming: Incoming, part: slice) -> RowIdColumns:
    """Identifiers of the updates and deletes in a run of records."""
    gone = incoming.operations[part] != INSERT
    write_ids, properties, row_ids = incoming.write_ids[part], incoming.properties[part], incoming.row_ids[part]
    if gone.all():
        return RowIdColumns(write_ids, properties, row_ids)
    return RowIdColumns(write_ids[gone], properties[gone], row_ids[gone])
