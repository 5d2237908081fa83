"""What a statement sees of a table, as far as it needs no JVM."""

from __future__ import annotations

import os

import pytest

from hudi_hive.plan import Query
from hudi_hive.spark.scan.listings import ListingCache, QueryCache
from hudi_hive.spark.scan.snapshot import TableSnapshot, location_of
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import unzip_fixture


def test_the_order_of_partition_fields_is_that_of_the_table():
    location = location_of(unzip_fixture("v8_cow_ymd_hive"))
    own = TableSnapshot(location, Query.of("snapshot"))
    assert len(own.partition_fields) > 1
    catalog = tuple(name.upper() for name in reversed(own.partition_fields))
    other = TableSnapshot(location, Query.of("snapshot"), None, catalog)
    paths = own.partition_paths()
    assert other.partition_texts(paths).equals(own.partition_texts(paths))
    renamed = TableSnapshot(location, Query.of("snapshot"), None, ["y", *own.partition_fields[1:]])
    assert renamed.partition_fields[0] == "y"


# -- what is listed ----------------------------------------------------------------------------------------------------


@pytest.fixture
def planned(monkeypatch):
    """Plans a statement: its files, and the folders that were listed for it, by whichever client."""
    folders = []
    list_folders = Storage.list_local_folders

    def record(storage, paths, refuses=None):
        folders.extend(paths)
        return list_folders(storage, paths, refuses)

    monkeypatch.setattr(Storage, "list_local_folders", record)

    def plan(path):
        folders.clear()
        snapshot = TableSnapshot(location_of(path), Query.of("snapshot"))
        files = snapshot.files(beside_logs=True).files
        assert snapshot.partition_paths()
        return files.column("path").to_pylist(), list(folders)

    return plan


def test_a_table_with_a_metadata_table_is_not_listed(planned, tmp_path):
    path = unzip_fixture("v9_mor_part_rli", tmp_path)
    files, listed = planned(path)
    assert files and listed == ["files"]  # a partition of the metadata table, for all that a statement asks
    assert planned(path) == (files, [])  # nothing was written since


@pytest.mark.parametrize("name", ["v9_mor_part_rli", "v8_cow_ymd_hive"])
def test_a_statement_over_the_same_table_reads_the_properties_and_lists_the_timeline(name):
    location, query = location_of(unzip_fixture(name)), Query.of("snapshot")

    def cost():
        snapshot = TableSnapshot(location, query)
        assert snapshot.columns.names and snapshot.evolves in (True, False)
        return snapshot.files(beside_logs=True).files, snapshot.client.counters

    first, _ = cost()
    again, counters = cost()
    assert again.equals(first)
    assert (counters["lists"], counters["opens"]) == (1, 1)


def test_the_query_cache_is_bounded():
    answers = QueryCache()
    made = [answers.get(number, lambda number=number: [number]) for number in range(100)]
    assert answers.get(99, list) is made[99] and answers.get(0, list) == []


def test_a_listing_serves_the_next_statement_until_the_timeline_changes(planned, tmp_path):
    path = unzip_fixture("v8_cow_ymd_hive", tmp_path)
    timeline = MetaClient.load(path).timeline
    first, listed = planned(path)
    assert listed and all(instant.is_completed for instant in timeline.instants)
    assert planned(path) == (first, [])
    hidden = tmp_path / "hidden"
    last = timeline.write_instants()[-1]
    (path / last.path).rename(hidden)
    before, listed_again = planned(path)
    assert listed_again and before != first
    hidden.rename(path / last.path)
    after, listed_again = planned(path)
    assert listed_again and after == first


def test_a_listing_is_not_cached_while_an_action_is_pending(planned, tmp_path):
    path = unzip_fixture("v8_cow_ymd_hive", tmp_path)
    first, _ = planned(path)
    instant = MetaClient.load(path).timeline.write_instants()[-1]
    pending = (path / instant.path).parent / "20991231000000000.commit.requested"
    pending.touch()
    for _ in range(2):
        files, listed = planned(path)
        assert files == first and listed
    pending.unlink()
    assert planned(path)[1] and not planned(path)[1]


def test_a_table_that_was_made_again_is_listed_again(planned, tmp_path):
    path = unzip_fixture("v8_cow_ymd_hive", tmp_path)
    planned(path)
    last = path / MetaClient.load(path).timeline.write_instants()[-1].path
    times = last.stat()
    os.utime(last, (times.st_atime, times.st_mtime + 1))
    assert planned(path)[1] and not planned(path)[1]


def test_the_listing_cache_is_bounded():
    kept = ListingCache(tables=1)
    clients = [MetaClient.load(unzip_fixture(name)) for name in ("v8_cow_ymd_hive", "v8_cow_types")]
    listers = [kept.take_over(client).directory_lister for client in clients]
    assert kept.take_over(MetaClient.load(unzip_fixture("v8_cow_types"))).directory_lister is listers[1]
    assert kept.take_over(MetaClient.load(unzip_fixture("v8_cow_ymd_hive"))).directory_lister is not listers[0]


def test_other_credentials_list_for_themselves():
    path = unzip_fixture("v8_cow_types")
    kept = ListingCache()
    first = kept.take_over(MetaClient.load(path)).directory_lister
    other = MetaClient.load(path)
    other.storage.storage_options["key"] = "other"
    assert kept.take_over(other).directory_lister is not first
