"""How a split loader ends: by an error, by a cancel, when it is done; and no thread stays behind."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from hudi_hive.errors import (
    FileVanishedError,
    LoadCancelledError,
)
from hudi_hive.plan import (
    LoadLimits,
    SplitLoader,
)
from tests.plan.shared.split_loader_helpers import PATIENCE, drain, lister, no_thread_is_left, planner

__all__ = ["lister", "no_thread_is_left", "planner"]


def loader_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("hudi-hive-splits")]


# -- errors and cancel -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["partitions", "listing", "splits"])
def test_an_error_comes_out_at_the_consumer_with_its_cause(planner, lister, stage, monkeypatch):
    cause = OSError("no route to host")

    def broken(*_):
        raise FileVanishedError("gone", path="p") from cause

    source = planner
    if stage == "partitions":

        def failing():
            yield lister.paths[:10]
            broken()

        source = failing()
    elif stage == "listing":
        monkeypatch.setattr(planner, "plan", broken)
    else:
        monkeypatch.setattr("hudi_hive.plan.splits.split_loader.make_splits", broken)
    with SplitLoader(source, planner) as loader:
        with pytest.raises(FileVanishedError, match="gone") as caught:
            drain(loader)
        assert caught.value.__cause__ is cause
        assert not loader.finished
        with pytest.raises(FileVanishedError, match="gone"):  # and again: it never looks like an end
            loader.next_batch()
        loader.cancel()
        with pytest.raises(FileVanishedError, match="gone"):
            next(iter(loader))
    for thread in loader_threads():
        thread.join(PATIENCE)


def test_the_first_error_of_a_loader_is_raised(planner, lister, monkeypatch):
    both = threading.Barrier(2, timeout=PATIENCE)
    order = threading.Lock()
    raised = []

    def broken(partitions):
        both.wait()
        with order:
            error = FileVanishedError(f"error {len(raised)}")
            raised.append(error)
            raise error

    monkeypatch.setattr(planner, "plan", broken)
    source = ([path] for path in lister.paths[:2])
    with SplitLoader(source, planner, limits=LoadLimits(listing_threads=2)) as loader:
        with pytest.raises(FileVanishedError) as caught:
            drain(loader)
        first = caught.value
        with pytest.raises(FileVanishedError) as caught:
            loader.next_batch()
        assert caught.value is first


def test_a_source_is_closed_when_loading_ends(planner, lister):
    closed = threading.Event()

    def source():
        try:
            for path in lister.paths:
                yield [path]
        finally:
            closed.set()

    with SplitLoader(source(), planner) as loader:
        loader.next_batch()
    assert closed.is_set()


def test_a_cancelled_loader_does_not_look_finished(planner):
    with SplitLoader(planner) as loader:
        assert loader.next_batch().num_rows
        loader.cancel()
        loader.cancel()
        assert not loader.finished
        with pytest.raises(LoadCancelledError):
            loader.next_batch()
    with pytest.raises(LoadCancelledError):
        list(loader)


def test_a_finished_loader_can_be_closed(planner):
    loader = SplitLoader(planner)
    drain(loader)
    loader.close()
    loader.close()
    assert not loader.next_batch().num_rows
    assert list(loader) == []


def test_a_cancel_wakes_the_consumer(planner, lister):
    lister.gate.clear()
    loader = SplitLoader(planner)
    outcome = []

    def consume():
        try:
            loader.next_batch()
        except LoadCancelledError as error:
            outcome.append(error)

    consumer = threading.Thread(target=consume)
    consumer.start()
    loader.cancel()
    consumer.join(PATIENCE)
    assert len(outcome) == 1
    lister.gate.set()
    loader.close()
    assert not loader_threads()


@pytest.mark.parametrize("when", ["finished", "cancelled", "failed", "forgotten", "half taken"])
def test_threads_never_leak(planner, lister, when, monkeypatch):
    before = set(threading.enumerate())
    if when == "failed":
        monkeypatch.setattr(planner, "plan", lambda _: 1 / 0)
    loader = SplitLoader(planner, limits=LoadLimits(max_outstanding_splits=10))
    started = set(threading.enumerate()) - before
    if when == "finished":
        drain(loader)
    elif when == "cancelled":
        loader.cancel()
    elif when == "failed":
        with pytest.raises(ZeroDivisionError):
            drain(loader)
    elif when == "half taken":
        splits = iter(loader)
        next(splits)
        del splits
    gone = weakref.ref(loader)
    del loader
    gc.collect()
    if when != "failed":  # there the error's traceback holds it
        assert gone() is None
    for thread in started:
        thread.join(PATIENCE)
    assert not started & set(threading.enumerate())
