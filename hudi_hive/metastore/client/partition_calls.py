"""The client's calls on partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hudi_hive.errors import InvalidOperationError, InvalidOptionError, MetastoreServerError, NoSuchObjectError
from hudi_hive.metastore._thrift import ttypes
from hudi_hive.metastore.client.base_client import BaseClient
from hudi_hive.metastore.client.database_texts import ends_in_blank, fits_values, only_named, text_error
from hudi_hive.metastore.client.partition_names import format_partition_name
from hudi_hive.metastore.client.types import Partition, Table
from hudi_hive.metastore.connection import BatchSizes

if TYPE_CHECKING:
    import pyarrow as pa

_LARGEST_I16 = 32767
_ALL = -1


class PartitionCalls(BaseClient):
    """Reading and writing partitions in batches."""

    def table(self, database: str, name: str) -> Table:
        """One table.

        Raises:
            NoSuchObjectError: there is none of this name.
        """
        request = ttypes.GetTableRequest(dbName=database, tblName=name)
        table: Table = self.call("get_table_req", request, about=f"table {database}.{name}").table
        return table

    # -- partitions: reading ----------------------------------------------------------------------------------------

    def partition_names(
        self, database: str, table: str, maximum: int | None = None, *, values: Sequence[str] | None = None
    ) -> list[str]:
        """Names of partitions, ``k1=v1/k2=v2``, in the metastore's order.

        Args:
            database: database.
            table: table.
            maximum: at most so many; None for all.
            values: values of the first keys, one each; an empty text stands for any value.

        Raises:
            NoSuchObjectError: no such table.
            InvalidOptionError: a negative ``maximum``.
        """
        if maximum is not None and maximum < 0:
            raise InvalidOptionError(f"maximum number of partition names must not be negative: {maximum}")
        if maximum == 0:
            return []  # The metastore takes 0 for "all".
        about = f"partitions of {database}.{table}"
        # The wire has 16 bits for the number; more than that can only be asked for as "all".
        limit = _ALL if maximum is None or maximum > _LARGEST_I16 else maximum
        if values is None:
            names = self._all_names(database, table, limit)
        else:
            # The metastore makes a pattern of the values, in which a dot stands for any character: the limit is ours.
            answer = self.call("get_partition_names_ps", database, table, list(values), _ALL, about=about)
            names = [name for name in answer if fits_values(name, values)]
            if answer:
                return names if maximum is None else names[:maximum]
        if not names:
            self.table(database, table)  # Metastore 4 answers for a missing table with an empty list.
        return names if maximum is None else names[:maximum]

    def _all_names(self, database: str, table: str, limit: int) -> list[str]:
        try:
            return list(
                self.call("get_partition_names", database, table, limit, about=f"partitions of {database}.{table}")
            )
        except NoSuchObjectError:
            raise
        except MetastoreServerError:
            # Metastore 2.3 answers for a missing table with an internal error: ask whether that was it.
            self.table(database, table)
            raise

    def partition(self, database: str, table: str, values: Sequence[str]) -> Partition:
        """One partition by its values.

        Raises:
            NoSuchObjectError: no such table or partition.
        """
        about = f"partition {list(values)} of {database}.{table}"
        found: Partition = self.call("get_partition", database, table, list(values), about=about)
        return found

    def partitions(
        self,
        database: str,
        table: str,
        names: Sequence[str] | None = None,
        *,
        filter: str | None = None,
        batch: BatchSizes | None = None,
    ) -> Iterator[Partition]:
        """Partitions one after the other; see ``partition_batches`` for the arguments."""
        for part in self.partition_batches(database, table, names, filter=filter, batch=batch):
            yield from part

    def partition_batches(
        self,
        database: str,
        table: str,
        names: Sequence[str] | None = None,
        *,
        filter: str | None = None,
        batch: BatchSizes | None = None,
    ) -> Iterator[list[Partition]]:
        """Partitions in the batches in which they are fetched: names first, then 10, 20, 40, 80, 100, 100 … by name.

        Several batches are under way at once; they come in the order of the names. A batch that the server refuses,
        drops or does not answer in time is asked for again in halves, and no larger one is tried after it.

        Args:
            database: database.
            table: table.
            names: the partitions wanted; None for all. Those that do not exist (any more) are left out, and what some
                databases answer with instead: a name that differs in trailing blanks or case.
            filter: the metastore's filter text on partition keys (``dt >= "2024-01-01"``), in place of names: one call.
            batch: other sizes than the client's.

        Raises:
            NoSuchObjectError: no such table.
            InvalidOptionError: ``names`` together with ``filter``.
            MetastoreServerError: a filter that the metastore does not take, or a refused batch of one partition.
            MetastoreTextError: a name that the metastore's database cannot hold.
        """
        if filter is not None:
            if names is not None:
                raise InvalidOptionError("give partition names or a filter, not both")
            yield self.partitions_by_filter(database, table, filter)
            return
        if names is None:
            names = self.partition_names(database, table)
        about = f"partitions of {database}.{table}"

        def fetch(part: Sequence[str]) -> list[Partition]:
            try:
                partitions = self.call("get_partitions_by_names", database, table, list(part), about=about)
            except InvalidOperationError:
                self.table(database, table)  # What metastore 4 says of a missing table; this says it plainly.
                raise
            except MetastoreServerError as error:
                raise text_error(error, part, f"{database}.{table}") from error
            return only_named(partitions, part)

        yield from self.read_batches(names, fetch, batch)

    def partitions_by_filter(self, database: str, table: str, text: str, maximum: int | None = None) -> list[Partition]:
        """Partitions that the metastore's filter text lets through, in one call however many they are.

        The metastore's database compares: by the order of texts that it was set up with, and some without trailing
        blanks.

        Args:
            database: database.
            table: table.
            text: filter on partition keys (``dt >= "2024-01-01"``).
            maximum: at most so many (up to 32,767), of which nobody says which; None for all.

        Raises:
            MetastoreServerError: a filter that the metastore does not take.
        """
        if maximum is not None and not 0 < maximum <= _LARGEST_I16:
            raise InvalidOptionError(f"maximum number of partitions must be 1 to {_LARGEST_I16}, not {maximum}")
        about = f"partitions of {database}.{table} where {text}"
        return list(self.call("get_partitions_by_filter", database, table, text, maximum or _ALL, about=about))

    def count_partitions(self, database: str, table: str, filter: str = "") -> int:
        """Number of partitions, of all or of those that fit the metastore's ``filter`` text."""
        about = f"partitions of {database}.{table} where {filter}" if filter else f"partitions of {database}.{table}"
        return int(self.call("get_num_partitions_by_filter", database, table, filter, about=about))

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
        """Partitions as an Arrow table for planners: a text column per key, ``name``, ``location``, formats and more.

        Args:
            database: database.
            table: table.
            names: as for ``partition_batches``.
            filter: as for ``partition_batches``.
            batch: as for ``partition_batches``.
            keys: the table's partition keys; None asks the metastore (one call more).

        Returns:
            Columns ``values`` (list<string>), ``name``, ``location``, ``input_format``, ``serde``, ``create_time``
            (seconds), ``parameters`` (map), and ``key_<k>`` for each partition key.

        Raises:
            As ``partition_batches``.
        """
        from hudi_hive.metastore.client.partitions_table import to_arrow

        if keys is None:
            keys = [key.name for key in self.table(database, table).partitionKeys]
        return to_arrow(keys, self.partition_batches(database, table, names, filter=filter, batch=batch))

    # -- partitions: writing ----------------------------------------------------------------------------------------

    def add_partitions(
        self,
        database: str,
        table: str,
        partitions: Sequence[Partition],
        *,
        if_not_exists: bool = True,
        batch_size: int | None = None,
        ahead: int = 1,
    ) -> None:
        """Add partitions in batches; the metastore makes missing folders. A batch is added whole or not at all.

        Args:
            database: database.
            table: table.
            partitions: with values and a storage descriptor each.
            if_not_exists: partitions that exist are left as they are; such a call may be repeated without harm.
            batch_size: partitions per call; None for the client's ``batch.write``.
            ahead: batches under way at once, each on a connection of its own (never more than the pool has); with more
                than 1 a failure may leave any of the batches added. It is raised when none is under way any more.

        Raises:
            AlreadyExistsError: one exists and ``if_not_exists`` is not set. Earlier batches stay added.
            InvalidOperationError: no such table, or values that do not fit its keys.
            MetastoreTextError: values that the metastore's database cannot hold, or tell from another partition's.
        """
        about = f"partitions of {database}.{table}"

        def add(batch: Sequence[Partition]) -> None:
            request = ttypes.AddPartitionsRequest(
                dbName=database, tblName=table, parts=list(batch), ifNotExists=if_not_exists, needResult=False
            )
            try:
                self.call("add_partitions_req", request, about=about, repeatable=if_not_exists)
            except MetastoreServerError as error:
                names = (format_partition_name(["value"] * len(item.values), item.values) for item in batch)
                raise text_error(error, names, f"{database}.{table}") from error

        self.write_batches(partitions, add, batch_size, repeatable=if_not_exists, ahead=ahead)

    def alter_partitions(
        self,
        database: str,
        table: str,
        partitions: Sequence[Partition],
        *,
        batch_size: int | None = None,
        ahead: int = 1,
    ) -> None:
        """Replace the definitions of partitions, found by their values, in batches.

        Args:
            database: database.
            table: table.
            partitions: the whole new definitions.
            batch_size: partitions per call; None for the client's ``batch.write``.
            ahead: as for ``add_partitions``.

        Raises:
            InvalidOperationError: one does not exist. Earlier batches stay changed.
        """
        about = f"partitions of {database}.{table}"
        context = ttypes.EnvironmentContext(properties={})

        def alter(batch: Sequence[Partition]) -> None:
            self.call(
                "alter_partitions_with_environment_context",
                database,
                table,
                list(batch),
                context,
                about=about,
                repeatable=False,
            )

        self.write_batches(partitions, alter, batch_size, repeatable=False, ahead=ahead)

    def drop_partitions(
        self,
        database: str,
        table: str,
        names: Sequence[str],
        *,
        if_exists: bool = True,
        batch_size: int | None = None,
        ahead: int = 1,
    ) -> None:
        """Forget partitions, in batches. Their folders and data stay.

        Args:
            database: database.
            table: table.
            names: ``k1=v1/k2=v2`` as the metastore names them.
            if_exists: names that do not exist are passed over; such a call may be repeated without harm.
            batch_size: partitions per call; None for the client's ``batch.write``.
            ahead: as for ``add_partitions``.

        Raises:
            NoSuchObjectError: no such table, or one does not exist and ``if_exists`` is not set.
        """
        about = f"partitions of {database}.{table}"
        names = self._without_lookalikes(database, table, names, if_exists=if_exists)

        def drop(batch: Sequence[str]) -> None:
            request = ttypes.DropPartitionsRequest(
                dbName=database,
                tblName=table,
                parts=ttypes.RequestPartsSpec(names=list(batch)),
                deleteData=False,
                ifExists=if_exists,
                needResult=False,
            )
            self.call("drop_partitions_req", request, about=about, repeatable=if_exists)

        self.write_batches(names, drop, batch_size, repeatable=if_exists, ahead=ahead)

    def _without_lookalikes(self, database: str, table: str, names: Sequence[str], *, if_exists: bool) -> Sequence[str]:
        """The names without those that would drop another partition: some databases ignore trailing blanks."""
        doubtful = [name for name in names if ends_in_blank(name)]
        if not doubtful:
            return names
        keys = [key.name for key in self.table(database, table).partitionKeys]
        there = {format_partition_name(keys, item.values) for item in self.partitions(database, table, doubtful)}
        missing = [name for name in doubtful if name not in there]
        if missing and not if_exists:
            raise NoSuchObjectError(
                f"there is no partition {missing[0]!r} of {database}.{table}", path=self.uri, remedy="check the name"
            )
        return [name for name in names if name not in missing]
