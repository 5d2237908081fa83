"""The interface of changes that a sync makes to a metastore, and its implementation by the catalog's own calls.

Comes in: the metastore's own structs, complete. Goes out: the same end state whatever the writer.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Protocol

from hudi_hive.metastore import Partition, Table
from hudi_hive.options import sync as options
from hudi_hive.sync.catalog import Catalog

LAST_DDL_TIME = "transient_lastDdlTime"
"""Parameter in which the metastore keeps the time of the last change; without it the metastore sets a new one."""


class CatalogWriter(Protocol):
    """The changes that a sync makes. No method deletes data, and every call may be repeated.

    Names are in lower case; partitions carry their values in the order of the table's keys. ``batch_size`` is the
    greatest number of partitions per call or statement.
    """

    def create_database(self, name: str, *, description: str) -> None:
        """Create a database if it does not exist."""

    def create_table(self, table: Table) -> None:
        """Create a table.

        Raises:
            AlreadyExistsError: it exists.
        """

    def alter_table(
        self,
        database: str,
        name: str,
        table: Table,
        *,
        cascade: bool = False,
        expected: tuple[str, str] | None = None,
    ) -> None:
        """Give a table the definition in ``table``; ``cascade`` gives its columns to all partitions too.

        ``expected`` names a parameter and the value that the table must still have for the change to be made.

        Raises:
            InvalidOperationError: no such table, or a change of columns that is refused.
            TableChangedError: the parameter ``expected`` has another value by now.
        """

    def drop_table(self, database: str, name: str) -> None:
        """Drop a table if it exists, without deleting data, also that of a managed table."""

    def add_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """Add partitions that do not exist."""

    def alter_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """Alter partitions, identified by their values, to the definitions in ``partitions``."""

    def touch_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """Notify listeners of the metastore that the data of partitions changed, without changing the partitions."""

    def drop_partitions(self, database: str, table: str, names: Sequence[str], *, batch_size: int) -> None:
        """Drop partitions by name (``k1=v1/k2=v2``), without deleting data; missing ones are skipped."""


class MetastoreWriter:
    """Makes the changes through the catalog's own calls: Thrift calls in mode ``hms``, requests in mode ``glue``.

    A metastore works through a batch on one core. Batches of one kind go side by side: each holds other partitions, and
    the kinds follow one another, so their order does not matter, and a sync that died between them can be run again.

    Args:
        metastore: whose calls.
        connections: batches under way at once. None: four that add, one that alters or drops, since in a metastore on
            Derby such batches wait for one another until one is not answered in time. Glue's settings say it of Glue.
    """

    def __init__(self, metastore: Catalog, connections: int | None = None) -> None:
        self._metastore = metastore
        self._added_at_once = connections or options.USUAL_CONNECTIONS
        self._changed_at_once = connections or 1

    def create_database(self, name: str, *, description: str) -> None:
        """As ``CatalogWriter``."""
        self._metastore.create_database(name, description=description, if_not_exists=True)

    def create_table(self, table: Table) -> None:
        """As ``CatalogWriter``."""
        self._metastore.create_table(table)

    def alter_table(
        self,
        database: str,
        name: str,
        table: Table,
        *,
        cascade: bool = False,
        expected: tuple[str, str] | None = None,
    ) -> None:
        """As ``CatalogWriter``."""
        self._metastore.alter_table(database, name, table, cascade=cascade, expected=expected)

    def drop_table(self, database: str, name: str) -> None:
        """As ``CatalogWriter``."""
        self._metastore.drop_table(database, name, if_exists=True)

    def add_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """As ``CatalogWriter``."""
        at_once = self._added_at_once
        self._metastore.add_partitions(database, table, partitions, batch_size=batch_size, ahead=at_once)

    def alter_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """As ``CatalogWriter``."""
        at_once = self._changed_at_once
        self._metastore.alter_partitions(database, table, partitions, batch_size=batch_size, ahead=at_once)

    def touch_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """As ``CatalogWriter``: what Hive's ``ALTER TABLE … TOUCH PARTITION`` does, many partitions per call."""
        touched = [touched_partition(item) for item in partitions]
        self.alter_partitions(database, table, touched, batch_size=batch_size)

    def drop_partitions(self, database: str, table: str, names: Sequence[str], *, batch_size: int) -> None:
        """As ``CatalogWriter``."""
        at_once = self._changed_at_once
        self._metastore.drop_partitions(database, table, names, batch_size=batch_size, ahead=at_once)


def touched_partition(existing: Partition) -> Partition:
    """A copy of a partition for which the metastore sets a new time of change."""
    partition = copy.copy(existing)
    partition.parameters = {name: text for name, text in (existing.parameters or {}).items() if name != LAST_DDL_TIME}
    return partition
