"""Tables under consistent hashing, written and resized by us and by real Hudi by turns.

    python -m integration.long.consistent_buckets [--version 9] [--first hudi]

After each action Hudi's rows and ours are those of a model; each row is in the file group of its bucket; the buckets of
a partition are the same for Hudi's writes and ours, since a row that is written twice would else be there twice; and
what a clustering splits, merges and writes anew is the same whoever plans it: where sizes and buckets are the same, so
are the nodes of the plans, but for their new file ids.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.formats.hash import xxhash32
from hudi_hive.metadata import validate
from hudi_hive.table import MetaClient
from hudi_hive.timeline.payloads import ClusteringPlan
from hudi_hive.write.index import load_hashing
from hudi_hive.write.rollback import rollback
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import cluster, compact, schedule_clustering
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
from integration.support.matrix import DifferenceError

FIRSTS = ("ours", "hudi")
VERSIONS = (8, 9)

_HASHED = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "4",
    "hoodie.bucket.index.max.num.buckets": "7",
    "hoodie.bucket.index.min.num.buckets": "2",
    "hoodie.table.services.incremental.enabled": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
_SPLIT = {"hoodie.parquet.max.file.size": "5000", "hoodie.bucket.index.merge.threshold": "0.0"}
_FURTHER = {"hoodie.bucket.index.max.num.buckets": "12"}
_MERGE = {"hoodie.parquet.max.file.size": "5000000"}
_SORT = {"hoodie.parquet.max.file.size": "500000", "hoodie.clustering.plan.strategy.sort.columns": "name"}
_CLUSTER = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
_COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
_LATER = {"hoodie.compact.inline": "false"}
_THEIRS = {
    **_HASHED,
    "hoodie.table.name": "hashed",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    **FEW_TASKS,
    "hoodie.bulkinsert.shuffle.parallelism": "2",
}
_DDL = "id string, part string, ts long, name string"
_COLUMNS = ("id", "part", "ts", "name")
_NODES = "clustering.group.child.node"

Row = dict[str, Any]


@dataclass
class Life:
    """One table, action by action.

    Attributes:
        path: base path, not there yet.
        first: who makes it.
        peer: real Hudi of the table's version.
        rows: the model, by partition and key.
    """

    path: Path
    first: str
    peer: HudiPeer
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    step: int = 0

    def actions(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Names of the actions and what does them, in their order."""
        second = "hudi" if self.first == "ours" else "ours"
        yield f"{self.first} make it", lambda: self.put(self.first, range(200), "x", "n/e-w")
        yield f"{second} upsert", lambda: self.put(second, range(150, 250), "x", "late")
        yield f"{self.first} split", lambda: self.resize(self.first, _SPLIT, more=True)
        yield f"{second} upsert", lambda: self.put(second, range(190, 300), "x", "n/e-w")
        yield f"{second} delete", lambda: self.delete(second, range(5), "x")
        yield f"{second} bulk insert", lambda: self.put(second, range(40), "bulk", operation="bulk_insert")
        yield f"{second} resize further", lambda: self.resize(second, {**_SPLIT, **_FURTHER}, more=True)
        yield f"{self.first} upsert", lambda: self.put(self.first, range(100, 210), "x", "bulk")
        yield "ours compact", lambda: refuse_nothing_done(compact(self.context(_COMPACT)))
        yield f"{self.first} merge", lambda: self.resize(self.first, _MERGE, more=False)
        yield f"{second} upsert", lambda: self.put(second, range(240, 260), "x", "late")
        yield f"{second} sort", lambda: self.resize(second, _SORT, more=None)
        yield f"{self.first} upsert", lambda: self.put(self.first, range(30, 60), "x", "late")
        yield "ours take a resizing back", self.take_back
        yield "hudi upsert behind it", lambda: self.put("hudi", range(50, 90), "x")
        yield "ours delete a partition", self.delete_partition
        yield "hudi upsert into it", lambda: self.put("hudi", range(30), "late")
        yield "hudi upsert into it again", lambda: self.put("hudi", range(10, 40), "late")
        yield "hudi split", lambda: self.resize("hudi", _SPLIT, more=True)
        yield "ours upsert after all", lambda: self.put("ours", range(0, 300, 3), "x", "late", "n/e-w", "bulk")

    # -- what is done ------------------------------------------------------------------------------------------------

    def context(self, options: dict[str, str]) -> ServiceContext:
        return ServiceContext(MetaClient.load(self.path), {**_HASHED, **options})

    @property
    def table(self) -> HudiTable:
        if not self.path.exists():
            names = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
            made = partial(HudiTable.create, self.path, name="hashed", version=self.peer.version)
            return made(table_type="MERGE_ON_READ", **names)
        return HudiTable.open(str(self.path))

    def put(self, who: str, keys: range, *parts: str, operation: str = "upsert", **options: str) -> None:
        self.step += 1
        names = [(part, f"k{key:04d}") for part in parts for key in keys]
        rows = [
            {"id": key, "part": part, "ts": self.step, "name": f"{crc32(f'{part} {key} {self.step}'.encode()):x}"}
            for part, key in names
        ]
        if who == "ours":
            write = self.table.upsert if operation == "upsert" else self.table.bulk_insert
            write(pa.Table.from_pylist(rows), {**_HASHED, **options})
        else:
            self.theirs(rows, operation, options)
        self.rows |= {(row["part"], row["id"]): row for row in rows}

    def theirs(self, rows: list[Row], operation: str, more: dict[str, str]) -> None:
        options = {**_THEIRS, **_LATER, **more, "hoodie.datasource.write.operation": operation}
        self.peer.write(self.path, rows, _DDL, options)

    def delete(self, who: str, keys: range, part: str) -> None:
        self.step += 1
        gone = [{"id": f"k{key:04d}", "part": part, "ts": self.step, "name": ""} for key in keys]
        if who == "ours":
            self.table.delete(pa.Table.from_pylist(gone), _HASHED)
        else:
            self.theirs(gone, "delete", {})
        self.rows = {at: row for at, row in self.rows.items() if at not in {(part, row["id"]) for row in gone}}

    def resize(self, who: str, options: dict[str, str], *, more: bool | None) -> None:
        """A clustering; the plan of the other one on a copy has the same nodes.

        Args:
            who: who does it.
            options: what is split and merged.
            more: whether there are more buckets in ``x`` then, or fewer; None if there are as many.
        """
        before = len(self.ring("x").nodes)
        copy = self.path.with_name(f"{self.path.name}_planned")
        if who == "ours":
            refuse_nothing_done(cluster(self.context(options)))
        else:
            # Hudi clusters behind a write alone.
            self.put("hudi", range(120, 122), "x", **{**options, **_CLUSTER, "hoodie.compact.inline": "false"})
        if who == "hudi":
            same("nodes of the plan", self.planned(self.copied(copy), options), nodes_of(self.last_plan()))
        grown = len(self.ring("x").nodes) - before
        if (grown > 0) - (grown < 0) != {True: 1, False: -1, None: 0}[more]:
            raise DifferenceError(f"{before} buckets became {before + grown}")

    def copied(self, copy: Path) -> MetaClient:
        """The table as it was before its last clustering."""
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.path, copy)
        last = MetaClient.load(copy).timeline.last_completed_write()
        assert last is not None
        rollback(ServiceContext(MetaClient.load(copy), _HASHED), last.requested)
        return MetaClient.load(copy)

    def planned(self, client: MetaClient, options: dict[str, str]) -> list[Any]:
        planned = schedule_clustering(ServiceContext(client, {**_HASHED, **options}))
        assert planned is not None
        return nodes_of(client.reload().timeline.requested_replace_metadata(planned))

    def last_plan(self) -> ClusteringPlan:
        timeline = MetaClient.load(self.path).timeline
        last = timeline.last_completed_write()
        assert last is not None
        return timeline.requested_replace_metadata(last)

    def take_back(self) -> None:
        (done,) = cluster(self.context(_SPLIT))
        rollback(self.context({}), done)

    def delete_partition(self) -> None:
        self.table.delete_partitions(["late"], _HASHED)
        self.rows = {at: row for at, row in self.rows.items() if at[0] != "late"}

    # -- what is seen ------------------------------------------------------------------------------------------------

    def ring(self, part: str) -> Any:
        ring = load_hashing(MetaClient.load(self.path), part)
        if ring is None:
            raise DifferenceError(f"no buckets in {part}")
        return ring

    def check(self) -> None:
        """Everything that the module's first lines say."""
        expected = [self.rows[at] for at in sorted(self.rows)]
        check_hudi_rows(self.peer, self.path, expected, [{"hoodie.metadata.enable": on} for on in ("false", "true")])
        ours = HudiTable.open(str(self.path)).scan().to_arrow()
        same("our rows", in_order(ours.select(_COLUMNS).to_pylist()), expected)
        for part in sorted({row["part"] for row in expected}):
            own = [row for row in ours.to_pylist() if row["part"] == part]
            ring = self.ring(part)
            places = ring.places(xxhash32(pa.array([row["id"] for row in own]))).tolist()
            groups = [row["_hoodie_file_name"].partition("_")[0].removesuffix(".parquet") for row in own]
            same(f"buckets of {part}", groups, [ring.nodes[place].file_id for place in places])
        report = validate(MetaClient.load(self.path))
        same("our validation", str(report) if report.errors else "", "")


def nodes_of(plan: ClusteringPlan) -> list[Any]:
    """What a plan does with the buckets of each input group, without the new file ids."""
    nodes = [json.loads(extra[_NODES]) for extra in plan.group_extra]
    children = [[(node["value"], node["tag"]) for node in group] for group in nodes]
    groups: dict[int, list[str]] = {}
    for row in plan.slices.to_pylist():
        groups.setdefault(row["group"], []).append(f"{row['partition']} {row['file_id']}")
    return sorted(zip((groups[at] for at in sorted(groups)), children, plan.output_groups, strict=True))


def run(first: str, peer: HudiPeer, path: Path, tell: Callable[[str], object] = print_at_once) -> tuple[int, int]:
    """One table's life.

    Args:
        first: who makes it.
        peer: real Hudi of the table's version.
        path: base path of the table, not there yet.
        tell: is told what became of each action.

    Returns:
        How many actions there were, and behind how many of them all was as it should be.
    """
    life = Life(path, first, peer)

    def look(name: str) -> str:
        del name
        life.check()
        return f", {len(life.rows)} rows, {len(life.ring('x').nodes)} buckets"

    return run_actions(f"version {peer.version} {first}", life.actions(), look, tell)


def main() -> int:
    """Run the chosen tables; print a line for each action and the numbers."""
    counts = []
    with chosen_tables(__doc__, version=VERSIONS, first=FIRSTS) as (chosen, folder):
        for version in chosen.version:
            with HudiPeer(version) as peer:
                counts += [run(first, peer, folder / f"v{version}_{first}") for first in chosen.first]
    return print_counts(counts)


if __name__ == "__main__":
    sys.exit(main())
