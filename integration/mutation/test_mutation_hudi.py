"""Real Hudi reads what our transactions wrote and goes on.

``python -m integration.long.mutation_hudi`` plays all cells.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_hive.table.properties import MERGE_ON_READ
from integration.long.mutation_hudi import play
from integration.support.hudi_peer import HudiPeer

pytestmark = pytest.mark.jvm


@pytest.mark.long
def test_transactions_and_real_hudi_by_turns(
    hudi_peer: Callable[[int], HudiPeer], tmp_path: Path, thorough: bool
) -> None:
    play(hudi_peer(8), tmp_path / "t", MERGE_ON_READ, short=not thorough)
