"""Processes race to create one file, and one table, on each store: of each round exactly one is told that it did.

    python -m integration.long.store_concurrency [--store hdfs] [--rounds 1000] [--tables 100] [--locks 20] [--racers 8]

One set of processes for all stores; they wait for each other before each file. Under each lock that a store has by
itself, all of them count in one file: two that read the same number held the lock at the same time. Prints a row of a
table for each store and what, and a line for each lock.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from hudi_hive import HudiTable
from integration.support.stores.concurrent_creation import FILE, TABLE, RaceResult, Racers
from integration.support.stores.running import STORES, RunningStore, running_store

_DISK: Final = "disk"
_LOCKS: Final = {"the store's own": {}} | {
    name: {"hoodie.write.lock.provider": name} for name in ("FileSystemBasedLockProvider", "StorageBasedLockProvider")
}
_BATCH: Final = 100
"""Rounds between two answers of the processes."""


@contextmanager
def _store(name: str) -> Iterator[RunningStore]:
    if name != _DISK:
        with running_store(name) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="store_concurrency_") as folder:
        numbers = iter(range(1_000_000))
        yield RunningStore(lambda: f"{folder}/f{next(numbers)}", {}, {})


def race(racers: Racers, store: RunningStore, what: str, rounds: int) -> RaceResult:
    """Race for files or tables.

    Args:
        racers: the processes.
        store: where.
        what: ``FILE`` or ``TABLE``.
        rounds: how many.
    """
    total = RaceResult()
    while total.rounds < rounds:
        result = racers.race(store.folder(), store.options, min(_BATCH, rounds - total.rounds), what=what)
        total.rounds += result.rounds
        total.winners += result.winners
        total.wrong += result.wrong
    return total


def main() -> int:
    """Race on the stores that the arguments choose."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="append", choices=(_DISK, *STORES))
    parser.add_argument("--rounds", type=int, default=1_000, help="files on each store")
    parser.add_argument("--tables", type=int, default=100, help="tables on each store")
    parser.add_argument("--locks", type=int, default=20, help="times that each takes each lock")
    parser.add_argument("--racers", type=int, default=8)
    chosen = parser.parse_args()
    wrong = 0
    print("| store | what | rounds | with one winner | with more | with none | other errors | s |", flush=True)
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with Racers(chosen.racers) as racers:
        for name in chosen.store or (_DISK, *STORES):
            try:
                with _store(name) as store:
                    for what, rounds in ((FILE, chosen.rounds), (TABLE, chosen.tables)):
                        begin = time.monotonic()
                        result = race(racers, store, what, rounds) if rounds else RaceResult()
                        wrong += not result.is_right and bool(rounds)
                        _print(name, what, result, time.monotonic() - begin)
                    wrong += _count(racers, store, name, chosen.locks)
            except pytest.skip.Exception as skipped:
                print(f"| {name} | skipped: {skipped} |", flush=True)
    return 1 if wrong else 0


def _count(racers: Racers, store: RunningStore, name: str, rounds: int) -> int:
    """Count under each lock; gives the number of locks that do not exclude, or fail."""
    failed = 0
    for lock, writing in _LOCKS.items() if rounds else ():
        if name in (_DISK, "hdfs") and lock.startswith("Storage"):
            continue  # replaces files only if they are unchanged, which neither can
        begin, uri = time.monotonic(), store.folder()
        HudiTable.create(uri, name="t", record_keys=["id"], storage_options=store.options or None)
        twice, wrong = racers.count(uri, store.options, rounds, writing)
        failed += bool(twice or wrong)
        cells = (name, f"lock: {lock}", rounds, f"{twice} overlaps", len(wrong), f"{time.monotonic() - begin:.0f} s")
        print(f"  {', '.join(map(str, cells))} {wrong[:2] or ''}", flush=True)
    return failed


def _print(name: str, what: str, result: RaceResult, seconds: float) -> None:
    one, none = result.winners[1], result.winners[0]
    more = result.rounds - one - none
    cells = (name, what, result.rounds, one, more, none, len(result.wrong), f"{seconds:.0f}")
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    for text in result.wrong[:3]:
        print(f"  {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
