"""Batches of transactions against a metastore in this process; ``integration/mutation`` has the real ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hudi_hive.errors import TransactionLostError
from hudi_hive.metastore import TransactionClient
from hudi_hive.testing import FakeMetastore
from tests.support.mutation.batch_behaviour import KilledBatches, TransactionBatches


class TestFakeMetastore(TransactionBatches, KilledBatches):
    @pytest.fixture
    def metastore(self) -> Iterator[FakeMetastore]:
        with FakeMetastore() as running:
            yield running

    @pytest.fixture
    def warehouse(self, tmp_path: Path) -> Path:
        return tmp_path

    def opens_at_once(self, transactions: TransactionClient) -> bool:
        return True

    def end_silent(self, transactions: TransactionClient, ids: list[int]) -> None:
        """This metastore has no housekeeping."""
        for number in ids:
            with suppress(TransactionLostError):
                transactions.abort(number)
