"""Services as methods of the table: what they report, and to which moment they and writes move the table."""

from __future__ import annotations

import os
import typing
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError, MetadataTableError, StorageError, WriteError
from hudi_hive.mutation.hudi import HudiMutatorCoordinator
from hudi_hive.table import MetaClient, TableDefinition
from hudi_hive.table_api.definition import TableFields

QUIET = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}


def rows(*ids: str, n: int = 1) -> pa.Table:
    return pa.table({"id": list(ids), "n": [n] * len(ids)})


def seen(table: HudiTable) -> list[tuple[str, int]]:
    read = table.scan(selected_fields=["id", "n"]).to_arrow()
    return sorted(zip(read["id"].to_pylist(), read["n"].to_pylist(), strict=True))


def make(path: Path, kind: str = "MERGE_ON_READ") -> HudiTable:
    table = HudiTable.create(path, name="t", table_type=kind, record_keys=["id"])
    table.bulk_insert(rows("a", "b"), QUIET)
    return table


# -- what services report ----------------------------------------------------------------------------------------------


def test_compaction_and_clustering_give_their_commits_and_plans(tmp_path):
    table = make(tmp_path / "t")
    table.upsert(rows("a", n=2), QUIET)
    (planned,) = table.compact(schedule=True).result
    assert planned.action == "compaction" and table.timeline.pending({"compaction"}) == (planned,)
    (compacted,) = table.compact(execute=True).result
    assert (compacted.requested, compacted.action) == (planned.requested, "commit")
    assert table.compact().result == []
    table.bulk_insert(rows("c"), QUIET)
    (clustered,) = table.cluster(sort_columns=["n"]).result
    assert table.timeline.commit_metadata(clustered).operation == "CLUSTER"
    assert table.scan().plan().slices.num_rows == 1
    assert seen(table) == [("a", 2), ("b", 1), ("c", 1)]
    for service in (table.compact, table.cluster):
        with pytest.raises(InvalidOptionError, match="one of the two"):
            service(schedule=True, execute=True)
        with pytest.raises(InvalidOptionError, match="no_such"):
            service({"hoodie.no_such": "1"})


def test_savepoints_are_made_listed_restored_and_deleted(tmp_path):
    table = make(tmp_path / "t")
    point = table.savepoint(user="me", comments="first").result
    assert (point.by, point.comments) == ("me", "first")
    table.upsert(rows("a", n=2), QUIET)
    last = table.upsert(rows("b", n=3), QUIET).instant
    (undone,) = table.rollback(last.requested).result
    assert undone.rolled_back == (last.requested,) and seen(table) == [("a", 2), ("b", 1)]
    assert [one.instant.requested for one in table.savepoints()] == [point.instant.requested]
    restored = table.restore(point.instant.requested)
    assert len(restored.result.targets) == 1 and not restored.failed
    assert seen(table) == [("a", 1), ("b", 1)]
    table.delete_savepoint(point.instant.requested)
    assert table.savepoints() == []
    with pytest.raises(WriteError, match="no such savepoint"):
        table.restore(point.instant.requested)


def test_cleans_and_archival_report_what_they_did(tmp_path):
    table = make(tmp_path / "t", "COPY_ON_WRITE")
    assert table.clean().result is None
    for n in range(2, 8):
        table.upsert(rows("a", n=n), QUIET)
    cleaned = table.clean({**QUIET, "hoodie.clean.commits.retained": "2"}).result
    assert cleaned.total_files_deleted == 4
    keep = {"hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4", "hoodie.clean.commits.retained": "2"}
    archived = table.archive({**QUIET, **keep}).result
    assert len([one for one in archived.archived if one.action == "commit"]) == 4
    assert len(table.timeline.write_instants()) == 3
    assert seen(table) == [("a", 7), ("b", 1)]


def test_the_metadata_table_is_a_part_of_the_table(tmp_path):
    table = make(tmp_path / "t", "COPY_ON_WRITE")
    status = table.metadata.status()
    assert status.partitions == () and "is off" in str(status.error) and status.by_partition.num_rows == 0
    with pytest.raises(MetadataTableError, match="is off"):
        table.metadata.partitions()
    created = table.metadata.create().result
    assert created.created == ("files", "column_stats") and created.partitions == ("column_stats", "files")
    with pytest.raises(MetadataTableError, match="already"):
        table.metadata.create()
    assert table.metadata.init(["record_index"]).result.created == ("record_index",)
    status = table.metadata.status()
    assert status.error is None and status.table_partitions == 1 and "record_index" in status.partitions
    assert status.by_partition["partition"].to_pylist() == sorted(status.partitions)
    assert table.metadata.files().num_rows == table.metadata.files([""]).num_rows == 1
    assert table.metadata.reader.record_locations(["a"]).num_rows == 1
    assert table.metadata.validate().is_valid
    assert table.metadata.delete([]).result.deleted == ()
    assert table.metadata.delete(["column_stats"]).result.deleted == ("column_stats",)
    with pytest.raises(MetadataTableError, match="no partition"):
        table.metadata.delete(["column_stats"])
    for service in (table.metadata.create, table.metadata.init):
        with pytest.raises((InvalidOptionError, MetadataTableError)):
            service(options={"hoodie.metadata.enable": "false"})
    with pytest.raises(InvalidOptionError, match=r"hoodie\.metadata\.enable"):
        table.metadata.set(True, {"hoodie.metadata.enable": "false"})
    assert table.metadata.status().partitions == ("files", "record_index")
    assert table.metadata.set(False).result.deleted == ("files", "record_index")
    assert not (tmp_path / "t/.hoodie/metadata").exists()
    assert table.metadata.set(True).result.created == ("files", "column_stats")


def test_a_killed_deletion_of_the_metadata_table_leaves_one_that_is_read_and_written(tmp_path, monkeypatch):
    """The properties go first; what is left of the folder is no table any more, and the next write makes another."""

    class Killed(BaseException):
        pass

    def killed_at(call, most):
        calls = []

        def step(*args, **kwargs):
            calls.append(args)
            if len(calls) > most:
                raise Killed
            return call(*args, **kwargs)

        return step

    for most in (0, 1, 9):
        table = make(tmp_path / f"t{most}")
        table.metadata.create()
        table.metadata.init(["record_index"])
        with monkeypatch.context() as patched, pytest.raises(Killed):
            for name in ("unlink", "remove", "rmdir"):
                patched.setattr(os, name, killed_at(getattr(os, name), most))
            table.metadata.delete()
        assert (tmp_path / f"t{most}/.hoodie/metadata").exists()
        table = HudiTable.open(tmp_path / f"t{most}")
        assert seen(table) == [("a", 1), ("b", 1)]
        table.upsert(rows("b", "c", n=2), {**QUIET, "hoodie.metadata.enable": "true"})
        table = HudiTable.open(tmp_path / f"t{most}")
        assert seen(table) == [("a", 1), ("b", 2), ("c", 2)] and table.metadata.validate().is_valid


# -- moments -----------------------------------------------------------------------------------------------------------


def test_a_table_moves_by_its_own_changes_and_by_nothing_else(tmp_path):
    table = make(tmp_path / "t")
    other = HudiTable.open(tmp_path / "t")
    scan = table.scan()
    table.upsert(rows("a", n=2), QUIET)
    assert seen(table) == [("a", 2), ("b", 1)]
    assert seen(other) == [("a", 1), ("b", 1)]
    assert scan.count() == 2 and scan.plan().instant == other.timeline.last_completed_write().requested
    now = other.refresh()
    assert seen(now) == [("a", 2), ("b", 1)] and seen(other) == [("a", 1), ("b", 1)]
    (compacted,) = other.compact().result  # of the table as it is, not as it was
    assert other.timeline.last_completed_write().requested == compacted.requested
    assert seen(other) == [("a", 2), ("b", 1)]
    table.update_schema().add("more", "string").commit()
    assert "more" in table.schema().names and "more" not in other.schema().names
    with pytest.raises(WriteError):
        other.delete_savepoint("20200101000000000")
    assert "more" not in other.schema().names


def test_a_commit_of_the_mutator_moves_its_table(tmp_path):
    table = make(tmp_path / "t")
    with table.mutator(QUIET) as client, client.new_transaction() as transaction:
        coordinator = HudiMutatorCoordinator(transaction.table())
        coordinator.insert([], {"id": "c", "n": 5})
        transaction.accept(coordinator.close())
        assert seen(table) == [("a", 1), ("b", 1)]
    assert not transaction.report.failed
    assert seen(table) == [("a", 1), ("b", 1), ("c", 5)]


def test_a_table_that_cannot_be_read_behind_a_service_is_in_its_report(tmp_path, monkeypatch):
    table = make(tmp_path / "t", "COPY_ON_WRITE")
    before = table.client

    def broken() -> None:
        raise StorageError("the disk is gone")

    monkeypatch.setattr(table, "move_to_now", broken)
    report = table.metadata.create()
    assert report.result.created and "the disk is gone" in str(report.failed["refresh"])
    assert table.client is before


# -- making a table ----------------------------------------------------------------------------------------------------


def test_create_takes_the_fields_of_a_definition_by_name(tmp_path):
    assert typing.get_type_hints(TableFields) == typing.get_type_hints(TableDefinition)
    definition = TableDefinition(name="t", record_keys=["id"], version=6)
    one = HudiTable.create(tmp_path / "one", definition)
    two = HudiTable.create(tmp_path / "two", name="t", record_keys=["id"], version=6)
    assert one.properties == two.properties and one.version == 6
    with pytest.raises(InvalidOptionError, match="twice"):
        HudiTable.create(tmp_path / "three", definition, name="t")
    with pytest.raises(TypeError, match="record_key"):
        HudiTable.create(tmp_path / "three", name="t", record_key=["id"])
    assert MetaClient.load(tmp_path / "two").config.version == 6 and not (tmp_path / "three").exists()
