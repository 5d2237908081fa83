"""Conflicts with writers that are still at work: ``hoodie.write.concurrency.early.conflict.detection.enable``."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError, WriteConflictError
from hudi_hive.timeline.core import TimelineWriter
from hudi_hive.write.coordination import EarlyConflictDetection, LocalExecutor, WriterHeartbeat
from hudi_hive.write.files import run_write_task
from hudi_hive.write.files.markers import MarkerKind, create_marker, marked_in_partition
from hudi_hive.write.writers import LocalWriter
from tests.support.options.write_cases import LEAN, make, put, rows

SEVERAL = {
    **LEAN,
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}
EARLY = {**SEVERAL, "hoodie.write.concurrency.early.conflict.detection.enable": "true"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}


class _Met(LocalExecutor):
    """An executor behind whose files, which no commit names yet, another write is tried."""

    def __init__(self, path: Path, options: dict[str, str], batch: pa.Table) -> None:
        super().__init__(1)
        self._path, self._options, self._batch = path, options, batch
        self.error: WriteConflictError | None = None
        self.began: list[str] = []

    def map(self, function: Any, tasks: Any) -> Any:
        results = super().map(function, tasks)
        if function is run_write_task:
            writer = LocalWriter(HudiTable.open(self._path).client, self._options, executor=_Files(self.began))
            try:
                writer.write(self._batch)
            except WriteConflictError as error:
                self.error = error
        return results


class _Files(LocalExecutor):
    """An executor that says which files were begun by its tasks when one of them fails."""

    def __init__(self, began: list[str]) -> None:
        super().__init__(1)
        self._began = began

    def map(self, function: Any, tasks: Any) -> Any:
        try:
            return super().map(function, tasks)
        except WriteConflictError:
            context = tasks[0][0]
            folder = Path(context.storage.uri().removeprefix("file:"))
            self._began += [one.name for one in folder.rglob("*") if context.instant in one.name and one.is_file()]
            raise


def _of(partition: str, first: int, ts: int) -> pa.Table:
    return rows(first, 10, p=[partition] * 10, ts=[ts] * 10)


def _begun_files(names: list[str]) -> list[str]:
    return [name for name in names if ".parquet" in name or ".log." in name]


@pytest.mark.parametrize(("kind", "index"), [("COPY_ON_WRITE", {}), ("MERGE_ON_READ", {}), ("MERGE_ON_READ", BUCKETS)])
@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_write_ends_before_it_writes_to_a_group_at_which_another_one_is(
    tmp_path: Path, version: int, kind: str, index: dict[str, str]
) -> None:
    make(tmp_path, version=version, table_type=kind)
    put(tmp_path, {**SEVERAL, **index}, _of("a", 0, 1))
    second = _Met(tmp_path, {**EARLY, **index}, _of("a", 0, 3))
    LocalWriter(HudiTable.open(tmp_path).client, {**SEVERAL, **index}, executor=second).write(_of("a", 0, 2))
    assert second.error is not None and "which is at work" in str(second.error)
    assert not _begun_files(second.began)
    table = HudiTable.open(tmp_path)
    assert set(table.scan().to_arrow()["ts"].to_pylist()) == {2} and not table.timeline.pending()
    put(tmp_path, {**EARLY, **index}, _of("a", 0, 4))
    assert set(HudiTable.open(tmp_path).scan().to_arrow()["ts"].to_pylist()) == {4}


def test_writers_of_other_groups_do_not_meet(tmp_path: Path) -> None:
    make(tmp_path)
    put(tmp_path, SEVERAL, _of("a", 0, 1), _of("b", 10, 1))
    second = _Met(tmp_path, EARLY, _of("b", 10, 3))
    LocalWriter(HudiTable.open(tmp_path).client, EARLY, executor=second).write(_of("a", 0, 2))
    assert second.error is None
    read = HudiTable.open(tmp_path).scan().to_arrow()
    assert set(zip(read["p"].to_pylist(), read["ts"].to_pylist(), strict=True)) == {("a", 2), ("b", 3)}


def test_new_groups_of_one_bucket_are_one(tmp_path: Path) -> None:
    make(tmp_path)
    second = _Met(tmp_path, {**EARLY, **BUCKETS}, _of("a", 20, 3))
    LocalWriter(HudiTable.open(tmp_path).client, {**SEVERAL, **BUCKETS}, executor=second).write(_of("a", 0, 2))
    assert second.error is not None and not _begun_files(second.began)


@pytest.mark.parametrize("partition", ["a", ""])
def test_only_living_writes_that_are_pending_count(tmp_path: Path, partition: str) -> None:
    make(tmp_path)
    client = HudiTable.open(tmp_path).client
    storage, timeline = client.storage, TimelineWriter(client.storage, client.config)
    name = "f1-0_0-0-1_20200101000000000.parquet"
    detection = EarlyConflictDetection(client.config, 60_000, 2)

    def check() -> None:
        own, file = "20300101000000000", "f1-0_0-0-2_20300101000000000.parquet"
        detection.check(storage, own, partition, file, lambda other: marked_in_partition(storage, partition, other))

    check()
    for instant, action in (("20200101000000000", "commit"), ("20200102000000000", "compaction")):
        timeline.create_requested(action, instant)
        beat = WriterHeartbeat.of({}, storage, instant)
        beat.start()
        create_marker(storage, instant, "other", name, MarkerKind.MERGE)
        check()  # of another partition
        create_marker(storage, instant, partition, name.replace("f1", "f2"), MarkerKind.MERGE)
        check()  # of another group
        create_marker(storage, instant, partition, name, MarkerKind.MERGE)
        if action == "compaction":
            check()
            continue
        with pytest.raises(WriteConflictError, match=instant):
            check()
        then = time.time() - 121
        os.utime(tmp_path / ".hoodie/.heartbeat" / instant, (then, then))
        check()  # dead
        beat.beat()
        with pytest.raises(WriteConflictError):
            check()
        timeline.transition_inflight(action, instant)
        timeline.complete(action, instant, b"{}", "20200101000000001")
        check()  # its commit is for the look at the commit
        beat.stop()


@pytest.mark.parametrize("partition", ["a/b", ""])
def test_markers_of_a_timeline_server_count(tmp_path: Path, partition: str) -> None:
    make(tmp_path)
    client = HudiTable.open(tmp_path).client
    storage, timeline = client.storage, TimelineWriter(client.storage, client.config)
    detection, other = EarlyConflictDetection(client.config, 60_000, 2), "20200101000000000"
    timeline.create_requested("commit", other)
    beat = WriterHeartbeat.of({}, storage, other)
    beat.start()

    def check(file: str = "f1-0_0-0-2_20300101000000000.parquet") -> None:
        marked = partial(marked_in_partition, storage, partition)
        detection.check(storage, "20300101000000000", partition, file, marked)

    def mark(*places: str) -> None:
        lines = "".join(f"{place}-0_0-428-438_{other}.parquet.marker.MERGE\n" for place in places)
        folder = tmp_path / ".hoodie/.temp" / other
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "MARKERS.type").write_text("TIMELINE_SERVER_BASED")
        (folder / "MARKERS7").write_text(lines.rstrip() if len(places) > 2 else lines[:-7])

    prefix = f"{partition}/" if partition else ""
    mark("elsewhere/f1", f"{prefix}f2")
    check()
    mark(f"{prefix}f1")
    check()  # its line is not whole yet
    mark("elsewhere/f3", f"{prefix}f2", f"{prefix}f1")
    with pytest.raises(WriteConflictError, match=other):
        check()
    check("f3-0_0-0-2_20300101000000000.parquet")
    beat.stop()


def test_several_writers_of_one_group_contradict_it(tmp_path: Path) -> None:
    make(tmp_path, table_type="MERGE_ON_READ")
    both = {**EARLY, **BUCKETS, "hoodie.write.concurrency.mode": "non_blocking_concurrency_control"}
    with pytest.raises(InvalidOptionError, match="contradicts"):
        put(tmp_path, both, _of("a", 0, 1))
