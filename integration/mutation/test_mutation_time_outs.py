"""Clients of the mutation API that outlive the metastore's time-out, and those that do not: 3.1.3 and 4.0.1."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hudi_hive.metastore import TransactionClient
from hudi_hive.mutation.acid_write import MutatorClient
from hudi_hive.mutation.core import LockSettings
from integration.support.metastores import ReleasedMetastore
from integration.support.mutation_judge import PROPERTIES
from integration.support.released import OnNewestRelease
from tests.support.mutation.batch_behaviour import KilledBatches, insert
from tests.support.mutation.mutation_behaviour import write
from tests.support.running.waiting import SECONDS, wait_until

pytestmark = pytest.mark.jvm

_DYING = """
import os, sys
from hudi_hive.mutation.acid_write.client import MutatorClient
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator
client = MutatorClient(sys.argv[1], sinks=["default." + sys.argv[2]]).connect()
transaction = client.new_transaction().begin()
coordinator = MutatorCoordinator(transaction.table("default", sys.argv[2]))
coordinator.insert((), {"id": 1, "msg": "never"})
coordinator.close()
print(transaction.id, flush=True)
os.kill(os.getpid(), 9)
"""


class TestReleasedMetastore(OnNewestRelease, KilledBatches):
    properties = PROPERTIES

    def test_a_transaction_lives_longer_than_the_time_out(
        self, metastore: ReleasedMetastore, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"]) as client, client.new_transaction() as txn:
            txn.accept(*write(txn.table("default", name), [1]))
            silent = transactions.open()
            wait_until(lambda: silent in transactions.valid_transactions().aborted, "a silent transaction dies")
        assert self.ids(transactions, warehouse, name) == [1]

    def test_the_next_one_follows_a_client_that_was_killed(
        self, metastore: ReleasedMetastore, warehouse: Path, transactions: TransactionClient
    ) -> None:
        """Its lock is let go of after the time-out, and what it left in the warehouse is cleaned up."""
        name = self.make(transactions, warehouse)
        killed = subprocess.run(
            [sys.executable, "-c", _DYING, metastore.uri, name], capture_output=True, text=True, check=False
        )
        assert killed.returncode == -9, killed.stderr
        staging = warehouse / name / "_hudi_hive_mutation"
        assert len(list(staging.iterdir())) == 1
        locks = LockSettings(wait_s=SECONDS)
        client = MutatorClient(metastore.uri, sinks=[f"default.{name}"], locks=locks)
        with client, client.new_transaction() as txn:
            assert int(killed.stdout) in txn.snapshot.aborted
            txn.accept(*write(txn.table("default", name), [2]))
        assert self.ids(transactions, warehouse, name) == [2]
        assert not list(staging.iterdir())

    @pytest.mark.long
    def test_unused_transactions_of_a_batch_outlive_the_time_out(
        self, metastore: ReleasedMetastore, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        with (
            MutatorClient(metastore.uri, sinks=[f"default.{name}"]) as client,
            client.new_transaction_batch(3, inserts_only=True) as batch,
        ):
            for number in range(2):
                with batch.next_transaction() as transaction:
                    insert(transaction, name, number)
                    silent = transactions.open()
                    wait_until(lambda one=silent: one in transactions.valid_transactions().aborted, "a silent one dies")
            assert batch.ids[2] in transactions.valid_transactions().open
        assert self.ids(transactions, warehouse, name) == [0, 1]
