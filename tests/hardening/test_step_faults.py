"""Errors of every type in every step of writes: acknowledged is there, raised is not, the next write goes well.

A few calls of a few writes, drawn by a seed, and in a long run every call of every write, ahead of it and behind it.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.faults.step_faults import ACTS, INTERRUPTS, KINDS, OPTIONS, Case, check
from tests.support.running.long import with_long_cases

SEED = 1
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
QUICK = [
    Case("upsert", MOR, 8, "several"),
    Case("insert", COW, 6, "services"),
    Case("delete_partitions", COW, 9, "services"),
    Case("alter", COW, 8, "several"),
    Case("mutation", MOR, 6, "services"),
]
CASES = [Case(act, kind, v, o) for act in ACTS for kind in (COW, MOR) for v in (6, 8, 9) for o in OPTIONS]


@pytest.mark.parametrize("case", with_long_cases(QUICK, CASES), ids=str)
def test_errors_in_steps(case, thorough, tmp_path):
    states = case.states(tmp_path)
    seen: Counter[str] = Counter()
    faults = states.faults(SEED, None if thorough else 1, list(KINDS)) + states.faults(SEED, 1, list(INTERRUPTS))
    for number, fault in enumerate(faults):
        try:
            seen[check(case, states, tmp_path / str(number), fault)] += 1
        except Exception as error:
            error.add_note(f"{case}: {fault}, {states.calls[fault.at]}, of {len(states.calls)} calls")
            raise
    assert seen.total() == len(faults)
    print(case, dict(seen))
