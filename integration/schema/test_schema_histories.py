"""Two histories of changing columns beside real Hudi.

``python -m integration.long.schema_histories`` runs all of them.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from integration.long.schema_histories import KNOWN, History, histories, run
from integration.support.hudi_peer import NOT_THERE, HudiPeer, may_start
from tests.support.tables.schema_lives import MERGE_ON_READ

ALL = os.environ.get("HUDI_HIVE_TEST_ALL_HISTORIES") == "1"
SAMPLE = [History(8, "COPY_ON_WRITE", 1), History(8, MERGE_ON_READ, 2)]
CASES = [case for case in histories(24) if str(case) not in KNOWN] if ALL else SAMPLE

pytestmark = [pytest.mark.jvm, pytest.mark.skipif(not may_start(*{case.version for case in CASES}), reason=NOT_THERE)]


@pytest.mark.parametrize("version", sorted({case.version for case in CASES}))
def test_rows_are_those_of_the_model_on_both_sides(version, tmp_path):
    counts: Counter[str] = Counter()
    with HudiPeer(version) as peer:
        for case in (case for case in CASES if case.version == version):
            run(case, peer, tmp_path / str(case), counts)
    assert counts["read by Hudi: snapshot"] >= 4
    assert counts["upsert by Hudi"] >= 2
