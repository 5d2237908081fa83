"""Plans by the metadata table and by listing are the same, and say which it was."""

import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.plan import Query, plan_scan
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import PARTITION_METAFILE
from hudi_hive.table.view import DirectoryLister
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture

WITH = tuple(name for name in fixture_names() if expected(name).get("mdt_files_partition"))
OFF = {"hoodie.metadata.enable": "false"}


def source(plan):
    (step,) = [step for step in plan.steps if step.name.startswith("partitions and files by ")]
    return step.name.removeprefix("partitions and files by ")


@pytest.mark.parametrize("name", WITH)
def test_both_ways_plan_the_same(name):
    table = HudiTable.open(unzip_fixture(name))
    plans = [
        table.scan(query_type="read_optimized", options=options).plan()
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
def test_a_table_without_metadata_table_is_listed_once_and_its_plan_says_so(name):
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


# -- threads that share a lister ---------------------------------------------------------------------------------------


class Watched(str):
    """A partition path that does something the third time it is looked up: a thread that comes in between."""

    def __new__(cls, text, between):
        made = super().__new__(cls, text)
        made.calls, made.between = 0, between
        return made

    def __hash__(self):
        self.calls += 1
        if self.calls == 3:
            self.between()
        return super().__hash__()


def thirty_partitions(folder):
    for number in range(30):
        path = folder / f"p{number:02d}"
        path.mkdir()
        (path / PARTITION_METAFILE).touch()
        (path / "data").touch()
    return DirectoryLister(Storage(folder))


def paths_of(table):
    return sorted(table.filter(pc.equal(table.column("name"), "data")).column("partition").to_pylist())


def test_files_below_partitions_that_a_concurrent_walk_reaches_are_listed(tmp_path):
    """The walk of another thread comes to a folder when its files were looked for among those walked to so far."""
    lister = thirty_partitions(tmp_path)
    walk = lister.partition_batches()
    first = next(walk)
    later = sorted({f"p{number:02d}" for number in range(30)} - set(first))[0]
    last = Watched(later, lambda: list(walk))
    assert paths_of(lister.files([first[0], last])) == sorted([first[0], later])
    assert lister.lists_at_once
