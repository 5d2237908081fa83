"""Writers killed at calls of the storage: readers see the last completed state, and the next write repairs.

A few calls of each scenario by default; ``HUDI_HIVE_TEST_ALL_KILLS=1`` kills at every call, before it and half-way.
"""

from __future__ import annotations

import os
import shutil

import pytest

from hudi_hive.errors import HudiHiveError
from tests.write_faults import check_after_kill, check_tidy, failing, killed, rows_of
from tests.write_scenarios import PROBE, SCENARIOS

ALL = os.environ.get("HUDI_HIVE_TEST_ALL_KILLS") == "1"
QUICK = ("upsert-COPY_ON_WRITE-8-metadata", "upsert-MERGE_ON_READ-6-several")
CHOSEN = [scenario for scenario in SCENARIOS if ALL or scenario.name in QUICK]


def some(count: int, most: int) -> list[int]:
    """All of some numbers, or ``most`` of them evenly, both ends among them."""
    if ALL or count <= most:
        return list(range(count))
    return sorted({round(number * (count - 1) / (most - 1)) for number in range(most)})


@pytest.fixture(scope="module", params=CHOSEN, ids=lambda scenario: scenario.name)
def made(request, tmp_path_factory):
    """A scenario, its prepared table, the rows before and after, and the number of calls."""
    return request.param, *request.param.states(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("torn", [False, True], ids=["before", "torn"])
def test_killed(made, torn, tmp_path):
    scenario, table, before, after, calls = made
    seen = set()
    for at in some(calls, 3):
        copy = tmp_path / "copy"
        shutil.copytree(table, copy)
        try:
            # Threads of a write may share a call, so that one run makes fewer than the one that was counted.
            assert killed(scenario.act, copy, at, torn=torn) or at == calls - 1
            seen.add(check_after_kill(scenario, copy, before, after, PROBE))
        except Exception as error:
            error.add_note(f"{scenario.name}, killed at call {at} of {calls}{' half-way' if torn else ''}")
            raise
        shutil.rmtree(copy)
    assert seen == ({"before", "after"} if before != after else {"after"})


def test_failed(made, tmp_path):
    """One call fails: the write is refused and the table as it was, or it is done."""
    scenario, table, before, after, calls = made
    for at in some(calls, 3):
        copy = tmp_path / "copy"
        shutil.copytree(table, copy)
        try:
            with failing(at):
                try:
                    scenario.act(copy)
                    expected = after
                except HudiHiveError:
                    expected = before
            for metadata in (False, True):
                assert rows_of(copy, metadata=metadata) == expected
            scenario.probe(copy)
            check_tidy(copy)
        except Exception as error:
            error.add_note(f"{scenario.name}, call {at} of {calls} failed")
            raise
        shutil.rmtree(copy)
