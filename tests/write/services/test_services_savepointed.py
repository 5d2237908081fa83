"""Plans of others that contradict savepoints: what a savepoint keeps is never deleted, whoever planned it."""

from __future__ import annotations

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import WriteError
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.core import InstantClock, TimelineWriter
from hudi_hive.timeline.instants import CLEAN, RESTORE, ROLLBACK
from hudi_hive.timeline.payloads import (
    CleanerPlan,
    RestorePlan,
    RollbackPlan,
    encode_cleaner_plan,
    encode_restore_plan,
    encode_rollback_plan,
)
from hudi_hive.write.coordination.executor import LocalExecutor
from hudi_hive.write.rollback.restore_action import restore
from hudi_hive.write.rollback.rollback_action import rollback_failed_writes
from hudi_hive.write.rollback.savepoint_action import create_savepoint, delete_savepoint
from hudi_hive.write.rollback.undo import files_to_undo
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services.compaction import execute_compaction, schedule_compaction
from tests.support.faults.write_acts import rows
from tests.support.faults.write_faults import check_tidy, rows_of

VERSIONS = [6, 9]
OFF = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}


def table_at(path, kind="COPY_ON_WRITE", version=8):
    made = {"table_type": kind, "version": version, "record_keys": ["id"], "partition_fields": ["part"]}
    return HudiTable.create(path, name="t", ordering_fields=["ts"], **made)


def context(path):
    return ServiceContext(HudiTable.open(path).client, OFF, LocalExecutor(1))


def planned(path, action, payload):
    """A plan of another writer."""
    client = HudiTable.open(path).client
    instant = InstantClock().new_instant(client.timeline, client.config.timezone)
    bare = Instant(instant, action, State.REQUESTED, None, "", "")
    TimelineWriter(client.storage, client.config).create_requested(action, instant, payload(bare, client))
    return instant


@pytest.mark.parametrize("version", VERSIONS)
def test_a_clean_leaves_what_a_savepoint_keeps(version, tmp_path):
    table = table_at(tmp_path, version=version)
    table.insert(rows(1, "a", "bb"), OFF)
    point = create_savepoint(context(tmp_path))
    saved = rows_of(tmp_path)
    table.upsert(rows(2, "a", "bb"), OFF)
    old = table.client.list_files().slice(0, 0)
    kept = [(partition, name) for partition, names in point.partitions.items() for name in names]
    files = [{"partition": partition, "name": name} for partition, name in kept]
    plan = old.select(["partition", "name"]).from_pylist(files)
    planned(
        tmp_path,
        CLEAN,
        lambda bare, client: encode_cleaner_plan(
            CleanerPlan(bare, "KEEP_LATEST_COMMITS", None, None, plan, ("x", "y"), {}), client.base_path
        ),
    )
    report = table.upsert(rows(3, "a"))
    assert not report.failed and report.services.cleaned.total_files_deleted == 0
    assert all((tmp_path / partition / name).exists() for partition, name in kept)
    assert all(not part.deleted and len(part.planned) == 1 for part in report.services.cleaned.partitions.values())
    check_tidy(tmp_path)
    restore(context(tmp_path), point.instant.requested)
    assert rows_of(tmp_path) == rows_of(tmp_path, metadata=False) == saved


@pytest.mark.parametrize("version", VERSIONS)
def test_a_rollback_of_a_savepointed_write_is_refused(version, tmp_path):
    table = table_at(tmp_path, version=version)
    table.insert(rows(1, "a", "bb"), OFF)
    last = table.upsert(rows(2, "a"), OFF).instant
    create_savepoint(context(tmp_path))
    here = rows_of(tmp_path)

    def payload(bare, client):
        requests = files_to_undo(client, last, LocalExecutor(1))
        return encode_rollback_plan(RollbackPlan(bare, (last.requested, last.action), requests), client.base_path)

    planned(tmp_path, ROLLBACK, payload)
    for _ in range(2):
        with pytest.raises(WriteError, match="a savepoint keeps this instant") as caught:
            table.insert(rows(3, "c"), OFF)
        assert caught.value.instant == last.requested and last.requested in caught.value.remedy
        assert rows_of(tmp_path) == rows_of(tmp_path, metadata=False) == here
    delete_savepoint(context(tmp_path), last.requested)
    rollback_failed_writes(context(tmp_path))
    assert [row["value"] for row in rows_of(tmp_path)] == ["a 1", "bb 1"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_rollback_that_names_files_of_a_savepoint_is_refused(version, tmp_path):
    table = table_at(tmp_path, version=version)
    first = table.insert(rows(1, "a", "bb"), OFF).instant
    create_savepoint(context(tmp_path), first.requested)
    last = table.upsert(rows(2, "a"), OFF).instant
    here = rows_of(tmp_path)

    def payload(bare, client):
        requests = files_to_undo(client, first, LocalExecutor(1))  # of the wrong instant
        return encode_rollback_plan(RollbackPlan(bare, (last.requested, last.action), requests), client.base_path)

    planned(tmp_path, ROLLBACK, payload)
    with pytest.raises(WriteError, match=f"the savepoint {first.requested} keeps a file of this"):
        table.insert(rows(3, "c"), OFF)
    assert rows_of(tmp_path) == rows_of(tmp_path, metadata=False) == here


@pytest.mark.parametrize("version", VERSIONS)
def test_a_restore_to_before_a_savepoint_is_refused(version, tmp_path):
    """Asked for, and planned by another writer; nothing of it is done, and the savepoints stay as they are."""
    table = table_at(tmp_path, version=version)
    times = []
    for step in range(3):
        times.append(table.upsert(rows(step, "a", "bb"), OFF).instant)
        create_savepoint(context(tmp_path))
    here = rows_of(tmp_path)
    with pytest.raises(WriteError, match="later savepoints stand in the way"):
        restore(context(tmp_path), times[0].requested)
    targets = tuple((i.requested, i.action) for i in reversed(times[1:]))
    planned(tmp_path, RESTORE, lambda bare, client: encode_restore_plan(RestorePlan(bare, targets, times[0].requested)))
    for act in (
        lambda: restore(context(tmp_path), times[0].requested),
        lambda: table.insert(rows(3, "c"), OFF),
        lambda: delete_savepoint(context(tmp_path), times[0].requested),
        lambda: create_savepoint(context(tmp_path)),
    ):
        with pytest.raises(WriteError, match=r"later savepoints|has not ended"):
            act()
        assert rows_of(tmp_path) == rows_of(tmp_path, metadata=False) == here
    for time in times[1:]:
        delete_savepoint(context(tmp_path), time.requested)
    restore(context(tmp_path), times[0].requested)
    assert [row["value"] for row in rows_of(tmp_path)] == ["a 0", "bb 0"]
    check_tidy(tmp_path, services=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_compaction_of_savepointed_slices_leaves_their_files(version, tmp_path):
    table = table_at(tmp_path, "MERGE_ON_READ", version)
    table.insert(rows(1, "a", "bb"), OFF)
    table.upsert(rows(2, "a", "bb"), OFF)
    plan = schedule_compaction(context(tmp_path))
    point = create_savepoint(context(tmp_path))
    saved = rows_of(tmp_path)
    execute_compaction(context(tmp_path), plan)
    table.upsert(rows(3, "a"), {"hoodie.clean.commits.retained": "1"})
    assert all((tmp_path / p / name).exists() for p, names in point.partitions.items() for name in names)
    restore(context(tmp_path), point.instant.requested)
    assert rows_of(tmp_path) == rows_of(tmp_path, metadata=False) == saved
