"""Tables from which readers are known to give wrong or partial rows without an error: the right answers are here."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, IncrementalRangeError, TimeTravelError, UnsupportedTableError
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import assert_same_rows, expected, fixture_names, queries, unzip_fixture
from tests.support.running.long import VERSION_CASES
from tests.support.tables.mor_table import MorTable

OVERWRITE_NON_DEFAULTS = "org.apache.hudi.common.model.OverwriteNonDefaultsWithLatestAvroPayload"
PARTIAL_UPDATE = "org.apache.hudi.common.model.PartialUpdateAvroPayload"


def values(table: HudiTable, *columns: str, **query) -> list[tuple]:
    rows = table.scan(selected_fields=columns, **query).to_arrow()
    return sorted(zip(*(rows.column(name).to_pylist() for name in columns), strict=True), key=str)


# -- file groups of log files only -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSION_CASES)
def test_a_table_of_log_files_only(tmp_path, version):
    made = MorTable(tmp_path, version)
    made.log(1, [{"id": "k1", "ts": 1, "a": "x"}, {"id": "k2", "ts": 1, "a": "y"}])
    made.log(2, [{"id": "k2", "ts": 2, "a": "z"}], deletes=[("k1", None)])
    table = HudiTable.open(tmp_path)
    assert values(table, "id", "a") == [("k2", "z")]
    assert values(table, "id", query_type="read_optimized") == []
    assert values(table, "id", begin="earliest") == [("k2",)]
    assert table.scan("a = 'z'").count() == table.scan().count() == 1


# -- renamed columns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*fixture_names("cow_schema_evo"), *fixture_names("mor_schema_evo")])
def test_renamed_columns_are_read_projected_and_filtered(name):
    table = HudiTable.open(unzip_fixture(name))
    rows = table.scan().to_arrow()
    assert_same_rows(rows, name, queries(name, "snapshot")[0])
    assert "full_name" in rows.column_names and rows.column("full_name").null_count < rows.num_rows
    # a projection and a filter of the new name reach the old one, too
    known = sorted(text for text in rows.column("full_name").to_pylist() if text is not None)
    for text in known:
        found = table.scan([("full_name", "=", text)], selected_fields=["full_name"]).to_arrow()
        assert found.column("full_name").to_pylist() == [t for t in known if t == text]


# -- the past --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", fixture_names("cow_part_mdt"))
def test_time_travel_to_a_cleaned_instant_is_refused(name):
    table = HudiTable.open(unzip_fixture(name))
    refused = [query for query in queries(name, "time_travel") if "error" in query]
    first = expected(name)["commits"][0]["requested"]
    for as_of in {first, *(query["as_of"] for query in refused)}:
        with pytest.raises(TimeTravelError, match="cleaned") as caught:
            table.scan(as_of=as_of).to_arrow()
        assert caught.value.remedy and caught.value.instant == as_of


@pytest.mark.parametrize("name", fixture_names("cow_archived"))
def test_time_travel_to_an_archived_instant(name):
    """Each archived commit added one partition: as of it, the table has the rows of all commits up to it."""
    table = HudiTable.open(unzip_fixture(name))
    rows = table.scan().to_arrow()
    archived = sorted({c["requested"] for c in expected(name)["archived_commits"] if c["action"] == "commit"})
    assert archived
    asked = 0
    for as_of in archived:
        try:
            past = table.scan(as_of=as_of).to_arrow()
        except TimeTravelError as error:
            assert error.remedy
            continue
        asked += 1
        assert past.num_rows == sum(time <= as_of for time in archived)
        untouched = rows.filter(pc.less_equal(rows.column("_hoodie_commit_time"), as_of))
        assert {r["_hoodie_record_key"] for r in untouched.to_pylist()} <= set(
            past.column("_hoodie_record_key").to_pylist()
        )
    assert asked == len(archived), "nothing of these tables was cleaned"


@pytest.mark.parametrize("name", fixture_names("cow_archived"))
def test_a_range_from_the_beginning_reaches_into_the_archive(name):
    table = HudiTable.open(unzip_fixture(name))
    rows = table.scan(begin="earliest").to_arrow()
    assert rows.sort_by("_hoodie_record_key").equals(table.scan().to_arrow().sort_by("_hoodie_record_key"))
    assert rows.num_rows == 14


@pytest.mark.parametrize("name", [name for name in fixture_names() if expected(name)["commits"]])
def test_a_poll_from_the_last_checkpoint_sees_nothing_twice(name):
    """Checkpoints are completion times from version 8 on: the requested time of the last commit would see it again."""
    table = HudiTable.open(unzip_fixture(name))
    try:
        checkpoint = table.scan(begin="earliest").plan().checkpoint
    except HudiHiveError:
        return  # refused by name: no meta columns, a hollow commit, or cleaned files
    assert table.scan(begin=checkpoint).count() == 0
    last = table.timeline.last_completed_write()
    assert checkpoint == (
        last.requested if table.version == 6 else max(each.completed for each in table.timeline.write_instants())
    )


@pytest.mark.parametrize("name", ["v8_mor_part_rli", "v9_mor_part_rli", "v6_mor_part_rli", "v9_cow_nonpart"])
def test_polls_from_checkpoint_to_checkpoint_see_every_change_once(tmp_path, name):
    table = HudiTable.open(unzip_fixture(name))
    checkpoint, seen = "000", []
    instants = sorted(table.timeline.write_instants(), key=lambda i: i.completed or i.requested)
    for instant in instants:
        scan = table.scan(begin=checkpoint, end=instant.completed or instant.requested)
        seen += scan.to_arrow().column("_hoodie_commit_time").unique().to_pylist()
        checkpoint = scan.plan().checkpoint
    assert len(seen) == len(set(seen))
    current = table.scan().to_arrow().column("_hoodie_commit_time").unique().to_pylist()
    assert set(current) <= set(seen)


# -- partial updates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", [OVERWRITE_NON_DEFAULTS, PARTIAL_UPDATE])
def test_partial_update_payloads_of_version_6(tmp_path, payload):
    """A null of an update keeps the older value; it does not erase it. Or the payload is refused by its name."""
    made = MorTable(tmp_path, 6, hoodie__compaction__payload__class=payload, hoodie__table__precombine__field="ts")
    made.base(1, [{"id": "k1", "ts": 1, "a": "a1", "b": "b1"}, {"id": "k2", "ts": 1, "a": "a2", "b": "b2"}])
    made.log(2, [{"id": "k1", "ts": 2, "a": None, "b": "new"}, {"id": "k3", "ts": 2, "a": "only", "b": None}])
    table = HudiTable.open(tmp_path)
    try:
        table.scan().plan()
    except UnsupportedTableError as error:
        assert payload.rpartition(".")[2] in error.message and "read_optimized" in error.remedy
        with pytest.raises(UnsupportedTableError):
            table.scan(begin=made.t(1)).to_arrow()
        assert values(table, "id", "a", query_type="read_optimized") == [("k1", "a1"), ("k2", "a2")]
        return
    assert values(table, "id", "a", "b") == [("k1", "a1", "new"), ("k2", "a2", "b2"), ("k3", "only", None)]
    assert values(table, "id", "b") == [("k1", "new"), ("k2", "b2"), ("k3", None)]
    # a range shows whole rows as well, not the update alone
    assert values(table, "id", "a", "b", begin=made.t(1)) == [("k1", "a1", "new"), ("k3", "only", None)]


def test_an_unknown_payload_is_refused_by_name(tmp_path):
    made = MorTable(tmp_path, 6, hoodie__compaction__payload__class="com.example.MyPayload")
    made.base(1, [{"id": "k1", "ts": 1, "a": "a1"}])
    table = HudiTable.open(tmp_path)
    assert values(table, "id", "a") == [("k1", "a1")]  # nothing has to be merged yet
    made.log(2, [{"id": "k1", "ts": 2, "a": "a2"}])
    with pytest.raises(UnsupportedTableError, match="MyPayload") as caught:
        table.refresh().scan().to_arrow()
    assert caught.value.remedy
    assert values(table.refresh(), "id", "a", query_type="read_optimized") == [("k1", "a1")]


@pytest.mark.parametrize("version", [8, 9])
def test_partial_blocks_keep_the_other_columns(tmp_path, version):
    made = MorTable(
        tmp_path, version, hoodie__record__merge__mode="COMMIT_TIME_ORDERING", hoodie__table__cdc__enabled="false"
    )
    made.base(1, [{"id": "k1", "ts": 1, "a": "a1", "b": "b1"}, {"id": "k2", "ts": 1, "a": "a2", "b": "b2"}])
    made.log(2, [{"id": "k1", "b": "new"}], IS_PARTIAL="true")
    table = HudiTable.open(tmp_path)
    assert values(table, "id", "ts", "a", "b") == [("k1", 1, "a1", "new"), ("k2", 1, "a2", "b2")]
    assert values(table, "id", "a") == [("k1", "a1"), ("k2", "a2")]
    assert values(table, "id", "a", "b", begin=made.completed(1)) == [("k1", "a1", "new")]


# -- tables that others cannot open ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", fixture_names("cow_ymd_hive"))
def test_dropped_partition_columns(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    fields = list(table.config.partition_fields)
    right = table.scan().to_arrow().sort_by("_hoodie_record_key")
    for file in path.rglob("*.parquet"):
        if ".hoodie" not in file.parts:
            stored = pq.ParquetFile(file).read()
            pq.write_table(stored.drop_columns(fields), file)
    properties = path / ".hoodie" / "hoodie.properties"
    key = "hoodie.datasource.write.drop.partition.columns"
    properties.write_text(properties.read_text().replace(f"{key}=false", f"{key}=true"))
    rows = HudiTable.open(path).scan().to_arrow().sort_by("_hoodie_record_key")
    assert rows.equals(right)


@pytest.mark.parametrize("name", fixture_names("mor_part_rli"))
def test_the_metadata_table_is_not_read_as_a_data_table(name):
    """Its files have a reader of their own: as a data table it is refused, and by path the API gives its records."""
    path = unzip_fixture(name)
    with pytest.raises(HudiHiveError) as caught:
        MetaClient.load(path / ".hoodie" / "metadata")
    assert caught.value.path
    assert HudiTable.open(path / ".hoodie" / "metadata").scan().schema.names[:2] == ["key", "type"]
    table = HudiTable.open(path)
    files = table.metadata.files()
    names = set(files.column("name").to_pylist())
    slices = table.scan().plan().slices
    assert set(slices.column("base_file").drop_null().to_pylist()) <= names
    assert {log for logs in slices.column("log_files").to_pylist() for log in logs} <= names


def test_two_ordering_fields(tmp_path):
    """The first field decides, then the second; a tie is won by the later record."""
    made = MorTable(
        tmp_path,
        9,
        {"id": "string", "ts": "long", "seq": "long", "a": "string"},
        hoodie__record__merge__mode="EVENT_TIME_ORDERING",
        hoodie__table__ordering__fields="ts,seq",
    )
    made.base(1, [{"id": f"k{i}", "ts": 5, "seq": 5, "a": "base"} for i in range(6)])
    made.log(
        2,
        [
            {"id": "k0", "ts": 4, "seq": 9, "a": "older first field"},
            {"id": "k1", "ts": 6, "seq": 0, "a": "newer first field"},
            {"id": "k2", "ts": 5, "seq": 4, "a": "older second field"},
            {"id": "k3", "ts": 5, "seq": 6, "a": "newer second field"},
            {"id": "k4", "ts": 5, "seq": 5, "a": "tie"},
        ],
    )
    wanted = [("k0", "base"), ("k1", "newer first field"), ("k2", "base"), ("k3", "newer second field")]
    wanted += [("k4", "tie"), ("k5", "base")]
    assert values(HudiTable.open(tmp_path), "id", "a") == wanted


# -- filters and log files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSION_CASES)
def test_filters_see_merged_rows_only(tmp_path, version):
    """A row that passed in the base file may not pass any more, and one that did not may do so now."""
    made = MorTable(tmp_path, version)
    rows = [{"id": f"k{i:03d}", "ts": i, "a": "old", "b": "base"} for i in range(200)]
    made.base(1, rows, row_group_size=20)
    made.log(2, [{"id": "k000", "ts": 1000, "a": "new"}, {"id": "k100", "ts": 3, "a": "new"}], [("k001", None)])
    table = HudiTable.open(tmp_path)
    everything = table.scan().to_arrow()
    assert everything.num_rows == 199
    for row_filter in ("ts < 10", "ts >= 500", "a = 'new'", "a = 'old' AND ts = 0", "ts = 100", "id = 'k001'"):
        found = table.scan(row_filter).to_arrow().column("id").to_pylist()
        plain = table.scan(row_filter, selected_fields=["b"])
        kept = {
            "ts < 10": [f"k{i:03d}" for i in range(2, 10)] + ["k100"],
            "ts >= 500": ["k000"],
            "a = 'new'": ["k000", "k100"],
            "a = 'old' AND ts = 0": [],
            "ts = 100": [],
            "id = 'k001'": [],
        }[row_filter]
        assert sorted(found) == kept
        assert plain.count() == plain.to_arrow().num_rows == len(kept)
        assert plain.schema.names == ["b"]


@pytest.mark.parametrize("version", VERSION_CASES)
def test_projection_limit_and_count_over_log_files(tmp_path, version):
    made = MorTable(tmp_path, version)
    made.base(1, [{"id": f"k{i}", "ts": i, "a": "old"} for i in range(10)])
    made.log(2, [{"id": "k3", "ts": 20, "a": "new"}, {"id": "new", "ts": 1, "a": "new"}], [("k9", None)])
    table = HudiTable.open(tmp_path)
    assert table.scan(selected_fields=["a"]).to_arrow().schema == pa.schema([("a", pa.string())])
    assert table.scan().count() == 10
    for limit in (0, 1, 5, 10, 50):
        assert table.scan(limit=limit).to_arrow().num_rows == min(limit, 10)
    unmerged = table.scan(options={"hoodie.datasource.merge.type": "skip_merge"})
    assert unmerged.count() == 12


# -- change data of log files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSION_CASES)
def test_change_data_of_log_files(tmp_path, version):
    """Where no change files were written, what a commit changed is told by the slice before and after it."""
    made = MorTable(tmp_path, version, hoodie__table__cdc__enabled="true", hoodie__table__precombine__field="ts")
    made.base(1, [{"id": f"k{i}", "ts": 5, "a": "base"} for i in range(4)])
    made.log(2, [{"id": "k0", "ts": 6, "a": "changed"}, {"id": "new", "ts": 1, "a": "first"}], [("k1", None)])
    made.log(3, [{"id": "new", "ts": 2, "a": "second"}, {"id": "k1", "ts": 9, "a": "back"}])
    table = HudiTable.open(tmp_path)

    def changes(begin, end=None):
        rows = table.scan(query_type="cdc", begin=begin, end=end).to_arrow().to_pylist()

        def image(text):
            return None if text is None else (json.loads(text)["id"], json.loads(text)["a"])

        return sorted((r["ts_ms"], r["op"], image(r["before"]) or (), image(r["after"]) or ()) for r in rows)

    ends = [made.t(n) if version == 6 else made.completed(n) for n in range(4)]
    first = [(made.t(1), "i", (), (f"k{i}", "base")) for i in range(4)]
    second = [
        (made.t(2), "d", ("k1", "base"), ()),
        (made.t(2), "i", (), ("new", "first")),
        (made.t(2), "u", ("k0", "base"), ("k0", "changed")),
    ]
    third = [
        (made.t(3), "i", (), ("k1", "back")),
        (made.t(3), "u", ("new", "first"), ("new", "second")),
    ]
    assert changes("earliest") == [*first, *second, *third]
    assert changes(ends[1], ends[2]) == second
    assert changes(ends[2]) == third
    assert changes(ends[3]) == []
    deleted = table.scan("op = 'd'", selected_fields=["before"], query_type="cdc", begin="earliest").to_arrow()
    assert deleted.schema.names == ["before"] and deleted.num_rows == 1


@pytest.mark.parametrize("name", fixture_names("cow_cdc"))
def test_a_missing_change_file_is_refused(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    next(path.rglob("*.cdc")).unlink()
    with pytest.raises(IncrementalRangeError, match="change file") as caught:
        HudiTable.open(path).scan(query_type="cdc", begin="earliest").to_arrow()
    assert caught.value.remedy and caught.value.instant


@pytest.mark.parametrize("name", fixture_names("cow_cdc_key_only"))
def test_a_missing_image_is_refused(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    first = expected(name)["commits"][0]["requested"]
    next(file for file in path.rglob(f"*_{first}.parquet") if ".hoodie" not in file.parts).unlink()
    with pytest.raises(IncrementalRangeError, match="cleaned"):
        HudiTable.open(path).scan(query_type="cdc", begin="earliest").to_arrow()
