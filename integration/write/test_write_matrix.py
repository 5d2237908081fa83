"""A cell of the matrix of writers; ``python -m integration.long.write_matrix`` runs all of them."""

from __future__ import annotations

import pytest

from integration.long.write_matrix import TURNS, Cell, cells, run
from tests.support.running.long import with_long_cases

SAMPLE = [
    Cell(TURNS, "MERGE_ON_READ", 8, "ours", kind="changes"),
]
"""All operations by turns, and their changes."""

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize("cell", with_long_cases(SAMPLE, sorted(cells(), key=lambda cell: cell.version)), ids=str)
def test_real_hudi_and_ours_write_one_table_by_turns(cell, hudi_peer, tmp_path):
    run(cell, hudi_peer(cell.version), tmp_path / "table")
