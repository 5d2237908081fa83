"""Log compactions by us and by real Hudi of one table, which both write by turns.

    python -m integration.long.log_compaction [--version 9] [--mode EVENT_TIME_ORDERING] [--first hudi]

After each action Hudi's rows and ours are those of a model, by Hudi's reader with and without its optimised scan of log
blocks, with and without the metadata table; Hudi's listing by the metadata table names the files on disk. Each log
compaction is looked at: it is a delta commit with one log file for each slice, whose blocks name what they stand for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.formats.log import HeaderKey, iter_blocks
from hudi_hive.metadata import MetadataListing, validate
from hudi_hive.metadata.reader import committed_files
from hudi_hive.table import MetaClient
from hudi_hive.table.view import DirectoryLister
from hudi_hive.write.rollback import rollback
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import clean, compact, log_compact
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
from integration.support.hudi_peer import RELEASES, HudiPeer
from integration.support.matrix import DifferenceError

FIRSTS = ("ours", "hudi")
MODES = ("EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING")
TABLES = tuple((version, mode) for version in RELEASES for mode in MODES if version >= 8 or mode == MODES[0])
"""Versions and merge modes; in version 6 log records are ordered by their ordering values in any case."""

_QUIET = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.metadata.index.column.stats.enable": "true",
}
_OURS = {**_QUIET, "hoodie.log.compaction.blocks.threshold": "3", "hoodie.clean.commits.retained": "1"}
_THEIRS = {
    **_QUIET,
    "hoodie.table.name": "logs",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.log.compaction.blocks.threshold": "2",
    "hoodie.compact.inline": "false",
    **FEW_TASKS,
}
_INLINE = {"hoodie.log.compaction.inline": "true"}
_COMPACTED = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
_DDL = "id string, part string, ts int, name string"  # 1.0.2 compares deletes without ordering value as this type
_PAYLOAD = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
_SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int32()), ("name", pa.string())])
_COLUMNS = ("id", "part", "ts", "name")
_LATE = 5

Row = dict[str, Any]


@dataclass
class Life:
    """One table, action by action.

    Attributes:
        path: base path, not there yet.
        version: table version.
        mode: merge mode.
        first: who makes it.
        peer: real Hudi of the release that makes tables of the version.
        rows: the model, by partition and key.
        seen: log compactions that were looked at.
    """

    path: Path
    version: int
    mode: str
    first: str
    peer: HudiPeer
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    step: int = 10
    seen: set[str] = field(default_factory=set)

    def actions(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Names of the actions and what does them, in their order."""
        second = "hudi" if self.first == "ours" else "ours"
        yield f"{self.first} make it", lambda: self.put(self.first, range(12))
        yield f"{second} upsert", lambda: self.put(second, range(4))
        yield f"{self.first} upsert late rows", lambda: self.put(self.first, range(2, 5), late=True)
        yield "ours delete", lambda: self.delete("ours", range(5, 7))
        yield "ours log compact", self.merge_blocks
        yield "hudi upsert", lambda: self.put("hudi", range(3, 9))
        yield "hudi upsert late rows", lambda: self.put("hudi", range(8, 10), late=True)
        yield "hudi delete", lambda: self.delete("hudi", range(8, 10))
        yield "ours log compact what is log compacted", self.merge_blocks
        yield "ours upsert late rows", lambda: self.put("ours", range(1, 3), late=True)
        yield "hudi log compact behind an upsert", partial(self.put, "hudi", range(2), **_INLINE)
        yield "ours upsert", lambda: self.put("ours", range(1, 6))
        yield "hudi upsert", lambda: self.put("hudi", range(4, 8))
        yield "ours log compact behind an upsert", partial(self.put, "ours", range(10, 12), **_INLINE)
        yield "ours take the log compaction back", self.take_back
        yield "hudi upsert", lambda: self.put("hudi", range(2, 5))
        yield "ours log compact again", self.merge_blocks
        yield "ours delete a partition's rows", lambda: self.delete("ours", range(3), "b")
        yield "hudi compact behind an upsert", partial(self.put, "hudi", range(6, 9), **_COMPACTED)
        yield "ours upsert on top", lambda: self.put("ours", range(3))
        yield "hudi upsert on top", lambda: self.put("hudi", range(2, 5))
        yield "ours upsert on top again", lambda: self.put("ours", range(1, 3))
        yield "ours log compact on top", self.merge_blocks
        yield "ours compact", lambda: refuse_nothing_done(compact(self.context))
        yield "ours clean", lambda: refuse_nothing_done([clean(self.context)])
        yield "hudi upsert after all", lambda: self.put("hudi", range(14))

    # -- what is done ------------------------------------------------------------------------------------------------

    @property
    def context(self) -> ServiceContext:
        return ServiceContext(MetaClient.load(self.path), _OURS)

    @property
    def table(self) -> HudiTable:
        if not self.path.exists():
            ordering = ["ts"] if self.mode == "EVENT_TIME_ORDERING" else []
            names = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ordering}
            made = partial(HudiTable.create, self.path, name="logs", version=self.version, merge_mode=self.mode)
            return made(table_type="MERGE_ON_READ", **names)
        return HudiTable.open(str(self.path))

    def put(self, who: str, keys: range, *, late: bool = False, **options: str) -> None:
        self.step += 1
        ts = _LATE if late else self.step
        rows = [
            {"id": f"k{key:02d}", "part": part, "ts": ts, "name": f"{key} of {self.step}"}
            for part in "ab"
            for key in keys
        ]
        for row in rows:
            there = self.rows.get((row["part"], row["id"]))
            if there is None or self.mode == "COMMIT_TIME_ORDERING" or row["ts"] >= there["ts"]:
                self.rows[row["part"], row["id"]] = row
        if who == "hudi":
            self.theirs(rows, "upsert", options)
            return
        report = self.table.upsert(pa.Table.from_pylist(rows, _SCHEMA), {**_OURS, **options})
        if options and not report.services.done.get("log compaction"):
            raise DifferenceError(f"no log compaction behind it: {report.services}")

    def theirs(self, rows: list[Row], operation: str, more: Mapping[str, str]) -> None:
        options = {**_THEIRS, **more, "hoodie.datasource.write.operation": operation}
        if self.mode == "EVENT_TIME_ORDERING":
            options["hoodie.datasource.write.precombine.field"] = "ts"
        if self.version == 6:
            options["hoodie.datasource.write.payload.class"] = _PAYLOAD
        elif not self.path.exists():
            options |= {"hoodie.record.merge.mode": self.mode, "hoodie.write.table.version": str(self.version)}
        self.peer.write(self.path, rows, _DDL, options)

    def delete(self, who: str, keys: range, parts: str = "ab") -> None:
        self.step += 1
        gone = [{"id": f"k{key:02d}", "part": part, "ts": self.step, "name": ""} for part in parts for key in keys]
        if who == "ours":
            self.table.delete(pa.Table.from_pylist(gone, _SCHEMA), _OURS)
        else:
            self.theirs(gone, "delete", {})
        self.rows = {at: row for at, row in self.rows.items() if at not in {(row["part"], row["id"]) for row in gone}}

    def merge_blocks(self) -> None:
        refuse_nothing_done(log_compact(self.context))

    def take_back(self) -> None:
        last = MetaClient.load(self.path).timeline.last_completed_write()
        assert last is not None and last.requested in self.seen
        rollback(self.context, last.requested)

    # -- what is seen ------------------------------------------------------------------------------------------------

    def check(self) -> str:
        """Everything that the module's first lines say; how many log compactions there were."""
        expected = [self.rows[at] for at in sorted(self.rows)]
        readers = [
            {"hoodie.metadata.enable": on, "hoodie.optimized.log.blocks.scan.enable": on} for on in ("false", "true")
        ]
        check_hudi_rows(self.peer, self.path, expected, readers)
        client = MetaClient.load(self.path, listing=MetadataListing())
        ours = HudiTable(client).scan().to_arrow().select(_COLUMNS).to_pylist()
        same("our rows", in_order(ours), expected)
        report = validate(MetaClient.load(self.path))
        same("our validation", str(report) if report.errors else "", "")
        return self.look_at_log_compactions(client)

    def look_at_log_compactions(self, client: MetaClient) -> str:
        new = 0
        for instant in client.timeline.write_instants():
            metadata = client.timeline.commit_metadata(instant)
            if metadata.operation != "LOG_COMPACT" or instant.requested in self.seen:
                continue
            new += 1
            self.seen.add(instant.requested)
            plan = client.timeline.compaction_plan(instant).operations
            same(
                "file groups", sorted(metadata.write_stats["file_id"].to_pylist()), sorted(plan["file_id"].to_pylist())
            )
            for path in metadata.write_stats["path"].to_pylist():
                blocks = list(iter_blocks((self.path / path).read_bytes(), path))
                without = [block for block in blocks if not block.headers.get(HeaderKey.COMPACTED_BLOCK_TIMES)]
                same(f"blocks of {path} that stand for none", without, [])
                same(f"kinds of blocks of {path}", len({block.type for block in blocks}), len(blocks))
        return f", {new} log compaction" if new else ""

    def files(self) -> None:
        """Hudi's listing by the metadata table, and what is on disk."""
        name = f"logs_{self.version}_{self.mode}_{self.first}".lower()
        self.peer.sql(f"create table if not exists {name} using hudi location '{self.path}'")
        found = self.peer.sql(f"call validate_metadata_table_files(table => '{name}', verbose => true)")
        listed = {(row["partition"], row["file_name"]) for row in found if row["is_present_in_metadata"]}
        client = MetaClient.load(self.path)
        lister = DirectoryLister(client.storage)
        there = committed_files(client, lister.files(lister.partitions())).to_pylist()
        same("files of Hudi's listing", listed, {(row["partition"], row["name"]) for row in there})


def run(
    version: int,
    mode: str,
    first: str,
    peer: HudiPeer,
    path: Path,
    tell: Callable[[str], object] = print_at_once,
) -> tuple[int, int]:
    """One table's life.

    Args:
        version: table version.
        mode: merge mode.
        first: who makes it.
        peer: real Hudi of that version.
        path: base path of the table, not there yet.
        tell: is told what became of each action.

    Returns:
        How many actions there were, and behind how many of them all was as it should be.
    """
    life = Life(path, version, mode, first, peer)
    actions = list(life.actions())

    def look(name: str) -> str:
        more = life.check()
        if name == actions[-1][0]:
            life.files()
        return more

    total, passed = run_actions(f"{version} {mode} {first}", actions, look, tell)
    tell(f"{version} {mode} {first}: {passed} of {total}, {len(life.seen)} log compactions")
    return total, passed


def main() -> int:
    """Run the chosen tables; print a line for each action and the numbers."""
    counts = []
    with chosen_tables(__doc__, version=tuple(RELEASES), mode=MODES, first=FIRSTS) as (chosen, folder):
        for version in chosen.version:
            modes = [mode for of, mode in TABLES if of == version and mode in chosen.mode]
            with HudiPeer(version) as peer:
                for mode, first in product(modes, chosen.first):
                    counts.append(run(version, mode, first, peer, folder / f"v{version}_{mode}_{first}"))
    return print_counts(counts)


if __name__ == "__main__":
    sys.exit(main())
