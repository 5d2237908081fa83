"""Partitions that the connector learns from a metastore: which calls, and no row lost whatever a sync made of paths."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import HudiConnector, partitions
from hudi_hive.errors import (
    CorruptFileError,
    InvalidOptionError,
    MetadataTableError,
    MetastoreError,
    MetastoreServerError,
    NoSuchObjectError,
)
from hudi_hive.metadata import MetadataTable
from hudi_hive.metastore import HiveMetastore
from hudi_hive.plan.splits import DynamicFilter
from tests.connector.shared.partition_helpers import client, days, expected_ids, fresh, ids, read, server
from tests.support.fixture_tables import unzip_fixture
from tests.support.metastore.registered import register

__all__ = ["client", "fresh", "server"]


@pytest.fixture(scope="module")
def many_days(tmp_path_factory, client):
    """A table of 330 days, registered as ``kept_days``."""
    path = days(tmp_path_factory.mktemp("days") / "days", 330)
    register(client, path, "kept_days")
    return path


def test_names_first_then_batches(fresh, server, many_days):
    recorded = getattr(server, "calls", [])  # the fake tells what it was asked
    before = len(recorded)
    found, calls = read(fresh, "kept_days")
    assert len(found) == 330
    assert calls == {"get_partition_names": 1, "get_partitions_by_names": 6}
    sizes = [call.size for call in recorded[before:] if call.method == "get_partitions_by_names"]
    assert sorted(sizes) == ([10, 20, 40, 80, 80, 100] if recorded else [])


def test_a_filter_on_keys_is_pushed_down(fresh, many_days):
    for text in ("day = '2024-02-01'", "day IN ('2024-01-05', '2024-03-01', 'x')"):
        found, calls = read(fresh, "kept_days", text)
        assert found == expected_ids(many_days, text)
        assert calls == {"get_partitions_by_filter": 1}


def test_an_order_of_texts_is_checked_by_the_names(fresh, many_days, monkeypatch):
    """What a database leaves out because it has texts in another order is read by name."""
    text = "day >= '2024-11-01' AND v < 320"
    found, calls = read(fresh, "kept_days", text)
    assert found == expected_ids(many_days, text)
    assert calls == {"get_partitions_by_filter": 1, "get_partition_names": 1}
    chosen = fresh.partitions_by_filter
    monkeypatch.setattr(fresh, "partitions_by_filter", lambda *arguments: chosen(*arguments)[::2])
    found, calls = read(fresh, "kept_days", text)
    assert found == expected_ids(many_days, text)
    assert calls == {"get_partitions_by_filter": 1, "get_partition_names": 1, "get_partitions_by_names": 2}


def test_a_filter_that_hive_cannot_decide_prunes_names(fresh, many_days):
    text = "day LIKE '2024-02-%'"
    found, calls = read(fresh, "kept_days", text)
    assert found == expected_ids(many_days, text)
    assert len(found) == 29
    assert calls == {"get_partition_names": 1, "get_partitions_by_names": 2}


def test_nothing_that_fits_costs_no_partition_but_one(fresh, many_days):
    found, calls = read(fresh, "kept_days", "day = '1999-01-01'")
    assert found == []
    assert calls == {"get_partitions_by_filter": 1, "get_partition_names": 1, "get_partitions_by_names": 1}


def test_partitions_of_a_server_that_refuses_filters_are_read_by_name(fresh, server, many_days, monkeypatch):

    def refused(*arguments):
        raise MetastoreServerError("Filtering is supported only on partition keys of type string")

    monkeypatch.setattr(fresh, "partitions_by_filter", refused)
    found, calls = read(fresh, "kept_days", "day < '2024-01-04'")
    assert found == ["r000", "r001", "r002"]
    assert calls == {"get_partition_names": 1, "get_partitions_by_names": 1}


def test_a_filter_that_fits_very_many_partitions_takes_them_in_batches(fresh, many_days, monkeypatch):
    monkeypatch.setattr(partitions, "_MOST_AT_ONCE", 100)
    found, calls = read(fresh, "kept_days", "day >= '2024-03-01'")
    assert found == expected_ids(many_days, "day >= '2024-03-01'")
    assert calls == {"get_partitions_by_filter": 1, "get_partition_names": 1, "get_partitions_by_names": 6}
    found, calls = read(fresh, "kept_days", "day < '2024-04-10'")
    assert len(found) == 100
    assert calls == {"get_partitions_by_filter": 1, "get_partition_names": 1}


@pytest.mark.parametrize("text", [None, "day >= '2024-01-01'", "day LIKE '2024-%'"])
def test_the_first_partitions_come_few_at_a_time(fresh, many_days, text):
    handle = HudiConnector(fresh).metadata.table("default", "kept_days")
    found = partitions.MetastorePartitions(fresh, handle, handle.filter_of(text), list)
    with fresh.call_counter.measure() as calls:
        sizes = [len(batch) for batch in found]
    assert sizes[:4] == [10, 20, 40, 80] and sum(sizes) == 330
    assert (found.pushed is not None) == ("get_partitions_by_filter" in calls) == (text is not None and ">=" in text)


def test_recorded_locations_are_taken_as_they_are(fresh, many_days):
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "kept_days")
    counters = handle.client.counters
    with counters.measure() as cost:
        splits = list(connector.splits(handle, "day IN ('2024-01-01', '2024-01-02')"))
    assert len(splits) == 2
    assert cost.get("exists", 0) == 0
    folders = [path.partition("/days/")[2] for path in counters.listed if "day=" in path]
    assert sorted(folders) == ["day=2024-01-01", "day=2024-01-02"]


def test_partitions_that_are_not_registered_are_not_read_and_removed_ones_are_empty(fresh, many_days, tmp_path):
    path = tmp_path / "t"
    shutil.copytree(many_days, path)
    register(fresh, path, "t", partitions=["day=2024-01-01", "day=2031-01-01"])
    found, _ = read(fresh, "t")
    assert found == ["r000"]
    everything, calls = read(fresh, "t", source="listing")
    assert len(everything) == 330
    assert not calls


def test_a_location_outside_of_the_table_is_refused(fresh, many_days, tmp_path):
    register(fresh, many_days, "t", partitions=["day=2024-01-01"], location=lambda item: f"{tmp_path}/{item}")
    with pytest.raises(MetastoreError, match="outside the table's base path") as caught:
        read(fresh, "t")
    assert str(tmp_path) in caught.value.path
    sibling = f"{many_days}2/"
    register(fresh, many_days, "u", partitions=["day=2024-01-01"], location=lambda item: sibling + item)
    with pytest.raises(MetastoreError, match="outside the table's base path"):
        read(fresh, "u")


def test_two_partitions_of_one_folder_are_refused(fresh, many_days):
    register(
        fresh,
        many_days,
        "t",
        partitions=["day=2024-01-01", "day=2024-01-02"],
        location=lambda item: f"{many_days}/day=2024-01-01/",
    )
    with pytest.raises(MetastoreError, match=r"day=2024-01-01 and day=2024-01-02 of default\.t have the same location"):
        read(fresh, "t")


def test_a_failing_metastore_ends_the_reading_with_its_error(fresh, many_days):
    register(fresh, many_days, "t", partitions=["day=2024-01-01"])
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "t")
    fresh.drop_table("default", "t")
    with pytest.raises(NoSuchObjectError):
        list(connector.splits(handle))


def test_the_metadata_table_names_partitions(fresh):
    path = unzip_fixture("v8_cow_part_mdt")
    register(fresh, path, "t", partitions=[])
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "t")
    before = dict(handle.client.counters.listed)
    with fresh.call_counter.measure() as calls:
        found = list(connector.read(handle, source="metadata table"))
    assert not calls
    assert pa.Table.from_batches(found).num_rows == HudiTable.open(path).scan().count()
    listed = {path: n for path, n in handle.client.counters.listed.items() if n != before.get(path)}
    assert all("/.hoodie" in path for path in listed)
    assert list(connector.read(handle)) == []
    with pytest.raises(InvalidOptionError, match="cannot come from 'x'"):
        connector.splits(handle, source="x")


def test_the_metadata_table_as_source_is_refused_where_there_is_none(fresh, many_days):
    connector = HudiConnector(fresh)
    with pytest.raises(MetadataTableError):
        connector.splits(connector.metadata.table("default", "kept_days"), source="metadata table")


def test_a_table_that_was_synced_without_keys_shows_all_partitions(fresh, many_days):
    register(fresh, many_days, "t", keys=[])
    found, calls = read(fresh, "t", "day < '2024-01-04'")
    assert found == ["r000", "r001", "r002"]
    assert not calls


def test_a_dynamic_filter_leaves_partitions_out(fresh, many_days):
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "kept_days")
    narrow = DynamicFilter()
    narrow.narrow("day >= '2024-11-20'")
    narrow.complete()
    with connector.splits(handle, dynamic_filter=narrow) as source:
        splits = list(source)
        progress = source.progress()
    assert {split.partition_keys["day"] for split in splits} == {f"2024-11-{n}" for n in range(20, 26)}
    assert progress.partitions_received == 330
    assert progress.partitions_listed == 6


def test_the_first_splits_are_there_before_the_last_partitions(fresh, server, many_days):
    connector = HudiConnector(fresh)
    handle = connector.metadata.table("default", "kept_days")
    with connector.splits(handle, max_outstanding_splits=5, listing_threads=1) as source:
        first = source.next_batch(quota=5)
        assert first.num_rows == 1
        assert source.progress().partitions_listed < 330
        rest = sum(1 for _ in source)
    assert rest == 329


@pytest.mark.parametrize("damaged", [1, 2])
def test_folders_are_listed_where_a_metadata_table_is_damaged_midway(fresh, tmp_path, monkeypatch, damaged):
    """Unless the metadata table was required by name, which is an error; no row is lost."""
    days = [f"2024-01-{day:02d}" for day in range(1, 13)]  # more partitions than the first batch of a listing has
    table = HudiTable.create(tmp_path / "t", name="t", record_keys=["id"], partition_fields=["day"])
    table.insert(pa.table({"id": days, "day": days}))
    register(fresh, table.path, "t")
    connector = HudiConnector(fresh)
    read_partitions, batches = MetadataTable.files_table, HiveMetastore.partition_batches

    def one_by_one(metastore, database, table, names):
        for name in names:
            yield from batches(metastore, database, table, [name])

    monkeypatch.setattr(HiveMetastore, "partition_batches", one_by_one)
    for source in ("metastore", "metadata table"):
        handle = connector.metadata.table("default", "t")
        reads = []

        def breaking(table, partitions, reads=reads):
            reads.append(partitions)
            if len(reads) >= damaged:
                raise CorruptFileError("damaged", path="p")
            return read_partitions(table, partitions)

        monkeypatch.setattr(MetadataTable, "files_table", breaking)
        reading = connector.read(handle, ["id"], source=source)
        if source == "metastore":
            assert ids(reading) == days
        else:
            with pytest.raises(CorruptFileError, match="damaged"):
                list(reading)
        assert len(reads) >= damaged
