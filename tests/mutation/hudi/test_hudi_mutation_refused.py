"""Mutations of Hudi tables that are refused: calls out of order, faulty records, foreign files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.errors import (
    DuplicateRecordError,
    GroupRevisitedError,
    HudiHiveError,
    InvalidOptionError,
    MutationError,
    MutationStateError,
    RecordIdentifierError,
    RecordPartitionError,
    SchemaError,
    StaleRecordError,
    UnknownColumnError,
    UnknownRecordError,
)
from hudi_hive.mutation import TransactionState
from hudi_hive.mutation.hudi import (
    HudiManifest,
    HudiMutationTable,
    HudiMutatorClient,
    HudiMutatorCoordinator,
)
from hudi_hive.table.properties import MERGE_ON_READ
from hudi_hive.table_api import HudiTable
from hudi_hive.write.coordination import beating_instants, remove_heartbeat
from tests.support.mutation.hudi_mutation_helpers import (
    AT_FIRST,
    DELETE,
    INSERT,
    QUICK,
    UPDATE,
    change,
    data_files,
    make,
    row,
    seen,
    staged,
    table_of,
)


def test_calls_that_do_not_fit_the_state_are_refused(tmp_path):
    table = make(tmp_path)
    client = HudiMutatorClient(table.path, QUICK)
    with pytest.raises(MutationStateError, match="not connected"):
        client.new_transaction()
    with client:
        with pytest.raises(MutationStateError, match="connected already"):
            client.connect()
        with pytest.raises(MutationStateError, match="not open for writing"):
            HudiMutatorCoordinator(client.tables[0])
        txn = client.new_transaction()
        for call in (txn.table, txn.reader, txn.commit, txn.abort, lambda: txn.accept()):
            with pytest.raises(MutationStateError):
                call()
        txn.begin()
        with pytest.raises(MutationStateError, match="cannot begin"):
            txn.begin()
        with pytest.raises(MutationStateError, match="is open"):
            client.new_transaction()
        txn.commit()
        for call in (txn.commit, txn.abort, txn.begin):
            with pytest.raises(MutationStateError, match="committed"):
                call()
        never, left_open = client.new_transaction(), client.new_transaction().begin()
        with pytest.raises(MutationStateError, match="cannot begin"):
            never.begin()  # which would undo the open one as that of a dead writer
        assert left_open.state is TransactionState.OPEN
    assert left_open.state is TransactionState.ABORTED
    with pytest.raises(MutationStateError, match="cannot begin"):
        never.begin()  # which nobody would close
    with pytest.raises(InvalidOptionError, match="insert"):
        HudiMutatorClient(table.path, {"hoodie.datasource.write.operation": "insert"})
    assert not table.refresh().timeline.pending()


def test_a_coordinator_takes_nothing_after_its_end(tmp_path):
    table = make(tmp_path)
    with HudiMutatorClient(table.path, QUICK) as client, client.new_transaction() as txn:
        closed = HudiMutatorCoordinator(txn.table())
        closed.update(["x"], row("a", 2, "a2"))
        assert closed.close() == closed.close()
        for call in (closed.insert, closed.update, closed.delete):
            with pytest.raises(MutationStateError, match="is closed"):
                call(["x"], row("n", 2, "n"))
        failed = HudiMutatorCoordinator(txn.table(), attempt="other")
        failed.delete(["x"], {"id": "b"})
        failed.discard()
        with pytest.raises(MutationStateError, match="discarded"):
            failed.close()
        txn.accept(closed.close())
        with pytest.raises(GroupRevisitedError, match="counted already"):
            txn.accept(closed.close())
    assert seen(table) == {**AT_FIRST, ("a", "x"): (2, "a2")}


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c.update(["x"], row("q", 2, "q")), UnknownRecordError, "'q' of partition 'x'"),
        (lambda c: c.update(["y"], row("a", 2, "q")), UnknownRecordError, "'a' of partition 'y'"),
        (lambda c: c.delete(["z"], {"id": "a"}), UnknownRecordError, "delete of record 'a'"),
        (lambda c: c.insert(["x"], row("a", 2, "q")), DuplicateRecordError, "update it"),
        (
            lambda c: (c.insert(["x"], row("n", 2, "q")), c.insert(["x"], row("n", 3, "q"))),
            DuplicateRecordError,
            "once",
        ),
        (lambda c: (c.update(["x"], row("a", 2, "q")), c.delete(["x"], {"id": "a"})), DuplicateRecordError, "once"),
        (lambda c: c.update(["x"], row("a", 0, "q")), StaleRecordError, "older than the table's, by ts"),
        (lambda c: c.update(["y"], {**row("a", 2, "q"), "p": "x"}), RecordPartitionError, "its columns say 'x'"),
        (lambda c: c.insert(["x"], row("", 2, "q")), RecordIdentifierError, "null or empty"),
        (lambda c: c.delete(["x"], {"id": None}), RecordIdentifierError, "null or empty"),
        (lambda c: c.insert([], row("n", 2, "q")), MutationError, "0 partition values for 1"),
        (lambda c: c.insert([".."], row("n", 2, "q")), MutationError, "no folder"),
        (lambda c: c.insert(["x"], {"id": "n", "ts": 1}), SchemaError, "lacks v"),
        (lambda c: c.insert(["x"], {**row("n", 2, "q"), "w": 1}), SchemaError, "unknown w"),
        (lambda c: c.insert(["x"], row("n", "two", "q")), SchemaError, "does not fit"),
        (lambda c: c.insert(["x"], row("n", 1.5, "q")), SchemaError, r"1\.5 is no value"),
        (lambda c: c.insert(["x"], ["n", 1, "q"]), SchemaError, "is a list"),
        (lambda c: c.insert(["x"], {**row("n", 2, "q"), "ID": "m"}), SchemaError, "only in case"),
        (lambda c: c.insert_batch(pa.table({"id": ["n"], "p": ["x"], "ts": [1]})), SchemaError, "lack v"),
        (lambda c: c.insert_batch(pa.table({"id": ["n"], "q": ["x"]})), UnknownColumnError, "no column q"),
        (lambda c: c.delete_batch(pa.table({"p": ["x"]})), RecordIdentifierError, "no column 'id'"),
        (lambda c: c.delete_batch(pa.table({"id": ["a"]})), RecordPartitionError, "no column 'p'"),
        (lambda c: c.mutate_batch(pa.table({"id": ["a"], "p": ["x"]}), 7), MutationError, "operations are"),
    ],
)
def test_each_fault_has_its_own_error_and_nothing_becomes_visible(tmp_path, call, error, words):
    table = make(tmp_path)
    files = data_files(table)
    with (
        HudiMutatorClient(table.path, QUICK) as client,
        pytest.raises(error, match=words) as caught,
        client.new_transaction() as txn,
    ):
        good = HudiMutatorCoordinator(txn.table())
        good.update(["x"], row("b", 2, "b2"))
        txn.accept(good.close())
        coordinator = HudiMutatorCoordinator(txn.table())
        call(coordinator)
        txn.accept(coordinator.close())
    assert type(caught.value) is error
    assert txn.state is TransactionState.ABORTED
    assert seen(table) == AT_FIRST
    assert data_files(table) == files
    assert staged(table) == [] and not table.refresh().timeline.pending()


def test_types_that_would_change_the_table_are_refused(tmp_path):
    table = make(tmp_path)
    with HudiMutatorClient(table.path, QUICK) as client, client.new_transaction() as txn:
        for wrong in (pa.array([1.5]), pa.array(["one"])):
            coordinator = HudiMutatorCoordinator(txn.table())
            with pytest.raises(SchemaError):
                coordinator.insert_batch(pa.table({"id": ["n"], "p": ["x"], "ts": wrong, "v": ["n"]}))
        fits = HudiMutatorCoordinator(txn.table())
        fits.insert_batch(pa.table({"ID": ["n"], "P": ["x"], "ts": pa.array([2], pa.int16()), "v": ["n"]}))
        txn.accept(fits.close())
    assert seen(table)["n", "x"] == (2, "n")


def test_a_row_that_is_marked_as_deleted_is_refused(tmp_path):
    table = HudiTable.create(tmp_path / "t", name="t", record_keys=["id"], ordering_fields=["ts"])
    table.insert(pa.table({"id": ["a"], "ts": [1], "_hoodie_is_deleted": [False]}), QUICK)
    with HudiMutatorClient(table.path, QUICK) as client, pytest.raises(MutationError, match="marked as deleted"):
        change(client, [(UPDATE, {"id": "a", "ts": 2, "_hoodie_is_deleted": True})])
    assert table.refresh().scan().to_arrow().num_rows == 1


def test_what_an_order_by_events_might_drop_is_refused(tmp_path):
    table = make(tmp_path, 8, MERGE_ON_READ)
    with HudiMutatorClient(table.path, QUICK) as client:
        change(client, [(UPDATE, row("a", 7, "a7")), (DELETE, {"id": "b"})], ["x"])
        with pytest.raises(StaleRecordError, match="older"):
            change(client, [(UPDATE, row("a", 6, "a6"))], ["x"])
        with pytest.raises(StaleRecordError, match="deleted in a log file"):
            change(client, [(INSERT, row("b", 9, "b9"))], ["x"])
        change(client, [(UPDATE, row("a", 7, "equal"))], ["x"])
        compacting = {**QUICK, "hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
        table.upsert(table_of([("d", "y", 2, "d2"), ("a", "x", 8, "a8")]), compacting)
        change(client, [(INSERT, row("b", 0, "b0"))], ["x"])
    assert seen(table) == {**AT_FIRST, ("a", "x"): (8, "a8"), ("b", "x"): (0, "b0"), ("d", "y"): (2, "d2")}


def test_a_writer_whose_files_others_rolled_back_gets_an_error(tmp_path):
    table = make(tmp_path)
    with HudiMutatorClient(table.path, QUICK) as client:
        txn = client.new_transaction().begin()
        coordinator = HudiMutatorCoordinator(txn.table())
        coordinator.delete(["x"], {"id": "a"})
        manifest = coordinator.close()
        for instant in beating_instants(table.client.storage):
            remove_heartbeat(table.client.storage, instant)
        table.upsert(table_of([("d", "y", 2, "d2")]), QUICK)
        assert staged(table) == [], "the other writer rolled it back, with what was staged"
        with pytest.raises(HudiHiveError):
            txn.commit([manifest])
        assert txn.state is TransactionState.ABORTED
        change(client, [(DELETE, {"id": "a"})], ["x"])
    assert ("a", "x") not in seen(table)


def test_a_staged_file_that_is_not_the_manifests_is_refused(tmp_path):
    table = make(tmp_path)
    with HudiMutatorClient(table.path, QUICK) as client:
        for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-40])):
            with pytest.raises(MutationError, match="staged"), client.new_transaction() as txn:
                coordinator = HudiMutatorCoordinator(txn.table(), attempt="mine")
                coordinator.delete(["x"], {"id": "a"})
                txn.accept(coordinator.close())
                (path,) = Path(table.path.removeprefix("file:")).glob(".hoodie/.temp/*/mine/*")
                damage(path)
        with client.new_transaction() as other, pytest.raises(MutationError, match="is none of"):
            other.accept(coordinator.close())
    assert seen(table) == AT_FIRST


def test_texts_carry_no_secrets_and_are_not_mistaken(tmp_path):
    table = make(tmp_path)
    secret = {**QUICK, "hoodie.datasource.hive_sync.password": "tell nobody"}
    with HudiMutatorClient(table.path, secret, storage_options={}) as client:
        (handle,) = client.tables
    assert "nobody" not in handle.encode()
    assert HudiMutationTable.decode(handle.encode()) == handle
    for text in (
        "",
        handle.encode().replace("Hudi", "Acid"),
        handle.encode()[:-5],
        handle.encode().replace("schema", "x"),
    ):
        with pytest.raises(MutationError):
            HudiMutationTable.decode(text)
    manifest = HudiManifest("file:/t", "1", "a", "p", 3, 1, 2, 3)
    assert HudiManifest.decode(manifest.encode()) == manifest
    odd = [manifest.encode().replace(*one) for one in (('"a"', "[1]"), ('"inserts":1', '"inserts":true'))]
    for text in ("", handle.encode(), manifest.encode()[:-2], *odd):
        with pytest.raises(MutationError):
            HudiManifest.decode(text)


def test_a_table_that_cannot_be_mutated_is_refused_when_connecting(tmp_path):
    HudiTable.create(tmp_path / "empty", name="t", record_keys=["id"])
    with pytest.raises(SchemaError, match="no schema yet"):
        HudiMutatorClient(tmp_path / "empty").connect()
    HudiTable.create(tmp_path / "keyless", name="t").bulk_insert(pa.table({"v": [1]}), QUICK)
    with pytest.raises(InvalidOptionError, match="record key"):
        HudiMutatorClient(tmp_path / "keyless").connect()
    with pytest.raises(InvalidOptionError, match="unknown option"):
        HudiMutatorClient(make(tmp_path).path, {"hoodie.no.such": "1"}).connect()
