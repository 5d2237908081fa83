"""Several processes and threads write to one table at once: nothing acknowledged is lost."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    TableExistsError,
    WriteConflictError,
)
from tests.support.faults.table_concurrency import Outcome, Race, run
from tests.support.running.long import long_case, with_long_cases
from tests.write.shared.concurrency_helpers import QUICK, make, rows, seen

# -- races of two processes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", with_long_cases((1,), range(1, 101)))
def test_nothing_acknowledged_is_lost_to_another_process(tmp_path: Path, seed: int) -> None:
    outcome: Outcome = run(Race.of(seed), tmp_path)
    assert not outcome.wrong, "\n".join(outcome.wrong)
    assert outcome.counts["acknowledged"] + outcome.counts["killed"]


def _create(path: Path, start: Any, results: Any) -> None:
    start.wait()
    try:
        HudiTable.create(path, name=f"t{os.getpid()}", record_keys=["id"])
        results.put("made")
    except TableExistsError as error:
        results.put("there" if str(path) in str(error) else str(error))
    except BaseException as error:
        results.put(repr(error))


def test_one_of_six_processes_creates_a_table(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hudi_hive.write.writers.local", "tests.support.faults.table_concurrency"])
    start, results = context.Barrier(6), context.Queue()
    processes = [context.Process(target=_create, args=(tmp_path / "t", start, results)) for _ in range(6)]
    for process in processes:
        process.start()
    said = Counter(results.get(timeout=300) for _ in processes)
    for process in processes:
        process.join(300)
    assert said == {"made": 1, "there": 5}
    table = HudiTable.open(tmp_path / "t")
    assert int(table.name[1:]) in {process.pid for process in processes}
    table.insert(rows("a"), QUICK)
    assert seen(table) == [("a", 1)]


def _write_at(path: Path, worker: int, start: Any, results: Any) -> None:
    """Write with a wall clock that stands still."""
    time.time_ns = lambda: 1_800_000_000_000_000_000  # type: ignore[assignment]
    start.wait()
    done = 0
    for number in range(3):
        for _ in range(50):
            try:
                HudiTable.open(path).upsert(rows(f"{worker}-{number}"), QUICK)
            except WriteConflictError:
                continue
            done += 1
            break
    results.put(done)


@pytest.mark.parametrize("version", [6, 8])
def test_processes_whose_clocks_stand_still_draw_distinct_instants(tmp_path: Path, version: int) -> None:
    table = make(tmp_path, version)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hudi_hive.write.writers.local", "tests.support.faults.table_concurrency"])
    start, results = context.Barrier(2), context.Queue()
    path = tmp_path / "t"
    processes = [context.Process(target=_write_at, args=(path, one, start, results)) for one in range(2)]
    for process in processes:
        process.start()
    assert [results.get(timeout=300) for _ in processes] == [3, 3]
    for process in processes:
        process.join(300)
    assert len(seen(table)) == 8
    instants = HudiTable.open(table.path).timeline.instants
    times = [i.requested for i in instants] + [i.completed for i in instants if i.completed]
    assert len(times) == len(set(times))


def _write_some(path: Path, writes: int, start: Any, results: Any) -> None:
    """Upsert a new key and one that all share, a number of times; say what was acknowledged and what was refused."""
    done: list[str] = []
    refused: list[str] = []
    start.wait()
    for number in range(writes):
        key = f"{os.getpid()}-{number}"
        try:
            HudiTable.open(path).upsert(rows(key, "shared", value=os.getpid()))
        except WriteConflictError:
            refused.append(key)
        except BaseException as error:
            results.put(repr(error))
            raise
        else:
            done.append(key)
    results.put((done, refused))


@pytest.mark.parametrize(
    ("version", "kind", "writes"),
    [
        (8, "COPY_ON_WRITE", 1),
        *(long_case(version, kind, 12) for version in (6, 8, 9) for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")),
    ],
)
def test_eight_processes_without_a_lock_provider(tmp_path: Path, version: int, kind: str, writes: int) -> None:
    table = make(tmp_path, version, kind)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hudi_hive.write.writers.local", "tests.support.faults.table_concurrency"])
    start, results = context.Barrier(8), context.Queue()
    processes = [context.Process(target=_write_some, args=(tmp_path / "t", writes, start, results)) for _ in range(8)]
    for process in processes:
        process.start()
    outcomes = [results.get(timeout=600) for _ in processes]
    for process in processes:
        process.join(600)
    done = [key for own, _ in outcomes for key in own]
    assert done, "somebody is the first to complete"
    assert len(done) + sum(len(refused) for _, refused in outcomes) == 8 * writes
    assert [row[0] for row in seen(table)] == sorted([*done, "a", "b", "shared"])
    timeline = HudiTable.open(table.path).timeline
    writes_done = {i.requested for i in (*timeline.write_instants(), *timeline.archived().instants) if i.is_write}
    assert len(writes_done) == len(done) + 1
    assert not timeline.pending()


def test_threads_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    table = make(tmp_path)
    done: list[str] = []
    refused: list[str] = []

    def write(worker: int) -> None:
        for number in range(4):
            try:
                HudiTable.open(table.path).upsert(rows(f"{worker}-{number}", "shared", value=worker), QUICK)
                done.append(f"{worker}-{number}")
            except WriteConflictError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) + len(refused) == 12 and done
    assert [row[0] for row in seen(table)] == sorted([*done, "a", "b", "shared"])
