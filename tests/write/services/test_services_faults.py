"""Table services killed on tables of real Hudi: readers see the same rows, the next run ends what was begun.

A few calls of each, and in a long run every one that changes the storage.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hudi_hive.table import MetaClient
from hudi_hive.write.coordination.executor import LocalExecutor
from hudi_hive.write.rollback.rollback_action import rollback_failed_writes
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services.cleaning import clean
from hudi_hive.write.services.clustering import cluster
from hudi_hive.write.services.compaction import compact
from tests.support.faults.write_faults import count_calls, kill_points, killed
from tests.support.faults.write_sweep import evenly
from tests.support.running.long import with_long_cases
from tests.write.shared.services_compaction_helpers import all_rows
from tests.write.shared.services_rollback_helpers import copy_of

OPTIONS = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.commits.retained": "1",
    "hoodie.clustering.plan.strategy.sort.columns": "_hoodie_record_key",
}

SERVICES: dict[str, tuple[str, Callable[[ServiceContext], object]]] = {
    "clean": ("mor_event_time", clean),
    "compaction": ("mor_event_time", compact),
    "clustering": ("mor_rollback", cluster),
    "rollback": ("cow_crash_leftover", rollback_failed_writes),
}


def context_of(path: Path) -> ServiceContext:
    return ServiceContext(MetaClient.load(path), OPTIONS, LocalExecutor(1))


def run(path: Path, service: str) -> None:
    """Run a service; a function of a module, because another process runs it."""
    SERVICES[service][1](context_of(path))


@pytest.mark.parametrize(
    ("service", "version"),
    with_long_cases(
        [("clean", 6), ("compaction", 8), ("clustering", 6), ("rollback", 8)],
        [(service, version) for service in SERVICES for version in (6, 8)],
    ),
)
def test_a_killed_service_is_finished_or_rolled_back(
    service: str, version: int, thorough: bool, tmp_path: Path
) -> None:
    act, case = partial(run, service=service), f"v{version}_{SERVICES[service][0]}"
    whole = copy_of(case, tmp_path / "whole")
    before = all_rows(whole)
    calls = count_calls(act, whole)
    assert all_rows(whole) == before
    for at, torn in evenly(kill_points(calls), None if thorough else 3):
        path = copy_of(case, tmp_path / f"{at}{torn}")
        assert killed(act, path, at, torn=torn), at
        assert all_rows(path) == before, at
        rollback_failed_writes(context_of(path))
        act(path)
        assert all_rows(path) == before, at
        assert not MetaClient.load(path).timeline.pending(), at
