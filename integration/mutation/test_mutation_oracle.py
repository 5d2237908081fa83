"""Tables that we mutate on real metastores 3.1.3 and 4.0.1, read by Hive's own readers of the same release."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc

from hudi_hive.errors import TransactionConflictError, TransactionLockError
from hudi_hive.formats.orc import DeleteDeltaWriter, DeltaWriter, parse_hive_type
from hudi_hive.metastore import DataOperationType, HiveMetastore, LockKind, LockPart, TransactionClient
from hudi_hive.mutation.acid_write import (
    MergeRecords,
    MutationManifest,
    MutatorClient,
    MutatorCoordinator,
    Transaction,
    groups,
    merge,
)
from hudi_hive.mutation.core import LockSettings
from integration.long.mutation_histories import SHAPES, History
from integration.support.hive_acid import HiveAcid, Row, plain
from integration.support.hive_sql import VERSION
from integration.support.metastore_pool import MetastorePool
from integration.support.mutation_judge import PROPERTIES, Judge, before_commit
from integration.support.mutation_values import FAR_TIMES, bucket_columns, rows
from integration.support.mutation_values import columns as all_columns
from tests.support.mutation.hive_states import HiveState, mutate
from tests.support.running.long import long_case
from tests.support.running.waiting import SECONDS

pytestmark = pytest.mark.jvm

_MANY = 40_000


@pytest.fixture(scope="module", params=["4.0.1", long_case("3.1.3")])
def judge(request: pytest.FixtureRequest, metastores: MetastorePool) -> Iterator[Judge]:
    """One release after the other."""
    server = metastores.start(request.param, PROPERTIES, with_hive=True)
    with HiveAcid(request.param) as hive, HiveMetastore(server.uri) as metastore:
        yield Judge(server, TransactionClient(metastore), hive)


@pytest.mark.parametrize("shape", ["plain", "both"])
def test_hive_sees_what_transactions_did(judge: Judge, shape: str) -> None:
    """Some are aborted, some tasks are tried twice; nothing is seen before the commit."""
    History(judge, SHAPES[shape], len(shape)).run(2)


def test_hive_reads_what_we_change_of_its_own_rows(judge: Judge) -> None:
    """Rows that it has compacted, and those that it or we have changed since."""
    if judge.hive.version != VERSION:
        pytest.skip("Hive 3 does not read what Hive 4 writes")
    state = HiveState.unpack("partitioned_mixed", judge.server.warehouse / "unpacked")
    table = state.restore(judge.client)
    assert {row[0] for row in judge.see(table).values()} == state.rows.keys()
    with MutatorClient(judge.server.uri, sinks=[f"default.{table}"], create_partitions=True) as client:
        rows = mutate(client, table, mutate(client, table, state.rows))
    found = {row[0]: (row[1], None if row[2] is None else Decimal(row[2]), row[3]) for row in judge.values(table)}
    assert found == rows


@pytest.mark.parametrize("version", [1, 2])
def test_hive_reads_values_of_all_types(judge: Judge, version: int) -> None:
    """Inserted, updated and deleted, and each row in the bucket that Hive computes."""
    columns = bucket_columns(version)
    parameters = {"bucketing_version": str(version)}
    name = judge.make(all_columns(), (), buckets=8, bucket_columns=columns, parameters=parameters)
    data = rows(40)
    with MutatorClient(judge.server.uri, sinks=[f"default.{name}"]) as client:
        for changes in (data, data.slice(20, 10).set_column(_place("c_binary"), "c_binary", [[b"changed"] * 10])):
            with client.new_transaction() as transaction:
                merged = merge(transaction.reader("default", name), changes, ["id"])
                transaction.accept(_written(transaction, name, merged))
        with client.new_transaction() as transaction:
            merged = merge(transaction.reader("default", name), data.slice(35), ["id"], when_matched="delete")
            transaction.accept(_written(transaction, name, merged))
    found = {row[0]: row for row in judge.see(name).values()}
    kinds = [parse_hive_type(kind) for _, kind in all_columns()]
    for row in data.slice(0, 35).to_pylist():
        if 20 <= row["id"] < 30:
            row["c_binary"] = b"changed"
        wanted = tuple(plain(value, kind) for value, kind in zip(row.values(), kinds, strict=True))
        assert found.pop(row["id"]) == wanted
    assert not found


def test_hive_reads_files_of_many_stripes(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several parts, with deletes in all of them, which are many stripes, too."""
    monkeypatch.setattr(groups, "DeltaWriter", partial(DeltaWriter, stripe_bytes=1 << 16))
    monkeypatch.setattr(groups, "DeleteDeltaWriter", partial(DeleteDeltaWriter, stripe_bytes=1 << 13))
    remaining = np.random.default_rng(1).random(_MANY) < 0.2
    name = judge.make(buckets=-1)
    numbers = pa.array(range(_MANY), pa.int32())
    texts = pa.array([hashlib.sha256(str(number).encode()).hexdigest() for number in range(_MANY)])
    with MutatorClient(judge.server.uri, sinks=[f"default.{name}"]) as client:
        with client.new_transaction() as transaction:
            with MutatorCoordinator(transaction.table("default", name)) as coordinator:
                coordinator.insert_batch(pa.table({"id": numbers, "msg": texts}))
            transaction.accept(coordinator.close())
        with client.new_transaction() as transaction:
            rows = transaction.reader("default", name).read(["id"])
            with MutatorCoordinator(transaction.table("default", name)) as coordinator:
                coordinator.delete_batch(rows.filter(pa.array(~remaining)))
            transaction.accept(coordinator.close())
    (file,) = (judge.server.warehouse / name).glob("delta_*/bucket_00000")
    assert orc.ORCFile(str(file)).nstripes > 3 and file.stat().st_size > 4 << 18
    (file,) = (judge.server.warehouse / name).glob("delete_delta_*/bucket_00000")
    assert orc.ORCFile(str(file)).nstripes == 2
    assert [row[0] for row in judge.see(name).values()] == np.flatnonzero(remaining).tolist()


def test_hive_reads_far_times_as_we_do(judge: Judge) -> None:
    name = judge.make([("id", "int"), ("t", "timestamp")], buckets=3, bucket_columns=["t"])
    with MutatorClient(judge.server.uri, sinks=[f"default.{name}"]) as client, client.new_transaction() as transaction:
        for number, time in enumerate(FAR_TIMES):
            with MutatorCoordinator(transaction.table("default", name), statement=number) as coordinator:
                coordinator.insert([], {"id": number, "t": time})
            transaction.accept(coordinator.close())
    kinds = [parse_hive_type(kind) for kind in ("int", "timestamp")]
    assert sorted(judge.see(name).values()) == [tuple(map(plain, row, kinds)) for row in enumerate(FAR_TIMES)]


def _place(column: str) -> int:
    return [name for name, _ in all_columns()].index(column)


def _written(transaction: Transaction, name: str, merged: MergeRecords) -> MutationManifest:
    with MutatorCoordinator(transaction.table("default", name)) as coordinator:
        merged.feed(coordinator)
    return coordinator.close()


_DYING_WORKER = """
import os, sys
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator
from hudi_hive.mutation.acid_table.table import AcidTable
coordinator = MutatorCoordinator(AcidTable.decode(sys.argv[1]), attempt="first")
for country in ("DE", "FR"):
    for number in range(100):
        coordinator.insert([country], {"id": number, "msg": "of nobody"})
coordinator.flush()
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_worker_wrote_never_counts(judge: Judge) -> None:
    name = judge.make(keys=[("country", "string")], buckets=-1)
    with MutatorClient(judge.server.uri, sinks=[f"default.{name}"], create_partitions=True) as client:
        with client.new_transaction() as transaction:
            transaction.accept(_inserted(transaction, name, {1: "before"}, ["DE"]))
        transaction = client.new_transaction().begin()
        table = transaction.table("default", name)
        assert _run(_DYING_WORKER, table.encode()).returncode == -9
        staged = list((judge.server.warehouse / name).rglob("first/**/bucket_00000"))
        assert staged, "it has written"
        assert judge.values(name) == [(1, "before", "DE")]
        with MutatorCoordinator(table, attempt="second") as coordinator:
            coordinator.update(["DE"], {"id": 1, "msg": "after", "ROW__ID": judge.find(name, transaction, 1)[1]})
            coordinator.insert(["DE"], {"id": 2, "msg": "of the second"})
        transaction.accept(MutationManifest.decode(coordinator.close().encode()))
        seen: list[Row] = []
        with before_commit(transaction, lambda: seen.extend(judge.values(name))):
            transaction.commit()
        assert seen == [(1, "before", "DE")]
    assert judge.values(name) == [(1, "after", "DE"), (2, "of the second", "DE")]


_DYING_CLIENT = """
import os, sys
from hudi_hive.mutation.acid_write.client import MutatorClient
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator, RowId
client = MutatorClient(sys.argv[1], sinks=["default." + sys.argv[2]], create_partitions=True).connect()
transaction = client.new_transaction().begin()
transaction._client.commit = lambda number: (print(number, flush=True), os.kill(os.getpid(), 9))
with MutatorCoordinator(transaction.table("default", sys.argv[2])) as coordinator:
    coordinator.update(["DE"], {"id": 1, "msg": "never", "ROW__ID": RowId(*map(int, sys.argv[3].split()))})
    coordinator.insert(["DE"], {"id": 2, "msg": "never"})
    coordinator.insert(["FR"], {"id": 3, "msg": "never"})
transaction.commit([coordinator.close()])
"""


@pytest.mark.long
def test_the_next_client_goes_on_after_one_that_was_killed(judge: Judge) -> None:
    """It dies with all its files in place, before its commit: they are aborted after the time-out, and stay there."""
    name = judge.make(keys=[("country", "string")], buckets=-1)
    sink = f"default.{name}"
    locks = LockSettings(wait_s=SECONDS)
    with MutatorClient(judge.server.uri, sinks=[sink], create_partitions=True, locks=locks) as client:
        with client.new_transaction() as first:
            first.accept(_inserted(first, name, {1: "before"}, ["DE"]))
        ((_, row_id),) = judge.see(name)
        killed = _run(_DYING_CLIENT, judge.server.uri, name, " ".join(map(str, row_id)))
        assert killed.returncode == -9, killed.stderr
        left = list((judge.server.warehouse / name).glob("country=*/*_0000002_0000002_0000/bucket_00000"))
        assert len(left) == 3
        assert judge.values(name) == [(1, "before", "DE")]
        with client.new_transaction() as second:
            assert int(killed.stdout) in second.snapshot.aborted
            with MutatorCoordinator(second.table("default", name)) as coordinator:
                coordinator.update(["DE"], {"id": 1, "msg": "after", "ROW__ID": row_id})
            second.accept(coordinator.close(), _inserted(second, name, {4: "new"}, ["FR"]))
    assert judge.values(name) == [(1, "after", "DE"), (4, "new", "FR")]


def test_of_two_clients_one_waits_for_the_lock_or_fails(judge: Judge) -> None:
    """Whoever holds the lock goes first; somebody else's commit beside it makes its own fail."""
    name = judge.make(keys=[("country", "string")])
    sink = f"default.{name}"
    with (
        MutatorClient(judge.server.uri, sinks=[sink], create_partitions=True) as one,
        MutatorClient(judge.server.uri, sinks=[sink], locks=LockSettings(wait_s=0.3)) as hasty,
        MutatorClient(judge.server.uri, sinks=[sink]) as other,
    ):
        with one.new_transaction() as first:
            first.accept(_inserted(first, name, {1: "first"}, ["DE"]))
        holder = one.new_transaction().begin()
        with pytest.raises(TransactionLockError):
            hasty.new_transaction().begin()
        partition, row_id = judge.find(name, holder, 1)
        with MutatorCoordinator(holder.table("default", name)) as coordinator:
            coordinator.update(partition, {"id": 1, "msg": "of the holder", "ROW__ID": row_id})
        holder.commit([coordinator.close()])
        late = other.new_transaction().begin()
        partition, row_id = judge.find(name, late, 1)
        with MutatorCoordinator(late.table("default", name)) as coordinator:
            coordinator.update(partition, {"id": 1, "msg": "of the late", "ROW__ID": row_id})
        _commit_beside(judge.client, name)
        with pytest.raises(TransactionConflictError):
            late.commit([coordinator.close()])
        assert judge.values(name) == [(1, "of the holder", "DE")]
        with other.new_transaction() as again, MutatorCoordinator(again.table("default", name)) as coordinator:
            coordinator.delete(partition, {"ROW__ID": row_id})
            again.accept(coordinator.close())
    assert judge.values(name) == []


def _commit_beside(client: TransactionClient, name: str) -> None:
    beside = client.open()
    client.lock(beside, [LockPart("default", name, LockKind.READ, DataOperationType.UPDATE, dynamic=True)])
    write_id = client.allocate_write_id(beside, "default", name)
    client.add_dynamic_partitions(beside, write_id, "default", name, ["country=DE"], DataOperationType.UPDATE)
    client.commit(beside)


def _inserted(transaction: Transaction, name: str, messages: dict[int, str], partition: list[str]) -> MutationManifest:
    coordinator = MutatorCoordinator(transaction.table("default", name), statement=1)
    for number, message in messages.items():
        coordinator.insert(partition, {"id": number, "msg": message})
    return coordinator.close()


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=300
    )
