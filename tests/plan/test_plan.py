"""What a plan chooses, what it costs, and that it can go elsewhere."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive.errors import PredicateError, UnknownColumnError, UnsupportedTableError
from hudi_hive.plan import PLAN_SCHEMA, Query, plan_scan
from hudi_hive.read.scan import read_plan
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture


def client_of(name: str) -> MetaClient:
    return MetaClient.load(unzip_fixture(name))


def rows_of(client: MetaClient, plan, columns=None) -> pa.Table:
    schema = plan.schema if columns is None else pa.schema([plan.schema.field(name) for name in columns])
    return pa.Table.from_batches(list(read_plan(client.storage, plan, columns)), schema=schema)


@pytest.mark.parametrize("name", fixture_names("cow"))
def test_snapshot_plans_the_latest_base_files(name):
    client, answer = client_of(name), expected(name)
    plan = plan_scan(client, Query())
    assert plan.slices.schema == PLAN_SCHEMA
    slices = [(s["partition"], s["file_id"], s["base_instant"], s["base_file"]) for s in answer["file_slices"]]
    columns = ("partition", "file_id", "base_instant", "base_file")
    assert sorted(zip(*(plan.slices.column(c).to_pylist() for c in columns), strict=True)) == sorted(slices)
    assert plan.total_bytes == sum(s["base_size"] for s in answer["file_slices"])
    # By listing, a partition is there that only a crashed commit wrote to; the metadata table does not name it.
    assert plan.partitions_total == len(answer["partitions_by_mdt" if "crash_mdt" in name else "partitions"])
    assert plan.instant == max(c["requested"] for c in answer["commits"] if c["state"] == "COMPLETED" and is_write(c))


def is_write(commit) -> bool:
    return commit["action"] in ("commit", "deltacommit", "replacecommit")


# -- cost ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", fixture_names("cow_wide_250"))
def test_incremental_planning_lists_no_folder_of_the_table(name):
    client = client_of(name)
    first, second = client.timeline.write_instants()
    begin = first.requested if client.config.version == 6 else first.completed
    fresh = client_of(name)
    with fresh.counters.measure() as cost:
        plan = plan_scan(fresh, Query.of(begin=begin))
    assert plan.partitions_planned == plan.slices.num_rows == 3
    # The timeline once; with completion times also its history, for commits that took days to complete.
    folders = [".hoodie"] if client.config.version == 6 else [".hoodie/timeline", ".hoodie/timeline/history"]
    assert fresh.counters.listed == {fresh.storage.uri(folder): 1 for folder in folders}
    assert cost["lists"] == len(folders)
    opened = [path for path in fresh.counters.opened if "/history/" not in path]
    assert opened == [fresh.storage.uri(".hoodie/hoodie.properties"), fresh.storage.uri(second.path)]
    assert dict(plan.counters) == cost
    assert rows_of(fresh, plan).column("_hoodie_commit_time").unique().to_pylist() == [second.requested]


@pytest.mark.parametrize("name", fixture_names("cow_wide_250"))
def test_reading_opens_only_what_a_filter_leaves(name):
    client = client_of(name)
    plan = plan_scan(client, Query(), "p IN ('p007', 'p133')")
    assert (plan.partitions_total, plan.partitions_planned) == (250, 2)
    with client.counters.measure() as cost:
        rows = rows_of(client, plan)
    assert set(rows.column("p").to_pylist()) == {"p007", "p133"}
    assert cost["opens"] == 2
    steps = {step.name: (step.before, step.after) for step in plan.steps}
    assert steps["partitions that the filter leaves"] == (250, 2)


# -- a plan as a value ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query", [{}, {"begin": "earliest"}, {"as_of": True}], ids=["snapshot", "incremental", "as of"]
)
@pytest.mark.parametrize("name", ["v6_cow_types", "v8_cow_schema_evo", "v9_cow_ymd_hive"])
def test_a_pickled_plan_is_the_same(name, query):
    client = client_of(name)
    if "as_of" in query:
        query = {"as_of": client.timeline.write_instants()[-1].requested}
    plan = plan_scan(client, Query.of(**query), "_hoodie_record_key IS NOT NULL")
    copy = pickle.loads(pickle.dumps(plan))
    assert copy.slices.equals(plan.slices)
    assert (copy.schema, copy.query, copy.steps) == (plan.schema, plan.query, plan.steps)
    storage = pickle.loads(pickle.dumps(client.storage))
    read = pa.Table.from_batches(list(read_plan(storage, copy)), schema=copy.schema)
    assert read.equals(rows_of(client, plan))


def test_a_plan_is_not_changed_by_a_later_commit(tmp_path):
    path = unzip_fixture("v8_cow_nonpart", tmp_path)
    client = MetaClient.load(path)
    last = client.timeline.write_instants()[-1]
    file = path / ".hoodie" / "timeline" / last.file_name
    kept = file.read_bytes()
    file.unlink()
    plan = plan_scan(client.reload(), Query())
    file.write_bytes(kept)
    assert last.requested not in plan.slices.column("base_instant").to_pylist()
    before = rows_of(client, plan)
    assert before.num_rows == 35
    assert rows_of(client, plan_scan(client.reload(), Query())).num_rows == 31


# -- schema and filter ---------------------------------------------------------------------------------------------


def test_filters_are_bound_to_the_schema_of_the_query():
    client = client_of("v8_cow_schema_evo")
    first = client.timeline.write_instants()[0].requested
    assert plan_scan(client, Query.of(as_of=first), "name = 'x'").row_filter is not None
    with pytest.raises(UnknownColumnError, match="full_name"):
        plan_scan(client, Query.of(as_of=first), "full_name = 'x'")
    with pytest.raises(UnknownColumnError, match="'name'"):
        plan_scan(client, Query(), "name = 'x'")
    with pytest.raises(PredicateError):
        plan_scan(client, Query(), "full_name = ")


def test_renamed_columns_are_found_in_older_files():
    client = client_of("v9_cow_schema_evo")
    renamed = next(
        i.requested
        for i in client.timeline.write_instants()
        if any(field["name"] == "full_name" for field in client.avro_schema(i.requested)["fields"])
    )
    plan = plan_scan(client, Query.of(as_of=renamed))
    assert all(instant < renamed for instant in plan.slices.column("base_instant").to_pylist())
    rows = rows_of(client, plan)
    assert rows.column("full_name").null_count == 0
    filtered = plan_scan(client, Query.of(as_of=renamed), f"full_name = '{rows['full_name'][0].as_py()}'")
    assert rows_of(client, filtered).num_rows == 1
    by_name = Query.of(as_of=renamed, options={"hoodie.schema.on.read.enable": "false"})
    assert rows_of(client, plan_scan(client, by_name)).column("full_name").null_count == rows.num_rows


def test_partition_values_from_the_path():
    option = {"hoodie.datasource.read.extract.partition.values.from.path": "true"}
    for name in fixture_names("cow_tskey_hive"):
        client = client_of(name)
        plan = plan_scan(client, Query.of(options=option))
        assert plan.schema.field("event_ms").type == pa.string()
        rows = rows_of(client, plan, ["event_ms", "_hoodie_partition_path"])
        assert [f"event_ms={v}" for v in rows["event_ms"].to_pylist()] == rows["_hoodie_partition_path"].to_pylist()
    client = client_of("v8_cow_ymd_hive")
    plan = plan_scan(client, Query.of(options=option))
    assert plan.schema == client.schema()  # simple values keep their types
    assert rows_of(client, plan).equals(rows_of(client, plan_scan(client, Query())))


# -- what is not supported -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", fixture_names("mor_event_time"))
def test_readers_of_base_files_alone_refuse_log_files(name):
    client = client_of(name)
    for query in (Query(), Query.of(begin="earliest")):
        plan = plan_scan(client, query)
        assert plan.has_logs and plan.merge is not None
        with pytest.raises(UnsupportedTableError, match="log files cannot be read by a test") as caught:
            plan.require_base_files("a test")
        assert "read_optimized" in caught.value.remedy
    plan = plan_scan(client, Query.of("read_optimized"))
    assert plan.slices.num_rows > 0 and plan.merge is None
    plan.require_base_files("a test")


@pytest.mark.parametrize("name", ["v6_mor_part_rli", "v9_mor_event_time"])
def test_plans_with_log_files_can_be_shipped(name):
    client = client_of(name)
    plan = plan_scan(client, Query())
    shipped = pickle.loads(pickle.dumps(plan))
    assert rows_of(client, shipped).equals(rows_of(client, plan))
    logs = sum(map(len, plan.slices.column("log_files").to_pylist()))
    assert plan.steps[-1].after == plan.files.num_rows + logs
    assert plan.total_bytes == sum((row["base_size"] or 0) + sum(row["log_sizes"]) for row in plan.slices.to_pylist())


@pytest.mark.parametrize("name", [name for name in fixture_names() if "_cdc" not in name])
def test_change_data_of_a_table_without_cdc_is_refused(name):
    with pytest.raises(UnsupportedTableError, match=r"hoodie\.table\.cdc\.enabled") as caught:
        plan_scan(client_of(name), Query.of("cdc", begin="earliest"))
    assert "incremental" in caught.value.remedy


@pytest.mark.parametrize("name", fixture_names("cow_cdc"))
def test_plans_of_change_data(name):
    client = client_of(name)
    plan = plan_scan(client, Query.of("cdc", begin="earliest"))
    assert plan.schema.names == ["op", "ts_ms", "before", "after"]
    assert plan.slices.num_rows == plan.changes.num_rows > 0
    assert set(plan.changes.column("case").to_pylist()) == {"listed", "inserted", "deleted"}
    deletes = plan_scan(client, Query.of("cdc", begin="earliest"), "op = 'd'")
    assert set(rows_of(client, deletes).column("op").to_pylist()) == {"d"}
    limited = plan_scan(client, Query.of("cdc", begin="earliest", limit=3))
    assert rows_of(client, limited).num_rows == 3
    with pytest.raises(UnsupportedTableError, match="change data"):
        plan.require_base_files("a test")


@pytest.mark.parametrize("name", fixture_names("mor_empty"))
@pytest.mark.parametrize("query", [{}, {"query_type": "read_optimized"}, {"begin": "earliest"}])
def test_a_table_without_commits_has_no_rows(name, query):
    client = client_of(name)
    plan = plan_scan(client, Query.of(**query))
    assert plan.slices.num_rows == 0
    assert rows_of(client, plan).schema == client.schema()


@pytest.mark.parametrize("name", fixture_names("cow_virtual_keys"))
def test_incremental_queries_need_meta_columns(name):
    with pytest.raises(UnsupportedTableError, match=r"hoodie\.populate\.meta\.fields"):
        plan_scan(client_of(name), Query.of(begin="earliest"))


def test_filter_of_every_partition_column_type_keeps_matching_rows():
    """Pruned or not, a filter's rows are those that Arrow's own filter takes from the whole table."""
    for name, filters in {
        "v8_cow_ymd_hive": ["year = 2024 AND month = '01'", "year < 2024 OR day = '11'", "NOT (year = 2023)"],
        "v6_cow_slash_day": ["dt = '2024/01/10'", "dt >= '2024/02'", "dt LIKE '2024/0%'"],
        "v9_cow_types": ["grp = 'x:y'", "grp IN ('a b', '100%', 'nothing')", "grp > 'k' AND id > 3", "grp IS NULL"],
        "v9_cow_tskey_hive": ["event_ms > 1704153600000", "event_ms = 1704153606000"],
        "v6_cow_custom_keygen": ["region = 'us'", "at < '2024-02-01'"],
        "v8_cow_part_mdt": ["city <> 'oslo'", "city IS NOT NULL AND visit_id > 10"],
    }.items():
        client = client_of(name)
        everything = rows_of(client, plan_scan(client, Query()))
        for text in filters:
            plan = plan_scan(client, Query(), text)
            wanted = everything.filter(pc.fill_null(plan.row_filter.evaluate(everything), False))
            assert rows_of(client, plan).equals(wanted), (name, text)
