"""Writers, table services and readers in processes of their own on one table, held to a model of plain dictionaries.

    python -m tests.support.faults.write_soak [--commits 200] [--version 8] [--type MERGE_ON_READ] [--apart]

Writers commit rows of every operation under optimistic concurrency control and try again after conflicts; each cleans
and archives behind its commits. One process plans and runs compaction and clustering. Readers take snapshots and
incremental pulls, with the metadata table and without. Afterwards every read must be what the commits that it could see
add up to, in the order of their completion, commit times of rows included; nothing may be left over. With ``--apart``
writers do nothing behind their commits: the other process cleans, archives, merges log blocks and makes indexes too.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive import HudiTable
from hudi_hive.errors import (
    CommitOutcomeUnknownError,
    FileVanishedError,
    HudiHiveError,
    LockLostError,
    StoreThrottledError,
    StoreUnreachableError,
    WriteConflictError,
)
from hudi_hive.metadata import MetadataListing, validate
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS
from hudi_hive.write.coordination import FOLDER as HEARTBEATS
from hudi_hive.write.coordination import table_lock
from hudi_hive.write.files import marked_instants
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import ServiceEvent, ServiceKind, ServiceRounds, TableServices, cluster, compact
from tests.support.faults.soak_model import Commit, Read, Row, expected
from tests.support.faults.write_faults import files_without_commit

PARTITIONS = 4
KEYS = 40
TRIES = 400
OPERATIONS = {
    "upsert": 45,
    "insert": 15,
    "bulk_insert": 10,
    "delete": 15,
    "insert_overwrite": 8,
    "delete_partition": 7,
}
OPTIONS = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "200",
    "hoodie.write.lock.client.num_retries": "300",
    "hoodie.cleaner.commits.retained": "10",
    "hoodie.keep.min.commits": "12",
    "hoodie.keep.max.commits": "16",
    "hoodie.metadata.compact.max.delta.commits": "6",
    "hoodie.metadata.record.index.enable": "false",
}

APART = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.clustering.inline.max.commits": "5",
    "hoodie.compact.inline.max.delta.commits": "5",
    "hoodie.log.compaction.blocks.threshold": "2",
    "hoodie.write.concurrency.early.conflict.detection.enable": "true",
    "hoodie.write.num.retries.on.conflict.failures": "3",
}
INDEXES = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
}
"""What the services alone are asked for: the writers keep what is there."""

UNANSWERED = (StoreThrottledError, StoreUnreachableError)
FILE_LOCK = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"


@dataclass
class Log:
    """What one process did; ``errors`` are what must not happen, ``refused`` what may."""

    name: str
    commits: list[Commit] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Soak:
    """One run: where, what and how much.

    Args:
        lock: the lock provider's class.
        storage_options: of the table's store.
        logs: local folder of what the processes say; beside the table if not given.
        apart: all services run in the services' process, as ``hudi-hive table service`` runs them, log compaction and
            making indexes among them; writers try again after conflicts and detect them early.
    """

    path: str
    version: int = 8
    table_type: str = "MERGE_ON_READ"
    commits: int = 200
    writers: int = 2
    readers: int = 1
    seed: int = 1
    lock: str = FILE_LOCK
    storage_options: Mapping[str, str] | None = None
    logs: str = ""
    apart: bool = False

    @property
    def options(self) -> dict[str, str]:
        """Write options."""
        return OPTIONS | (APART if self.apart else {}) | {"hoodie.write.lock.provider": self.lock}

    def open(self) -> HudiTable:
        """The table as it is now."""
        return HudiTable.open(self.path, self.storage_options)

    def client(self, *, metadata: bool = False) -> MetaClient:
        """The table as it is now, listed by its metadata table or by folders."""
        listing = MetadataListing() if metadata else None
        return MetaClient.load(self.path, self.storage_options, listing=listing)


def city(key: str) -> str:
    return f"c{int(key.rpartition('-')[2]) % PARTITIONS}"


def batch(values: Mapping[str, tuple[str, int]]) -> pa.Table:
    names = sorted(values)
    columns: list[list[Any]] = [names, [values[n][0] for n in names], [values[n][1] for n in names]]
    return pa.table(
        [pa.array(c, kind) for c, kind in zip(columns, (pa.string(), pa.string(), pa.int64()), strict=True)],
        names=["id", "city", "n"],
    )


# -- the processes ---------------------------------------------------------------------------------------------------


class Writer:
    """Commits its share; the keys are its own, the partitions and file groups everybody's."""

    def __init__(self, soak: Soak, number: int, log: Log) -> None:
        self._soak = soak
        self._name = "ab"[number] if number < 2 else f"w{number}"
        self._chance = random.Random(soak.seed * 100 + number)
        self._share = soak.commits // soak.writers + (number < soak.commits % soak.writers)
        self._fresh = 1000
        self._log = log

    def run(self) -> None:
        for number in range(self._share):
            operation = self._chance.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
            self._commit(number, operation)

    def _commit(self, number: int, operation: str) -> None:
        if operation == "delete_partition":
            self.write(operation, {}, (f"c{self._chance.randrange(PARTITIONS)}",))
        else:
            self.write(operation, self._rows(operation, number))

    def write(self, operation: str, rows: Mapping[str, tuple[str, int]], partitions: tuple[str, ...] = ()) -> None:
        """Commit, again and again until it succeeds, and note it down."""
        for _ in range(TRIES):
            try:
                table = self._soak.open()
                if operation == "delete_partition":
                    report = table.delete_partitions(partitions, self._soak.options)
                else:
                    report = table.write(operation, batch(rows), self._soak.options)
                break
            except WriteConflictError:
                self._log.refused["conflict"] += 1
                time.sleep(self._chance.random() * 0.1)
            except CommitOutcomeUnknownError as error:
                self._log.refused["outcome unknown"] += 1
                done = [i for i in self._soak.client().timeline.write_instants() if i.requested == error.instant]
                if done:
                    self._note(done[0], operation, rows, partitions)
                    return
            except (*UNANSWERED, LockLostError) as error:
                self._log.refused[type(error).__name__] += 1
        else:
            raise RuntimeError(f"{operation} lost {TRIES} times")
        self._note(report.instant, operation, rows, partitions)
        assert report.services is not None
        for name, error in report.services.failed.items():
            self._log.refused[f"{name}: {type(error).__name__}"] += 1
            if not isinstance(error, WriteConflictError):
                self._log.errors.append(f"service {name}: {error}")

    def _note(
        self, instant: Instant, operation: str, rows: Mapping[str, tuple[str, int]], partitions: tuple[str, ...]
    ) -> None:
        order = instant.completed or str(os.stat(Path(self._soak.path) / instant.path).st_mtime_ns).rjust(20, "0")
        self._log.commits.append(Commit(instant.requested, order, operation, rows, partitions))
        self._log.counts[operation] += 1

    def _rows(self, operation: str, number: int) -> dict[str, tuple[str, int]]:
        count = self._chance.randint(1, 8)
        if operation in ("insert", "bulk_insert"):
            names = [f"{self._name}-{self._fresh + one}" for one in range(count)]
            self._fresh += count
        else:
            names = [f"{self._name}-{self._chance.randrange(KEYS)}" for _ in range(count)]
            if operation == "delete" and self._fresh > 1000:
                names += [f"{self._name}-{self._chance.randrange(1000, self._fresh)}"]
            if operation == "insert_overwrite":
                names = [one for one in names if city(one) == city(names[0])]
        return {name: (city(name), number) for name in names}


def serve(soak: Soak, ended: Event, log: Log) -> None:
    """Compaction and clustering, one after the other, until the writers have ended."""
    services: list[tuple[str, Callable[[ServiceContext], Sequence[object]]]] = [("clustering", cluster)]
    if soak.table_type == "MERGE_ON_READ":
        services.append(("compaction", compact))
    turn = 0
    while not ended.is_set():
        name, service = services[turn % len(services)]
        turn += 1
        try:
            done = service(context(soak))
            log.counts[name] += len(done)
        except HudiHiveError as error:
            _refused(log, name, error)
        ended.wait(0.5)


def _refused(log: Log, service: str, error: HudiHiveError) -> None:
    """Note what a service was refused with; a conflict, and in version 6 a pending write, is no error."""
    log.refused[f"{service}: {type(error).__name__}"] += 1
    if not isinstance(error, WriteConflictError) and "while a write is pending" not in str(error):
        log.errors.append(f"{service}: {error}")


def serve_rounds(soak: Soak, ended: Event, log: Log) -> None:
    """All services of the table by their own conditions, round by round, until the writers have ended."""

    def note(event: ServiceEvent) -> None:
        if event.error is None:
            log.counts[event.service.value] += 1
        else:
            _refused(log, event.service, event.error)
        log.errors += event.warnings

    rounds = service_rounds(soak, note)
    while not ended.is_set():
        rounds.run()
        ended.wait(0.5)


def service_rounds(soak: Soak, note: Callable[[ServiceEvent], None]) -> ServiceRounds:
    kinds = set(ServiceKind) - {ServiceKind.TTL}
    if soak.table_type == "COPY_ON_WRITE":
        kinds -= {ServiceKind.COMPACT, ServiceKind.LOG_COMPACT}
    return ServiceRounds(lambda: TableServices(context(soak, INDEXES)), kinds, on_event=note)


def context(soak: Soak, more: Mapping[str, str] | None = None) -> ServiceContext:
    client = soak.client()
    lock = table_lock(soak.options, client.storage)
    return ServiceContext(client, soak.options | dict(more or {}), lock=lambda: lock)


def look(soak: Soak, number: int, ended: Event, log: Log) -> None:
    """Snapshots and incremental pulls until the writers have ended, and once behind them."""
    chance = random.Random(soak.seed * 1000 + number)
    moments: list[str] = []
    while True:
        last = ended.is_set()
        for listing in ("metadata", "folders"):
            begin = moments[-chance.randint(1, 4)] if len(moments) >= 4 and chance.random() < 0.5 else ""
            try:
                read = pull(soak, listing, begin)
                client = soak.client()
            except FileVanishedError:
                log.refused["vanished"] += 1
                continue
            except UNANSWERED as error:
                log.refused[type(error).__name__] += 1
                continue
            log.reads.append(read)
            completed = [each.completed or "" for each in client.timeline.write_instants()]
            times = read.seen if soak.version == 6 else completed
            newest = max(times, default=None)
            moments += [newest] if newest else []
        if last:
            return
        time.sleep(0.3)


def pull(soak: Soak, listing: str, begin: str) -> Read:
    """One read: a snapshot, or what came after a time."""
    client = soak.client(metadata=listing == "metadata")
    table = HudiTable(client)
    timeline = client.timeline
    options = {"hoodie.read.timeline.holes.resolution.policy": "BLOCK"} if begin and soak.version == 6 else {}
    scan = table.scan(begin=begin or None, options=options)
    rows = scan.to_arrow().to_pylist()
    pending = [i.requested for i in timeline.pending(COMPLETED_WRITE_ACTIONS)]
    services = {plan.instant.requested for plan in timeline.pending_clustering_plans()}
    return Read(
        "incremental" if begin else "snapshot",
        listing,
        frozenset(i.requested for i in timeline.write_instants()),
        min((one for one in pending if one not in services), default=""),
        begin,
        {row["id"]: (row["city"], row["n"], row["_hoodie_commit_time"]) for row in rows},
        len(rows) - len({row["id"] for row in rows}),
    )


def process(kind: str, soak: Soak, number: int, ended: Event, out: str) -> None:
    """What each process runs: its part, then its log to a file."""
    log = Log(f"{kind} {number}")
    try:
        if kind == "writer":
            Writer(soak, number, log).run()
        elif kind == "services":
            (serve_rounds if soak.apart else serve)(soak, ended, log)
        else:
            look(soak, number, ended, log)
    except BaseException:
        log.errors.append(traceback.format_exc())
    Path(out).write_bytes(pickle.dumps(log))


# -- the check -----------------------------------------------------------------------------------------------------


def check(soak: Soak, logs: Sequence[Log]) -> list[str]:
    """What is wrong with the reads, and with what is left of the table."""
    commits = sorted((c for log in logs for c in log.commits), key=lambda c: (c.order, c.instant))
    wrong = [f"{log.name}: {error}" for log in logs for error in log.errors]
    for log in logs:
        for read in log.reads:
            expected_rows = expected(read, commits, soak.version)
            if read.twice or dict(read.rows) != expected_rows:
                wrong.append(f"{log.name}: {read.kind} by {read.listing}: {_difference(read, expected_rows)}")
    if len(commits) != soak.commits + 1:
        wrong.append(f"{len(commits)} commits, not {soak.commits + 1}")
    return wrong + left_over(soak)


def _difference(read: Read, expected_rows: Mapping[str, Row]) -> str:
    keys = sorted(k for k in {*read.rows, *expected_rows} if read.rows.get(k) != expected_rows.get(k))
    some = ", ".join(f"{k}: {read.rows.get(k)} for {expected_rows.get(k)}" for k in keys[:3])
    return (
        f"{len(keys)} keys differ, {read.twice} rows twice, begin {read.begin}, newest {max(read.seen, default='')}, "
        f"pending {read.pending}: {some}"
    )


def left_over(soak: Soak) -> list[str]:
    """What nobody may find behind writers that have ended."""
    client = soak.client()
    wrong = [f"pending: {i.file_name}" for i in client.timeline.pending()]
    wrong += [f"markers of {one}" for one in marked_instants(client.storage)]
    for folder in (HEARTBEATS, ".hoodie/.temp"):
        listing = client.storage.list(folder, recursive=True, missing_ok=True)
        wrong += [f"left: {path}" for path in listing.filter(pc.invert(listing["is_dir"]))["path"].to_pylist()]
    # The file of StorageBasedLockProvider, in `.locks`, stays and says that nobody has the lock.
    names = [path for folder in (".hoodie", ".hoodie/.aux") for path in _names(client, folder)]
    wrong += [f"left: {path}" for path in names if "lock" in path and not path.endswith("/.locks")]
    wrong += [f"file of no commit: {path}" for path in files_without_commit(client)]
    report = validate(client)
    return wrong + ([f"metadata table: {report}"] if report.errors else [])


def _names(client: MetaClient, folder: str) -> list[str]:
    names: list[str] = client.storage.list(folder, missing_ok=True)["path"].to_pylist()
    return names


# -- the run ---------------------------------------------------------------------------------------------------------


def run(soak: Soak, *, timeout: float = 3600) -> tuple[list[Log], list[str]]:
    """Make the table, let all loose on it, wait, and say what is wrong."""
    HudiTable.create(
        soak.path,
        name="soak",
        version=soak.version,
        table_type=soak.table_type,
        record_keys=["id"],
        partition_fields=["city"],
        merge_mode="COMMIT_TIME_ORDERING",
        storage_options=soak.storage_options,
        options=soak.options,
    )
    first = Log("first")
    Writer(soak, soak.writers, first).write("upsert", {"z-0": ("c0", 0)})
    spawn = multiprocessing.get_context("forkserver")
    spawn.set_forkserver_preload(["tests.support.faults.write_soak"])
    ended = spawn.Event()
    out = Path(soak.logs or f"{soak.path}.logs")
    out.mkdir(exist_ok=True)
    kinds = ["writer"] * soak.writers + ["services"] + ["reader"] * soak.readers
    started = []
    for number, kind in enumerate(kinds):
        file = str(out / f"{number}")
        one = spawn.Process(target=process, args=(kind, soak, number, ended, file), daemon=True)
        one.start()
        started.append(one)
    try:
        for number, one in enumerate(started):
            if number == soak.writers:
                ended.set()
            one.join(timeout)
    finally:
        for one in started:
            if one.is_alive():
                one.kill()
    wrong = [f"{kind} {n} did not end well" for n, kind in enumerate(kinds) if not (out / str(n)).exists()]
    logs = [pickle.loads((out / str(n)).read_bytes()) for n in range(len(kinds)) if (out / str(n)).exists()]
    if wrong:
        return logs, wrong + [f"{log.name}: {error}" for log in logs for error in log.errors]
    compact_and_cluster(soak)
    return logs, check(soak, [first, *logs])


def compact_and_cluster(soak: Soak) -> None:
    """Run what is planned still, as the next services would."""
    if soak.apart:
        failures = service_rounds(soak, lambda event: None).run()
        assert not failures, failures
    if soak.table_type == "MERGE_ON_READ":
        compact(context(soak))
    cluster(context(soak))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--version", type=int, default=8, choices=(6, 8, 9))
    parser.add_argument("--type", default="MERGE_ON_READ", choices=("MERGE_ON_READ", "COPY_ON_WRITE"))
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--readers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--apart", action="store_true", help="all services in a process of their own")
    parser.add_argument("--keep", help="make the table here and leave it")
    given = parser.parse_args()
    folder = given.keep or tempfile.mkdtemp(prefix="soak-")
    path = str(Path(folder) / "table")
    soak = Soak(
        path, given.version, given.type, given.commits, given.writers, given.readers, given.seed, apart=given.apart
    )
    begin = time.perf_counter()
    try:
        logs, wrong = run(soak)
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return report(soak, logs, wrong, time.perf_counter() - begin)


def report(soak: Soak, logs: Sequence[Log], wrong: Sequence[str], seconds: float) -> int:
    """Print what a run has done and what is wrong; the exit code."""
    print(f"version {soak.version} {soak.table_type}, {soak.commits} commits, {seconds:.0f} s")
    for log in logs:
        reads = Counter(f"{read.kind} by {read.listing}" for read in log.reads)
        print(f"{log.name}: {dict(log.counts | reads)}, refused {dict(log.refused)}")
    for line in wrong[:40]:
        print("WRONG", line)
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
