"""Writers killed at calls of the storage: readers see the last completed state, and the next write repairs.

A few calls of a few scenarios, and in a long run all of all, as ``python -m tests.support.faults.write_sweep`` takes.
"""

from __future__ import annotations

import pytest

from tests.support.faults.write_faults import kill_points
from tests.support.faults.write_scenarios import SCENARIOS
from tests.support.faults.write_sweep import check_failure, check_kill, evenly
from tests.support.running.long import long_case

QUICK = {
    # Scenario: number of kills
    "upsert_metadata-cow-8": 3,
    "upsert_several-mor-6": 2,
    "rollback-mor-6": 2,
    "restore-mor-8": 3,
    "clustering-cow-9": 2,
    "archival-mor-8": 2,
    "log_compaction-mor-6": 2,
    "upsert_indexes-mor-8": 2,
}
CASES = [
    *(
        pytest.param((scenario, QUICK[scenario.name], 2), id=scenario.name)
        for scenario in SCENARIOS
        if scenario.name in QUICK
    ),
    *(long_case((scenario, None, None), name=f"{scenario.name}-all") for scenario in SCENARIOS),
]
"""Scenarios, and how many kills and failures are tried: None for all."""


@pytest.fixture(scope="module", params=CASES)
def made(request, tmp_path_factory):
    """A scenario, what it goes through, and how many kills and failures are tried."""
    scenario, kills, failures = request.param
    return scenario, scenario.states(tmp_path_factory.mktemp("faults")), kills, failures


def test_a_killed_write_is_done_or_not(made, tmp_path):
    scenario, states, kills, _ = made
    seen = set()
    for at, torn in evenly(kill_points(states.calls), kills):
        try:
            seen.add(check_kill(scenario, states, tmp_path / f"{at}{torn}", at, torn))
        except Exception as error:
            half = " half-way" if torn else ""
            error.add_note(f"{scenario.name}, killed at call {at} of {len(states.calls)}, {states.calls[at]}{half}")
            raise
    assert seen >= ({"before", "after"} if states.before != states.after else {"after"})


def test_a_write_of_which_one_call_fails_is_refused_or_done(made, tmp_path):
    """One call fails: the write is refused and the table as it was, or it is done."""
    scenario, states, _, failures = made
    for at, _ in evenly([(at, False) for at in range(len(states.calls))], failures):
        try:
            check_failure(scenario, states, tmp_path / str(at), at)
        except Exception as error:
            error.add_note(f"{scenario.name}, call {at} of {len(states.calls)} failed: {states.calls[at]}")
            raise
