"""Two processes that change one table at the same time without knowing of each other, and what must hold of it.

Every commit bears the name of the operation that made it, and every operation says what came of it. So the table that
is left can be computed: the operations whose commits stand, in the order of their completion. Each acknowledged one
must be among them and no refused one may be; the rows must be those, by folder listing and by the metadata table.

``python -m tests.support.faults.table_concurrency --runs 200 --seed 1`` runs for long and prints the counts.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from hudi_hive.metadata.reader import validate
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.timeline import CommitMetadata
from hudi_hive.timeline.instants import RESTORE, ROLLBACK, millis_to_instant
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.rollback import create_savepoint, restore, rollback, rollback_failed_writes, savepoints
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import archive_instants, clean, cluster, compact
from hudi_hive.write.writers import LocalWriter
from tests.support.faults.write_faults import Calls, watched

PARTITIONS = ("x", "y")
OPERATION = "race.operation"
_FIRST = "first"
_IN_PROCESS = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
_OPERATION_KEY = "hoodie.datasource.write.operation"
_SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("value", pa.string())])
_WRITES = ("upsert", "upsert", "upsert", "insert", "delete", "insert_overwrite", "delete_partition", "alter")
_SERVICES = ("compact", "cluster", "clean", "archive", "leftovers", "rollback", "savepoint", "restore", "upsert")

Row = tuple[str, str, str]


@dataclass(frozen=True)
class Race:
    """One table and what two processes do to it, all of it drawn from a seed.

    Attributes:
        seed: of everything.
        kind, version: of the table.
        options: write options that both processes give.
        steps: the operations of each process, in turn.
        dies_at: process to the changing storage call at which it is killed.
    """

    seed: int
    kind: str
    version: int
    options: Mapping[str, str]
    steps: tuple[tuple[str, ...], tuple[str, ...]]
    dies_at: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, seed: int) -> Race:
        """The race of a seed; successive seeds go round the kinds and versions."""
        chance = random.Random(seed)
        kind, version = (COPY_ON_WRITE, MERGE_ON_READ)[seed % 2], (6, 8, 9)[seed // 2 % 3]
        index = ("BLOOM", "BUCKET", "RECORD_INDEX")[seed // 6 % 3]
        metadata = index == "RECORD_INDEX" or seed // 18 % 2 == 0
        options = {
            "hoodie.metadata.enable": str(metadata).lower(),
            "hoodie.index.type": index,
            "hoodie.clean.commits.retained": "1",
            "hoodie.keep.min.commits": "3",
            "hoodie.keep.max.commits": "4",
            "hoodie.clustering.plan.strategy.sort.columns": "id",
            "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
            "hoodie.write.lock.client.num_retries": "4000",
        }
        if chance.random() < 0.5:
            options["hoodie.parquet.small.file.limit"] = "0"
        if index == "BUCKET":
            options["hoodie.bucket.index.num.buckets"] = "2"
        if index == "RECORD_INDEX":
            options["hoodie.metadata.record.index.enable"] = "true"
        if chance.random() < 0.3:
            options["hoodie.write.concurrency.mode"] = "optimistic_concurrency_control"
            options["hoodie.write.lock.provider"] = _IN_PROCESS
            options["hoodie.archive.automatic"] = "false"  # version 6 does not archive when a write completed
        second = _SERVICES if chance.random() < 0.4 else _WRITES
        steps = [[chance.choice(names) for _ in range(5)] for names in (_WRITES, second)]
        if index == "BUCKET":  # has no overwrites
            steps = [["upsert" if step == "insert_overwrite" else step for step in own] for own in steps]
        if "hoodie.archive.automatic" in options:
            steps = [["clean" if step == "archive" else step for step in own] for own in steps]
        dies_at = {chance.randrange(2): chance.randrange(400)} if chance.random() < 0.25 else {}
        return cls(seed, kind, version, options, (tuple(steps[0]), tuple(steps[1])), dies_at)

    @property
    def is_optimistic(self) -> bool:
        """Of several writers each may insert one new key, as in Hudi; so each has keys of its own."""
        return "hoodie.write.concurrency.mode" in self.options

    def __str__(self) -> str:
        mode = "optimistic" if self.is_optimistic else "single"
        metadata = "metadata" if self.options["hoodie.metadata.enable"] == "true" else "no metadata"
        index = self.options["hoodie.index.type"]
        return f"seed {self.seed}: {self.kind} {self.version} {index} {metadata} {mode} {self.steps} {self.dies_at}"


@dataclass
class Outcome:
    """What came of races.

    Attributes:
        counts: numbers of runs, operations that were acknowledged, refused or unknown (their process was killed).
        refusals: names of the errors that refused.
        wrong: what does not hold, for people.
    """

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __iadd__(self, other: Outcome) -> Outcome:
        self.counts += other.counts
        self.refusals += other.refusals
        self.wrong += other.wrong
        return self


# -- what a process does ---------------------------------------------------------------------------------------------


def _rows(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(_SCHEMA.names, row, strict=True)) for row in rows], _SCHEMA)


def effect_of(race: Race, worker: int, number: int) -> tuple[str, list[Row]]:
    """An operation and its rows; the same in the process that does it and in the one that looks at the table."""
    chance = random.Random(race.seed * 1000 + worker * 100 + number)
    operation = race.steps[worker][number]
    own = range(worker, 8, 2) if race.is_optimistic else range(8)
    keys = [f"k{key}" for key in chance.sample(own, 2)]
    keys.append(f"n{worker if race.is_optimistic else ''}{chance.randrange(4)}")
    if operation == "insert":
        keys = [f"i{worker}-{number}-{key}" for key in range(2)]
    if operation == "insert_overwrite":
        keys = [f"o{worker}-{number}"]
    return operation, [(key, _partition(key), f"{worker}.{number}") for key in keys]


def _partition(key: str) -> str:
    return PARTITIONS[sum(key.encode()) % 2]


_RUN = {
    "compact": compact,
    "cluster": cluster,
    "clean": clean,
    "archive": archive_instants,
    "leftovers": rollback_failed_writes,
    "savepoint": create_savepoint,
}


def perform(race: Race, path: Path, worker: int, number: int, attempt: int) -> dict[str, Any]:
    """Do an operation: the instant that it completed, or those that it undid."""
    operation, rows = effect_of(race, worker, number)
    client = MetaClient.load(path)
    context = ServiceContext(client, dict(race.options), LocalExecutor(1))
    if operation in _RUN:
        _RUN[operation](context)
        return {}
    if operation == "rollback":
        last = client.timeline.last_completed_write()
        return {} if last is None else {"undone": rollback(context, last).rolled_back}
    if operation == "restore":
        points = savepoints(client)
        return {"undone": restore(context, points[-1].instant.requested).rolled_back} if points else {}
    if operation == "alter":
        column = f"c{worker}_{number}"
        done = HudiTable(client).update_schema(dict(race.options)).add(column, "string").commit()
        assert done.instant is not None
        return {"instant": done.instant.requested, "column": column}
    name = {OPERATION: f"{worker}.{number}.{attempt}"}
    writer = LocalWriter(client, {**race.options, _OPERATION_KEY: operation}, executor=LocalExecutor(1), extra=name)
    report = writer.delete_partitions([rows[0][1]]) if operation == "delete_partition" else writer.write(_rows(rows))
    return {"instant": report.instant.requested}


def _die(name: str, storage: Storage, arguments: tuple[Any, ...]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _worker(race: Race, path: Path, worker: int, start: Any, log: Path) -> None:
    """A process: does its operations one after the other, three tries each, and says what came of every try."""
    start.wait()
    with log.open("w", encoding="utf-8") as lines, watched(Calls(race.dies_at.get(worker), _die)):
        for number in range(len(race.steps[worker])):
            for attempt in range(3):
                line = _attempt(race, path, worker, number, attempt)
                lines.write(json.dumps({"number": number, "attempt": attempt, **line}) + "\n")
                lines.flush()
                if "refused" not in line:
                    break
    os._exit(0)


def _attempt(race: Race, path: Path, worker: int, number: int, attempt: int) -> dict[str, Any]:
    try:
        return perform(race, path, worker, number, attempt)
    except HudiHiveError as error:
        return {"refused": type(error).__name__, "text": str(error)}
    except BaseException:
        return {"crashed": traceback.format_exc()}


# -- what must hold --------------------------------------------------------------------------------------------------


def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hudi_hive.write.writers.local", "tests.support.faults.table_concurrency"])
    return context


def run(race: Race, folder: Path) -> Outcome:
    """Make a table, let the two processes at it, and check what is left."""
    path = folder / "table"
    partitioned = {"partition_fields": ["part"], "record_keys": ["id"], "table_type": race.kind}
    HudiTable.create(path, name="race", version=race.version, **partitioned)
    first = [(f"k{key}", _partition(f"k{key}"), "first") for key in range(8)]
    _write(race, path, first, {OPERATION: _FIRST})
    context = _context()
    start = context.Barrier(2)
    logs = [folder / f"{worker}.log" for worker in range(2)]
    processes = [context.Process(target=_worker, args=(race, path, worker, start, logs[worker])) for worker in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(600)
    outcome = Outcome(Counter(runs=1))
    for worker, process in enumerate(processes):
        if process.exitcode is None:
            process.kill()
            outcome.wrong.append(f"process {worker} did not end")
        elif process.exitcode == -signal.SIGKILL:
            outcome.counts["killed"] += 1
    try:
        _check(race, path, first, logs, outcome)
    except Exception:
        outcome.wrong.append(traceback.format_exc())
    outcome.wrong = [f"{race}: {text}" for text in outcome.wrong]
    outcome.counts["wrong"] = len(outcome.wrong)
    return outcome


def _write(race: Race, path: Path, rows: Sequence[Row], extra: Mapping[str, str] | None = None) -> None:
    options = {**race.options, _OPERATION_KEY: "upsert", "hoodie.archive.automatic": "false"}
    LocalWriter(MetaClient.load(path), options, executor=LocalExecutor(1), extra=extra).write(_rows(rows))


def _check(race: Race, path: Path, first: Sequence[Row], logs: Sequence[Path], outcome: Outcome) -> None:
    for pending in MetaClient.load(path).timeline.pending({RESTORE}):  # of a killed process: nothing is written before
        context = ServiceContext(MetaClient.load(path), dict(race.options), LocalExecutor(1))
        restore(context, context.client.timeline.restore_plan(pending).savepoint)
    table = HudiTable.open(path)
    rows_read = {name: _seen(path, metadata=name) for name in (False, True)}
    commits = _commits(table)
    lines = [{"worker": n, **json.loads(line)} for n, log in enumerate(logs) for line in log.read_text().splitlines()]
    undone = {instant for line in lines for instant in line.get("undone", ())}
    undone |= _undone_by_the_killed(race, table, lines)
    columns = _check_reports(lines, commits, undone, outcome)
    rows = _expected_rows(race, table, commits, first)
    outcome.wrong += [
        f"rows {'by metadata table' if metadata else 'by listing'} are {_difference(rows_read[metadata], rows)}"
        for metadata in rows_read
        if rows_read[metadata] != rows
    ]
    names = set(table.schema().names) if commits else set()
    if not columns <= names:
        outcome.wrong.append(f"columns {columns - names} are lost")
    _check_timeline(path, outcome)
    _check_next_write(race, path, rows, outcome)


def _check_reports(
    lines: Sequence[Mapping[str, Any]], commits: Mapping[str, CommitMetadata], undone: set[str], outcome: Outcome
) -> set[str]:
    """Compare what the processes reported with the commits; the columns whose addition was acknowledged."""
    columns: set[str] = set()
    made = {commit.extra.get(OPERATION): instant for instant, commit in commits.items()}
    for line in lines:
        name = f"{line['worker']}.{line['number']}.{line['attempt']}"
        instant = line.get("instant")
        if "crashed" in line:
            outcome.wrong.append(f"{name} crashed: {line['crashed']}")
            continue
        if "refused" in line:
            outcome.counts["refused"] += 1
            outcome.refusals[line["refused"]] += 1
            if name in made:
                outcome.wrong.append(f"{name} was refused and is there: {line}")
            continue
        outcome.counts["acknowledged"] += 1
        if instant in undone:
            outcome.counts["undone"] += 1
        elif instant is not None and instant not in commits:
            outcome.counts["lost"] += 1
            outcome.wrong.append(f"{name} was acknowledged and is lost: {line}")
        elif "column" in line:
            columns.add(line["column"])
    reported = {f"{line['worker']}.{line['number']}.{line['attempt']}" for line in lines}
    outcome.counts["unknown"] += len(set(made) - {None, _FIRST} - reported)
    return columns


def _expected_rows(
    race: Race, table: HudiTable, commits: Mapping[str, CommitMetadata], first: Sequence[Row]
) -> list[Row]:
    """The rows after all commits, in the order of their completion."""
    expected: dict[str, Row] = {}
    for instant in sorted(commits, key=lambda instant: _completion(table, commits[instant])):
        if commits[instant].extra.get(OPERATION) == _FIRST:
            expected = {row[0]: row for row in first}
        _replay(race, commits[instant], expected)
    return sorted(expected.values())


def _check_next_write(race: Race, path: Path, rows: Sequence[Row], outcome: Outcome) -> None:
    """Another write adds its row and leaves nothing pending but plans."""
    probe = ("probe", _partition("probe"), "probe")
    _write(race, path, [probe])
    expected = sorted([*rows, probe])
    for metadata in (False, True):
        if _seen(path, metadata=metadata) != expected:
            difference = _difference(_seen(path, metadata=metadata), expected)
            outcome.wrong.append(f"rows behind another write: {difference}")
    _check_metadata(race, path, outcome)
    left = [str(i) for i in HudiTable.open(path).timeline.pending() if i.action not in _PLANS]
    if left:
        outcome.wrong.append(f"pending behind another write: {left}")


def _undone_by_the_killed(race: Race, table: HudiTable, lines: Sequence[Mapping[str, Any]]) -> set[str]:
    """What rollbacks and restores of killed processes undid, or are about to: nobody said so."""
    at = [sum("refused" not in line for line in lines if line["worker"] == worker) for worker in range(2)]
    if not any(
        own[number] in ("rollback", "restore") for own, number in zip(race.steps, at, strict=True) if number < 5
    ):
        return set()
    timeline = table.timeline
    plans = [timeline.rollback_plan(i).target for i in timeline.instants if i.action == ROLLBACK]
    targets = {plan[0] for plan in plans if plan is not None}
    for restore_ in (i for i in timeline.instants if i.action == RESTORE):
        targets.update(requested for requested, _ in timeline.restore_plan(restore_).targets)
    return targets


_PLANS = ("compaction", "clustering", "replacecommit", "clean")


def _difference(seen: Sequence[Row], expected: Sequence[Row]) -> str:
    more, less = Counter(seen) - Counter(expected), Counter(expected) - Counter(seen)
    return f"{len(seen)}, too many {sorted(more.elements())}, missing {sorted(less.elements())}"


def _seen(path: Path, *, metadata: bool) -> list[Row]:
    table = HudiTable.open(path) if metadata else HudiTable(MetaClient.load(path))
    if not table.timeline.write_instants():
        return []  # all was undone, the schema too
    rows = table.scan(selected_fields=_SCHEMA.names).to_arrow()
    return sorted(zip(*rows.to_pydict().values(), strict=True))


def _commits(table: HudiTable) -> dict[str, CommitMetadata]:
    timeline = table.timeline
    archived = timeline.archived()
    found = {i.requested: archived.commit_metadata(i) for i in archived.instants if i.is_completed and i.is_write}
    return found | {i.requested: timeline.commit_metadata(i) for i in timeline.write_instants()}


def _completion(table: HudiTable, commit: CommitMetadata) -> tuple[str, str]:
    """When a commit completed: of writes side by side the later one may have begun before the other."""
    instant, timeline = commit.instant, table.timeline
    millis = timeline.mtime_ms(instant) if instant.completed is None else None
    changed = "" if millis is None else millis_to_instant(millis, timeline.timezone)
    return instant.completed or changed or instant.requested, instant.requested


def _replay(race: Race, commit: CommitMetadata, rows: dict[str, Row]) -> None:
    if commit.extra.get(OPERATION) in (None, _FIRST):
        return
    worker, number, _ = map(int, commit.extra[OPERATION].split("."))
    operation, own = effect_of(race, worker, number)
    if operation in ("insert_overwrite", "delete_partition"):
        for key in [key for key, row in rows.items() if row[1] == own[0][1]]:
            del rows[key]
    if operation == "delete":
        for key, _, _ in own:
            rows.pop(key, None)
    elif operation != "delete_partition":
        rows.update({row[0]: row for row in own})


def _check_timeline(path: Path, outcome: Outcome) -> None:
    """No two instants have one time."""
    instants = [i for i in HudiTable.open(path).timeline.instants if i.action != "savepoint"]
    times = Counter(i.requested for i in instants) + Counter(i.completed for i in instants if i.completed)
    twice = [time for time, count in times.items() if count > 1]
    if twice:
        outcome.wrong.append(f"several instants have the times {twice}: {instants}")


def _check_metadata(race: Race, path: Path, outcome: Outcome) -> None:
    """The metadata table has all files and no others, once another write has taken up the clean of a killed process."""
    table = HudiTable.open(path)
    if race.options["hoodie.metadata.enable"] == "true" and table.config.metadata_partitions:
        report = validate(table.client)
        if not report.is_valid:
            outcome.wrong.append(f"metadata table: {report}")


def main() -> int:
    """Run as the arguments say; the number of runs in which something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the tables of runs in which something is wrong")
    arguments = parser.parse_args()
    total = Outcome()
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        with tempfile.TemporaryDirectory() as folder:
            outcome = run(Race.of(seed), Path(folder))
            if outcome.wrong and arguments.keep is not None:
                shutil.copytree(folder, arguments.keep / str(seed))
        total += outcome
        for text in outcome.wrong:
            print(text, flush=True)
        if (seed - arguments.seed) % 10 == 9:
            print(dict(total.counts), flush=True)
    print(dict(total.counts), dict(total.refusals))
    return len(total.wrong)


if __name__ == "__main__":
    sys.exit(main())
