"""Money that moves is never lost or doubled, whoever is killed.

``python -m tests.support.mutation.hudi_bank`` takes longer over it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from tests.support.mutation.hudi_bank import run
from tests.support.running.long import long_case


@pytest.mark.parametrize(("version", "kind"), [long_case(8, COPY_ON_WRITE), (9, MERGE_ON_READ)])
def test_every_reader_sees_the_same_total(tmp_path: Path, version: int, kind: str) -> None:
    outcome = run(str(tmp_path / "bank"), version, kind, seconds=5, writers=2)
    assert outcome.wrong == 0 and outcome.reads > 2 and outcome.commits > 0 and outcome.killed > 0
