"""The background split loader: bounded stages, back-pressure, errors, cancel, progress, dynamic filters, no leaks."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    InvalidOptionError,
)
from hudi_hive.plan import (
    LoadLimits,
    PartitionPlanner,
    Query,
    SplitLoader,
    SplitOptions,
    plan_scan,
)
from hudi_hive.plan.splits import split_changes
from hudi_hive.plan.splits.splits import split_slices
from hudi_hive.table.view import in_batches
from tests.plan.shared.split_loader_helpers import (
    MIB,
    PARTITIONS,
    PATIENCE,
    drain,
    lister,
    no_thread_is_left,
    planner,
    planner_of,
)
from tests.support.fixture_tables import fixture_names, one_version_of_each, unzip_fixture
from tests.support.running.long import with_long_cases

__all__ = ["lister", "no_thread_is_left", "planner"]


# -- all of it ---------------------------------------------------------------------------------------------------------


def test_all_splits_come_once(planner, lister):
    with SplitLoader(planner) as loader:
        splits = drain(loader)
    assert splits.num_rows == 3 * PARTITIONS
    assert sorted(splits.column("path").to_pylist()) == plan_scan(planner.client, Query()).slices["path"].to_pylist()
    assert set(lister.requests.values()) == {2}  # by the loader and by the whole plan
    progress = loader.progress()
    assert progress.finished and progress.all_partitions_received
    assert (progress.partitions_received, progress.partitions_listed, progress.partitions_pruned) == (1000, 1000, 0)
    assert (progress.splits_made, progress.splits_taken, progress.splits_pruned) == (3000, 3000, 0)
    assert progress.weight_made == progress.weight_taken == 3000 * 8


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(fixture_names()), fixture_names()))
def test_fixtures_load_as_they_plan(name):
    table = HudiTable.open(unzip_fixture(name))
    want = table.scan().plan().slices.to_pylist()
    with HudiTable.open(unzip_fixture(name)).scan().splits() as loader:
        splits = list(loader)
    got = split_slices(splits).to_pylist()
    assert sorted(got, key=lambda row: (row["partition"], row["file_id"])) == want


@pytest.mark.parametrize("name", ["v6_cow_cdc", "v9_cow_cdc", "v8_cow_part_mdt", "v6_mor_event_time", "v8_mor_types"])
def test_a_range_of_commits_loads_as_it_plans(name):
    for kind in ("incremental", "cdc"):
        scan = HudiTable.open(unzip_fixture(name)).scan(query_type=kind, begin="earliest")
        try:
            plan = scan.plan()
        except Exception as error:
            with pytest.raises(type(error)):
                scan.splits()
            continue
        with scan.splits() as loader:
            splits = drain(loader)
        assert sorted(split_slices(splits).to_pylist(), key=str) == sorted(plan.slices.to_pylist(), key=str)
        changes = split_changes(splits)
        assert (changes is None) == (plan.changes is None)
        if changes is not None:
            assert sorted(changes.to_pylist(), key=str) == sorted(plan.changes.to_pylist(), key=str)
        planner = PartitionPlanner(HudiTable.open(unzip_fixture(name)).client, scan.query)
        key = lambda row: (row["partition"], row["file_id"], row["base_instant"] or "")  # noqa: E731
        parts = [planner.plan([partition]) for partition in planner.partitions()]
        rows = [row for part in parts for row in part.slices.to_pylist()]
        assert sorted(rows, key=key) == sorted(plan.slices.to_pylist(), key=key)
        if plan.changes is not None:
            assert sum(part.changes.num_rows for part in parts) == plan.changes.num_rows
        assert not planner.template().slices.num_rows


def test_an_empty_source(planner):
    for source in ([], [[]], [[], ["no/such/partition"]]):
        with SplitLoader(source, planner) as loader:
            assert drain(loader).num_rows == 0
            assert loader.finished and not loader.next_batch().num_rows


def test_first_batches_are_small():
    sizes = [len(batch) for batch in in_batches(map(str, range(500)))]
    assert sizes == [10, 20, 40, 80, 100, 100, 100, 50]
    assert list(in_batches([])) == []


# -- in the background -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [False, True])
def test_the_first_split_is_out_before_a_tenth_of_the_partitions_is_listed(lister, at_once):
    lister.lists_at_once = at_once
    lister.most = PARTITIONS // 10 - 1
    lister.gate.clear()  # any further listing waits until the first split was taken
    with SplitLoader(planner_of(lister)) as loader:
        first = loader.next_batch()
        assert first.num_rows
        assert loader.progress().partitions_listed < PARTITIONS / 10
        lister.gate.set()
        assert first.num_rows + drain(loader).num_rows == 3 * PARTITIONS


def test_loading_starts_before_the_first_split_is_requested(planner, lister):
    started = threading.Event()

    def source():
        started.set()
        yield lister.paths[:5]

    with SplitLoader(source(), planner) as loader:
        assert started.wait(PATIENCE)
        assert drain(loader).num_rows == 15


def test_stages_wait_for_the_consumer(planner, lister):
    """Nothing is taken: what was listed stays bounded by the queues, and no more than so many splits wait."""
    given, settled = [], threading.Event()

    def source():
        for path in lister.paths[:150]:
            given.append(path)
            yield [path]

    loader = SplitLoader(
        source(), planner, limits=LoadLimits(max_batches=2, max_outstanding_splits=30, listing_threads=3)
    )
    with loader:
        # Every thread waits when nothing changes any more; the state is asked for until it stays the same.
        seen = None
        while not settled.wait(0.05):
            now = (len(given), loader.progress())
            if now == seen and now[1].splits_made:
                settled.set()
            seen = now
        progress = loader.progress()
        assert progress.splits_made <= 30
        # Queue, threads and queue of plans hold one batch each; makers of splits hold one plan each.
        assert progress.partitions_received <= 10 + 2 + 3 + 3 + 2 + 2 + 1
        assert lister.listed <= progress.partitions_received
        assert drain(loader).num_rows == 3 * 150
        assert loader.progress().partitions_listed == 150


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_few_splits_may_wait(planner, limit):
    made = 0
    with SplitLoader(planner, limits=LoadLimits(1, 1, limit, max_batches=1)) as loader:
        while not loader.finished:
            made += loader.next_batch().num_rows
            progress = loader.progress()
            assert progress.splits_made - progress.splits_taken <= limit
    assert made == 3 * PARTITIONS


def test_several_consumers_share_the_splits(planner):
    taken: list[pa.Table] = []
    with SplitLoader(planner) as loader:

        def consume():
            while (batch := loader.next_batch(50)).num_rows:
                taken.append(batch)

        consumers = [threading.Thread(target=consume) for _ in range(4)]
        for thread in consumers:
            thread.start()
        for thread in consumers:
            thread.join(PATIENCE)
    paths = pa.concat_tables(taken).column("path").to_pylist()
    assert len(paths) == len(set(paths)) == 3 * PARTITIONS


# -- packing -----------------------------------------------------------------------------------------------------------


class Fixed:
    """A planner that gives slices of these sizes, one partition each."""

    def __init__(self, sizes):
        table = HudiTable.open(unzip_fixture("v6_cow_nonpart"))
        self.plan_of = PartitionPlanner(table.client)
        row = table.scan().plan().slices.slice(0, 1).to_pylist()[0]
        self.rows = {str(i): row | {"partition": str(i), "base_size": size} for i, size in enumerate(sizes)}

    def template(self):
        return self.plan_of.template()

    def plan(self, partitions):
        rows = [self.rows[path] for path in partitions]
        return replace(self.template(), slices=pa.Table.from_pylist(rows, self.template().slices.schema))

    def prune(self, partitions, row_filter):
        return partitions

    def skip(self, plan, row_filter):
        return plan


def test_batches_are_packed_by_weight():
    weights = [100, 30, 30, 40, 60, 50, 5, 100, 100, 1]
    planner = Fixed([weight * MIB for weight in weights])
    options = SplitOptions(1000 * MIB, 100 * MIB, 0.01)
    with SplitLoader([list(planner.rows)], planner, options, limits=LoadLimits(split_threads=1)) as loader:
        batches = []
        while not loader.finished:
            batches.append(loader.next_batch(100).column("weight").to_pylist())
    assert batches == [[100], [30, 30, 40], [60], [50, 5], [100], [100], [1]]
    with SplitLoader([list(planner.rows)], planner, options, limits=LoadLimits(split_threads=1)) as loader:
        assert loader.next_batch(1).column("weight").to_pylist() == [100]  # one at least
        assert loader.next_batch(10_000).column("weight").to_pylist() == weights[1:]


@pytest.mark.parametrize("quota", [1, 33, 100, 5000])
def test_whatever_the_quota_all_splits_come(quota):
    weights = np.random.default_rng(5).integers(1, 101, 500).tolist()
    planner = Fixed([weight * MIB for weight in weights])
    options = SplitOptions(1000 * MIB, 100 * MIB, 0.01)
    seen = []
    with SplitLoader(
        in_batches(planner.rows), planner, options, limits=LoadLimits(max_outstanding_splits=40)
    ) as loader:
        while not loader.finished:
            batch = loader.next_batch(quota).column("weight").to_pylist()
            assert len(batch) == 1 or sum(batch) <= quota
            seen += batch
    assert sorted(seen) == sorted(weights)


def test_a_batch_that_takes_too_long(planner, lister):
    lister.gate.clear()
    with SplitLoader(planner) as loader:
        assert not loader.next_batch(timeout=0).num_rows
        assert not loader.next_batch(timeout=0.01).num_rows
        assert not loader.finished
        lister.gate.set()
        assert drain(loader).num_rows == 3 * PARTITIONS


@pytest.mark.parametrize("wrong", [{"listing_threads": 0}, {"split_threads": 0}, {"max_outstanding_splits": 0}])
def test_numbers_that_make_no_sense_are_refused(planner, wrong):
    with pytest.raises(InvalidOptionError):
        SplitLoader(planner, limits=LoadLimits(**wrong))
    with pytest.raises(InvalidOptionError, match="planner"):
        SplitLoader([["a"]])
    with SplitLoader(planner) as loader, pytest.raises(InvalidOptionError, match="quota"):
        loader.next_batch(0)
