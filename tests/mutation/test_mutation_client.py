"""Clients of the mutation API against a metastore in this process, and what they make of its failures."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hudi_hive.errors import HudiHiveError, TransactionConflictError, TransactionError, TransactionLostError
from hudi_hive.metastore import HiveMetastore, LockPart, LockStatus, Retries, TransactionClient
from hudi_hive.mutation.acid_table.acid_names import STAGING
from hudi_hive.mutation.acid_table.table import AcidTable
from hudi_hive.mutation.acid_write import transaction
from hudi_hive.mutation.acid_write.client import MutatorClient
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator
from hudi_hive.mutation.acid_write.publish import Publisher
from hudi_hive.mutation.acid_write.transaction import TransactionState
from hudi_hive.mutation.core.heartbeat import LockSettings, TransactionHeartbeat
from hudi_hive.testing import FakeMetastore
from tests.support.mutation.acid_definitions import acid_table
from tests.support.mutation.mutation_behaviour import MutationBehaviour, write
from tests.support.running.waiting import wait_until

TRUE_LOCK = TransactionClient.lock


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

    def test_coordinators_of_two_threads_write_one_bucket(
        self, metastore: FakeMetastore, warehouse: Path, transactions: TransactionClient, monkeypatch: Any
    ) -> None:
        name = self.make(transactions, warehouse)
        both = threading.Barrier(2)

        def together(*args: Any, **options: Any) -> MutatorCoordinator:
            both.wait(300)  # each has been given its number
            return MutatorCoordinator(*args, **options)

        monkeypatch.setattr(transaction, "MutatorCoordinator", together)
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"]) as client, client.new_transaction() as txn:

            def insert(text: str) -> None:
                txn.coordinator("default", name).insert((), {"id": 1, "msg": text})

            with ThreadPoolExecutor(2) as pool:
                list(pool.map(insert, "ab"))
        assert self.ids(transactions, warehouse, name) == [1, 1]

    @pytest.mark.parametrize(
        ("fault", "times", "state", "rows"),
        [
            ("drop after", 1, TransactionState.COMMITTED, [1]),
            ("drop after", 3, TransactionState.COMMITTED, [1]),
            ("drop", 1, TransactionState.COMMITTED, [1]),
            ("drop", 3, TransactionState.ABORTED, []),
            ("refuse", 3, TransactionState.COMMITTED, [1]),
            ("refuse", 4, TransactionState.ABORTED, []),
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


def test_who_always_comes_too_late_is_told(
    fake: FakeMetastore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody whose locks keep nobody out commits between each of our transactions and its lock."""
    with HiveMetastore(fake.uri) as store:
        beside = TransactionClient(store)
        beside.create_table(acid_table(f"file:{tmp_path}/t"))

        def lock(client: TransactionClient, number: int, parts: Sequence[LockPart]) -> LockStatus:
            other = beside.open()
            beside.allocate_write_id(other, "default", "t")
            beside.commit(other)
            return TRUE_LOCK(client, number, parts)

        monkeypatch.setattr(TransactionClient, "lock", lock)
        with MutatorClient(fake.uri, sinks=["default.t"], locks=LockSettings(wait_s=0)) as client:
            late = client.new_transaction()
            with pytest.raises(TransactionConflictError, match="each of 3 locks"):
                late.begin()
        assert late.state is TransactionState.ABORTED
        assert [info.aborted for info in beside.open_transactions()] == [True] * 3


def test_silence_longer_than_the_time_out_is_a_loss(fake: FakeMetastore) -> None:
    losses: list[HudiHiveError] = []
    with HiveMetastore(fake.uri, retries=Retries(attempts=1)) as store:
        client = TransactionClient(store)
        number = client.open()
        heartbeat = TransactionHeartbeat(client, number, interval_s=0.02, timeout_s=2.0, on_loss=losses.append)
        heartbeat.start()
        heartbeat.verify()
        fake.stop()
        wait_until(lambda: losses, "the loss is noticed")
        heartbeat.stop()
        assert [type(loss) for loss in losses] == [TransactionLostError]
        with pytest.raises(TransactionLostError, match=r"2 s"):
            heartbeat.verify()


def test_what_others_have_staged_stays_while_they_are_open(tmp_path: Path) -> None:
    """Somebody who began later may have got a lower write id."""
    table = AcidTable.of(acid_table(f"file:{tmp_path}")).in_transaction(7, 5)
    names = ["0000003", "0000004", "0000005", "0000006"]
    for name in names:
        (tmp_path / STAGING / name / "attempt").mkdir(parents=True)
    Publisher(table).clean_others(lambda: (3, 6))
    assert sorted(path.name for path in (tmp_path / STAGING).iterdir()) == ["0000003", "0000005", "0000006"]
