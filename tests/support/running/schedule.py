"""Which worker of pytest-xdist runs which test files, and in which order.

Files go to whichever worker is free, the longest first, by the seconds that ``seconds.csv`` records: so no worker
begins a long file when the others are about to finish. Files that share a costly process of a worker, such as a Spark
session, go to one worker together.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
from xdist.scheduler import LoadScopeScheduling

SECONDS: Final = Path(__file__).with_name("seconds.csv")
"""Test files and how many seconds they take, made by ``python -m tests.support.running.record``."""

_TOGETHER: Final = {
    "an embedded metastore": (
        "integration/cli/test_cli_sql.py",
        "integration/connector/",
        "integration/metastore/test_metastore_behaviour.py",
        *(f"integration/sync/test_sync_{part}.py" for part in ("concurrent", "golden", "hiveql", "ldap")),
        *(f"integration/sync/test_sync_{part}.py" for part in ("merge_on_read", "options", "repeated", "tool")),
    ),
    "an embedded metastore of its own tests": (
        "integration/metastore/test_metastore_embedded.py",
        "integration/metastore/test_metastore_locks.py",
    ),
    "answers to the queries of fixtures": ("tests/project/test_readme.py", "tests/read/test_fixture_queries.py"),
    "a Spark session": (
        "integration/locks/test_zookeeper_lock.py",
        *(f"integration/spark/{part}/" for part in ("mutate", "scan", "session", "source", "write")),
        "integration/sync/test_write_sync.py",
    ),
    "a Spark session of statements": (
        "integration/spark/statements/",
        "integration/spark/test_code_blocks.py",
        "integration/spark/test_tutorials.py",
    ),
    "real Hudi": (
        "integration/mutation/test_mutation_hudi.py",
        "integration/schema/",
        "integration/write/",
    ),
    "an S3 server": (
        "integration/cli/test_cli_stores.py",
        "integration/locks/test_paused_writers.py",
        "integration/locks/test_store_locks.py",
        "integration/storage/test_",
        "integration/sync/test_sync_glue_moto.py",
    ),
    "metastores of the releases": (
        "integration/mutation/",
        "integration/metastore/test_metastore_versions.py",
        "integration/sync/test_sync_evolution.py",
    ),
}
"""Beginnings of the paths of files that one worker runs, by what they share."""
_SECONDS_OF_A_TEST: Final = 0.02
"""Of a file that is not recorded."""


class UnitScheduling(LoadScopeScheduling):
    """Hands out units of work in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: object = None) -> None:
        config.option.loadscopereorder = False  # or else the unit with the most tests goes first
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(nodeid: str) -> str:
    """The unit of work that a test belongs to: its file, or what its file shares with others."""
    file = nodeid.partition("::")[0]
    return next((shared for shared, files in _TOGETHER.items() if file.startswith(files)), file)


def longest_first(nodeids: Iterable[str]) -> dict[str, int]:
    """Give each unit its place in a run: the longest has place 0."""
    recorded = recorded_seconds()
    seconds: defaultdict[str, float] = defaultdict(float)
    seen: set[str] = set()
    for nodeid in nodeids:
        file = nodeid.partition("::")[0]
        if file not in recorded:
            seconds[unit_of(nodeid)] += _SECONDS_OF_A_TEST
        elif file not in seen:
            seen.add(file)
            seconds[unit_of(nodeid)] += recorded[file]
    return {unit: place for place, unit in enumerate(sorted(seconds, key=lambda unit: (-seconds[unit], unit)))}


def recorded_seconds() -> dict[str, float]:
    """Seconds by file, as recorded."""
    with SECONDS.open(newline="") as stream:
        return {row["file"]: float(row["seconds"]) for row in csv.DictReader(stream)}
