"""Writing the metadata table: kept in step with every action of its table (table format, section 7.5; RFC-15)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from hudi_hive.errors import MetadataTableError
from hudi_hive.metadata.changes import MetadataChanges
from hudi_hive.table import MetaClient


class Executor(Protocol):
    """What runs a function over tasks, here or elsewhere."""

    def map(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        """The results, in the order of the tasks."""


class MetadataWriter:
    """Keeps one table's metadata table; make it with :meth:`open`, under the table's lock when there is one.

    Every change is one delta commit of the metadata table, with the requested time of the data table's instant and
    completed before that is.
    """

    def __init__(self, client: MetaClient, options: Mapping[str, str]) -> None:
        self._client = client
        self._options = dict(options)

    @classmethod
    def open(cls, client: MetaClient, options: Mapping[str, str] | None = None) -> MetadataWriter | None:
        """The writer of a table's metadata table; None when ``hoodie.metadata.enable`` is false.

        A metadata table that exists while the option is false is deleted, since it would hide what is written next.
        Otherwise one that does not exist is made on the first :meth:`apply`, or by :meth:`initialise`.

        Args:
            client: the table.
            options: Hudi's write options.
        """
        enabled = (options or {}).get("hoodie.metadata.enable", "true").strip().lower() != "false"
        if not enabled and not client.config.metadata_partitions:
            return None
        raise MetadataTableError("the metadata table cannot be written yet", path=client.base_path)

    def initialise(self, partitions: Sequence[str] | None = None, executor: Executor | None = None) -> None:
        """Make the metadata table, or the partitions of it that are missing, from what is committed now."""
        raise NotImplementedError

    def apply(self, instant: str, action: str, changes: MetadataChanges) -> None:
        """Commit what an action changes, with its requested time, before the action completes."""
        raise NotImplementedError

    def rollback(self, instant: str, target: str, changes: MetadataChanges | None = None) -> None:
        """Take back what the instant ``target`` committed here, for the rollback ``instant`` of the data table.

        To be called before the files of ``target`` leave the data table's timeline.

        Args:
            instant: requested time of the rollback (or restore).
            target: requested time of what is rolled back.
            changes: files that the rollback added (version 6: log files with command blocks) and deleted.
        """
        raise NotImplementedError
