"""Table services of a soak, in a process of their own beside the writers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from typing import Final

from hudi_hive.errors import HudiHiveError, WriteConflictError
from hudi_hive.timeline.instants import millis_to_instant
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import (
    ServiceEvent,
    ServiceKind,
    ServiceRounds,
    TableServices,
    clean,
    cluster,
    compact,
    expire_partitions,
)
from tests.support.faults.soak_model import Commit, Expiry, Rewrite
from tests.support.faults.soak_setup import INDEXES, Log, Soak, moment

_DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000
_SHORT_MS: Final = 20_000
_LONG_MS: Final = 60_000
_TTL: Final = "hoodie.partition.ttl."
_POLICIES: Final = (
    {"hoodie.cleaner.incremental.mode": "true"},
    {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "4"},
    {"hoodie.cleaner.incremental.mode": "false"},
)
"""Policies of cleans, by turns; those of hours come in between."""

_COLUMN_INDEXES: Final = {
    "secondary_index_text": ("text", "secondary_index", {}),
    "expr_index_upper": ("upper", "column_stats", {"expr": "upper"}),
    "expr_index_lower": ("lower", "bloom_filters", {"expr": "lower"}),
}
"""Indexes of the texts, by their partition of the metadata table, from version 8 on."""


@dataclass(frozen=True)
class Signals:
    """What the processes tell each other: the writers have ended; the services may run; they pause."""

    ended: Event
    running: Event
    paused: Event

    def wait(self, seconds: float) -> None:
        """Wait for the next round of the services, and as long as they shall pause."""
        if not self.running.is_set():
            self.paused.set()
            self.running.wait()
        self.ended.wait(seconds)


def serve(soak: Soak, signals: Signals, log: Log) -> None:
    """Compaction and clustering, one after the other, until the writers have ended."""
    services: list[tuple[str, Callable[[ServiceContext], Sequence[object]]]] = [("clustering", cluster)]
    if soak.table_type == "MERGE_ON_READ":
        services.append(("compaction", compact))
    turn = 0
    while not signals.ended.is_set():
        name, service = services[turn % len(services)]
        turn += 1
        try:
            done = service(soak.context())
            log.counts[name] += len(done)
        except HudiHiveError as error:
            _refused(log, name, error)
        signals.wait(0.5)


def _refused(log: Log, service: str, error: HudiHiveError) -> None:
    """Note what a service was refused with; a conflict, and in version 6 a pending write, is no error."""
    log.refused[f"{service}: {type(error).__name__}"] += 1
    if not isinstance(error, WriteConflictError) and "while a write is pending" not in str(error):
        log.errors.append(f"{service}: {error}")


def serve_rounds(soak: Soak, signals: Signals, log: Log) -> None:
    """All services of the table by their own conditions, round by round, until the writers have ended."""
    turns = _Turns(soak, log)
    while not signals.ended.is_set():
        turns.run()
        signals.wait(1)


def last_round(soak: Soak, log: Log) -> None:
    """Run what is planned still, as the next services would."""
    if soak.apart:
        failures = _Turns(soak, log).rounds.run()
        assert not failures, failures
    if soak.table_type == "MERGE_ON_READ":
        compact(soak.context())
    cluster(soak.context())


class _Turns:
    """Rounds of all services of a table.

    Lifetimes of partitions and retained hours count from a time that is nearly a day, or an hour, ahead, so that they
    are of seconds. By turns there are other policies of cleans, and indexes are dropped, to be built again.
    """

    def __init__(self, soak: Soak, log: Log) -> None:
        self._soak = soak
        self._log = log
        self._turn = 0
        kinds = set(ServiceKind) - {ServiceKind.TTL}
        if soak.table_type == "COPY_ON_WRITE":
            kinds -= {ServiceKind.COMPACT, ServiceKind.LOG_COMPACT}
        self.rounds = ServiceRounds(self._services, kinds, on_event=self._note)

    def run(self) -> None:
        """Run a round."""
        self._turn += 1
        self._try("partition ttl", self._expire)
        if self._turn % 3 == 0:
            self._try("clean by hours", self._clean_by_hours)
        self.rounds.run()
        if self._soak.version >= 8:
            self._try("column index", self._build_one)
        if self._turn % 8 == 0:
            self._try("drop of an index", self._drop_one)

    def _services(self) -> TableServices:
        return TableServices(self._soak.context(INDEXES | _POLICIES[self._turn % len(_POLICIES)]))

    def _try(self, service: str, run: Callable[[], object]) -> None:
        try:
            run()
        except HudiHiveError as error:
            _refused(self._log, service, error)

    def _note(self, event: ServiceEvent) -> None:
        if event.error is not None:
            _refused(self._log, event.service, event.error)
            return
        self._log.errors += event.warnings
        self._log.counts[event.service.value] += 1
        if event.service in (ServiceKind.COMPACT, ServiceKind.LOG_COMPACT, ServiceKind.CLUSTER) and event.instant:
            timeline = self._soak.client().timeline
            partitions = timeline.commit_metadata(timeline.get(event.instant)).partitions_touched()
            self._log.rewrites.append(Rewrite(event.instant, frozenset(partitions)))

    def _expire(self) -> None:
        client = self._soak.client()
        by_creation = self._turn % 5 == 4
        begun, busy = moment(), frozenset(_busy_partitions(self._soak))
        selected = [path for path in client.partition_paths() if path.startswith("d")] if by_creation else []
        if by_creation and not selected:
            return
        options = {
            f"{_TTL}strategy.days.retain": "1",
            f"{_TTL}management.strategy.type": "KEEP_BY_CREATION_TIME" if by_creation else "KEEP_BY_TIME",
            f"{_TTL}strategy.partition.selected": ",".join(selected),
        }
        now_ms = time.time_ns() // 1_000_000 - (_LONG_MS if by_creation else _SHORT_MS)
        context = self._soak.context(options)
        expired = expire_partitions(context, now_ms=now_ms + _DAY_MS)
        self._log.errors += [f"behind expired partitions: {step}: {why}" for step, why in context.failed.items()]
        gone = frozenset(expired.partitions if expired is not None else ())
        cutoff = millis_to_instant(now_ms)
        self._log.expiries.append(Expiry(begun, moment(), cutoff, by_creation, gone, busy, frozenset(selected)))
        if expired is not None:
            instant = expired.instant
            order = self._soak.order_of(instant)
            places = tuple(sorted(gone))
            self._log.commits.append(Commit(instant.requested, order, "delete_partition", {}, places, begun))
            self._log.counts[f"expired by {'creation' if by_creation else 'time'}"] += len(gone)

    def _clean_by_hours(self) -> None:
        options = {"hoodie.cleaner.policy": "KEEP_LATEST_BY_HOURS", "hoodie.cleaner.hours.retained": "1"}
        now_ms = time.time_ns() // 1_000_000 + _HOUR_MS - _LONG_MS
        if clean(self._soak.context(options), now_ms=now_ms) is not None:
            self._log.counts["clean by hours"] += 1

    def _build_one(self) -> None:
        there = self._soak.client().config.metadata_partitions
        missing = [name for name in _COLUMN_INDEXES if name not in there]
        if missing:
            name, kind, options = _COLUMN_INDEXES[missing[0]]
            services = TableServices(self._soak.context(INDEXES | {"hoodie.metadata.index.async": "true"}))
            services.metadata.create_index(name, kind, ["t"], options)
            self._log.counts[missing[0]] += 1

    def _drop_one(self) -> None:
        names = ["column_stats", *_COLUMN_INDEXES, "bloom_filters"]
        name = names[self._turn // 8 % len(names)]
        if name in self._soak.client().config.metadata_partitions:
            TableServices(self._soak.context(INDEXES)).metadata.delete([name])
            self._log.counts["dropped index"] += 1


def _busy_partitions(soak: Soak) -> Iterator[str]:
    timeline = soak.client().timeline
    tables = [timeline.pending_compactions(), timeline.pending_clustering()]
    tables += [timeline.compaction_plan(instant).operations for instant in timeline.pending({"logcompaction"})]
    for table in tables:
        yield from table["partition"].to_pylist()
