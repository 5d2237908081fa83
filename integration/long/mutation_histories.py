"""Random histories of tables: transactions of several tasks that insert, update and delete over partitions and buckets.

Some transactions are aborted, some tasks are given up and tried again. After each one Hive's readers and ours are
compared with what a dictionary says.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from hudi_hive.formats.hash import bucket_numbers
from hudi_hive.formats.orc import DELETE, INSERT, UPDATE, BucketProperty, parse_hive_type
from hudi_hive.mutation.acid_table import ROW_ID, ROW_ID_TYPE, AcidTable
from hudi_hive.mutation.acid_write import MutationManifest, MutatorClient, MutatorCoordinator, RowId, Transaction
from integration.support.hive_acid import Snapshot
from integration.support.mutation_judge import Judge, before_commit

Values = tuple[str | None, ...]
COLUMNS = (("id", "bigint"), ("msg", "string"), ("amount", "decimal(12,2)"))
_ARROW = {"id": pa.int64(), "msg": pa.string()}
_ID_NAMES = tuple(field.name for field in ROW_ID_TYPE)


@dataclass(frozen=True, slots=True)
class Shape:
    """What kind of table: partition keys, buckets by which columns, and the bucketing version."""

    keys: tuple[tuple[str, str], ...] = ()
    buckets: int = 0
    bucket_columns: tuple[str, ...] = ("id",)
    version: int = 2


SHAPES: Mapping[str, Shape] = {
    "plain": Shape(),
    "buckets": Shape((), 4),
    "partitions": Shape((("country", "string"), ("day", "date"))),
    "both": Shape((("country", "string"), ("n", "int")), 3),
    "version 1": Shape((("country", "string"),), 5, ("msg",), 1),
    "two columns": Shape((), 8, ("id", "msg")),
}
_PARTITION_VALUES: Mapping[str, tuple[str | None, ...]] = {
    "country": ("DE", "a/b=c", "ü %", None),
    "day": ("2020-02-29", "1999-12-31"),
    "n": ("1", "-7"),
}


@dataclass(frozen=True, slots=True)
class _Change:
    operation: int
    partition: Values
    record: Mapping[str, Any]
    row_id: RowId | None
    bucket: int


class History:
    """One table and what becomes of it.

    Args:
        judge: makes the table and compares.
        shape: what kind of table.
        seed: of chance.
        rows: greatest number of rows of a transaction.
    """

    def __init__(self, judge: Judge, shape: Shape, seed: int, *, rows: int = 40) -> None:
        self.judge = judge
        self.chance = random.Random(seed)
        self.name = judge.make(
            COLUMNS,
            shape.keys,
            buckets=shape.buckets or -1,
            bucket_columns=shape.bucket_columns,
            parameters={"bucketing_version": str(shape.version)},
        )
        self.model: dict[int, tuple[Values, str | None, str | None]] = {}
        self._most = rows
        self._next = 0

    def run(self, turns: int) -> None:
        """So many transactions, each followed by a look.

        Raises:
            AssertionError: somebody sees other rows than there should be.
        """
        sink = f"default.{self.name}"
        with MutatorClient(self.judge.server.uri, sinks=[sink], create_partitions=True) as client:
            for _ in range(turns):
                self._turn(client)

    def check(self) -> None:
        """Hive's readers and ours must see what the model says."""
        found = {row[0]: (partition, *row[1:]) for (partition, _), row in self.judge.see(self.name).items()}
        assert found == self.model

    def _turn(self, client: MutatorClient) -> None:
        transaction = client.new_transaction().begin()
        table = transaction.table("default", self.name)
        tasks = self.chance.randint(1, 3)
        after = dict(self.model)
        changes = self._changes(transaction, table, after)
        by_task: list[list[_Change]] = [[] for _ in range(tasks)]
        for change in changes:
            by_task[self.chance.randrange(tasks)].append(change)
        for number, given in enumerate(by_task):
            if self.chance.random() < 0.15:
                self._write(table, number, given)  # an attempt of which nobody heard again
            transaction.accept(self._write(table, number, given))
        if self.chance.random() < 0.2:
            transaction.abort()
        else:
            with before_commit(transaction, self.check):
                transaction.commit()
            self.model = after
        self.check()

    def _changes(self, transaction: Transaction, table: AcidTable, after: dict[int, Any]) -> list[_Change]:
        changes = []
        there = list(Snapshot.within(self.judge.client, transaction, "default", self.name).ours().items())
        for (partition, row_id), row in self.chance.sample(there, min(len(there), self.chance.randrange(self._most))):
            gone = self.chance.random() < 0.4
            record = {"id": row[0], "msg": row[1], "amount": self._amount()}
            if "msg" not in table.bucket_columns:
                record["msg"] = self._message()
            bucket = int(BucketProperty.decode(row_id.bucket)[0])
            changes.append(_Change(DELETE if gone else UPDATE, partition, record, row_id, bucket))
            del after[row[0]]
            if not gone:
                after[row[0]] = (partition, record["msg"], record["amount"])
        for _ in range(self.chance.randrange(self._most)):
            partition = tuple(self.chance.choice(_PARTITION_VALUES[key]) for key in table.key_names)
            record = {"id": self._next, "msg": self._message(), "amount": self._amount()}
            self._next += 1
            changes.append(_Change(INSERT, partition, record, None, self._bucket(table, record)))
            after[record["id"]] = (partition, record["msg"], record["amount"])
        return changes

    def _bucket(self, table: AcidTable, record: Mapping[str, Any]) -> int:
        if not table.buckets:
            return -1
        columns = [pa.array([record[name]], _ARROW[name]) for name in table.bucket_columns]
        return int(bucket_numbers(columns, table.bucket_types, table.buckets, table.bucketing_version)[0])

    def _message(self) -> str | None:
        return self.chance.choice([None, "", "ü", "m" * self.chance.randrange(40), f"m{self._next}"])

    def _amount(self) -> str | None:
        return self.chance.choice([None, "0", "12.5", "-99.01", str(self.chance.randrange(10**9))])

    def _write(self, table: AcidTable, task: int, changes: list[_Change]) -> MutationManifest:
        """One attempt at a task, which gets the table as text, in batches or record by record."""
        ordered = sorted(
            changes,
            key=lambda change: (
                [value or "" for value in change.partition],
                change.bucket if change.bucket >= 0 else task,
                change.row_id is None,
                change.row_id or (),
            ),
        )
        coordinator = MutatorCoordinator(AcidTable.decode(table.encode()), statement=task, writer=task)
        if self.chance.random() < 0.5:
            for change in ordered:
                record = {**change.record, "amount": _decimal(change.record["amount"])}
                if change.row_id is None:
                    coordinator.insert(change.partition, record)
                elif change.operation == UPDATE:
                    coordinator.update(change.partition, {**record, "ROW__ID": change.row_id})
                else:
                    coordinator.delete(change.partition, {"ROW__ID": change.row_id})
        elif ordered:
            coordinator.mutate_batch(_batch(table, ordered), np.array([one.operation for one in ordered], np.int8))
        return coordinator.close()


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _batch(table: AcidTable, changes: list[_Change]) -> pa.Table:
    """Changes with the partition keys as columns."""
    columns = {name: pa.array([one.record[name] for one in changes], kind) for name, kind in _ARROW.items()}
    amounts = [_decimal(one.record["amount"]) for one in changes]
    columns["amount"] = pa.array(amounts, pa.decimal128(12, 2))
    for place, key in enumerate(table.partition_keys):
        texts = pa.array([one.partition[place] for one in changes], pa.string())
        columns[key.name] = texts.cast(parse_hive_type(key.type).arrow)
    ids = [None if one.row_id is None else dict(zip(_ID_NAMES, one.row_id, strict=True)) for one in changes]
    columns[ROW_ID] = pa.array(ids, ROW_ID_TYPE)
    return pa.table(columns)
