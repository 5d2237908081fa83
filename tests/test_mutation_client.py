"""Clients of the mutation API against a metastore in this process, and what they make of its failures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_hive.errors import TransactionError, TransactionLostError
from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.metastore.testing import FakeMetastore
from hudi_hive.mutation.client import MutatorClient
from hudi_hive.mutation.transaction import TransactionState
from tests.mutation_behaviour import MutationBehaviour, write


@pytest.fixture
def fake() -> Iterator[FakeMetastore]:
    with FakeMetastore() as running:
        yield running


class TestFakeMetastore(MutationBehaviour):
    @pytest.fixture
    def metastore(self, fake: FakeMetastore) -> FakeMetastore:
        return fake

    @pytest.fixture
    def warehouse(self, tmp_path: Path) -> Path:
        return tmp_path

    def _written(self, metastore: FakeMetastore, name: str, fault: str, times: int) -> TransactionState:
        """The state after a commit whose calls fail."""
        with HiveMetastore(metastore.uri) as store:
            client = MutatorClient(store, sinks=[f"default.{name}"])
            with client:
                txn = client.new_transaction().begin()
                txn.accept(*write(txn.table("default", name), [1]))
                metastore.inject(fault, method="commit_txn", times=times)
                try:
                    txn.commit()
                except (TransactionError, TransactionLostError):
                    assert txn.state is not TransactionState.COMMITTED
                return txn.state

    @pytest.mark.parametrize(
        ("fault", "times", "state", "rows"),
        [
            ("drop after", 1, TransactionState.COMMITTED, [1]),
            ("drop after", 3, TransactionState.COMMITTED, [1]),
            ("drop", 1, TransactionState.COMMITTED, [1]),
            ("drop", 3, TransactionState.ABORTED, []),
            ("refuse", 1, TransactionState.ABORTED, []),
        ],
    )
    def test_a_commit_without_an_answer_is_found_out(
        self,
        metastore: FakeMetastore,
        warehouse: Path,
        transactions: TransactionClient,
        fault: str,
        times: int,
        state: TransactionState,
        rows: list[int],
    ) -> None:
        name = self.make(transactions, warehouse)
        assert self._written(metastore, name, fault, times) is state
        assert self.ids(transactions, warehouse, name) == rows
        # An aborted write id may be forgotten one day, so its files must not wait for that.
        assert len(list((warehouse / name).rglob("bucket_*"))) == len(rows)
