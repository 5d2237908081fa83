"""Scans of several threads are planned at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from hudi_hive import HudiTable
from hudi_hive.table_api import scan as api_scan
from tests.support.fixture_tables import unzip_fixture


def test_plans_of_two_scans_are_made_at_the_same_time(monkeypatch):
    """A scan of a slow store does not block another."""
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
