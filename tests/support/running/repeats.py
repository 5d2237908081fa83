"""Chooses tests that only repeat what others reach: ``python -m tests.support.running.repeats FOLDER --seconds 1000``.

They stand in ``repeats.txt`` and count as marked ``long``: ``make test`` leaves them out, ``make test-long`` runs them.
The folder has the records of a whole run (``tests.support.running.reach``). The slowest go first, as long as each
branch of the package is still reached by another test, and each test keeps a case.
"""

from __future__ import annotations

import argparse
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

REPEATS: Final = Path(__file__).with_name("repeats.txt")
"""Ids of tests, one a line."""
_WHOLE: Final = ("tests/options/test_walk.py",)
"""Files that lose no case: each run goes through all options."""
_LEAST_SECONDS: Final = 0.2
"""Tests that take less stay: there is little to win."""


def main() -> None:
    """Choose, and write the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, required=True, help="how many seconds of tests may go")
    arguments = parser.parse_args()
    records = pa.concat_tables(pq.read_table(file) for file in sorted(arguments.folder.glob("*.parquet")))
    chosen = choose(records, arguments.seconds)
    REPEATS.write_text("".join(f"{test}\n" for test in sorted(chosen)))
    taken, total = sum(chosen.values()), sum(records["seconds"].to_pylist())
    print(f"{len(chosen)} of {len(records)} tests, {taken:.0f} of {total:.0f} seconds")


def choose(records: pa.Table, most_seconds: float) -> dict[str, float]:
    """Tests that may go, with their seconds, the slowest first.

    Args:
        records: rows of ``tests.support.running.reach.REACHED``.
        most_seconds: how many seconds of tests may go.
    """
    tests, seconds = records["test"].to_pylist(), records["seconds"].to_numpy()
    branches = records["branches"].combine_chunks()
    _, numbers = np.unique(branches.values.to_numpy(), return_inverse=True)
    offsets = branches.offsets.to_numpy()
    reached_by = np.bincount(numbers)
    cases = Counter(_function(test) for test in tests)
    chosen: dict[str, float] = {}
    for at in np.argsort(-seconds):
        test, taken = tests[at], float(seconds[at])
        if taken < _LEAST_SECONDS:
            break
        function, own = _function(test), numbers[offsets[at] : offsets[at + 1]]
        stays = cases[function] == 1 or function.startswith(_WHOLE) or sum(chosen.values()) + taken > most_seconds
        if stays or (reached_by[own] < 2).any():
            continue
        reached_by[own] -= 1
        cases[function] -= 1
        chosen[test] = taken
    return chosen


def _function(test: str) -> str:
    """The test that an id is a case of."""
    return test.partition("[")[0]


@cache
def repeats() -> frozenset[str]:
    """The ids of the list."""
    return frozenset(REPEATS.read_text().splitlines())


if __name__ == "__main__":
    main()
