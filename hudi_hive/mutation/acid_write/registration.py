"""Registers the partitions and write sets of a transaction, and invalidates statistics, before the commit.

Source: the order of calls of Hive's own writers (HIVE-10165 leaves out all but the first;
docs/format/hive.md#hive-transactions).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

from hudi_hive.errors import PartitionCreationError, UnsupportedAcidTableError
from hudi_hive.metastore.client import Partition, Table, format_partition_name
from hudi_hive.metastore.transactions import DataOperationType, TransactionClient, ValidWriteIds
from hudi_hive.mutation.acid_table import ORC_INPUT, AcidTable, partition_path, stored_value
from hudi_hive.mutation.acid_write.manifest import BucketFiles
from hudi_hive.storage import Storage

_ACCURATE: Final = "COLUMN_STATS_ACCURATE"

Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class TouchedPartition:
    """A partition that a transaction wrote to, or the table itself if it is not partitioned.

    Args:
        values: its values; empty for the table.
        changed: whether rows of it were updated or deleted.
    """

    values: Values
    changed: bool


def touched_partitions(groups: Iterable[BucketFiles]) -> list[TouchedPartition]:
    """The partitions of groups, in order, each once."""
    changed: dict[Values, bool] = {}
    for group in groups:
        changed[group.partition] = changed.get(group.partition, False) or bool(group.updates or group.deletes)
    return [
        TouchedPartition(values, changed[values])
        for values in sorted(changed, key=lambda values: [v or "" for v in values])
    ]


class Registration:
    """Registers the changes of a transaction to one table in the metastore.

    Args:
        client: the metastore's transactions.
        table: the table, with the transaction's ids.
        valid: what the transaction sees of it.
    """

    def __init__(self, client: TransactionClient, table: AcidTable, valid: ValidWriteIds) -> None:
        self._client = client
        self._table = table
        self._valid = valid

    def register(self, touched: Sequence[TouchedPartition]) -> dict[Values, str]:
        """Create missing partitions, if that is allowed, and register the written ones.

        This comes before any file is where readers look: the metastore remembers that a write id was aborted only as
        long as it knows of partitions that may have files of it, and forgets a transaction that touched nothing.

        Args:
            touched: the partitions.

        Returns:
            locations of those that are elsewhere than their names say.

        Raises:
            PartitionCreationError: rows of a partition that is not there are updated or deleted, or one that was made
                is not there.
            UnsupportedAcidTableError: a partition is stored in another way than the table.
            MetastoreError: the metastore refuses.
        """
        if not self._table.partition_keys:
            return {}
        names = {self._stored_name(part.values): part for part in touched}
        registered = self._find(list(names))
        missing = [part for name, part in names.items() if name not in registered]
        for part in missing:
            if part.changed:
                raise PartitionCreationError(
                    f"{self._table.qualified_name} has no partition {part.values}, whose rows are updated or deleted",
                    remedy="take partition values from where the rows were read",
                )
        if missing and self._table.create_partitions:
            # Asked for again: somebody else may have made one in the meantime, in another place.
            registered |= self._create(missing)
        for partition in registered.values():
            self._check(partition)
        self._tell(names)
        return {
            names[name].values: partition.sd.location
            for name, partition in registered.items()
            if partition.sd.location and not self._is_default(names[name].values, partition.sd.location)
        }

    def _create(self, parts: Sequence[TouchedPartition]) -> dict[str, Partition]:
        definition = self._client.table(self._table.database, self._table.name)
        self._client.metastore.add_partitions(
            self._table.database,
            self._table.name,
            [self._partition(definition, part.values) for part in parts],
            if_not_exists=True,
        )
        names = [self._stored_name(part.values) for part in parts]
        made = self._find(names)
        if lacking := [name for name in names if name not in made]:
            raise PartitionCreationError(
                f"{self._table.qualified_name} has no partition {lacking[0]}, which the metastore was told to add",
                remedy="look for one whose name it takes for the same",
            )
        return made

    def _check(self, partition: Partition) -> None:
        """Refuse a partition whose files are other ones, or whose rows belong into other buckets."""
        sd = partition.sd
        buckets = self._table.buckets if sd.numBuckets is None else max(0, sd.numBuckets)
        columns = tuple(name.lower() for name in sd.bucketCols or ()) if buckets else ()
        if sd.inputFormat not in (None, ORC_INPUT):
            what = f"is read by {sd.inputFormat}"
        elif (buckets, columns) != (self._table.buckets, self._table.bucket_columns):
            what = f"has {buckets} buckets by {', '.join(columns) or 'no columns'}"
        else:
            return
        raise UnsupportedAcidTableError(
            f"partition {format_partition_name(self._table.key_names, partition.values)} of "
            f"{self._table.qualified_name} {what}, unlike the table",
            path=sd.location,
            remedy="let Hive write it anew",
        )

    def _partition(self, definition: Table, values: Values) -> Partition:
        sd = deepcopy(definition.sd)
        sd.location = f"{self._table.location.rstrip('/')}/{partition_path(self._table.key_names, values)}"
        return Partition(
            values=[stored_value(value) for value in values],
            dbName=definition.dbName,
            tableName=definition.tableName,
            createTime=0,
            lastAccessTime=0,
            sd=sd,
            parameters={},
        )

    def _tell(self, names: dict[str, TouchedPartition]) -> None:
        # Inserts conflict with nothing, so they are not told as updates.
        for operation, changed in ((DataOperationType.INSERT, False), (DataOperationType.UPDATE, True)):
            self._client.add_dynamic_partitions(
                self._table.transaction_id,
                self._table.write_id,
                self._table.database,
                self._table.name,
                [name for name, part in names.items() if part.changed is changed],
                operation,
            )

    def drop_statistics(self, touched: Sequence[TouchedPartition]) -> None:
        """Remove the marks that statistics of the table and its partitions are accurate.

        Hive answers ``COUNT``, ``MIN`` and ``MAX`` from them while that word stands. Taking it is harmless if the
        transaction is aborted.

        Args:
            touched: the partitions.

        Raises:
            MetastoreError: the metastore refuses.
        """
        definition = self._client.table(self._table.database, self._table.name)
        if definition.parameters and definition.parameters.pop(_ACCURATE, None) is not None:
            self._client.alter_table(definition, write_id=self._table.write_id, valid=self._valid)
        if not self._table.partition_keys:
            return
        registered = self._find([self._stored_name(part.values) for part in touched])
        stale = [
            partition
            for partition in registered.values()
            if partition.parameters and partition.parameters.pop(_ACCURATE, None) is not None
        ]
        if stale:
            self._client.alter_partitions(
                self._table.database, self._table.name, stale, write_id=self._table.write_id, valid=self._valid
            )

    def _stored_name(self, values: Values) -> str:
        return partition_path(self._table.key_names, values)

    def _find(self, names: Sequence[str]) -> dict[str, Partition]:
        """The partitions of these names that are there. Some databases of metastores take other names for the same."""
        partitions = self._client.metastore.partitions(self._table.database, self._table.name, names)
        named = {format_partition_name(self._table.key_names, partition.values): partition for partition in partitions}
        return {name: named[name] for name in names if name in named}

    def _is_default(self, values: Values, location: str) -> bool:
        default = f"{self._table.location.rstrip('/')}/{partition_path(self._table.key_names, values)}"
        return (
            Storage(location).uri() == Storage(default).uri() if location.startswith("file:") else location == default
        )
