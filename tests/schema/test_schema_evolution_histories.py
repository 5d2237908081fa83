"""Tables at random through changes of columns, writes and services: each query's rows are those of a model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.fixture_tables import VERSIONS
from tests.support.running.long import long_case
from tests.support.tables.schema_lives import MERGE_ON_READ, Life

TABLES = [(version, kind) for version in VERSIONS for kind in ("COPY_ON_WRITE", MERGE_ON_READ)]
SEEDS = [
    *((seed, 4) for seed in range(2)),
    *(long_case(seed, 4) for seed in (2, 3, 4)),
    *(long_case(seed, 7) for seed in range(50)),
]
"""Seeds of histories, and how many steps they have."""
SEEN: Counter[str] = Counter()


@pytest.mark.parametrize(("seed", "steps"), SEEDS)
@pytest.mark.parametrize(("version", "kind"), TABLES)
def test_rows_are_those_of_the_model(kind: str, version: int, seed: int, steps: int, tmp_path: Path) -> None:
    life = Life(tmp_path / "t", seed, version, kind)
    life.run_steps(steps)
    SEEN.update(life.counts)
    SEEN["histories"] += 1


def test_random_histories_cover_every_action(capsys: pytest.CaptureFixture[str]) -> None:
    """Behind the histories: none of the kinds of changes and queries was left out, few were refused."""
    if SEEN["histories"] < 12:
        pytest.skip("not all histories ran")
    with capsys.disabled():
        print(f"\n{SEEN['histories']} histories: {dict(sorted(SEEN.items()))}")
    for what in ("add", "drop", "rename", "change_type", "move", "comment", "replace_columns"):
        assert SEEN[f"change: {what}"] > 0, what
    for what in ("snapshot", "read_optimized", "filter", "time_travel", "incremental", "range"):
        assert SEEN[what] > 10 * SEEN[f"{what} refused"], what
    for what in ("alter", "upsert", "insert", "delete", "evolve", "compact", "cluster", "refused"):
        assert SEEN[what] > 0, what
