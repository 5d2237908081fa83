"""Transactions over Hudi tables: inserts, updates and deletes of records by key as one instant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive.errors import (
    DuplicateRecordError,
    InvalidOptionError,
    MutationStateError,
    RecordPartitionError,
    TransactionConflictError,
    UnknownRecordError,
)
from hudi_hive.metadata.reader import validate
from hudi_hive.metastore import HiveMetastore
from hudi_hive.mutation import TransactionState
from hudi_hive.mutation.hudi import (
    HudiManifest,
    HudiMutationTable,
    HudiMutatorClient,
    HudiMutatorCoordinator,
)
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.table_api import HudiTable
from hudi_hive.testing import FakeMetastore
from tests.support.mutation.hudi_mutation_helpers import (
    AT_FIRST,
    DELETE,
    INSERT,
    MANY,
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
from tests.support.running.long import TABLE_CASES, VERSION_CASES

everywhere = pytest.mark.parametrize(("version", "kind"), TABLE_CASES)
both_kinds = pytest.mark.parametrize("kind", [COPY_ON_WRITE, MERGE_ON_READ])


@everywhere
def test_one_instant_holds_inserts_updates_and_deletes_of_many_partitions(tmp_path, version, kind):
    table = make(tmp_path, version, kind, {})
    before = len(table.refresh().timeline.completed())
    with HudiMutatorClient(table.path) as client, client.new_transaction() as txn:
        text = txn.table().encode()
        first = HudiMutatorCoordinator(HudiMutationTable.decode(text))
        first.insert(["z"], row("n", 2, "n2"))
        first.update(["x"], row("a", 2, "a2"))
        first.delete(["y"], {"id": "c"})
        second = HudiMutatorCoordinator(HudiMutationTable.decode(text))
        second.insert_batch(table_of([("a", "z", 2, "az"), ("m", "x", 2, "m2")]))
        second.update_batch(table_of([("d", "y", 2, "d2")]))
        manifests = [HudiManifest.decode(one.close().encode()) for one in (first, second)]
        assert [one.rows for one in manifests] == [3, 3]
        assert seen(table) == AT_FIRST
        txn.accept(*manifests)
        assert seen(table) == AT_FIRST
    assert txn.state is TransactionState.COMMITTED
    assert seen(table) == {
        ("a", "x"): (2, "a2"),
        ("b", "x"): (1, "b1"),
        ("d", "y"): (2, "d2"),
        ("n", "z"): (2, "n2"),
        ("a", "z"): (2, "az"),
        ("m", "x"): (2, "m2"),
    }
    assert txn.report is not None and txn.report.services is not None and not txn.report.services.failed
    assert (txn.report.inserted, txn.report.updated, txn.report.deleted) == (3, 2, 1)
    after = table.refresh()
    assert len(after.timeline.completed()) == before + 1 and not after.timeline.pending()
    assert after.timeline.completed()[-1].requested == txn.id
    assert staged(table) == []
    assert validate(after.client).is_valid


@both_kinds
def test_an_abort_or_an_error_leaves_the_table_as_it_was(tmp_path, kind):
    table = make(tmp_path, kind=kind)
    files = data_files(table)
    with HudiMutatorClient(table.path, QUICK) as client:
        txn = client.new_transaction().begin()
        coordinator = HudiMutatorCoordinator(txn.table())
        coordinator.delete(["x"], {"id": "a"})
        txn.accept(coordinator.close())
        assert staged(table)
        txn.abort()
        assert txn.state is TransactionState.ABORTED
        with pytest.raises(ZeroDivisionError), client.new_transaction() as failing:
            HudiMutatorCoordinator(failing.table()).insert(["x"], row("n", 2, "n"))
            raise ZeroDivisionError
        assert failing.state is TransactionState.ABORTED
        with client.new_transaction():
            pass  # nothing to do is an instant too
    assert seen(table) == AT_FIRST
    assert data_files(table) == files
    assert staged(table) == []
    assert not table.refresh().timeline.pending()


def test_what_coordinators_of_the_transaction_itself_took_is_committed(tmp_path):
    table = make(tmp_path)
    with table.mutator(QUICK) as client:
        with client.new_transaction() as first:
            first.coordinator().delete(["x"], {"id": "a"})
            told = first.coordinator()
            told.insert(["y"], {"id": "e", "ts": 1, "v": "e1"})
            first.accept(told.close())
        assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == ["b", "c", "d", "e"]
        second = client.new_transaction().begin()
        second.coordinator().delete(["x"], {"id": "b"})
        second.coordinator().discard()
        with pytest.raises(MutationStateError, match="failed or was discarded"):
            second.commit()
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == ["b", "c", "d", "e"]


def test_a_global_index_finds_records_in_other_partitions_and_moves_them(tmp_path):
    options = {**QUICK, "hoodie.index.type": "GLOBAL_BLOOM"}
    table = make(tmp_path, options=options)
    with HudiMutatorClient(table.path, options) as client:
        for call in (UPDATE, DELETE):
            with pytest.raises(RecordPartitionError, match="in another partition"):
                change(client, [(call, row("a", 2, "q"))], ["y"])
        with pytest.raises(DuplicateRecordError, match="in the table already"):
            change(client, [(INSERT, row("a", 2, "q"))], ["z"])
        with pytest.raises(DuplicateRecordError, match="more than once"):
            change(client, [(DELETE, {"id": "a"}), (INSERT, row("a", 2, "q"))], ["x"])
        with client.new_transaction() as txn:
            coordinator = HudiMutatorCoordinator(txn.table())
            coordinator.delete(["x"], {"id": "a"})
            coordinator.insert(["z"], row("a", 2, "az"))
            txn.accept(coordinator.close())
    moved = dict(AT_FIRST)
    del moved["a", "x"]
    assert seen(table) == {**moved, ("a", "z"): (2, "az")}


@pytest.mark.parametrize("version", VERSION_CASES)
def test_records_that_log_files_deleted_are_not_there(tmp_path, version):
    """By commit time; their keys still stand in base files."""
    table = make(tmp_path, version, MERGE_ON_READ, ordering_fields=[])
    with HudiMutatorClient(table.path, QUICK) as client:
        change(client, [(DELETE, {"id": "a"})], ["x"])
        for call in (UPDATE, DELETE):
            with pytest.raises(UnknownRecordError, match="'a' of partition 'x'"):
                change(client, [(call, row("a", 2, "q"))], ["x"])
        change(client, [(INSERT, row("a", 0, "again")), (UPDATE, row("b", 0, "b0"))], ["x"])
        assert seen(table) == {**AT_FIRST, ("a", "x"): (0, "again"), ("b", "x"): (0, "b0")}
        change(client, [(UPDATE, row("a", 3, "a3"))], ["x"])
    assert seen(table) == {**AT_FIRST, ("a", "x"): (3, "a3"), ("b", "x"): (0, "b0")}


@both_kinds
def test_a_bucket_index_finds_records_too(tmp_path, kind):
    options = {**QUICK, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    table = make(tmp_path, kind=kind, options=options, ordering_fields=[])
    with HudiMutatorClient(table.path, options) as client:
        with pytest.raises(UnknownRecordError):
            change(client, [(UPDATE, row("q", 2, "q"))], ["x"])
        with pytest.raises(DuplicateRecordError):
            change(client, [(INSERT, row("a", 2, "q"))], ["x"])
        change(client, [(INSERT, row("q", 2, "q")), (UPDATE, row("a", 2, "a2")), (DELETE, {"id": "b"})], ["x"])
        with pytest.raises(UnknownRecordError):
            change(client, [(DELETE, {"id": "b"})], ["x"])
        change(client, [(INSERT, row("b", 3, "b3")), (INSERT, row("r", 3, "r3"))], ["x"])
        change(client, [(INSERT, row("b", 3, "zb"))], ["z"])
    assert seen(table) == {
        **AT_FIRST,
        ("a", "x"): (2, "a2"),
        ("b", "x"): (3, "b3"),
        ("q", "x"): (2, "q"),
        ("r", "x"): (3, "r3"),
        ("b", "z"): (3, "zb"),
    }


@both_kinds
def test_the_record_index_is_used_and_kept_up_to_date(tmp_path, kind):
    options = {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.record.index.enable": "true"}
    table = make(tmp_path, kind=kind, options=options)
    with HudiMutatorClient(table.path, options) as client:
        change(client, [(INSERT, row("q", 2, "q")), (UPDATE, row("a", 2, "a2")), (DELETE, {"id": "b"})], ["x"])
        with pytest.raises(UnknownRecordError):
            change(client, [(UPDATE, row("b", 9, "b"))], ["x"])
        with pytest.raises(RecordPartitionError):
            change(client, [(UPDATE, row("q", 9, "b"))], ["y"])
    assert seen(table) == {
        k: v for k, v in {**AT_FIRST, ("a", "x"): (2, "a2"), ("q", "x"): (2, "q")}.items() if k[0] != "b"
    }
    assert validate(table.refresh().client).is_valid


def test_the_first_of_two_transactions_on_a_file_group_wins(tmp_path):
    table = make(tmp_path)
    with HudiMutatorClient(table.path, MANY) as one, HudiMutatorClient(table.path, MANY) as two:
        first, second, third = (
            client.new_transaction().begin() for client in (one, two, HudiMutatorClient(table.path, MANY).connect())
        )
        for txn, key, values in ((first, "a", ["x"]), (second, "b", ["x"]), (third, "c", ["y"])):
            coordinator = HudiMutatorCoordinator(txn.table())
            coordinator.update(values, row(key, 2, "mine"))
            txn.accept(coordinator.close())
        first.commit()
        with pytest.raises(TransactionConflictError, match="same file group"):
            second.commit()
        assert second.state is TransactionState.ABORTED
        third.commit()  # another partition
        change(two, [(UPDATE, row("b", 2, "again"))], ["x"])
    assert seen(table) == {**AT_FIRST, ("a", "x"): (2, "mine"), ("b", "x"): (2, "again"), ("c", "y"): (2, "mine")}
    assert staged(table) == []


def test_what_a_worker_stages_after_the_end_is_removed_by_the_next_write(tmp_path):
    table = make(tmp_path)
    with HudiMutatorClient(table.path, QUICK) as client:
        txn = client.new_transaction().begin()
        late = HudiMutatorCoordinator(txn.table())
        txn.commit()
        late.delete(["x"], {"id": "a"})
        late.close()
        assert staged(table)
        table.upsert(table_of([("d", "y", 2, "d2")]), QUICK)
    assert staged(table) == []
    assert seen(table) == {**AT_FIRST, ("d", "y"): (2, "d2")}


@both_kinds
@pytest.mark.parametrize(
    ("settings", "values", "other"),
    [
        ({"partition_fields": []}, [], None),
        ({"partition_fields": ["p", "ts"], "ordering_fields": []}, ["x", "1"], ["x", "2"]),
        ({"hive_style_partitioning": True, "url_encode_partitioning": True}, ["x"], ["a/b"]),
        ({"record_keys": ["id", "v"], "ordering_fields": []}, ["x"], ["y"]),
    ],
)
def test_partition_values_of_all_kinds(tmp_path, kind, settings, values, other):
    table = make(tmp_path, kind=kind, **settings)
    keys = dict(zip(settings.get("partition_fields", ["p"]), values, strict=False))
    with HudiMutatorClient(table.path, QUICK) as client:
        record: dict[str, Any] = {"id": "a", "p": "x", "ts": 1, "v": "a1"}
        for name in keys:
            del record[name]
        if settings.get("record_keys") is None:
            record["v"] = "changed"
        change(client, [(UPDATE, record)], values)
        if other is not None:
            change(client, [(INSERT, record)], other)
        rows = HudiTable.open(table.path).scan(row_filter="id = 'a'").to_arrow().to_pylist()
        assert len(rows) == 1 + (other is not None)
        assert {one["v"] for one in rows} == {record["v"]}
        if values:
            path = sorted(one["_hoodie_partition_path"] for one in rows)
            assert len(set(path)) == 2
            change(client, [(DELETE, record)], other)
        change(client, [(DELETE, record)], values)
    assert HudiTable.open(table.path).scan(row_filter="id = 'a'").to_arrow().num_rows == 0


@both_kinds
def test_a_history_of_random_transactions(tmp_path, kind):
    """Against a dictionary; batches of all operations in random order, some of them given up."""
    random = np.random.default_rng(7)
    table = make(tmp_path, kind=kind, ordering_fields=[])
    model = dict(AT_FIRST)
    compacting = {**QUICK, "hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}
    with HudiMutatorClient(table.path, compacting) as client:
        for step in range(10):
            after = dict(model)
            records: list[tuple[int, tuple[str, str, int, str]]] = []
            for number in random.choice(60, 25, replace=False).tolist():
                place = (f"k{number}", "xyz"[number % 3])
                old = after.get(place)
                operation = INSERT if old is None else int(random.integers(UPDATE, DELETE + 1))
                records.append((operation, (*place, step, f"{number} {step}")))
                if operation == DELETE:
                    del after[place]
                else:
                    after[place] = (step, f"{number} {step}")
            txn = client.new_transaction().begin()
            for part in (records[:11], records[11:]):
                coordinator = HudiMutatorCoordinator(txn.table())
                coordinator.mutate_batch(table_of([one for _, one in part]), np.array([o for o, _ in part], np.int8))
                txn.accept(coordinator.close())
            if step % 4 == 3:
                txn.abort()
            else:
                txn.commit()
                model = after
            assert seen(table) == model


def test_the_reader_shows_the_table_as_of_the_begin(tmp_path):
    table = make(tmp_path)
    with HudiMutatorClient(table.path, MANY) as client, client.new_transaction() as txn:
        table.upsert(table_of([("c", "y", 5, "later")]), MANY)
        rows = txn.reader().read(row_filter="p = 'y'")
        assert sorted(rows.column("v").to_pylist()) == ["c1", "d1"]
        coordinator = HudiMutatorCoordinator(txn.table())
        x = txn.reader().read(row_filter="p = 'x'")  # with its meta columns
        coordinator.update_batch(x.set_column(x.schema.get_field_index("v"), "v", pa.array(["n"] * x.num_rows)))
        txn.accept(coordinator.close())
    assert seen(table) == {
        ("a", "x"): (1, "n"),
        ("b", "x"): (1, "n"),
        ("c", "y"): (5, "later"),
        ("d", "y"): (1, "d1"),
    }


def test_a_requested_sync_follows_the_commit_or_is_refused(tmp_path):
    table = make(tmp_path)
    asked = {
        **QUICK,
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.datasource.hive_sync.mode": "hms",
        "hoodie.datasource.hive_sync.metastore.uris": "",
    }
    with pytest.raises(InvalidOptionError, match="nothing is there to do it"):
        HudiMutatorClient(table.path, asked).connect()
    with FakeMetastore() as metastore:
        uris = {"hoodie.datasource.hive_sync.metastore.uris": metastore.uri}
        named = {"hoodie.datasource.hive_sync.database": "default", "hoodie.datasource.hive_sync.table": "t"}
        with table.mutator({**asked, **uris, **named}, checkpoint="42") as client:
            txn = change(client, [(INSERT, row("n", 2, "n"))], ["new"])
        with HiveMetastore(metastore.uri) as store:
            partitions = {tuple(one.values) for one in store.partitions("default", "t")}
    assert partitions == {("x",), ("y",), ("new",)}
    assert txn.report is not None
    assert table.refresh().timeline.commit_metadata(txn.report.instant).extra["checkpoint"] == "42"
