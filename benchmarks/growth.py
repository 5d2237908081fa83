"""How the costs of each step grow with its work: the work is doubled several times, and exponents are printed.

    python benchmarks/growth.py [--only plan,sync] [--greatest 16000] [--list]

Each size is measured in a process of its own, which first does the step on a small table, so that imports and what is
made once do not count; then it takes some turns, with a new client each. Costs: least CPU seconds of all threads of the
turns, the peak of resident memory in the first turn above what was there before it, requests to storage (listings,
opened files, reads, checks of existence, written and deleted files) and calls to the metastore, which is one in memory
and in another process.

The fixed part is measured too: the same step at a sixteenth of the least size, or at another that the step names. What
it costs and its size are taken off all others; the exponent is the slope of the logarithms of the rest by least
squares, of the sizes where the rest is more than the fixed part and than what counts as flat, three at least. Nothing
is taken off peaks of memory, each of which is that of one part of the work. *Flat*: a cost that does not grow by more
than 10 ms of CPU, 2 MB or one request. Exponents above 1.05, and above 1.0 of the memory of what streams, are marked,
and the process fails then.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

LIMIT: Final = 1.05
FLAT: Final[Mapping[str, float]] = {"cpu": 0.01, "memory": 2.0, "requests": 1.0, "calls": 1.0}
"""Cost -> growth from the fixed part to the greatest size up to which it counts as none: seconds, MB, numbers."""
_ALLOCATORS: Final = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
"""Variables by which freed memory goes back at once: what is resident is what is in use."""
_REQUESTS: Final = ("lists", "opens", "reads", "exists", "writes", "deletes")


# -- one process ------------------------------------------------------------------------------------------------------


def child(number: int, size: int, paths: Sequence[Path]) -> dict[str, float]:
    """The costs of a step at a size: the first path is that of the fixed part, each other one that of a turn."""
    from growth_steps import steps
    from process_memory import memory_mb, reset_peak

    step = steps()[number]
    requests = count_requests()
    step.prepare(paths[0], step.fixed_size, 99)()
    seconds, memory, counts, calls = [], 0.0, 0, 0
    for turn, path in enumerate(paths[1:]):
        run = step.prepare(path, size, turn)
        gc.collect()
        before, requests_before = reset_peak(), sum(requests[name] for name in _REQUESTS)
        start = time.process_time()
        calls = run()
        seconds.append(time.process_time() - start)
        counts = sum(requests[name] for name in _REQUESTS) - requests_before
        if not turn:
            memory = memory_mb("VmHWM") - before
    return {"cpu": min(seconds), "memory": memory, "requests": counts, "calls": calls}


def count_requests() -> Counter[str]:
    """Counts that grow with all requests of all tables of this process."""
    from hudi_hive.metrics import IoCounters

    counts: Counter[str] = Counter()
    add = IoCounters.add

    def counted(self: IoCounters, name: str, amount: int = 1, *, path: str | None = None) -> None:
        counts[name] += amount
        add(self, name, amount, path=path)

    IoCounters.add = counted  # type: ignore[method-assign]
    return counts


# -- all sizes --------------------------------------------------------------------------------------------------------


class Tables:
    """Tables of each size, made once; those that a step changes are copied."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers: dict[tuple[str, int], int] = {}
        self._copies = 0

    def of(self, step: Any, size: int) -> Path:
        """The path of a step's table, or of a copy of it."""
        key = (step.table.name, size)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            step.table.make(self._folder / f"t{number}", size)
        path = self._folder / f"t{number}"
        if not step.changes:
            return path
        self._copies += 1
        copy = self._folder / f"c{self._copies}"
        shutil.copytree(path, copy)
        return copy

    def drop_copies(self) -> None:
        """Delete the copies."""
        for copy in self._folder.glob("c*"):
            shutil.rmtree(copy)


def measure(number: int, step: Any, tables: Tables, size: int) -> dict[str, float]:
    """The costs of a step at a size, from a process of its own."""
    from growth_steps import METASTORE

    from hudi_hive.testing import FakeMetastore

    paths = [tables.of(step, step.fixed_size), *(tables.of(step, size) for _ in range(step.turns))]
    command = [sys.executable, __file__, "--child", str(number), str(size), *map(str, paths)]
    with FakeMetastore() as metastore:
        environment = {**os.environ, **_ALLOCATORS, METASTORE: metastore.uri}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    tables.drop_copies()
    if done.returncode:
        raise SystemExit(f"{step.name} by {step.by}, {size}: {done.stderr}")
    costs: dict[str, float] = json.loads(done.stdout)
    return costs


def exponent(sizes: Sequence[int], costs: Sequence[float], flat: float, *, adds: bool = True) -> float | None:
    """The slope of log(cost) over log(size); None if it is flat, no number of one size.

    Args:
        sizes: of the fixed part, and of all others.
        costs: of each size.
        flat: growth that counts as none.
        adds: the fixed part is in all other costs, and is taken off them.
    """
    fixed_size, fixed = sizes[0], costs[0]
    if costs[-1] - fixed <= flat:
        return None
    grown = [(size, cost) for size, cost in zip(sizes, costs, strict=True) if cost - fixed > max(fixed, flat)]
    grown = grown if len(grown) > 2 else list(zip(sizes, costs, strict=True))[-3:]
    if adds:
        grown = [(size - fixed_size, cost - fixed) for size, cost in grown]
    logarithms = [(math.log(size), math.log(cost)) for size, cost in grown if cost > 0]
    return float(np.polyfit(*zip(*logarithms, strict=True), 1)[0]) if len(logarithms) > 1 else math.nan


def show(step: Any, sizes: Sequence[int], runs: Sequence[Mapping[str, float]]) -> tuple[str, bool]:
    """Print the costs of a step; its row of the table of exponents, and whether they are within the limits."""
    print(f"{step.name}, by {step.by}", flush=True)
    for size, run in zip(sizes, runs, strict=True):
        numbers = f"{run['requests']:7,.0f} requests {run['calls']:5,.0f} calls"
        print(f"    {size:>9,}  {run['cpu']:8.3f} CPU-s  {run['memory']:7.1f} MB  {numbers}")
    cells, good = [], True
    for cost, flat in FLAT.items():
        slope = exponent(sizes, [run[cost] for run in runs], flat, adds=cost != "memory")
        limit = step.most_memory if cost == "memory" else LIMIT
        within = slope is None or round(slope, 2) <= limit
        text = "flat" if slope is None else f"{max(slope, 0.0):.2f}"
        cells.append(("" if not any(run[cost] for run in runs) else text) if within else f"**{text}**")
        good &= within
    row = f"| {step.name} | {step.by}, {sizes[1]:,} to {sizes[-1]:,} | {' | '.join(cells)} |"
    print(f"    {row}\n", flush=True)
    return row, good


def main() -> int:
    """Measure, print, and fail if an exponent is too great."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parts of the names of steps, with commas between them")
    parser.add_argument("--greatest", type=int, help="the greatest size")
    parser.add_argument("--list", action="store_true", help="only print the steps")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.fsync = lambda descriptor: None  # nothing here needs to outlive a loss of power
    if arguments.child:
        number, size, *paths = arguments.child
        print(json.dumps(child(int(number), int(size), [Path(path) for path in paths])))
        return 0
    from growth_steps import steps

    rows, failed = [], False
    with tempfile.TemporaryDirectory(prefix="growth_") as folder:
        tables = Tables(Path(folder))
        for number, step in enumerate(steps()):
            if not any(part in f"{step.name} by {step.by}" for part in arguments.only.split(",")):
                continue
            sizes = [step.first << doubling for doubling in range(step.doublings + 1)]
            sizes = [size for size in sizes if arguments.greatest is None or size <= arguments.greatest]
            if arguments.list:
                print(f"{step.name} by {step.by}: {', '.join(map(str, sizes))}")
                continue
            sizes = [step.fixed_size, *sizes]
            row, good = show(step, sizes, [measure(number, step, tables, size) for size in sizes])
            rows.append(row)
            failed |= not good
    print("\n".join(["| Step | doubled | CPU | memory | requests | calls |", "|---|---|---|---|---|---|", *rows]))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
