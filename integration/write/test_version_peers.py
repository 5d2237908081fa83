"""Versions of tables changed by us and by real Hudi; each reads and writes what the other left.

``python -m integration.long.version_peers`` tries all tables and changes.
"""

from __future__ import annotations

import pytest

from integration.long.version_peers import Case, cases, change, go_on
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm

SAMPLE = [
    case
    for kind, changed in (("ours_mor", "8-6"), ("mor_event_time", "6-9"), ("cow_archived", "6-8"))
    for case in cases([changed], [kind], ["ours"])
]


@pytest.mark.parametrize("case", [long_case(case, name=case.name) for case in SAMPLE])
def test_hudi_and_we_go_on_behind_a_change_of_ours(case: Case, hudi_peer, tmp_path):
    told: list[str] = []
    life = change(case, tmp_path, None)
    assert go_on(life, hudi_peer(case.reader), told.append).failed == "", "\n".join(told)
