"""Histories of changing columns beside real Hudi.

``python -m integration.long.schema_histories`` runs all of them.
"""

from __future__ import annotations

from collections import Counter

import pytest

from integration.long.schema_histories import WRONG_IN_HUDI, History, histories, run
from tests.support.running.long import long_case
from tests.support.tables.schema_lives import MERGE_ON_READ

SAMPLE = [History(8, MERGE_ON_READ, 2)]
EVERY = [case for case in histories(24) if str(case) not in WRONG_IN_HUDI]
VERSIONS = sorted({case.version for case in EVERY})

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize(("version", "cases"), [(8, SAMPLE), *(long_case(version, EVERY) for version in VERSIONS)])
def test_rows_are_those_of_the_model_on_both_sides(version, cases, hudi_peer, tmp_path):
    counts: Counter[str] = Counter()
    played = [case for case in cases if case.version == version]
    for case in played:
        run(case, hudi_peer(version), tmp_path / str(case), counts, 0.0)
    assert counts["read by Hudi: snapshot"] >= 2 * len(played)
    assert counts["upsert by Hudi"] >= len(played)
