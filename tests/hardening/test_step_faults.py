"""Errors of every type in every step of writes: acknowledged is there, raised is not, the next write goes well.

A few calls of a few writes by default, drawn by a seed; ``HUDI_HIVE_TEST_ALL_FAULTS=1`` takes every call of every
write, ahead of it and behind it, and ``STEP_FAULTS_SEED`` draws other types of errors.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.support.faults.step_faults import ACTS, INTERRUPTS, KINDS, OPTIONS, Case, check

ALL = os.environ.get("HUDI_HIVE_TEST_ALL_FAULTS") == "1"
SEED = int(os.environ.get("STEP_FAULTS_SEED", "1"))
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
QUICK = [
    Case("upsert", MOR, 8, "several"),
    Case("insert", COW, 6, "services"),
    Case("delete_partitions", COW, 9, "services"),
    Case("alter", COW, 8, "several"),
    Case("mutation", MOR, 6, "services"),
]
CASES = [Case(act, kind, v, o) for act in ACTS for kind in (COW, MOR) for v in (6, 8, 9) for o in OPTIONS]


@pytest.mark.parametrize("case", CASES if ALL else QUICK, ids=str)
def test_errors_in_steps(case, tmp_path):
    states = case.states(tmp_path)
    seen: Counter[str] = Counter()
    faults = states.faults(SEED, None if ALL else 3, list(KINDS)) + states.faults(SEED, 1, list(INTERRUPTS))
    for number, fault in enumerate(faults):
        try:
            seen[check(case, states, tmp_path / str(number), fault)] += 1
        except Exception as error:
            error.add_note(f"{case}: {fault}, {states.calls[fault.at]}, of {len(states.calls)} calls")
            raise
    assert seen.total() == len(faults)
    print(case, dict(seen))
