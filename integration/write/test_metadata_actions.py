"""Real Hudi reads our metadata table after each action.

``python -m integration.long.metadata_actions`` tries all tables.
All in a long run, and one that is looked at now and then; none where real Hudi is neither cached nor asked for.
"""

from __future__ import annotations

import pytest

from integration.long.metadata_actions import SELDOM, run
from integration.support.matrix import TYPES, VERSIONS
from tests.support.running.long import long_case

TABLES = [
    long_case(8, "MERGE_ON_READ", SELDOM),
    *(long_case(version, kind, None) for version in VERSIONS for kind in TYPES),
]
"""Version and type of a table, and after which actions Hudi looks at it: None for all."""

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize(("version", "kind", "looks"), TABLES)
def test_hudi_sees_what_there_is_after_each_action(version, kind, looks, hudi_peer, tmp_path):
    told: list[str] = []
    total, passed = run(version, kind, hudi_peer(version), tmp_path / "table", told.append, looks)
    assert total >= 17 and passed == total, "\n".join(told)
