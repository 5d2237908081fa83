"""Real Hudi reads what our transactions wrote and goes on.

``python -m integration.long.mutation_hudi`` plays all cells.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_hive.table.properties import MERGE_ON_READ
from integration.long.mutation_hudi import play
from integration.support.hudi_peer import NOT_THERE, HudiPeer, may_start

pytestmark = [pytest.mark.jvm, pytest.mark.skipif(not may_start(8), reason=NOT_THERE)]


def test_transactions_and_real_hudi_by_turns(tmp_path: Path) -> None:
    with HudiPeer(8) as peer:
        play(peer, tmp_path / "t", MERGE_ON_READ)
