"""Keeps the partition indexes of a table as options say: made where they are missing, dropped where they are not due.

Only indexes whose names say that a sync made them are dropped; those of users stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hudi_hive.errors import AlreadyExistsError, MetastoreServerError, NoSuchObjectError
from hudi_hive.glue.client import GlueClient
from hudi_hive.glue.structs import Json

_MANAGED: Final = "hudi_managed_"
_GOING: Final = "DELETING"
_BEING_MADE: Final = "CREATING"


class IndexKeeper:
    """Keeps partition indexes.

    Args:
        client: sends the requests.
    """

    def __init__(self, client: GlueClient) -> None:
        self._client = client

    def keep(self, database: str, table: str, indexes: Sequence[Sequence[str]]) -> list[str]:
        """Make the indexes of a table that are missing, and drop those of syncs that are not among them.

        Args:
            database: database.
            table: table.
            indexes: the fields of each index.

        Returns:
            names of indexes that Glue does not make while it makes another one.

        Raises:
            MetastoreServerError: Glue refuses an index.
        """
        about = f"partition indexes of {database}.{table}"
        names = {"DatabaseName": database, "TableName": table}
        needed = {tuple(field.lower() for field in index) for index in indexes}
        there, busy = set(), False
        for index in self._existing(database, table):
            fields = tuple(key["Name"].lower() for key in index["Keys"])
            busy |= index.get("IndexStatus") == _BEING_MADE
            if fields in needed:
                there.add(fields)
            elif index["IndexName"].startswith(_MANAGED) and index.get("IndexStatus") != _GOING:
                try:
                    self._client.call("delete_partition_index", about=about, IndexName=index["IndexName"], **names)
                except NoSuchObjectError:
                    continue  # another sync was faster
        waiting = []
        for fields in sorted(needed - there):
            name = _MANAGED + "_".join(fields)
            made = {"Keys": list(fields), "IndexName": name}
            try:
                self._client.call("create_partition_index", about=about, PartitionIndex=made, **names)
            except AlreadyExistsError:
                continue
            except MetastoreServerError:
                if not busy:
                    raise
                waiting.append(name)
            busy = True
        return waiting

    def _existing(self, database: str, table: str) -> Iterator[Json]:
        about = f"partition indexes of {database}.{table}"
        more: Json = {}
        while True:
            answer = self._client.call(
                "get_partition_indexes", about=about, DatabaseName=database, TableName=table, **more
            )
            yield from answer.get("PartitionIndexDescriptorList") or ()
            if not answer.get("NextToken"):
                return
            more = {"NextToken": answer["NextToken"]}
