"""Our metadata table in the eyes of real Hudi: every action is ours, and after each of them Hudi reads the table.

    python -m integration.long.metadata_actions [--version 6] [--type MERGE_ON_READ]

After each action Hudi's rows are those of a model with the metadata table on and off; Hudi's listing by the metadata
table names the committed files on disk and their bytes; and look-ups by record key with Hudi's data skipping, which
asks our record index, find the rows. In the end Hudi upserts with the index types ``RECORD_INDEX`` and ``BLOOM`` by our
partitions of the metadata table, and we read what it wrote.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.metadata import MetadataListing, MetadataTable, validate
from hudi_hive.metadata.reader import committed_files
from hudi_hive.table import MetaClient
from hudi_hive.table.view import DirectoryLister
from hudi_hive.timeline.instants import CLEAN, COMMIT
from hudi_hive.write.rollback import create_savepoint, delete_savepoint, restore, rollback
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import clean, cluster, compact
from integration.support.action_runs import (
    chosen_tables,
    print_at_once,
    print_counts,
    refuse_nothing_done,
    run_actions,
)
from integration.support.hudi_peer import HudiPeer
from integration.support.matrix import TYPES, VERSIONS, DifferenceError

OPTIONS = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.compact.max.delta.commits": "5",
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.clean.commits.retained": "1",
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.clustering.plan.strategy.sort.columns": "id",
}
_DDL = "id string, part string, ts long, name string"
_THEIRS = {
    "hoodie.table.name": "actions",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}

_IN_METADATA = "is_present_in_metadata"

Rows = dict[str, dict[str, Any]]


@dataclass
class Life:
    """One table, action by action.

    Args:
        path: base path, not there yet.
        version: table version.
        kind: table type.
        peer: real Hudi of the version's release.
        options: of our writes and services.
    """

    path: Path
    version: int
    kind: str
    peer: HudiPeer
    options: Mapping[str, str] = field(default_factory=lambda: OPTIONS)
    rows: Rows = field(default_factory=dict)
    step: int = 0
    checks: int = 0
    has_sql_table: bool = False

    # -- what is done ------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Make the table, without rows."""
        HudiTable.create(
            self.path,
            name="actions",
            version=self.version,
            table_type=self.kind,
            record_keys=["id"],
            partition_fields=["part"],
            ordering_fields=["ts"],
        )

    @property
    def table(self) -> HudiTable:
        return HudiTable.open(str(self.path))

    @property
    def context(self) -> ServiceContext:
        return ServiceContext(MetaClient.load(self.path), self.options)

    def new_rows(self, keys: range, part: str | None = None) -> list[dict[str, Any]]:
        self.step += 1
        parts = ("x", "y", "z")
        names = [f"k{key:02d}" for key in keys]
        return [
            {
                "id": name,
                "part": part or self.rows.get(name, {}).get("part") or parts[int(name[1:]) % 3],
                "ts": self.step,
                "name": f"{name} of {self.step}",
            }
            for name in names
        ]

    def put(self, rows: list[dict[str, Any]]) -> pa.Table:
        self.rows = {**self.rows, **{row["id"]: row for row in rows}}
        return pa.Table.from_pylist(rows)

    def without(self, *parts: str) -> None:
        self.rows = {key: row for key, row in self.rows.items() if row["part"] not in parts}

    def actions(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Names of our actions and what does them, in their order."""
        yield "bulk_insert", lambda: self.table.bulk_insert(self.put(self.new_rows(range(12))), self.options)
        yield "upsert", lambda: self.table.upsert(self.put(self.new_rows(range(8, 15))), self.options)
        yield "delete", self.delete
        yield "savepoint", self.savepoint
        yield "upsert", lambda: self.table.upsert(self.put(self.new_rows(range(2, 6))), self.options)
        if self.kind == "MERGE_ON_READ":
            yield "compaction", lambda: refuse_nothing_done(compact(self.context))
        yield "clustering", lambda: refuse_nothing_done(cluster(self.context))
        yield "upsert", lambda: self.table.upsert(self.put(self.new_rows(range(3, 7))), self.options)
        yield "rollback", self.rollback
        yield "insert_overwrite", self.overwrite
        yield "restore", self.restore
        yield "upsert", lambda: self.table.upsert(self.put(self.new_rows(range(4, 18))), self.options)
        yield "delete_partition", self.delete_partition
        yield "upsert", lambda: self.table.upsert(self.put(self.new_rows(range(20, 24), "x")), self.options)
        yield "clean", self.clean

    def their_actions(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Writes of Hudi by our partitions of the metadata table, and one of ours behind them."""
        yield "upsert with record index", lambda: self.theirs("RECORD_INDEX", range(10, 22))
        yield "upsert with bloom filters", lambda: self.theirs("BLOOM", range(12, 26))
        yield "upsert", lambda: self.table.upsert(self.put(self.new_rows(range(11, 20))), self.options)

    def delete(self) -> None:
        # Not written again: Hudi 1.0.2 cannot compare the ordering value of a deleted record's with that of a new one.
        gone = [self.rows[key] for key in ("k00", "k01")]
        self.step += 1
        for row in gone:
            self.rows = {key: other for key, other in self.rows.items() if key != row["id"]}
        self.table.delete(pa.Table.from_pylist([{**row, "ts": self.step} for row in gone]), self.options)

    def savepoint(self) -> None:
        self.rows_at_savepoint = dict(self.rows)
        self.point = create_savepoint(self.context).instant.requested

    def rollback(self) -> None:
        before = dict(self.rows)
        self.table.upsert(self.put(self.new_rows(range(5, 19))), self.options)
        last = MetaClient.load(self.path).timeline.last_completed_write()
        assert last is not None
        rollback(self.context, last.requested)
        self.rows = before

    def overwrite(self) -> None:
        rows = self.new_rows(range(30, 33), "x")
        self.without("x")
        self.table.insert_overwrite(self.put(rows), self.options)

    def restore(self) -> None:
        restore(self.context, self.point)
        self.rows = dict(self.rows_at_savepoint)
        delete_savepoint(self.context, self.point)

    def delete_partition(self) -> None:
        self.table.delete_partitions(["y"], self.options)
        self.without("y")

    def clean(self) -> None:
        clean(self.context)
        if not MetaClient.load(self.path).timeline.completed({CLEAN}):
            raise DifferenceError("the clean did nothing")

    def theirs(self, index: str, keys: range) -> None:
        options = {
            **_THEIRS,
            "hoodie.datasource.write.table.type": self.kind,
            "hoodie.datasource.write.operation": "upsert",
            "hoodie.index.type": index,
            "hoodie.bloom.index.use.metadata": "true",
        }
        rows = self.new_rows(keys)
        self.put(rows)
        self.peer.write(self.path, rows, _DDL, options)

    # -- what is seen ------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Everything that the module's first lines say; each comparison is counted."""
        expected = [self.rows[key] for key in sorted(self.rows)]
        for on in ("false", "true"):
            found = self.peer.read(self.path, ("id", "part", "ts", "name"), {"hoodie.metadata.enable": on})
            self.same(f"rows of Hudi, metadata {on}", sorted(found, key=_key), expected)
        ours = HudiTable(MetaClient.load(self.path, listing=MetadataListing())).scan().to_arrow()
        self.same("our rows", sorted(ours.select(["id", "part", "ts", "name"]).to_pylist(), key=_key), expected)
        report = validate(MetaClient.load(self.path))
        if not self.has_sql_table:
            self.peer.sql(f"create table {self.name} using hudi location '{self.path}'")
            for setting in ("metadata.enable", "enable.data.skipping", "metadata.record.index.enable"):
                self.peer.sql(f"set hoodie.{setting}=true")
            self.has_sql_table = True
        self.same("our validation", str(report) if report.errors else "", "")
        self.files()
        self.look_up()

    @property
    def name(self) -> str:
        return f"actions_{self.version}_{self.kind}".lower()

    def files(self) -> None:
        """Hudi's listing by the metadata table, and what is on disk."""
        found = self.peer.sql(f"call validate_metadata_table_files(table => '{self.name}', verbose => true)")
        listed = {(row["partition"], row["file_name"]): row["metadata_size"] for row in found if row[_IN_METADATA]}
        client = MetaClient.load(self.path)
        lister = DirectoryLister(client.storage)
        files = committed_files(client, lister.files(lister.partitions()))
        there = {(row["partition"], row["name"]): row["size"] for row in files.to_pylist()}
        if self.version == 6:  # blocks of what was rolled back stay in log files, which grow
            there = {key: listed.get(key, size) if key[1].startswith(".") else size for key, size in there.items()}
        self.same("files of Hudi's listing", listed, there)

    def look_up(self) -> None:
        """Keys that are there and one that is not, by Hudi with all of its data skipping."""
        existing = sorted(self.rows)[:: max(1, len(self.rows) // 3)]
        keys = ", ".join(f"'{key}'" for key in [*existing, "nowhere"])
        self.peer.sql(f"refresh table {self.name}")
        found = self.peer.sql(f"select id, part, ts, name from {self.name} where _hoodie_record_key in ({keys})")
        self.same("look-ups of Hudi", sorted(found, key=_key), [self.rows[key] for key in existing])

    def same(self, what: str, actual: object, expected: object) -> None:
        self.checks += 1
        if actual == expected:
            return
        if isinstance(actual, list) and isinstance(expected, list):
            actual = [row for row in actual if row not in expected], len(actual)
            expected = [row for row in expected if row not in actual], len(expected)
        if isinstance(actual, dict) and isinstance(expected, dict):
            both = actual.items() & expected.items()
            actual, expected = dict(actual.items() - both), dict(expected.items() - both)
        raise DifferenceError(f"{what}: {str(actual)[:500]} for {str(expected)[:500]}")


def _key(row: dict[str, Any]) -> str:
    return str(row["id"])


SELDOM = ("rollback", "clean", "upsert with bloom filters")
"""Actions after which Hudi looks where it is not to look after each."""


def run(
    version: int,
    kind: str,
    peer: HudiPeer,
    path: Path,
    tell: Callable[[str], object] = print_at_once,
    seen: Container[str] | None = None,
) -> tuple[int, int]:
    """One table's life.

    Args:
        version: table version.
        kind: table type.
        peer: real Hudi of the version's release.
        path: base path of the table, not there yet.
        tell: is told what became of each action.
        seen: actions after which Hudi looks; all without it.

    Returns:
        How many actions there were, and how many of them Hudi saw as they should be.
    """
    life = Life(path, version, kind, peer)
    life.create()

    def look(name: str) -> str:
        if seen is None or name in seen:
            life.check()
        return f", {life.checks} comparisons so far"

    total, passed = run_actions(f"{version} {kind}", chain(life.actions(), life.their_actions()), look, tell)
    partitions = MetaClient.load(path).config.metadata_partitions
    if not {"files", "column_stats", "record_index", "bloom_filters"} <= set(partitions):
        tell(f"{version} {kind}: partitions were lost, {partitions} are left")
        passed -= 1
    instants = MetadataTable.open(MetaClient.load(path)).client.timeline.instants
    compactions = [i for i in instants if i.action == COMMIT]
    tell(f"{version} {kind}: {passed} of {total} actions, {len(compactions)} compactions of the metadata table")
    return total, passed


def main() -> int:
    """Run the chosen tables; print a line for each action and the numbers."""
    counts = []
    with chosen_tables(__doc__, version=VERSIONS, type=TYPES) as (chosen, folder):
        for version in chosen.version:
            with HudiPeer(version) as peer:
                counts += [run(version, kind, peer, folder / f"{version}_{kind}") for kind in chosen.type]
    return print_counts(counts)


if __name__ == "__main__":
    sys.exit(main())
