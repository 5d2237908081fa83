"""Indexes are built beside writers: what commits in the middle of a build is in the index, and nobody waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.errors import MetadataTableError, WriteConflictError
from hudi_hive.table import MetaClient
from hudi_hive.timeline.core import TimelineWriter
from hudi_hive.timeline.instants import CLEAN, INDEXING
from hudi_hive.write.commit.transaction import WriteTransaction
from hudi_hive.write.coordination import WriterHeartbeat
from hudi_hive.write.services import ServiceKind, ServiceRounds
from hudi_hive.write.services.indexing import IndexBuilder
from hudi_hive.write.writers import LocalWriter
from tests.support.index_builds import (
    HANGING,
    check_indexes,
    die,
    die_in_the_middle,
    in_a_process_that_dies,
    in_the_middle,
    services,
)
from tests.support.running.long import VERSION_CASES, with_long_cases

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SCHEMA: Final = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("v", pa.string())])
PLAIN = {"hoodie.metadata.index.column.stats.enable": "false"}
ASYNC = {"hoodie.metadata.index.async": "true"}
RECORDS = {**PLAIN, "hoodie.metadata.record.index.enable": "true"}

BY_OPTIONS = {
    "column_stats": {"hoodie.metadata.index.column.stats.enable": "true"},
    "bloom_filters": {**PLAIN, "hoodie.metadata.index.bloom.filter.enable": "true"},
    "record_index": RECORDS,
}
OF_COLUMNS = {
    "secondary_index_by_v": ("by_v", "secondary_index", {}),
    "expr_index_lengths": ("lengths", "column_stats", {"expr": "length"}),
    "expr_index_uppers": ("uppers", "bloom_filters", {"expr": "upper"}),
}
CASES = with_long_cases(
    [
        ("column_stats", 6, COW),
        ("column_stats", 9, MOR),
        ("bloom_filters", 8, COW),
        ("record_index", 6, MOR),
        ("record_index", 9, COW),
        ("secondary_index_by_v", 9, MOR),
        ("expr_index_lengths", 8, MOR),
        ("expr_index_uppers", 9, COW),
    ],
    [
        (index, version, kind)
        for index in (*BY_OPTIONS, *OF_COLUMNS)
        for version in ((6, 8, 9) if index in BY_OPTIONS else (8, 9))
        for kind in (COW, MOR)
    ],
)


def rows(step: int, *keys: str) -> pa.Table:
    found = [{"id": key, "city": "ab"[len(key) % 2], "ts": step, "v": f"{key} {step}"} for key in keys]
    return pa.Table.from_pylist(found, SCHEMA)


def make(path: Path, version: int, kind: str) -> Path:
    fields = {"record_keys": ["id"], "partition_fields": ["city"], "ordering_fields": ["ts"]}
    HudiTable.create(path, name="t", version=version, table_type=kind, **fields)
    HudiTable.open(path).insert(rows(1, "a", "b", "cc", "dd"), options=PLAIN)
    HudiTable.open(path).upsert(rows(2, "a", "cc"), options=PLAIN)
    return path


def build(path: Path, index: str, **more: str) -> tuple[str, ...]:
    if index in BY_OPTIONS:
        return services(path, {**BY_OPTIONS[index], **more}).metadata.build().created
    name, kind, options = OF_COLUMNS[index]
    metadata = services(path, {**PLAIN, **ASYNC, **more}).metadata
    return metadata.create_index(name, kind, ["v"], options).created


def inflight(path: Path) -> str:
    return MetaClient.load(path).config.properties.get("hoodie.table.metadata.partitions.inflight", "")


def write_much(path: Path, index: str) -> None:
    """Commits of all kinds, by others that know of no index but what the table's properties list."""
    assert index in inflight(path) and index not in MetaClient.load(path).config.metadata_partitions
    HudiTable.open(path).upsert(rows(3, "a", "e", "ff"), options=PLAIN)
    HudiTable.open(path).delete(rows(4, "b"), options=PLAIN)
    if MetaClient.load(path).config.is_merge_on_read:
        assert services(path, {**PLAIN, "hoodie.compact.inline.max.delta.commits": "1"}).compact()
    leave_a_dead_write(path)
    HudiTable.open(path).upsert(rows(5, "a", "gg"), options=PLAIN)
    HudiTable.open(path).insert_overwrite(rows(6, "h"), options=PLAIN)
    HudiTable.open(path).upsert(rows(7, "h", "ii"), options=PLAIN)


def leave_a_dead_write(path: Path) -> None:
    """A write that has written files and died ahead of its commit; the next one rolls it back."""

    def write() -> None:
        LocalWriter(MetaClient.load(path), {"hoodie.datasource.write.operation": "upsert", **PLAIN}).write(
            rows(9, "a", "zz")
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hudi_hive.write.commit.transaction.WriteTransaction.commit", die)
        in_a_process_that_dies(write)
    assert MetaClient.load(path).timeline.pending({"commit", "deltacommit"})


@pytest.mark.parametrize("behind", [False, True], ids=["ahead", "behind"])
@pytest.mark.parametrize(("index", "version", "kind"), CASES)
def test_commits_in_the_middle_of_a_build_are_in_the_index(
    index: str, version: int, kind: str, behind: bool, tmp_path: Path
) -> None:
    path = make(tmp_path / "t", version, kind)
    if index == "secondary_index_by_v":
        build(path, "record_index")
    with in_the_middle(lambda: write_much(path, index), behind=behind):
        assert index in build(path, index)
    check_indexes(path, {index}, tmp_path)
    HudiTable.open(path).upsert(rows(8, "a", "jj"), options=PLAIN)
    HudiTable.open(path).delete(rows(9, "ii"), options=PLAIN)
    check_indexes(path, {index}, tmp_path)


@pytest.mark.parametrize("version", VERSION_CASES)
def test_a_build_is_an_indexing_of_the_timeline(version: int, tmp_path: Path) -> None:
    path, seen = make(tmp_path / "t", version, COW), []
    last = max(i.requested for i in MetaClient.load(path).timeline.write_instants())

    def look() -> None:
        (instant,) = MetaClient.load(path).timeline.pending()
        seen.append((instant.action, instant.state.name, inflight(path)))

    with in_the_middle(look):
        build(path, "record_index")
    assert seen == [(INDEXING, "INFLIGHT", "record_index")]
    (done,) = MetaClient.load(path).timeline.completed({INDEXING})
    assert done.requested > last


@pytest.mark.parametrize("version", VERSION_CASES)
def test_the_metadata_table_is_compacted_and_archived_while_an_index_is_built(version: int, tmp_path: Path) -> None:
    path = make(tmp_path / "t", version, COW)
    often = {"hoodie.metadata.compact.max.delta.commits": "2", "hoodie.clean.commits.retained": "1"}
    few = {**PLAIN, **often, "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}

    def write() -> None:
        for step in range(3, 12):
            HudiTable.open(path).upsert(rows(step, "a", "cc", f"{step:05d}"), options=few)

    with in_the_middle(write):
        build(path, "record_index")
    check_indexes(path, {"record_index"}, tmp_path)
    HudiTable.open(path).upsert(rows(12, "a", "new"), options=few)
    check_indexes(path, {"record_index"}, tmp_path)


def test_an_index_of_each_partition_is_built_beside_a_new_partition(tmp_path: Path) -> None:
    path = make(tmp_path / "t", 9, MOR)
    options = {**PLAIN, "hoodie.metadata.record.level.index.enable": "true"}

    def write() -> None:
        new = rows(3, "p", "a").set_column(1, SCHEMA.field("city"), pa.array(["c", "c"]))
        HudiTable.open(path).upsert(new, options=PLAIN)
        HudiTable.open(path).delete(rows(4, "b"), options=PLAIN)

    with in_the_middle(write):
        assert services(path, options).metadata.build().created == ("record_index",)
    found = HudiTable.open(path).metadata.reader.record_locations().select(["key", "partition"]).to_pylist()
    there = [("a", "b"), ("a", "c"), ("cc", "a"), ("dd", "a"), ("p", "c")]
    assert sorted(tuple(row.values()) for row in found) == there


@pytest.mark.parametrize("version", VERSION_CASES)
def test_a_build_waits_for_writes_that_began_before_it(version: int, tmp_path: Path) -> None:
    path = make(tmp_path / "t", version, COW)
    begun, waiting, waits = threading.Event(), threading.Event(), IndexBuilder._wait_for

    def write(action: Callable[..., object], *arguments: object, **options: object) -> object:
        begun.set()
        assert waiting.wait(HANGING)
        return action(*arguments, **options)

    def wait(self: IndexBuilder, run: object) -> None:
        waiting.set()
        waits(self, run)

    commit = WriteTransaction.commit
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr(WriteTransaction, "commit", lambda *given, **named: write(commit, *given, **named))
        patch.setattr(IndexBuilder, "_wait_for", wait)
        writing = pool.submit(lambda: HudiTable.open(path).upsert(rows(3, "a", "new"), options=PLAIN))
        assert begun.wait(HANGING)
        assert build(path, "record_index") == ("record_index",)
        writing.result(HANGING)
    check_indexes(path, {"record_index"}, tmp_path)


def test_a_build_gives_up_when_a_write_runs_too_long(tmp_path: Path) -> None:
    path = make(tmp_path / "t", 8, COW)
    client = MetaClient.load(path)
    requested = TimelineWriter(client.storage, client.config).create_requested("commit", "20991231235959000")
    with WriterHeartbeat(client.storage, requested.requested):
        with pytest.raises(WriteConflictError, match="has not ended in 0 s"):
            build(path, "record_index", **{"hoodie.metadata.index.check.timeout.seconds": "0"})
        assert not inflight(path) and not MetaClient.load(path).timeline.pending({INDEXING})
        assert not (path / ".hoodie/metadata/record_index").exists()


@pytest.mark.parametrize("behind", [False, True], ids=["ahead", "behind"])
@pytest.mark.parametrize("version", VERSION_CASES)
def test_a_dead_build_hinders_nobody_and_the_next_one_drops_it(version: int, behind: bool, tmp_path: Path) -> None:
    path = make(tmp_path / "t", version, MOR)
    die_in_the_middle(lambda: build(path, "record_index"), behind=behind)
    assert inflight(path) == "record_index"
    HudiTable.open(path).upsert(rows(3, "a", "e"), options=RECORDS)
    HudiTable.open(path).delete(rows(4, "b"), options=PLAIN)
    assert "record_index" not in MetaClient.load(path).config.metadata_partitions
    assert services(path, {**PLAIN, "hoodie.compact.inline.max.delta.commits": "1"}).compact()
    events: list[str] = []
    rounds = ServiceRounds(
        lambda: services(path, RECORDS), [ServiceKind.INDEX], on_event=lambda event: events.append(event.detail)
    )
    assert rounds.run() == [] and events == ["record_index made"]
    check_indexes(path, {"record_index"}, tmp_path)


def test_what_a_dead_build_left_is_deleted_by_name(tmp_path: Path) -> None:
    path = make(tmp_path / "t", 8, COW)
    die_in_the_middle(lambda: build(path, "bloom_filters"))
    assert services(path, PLAIN).metadata.delete(["bloom_filters"]).deleted == ("bloom_filters",)
    client = MetaClient.load(path)
    assert not client.timeline.pending() and client.config.metadata_partitions == ("files",)


@pytest.mark.parametrize("index", ["record_index", "secondary_index_by_v"])
def test_an_index_that_is_dropped_while_it_is_built_is_not_made(index: str, tmp_path: Path) -> None:
    path = make(tmp_path / "t", 9, COW)
    if index.startswith("secondary"):
        build(path, "record_index")

    def drop() -> None:
        with pytest.raises(MetadataTableError, match="is being built by the indexing"):
            services(path, PLAIN).metadata.init(["record_index"]) if index == "record_index" else services(
                path, PLAIN
            ).metadata.create_index("by_v", "secondary_index", ["v"])
        services(path, PLAIN).metadata.delete([index])

    with in_the_middle(drop), pytest.raises(MetadataTableError, match="was dropped while it was built"):
        build(path, index)
    assert index not in MetaClient.load(path).config.metadata_partitions and not inflight(path)
    HudiTable.open(path).upsert(rows(3, "a", "e"), options=PLAIN)
    assert build(path, index) == (index,)
    check_indexes(path, {index}, tmp_path)


@pytest.mark.parametrize("version", VERSION_CASES)
def test_a_build_begins_anew_when_a_commit_is_taken_back(version: int, tmp_path: Path) -> None:
    path = make(tmp_path / "t", version, COW)
    HudiTable.open(path).upsert(rows(3, "new"), options=PLAIN)
    last = max(i.requested for i in MetaClient.load(path).timeline.write_instants())
    with in_the_middle(lambda: services(path, PLAIN).rollback(last), behind=True):
        build(path, "record_index")
    check_indexes(path, {"record_index"}, tmp_path)
    assert "new" not in HudiTable.open(path).scan().to_arrow().column("id").to_pylist()


@pytest.mark.parametrize("version", VERSION_CASES)
def test_a_build_begins_anew_when_the_table_is_restored(version: int, tmp_path: Path) -> None:
    path = make(tmp_path / "t", version, MOR)
    saved = services(path, PLAIN).create_savepoint().instant.requested
    HudiTable.open(path).upsert(rows(3, "a", "new"), options=PLAIN)
    with in_the_middle(lambda: services(path, PLAIN).restore(saved)):
        build(path, "record_index")
    check_indexes(path, {"record_index"}, tmp_path)


@pytest.mark.parametrize("index", ["column_stats", "bloom_filters", "record_index", "expr_index_uppers"])
def test_files_that_are_cleaned_in_the_middle_are_not_missed(index: str, tmp_path: Path) -> None:
    path = make(tmp_path / "t", 8, COW)

    def clean() -> None:
        for step in (3, 4):
            HudiTable.open(path).upsert(rows(step, "a", "b", "cc", "dd"), options=PLAIN)
        assert services(path, {**PLAIN, "hoodie.clean.commits.retained": "1"}).clean()

    with in_the_middle(clean):
        build(path, index)
    assert MetaClient.load(path).timeline.completed({CLEAN})
    check_indexes(path, {index}, tmp_path)


def test_writes_leave_indexes_to_builds_where_the_options_say_so(tmp_path: Path) -> None:
    path = make(tmp_path / "t", 9, COW)
    options = {**BY_OPTIONS["column_stats"], **RECORDS, **ASYNC, "hoodie.metadata.index.column.stats.enable": "true"}
    HudiTable.open(path).upsert(rows(3, "a", "e"), options=options)
    assert MetaClient.load(path).config.metadata_partitions == ("files",)
    made = services(path, options).metadata.init().created
    assert made == ("column_stats", "partition_stats", "record_index")
    assert len(MetaClient.load(path).timeline.completed({INDEXING})) == 2
    check_indexes(path, set(made), tmp_path)


@pytest.mark.parametrize("version", [8, 9])
def test_statistics_of_partitions_are_exact_behind_a_build(version: int, tmp_path: Path) -> None:
    path = make(tmp_path / "t", version, COW)
    with in_the_middle(lambda: HudiTable.open(path).upsert(rows(3, "a", "e"), options=PLAIN)):
        build(path, "column_stats")
    reader = HudiTable.open(path).metadata.reader
    stats = reader.records_of_partitions("partition_stats", ["id"], ["a", "b"]).sort_by("file_name")
    assert stats["value_count"].to_pylist() == [2, 3]
    assert stats["is_tight"].to_pylist() == [False, True]  # the build made that of the partition not written since
    check_indexes(path, {"column_stats", "partition_stats"}, tmp_path)


def test_the_plan_of_another_indexer_is_left_alone(tmp_path: Path) -> None:
    """Hudi's indexer has no heartbeat, so that nobody knows whether it lives."""
    path = make(tmp_path / "t", 8, COW)
    die_in_the_middle(lambda: build(path, "record_index"))
    for beat in (path / ".hoodie/.heartbeat").iterdir():
        beat.unlink()
    assert build(path, "record_index") == () and inflight(path) == "record_index"
    with pytest.raises(MetadataTableError, match="is being built by the indexing"):
        services(path, PLAIN).metadata.init(["record_index"])
    HudiTable.open(path).upsert(rows(3, "a", "e"), options=RECORDS)
    assert services(path, PLAIN).metadata.delete(["record_index"]).deleted == ("record_index",)
    assert build(path, "record_index") == ("record_index",)
    check_indexes(path, {"record_index"}, tmp_path)


@pytest.mark.parametrize("asynchronous", ["true", "false"])
@pytest.mark.parametrize("version", VERSION_CASES)
def test_an_index_does_not_outlast_a_commit_that_it_was_made_of(
    version: int, asynchronous: str, tmp_path: Path
) -> None:
    """Its records of that commit would be those of no file; it is made anew, where a write asks for it."""
    path = make(tmp_path / "t", version, COW)
    HudiTable.open(path).upsert(rows(3, "new"), options=PLAIN)
    services(path, {**RECORDS, "hoodie.metadata.index.async": asynchronous}).metadata.init(["record_index"])
    last = max(i.requested for i in MetaClient.load(path).timeline.write_instants())
    services(path, PLAIN).rollback(last)
    assert MetaClient.load(path).config.metadata_partitions == ("files",)
    HudiTable.open(path).upsert(rows(4, "new", "a"), options=RECORDS)
    check_indexes(path, {"record_index"}, tmp_path)
    HudiTable.open(path).upsert(rows(5, "newer", "a"), options=RECORDS)
    services(path, PLAIN).rollback(max(i.requested for i in MetaClient.load(path).timeline.write_instants()))
    check_indexes(path, {"record_index"}, tmp_path)


def test_the_command_builds_indexes_beside_writers(tmp_path: Path) -> None:
    path = make(tmp_path / "t", 8, COW)
    words = ["table", "service", str(path), "--index", "--format", "json"]
    asked = {"hoodie.metadata.index.bloom.filter.enable": "true", **RECORDS}
    words += [word for name, text in asked.items() for word in ("--conf", f"{name}={text}")]
    with in_the_middle(lambda: HudiTable.open(path).upsert(rows(3, "a", "e"), options=PLAIN)):
        result = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert result.exit_code == 0 and "bloom_filters, record_index made" in result.output
    check_indexes(path, {"bloom_filters", "record_index"}, tmp_path)


@pytest.mark.parametrize(("version", "kind"), with_long_cases([(6, MOR), (9, COW)], [(8, MOR), (9, MOR)]))
def test_completed_indexings_stay_as_in_hudi_and_hold_nothing_up(version: int, kind: str, tmp_path: Path) -> None:
    """The timelines of the table and of its metadata table have as many instants at each time as without them."""
    path = make(tmp_path / "t", version, kind)
    few = {
        **PLAIN,
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
        "hoodie.metadata.compact.max.delta.commits": "2",
    }
    counts = []
    for begin in (10, 20, 30):
        build(path, "column_stats")
        for step in range(begin, begin + 8):
            HudiTable.open(path).upsert(rows(step, "a", "cc"), options=few)
        if begin < 30:
            services(path, PLAIN).metadata.delete(["column_stats"])
        timelines = [HudiTable.open(folder).timeline for folder in (path, path / ".hoodie/metadata")]
        assert len(timelines[0].completed({INDEXING})) == begin // 10
        counts.append([len([i for i in one.instants if i.action != INDEXING]) for one in timelines])
    assert max(counts[1][0], counts[2][0]) <= 12 and max(counts[1][1], counts[2][1]) <= 40, counts
    assert MetaClient.load(path).timeline.archived().instants
    check_indexes(path, {"column_stats"}, tmp_path)


@pytest.mark.parametrize("version", VERSION_CASES)
@pytest.mark.parametrize("asynchronous", ["true", "false"])
def test_an_index_is_made_where_the_first_instants_of_the_metadata_table_are_archived(
    version: int, asynchronous: str, tmp_path: Path
) -> None:
    """Partitions of before are as they were: its instant is not before those that are archived."""
    path = make(tmp_path / "t", version, MOR)
    build(path, "record_index")
    few = {
        **PLAIN,
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
        "hoodie.metadata.compact.max.delta.commits": "2",
    }
    for step in range(3, 15):
        HudiTable.open(path).upsert(rows(step, "a", "cc"), options=few)
    before = HudiTable.open(path / ".hoodie/metadata").timeline
    assert before.archived().instants and min(i.requested for i in before.write_instants()) > "1"
    more = {**BY_OPTIONS["bloom_filters"], "hoodie.metadata.index.async": asynchronous}
    assert services(path, more).metadata.init().created == ("bloom_filters",)
    check_indexes(path, {"record_index", "bloom_filters"}, tmp_path)
    for step in range(15, 25):
        HudiTable.open(path).upsert(rows(step, "a", "cc", f"{step:05d}"), options=few)
    check_indexes(path, {"record_index", "bloom_filters"}, tmp_path)
