"""``Catalog``: what a sync asks of a catalog and changes in it.

:class:`~hudi_hive.metastore.HiveMetastore` and :class:`~hudi_hive.glue.GlueCatalog` are catalogs; what methods do, take
and raise is said there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from hudi_hive.metastore import BatchSizes, CallCounter, Database, Partition, Table

if TYPE_CHECKING:
    import pyarrow as pa


class Catalog(Protocol):
    """Databases, tables and partitions, as a Hive metastore's structs."""

    batch: BatchSizes

    @property
    def uri(self) -> str:
        """Its address, without secrets."""

    @property
    def calls(self) -> Counter[str]:
        """Calls sent so far, by method."""

    @property
    def call_counter(self) -> CallCounter:
        """The counter of calls itself."""

    def close(self) -> None:
        """Close all connections."""

    def database(self, name: str) -> Database:
        """One database."""

    def create_database(self, name: str, *, description: str | None = None, if_not_exists: bool = False) -> bool:
        """Create a database."""

    def table(self, database: str, name: str) -> Table:
        """One table."""

    def find_table(self, database: str, name: str) -> Table | None:
        """One table, or None if there is none."""

    def table_objects(self, database: str, names: Sequence[str]) -> Iterable[Table]:
        """Several tables; names that do not exist are left out."""

    def create_table(self, table: Table) -> bool:
        """Create a table."""

    def alter_table(
        self,
        database: str,
        name: str,
        table: Table,
        *,
        cascade: bool = False,
        expected: tuple[str, str] | None = None,
    ) -> None:
        """Replace a table's definition, if ``expected`` is still a parameter of it and its value."""

    def drop_table(self, database: str, name: str, *, if_exists: bool = False) -> bool:
        """Forget a table; its data stays."""

    def partitions(
        self, database: str, table: str, names: Sequence[str] | None = None, *, batch: BatchSizes | None = None
    ) -> Iterator[Partition]:
        """Partitions with all that they have."""

    def partitions_table(
        self,
        database: str,
        table: str,
        names: Sequence[str] | None = None,
        *,
        filter: str | None = None,
        batch: BatchSizes | None = None,
        keys: Sequence[str] | None = None,
    ) -> pa.Table:
        """Partitions as an Arrow table with at least ``name``, ``location`` and ``input_format``."""

    def add_partitions(
        self,
        database: str,
        table: str,
        partitions: Sequence[Partition],
        *,
        batch_size: int | None = None,
        ahead: int = 1,
    ) -> None:
        """Add partitions; those that exist are left as they are."""

    def alter_partitions(
        self,
        database: str,
        table: str,
        partitions: Sequence[Partition],
        *,
        batch_size: int | None = None,
        ahead: int = 1,
    ) -> None:
        """Replace the definitions of partitions."""

    def drop_partitions(
        self, database: str, table: str, names: Sequence[str], *, batch_size: int | None = None, ahead: int = 1
    ) -> None:
        """Forget partitions; names that do not exist are passed over."""
