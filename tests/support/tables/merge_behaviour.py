"""Tables that are read and merged into over whole transactions, whichever metastore keeps them.

A subclass gives the fixtures ``metastore`` (anything with ``uri``) and ``warehouse`` (a folder for tables).
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive.errors import MetastoreServerError, UnsupportedAcidTableError
from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation.acid_table import AcidReader
from hudi_hive.mutation.acid_write import MergeRecords, MutatorClient, MutatorCoordinator, Transaction, merge
from tests.support.mutation.acid_definitions import acid_table

_numbers = itertools.count(int(time.time() * 1000))


def changes(rows: dict[int, tuple[str, str]]) -> pa.Table:
    """Rows of id, msg and country."""
    texts = [pa.array([row[place] for row in rows.values()], pa.string()) for place in range(2)]
    return pa.table([pa.array(rows, pa.int32()), *texts], names=["id", "msg", "country"])


class MergeBehaviour:
    """The tests."""

    @pytest.fixture
    def transactions(self, metastore: Any) -> Iterator[TransactionClient]:
        with HiveMetastore(metastore.uri) as client:
            yield TransactionClient(client)

    def make(self, transactions: TransactionClient, warehouse: Path, **how: Any) -> str:
        name = f"g{next(_numbers)}"
        transactions.create_table(
            acid_table(f"file:{warehouse}/{name}", keys=[("country", "string")], name=name, **how)
        )
        return name

    def see(self, transactions: TransactionClient, name: str) -> dict[int, tuple[str, str]]:
        found = AcidReader.open(transactions, "default", name).read(with_row_id=False).to_pylist()
        rows = {row["id"]: (row["msg"], row["country"]) for row in found}
        assert len(rows) == len(found)
        return rows

    def merge(self, transaction: Transaction, name: str, rows: Any, **how: Any) -> MergeRecords:
        result = merge(transaction.reader("default", name), changes(rows), ["id"], **how)
        for part in result.split(2):
            with MutatorCoordinator(transaction.table("default", name)) as coordinator:
                part.feed(coordinator)
            transaction.accept(coordinator.close())
        return result

    def test_merges_one_after_the_other(self, metastore: Any, warehouse: Path, transactions: TransactionClient) -> None:
        """Rows come, change, move to other partitions and go; an aborted merge leaves no trace."""
        rng = random.Random(1)
        name = self.make(transactions, warehouse)
        wanted: dict[int, tuple[str, str]] = {}
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"], create_partitions=True) as client:
            for turn in range(6):
                rows = {n: (f"turn {turn}", rng.choice(["DE", "a/b", "FR"])) for n in rng.sample(range(60), 20)}
                transaction = client.new_transaction().begin()
                result = self.merge(transaction, name, rows, delete_where="id > 50")
                known = {n for n in rows if n in wanted}
                going = {n for n in rows if n > 50}
                assert result.deleted == len(known & going) and result.updated == len(known - going)
                assert result.inserted == len(rows.keys() - known - going)
                assert self.see(transactions, name) == wanted
                if turn == 3:
                    transaction.abort()
                    continue
                transaction.commit()
                wanted = {n: row for n, row in {**wanted, **rows}.items() if n not in going}
                assert self.see(transactions, name) == wanted
        keyed = AcidReader.open(transactions, "default", name).read(["id"], "country = 'a/b'")
        assert sorted(keyed["id"].to_pylist()) == sorted(n for n, row in wanted.items() if row[1] == "a/b")

    def test_a_transaction_reads_what_it_saw_at_its_begin(
        self, metastore: Any, warehouse: Path, transactions: TransactionClient
    ) -> None:
        name = self.make(transactions, warehouse)
        with MutatorClient(metastore.uri, sinks=[f"default.{name}"], create_partitions=True) as client:
            with client.new_transaction() as first:
                self.merge(first, name, {1: ("first", "DE")})
            seen_first = AcidReader.open(transactions, "default", name)
            with client.new_transaction() as second:
                self.merge(second, name, {1: ("second", "DE"), 2: ("second", "DE")})
        assert seen_first.read(["id", "msg"], with_row_id=False).to_pylist() == [{"id": 1, "msg": "first"}]
        assert self.see(transactions, name) == {1: ("second", "DE"), 2: ("second", "DE")}

    def test_other_tables_are_refused(self, metastore: Any, warehouse: Path, transactions: TransactionClient) -> None:
        name = self.make(transactions, warehouse, parameters={"transactional_properties": "insert_only"})
        # Real metastores do not even hand it out.
        with pytest.raises((UnsupportedAcidTableError, MetastoreServerError), match="insert-only"):
            AcidReader.open(transactions, "default", name)
