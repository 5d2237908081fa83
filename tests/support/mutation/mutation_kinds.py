"""The kinds of mutations that the common suite runs on: Hive ACID tables, Hudi tables and folders of CSV files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation import (
    AcidTable,
    ClientBase,
    Coordinator,
    Manifest,
    MutationManifest,
    MutatorClient,
    MutatorCoordinator,
    RecordInspector,
    Transaction,
    TransactionBase,
)
from hudi_hive.mutation.acid_table import AcidReader
from hudi_hive.mutation.hudi import (
    HudiManifest,
    HudiMutationTable,
    HudiMutatorClient,
    HudiMutatorCoordinator,
    HudiTransaction,
)
from hudi_hive.table_api import HudiTable
from tests.support.mutation.acid_definitions import acid_table
from tests.support.mutation.csv_tables import CsvClient, CsvManifest, CsvSink, CsvTransaction, read
from tests.support.mutation.hudi_mutation_helpers import QUICK, staged
from tests.support.mutation.mutation_contract import MutationKind, Rows

COLUMNS = {"id": "int", "msg": "string", "country": "string"}


class AcidKind(MutationKind):
    """A table of a metastore.

    Args:
        uri: of the metastore.
        warehouse: where the table is made.
        name: of the table.
    """

    id_column = "ROW__ID"

    def __init__(self, uri: str, warehouse: Path, name: str) -> None:
        self._uri, self._folder, self._name = uri, warehouse / name, name
        with HiveMetastore(uri) as store:
            table = acid_table(f"file:{self._folder}", keys=[("country", "string")], buckets=1, name=name)
            TransactionClient(store).create_table(table)

    def client(self) -> ClientBase[Any]:
        return MutatorClient(self._uri, sinks=[f"default.{self._name}"], create_partitions=True)

    def coordinator(
        self, transaction: TransactionBase, attempt: str | None = None, inspector: RecordInspector | None = None
    ) -> Coordinator[Any]:
        assert isinstance(transaction, Transaction)
        text = transaction.table("default", self._name).encode()
        return MutatorCoordinator(AcidTable.decode(text), attempt=attempt, inspector=inspector)

    def decode(self, text: str) -> Manifest:
        return MutationManifest.decode(text)

    def rows(self) -> Rows:
        with HiveMetastore(self._uri) as store:
            table = AcidReader.open(TransactionClient(store), "default", self._name).read(with_row_id=False)
        return _rows_of(table)

    def leftovers(self) -> list[str]:
        return [str(path) for path in self._folder.glob("_hudi_hive_mutation/*")]

    def identifiers(self, transaction: TransactionBase) -> Mapping[tuple[str, int], Any]:
        assert isinstance(transaction, Transaction)
        rows = transaction.reader("default", self._name).read().to_pylist()
        return {(row["country"], row["id"]): tuple(row["ROW__ID"].values()) for row in rows}


class HudiKind(MutationKind):
    """A Hudi table in a folder."""

    def __init__(self, folder: Path, table_type: str) -> None:
        fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in COLUMNS.items()]
        self._table = HudiTable.create(
            folder,
            name="t",
            table_type=table_type,
            record_keys=["id"],
            partition_fields=["country"],
            create_schema={"type": "record", "name": "t", "fields": fields},
        )

    def client(self) -> ClientBase[Any]:
        return HudiMutatorClient(self._table.path, QUICK)

    def coordinator(
        self, transaction: TransactionBase, attempt: str | None = None, inspector: RecordInspector | None = None
    ) -> Coordinator[Any]:
        assert isinstance(transaction, HudiTransaction)
        table = HudiMutationTable.decode(transaction.table().encode())
        return HudiMutatorCoordinator(table, attempt=attempt, inspector=inspector)

    def decode(self, text: str) -> Manifest:
        return HudiManifest.decode(text)

    def rows(self) -> Rows:
        return _rows_of(self._table.refresh().scan(selected_fields=["id", "msg", "country"]).to_arrow())

    def leftovers(self) -> list[str]:
        return [str(path) for path in staged(self._table)]


class CsvKind(MutationKind):
    """A folder of CSV files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def client(self) -> ClientBase[Any]:
        return CsvClient(self._folder)

    def coordinator(
        self, transaction: TransactionBase, attempt: str | None = None, inspector: RecordInspector | None = None
    ) -> Coordinator[Any]:
        assert isinstance(transaction, CsvTransaction)
        return Coordinator(CsvSink(self._folder, transaction.id, attempt), inspector)

    def decode(self, text: str) -> Manifest:
        return CsvManifest.decode(text)

    def rows(self) -> Rows:
        return read(self._folder)

    def leftovers(self) -> list[str]:
        return [str(path) for path in self._folder.glob("_staging/*")]


def _rows_of(table: pa.Table) -> Rows:
    rows = {(row["country"], row["id"]): row["msg"] for row in table.to_pylist()}
    assert len(rows) == table.num_rows
    return rows
