"""Writers killed at calls of the storage: readers see the last completed state, and the next write repairs.

A few calls of a few scenarios by default; ``HUDI_HIVE_TEST_ALL_KILLS=1`` takes all, as
``python -m tests.support.faults.write_sweep`` does.
"""

from __future__ import annotations

import os

import pytest

from tests.support.faults.write_faults import kill_points
from tests.support.faults.write_scenarios import SCENARIOS
from tests.support.faults.write_sweep import check_failure, check_kill, evenly

ALL = os.environ.get("HUDI_HIVE_TEST_ALL_KILLS") == "1"
QUICK = {
    # Scenario: number of kills
    "upsert_metadata-cow-8": 4,
    "upsert_several-mor-6": 4,
    "rollback-mor-6": 4,
    "restore-mor-8": 4,
    "restore_compaction-mor-6": 3,
    "clustering-cow-9": 3,
    "archival-mor-8": 3,
}
CHOSEN = [scenario for scenario in SCENARIOS if ALL or scenario.name in QUICK]


@pytest.fixture(scope="module", params=CHOSEN, ids=lambda scenario: scenario.name)
def made(request, tmp_path_factory):
    """A scenario and what it goes through."""
    return request.param, request.param.states(tmp_path_factory.mktemp("faults"))


def test_killed(made, tmp_path):
    scenario, states = made
    seen = set()
    for at, torn in evenly(kill_points(states.calls), None if ALL else QUICK[scenario.name]):
        try:
            seen.add(check_kill(scenario, states, tmp_path / f"{at}{torn}", at, torn))
        except Exception as error:
            half = " half-way" if torn else ""
            error.add_note(f"{scenario.name}, killed at call {at} of {len(states.calls)}, {states.calls[at]}{half}")
            raise
    assert seen >= ({"before", "after"} if states.before != states.after else {"after"})


def test_failed(made, tmp_path):
    """One call fails: the write is refused and the table as it was, or it is done."""
    scenario, states = made
    for at, _ in evenly([(at, False) for at in range(len(states.calls))], None if ALL else 2):
        try:
            check_failure(scenario, states, tmp_path / str(at), at)
        except Exception as error:
            error.add_note(f"{scenario.name}, call {at} of {len(states.calls)} failed: {states.calls[at]}")
            raise
