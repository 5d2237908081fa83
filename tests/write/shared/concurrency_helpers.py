"""Small tables, their rows, and writes that begin while another one is under way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.table.properties import COPY_ON_WRITE
from hudi_hive.timeline.instants import COMMIT, DELTA_COMMIT
from hudi_hive.write.commit.transaction import WriteTransaction
from hudi_hive.write.options.config import WriteConfig

QUICK = {"hoodie.metadata.enable": "false", "hoodie.clean.automatic": "false"}


def rows(*keys: str, value: int = 1, **columns: str) -> pa.Table:
    more = {name: [text] * len(keys) for name, text in columns.items()}
    return pa.table({"id": list(keys), "value": pa.array([value] * len(keys), pa.int64()), **more})


def make(path: Path, version: int = 8, kind: str = COPY_ON_WRITE) -> HudiTable:
    table = HudiTable.create(path / "t", name="t", version=version, table_type=kind, record_keys=["id"])
    table.insert(rows("a", "b"), QUICK)
    return table


def seen(table: HudiTable, *columns: str) -> list[tuple[Any, ...]]:
    found = HudiTable.open(table.path).scan(selected_fields=["id", "value", *columns]).to_arrow()
    return sorted(zip(*found.to_pydict().values(), strict=True))


def transaction(table: HudiTable, options: dict[str, str] | None = None, **settings: Any) -> WriteTransaction:
    action = DELTA_COMMIT if table.config.is_merge_on_read else COMMIT
    config = WriteConfig.of({**QUICK, **(options or {})}, table.config)
    return WriteTransaction(table.refresh().client, config, action=action, operation="UPSERT", **settings)
