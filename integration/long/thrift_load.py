"""Many clients of one Thrift server at once, for long, while the tables that they ask about get commits.

    python -m integration.long.thrift_load [--minutes 15] [--clients 8] [--hurry]

Clients ask the statements of ``test_thrift_server``, whose answers real Hudi gave, and statements about tables that a
writer commits to meanwhile. Each commit moves amounts between accounts, so that every state of a table has one total
and one number of rows, and says in each row that it wrote which commit it was: an answer must be at least as new as the
last commit that was over when it was asked for. ``--hurry`` has the server's Python change threads as often as it can.
Prints answers and wrong ones; ends with 1 if there are any.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyhive import hive

from hudi_hive import HudiTable
from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore
from hudi_hive.spark import ThriftServer
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from integration.spark.thrift.test_thrift_server import ask, served_questions
from tests.support.fixture_tables import unzip_fixture

DATABASE = "load"
ACCOUNTS, CITIES, START = 300, 6, 1000
_KINDS = ((False, 8), (True, 9), (True, 6))
"""Whether a table merges on read, and its version."""

_HURRY = "import sys; sys.setswitchinterval(1e-5)"
_OPTIONS = {
    "hoodie.cleaner.commits.retained": "20",
    "hoodie.keep.min.commits": "30",
    "hoodie.keep.max.commits": "40",
}
_COMPACTING = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "4"}


@dataclass
class Bank:
    """A table of accounts, and what its writer and its readers found."""

    path: Path
    name: str
    merges: bool
    commit: int = 0
    amounts: list[int] = field(default_factory=lambda: [START] * ACCOUNTS)

    def create(self, metastore: HiveMetastore, version: int) -> None:
        """Make, fill and sync it."""
        HudiTable.create(
            self.path,
            name=self.name,
            version=version,
            table_type="MERGE_ON_READ" if self.merges else "COPY_ON_WRITE",
            record_keys=["id"],
            partition_fields=["city"],
            ordering_fields=["made"],
        )
        self.write(range(ACCOUNTS), 0)
        config = HiveSyncConfig(base_path=str(self.path), database=DATABASE, table=self.name)
        HiveSyncTool(config, metastore=metastore).sync()

    def write(self, accounts: Sequence[int], commit: int) -> None:
        """Commit some accounts as they are now."""
        rows = pa.table(
            {
                "id": [f"a{account:04d}" for account in accounts],
                "city": [f"c{account % CITIES}" for account in accounts],
                "amount": pa.array([self.amounts[account] for account in accounts], pa.int64()),
                "made": pa.array([commit] * len(accounts), pa.int64()),
            }
        )
        HudiTable.open(self.path).upsert(rows, _OPTIONS | (_COMPACTING if self.merges else {}))

    def move(self, chance: random.Random) -> None:
        """Move amounts between some accounts, in one commit."""
        touched = chance.sample(range(ACCOUNTS), 20)
        for one, other in zip(touched[::2], touched[1::2], strict=True):
            amount = chance.randint(1, 50)
            self.amounts[one] -= amount
            self.amounts[other] += amount
        number = self.commit + 1
        self.write(touched, number)
        self.commit = number

    def questions(self) -> list[tuple[str, tuple[Any, ...] | None]]:
        """Statements and their answers, but for the newest commit, which is their last column."""
        all_rows = (ACCOUNTS, ACCOUNTS * START)
        names = [self.name] if not self.merges else [self.name, f"{self.name}_rt"]
        rows_read: list[tuple[str, tuple[Any, ...] | None]] = []
        for table in (f"{DATABASE}.{name}" for name in names):
            columns = "count(*), sum(amount), max(made)"
            rows_read += [
                (f"SELECT {columns} FROM {table}", all_rows),
                (f"SELECT count(DISTINCT id), sum(amount), max(made) FROM {table} WHERE city IS NOT NULL", all_rows),
                (f"SELECT {columns} FROM {table} WHERE city = 'c3'", None),
                (
                    f"SELECT count(*), sum(a.amount), max(b.made) FROM {table} a JOIN {table} b "
                    "ON a.id = b.id AND a.amount = b.amount AND a.city = b.city AND a.made = b.made",
                    all_rows,
                ),
                (
                    f"SELECT sum(n), sum(s), max(m) FROM (SELECT count(*) n, sum(amount) s, max(made) m FROM {table} "
                    f"WHERE city < 'c3' UNION ALL SELECT count(*), sum(amount), max(made) FROM {table} "
                    "WHERE city >= 'c3')",
                    all_rows,
                ),
                (f"SELECT count(*), sum(amount), max(made) FROM hudi_query('{table}', 'snapshot')", all_rows),
                (f"SELECT count(DISTINCT id), 0, max(made) FROM hudi_table_changes('{table}', '0')", (ACCOUNTS, 0)),
            ]
        if self.merges:
            rows_read.append((f"SELECT count(*), sum(amount), NULL FROM {DATABASE}.{self.name}_ro", (ACCOUNTS, None)))
        return rows_read


@dataclass
class Load:
    """One run."""

    port: int
    banks: list[Bank]
    fixture_queries: list[tuple[str, list[tuple[Any, ...]]]]
    until: float
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self) -> None:
        """Commit to the tables by turns until the time is over."""
        chance = random.Random(7)
        while time.monotonic() < self.until:
            for bank in self.banks:
                bank.move(chance)
                self.note("commits")
            time.sleep(1.0)

    def note(self, what: str, fault: str | None = None) -> None:
        """Count an outcome."""
        with self.lock:
            self.counts[what] += 1
            if fault is not None:
                self.faults.append(fault)
                print(f"{time.strftime('%H:%M:%S')} {what}: {fault}", flush=True)

    def client(self, number: int) -> None:
        """Ask until the time is over; a new connection every now and then."""
        chance = random.Random(number)
        while time.monotonic() < self.until:
            made = hive.connect("127.0.0.1", self.port, username=f"reader{number}")
            with closing(made) as connection, closing(connection.cursor()) as cursor:
                for _ in range(chance.randint(5, 60)):
                    if time.monotonic() > self.until:
                        break
                    self._ask(cursor, chance)

    def _ask(self, cursor: Any, chance: random.Random) -> None:
        check: Callable[[list[tuple[Any, ...]]], bool]
        if chance.random() < 0.4:
            text, rows = chance.choice(self.fixture_queries)
            check = partial(_is_same, rows)
        else:
            bank = chance.choice(self.banks)
            text, expected = chance.choice(bank.questions())
            check = partial(_fits, expected, bank.commit, bank)
        try:
            rows_read = ask(cursor, text)
        except Exception as error:
            self.note("failed", f"{text}: {str(error)[:1500]}")
            return
        if check(rows_read):
            self.note("right")
        else:
            self.note("wrong", f"{text}: {rows_read[:5]}")


def _is_same(rows: list[tuple[Any, ...]], rows_read: list[tuple[Any, ...]]) -> bool:
    return sorted(rows_read) == rows


def _fits(expected: tuple[Any, ...] | None, before: int, bank: Bank, rows_read: list[tuple[Any, ...]]) -> bool:
    """Whether an answer is that of a state at least as new as a commit; of some rows only their number is known."""
    if len(rows_read) != 1:
        return False
    (row,) = rows_read
    if expected is None:
        return bool(row[0] == ACCOUNTS // CITIES)
    if expected[1] is None:
        return bool(row[0] == expected[0])
    return row[:2] == expected and before <= row[2] <= bank.commit + 1


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--hurry", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="thrift-load-") as name:
        folder = Path(name)
        if arguments.hurry:
            # The interpreter of the server reads it when it starts.
            (folder / "sitecustomize.py").write_text(_HURRY + "\n", encoding="utf-8")
            os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
        with EmbeddedMetastore(folder / "metastore") as running, HiveMetastore(running.uri) as metastore:
            return _run(arguments, folder, running.uri, metastore)


def _run(arguments: argparse.Namespace, folder: Path, uri: str, metastore: HiveMetastore) -> int:
    def synced(name: str) -> str:
        config = HiveSyncConfig(base_path=str(unzip_fixture(name)), database=DATABASE, table=name)
        HiveSyncTool(config, metastore=metastore).sync()
        return f"{DATABASE}.{name}"

    fixture_queries = served_questions(synced)
    banks = [Bank(folder / f"bank{number}", f"bank{number}", kind[0]) for number, kind in enumerate(_KINDS)]
    for bank, (_, version) in zip(banks, _KINDS, strict=True):
        bank.create(metastore, version)
    with ThriftServer(uri, directory=folder / "server") as server:
        assert server.port is not None
        load = Load(server.port, banks, fixture_queries, time.monotonic() + arguments.minutes * 60)
        with ThreadPoolExecutor(arguments.clients + 1) as pool:
            work = [pool.submit(load.write), *(pool.submit(load.client, n) for n in range(arguments.clients))]
            for one in work:
                one.result()
    print(dict(load.counts), f"{len(load.faults)} faults")
    return 1 if load.faults else 0


if __name__ == "__main__":
    sys.exit(main())
