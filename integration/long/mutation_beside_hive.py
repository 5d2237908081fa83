"""Tables that Hive 4.0.1 and we write by turns: its SQL changes our rows, we change its rows, and it compacts both.

After each step Hive's SQL, Hive's readers and our reader must have the rows that a dictionary has, and Hive must count
right. States of these tables can be recorded, for tests that have no Hive.
"""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive.mutation.acid_write import MutatorClient, MutatorCoordinator, Transaction, merge
from integration.support.hive_acid import Snapshot
from integration.support.hive_sql import HiveSql
from integration.support.mutation_judge import Judge

TABLES: Mapping[str, str] = {
    "partitioned": "PARTITIONED BY (country string) CLUSTERED BY (id) INTO 3 BUCKETS",
    "plain": "",
}
"""Kinds of tables, by what their CREATE TABLE says."""

# No letter outside of ASCII: of such a partition the compactor of Hive 4.0.1 loses all rows, also those of Hive alone.
_COUNTRY = "F R"
_CLEANED_SECONDS = 60.0
Message = tuple[str | None, str | None, str]
"""Message, amount, and the country, which only partitioned tables have."""


@dataclass
class Tally:
    """What was looked at, and what of it was right."""

    passed: int = 0
    total: int = 0

    def note(self, what: str, right: bool, detail: object = "") -> None:
        """One look."""
        self.total += 1
        self.passed += right
        if not right:
            print(f"WRONG {what}: {detail}", flush=True)


class BesideHive:
    """One table, written by both.

    Args:
        judge: of a metastore 4.0.1.
        sql: Hive's SQL engine on it.
        kind: a key of ``TABLES``.
        tally: counts the looks.
        recordings: folder for the recorded states; None records nothing.
    """

    def __init__(self, judge: Judge, sql: HiveSql, kind: str, tally: Tally, recordings: Path | None = None) -> None:
        self.judge = judge
        self.sql = sql
        self.kind = kind
        self.tally = tally
        self.name = f"beside_{kind}"
        self.model: dict[int, Message] = {}
        self._recordings = recordings
        self._step = ""
        columns = "id int, msg string, amount decimal(10,2)"
        if kind == "plain":
            columns += ", country string"
        sql.run(
            f"CREATE TABLE {self.name} ({columns}) {TABLES[kind]} STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )

    def run(self) -> None:
        """All steps, each with a look after it."""
        with MutatorClient(self.judge.server.uri, sinks=[f"default.{self.name}"], create_partitions=True) as client:
            for step in self._steps(client):
                self._step = f"{self.kind}, {step}"
                print(self._step, flush=True)
                self._look()

    def _steps(self, client: MutatorClient) -> Iterator[str]:
        self._merge(client, range(12), "ours")
        yield "we insert"
        self.sql.run(f"ANALYZE TABLE {self.name} COMPUTE STATISTICS FOR COLUMNS")
        self._merge(client, range(8, 20), "ours again", gone={9, 10})
        yield "we insert, update and delete after statistics were made"
        self._hive_changes(range(6), {2, 11, 13}, range(30, 34))
        yield "Hive changes our rows"
        self._merge(client, [*range(3, 8), 31, 40], "ours on Hive's", gone={4, 32})
        yield "we change Hive's rows"
        self._merge(client, range(20), "aborted", commit=False)
        yield "we abort"
        self._record("written")
        self._compact("MINOR")
        yield "Hive compacts the deltas"
        self._record("minor")
        self._merge(client, [1, 3, 14, 50], "ours after the minor one", gone={5, 33})
        yield "we change what is compacted"
        self._hive_changes([1, 7, 50], {15}, [60])
        yield "Hive changes what we changed"
        self._compact("MAJOR")
        yield "Hive compacts all"
        self._record("major")
        self._merge(client, [0, 1, 3, 60, 70], "ours after the major one", gone={6, 16})
        yield "we change what is compacted to a base"
        self._hive_merges({0: "merged", 70: "merged", 80: "merged"})
        yield "Hive merges"
        self.sql.run(f"ANALYZE TABLE {self.name} COMPUTE STATISTICS FOR COLUMNS")
        self._merge(client, [80, 90], "ours at the end", gone={70})
        yield "we change what Hive merged, and has made statistics of"
        self._record("mixed")

    # -- changes ----------------------------------------------------------------------------------------------------

    def _merge(
        self,
        client: MutatorClient,
        ids: Iterator[int] | list[int] | range,
        text: str,
        gone: set[int] = frozenset(),
        commit: bool = True,
    ) -> None:
        """We insert or update ids and delete others, by two tasks."""
        rows = {number: self._row(number, text) for number in ids if number not in gone}
        changes = {number: (*row, False) for number, row in rows.items()}
        changes |= {number: (*self.model[number], True) for number in gone}
        amounts = [None if change[1] is None else Decimal(change[1]) for change in changes.values()]
        data = pa.table(
            {
                "id": pa.array(changes, pa.int32()),
                "msg": pa.array([change[0] for change in changes.values()], pa.string()),
                "amount": pa.array(amounts, pa.decimal128(10, 2)),
                "country": pa.array([change[2] for change in changes.values()], pa.string()),
                "gone": pa.array([change[3] for change in changes.values()]),
            }
        )
        transaction = client.new_transaction().begin()
        self._write(transaction, data)
        if not commit:
            transaction.abort()
            return
        transaction.commit()
        self.model |= rows
        for number in gone:
            del self.model[number]

    def _write(self, transaction: Transaction, data: pa.Table) -> None:
        merged = merge(transaction.reader("default", self.name), data, ["id"], delete_where="gone = true")
        for part in merged.split(2):
            with MutatorCoordinator(transaction.table("default", self.name)) as coordinator:
                part.feed(coordinator)
            transaction.accept(coordinator.close())

    def _row(self, number: int, text: str) -> Message:
        message = None if number % 7 == 3 else f"{text} {number}"
        return message, None if number % 5 == 4 else f"{number}.25", "DE" if number % 2 else _COUNTRY

    def _hive_changes(self, updated: range | list[int], gone: set[int], added: range | list[int]) -> None:
        known = sorted(set(updated) & self.model.keys())
        self.sql.run(f"UPDATE {self.name} SET msg = concat('hive ', id) WHERE id IN ({_listed(known)})")
        self.sql.run(f"DELETE FROM {self.name} WHERE id IN ({_listed(gone)})")
        rows = ", ".join(f"({number}, 'new {number}', {number}.5, 'DE')" for number in added)
        partition = " PARTITION (country)" if self.kind == "partitioned" else ""
        self.sql.run(f"INSERT INTO {self.name}{partition} VALUES {rows}")
        for number in known:
            self.model[number] = (f"hive {number}", *self.model[number][1:])
        for number in gone:
            del self.model[number]
        self.model |= {number: (f"new {number}", f"{number}.5", "DE") for number in added}

    def _hive_merges(self, messages: dict[int, str]) -> None:
        rows = " UNION ALL ".join(f"SELECT {number} AS id, '{text}' AS msg" for number, text in messages.items())
        self.sql.run(
            f"MERGE INTO {self.name} USING ({rows}) s ON {self.name}.id = s.id "
            "WHEN MATCHED THEN UPDATE SET msg = s.msg WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.msg, 1, 'DE')"
        )
        for number, text in messages.items():
            known = self.model.get(number, (None, "1", "DE"))
            self.model[number] = (text, *known[1:])

    def _compact(self, kind: str) -> None:
        """Hive compacts all partitions, and its cleaner removes what was compacted."""
        folder = self.judge.server.warehouse / self.name
        partitions = sorted(folder.glob("country=*")) or [folder]
        for partition in partitions:
            old = {path for path in partition.iterdir() if path.name.startswith(("delta", "delete_delta", "base"))}
            name = partition.name if partition != folder else ""
            state = self.sql.compact(kind, "default", self.name, name)
            self.tally.note(f"{self.kind}, {kind} compaction", state in ("ready for cleaning", "succeeded"), state)
            until = time.monotonic() + _CLEANED_SECONDS
            while any(path.exists() for path in old) and time.monotonic() < until:
                time.sleep(0.5)
            left = [path.name for path in old if path.exists()]
            self.tally.note(f"{self.kind}, cleaned after the {kind} compaction", not left, left)

    # -- looks ------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        wanted = dict(self.model)
        try:
            found = {row[0]: (*row[1:], *partition) for (partition, _), row in self.judge.see(self.name).items()}
            self.tally.note(f"{self._step}: readers", found == wanted, (found, wanted))
        except AssertionError as error:
            self.tally.note(f"{self._step}: readers", False, error)
        rows = self.sql.run(f"SELECT id, msg, amount, country FROM {self.name}")
        selected = {int(row[0]): tuple(_value(text) for text in row[1:]) for row in rows}
        right = len(rows) == len(selected) and _trimmed(selected) == wanted
        self.tally.note(f"{self._step}: Hive selects", right, (selected, wanted))
        ((count, least, most),) = self.sql.run(f"SELECT count(*), min(id), max(id) FROM {self.name}")
        counted = (int(count), int(least), int(most))
        self.tally.note(f"{self._step}: Hive counts", counted == (len(wanted), min(wanted), max(wanted)), counted)

    # -- recordings -------------------------------------------------------------------------------------------------

    def _record(self, state: str) -> None:
        """The table's files, its snapshot, and the rows with their identifiers as Hive's SQL has them."""
        if self._recordings is None:
            return
        snapshot = Snapshot.take(self.judge.client, "default", self.name)
        root = self.judge.server.warehouse / self.name
        rows = self.sql.run(f"SELECT id, msg, amount, country, ROW__ID FROM {self.name}")
        about = {
            "table": snapshot.table.encode().replace(f"file:{root}", "LOCATION"),
            "write_ids": snapshot.write_ids.format(),
            "transactions": snapshot.transactions.format(),
            "partitions": [[list(part.values), Path(part.location).name] for part in snapshot.partitions],
            "rows": [[*map(_value, row[:4]), list(json.loads(row[4]).values())] for row in rows],
        }
        pack(self._recordings / f"{self.kind}_{state}.zip", root, about)


def pack(path: Path, root: Path, about: Mapping[str, Any]) -> None:
    """A zip of ``about.json`` and the files of a table below ``table``.

    Args:
        path: of the zip.
        root: folder of the table.
        about: what there is to say of it, as JSON has it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("about.json", json.dumps(about, indent=1, ensure_ascii=False))
        for file in sorted(root.rglob("*")):
            if file.is_file() and not file.name.startswith("."):
                packed.write(file, f"table/{file.relative_to(root)}")


def _listed(numbers: set[int] | list[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _value(text: str) -> str | None:
    return None if text == "NULL" else text


def _trimmed(rows: dict[int, tuple[str | None, ...]]) -> dict[int, tuple[str | None, ...]]:
    """Amounts without the zeros at their end, which Hive prints."""
    return {
        number: (message, None if amount is None else amount.rstrip("0").rstrip("."), country)
        for number, (message, amount, country) in rows.items()
    }
