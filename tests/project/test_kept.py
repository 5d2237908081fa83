"""Properties worked out once, whichever threads ask."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hudi_hive import HudiTable
from hudi_hive.caching import cached_property
from hudi_hive.table_api import scan as api_scan
from tests.support.fixture_tables import unzip_fixture


class Reader:
    """Reads slowly."""

    def __init__(self, fails: int = 0) -> None:
        self.fails, self.reads = fails, 0

    @cached_property
    def content(self) -> object:
        """What it reads."""
        self.reads += 1
        if self.reads <= self.fails:
            raise ValueError(self.reads)
        threading.Event().wait(0.05)
        return object()


def test_one_thread_reads_and_all_have_it():
    reader = Reader()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: reader.content, range(8)))
    assert (reader.reads, len(set(map(id, found)))) == (1, 1)
    assert Reader.content.__doc__ == "What it reads."


def test_failures_are_not_kept_and_values_pickle():
    reader = Reader(fails=1)
    with pytest.raises(ValueError, match="1"):
        _ = reader.content
    assert reader.content is reader.content
    assert pickle.loads(pickle.dumps(reader)).reads == 2


def test_plans_of_two_scans_are_made_at_the_same_time(monkeypatch):
    """One whose store is slow keeps no other waiting."""
    table = HudiTable.open(unzip_fixture("v8_cow_nonpart"))
    scans, both, make = [table.scan(), table.scan()], threading.Barrier(2), api_scan.plan_scan

    def together(*arguments):
        both.wait(300)
        return make(*arguments)

    monkeypatch.setattr(api_scan, "plan_scan", together)
    while id(scans[0]) // 16 % 64 == id(scans[1]) // 16 % 64:
        scans.append(scans[1])  # keeps the place of one that shares the other's lock
        scans[1] = table.scan()
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda scan: scan.plan().slices.num_rows, scans[:2]))
    assert rows[0] == rows[1] > 0
