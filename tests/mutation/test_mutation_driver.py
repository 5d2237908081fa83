"""What a driver checks and tells before it commits, against a metastore in this process."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive.errors import (
    GroupRevisitedError,
    MutationError,
    PartitionCreationError,
    TransactionError,
    UnsupportedAcidTableError,
)
from hudi_hive.metastore import HiveMetastore, Partition, TransactionClient
from hudi_hive.mutation.acid_table.reader import AcidReader
from hudi_hive.mutation.acid_table.table import AcidTable
from hudi_hive.mutation.acid_write.client import MutatorClient
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator
from hudi_hive.mutation.acid_write.manifest import MutationManifest
from hudi_hive.mutation.acid_write.merge_by_key import merge
from hudi_hive.mutation.acid_write.transaction import Transaction, TransactionState
from hudi_hive.testing import FakeMetastore
from tests.support.mutation.acid_definitions import acid_table

NAME = "default.t"
STATISTICS = "COLUMN_STATS_ACCURATE"


@pytest.fixture
def fake() -> Iterator[FakeMetastore]:
    with FakeMetastore() as running:
        yield running


@pytest.fixture
def store(fake: FakeMetastore) -> Iterator[TransactionClient]:
    with HiveMetastore(fake.uri) as client:
        yield TransactionClient(client)


def _rows(store: TransactionClient) -> list[tuple[object, ...]]:
    found = AcidReader.open(store, "default", "t").read(with_row_id=False).to_pylist()
    return sorted(tuple(row.values()) for row in found)


def _insert(table: AcidTable, *ids: int, partition: tuple[str | None, ...] = ()) -> MutationManifest:
    with MutatorCoordinator(table) as coordinator:
        for number in ids:
            coordinator.insert(partition, {"id": number, "msg": f"m{number}"})
    return coordinator.close()


def _changes(client: MutatorClient, plan: list[tuple[str, int]]) -> tuple[Transaction, list[MutationManifest]]:
    """A transaction whose tasks, a statement each, change one row each."""
    transaction = client.new_transaction().begin()
    ids = {row["id"]: row["ROW__ID"] for row in transaction.reader("default", "t").read().to_pylist()}
    manifests = []
    for statement, (what, number) in enumerate(plan):
        coordinator = MutatorCoordinator(transaction.table("default", "t"), statement=statement)
        record = {"id": number, "msg": what, "ROW__ID": ids[number]}
        coordinator.update((), record) if what == "update" else coordinator.delete((), record)
        manifests.append(coordinator.close())
    return transaction, manifests


@pytest.mark.parametrize("plan", [["update", "update"], ["update", "delete"], ["delete", "update"]])
def test_a_row_is_changed_by_one_task(
    fake: FakeMetastore, store: TransactionClient, tmp_path: Path, plan: list[str]
) -> None:
    """Two updates of a row leave two rows; which of an update and a delete wins is nobody's decision."""
    store.create_table(acid_table(f"file:{tmp_path}/t", buckets=1))
    with MutatorClient(fake.uri, sinks=[NAME]) as client:
        with client.new_transaction() as first:
            first.accept(_insert(first.table("default", "t"), 1, 2))
        transaction, manifests = _changes(client, [(what, 2) for what in plan])
        with pytest.raises(GroupRevisitedError, match=r"row \(1, 536870912, 1\) in bucket 0"):
            transaction.commit(manifests)
        assert transaction.state is TransactionState.ABORTED
        assert _rows(store) == [(1, "m1"), (2, "m2")]
        assert not list(tmp_path.rglob("delete_delta_*"))


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ([("update", 1), ("update", 2)], [(1, "update"), (2, "update")]),
        ([("update", 1), ("delete", 2)], [(1, "update")]),
        ([("delete", 2), ("delete", 2)], [(1, "m1")]),
    ],
)
def test_tasks_share_a_bucket_if_their_rows_differ(
    fake: FakeMetastore,
    store: TransactionClient,
    tmp_path: Path,
    plan: list[tuple[str, int]],
    expected: list[tuple[int, str]],
) -> None:
    store.create_table(acid_table(f"file:{tmp_path}/t", buckets=1))
    with MutatorClient(fake.uri, sinks=[NAME]) as client:
        with client.new_transaction() as first:
            first.accept(_insert(first.table("default", "t"), 1, 2))
        transaction, manifests = _changes(client, plan)
        transaction.commit(manifests)
    assert _rows(store) == expected


# -- partitions -------------------------------------------------------------------------------------------------------


def _partition(store: TransactionClient, value: str, location: str) -> Partition:
    sd = copy.deepcopy(store.table("default", "t").sd)
    sd.location = location
    return Partition(values=[value], dbName="default", tableName="t", sd=sd, parameters={})


def test_a_partition_that_somebody_makes_meanwhile_gets_the_rows(
    fake: FakeMetastore, store: TransactionClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create_table(acid_table(f"file:{tmp_path}/t", keys=[("p", "string")]))
    theirs = _partition(store, "x", f"file:{tmp_path}/elsewhere")
    true_call = HiveMetastore.add_partitions

    def after_others(self: HiveMetastore, database: str, table: str, *rest: Any, **how: Any) -> Any:
        true_call(self, database, table, [theirs])
        return true_call(self, database, table, *rest, **how)

    monkeypatch.setattr(HiveMetastore, "add_partitions", after_others)
    with (
        MutatorClient(fake.uri, sinks=[NAME], create_partitions=True) as client,
        client.new_transaction() as transaction,
    ):
        transaction.accept(_insert(transaction.table("default", "t"), 1, partition=("x",)))
    assert _rows(store) == [(1, "m1", "x")]
    assert list((tmp_path / "elsewhere").glob("delta_*"))


def test_merges_into_partitions_that_nobody_registered_are_refused(
    fake: FakeMetastore, store: TransactionClient, tmp_path: Path
) -> None:
    """Their rows are not read, as Hive does not read them, and a key that they have would be inserted again."""
    store.create_table(acid_table(f"file:{tmp_path}/t", keys=[("p", "string")]))
    with MutatorClient(fake.uri, sinks=[NAME]) as client:
        with client.new_transaction() as first:
            first.accept(_insert(first.table("default", "t"), 1, partition=("x",)))
        aborted = client.new_transaction().begin()
        aborted.accept(_insert(aborted.table("default", "t"), 2, partition=("y",)))
        aborted.abort()
        (tmp_path / "t" / "p=y").mkdir(exist_ok=True)
        changes = pa.table({"id": pa.array([1], pa.int32()), "msg": ["new"], "p": ["x"]})
        transaction = client.new_transaction().begin()
        with pytest.raises(MutationError, match=r"p=x of default\.t has rows and is not registered"):
            merge(transaction.reader("default", "t"), changes, ["id"])
        elsewhere = changes.set_column(2, "p", pa.array(["y"]))
        assert merge(transaction.reader("default", "t"), elsewhere, ["id"]).inserted == 1
        transaction.abort()
        store.metastore.add_partitions("default", "t", [_partition(store, "x", f"file:{tmp_path}/t/p=x")])
        with client.new_transaction() as last:
            merged = merge(last.reader("default", "t"), changes, ["id"])
            merged.feed(last.coordinator("default", "t"))
    assert _rows(store) == [(1, "new", "x")]


def test_a_partition_that_is_not_there_after_it_was_added_is_not_written(
    fake: FakeMetastore, store: TransactionClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a metastore whose database takes ``X`` and ``x`` for the same."""
    store.create_table(acid_table(f"file:{tmp_path}/t", keys=[("p", "string")]))
    other = _partition(store, "x", f"file:{tmp_path}/t/p=x")
    monkeypatch.setattr(HiveMetastore, "add_partitions", lambda *_, **__: 0)
    monkeypatch.setattr(HiveMetastore, "partitions", lambda *_, **__: iter([other]))
    with MutatorClient(fake.uri, sinks=[NAME], create_partitions=True) as client:
        transaction = client.new_transaction().begin()
        manifest = _insert(transaction.table("default", "t"), 1, partition=("X",))
        with pytest.raises(PartitionCreationError, match="no partition p=X"):
            transaction.commit([manifest])
        assert transaction.state is TransactionState.ABORTED


@pytest.mark.parametrize(("what", "message"), [("format", "is read by text"), ("buckets", "has 3 buckets by id")])
def test_partitions_unlike_their_table_are_refused(
    fake: FakeMetastore, store: TransactionClient, tmp_path: Path, what: str, message: str
) -> None:
    store.create_table(acid_table(f"file:{tmp_path}/t", keys=[("p", "string")]))
    other = _partition(store, "x", f"file:{tmp_path}/t/p=x")
    if what == "format":
        other.sd.inputFormat = "text"
    else:
        other.sd.numBuckets = 3
    store.metastore.add_partitions("default", "t", [other])
    with MutatorClient(fake.uri, sinks=[NAME]) as client:
        transaction = client.new_transaction().begin()
        manifest = _insert(transaction.table("default", "t"), 1, partition=("x",))
        with pytest.raises(UnsupportedAcidTableError, match=f"partition p=x of default.t {message}, unlike the table"):
            transaction.commit([manifest])
    assert _rows(store) == []


def test_a_sink_that_may_not_be_written_is_refused(
    fake: FakeMetastore, store: TransactionClient, tmp_path: Path
) -> None:
    table = acid_table(f"file:{tmp_path}/t")
    table.accessType = 2
    store.create_table(table)
    with MutatorClient(fake.uri, sources=[NAME]) as client:
        assert client.connected
    with pytest.raises(TransactionError, match="does not let this client write"):
        MutatorClient(fake.uri, sinks=[NAME]).connect()


def test_skewed_folders_are_refused(tmp_path: Path) -> None:
    table = acid_table(f"file:{tmp_path}/t")
    table.sd.storedAsSubDirectories = True
    with pytest.raises(UnsupportedAcidTableError, match="skewed"):
        AcidTable.of(table)


def test_statistics_of_every_touched_partition_and_the_table_are_dropped(
    fake: FakeMetastore, store: TransactionClient, tmp_path: Path
) -> None:
    """Inserts, updates, deletes and new partitions alike; what was not touched keeps its own."""
    true = {STATISTICS: '{"BASIC_STATS":"true"}', "numRows": "7"}
    store.create_table(acid_table(f"file:{tmp_path}/t", keys=[("p", "string")], parameters=true))
    parts = [_partition(store, value, f"file:{tmp_path}/t/p={value}") for value in "abcd"]
    with MutatorClient(fake.uri, sinks=[NAME], create_partitions=True) as client:
        with client.new_transaction() as first:
            for value in "bcd":
                with MutatorCoordinator(first.table("default", "t")) as coordinator:
                    coordinator.insert((value,), {"id": 1, "msg": value})
                first.accept(coordinator.close())
        for part in parts:
            part.parameters = dict(true)
        store.metastore.drop_partitions("default", "t", [f"p={value}" for value in "bcd"])
        store.metastore.add_partitions("default", "t", parts)
        definition = store.table("default", "t")
        definition.parameters |= true
        store.metastore.alter_table("default", "t", definition)
        assert STATISTICS in store.table("default", "t").parameters
        assert _with_statistics(store) == ["a", "b", "c", "d"]
        with client.new_transaction() as second:
            ids = {row["p"]: row["ROW__ID"] for row in second.reader("default", "t").read().to_pylist()}
            with MutatorCoordinator(second.table("default", "t")) as coordinator:
                coordinator.insert(("a",), {"id": 1, "msg": "new"})
                coordinator.update(("b",), {"id": 1, "msg": "new", "ROW__ID": ids["b"]})
                coordinator.delete(("c",), {"ROW__ID": ids["c"]})
                coordinator.insert(("e",), {"id": 1, "msg": "new"})
            second.accept(coordinator.close())
    assert STATISTICS not in store.table("default", "t").parameters
    assert _with_statistics(store) == ["d"]
    kept = {part.values[0]: part.parameters.get("numRows") for part in store.metastore.partitions("default", "t")}
    assert kept["d"] == kept["b"] == "7"


def _with_statistics(store: TransactionClient) -> list[str]:
    found = store.metastore.partitions("default", "t")
    return sorted(part.values[0] for part in found if STATISTICS in (part.parameters or {}))
