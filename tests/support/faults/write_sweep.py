"""Kill writes and table services at every call of the storage that changes something, and count what was checked.

    python -m tests.support.faults.write_sweep [--only upsert] [--version 8] [--most 10] [--reads] [--jobs 2]

Deaths ahead of a call that changes nothing leave what those ahead of the next change leave; ``--reads`` kills there
too.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.faults.remote_path import RemotePath, copy_tree, remove_tree
from tests.support.faults.write_acts import PROBE
from tests.support.faults.write_faults import (
    Rows,
    Scenario,
    States,
    check_after_kill,
    check_rows,
    check_tidy,
    failing,
    kill_points,
    killed,
    rows_of,
)
from tests.support.faults.write_scenarios import SCENARIOS


@dataclass
class Result:
    """What became of a scenario.

    Args:
        name: of the scenario.
        calls: number of calls of the storage.
        left: which state the kills left, by number.
        failures: what did not hold, by point.
    """

    name: str
    calls: int = 0
    left: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def points(self) -> int:
        """Number of kills and failures checked."""
        return self.left.total() + len(self.failures)


def evenly(points: Sequence[tuple[int, bool]], most: int | None) -> list[tuple[int, bool]]:
    """All of some points, or ``most`` of them evenly, both ends among them."""
    if most is None or len(points) <= most:
        return list(points)
    return [points[round(number * (len(points) - 1) / (most - 1))] for number in range(most)]


def check_kill(scenario: Scenario, states: States, copy: Path, at: int, torn: bool) -> str:
    """Kill at one point of a copy and check what is left."""
    copy_tree(states.table, copy)
    assert killed(scenario.act, copy, at, torn=torn), "the process came to its end"
    # A service is taken up from any state; what comes of the second run of a write does not depend on the first.
    again = scenario.is_service or at % 8 == 0
    return check_after_kill(scenario, copy, states, PROBE, again=again)


def check_failure(scenario: Scenario, states: States, copy: Path, at: int) -> str:
    """One call fails: what was asked for is refused and the table as it was, or it is done."""
    copy_tree(states.table, copy)
    with failing(at):
        try:
            scenario.act(copy)
            expected, left = states.after, "after"
        except Exception:  # of any type; an AssertionError for a service behind a commit
            expected, left = _rows_and_state(states, copy)
    check_rows(copy, expected, f"call {at} failed")
    if scenario.again_first:
        scenario.act(copy)
        check_rows(copy, states.after, "done again")
    for beat in (copy / ".hoodie" / ".heartbeat").glob("*"):
        os.utime(beat, (0, 0))  # this process lives, so that one that could not be deleted would count as beating
    scenario.probe(copy)
    check_tidy(copy)
    return left


def _rows_and_state(states: States, copy: Path) -> tuple[Rows, str]:
    rows = rows_of(copy, metadata=False)
    return rows, states.name_of(rows)


def sweep(scenario: Scenario, *, most: int | None = None, reads: bool = False, failures: bool = False) -> Result:
    """Kill, or let fail, a scenario at its points."""
    with tempfile.TemporaryDirectory(prefix="kills_") as name:
        return sweep_in(Path(name), scenario, most=most, reads=reads, failures=failures)


def sweep_in(
    folder: Path, scenario: Scenario, *, most: int | None = None, reads: bool = False, failures: bool = False
) -> Result:
    """The same in a folder, also of a store."""
    states = scenario.states(folder)
    result = Result(scenario.name, len(states.calls))
    points = kill_points(states.calls, reads=reads)
    if failures:
        points = [(at, False) for at in range(len(states.calls))]
    if isinstance(folder, RemotePath):
        points = [(at, torn) for at, torn in points if not torn]  # there is a whole file there or none
    for at, torn in evenly(points, most):
        copy = folder / f"copy{at}{'torn' if torn else ''}"  # a late request must not meet the next one
        try:
            if failures:
                result.left[check_failure(scenario, states, copy, at)] += 1
            else:
                result.left[check_kill(scenario, states, copy, at, torn)] += 1
        except Exception as error:  # all points are looked at
            point = f"{at} {states.calls[at]}{' half-way' if torn else ''}"
            result.failures[point] = f"{type(error).__name__}: {error}"
        remove_tree(copy)
    return result


def _run(work: tuple[str, int | None, bool, bool]) -> Result:
    name, most, reads, failures = work
    (scenario,) = (one for one in SCENARIOS if one.name == name)
    try:
        return sweep(scenario, most=most, reads=reads, failures=failures)
    except Exception as error:  # the others are looked at
        return Result(name, failures={"prepare": f"{type(error).__name__}: {error}"})


def _results(work: list[tuple[str, int | None, bool, bool]], jobs: int) -> Iterator[Result]:
    if jobs == 1:
        yield from map(_run, work)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("forkserver")) as pool:
        yield from pool.map(_run, work)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="part of the scenarios' names")
    parser.add_argument("--version", type=int, choices=(6, 8, 9))
    parser.add_argument("--most", type=int, help="points of a scenario")
    parser.add_argument("--reads", action="store_true", help="also at calls that change nothing")
    parser.add_argument("--failures", action="store_true", help="calls fail, nobody dies")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    os.fsync = lambda descriptor: None  # a killed process loses nothing that it wrote
    chosen = [s for s in SCENARIOS if options.only in s.name and options.version in (None, s.version)]
    begun, results = time.monotonic(), []
    for result in _results([(s.name, options.most, options.reads, options.failures) for s in chosen], options.jobs):
        results.append(result)
        counts = ", ".join(f"{count} {name}" for name, count in sorted(result.left.items()))
        passed = result.points - len(result.failures)
        print(f"{result.name:36} {result.calls:4} calls {passed:4}/{result.points:<4} {counts}", flush=True)
        for point, failure in result.failures.items():
            print(f"    at {point}: {failure[:600]}", flush=True)
    total, bad = sum(r.points for r in results), sum(len(r.failures) for r in results)
    what = "failures" if options.failures else "kills"
    print(f"{len(results)} scenarios, {total - bad}/{total} {what} passed, {time.monotonic() - begun:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
