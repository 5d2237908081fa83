"""What a split loader lists and plans: dynamic filters, folders, the metadata table, pruned partitions."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    TimeTravelError,
    UnknownColumnError,
)
from hudi_hive.plan import (
    DynamicFilter,
    PartitionPlanner,
    Query,
    SplitLoader,
    make_splits,
    plan_scan,
)
from hudi_hive.plan.splits.splits import split_table
from hudi_hive.predicate import parse_filter
from hudi_hive.table import MetaClient
from tests.plan.shared.split_loader_helpers import (
    PARTITIONS,
    PATIENCE,
    drain,
    lister,
    no_thread_is_left,
    planner,
    planner_of,
)
from tests.support.fixture_tables import expected, fixture_names, one_version_of_each, unzip_fixture
from tests.support.running.long import with_long_cases

__all__ = ["lister", "no_thread_is_left", "planner"]
WITH = tuple(name for name in fixture_names() if expected(name).get("mdt_files_partition"))


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


@pytest.mark.parametrize("name", with_long_cases(["v9_cow_part_mdt"], [n for n in WITH if n.endswith("cow_part_mdt")]))
def test_a_dynamic_filter_uses_the_indexes_of_files(name):
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


def test_splits_have_the_dynamic_filter_of_their_time(lister):
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


def test_all_files_are_listed_where_that_costs_no_more_than_some(lister):
    lister.lists_at_once = True
    with SplitLoader(planner_of(lister)) as loader:
        assert drain(loader).num_rows == 3 * PARTITIONS
    assert lister.calls == 2


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(WITH), WITH))
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


def test_only_selected_partitions_are_listed_where_folders_are(tmp_path):
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


def test_a_walk_of_folders_can_be_cancelled(folders):
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
