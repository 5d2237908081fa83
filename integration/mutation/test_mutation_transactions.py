"""Transactions on ACID tables, kept by real metastores: 3.1.3 and 4.0.1."""

from __future__ import annotations

import pytest

from hudi_hive.errors import (
    MetastoreServerError,
    TransactionLockError,
    TransactionLostError,
)
from hudi_hive.metastore import DataOperationType, HiveMetastore, LockState, Order, TransactionClient
from integration.support.mutation_judge import PROPERTIES
from integration.support.released import OnNewestRelease, OnReleases
from tests.support.metastore.flaky_proxy import FlakyProxy
from tests.support.metastore.transaction_behaviour import TransactionBehaviour, TransactionTables, acid_table, writes
from tests.support.running.waiting import wait_until

pytestmark = pytest.mark.jvm


class TestTimeOuts(OnNewestRelease, TransactionTables):
    properties = PROPERTIES

    def test_a_transaction_without_heartbeats_is_aborted_and_one_with_them_stays(self, client, table):
        silent, beating = client.open(), client.open()
        lock = client.lock(silent, writes(table))
        waiting = client.lock(beating, writes(table))
        assert (lock.state, waiting.state) == (LockState.ACQUIRED, LockState.WAITING)

        def is_dead() -> bool:
            client.heartbeat(beating, waiting.id)
            return silent in client.valid_transactions().aborted

        wait_until(is_dead, "the metastore ends a silent transaction")
        with pytest.raises((TransactionLockError, TransactionLostError)):
            client.heartbeat(silent, lock.id)
        with pytest.raises(TransactionLostError):
            client.commit(silent)
        assert client.check_lock(beating, waiting.id).state is LockState.ACQUIRED
        client.commit(beating)

    def test_an_aborted_one_stays_invisible(self, client, partitioned):
        """The metastore forgets an aborted transaction that touched nothing, and then takes its write id for valid."""
        forgotten, aborted, after = client.open(), client.open(), client.open()
        for one in (aborted, after):
            client.lock(one, writes(partitioned, dynamic=True))
        ids = [client.allocate_write_id(one, "default", partitioned) for one in (aborted, after)]
        client.add_dynamic_partitions(aborted, ids[0], "default", partitioned, ["p=1"], DataOperationType.UPDATE)
        client.abort(aborted)
        client.commit(after)
        client.abort(forgotten)
        wait_until(lambda: forgotten not in client.valid_transactions().aborted, "an empty transaction is forgotten")
        assert self.seen(client, partitioned).valid_mask(ids).tolist() == [False, True]


class TestReleasedMetastore(OnReleases, TransactionBehaviour):
    def test_the_version_and_its_time(self, client, server):
        assert client.generation == int(server.release.version[0])
        assert client.timeout_seconds() == 240

    def test_a_commit_whose_answer_was_lost_is_sent_to_the_next_address(self, client, table, server):
        """The call is sent again to the next address, where the transaction is committed already."""
        before_commit = {3: 5, 4: 4}[client.generation]
        port = int(server.uri.rpartition(":")[2])
        proxy = FlakyProxy(port, before_commit + 1, answer_lost=True)
        with proxy, HiveMetastore([proxy.uri, server.uri]) as metastore:
            flaky = TransactionClient(metastore)
            transaction = flaky.open()
            flaky.lock(transaction, writes(table))
            write_id = flaky.allocate_write_id(transaction, "default", table)
            flaky.commit(transaction)
            assert (proxy.dead, metastore.calls["commit_txn"]) == (True, 2)
        assert self.seen(client, table).is_valid(write_id)

    @pytest.mark.parametrize("change", ["external", "text", "sorted"])
    def test_tables_that_cannot_be(self, client, change):
        table = acid_table("never")
        if change == "external":
            table.tableType = "EXTERNAL_TABLE"
            table.parameters["EXTERNAL"] = "TRUE"
        elif change == "sorted":
            table.sd.sortCols = [Order(col="id", order=1)]
        else:
            table.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
        with pytest.raises(MetastoreServerError):
            client.create_table(table)
