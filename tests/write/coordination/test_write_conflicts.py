"""Conflicts: what completed, was planned or undone while a write was under way, in both timeline layouts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive.errors import WriteConflictError
from hudi_hive.formats.avro import write_container
from hudi_hive.table import MetaClient
from hudi_hive.timeline.core import TimelineWriter
from hudi_hive.timeline.instants import instant_to_millis
from hudi_hive.timeline.payloads import NewCommitMetadata, encode_commit, model_schema
from hudi_hive.write.coordination.conflicts import (
    EVERYTHING,
    TOUCHED_SCHEMA,
    ConcurrentOperation,
    check_conflicts,
    refuse_clustered,
    touched_groups,
)
from hudi_hive.write.files.statuses import joined, status


def t(number: int) -> str:
    return f"2026010100{number:02d}00000"


def done(number: int) -> str:
    return f"2026010100{number:02d}30000"


ID = {"name": "id", "type": ["null", "string"], "default": None}
NEW = {"name": "new", "type": ["null", "string"], "default": None}


def schema(*fields: dict) -> dict:
    return {"type": "record", "name": "row", "fields": [ID, *fields]}


class Table:
    """A table of instants only; ``version`` 6 has layout 1, 8 layout 2."""

    def __init__(self, path: Path, version: int) -> None:
        self.layout = 1 if version == 6 else 2
        folder = path / ".hoodie"
        (folder / ("archived" if version == 6 else "timeline/history")).mkdir(parents=True)
        (folder / "hoodie.properties").write_text(
            "hoodie.table.name=t\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.partition.fields=p\n"
            f"hoodie.table.version={version}\nhoodie.timeline.layout.version={self.layout}\n"
        )
        self.path = path
        self.writer = TimelineWriter(self.client().storage, self.client().config)

    def client(self) -> MetaClient:
        return MetaClient.load(self.path)

    def begin(self, number: int, action: str = "deltacommit", plan: bytes = b"") -> None:
        self.writer.create_requested(action, t(number), plan)
        self.writer.transition_inflight(action, t(number))

    def complete(self, number, *groups, action="deltacommit", operation="UPSERT", at=None, replaced=(), fields=()):
        stats = [{"fileId": g, "partitionPath": "p", "path": f"p/{g}_0-0-0_{t(number)}.parquet"} for g in groups]
        metadata = NewCommitMetadata(
            operation=operation,
            extra={"schema": json.dumps(schema(*fields))},
            stats=stats,
            replaced={"p": list(replaced)} if replaced else {},
            compacted=operation == "COMPACT",
        )
        payload = encode_commit(metadata, self.layout)
        made = self.writer.complete(action, t(number), payload, done(at or number))
        seconds = instant_to_millis(done(at or number)) / 1000  # the completion time of layout 1
        os.utime(self.path / made.path, (seconds, seconds))

    def commit(self, number, *groups, action="deltacommit", **arguments) -> None:
        self.begin(number, action)
        self.complete(number, *groups, action=action, **arguments)

    def compaction(self, number: int, *groups: str) -> None:
        operations = [
            {"baseInstantTime": t(1), "fileId": g, "partitionPath": "p", "dataFilePath": "b", "deltaFilePaths": []}
            for g in groups
        ]
        plan = {"operations": operations, "version": 2}
        self.begin(number, "compaction", self.encode("HoodieCompactionPlan", plan))

    def clustering(self, number: int, *groups: str) -> None:
        slices = [{"fileId": g, "partitionPath": "p", "dataFilePath": f"p/{g}", "deltaFilePaths": []} for g in groups]
        plan = {"operationType": "CLUSTER", "clusteringPlan": {"inputGroups": [{"slices": slices}]}}
        self.begin(number, "clustering", self.encode("HoodieRequestedReplaceMetadata", plan))

    def encode(self, name: str, record: dict) -> bytes:
        return write_container(model_schema(name, self.layout), [record])


@pytest.fixture(params=[6, 8], ids=["layout1", "layout2"])
def table(request, tmp_path) -> Table:
    table = Table(tmp_path, request.param)
    table.commit(1, "a", "b")
    return table


def touched(*groups: str) -> pa.Table:
    """Groups as ``kind:id``; ``log`` without a kind."""
    rows = [("p", *reversed(["log", *g.split(":")][-2:])) for g in groups]
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=TOUCHED_SCHEMA)


def check(table: Table, begun: MetaClient | None, *groups: str, number: int = 5, operation="UPSERT", **arguments):
    mine = ConcurrentOperation(t(number), operation, touched(*groups), **arguments)
    check_conflicts(table.client(), begun.timeline if begun else None, mine)


def start(table: Table, number: int = 5, action: str = "deltacommit") -> MetaClient:
    """The table as a write sees it that begins now."""
    client = table.client()
    _ = client.timeline
    table.begin(number, action)
    return client


def refused(table, begun, *groups, match, **arguments):
    with pytest.raises(WriteConflictError, match=match) as caught:
        check(table, begun, *groups, **arguments)
    assert "write again" in str(caught.value)


def test_a_write_without_others_has_no_conflict(table):
    begun = start(table)
    check(table, begun, "a", "base:b", "replaced:c", schema=schema(NEW))


@pytest.mark.parametrize("other", [3, 7], ids=["older", "younger"])
def test_the_second_at_the_same_group_loses(table, other):
    if other == 3:
        table.begin(3)
    begun = start(table)
    if other == 7:
        table.begin(7)
    table.complete(other, "a", at=8)
    check(table, begun, "b", "base:c")
    refused(table, begun, "b", "a", match=f"instant {t(other)} was at the same file group a of partition 'p'")
    refused(table, begun, "base:a", match=t(other))
    refused(table, begun, "replaced:a", match=t(other))


def test_what_completed_before_does_not_count(table):
    table.commit(3, "a")
    check(table, start(table), "a")


def test_a_group_of_another_partition_is_another(table):
    begun = start(table)
    table.commit(7, "a")
    mine = pa.table([["q"], ["a"], ["log"]], schema=TOUCHED_SCHEMA)
    check_conflicts(table.client(), begun.timeline, ConcurrentOperation(t(5), "UPSERT", mine))


def test_replaced_file_groups_are_a_conflict(table):
    begun = start(table)
    table.commit(7, "n", action="replacecommit", operation="INSERT_OVERWRITE", replaced=["a"])
    refused(table, begun, "a", match=t(7))
    check(table, begun, "b")


def test_new_groups_in_partitions_that_are_overwritten(table):
    begun = start(table)
    table.commit(7, "n")
    refused(table, begun, "replaced:a", overwrites={"p"}, match=t(7))
    refused(table, begun, "replaced:a", overwrites=EVERYTHING, match=t(7))
    check(table, begun, "replaced:a", overwrites={"q"})
    check(table, begun, "replaced:a")


def test_log_files_may_share_a_group_without_blocking(table):
    begun = start(table)
    table.commit(7, "a")
    check(table, begun, "log:a", blocking=False)
    refused(table, begun, "base:a", blocking=False, match=t(7))


def test_buckets_are_one_by_their_number(table):
    begun = start(table)
    table.commit(7, "00000001-aaaa-0")
    refused(table, begun, "base:00000001-bbbb-0", buckets=True, match="00000001-bbbb-0")
    check(table, begun, "base:00000001-bbbb-0")
    check(table, begun, "base:00000002-bbbb-0", buckets=True)


# -- compaction ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("completed", [False, True])
def test_conflicts_with_a_compaction_that_was_pending_at_the_begin(table, completed):
    table.compaction(3, "a")
    begun = start(table)
    if completed:
        table.complete(3, "a", action="compaction", operation="COMPACT", at=8)
    check(table, begun, "log:a")
    refused(table, begun, "base:a", match=t(3))
    check(table, begun, "replaced:a", operation="INSERT_OVERWRITE")
    refused(table, begun, "replaced:a", operation="CLUSTER", match=t(3))


@pytest.mark.parametrize("completed", [False, True])
def test_a_compaction_planned_meanwhile(table, completed):
    begun = start(table)
    table.compaction(7, "a")
    if completed:
        table.complete(7, "a", action="compaction", operation="COMPACT", at=8)
    refused(table, begun, "base:a", match=t(7))
    check(table, begun, "b")
    if table.layout == 1:  # the log file bears the name of a slice that is compacted already
        refused(table, begun, "log:a", match=t(7))
    else:
        check(table, begun, "log:a")


def test_a_compaction_completes_whatever_was_written(table):
    table.compaction(5, "a")
    table.commit(7, "a")
    check(table, None, "base:a", operation="COMPACT")


# -- clustering ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [3, 7], ids=["known", "unknown"])
def test_groups_that_wait_for_clustering(table, other):
    if other == 3:
        table.clustering(3, "a")
    begun = start(table)
    if other == 7:
        table.clustering(7, "a")
    refused(table, begun, "a", match=t(other))
    check(table, begun, "b")
    with pytest.raises(WriteConflictError, match=t(other)):
        refuse_clustered(table.client(), touched("a"))
    refuse_clustered(table.client(), touched("b"))


def test_a_clustering_loses_to_what_was_written_since_it_was_planned(table):
    table.clustering(5, "a", "b")
    check(table, None, "replaced:a", "replaced:b", "base:n", operation="CLUSTER")
    table.commit(7, "c")
    check(table, None, "replaced:a", "replaced:b", "base:n", operation="CLUSTER")
    table.commit(8, "a")
    refused(table, None, "replaced:a", "replaced:b", "base:n", operation="CLUSTER", match=t(8))


def test_a_clustering_loses_to_an_older_instant_that_completed_later(table):
    table.begin(3)
    table.clustering(5, "a")
    table.complete(3, "a", at=8)
    refused(table, None, "replaced:a", operation="CLUSTER", match=t(3))


# -- undone, restored, archived, schema -----------------------------------------------------------------------------


def test_a_write_that_was_rolled_back_does_not_complete(table):
    begun = start(table)
    pending = next(i for i in table.client().timeline.pending() if i.requested == t(5))
    table.writer.delete(pending)
    refused(table, begun, "a", match="rolled it back")


def test_a_write_that_is_being_rolled_back_does_not_complete(table):
    begun = start(table)
    plan = {"instantToRollback": {"commitTime": t(5), "action": "deltacommit"}, "RollbackRequests": [], "version": 1}
    table.writer.create_requested("rollback", t(9), table.encode("HoodieRollbackPlan", plan))
    refused(table, begun, "a", match="is rolling it back")


def test_a_restore_meanwhile(table):
    begun = start(table)
    plan = {"instantsToRollback": [], "version": 1}
    table.writer.create_requested("restore", t(9), table.encode("HoodieRestorePlan", plan))
    refused(table, begun, "b", match=f"restored by {t(9)}")


def test_a_schema_that_changed_does_not_change_back(table):
    begun = start(table)
    check(table, begun, "b", schema=schema(NEW))
    table.commit(7, "c", fields=[NEW])
    check(table, begun, "b", schema=schema(NEW))
    refused(table, begun, "b", schema=schema(), match="schema")
    check(table, begun, "b")


def test_what_was_archived_meanwhile_counts(tmp_path):
    table = Table(tmp_path, 8)
    table.commit(1, "a", "b")
    table.begin(3)
    begun = start(table)
    table.complete(3, "a", at=8)
    found = next(i for i in table.client().timeline.completed() if i.requested == t(3))
    archive(table, found)
    refused(table, begun, "a", match=t(3))
    check(table, begun, "b")


def archive(table: Table, instant) -> None:
    folder = table.path / ".hoodie/timeline/history"
    name = f"{instant.requested}_{instant.requested}_0.parquet"
    row = {
        "instantTime": instant.requested,
        "completionTime": instant.completed,
        "action": instant.action,
        "metadata": (table.path / instant.path).read_bytes(),
        "plan": None,
        "version": 1,
    }
    kinds = [pa.string()] * 3 + [pa.binary()] * 2 + [pa.int32()]
    pq.write_table(pa.Table.from_pylist([row], schema=pa.schema(list(zip(row, kinds, strict=True)))), folder / name)
    files = [{"fileName": name, "fileLen": (folder / name).stat().st_size}]
    (folder / "manifest_1").write_text(json.dumps({"files": files}))
    (folder / "_version_").write_text("1")
    table.writer.delete(instant)


def test_what_a_commit_touches():
    statuses = joined(
        [
            status("p", "a", "a_0-0-0_1.parquet"),
            status("p", "b", ".b_1.log.1_0-0-0", log_version=1),
        ]
    )
    assert touched_groups(statuses, {"q": ["c", "d"]}).to_pylist() == [
        {"partition": "p", "file_id": "a", "kind": "base"},
        {"partition": "p", "file_id": "b", "kind": "log"},
        {"partition": "q", "file_id": "c", "kind": "replaced"},
        {"partition": "q", "file_id": "d", "kind": "replaced"},
    ]
    assert touched_groups(statuses).num_rows == 2
