"""The background split loader: bounded stages, back-pressure, errors, cancel, progress, dynamic filters, no leaks."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    FileVanishedError,
    InvalidOptionError,
    LoadCancelledError,
    TimeTravelError,
    UnknownColumnError,
)
from hudi_hive.plan import (
    SPLIT_SCHEMA,
    DynamicFilter,
    LoadLimits,
    PartitionPlanner,
    Query,
    SplitLoader,
    SplitOptions,
    make_splits,
    plan_scan,
)
from hudi_hive.plan.splits.splits import split_slices, split_table
from hudi_hive.predicate import parse_filter
from hudi_hive.table import FILES_SCHEMA, MetaClient
from hudi_hive.table.view import in_batches
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture

PARTITIONS = 1000
PATIENCE = 300  # seconds that a thread is waited for before a test gives up
INSTANT = "20240101000000000"
MIB = 1 << 20
WITH = tuple(name for name in fixture_names() if expected(name).get("mdt_files_partition"))


def loader_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("hudi-hive-splits")]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    gc.collect()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)
    assert set(threading.enumerate()) <= before


class CountingLister:
    """1000 partitions of some files each; counts what is asked, and can hold threads up."""

    def __init__(self, table, files=3, size=10 * MIB, at_once=False):
        self.lists_at_once = at_once
        self.source = "test"
        self.is_authoritative = True
        self.paths = [f"year={1900 + i // 12}/month={1 + i % 12:02}/day=01" for i in range(PARTITIONS)]
        instant = table.timeline.write_instants()[0].requested
        self._files = {
            path: [f"{i:04d}{n:04d}-0_0-1-2_{instant}.parquet" for n in range(files)]
            for i, path in enumerate(self.paths)
        }
        self._size = size
        self.lock = threading.Lock()
        self.requests = Counter()
        self.calls = 0
        self.most = 0  # partitions that may be listed before `gate` opens
        self.gate = threading.Event()
        self.gate.set()

    def partitions(self):
        return sorted(self.paths)

    def partition_batches(self):
        return in_batches(self.partitions())

    def files(self, partitions):
        with self.lock:
            self.calls += 1
            self.requests.update(partitions)
            count = sum(self.requests.values())
        if count > self.most:
            assert self.gate.wait(PATIENCE)
        rows = [(path, name, self._size) for path in partitions for name in self._files.get(path, ())]
        return pa.table([list(column) for column in zip(*rows, strict=True)] or [[], [], []], FILES_SCHEMA)

    @property
    def listed(self):
        with self.lock:
            return sum(self.requests.values())


@pytest.fixture
def lister():
    return CountingLister(HudiTable.open(unzip_fixture("v8_cow_ymd_hive")))


@pytest.fixture
def planner(lister):
    return planner_of(lister)


def planner_of(lister, row_filter=None):
    client = HudiTable.open(unzip_fixture("v8_cow_ymd_hive")).client
    return PartitionPlanner(client.with_listing(lambda _: lister), Query(), row_filter)


def drain(loader, quota=100):
    tables = [SPLIT_SCHEMA.empty_table()]
    while not loader.finished:
        tables.append(loader.next_batch(quota))
    return pa.concat_tables(tables)


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


@pytest.mark.parametrize("name", fixture_names())
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
        if plan.changes is None:
            with scan.splits() as loader:
                assert sorted(split_slices(drain(loader)).to_pylist(), key=str) == sorted(
                    plan.slices.to_pylist(), key=str
                )
        else:  # a split has no place for them
            with pytest.raises(InvalidOptionError, match="change data has no splits"):
                scan.splits()
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


def test_it_starts_without_being_asked(planner, lister):
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


def test_the_first_error_is_the_one_that_is_kept(planner, lister, monkeypatch):
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


# -- dynamic filters ---------------------------------------------------------------------------------------------------


def test_a_dynamic_filter_rules_out_what_is_not_listed_and_what_was_not_taken(lister):
    """The filter arrives when 100 partitions at most are listed, and a few splits are taken."""
    dynamic = DynamicFilter()
    lister.most = 99
    lister.gate.clear()
    planner = planner_of(lister)
    with SplitLoader(planner, dynamic_filter=dynamic) as loader:
        first = loader.next_batch()
        dynamic.narrow("month = '03'")
        dynamic.complete()
        lister.gate.set()
        rest = drain(loader)
        progress = loader.progress()
    assert first.num_rows == 12  # of any month
    months = {path.split("/")[1] for path in rest.column("partition").to_pylist()}
    assert months == {"month=03"}
    wanted = {path for path in lister.paths if "month=03" in path}
    assert set(first.column("partition").to_pylist()) | set(rest.column("partition").to_pylist()) >= wanted
    assert progress.partitions_pruned >= 500 and progress.splits_pruned > 0  # four batches were under way
    assert progress.partitions_pruned + progress.partitions_listed == progress.partitions_received == PARTITIONS
    assert progress.splits_made == progress.splits_taken + progress.splits_pruned
    assert lister.listed == progress.partitions_listed


def test_a_dynamic_filter_that_rules_out_all_ends_the_loading(planner):
    dynamic = DynamicFilter()
    dynamic.narrow("year > 0")
    dynamic.narrow("year < 0")
    with SplitLoader(planner, dynamic_filter=dynamic) as loader:
        assert drain(loader).num_rows == 0
        assert loader.progress().partitions_listed == 0


@pytest.mark.parametrize("name", [n for n in WITH if n.endswith("cow_part_mdt")])
def test_a_dynamic_filter_asks_the_indexes_of_files(name):
    path = unzip_fixture(name)
    table = HudiTable.open(path)
    all_paths = table.scan().plan().slices["path"].to_pylist()
    ruled_out = 0
    for key in table.scan(selected_fields=["_hoodie_record_key"]).to_arrow()["_hoodie_record_key"].to_pylist()[:5]:
        text = f"_hoodie_record_key = '{key}'"
        dynamic = DynamicFilter()
        dynamic.narrow(text)
        with HudiTable.open(path).scan().splits(dynamic_filter=dynamic) as loader:
            got = sorted(split.path for split in loader)
        assert got == table.scan(row_filter=text).plan().slices["path"].to_pylist()
        ruled_out += len(all_paths) - len(got)
        planner = PartitionPlanner(HudiTable.open(path).client)
        bound = parse_filter(text, planner.template().schema)
        plans = [planner.skip(planner.plan([partition]), bound) for partition in planner.partitions()]
        assert [path for plan in plans for path in plan.slices["path"].to_pylist()] == got
    assert ruled_out


def test_splits_tell_the_filter_of_their_time(lister):
    dynamic = DynamicFilter()
    dynamic.narrow(None)
    with SplitLoader(planner_of(lister, "month >= '02'"), dynamic_filter=dynamic) as loader:
        splits = iter(loader)
        assert next(splits).predicate.columns == ("month",)
        dynamic.narrow("year = '1950'")
        rest = list(splits)
        assert loader.row_filter.columns == ("month", "year")
    late = [split for split in rest if split.partition_keys["year"] == "1950"]
    assert len(late) == 3 * 11
    assert late[-1].predicate.columns == ("month", "year")
    assert split_table(late).num_rows == len(late)


@pytest.mark.parametrize("early", [True, False])
def test_a_dynamic_filter_that_does_not_fit_is_an_error(planner, early):
    dynamic = DynamicFilter()
    if early:
        dynamic.narrow("nope = 1")
    with SplitLoader(planner, dynamic_filter=dynamic) as loader:
        if not early:
            loader.next_batch()
            dynamic.narrow("nope = 1")
        with pytest.raises(UnknownColumnError, match="nope"):
            drain(loader)
        assert not loader.finished


# -- the planner behind ------------------------------------------------------------------------------------------------


def test_what_is_listed_once_more_is_not_planned_at_once(lister, planner):
    """A metadata table that breaks while the first batch is planned leaves folders, which are listed as needed."""
    lister.lists_at_once = True
    files = lister.files

    def breaking(partitions):
        lister.lists_at_once = False
        return files(partitions)

    lister.files = breaking
    for path in lister.paths[:3]:
        planner.plan([path])
    assert lister.listed == 3


def test_where_all_files_cost_no_more_than_some_they_are_asked_for_twice(lister):
    lister.lists_at_once = True
    with SplitLoader(planner_of(lister)) as loader:
        assert drain(loader).num_rows == 3 * PARTITIONS
    assert lister.calls == 2


@pytest.mark.parametrize("name", WITH)
def test_the_metadata_table_is_read_as_often_for_many_batches_as_for_one(name):
    """Partition by partition, no folder of the table is listed, and no file of the metadata table is opened twice."""
    table = HudiTable.open(unzip_fixture(name))
    planner = PartitionPlanner(table.client)
    partitions = planner.partitions()
    for partition in partitions:
        planner.plan([partition])
    one = HudiTable.open(unzip_fixture(name))
    one.scan().plan()
    assert table.client.counters.listed == one.client.counters.listed
    assert table.client.counters.opened == one.client.counters.opened


def test_only_asked_partitions_are_listed_where_folders_are(tmp_path):
    client = MetaClient.load(unzip_fixture("v6_cow_ymd_hive"))
    partitions = MetaClient.load(unzip_fixture("v6_cow_ymd_hive")).partition_paths()
    planner = PartitionPlanner(client)
    got = [planner.plan([path]).slices for path in partitions[:2]]
    assert pa.concat_tables(got).to_pylist() == plan_scan(client, Query(), partitions=partitions[:2]).slices.to_pylist()
    listed = {path for path in client.counters.listed if ".hoodie" not in path}
    assert listed == {client.storage.uri(path) for path in partitions[:2]}


@pytest.fixture
def folders(tmp_path):
    """A table of 300 partitions in three levels of folders, without metadata table."""
    path = unzip_fixture("v6_cow_ymd_hive", tmp_path)
    client = MetaClient.load(path)
    plan = plan_scan(client, Query())
    model = path / plan.slices.column("path")[0].as_py()
    marker = next(model.parent.glob(".hoodie_partition_metadata"))
    for number in range(300):
        folder = path / f"year={2000 + number // 60}/month={number // 5 % 12 + 1:02}/day={number % 5 + 1:02}"
        folder.mkdir(parents=True)
        (folder / marker.name).write_bytes(marker.read_bytes())
        (folder / model.name).write_bytes(model.read_bytes())
    return path


def test_folders_are_walked_while_splits_are_made(folders):
    client = MetaClient.load(folders)
    planner = PartitionPlanner(client)
    batches = planner.batches()
    first = next(batches)
    assert planner.plan(first).slices.num_rows >= len(first) > 0
    assert client.counters["lists"] < 60  # of more than 300 folders
    rest = [path for batch in batches for path in batch]
    slices = planner.plan(rest).slices.num_rows
    whole = MetaClient.load(folders)
    want = plan_scan(whole, Query())
    assert sorted([*first, *rest]) == whole.partition_paths()
    assert slices + len(first) == want.slices.num_rows
    assert client.counters.listed == whole.counters.listed  # and each folder once
    assert client.partition_paths() == whole.partition_paths()
    assert client.counters.listed == whole.counters.listed


def test_folders_that_are_walked_load_as_they_plan(folders):
    with HudiTable.open(folders).scan(row_filter="month < '04'").splits() as loader:
        splits = drain(loader)
    want = HudiTable.open(folders).scan(row_filter="month < '04'").plan().slices
    assert sorted(splits["path"].to_pylist()) == want["path"].to_pylist()


def test_a_walk_can_be_given_up(folders):
    client = MetaClient.load(folders)
    batches = PartitionPlanner(client).batches()
    next(batches)
    batches.close()
    assert client.partition_paths() == MetaClient.load(folders).partition_paths()


def test_plans_of_threads_are_those_of_one(planner, lister):
    want = {row["path"] for row in plan_scan(planner.client, Query()).slices.to_pylist()}
    got: list[str] = []

    def work(number):
        for start in range(number * 10, PARTITIONS, 40):
            got.extend(planner.plan(lister.paths[start : start + 10]).slices["path"].to_pylist())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(got) == len(want) and set(got) == want


def test_pruning_leaves_partitions_out(lister):
    planner = planner_of(lister, "year = '1910'")
    assert len(planner.partitions()) == 12
    assert planner.plan(lister.paths).slices.num_rows == 36
    assert lister.listed == 12
    with SplitLoader([lister.paths], planner_of(lister, "year = '1910'")) as loader:
        assert drain(loader).num_rows == 36


def test_a_past_that_cannot_be_shown_is_refused_at_once():
    client = HudiTable.open(unzip_fixture("v9_cow_part_mdt")).client
    with pytest.raises(TimeTravelError):
        PartitionPlanner(client, Query.of(as_of="19990101000000000"))


def test_make_splits_is_what_the_loader_gives(planner, lister):
    plan = planner.plan(lister.paths[:10])
    with SplitLoader([lister.paths[:10]], planner_of(lister)) as loader:
        assert drain(loader).sort_by("path").equals(make_splits(plan.slices).sort_by("path"))
