"""Writing instants: files of states, their payloads and schemas, and the times that are drawn for them."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.errors import InvalidOptionError, TimelineError
from hudi_hive.storage import Storage
from hudi_hive.timeline import State, Timeline
from hudi_hive.timeline.core.instant_times import InstantClock, greatest_time, next_time
from hudi_hive.timeline.core.writer import TimelineWriter
from hudi_hive.timeline.payloads.avro_models import model_schema
from hudi_hive.timeline.payloads.encoders import NewCommitMetadata, encode_commit
from tests.support.fixture_tables import fixture_names, unzip_fixture

LAYOUTS = (1, 2)
SCHEMA = '{"type":"record","name":"row","fields":[{"name":"id","type":"int"}]}'
STAT: dict[str, Any] = {
    "fileId": "f-0",
    "path": "p/f-0_0-0-0_20260101000000000.parquet",
    "partitionPath": "p",
    "prevCommit": "null",
    "numWrites": 3,
    "numInserts": 3,
    "fileSizeInBytes": 1000,
    "totalWriteBytes": 1000,
    "runtimeStats": {"totalScanTime": 0, "totalUpsertTime": 0, "totalCreateTime": 7},
}


def table(tmp_path: Path, layout: int) -> tuple[Storage, TimelineWriter]:
    storage = Storage(tmp_path)
    storage.create_dir(".hoodie/timeline/history")
    return storage, TimelineWriter(storage, SimpleNamespace(layout=layout, timeline_path="timeline"))


def load(storage: Storage, layout: int) -> Timeline:
    return Timeline.load(storage, layout=layout, timezone="UTC")


def commit(writer: TimelineWriter, time: str, action: str = "commit", completed: str | None = None) -> None:
    writer.create_requested(action, time)
    writer.transition_inflight(action, time)
    out = NewCommitMetadata("UPSERT", {"schema": SCHEMA}, [STAT])
    writer.complete(action, time, encode_commit(out, writer.layout), completed or next_time(time))


# -- states --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("action", ["commit", "deltacommit", "compaction", "logcompaction", "clustering", "clean"])
def test_an_instant_goes_through_its_states(tmp_path: Path, layout: int, action: str) -> None:
    storage, writer = table(tmp_path, layout)
    writer.create_requested(action, "20260101000000000")
    assert [i.state for i in load(storage, layout).instants] == [State.REQUESTED]
    writer.transition_inflight(action, "20260101000000000")
    pending = load(storage, layout).instants
    assert [i.state for i in pending] == [State.INFLIGHT]
    expected = {"clustering": "replacecommit"} if layout == 1 else {}
    assert pending[0].action == expected.get(action, action)
    done = writer.complete(action, "20260101000000000", b"", "20260101000000001")
    (instant,) = load(storage, layout).instants
    assert instant == done
    assert instant.completed == (None if layout == 1 else "20260101000000001")
    writer.delete(instant)
    assert load(storage, layout).instants == ()


def test_file_names_are_those_of_hudi(tmp_path: Path) -> None:
    for layout, names in (
        (1, ["1.commit", "1.commit.requested", "1.inflight"]),
        (2, ["1.commit.requested", "1.inflight", "1_2.commit"]),
    ):
        storage, writer = table(tmp_path / str(layout), layout)
        writer.create_requested("commit", "1")
        writer.transition_inflight("commit", "1")
        writer.complete("commit", "1", b"", "2")
        listing = storage.list(writer.folder)
        files = [
            path
            for path, folder in zip(listing["path"].to_pylist(), listing["is_dir"].to_pylist(), strict=True)
            if not folder
        ]
        assert sorted(path.rsplit("/", 1)[-1] for path in files) == names


@pytest.mark.parametrize("layout", LAYOUTS)
def test_states_cannot_be_skipped_or_taken_twice(tmp_path: Path, layout: int) -> None:
    storage, writer = table(tmp_path, layout)
    with pytest.raises(TimelineError, match="not REQUESTED"):
        writer.transition_inflight("commit", "20260101000000000")
    writer.create_requested("commit", "20260101000000000")
    with pytest.raises(TimelineError, match="REQUESTED already"):
        writer.create_requested("commit", "20260101000000000")
    with pytest.raises(TimelineError, match="not INFLIGHT"):
        writer.complete("commit", "20260101000000000", b"", "20260101000000001")
    writer.transition_inflight("commit", "20260101000000000")
    rolled_back = load(storage, layout).instants[0]
    writer.delete(rolled_back)
    with pytest.raises(TimelineError, match="rolled back"):
        writer.complete("commit", "20260101000000000", b"", "20260101000000001")
    assert load(storage, layout).instants == ()


def test_layout_2_wants_a_later_completion_time(tmp_path: Path) -> None:
    _, writer = table(tmp_path, 2)
    writer.create_requested("commit", "20260101000000000")
    writer.transition_inflight("commit", "20260101000000000")
    for completed in (None, "20260101000000000", "20250101000000000"):
        with pytest.raises(InvalidOptionError):
            writer.complete("commit", "20260101000000000", b"", completed)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_rolled_back_compaction_keeps_its_plan(tmp_path: Path, layout: int) -> None:
    storage, writer = table(tmp_path, layout)
    writer.create_requested("compaction", "20260101000000000")
    inflight = writer.transition_inflight("compaction", "20260101000000000")
    writer.delete(inflight, (State.INFLIGHT,))
    assert [(i.action, i.state) for i in load(storage, layout).instants] == [("compaction", State.REQUESTED)]


# -- commit metadata -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_commit_metadata_is_read_back(tmp_path: Path, layout: int) -> None:
    storage, writer = table(tmp_path, layout)
    name = ".g-0_20260101000000000.log.1_0-0-0"
    log = {**STAT, "fileId": "g-0", "path": name, "partitionPath": "", "prevCommit": "1"}
    log |= {"logVersion": 1, "logOffset": 0, "baseFile": "", "logFiles": [name], "cdcStats": {"c": 5}}
    out = NewCommitMetadata(
        "INSERT_OVERWRITE", {"schema": SCHEMA, "mine": "x"}, [STAT, log], {"p": ["a-0", "b-0"], "q": []}
    )
    writer.create_requested("replacecommit", "20260101000000000")
    writer.transition_inflight("replacecommit", "20260101000000000")
    writer.complete("replacecommit", "20260101000000000", encode_commit(out, layout), "20260101000000009")
    timeline = load(storage, layout)
    metadata = timeline.commit_metadata(timeline.instants[0])
    assert metadata.operation == "INSERT_OVERWRITE"
    assert metadata.extra == out.extra
    assert metadata.replaced.to_pylist() == [
        {"partition": "p", "file_id": "a-0"},
        {"partition": "p", "file_id": "b-0"},
    ]
    assert metadata.partitions_touched() == ["", "p", "q"]
    rows = {row["file_id"]: row for row in metadata.write_stats.to_pylist()}
    assert rows["f-0"]["num_writes"] == 3
    assert rows["f-0"]["num_errors"] == 0
    assert rows["g-0"]["log_files"] == log["logFiles"]
    assert rows["g-0"]["cdc_stats"] == [("c", 5)]


def test_only_replacing_commits_have_replaced_groups() -> None:
    for operation, replaces in (("UPSERT", False), ("DELETE_PARTITION", True), ("CLUSTER", True)):
        data = encode_commit(NewCommitMetadata(operation, {}), 1)
        assert ("partitionToReplaceFileIds" in json.loads(data)) is replaces
        reader = fastavro.reader(io.BytesIO(encode_commit(NewCommitMetadata(operation, {}), 2)))
        assert ("partitionToReplaceFileIds" in next(reader)) is replaces


@pytest.mark.parametrize("layout", LAYOUTS)
def test_unknown_stats_are_refused(layout: int) -> None:
    with pytest.raises(TimelineError, match="nmWrites"):
        encode_commit(NewCommitMetadata("UPSERT", {}, [{**STAT, "nmWrites": 1}]), layout)
    with pytest.raises(TimelineError, match="partition"):
        encode_commit(NewCommitMetadata("UPSERT", {}, [{"fileId": "x"}]), layout)


# -- schemas ---------------------------------------------------------------------------------------------------------


def _plain(schema: object) -> object:
    """A schema without remarks, name spaces, Java's string hints and defaults that stand inside types."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inside = schema.get("type") in ("array", "map")
    dropped = {"doc", "avro.java.string", "namespace"} | ({"default"} if inside else set())
    kept = {key: _plain(value) for key, value in schema.items() if key not in dropped}
    return kept["type"] if set(kept) == {"type"} else kept


@pytest.mark.parametrize("version", [6, 8, 9])
def test_schemas_are_those_of_the_release_that_writes_the_version(version: int) -> None:
    layout = 1 if version == 6 else 2
    seen: set[str] = set()
    for name in fixture_names(version=version):
        folder = Path(unzip_fixture(name)) / ".hoodie"
        for path in [*folder.glob("2*"), *folder.glob("timeline/2*")]:
            data = path.read_bytes()
            if data[:4] != b"Obj\x01":
                continue
            real = json.loads(fastavro.reader(io.BytesIO(data)).metadata["avro.schema"])
            seen.add(real["name"])
            assert _plain(model_schema(real["name"], layout)) == _plain(real), path.name
    assert len(seen) >= 8


# -- times -----------------------------------------------------------------------------------------------------------


def test_a_new_instant_is_greater_than_all_others(tmp_path: Path) -> None:
    storage, writer = table(tmp_path, 2)
    clock = InstantClock(lambda: 1_767_225_600_000)  # 2026-01-01
    assert clock.new_instant(None, "UTC") == "20260101000000000"
    assert clock.new_instant(None, "UTC") == "20260101000000001"
    commit(writer, "20270101000000000", completed="20281231235959999")
    writer.create_requested("commit", "20280101000000000")
    timeline = load(storage, 2)
    assert greatest_time(timeline) == "20281231235959999"
    assert clock.new_instant(timeline) == "20290101000000000"
    assert clock.completion_time(timeline, "20290101000000000") == "20290101000000001"


def test_instants_follow_the_wall_clock_in_the_tables_zone() -> None:
    assert InstantClock(lambda: 1_767_225_600_123).new_instant(None, "UTC") == "20260101000000123"
    assert InstantClock(lambda: 1_767_225_600_123).new_instant(None, "Asia/Tokyo") == "20260101090000123"


@pytest.mark.parametrize(
    ("instant", "following"),
    [
        ("20261231235959999", "20270101000000000"),
        ("20240228235959999", "20240229000000000"),
        ("20260101000000", "20260101000001000"),
        ("20260101000000123010", "20260101000000124"),
        ("00000000000000000", "00000000000000001"),
    ],
)
def test_the_next_time(instant: str, following: str) -> None:
    assert next_time(instant) == following


@given(st.lists(st.integers(1_600_000_000_000, 1_900_000_000_000), min_size=1, max_size=20))
def test_times_always_rise(readings: list[int]) -> None:
    source = iter(readings)
    clock = InstantClock(lambda: next(source))
    drawn = [clock.new_instant(None, "America/New_York") for _ in readings[:-1]]
    copied = pickle.loads(pickle.dumps(clock)).new_instant(None, "America/New_York")
    assert drawn == sorted(set(drawn))
    assert not drawn or copied > drawn[-1]
