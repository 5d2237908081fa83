"""Indexes that are built beside writes of real Hudi: it adds to them, reads them, goes on, and finds nothing left.

One release and type in each run where real Hudi is cached or asked for, all in a long run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.metadata import validate
from hudi_hive.metadata.reader import committed_files
from hudi_hive.table import MetaClient
from hudi_hive.table.view import DirectoryLister
from hudi_hive.timeline.instants import INDEXING
from integration.support.action_runs import FEW_TASKS
from integration.support.hudi_peer import HudiPeer
from integration.support.matrix import TYPES
from tests.support.index_builds import check_indexes, die_in_the_middle, in_the_middle, services
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

INDEXES = {
    # Hudi 1.0.2 cannot read the metadata table as a table where a clean has taken bloom filters.
    "hoodie.clean.automatic": "false",
    "hoodie.metadata.index.async": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.partition.stats.enable": "false",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
}
SEVERAL = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}
THEIRS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.metadata.enable": "true",
    "hoodie.compact.inline.max.delta.commits": "100",
    # Hudi 1.1.1 refuses streaming writes where its options ask for an index that is still to be built.
    "hoodie.metadata.streaming.write.enabled": "false",
    **FEW_TASKS,
}
DDL = "id string, part string, ts long, name string"
NAMES = {"column_stats", "bloom_filters", "record_index"}
CASES = with_long_cases([(8, "MERGE_ON_READ")], [(version, kind) for version in (6, 8, 9) for kind in TYPES])

Row = dict[str, Any]


class Both:
    """A table that we and real Hudi write.

    Args:
        path: base path, not there yet.
        version: of the table.
        kind: its type.
        peer: real Hudi.
    """

    def __init__(self, path: Path, version: int, kind: str, peer: HudiPeer) -> None:
        self.path, self.version, self.kind, self.peer = path, version, kind, peer
        self.rows: dict[str, Row] = {}
        self.step = 0
        names = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
        HudiTable.create(path, name="t", version=version, table_type=kind, **names)

    def put(self, who: str, *keys: str, **more: str) -> None:
        rows = self.made(keys)
        if who == "ours":
            HudiTable.open(self.path).upsert(pa.Table.from_pylist(rows), {**SEVERAL, **INDEXES, **more})
        else:
            self.theirs(rows, "upsert", more)
        self.rows |= {row["id"]: row for row in rows}

    def delete(self, who: str, *keys: str) -> None:
        rows = self.made(keys)
        if (self.version, self.kind) == (8, "MERGE_ON_READ"):
            who = "ours"  # the deletes of Hudi 1.0.2 have ordering values of another type, which it cannot read
        if who == "ours":
            HudiTable.open(self.path).delete(pa.Table.from_pylist(rows), {**SEVERAL, **INDEXES})
        else:
            self.theirs(rows, "delete", {})
        self.rows = {key: row for key, row in self.rows.items() if key not in keys}

    def made(self, keys: tuple[str, ...]) -> list[Row]:
        self.step += 1
        return [{"id": k, "part": "xy"[len(k) % 2], "ts": self.step, "name": f"{k} {self.step}"} for k in keys]

    def theirs(self, rows: list[Row], operation: str, more: Mapping[str, str]) -> None:
        own = {"hoodie.datasource.write.operation": operation, "hoodie.datasource.write.table.type": self.kind}
        writes = {"hoodie.write.table.version": str(self.version)} if self.version >= 8 else {}
        self.peer.write(self.path, rows, DDL, {**THEIRS, **SEVERAL, **INDEXES, **writes, **own, **more})

    def check(self, folder: Path) -> None:
        """Rows of both are those of the model, by the index too, and Hudi's records of the index are right."""
        expected = [self.rows[key] for key in sorted(self.rows)]
        check_indexes(self.path, NAMES, folder)
        for on in ("false", "true"):
            options = {"hoodie.metadata.enable": on, "hoodie.enable.data.skipping": on}
            found = self.peer.read(self.path, ["id", "part", "ts", "name"], options)
            assert sorted(found, key=lambda row: row["id"]) == expected, on
        assert self.indexed() == self.places()
        assert validate(MetaClient.load(self.path)).is_valid
        self.check_files()

    def check_files(self) -> None:
        """Hudi's validation of its listing by the metadata table names the files on disk."""
        name = f"t_{self.path.parent.name}".lower()
        self.peer.sql(f"create table if not exists {name} using hudi location '{self.path}'")
        found = self.peer.sql(f"call validate_metadata_table_files(table => '{name}', verbose => true)")
        listed = {(row["partition"], row["file_name"]) for row in found if row["is_present_in_metadata"]}
        client = MetaClient.load(self.path)
        lister = DirectoryLister(client.storage)
        there = committed_files(client, lister.files(lister.partitions())).to_pylist()
        assert listed == {(row["partition"], row["name"]) for row in there}

    def places(self) -> list[tuple[str, str, str]]:
        """Key, partition and file group of each row of Hudi's."""
        columns = [f"_hoodie_{name}" for name in ("record_key", "partition_path", "file_name")]
        found = self.peer.read(self.path, columns, {"hoodie.metadata.enable": "false"})
        return sorted((row[columns[0]], row[columns[1]], row[columns[2]].split("_")[0]) for row in found)

    def indexed(self) -> list[tuple[str, str, str]]:
        """Key, partition and file group of each record of the index as Hudi reads it."""
        fields = ("partitionName", "fileIdHighBits", "fileIdLowBits", "fileIndex", "fileId", "fileIdEncoding")
        columns = ["key", "type", *(f"recordIndexMetadata.{name}" for name in fields)]
        found = self.peer.read(f"{self.path}/.hoodie/metadata", columns)
        return sorted((row["key"], row["partitionName"], _file_id(row)) for row in found if row["type"] == 5)


def _file_id(row: Row) -> str:
    if row.get("fileIdEncoding") == 1:
        return str(row["fileId"])
    high, low = (row[f"fileId{half}Bits"] % 2**64 for half in ("High", "Low"))
    number = row["fileIndex"]
    return f"{UUID(int=(high << 64) | low)}{'' if number == -1 else f'-{number}'}"


@pytest.mark.parametrize(("version", "kind"), CASES)
def test_hudi_writes_while_an_index_is_built_and_goes_on(
    version: int, kind: str, hudi_peer: Any, tmp_path: Path
) -> None:
    table = Both(tmp_path / "t", version, kind, hudi_peer(version))
    table.put("ours", "a", "b", "cc", "dd", "1", "2", "3")
    table.put("hudi", "a", "e")
    assert MetaClient.load(table.path).config.metadata_partitions == ("files",)
    gone = iter("123")

    def write() -> None:
        table.put("hudi", "a", "cc", "ff")
        table.delete("hudi", next(gone))
        table.put("ours", "a", "g")

    for index in ("column_stats", "bloom_filters", "record_index"):
        with in_the_middle(write, behind=index == "bloom_filters"):
            assert services(table.path, {**SEVERAL, **INDEXES}).metadata.build([index]).created == (index,)
        table.put("ours", "b")
    table.check(tmp_path)
    table.put("hudi", "a", "hh", "b", **{"hoodie.index.type": "RECORD_INDEX"})
    table.delete("hudi", "cc")
    table.check(tmp_path)
    table.put("ours", "a", "ff", "i", **{"hoodie.index.type": "RECORD_INDEX"})
    table.check(tmp_path)


@pytest.mark.parametrize(("version", "kind"), CASES)
def test_hudi_goes_on_beside_what_a_dead_build_left(version: int, kind: str, hudi_peer: Any, tmp_path: Path) -> None:
    table = Both(tmp_path / "t", version, kind, hudi_peer(version))
    table.put("ours", "a", "b", "cc", "dd")
    options = {**SEVERAL, **INDEXES}
    die_in_the_middle(lambda: services(table.path, options).metadata.build(["record_index"]), behind=version == 8)
    table.put("hudi", "a", "e")
    table.delete("hudi", "b")
    assert MetaClient.load(table.path).timeline.pending({INDEXING})
    assert set(services(table.path, options).metadata.build().created) == NAMES
    table.check(tmp_path)
    table.put("hudi", "a", "new", **{"hoodie.index.type": "RECORD_INDEX"})
    table.check(tmp_path)
