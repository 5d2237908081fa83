"""Extension points of mutations: where a coordinator puts records, and what writes one group of them.

Source: ``Mutator`` and ``MutatorFactory`` of HIVE-10165, whose records come one by one and whose files are always ORC.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import MutationStateError


class Manifest(Protocol):
    """The interface of a manifest: what an attempt has written."""

    @property
    def attempt(self) -> str:
        """Name of the attempt."""

    @property
    def rows(self) -> int:
        """Number of mutated rows."""

    def encode(self) -> str:
        """Encode as text."""


M = TypeVar("M", bound=Manifest)
_W = TypeVar("_W")


class Mutator(ABC, Generic[_W]):
    """Writes the records of one group: of a partition and bucket in Hive ACID tables, or whatever a sink groups by.

    A sink makes one when the first records of a group come, gives it all records of the group, in their order, and
    closes or discards it.
    """

    @abstractmethod
    def write(
        self,
        operations: npt.NDArray[np.int8],
        rows: pa.Table | None,
        row_ids: Sequence[npt.NDArray[np.int64]] | None = None,
    ) -> None:
        """Write records.

        Args:
            operations: 0 (insert), 1 (update) or 2 (delete) for each record.
            rows: a row for each record, with the columns that the sink decided on; None when all are deletes and their
                columns were not given.
            row_ids: write ids, bucket properties and row ids of the updates and deletes among the records; None where
                rows are identified by columns.

        Raises:
            StorageError: it cannot be written.
            MutationError: a value that the format cannot hold.
        """

    @abstractmethod
    def close(self) -> _W:
        """Finish the files; returns what the manifest says of them.

        Raises:
            StorageError: they cannot be written.
        """

    @abstractmethod
    def discard(self) -> None:
        """Let go of the files, which may stay where they are; raises nothing."""


class MutationSink(ABC, Generic[M]):
    """Where a coordinator puts the records of one attempt at a task.

    Checks records, converts them to columns and has mutators write them where no reader looks, below a folder of the
    attempt's own; the manifest says what was written, and a transaction makes it count. It is used by one thread, and
    never again after an error.

    Args:
        attempt: name of this attempt at the task, unlike that of any other; None for a random one.

    Raises:
        MutationStateError: a name that cannot be a folder's.
    """

    def __init__(self, attempt: str | None = None) -> None:
        name = uuid.uuid4().hex if attempt is None else attempt
        if not name or name != name.strip("./") or "/" in name:
            raise MutationStateError(f"{name!r} cannot name an attempt")
        self.attempt = name

    @property
    @abstractmethod
    def table_name(self) -> str:
        """The table, as messages name it."""

    @abstractmethod
    def check_values(self, values: Sequence[str | None]) -> None:
        """Refuse partition values that cannot be.

        Args:
            values: a text, or None for the default partition, for each partition key.

        Raises:
            MutationError: it says why.
        """

    @abstractmethod
    def to_table(self, records: Sequence[tuple[int, Mapping[str, Any]]], values: Sequence[str | None]) -> pa.Table:
        """Convert single records to the columns that :meth:`write` takes.

        Args:
            records: operation and values by column of each.
            values: partition of all of them, which was checked.

        Raises:
            SchemaError: a column is missing or unknown, or a value does not fit its column.
            MutationWorkerError: a record without a right identifier.
        """

    @abstractmethod
    def write(
        self,
        data: pa.RecordBatch | pa.Table,
        operations: npt.NDArray[np.int8],
        values: Sequence[str | None] | None,
    ) -> None:
        """Check records and write them.

        Args:
            data: columns of a batch of the caller, or of :meth:`to_table`.
            operations: 0 (insert), 1 (update) or 2 (delete) for each record.
            values: partition of all of them; None to take it from the columns.

        Raises:
            MutationWorkerError: a record breaks a rule.
            SchemaError: a column is missing or of another type.
            StorageError: the files cannot be written.
        """

    @abstractmethod
    def close(self) -> M:
        """Finish what was written; returns its manifest.

        Raises:
            StorageError: it cannot be written.
        """

    @abstractmethod
    def discard(self) -> None:
        """Let go of open files; raises nothing."""

    @abstractmethod
    def remove(self) -> None:
        """Delete what this attempt has written.

        Raises:
            StorageError: it cannot be deleted.
        """
