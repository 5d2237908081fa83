"""The mutation API against real metastores: 3.1.3 and 4.0.1."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_hive.errors import TransactionConflictError
from hudi_hive.metastore import LockKind, LockPart, Operation, TransactionClient
from hudi_hive.mutation.client import MutatorClient
from hudi_hive.mutation.coordinator import MutatorCoordinator
from hudi_hive.mutation.transaction import TransactionState
from integration.metastores import HIVE_EXEC, RELEASES, ReleasedMetastore
from tests.mutation_behaviour import MutationBehaviour, write

pytestmark = pytest.mark.jvm

TIMEOUT_SECONDS = 12
PROPERTIES = {
    "metastore.txn.timeout": f"{TIMEOUT_SECONDS}s",
    "hive.support.concurrency": "true",
    "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
    # Who ends dead transactions: in 3.1 it runs only beside the compactor's initiator, in 4.0 only if allowed.
    "metastore.compactor.initiator.on": "true",
    "metastore.timedout.txn.reaper.start": "1s",
    "metastore.timedout.txn.reaper.interval": "1s",
    "metastore.housekeeping.threads.on": "true",
    "metastore.acid.housekeeper.interval": "1s",
    "metastore.hmshandler.retry.interval": "1ms",
}

_DYING = """
import os, sys
from hudi_hive.mutation.client import MutatorClient
from hudi_hive.mutation.coordinator import MutatorCoordinator
client = MutatorClient(sys.argv[1], sinks=["default." + sys.argv[2]]).connect()
transaction = client.new_transaction().begin()
coordinator = MutatorCoordinator(transaction.table("default", sys.argv[2]))
coordinator.insert((), {"id": 1, "msg": "never"})
coordinator.close()
print(transaction.id, flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module", params=sorted(RELEASES))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReleasedMetastore]:
    """One version after the other, so that one Java process runs at a time."""
    folder = tmp_path_factory.mktemp("metastore")
    jars = [HIVE_EXEC[request.param]]
    with ReleasedMetastore(request.param, folder, properties=PROPERTIES, jars=jars) as running:
        yield running


class TestReleasedMetastore(MutationBehaviour):
    @pytest.fixture
    def metastore(self, server: ReleasedMetastore) -> ReleasedMetastore:
        return server

    @pytest.fixture
    def warehouse(self, server: ReleasedMetastore) -> Path:
        return server.warehouse

    def test_a_transaction_lives_longer_than_the_time_out(
        self, metastore: ReleasedMetastore, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"]) as client, client.new_transaction() as txn:
            txn.accept(*write(txn.table("default", name), [1]))
            time.sleep(2 * TIMEOUT_SECONDS)
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
        client = MutatorClient(metastore.uri, sinks=[f"default.{name}"], lock_wait_s=10 * TIMEOUT_SECONDS)
        with client, client.new_transaction() as txn:
            assert int(killed.stdout) in txn.snapshot.aborted
            txn.accept(*write(txn.table("default", name), [2]))
        assert self.ids(transactions, warehouse, name) == [2]
        assert not list(staging.iterdir())

    def test_of_two_that_change_a_partition_one_is_told(
        self, metastore: ReleasedMetastore, warehouse: Path, transactions: TransactionClient
    ) -> None:
        """The other one is not of this API and takes a lock that keeps nobody out."""
        name = self.make(transactions, warehouse, partitioned=True)
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"], create_partitions=True) as client:
            with client.new_transaction() as first:
                first.accept(*write(first.table("default", name), [1], ("x",)))
            second = client.new_transaction().begin()
            self._commit_beside(transactions, name)
            coordinator = MutatorCoordinator(second.table("default", name))
            row_id = next(iter(self.see(transactions, warehouse, name)))
            coordinator.update(("x",), {"id": 1, "msg": "lost", "ROW__ID": row_id})
            with pytest.raises(TransactionConflictError):
                second.commit([coordinator.close()])
            assert second.state is TransactionState.ABORTED
            write_id = second.table("default", name).write_id
        assert [row[2] for row in self.see(transactions, warehouse, name).values()] == ["m1"]
        assert not list((warehouse / name).rglob(f"*delta_{write_id:07d}*"))

    def _commit_beside(self, transactions: TransactionClient, name: str) -> None:
        beside = transactions.open()
        transactions.lock(beside, [LockPart("default", name, LockKind.READ, Operation.UPDATE, dynamic=True)])
        write_id = transactions.allocate_write_id(beside, "default", name)
        transactions.add_dynamic_partitions(beside, write_id, "default", name, ["country=x"], Operation.UPDATE)
        transactions.commit(beside)
