"""The connector against a metastore: names, handles, partitions and their cost, rows as HudiTable gives them."""

from __future__ import annotations

import pickle
import threading

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.connector import PageSources, PartitionKey, TableStatistics
from hudi_hive.errors import (
    FileVanishedError,
    InvalidOptionError,
    MetastoreError,
    NoSuchObjectError,
    UnknownColumnError,
    UnsupportedTableError,
)
from hudi_hive.metadata import MetadataTable
from hudi_hive.plan.model import QueryType
from hudi_hive.plan.splits import SplitOptions
from tests.connector.shared.connector_helpers import all_rows, check_synced, client, connector, rows, server
from tests.formats.shared.hfile_base_helpers import folder as hfile_folder
from tests.support.fixture_tables import expected, fixture_names, one_version_of_each, unzip_fixture
from tests.support.metastore.registered import ORC, REALTIME, make_table, register
from tests.support.running.long import with_long_cases
from tests.support.tables.mor_table import MorTable

__all__ = ["client", "connector", "server"]


def readable(name: str) -> bool:
    return any(query["kind"] == "snapshot" and "error" not in query for query in expected(name)["queries"])


@pytest.mark.parametrize("name", [name for name in fixture_names(version=9) if readable(name)])
def test_rows_are_those_of_the_table(client, connector, name):
    path = unzip_fixture(name)
    table = HudiTable.open(path)
    formats = ORC if table.config.base_file_format == "orc" else None
    register(client, path, "t", input_format=formats or REALTIME)
    handle = connector.metadata.table("DEFAULT", "T")
    assert handle.instant == table.scan().plan().instant
    wanted = table.scan().to_arrow()
    for copy in (handle, pickle.loads(pickle.dumps(handle))):
        found = all_rows(connector, copy)
        assert found.schema.equals(wanted.schema)
        assert rows(found) == rows(wanted)


SYNCED = [name for name in fixture_names() if readable(name) and not name.endswith("_empty")]


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(SYNCED), SYNCED))
def test_rows_of_every_name_that_a_sync_leaves(client, connector, name):
    check_synced(client, connector, name)


# -- names and handles ---------------------------------------------------------------------------------------------


def test_schemas_and_tables(client, connector, server):
    client.create_database("lake", if_not_exists=True)
    client.create_database("empty", if_not_exists=True)
    register(client, unzip_fixture("v8_cow_slash_day"), "trips", database="lake")
    register(
        client,
        unzip_fixture("v8_cow_nonpart"),
        "others",
        database="lake",
        input_format="org.apache.hadoop.mapred.TextInputFormat",
        parameters={"last_commit_time_sync": "0"},
    )
    other = client.table("lake", "others")
    del other.parameters["last_commit_time_sync"]
    client.alter_table("lake", "others", other)
    try:
        assert connector.metadata.schemas() == ["default", "empty", "lake"]
        with client.call_counter.measure() as calls:
            assert connector.metadata.tables("LAKE") == ["trips"]
        assert dict(calls) == {"get_all_tables": 1, "get_table_objects_by_name_req": 1}
        assert connector.metadata.tables("empty") == []
        with pytest.raises(NoSuchObjectError):
            connector.metadata.tables("nowhere")
        with pytest.raises(UnsupportedTableError, match=r"lake\.others is not a Hudi table .*TextInputFormat"):
            connector.metadata.table("lake", "Others")
        with pytest.raises(NoSuchObjectError):
            connector.metadata.table("lake", "trips2")
    finally:
        client.drop_database("lake", cascade=True)
        client.drop_database("empty")


def test_a_handle_costs_one_call_and_lists_no_data(client, connector):
    register(client, unzip_fixture("v8_cow_slash_day"), "t")
    with client.call_counter.measure() as calls:
        handle = connector.metadata.table("default", "t")
    assert dict(calls) == {"get_table_req": 1}
    assert all(".hoodie" in path for path in handle.client.counters.listed)
    assert handle.full_name == "default.t"
    assert handle.partition_keys == (PartitionKey("dt", "string"),)
    assert handle.query_type is QueryType.SNAPSHOT
    assert handle == connector.metadata.table("default", "t")


def test_views_of_a_merge_on_read_table(client, connector):
    path = unzip_fixture("v8_mor_rollback")
    marked = {"hoodie.query.as.ro.table": "true"}
    register(client, path, "t", input_format=REALTIME)
    register(client, path, "t_rt", input_format=REALTIME, serde={"hoodie.query.as.ro.table": "false"})
    register(client, path, "t_ro", serde=marked)
    register(client, path, "orc_ro", input_format=ORC)
    register(client, path, "orc", input_format=ORC, serde=marked)
    register(client, path, "bad", input_format=REALTIME, serde=marked)
    table = HudiTable.open(path)
    newest, optimised = (table.scan(query_type=kind).to_arrow() for kind in ("snapshot", "read_optimized"))
    assert rows(newest) != rows(optimised)
    for name, wanted in (
        ("t", newest),
        ("t_rt", newest),
        ("t_ro", optimised),
        ("orc_ro", optimised),
        ("orc", optimised),
    ):
        assert rows(all_rows(connector, connector.metadata.table("default", name))) == rows(wanted), name
    with pytest.raises(MetastoreError, match=r"default\.bad contradicts itself"):
        connector.metadata.table("default", "bad")


@pytest.mark.parametrize(
    ("input_format", "kind"),
    [
        ("com.uber.hoodie.hadoop.HoodieInputFormat", QueryType.READ_OPTIMIZED),
        ("com.uber.hoodie.hadoop.realtime.HoodieRealtimeInputFormat", QueryType.SNAPSHOT),
        ("org.apache.hudi.hadoop.HoodieHFileInputFormat", QueryType.READ_OPTIMIZED),
        ("org.apache.hudi.hadoop.realtime.HoodieHFileRealtimeInputFormat", QueryType.SNAPSHOT),
    ],
)
def test_other_input_formats(client, connector, input_format, kind):
    register(client, unzip_fixture("v8_mor_rollback"), "t", input_format=input_format)
    assert connector.metadata.table("default", "t").query_type is kind


def test_columns_and_properties(client, connector):
    register(client, unzip_fixture("v8_cow_slash_day"), "t", serde={"path": "p"}, parameters={"a": "b"})
    handle = connector.metadata.table("default", "t")
    columns = {column.name: column for column in connector.metadata.columns(handle)}
    assert list(columns) == handle.schema.names
    assert columns["dt"].is_partition_key
    assert columns["dt"].hive_type == "string"
    assert columns["_hoodie_commit_time"].is_hidden
    assert columns["_hoodie_record_key"].hive_type is None
    properties = connector.metadata.properties(handle)
    assert properties["path"] == "p"
    assert properties["a"] == "b"


def test_columns_keep_the_case_of_the_table(client, connector, tmp_path):
    path = make_table(
        tmp_path / "t",
        {"id": "string", "fareAmount": "double", "City": "string"},
        [{"id": "1", "fareAmount": 2.5, "City": "sf"}, {"id": "2", "fareAmount": 1.5, "City": "rome"}],
        lambda row: row["City"],
        hoodie__table__partition__fields="City",
    )
    register(client, path, "t")
    handle = connector.metadata.table("default", "t")
    found = pa.Table.from_batches(connector.read(handle, ["FAREAMOUNT", "id"], "city = 'sf' AND fareamount > 1"))
    assert found.to_pylist() == [{"fareAmount": 2.5, "id": "1"}]


def test_filters_add_up(client, connector):
    path = unzip_fixture("v8_cow_slash_day")
    register(client, path, "t")
    handle = connector.metadata.table("default", "t")
    january = connector.metadata.apply_filter(handle, "dt < '2024/02/01'")
    assert handle.row_filter is None
    text = "dt >= '2024/01/11'"
    wanted = HudiTable.open(path).scan(f"dt < '2024/02/01' AND {text}").to_arrow()
    for copy in (january, pickle.loads(pickle.dumps(january))):
        assert rows(all_rows(connector, copy, None, text)) == rows(wanted)
    assert wanted.num_rows
    with pytest.raises(UnknownColumnError):
        connector.metadata.apply_filter(handle, "nothing = 1")


def test_statistics_come_from_the_metadata_table(client, connector, tmp_path):
    path = unzip_fixture("v8_cow_part_mdt")
    register(client, path, "t")
    handle = connector.metadata.table("default", "t")
    found = connector.metadata.statistics(handle)
    table = HudiTable.open(path)
    plan = table.scan().plan()
    assert found.bytes == plan.total_bytes
    assert found.files == plan.slices.num_rows
    assert found.rows in (None, table.scan().count())
    assert not any(path.endswith(".parquet") and ".hoodie" not in path for path in handle.client.counters.opened)
    broken = unzip_fixture("v8_cow_part_mdt", tmp_path)
    register(client, broken, "broken")
    for file in (broken / ".hoodie" / "metadata" / "files").glob("*files-*"):
        file.write_bytes(b"damaged")
    handle = connector.metadata.table("default", "broken")
    assert connector.metadata.statistics(handle) == TableStatistics(None, None, None)
    assert all(".hoodie" in path for path in handle.client.counters.listed)
    assert all_rows(connector, handle).num_rows == table.scan().count()
    register(client, unzip_fixture("v8_cow_slash_day"), "without")
    nothing = connector.metadata.statistics(connector.metadata.table("default", "without"))
    if not table_has_metadata("v8_cow_slash_day"):
        assert nothing == TableStatistics(None, None, None)


def table_has_metadata(name: str) -> bool:
    return (unzip_fixture(name) / ".hoodie" / "metadata").exists()


# -- one moment ----------------------------------------------------------------------------------------------------


def test_a_handle_stays_at_its_moment(client, connector, tmp_path):
    table = MorTable(tmp_path / "t", 8)
    table.base(1, [{"id": "a", "ts": 1}, {"id": "b", "ts": 1}])
    table.log(2, [{"id": "b", "ts": 2, "a": "x"}])
    register(client, tmp_path / "t", "t", input_format=REALTIME, keys=[])
    handle = connector.metadata.table("default", "t")
    text = pickle.dumps(handle)
    splits = list(connector.splits(handle))
    assert [split.merge_instant for split in splits] == [table.t(2)]
    table.log(3, [{"id": "c", "ts": 3}], deletes=[("a", ("Long", 3))])
    for old in (handle, pickle.loads(text)):
        found = [*connector.read(old, ["id", "a"]), *connector.page_source(old, splits[0], ["id", "a"])]
        assert [batch.to_pydict() for batch in found] == [{"id": ["a", "b"], "a": [None, "x"]}] * 2
    new = connector.metadata.table("default", "t")
    assert new != handle
    assert sorted(pa.Table.from_batches(connector.read(new, ["id"]))["id"].to_pylist()) == ["b", "c"]


class AddingKey(str):
    """A key of an object's ``__dict__``: comparing it adds a key, as another thread would in the meantime."""

    def __new__(cls, text, owner):
        made = super().__new__(cls, text)
        made.owner = owner
        return made

    __hash__ = str.__hash__

    def __eq__(self, other):
        self.owner.__dict__["more"] = None
        return str.__eq__(self, other)


@pytest.mark.parametrize("of", ["handle", "file group"])
def test_what_another_thread_reads_meanwhile_does_not_keep_from_pickling(client, connector, of):
    base = unzip_fixture("v8_cow_part_mdt")
    register(client, base, "pickled", keys=[("city", "string")])
    made = connector.metadata.table("default", "pickled")
    if of == "file group":
        made = MetadataTable.open(made.client).prefixed_groups("files")["files"][0]
    made.__dict__[AddingKey("cached", made)] = None
    assert "cached" in made.__getstate__()


def test_a_split_stays_at_its_moment_though_its_log_file_grows(client, connector, tmp_path):
    table = MorTable(tmp_path / "t")
    table.base(1, [{"id": "a", "ts": 1}, {"id": "b", "ts": 1}])
    first = tmp_path / "t" / table.log(2, [{"id": "b", "ts": 2, "a": "x"}])
    register(client, tmp_path / "t", "t", input_format=REALTIME, keys=[])
    (split,) = connector.splits(connector.metadata.table("default", "t"))
    second = tmp_path / "t" / table.log(3, [{"id": "b", "ts": 3, "a": "y"}])
    first.write_bytes(first.read_bytes() + second.read_bytes())  # as on a file system that appends
    second.unlink()
    later = connector.metadata.table("default", "t")
    (batch,) = connector.page_source(later, split, ["id", "a"])
    assert batch.to_pydict() == {"id": ["a", "b"], "a": [None, "x"]}
    (batch,) = connector.read(later, ["id", "a"])
    assert batch.to_pydict() == {"id": ["a", "b"], "a": [None, "y"]}


# -- splits and pages ----------------------------------------------------------------------------------------------


def test_splits_of_a_large_file_share_no_row(client, connector, tmp_path):
    count = 20_000
    path = make_table(
        tmp_path / "t",
        {"id": "string", "v": "long"},
        [{"id": f"{n:06d}", "v": n} for n in range(count)],
        lambda row: "",
        row_group_size=1000,
    )
    register(client, path, "t", keys=[])
    handle = connector.metadata.table("default", "t")
    splits = list(connector.splits(handle, options=SplitOptions(target_size=64 << 10)))
    assert len(splits) > 3
    assert all(split.is_part for split in splits)
    pages = PageSources(handle, ["v"])
    parts = [sorted(v for batch in pages.read(pickle.loads(pickle.dumps(split))) for v in batch["v"].to_pylist())
             for split in splits]  # fmt: skip
    assert all(parts)
    assert sorted(v for part in parts for v in part) == list(range(count))
    counters = handle.client.counters
    with counters.measure() as cost:
        few = [
            v for split in splits for b in pages_of(connector, handle, split, "v >= 19500") for v in b["v"].to_pylist()
        ]
    assert few == list(range(19_500, count))
    assert cost["row_groups_read"] == 1


def pages_of(connector, handle, split, row_filter):
    return connector.page_source(handle, split, ["v"], row_filter)


def test_a_split_holds_what_a_worker_needs(client, connector):
    path = unzip_fixture("v8_mor_rollback")
    register(client, path, "t", input_format=REALTIME)
    handle = connector.metadata.table("default", "t")
    splits = list(connector.splits(handle, "p = 'x'"))
    assert {split.partition_keys["p"] for split in splits} == {"x"}
    assert all(1 <= split.weight <= 100 for split in splits)
    with_logs = [split for split in splits if split.log_files]
    assert all(split.merge_instant == handle.instant for split in with_logs)
    assert all(len(split.log_files) == len(split.log_sizes) for split in splits)
    assert with_logs
    one = HudiTable.open(path).scan("p = 'x'", ["id"]).to_arrow().column(0)[0].as_py()
    text = f"id = {one}"
    chosen = connector.splits(handle, f"p = 'x' AND {text}")
    found = [batch for split in chosen for batch in connector.page_source(handle, pickle.loads(pickle.dumps(split)))]
    assert rows(pa.Table.from_batches(found)) == rows(HudiTable.open(path).scan(f"p = 'x' AND {text}").to_arrow())
    with pytest.raises(InvalidOptionError, match=r"another table than default\.other"):
        register(client, unzip_fixture("v8_cow_slash_day"), "other")
        connector.page_source(connector.metadata.table("default", "other"), splits[0])


def test_projection_reaches_the_files(client, connector):
    path = unzip_fixture("v8_cow_wide_250")
    register(client, path, "t")
    handle = connector.metadata.table("default", "t")
    split = next(iter(connector.splits(handle)))
    (batch,) = connector.page_source(handle, split, ["p"])
    assert batch.schema.names == ["p"]
    (count,) = connector.page_source(handle, split, [])
    assert count.num_rows == batch.num_rows
    with pytest.raises(UnknownColumnError):
        connector.page_source(handle, split, ["nothing"])
    for read in (lambda *a, **o: connector.read(handle, *a, **o), connector.dataset(handle).to_table):
        with pytest.raises(InvalidOptionError, match="'P' is asked for twice"):
            read(["p", "P"])
        with pytest.raises(InvalidOptionError, match="batch_size"):
            read(["p"], batch_size=0)


def test_no_thread_is_left(client, connector):
    register(client, unzip_fixture("v8_cow_wide_250"), "t")
    handle = connector.metadata.table("default", "t")

    def threads():
        """All but those for calls: the client's stay, more of them when there was more to do, and the fake's, too."""
        return {thread for thread in threading.enumerate() if not thread.name.startswith(("metastore_", "fake-"))}

    before = threads()
    list(connector.read(handle))
    reading = connector.read(handle)
    next(reading)
    reading.close()
    with connector.splits(handle) as source:
        source.next_batch()
    assert threads() <= before


def test_a_vanished_file_is_an_error(client, connector, tmp_path):
    path = unzip_fixture("v8_cow_slash_day", tmp_path)
    register(client, path, "t")
    handle = connector.metadata.table("default", "t")
    splits = list(connector.splits(handle))
    (path / splits[0].path).unlink()
    with pytest.raises(FileVanishedError):
        list(connector.page_source(handle, splits[0]))


def test_a_dataset_pushes_filters_to_the_metastore(client, connector):
    path = unzip_fixture("v8_cow_wide_250")
    register(client, path, "t")
    handle = connector.metadata.table("default", "t")
    dataset = connector.dataset(handle)
    with client.call_counter.measure() as calls:
        found = dataset.to_table(columns=["p"], filter=pc.field("p") == "p001")
    assert dict(calls) == {"get_partitions_by_filter": 1}
    assert set(found["p"].to_pylist()) == {"p001"}


@pytest.mark.parametrize("name", ["hfile_cow", "hfile_mor"])
def test_tables_of_hfiles(client, connector, name):
    path = hfile_folder() / name
    register(client, path, "t", input_format="org.apache.hudi.hadoop.realtime.HoodieHFileRealtimeInputFormat")
    handle = connector.metadata.table("default", "t")
    wanted = HudiTable.open(path).scan("p = 'p1'").to_arrow()
    assert wanted.num_rows == 20
    assert rows(all_rows(connector, handle, None, "p = 'p1'")) == rows(wanted)
