"""Caches listings and plans of tables from one statement to the next, as long as their timelines are the same.

A table has to be listed, folder by folder or from its metadata table. Which of the listed files count is told by the
timeline, and writers announce themselves there before they touch a file, also to clean, compact and roll back. So
where a table's timeline and properties are the same again and no action is under way, its listing is, too, and so is
what was planned with it.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

from pyspark import SparkContext

from hudi_hive.errors import SparkError
from hudi_hive.options import read
from hudi_hive.plan import Query
from hudi_hive.spark.write import SparkExecutor
from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.table.view import DirectoryLister, SpreadListing
from hudi_hive.timeline import Instant

_LOG: Final = logging.getLogger("hudi_hive.spark")

_MAX_TABLES: Final = 8
_MAX_ANSWERS: Final = 16
_LISTING_TASKS: Final = 200
"""Hudi's ``hoodie.file.listing.parallelism``."""
_TASKS_PER_CORE: Final = 4
_T = TypeVar("_T")
_R = TypeVar("_R")
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

    def take_over(self, client: MetaClient, spread: Callable[[], SpreadListing] | None = None) -> MetaClient:
        """Share the listing and the query cache of an earlier client of the same moment with a new one.

        Args:
            client: of the table; its timeline is read here.
            spread: gives how executors list the folders, and is asked if they are listed.

        Returns:
            The client.
        """
        instants = client.timeline.instants
        key = f"{client.base_path} {sorted(client.storage.storage_options.items(), key=str)}"
        levels = len(client.config.partition_fields)
        own = DirectoryLister(client.storage, None if spread is None else lambda: replace(spread(), levels=levels))
        with self._lock:
            if not all(instant.is_completed for instant in instants):
                self._cached.pop(key, None)
                client.memoize("directory_lister", lambda: own)
                return client
            # Times of files tell a table that was dropped and made again with the same instants.
            moment = client.config, instants, tuple(map(client.timeline.mtime_ms, instants))
            cached = self._cached.pop(key, None)
            if cached is None or cached[0] != moment:
                cached = moment, own, QueryCache()
            _, lister, answers = cached
            client.memoize("directory_lister", lambda: lister)
            client.memoize("answers", lambda: answers)
            self._cached[key] = cached
            while len(self._cached) > self._tables:
                self._cached.popitem(last=False)
        return client


def spread_listing(query: Query) -> SpreadListing:
    """How folders are listed by the executors of the active session, where a table has to be listed.

    Folders of a level up to ``spark.sql.sources.parallelPartitionDiscovery.threshold``, as of Spark's own tables, are
    listed by the driver; more of them by ``hoodie.file.listing.parallelism`` tasks at most, or without that by some for
    each core. Of more partitions than ``spark.hudi_hive.planned.partitions`` executors choose the slices, too, where
    the metadata table lists the files. The session is not an argument, as listings outlive the statements of a session.

    Args:
        query: the question, with its options.
    """
    context = SparkContext._active_spark_context
    assert context is not None and context._jvm is not None
    settings = context._jvm.org.apache.spark.sql.internal.SQLConf.get()
    tasks = query.options.listing_parallelism
    if tasks is None:
        tasks = min(_LISTING_TASKS, context.defaultParallelism * _TASKS_PER_CORE)
    most = read.SPARK_PLANNED_PARTITIONS
    looked_up = most.parse(settings.getConfString(most.name, str(most.default)))
    return SpreadListing(_run_on_executors, tasks, int(settings.parallelPartitionDiscoveryThreshold()), 0, looked_up)


def _run_on_executors(function: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
    """Results of tasks on the executors; of this process where they cannot do it, such as without this package."""
    context = SparkContext._active_spark_context
    if context is not None:
        try:
            return SparkExecutor(context).map(function, tasks)
        except SparkError as error:
            _LOG.warning("executors do not list folders, the driver does: %s", error)
    return [function(task) for task in tasks]
