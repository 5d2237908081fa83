"""Writers that are killed on S3, and several there at once; ``integration.long.store_faults`` does more of both."""

from __future__ import annotations

import pytest

from integration.long.store_faults import LOCKS, soak
from integration.support.stores.s3 import S3Server
from tests.support.faults.remote_path import remote
from tests.support.faults.soak_setup import Soak
from tests.support.faults.write_scenarios import SCENARIOS
from tests.support.faults.write_sweep import check_kill, sweep_in
from tests.support.running.long import long_case


@pytest.mark.parametrize("name", ["upsert_plain-mor-9", long_case("upsert_metadata-cow-6")])
def test_a_kill_right_ahead_of_the_completed_file(s3: S3Server, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Readers see nothing of the write, and the next one undoes it."""
    for variable, value in s3.environment().items():
        monkeypatch.setenv(variable, value)
    (scenario,) = (one for one in SCENARIOS if one.name == name)
    folder = remote(s3.folder())
    states = scenario.states(folder)
    at = states.calls.index("copy")
    assert check_kill(scenario, states, folder / "copy", at, False) == "before"


@pytest.mark.long
def test_kills_at_some_calls(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in s3.environment().items():
        monkeypatch.setenv(variable, value)
    (scenario,) = (one for one in SCENARIOS if one.name == "compaction-mor-9")
    result = sweep_in(remote(s3.folder()), scenario, most=4)
    assert (result.failures, result.points) == ({}, 4)


@pytest.mark.long
@pytest.mark.parametrize("lock", LOCKS)
def test_two_writers_beside_faults(s3: S3Server, lock: str) -> None:
    plan = Soak("", 9, "MERGE_ON_READ", commits=8, seed=17, lock=LOCKS[lock])
    logs, wrong, proxy = soak(s3, plan, 0.05)
    assert wrong == []
    assert sum(len(log.commits) for log in logs) == plan.commits
    assert any(request.fault for request in proxy.requests)
