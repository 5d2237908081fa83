"""Heartbeats: who is alive, who is dead, who notices that it was silent."""

from __future__ import annotations

import multiprocessing
import os
import threading
from pathlib import Path

import pytest

from hudi_hive.errors import HeartbeatLostError, InvalidOptionError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.heartbeat import WriterHeartbeat, silent_instants


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path)


def test_a_heartbeat_lives_as_long_as_its_block(storage, tmp_path):
    with WriterHeartbeat(storage, "20260101000000000") as heartbeat:
        heartbeat.verify()
        assert os.listdir(tmp_path / ".hoodie/.heartbeat") == ["20260101000000000"]
        assert silent_instants(storage, ["20260101000000000", "20260101000000001"]) == ["20260101000000001"]
        assert threading.active_count() > 1
    assert os.listdir(tmp_path / ".hoodie/.heartbeat") == []
    assert silent_instants(storage, ["20260101000000000"]) == ["20260101000000000"]


def test_a_writer_whose_heartbeat_expired_gets_an_error(storage, tmp_path):
    now = [1000.0]
    heartbeat = WriterHeartbeat(storage, "1", interval_ms=1000, misses=3, clock=lambda: now[0])
    heartbeat.beat()
    now[0] += 3.0
    heartbeat.verify()
    now[0] += 0.1
    with pytest.raises(HeartbeatLostError, match="heartbeat for more than 3000 ms"):
        heartbeat.verify()
    heartbeat.beat()
    heartbeat.verify()
    (tmp_path / ".hoodie/.heartbeat/1").unlink()  # somebody has rolled the write back
    with pytest.raises(HeartbeatLostError):
        heartbeat.verify()


def test_the_age_of_the_file_counts(storage, tmp_path):
    folder = tmp_path / ".hoodie/.heartbeat"
    folder.mkdir(parents=True)
    (folder / "1").write_bytes(b"")  # as Hudi's
    written = (folder / "1").stat().st_mtime
    assert silent_instants(storage, ["1"], clock=lambda: written + 119) == []
    assert silent_instants(storage, ["1"], clock=lambda: written + 121) == ["1"]
    assert silent_instants(storage, ["1"], interval_ms=1000, misses=5, clock=lambda: written + 6) == ["1"]


def die_beating(path: str) -> None:
    WriterHeartbeat(Storage(path), "7").start()
    os._exit(9)


def test_a_process_of_this_machine_that_died_is_dead_at_once(storage, tmp_path):
    process = multiprocessing.get_context("fork").Process(target=die_beating, args=(str(tmp_path),))
    process.start()
    process.join()
    assert os.listdir(tmp_path / ".hoodie/.heartbeat") == ["7"]
    assert silent_instants(storage, ["7"]) == ["7"]


def test_wrong_options_of_heartbeats_are_refused(storage):
    key = "hoodie.client.heartbeat.interval_in_ms"
    with pytest.raises(InvalidOptionError, match="from 1000"):
        WriterHeartbeat.of({key: "999"}, storage, "1")
    with pytest.raises(InvalidOptionError, match="whole number"):
        WriterHeartbeat.of({key: "often"}, storage, "1")
