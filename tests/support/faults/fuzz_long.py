"""Fuzz for as long as you like: ``python -m tests.support.faults.fuzz_long --seconds 600 [--seed N] [--target TEXT]``.

Runs the targets of ``tests/support/faults/fuzzing.py`` with new seeds by turns. Prints the outcomes and each failure
with the seed that repeats it; exits 1 if there was any.
"""

from __future__ import annotations

import argparse
import logging
import resource
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.support.faults.fuzzing import TARGETS, FuzzError

ROUND = 20  # cases of one target before the next has its turn


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1_000_000, help="the first seed; later ones count up")
    parser.add_argument("--target", default="", help="only targets whose name has this text")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many")
    options = parser.parse_args()
    targets = {name: target for name, target in TARGETS.items() if options.target in name}
    if not targets:
        parser.error(f"no target has {options.target!r} in its name")
    logging.disable(logging.WARNING)  # damaged blocks are logged as they are passed over
    outcomes = {name: Counter[str]() for name in targets}
    failed, seed, end = 0, options.seed, time.monotonic() + options.seconds
    while time.monotonic() < end and failed < options.failures:
        for name, target in targets.items():
            for number in range(seed, seed + ROUND):
                try:
                    outcomes[name][target.run(number)] += 1
                except FuzzError as failure:
                    failed += 1
                    outcomes[name]["FAILED"] += 1
                    print(f"--target {name!r} --seed {number}: {failure}")
                if time.monotonic() > end:
                    break
        seed += ROUND
    for name, counts in outcomes.items():
        print(
            f"{name:42} {counts.total():>7,} cases  {', '.join(f'{n:,} {what}' for what, n in sorted(counts.items()))}"
        )
    total = sum(counts.total() for counts in outcomes.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{total:,} cases, {failed} failed, seeds {options.seed:,} to {seed:,}, peak memory {peak:.0f} MB")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
