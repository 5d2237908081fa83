"""Money moves between accounts of a Hudi table: several clients, some of them killed, and every reader sees all of it.

    python -m tests.support.mutation.hudi_bank [--seconds 60] [--writers 3] [--version 8] [--type COPY_ON_WRITE]

Prints how many reads there were and how many of them saw another total.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import HeartbeatLostError, TransactionConflictError, TransactionLockError, TransactionLostError
from hudi_hive.mutation.hudi import HudiMutatorClient, HudiMutatorCoordinator
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.table_api import HudiTable

OPTIONS = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.wait_time_ms": "60000",
}
ACCOUNTS = 24
TOTAL = ACCOUNTS * 100
COUNTRIES = ("de", "fr", "nl", "uk")
_AGAIN = (TransactionConflictError, TransactionLockError, TransactionLostError, HeartbeatLostError)


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    reads: int
    wrong: int
    commits: int
    killed: int


def create_bank(path: str | Path, version: int, kind: str) -> HudiTable:
    """A table of accounts with their money."""
    table = HudiTable.create(
        path,
        name="bank",
        version=version,
        table_type=kind,
        record_keys=["id"],
        partition_fields=["country"],
        ordering_fields=["ts"],
    )
    numbers = range(ACCOUNTS)
    rows = {"id": [f"a{n}" for n in numbers], "country": [COUNTRIES[n % 4] for n in numbers]}
    table.insert(pa.table({**rows, "ts": [0] * ACCOUNTS, "money": [100] * ACCOUNTS}), OPTIONS)
    return table


def transfer(client: HudiMutatorClient, chance: random.Random) -> None:
    """One transaction: money goes from one account to another; now and then an account ends, or a new one begins."""
    with client.new_transaction() as txn:
        accounts = txn.reader().read(["id", "country", "ts", "money"]).to_pylist()
        giver, taker = chance.sample(accounts, 2)
        amount = chance.randint(0, giver["money"])
        ends = chance.random() < 0.1 and len(accounts) > 4
        fresh = chance.random() < 0.1
        first, second = (HudiMutatorCoordinator(txn.table()) for _ in range(2))
        if ends:
            amount = giver["money"]
            first.delete([giver["country"]], {"id": giver["id"]})
        else:
            first.update([giver["country"]], _with(giver, -amount))
        if fresh:
            name = {"id": f"n{chance.getrandbits(60)}", "ts": 0, "money": amount}
            second.insert([chance.choice(COUNTRIES)], name)
        else:
            second.update([taker["country"]], _with(taker, amount))
        txn.accept(first.close(), second.close())


def _with(account: dict[str, Any], amount: int) -> dict[str, Any]:
    return {"id": account["id"], "ts": account["ts"] + 1, "money": account["money"] + amount}


def write(path: str, seed: int) -> None:
    """Transfer until killed."""
    chance = random.Random(seed)
    with HudiMutatorClient(path, OPTIONS) as client:
        while True:
            try:
                transfer(client, chance)
            except _AGAIN:
                time.sleep(chance.random() / 10)


def run(path: str, version: int, kind: str, *, seconds: float, writers: int, seed: int = 1) -> Outcome:
    """Writers and a reader side by side."""
    table = create_bank(path, version, kind)
    chance = random.Random(seed)
    number = reads = wrong = killed = 0
    running: list[subprocess.Popen[bytes]] = []
    until = time.monotonic() + seconds
    next_death = time.monotonic() + seconds / 4
    try:
        while time.monotonic() < until:
            while len(running) < writers:
                number += 1
                command = [
                    sys.executable,
                    "-m",
                    "tests.support.mutation.hudi_bank",
                    "--write",
                    path,
                    "--seed",
                    str(seed * 1000 + number),
                ]
                running.append(subprocess.Popen(command, cwd=Path(__file__).resolve().parents[3]))
            reads += 1
            wrong += total(path) != TOTAL
            assert all(one.poll() is None for one in running), "a writer gave up"
            if time.monotonic() > next_death:
                victim = running.pop(chance.randrange(len(running)))
                victim.kill()
                victim.wait()
                killed += 1
                next_death = time.monotonic() + seconds / 6
    finally:
        for one in running:
            one.kill()
            one.wait()
    with HudiMutatorClient(path, OPTIONS) as client:  # undoes what is left, and goes on
        transfer(client, chance)
    reads += 1
    wrong += total(path) != TOTAL
    after = table.refresh().timeline
    assert not after.pending(), after.pending()
    assert not list(Path(path).glob(".hoodie/.temp/mutation-*"))
    return Outcome(reads, wrong, len(after.write_instants()) - 1, killed)


def total(path: str) -> int:
    """All money that a reader sees now."""
    rows = HudiTable.open(path).scan(selected_fields=["id", "money"]).to_arrow()
    assert pc.count_distinct(rows["id"]).as_py() == rows.num_rows
    return int(pc.sum(rows["money"]).as_py())


def main() -> int:
    """Run as the arguments say; the number of wrong reads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--writers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--version", type=int, action="append", choices=(6, 8, 9))
    parser.add_argument("--type", action="append", choices=(COPY_ON_WRITE, MERGE_ON_READ))
    parser.add_argument("--write", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.write:
        write(asked.write, asked.seed)
    wrong = 0
    for version in asked.version or (6, 8, 9):
        for kind in asked.type or (COPY_ON_WRITE, MERGE_ON_READ):
            with tempfile.TemporaryDirectory() as folder:
                outcome = run(
                    f"{folder}/bank", version, kind, seconds=asked.seconds, writers=asked.writers, seed=asked.seed
                )
            print(f"version {version} {kind}: {outcome}", flush=True)
            wrong += outcome.wrong
    print(f"{wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
