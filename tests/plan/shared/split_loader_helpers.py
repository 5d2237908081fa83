"""A lister that counts what it lists, and a planner over it, for tests of the split loader."""

from __future__ import annotations

import gc
import threading
from collections import Counter

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.plan import (
    PartitionPlanner,
    Query,
)
from hudi_hive.table import FILES_SCHEMA
from hudi_hive.table.view import FilteredPartitions, in_batches
from tests.support.fixture_tables import unzip_fixture

PARTITIONS = 1000
PATIENCE = 300  # seconds that a thread is waited for before a test gives up
MIB = 1 << 20


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    if set(threading.enumerate()) - before:
        gc.collect()  # a loader that was forgotten ends its threads when it goes
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

    def partitions_matching(self, may_match):
        return FilteredPartitions(self.partitions(), 0)

    def partition_batches(self, may_match=None):
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
    tables = []
    while not loader.finished:
        tables.append(loader.next_batch(quota))
    return pa.concat_tables([*tables, loader.next_batch(quota)])
