"""How a sync behaves whatever the metastore: costs, repeats, deaths. Used with the fake and with a real metastore."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hudi_hive.errors import MetastoreTransportError
from hudi_hive.metastore import HiveMetastore, Retries
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool, SyncReport
from tests import sync_golden as golden
from tests.flaky_proxy import FlakyProxy

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


# -- death at every call -------------------------------------------------------------------------------------------


def renamed(found: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """A state with one path in the place of another."""
    return json.loads(json.dumps(_text_keys(found)).replace(old, new))


def _text_keys(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "partitions": {"/".join(key): value for key, value in found["partitions"].items()}}


def die_everywhere(
    client: HiveMetastore,
    prepare: Callable[[str], tuple[Path, dict[str, Any]]],
    *,
    answer_lost: bool,
    whole_database: bool,
) -> list[int]:
    """Run a sync that dies at its first call, then one that dies at its second … until one lives; run each again.

    Args:
        client: reaches the metastore without the proxy.
        prepare: brings a table of the given name to the state before the sync; gives its folder and settings.
        answer_lost: whether the server has done the call that broke.
        whole_database: forget the database between two syncs, not only the table.

    Returns:
        The numbers of the calls at which a sync died; every rerun ended in the state of the sync that lived.
    """

    def clean(name: str) -> None:
        if not whole_database:
            client.drop_table(DATABASE, name, if_exists=True)
        elif DATABASE in client.databases():
            client.drop_database(DATABASE, cascade=True)

    port = urlsplit(client.uri).port
    assert port is not None
    clean("")
    path, settings = prepare("whole")
    sync(client, path, "whole", **settings)
    wanted = renamed(state(client, "whole"), "/whole", "/X")
    clean("whole")
    deaths: list[int] = []
    for number in range(1, 100):
        name = f"dies{int(answer_lost)}x{number}"
        path, settings = prepare(name)
        with (
            FlakyProxy(port, number, answer_lost=answer_lost) as proxy,
            HiveMetastore(proxy.uri, retries=Retries(attempts=1), pool_size=1) as fragile,
        ):
            try:
                sync(fragile, path, name, **settings)
            except MetastoreTransportError:
                deaths.append(number)
            lived = not proxy.dead
        sync(client, path, name, **settings)
        assert renamed(state(client, name), f"/{name}", "/X") == wanted, f"died at call {number}"
        report = sync(client, path, name, **settings)
        assert report.plan.is_noop
        clean(name)
        if lived:
            return deaths
    raise AssertionError("no sync lived")


def story_table(folder: Path, name: str, stage: str) -> Path:
    """The golden ``cow_part`` of a stage as a table of its own."""
    target = folder / name
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(golden.inputs("stages") / stage / "cow_part", target)
    return target


Preparation = Callable[[str], tuple[Path, dict[str, Any]]]
"""Brings a table of the given name to the state before the sync; gives its folder and the sync's settings."""


def first_sync(client: HiveMetastore, folder: Path) -> Preparation:
    """A table that was never synced, in a database that does not exist."""
    return lambda name: (story_table(folder, name, "03"), {})


def incremental_sync(client: HiveMetastore, folder: Path) -> Preparation:
    """A table with new columns, a new partition, a dropped one and a moved one since its last sync."""

    def prepare(name: str) -> tuple[Path, dict[str, Any]]:
        path = story_table(folder, name, "01")
        sync(client, path, name)
        (italian,) = client.partitions(DATABASE, name, ["country=DE"])
        italian.values, italian.sd.location = ["IT"], f"{path.parent}/elsewhere/{name}"
        client.add_partitions(DATABASE, name, [italian])
        path = story_table(folder, name, "05")
        # One more new partition: the one of the story is registered at a wrong place now.
        client.drop_partitions(DATABASE, name, ["country=US"])
        return path, {}

    return prepare


def full_sync(client: HiveMetastore, folder: Path) -> Preparation:
    """The same, compared in full."""

    def prepare(name: str) -> tuple[Path, dict[str, Any]]:
        path, _ = incremental_sync(client, folder)(name)
        return path, {"incremental": False}

    return prepare


def moved_table(client: HiveMetastore, folder: Path) -> Preparation:
    """A table that lies in another folder since its last sync."""

    def prepare(name: str) -> tuple[Path, dict[str, Any]]:
        old = story_table(folder, f"old_{name}", "05")
        sync(client, old, name)
        return story_table(folder, name, "05"), {}

    return prepare


PREPARATIONS: dict[str, Callable[[HiveMetastore, Path], Preparation]] = {
    "first": first_sync,
    "incremental": incremental_sync,
    "full": full_sync,
    "moved": moved_table,
}
