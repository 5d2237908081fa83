"""Syncs many tables concurrently; the failure of one does not stop the others.

In come configurations; out goes a ``ManyReport`` with a result for each, in their order.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from hudi_hive.errors import HudiHiveError, InvalidOptionError
from hudi_hive.redaction import without_credentials
from hudi_hive.sync.catalog import Catalog, catalog_key, open_catalog
from hudi_hive.sync.config import HiveSyncConfig
from hudi_hive.sync.run.report import SyncReport
from hudi_hive.sync.run.tool import HiveSyncTool
from hudi_hive.sync.table import views
from hudi_hive.table.core import MetaClient

RESULT_COLUMNS = ("base_path", "result", "added", "moved", "dropped", "calls", "seconds", "detail")

Taken = dict[tuple[Hashable, str, str], str]
"""(metastore, database, table) -> base path of the table that has this name."""

SYNCED = "synced"
NOTHING = "nothing to do"
PLANNED = "planned"
FAILED = "failed"


@dataclass(frozen=True)
class TableResult:
    """The result of one table: a report or an error."""

    base_path: str = field(repr=False)
    report: SyncReport | None = None
    error: HudiHiveError | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def result(self) -> str:
        """``synced``, ``nothing to do``, ``planned`` (a dry run that found work) or ``failed``."""
        if self.report is None:
            return FAILED
        if self.report.is_noop:
            return NOTHING
        return PLANNED if self.report.dry_run else SYNCED

    def row(self) -> dict[str, object]:
        """One row of ``RESULT_COLUMNS``; the detail is the error, or the names in the metastore."""
        rows = self.report.rows() if self.report is not None else []
        counts = {name: sum(int(str(row[name])) for row in rows) for name in ("added", "moved", "dropped")}
        return {
            "base_path": without_credentials(self.base_path),
            "result": self.result,
            **counts,
            "calls": self.report.total_calls if self.report is not None else 0,
            "seconds": round(self.seconds, 3),
            "detail": str(self.error) if self.error is not None else ", ".join(str(row["table"]) for row in rows),
        }


@dataclass(frozen=True)
class ManyReport:
    """Results in the order of the configurations."""

    results: tuple[TableResult, ...]
    seconds: float = field(default=0.0, compare=False)

    @property
    def failed(self) -> tuple[TableResult, ...]:
        """The results that are errors."""
        return tuple(item for item in self.results if item.error is not None)

    def rows(self) -> list[dict[str, object]]:
        """One row per table, see ``RESULT_COLUMNS``."""
        return [item.row() for item in self.results]


def sync_many(
    configs: Sequence[HiveSyncConfig],
    *,
    dry_run: bool = False,
    workers: int = 4,
    on_result: Callable[[TableResult], None] | None = None,
) -> ManyReport:
    """Sync several tables; an error of one is its result and does not stop the others.

    Tables that would become the same table of a metastore are all refused but the first: they would take it from each
    other at every sync.

    Args:
        configs: one per table, each with ``metastore_uris``.
        dry_run: only plan.
        workers: tables at work at once, each with connections of its own.
        on_result: called for each table when it is done, in the order of ending, from other threads.

    Raises:
        InvalidOptionError: no worker.
    """
    if workers < 1:
        raise InvalidOptionError(f"at least one worker is needed, not {workers}")
    start = time.perf_counter()
    with _Metastores() as metastores, ThreadPoolExecutor(workers, thread_name_prefix="sync") as threads:
        clients = list(threads.map(_load, configs))
        refused = _doubles(configs, clients)

        def work(index: int) -> TableResult:
            result = _sync_one(configs[index], refused.get(index, clients[index]), metastores, dry_run)
            if on_result is not None:
                on_result(result)
            return result

        results = tuple(threads.map(work, range(len(configs))))
    return ManyReport(results, time.perf_counter() - start)


def _load(config: HiveSyncConfig) -> MetaClient | HudiHiveError:
    try:
        return MetaClient.load(config.base_path, config.storage_options)
    except HudiHiveError as error:
        return error


def _doubles(
    configs: Sequence[HiveSyncConfig], clients: Sequence[MetaClient | HudiHiveError]
) -> dict[int, HudiHiveError]:
    """Errors of tables whose names in the metastore another one has taken; by index."""
    taken: Taken = {}
    refused: dict[int, HudiHiveError] = {}
    for index, (config, client) in enumerate(zip(configs, clients, strict=True)):
        if isinstance(client, HudiHiveError):
            continue
        try:
            claim_names(taken, config, client)
        except HudiHiveError as error:
            refused[index] = error
    return refused


def claim_names(taken: Taken, config: HiveSyncConfig, client: MetaClient) -> None:
    """Note the names in the metastore that a table becomes.

    Raises:
        InvalidOptionError: another table has taken one of them; or an unknown extractor.
    """
    target = config.resolve(client.config)
    found = views(config, target.table, merge_on_read=client.config.is_merge_on_read)
    names = {name: (catalog_key(config), target.database.lower(), name.lower()) for name, _ in found}
    for name, key in names.items():
        other = taken.get(key, config.base_path)
        if other != config.base_path:
            raise InvalidOptionError(
                f"{target.database}.{name} is the name of {other} too",
                path=config.base_path,
                remedy="give one of them another name: `PATH table=NAME` in a list of tables",
            )
    taken.update(dict.fromkeys(names.values(), config.base_path))


def _sync_one(
    config: HiveSyncConfig, client: MetaClient | HudiHiveError, metastores: _Metastores, dry_run: bool
) -> TableResult:
    start = time.perf_counter()
    try:
        if isinstance(client, HudiHiveError):
            raise client
        with metastores.borrow(config) as metastore:
            report = HiveSyncTool(config, metastore=metastore, client=client).sync(dry_run=dry_run)
    except HudiHiveError as error:
        return TableResult(config.base_path, error=error, seconds=time.perf_counter() - start)
    except Exception as error:
        # A fault of ours with one table is no reason to keep quiet about all others.
        fault = HudiHiveError(f"unexpected {type(error).__name__}: {error}", path=config.base_path)
        fault.__cause__ = error
        return TableResult(config.base_path, error=fault, seconds=time.perf_counter() - start)
    return TableResult(config.base_path, report, seconds=time.perf_counter() - start)


class _Metastores:
    """Clients that are used by one sync at a time, so that each counts its own calls, and by many one after another."""

    def __init__(self) -> None:
        self._idle: dict[Hashable, queue.SimpleQueue[Catalog]] = {}
        self._all: queue.SimpleQueue[Catalog] = queue.SimpleQueue()

    @contextmanager
    def borrow(self, config: HiveSyncConfig) -> Iterator[Catalog]:
        idle = self._idle.setdefault((catalog_key(config), config.connections), queue.SimpleQueue())
        try:
            client = idle.get_nowait()
        except queue.Empty:
            client = open_catalog(config)
            self._all.put(client)
        try:
            yield client
        finally:
            idle.put(client)

    def __enter__(self) -> _Metastores:
        return self

    def __exit__(self, *error: object) -> None:
        while not self._all.empty():
            self._all.get_nowait().close()
