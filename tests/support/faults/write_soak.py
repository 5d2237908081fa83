"""Writers, table services and readers in processes of their own on one table, held to a model of plain dictionaries.

    python -m tests.support.faults.write_soak [--commits 200] [--version 8] [--type MERGE_ON_READ] [--apart]

Writers commit rows of every operation under optimistic concurrency control and try again after conflicts; each cleans
and archives behind its commits. One process plans and runs compaction and clustering. Readers take snapshots and
incremental pulls, with the metadata table and without. Afterwards every read must be what the commits that it could see
add up to, in the order of their completion, commit times of rows included; nothing may be left over. With ``--apart``
all that a table can have is on: writers have pre-commit validators and do nothing behind their commits; the other
process cleans by turns of all policies, archives, merges log blocks, deletes expired partitions, builds and drops
indexes; in ``--phases`` there are savepoints, a restore, rollbacks and dead writes between the writers' phases.
"""

from __future__ import annotations

import argparse
import multiprocessing
import pickle
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from hudi_hive import HudiTable
from hudi_hive.errors import FileVanishedError, InstantNotFoundError
from hudi_hive.metadata import validate
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS
from hudi_hive.write.coordination import FOLDER as HEARTBEATS
from hudi_hive.write.files import marked_instants
from tests.support.faults.soak_model import Read, Row, expected, text_of, wrong_expiry
from tests.support.faults.soak_services import Signals, last_round, serve, serve_rounds
from tests.support.faults.soak_setup import UNANSWERED, Log, Soak
from tests.support.faults.soak_upkeep import Upkeep
from tests.support.faults.soak_writers import Writer
from tests.support.faults.write_faults import files_without_commit

# -- the processes ---------------------------------------------------------------------------------------------------


def look(soak: Soak, number: int, signals: Signals, log: Log) -> None:
    """Snapshots and incremental pulls until the writers have ended, and once behind them."""
    chance = random.Random(soak.seed * 1000 + number)
    moments: list[str] = []
    while True:
        last = signals.ended.is_set()
        for listing in ("metadata", "folders"):
            begin = moments[-chance.randint(1, 4)] if len(moments) >= 4 and chance.random() < 0.5 else ""
            text = text_of(chance.randrange(9)) if soak.apart and not begin and chance.random() < 0.5 else ""
            try:
                read = pull(soak, listing, begin, text)
                client = soak.client()
            except (FileVanishedError, InstantNotFoundError):
                log.refused["vanished"] += 1
                continue
            except UNANSWERED as error:
                log.refused[type(error).__name__] += 1
                continue
            now = {each.requested for each in client.timeline.write_instants()}
            if any(instant not in now and instant > min(now) for instant in read.seen):
                log.refused["undone meanwhile"] += 1
                continue
            log.reads.append(read)
            completed = [each.completed or "" for each in client.timeline.write_instants()]
            times = read.seen if soak.version == 6 else completed
            newest = max(times, default=None)
            moments += [newest] if newest else []
        if last:
            return
        signals.ended.wait(1 if soak.apart else 0.3)


def pull(soak: Soak, listing: str, begin: str, text: str = "") -> Read:
    """One read: a snapshot, the rows of it with a text, or what came after a time."""
    client = soak.client(metadata=listing == "metadata")
    table = HudiTable(client)
    timeline = client.timeline
    options = {"hoodie.read.timeline.holes.resolution.policy": "BLOCK"} if begin and soak.version == 6 else {}
    row_filter = _text_filter(text, random.Random(begin + text + (timeline.write_instants()[-1].requested)))
    scan = table.scan(begin=begin or None, options=options, row_filter=row_filter)
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
        len(rows) - len({row["id"] for row in rows}) + sum(row["t"] != text_of(row["n"]) for row in rows),
        text,
    )


def _text_filter(text: str, chance: random.Random) -> Any:
    """A filter that one of the indexes may answer."""
    column = pc.field("t")
    filters = [column == text, pc.utf8_upper(column) == text.upper(), pc.utf8_lower(column) == text]
    return chance.choice(filters) if text else None


def process(kind: str, soak: Soak, number: int, phase: int, signals: Signals, out: str) -> None:
    """What each process runs: its part, then its log to a file."""
    log = Log(f"{kind} {number}" + (f" in phase {phase}" if kind == "writer" and soak.phases > 1 else ""))
    try:
        if kind == "writer":
            Writer(soak, number, log, phase).run()
        elif kind == "services":
            (serve_rounds if soak.apart else serve)(soak, signals, log)
        else:
            look(soak, number, signals, log)
    except BaseException:
        log.errors.append(traceback.format_exc())
    Path(out).write_bytes(pickle.dumps(log))


# -- the check -----------------------------------------------------------------------------------------------------


def check(soak: Soak, logs: Sequence[Log]) -> list[str]:
    """What is wrong with the reads, and with what is left of the table."""
    commits = sorted((c for log in logs for c in log.commits), key=lambda c: (c.order, c.instant))
    undone = [one for log in logs for one in log.undone]
    wrong = [f"{log.name}: {error}" for log in logs for error in log.errors]
    for log in logs:
        for read in log.reads:
            expected_rows = expected(read, commits, soak.version, undone)
            if read.twice or dict(read.rows) != expected_rows:
                wrong.append(f"{log.name}: {read.kind} by {read.listing}: {_difference(read, expected_rows)}")
        for expiry in log.expiries:
            why = wrong_expiry(expiry, commits, [one for each in logs for one in each.rewrites], undone)
            wrong += [f"partition {place} {text}, at {expiry.cutoff} (of {expiry})" for place, text in why.items()]
    written = sum(len(log.commits) for log in logs if log.name.startswith("writer"))
    if written != soak.commits:
        wrong.append(f"{written} commits, not {soak.commits}")
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
    first, between = Log("first"), Log("between phases")
    Writer(soak, soak.writers, first).write("upsert", {"z-0": ("c0", 0)})
    with _Processes(soak, timeout) as processes:
        processes.start("services", 0)
        for number in range(soak.readers):
            processes.start("reader", number)
        upkeep = Upkeep(soak, between)
        for phase in range(soak.phases):
            processes.write(phase)
            if phase + 1 < soak.phases:
                with processes.services_paused():
                    upkeep.run(phase)
        logs, wrong = processes.end()
    if wrong:
        return logs, wrong + [f"{log.name}: {error}" for log in logs for error in log.errors]
    last = Log("last round")
    last_round(soak, last)
    logs += [between, last]
    return logs, check(soak, [first, *logs])


class _Processes:
    """Context manager of the processes of a run: starts them, waits for them, and has their logs."""

    def __init__(self, soak: Soak, timeout: float) -> None:
        self._soak = soak
        self._timeout = timeout
        self._spawn = multiprocessing.get_context("forkserver")
        self._spawn.set_forkserver_preload(["tests.support.faults.write_soak"])
        self._signals = Signals(self._spawn.Event(), self._spawn.Event(), self._spawn.Event())
        self._signals.running.set()
        self._out = Path(soak.logs or f"{soak.path}.logs")
        self._started: dict[str, Any] = {}

    def __enter__(self) -> _Processes:
        self._out.mkdir(exist_ok=True)
        return self

    def __exit__(self, *error: object) -> None:
        for one in self._started.values():
            if one.is_alive():
                one.kill()

    def start(self, kind: str, number: int, phase: int = 0) -> None:
        """Start a process."""
        name = f"{kind}-{number}-{phase}"
        arguments = (kind, self._soak, number, phase, self._signals, str(self._out / name))
        self._started[name] = self._spawn.Process(target=process, args=arguments, daemon=True)
        self._started[name].start()

    def write(self, phase: int) -> None:
        """Have the writers make their commits of a phase."""
        for number in range(self._soak.writers):
            self.start("writer", number, phase)
        for number in range(self._soak.writers):
            self._started[f"writer-{number}-{phase}"].join(self._timeout)

    @contextmanager
    def services_paused(self) -> Iterator[None]:
        """Context manager of a pause of the services."""
        self._signals.paused.clear()
        self._signals.running.clear()
        while not self._signals.paused.wait(1):
            if not self._started["services-0-0"].is_alive():
                raise RuntimeError("the services did not end well")
        try:
            yield
        finally:
            self._signals.running.set()

    def end(self) -> tuple[list[Log], list[str]]:
        """Tell all that the writers have ended; the logs, and which processes left none."""
        self._signals.ended.set()
        for one in self._started.values():
            one.join(self._timeout)
        files = [self._out / name for name in self._started]
        logs = [pickle.loads(file.read_bytes()) for file in files if file.exists()]
        return logs, [f"{file.name} did not end well" for file in files if not file.exists()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--version", type=int, default=8, choices=(6, 8, 9))
    parser.add_argument("--type", default="MERGE_ON_READ", choices=("MERGE_ON_READ", "COPY_ON_WRITE"))
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--readers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--apart", action="store_true", help="all services in a process of their own")
    parser.add_argument("--phases", type=int, help="6 with --apart, 1 without", default=0)
    parser.add_argument("--keep", help="make the table here and leave it")
    given = parser.parse_args()
    folder = given.keep or tempfile.mkdtemp(prefix="soak-")
    path = str(Path(folder) / "table")
    phases = given.phases or (6 if given.apart else 1)
    plan = (path, given.version, given.type, given.commits, given.writers, given.readers, given.seed)
    soak = Soak(*plan, apart=given.apart, phases=phases)
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
