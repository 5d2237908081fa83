"""Metastores on PostgreSQL, MariaDB and Derby: a sync of very many partitions, lost connections, many clients at once.

    python -m integration.long.databases [--databases derby,postgres,mariadb] [--metastores 3.1.3,4.0.1]
        [--partitions 40000] [--clients 8] [--rounds 5] [--suites]

For each database and release: a table of so many partitions is synced for the first time, again, in full, and after a
commit, and its partitions are dropped and added anew; then the database ends all connections again and again while
syncs run; then so many clients take one lock by turns, sync one table, and move money in an ACID table, at once. Every
end state is compared with what it has to be. ``--suites`` runs the tests of syncs, locks and mutations on PostgreSQL
and MariaDB before. The exit code is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from xml.etree import ElementTree

from hudi_hive.errors import HudiHiveError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool, SyncReport
from integration.long.mutation_bank import Settings, create_bank, run
from integration.support.metastores import HIVE_EXEC, RELEASES, TRANSACTIONS, ReleasedMetastore
from integration.support.stores.database import DatabaseServer
from integration.support.stores.database_servers import DATABASES

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from wide_tables import WideTable

DATABASE = "lake"
SUITES = (
    "integration/metastore/test_metastore_versions.py",
    "integration/metastore/test_metastore_locks.py",
    "integration/sync/test_sync_concurrent.py",
    "integration/sync/test_sync_evolution.py",
    "integration/sync/test_sync_merge_on_read.py",
    "integration/sync/test_sync_options.py",
    "integration/sync/test_sync_tool.py",
    "integration/mutation/test_mutation_bank.py",
    "integration/mutation/test_mutation_client.py",
    "integration/mutation/test_mutation_merges.py",
    "integration/mutation/test_mutation_time_outs.py",
    "integration/mutation/test_mutation_transactions.py",
)
"""Tests that are to hold whatever the metastore's database is."""


class Trial:
    """One metastore on one database, and what went wrong on it.

    Args:
        name: the database and the release.
        uri: the metastore.
        server: the database; None for Derby.
        store: the metastore's database in it.
    """

    def __init__(self, name: str, uri: str, server: DatabaseServer | None, store: str) -> None:
        self.name, self.uri, self.server, self.store = name, uri, server, store
        self.wrong = 0

    def check(self, right: bool, what: str) -> None:
        """Count and say what is wrong."""
        if not right:
            self.wrong += 1
            print(f"{self.name}  WRONG  {what}", flush=True)

    def say(self, what: str, seconds: float, calls: Counter[str], more: str = "") -> None:
        """Print what was done, how long it took and what it called."""
        counts = ", ".join(f"{name} {count}" for name, count in sorted(calls.items()))
        print(f"{self.name:15} {what:28} {seconds:7.1f} s {calls.total():5} calls  {more}({counts})", flush=True)

    def sync(self, table: Path, name: str, **settings: object) -> SyncReport:
        """Sync a table with a client of its own."""
        with HiveMetastore(self.uri) as client:
            config = HiveSyncConfig(base_path=str(table), database=DATABASE, table=name, **settings)  # type: ignore[arg-type]
            return HiveSyncTool(config, metastore=client).sync()

    def timed(self, what: str, table: WideTable, name: str, **settings: object) -> SyncReport:
        """Sync and print what it took."""
        begin = time.perf_counter()
        report = self.sync(table.path, name, **settings)
        self.say(what, time.perf_counter() - begin, Counter(report.calls))
        return report

    def check_partitions(self, table: WideTable, name: str) -> None:
        """Compare all partitions with those of the table."""
        with HiveMetastore(self.uri) as client:
            begin = time.perf_counter()
            found = {item.values[0]: item.sd.location for item in client.partitions(DATABASE, name)}
            self.say("read in growing batches", time.perf_counter() - begin, client.calls)
        values = [f"p{number:05d}" for number in range(table.partitions)]
        right = list(found) == values or sorted(found) == values
        self.check(right, f"{len(found)} partitions of {len(values)}")
        self.check(all(str(at).endswith(f"/{value}") for value, at in found.items()), "locations")


def many_partitions(trial: Trial, table: WideTable) -> None:
    """A table of very many partitions through all kinds of syncs."""
    trial.timed("first sync", table, "wide")
    trial.check_partitions(table, "wide")
    report = trial.timed("no-op sync", table, "wide")
    trial.check(report.plan.is_noop, "a second sync finds work")
    report = trial.timed("full comparison", table, "wide", incremental=False)
    trial.check(report.plan.is_noop, "a full comparison finds work")
    table.append(new=5, again=1500)
    trial.timed("5 new, 1,500 written, filter", table, "wide", filter_pushdown=True, touch_partitions=True)
    with HiveMetastore(trial.uri) as client:
        names = client.partition_names(DATABASE, "wide")
        begin = time.perf_counter()
        client.drop_partitions(DATABASE, "wide", names[::2])
        trial.say(f"drop of {len(names[::2]):,}", time.perf_counter() - begin, client.calls)
    trial.timed(f"{len(names[::2]):,} missing", table, "wide", incremental=False)
    trial.check_partitions(table, "wide")


@contextmanager
def ending_connections(trial: Trial) -> Iterator[Counter[str]]:
    """Meanwhile the database ends all connections every few seconds; counts them."""
    ended, counts = threading.Event(), Counter[str]()

    def work() -> None:
        while not ended.wait(4):
            assert trial.server is not None
            counts["rounds"] += 1
            counts["connections"] += trial.server.end_connections(trial.store)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield counts
    finally:
        ended.set()
        thread.join()


def lost_connections(trial: Trial, folder: Path) -> None:
    """Syncs while the database ends connections: each ends well or with an error of ours, the last one well."""
    table = WideTable(folder / f"lost_{trial.store}", 3000)
    refused: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    begin = time.perf_counter()
    with ending_connections(trial) as counts:
        for number in range(4):
            table.append(new=200, again=5)
            try:
                calls += Counter(trial.sync(table.path, "lost", incremental=bool(number % 2)).calls)
            except HudiHiveError as error:
                refused[type(error).__name__] += 1
                print(f"{trial.name:15} refused: {error}"[:300], flush=True)
    more = f"{counts['connections']} connections ended in {counts['rounds']} rounds, refused: {dict(refused)} "
    trial.say("syncs without connections", time.perf_counter() - begin, calls, more)
    trial.sync(table.path, "lost")
    report = trial.sync(table.path, "lost", incremental=False)
    trial.check(report.plan.is_noop, "a full comparison after lost connections finds work")
    trial.check_partitions(table, "lost")


def at_once(trial: Trial, clients: int, work: Callable[[int, HiveMetastore], None], what: str) -> None:
    """Run one piece of work in so many threads, each with a client of its own."""
    begin, errors, calls = threading.Barrier(clients), Counter[str](), Counter[str]()

    def one(number: int) -> None:
        with HiveMetastore(trial.uri) as client:
            begin.wait()
            try:
                work(number, client)
            except HudiHiveError as error:
                errors[type(error).__name__] += 1
                print(f"{trial.name:15} {what}: {error}"[:400], flush=True)
            calls.update(client.calls)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(clients)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trial.say(what, time.perf_counter() - started, calls)
    trial.check(not errors, f"{what}: errors {dict(errors)}")


def many_clients(trial: Trial, folder: Path, clients: int, rounds: int) -> None:
    """Clients that take one lock, sync one table, and sync tables of their own, all at once."""
    count = folder / f"count_{trial.store}"
    count.write_text("0")

    def take(number: int, client: HiveMetastore) -> None:
        lock = MetastoreLock(client, DATABASE, "counted")
        for _ in range(rounds):
            while not lock.try_acquire():
                time.sleep(0.02)
            lock.verify()
            before = int(count.read_text())
            time.sleep(0.005)
            count.write_text(str(before + 1))
            lock.release()

    at_once(trial, clients, take, f"{clients} clients, one lock")
    trial.check(int(count.read_text()) == clients * rounds, f"{count.read_text()} of {clients * rounds} increments")
    table = WideTable(folder / f"shared_{trial.store}", 500)

    def sync_one(number: int, client: HiveMetastore) -> None:
        config = HiveSyncConfig(base_path=str(table.path), database=DATABASE, table="shared")
        for _ in range(2):
            HiveSyncTool(config, metastore=client).sync()

    def sync_own(number: int, client: HiveMetastore) -> None:
        for name in (f"own_{number}", "shared"):
            config = HiveSyncConfig(base_path=str(table.path), database=DATABASE, table=name, incremental=False)
            HiveSyncTool(config, metastore=client).sync()

    at_once(trial, clients, sync_one, f"{clients} clients, one new table")
    for _ in range(rounds):
        table.append(new=20, again=20)
        at_once(trial, clients, sync_one, f"{clients} clients, one table")
    trial.check_partitions(table, "shared")
    at_once(trial, clients, sync_own, f"{clients} clients, own tables")
    for number in range(clients):
        trial.check_partitions(table, f"own_{number}")


def bank(trial: Trial, folder: Path, warehouse: Path, clients: int) -> None:
    """Money in an ACID table, moved by many writers at once."""
    logs = folder / f"bank_{trial.store}"
    logs.mkdir()
    settings = Settings(trial.uri, f"bank_{trial.store or 'derby'}", str(logs), pause_s=0.1)
    create_bank(settings, warehouse)
    begin = time.perf_counter()
    outcome = run(settings, commits=3 * clients, writers=clients, readers=1, kill_every=1000, seconds=900,
                  housekeeping=False)  # fmt: skip
    print(f"{trial.name:15} {clients} writers, one ACID table    {time.perf_counter() - begin:7.1f} s  {outcome}")
    trial.check(not outcome.wrong, f"bank: {outcome.wrong[:3]}")


def run_suites(database: str, release: str) -> bool:
    """Run the tests of syncs, locks and mutations with all metastores on a database; whether all passed."""
    environment = {**os.environ, "HUDI_HIVE_TEST_DATABASE": database, "HUDI_HIVE_TEST_RELEASE": release}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = ["-q", "-m", "", "-p", "no:cacheprovider", f"--junitxml={report}", *SUITES]
        code = subprocess.run([sys.executable, "-m", "pytest", *words], env=environment, check=False).returncode
        counts = Counter[str]()
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            counts.update({name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")})
    wrong, skipped = counts["failures"] + counts["errors"], counts["skipped"]
    tried = counts["tests"] - skipped
    print(f"{database} {release}  tests: {tried - wrong} of {tried} passed, {skipped} skipped or refused", flush=True)
    return code == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", default="derby,postgres,mariadb")
    parser.add_argument("--metastores", default="3.1.3,4.0.1")
    parser.add_argument("--partitions", type=int, default=40_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="many,lost,clients,bank", help="which of: many, lost, clients, bank")
    parser.add_argument("--suites", action="store_true")
    given = parser.parse_args()
    wrong, only = 0, given.only.split(",")
    for database in given.databases.split(","):
        for release in given.metastores.split(","):
            if given.suites and database in DATABASES:
                wrong += not run_suites(database, release)
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
                server = stack.enter_context(DATABASES[database]()) if database in DATABASES else None
                store = server.make_store(RELEASES[release]) if server else None
                metastore = stack.enter_context(
                    ReleasedMetastore(
                        release,
                        folder / "metastore",
                        properties=TRANSACTIONS,
                        jars=[HIVE_EXEC[release]],
                        store=store,
                    )
                )
                trial = Trial(f"{database} {release}", metastore.uri, server, store.name if store else "")
                if "many" in only:
                    many_partitions(trial, WideTable(folder / "wide", given.partitions))
                if "lost" in only and server is not None:
                    lost_connections(trial, folder)
                if "clients" in only:
                    many_clients(trial, folder, given.clients, given.rounds)
                if "bank" in only and server is not None:
                    bank(trial, folder, metastore.warehouse, given.clients)
                wrong += trial.wrong
    print(f"wrong: {wrong}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
