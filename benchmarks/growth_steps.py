"""The steps that ``growth.py`` measures: of each the table that it runs on, and what it does there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import growth_tables as tables
import numpy as np
import pyarrow as pa

GROUP_ROWS: Final = 4_000
METASTORE: Final = "GROWTH_METASTORE"
"""The variable with the address of the metastore that syncs go to."""

Run = Callable[[], int]
"""Does the work that is measured; gives the number of metastore calls."""


@dataclass(frozen=True)
class Table:
    """A table of a size, which several steps may share.

    Attributes:
        name: distinct.
        make: makes it at a path.
    """

    name: str
    make: Callable[[Path, int], object]


@dataclass(frozen=True)
class Step:
    """One kind of work whose size is doubled.

    Attributes:
        name: what is done.
        by: what is doubled.
        first: the least size.
        table: what it is done to.
        prepare: does what does not count, and gives what does; arguments are path, size and number of the turn.
        changes: the work changes the table: each turn has a copy of its own.
        doublings: how often the size is doubled.
        turns: how often the work is done at each size.
        most_memory: the limit of memory's exponent.
        fixed: the size at which the fixed part is measured, in place of a sixteenth of the least.
    """

    name: str
    by: str
    first: int
    table: Table
    prepare: Callable[[Path, int, int], Run]
    changes: bool = False
    doublings: int = 4
    turns: int = 3
    most_memory: float = 1.05
    fixed: int | None = None

    @property
    def fixed_size(self) -> int:
        """The size at which the fixed part is measured."""
        return max(2, self.first // 16) if self.fixed is None else self.fixed


# -- plans ------------------------------------------------------------------------------------------------------------


def _plan(files: Callable[[int], int], where: str | None = None, **options: str) -> Callable[[Path, int, int], Run]:
    from hudi_hive import HudiTable

    def prepare(path: Path, size: int, turn: int) -> Run:
        def run() -> int:
            scan = HudiTable.open(path).scan(row_filter=where, options=options)
            assert scan.plan().slices.num_rows == files(size), scan.plan().slices.num_rows
            return 0

        return run

    return prepare


def _splits(path: Path, size: int, turn: int) -> Run:
    from hudi_hive.plan import PartitionPlanner, Query, ReadOptions, SplitLoader
    from hudi_hive.table import MetaClient

    def run() -> int:
        planner = PartitionPlanner(MetaClient.load(path), Query(options=ReadOptions(metadata_enable=True)))
        taken = 0
        with SplitLoader(planner) as loader:
            while batch := loader.next_batch().num_rows:
                taken += batch
        assert taken == 2 * size, taken
        return 0

    return run


# -- indexes ----------------------------------------------------------------------------------------------------------


def _tag(kind: str) -> Callable[[Path, int, int], Run]:
    from hudi_hive.metadata import MetadataListing
    from hudi_hive.table import MetaClient
    from hudi_hive.write.coordination import LocalExecutor
    from hudi_hive.write.index import KEYS_SCHEMA, open_index
    from hudi_hive.write.options import WriteConfig

    def prepare(path: Path, size: int, turn: int) -> Run:
        numbers = np.arange(0, size, 1 if kind == "BUCKET" else 10)  # hashing a few would take no time
        partitions = tables.partition_column(numbers, max(1, size // GROUP_ROWS), size)
        keys = pa.table([tables.key_column(numbers), partitions, np.arange(len(numbers))], schema=KEYS_SCHEMA)

        def run() -> int:
            client = MetaClient.load(path, listing=MetadataListing())
            options = {"hoodie.index.type": kind, **(_BUCKETS if kind == "BUCKET" else {})}
            index = open_index(WriteConfig.of(options, client.config), client)
            tags = index.tag(keys, LocalExecutor(2))
            assert tags.num_rows == len(numbers) and not tags.column("file_id").null_count
            return 0

        return run

    return prepare


_BUCKETS: Final = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}

# -- the metadata table -----------------------------------------------------------------------------------------------


def _write_metadata(
    make: Callable[[int], tables.MetadataChanges], options: dict[str, str]
) -> Callable[[Path, int, int], Run]:
    from hudi_hive.metadata.writer import MetadataWriter
    from hudi_hive.table import MetaClient

    def prepare(path: Path, size: int, turn: int) -> Run:
        change = make(size)

        def run() -> int:
            writer = MetadataWriter.open(MetaClient.load(path), options)
            assert writer is not None
            writer.apply(tables.instant(5), "commit", change)
            return 0

        return run

    return prepare


def _make_metadata(path: Path, size: int, turn: int) -> Run:
    from hudi_hive.metadata.writer import MetadataWriter
    from hudi_hive.table import MetaClient

    MetadataWriter.open(MetaClient.load(path), _OFF)  # deletes it
    return _write_metadata(_empty_change, tables.BARE)(path, size, turn)


def _empty_change(size: int) -> tables.MetadataChanges:
    return tables.MetadataChanges()


_SOON: Final = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
    "hoodie.metadata.compact.max.delta.commits": "3",
}
"""Options by which all services run from the first commits on."""


def _commits(path: Path, size: int, turn: int) -> Run:
    from hudi_hive import HudiTable

    rows = pa.table({"id": ["a", "b"], "p": ["x", "y"], "v": [1, 2]})

    def run() -> int:
        table = HudiTable.create(path / "written", name="t", version=8, record_keys=["id"], partition_fields=["p"])
        for _ in range(size):
            table.upsert(rows, _SOON)
        return 0

    return run


# -- services and timelines -------------------------------------------------------------------------------------------


def _schedule(path: Path, size: int, turn: int) -> Run:
    from hudi_hive import HudiTable

    for plan in path.glob(".hoodie/timeline/*.compaction.requested"):
        plan.unlink()

    def run() -> int:
        assert HudiTable.open(path).compact({"hoodie.metadata.enable": "false"}, schedule=True).result
        return 0

    return run


def _archive(path: Path, size: int, turn: int) -> Run:
    from hudi_hive import HudiTable

    def run() -> int:
        report = HudiTable.open(path).archive({"hoodie.metadata.enable": "false"}).result
        assert len(report.archived) in (0, size), len(report.archived)  # none of few
        return 0

    return run


def _load(path: Path, size: int, turn: int) -> Run:
    from hudi_hive.table import MetaClient

    times = pa.array([tables.instant(number) for number in range(size)])

    def run() -> int:
        timeline = MetaClient.load(path).timeline
        assert len(timeline.write_instants()) == size
        assert timeline.completion_times(times).null_count == 0
        return 0

    return run


def _load_archived(path: Path, size: int, turn: int) -> Run:
    from hudi_hive.table import MetaClient

    times = pa.array([tables.instant(number) for number in range(size)])

    def run() -> int:
        timeline = MetaClient.load(path).timeline
        assert len(timeline.archived().instants) == size - 2
        assert timeline.completion_times(times).null_count == 0
        return 0

    return run


def _incremental(path: Path, size: int, turn: int) -> Run:
    from hudi_hive import HudiTable

    def run() -> int:
        plan = HudiTable.open(path).scan(begin="earliest", options={"hoodie.metadata.enable": "false"}).plan()
        assert plan.slices.num_rows == min(100, size), plan.slices.num_rows
        return 0

    return run


# -- syncs ------------------------------------------------------------------------------------------------------------


def _sync(before: str) -> Callable[[Path, int, int], Run]:
    """A sync into a new database; ``first``, or behind another one: ``no-op`` or ``again`` from the first commit on."""
    from hudi_hive.metastore import HiveMetastore
    from hudi_hive.sync import HiveSyncConfig, HiveSyncTool

    prefix = "hoodie.datasource.hive_sync."

    def prepare(path: Path, size: int, turn: int) -> Run:
        database = f"d{turn}_{size}"
        config = HiveSyncConfig.from_options(
            {
                "hoodie.datasource.meta.sync.base.path": str(path),
                prefix + "mode": "hms",
                prefix + "metastore.uris": os.environ[METASTORE],
                prefix + "database": database,
                prefix + "table": "t",
                prefix + "partition_fields": "part",
                prefix + "partition_extractor_class": "org.apache.hudi.hive.SinglePartPartitionValueExtractor",
            }
        )
        if before != "first":
            HiveSyncTool(config).sync()
        if before == "again":
            with HiveMetastore(os.environ[METASTORE]) as metastore:
                for name in metastore.tables(database):
                    table = metastore.table(database, name)
                    table.parameters["last_commit_time_sync"] = tables.instant(0)
                    table.parameters["last_commit_completion_time_sync"] = tables.done(0)
                    metastore.alter_table(database, name, table)

        def run() -> int:
            return HiveSyncTool(config).sync().total_calls

        return run

    return prepare


# -- all of them ------------------------------------------------------------------------------------------------------

_OFF: Final = {"hoodie.metadata.enable": "false"}


def _listed(by: str, **more: object) -> Table:
    def make(path: Path, size: int) -> None:
        options = tables.STATS if more.get("stats") else tables.BARE
        files, partitions = (size, 8) if by == "files" else (2 * size, size)
        tables.listed_table(
            path, files, partitions, options=options, logs=bool(more.get("logs")), merged=not more.get("log_files")
        )

    return Table(f"listed by {by} {sorted(more)}", make)


def _folders(by: str, logs: bool) -> Table:
    def make(path: Path, size: int) -> None:
        files, partitions = (size, 8) if by == "files" else (2 * size, size)
        tables.folders_table(path, files, partitions, logs=logs)

    return Table(f"folders by {by} {logs}", make)


def _keyed(options: dict[str, str]) -> Table:
    return Table(f"keys {options}", lambda path, size: tables.keyed_table(path, size, GROUP_ROWS, options))


def steps() -> list[Step]:
    """All steps, in the order of the table in ``benchmarks/README.md``."""
    return [*_planning(), *_tagging(), *_metadata(), *_timelines(), *_syncing()]


def _planning() -> list[Step]:
    every, twice, one, two = (lambda n: n), (lambda n: 2 * n), (lambda n: 1), (lambda n: 2)
    result = []
    for by, first, count in (("files", 4_000, every), ("partitions", 1_000, twice)):
        result += [
            Step("plan", by, first, _listed(by), _plan(count)),
            Step("plan, folders listed", by, first // 2, _folders(by, logs=False), _plan(count, **_OFF)),
            Step(
                "pruning by statistics",
                by,
                2_000 if by == "files" else first,
                _listed(by, stats=True),
                _plan(one, "n = 17"),
            ),
        ]
    result.append(
        Step("pruning to a partition", "partitions", 1_000, _listed("partitions"), _plan(two, "part='p000007'"))
    )
    result.append(Step("splits loaded", "partitions", 1_000, _listed("partitions"), _splits, most_memory=1.0))
    return result


def _tagging() -> list[Step]:
    plain = {"hoodie.metadata.enable": "false", "hoodie.index.type": "SIMPLE"}
    plain["hoodie.metadata.bloom.filter.enable"] = "true"
    indexed = {**tables.KEYS, "hoodie.metadata.index.column.stats.enable": "false"}
    kinds = [(kind, _keyed({"hoodie.index.type": "SIMPLE", **_OFF})) for kind in ("SIMPLE", "GLOBAL_SIMPLE")]
    kinds += [(kind, kinds[0][1]) for kind in ("BLOOM", "GLOBAL_BLOOM")]
    kinds += [("RECORD_INDEX", _keyed(indexed)), ("BUCKET", _keyed({**_BUCKETS, **_OFF}))]
    return [Step(f"tagging, {kind}", "rows", 20_000, table, _tag(kind), fixed=GROUP_ROWS) for kind, table in kinds]


def _metadata() -> list[Step]:
    bare = Table("empty", lambda path, size: tables.listed_table(path, 1, 1, options=tables.BARE))
    with_stats = Table("empty, stats", lambda path, size: tables.listed_table(path, 1, 1, options=tables.STATS))
    with_keys = Table("empty, keys", lambda path, size: tables.listed_table(path, 1, 1, options=_INDEXED))
    merged = {**tables.STATS, "hoodie.metadata.compact.max.delta.commits": "1"}
    return [
        Step("metadata commit", "files", 4_000, bare, _write_metadata(_of_files, tables.BARE), changes=True),
        Step("metadata commit", "partitions", 2_000, bare, _write_metadata(_of_partitions, tables.BARE), changes=True),
        Step(
            "metadata commit, statistics",
            "files",
            2_000,
            with_stats,
            _write_metadata(_of_files, tables.STATS),
            changes=True,
        ),
        Step("metadata commit, keys", "keys", 25_000, with_keys, _write_metadata(_of_keys, _INDEXED), changes=True),
        Step("metadata table made", "files", 2_000, _folders("files", logs=False), _make_metadata),
        Step("metadata table made", "partitions", 500, _folders("partitions", logs=False), _make_metadata),
        Step(
            "metadata compaction",
            "files",
            2_000,
            _listed("files", stats=True, log_files=True),
            _write_metadata(_empty_change, merged),
            changes=True,
        ),
        Step(
            "commits, one after another",
            "commits",
            16,
            Table("none", lambda path, size: path.mkdir()),
            _commits,
            changes=True,
            turns=1,
            doublings=3,
            fixed=8,
        ),
    ]


_INDEXED: Final = {**tables.KEYS, **tables.BARE}


def _of_files(size: int) -> tables.MetadataChanges:
    return tables.changes(size, 8, 5)


def _of_partitions(size: int) -> tables.MetadataChanges:
    return tables.changes(size, size, 5)


def _of_keys(size: int) -> tables.MetadataChanges:
    return tables.changes(size // 1_000 + 1, 8, 5, keys=size)


def _timelines() -> list[Step]:
    commits = Table("commits", tables.commits_table)
    older = Table("commits, version 6", lambda path, size: tables.commits_table(path, size + 20, version=6))
    more = Table("commits and those that stay", lambda path, size: tables.commits_table(path, size + 20))
    archived = Table("archived", tables.archived_table)
    return [
        Step("compaction planned", "files", 2_000, _folders("files", logs=True), _schedule),
        Step("compaction planned", "partitions", 500, _folders("partitions", logs=True), _schedule),
        Step("archival", "commits", 100, more, _archive, changes=True),
        Step("archival, version 6", "commits", 100, older, _archive, changes=True),
        Step("timeline loaded", "commits", 200, commits, _load, turns=9),
        Step("archived timeline loaded", "commits", 200, archived, _load_archived, turns=9),
        Step("incremental plan", "commits", 50, commits, _incremental),
        Step("incremental plan", "archived commits", 50, archived, _incremental),
    ]


def _syncing() -> list[Step]:
    wide, written = _listed("partitions"), _listed("partitions", logs=True)
    # Partitions go to and come from a metastore in batches of a thousand: with one of them begins what grows.
    result = [
        Step(name, "partitions", 2_000, table, _sync(before), doublings=3, fixed=1_000)
        for name, table, before in (
            ("first sync", wide, "first"),
            ("sync of nothing", wide, "no-op"),
            ("sync of all partitions again", written, "again"),
        )
    ]
    return [*result, Step("sync", "commits", 100, Table("commits", tables.commits_table), _sync("again"))]
