"""Caches listings and plans of tables from one statement to the next, as long as their timelines are the same.

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

_MAX_TABLES: Final = 8
_MAX_ANSWERS: Final = 16
_T = TypeVar("_T")
_Moment: TypeAlias = tuple[TableConfig, tuple[Instant, ...], tuple[int | None, ...]]


class QueryCache:
    """A bounded, thread-safe cache of planning results of a table at one moment, by query.

    Values are shared by threads, so they must be immutable.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cached: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, question: Hashable, make: Callable[[], _T]) -> _T:
        """The cached value of a query, made by ``make`` on first use; two threads may both call it."""
        with self._lock:
            if question in self._cached:
                found: _T = self._cached[question]
                return found
        made = make()
        with self._lock:
            self._cached[question] = made
            while len(self._cached) > _MAX_ANSWERS:
                self._cached.popitem(last=False)
        return made


def query_cache_of(client: MetaClient) -> QueryCache:
    """The query cache that a client shares with others of the same moment, or has for itself."""
    return client.memoize("answers", QueryCache)


class ListingCache:
    """Listings and query caches of the most recently used tables; thread-safe and bounded.

    Args:
        tables: how many tables.
    """

    def __init__(self, tables: int = _MAX_TABLES) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._cached: OrderedDict[str, tuple[_Moment, DirectoryLister, QueryCache]] = OrderedDict()

    def take_over(self, client: MetaClient) -> MetaClient:
        """Share the listing and the query cache of an earlier client of the same moment with a new one.

        Args:
            client: of the table; its timeline is read here.

        Returns:
            The client.
        """
        instants = client.timeline.instants
        key = f"{client.base_path} {sorted(client.storage.storage_options.items(), key=str)}"
        with self._lock:
            if not all(instant.is_completed for instant in instants):
                self._cached.pop(key, None)
                return client
            # Times of files tell a table that was dropped and made again with the same instants.
            moment = client.config, instants, tuple(map(client.timeline.mtime_ms, instants))
            cached = self._cached.pop(key, None)
            if cached is None or cached[0] != moment:
                cached = moment, client.directory_lister, QueryCache()
            _, lister, answers = cached
            client.memoize("directory_lister", lambda: lister)
            client.memoize("answers", lambda: answers)
            self._cached[key] = cached
            while len(self._cached) > self._tables:
                self._cached.popitem(last=False)
        return client
