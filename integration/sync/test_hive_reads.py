"""HiveServer2 reads what we wrote and synced; the whole of it is in ``integration.long.hive_reads``."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.long.hive_reads import READERS, cases, run
from integration.support.hudi_peer import NOT_THERE
from tools.real_hudi import is_fetched

pytestmark = [pytest.mark.jvm, pytest.mark.long]


@pytest.mark.parametrize(("version", "release"), READERS)
def test_hive_reads_what_scan_does(version: int, release: str, tmp_path: Path) -> None:
    if not is_fetched(release):
        pytest.skip(NOT_THERE)
    tally = run(cases([(version, release)], shapes=("styled", "renamed")), tmp_path)
    assert tally.questions > 100 and not tally.wrong, "\n".join(tally.wrong)
