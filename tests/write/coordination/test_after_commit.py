"""What follows a commit: whatever fails of it, the commit stands and its report says so."""

from __future__ import annotations

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import WriteError
from hudi_hive.mutation.core import TransactionState
from hudi_hive.mutation.hudi import HudiMutatorClient
from hudi_hive.sync.run import HiveSyncTool
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.core import InstantClock, TimelineWriter
from hudi_hive.timeline.instants import CLEAN
from hudi_hive.timeline.payloads import CLEAN_FILES_SCHEMA, CleanerPlan, encode_cleaner_plan
from hudi_hive.write.coordination.after_commit import AfterCommit, log_failure
from hudi_hive.write.services import TableServices
from tests.support.faults.step_faults import CallersError
from tests.support.faults.write_acts import rows
from tests.support.faults.write_faults import rows_of
from tests.support.running.long import VERSION_CASES

SYNC = {
    "hoodie.datasource.hive_sync.enable": "true",
    "hoodie.datasource.hive_sync.metastore.uris": "thrift://127.0.0.1:9",
    "hoodie.datasource.hive_sync.database": "d",
}


def table_at(path, **settings):
    made = {"name": "t", "record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"], **settings}
    return HudiTable.create(path, **made)


@pytest.mark.parametrize("version", VERSION_CASES)
def test_a_clean_plan_that_drops_a_folder_without_files_of_it(version, tmp_path):
    table = table_at(tmp_path / "t", version=version)
    table.insert(rows(1, "a", "bb"))
    folder = tmp_path / "t" / "gone"
    folder.mkdir()
    (folder / ".hoodie_partition_metadata").write_bytes((tmp_path / "t/x/.hoodie_partition_metadata").read_bytes())
    client = table.refresh().client
    writer = TimelineWriter(client.storage, client.config)
    instant = InstantClock().new_instant(client.timeline, client.config.timezone)
    bare = Instant(instant, CLEAN, State.REQUESTED, None, "", "")
    files = CLEAN_FILES_SCHEMA.empty_table()
    plan = CleanerPlan(bare, "KEEP_LATEST_COMMITS", None, None, files, ("gone",), {})
    writer.create_requested(CLEAN, instant, encode_cleaner_plan(plan, client.base_path))
    report = table.refresh().insert(rows(2, "c"))
    assert not report.failed and report.services.done == {"clean": [instant]}
    assert not folder.exists()
    assert report.services.cleaned.partitions["gone"].partition_deleted
    assert [row["id"] for row in rows_of(tmp_path / "t")] == ["a", "bb", "c"]


@pytest.mark.parametrize("error", [KeyError("x"), MemoryError(), CallersError(), WriteError("no")])
def test_a_caller_who_is_called_behind_a_mutation(error, tmp_path):
    table_at(tmp_path / "t").insert(rows(1, "a"))

    def follow(client, instant):
        raise error

    with HudiMutatorClient(tmp_path / "t", on_commit=follow) as client:
        transaction = client.new_transaction().begin()
        transaction.coordinator().insert(["y"], rows(2, "b").to_pylist()[0])
        transaction.commit()
    assert transaction.state is TransactionState.COMMITTED
    failure = transaction.report.failed["on_commit"]
    assert failure is error or (failure.__cause__ is error and type(error).__name__ in str(failure))
    assert [row["id"] for row in rows_of(tmp_path / "t")] == ["a", "b"]


@pytest.mark.parametrize("error", [KeyError("x"), CallersError(), OSError(5, "no")])
def test_a_sync_that_fails_by_any_error(error, tmp_path, monkeypatch):
    def sync(self):
        raise error

    monkeypatch.setattr(HiveSyncTool, "sync", sync)
    table = table_at(tmp_path / "t")
    for report in (table.insert(rows(1, "a"), SYNC), table.update_schema(SYNC).add("more", "string").commit()):
        assert list(report.failed) == ["sync"] and report.failed["sync"].instant == report.instant.requested
    assert table.scan().count() == 1 and "more" in table.schema().names


def test_an_interrupt_behind_the_commit_says_that_it_stands(tmp_path, monkeypatch):
    """It goes on to the caller, who asked for it; the instant is not undone."""
    table = table_at(tmp_path / "t")
    table.insert(rows(1, "a"))

    def ends(self):
        raise SystemExit(3)

    monkeypatch.setattr(TableServices, "clean", ends)
    with pytest.raises(SystemExit) as caught:
        table.insert(rows(2, "b"))
    (instant,) = table.refresh().timeline.write_instants()[1:]
    assert any(instant.requested in note and "is complete" in note for note in caught.value.__notes__)
    assert [row["id"] for row in rows_of(tmp_path / "t")] == ["a", "b"]


def test_a_commit_whose_file_exists_is_complete_though_its_creation_raised(tmp_path, monkeypatch):
    """The completed file decides, not what came of the call that made it."""
    table = table_at(tmp_path / "t")
    create = TimelineWriter._create

    def broken(self, instant, payload, **options):
        made = create(self, instant, payload, **options)
        if made.is_completed:
            raise RuntimeError("behind the file")
        return made

    monkeypatch.setattr(TimelineWriter, "_create", broken)
    report = table.insert(rows(1, "a"), {"hoodie.metadata.enable": "false"})
    assert list(report.failed) == ["commit"] and "RuntimeError: behind the file" in str(report.failed["commit"])
    assert [row["id"] for row in rows_of(tmp_path / "t", metadata=False)] == ["a"]


def test_a_step_that_fails_is_reported_and_the_next_one_runs():
    after = AfterCommit("/t", "1", Instant("1", "commit", State.COMPLETED, None, "", ""))
    assert after.attempt("one", lambda: 1 // 0) is None and after.attempt("two", lambda: 2) == 2
    assert list(after.failed) == ["one"] and "ZeroDivisionError" in str(after.failed["one"])


def test_a_failure_that_belongs_to_no_one_commit_is_logged_without_one(caplog):
    log_failure("compaction beside the stream", None, WriteError("no"))
    log_failure("the sync", "20240101000000000", WriteError("no"))
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("behind the commits: compaction beside the stream failed, they stand: ")
    assert second.startswith("behind the commit 20240101000000000: the sync failed, the commit stands: ")
