"""Partitions written and dropped since a sync, against real Hudi's answers on every fixture table."""

from __future__ import annotations

import pytest

from hudi_hive.sync.diff.changes import (
    LastSync,
    changes_since,
    completion_time,
    instants_since,
    is_archived,
    newest_stamp,
)
from hudi_hive.table.core import MetaClient
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture


@pytest.mark.parametrize("name", fixture_names())
def test_changes_since_each_instant(name):
    timeline = MetaClient.load(unzip_fixture(name)).timeline
    for entry in expected(name)["sync"]:
        changes = changes_since(timeline, LastSync(entry["since_instant"]))
        assert (list(changes.written), list(changes.dropped)) == (entry["written"], entry["dropped"]), entry


@pytest.mark.parametrize("name", fixture_names("cow"))
def test_nothing_is_new_behind_the_newest_stamp(name):
    timeline = MetaClient.load(unzip_fixture(name)).timeline
    stamp = newest_stamp(timeline)
    assert stamp is not None
    assert instants_since(timeline, stamp) == ()
    assert not is_archived(timeline, stamp)
    assert is_archived(timeline, LastSync("2020"))


def test_a_write_that_completed_late_is_seen():
    timeline = MetaClient.load(unzip_fixture("v8_cow_part_mdt")).timeline
    first, second = timeline.write_instants()[:2]
    stamp = newest_stamp(timeline)
    last = LastSync(stamp.requested, completion_time(timeline, first))
    late = instants_since(timeline, last)
    assert first not in late
    assert second in late
    assert instants_since(timeline, LastSync(stamp.requested)) == ()


def test_an_empty_table_has_no_stamp():
    for name in fixture_names("mor_empty"):
        assert newest_stamp(MetaClient.load(unzip_fixture(name)).timeline) is None
