"""Lives of tables at random: writes, services planned and run at other times, rollbacks, restores, dead writers.

After each step the rows, by the folders and by the metadata table, are those of a model of plain dictionaries; what was
refused changed nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fixture_tables import VERSIONS
from tests.support.running.long import with_long_cases
from tests.write.shared.services_random_helpers import Life

TABLES = [(kind, version) for version in VERSIONS for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")]
LIVES = with_long_cases(
    [("COPY_ON_WRITE", 8, 0, 11), ("MERGE_ON_READ", 6, 0, 11)],
    [(*table, seed, steps) for table in TABLES for seed, steps in [(0, 16), *((seed, 40) for seed in range(20))]],
)
"""Types and versions of tables, seeds of their lives, and how many steps these have."""


@pytest.mark.parametrize(("kind", "version", "seed", "steps"), LIVES)
def test_rows_are_those_of_the_model(kind: str, version: int, seed: int, steps: int, tmp_path: Path) -> None:
    life = Life(tmp_path / "t", seed, version, kind)
    for number in range(steps):
        life.step(number)
