"""The client of transactions, against the fake metastore as version 3.1 and as 4, and what it sends to each."""

from __future__ import annotations

import pytest

from hudi_hive.errors import (
    MetastoreLostError,
    MethodNotSupportedError,
    TransactionConflictError,
    TransactionError,
    TransactionLockError,
    TransactionLostError,
)
from hudi_hive.metastore import (
    DataOperationType,
    HiveMetastore,
    LockKind,
    LockPart,
    LockState,
    Retries,
    TransactionClient,
)
from hudi_hive.metastore._thrift import ttypes
from hudi_hive.metastore.transactions.transaction_values import parse_seconds
from hudi_hive.testing import FakeMetastore, FaultKind
from tests.support.metastore.transaction_behaviour import TransactionBehaviour, acid_table, writes

FAST = Retries(attempts=3, wait=0.001, wait_max=0.01)
METHODS_OF_4 = ("get_open_txns_req", "create_table_req", "alter_table_req", "alter_partitions_req")
OF_3 = (*METHODS_OF_4, "get_valid_write_ids", "allocate_table_write_ids")


@pytest.fixture(scope="module", params=[3, 4])
def fake(request):
    with FakeMetastore(without=METHODS_OF_4 if request.param == 3 else ()) as server:
        yield server


class TestFakeMetastore(TransactionBehaviour):
    @pytest.fixture
    def metastore(self, fake):
        return fake


@pytest.fixture
def server():
    with FakeMetastore() as server:
        yield server


@pytest.fixture
def client(server):
    with HiveMetastore(server.uri, retries=FAST) as metastore:
        yield TransactionClient(metastore, user="someone", agent="x")


def sent(server, method):
    """The requests of a method, in order."""
    return [call.arguments[0] for call in server.calls if call.method == method]


@pytest.mark.parametrize(("without", "kind"), [(METHODS_OF_4, "SHARED_WRITE"), ((), "EXCL_WRITE")])
def test_what_a_writer_asks_for(without, kind):
    with FakeMetastore(without=without) as server, HiveMetastore(server.uri) as metastore:
        client = TransactionClient(metastore, user="someone", agent="x")
        parts = [
            LockPart("Default", "T", LockKind.WRITE, DataOperationType.DELETE, dynamic=True),
            LockPart("default", "u", LockKind.READ, DataOperationType.SELECT),
        ]
        client.lock(client.open(), parts)
        (request,) = sent(server, "lock")
        written, read = request.component
        assert (written.type, read.type) == (ttypes.LockType[kind], ttypes.LockType.SHARED_READ)
        assert (written.dbname, written.tablename, written.level) == ("default", "t", ttypes.LockLevel.TABLE)
        assert (written.isTransactional, written.isDynamicPartitionWrite) == (True, True)
        assert (written.operationType, read.operationType) == (3 + 1, 1)
        assert (request.user, request.agentInfo) == ("someone", "x")
        assert metastore.calls["get_open_txns_req"] == 1  # asked which version it is, once


def test_a_commit_requires_the_comparison(client, server):
    transaction = client.open()
    client.commit(transaction)
    assert [request.exclWriteEnabled for request in sent(server, "commit_txn")] == [False]


def test_metastore_4_hears_what_is_understood(client, server):
    client.create_table(acid_table("t"))
    client.table("default", "t")
    for method in ("create_table_req", "get_table_req"):
        assert {"HIVEFULLACIDWRITE", "HIVEFULLACIDREAD"} <= set(sent(server, method)[-1].processorCapabilities)


@pytest.mark.parametrize(("access", "allowed"), [(1, False), (2, False), (4, True), (8, True)])
def test_a_table_that_is_only_read(client, server, access, allowed):
    table = acid_table("t")
    table.accessType = access
    client.create_table(table)
    assert client.table("default", "t").accessType == access
    if allowed:
        client.table("default", "t", write=True)
    else:
        with pytest.raises(TransactionError, match=f"access type {access}"):
            client.table("default", "t", write=True)


@pytest.mark.parametrize("call", ["open", "valid_transactions"])
def test_transactions_on_an_older_metastore_are_refused(call):
    """Version 2.3 has neither write ids nor the calls of version 4; nothing is left open there."""
    without = (*OF_3, "get_open_txns")
    with FakeMetastore(without=without) as server, HiveMetastore(server.uri) as metastore:
        with pytest.raises(MethodNotSupportedError, match=r"3\.1 or newer: .* is missing"):
            getattr(TransactionClient(metastore), call)()
        assert not sent(server, "open_txns")


def test_a_commit_whose_answer_was_lost_is_sent_again(client, server):
    transaction = client.open()
    server.inject(FaultKind.DROP_AFTER, method="commit_txn")
    client.commit(transaction)
    assert server.counts["commit_txn"] == 2
    assert transaction not in client.valid_transactions().open


@pytest.mark.parametrize("method", ["open_txns", "lock"])
def test_what_must_not_be_sent_twice(client, server, method):
    transaction = client.open()
    before = server.counts[method]
    server.inject(FaultKind.DROP_AFTER, method=method)
    with pytest.raises(MetastoreLostError):
        client.open() if method == "open_txns" else client.lock(transaction, writes("t"))
    assert server.counts[method] == before + 1


def test_names_of_errors(client):
    first, second = client.open(), client.open()
    for one in (first, second):
        client.lock(one, writes("t"))
    client.commit(first)
    with pytest.raises(TransactionConflictError, match="conflict") as caught:
        client.commit(second)
    assert caught.value.path == client.metastore.uri and "repeat" in (caught.value.remedy or "")
    with pytest.raises(TransactionLostError, match="aborted"):
        client.heartbeat(second)
    with pytest.raises(TransactionLockError, match="No such lock"):
        client.check_lock(first, 999)


def test_the_time_of_the_metastore(client):
    assert client.timeout_seconds() == 300


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("300s", 300), ("300", 300), (" 5 min ", 300), ("1500ms", 1.5), ("2MINUTES", 120), ("1h", 3600), ("1d", 86400)],
)
def test_times_of_hive_s_properties_are_parsed(text, seconds):
    assert parse_seconds(text, "here") == seconds


@pytest.mark.parametrize("text", ["", "s", "3 weeks", "-1s", "0s", "1.5s"])
def test_texts_that_are_no_times_are_refused(text):
    with pytest.raises(TransactionError, match="no time"):
        parse_seconds(text, "here")


def test_states_of_locks(client):
    first, second = client.open(), client.open()
    assert client.lock(first, writes("t")).state is LockState.ACQUIRED
    assert client.lock(second, writes("t")).state is LockState.WAITING
