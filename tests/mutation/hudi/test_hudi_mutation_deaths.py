"""Killed clients and workers: the table is as it was, and whoever comes next goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hudi_hive.mutation import TransactionState
from hudi_hive.mutation.hudi import HudiManifest, HudiMutatorClient
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from tests.support.mutation.hudi_mutation_deaths import worker_of
from tests.support.mutation.hudi_mutation_helpers import (
    AT_FIRST,
    QUICK,
    UPDATE,
    change,
    data_files,
    make,
    row,
    seen,
    staged,
)
from tests.support.running.long import with_long_cases

LOCKED = {
    **QUICK,
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}
CELLS = [(8, COPY_ON_WRITE, QUICK), (8, COPY_ON_WRITE, LOCKED), (9, MERGE_ON_READ, LOCKED), (6, MERGE_ON_READ, QUICK)]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.support.mutation.hudi_mutation_deaths", *arguments]
    root = Path(__file__).resolve().parents[3]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize(
    ("version", "kind", "options", "moment"),
    with_long_cases(
        [
            (8, COPY_ON_WRITE, QUICK, "staged"),
            (8, COPY_ON_WRITE, LOCKED, "written"),
            (9, MERGE_ON_READ, LOCKED, "staged"),
            (6, MERGE_ON_READ, QUICK, "written"),
        ],
        [(*cell, moment) for cell in CELLS for moment in ("staged", "written")],
    ),
)
def test_the_next_client_goes_on_after_a_killed_one(tmp_path, version, kind, options, moment):
    table = make(tmp_path, version, kind, options)
    files = data_files(table)
    dead = run("client", table.path, json.dumps(options), moment)
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    assert len(table.refresh().timeline.pending()) == 1
    assert staged(table)
    assert (data_files(table) == files) == (moment == "staged")
    assert seen(table) == AT_FIRST
    with HudiMutatorClient(table.path, options) as client:
        txn = change(client, [(UPDATE, row("b", 3, "b3"))], ["x"])
    assert txn.state is TransactionState.COMMITTED
    assert seen(table) == {**AT_FIRST, ("b", "x"): (3, "b3")}
    assert staged(table) == [] and not table.refresh().timeline.pending()


def test_a_killed_worker_never_counts_and_a_second_attempt_does(tmp_path):
    table = make(tmp_path)
    with HudiMutatorClient(table.path, QUICK) as client, client.new_transaction() as txn:
        text = txn.table().encode()
        dead = run("worker", text, "first", "die")
        assert dead.returncode == -signal.SIGKILL, dead.stderr
        again = run("worker", text, "second", "live")
        assert again.returncode == 0, again.stderr
        assert len(list(Path(table.path.removeprefix("file:")).glob(".hoodie/.temp/*/*"))) == 2
        worker_of(text, "third", flush=False)  # closed, but nobody counts it
        txn.accept(HudiManifest.decode(again.stdout.strip()))
    expected = {**AT_FIRST, ("b", "x"): (2, "second"), ("n", "z"): (2, "second")}
    del expected["c", "y"]
    assert seen(table) == expected
    assert staged(table) == []
