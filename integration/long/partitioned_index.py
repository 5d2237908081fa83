"""A record index of each partition, written by us and by real Hudi 1.1.1 by turns.

    python -m integration.long.partitioned_index [--type MERGE_ON_READ] [--first hudi]

After each action Hudi's rows and ours are those of a model, in which keys are in several partitions; Hudi's records of
the index name the key, partition and file group of each of Hudi's rows and nothing else, which is what Hudi's metadata
table validator compares; and Hudi's listing by the metadata table names the files on disk.

Hudi gets the rows of one partition at a time: its look-up in such an index brings rows and places together by key
alone, so that of two rows of one key in one write, of which one partition has the key, the other row is lost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.metadata import MetadataListing, MetadataTable, validate
from hudi_hive.metadata.reader import committed_files
from hudi_hive.table import MetaClient
from hudi_hive.table.view import DirectoryLister
from hudi_hive.timeline.instants import COMMIT
from hudi_hive.write.rollback import create_savepoint, delete_savepoint, restore, rollback
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import clean, cluster, compact
from integration.support.action_runs import (
    FEW_TASKS,
    check_hudi_rows,
    chosen_tables,
    in_order,
    print_at_once,
    print_counts,
    refuse_nothing_done,
    run_actions,
    same,
)
from integration.support.hudi_peer import HudiPeer
from integration.support.matrix import TYPES

FIRSTS = ("ours", "hudi")
VERSION = 9

_INDEX = {
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
    "hoodie.metadata.record.level.index.enable": "true",
    "hoodie.metadata.record.level.index.min.filegroup.count": "2",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
_OURS = {
    **_INDEX,
    "hoodie.metadata.compact.max.delta.commits": "5",
    "hoodie.clean.commits.retained": "1",
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.clustering.plan.strategy.sort.columns": "id",
}
_THEIRS = {
    **_INDEX,
    "hoodie.table.name": "parted",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.urlencode": "true",
    **FEW_TASKS,
}
_DDL = "id string, part string, ts long, name string"
_COLUMNS = ("id", "part", "ts", "name")
_FIELDS = ("partitionName", "fileIdHighBits", "fileIdLowBits", "fileIndex", "fileId", "fileIdEncoding")

Row = dict[str, Any]


@dataclass
class Life:
    """One table, action by action.

    Attributes:
        path: base path, not there yet.
        kind: table type.
        first: who makes it.
        peer: real Hudi 1.1.1.
        rows: the model, by partition and key.
    """

    path: Path
    kind: str
    first: str
    peer: HudiPeer
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    step: int = 0
    compactions: int = 0

    def actions(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Names of the actions and what does them, in their order."""
        second = "hudi" if self.first == "ours" else "ours"
        yield f"{self.first} make it", lambda: self.put(self.first, range(12), "x", "a-b_c")
        yield f"{second} upsert into a new partition", lambda: self.put(second, range(8, 15), "x", "n/e w")
        yield f"{self.first} upsert into a new partition", lambda: self.put(self.first, range(4, 10), "a-b_c", "z%")
        yield "ours delete in one of two partitions", lambda: self.delete("ours", range(4), "x")
        yield "hudi upsert", lambda: self.put("hudi", range(2, 9), "x", "z%")
        yield "ours upsert by the simple index", lambda: self.put("ours", range(5), "a-b_c", **_BY_FILES)
        compacted = {} if self.kind == "COPY_ON_WRITE" else _COMPACTED
        if compacted:
            yield "ours compact", lambda: refuse_nothing_done(compact(self.context))
        yield "hudi delete", lambda: self.delete("hudi", range(5, 8), "a-b_c")
        yield "ours insert_overwrite", self.overwrite
        yield "hudi upsert", lambda: self.put("hudi", range(7, 12), "x", "a-b_c")
        yield "ours cluster", lambda: refuse_nothing_done(cluster(self.context))
        yield "hudi upsert and compact", lambda: self.put("hudi", range(9, 17), "x", "n/e w", **compacted)
        yield "ours take back a new partition", self.take_back
        yield "hudi upsert into it", lambda: self.put("hudi", range(3), "later", "x")
        yield "ours delete a partition", lambda: self.delete_partition("z%", "z%25")
        yield "ours clean", lambda: refuse_nothing_done([clean(self.context)])
        yield "ours upsert into it", lambda: self.put("ours", range(6), "z%", "x")
        yield "hudi upsert into it", lambda: self.put("hudi", range(3, 9), "z%")
        yield "ours restore a savepoint", self.go_back
        yield "hudi upsert after all", lambda: self.put("hudi", range(20), "x", "a-b_c", "z%", "last")

    # -- what is done ------------------------------------------------------------------------------------------------

    @property
    def context(self) -> ServiceContext:
        return ServiceContext(MetaClient.load(self.path), _OURS)

    @property
    def table(self) -> HudiTable:
        if not self.path.exists():
            names = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
            made = partial(HudiTable.create, self.path, name="parted", version=VERSION, url_encode_partitioning=True)
            return made(table_type=self.kind, **names)
        return HudiTable.open(str(self.path))

    def put(self, who: str, keys: range, *parts: str, **options: str) -> None:
        self.step += 1
        names = [(part, f"k{key:02d}") for part in parts for key in keys]
        rows = [{"id": key, "part": part, "ts": self.step, "name": f"{key} of {self.step}"} for part, key in names]
        if who == "ours":
            self.table.upsert(pa.Table.from_pylist(rows), {**_OURS, **options})
        else:
            for part in parts:
                self.theirs([row for row in rows if row["part"] == part], "upsert", options)
        self.rows |= {(row["part"], row["id"]): row for row in rows}

    def theirs(self, rows: list[Row], operation: str, more: Mapping[str, str] | None = None) -> None:
        options = {**_THEIRS, "hoodie.datasource.write.table.type": self.kind, **(more or {})}
        self.peer.write(self.path, rows, _DDL, {**options, "hoodie.datasource.write.operation": operation})

    def delete(self, who: str, keys: range, part: str) -> None:
        self.step += 1
        gone = [{"id": f"k{key:02d}", "part": part, "ts": self.step, "name": ""} for key in keys]
        if who == "ours":
            self.table.delete(pa.Table.from_pylist(gone), _OURS)
        else:
            self.theirs(gone, "delete")
        self.rows = {at: row for at, row in self.rows.items() if at not in {(part, row["id"]) for row in gone}}

    def overwrite(self) -> None:
        self.step += 1
        rows = [{"id": f"k{key:02d}", "part": "x", "ts": self.step, "name": "new"} for key in range(6, 10)]
        self.table.insert_overwrite(pa.Table.from_pylist(rows), _OURS)
        self.rows = {at: row for at, row in self.rows.items() if at[0] != "x"}
        self.rows |= {("x", row["id"]): row for row in rows}

    def take_back(self) -> None:
        before = dict(self.rows)
        self.put("ours", range(5), "later", "x")
        last = MetaClient.load(self.path).timeline.last_completed_write()
        assert last is not None
        rollback(self.context, last.requested)
        self.rows = before

    def delete_partition(self, part: str, path: str) -> None:
        self.table.delete_partitions([path], _OURS)
        self.rows = {at: row for at, row in self.rows.items() if at[0] != part}

    def go_back(self) -> None:
        before = dict(self.rows)
        point = create_savepoint(self.context).instant.requested
        self.put("ours", range(30, 33), "x", "gone again")
        restore(self.context, point)
        delete_savepoint(self.context, point)
        self.rows = before

    # -- what is seen ------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Everything that the module's first lines say."""
        expected = [self.rows[at] for at in sorted(self.rows)]
        check_hudi_rows(self.peer, self.path, expected, [{"hoodie.metadata.enable": on} for on in ("false", "true")])
        client = MetaClient.load(self.path, listing=MetadataListing())
        ours = HudiTable(client).scan().to_arrow().select(_COLUMNS).to_pylist()
        same("our rows", in_order(ours), expected)
        report = validate(MetaClient.load(self.path))
        same("our validation", str(report) if report.errors else "", "")
        same("the index as Hudi reads it", self.indexed(), self.places())
        table = MetadataTable.open(client)
        done = sum(instant.action == COMMIT for instant in table.client.timeline.instants)
        self.compactions = max(self.compactions, done)  # those of the table before it is made anew
        found = table.record_locations().select(["key", "partition", "file_id"]).to_pylist()
        same("the index as we read it", sorted(tuple(row.values()) for row in found), self.places())

    def places(self) -> list[tuple[str, str, str]]:
        """Key, partition and file group of each row of Hudi's."""
        columns = [f"_hoodie_{name}" for name in ("record_key", "partition_path", "file_name")]
        found = self.peer.read(self.path, columns, {"hoodie.metadata.enable": "false"})
        return sorted((row[columns[0]], row[columns[1]], row[columns[2]].split("_")[0]) for row in found)

    def indexed(self) -> list[tuple[str, str, str]]:
        """Key, partition and file group of each record of the index as Hudi reads it."""
        columns = ["key", "type", *(f"recordIndexMetadata.{name}" for name in _FIELDS)]
        found = self.peer.read(f"{self.path}/.hoodie/metadata", columns)
        records = [row for row in found if row["type"] == 5]
        return sorted((row["key"], row["partitionName"], _file_id(row)) for row in records)

    def files(self) -> None:
        """Hudi's listing by the metadata table, and what is on disk."""
        name = f"parted_{self.kind}_{self.first}".lower()
        self.peer.sql(f"create table if not exists {name} using hudi location '{self.path}'")
        found = self.peer.sql(f"call validate_metadata_table_files(table => '{name}', verbose => true)")
        listed = {(row["partition"], row["file_name"]) for row in found if row["is_present_in_metadata"]}
        client = MetaClient.load(self.path)
        lister = DirectoryLister(client.storage)
        there = committed_files(client, lister.files(lister.partitions())).to_pylist()
        same("files of Hudi's listing", listed, {(row["partition"], row["name"]) for row in there})


_COMPACTED = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
_BY_FILES = {"hoodie.index.type": "SIMPLE"}


def _file_id(row: Row) -> str:
    if row.get("fileIdEncoding") == 1:
        return str(row["fileId"])
    halves = (row["fileIdHighBits"] % 2**64, row["fileIdLowBits"] % 2**64)
    number = row["fileIndex"]
    return f"{UUID(int=(halves[0] << 64) | halves[1])}{'' if number == -1 else f'-{number}'}"


def run(
    kind: str,
    first: str,
    peer: HudiPeer,
    path: Path,
    tell: Callable[[str], object] = print_at_once,
    *,
    looks: bool = True,
) -> tuple[int, int]:
    """One table's life.

    Args:
        kind: table type.
        first: who makes it.
        peer: real Hudi 1.1.1.
        path: base path of the table, not there yet.
        tell: is told what became of each action.
        looks: look after each action, not after the last one alone.

    Returns:
        How many actions there were, and behind how many of them all was as it should be.
    """
    life = Life(path, kind, first, peer)
    actions = list(life.actions())
    last = actions[-1][0]

    def look(name: str) -> str:
        if looks or name == last:
            life.check()
        if name == last:
            life.files()
        return ""

    total, passed = run_actions(f"{kind} {first}", actions, look, tell)
    tell(f"{kind} {first}: {passed} of {total}, {life.compactions} compactions of the metadata table")
    return total, passed


def main() -> int:
    """Run the chosen tables; print a line for each action and the numbers."""
    with chosen_tables(__doc__, type=TYPES, first=FIRSTS) as (chosen, folder), HudiPeer(VERSION) as peer:
        return print_counts(
            run(kind, first, peer, folder / f"{kind}_{first}") for kind, first in product(chosen.type, chosen.first)
        )


if __name__ == "__main__":
    sys.exit(main())
