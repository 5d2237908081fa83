"""Plans by the metadata table and by listing are the same, and say which it was."""

import pytest

from hudi_hive import HudiTable
from hudi_hive.plan import Query, plan_scan
from hudi_hive.table import MetaClient
from tests.support import expected, fixture_names, unzip_fixture

WITH = tuple(name for name in fixture_names() if expected(name).get("mdt_files_partition"))
OFF = {"hoodie.metadata.enable": "false"}


def source(plan):
    (step,) = [step for step in plan.steps if step.name.startswith("partitions and files by ")]
    return step.name.removeprefix("partitions and files by ")


@pytest.mark.parametrize("name", WITH)
def test_both_ways_plan_the_same(name):
    table = HudiTable.open(unzip_fixture(name))
    plans = [
        table.scan(query_type="read_optimized", options=options).plan_info()
        for options in ({}, OFF, {"hoodie.metadata.validate": "true"})
    ]
    assert [source(plan) for plan in plans] == [
        "metadata table",
        "directory listing (hoodie.metadata.enable=false)",
        "directory listing (hoodie.metadata.validate=true)",
    ]
    slices = [plan.slices.to_pylist() for plan in plans]
    assert slices[0] == slices[1] == slices[2]


@pytest.mark.parametrize("name", ["v6_cow_nonpart", "v8_cow_ymd_hive", "v9_cow_wide_250"])
def test_a_table_without_says_so_and_is_walked_once(name):
    client = MetaClient.load(unzip_fixture(name))
    client.partition_paths()
    with client.counters.measure() as cost:
        plan = plan_scan(client, Query.of())
    assert source(plan) == "directory listing (the metadata table is off)"
    assert cost["lists"] <= 2  # its timeline; without partition columns its one folder


def test_the_table_gives_its_metadata_table():
    table = HudiTable.open(unzip_fixture("v9_cow_part_mdt"))
    assert table.metadata.partitions() == table.partitions() == ["kyiv", "lima", "oslo"]
    assert table.metadata.stats().column("partition").to_pylist() == ["column_stats", "files", "partition_stats"]
