"""A few cells of the matrix of writers; ``python -m integration.long.write_matrix`` runs all of them."""

from __future__ import annotations

import pytest

from integration.long.write_matrix import TURNS, Cell, cells, run
from integration.support.hudi_peer import NOT_THERE, HudiPeer, may_start
from tests.support.running.long import with_long_cases

SAMPLE = [
    Cell("upsert", "COPY_ON_WRITE", 8, "ours"),
    Cell("upsert", "MERGE_ON_READ", 8, "hudi"),
    Cell("delete_partition", "MERGE_ON_READ", 8, "ours"),
    Cell(TURNS, "MERGE_ON_READ", 8, "ours", kind="changes"),
    Cell(TURNS, "MERGE_ON_READ", 8, "ours", kind="levels"),
]

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def peers():
    """``peers(version)``: one process at a time."""
    running: list[HudiPeer] = []

    def peer(version: int) -> HudiPeer:
        if not may_start(version):
            pytest.skip(NOT_THERE)
        if not running or running[0].version != version:
            while running:
                running.pop().__exit__(None, None, None)
            running.append(HudiPeer(version).__enter__())
        return running[0]

    yield peer
    while running:
        running.pop().__exit__(None, None, None)


@pytest.mark.parametrize("cell", with_long_cases(SAMPLE, sorted(cells(), key=lambda cell: cell.version)), ids=str)
def test_cell(cell, peers, tmp_path):
    run(cell, peers(cell.version), tmp_path / "table")
