"""Lifetime of partitions: which expire by ``hoodie.partition.ttl.*``, and how they are deleted."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.errors import InvalidOptionError, UnsupportedTableError, WriteConflictError
from hudi_hive.metadata import validate
from hudi_hive.timeline.core import InstantClock
from hudi_hive.write.coordination import TableLock
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import (
    ServiceKind,
    ServiceRounds,
    TableServices,
    expire_partitions,
    schedule_clustering,
)
from hudi_hive.write.writers import LocalWriter, WriteReport
from tests.support.options.write_cases import LEAN, make, rows

PREFIX = "hoodie.partition.ttl."
FIVE_DAYS = {**LEAN, PREFIX + "strategy.days.retain": "5"}
KINDS = pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
DAY_MS = 86_400_000


def write(path: Path, batch: pa.Table, days_ago: float, **options: str) -> WriteReport:
    """A write of some days ago."""
    writer = LocalWriter(HudiTable.open(path).client, {**LEAN, **options})
    writer.clock = InstantClock(lambda: time.time_ns() // 1_000_000 - int(days_ago * DAY_MS))
    return writer.write(batch)


def of(partition: str, first: int = 0, ts: int = 1) -> pa.Table:
    return rows(first, 5, p=[partition] * 5, ts=[ts] * 5)


def context(path: Path, **options: str) -> ServiceContext:
    return ServiceContext(HudiTable.open(path).client, {**FIVE_DAYS, **options})


def partitions(path: Path) -> set[str]:
    """The partitions that have rows."""
    return set(HudiTable.open(path).scan().to_arrow()["p"].to_pylist())


@VERSIONS
@KINDS
def test_a_partition_expires_by_its_newest_commit(tmp_path: Path, version: int, kind: str) -> None:
    make(tmp_path, version=version, table_type=kind)
    write(tmp_path, of("a"), 10)
    write(tmp_path, of("b", 10), 9)
    write(tmp_path, of("b", 10, ts=2), 4)  # of merge-on-read tables to a log file
    expired = expire_partitions(context(tmp_path))
    assert expired is not None and expired.partitions == ("a",)
    table = HudiTable.open(tmp_path)
    metadata = table.timeline.commit_metadata(table.timeline.get(expired.instant.requested))
    assert (metadata.operation, metadata.replaced["partition"].to_pylist()) == ("DELETE_PARTITION", ["a"])
    assert partitions(tmp_path) == {"b"} and not table.timeline.pending()
    assert expire_partitions(context(tmp_path)) is None
    write(tmp_path, of("a", ts=3), 0)
    assert partitions(tmp_path) == {"a", "b"}
    assert expire_partitions(context(tmp_path)) is None


@VERSIONS
def test_updates_count_that_are_archived(tmp_path: Path, version: int) -> None:
    make(tmp_path, version=version, table_type="MERGE_ON_READ")
    write(tmp_path, of("a"), 10)
    write(tmp_path, of("a", ts=2), 4)
    few = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}
    for number in range(4):
        write(tmp_path, of("b", 10, ts=number), 1, **few)
    timeline = HudiTable.open(tmp_path).timeline
    assert len(timeline.archived().instants) > 1 and len(timeline.write_instants()) < 5
    assert expire_partitions(context(tmp_path)) is None


@VERSIONS
@pytest.mark.parametrize(
    "option",
    [
        {PREFIX + "management.strategy.type": "KEEP_BY_CREATION_TIME"},
        {PREFIX + "strategy.class": "org.apache.hudi.table.action.ttl.strategy.KeepByCreationTimeStrategy"},
    ],
)
def test_a_partition_expires_by_its_creation(tmp_path: Path, version: int, option: dict[str, str]) -> None:
    make(tmp_path, version=version)
    write(tmp_path, of("a"), 10)
    write(tmp_path, of("b", 10), 4)
    write(tmp_path, of("a", ts=2), 1)
    assert expire_partitions(context(tmp_path)) is None
    expired = expire_partitions(context(tmp_path, **option))
    assert expired is not None and expired.partitions == ("a",)
    assert expire_partitions(context(tmp_path, **option)) is None  # what is deleted is not deleted again
    assert partitions(tmp_path) == {"b"}


def test_a_partition_that_does_not_tell_its_creation_stays(tmp_path: Path) -> None:
    make(tmp_path)
    write(tmp_path, of("a"), 10)
    (tmp_path / "a/.hoodie_partition_metadata").write_text("partitionDepth=1\n")
    by_creation = {PREFIX + "management.strategy.type": "KEEP_BY_CREATION_TIME"}
    assert expire_partitions(context(tmp_path, **by_creation)) is None


def test_partitions_are_chosen_and_counted(tmp_path: Path) -> None:
    make(tmp_path)
    for number, name in enumerate("abc"):
        write(tmp_path, of(name, 10 * number), 20 - number)
    chosen = {PREFIX + "strategy.partition.selected": "b,nowhere"}
    expired = expire_partitions(context(tmp_path, **chosen))
    assert expired is not None and expired.partitions == ("b",)
    one = {PREFIX + "strategy.max.delete.partitions": "1"}
    expired = expire_partitions(context(tmp_path, **one))
    assert expired is not None and expired.partitions == ("a",)
    assert partitions(tmp_path) == {"c"}


def test_a_partition_that_a_clustering_is_planned_for_stays(tmp_path: Path) -> None:
    make(tmp_path)
    write(tmp_path, of("a"), 10)
    write(tmp_path, of("b", 10), 10)
    selected = {
        "hoodie.clustering.plan.strategy.partition.selected": "a",
        "hoodie.clustering.plan.strategy.sort.columns": "name",
    }
    assert schedule_clustering(context(tmp_path, **selected)) is not None
    expired = expire_partitions(context(tmp_path))
    assert expired is not None and expired.partitions == ("b",)


def test_a_writer_that_completes_first_keeps_the_partition(tmp_path: Path, monkeypatch: Any) -> None:
    make(tmp_path)
    write(tmp_path, of("a"), 10)
    enter, turns = TableLock.__enter__, []

    def entered(self: TableLock) -> TableLock:
        turns.append(1)
        if len(turns) == 2:  # the deletion is announced, and about to complete
            write(tmp_path, of("a", 10), 0)
        return enter(self)

    monkeypatch.setattr(TableLock, "__enter__", entered)
    with pytest.raises(WriteConflictError):
        expire_partitions(context(tmp_path))
    table = HudiTable.open(tmp_path)
    assert table.scan().to_arrow().num_rows == 10 and not table.timeline.pending()
    assert expire_partitions(context(tmp_path)) is None


def test_what_was_written_since_the_look_is_not_deleted(tmp_path: Path, monkeypatch: Any) -> None:
    make(tmp_path)
    write(tmp_path, of("a"), 10)
    enter, turns = TableLock.__enter__, []

    def entered(self: TableLock) -> TableLock:
        turns.append(1)
        if len(turns) == 1:  # the deletion is about to be announced
            write(tmp_path, of("a", 10), 0)
        return enter(self)

    monkeypatch.setattr(TableLock, "__enter__", entered)
    assert expire_partitions(context(tmp_path)) is None
    timeline = HudiTable.open(tmp_path).timeline
    assert [instant.action for instant in timeline.instants] == ["commit", "commit"]


@VERSIONS
def test_partitions_expire_behind_commits(tmp_path: Path, version: int) -> None:
    make(tmp_path, version=version)
    with_metadata = {"hoodie.metadata.enable": "true"}
    write(tmp_path, of("a"), 10, **with_metadata)
    inline = {**FIVE_DAYS, **with_metadata, PREFIX + "inline": "true"}
    report = write(tmp_path, of("b", 10), 0, **inline)
    assert report.services is not None and list(report.services.done) == ["partition ttl"] and not report.failed
    assert partitions(tmp_path) == {"b"}
    assert validate(HudiTable.open(tmp_path).client).is_valid
    report = write(tmp_path, of("b", 20), 0, **inline)
    assert report.services is not None and report.services.done == {}


def test_a_lifetime_that_is_none_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "t")
    with pytest.raises(InvalidOptionError, match="days"):
        write(tmp_path / "t", of("a"), 0, **{PREFIX + "inline": "true"})
    with pytest.raises(InvalidOptionError, match="days"):
        expire_partitions(ServiceContext(HudiTable.open(tmp_path / "t").client, LEAN))
    make(tmp_path / "whole", partition_fields=())
    whole = context(tmp_path / "whole")
    with pytest.raises(UnsupportedTableError, match="partitions"):
        expire_partitions(whole)
    with pytest.raises(UnsupportedTableError, match="partitions"):
        ServiceRounds(lambda: TableServices(whole), [ServiceKind.TTL])
    report = write(tmp_path / "whole", of("a"), 0, **FIVE_DAYS, **{PREFIX + "inline": "true"})
    assert list(report.failed) == ["partition ttl"]


def test_the_command_line_deletes_expired_partitions(tmp_path: Path) -> None:
    make(tmp_path)
    write(tmp_path, of("a"), 10)
    write(tmp_path, of("b", 10), 1)
    words = ["table", "service", str(tmp_path), "--ttl", "--format", "json"]
    for name, text in FIVE_DAYS.items():
        words += ["--conf", f"{name}={text}"]
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    (row,) = json.loads(result.stdout)
    assert (row["service"], row["detail"]) == ("ttl", "1 partitions deleted: a")
    assert partitions(tmp_path) == {"b"}
