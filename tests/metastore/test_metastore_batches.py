"""Cutting into batches: every item once, in order, whatever the sizes and limits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import MetastoreServerError, MetastoreTimeoutError, NoSuchObjectError
from hudi_hive.metastore.client import batches
from hudi_hive.metastore.client.batches import BatchSize, run_batches
from hudi_hive.metastore.client.partition_names import escape, format_partition_name, parse_partition_name, unescape


@settings(deadline=None, max_examples=200)
@given(
    count=st.integers(0, 400),
    initial=st.integers(1, 50),
    more=st.integers(0, 200),
    limit=st.integers(1, 300),
    ahead=st.integers(1, 5),
)
def test_every_item_once_and_in_order(count, initial, more, limit, ahead):
    asked: list[int] = []

    def run(batch):
        asked.append(len(batch))
        if len(batch) > limit:
            raise MetastoreServerError("too many")
        return list(batch)

    size = BatchSize(initial, initial + more)
    with ThreadPoolExecutor(3) as pool:
        found = list(run_batches(range(count), run, size, executor=lambda: pool, ahead=ahead))
    assert [item for batch in found for item in batch] == list(range(count))
    assert all(batch for batch in found)
    assert max(asked, default=0) <= initial + more
    if ahead == 1 and asked:
        # One after the other, no size above the one that worked is tried again after a refusal.
        first_refusal = next((i for i, n in enumerate(asked) if n > limit), len(asked))
        assert all(n < asked[first_refusal] for n in asked[first_refusal + 1 :])


def test_batches_grow_to_their_limit():
    asked: list[int] = []
    run_all = run_batches(range(460), lambda b: asked.append(len(b)), BatchSize(10, 100), executor=None, ahead=1)
    assert len(list(run_all)) == 8
    assert asked == [10, 20, 40, 80, 100, 100, 100, 10]


def test_one_batch_needs_no_threads():
    def no_threads():
        raise AssertionError

    size = BatchSize(10, 100)
    assert list(run_batches([1, 2], len, size, executor=no_threads, ahead=4)) == [2]
    assert list(run_batches([], len, size, executor=no_threads, ahead=4)) == []


@pytest.mark.parametrize("error", [NoSuchObjectError("gone"), MetastoreServerError("always")])
def test_an_error_is_raised_and_no_more_batches_run(error):
    seen: list[int] = []

    def run(batch):
        seen.append(len(batch))
        raise error

    with ThreadPoolExecutor(2) as pool, pytest.raises(type(error)):
        list(run_batches(range(100_000), run, BatchSize(8, 8), executor=lambda: pool, ahead=2))
    assert len(seen) < 20


CONFLICTS = [
    "JDOException: Deadlock found when trying to get lock; try restarting transaction",
    "BatchUpdateException: Lock wait timeout exceeded; try restarting transaction",
    "PSQLException: ERROR: deadlock detected",
    "PSQLException: ERROR: could not serialize access due to concurrent update",
    "SQLTransactionRollbackException: A lock could not be obtained within the time requested",
    "JDODataStoreException: objectstore - Connection is not available, request timed out after 30000ms.",
]


class Recorder:
    """Runs batches: notes their sizes, and how many are under way whenever one begins.

    Args:
        error_of: gives the error that a batch ends with, or None; called for one batch at a time.
    """

    def __init__(self, error_of: Callable[[Sequence[int]], Exception | None]) -> None:
        self.tried: list[int] = []
        self.running: list[int] = []
        self._error_of = error_of
        self._lock = threading.Lock()
        self._now = 0

    def run(self, batch: Sequence[int]) -> list[int]:
        with self._lock:
            self._now += 1
            self.running.append(self._now)
            self.tried.append(len(batch))
            error = self._error_of(batch)
        try:
            if error is not None:
                raise error
            return list(batch)
        finally:
            with self._lock:
                self._now -= 1


@pytest.mark.parametrize("ahead", [1, 4])
def test_a_batch_that_met_another_transaction_is_tried_again_whole_and_alone(ahead):
    left = [*CONFLICTS]
    recorder = Recorder(lambda _: MetastoreServerError(left.pop()) if left else None)
    with ThreadPoolExecutor(4) as pool:
        found = list(run_batches(range(120), recorder.run, BatchSize(10, 10), executor=lambda: pool, ahead=ahead))
    assert [item for batch in found for item in batch] == list(range(120))
    assert recorder.tried == [10] * (12 + len(CONFLICTS))  # none was cut
    assert set(recorder.running[8:]) == {1}


def test_fewer_batches_are_under_way_after_one_that_was_not_answered_in_time():
    recorder = Recorder(lambda batch: MetastoreTimeoutError("no answer") if len(batch) > 2 else None)
    with ThreadPoolExecutor(4) as pool:
        found = list(run_batches(range(80), recorder.run, BatchSize(8, 8), executor=lambda: pool, ahead=4))
    assert [item for batch in found for item in batch] == list(range(80))
    assert set(recorder.running[recorder.tried.index(2) + 4 :]) == {1}


def test_a_batch_that_always_meets_another_transaction_is_an_error_in_the_end(monkeypatch):
    monkeypatch.setattr(batches, "_LONGEST_WAIT_S", 0.001)
    seen: list[int] = []

    def run(batch):
        seen.append(len(batch))
        raise MetastoreServerError(CONFLICTS[0])

    with pytest.raises(MetastoreServerError, match="Deadlock"):
        list(run_batches([1, 2], run, BatchSize(2, 2), executor=None, ahead=1))
    assert seen[:9] == [2] * 9 and len(seen) < 20


@given(st.lists(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_partition_names_round_trip(values):
    keys = [f"K{i}" for i in range(len(values))]
    name = format_partition_name(keys, values)
    assert parse_partition_name(name) == tuple(values)
    assert name.count("/") == len(keys) - 1


def test_partition_values_are_escaped_as_hive_does():
    assert escape("a/b=c d%:é\n\x7f") == "a%2Fb%3Dc d%25%3Aé%0A%7F"
    assert escape("") == "__HIVE_DEFAULT_PARTITION__"
    assert unescape("100%") == "100%" and unescape("%zz%2f") == "%zz/"
    with pytest.raises(ValueError, match="2 partition values for 1"):
        format_partition_name(["a"], ["1", "2"])
