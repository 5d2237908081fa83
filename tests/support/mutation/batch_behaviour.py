"""Batches of transactions, whichever metastore keeps them, with the fixtures of ``mutation_behaviour``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hudi_hive.errors import (
    MutationError,
    MutationStateError,
    TransactionLostError,
)
from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation import LockSettings, MutatorClient, MutatorCoordinator, Transaction, TransactionState
from tests.support.mutation.mutation_behaviour import MutationTables, write
from tests.support.running.waiting import SECONDS, wait_until


def insert(transaction: Transaction, name: str, number: int, partition: tuple[str, ...] = ()) -> None:
    transaction.accept(*write(transaction.table("default", name), [number], partition))


class TransactionBatches(MutationTables):
    """The tests."""

    def opens_at_once(self, transactions: TransactionClient) -> bool:
        """Whether the metastore opens several transactions in one call."""
        return transactions.generation < 4 or "HUDI_HIVE_TEST_DATABASE" in os.environ

    def test_transactions_of_a_batch_end_one_after_another_and_the_rest_is_aborted(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse, partitioned=True)
        with (
            HiveMetastore(metastore.uri) as store,
            MutatorClient(store, sinks=[f"default.{name}"], create_partitions=True) as client,
        ):
            with client.new_transaction_batch(5) as batch:
                assert (len(set(batch.ids)), batch.remaining) == (5, 5)
                # Metastore 4 cannot on Derby.
                assert store.calls["open_txns"] == (1 if self.opens_at_once(transactions) else 6)
                assert set(batch.ids) <= set(transactions.valid_transactions().open)
                with batch.next_transaction() as first:
                    insert(first, name, 1, ("x",))
                second = batch.next_transaction().begin()
                insert(second, name, 2, ("x",))
                with pytest.raises(MutationStateError, match="is open"):
                    batch.next_transaction()
                second.abort()
                with pytest.raises(ZeroDivisionError), batch.next_transaction() as third:
                    insert(third, name, 3, ("y",))
                    raise ZeroDivisionError
                batch.next_transaction()  # never begins, and takes none of the batch
                assert batch.remaining == 2
                with batch.next_transaction() as fourth:
                    assert self.ids(transactions, warehouse, name) == [1]
                    assert len(fourth.reader("default", name).read()) == 1
                    insert(fourth, name, 4, ("x",))
                assert [one.id for one in (first, second, third, fourth)] == list(batch.ids[:4])
                states = [one.state.value for one in (first, second, third, fourth)]
                assert states == ["committed", "aborted", "aborted", "committed"]
                late = batch.next_transaction()
                with pytest.raises(MutationStateError, match="batch of this client is open"):
                    client.new_transaction_batch(1)
            assert not set(batch.ids) & set(transactions.valid_transactions().open)
            for call in (batch.next_transaction, late.begin):
                with pytest.raises(MutationStateError):
                    call()
            batch.close()
        assert self.ids(transactions, warehouse, name) == [1, 4]
        assert not list((warehouse / name / "_hudi_hive_mutation").iterdir())

    def test_updates_of_what_the_batch_itself_changed_are_no_conflict(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        """The metastore would refuse the second: the first was committed since it was opened."""
        name = self.make(transactions, warehouse)
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"]) as client:
            with client.new_transaction_batch(4) as batch:
                with batch.next_transaction() as first:
                    insert(first, name, 1)
                for message in ("b", "c"):
                    with batch.next_transaction() as update:
                        (row_id,) = self.see(transactions, warehouse, name)
                        assert update.valid_write_ids("default", name).is_valid(row_id.write_id)
                        with MutatorCoordinator(update.table("default", name)) as coordinator:
                            coordinator.update((), {"id": 1, "msg": message, "ROW__ID": row_id})
                        update.accept(coordinator.close())
                assert (first.id in batch.ids, update.id in batch.ids) == (True, False)
                assert batch.remaining == 1
            assert not set(batch.ids) & set(transactions.valid_transactions().open)
        assert [row[2] for row in self.see(transactions, warehouse, name).values()] == ["c"]

    def test_batches_of_inserts_are_used_side_by_side(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        sink = f"default.{name}"
        with MutatorClient(metastore.uri, sinks=[sink]) as one, MutatorClient(metastore.uri, sinks=[sink]) as other:
            batches = [client.new_transaction_batch(3, inserts_only=True) for client in (one, other)]
            for number in range(2):
                pair = [batch.next_transaction().begin() for batch in batches]
                for place, transaction in enumerate(pair):
                    insert(transaction, name, 2 * number + place)
                for place, transaction in enumerate(pair):
                    transaction.commit()
                    assert transaction.id == batches[place].ids[number]
            last = batches[0].next_transaction().begin()
            row_id = next(iter(self.see(transactions, warehouse, name)))
            with MutatorCoordinator(last.table("default", name)) as coordinator:
                coordinator.delete((), {"ROW__ID": row_id})
            with pytest.raises(MutationError, match="updated or deleted in a batch"):
                last.commit([coordinator.close()])
            with pytest.raises(MutationStateError, match="of 3 transactions is used up"):
                batches[0].next_transaction()
        assert not {*batches[0].ids, *batches[1].ids} & set(transactions.valid_transactions().open)
        assert self.ids(transactions, warehouse, name) == [0, 1, 2, 3]

    def test_a_lost_transaction_of_a_batch_is_an_error_and_the_next_one_is_used(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        told: list[int] = []
        locks = LockSettings(heartbeat_s=0.05, on_failure=lambda failure: told.append(failure.transaction_id))
        with (
            MutatorClient(metastore.uri, sinks=[f"default.{name}"], locks=locks) as client,
            client.new_transaction_batch(3) as batch,
        ):
            transactions.abort(batch.ids[0])
            wait_until(lambda: told, "the lost transaction is noticed")
            assert told == [batch.ids[0]]
            lost = batch.next_transaction()
            with pytest.raises(TransactionLostError):
                lost.begin()
            assert lost.state is not TransactionState.OPEN
            with batch.next_transaction() as second:
                insert(second, name, 1)
            assert second.id == batch.ids[1]
            with pytest.raises(MutationStateError):
                client.new_transaction_batch(0)
        assert self.ids(transactions, warehouse, name) == [1]


_DYING = """
import os, sys
from hudi_hive.mutation import MutatorClient
client = MutatorClient(sys.argv[1], sinks=["default." + sys.argv[2]]).connect()
batch = client.new_transaction_batch(5, inserts_only=True)
for number in range(3):
    transaction = batch.next_transaction().begin()
    coordinator = transaction.coordinator("default", sys.argv[2])
    for part in range(2):
        coordinator.insert((), {"id": 10 * number + part, "msg": "m"})
    if number < 2:
        transaction.commit()
coordinator.flush()
print(*batch.ids, flush=True)
os.kill(os.getpid(), 9)
"""


class KilledBatches(MutationTables):
    """Of metastores that end silent transactions."""

    def test_a_batch_that_was_killed_in_the_middle_leaves_whole_transactions_alone(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        killed = subprocess.run(
            [sys.executable, "-c", _DYING, metastore.uri, name], capture_output=True, text=True, check=False
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        ids = [int(number) for number in killed.stdout.split()]
        whole = [0, 1, 10, 11]
        assert self.ids(transactions, warehouse, name) == whole
        open_ids = set(transactions.valid_transactions().open)
        assert open_ids & set(ids) <= set(ids[2:])
        self.end_silent(transactions, ids)
        wait_until(
            lambda: not set(transactions.valid_transactions().open) & set(ids), "the metastore ends the rest of a batch"
        )
        assert self.ids(transactions, warehouse, name) == whole
        locks = LockSettings(wait_s=SECONDS)
        with (
            MutatorClient(metastore.uri, sinks=[f"default.{name}"], locks=locks) as client,
            client.new_transaction_batch(2) as batch,
            batch.next_transaction() as after,
        ):
            insert(after, name, 30)
        assert self.ids(transactions, warehouse, name) == [*whole, 30]
        assert not list((warehouse / name / "_hudi_hive_mutation").iterdir())

    def end_silent(self, transactions: TransactionClient, ids: list[int]) -> None:
        """What the metastore does by itself after a while."""
