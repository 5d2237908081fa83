"""Replays what real hive-sync lived through, stage by stage, and compares the metastore with its golden files."""

from __future__ import annotations

import copy
import getpass
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hudi_hive.errors import (
    HudiHiveError,
    InvalidOptionError,
    NoSuchObjectError,
    PartitionValueError,
    SchemaSyncError,
    TableNotFoundError,
)
from hudi_hive.metastore import HiveMetastore, partition_name
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool, SyncReport
from hudi_hive.timeline import instant_to_millis
from tests.support.metastore.sync_golden import (
    BASE_PATH,
    NEVER_MADE,
    K,
    compared,
    dump,
    expected_table,
    inputs,
    scenarios,
    stages,
)

# Fields of newer structs that are null or constant in every dump, and are not on the wire of a metastore 2.3: the
# dumping client filled in its own defaults.
_NOT_ON_THE_WIRE = {
    "creationMetadata": None,
    "writeId": -1,
    "catName": None,
    "serdeType": None,
    "ownerType": 1,
    "temporary": False,
}

FAILURES: dict[str, type[HudiHiveError]] = {
    "badprops": InvalidOptionError,
    "batch0": InvalidOptionError,
    "baduri_ignore": InvalidOptionError,
    "fail_ignore": InvalidOptionError,
    "badstrat": InvalidOptionError,
    "multi_wrong": PartitionValueError,
    "multi_single": PartitionValueError,
    "nullhour": PartitionValueError,
    "noauto": NoSuchObjectError,
    "badpath": TableNotFoundError,
    "omit2": SchemaSyncError,
    "ts_flip2": SchemaSyncError,
    "ts_flip3": SchemaSyncError,
}
"""Scenario label -> the error that ours ends with; every other scenario succeeds."""


class World:
    """Tables in a folder, and a metastore to sync them to."""

    def __init__(self, client: HiveMetastore, folder: Path) -> None:
        self.client = client
        self.base = folder / "lake"
        self.other = folder / "other"
        self.base.mkdir(parents=True)
        self.other.mkdir()
        self.reports: dict[str, SyncReport] = {}

    def place(self, source: Path, name: str, until: str | None = None) -> None:
        """Put a table's state under ``name``; ``until`` takes later instants and their files away."""
        target = self.base / name
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(source, target)
        if until is not None:
            cut(target, until)

    def place_stage(self, stage: str) -> None:
        """Put all tables of a stage in place."""
        (folders,) = [tables for name, tables in stages().items() if name.startswith(stage)]
        for table, folder in folders.items():
            self.place(inputs("stages") / folder, table)

    def options(self, config: dict[str, str]) -> dict[str, str]:
        """A scenario's configuration with our paths in it."""
        found = {key: value.replace("BASE_PATH", str(self.base)) for key, value in config.items()}
        # The scenarios hold the two characters \n where the tool was given a line end.
        found = {key: value.replace("\\n", "\n") for key, value in found.items()}
        found[f"{K}metastore.uris"] = self.client.uri
        return found

    def sync(self, config: dict[str, str], **more: str) -> SyncReport:
        """One sync."""
        settings = HiveSyncConfig.from_options({**self.options(config), **more})
        return HiveSyncTool(settings, metastore=self.client).sync()

    def run(self, entry: dict[str, Any]) -> None:
        """One scenario of a golden file; it must end as ours is to end."""
        label = entry["label"]
        try:
            self.reports[label] = self.sync(entry["config"])
        except HudiHiveError as error:
            assert type(error) is FAILURES.get(label), f"{label}: {error!r}"
        else:
            assert label not in FAILURES, f"{label} did not fail"

    def run_all(self, name: str, only: Callable[[str], bool] = lambda label: True) -> None:
        """All scenarios of a dump."""
        for entry in scenarios(name):
            if only(entry["label"]):
                self.run(entry)

    # -- comparing ---------------------------------------------------------------------------------------------

    def read(self, database: str, table: str) -> dict[str, Any]:
        """A metastore table and its partitions in the shape of the dumps."""
        struct = self.client.table(database, table)
        keys = struct.partitionKeys or []
        partitions = list(self.client.partitions(database, table)) if keys else []
        table_plain = plain(struct)
        found = [plain(item) for item in partitions]
        for item in found:
            if item["sd"]["cols"] == table_plain["sd"]["cols"]:
                item["sd"]["cols"] = "SAME_AS_TABLE"
        names = [partition_name(keys, item.values) for item in partitions]
        text = json.dumps({"table": table_plain, "partition_names": names, "partitions": found})
        for path, placeholder in ((self.base, "BASE_PATH"), (self.other, "OTHER_PATH")):
            text = text.replace(str(path), placeholder)
        return json.loads(text)

    def differences(self, name: str, table: str) -> list[str]:
        """Where our table is not what it must be after the syncs of a dump; empty when it is."""
        database = dump(name)["database"]["name"]
        golden = expected_table(name, table)
        ours = self.read(database, table)
        for side in (golden, ours):
            side["partitions"].sort(key=lambda item: item["values"])
            side["partition_names"].sort()
        if not golden.get("partition_names"):
            golden["partition_names"] = []
        return list(compare(golden, ours, table))


def cut(table: Path, until: str) -> None:
    """Take away instants after ``until``, the files they wrote, and folders that are empty then."""
    timeline = table / ".hoodie" / "timeline"
    for file in list(timeline.iterdir()):
        if file.is_file() and file.name[:17] > until:
            file.unlink()
    for file in list(table.rglob("*.parquet")):
        if ".hoodie" not in file.parts and file.stem.rsplit("_", 1)[-1] > until:
            file.unlink()
            if not list(file.parent.glob("*.parquet")):
                shutil.rmtree(file.parent)


INLINE = {
    "inl_cow": ("cow_part", "country", True),
    "inl_mor": ("mor_part", "country", True),
    "inl_multi": ("cow_multi", "country,day", True),
    "inl_nohs": ("cow_part", "country", False),
    "inl_np": ("cow_nonpart", "", True),
}
"""Tables that Spark synced while it wrote them -> a kept table of the same schema, partition fields, hive-style."""


def place_inline(world: World, name: str) -> dict[str, str]:
    """Make a table of dump 40 whose input was not kept out of one that was, with the dump's times, partitions, sizes.

    Returns:
        The options that the Spark writer gave the sync.
    """
    source, fields, hive_style = INLINE[name]
    facts = dump("40")["tables"][name]
    parameters = facts["table"]["parameters"]
    requested, completed = (parameters[f"last_commit_{part}"] for part in ("time_sync", "completion_time_sync"))
    folder = world.base / name
    world.place(inputs("stages") / "01" / source, name)
    first = min(file.name[:17] for file in folder.glob(".hoodie/timeline/*") if file.is_file())
    cut(folder, first)
    for file in list(folder.rglob("*.log.*")):
        file.unlink()
    for file in [*folder.rglob("*.parquet"), *folder.glob(".hoodie/timeline/*.*")]:
        new = re.sub(
            rf"{first}(_\d{{17}})?", lambda match: requested + (f"_{completed}" if match[1] else ""), file.name
        )
        if file.suffix != ".parquet":  # a commit names its files, which carry its time
            file.write_bytes(file.read_bytes().replace(first.encode(), requested.encode()))
        file.rename(file.with_name(new))
    sizes = {item["sd"]["location"].partition(f"{name}/")[2]: item["parameters"] for item in facts["partitions"]}
    if not hive_style:
        properties = folder / ".hoodie" / "hoodie.properties"
        text = properties.read_text()
        assert "hive_style_partitioning=true" in text
        properties.write_text(text.replace("hive_style_partitioning=true", "hive_style_partitioning=false"))
        for value in sizes:
            (folder / f"country={value}").rename(folder / value)
    for file in list(folder.rglob("*.parquet")):
        path = str(file.parent.relative_to(folder))
        if path != "." and path not in sizes:
            shutil.rmtree(file.parent)
            continue
        # The metastore notes the sizes of files, and nothing reads them.
        os.truncate(file, int((parameters if path == "." else sizes[path])["totalSize"]))
    return {
        BASE_PATH: f"BASE_PATH/{name}",
        f"{K}database": "golden_more",
        f"{K}table": name,
        "hoodie.meta_sync.spark.version": parameters["spark.sql.create.version"],
        "hoodie.datasource.write.partitionpath.field": fields,
        "hoodie.datasource.write.hive_style_partitioning": str(hive_style).lower(),
    }


def set_commit_times(table: Path, completed: str) -> None:
    """Give the newest commit file of a version 6 table the time that real hive-sync saw; archives do not keep it."""
    files = [*table.glob(".hoodie/*.commit"), *table.glob(".hoodie/*.deltacommit")]
    newest = max(files)
    moment = instant_to_millis(completed) / 1000
    for file in files:
        os.utime(file, (moment - (file != newest), moment - (file != newest)))


def plain(value: Any) -> Any:
    if hasattr(value, "thrift_spec"):
        if type(value).__name__ == "FieldSchema":
            return [value.name, value.type, value.comment]
        return {spec[2]: plain(getattr(value, spec[2])) for spec in value.thrift_spec if spec}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return value


def compare(golden: Any, ours: Any, path: str) -> Iterable[str]:
    if isinstance(golden, dict) and isinstance(ours, dict):
        for key in sorted({*golden, *ours}):
            if key in _NOT_ON_THE_WIRE and golden.get(key) == _NOT_ON_THE_WIRE[key] and ours.get(key) is None:
                continue
            yield from compare(golden.get(key), ours.get(key), f"{path}.{key}")
    elif isinstance(golden, list) and isinstance(ours, list) and len(golden) == len(ours):
        for index, (left, right) in enumerate(zip(golden, ours, strict=True)):
            yield from compare(left, right, f"{path}[{index}]")
    elif golden == "EPOCH_SECONDS":
        if not (str(ours).isdigit() and int(ours) > 0):
            yield f"{path}: golden a time, ours {ours!r}"
    elif golden == "OS_USER":
        if ours != getpass.getuser():
            yield f"{path}: golden the user, ours {ours!r}"
    elif golden != ours:
        yield f"{path}: golden {golden!r}, ours {ours!r}"


# -- the stories, in the order in which real hive-sync lived through them -------------------------------------------

Result = dict[tuple[str, str], list[str]]
"""(dump, table) -> differences."""


def replay_story(world: World) -> Result:
    """Dumps 01 to 08: eight tables from their first sync to an overwrite of one, and dump 10: option variants."""
    found: Result = {}
    for name in ("01", "02", "03", "04", "05", "06", "07", "08"):
        if name != "02":
            world.place_stage(name)
        before = {table: world.read("golden", table) for table in compared("01")} if name == "02" else {}
        world.run_all(name)
        if name == "02":
            # The second sync changes nothing at all, the time of the last change included.
            assert before == {table: world.read("golden", table) for table in before}
            continue
        found |= {(name, table): world.differences(name, table) for table in compared(name)}
    world.run_all("10")
    missing = [table for table in NEVER_MADE if world.client.find_table("golden_opts", table) is None]
    assert sorted(missing) == sorted(NEVER_MADE)
    wanted_tables = [table for table in compared("10") if table not in NEVER_MADE]
    return found | {("10", table): world.differences("10", table) for table in wanted_tables}


def replay_edges(world: World) -> Result:
    """Dumps 30 to 32: tables that somebody changed by hand, moved base paths, managed tables, recreation."""
    world.place_stage("30")
    source = inputs("stages") / "06" / "cow_part"
    for copy_name in ("rc_a", "mv_a", "mg_a", "rcm_a"):
        world.place(source, copy_name)
    world.run_all("30")
    found = {("30", table): world.differences("30", table) for table in compared("30")}
    _mutate(world)
    shutil.move(world.base / "mv_a", world.base / "mv_b")
    world.place(source, "mg_b")
    before = {name: sorted(world.base.joinpath(name).rglob("*")) for name in ("mg_a", "rcm_a")}
    world.run_all("32")
    # docs/format/rules.md#sync-keeps-data: real hive-sync deletes both folders.
    assert before == {name: sorted(world.base.joinpath(name).rglob("*")) for name in ("mg_a", "rcm_a")}
    return found | {("32", table): world.differences("32", table) for table in compared("32")}


def _mutate(world: World) -> None:
    """What dump 31 shows was done by hand to the tables ``arch`` and ``ts_flip``."""
    client, database = world.client, "golden_edge"
    table = client.table(database, "arch")
    table.parameters |= {"last_commit_time_sync": "20000101000000000", "user.added": "keep"}
    client.alter_table(database, "arch", table)
    folders = {"OUT": world.other / "outside" / "country=OUT", "ZZ": world.base / "cow_part" / "country=ZZ"}
    for folder in (*folders.values(), world.other / "elsewhere" / "country=DE"):
        folder.mkdir(parents=True, exist_ok=True)
        for file in (world.base / "cow_part" / "country=DE").glob("*.parquet"):
            shutil.copy(file, folder)
    (german,) = client.partitions(database, "arch", ["country=DE"])
    foreign = []
    for value, folder in folders.items():
        item = copy.deepcopy(german)
        item.values, item.sd.location = [value], str(folder)
        foreign.append(item)
    client.add_partitions(database, "arch", foreign)
    german.sd.location = f"file:{world.other / 'elsewhere' / 'country=DE'}"
    client.alter_partitions(database, "arch", [german])
    table = client.table(database, "ts_flip")
    table.sd.inputFormat = "some.other.InputFormat"
    table.sd.serdeInfo.parameters = {"x": "y"}
    table.parameters["comment"] = "my comment"
    client.alter_table(database, "ts_flip", table)


def replay_more(world: World) -> Result:
    """Dumps 40 to 42: tables synced by Spark's writer, comments, a column in the middle, conditional sync."""
    found: Result = {}
    ends = {
        "40": {"cm": "20261121032747432", "mid": "20261121032802482", "cnd": "20261121032814940"},
        "41": {"cm": "20261121032926574", "mid": "20261121032909358", "cnd": "20261121032919143"},
        "42": {"cm": "20261121032926574", "mid": "20261121032909358", "cnd": "20261121033004234"},
    }
    for name in INLINE:
        world.sync(place_inline(world, name))
    for name, tables in ends.items():
        for table, until in tables.items():
            world.place(inputs("misc") / table, table, until)
        world.run_all(name)
        found |= {(name, table): world.differences(name, table) for table in compared(name)}
    return found


def replay_misc(world: World) -> Result:
    """Dumps 60 and 61: table version 6, 127 columns, an empty table, dropped partition columns, int and date keys."""
    for table in ("v6", "v6mor", "wide", "emptyt", "dpc"):
        world.place(inputs("misc") / table, table)
    for table in ("mdrop", "intpart", "datepart"):
        until = dump("60")["tables"][table]["table"]["parameters"]["last_commit_time_sync"]
        world.place(inputs("misc") / table, table, until)
    for table in ("v6", "v6mor"):
        completed = dump("60")["tables"][table]["table"]["parameters"]["last_commit_completion_time_sync"]
        set_commit_times(world.base / table, completed)
    world.run_all("60")
    found = {("60", table): world.differences("60", table) for table in compared("60")}
    for table in ("mdrop", "intpart", "datepart"):
        world.place(inputs("misc") / table, table)
    world.run_all("61")
    return found | {("61", table): world.differences("61", table) for table in compared("61")}


def replay_newer_tool(world: World) -> Result:
    """Dump 90: Hudi 1.1.1 makes the same of the same tables."""
    world.place_stage("10")
    world.run_all("90")
    return {("90", table): world.differences("90", table) for table in compared("90")}


STORIES: dict[str, Callable[[World], Result]] = {
    "story": replay_story,
    "edges": replay_edges,
    "more": replay_more,
    "misc": replay_misc,
    "newer": replay_newer_tool,
}

CASES = {
    "story": [
        *((name, table) for name in ("01", "03", "04", "05", "06", "07", "08") for table in compared(name)),
        *(("10", table) for table in compared("10") if table not in NEVER_MADE),
    ],
    "edges": [(name, table) for name in ("30", "32") for table in compared(name)],
    "more": [(name, table) for name in ("40", "41", "42") for table in compared(name)],
    "misc": [(name, table) for name in ("60", "61") for table in compared(name)],
    "newer": [("90", table) for table in compared("90")],
}
"""Story -> the (dump, table) pairs that it compares."""
