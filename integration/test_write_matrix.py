"""A few cells of the matrix of writers; ``python -m integration.write_matrix`` runs all of them."""

from __future__ import annotations

import pytest

from integration.hudi_peer import HudiPeer
from integration.write_matrix import Cell, run

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def peer():
    with HudiPeer(8) as peer:
        yield peer


@pytest.mark.parametrize(
    "cell",
    [
        Cell("upsert", "COPY_ON_WRITE", 8, "ours"),
        Cell("upsert", "MERGE_ON_READ", 8, "hudi"),
        Cell("delete_partition", "MERGE_ON_READ", 8, "ours"),
    ],
    ids=str,
)
def test_cell(cell, peer, tmp_path):
    run(cell, peer, tmp_path / "table")
