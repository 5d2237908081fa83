"""What tests of hudi mutation share with others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive.mutation.hudi import (
    HudiMutatorClient,
    HudiMutatorCoordinator,
    HudiTransaction,
)
from hudi_hive.table.properties import COPY_ON_WRITE
from hudi_hive.table_api import HudiTable

QUICK = {"hoodie.metadata.enable": "false", "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}


MANY = {
    **QUICK,
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}


INSERT, UPDATE, DELETE = 0, 1, 2


Rows = Iterable[tuple[str, str, int, str]]


def table_of(values: Rows) -> pa.Table:
    columns = list(zip(*values, strict=True)) or [(), (), (), ()]
    types = [pa.string(), pa.string(), pa.int64(), pa.string()]
    return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=["id", "p", "ts", "v"])


def make(
    path: Path, version: int = 8, kind: str = COPY_ON_WRITE, options: Mapping[str, str] = QUICK, **settings: Any
) -> HudiTable:
    given: dict[str, Any] = {"record_keys": ["id"], "partition_fields": ["p"], "ordering_fields": ["ts"], **settings}
    table = HudiTable.create(path / "t", name="t", version=version, table_type=kind, **given)
    table.insert(
        table_of([("a", "x", 1, "a1"), ("b", "x", 1, "b1"), ("c", "y", 1, "c1"), ("d", "y", 1, "d1")]), options
    )
    return table


def make_by_day(path: Path, kind: str) -> HudiTable:
    """Without rows; paths tell the day of a time."""
    settings = {
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
    }
    return HudiTable.create(
        path / "t",
        name="t",
        table_type=kind,
        record_keys=["id"],
        partition_fields=["at"],
        key_generator="TIMESTAMP",
        properties=settings,
    )


def seen(table: HudiTable) -> dict[tuple[str, str], tuple[int, str]]:
    found = HudiTable.open(table.path).scan(selected_fields=["id", "p", "ts", "v"]).to_arrow().to_pylist()
    rows = {(row["id"], row["p"]): (row["ts"], row["v"]) for row in found}
    assert len(rows) == len(found)
    return rows


AT_FIRST = {("a", "x"): (1, "a1"), ("b", "x"): (1, "b1"), ("c", "y"): (1, "c1"), ("d", "y"): (1, "d1")}


def data_files(table: HudiTable) -> set[str]:
    base = Path(table.path.removeprefix("file:"))
    return {str(p.relative_to(base)) for p in base.rglob("*.*") if p.is_file() and ".hoodie" not in p.parts}


def staged(table: HudiTable) -> list[Path]:
    return list(Path(table.path.removeprefix("file:")).glob(".hoodie/.temp/*"))


def row(key: str, ts: int, value: str) -> dict[str, Any]:
    return {"id": key, "ts": ts, "v": value}


def change(
    client: HudiMutatorClient, changes: Iterable[tuple[int, dict[str, Any]]], values: list[str] | None = None
) -> HudiTransaction:
    """One transaction of some records, one by one."""
    with client.new_transaction() as txn:
        coordinator = HudiMutatorCoordinator(txn.table())
        for operation, record in changes:
            (coordinator.insert, coordinator.update, coordinator.delete)[operation](values or [], record)
        txn.accept(coordinator.close())
    return txn
