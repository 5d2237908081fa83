"""Partitions that a clean empties: dropped from the table's folders and from its metadata table, and made again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.metadata import MetadataTable, validate
from hudi_hive.metadata.reader import FILES
from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline.instants import COMMIT
from hudi_hive.timeline.payloads import CleanMetadata
from hudi_hive.write.rollback import create_savepoint, restore, rollback
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services.cleaning import clean, execute_clean, schedule_clean
from tests.support.options.write_cases import make
from tests.support.tables.metadata_writing import ALL
from tests.write.shared.services_rollback_helpers import rows, version

__all__ = ["version"]

OPTIONS = {**ALL, "hoodie.clean.automatic": "false", "hoodie.clean.commits.retained": "1"}
PLAIN = {**OPTIONS, "hoodie.metadata.enable": "false"}
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")


def upsert(path: Path, partitions: str, options: Mapping[str, str] = OPTIONS) -> str:
    """One row of each partition, of the same key each time; the write's instant."""
    columns = {"id": [ord(one) for one in partitions], "name": list(partitions), "p": list(partitions)}
    HudiTable.open(path).write("upsert", pa.table({**columns, "ts": [1] * len(partitions)}), options)
    return MetaClient.load(path).timeline.write_instants()[-1].requested


def context(path: Path, options: Mapping[str, str] = OPTIONS) -> ServiceContext:
    return ServiceContext(MetaClient.load(path), options)


def emptied(path: Path, version: int, kind: str, options: Mapping[str, str] = OPTIONS) -> None:
    """A table whose partition ``y`` was deleted, and that was written since."""
    make(path, version=version, table_type=kind)
    upsert(path, "xyz", options)
    HudiTable.open(path).delete_partitions(["y"], options)
    upsert(path, "x", options)


def dropped(done: CleanMetadata | None) -> list[str]:
    assert done is not None
    return [path for path, part in done.partitions.items() if part.partition_deleted]


def listed(path: Path) -> list[str]:
    """Partitions by the metadata table, whose lists of files are those of the folders."""
    client = MetaClient.load(path)
    report = validate(client)
    assert not report.errors, str(report)
    return MetadataTable.open(client).partitions()


@pytest.mark.parametrize("kind", KINDS)
def test_an_emptied_partition_is_listed_no_more(version: int, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    emptied(path, version, kind)
    assert (path / "y").is_dir() and listed(path) == ["x", "y", "z"]
    done = clean(context(path))
    assert done is not None and dropped(done) == ["y"]
    timeline = MetaClient.load(path).timeline
    assert timeline.clean_metadata(done.instant).partitions == done.partitions
    assert timeline.cleaner_plan(done.instant).partitions_to_delete == ("y",)
    assert not (path / "y").exists() and listed(path) == ["x", "z"]
    upsert(path, "y")
    assert listed(path) == ["x", "y", "z"]
    assert [row["name"] for row in rows(path)] == ["x", "y", "z"]


@pytest.mark.parametrize("kind", KINDS)
def test_compactions_of_the_metadata_table_leave_it_out(version: int, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    emptied(path, version, kind)
    clean(context(path))
    compacting = {**OPTIONS, "hoodie.metadata.compact.max.delta.commits": "1"}
    for partitions, expected in (("z", "xz"), ("y", "xyz"), ("y", "xyz")):
        upsert(path, partitions, compacting)
        assert listed(path) == list(expected)
    assert len(MetadataTable.open(MetaClient.load(path)).client.timeline.completed({COMMIT})) >= 2


def test_the_record_of_its_files_is_deleted_from_version_9_on(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    emptied(path, version, "COPY_ON_WRITE")
    done = clean(context(path))
    assert done is not None
    (group,) = MetadataTable.open(MetaClient.load(path)).prefixed_groups(FILES).values()
    last = group[0].undecoded()
    names = [sorted(block.keys.to_pylist()) for block in last.payloads[-2:]]
    deleted = [key for _, keys in last.deletes for key in keys.to_pylist()]
    first = (["__all_partitions__"], ["y"]) if version >= 9 else (["__all_partitions__", "y"], [])
    assert (names, deleted) == ([first[0], ["__all_partitions__"]], first[1])


def test_tables_without_a_metadata_table(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    emptied(path, version, "COPY_ON_WRITE", PLAIN)
    assert dropped(clean(context(path, PLAIN))) == ["y"]
    assert MetaClient.load(path).partition_paths() == ["x", "z"]


def test_a_write_that_fills_it_again_behind_the_plan_keeps_it(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    emptied(path, version, "MERGE_ON_READ")
    plan = schedule_clean(context(path))
    assert plan is not None
    upsert(path, "y")
    done = execute_clean(context(path), plan)
    assert dropped(done) == [] and done.partitions["y"].deleted
    assert listed(path) == ["x", "y", "z"]
    assert [row["name"] for row in rows(path)] == ["x", "y", "z"]


def test_one_left_for_a_pending_write_goes_with_the_next_clean_of_all(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    emptied(path, version, "COPY_ON_WRITE")
    plan = schedule_clean(context(path))
    assert plan is not None
    now = context(path)
    begun = now.clock.new_instant(now.client.timeline, now.client.config.timezone)
    pending = now.writer.create_requested("commit", begun)
    assert dropped(execute_clean(context(path), plan)) == []
    assert (path / "y").is_dir() and listed(path) == ["x", "y", "z"]
    now.writer.delete(pending)
    upsert(path, "x")
    assert dropped(clean(context(path, {**OPTIONS, "hoodie.clean.incremental.enabled": "false"}))) == ["y"]
    assert not (path / "y").exists() and listed(path) == ["x", "z"]


def test_a_savepoint_keeps_it_and_its_restore_brings_it_back(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    make(path, version=version)
    upsert(path, "xyz")
    saved = create_savepoint(context(path)).instant.requested
    HudiTable.open(path).delete_partitions(["y"], OPTIONS)
    for _ in range(3):
        upsert(path, "x")
    assert dropped(clean(context(path))) == []
    assert listed(path) == ["x", "y", "z"]
    restore(context(path), saved)
    assert listed(path) == ["x", "y", "z"]
    assert [row["name"] for row in rows(path)] == ["x", "y", "z"]


def test_a_rollback_behind_the_clean_leaves_it_out(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    emptied(path, version, "COPY_ON_WRITE")
    assert dropped(clean(context(path))) == ["y"]
    rollback(context(path), upsert(path, "z"))
    assert listed(path) == ["x", "z"]
