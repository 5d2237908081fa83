"""What holds of every kind of mutations, whatever table they change: Hive ACID, Hudi or one of a test's own.

A subclass gives the fixture ``kind``, a :class:`MutationKind` over a table with the columns ``id`` and ``msg`` and the
partition key ``country``, which has no rows yet.
"""

from __future__ import annotations

import json
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive.errors import (
    HudiHiveError,
    MutationError,
    MutationStateError,
    RecordDecodingError,
    SchemaError,
    UnknownColumnError,
)
from hudi_hive.mutation import (
    ClientBase,
    Coordinator,
    DecodingInspector,
    Manifest,
    MappingInspector,
    RecordInspector,
    TransactionBase,
    TransactionState,
)

INSERT, UPDATE, DELETE = range(3)
Change = tuple[int, str, int, str | None]
"""Operation, country, id, message."""
Rows = dict[tuple[str, int], str | None]


class MutationKind(ABC):
    """One kind of mutations, over one table."""

    id_column: str | None = None
    """The column of identifiers; None where rows are identified by their keys."""

    @abstractmethod
    def client(self) -> ClientBase[Any]:
        """A client, which is not connected."""

    @abstractmethod
    def coordinator(
        self, transaction: TransactionBase, attempt: str | None = None, inspector: RecordInspector | None = None
    ) -> Coordinator[Any]:
        """What a worker makes of the text of the transaction's table."""

    @abstractmethod
    def decode(self, text: str) -> Manifest:
        """A manifest of its text."""

    @abstractmethod
    def rows(self) -> Rows:
        """What readers see."""

    @abstractmethod
    def leftovers(self) -> list[str]:
        """What is staged."""

    def identifiers(self, transaction: TransactionBase) -> Mapping[tuple[str, int], Any]:
        """Identifiers of the table's rows; empty where rows are identified by their keys."""
        return {}

    def ordered(self, transaction: TransactionBase, changes: Sequence[Change]) -> list[tuple[Change, dict[str, Any]]]:
        """Changes in the order that a coordinator takes them, with the record of each."""
        ids = self.identifiers(transaction)
        made = []
        for change in sorted(changes, key=lambda one: (one[1], tuple(ids.get(one[1:3], ())))):
            record = {"id": change[2], "msg": change[3]}
            if self.id_column is not None and change[0] != INSERT:
                record[self.id_column] = list(ids[change[1:3]])
            made.append((change, record))
        return made


def give(coordinator: Coordinator[Any], operation: int, country: str, record: object) -> None:
    (coordinator.insert, coordinator.update, coordinator.delete)[operation]([country], record)


def applied(rows: Rows, changes: Sequence[Change]) -> Rows:
    after = dict(rows)
    for operation, country, number, message in changes:
        if operation == DELETE:
            del after[country, number]
        else:
            after[country, number] = message
    return after


def decode_json(record: bytes) -> Mapping[str, Any]:
    values: Mapping[str, Any] = json.loads(record)
    return values


FIRST: list[Change] = [(INSERT, "nl", 1, "a"), (INSERT, "nl", 2, "b"), (INSERT, "de", 3, "c")]
SECOND: list[Change] = [(UPDATE, "nl", 1, "a2"), (DELETE, "nl", 2, None), (INSERT, "fr", 4, None)]


class MutationContract:
    """The tests."""

    def change(
        self, kind: MutationKind, client: ClientBase[Any], changes: Sequence[Change], *, tasks: int = 1
    ) -> TransactionBase:
        """One transaction, each task with the partitions of its own."""
        with client.new_transaction() as transaction:
            for task in range(tasks):
                mine = [change for change in changes if len(change[1]) and ord(change[1][0]) % tasks == task]
                coordinator = kind.coordinator(transaction)
                for change, record in kind.ordered(transaction, mine):
                    give(coordinator, change[0], change[1], record)
                transaction.accept(kind.decode(coordinator.close().encode()))
        assert isinstance(transaction, TransactionBase)
        return transaction

    def test_changes_are_visible_after_the_commit_alone(self, kind: MutationKind) -> None:
        with kind.client() as client:
            assert self.change(kind, client, FIRST).state is TransactionState.COMMITTED
            assert kind.rows() == applied({}, FIRST)
            transaction = client.new_transaction().begin()
            coordinator = kind.coordinator(transaction)
            for change, record in kind.ordered(transaction, SECOND):
                give(coordinator, change[0], change[1], record)
            manifest = coordinator.close()
            assert (manifest.rows, coordinator.close()) == (3, manifest)
            assert kind.rows() == applied({}, FIRST)
            transaction.accept(manifest)
            transaction.commit()
        assert kind.rows() == applied(applied({}, FIRST), SECOND)
        assert not kind.leftovers()

    def test_nothing_of_what_is_aborted_or_not_accepted_counts(self, kind: MutationKind) -> None:
        with kind.client() as client:
            self.change(kind, client, FIRST)
            aborted = client.new_transaction().begin()
            with kind.coordinator(aborted) as coordinator:
                coordinator.insert(["nl"], {"id": 9, "msg": "never"})
            aborted.accept(coordinator.close())
            aborted.abort()
            assert aborted.state is TransactionState.ABORTED
            with pytest.raises(ZeroDivisionError), client.new_transaction() as failed, kind.coordinator(failed) as one:
                one.insert(["nl"], {"id": 9, "msg": "never"})
                raise ZeroDivisionError
            assert failed.state is TransactionState.ABORTED
            with client.new_transaction() as last:
                for attempt in ("slow", "fast"):
                    coordinator = kind.coordinator(last, attempt)
                    coordinator.insert(["nl"], {"id": 5, "msg": attempt})
                    manifest = coordinator.close()
                last.accept(manifest)
        assert kind.rows() == {**applied({}, FIRST), ("nl", 5): "fast"}
        assert not kind.leftovers()

    def test_manifests_are_accepted_once_and_by_their_own_transaction(self, kind: MutationKind) -> None:
        with kind.client() as client:
            with client.new_transaction() as first:
                with kind.coordinator(first) as coordinator:
                    coordinator.insert(["nl"], {"id": 1, "msg": "once"})
                text = coordinator.close().encode()
                first.accept(kind.decode(text))
                with pytest.raises(MutationError):
                    first.accept(kind.decode(text))
            with pytest.raises(MutationError), client.new_transaction() as second:
                second.accept(kind.decode(text))
        assert kind.rows() == {("nl", 1): "once"}

    def test_calls_out_of_order_are_refused(self, kind: MutationKind) -> None:
        client = kind.client()
        with pytest.raises(MutationStateError):
            client.new_transaction()
        with client:
            with pytest.raises(MutationStateError):
                client.connect()
            retired, transaction = client.new_transaction(), client.new_transaction()
            for call in (transaction.commit, transaction.abort, retired.begin):
                with pytest.raises(MutationStateError):
                    call()
            transaction.begin()
            for call in (transaction.begin, client.new_transaction):
                with pytest.raises(MutationStateError):
                    call()
            coordinator = kind.coordinator(transaction)
            coordinator.insert(["nl"], {"id": 1, "msg": "a"})
            coordinator.close()
            for late in (coordinator.flush, lambda: coordinator.insert(["nl"], {"id": 2, "msg": "b"})):
                with pytest.raises(MutationStateError):
                    late()
            for name in ("", "a/b", "..", "."):
                with pytest.raises(MutationStateError):
                    kind.coordinator(transaction, name)
        assert transaction.state is TransactionState.ABORTED
        assert not kind.rows() and not kind.leftovers()

    def test_an_error_of_a_record_makes_its_coordinator_unusable(self, kind: MutationKind) -> None:
        wrong: list[tuple[Sequence[Any], Any]] = [
            (["nl"], {"id": 1, "msg": "a", "more": 1}),
            (["nl"], {"id": 1}),
            (["nl"], {"id": "one", "msg": "a"}),
            (["nl", "more"], {"id": 1, "msg": "a"}),
            ([5], {"id": 1, "msg": "a"}),
            ("nl", {"id": 1, "msg": "a"}),
        ]
        with kind.client() as client, client.new_transaction() as transaction:
            for values, record in wrong:
                coordinator = kind.coordinator(transaction)
                with pytest.raises((HudiHiveError, pa.ArrowException)):
                    coordinator.insert(values, record)
                    coordinator.flush()
                with pytest.raises(MutationStateError):
                    coordinator.insert(["nl"], {"id": 1, "msg": "a"})
                with pytest.raises(MutationStateError):
                    coordinator.close()
                coordinator.discard()
        assert not kind.rows()

    def test_batches_are_what_their_records_are(self, kind: MutationKind) -> None:
        ids = pa.array([1, 2, 3], pa.int32())
        with kind.client() as client, client.new_transaction() as transaction:
            with kind.coordinator(transaction) as coordinator:
                coordinator.insert_batch(pa.table({"id": ids, "msg": ["a", "b", None]}), ["nl"])
                coordinator.insert(["de"], {"id": 4, "msg": "d"})
                countries = pa.array(["fr", "uk", "uk"])
                coordinator.insert_batch(pa.table({"id": ids, "msg": ["a", "b", "c"], "country": countries}))
            transaction.accept(coordinator.close())
            for batch in ({"id": ids, "msg": ["a"] * 3, "more": ids}, {"msg": ["a"] * 3}):
                with pytest.raises((SchemaError, UnknownColumnError, HudiHiveError, KeyError)):
                    kind.coordinator(transaction).insert_batch(pa.table(batch))
            with pytest.raises(MutationError):
                kind.coordinator(transaction).mutate_batch(pa.table({"id": ids, "msg": ["a"] * 3}), 3, ["nl"])
        of_nl: Rows = {("nl", 1): "a", ("nl", 2): "b", ("nl", 3): None}
        assert kind.rows() == {**of_nl, ("de", 4): "d", ("fr", 1): "a", ("uk", 2): "b", ("uk", 3): "c"}

    def test_records_of_bytes_are_decoded_by_the_callers_function(self, kind: MutationKind) -> None:
        with kind.client() as client:
            self.change(kind, client, FIRST)
            inspector = DecodingInspector(decode_json)
            with client.new_transaction() as transaction:
                coordinator = kind.coordinator(transaction, inspector=inspector)
                for number, (change, record) in enumerate(kind.ordered(transaction, SECOND)):
                    encoded = json.dumps(record).encode()
                    give(coordinator, change[0], change[1], (bytes, bytearray, memoryview)[number % 3](encoded))
                transaction.accept(coordinator.close())
            expected = applied(applied({}, FIRST), SECOND)
            assert kind.rows() == expected
            with client.new_transaction() as transaction:
                for odd in (b"{", b"[1]", '{"id": 1, "msg": "a"}', {"id": 1, "msg": "a"}, None):
                    coordinator = kind.coordinator(transaction, inspector=inspector)
                    with pytest.raises(RecordDecodingError):
                        coordinator.insert(["nl"], odd)
                    with pytest.raises(MutationStateError):
                        coordinator.close()
        assert kind.rows() == expected

    def test_the_column_of_identifiers_has_a_name_of_ones_own(self, kind: MutationKind) -> None:
        with kind.client() as client:
            self.change(kind, client, FIRST)
            with client.new_transaction() as transaction:
                if kind.id_column is None:
                    return
                inspector = MappingInspector("rid")
                coordinator = kind.coordinator(transaction, inspector=inspector)
                for (operation, country, _, _), record in kind.ordered(transaction, SECOND):
                    if kind.id_column in record:
                        record["RID"] = record.pop(kind.id_column)
                    give(coordinator, operation, country, record)
                transaction.accept(coordinator.close())
                refused = kind.coordinator(transaction, inspector=inspector)
                with pytest.raises(HudiHiveError):
                    refused.update(["de"], kind.ordered(transaction, [(UPDATE, "de", 3, "x")])[0][1])
                    refused.flush()
        assert kind.rows() == applied(applied({}, FIRST), SECOND)

    def test_rounds_of_changes_leave_what_a_dictionary_would(self, kind: MutationKind) -> None:
        """Random changes by two tasks, some of them aborted."""
        chance = random.Random(5)
        model: Rows = {}
        with kind.client() as client:
            for number in range(6):
                keys = {(chance.choice(["nl", "de", "fr"]), chance.randrange(12)) for _ in range(6)}
                changes: list[Change] = [
                    (INSERT, *key, f"r{number}")
                    if key not in model
                    else (chance.choice([UPDATE, DELETE]), *key, f"r{number}")
                    for key in sorted(keys)
                ]
                if chance.random() < 0.3:
                    with pytest.raises(ZeroDivisionError), client.new_transaction() as transaction:
                        with kind.coordinator(transaction) as coordinator:
                            for change, record in kind.ordered(transaction, changes):
                                give(coordinator, change[0], change[1], record)
                        raise ZeroDivisionError
                else:
                    self.change(kind, client, changes, tasks=2)
                    model = applied(model, changes)
                assert kind.rows() == model
        assert not kind.leftovers()
