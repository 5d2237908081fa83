"""Clocks that go back, and timelines with times that no clock shows: instants grow, or the write is refused."""

from __future__ import annotations

import json
import random
import time

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import TimelineError
from hudi_hive.timeline import State
from hudi_hive.timeline.core.instant_times import InstantClock, next_time
from hudi_hive.timeline.core.writer import TimelineWriter
from hudi_hive.timeline.payloads.encoders import NewCommitMetadata, encode_commit
from hudi_hive.write.rollback import rollback
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import compact
from tests.support.faults.write_acts import rows
from tests.support.faults.write_faults import check_tidy, rows_of

DAY = 86_400_000_000_000
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
OFF = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}


def table_at(path, kind=COW, version=8):
    made = {"table_type": kind, "version": version, "record_keys": ["id"], "partition_fields": ["part"]}
    return HudiTable.create(path, name="t", ordering_fields=["ts"], **made)


@pytest.mark.parametrize(("kind", "version"), [(MOR, 6), (COW, 8), (MOR, 9)])
def test_a_clock_that_goes_back_between_commits(kind, version, tmp_path, monkeypatch):
    """Each write has a clock of its own, as writers of several machines have; no row is lost, none invisible."""
    draw, start = random.Random(version), time.time_ns()
    table = table_at(tmp_path / "t", kind, version)
    expected, instants = {}, []
    for step in range(7):
        jump = draw.choice([-400 * DAY, -DAY, -1_000_000, 0, 3600 * 10**9])
        monkeypatch.setattr("hudi_hive.timeline.core.instant_times.time.time_ns", lambda now=start + jump: now)
        keys = draw.sample(["a", "b", "cc", "dd", "e"], 3)
        instants.append(table.upsert(rows(step, *keys), OFF).instant.requested)
        expected |= {row["id"]: row["value"] for row in rows(step, *keys).to_pylist()}
        assert {row["id"]: row["value"] for row in rows_of(tmp_path / "t")} == expected
        if step == 4 and kind == MOR:
            (done,) = compact(ServiceContext(table.refresh().client, OFF))
            instants.append(done.requested)
        if step == 5:
            undone = rollback(ServiceContext(table.refresh().client, OFF), table.insert(rows(9, "u"), OFF).instant)
            assert undone.instant.requested > instants[-1]
    assert instants == sorted(set(instants))
    completed = [i.completed for i in sorted(table.refresh().timeline.instants, key=lambda i: i.requested)]
    assert version == 6 or completed == sorted(completed)
    check_tidy(tmp_path / "t")


@pytest.mark.parametrize(
    ("odd", "state", "version"),
    [
        ("99999999999999999", State.COMPLETED, 6),
        ("99999999999999999", State.REQUESTED, 8),
        ("99991231235959999", State.COMPLETED, 8),
        ("20261399000000000", State.REQUESTED, 6),
        ("99999999999999", State.COMPLETED, 6),
        ("7", State.COMPLETED, 8),
    ],
)
def test_a_write_after_the_greatest_possible_instant_is_refused(odd, state, version, tmp_path):
    """Nothing of the write is left, and once the instant's files are gone it goes well."""
    table = table_at(tmp_path / "t", version=version)
    table.insert(rows(1, "a"))
    folder = tmp_path / "t/.hoodie" / ("timeline" if version == 8 else "")
    suffix = "commit" if state is State.COMPLETED else "commit.requested"
    schema = {"schema": json.dumps({"type": "record", "name": "t", "fields": [{"name": "id", "type": "string"}]})}
    empty = encode_commit(NewCommitMetadata("UPSERT", schema, []), table.config.layout)
    bad = folder / (f"{odd}_{odd[:-1]}9.{suffix}" if (version, state) == (8, State.COMPLETED) else f"{odd}.{suffix}")
    bad.write_bytes(empty if state is State.COMPLETED else b"")
    before = sorted(path for path in (tmp_path / "t").rglob("*"))
    for _ in range(2):
        with pytest.raises(TimelineError, match="no instant time comes after this one") as caught:
            table.refresh().insert(rows(2, "b"))
        assert str(caught.value.instant).startswith(odd[:-1]) and "move its files" in str(caught.value.remedy)
    assert sorted(path for path in (tmp_path / "t").rglob("*")) == before
    bad.unlink()
    assert table.refresh().insert(rows(2, "b")).inserted == 1
    assert [row["id"] for row in rows_of(tmp_path / "t")] == ["a", "b"]
    check_tidy(tmp_path / "t")


@pytest.mark.parametrize("version", [6, 8])
def test_an_instant_far_in_the_future_is_followed_by_the_next_millisecond(version, tmp_path):
    table = table_at(tmp_path / "t", version=version)
    clock = InstantClock(lambda: 4_000_000_000_000)
    far = clock.new_instant(None, table.config.timezone)
    client = table.client
    TimelineWriter(client.storage, client.config).create_requested("commit", far)  # of a writer that died
    reports = [table.refresh().upsert(rows(step, "a")) for step in range(2)]
    times = [far, *(report.instant.requested for report in reports)]
    assert times == sorted(set(times)) and all(len(time) == 17 and time[:4] == far[:4] for time in times)
    assert [row["value"] for row in rows_of(tmp_path / "t")] == ["a 1"]


def test_the_next_time():
    assert next_time("20261231235959999") == "20270101000000000"
    assert next_time("20261231235959") == "20270101000000000"
    assert next_time("00000000000000009") == "00000000000000010"
    assert next_time("00000000000001999123") == "00000000000002000"
