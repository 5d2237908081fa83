"""Clients and coordinators over whole transactions, whichever metastore keeps them: a fake one or a real one.

A subclass gives the fixtures ``metastore`` (anything with ``uri``) and ``warehouse`` (a folder for tables).
"""

from __future__ import annotations

import copy
import io
import itertools
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from hudi_hive.errors import (
    GroupRevisitedError,
    HudiHiveError,
    MutationError,
    MutationStateError,
    PartitionCreationError,
    TransactionConflictError,
    TransactionLockError,
    TransactionLostError,
    UnsupportedAcidTableError,
)
from hudi_hive.metastore import HiveMetastore, Partition, TransactionClient, ValidWriteIds
from hudi_hive.mutation.acid_table import AcidTable
from hudi_hive.mutation.acid_write import (
    MutationManifest,
    MutatorClient,
    MutatorCoordinator,
    RowId,
    Transaction,
    merge,
)
from hudi_hive.mutation.core import LockSettings, TransactionState
from tests.support.mutation.acid_definitions import acid_table
from tests.support.running.waiting import wait_until

STATISTICS = "COLUMN_STATS_ACCURATE"
_numbers = itertools.count(int(time.time() * 1000))
Rows = dict[RowId, tuple[str, int, str]]
"""Identifier to partition folder, id and message."""


def visible_rows(folder: Path, valid: ValidWriteIds) -> Rows:
    """What a reader of deltas sees, in the plainest way."""
    rows: Rows = {}
    gone: set[RowId] = set()
    for path in folder.rglob("bucket_*"):
        if "_hudi_hive_mutation" in path.parts or not valid.is_valid(int(path.parent.name.split("_")[-2])):
            continue
        partition = path.parent.parent.relative_to(folder).as_posix()
        for event in orc.ORCFile(io.BytesIO(path.read_bytes())).read().to_pylist():
            key = RowId(event["originalTransaction"], event["bucket"], event["rowId"])
            if event["operation"] == 2:
                gone.add(key)
            else:
                rows[key] = (partition, event["row"]["id"], event["row"]["msg"])
    return {key: row for key, row in rows.items() if key not in gone}


def write(table: AcidTable, ids: list[int], partition: tuple[str, ...] = ()) -> list[MutationManifest]:
    """Insert rows, a coordinator for each, so that order does not matter; ids 0 to 9 fall into both buckets."""
    manifests = []
    for statement, number in enumerate(ids):
        coordinator = MutatorCoordinator(table, statement=statement)
        coordinator.insert(partition, {"id": number, "msg": f"m{number}"})
        manifests.append(coordinator.close())
    return manifests


class MutationTables:
    """What the tests share."""

    @pytest.fixture
    def transactions(self, metastore: Any) -> Iterator[TransactionClient]:
        with HiveMetastore(metastore.uri) as client:
            yield TransactionClient(client)

    def make(self, transactions: TransactionClient, warehouse: Path, *, partitioned: bool = False) -> str:
        name = f"m{next(_numbers)}"
        keys = [("country", "string")] if partitioned else []
        made = acid_table(f"file:{warehouse}/{name}", keys=keys, name=name)
        transactions.create_table(made)
        return name

    def see(self, transactions: TransactionClient, warehouse: Path, name: str) -> Rows:
        valid = transactions.valid_write_ids("default", name, transactions.valid_transactions())
        return visible_rows(warehouse / name, valid)

    def ids(self, transactions: TransactionClient, warehouse: Path, name: str) -> list[int]:
        return sorted(number for _, number, _ in self.see(transactions, warehouse, name).values())


class MutationBasics(MutationTables):
    """What is tested on each release: inserts, updates, deletes and merges, with commits and aborts."""

    def test_rows_are_visible_after_the_commit_alone(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"]) as client:
            with client.new_transaction() as first:
                assert first.state.value == "open"
                first.accept(*write(first.table("default", name), [1, 2, 3]))
                assert not self.ids(transactions, warehouse, name)
            assert first.state is TransactionState.COMMITTED
            assert self.ids(transactions, warehouse, name) == [1, 2, 3]

            with client.new_transaction() as second:
                valid = second.valid_write_ids("default", name)
                rows = {row[1]: key for key, row in visible_rows(warehouse / name, valid).items()}
                for number, manifest in self._change(second.table("default", name), rows):
                    assert manifest.rows == 1, number
                    second.accept(manifest)
            assert sorted(self.see(transactions, warehouse, name).values()) == [(".", 1, "m1"), (".", 2, "changed")]

            third = client.new_transaction().begin()
            third.accept(*write(third.table("default", name), [7]))
            third.abort()
            assert third.state is TransactionState.ABORTED
            assert self.ids(transactions, warehouse, name) == [1, 2]
        assert not list((warehouse / name / "_hudi_hive_mutation").iterdir())

    def test_what_coordinators_of_the_transaction_itself_took_is_committed(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"]) as client:
            with client.new_transaction() as first:
                for number in (1, 2):
                    first.coordinator("default", name).insert((), {"id": number, "msg": "mine"})
                told = first.coordinator("default", name)
                told.insert((), {"id": 3, "msg": "told"})
                first.accept(told.close())
            assert self.ids(transactions, warehouse, name) == [1, 2, 3]
            second = client.new_transaction().begin()
            second.coordinator("default", name).insert((), {"id": 4, "msg": "never"})
            second.coordinator("default", name).discard()
            with pytest.raises(MutationStateError, match="failed or was discarded"):
                second.commit()
            assert second.state is TransactionState.ABORTED
        assert self.ids(transactions, warehouse, name) == [1, 2, 3]

    def _change(self, table: AcidTable, rows: dict[int, RowId]) -> Iterator[tuple[int, MutationManifest]]:
        for statement, number in enumerate((2, 3)):
            coordinator = MutatorCoordinator(table, statement=statement)
            if number == 2:
                coordinator.update((), {"id": 2, "msg": "changed", "ROW__ID": rows[2]})
            else:
                coordinator.delete((), {"ROW__ID": rows[3]})
            yield number, coordinator.close()

    def test_merges_leave_what_a_dictionary_would(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        """Random merges over partitions and buckets, by two tasks each, some of them aborted."""
        name = self.make(transactions, warehouse, partitioned=True)
        chance = random.Random(7)
        model: dict[int, tuple[str, str]] = {}
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"], create_partitions=True) as client:
            for number in range(12):
                changes = {
                    chance.randrange(30): (f"round {number}", chance.choice("xyz"), chance.random() < 0.25)
                    for _ in range(8)
                }
                txn = client.new_transaction().begin()
                self._merge(txn, name, changes)
                if chance.random() < 0.25:
                    txn.abort()
                else:
                    txn.commit()
                    model |= {key: (message, country) for key, (message, country, _) in changes.items()}
                    model = {key: row for key, row in model.items() if key not in changes or not changes[key][2]}
                with client.new_transaction() as last:
                    found = last.reader("default", name).read(with_row_id=False).to_pylist()
                assert {row["id"]: (row["msg"], row["country"]) for row in found} == model
                assert len(found) == len(model)

    def _merge(self, txn: Transaction, name: str, changes: dict[int, tuple[str, str, bool]]) -> None:
        columns = {
            "id": pa.array(changes, pa.int32()),
            "msg": pa.array([message for message, _, _ in changes.values()]),
            "country": pa.array([country for _, country, _ in changes.values()]),
            "gone": pa.array([gone for _, _, gone in changes.values()]),
        }
        merged = merge(txn.reader("default", name), pa.table(columns), ["id"], delete_where="gone = true")
        for part in merged.split(2):
            coordinator = MutatorCoordinator(txn.table("default", name))
            part.feed(coordinator)
            txn.accept(coordinator.close())


class MutationBehaviour(MutationBasics):
    """The tests."""

    def test_partitions_are_made_or_refused(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse, partitioned=True)
        sink = f"default.{name}"
        with MutatorClient(metastore.uri, sinks=[sink], create_partitions=True) as client:
            with client.new_transaction() as first:
                first.accept(*write(first.table("default", name), [1], ("x/y",)))
                first.accept(*write(first.table("default", name), [2], ("z",)))
            assert transactions.metastore.partition_names("default", name) == ["country=x%2Fy", "country=z"]
            seen = self.see(transactions, warehouse, name)
            assert sorted(seen.values()) == [("country=x%2Fy", 1, "m1"), ("country=z", 2, "m2")]
            second = client.new_transaction().begin()
            coordinator = MutatorCoordinator(second.table("default", name))
            coordinator.delete(("nowhere",), {"ROW__ID": next(iter(seen))})
            with pytest.raises(PartitionCreationError, match="nowhere"):
                second.commit([coordinator.close()])
            assert second.state is TransactionState.ABORTED
        with MutatorClient(metastore.uri, sinks=[sink]) as client, client.new_transaction() as third:
            third.accept(*write(third.table("default", name), [3], ("w",)))
        assert "country=w" not in transactions.metastore.partition_names("default", name)
        assert self.ids(transactions, warehouse, name) == [1, 2, 3]

    def test_partitions_may_lie_elsewhere(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse, partitioned=True)
        elsewhere = warehouse / f"{name}_elsewhere" / "p"
        sd = copy.deepcopy(transactions.table("default", name).sd)
        sd.location = f"file:{elsewhere}"
        moved = Partition(values=["x"], dbName="default", tableName=name, sd=sd, parameters={})
        transactions.metastore.add_partitions("default", name, [moved])
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"], create_partitions=True) as client:
            with client.new_transaction() as first:
                first.accept(*write(first.table("default", name), [1], ("x",)))
                first.accept(*write(first.table("default", name), [2], ("y",)))
            with client.new_transaction() as second:
                found = second.reader("default", name).read(with_row_id=False).to_pylist()
        assert sorted((row["id"], row["country"]) for row in found) == [(1, "x"), (2, "y")]
        assert [path.parent.parent for path in elsewhere.rglob("bucket_*")] == [elsewhere]

    def test_statistics_are_not_believed_any_more(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse, partitioned=True)
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"], create_partitions=True) as client:
            with client.new_transaction() as first:
                first.accept(*write(first.table("default", name), [1], ("x",)))
            store = transactions.metastore
            (partition,) = store.partitions("default", name)
            partition.parameters[STATISTICS] = '{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true"}}'
            with client.new_transaction() as setter:
                valid = setter.valid_write_ids("default", name)
                write_id = setter.table("default", name).write_id
                transactions.alter_partitions("default", name, [partition], write_id=write_id, valid=valid)
            assert all(STATISTICS in one.parameters for one in store.partitions("default", name))
            with client.new_transaction() as second:
                second.accept(*write(second.table("default", name), [2], ("x",)))
            (partition,) = store.partitions("default", name)
            assert STATISTICS not in partition.parameters

    def test_a_task_counts_once(self, metastore: Any, warehouse: Path, transactions: TransactionClient) -> None:
        """Two attempts at one task have written the same; the second one does not count."""
        name = self.make(transactions, warehouse)
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"]) as client, client.new_transaction() as txn:
            table = AcidTable.decode(txn.table("default", name).encode())
            first, second = (write(table, [5]) for _ in range(2))
            txn.accept(*first)
            with pytest.raises(GroupRevisitedError):
                txn.accept(*second)
        assert self.ids(transactions, warehouse, name) == [5]

    def test_calls_out_of_order_are_refused(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        client = MutatorClient(metastore.uri, sinks=[f"default.{name}"])
        with pytest.raises(MutationStateError, match="not connected"):
            client.new_transaction()
        with client:
            with pytest.raises(MutationStateError, match="connected already"):
                client.connect()
            txn = client.new_transaction()
            assert (txn.state, txn.id) == (TransactionState.INACTIVE, 0)
            for call in (txn.commit, txn.abort, txn.accept):
                with pytest.raises(MutationStateError, match="inactive"):
                    call()
            txn.begin()
            with pytest.raises(MutationStateError, match="open"):
                txn.begin()
            with pytest.raises(MutationStateError, match="is open"):
                client.new_transaction()
            txn.commit()
            for end in (txn.commit, txn.abort):
                with pytest.raises(MutationStateError, match="committed"):
                    end()
            with pytest.raises(RuntimeError), client.new_transaction() as failing:
                raise RuntimeError
            assert failing.state is TransactionState.ABORTED
            never, left = client.new_transaction(), client.new_transaction().begin()
            with pytest.raises(MutationStateError, match="cannot begin"), never:
                pass  # it would wait for the lock of the other one until the time is up
        assert left.state is TransactionState.ABORTED
        assert not client.connected

    def test_tables_are_checked_when_a_client_is_made(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        with (
            pytest.raises(HudiHiveError, match="nothing_here"),
            MutatorClient(metastore.uri, sinks=["default.nothing_here"]),
        ):
            pass
        name = f"m{next(_numbers)}"
        made = acid_table(f"file:{warehouse}/{name}", name=name, parameters={"bucketing_version": "9"})
        transactions.create_table(made)
        with pytest.raises(UnsupportedAcidTableError), MutatorClient(metastore.uri, sinks=[f"default.{name}"]):
            pass

    def test_one_writer_waits_for_another(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        sink = f"default.{name}"
        with (
            MutatorClient(metastore.uri, sinks=[sink]) as client,
            MutatorClient(metastore.uri, sinks=[sink], locks=LockSettings(wait_s=0.3)) as hasty,
            MutatorClient(metastore.uri, sinks=[sink]) as other,
        ):
            holder = client.new_transaction().begin()
            waiting = hasty.new_transaction()
            with pytest.raises(TransactionLockError, match=r"not granted within 0\.3 s"):
                waiting.begin()
            assert waiting.state is TransactionState.ABORTED
            holder.accept(*write(holder.table("default", name), [1]))
            holder.commit()
            late = other.new_transaction()
            old = holder.valid_write_ids("default", name)
            with pytest.raises(TransactionConflictError, match="written since"):
                late.begin(read_under=[old])
            current = transactions.valid_write_ids("default", name, transactions.valid_transactions())
            again = other.new_transaction().begin(read_under=[current])
            again.abort()

    def test_who_waited_sees_what_it_waited_for(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        """Two clients change the same row, the second while it waits for the first: both succeed, in turn."""
        name = self.make(transactions, warehouse, partitioned=True)
        sink = f"default.{name}"
        with (
            MutatorClient(metastore.uri, sinks=[sink], create_partitions=True) as client,
            HiveMetastore(metastore.uri) as store,
            MutatorClient(store, sinks=[sink]) as other,
            ThreadPoolExecutor(1) as thread,
        ):
            with client.new_transaction() as first:
                self._merge(first, name, {1: ("a", "x", False)})
            holder = client.new_transaction().begin()
            waiting = other.new_transaction()
            begun = thread.submit(waiting.begin)
            wait_until(lambda: store.calls["check_lock"], "the second transaction waits for its lock")
            opened = waiting.id
            self._merge(holder, name, {1: ("ab", "x", False)})
            holder.commit()
            begun.result(300)
            assert waiting.id > opened > holder.id
            (row,) = waiting.reader("default", name).read(with_row_id=False).to_pylist()
            self._merge(waiting, name, {1: (row["msg"] + "c", "x", False)})
            waiting.commit()
            with client.new_transaction() as last:
                assert last.reader("default", name).read(["msg"], with_row_id=False)["msg"].to_pylist() == ["abc"]
            dead = {info.id for info in transactions.open_transactions() if not info.aborted}
            assert not dead & {opened, waiting.id, holder.id}

    def test_a_lost_lock_is_an_error_and_nothing_is_committed(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        told: list[int] = []
        with MutatorClient(
            metastore.uri,
            sinks=[f"default.{name}"],
            locks=LockSettings(heartbeat_s=0.05, on_failure=lambda failure: told.append(failure.transaction_id)),
        ) as client:
            txn = client.new_transaction().begin()
            txn.accept(*write(txn.table("default", name), [1]))
            transactions.abort(txn.id)
            wait_until(lambda: told, "the lost lock is noticed")
            assert told == [txn.id]
            with pytest.raises((TransactionLockError, TransactionLostError)):
                txn.commit()
            assert txn.state is TransactionState.ABORTED
        assert not self.ids(transactions, warehouse, name)

    def test_batches_of_others_are_refused(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"]) as client:
            manifests = []
            for _ in range(2):
                txn: Transaction = client.new_transaction().begin()
                manifests.append(write(txn.table("default", name), [1])[0])
                if len(manifests) == 2:
                    with pytest.raises(MutationError, match="none of"):
                        txn.accept(manifests[0])
                txn.abort()
        assert not self.ids(transactions, warehouse, name)

    def test_a_batch_of_many_rows_is_written(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        from hudi_hive.formats.hash import bucket_numbers

        numbers = pa.array(range(10_000), pa.int32())
        buckets = bucket_numbers([numbers], ["int"], 2, 2)
        batch = pa.table({"id": numbers, "msg": numbers.cast(pa.string())}).take(
            pa.array(buckets.argsort(kind="stable"))
        )
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"]) as client, client.new_transaction() as txn:
            with MutatorCoordinator(txn.table("default", name)) as coordinator:
                coordinator.insert_batch(batch)
            txn.accept(coordinator.close())
        assert self.ids(transactions, warehouse, name) == list(range(10_000))
