"""Rounds of table services beside the writers of a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_hive.errors import InvalidOptionError, UnknownColumnError, UnsupportedTableError
from hudi_hive.metadata import validate
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import CLEAN, COMPACTION
from hudi_hive.write.coordination import WriterHeartbeat
from hudi_hive.write.services import (
    ServiceEvent,
    ServiceKind,
    ServiceRounds,
    TableServices,
    pending_clusterings,
    schedule_clustering,
    schedule_compaction,
)
from tests.support.options.write_cases import LEAN, make, put, rows
from tests.write.shared.services_compaction_helpers import all_rows
from tests.write.shared.services_rollback_helpers import context_of, copy_of, version

__all__ = ["version"]

OFF = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
NEVER = {"hoodie.compact.inline.max.delta.commits": "1000", "hoodie.clustering.inline.max.commits": "1000"}
AT_ONCE = {"hoodie.compact.inline.max.delta.commits": "1", "hoodie.clustering.inline.max.commits": "1"}
SORTED = {"hoodie.clustering.plan.strategy.sort.columns": "_hoodie_record_key"}


class Rounds(ServiceRounds):
    """Rounds on a table, which keep their events."""

    def __init__(self, path: Path, *kinds: ServiceKind, **options: str) -> None:
        self.events: list[ServiceEvent] = []
        super().__init__(lambda: TableServices(context_of(path, **options)), kinds, on_event=self.events.append)

    def services(self) -> list[str]:
        """The services of the events since the last call."""
        names = [event.service.value for event in self.events]
        self.events.clear()
        return names


def test_plans_of_writers_are_run_and_no_more_than_is_due(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_mor_event_time", tmp_path)
    before = all_rows(path)
    planned = schedule_compaction(context_of(path))
    assert planned is not None
    rounds = Rounds(path, ServiceKind.CLUSTER, ServiceKind.COMPACT, **NEVER)
    assert rounds.run() == []
    assert [event.instant for event in rounds.events] == [planned.requested]
    assert rounds.services() == ["compact"]
    assert rounds.run() == [] and rounds.events == []
    clustering = schedule_clustering(context_of(path, **SORTED))
    assert clustering is not None
    assert rounds.run() == []
    assert [event.instant for event in rounds.events] == [clustering.requested]
    assert all_rows(path) == before


def test_services_run_in_order_when_they_are_due(tmp_path: Path) -> None:
    path = tmp_path / "t"
    make(path, table_type="MERGE_ON_READ")
    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}
    put(path, {**LEAN, **OFF, **inline}, rows(), *(rows(0, 40, ts=[number] * 40) for number in range(2, 6)))
    before = all_rows(path)
    limits = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    rounds = Rounds(path, ServiceKind.ARCHIVE, ServiceKind.CLEAN, ServiceKind.COMPACT, **AT_ONCE, **limits)
    assert rounds.run() == []
    assert rounds.services() == ["compact", "clean", "archive"]
    timeline = MetaClient.load(path).timeline
    assert len(timeline.completed({CLEAN})) == 1 and len(timeline.write_instants()) == 2
    assert all_rows(path) == before
    assert rounds.run() == [] and rounds.events == []


def test_missing_metadata_partitions_are_initialised_once(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_nonpart", tmp_path)
    options = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
    rounds = Rounds(path, ServiceKind.INDEX, **options)
    assert rounds.run() == []
    (event,) = rounds.events
    assert "column_stats" in event.detail and rounds.services() == ["index"]
    assert rounds.run() == [] and rounds.events == []
    more = Rounds(path, ServiceKind.INDEX, **options, **{"hoodie.metadata.record.index.enable": "true"})
    assert more.run() == [] and [one.detail for one in more.events] == ["record_index made"]
    assert validate(MetaClient.load(path)).is_valid


def test_a_failed_service_does_not_stop_the_others(tmp_path: Path) -> None:
    path = copy_of("v8_mor_event_time", tmp_path)
    nowhere = {"hoodie.clustering.plan.strategy.sort.columns": "nowhere", "hoodie.clean.commits.retained": "1"}
    rounds = Rounds(path, ServiceKind.COMPACT, ServiceKind.CLUSTER, ServiceKind.CLEAN, **AT_ONCE, **nowhere)
    (failure,) = rounds.run()
    assert isinstance(failure, UnknownColumnError)
    assert [(event.service.value, event.row()["event"]) for event in rounds.events] == [
        ("compact", "done"),
        ("cluster", "failed"),
        ("clean", "done"),
    ]


def test_a_stop_lets_the_service_at_hand_finish(tmp_path: Path) -> None:
    path = copy_of("v8_mor_event_time", tmp_path)
    rounds = Rounds(path, ServiceKind.COMPACT, ServiceKind.CLUSTER, **AT_ONCE, **SORTED)
    rounds._on_event = lambda event: rounds.stop()
    rounds.watch(3600)
    timeline = MetaClient.load(path).timeline
    assert not timeline.pending() and not pending_clusterings(MetaClient.load(path))
    assert timeline.commit_metadata(timeline.write_instants()[-1]).operation == "COMPACT"


def test_a_plan_at_which_another_process_is_stays_its_own(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_mor_event_time", tmp_path)
    clustering = schedule_clustering(context_of(path, **SORTED))
    assert clustering is not None
    context = context_of(path)
    beating = WriterHeartbeat.of({}, context.client.storage, clustering.requested)
    beating.start()
    rounds = Rounds(path, ServiceKind.CLUSTER, **NEVER)
    assert rounds.run() == [] and rounds.events == []
    beating.stop()
    assert rounds.run() == [] and rounds.services() == ["cluster"]


def test_a_clustering_that_cannot_be_done_gives_up_its_plan(tmp_path: Path) -> None:
    path = copy_of("v8_mor_event_time", tmp_path)
    before = all_rows(path)
    plan = schedule_clustering(context_of(path, **SORTED))
    assert plan is not None
    (clustering,) = MetaClient.load(path).timeline.pending_clustering_plans()
    base = next(name for name in clustering.slices["base_file"].to_pylist() if name)
    lost = next(path.rglob(base.rpartition("/")[2]))
    lost.rename(tmp_path / "kept")
    rounds = Rounds(path, ServiceKind.CLUSTER, **NEVER)
    assert len(rounds.run()) == 1 and rounds.events[0].instant == plan.requested
    (tmp_path / "kept").rename(lost)
    assert not pending_clusterings(MetaClient.load(path))
    assert all_rows(path) == before


def test_a_round_that_fails_is_followed_by_the_next_one(tmp_path: Path) -> None:
    path = copy_of("v8_mor_event_time", tmp_path)
    rounds = Rounds(path, ServiceKind.COMPACT, ServiceKind.CLEAN, **AT_ONCE)
    seen: list[str] = []

    def show(event: ServiceEvent) -> None:
        seen.append(str(event.row()["event"]))
        if event.error is not None:
            (tmp_path / "away").rename(path)
        else:
            rounds.stop()

    rounds._on_event = show
    rounds._services = None
    path.rename(tmp_path / "away")
    rounds.watch(0.001)
    assert seen == ["failed", "done"]
    assert not MetaClient.load(path).timeline.pending({COMPACTION})


def test_what_a_listener_raises_ends_the_rounds(tmp_path: Path) -> None:
    def broken(event: ServiceEvent) -> None:
        raise BrokenPipeError

    path = copy_of("v8_mor_event_time", tmp_path)
    services = TableServices(context_of(path, **AT_ONCE))
    with pytest.raises(BrokenPipeError):
        ServiceRounds(lambda: services, [ServiceKind.COMPACT], on_event=broken).watch(3600)


def test_what_can_never_run_is_refused_at_once(tmp_path: Path) -> None:
    path = copy_of("v8_cow_nonpart", tmp_path)
    with pytest.raises(UnsupportedTableError, match="merge-on-read"):
        Rounds(path, ServiceKind.COMPACT)
    with pytest.raises(InvalidOptionError, match=r"metadata\.enable"):
        Rounds(path, ServiceKind.INDEX)
    with pytest.raises(InvalidOptionError, match="chosen"):
        Rounds(path)
    for interval in (0, -1, float("nan"), 1e9):
        with pytest.raises(InvalidOptionError, match="seconds"):
            Rounds(path, ServiceKind.CLEAN).watch(interval)
