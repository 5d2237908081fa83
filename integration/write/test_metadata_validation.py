"""Real Hudi validates each partition of our metadata table, and reports the damaged ones.

``python -m integration.long.metadata_validation`` tries all tables, and looks after each action.
All in a long run, none where real Hudi is neither cached nor asked for.
"""

from __future__ import annotations

import pytest

from integration.long.metadata_validation import TABLES, run
from tests.support.running.long import long_case

LOOKS = ("restore", "upsert behind a copy")
"""Actions after which Hudi looks."""

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize(("version", "kind", "indexes"), [long_case(*table) for table in TABLES])
def test_hudi_finds_no_difference_and_sees_damage(version, kind, indexes, hudi_peer, tmp_path):
    told: list[str] = []
    total, passed = run(version, kind, indexes, hudi_peer(version), tmp_path / "table", told.append, LOOKS)
    assert total >= 19 and passed == total, "\n".join(told)
