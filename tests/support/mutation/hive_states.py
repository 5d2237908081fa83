"""Tables that Hive 4.0.1 has written and compacted, as recorded once.

``python -m integration.long.mutation_oracle --record`` records them.
"""

from __future__ import annotations

import copy
import json
import zipfile
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive.metastore import Partition, TransactionClient, ValidTransactions, ValidWriteIds
from hudi_hive.mutation.acid_table import AcidPartition, AcidReader, AcidTable
from hudi_hive.mutation.acid_write import MutatorClient, MutatorCoordinator, RowId, merge
from tests.support.mutation.acid_definitions import acid_table

FOLDER = Path(__file__).parents[3] / "integration" / "data" / "hive_acid"
STATES = sorted(path.stem for path in FOLDER.glob("*.zip"))
"""What was recorded: kind of table, and what had happened to it."""

Rows = dict[int, tuple[str | None, Decimal | None, str]]
"""Message, amount and country by id."""


@dataclass(frozen=True)
class HiveState:
    """One recorded table.

    Args:
        table: the table, where it was unpacked.
        write_ids: the snapshot that it was recorded under.
        transactions: the snapshot's transactions.
        partitions: its partitions.
        rows: what Hive's SQL answered.
        row_ids: their identifiers by id, as it answered.
    """

    table: AcidTable
    write_ids: ValidWriteIds
    transactions: ValidTransactions
    partitions: tuple[AcidPartition, ...]
    rows: Rows
    row_ids: dict[int, RowId]

    @classmethod
    def unpack(cls, name: str, folder: Path) -> HiveState:
        """A state, with its files below a folder."""
        with zipfile.ZipFile(FOLDER / f"{name}.zip") as packed:
            packed.extractall(folder)
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        root = f"file:{folder}/table"
        partitions = [
            AcidPartition(tuple(values), f"{root}/{path}" if values else "") for values, path in about["partitions"]
        ]
        rows: Rows = {}
        row_ids = {}
        for number, message, amount, country, row_id in about["rows"]:
            rows[int(number)] = (message, None if amount is None else Decimal(amount), country)
            row_ids[int(number)] = RowId(*row_id)
        return cls(
            AcidTable.decode(about["table"].replace("LOCATION", root)),
            ValidWriteIds.parse(about["write_ids"]),
            ValidTransactions.parse(about["transactions"]),
            tuple(partitions),
            rows,
            row_ids,
        )

    def reader(self) -> AcidReader:
        """Our reader under the recorded snapshot."""
        return AcidReader(self.table, self.write_ids, self.transactions, partitions=self.partitions)

    def restore(self, client: TransactionClient) -> str:
        """Make the table in another metastore, whose transactions and write ids are brought to where they were.

        Returns:
            its name.
        """
        table = self.table
        made = acid_table(
            table.location,
            [(column.name, column.type) for column in table.columns],
            [(key.name, key.type) for key in table.partition_keys],
            buckets=table.buckets or -1,
            bucket_columns=table.bucket_columns,
            parameters={"bucketing_version": str(table.bucketing_version)},
            name=table.name,
        )
        client.create_table(made)
        if table.partition_keys:
            client.metastore.add_partitions(
                "default", table.name, [self._partition(made, one) for one in self.partitions]
            )
        for number in range(1, max(self.write_ids.high_water, self.transactions.high_water) + 1):
            transaction = client.open()
            if number <= self.write_ids.high_water:
                client.allocate_write_id(transaction, "default", table.name)
            if number in self.write_ids.aborted:
                client.abort(transaction)
            else:
                client.commit(transaction)
        return table.name

    def _partition(self, table: Any, partition: AcidPartition) -> Partition:
        sd = copy.deepcopy(table.sd)
        sd.location = partition.location
        values = list(partition.values)
        return Partition(values=values, dbName="default", tableName=self.table.name, sd=sd, parameters={})


def read(reader: AcidReader) -> tuple[Rows, dict[int, RowId]]:
    """Rows and identifiers by id."""
    rows: Rows = {}
    row_ids = {}
    for row in reader.read().to_pylist():
        assert row["id"] not in rows
        rows[row["id"]] = (row["msg"], row["amount"], row["country"])
        row_ids[row["id"]] = RowId(*row["ROW__ID"].values())
    return rows, row_ids


def mutate(client: MutatorClient, name: str, rows: Rows) -> Rows:
    """Update every third row, delete every third and insert two; two tasks do it.

    Returns:
        the rows that are there then.
    """
    ids = sorted(rows)
    updated, gone, added = ids[::3], ids[1::3], [ids[-1] + 1, ids[-1] + 2]
    changes: Rows = {number: ("changed", Decimal("7.50"), rows[number][2]) for number in updated}
    changes |= {number: rows[number] for number in gone}
    changes |= dict.fromkeys(added, ("added", None, "new"))
    data = pa.table(
        {
            "id": pa.array(changes, pa.int32()),
            "msg": pa.array([row[0] for row in changes.values()], pa.string()),
            "amount": pa.array([row[1] for row in changes.values()], pa.decimal128(10, 2)),
            "country": pa.array([row[2] for row in changes.values()], pa.string()),
            "gone": pa.array([number in gone for number in changes]),
        }
    )
    with client.new_transaction() as transaction:
        merged = merge(transaction.reader("default", name), data, ["id"], delete_where="gone = true")
        for part in merged.split(2):
            with MutatorCoordinator(transaction.table("default", name)) as coordinator:
                part.feed(coordinator)
            transaction.accept(coordinator.close())
    return {number: row for number, row in {**rows, **changes}.items() if number not in gone}
