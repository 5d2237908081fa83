"""Real Hudi reads our metadata table after each action.

``python -m integration.long.metadata_actions`` tries all tables.
One table here, looked at now and then, or all with ``HUDI_HIVE_TEST_ALL_CELLS=1``; none where real Hudi is neither
cached nor asked for.
"""

from __future__ import annotations

import os

import pytest

from integration.long.metadata_actions import SELDOM, TYPES, VERSIONS, run
from integration.support.hudi_peer import NOT_THERE, HudiPeer, may_start

ALL = os.environ.get("HUDI_HIVE_TEST_ALL_CELLS") == "1"
TABLES = [(version, kind) for version in VERSIONS for kind in TYPES] if ALL else [(8, "MERGE_ON_READ")]

pytestmark = [pytest.mark.jvm, pytest.mark.skipif(not may_start(*(VERSIONS if ALL else (8,))), reason=NOT_THERE)]


@pytest.mark.parametrize(("version", "kind"), TABLES)
def test_hudi_sees_what_there_is_after_each_action(version, kind, tmp_path):
    told: list[str] = []
    with HudiPeer(version) as peer:
        total, passed = run(version, kind, peer, tmp_path / "table", told.append, None if ALL else SELDOM)
    assert total >= 17 and passed == total, "\n".join(told)
