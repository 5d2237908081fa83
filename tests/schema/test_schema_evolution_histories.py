"""Tables at random through changes of columns, writes and services: each query's rows are those of a model.

``HUDI_HIVE_HISTORIES=N`` lives N histories in place of a few, ``HUDI_HIVE_HISTORY=SEED`` those of a seed again.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.support.fixture_tables import VERSIONS
from tests.support.tables.schema_lives import MERGE_ON_READ, Life

HISTORIES = int(os.environ.get("HUDI_HIVE_HISTORIES", "60"))
TABLES = [(version, kind) for version in VERSIONS for kind in ("COPY_ON_WRITE", MERGE_ON_READ)]
SEEDS = range(-(-HISTORIES // len(TABLES)))
if "HUDI_HIVE_HISTORY" in os.environ:
    SEEDS = range(int(os.environ["HUDI_HIVE_HISTORY"]), int(os.environ["HUDI_HIVE_HISTORY"]) + 1)
STEPS = 4 if HISTORIES <= 60 else 7
SEEN: Counter[str] = Counter()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("version", "kind"), TABLES)
def test_rows_are_those_of_the_model(kind: str, version: int, seed: int, tmp_path: Path) -> None:
    life = Life(tmp_path / "t", seed, version, kind)
    life.live(STEPS)
    SEEN.update(life.counts)
    SEEN["histories"] += 1


def test_everything_happened(capsys: pytest.CaptureFixture[str]) -> None:
    """Behind the histories: none of the kinds of changes and queries was left out, few were refused."""
    if SEEN["histories"] < 60:
        pytest.skip("not all histories ran")
    with capsys.disabled():
        print(f"\n{SEEN['histories']} histories: {dict(sorted(SEEN.items()))}")
    for what in ("add", "drop", "rename", "change_type", "move", "comment"):
        assert SEEN[f"change: {what}"] > 0, what
    for what in ("snapshot", "read_optimized", "filter", "time_travel", "incremental", "range"):
        assert SEEN[what] > 10 * SEEN[f"{what} refused"], what
    for what in ("alter", "upsert", "insert", "delete", "evolve", "compact", "cluster", "refused"):
        assert SEEN[what] > 0, what
