"""Batches of partitions of a table with very many files: what is looked up, and what is held."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.metadata import MetadataListing
from hudi_hive.metadata.reader import FileGroup
from hudi_hive.plan import PartitionPlanner, Query, plan_scan
from hudi_hive.plan.core import partition_planner
from hudi_hive.predicate import parse_filter
from hudi_hive.table import MetaClient

PATHS = [f"p{number:02}" for number in range(30)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    base = tmp_path_factory.mktemp("runs") / "t"
    table = HudiTable.create(base, name="t", record_keys=["id"], partition_fields=["p"])
    table.upsert(pa.table({"id": PATHS, "p": PATHS, "v": list(range(len(PATHS)))}))
    return base


@pytest.fixture
def looked_up(monkeypatch):
    """The numbers of keys of look-ups of files."""
    counts = []
    lookup = FileGroup.lookup

    def counted(self, field, keys):
        if list(keys) != ["__all_partitions__"] and field == "filesystemMetadata":
            counts.append(len(keys))
        return lookup(self, field, keys)

    monkeypatch.setattr(FileGroup, "lookup", counted)
    return counts


@pytest.fixture
def planner(path, monkeypatch):
    monkeypatch.setattr(partition_planner, "_FILES_AT_ONCE", 6)
    return PartitionPlanner(MetaClient.load(path, listing=MetadataListing()), Query())


def whole(path):
    return plan_scan(MetaClient.load(path, listing=MetadataListing()), Query()).slices


def test_batches_in_order_have_runs_of_partitions_planned(path, planner, looked_up):
    expected = whole(path)
    looked_up.clear()
    plans = []
    for at in range(0, len(PATHS), 4):
        plans.append(planner.plan(PATHS[at : at + 4]))
        assert len(planner._runs) <= 2
    assert pa.concat_tables([plan.slices for plan in plans]).equals(expected)
    assert [plan.partitions_planned for plan in plans] == [4] * 7 + [2]
    assert looked_up == [4, 6, 6, 6, 6, 6]


def test_batches_in_no_order_have_everything_planned_once(path, planner, looked_up):
    expected = whole(path)
    looked_up.clear()
    paths = random.Random(3).sample(PATHS, len(PATHS))
    plans = [planner.plan(sorted(paths[at : at + 3])) for at in range(0, len(PATHS), 3)]
    slices = pa.concat_tables([plan.slices for plan in plans]).sort_by("partition")
    assert slices.equals(expected)
    assert sum(looked_up) <= 3 + 2 * 6 + 30 and looked_up[-1] == 30


def test_few_files_are_planned_at_once(path, looked_up):
    planner = PartitionPlanner(MetaClient.load(path, listing=MetadataListing()), Query())
    for at in range(0, len(PATHS), 10):
        assert planner.plan(PATHS[at : at + 10]).slices.num_rows == 10
    assert looked_up == [10, 30]


def test_partitions_that_are_not_there_and_files_that_are_skipped(planner):
    planner.plan(PATHS[:2])
    plan = planner.plan(["p01", "p09", "p99"])
    assert plan.slices.column("partition").to_pylist() == ["p01", "p09"]
    assert planner.plan(["p98", "p99"]).slices.num_rows == 0
    one = parse_filter("v = 13", planner.template().schema)
    left = [planner.skip(planner.plan(PATHS[at : at + 3]), one).slices for at in range(0, len(PATHS), 3)]
    assert pa.concat_tables(left).column("partition").to_pylist() == ["p13"]
