"""Directory listings kept from one statement to the next, for tables that nobody has written to in between.

A table without a metadata table has to be listed folder by folder. Which of the listed files count is told by the
timeline, and writers announce themselves there before they touch a file, also to clean, compact and roll back. So
where a table's timeline and properties are the same again and no action is under way, its listing is, too.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, TypeAlias

from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.table.listing import DirectoryLister
from hudi_hive.timeline import Instant

_TABLES_KEPT: Final = 8
_Moment: TypeAlias = tuple[TableConfig, tuple[Instant, ...], tuple[int | None, ...]]


class KeptListings:
    """The newest listings of the tables used last; thread-safe and bounded.

    Args:
        tables: how many tables.
    """

    def __init__(self, tables: int = _TABLES_KEPT) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[_Moment, DirectoryLister]] = OrderedDict()

    def take_over(self, client: MetaClient) -> MetaClient:
        """Give a client that has listed nothing yet the listing of an earlier one of the same moment; or keep its own.

        Args:
            client: of the table; its timeline is read here.

        Returns:
            The client.
        """
        instants = client.timeline.instants
        key = f"{client.base_path} {sorted(client.storage.storage_options.items(), key=str)}"
        with self._lock:
            if not all(instant.is_completed for instant in instants):
                self._kept.pop(key, None)
                return client
            # Times of files tell a table that was dropped and made again with the same instants.
            moment = client.config, instants, tuple(map(client.timeline.mtime_ms, instants))
            kept = self._kept.pop(key, None)
            lister = kept[1] if kept is not None and kept[0] == moment else client.directory_lister
            self._kept[key] = moment, client.kept("directory_lister", lambda: lister)
            while len(self._kept) > self._tables:
                self._kept.popitem(last=False)
        return client
