"""Reading and merging over whole transactions, against a metastore in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_hive.testing import FakeMetastore
from tests.support.tables.merge_behaviour import MergeBehaviour


class TestFakeMetastore(MergeBehaviour):
    @pytest.fixture
    def metastore(self) -> Iterator[FakeMetastore]:
        with FakeMetastore() as running:
            yield running

    @pytest.fixture
    def warehouse(self, tmp_path: Path) -> Path:
        return tmp_path
