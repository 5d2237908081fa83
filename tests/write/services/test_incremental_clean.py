"""Cleans look only at partitions in which files can have got old since the last one, and find what all would give."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline.instants import CLEAN
from hudi_hive.write.rollback.savepoint_action import create_savepoint, delete_savepoint
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services.cleaning import CleanPolicy, clean, execute_clean, plan_clean, schedule_clean
from tests.support.options.write_cases import make
from tests.write.shared.services_rollback_helpers import version

__all__ = ["version"]

PARTITIONS = "abcdefgh"
OPTIONS = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.metadata.enable": "false",
    "hoodie.cleaner.commits.retained": "1",
}
POLICY = CleanPolicy.of(OPTIONS)


def upsert(path: Path, partitions: str, operation: str = "upsert", **options: str) -> None:
    rows = {"id": [ord(one) for one in partitions], "name": list(partitions), "p": list(partitions)}
    table = pa.table({**rows, "ts": [1] * len(partitions)})
    HudiTable.open(path).write(operation, table, {**OPTIONS, **options})


def context(path: Path, **options: str) -> ServiceContext:
    return ServiceContext(MetaClient.load(path), {**OPTIONS, **options})


def planned(path: Path, policy: CleanPolicy = POLICY, **more: int) -> list[tuple[str, str]]:
    """Partitions and names of the files that a clean would delete, which all partitions give as well."""
    files = plan_clean(MetaClient.load(path), policy, **more).files
    whole = plan_clean(MetaClient.load(path), replace(policy, incremental=False), **more).files
    names = sorted(zip(files["partition"].to_pylist(), files["name"].to_pylist(), strict=True))
    assert names == sorted(zip(whole["partition"].to_pylist(), whole["name"].to_pylist(), strict=True))
    return names


def lists(path: Path, policy: CleanPolicy) -> int:
    """Folders that planning lists."""
    client = MetaClient.load(path)
    client.timeline.write_instants()
    before = client.storage.counters["lists"]
    plan_clean(client, policy)
    return client.storage.counters["lists"] - before


@pytest.fixture
def table(version: int, tmp_path: Path) -> Iterator[Path]:
    """A table with one slice of each group, and two in the partition h, which was written last; it was cleaned."""
    path = tmp_path / "t"
    make(path, version=version)
    for partitions in (PARTITIONS, PARTITIONS, "h"):
        upsert(path, partitions)
    assert len(planned(path)) == len(PARTITIONS)
    assert clean(context(path)) is not None
    yield path


def test_other_partitions_are_not_listed(table: Path) -> None:
    upsert(table, "ab")
    upsert(table, "h")
    assert [partition for partition, _ in planned(table)] == ["a", "b", "h"]
    assert (lists(table, POLICY), lists(table, replace(POLICY, incremental=False))) == (3, len(PARTITIONS) + 1)
    done = clean(context(table))
    assert done is not None and sorted(done.partitions) == ["a", "b", "h"]
    assert lists(table, POLICY) == 0


def test_slices_of_replaced_file_groups_are_cleaned(table: Path) -> None:
    upsert(table, "cd", "insert_overwrite")
    HudiTable.open(table).delete_partitions(["e"], OPTIONS)
    upsert(table, "h")
    assert [partition for partition, _ in planned(table)] == ["c", "d", "e", "h"]


def test_slices_of_a_deleted_savepoint_are_cleaned(table: Path) -> None:
    create_savepoint(context(table))
    saved = MetaClient.load(table).timeline.write_instants()[-1].requested
    upsert(table, "ab")
    upsert(table, "h")
    done = clean(context(table))
    assert done is not None and sorted(done.partitions) == ["h"]
    assert planned(table) == []
    delete_savepoint(context(table), saved)
    assert [partition for partition, _ in planned(table)] == ["a", "b"]


def test_slices_of_a_deleted_savepoint_made_after_the_clean_plan_are_cleaned(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ours are refused while a clean is to delete their files; those of real Hudi are not.
    monkeypatch.setattr(sys.modules[create_savepoint.__module__], "_refuse_cleaned", lambda *_: None)
    upsert(table, "ab")
    upsert(table, "h")
    instant = schedule_clean(context(table))
    assert instant is not None
    before = MetaClient.load(table).timeline.write_instants()[-3].requested
    create_savepoint(context(table), before)
    assert execute_clean(context(table), instant).total_files_deleted == 1
    delete_savepoint(context(table), before)
    assert [partition for partition, _ in planned(table)] == ["a", "b"]


def test_archived_commits_do_not_hide_their_partitions(table: Path) -> None:
    for partition in "abcdef":
        upsert(table, partition)
    archival = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    HudiTable.open(table).archive(OPTIONS | archival)
    assert len(planned(table)) == 6
    assert lists(table, POLICY) == lists(table, replace(POLICY, incremental=False))


def test_more_retained_commits_leave_nothing_to_delete(table: Path) -> None:
    upsert(table, "ab")
    upsert(table, "h")
    assert planned(table, replace(POLICY, commits=3)) == []


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_random_histories(version: int, kind: str, tmp_path: Path) -> None:
    chance = random.Random(f"{version} {kind}")
    path = tmp_path / "t"
    make(path, version=version, table_type=kind)
    upsert(path, PARTITIONS)
    for _ in range(25):
        some = "".join(chance.sample(PARTITIONS, chance.randint(1, 3)))
        step = chance.choice(["upsert", "upsert", "upsert", "insert_overwrite", "compact", "delete", "savepoint"])
        savepoints = MetaClient.load(path).timeline.completed({"savepoint"})
        if step == "compact" and kind == "MERGE_ON_READ":
            HudiTable.open(path).compact(OPTIONS | {"hoodie.compact.inline.max.delta.commits": "1"})
        elif step == "savepoint" and savepoints:
            delete_savepoint(context(path), savepoints[0].requested)
        elif step == "savepoint":
            create_savepoint(context(path))
        elif step == "delete":
            HudiTable.open(path).delete_partitions([some[0]], OPTIONS)
        elif step != "compact":
            upsert(path, some, step)
        policy = replace(POLICY, commits=chance.randint(1, 3))
        planned(path, policy)
        if chance.random() < 0.6:
            clean(context(path, **{"hoodie.cleaner.commits.retained": str(policy.commits)}))
            assert planned(path, policy) == []
    assert MetaClient.load(path).timeline.completed({CLEAN})
