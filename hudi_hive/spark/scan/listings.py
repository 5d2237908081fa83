"""Listings and plans kept from one statement to the next, for tables that nobody has written to in between.

A table has to be listed, folder by folder or from its metadata table. Which of the listed files count is told by the
timeline, and writers announce themselves there before they touch a file, also to clean, compact and roll back. So
where a table's timeline and properties are the same again and no action is under way, its listing is, too, and so is
what was planned with it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeAlias, TypeVar

from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.table.view import DirectoryLister
from hudi_hive.timeline import Instant

_TABLES_KEPT: Final = 8
_ANSWERS_KEPT: Final = 16
_T = TypeVar("_T")
_Moment: TypeAlias = tuple[TableConfig, tuple[Instant, ...], tuple[int | None, ...]]


class Answers:
    """What statements asked of a table at one moment, for the next ones; thread-safe and bounded.

    What is kept here is shared by threads, so it is nothing that changes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, question: Hashable, make: Callable[[], _T]) -> _T:
        """What ``make`` gave for a question; not asked under a lock, so two threads may both make it."""
        with self._lock:
            if question in self._kept:
                found: _T = self._kept[question]
                return found
        made = make()
        with self._lock:
            self._kept[question] = made
            while len(self._kept) > _ANSWERS_KEPT:
                self._kept.popitem(last=False)
        return made


def answers_of(client: MetaClient) -> Answers:
    """The answers that a client shares with others of the same moment, or has for itself."""
    return client.kept("answers", Answers)


class KeptListings:
    """The newest listings and answers of the tables used last; thread-safe and bounded.

    Args:
        tables: how many tables.
    """

    def __init__(self, tables: int = _TABLES_KEPT) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[_Moment, DirectoryLister, Answers]] = OrderedDict()

    def take_over(self, client: MetaClient) -> MetaClient:
        """Give a client that has listed nothing yet what an earlier one of the same moment has; or keep its own.

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
            if kept is None or kept[0] != moment:
                kept = moment, client.directory_lister, Answers()
            _, lister, answers = kept
            client.kept("directory_lister", lambda: lister)
            client.kept("answers", lambda: answers)
            self._kept[key] = kept
            while len(self._kept) > self._tables:
                self._kept.popitem(last=False)
        return client
