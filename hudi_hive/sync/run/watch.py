"""Watches timelines: syncs a table after each new instant, and retries while a metastore is down.

In come configurations; out go events, one for each sync and each failure. Looking at a table costs one read of its
properties and one listing of its timeline; the metastore is only called when there is something to do.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from hudi_hive.errors import HudiHiveError, InvalidOptionError
from hudi_hive.redaction import without_credentials
from hudi_hive.sync.catalog import Catalog, catalog_key, open_catalog, require_catalog
from hudi_hive.sync.config import HiveSyncConfig
from hudi_hive.sync.run.many import Taken, claim_names
from hudi_hive.sync.run.report import SyncReport
from hudi_hive.sync.run.tool import HiveSyncTool
from hudi_hive.table.core import MetaClient

_LONGEST_WAIT = 3600.0
"""Seconds; an event cannot be waited for any number of them."""


@dataclass(frozen=True)
class WatchSettings:
    """How often to look, all in seconds.

    Args:
        interval: between two looks at a table's timeline.
        once_per: at the least between the starts of two syncs of one table; commits in between are synced together.
        back_off: before a failed sync is tried again; doubled with each failure in a row.
        back_off_max: the longest wait after a failure.

    Raises:
        InvalidOptionError: a time that makes no sense.
    """

    interval: float = 10.0
    once_per: float = 0.0
    back_off: float = 1.0
    back_off_max: float = 60.0

    def __post_init__(self) -> None:
        whole = all(map(math.isfinite, (self.interval, self.once_per, self.back_off, self.back_off_max)))
        if not whole or self.interval <= 0 or self.once_per < 0 or not 0 < self.back_off <= self.back_off_max:
            raise InvalidOptionError(f"intervals must be positive: {self}")


@dataclass(frozen=True)
class WatchEvent:
    """A sync that completed (``report``) or failed (``error``, then it is tried again in ``retry_in`` seconds)."""

    base_path: str
    report: SyncReport | None = None
    error: HudiHiveError | None = None
    failures: int = 0
    retry_in: float = 0.0

    def row(self) -> dict[str, object]:
        """The event as a row: base_path, event, instant, added, moved, dropped, calls, seconds and detail."""
        rows = self.report.rows() if self.report is not None else []
        counts = {name: sum(int(str(row[name])) for row in rows) for name in ("added", "moved", "dropped")}
        return {
            "base_path": without_credentials(self.base_path),
            "event": "failed" if self.error is not None else "synced",
            "instant": max((str(row["last_commit_time_sync"]) for row in rows), default=""),
            **counts,
            "calls": self.report.total_calls if self.report is not None else 0,
            "seconds": round(self.report.seconds, 3) if self.report is not None else 0.0,
            "detail": self.line(),
        }

    def line(self) -> str:
        """The event in a few words."""
        if self.report is not None:
            return self.report.line()
        again = f"attempt {self.failures + 1} in {self.retry_in:.1f} s"
        return f"{without_credentials(self.base_path)}: failed ({self.error}); {again}"


Completed = frozenset[tuple[str, str, str | None]]
"""Completed instants of a timeline: requested time, action, completion time."""


@dataclass
class _Table:
    """What is known of one table between two looks."""

    config: HiveSyncConfig
    seen: Completed | None = None
    failures: int = 0
    next_look: float = field(default=float("-inf"))


class SyncWatcher:
    """Syncs tables repeatedly while they are written.

    The first look syncs; later ones do when an instant (a write, but also a clean, a rollback or a restore) was
    completed since. A failed sync is tried again after a wait that doubles, new instants or not. Tables are synced one
    after the other; of two that would become the same table of a metastore the second one fails.

    Args:
        configs: the tables, each with ``metastore_uris``.
        settings: how often to look.
        on_event: called after each sync, done or failed; what it raises ends the watch.
        clock: seconds, for differences.
        wait: waits so many seconds or until the watch is stopped.

    Raises:
        InvalidOptionError: no table, or one without a metastore.

    Example:
        >>> watcher = SyncWatcher([config], WatchSettings(interval=5))
        >>> threading.Thread(target=watcher.run).start()
        >>> watcher.stop()
    """

    def __init__(
        self,
        configs: Sequence[HiveSyncConfig],
        settings: WatchSettings | None = None,
        *,
        on_event: Callable[[WatchEvent], None] = lambda event: None,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        if not configs:
            raise InvalidOptionError("there is no table to watch")
        for config in configs:
            require_catalog(config)
        self._tables = [_Table(config) for config in configs]
        self._settings = settings or WatchSettings()
        self._on_event = on_event
        self._clock = clock
        self._stopped = threading.Event()
        self._wait = wait or self._stopped.wait
        self._metastores: dict[Hashable, Catalog] = {}
        self._taken: Taken = {}

    def stop(self) -> None:
        """End ``run`` after the sync that is under way; may be called from other threads, from no signal handler."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether ``stop`` was called."""
        return self._stopped.is_set()

    def run(self) -> None:
        """Watch until stopped. Breaking a sync off by an exception (Ctrl-C) does no harm: it can be run again."""
        try:
            while not self.stopped:
                for table in self._tables:
                    if not self.stopped and self._clock() >= table.next_look:
                        self._look(table)
                pause = min(table.next_look for table in self._tables) - self._clock()
                if pause > 0 and not self.stopped:
                    self._wait(min(pause, _LONGEST_WAIT))
        finally:
            metastores, self._metastores = self._metastores, {}
            for metastore in metastores.values():
                metastore.close()

    def _look(self, table: _Table) -> None:
        start = self._clock()
        config = table.config
        try:
            client = MetaClient.load(config.base_path, config.storage_options)
            claim_names(self._taken, config, client)
            completed: Completed = frozenset(
                (item.requested, item.action, item.completed) for item in client.timeline.completed()
            )
            if table.seen is not None and completed <= table.seen:
                # Instants that were archived are forgotten, so that this does not grow for ever.
                table.seen, table.failures = completed, 0
                table.next_look = start + self._settings.interval
                return
            report = HiveSyncTool(config, metastore=self._metastore(config), client=client).sync()
        except HudiHiveError as error:
            self._failed(table, error)
            return
        table.seen, table.failures = completed, 0
        table.next_look = start + max(self._settings.interval, self._settings.once_per)
        self._on_event(WatchEvent(config.base_path, report))

    def _failed(self, table: _Table, error: HudiHiveError) -> None:
        table.failures += 1
        table.seen = None
        # A little of chance: many watchers must not fall upon a metastore that comes back all at the same moment.
        pause = min(self._settings.back_off * 2.0 ** min(table.failures - 1, 30), self._settings.back_off_max)
        pause *= random.uniform(0.75, 1.0)
        table.next_look = self._clock() + pause
        self._on_event(WatchEvent(table.config.base_path, error=error, failures=table.failures, retry_in=pause))

    def _metastore(self, config: HiveSyncConfig) -> Catalog:
        key = catalog_key(config)
        if key not in self._metastores:
            self._metastores[key] = open_catalog(config)
        return self._metastores[key]
