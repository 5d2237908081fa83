"""A bank in a Hive ACID table: processes move money between accounts, are killed, and nobody ever sees money missing.

A writer reads a few accounts under its transaction, changes their balances, moves some to
another branch (which is the partition), closes those that are empty, and has two worker processes write the changes.
Workers are killed by their writer, and writers by :func:`run`, both with SIGKILL and at any moment. Half of the writers
take a lock that keeps nobody out, so that only the metastore's comparison at the commit stands between them. A reader
takes one snapshot after the other without any lock and adds all balances up.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MetastoreError, TransactionError, TransactionLostError
from hudi_hive.metastore import HiveMetastore, LockKind, LockPart, LockStatus, TransactionClient
from hudi_hive.mutation.acid_table import AcidReader, AcidTable
from hudi_hive.mutation.acid_write import (
    MergeRecords,
    MutationManifest,
    MutatorClient,
    MutatorCoordinator,
    Transaction,
    merge,
)
from hudi_hive.mutation.core import LockSettings
from integration.support.metastores import dying
from tests.support.mutation.acid_definitions import acid_table

DATABASE: Final = "default"
BALANCE: Final = 1000
SERVER_PROPERTIES: Final = dying(4)
"""Of a real metastore that soon ends the transactions of those who were killed."""

_REPEATED: Final = (TransactionError, MetastoreError)


@dataclass(frozen=True)
class Settings:
    """What the processes of a bank are told.

    Args:
        uri: of the metastore.
        table: name of the table of accounts.
        folder: for logs, and for the file that ends all processes.
        accounts: numbers of accounts go from 0 to this, without the last.
        branches: number of partitions.
        worker_kills: share of the tasks whose worker is killed.
        pause_s: seconds between two reads of a process.
        hive: release of Hive whose readers add balances up, too; none if empty.
        number: of the process.
    """

    uri: str
    table: str
    folder: str
    accounts: int = 40
    branches: int = 4
    worker_kills: float = 0.15
    pause_s: float = 0.05
    hive: str = ""
    number: int = 0

    @property
    def total(self) -> int:
        """All the money there is."""
        return self.accounts * BALANCE

    @property
    def ended(self) -> bool:
        """Whether the processes are to come to their end."""
        return (Path(self.folder) / "stop").exists()

    def log(self, event: str, *values: object) -> None:
        """One line of the process's log, written at once: whoever is killed has said what came before."""
        with (Path(self.folder) / f"{self.number}.log").open("a") as stream:
            stream.write(json.dumps([event, *values]) + "\n")


@dataclass
class Outcome:
    """What a run came to.

    Attributes:
        total: all the money there is.
        counts: commits, transactions that were repeated (by the class of the error), kills of workers and clients.
        reads: sums that readers have taken.
        wrong: what was wrong with some of them.
        snapshots: different states of the table that were read.
    """

    total: int
    counts: Counter[str] = field(default_factory=Counter)
    reads: int = 0
    wrong: list[Any] = field(default_factory=list)
    snapshots: int = 0

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        return f"{self.reads} reads of {self.snapshots} states, {len(self.wrong)} wrong; {counts}"


def create_bank(settings: Settings, warehouse: Path) -> None:
    """Make the table and its accounts."""
    with HiveMetastore(settings.uri) as store:
        columns = [("id", "int"), ("balance", "bigint"), ("note", "string")]
        location = f"file:{warehouse}/{settings.table}"
        made = acid_table(location, columns, [("branch", "string")], name=settings.table)
        TransactionClient(store).create_table(made)
    rows = pa.table(
        {
            "id": pa.array(range(settings.accounts), pa.int32()),
            "balance": pa.array([BALANCE] * settings.accounts),
            "note": [f"account {number}" for number in range(settings.accounts)],
            "branch": [f"b{number % settings.branches}" for number in range(settings.accounts)],
        }
    )
    sink = f"{DATABASE}.{settings.table}"
    client = MutatorClient(settings.uri, sinks=[sink], create_partitions=True)
    with client, client.new_transaction() as transaction:
        with MutatorCoordinator(transaction.table(DATABASE, settings.table)) as coordinator:
            merge(transaction.reader(DATABASE, settings.table), rows, ["id"]).feed(coordinator)
        transaction.accept(coordinator.close())


# -- writers ----------------------------------------------------------------------------------------------------------


class Open(TransactionClient):
    """Takes locks that let other writers in."""

    def lock(self, transaction: int, parts: Sequence[LockPart]) -> LockStatus:
        """Ask for a reader's lock, still as one who updates."""
        return super().lock(transaction, [replace(part, kind=LockKind.READ) for part in parts])


def work(pipe: Connection) -> None:
    """A worker: the text of a table and records in, the text of a manifest out, until the writer is gone."""
    with suppress(EOFError, OSError):
        while True:
            text, records = pipe.recv()
            with MutatorCoordinator(AcidTable.decode(text)) as coordinator:
                records.feed(coordinator)
            pipe.send(coordinator.close().encode())


class Worker:
    """A worker process that is started anew whenever it is gone."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._start()

    def _start(self) -> None:
        self._pipe, other = self._context.Pipe()
        self._process: ForkServerProcess = self._context.Process(target=work, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def send(self, task: tuple[str, MergeRecords], kill_after_s: float | None) -> None:
        """Give it a task, and a time to live if it is to be killed."""
        try:
            self._pipe.send(task)
        except OSError:  # it was killed after its last task
            self._start()
            self._pipe.send(task)
        if kill_after_s is not None:
            threading.Timer(kill_after_s, self._process.kill).start()

    def receive(self) -> MutationManifest | None:
        """What it has written; None if it was killed over the task."""
        try:
            return MutationManifest.decode(self._pipe.recv())
        except (EOFError, OSError):
            self._start()
            return None


class Writer:
    """Transfers money until the end."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._chance = random.Random(os.getpid())
        self._open = settings.number % 2 == 1
        self._workers = [Worker(), Worker()]

    def run(self) -> None:
        settings = self._settings
        sink = f"{DATABASE}.{settings.table}"
        user = f"writer-{os.getpid()}"
        locks = LockSettings(wait_s=60)
        client = MutatorClient(settings.uri, sinks=[sink], create_partitions=True, user=user, locks=locks)
        with client:
            if self._open:
                client._client = Open(client._client.metastore, user=user)
            while not settings.ended:
                try:
                    with client.new_transaction() as transaction:
                        self._transfer(transaction)
                    settings.log("commits")
                except _REPEATED as error:
                    settings.log(type(error).__name__)

    def _transfer(self, transaction: Transaction) -> None:
        settings, chance = self._settings, self._chance
        reader = transaction.reader(DATABASE, settings.table)
        numbers = chance.sample(range(settings.accounts), 2 * chance.randint(1, 3))
        found = reader.read(["id", "balance", "branch"], [("id", "in", numbers)], with_row_id=False).to_pylist()
        accounts = {row["id"]: row for row in found}
        for source, target in zip(numbers[::2], numbers[1::2], strict=True):
            # Metastores do not compare inserts, so accounts are made by writers that keep others out alone.
            if source in accounts and (target in accounts or not self._open):
                self._move(accounts[source], accounts.setdefault(target, self._account(target)))
        changes = pa.table(
            {
                "id": pa.array(accounts, pa.int32()),
                "balance": pa.array([row["balance"] for row in accounts.values()], pa.int64()),
                "branch": pa.array([row["branch"] for row in accounts.values()], pa.string()),
                "gone": pa.array([row["balance"] == 0 for row in accounts.values()], pa.bool_()),
            }
        )
        merged = merge(reader, changes, ["id"], delete_where="gone = true")
        table = transaction.table(DATABASE, settings.table).encode()
        transaction.accept(*self._written(table, merged.split(len(self._workers))))

    def _account(self, number: int) -> dict[str, Any]:
        return {"id": number, "balance": 0, "branch": f"b{self._chance.randrange(self._settings.branches)}"}

    def _move(self, source: dict[str, Any], target: dict[str, Any]) -> None:
        everything = self._chance.random() < 0.2
        amount = source["balance"] if everything else self._chance.randint(0, source["balance"])
        source["balance"] -= amount
        target["balance"] += amount
        if self._chance.random() < 0.1:
            target["branch"] = f"b{self._chance.randrange(self._settings.branches)}"

    def _written(self, table: str, parts: Sequence[MergeRecords]) -> list[MutationManifest]:
        """What the workers have written; a task whose worker was killed is given to a new one."""
        done: list[MutationManifest] = []
        left = list(parts)
        while left:
            busy = list(zip(self._workers, left, strict=False))
            for worker, part in busy:
                killed = self._chance.random() < self._settings.worker_kills
                worker.send((table, part), self._chance.uniform(0, 0.04) if killed else None)
            left = []
            for worker, part in busy:
                manifest = worker.receive()
                if manifest is None:
                    self._settings.log("killed workers")
                    left.append(part)
                else:
                    done.append(manifest)
        return done


# -- readers ----------------------------------------------------------------------------------------------------------


def total_of(reader: AcidReader) -> tuple[int, bool]:
    """The money in a snapshot, and whether each account is there once."""
    found = reader.read(["id", "balance"], with_row_id=False)
    return pc.sum(found["balance"]).as_py() or 0, pc.count_distinct(found["id"]).as_py() == found.num_rows


def read(settings: Settings) -> None:
    """Add balances up, snapshot by snapshot, until the end."""
    with HiveMetastore(settings.uri) as store:
        client = TransactionClient(store)
        while not settings.ended:
            try:
                reader = AcidReader.open(client, DATABASE, settings.table)
            except MetastoreError as error:
                settings.log(f"{type(error).__name__} of a reader")
                continue
            total, once = total_of(reader)
            settings.log("read", total, once, reader.write_ids.format())
            time.sleep(settings.pause_s)


def read_with_hive(settings: Settings) -> None:
    """The same with Hive's own readers, by row and by vector in turn."""
    from integration.support.hive_acid import MODES, HiveAcid, Snapshot

    with HiveMetastore(settings.uri) as store, HiveAcid(settings.hive) as hive:
        client = TransactionClient(store)
        while not settings.ended:
            for mode in MODES:
                snapshot = Snapshot.take(client, DATABASE, settings.table)
                rows = hive.read(snapshot, mode=mode).values()
                once = len({row[0] for row in rows}) == len(rows)
                settings.log("read", sum(row[1] for row in rows), once, snapshot.write_ids.format())
                settings.log(f"reads by Hive {settings.hive}")


# -- all of it --------------------------------------------------------------------------------------------------------


def run(
    settings: Settings,
    *,
    commits: int,
    kill_every: int,
    writers: int = 2,
    readers: int = 1,
    seconds: float = 180,
    housekeeping: bool = False,
    until: Callable[[Outcome], bool] = lambda outcome: True,
) -> Outcome:
    """Let processes work on a bank that was founded, kill some, and tell what they saw.

    Args:
        settings: of the bank.
        commits: after how many the bank closes.
        kill_every: commits after which a writer is killed at a random moment, and replaced.
        writers: processes that transfer money; every second one lets others in.
        readers: processes that add it up.
        seconds: after which it closes anyway.
        housekeeping: end the transactions of dead writers, for a metastore that does not do so by itself.
        until: what must be the case, too, for the bank to close after so many commits.
    """
    chance = random.Random(settings.table)
    folder = Path(settings.folder)
    writing = {number: _process("write", settings, number) for number in range(writers)}
    reading = [_process("read", settings, writers + number) for number in range(readers)]
    if settings.hive:
        reading.append(_process("hive", settings, writers + readers))
    killed = 0
    keeper = _Housekeeper(settings) if housekeeping else None
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end and all(one.poll() is None for one in (*writing.values(), *reading)):
            time.sleep(0.05)
            outcome = _read_logs(settings)
            done = outcome.counts["commits"]
            if done >= commits and until(outcome):
                break
            if done >= (killed + 1) * kill_every:
                time.sleep(chance.uniform(0, 0.3))
                number = chance.randrange(writers)
                writing[number].kill()
                writing[number].wait()
                writing[number] = _process("write", settings, number)
                killed += 1
        (folder / "stop").touch()
        failed = [one.args for one in (*writing.values(), *reading) if one.wait(600)]
    finally:
        for one in (*writing.values(), *reading):
            one.kill()
            one.wait()
        if keeper is not None:
            keeper.end()
    outcome = _read_logs(settings)
    outcome.counts["killed clients"] = killed
    outcome.wrong.extend(failed)
    return outcome


def _process(what: str, settings: Settings, number: int) -> subprocess.Popen[bytes]:
    text = json.dumps(asdict(replace(settings, number=number)))
    # Run as a module it would be imported again for each worker.
    return subprocess.Popen([sys.executable, "-c", f"from {__name__} import main; main()", what, text])


def _read_logs(settings: Settings) -> Outcome:
    outcome = Outcome(settings.total)
    states = set()
    for path in Path(settings.folder).glob("*.log"):
        for line in path.read_text().splitlines():
            event, *values = json.loads(line)
            if event != "read":
                outcome.counts[event] += 1
                continue
            total, once, write_ids = values
            outcome.reads += 1
            states.add(write_ids)
            if total != outcome.total or not once:
                outcome.wrong.append(values)
    outcome.snapshots = len(states)
    return outcome


class _Housekeeper(threading.Thread):
    """Ends transactions of writers that are dead, as a metastore does after its time-out."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(daemon=True)
        self._settings = settings
        self._ended = threading.Event()
        self.start()

    def run(self) -> None:
        with HiveMetastore(self._settings.uri) as store:
            client = TransactionClient(store)
            while not self._ended.wait(0.1):
                self._abort_orphans(client)
            self._abort_orphans(client)

    def _abort_orphans(self, client: TransactionClient) -> None:
        for info in client.open_transactions():
            if not info.aborted and info.user.startswith("writer-") and not _lives(int(info.user[7:])):
                with suppress(TransactionLostError):
                    client.abort(info.id)

    def end(self) -> None:
        self._ended.set()
        self.join()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """A process of a bank: ``write``, ``read`` or ``hive`` and its settings are the arguments."""
    settings = Settings(**json.loads(sys.argv[2]))
    if sys.argv[1] == "write":
        multiprocessing.set_forkserver_preload([__name__, "pyarrow.orc", "pyarrow.fs", "pandas"])
        Writer(settings).run()
    else:
        (read_with_hive if sys.argv[1] == "hive" else read)(settings)
