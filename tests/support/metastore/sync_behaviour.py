"""What tests of syncs share, whatever the metastore: a fake or a real one."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool, SyncReport
from tests.support.metastore import sync_golden as golden

DATABASE = "behaviour"


def sync(client: HiveMetastore, path: Path, table: str, **settings: Any) -> SyncReport:
    """One sync of a table under a name of the test's choice."""
    config = HiveSyncConfig(base_path=str(path), database=DATABASE, table=table, **settings)
    return HiveSyncTool(config, metastore=client).sync()


def plan(client: HiveMetastore, path: Path, table: str, **settings: Any) -> SyncReport:
    """What a sync would do."""
    config = HiveSyncConfig(base_path=str(path), database=DATABASE, table=table, **settings)
    return HiveSyncTool(config, metastore=client).sync(dry_run=True)


def state(client: HiveMetastore, table: str) -> dict[str, Any]:
    """Everything a sync decides about a table: what must be the same however one gets there."""
    struct = client.table(DATABASE, table)
    keys = [key.name for key in struct.partitionKeys or []]
    partitions = {}
    if keys:
        for item in client.partitions(DATABASE, table):
            columns = [(field.name, field.type) for field in item.sd.cols]
            partitions[tuple(item.values)] = (item.sd.location, columns, dict(item.sd.serdeInfo.parameters))
    volatile = {"transient_lastDdlTime", "numFiles", "totalSize"}
    return {
        "columns": [(field.name, field.type, field.comment) for field in struct.sd.cols],
        "keys": keys,
        "location": struct.sd.location,
        "classes": (struct.sd.inputFormat, struct.sd.outputFormat, struct.sd.serdeInfo.serializationLib),
        "serde": dict(struct.sd.serdeInfo.parameters),
        "parameters": {key: value for key, value in struct.parameters.items() if key not in volatile},
        "type": struct.tableType,
        "partitions": partitions,
    }


def change_stamp(client: HiveMetastore, table: str, changes: Mapping[str, str | None]) -> None:
    """Set or remove table parameters by hand."""
    struct = client.table(DATABASE, table)
    for key, value in changes.items():
        if value is None:
            struct.parameters.pop(key, None)
        else:
            struct.parameters[key] = value
    client.alter_table(DATABASE, table, struct)


def story_table(folder: Path, name: str, stage: str) -> Path:
    """The golden ``cow_part`` of a stage as a table of its own."""
    target = folder / name
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(golden.inputs("stages") / stage / "cow_part", target)
    return target
