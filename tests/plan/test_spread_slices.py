"""Snapshots of many partitions planned by executors: the same slices, and what this process reads."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CorruptFileError
from hudi_hive.metadata import MetadataListing
from hudi_hive.plan import Query, plan_scan
from hudi_hive.table import MetaClient
from hudi_hive.table.view import DirectoryLister, SpreadListing

PARTITIONS = 24
KINDS = ["COPY_ON_WRITE", "MERGE_ON_READ"]


class Executors:
    """Runs tasks as executors do, on pickled copies."""

    def __init__(self, error=None):
        self.tasks: list[list[int]] = []
        self.error = error

    def __call__(self, function, tasks):
        self.tasks.append([len(task) for task in tasks])
        if self.error is not None:
            raise self.error
        return [pickle.loads(pickle.dumps(function))(pickle.loads(pickle.dumps(task))) for task in tasks]


@pytest.fixture(scope="module", params=KINDS)
def path(request, tmp_path_factory):
    base = tmp_path_factory.mktemp("spread") / "t"
    table = HudiTable.create(base, name="t", table_type=request.param, record_keys=["id"], partition_fields=["p"])
    rows = pa.table(
        {
            "id": [f"k{number}" for number in range(2 * PARTITIONS)],
            "p": [f"p{number // 2:02}" for number in range(2 * PARTITIONS)],
            "v": list(range(2 * PARTITIONS)),
        }
    )
    table.upsert(rows)
    table.upsert(rows.slice(0, 11))
    return base


def spread_client(path, executors, *, tasks=5, looked_up=8):
    client = MetaClient.load(path, listing=MetadataListing())
    spread = SpreadListing(executors, tasks, 1_000, 1, looked_up)
    client.memoize("directory_lister", lambda: DirectoryLister(client.storage, lambda: spread))
    return client


def plain_plan(path, **more):
    return plan_scan(MetaClient.load(path, listing=MetadataListing()), Query(), **more)


def test_executors_give_the_slices_of_one_plan(path):
    executors = Executors()
    plan, expected = plan_scan(spread_client(path, executors), Query()), plain_plan(path)
    assert executors.tasks == [[5, 5, 5, 5, 4]]
    assert plan.slices.equals(expected.slices) and plan.steps == expected.steps
    assert plan.slices.num_rows == PARTITIONS


def test_this_process_looks_no_files_up(path, monkeypatch):
    from hudi_hive.metadata.reader import FileGroup

    asked = []
    lookup = FileGroup.lookup
    client = spread_client(path, lambda function, tasks: [sent(function, task) for task in tasks])

    def sent(function, task):
        with monkeypatch.context() as there:
            there.setattr(FileGroup, "lookup", lookup)
            return pickle.loads(pickle.dumps(function))(task)

    monkeypatch.setattr(
        FileGroup, "lookup", lambda self, field, keys: asked.append(list(keys)) or lookup(self, field, keys)
    )
    assert plan_scan(client, Query()).slices.num_rows == PARTITIONS
    assert asked == [["__all_partitions__"]]
    assert client.counters["lists"] == plain_plan(path).counters["lists"]  # the metadata table's own folders


@pytest.mark.parametrize(
    ("more", "looked_up"),
    [({}, PARTITIONS), ({"partitions": ["p01", "p02"]}, 8), ({"row_filter": "p = 'p03'"}, 8)],
)
def test_few_partitions_are_planned_here(path, more, looked_up):
    executors = Executors()
    plan = plan_scan(spread_client(path, executors, looked_up=looked_up), Query(), **more)
    assert executors.tasks == []
    assert plan.slices.equals(plain_plan(path, **more).slices)


def test_some_partitions_in_any_order(path):
    executors = Executors()
    chosen = [f"p{number:02}" for number in reversed(range(3, 15))]
    plan = plan_scan(spread_client(path, executors), Query(), partitions=[*chosen, "p99", "p03"])
    assert executors.tasks == [[3, 3, 3, 3, 1]]
    assert plan.slices.equals(plain_plan(path, partitions=chosen).slices)


def test_time_travel_and_folders_are_planned_here(path):
    executors = Executors()
    client = spread_client(path, executors)
    as_of = client.timeline.write_instants()[0].requested
    assert plan_scan(client, Query(as_of=as_of)).slices.num_rows == PARTITIONS
    listed = spread_client(path, executors).with_listing(None)
    assert plan_scan(listed.with_listing(MetadataListing(enable=False)), Query()).slices.num_rows == PARTITIONS
    assert executors.tasks == []


def test_this_process_plans_where_executors_cannot(path):
    executors = Executors(CorruptFileError("a block is damaged"))
    plan = plan_scan(spread_client(path, executors), Query())
    assert len(executors.tasks) == 1
    assert plan.slices.equals(plain_plan(path).slices)
