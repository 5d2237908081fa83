"""Delta commits that another writer has begun without the lock, as Hudi 1.1 does: left alone while that one lives."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from hudi_hive.metadata import MetadataListing, validate
from hudi_hive.metadata.reader import MetadataChanges
from hudi_hive.metadata.writer.store import MetadataStore, RecordChanges
from hudi_hive.table import MetaClient
from hudi_hive.timeline import State
from tests.support.tables.metadata_writing import HandMade

OPTIONS = {"hoodie.metadata.compact.max.delta.commits": "3"}
HEARTBEATS = (".hoodie/.heartbeat", ".hoodie/metadata/.hoodie/.heartbeat")


class Streaming:
    """A write whose delta commit is begun at once, and completed when the block is left.

    Args:
        table: the table.
        rows: of the write, ``{partition: [(id, n)]}``.
    """

    def __init__(self, table: HandMade, rows: dict[str, list[tuple[str, int]]]) -> None:
        self.instant = table.begin()
        self.changes = table.write(self.instant, rows)
        self.error: Exception | None = None
        self._table = table
        self._writes = self._changes_of(table)
        self._begun, self._may_complete = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _changes_of(self, table: HandMade) -> dict[str, RecordChanges]:
        return table.writer()._changes(self.instant, self.changes)

    def _run(self) -> None:
        store = MetadataStore(self._table.client)
        complete = store.complete

        def last(*arguments: object, **more: object) -> None:
            self._begun.set()
            self._may_complete.wait()
            store.move_to_now()
            complete(*arguments, **more)

        store.complete = last
        try:
            store.delta_commit(self.instant, self._writes)
        except Exception as error:
            self.error = error
        self._begun.set()

    def __enter__(self) -> Streaming:
        self._thread.start()
        self._begun.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._may_complete.set()
        self._thread.join()


def files_of(path: Path) -> tuple[set[str], str]:
    """Names of the files that readers see, and where they have them from."""
    client = MetaClient.load(path, listing=MetadataListing())
    names = client.file_system_view().latest_base_files().column("name").to_pylist()
    return set(names), client.lister.source


def added(*changes: object) -> set[str]:
    return {name for one in changes for name in one.files_added.column("name").to_pylist()}


@pytest.mark.parametrize("folder", HEARTBEATS)
def test_a_living_writers_delta_commit_is_left_alone(tmp_path: Path, folder: str) -> None:
    path = tmp_path / "t"
    table = HandMade(path, 9)
    before = [table.commit({"a": [(f"k{n}", n)]}, **OPTIONS)[1] for n in range(2)]
    with Streaming(table, {"a": [("theirs", 1)], "z": [("new", 2)]}) as other:
        (path / folder).mkdir(parents=True, exist_ok=True)
        (path / folder / other.instant).write_bytes(b"")
        ours = [table.commit({"a": [(f"o{n}", n)]}, **OPTIONS)[1] for n in range(4)]
        assert files_of(path) == (added(*before, *ours), "metadata table")
    assert other.error is None
    own = MetadataStore(table.fresh()).client.timeline
    assert [i.action for i in own.instants].count("commit"), "a compaction came between"
    assert files_of(path) == (added(*before, *ours), "metadata table")  # its data instant is pending yet
    table.complete(other.instant, other.changes)
    last = table.commit({"a": [("last", 9)]}, **OPTIONS)[1]
    assert files_of(path) == (added(*before, *ours, other.changes, last), "metadata table")
    report = validate(table.fresh())
    assert report.is_valid, str(report)


def test_one_that_is_pending_behind_a_compaction_is_rolled_back_with_its_instant(tmp_path: Path) -> None:
    """The compaction has merged nothing of it: nothing else of the metadata table goes."""
    path = tmp_path / "t"
    table = HandMade(path, 9)
    table.commit({"a": [("k", 1)]}, **OPTIONS)
    with Streaming(table, {"a": [("theirs", 1)]}) as other:
        (path / HEARTBEATS[1]).mkdir(parents=True)
        (path / HEARTBEATS[1] / other.instant).write_bytes(b"")
        for number in range(4):
            table.commit({"a": [(f"o{number}", number)]}, **OPTIONS)
        assert "commit" in {i.action for i in MetadataStore(table.fresh()).client.timeline.instants}
        before = table.fresh().config.metadata_partitions
        table.writer().rollback(table.begin("rollback"), other.instant, MetadataChanges())
        assert other.instant not in {i.requested for i in MetadataStore(table.fresh()).client.timeline.instants}
        assert table.fresh().config.metadata_partitions == before


@pytest.mark.parametrize("why", ["no heartbeat", "a silent one", "a data instant that is gone"])
def test_a_dead_writers_delta_commit_is_taken_back(tmp_path: Path, why: str) -> None:
    path = tmp_path / "t"
    table = HandMade(path, 9)
    table.commit({"a": [("k", 1)]})
    with Streaming(table, {"a": [("theirs", 1)]}) as other:
        for folder in HEARTBEATS if why != "no heartbeat" else ():
            (path / folder).mkdir(parents=True, exist_ok=True)
            beat = path / folder / other.instant
            beat.write_bytes(b"")
            if why == "a silent one":
                old = beat.stat().st_mtime - 121
                os.utime(beat, (old, old))
        if why == "a data instant that is gone":
            for state in (State.INFLIGHT, State.REQUESTED):
                table.client.storage.delete(table.instants.path("commit", other.instant, state))
        table.commit({"a": [("ours", 2)]})
        own = MetadataStore(table.fresh()).client.timeline
        assert other.instant not in {i.requested for i in own.instants}
    assert not (path / HEARTBEATS[1] / other.instant).exists()


def test_in_version_6_all_is_done_under_the_lock(tmp_path: Path) -> None:
    table = HandMade(tmp_path / "t", 6)
    table.commit({"a": [("k", 1)]})
    with Streaming(table, {"a": [("theirs", 1)]}) as other:
        (tmp_path / "t" / HEARTBEATS[0]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "t" / HEARTBEATS[0] / other.instant).write_bytes(b"")
        table.commit({"a": [("ours", 2)]})
        own = MetadataStore(table.fresh()).client.timeline
        assert other.instant not in {i.requested for i in own.instants}
