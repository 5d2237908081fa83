"""Archival: what leaves the active timeline is in the archive, whole, and what must stay stays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hudi_hive.errors import InvalidOptionError, StorageError
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient, TableDefinition, create_table
from hudi_hive.timeline import Instant, State, Timeline
from hudi_hive.timeline.archival.archive_writer import ArchiveReport, archive
from hudi_hive.timeline.core.writer import TimelineWriter
from hudi_hive.timeline.payloads import plans
from hudi_hive.timeline.payloads.encoders import NewCommitMetadata, encode_commit
from hudi_hive.timeline.payloads.plan_encoders import (
    encode_clean_metadata,
    encode_cleaner_plan,
    encode_compaction_plan,
    encode_requested_replace,
    encode_rollback_metadata,
    encode_rollback_plan,
    encode_savepoint_metadata,
)
from tests.support.fixture_tables import VERSIONS, unzip_fixture

SCHEMA = '{"type":"record","name":"row","fields":[{"name":"id","type":"int"}]}'


def time(number: int) -> str:
    return f"202601010000{number:02d}000"


def completion(number: int) -> str:
    return f"202601010000{number:02d}500"


class Table:
    """A table whose timeline is written by hand; instant n is requested in second n and completed half of one later."""

    def __init__(self, path: Path, version: int) -> None:
        self.client = create_table(
            path,
            TableDefinition(
                name="t",
                record_keys=["id"],
                version=version,
                timezone="UTC",
            ),
        )
        self.layout = self.client.config.layout
        self.writer = TimelineWriter(self.client.storage, self.client.config)

    def commit(self, number: int, operation: str = "UPSERT", **out: Any) -> None:
        extra = {"schema": SCHEMA} if operation not in ("COMPACT", "CLUSTER") else {}
        metadata = NewCommitMetadata(operation, extra, [self.stat(number)], **out)
        if metadata.is_replace:
            action, plan = "replacecommit", encode_requested_replace(layout=self.layout)
        elif operation == "COMPACT":
            action = "compaction"
            plan = encode_compaction_plan(
                plans.CompactionPlan(self.at(number), plans.OPERATIONS_SCHEMA.empty_table(), {}, 2), self.layout
            )
        else:
            action, plan = "commit", b""
        inflight = b"" if operation == "COMPACT" else encode_commit(NewCommitMetadata(operation, {}), self.layout)
        self.act(action, number, plan, inflight, encode_commit(metadata, self.layout))

    def act(self, action: str, number: int, plan: bytes, inflight: bytes, outcome: bytes) -> None:
        if action != "savepoint":
            self.writer.create_requested(action, time(number), plan)
        self.writer.transition_inflight(action, time(number), inflight)
        self.writer.complete(action, time(number), outcome, completion(number))

    def clean(self, number: int, earliest: int) -> None:
        files = plans.CLEAN_FILES_SCHEMA.empty_table()
        at, policy = self.at(number), "KEEP_LATEST_COMMITS"
        plan = encode_cleaner_plan(
            plans.CleanerPlan(at, policy, time(earliest), None, files, (), {}), self.client.base_path
        )
        done = plans.CleanMetadata(at, time(earliest), None, 0, 1, {}, {})
        self.act("clean", number, plan, plan if self.layout == 1 else b"", encode_clean_metadata(done))

    def rollback(self, number: int, target: int) -> None:
        info = (time(target), "commit")
        plan = encode_rollback_plan(plans.RollbackPlan(self.at(number), info, ()), self.client.base_path)
        done = plans.RollbackMetadata(self.at(number), (time(target),), (info,), 0, {})
        self.act("rollback", number, plan, b"", encode_rollback_metadata(done, self.client.base_path))

    def savepoint(self, number: int) -> None:
        done = plans.SavepointMetadata(self.at(number), "me", 1, "", {"p": ("f",)})
        self.writer.transition_inflight("savepoint", time(number))
        self.writer.complete("savepoint", time(number), encode_savepoint_metadata(done), completion(number))

    def stat(self, number: int) -> Mapping[str, Any]:
        name = f"f{number}_0-0-0_{time(number)}.parquet"
        return {"fileId": f"f{number}", "path": name, "partitionPath": "", "numWrites": number}

    def at(self, number: int) -> Instant:
        return Instant(time(number), "x", State.REQUESTED, None, "", "")

    def archive(self, keep: int = 2, most: int = 3, **options: Any) -> ArchiveReport:
        return archive(self.client, min_commits=keep, max_commits=most, **options)

    @property
    def timeline(self) -> Timeline:
        return self.client.reload().timeline


def everything(timeline: Timeline) -> dict[str, Any]:
    """What every instant says, active or archived."""
    result: dict[str, Any] = {}
    for instant in [*timeline.archived().instants, *timeline.instants]:
        key = f"{instant.requested} {instant.action} {instant.state.name} {instant.completed}"
        assert key not in result, f"{key} is both active and archived"
        if instant.is_completed and instant.is_write:
            active = instant in timeline.instants
            metadata = (timeline if active else timeline.archived()).commit_metadata(instant)
            stats = metadata.write_stats.select(["file_id", "path", "num_writes"]).to_pylist()
            result[key] = (metadata.operation, dict(metadata.extra), stats, metadata.replaced.to_pylist())
        elif instant.action == "clean":
            result[key] = timeline.clean_metadata(instant).earliest_retained
        elif instant.action == "rollback":
            result[key] = timeline.rollback_metadata(instant).rolled_back
        else:
            result[key] = None
    return result


def numbers(report: ArchiveReport) -> list[int]:
    return [int(instant.requested[12:14]) for instant in report.archived]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_oldest_commits_go_and_nothing_is_lost(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    for number in range(1, 9):
        table.commit(number)
    before = everything(table.timeline)
    report = table.archive(keep=3, most=4)
    assert numbers(report) == [1, 2, 3, 4, 5]
    assert report.active == 3
    assert everything(table.timeline) == before
    assert [i.requested for i in table.timeline.instants] == [time(6), time(7), time(8)]
    files = [path.name for path in (tmp_path / table.writer.folder).iterdir() if path.name.startswith(time(1))]
    assert files == []
    assert numbers(table.archive(keep=3, most=4)) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_archival_retains_the_minimum_of_commits(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    for number in range(1, 4):
        table.commit(number)
    assert table.archive(keep=2, most=3).archived == ()
    table.commit(4)
    assert numbers(table.archive(keep=2, most=3)) == [1, 2]


@pytest.mark.parametrize("version", VERSIONS)
def test_cleans_rollbacks_and_compactions_go_with_the_commits_around_them(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    table.commit(1)
    table.clean(2, 1)
    table.rollback(4, 3)
    table.commit(5, "COMPACT", compacted=True)
    table.commit(6)
    table.clean(7, 5)
    for number in range(8, 12):
        table.commit(number)
    before = everything(table.timeline)
    assert numbers(table.archive()) == [1, 2, 4, 5, 6, 8, 9]  # the last clean stays
    timeline = table.timeline
    assert everything(timeline) == before
    archived = {i.requested: i for i in timeline.archived().instants}
    assert timeline.archived().plan(archived[time(5)]) is not None
    assert timeline.cleaner_plan(archived[time(2)]).earliest_retained == time(1)


@pytest.mark.parametrize("version", VERSIONS)
def test_archival_stops_at_what_must_stay(tmp_path: Path, version: int) -> None:
    pending = Table(tmp_path / "pending", version)
    pending.commit(1)
    pending.writer.create_requested("commit", time(2))
    saved = Table(tmp_path / "saved", version)
    saved.commit(1)
    saved.commit(2)
    saved.savepoint(2)
    uncleaned = Table(tmp_path / "uncleaned", version)
    uncleaned.commit(1)
    uncleaned.commit(2, "INSERT_OVERWRITE", replaced={"": ["f1"]})
    undone = Table(tmp_path / "undone", version)
    undone.commit(1)
    undone.commit(2)
    plan = plans.RollbackPlan(undone.at(20), (time(2), "commit"), ())
    undone.writer.create_requested("rollback", time(20), encode_rollback_plan(plan, "file:/x"))
    for table, reason in (
        (pending, "pending commit"),
        (saved, "savepoint"),
        (uncleaned, "replaced files"),
        (undone, "pending rollback"),
    ):
        for number in range(3, 8):
            table.commit(number)
        report = table.archive()
        assert numbers(report) == [1], reason
        assert report.bound == time(2)
        assert reason in (report.reason or "")
    uncleaned.clean(9, 3)
    assert numbers(uncleaned.archive()) == [2, 3, 4, 5]


@pytest.mark.parametrize("version", VERSIONS)
def test_archival_may_pass_savepoints_by_option(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    for number in range(1, 8):
        table.commit(number)
    table.savepoint(2)
    before = everything(table.timeline)
    assert numbers(table.archive(beyond_savepoint=True)) == [1, 3, 4, 5]
    assert everything(table.timeline) == before
    assert table.timeline.first_active() == time(6)


def test_the_callers_bound_and_the_metadata_tables_compaction_hold(tmp_path: Path) -> None:
    table = Table(tmp_path, 8)
    for number in range(1, 8):
        table.commit(number)
    assert numbers(table.archive(bound=time(3), reason="its table")) == [1, 2]
    assert table.archive(bound=time(3), reason="its table").reason == "its table"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_metadata_table_holds_its_table_back(tmp_path: Path, version: int) -> None:
    path = unzip_fixture(f"v{version}_cow_part_mdt", tmp_path)
    client = MetaClient.load(path)
    report = archive(client, min_commits=1, max_commits=2)
    assert report.archived == ()  # its metadata table was never compacted
    assert "metadata table" in (report.reason or "")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_commit_with_the_latest_schema_is_not_archived(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    table.commit(1)
    for number in range(2, 8):
        table.commit(number, "COMPACT")
    assert table.archive().archived == ()
    assert table.client.reload().avro_schema() is not None


def test_the_numbers_must_make_sense(tmp_path: Path) -> None:
    table = Table(tmp_path, 8)
    for keep, most in ((0, 3), (3, 3), (4, 3)):
        with pytest.raises(InvalidOptionError, match=r"hoodie\.keep\.min\.commits"):
            table.archive(keep, most)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_archival_does_not_read_the_whole_archive(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    opens = []
    for number in range(1, 10):
        table.commit(number)
        client = MetaClient.load(tmp_path)
        before = client.counters["opens"]
        archive(client, min_commits=1, max_commits=2)
        opens.append(client.counters["opens"] - before)
    assert opens[-1] == opens[-3] > 1, opens


def test_files_of_layout_2_are_merged_level_by_level(tmp_path: Path) -> None:
    table = Table(tmp_path, 8)
    for number in range(1, 27):
        table.commit(number)
        table.archive(keep=1, most=2)
    before = everything(table.timeline)
    assert len(before) == 26
    history = tmp_path / ".hoodie/timeline/history"
    levels = [name.stem.rsplit("_", 1)[1] for name in history.glob("*.parquet")]
    assert "1" in levels
    assert len(list(history.glob("manifest_*"))) == 3
    for number in range(27, 36):
        table.commit(number)
        table.archive(keep=1, most=2)
    assert len(everything(table.timeline)) == 35
    current = (history / "_version_").read_text()
    assert f"manifest_{current}" in {path.name for path in history.iterdir()}


@pytest.mark.parametrize("version", VERSIONS)
def test_real_hudis_archive_goes_on(tmp_path: Path, version: int) -> None:
    client = MetaClient.load(unzip_fixture(f"v{version}_cow_archived", tmp_path))
    before = everything(client.timeline)
    report = archive(client, min_commits=1, max_commits=2)
    assert report.archived
    assert everything(client.reload().timeline) == before


class Dying(Storage):
    """A storage whose n-th call that changes anything does not come back."""

    calls = 1 << 30

    def _count(self) -> None:
        type(self).calls -= 1
        if type(self).calls < 0:
            raise StorageError("died")

    def write_bytes(self, path: str, data: bytes) -> None:
        self._count()
        super().write_bytes(path, data)

    def create_if_absent(self, path: str, data: bytes) -> None:
        self._count()
        super().create_if_absent(path, data)

    def delete(self, path: str, *, missing_ok: bool = True) -> None:
        self._count()
        super().delete(path, missing_ok=missing_ok)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_death_at_any_call_loses_nothing(tmp_path: Path, version: int) -> None:
    deaths = 0
    for survived in range(100):
        table = Table(tmp_path / str(survived), version)
        for number in range(1, 7):
            table.commit(number)
        before = everything(table.timeline)
        Dying.calls = survived
        dying = MetaClient.load(tmp_path / str(survived), storage=Dying(tmp_path / str(survived)))
        try:
            archive(dying, min_commits=2, max_commits=3)
        except StorageError:
            deaths += 1
        else:
            break
        finally:
            Dying.calls = 1 << 30
        timeline = table.timeline
        # Readers take an instant from the active timeline first: between the two steps it is in both.
        writes = {i.requested for i in [*timeline.archived().instants, *timeline.instants] if i.is_completed}
        assert writes == {time(number) for number in range(1, 7)}
        assert all(i.is_completed for i in timeline.instants), "an archived instant looks pending"
        table.commit(7)
        table.archive(keep=2, most=3)
        after = everything(table.timeline)
        assert {key: value for key, value in after.items() if not key.startswith(time(7))} == before
    assert deaths >= 13
