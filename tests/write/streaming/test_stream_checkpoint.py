"""Batches of streams: each is in the table once, whatever is given again, and by whom the table was written before."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CheckpointError, SchemaError, StorageError, WriteConflictError
from hudi_hive.write.streaming import CHECKPOINT_KEY, QUERIES_KEY, StreamQuery, checkpoint_of, last_batch
from hudi_hive.write.writers import LocalWriter
from tests.support.options.sink_cases import LocalStream
from tests.support.options.write_cases import LEAN, make, rows
from tests.support.running.long import long_case

IDENTIFIER = "hoodie.datasource.write.streaming.checkpoint.identifier"
DEFAULT = "default_single_writer"
INSERTS = {"hoodie.datasource.write.operation": "insert"}
EARLY = 0


@pytest.fixture(params=(8, long_case(6)))
def path(tmp_path, request):
    make(tmp_path / "t", version=request.param)
    return tmp_path / "t"


def keys(path):
    return sorted(HudiTable.open(path).scan().to_arrow()["id"].to_pylist())


def checkpoint(path):
    timeline = HudiTable.open(path).timeline
    extra = timeline.commit_metadata(timeline.last_completed_write()).extra
    return json.loads(extra[CHECKPOINT_KEY]), json.loads(extra[QUERIES_KEY]) if QUERIES_KEY in extra else None


def as_hudi(path, batch, first, identifier=DEFAULT):
    """A commit as Hudi's own sink leaves it."""
    extra = {CHECKPOINT_KEY: json.dumps({identifier: str(batch)})}
    LocalWriter(HudiTable.open(path).client, {**LEAN, **INSERTS}, extra=extra).write(rows(first, 2))


def other_write(path, first, **options):
    LocalWriter(HudiTable.open(path).client, {**LEAN, **INSERTS, **options}).write(rows(first, 1))


def test_a_batch_is_written_once(path):
    assert LocalStream(path, INSERTS).add(0, rows(0, 2))
    first = LocalStream(path, INSERTS)  # started again
    assert not first.add(0, rows(0, 2))
    assert first.add(1, rows(2, 2)) and not first.add(1, rows(2, 2))
    other_write(path, 9)
    assert not LocalStream(path, INSERTS).add(1, rows(2, 2))
    assert keys(path) == [0, 1, 2, 3, 9]


def test_streams_have_checkpoints_of_their_own_and_carry_those_of_others(path):
    LocalStream(path, {**INSERTS, IDENTIFIER: "a"}).add(0, rows(0, 1), "one")
    LocalStream(path, {**INSERTS, IDENTIFIER: "b"}).add(0, rows(1, 1), "two")
    assert checkpoint(path) == ({"a": "0", "b": "0"}, {"one": "0", "two": "0"})
    LocalStream(path, {**INSERTS, IDENTIFIER: "a"}).add(1, rows(2, 1), "one")
    assert checkpoint(path) == ({"a": "1", "b": "0"}, {"one": "1", "two": "0"})
    # A new checkpoint folder begins with number 0 anew, whatever the identifier.
    assert LocalStream(path, {**INSERTS, IDENTIFIER: "a"}).add(0, rows(3, 1), "three")
    assert not LocalStream(path, {**INSERTS, IDENTIFIER: "b"}).add(0, rows(1, 1), "two")
    assert keys(path) == [0, 1, 2, 3]


def test_a_stream_of_hudis_own_sink_goes_on(path):
    as_hudi(path, 4, 0)
    stream = LocalStream(path, INSERTS)
    assert not stream.add(4, rows(0, 2), began_ms=EARLY)
    assert stream.add(5, rows(2, 2), began_ms=EARLY)
    as_hudi(path, 6, 4)  # Hudi went on with it
    again = LocalStream(path, INSERTS)
    assert not again.add(6, rows(4, 2), began_ms=EARLY)
    assert again.add(7, rows(6, 2), began_ms=EARLY)
    assert keys(path) == list(range(8))


def test_a_query_that_is_younger_than_hudis_commit_is_another_one(path):
    as_hudi(path, 4, 0)
    now = time.time_ns() // 1_000_000 + 2_000
    assert LocalStream(path, INSERTS).add(0, rows(2, 2), "new", now)
    assert keys(path) == [0, 1, 2, 3]


def test_a_batch_whose_commit_is_archived_is_skipped(path):
    LocalStream(path, INSERTS).add(0, rows(0, 1))
    kept = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.cleaner.commits.retained": "1"}
    for number in range(4):
        other_write(path, 10 + number, **kept)
    client = HudiTable.open(path).client
    assert last_batch(client, StreamQuery(DEFAULT, "query")) == -1
    assert last_batch(client, StreamQuery(DEFAULT, "query", EARLY), archived=True) == 0
    assert not LocalStream(path, INSERTS).add(0, rows(0, 1))
    later = time.time_ns() // 1_000_000 + 2 * 3_600_000
    assert last_batch(client, StreamQuery(DEFAULT, "query", later), archived=True) == -1


def test_a_batch_that_was_rolled_back_is_written_again(path):
    stream = LocalStream(path, INSERTS)
    stream.add(0, rows(0, 1))
    stream.add(1, rows(1, 1))
    table = HudiTable.open(path)
    table.rollback(table.timeline.last_completed_write().requested, options=LEAN)
    assert keys(path) == [0]
    assert LocalStream(path, INSERTS).add(1, rows(1, 1))
    assert keys(path) == [0, 1]


def test_a_batch_that_another_process_commits_meanwhile_is_not_doubled(path):
    one, two = LocalStream(path, INSERTS), LocalStream(path, INSERTS)
    one.add(0, rows(0, 1))
    client = HudiTable.open(path).client
    with pytest.raises(WriteConflictError, match="batch 0"):
        checkpoint_of(client, StreamQuery(DEFAULT, "query"), 0)

    def slow(annotate):
        one.add(1, rows(1, 1))  # ahead of this one's commit
        writer = LocalWriter(HudiTable.open(path).client, {**LEAN, **INSERTS})
        writer.annotate = annotate
        writer.write(rows(1, 1))

    assert not two.sink.add_batch(1, StreamQuery(DEFAULT, "query"), slow)
    assert keys(path) == [0, 1]


def test_what_fails_is_tried_again_and_what_never_works_is_not(path):
    stream = LocalStream(path, {**INSERTS}, failures=2)
    assert stream.add(0, rows(0, 1)) and stream.waits == [2.0, 4.0]
    with pytest.raises(StorageError):
        LocalStream(path, INSERTS, failures=3).add(1, rows(1, 1))
    wrong = LocalStream(path, INSERTS)
    with pytest.raises(SchemaError):
        wrong.add(1, rows(1, 1).append_column("bad name.", [[1]]).rename_columns(["id", "name", "p", "ts", "id"]))
    assert wrong.waits == []
    assert keys(path) == [0]


@pytest.mark.parametrize("text", ("[]", "{", '"x"', "[" * 100_000, '{"default_single_writer": "x"}'))
def test_a_checkpoint_that_is_none_is_an_error(tmp_path, text):
    make(tmp_path / "t")
    LocalWriter(HudiTable.open(tmp_path / "t").client, LEAN, extra={CHECKPOINT_KEY: text}).write(rows(0, 1))
    with pytest.raises(CheckpointError):
        LocalStream(tmp_path / "t", INSERTS).add(0, rows(1, 1))
    assert keys(tmp_path / "t") == [0]


def test_services_run_beside_the_stream_and_end_with_it(tmp_path):
    make(tmp_path / "t", table_type="MERGE_ON_READ")
    options = {
        "hoodie.compact.inline.max.delta.commits": "2",
        "hoodie.clustering.async.enabled": "true",
        "hoodie.clustering.async.max.commits": "3",
        "hoodie.clustering.plan.strategy.sort.columns": "name",
    }
    stream = LocalStream(tmp_path / "t", options)
    for batch in range(5):
        stream.add(batch, rows(batch, 20, ts=[batch] * 20))
    stream.end()
    timeline = HudiTable.open(tmp_path / "t").timeline
    operations = [timeline.commit_metadata(one).operation for one in timeline.write_instants()]
    assert {"COMPACT", "CLUSTER", "UPSERT"} == set(operations) and operations.count("UPSERT") == 5
    assert not timeline.pending()
    assert keys(tmp_path / "t") == list(range(24))


def test_a_service_that_fails_leaves_the_stream_alone(tmp_path, monkeypatch):
    make(tmp_path / "t")
    options = {
        "hoodie.clustering.async.enabled": "true",
        "hoodie.clustering.async.max.commits": "1",
        "hoodie.clustering.plan.strategy.sort.columns": "name",
    }

    def fails(*_):
        raise StorageError("no answer")

    monkeypatch.setattr("hudi_hive.write.services.clustering._run", fails)
    stream = LocalStream(tmp_path / "t", options)
    for batch in range(3):
        stream.add(batch, rows(0, 2, ts=[batch] * 2))  # the same groups each time
    stream.end()
    assert HudiTable.open(tmp_path / "t").scan().to_arrow()["ts"].to_pylist() == [2, 2]


def test_two_streams_write_one_table_at_the_same_time(tmp_path):
    make(tmp_path / "t")
    shared = {
        **INSERTS,
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
        "hoodie.datasource.write.streaming.retry.count": "20",
    }

    def run(name, first):
        stream = LocalStream(tmp_path / "t", {**shared, IDENTIFIER: name})
        for batch in range(3):
            stream.add(batch, rows(first + batch, 1), name)

    with ThreadPoolExecutor(2) as pool:
        for ended in [pool.submit(run, "a", 0), pool.submit(run, "b", 10)]:
            ended.result()
    assert keys(tmp_path / "t") == [0, 1, 2, 10, 11, 12]
    client = HudiTable.open(tmp_path / "t").client
    assert [last_batch(client, StreamQuery(name, name)) for name in "ab"] == [2, 2]
