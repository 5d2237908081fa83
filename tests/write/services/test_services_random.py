"""Lives of tables at random: writes, services planned and run at other times, rollbacks, restores, dead writers.

After each step the rows, by the folders and by the metadata table, are those of a model of plain dictionaries; what was
refused changed nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fixture_tables import VERSIONS
from tests.support.running.long import long_case
from tests.write.shared.services_random_helpers import Life

SEEDS = [(0, 16), *(long_case(seed, 40) for seed in range(20))]
"""Seeds of lives, and how many steps they have."""


@pytest.mark.parametrize(("seed", "steps"), SEEDS)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_rows_are_those_of_the_model(kind: str, version: int, seed: int, steps: int, tmp_path: Path) -> None:
    life = Life(tmp_path / "t", seed, version, kind)
    for number in range(steps):
        life.step(number)
