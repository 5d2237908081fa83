"""Real Hudi and we write a record index of each partition by turns.

``python -m integration.long.partitioned_index`` tries all tables.
All in a long run, and one that is looked at in the end; none where real Hudi is neither cached nor asked for.
"""

from __future__ import annotations

import pytest

from integration.long.partitioned_index import FIRSTS, VERSION, run
from integration.support.matrix import TYPES
from tests.support.running.long import long_case

TABLES = [
    long_case("MERGE_ON_READ", "hudi", False),
    *(long_case(kind, first, True) for kind in TYPES for first in FIRSTS),
]
"""Type of a table, who makes it, and whether both look after each action."""

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize(("kind", "first", "looks"), TABLES)
def test_hudi_and_we_keep_the_index_in_step(kind, first, looks, hudi_peer, tmp_path):
    told: list[str] = []
    total, passed = run(kind, first, hudi_peer(VERSION), tmp_path / "table", told.append, looks=looks)
    assert total >= 19 and passed == total, "\n".join(told)
