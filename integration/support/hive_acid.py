"""Hive's own readers of ACID tables, of real releases: what they see of a folder under a snapshot, row by row.

One Java process per release answers many questions.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Self

from hudi_hive.formats.orc import BucketProperty, HiveType, parse_hive_type
from hudi_hive.metastore import TransactionClient, ValidTransactions, ValidWriteIds
from hudi_hive.mutation.acid_table import ROW_ID, AcidPartition, AcidReader, AcidTable
from hudi_hive.mutation.acid_write import RowId, Transaction
from integration.support.hive_process import HiveProcess

_MAIN = Path(__file__).with_name("HiveAcidReader.java")

Mode = Literal["row", "vector"]
MODES: tuple[Mode, ...] = ("row", "vector")
"""Hive's reader that merges events row by row, and the one that filters vectors of rows."""

Row = tuple[Any, ...]
"""Values as JSON has them: numbers, booleans, texts for all else; lists for arrays, maps (of pairs) and structs."""

Rows = dict[tuple[tuple[str | None, ...], RowId], Row]
"""Rows by partition values and identifier, which is unique in a partition only."""


class HiveAcid:
    """Hive's readers of one release; a context manager.

    Args:
        version: a key of ``metastores.RELEASES``.
        heap: largest heap of the Java process.
    """

    def __init__(self, version: str, *, heap: str = "512m") -> None:
        self.version = version
        zone = "-Duser.timezone=America/New_York"  # no answer may hang on it
        self._process = HiveProcess(version, _MAIN, heap=heap, options=[zone])

    def __enter__(self) -> Self:
        self._process.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._process.__exit__(None, None, None)

    def read_folder(
        self,
        table: AcidTable,
        folder: str,
        write_ids: ValidWriteIds,
        transactions: ValidTransactions | None = None,
        *,
        mode: Mode = "row",
    ) -> list[tuple[RowId, Row]]:
        """The rows of one partition's folder, or that of a table without partitions.

        Args:
            table: columns and buckets.
            folder: its URI or path.
            write_ids: the snapshot.
            transactions: the snapshot's transactions; None for all of them.
            mode: which of Hive's readers.

        Raises:
            HiveError: Hive cannot.
            AssertionError: a row is in another bucket than Hive computes from its values.
        """
        seen = transactions if transactions is not None else ValidTransactions(2**63 - 1)
        names = [column.name for column in table.columns]
        assert not any("\t" in name for name in names)
        question = (
            mode,
            folder,
            str(table.buckets or -1),
            ",".join(names),
            ":".join(column.type for column in table.columns),
            write_ids.format(),
            seen.format(),
            ",".join(str(names.index(name)) for name in table.bucket_columns),
            str(table.bucketing_version),
        )
        kinds = [parse_hive_type(column.type) for column in table.columns]
        rows = []
        for row_id, row, *bucket in map(json.loads, self._process.ask("\t".join(question))):
            key = RowId(*row_id)
            assert bucket in ([], [int(BucketProperty.decode(key.bucket)[0])]), f"{key} belongs into bucket {bucket}"
            rows.append((key, tuple(_from_hive(value, kind) for value, kind in zip(row, kinds, strict=True))))
        return rows

    def read(self, snapshot: Snapshot, *, mode: Mode = "row") -> Rows:
        """All rows that Hive sees under a snapshot.

        Args:
            snapshot: of which table.
            mode: which of Hive's readers.

        Raises:
            HiveError: Hive cannot.
            AssertionError: two rows of one identifier, or a row in another bucket than Hive computes from its values.
        """
        rows: Rows = {}
        for partition in snapshot.partitions:
            folder = partition.location or snapshot.table.location
            if not os.path.isdir(folder.removeprefix("file:")):
                continue  # made in the metastore alone
            found = self.read_folder(snapshot.table, folder, snapshot.write_ids, snapshot.transactions, mode=mode)
            for row_id, row in found:
                assert (partition.values, row_id) not in rows, f"two rows of {row_id} in {partition.values}"
                rows[partition.values, row_id] = row
        return rows


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What may be seen of one table.

    Args:
        table: the table.
        write_ids: its valid write ids.
        transactions: the valid transactions.
        partitions: those to read; for a table without partitions, itself.
    """

    table: AcidTable
    write_ids: ValidWriteIds
    transactions: ValidTransactions
    partitions: tuple[AcidPartition, ...] = (AcidPartition(),)

    @classmethod
    def take(cls, client: TransactionClient, database: str, name: str) -> Self:
        """What a new reader sees now."""
        table = AcidTable.of(client.table(database, name), sink=False)
        seen = client.valid_transactions()
        return cls(table, client.valid_write_ids(database, name, seen), seen, _partitions(client, table))

    @classmethod
    def within(cls, client: TransactionClient, transaction: Transaction, database: str, name: str) -> Self:
        """What an open transaction sees."""
        table = transaction.table(database, name)
        valid = transaction.valid_write_ids(database, name)
        return cls(table, valid, transaction.snapshot, _partitions(client, table))

    def ours(self) -> Rows:
        """What our reader sees, in the form in which Hive's rows come.

        Raises:
            AssertionError: two rows of one identifier.
        """
        rows: Rows = {}
        kinds = [parse_hive_type(column.type) for column in self.table.columns]
        for partition in self.partitions:
            reader = AcidReader(self.table, self.write_ids, self.transactions, partitions=[partition])
            data = reader.read([column.name for column in self.table.columns])
            columns = [data[column.name].to_pylist() for column in self.table.columns]
            for at, row_id in enumerate(data[ROW_ID].to_pylist()):
                key = partition.values, RowId(*row_id.values())
                assert key not in rows, f"two rows of {key}"
                rows[key] = tuple(plain(column[at], kind) for column, kind in zip(columns, kinds, strict=True))
        return rows


def _partitions(client: TransactionClient, table: AcidTable) -> tuple[AcidPartition, ...]:
    if not table.partition_keys:
        return (AcidPartition(),)
    return tuple(AcidPartition.of(one) for one in client.metastore.partitions(table.database, table.name))


def plain(value: Any, kind: HiveType) -> Any:
    """A value of a row as Python has it, in the form in which Hive's values come."""
    if value is None:
        return None
    if kind.kind in ("float", "double"):
        return "NaN" if math.isnan(value) else value
    if kind.kind == "array":
        return [plain(one, kind.children[0]) for one in value]
    if kind.kind == "map":
        pairs = [[plain(key, kind.children[0]), plain(one, kind.children[1])] for key, one in value]
        return sorted(pairs, key=repr)
    if kind.kind == "struct":
        return [plain(one, child) for one, child in zip(value.values(), kind.children, strict=True)]
    return _TEXTS.get(kind.kind, lambda same: same)(value)


def _decimal_text(value: Decimal) -> str:
    text = format(value, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) if value else "0"


def _timestamp_text(value: datetime) -> str:
    text = value.isoformat(" ", "seconds")
    return text + (f".{value.microsecond:06d}".rstrip("0") if value.microsecond else "")


_TEXTS: Mapping[str, Callable[[Any], Any]] = {
    "binary": bytes.hex,
    "char": lambda text: text.rstrip(" "),
    "date": date.isoformat,
    "decimal": _decimal_text,
    "timestamp": _timestamp_text,
}


def _from_hive(value: Any, kind: HiveType) -> Any:
    """A value as the Java process prints it."""
    if value is None:
        return None
    if kind.kind in ("float", "double") and math.isnan(value):
        return "NaN"  # equal to itself
    if kind.kind == "array":
        return [_from_hive(one, kind.children[0]) for one in value]
    if kind.kind == "map":
        pairs = [[_from_hive(one, child) for one, child in zip(pair, kind.children, strict=True)] for pair in value]
        return sorted(pairs, key=repr)
    if kind.kind == "struct":
        return [_from_hive(one, child) for one, child in zip(value, kind.children, strict=True)]
    return value
