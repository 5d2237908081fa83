"""Transactions on tables, whichever metastore keeps them: the fake one in ``tests``, real ones in ``integration``.

A subclass gives the fixture ``metastore`` (anything with ``uri``); the client below asks it which version it is.
"""

from __future__ import annotations

import getpass
import itertools
import time

import pytest

from hudi_hive.errors import (
    AlreadyExistsError,
    NoSuchObjectError,
    TransactionConflictError,
    TransactionError,
    TransactionLockError,
    TransactionLostError,
)
from hudi_hive.metastore import (
    DataOperationType,
    FieldSchema,
    HiveMetastore,
    LockKind,
    LockPart,
    LockState,
    Partition,
    SerDeInfo,
    StorageDescriptor,
    Table,
    TransactionClient,
    ValidWriteIds,
    partition_name,
)

ORC = "org.apache.hadoop.hive.ql.io.orc.Orc"
STATISTICS = "COLUMN_STATS_ACCURATE"
NO_SUCH_TRANSACTION = 987_654_321

_numbers = itertools.count(int(time.time() * 1000))


def acid_table(name: str, keys: tuple[str, ...] = ()) -> Table:
    """A full ACID table of two buckets in the warehouse."""
    return Table(
        tableName=name,
        dbName="default",
        owner="somebody",
        createTime=0,
        lastAccessTime=0,
        retention=0,
        sd=StorageDescriptor(
            cols=[FieldSchema(name="id", type="int", comment=""), FieldSchema(name="msg", type="string", comment="")],
            inputFormat=f"{ORC}InputFormat",
            outputFormat=f"{ORC}OutputFormat",
            compressed=False,
            numBuckets=2,
            bucketCols=["id"],
            sortCols=[],
            parameters={},
            serdeInfo=SerDeInfo(name=name, serializationLib=f"{ORC}Serde", parameters={"serialization.format": "1"}),
        ),
        partitionKeys=[FieldSchema(name=key, type="string", comment="") for key in keys],
        parameters={"transactional": "true", "transactional_properties": "default", "bucketing_version": "2"},
        tableType="MANAGED_TABLE",
    )


def writes(
    table: str, operation: DataOperationType = DataOperationType.UPDATE, *, dynamic: bool = False
) -> list[LockPart]:
    return [LockPart("default", table, LockKind.WRITE, operation, dynamic)]


def reads(table: str, operation: DataOperationType = DataOperationType.SELECT) -> list[LockPart]:
    return [LockPart("default", table, LockKind.READ, operation)]


class TransactionTables:
    """What the tests need: a client, and tables."""

    @pytest.fixture
    def client(self, metastore):
        with HiveMetastore(metastore.uri) as client:
            yield TransactionClient(client, agent="a test")

    @pytest.fixture
    def table(self, client):
        """The name of a new table without partitions."""
        name = f"t{next(_numbers)}"
        assert client.create_table(acid_table(name))
        return name

    @pytest.fixture
    def partitioned(self, client):
        """The name of a new table with the partitions ``p=1`` and ``p=2``."""
        name = f"p{next(_numbers)}"
        assert client.create_table(acid_table(name, ("p",)))
        made = client.table("default", name)
        for value in ("1", "2"):
            sd = client.table("default", name).sd
            sd.location = f"{sd.location}/{partition_name(made.partitionKeys, [value])}"
            part = Partition(values=[value], dbName="default", tableName=name, sd=sd, parameters={})
            client.metastore.add_partitions("default", name, [part])
        return name

    def seen(self, client, table, transaction=None) -> ValidWriteIds:
        return client.valid_write_ids("default", table, client.valid_transactions(transaction))


class TransactionBehaviour(TransactionTables):
    """The tests."""

    # -- tables -----------------------------------------------------------------------------------------------------

    def test_a_table_of_rows_that_change(self, client, table):
        found = client.table("default", table, write=True)
        assert found.parameters["transactional"] == "true"
        assert found.sd.numBuckets == 2
        assert STATISTICS not in found.parameters
        assert not client.create_table(acid_table(table), if_not_exists=True)
        with pytest.raises(AlreadyExistsError):
            client.create_table(acid_table(table))
        with pytest.raises(NoSuchObjectError):
            client.table("default", f"{table}_not")

    def test_statistics_are_removed_inside(self, client):
        name, believed = f"s{next(_numbers)}", {STATISTICS: '{"BASIC_STATS":"true"}'}
        given = acid_table(name, ("p",))
        given.parameters |= believed
        client.create_table(given)
        sd = client.table("default", name).sd
        sd.location = f"{sd.location}/p=1"
        part = Partition(values=["1"], dbName="default", tableName=name, sd=sd, parameters=dict(believed))
        client.metastore.add_partitions("default", name, [part])
        definitions = [client.table("default", name), client.metastore.partition("default", name, ["1"])]
        assert all(STATISTICS in definition.parameters for definition in definitions)

        transaction = client.open()
        client.lock(transaction, writes(name, dynamic=True))
        write_id = client.allocate_write_id(transaction, "default", name)
        valid = self.seen(client, name, transaction)
        for definition in definitions:
            del definition.parameters[STATISTICS]
        client.alter_table(definitions[0], write_id=write_id, valid=valid)
        client.alter_partitions("default", name, definitions[1:], write_id=write_id, valid=valid)
        client.commit(transaction)
        definitions = [client.table("default", name), client.metastore.partition("default", name, ["1"])]
        assert not any(STATISTICS in definition.parameters for definition in definitions)

    # -- transactions and what they see -----------------------------------------------------------------------------

    def test_a_transaction_s_life_from_open_to_commit(self, client, table):
        before = self.seen(client, table)
        first = client.open()
        assert client.lock(first, writes(table)).state is LockState.ACQUIRED
        write_id = client.allocate_write_id(first, "default", table)
        assert client.allocate_write_id(first, "default", table.upper()) == write_id
        assert (before.high_water, before.table, write_id) == (0, f"default.{table}", 1)
        assert not self.seen(client, table).is_valid(write_id)
        assert self.seen(client, table).min_open == write_id
        assert self.seen(client, table, first).is_valid(write_id)
        client.heartbeat(first)
        client.commit(first)
        after = self.seen(client, table)
        assert after.is_valid(write_id) and after.is_valid_base(write_id)
        assert ValidWriteIds.parse(after.format()) == after

    def test_aborted_is_never_visible(self, client, table):
        gone, kept = client.open(), client.open()
        client.lock(gone, writes(table))  # one that touched nothing is forgotten sooner or later
        ids = [client.allocate_write_id(one, "default", table) for one in (gone, kept)]
        assert not any(self.seen(client, table).valid_mask(ids))
        client.abort(gone)
        client.commit(kept)
        seen = self.seen(client, table)
        assert (seen.open, seen.aborted, seen.high_water) == ((), (ids[0],), ids[1])
        assert seen.valid_mask(ids).tolist() == [False, True]
        assert gone in client.valid_transactions().aborted

    def test_an_older_one_does_not_see_a_newer_one(self, client, table):
        older, newer = client.open(), client.open()
        write_id = client.allocate_write_id(newer, "default", table)
        snapshot = client.valid_transactions(older)
        client.commit(newer)
        assert not client.valid_write_ids("default", table, snapshot).is_valid(write_id)
        assert self.seen(client, table).is_valid(write_id)
        client.abort(older)

    def test_who_is_open(self, client, table):
        transaction = client.open()
        mine = next(info for info in client.open_transactions() if info.id == transaction)
        assert (mine.aborted, mine.user) == (False, getpass.getuser())  # 3.1 does not tell the agent
        assert transaction in client.valid_transactions().open
        client.commit(transaction)
        assert transaction not in {info.id for info in client.open_transactions()}

    # -- ends -------------------------------------------------------------------------------------------------------

    def test_a_second_commit_does_nothing(self, client, table):
        transaction = client.open()
        lock = client.lock(transaction, writes(table))
        client.commit(transaction)
        client.commit(transaction)
        with pytest.raises(TransactionLostError, match="committed"):
            client.abort(transaction)
        with pytest.raises((TransactionLockError, TransactionLostError)):
            client.heartbeat(transaction, lock.id)
        assert client.heartbeat_range(transaction, transaction) == (frozenset(), {transaction})

    def test_a_second_abort_does_nothing(self, client, table):
        transaction = client.open()
        client.lock(transaction, writes(table))
        client.abort(transaction)
        client.abort(transaction)
        assert client.heartbeat_range(transaction, transaction) == ({transaction}, frozenset())
        for call in (client.commit, client.heartbeat):
            with pytest.raises(TransactionLostError):
                call(transaction)
        with pytest.raises(TransactionLostError):
            client.lock(transaction, writes(table))
        with pytest.raises((TransactionError, TransactionLostError)):
            client.add_dynamic_partitions(transaction, 1, "default", table, ["p=1"], DataOperationType.UPDATE)

    def test_no_such_transaction(self, client):
        for call in (client.commit, client.abort, client.heartbeat):
            with pytest.raises(TransactionLostError):
                call(NO_SUCH_TRANSACTION)
        assert client.heartbeat_range(NO_SUCH_TRANSACTION, NO_SUCH_TRANSACTION)[1] == {NO_SUCH_TRANSACTION}

    # -- locks ------------------------------------------------------------------------------------------------------

    def test_one_writer_and_a_queue(self, client, table):
        first, second, reader = client.open(), client.open(), client.open()
        held = client.lock(first, writes(table))
        waiting = client.lock(second, writes(table))
        assert (held.state, waiting.state) == (LockState.ACQUIRED, LockState.WAITING)
        assert client.lock(reader, reads(table)).state is LockState.ACQUIRED
        assert client.check_lock(second, waiting.id).state is LockState.WAITING
        client.heartbeat(first, held.id)
        client.heartbeat(second, waiting.id)
        client.commit(first)
        assert client.check_lock(second, waiting.id).state is LockState.ACQUIRED
        client.abort(second)
        with pytest.raises((TransactionLockError, TransactionLostError)):
            client.check_lock(second, waiting.id)
        client.commit(reader)

    def test_an_exclusive_lock_excludes_readers(self, client, table):
        first, second = client.open(), client.open()
        alone = [LockPart("default", table, LockKind.EXCLUSIVE, DataOperationType.UPDATE)]
        assert client.lock(first, alone).state is LockState.ACQUIRED
        assert client.lock(second, reads(table)).state is LockState.WAITING
        client.abort(first)
        client.abort(second)

    def test_a_lock_of_nothing(self, client):
        with pytest.raises(TransactionError, match="no table"):
            client.lock(1, [])

    # -- conflicts --------------------------------------------------------------------------------------------------

    def test_two_updates_of_a_table(self, client, table):
        """Who had to wait for a lock began too early, whether it has the lock by now or not."""
        first, second, third = client.open(), client.open(), client.open()
        waiting = [client.lock(one, writes(table)) for one in (first, second, third)][1:]
        for one in (first, second, third):
            client.allocate_write_id(one, "default", table)
        client.commit(first)
        assert client.check_lock(second, waiting[0].id).state is LockState.ACQUIRED
        assert client.check_lock(third, waiting[1].id).state is LockState.WAITING
        with pytest.raises(TransactionConflictError, match="conflict"):
            client.commit(third)
        with pytest.raises(TransactionConflictError, match="conflict"):
            client.commit(second)
        with pytest.raises(TransactionLostError):
            client.commit(second)

    @pytest.mark.parametrize(("partitions", "conflict"), [(("p=1", "p=1"), True), (("p=1", "p=2"), False)])
    def test_two_updates_of_partitions(self, client, partitioned, partitions, conflict):
        both = client.open(), client.open()
        for one, name in zip(both, partitions, strict=True):
            client.lock(one, writes(partitioned, dynamic=True))
            write_id = client.allocate_write_id(one, "default", partitioned)
            client.add_dynamic_partitions(one, write_id, "default", partitioned, [name], DataOperationType.UPDATE)
        client.commit(both[0])
        if conflict:
            with pytest.raises(TransactionConflictError, match="conflict"):
                client.commit(both[1])
        else:
            client.commit(both[1])

    def test_inserts_conflict_with_nothing(self, client, partitioned):
        both = client.open(), client.open()
        for one, operation in zip(both, (DataOperationType.UPDATE, DataOperationType.INSERT), strict=True):
            client.lock(one, reads(partitioned, DataOperationType.INSERT))
            write_id = client.allocate_write_id(one, "default", partitioned)
            client.add_dynamic_partitions(one, write_id, "default", partitioned, ["p=1"], operation)
        for one in both:
            client.commit(one)

    def test_no_touched_partition_is_no_call(self, client, partitioned):
        transaction = client.open()
        client.add_dynamic_partitions(transaction, 1, "default", partitioned, [], DataOperationType.UPDATE)
        client.commit(transaction)
        assert client.metastore.calls["add_dynamic_partitions"] == 0
