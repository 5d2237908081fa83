"""Every kind of query through the connector: handles and splits that are pickled and read elsewhere, as scans."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import PageSources
from hudi_hive.errors import HudiHiveError, InvalidOptionError
from hudi_hive.plan.model import QueryType
from tests.connector.shared.connector_helpers import all_rows, client, connector, rows, server
from tests.connector.shared.elsewhere import elsewhere
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture
from tests.support.metastore.registered import PARQUET, register
from tests.support.running.long import with_long_cases

__all__ = ["client", "connector", "elsewhere", "server"]

KINDS = ("snapshot", "read_optimized", "time_travel", "incremental", "cdc")
SHORT = ("v8_mor_schema_evo", "v9_cow_cdc", "v6_mor_rollback")


def questions(name: str) -> list[dict[str, str]]:
    """The options of each query that real Hudi was asked of a fixture, one of each kind and those of two ranges."""
    asked = [query for query in expected(name)["queries"] if query["kind"] in KINDS and not query.get("historical")]
    return [query["options"] for query in asked]


@pytest.mark.parametrize("name", with_long_cases(SHORT, fixture_names()))
def test_pickled_splits_read_elsewhere_are_the_scan(client, connector, elsewhere, name, thorough):
    table = HudiTable.open(unzip_fixture(name))
    register(client, unzip_fixture(name), "t", input_format=PARQUET)
    asked = questions(name)
    seen = set()
    for options in asked if thorough else asked[:: max(1, len(asked) // 4)] + asked[-1:]:
        scan = table.scan(options=options)
        seen.add(scan.query.query_type)
        try:
            wanted = scan.to_arrow()
        except HudiHiveError as error:
            with pytest.raises(type(error)):
                all_rows(connector, connector.metadata.table("default", "t", options=options))
            continue
        handle = connector.metadata.table("default", "t", options=options)
        assert (handle.query_type, handle.as_of) == (scan.query.query_type, scan.query.as_of)
        assert (handle.begin, handle.end) == (scan.query.begin, scan.query.end)
        with connector.splits(handle) as source:
            splits = list(source)
        for split in splits:
            assert (split.query.begin, split.query.end, split.query.as_of) == (handle.begin, handle.end, handle.as_of)
        sent = pickle.loads(pickle.dumps(handle))
        found = elsewhere(PageSources(sent), splits)
        assert found.schema.equals(wanted.schema, check_metadata=False)
        assert rows(found) == rows(wanted), options
        assert rows(all_rows(connector, handle)) == rows(wanted), options
        with scan.splits() as loader:  # the same without a metastore
            assert rows(elsewhere(scan.page_sources(), list(loader))) == rows(wanted), options
    assert QueryType.SNAPSHOT in seen
    assert len(seen) > 1


RANGE = "v9_cow_cdc"


@pytest.fixture
def branches(client):
    """A table of which one partition is registered: its path, and the handle's arguments that name a range."""
    path = unzip_fixture(RANGE)
    register(client, path, "t", partitions=HudiTable.open(path).partitions()[:1])
    return HudiTable.open(path)


@pytest.mark.parametrize("kind", ["snapshot", "time_travel", "incremental", "cdc"])
def test_partitions_that_are_not_registered_are_in_no_kind_of_query(branches, connector, kind):
    last = branches.timeline.last_completed_write()
    asked = {
        "snapshot": {},
        "time_travel": {"as_of": last.requested},
        "incremental": {"query_type": "incremental", "begin": "earliest"},
        "cdc": {"query_type": "cdc", "begin": "earliest"},
    }[kind]
    first, *others = branches.partitions()
    wanted = branches.scan(**asked).to_arrow()
    found = all_rows(connector, connector.metadata.table("default", "t", **asked))
    if kind == "cdc":
        partition = [f'"{first}"' in f"{row['before']}{row['after']}" for row in wanted.to_pylist()]
    else:
        partition = pc.equal(wanted.column("_hoodie_partition_path"), first).to_pylist()
    kept = wanted.filter(pa.array(partition))
    assert others and 0 < kept.num_rows < wanted.num_rows
    assert rows(found) == rows(kept)


def test_filters_of_ranges_and_of_changes(client, connector, branches):
    register(client, unzip_fixture(RANGE), "u")
    for kind, column in (("incremental", "owner"), ("cdc", "op")):
        everything = branches.scan(query_type=kind, begin="earliest").to_arrow()
        values = pc.unique(everything.column(column)).to_pylist()
        for value in values:
            wanted = everything.filter(pc.equal(everything.column(column), value))
            handle = connector.metadata.table("default", "u", query_type=kind, begin="earliest")
            text = f"{column} = '{value}'"
            assert rows(all_rows(connector, handle, None, text)) == rows(wanted)
            narrowed = pickle.loads(pickle.dumps(connector.metadata.apply_filter(handle, text)))
            assert rows(all_rows(connector, narrowed)) == rows(wanted)
            assert all_rows(connector, handle, [column], text).column_names == [column]
        assert len(values) > 1
    assert connector.metadata.statistics(handle).rows is None


def test_a_split_of_another_query_is_refused(client, connector, branches):
    register(client, unzip_fixture(RANGE), "u")
    plain = connector.metadata.table("default", "u")
    handle = connector.metadata.table("default", "u", query_type="incremental", begin="earliest")
    with connector.splits(handle) as source:
        split = next(iter(source))
    assert split.commit_times
    with pytest.raises(InvalidOptionError, match="another query"):
        list(connector.page_source(plain, split))
    with pytest.raises(InvalidOptionError, match="needs a begin"):
        connector.metadata.table("default", "u", query_type="cdc")


def test_a_range_is_planned_once_for_many_readers(client, connector, branches):
    register(client, unzip_fixture(RANGE), "u")
    handle = connector.metadata.table("default", "u", query_type="cdc", begin="earliest")
    with connector.splits(handle) as source:
        splits = list(source)
    pages = pickle.loads(pickle.dumps(PageSources(handle)))
    counters = pages._handle.client.counters
    assert sum(batch.num_rows for split in splits for batch in pages.read(split)) > 0
    assert not [path for path in counters.listed if ".hoodie" in path]
    assert not [path for path in counters.opened if path.endswith((".commit", ".deltacommit"))]
