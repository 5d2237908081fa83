"""The mutation API against real metastores: 3.1.3 and 4.0.1."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from hudi_hive.errors import TransactionConflictError
from hudi_hive.metastore import DataOperationType, LockKind, LockPart, TransactionClient
from hudi_hive.mutation.acid_write import MutatorClient, MutatorCoordinator
from hudi_hive.mutation.core import TransactionState
from integration.support.metastores import ReleasedMetastore
from integration.support.released import OnNewestRelease, OnOldestRelease
from tests.support.mutation.batch_behaviour import TransactionBatches
from tests.support.mutation.mutation_behaviour import MutationBasics, MutationBehaviour, write
from tests.support.mutation.mutation_contract import MutationContract, MutationKind
from tests.support.mutation.mutation_kinds import AcidKind

pytestmark = pytest.mark.jvm


class TestOldestRelease(OnOldestRelease, MutationBasics, TransactionBatches):
    """Writes and batches; all else on the newest release, and on each in a long run."""

    @pytest.mark.long
    def test_merges_leave_what_a_dictionary_would(
        self, metastore: ReleasedMetastore, warehouse: Path, transactions: TransactionClient
    ) -> None:
        super().test_merges_leave_what_a_dictionary_would(metastore, warehouse, transactions)


@pytest.mark.long
class TestContract(OnNewestRelease, MutationContract):
    """What holds of each kind of mutations; the fake has it in every run."""

    @pytest.fixture
    def kind(self, metastore: ReleasedMetastore, warehouse: Path) -> MutationKind:
        return AcidKind(metastore.uri, warehouse, f"c{uuid.uuid4().hex}")


class TestReleasedMetastore(OnNewestRelease, MutationBehaviour, TransactionBatches):
    def test_of_two_transactions_that_change_a_partition_one_fails(
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
        transactions.lock(beside, [LockPart("default", name, LockKind.READ, DataOperationType.UPDATE, dynamic=True)])
        write_id = transactions.allocate_write_id(beside, "default", name)
        transactions.add_dynamic_partitions(beside, write_id, "default", name, ["country=x"], DataOperationType.UPDATE)
        transactions.commit(beside)
