"""Writes of this process, read back: every operation, table type and version, against a model of plain dictionaries."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive.errors import InvalidOptionError, SchemaError, WriteError
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.table_api import HudiTable
from hudi_hive.write.files.markers import MarkerKind
from tests.support.running.long import TABLE_CASES, VERSION_CASES

TYPES = (COPY_ON_WRITE, MERGE_ON_READ)

OFF = {"hoodie.metadata.enable": "false"}

everywhere = pytest.mark.parametrize(("version", "kind"), TABLE_CASES)


def rows(*values: tuple[str, str, float | None, int]) -> pa.Table:
    """Rows of id, city, fare, ts."""
    columns = list(zip(*values, strict=True)) if values else [[], [], [], []]
    kinds = [pa.string(), pa.string(), pa.float64(), pa.int64()]
    return pa.table([pa.array(c, k) for c, k in zip(columns, kinds, strict=True)], names=["id", "city", "fare", "ts"])


def make(path, version: int, kind: str, **settings) -> HudiTable:
    given = {"record_keys": ["id"], "partition_fields": ["city"], "ordering_fields": ["ts"]} | settings
    return HudiTable.create(path / "trips", name="trips", version=version, table_type=kind, **given)


def seen(table: HudiTable, *columns: str) -> list[tuple]:
    """Rows by a fresh reader, sorted; with and without the metadata table."""
    names = list(columns or ("id", "city", "fare", "ts"))
    found = HudiTable.open(table.path).scan(selected_fields=names).to_arrow()
    listed = HudiTable(table.client.with_listing(None).reload()).scan(selected_fields=names).to_arrow()
    answers = [sorted(zip(*(t[n].to_pylist() for n in names), strict=True), key=str) for t in (found, listed)]
    assert answers[0] == answers[1]
    return answers[0]


@everywhere
def test_upserts_and_deletes(tmp_path, version, kind):
    table = make(tmp_path, version, kind, merge_mode="EVENT_TIME_ORDERING")
    first = table.insert(rows(("a", "sf", 1, 1), ("b", "sf", 2, 1), ("c", "la", 3, 1), ("d", "la", 4, 1)))
    assert (first.inserted, first.updated, first.deleted, first.files) == (4, 0, 0, 2)
    second = table.upsert(rows(("b", "sf", 20, 2), ("e", "sf", 50, 2)))
    assert (second.inserted, second.updated) == (1, 1)
    # b is late: by event time the newer row stays
    table.upsert(rows(("b", "sf", 0, 1), ("a", "sf", 10, 3)))
    third = table.delete(rows(("c", "la", None, 0), ("nobody", "la", None, 0)))
    assert third.deleted == 1
    assert seen(table) == [("a", "sf", 10, 3), ("b", "sf", 20, 2), ("d", "la", 4, 1), ("e", "sf", 50, 2)]
    # a deleted key may come back
    table.upsert(rows(("c", "la", 33, 5)))
    assert ("c", "la", 33, 5) in seen(table)


@everywhere
def test_overwrites_and_partitions(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    table.bulk_insert(rows(("a", "sf", 1, 1), ("b", "la", 2, 1), ("c", "ny", 3, 1)), OFF)
    table.insert_overwrite(rows(("x", "sf", 9, 9)), OFF)
    assert seen(table) == [("b", "la", 2, 1), ("c", "ny", 3, 1), ("x", "sf", 9, 9)]
    table.delete_partitions(["ny", "not there"], OFF)
    assert seen(table) == [("b", "la", 2, 1), ("x", "sf", 9, 9)]
    table.insert_overwrite_table(rows(("z", "la", 7, 7)), OFF)
    assert seen(table) == [("z", "la", 7, 7)]
    table.upsert(rows(("z", "la", 8, 8)), OFF)
    assert seen(table) == [("z", "la", 8, 8)]


@everywhere
def test_replaced_groups_with_metadata(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    table.insert(rows(("a", "sf", 1, 1), ("b", "la", 2, 1)))
    table.insert_overwrite(rows(("x", "sf", 9, 9)))
    table.delete_partitions(["la"])
    assert seen(table) == [("x", "sf", 9, 9)]
    table.upsert(rows(("x", "sf", 10, 10), ("b", "la", 3, 3)))
    assert seen(table) == [("b", "la", 3, 3), ("x", "sf", 10, 10)]


@everywhere
def test_marked_rows_are_deleted(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    marked = rows(("a", "sf", 1, 5), ("b", "sf", 2, 5)).append_column("_hoodie_is_deleted", pa.array([False, False]))
    table.insert(marked, OFF)
    gone = rows(("a", "sf", 1, 6), ("n", "sf", 1, 6)).append_column("_hoodie_is_deleted", pa.array([True, True]))
    table.upsert(gone, OFF)
    assert seen(table) == [("b", "sf", 2, 5)]


@everywhere
def test_a_table_that_is_not_partitioned(tmp_path, version, kind):
    table = make(tmp_path, version, kind, partition_fields=[])
    table.upsert(rows(("a", "sf", 1, 1), ("b", "la", 2, 1)))
    table.upsert(rows(("a", "ny", 3, 3)))
    assert seen(table) == [("a", "ny", 3, 3), ("b", "la", 2, 1)]


@everywhere
def test_tables_without_meta_columns_are_written(tmp_path, version, kind):
    table = make(tmp_path, version, kind, populate_meta_fields=False)
    table.upsert(rows(("a", "sf", 1, 1), ("b", "sf", 2, 1)), OFF)
    table.upsert(rows(("a", "sf", 3, 3), ("c", "la", 4, 4)), OFF)
    table.delete(rows(("b", "sf", None, 0)), OFF)
    assert seen(table) == [("a", "sf", 3, 3), ("c", "la", 4, 4)]


@everywhere
def test_rows_that_move(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    moving = {"hoodie.index.type": "GLOBAL_SIMPLE", **OFF}
    table.upsert(rows(("a", "sf", 1, 1), ("b", "sf", 2, 1)), moving)
    table.upsert(rows(("a", "la", 3, 3)), moving)
    assert seen(table) == [("a", "la", 3, 3), ("b", "sf", 2, 1)]


@everywhere
def test_the_bucket_index_finds_updates(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2", **OFF}
    table.upsert(rows(*((f"k{n}", "sf", n, 1) for n in range(20))), buckets)
    table.upsert(rows(*((f"k{n}", "sf", -n, 2) for n in range(10, 25))), buckets)
    expected = [(f"k{n}", "sf", n if n < 10 else -n, 1 if n < 10 else 2) for n in range(25)]
    assert seen(table) == sorted(expected, key=str)
    assert HudiTable.open(table.path).scan().plan().slices.num_rows == 2


@everywhere
def test_the_record_index_finds_updates_in_other_partitions(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    index = {"hoodie.metadata.record.index.enable": "true", "hoodie.index.type": "RECORD_INDEX"}
    table.insert(rows(("a", "sf", 1, 1), ("b", "la", 2, 1)), index)
    report = table.upsert(rows(("a", "sf", 5, 5), ("c", "la", 6, 6)), index)
    assert (report.inserted, report.updated) == (1, 1)
    table.delete(rows(("b", "la", None, 0)), index)
    assert seen(table) == [("a", "sf", 5, 5), ("c", "la", 6, 6)]
    places = HudiTable.open(table.path).metadata.reader.record_locations(pa.array(["a", "b", "c"]))
    assert sorted(places.column("key").to_pylist()) == ["a", "c"]


@pytest.mark.parametrize("version", VERSION_CASES)
@pytest.mark.parametrize("mode", ["OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"])
def test_change_data_is_written(tmp_path, version, mode):
    table = make(tmp_path, version, COPY_ON_WRITE, cdc=mode)
    table.insert(rows(("a", "sf", 1, 1), ("b", "sf", 2, 1)), OFF)
    begin = table.timeline.last_completed_write()
    table.upsert(rows(("a", "sf", 10, 2), ("c", "sf", 3, 2)), OFF)
    table.delete(rows(("b", "sf", None, 0)), OFF)
    since = begin.requested if version == 6 else begin.completed
    found = HudiTable.open(table.path).scan(query_type="cdc", begin=since).to_arrow()
    assert sorted(found.column("op").to_pylist()) == ["d", "i", "u"]
    update = next(row for row in found.to_pylist() if row["op"] == "u")
    assert '"fare": 1.0' in update["before"].replace('":1', '": 1')
    assert '"fare": 10.0' in update["after"].replace('":1', '": 1')


@everywhere
def test_new_columns_are_added(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    table.upsert(rows(("a", "sf", 1, 1), ("b", "sf", 2, 1)), OFF)
    table.upsert(rows(("b", "sf", 3, 3)).append_column("tip", pa.array([7], pa.int32())), OFF)
    assert seen(table, "id", "fare", "tip") == [("a", 1, None), ("b", 3, 7)]


@everywhere
def test_small_files_take_inserts_until_they_are_full(tmp_path, version, kind):
    table = make(tmp_path, version, kind, partition_fields=[])
    table.insert(rows(("a", "sf", 1, 1)), OFF)
    table.insert(rows(("a", "sf", 1, 1), ("b", "sf", 1, 1)), OFF)  # an insert does not look for keys
    slices = HudiTable.open(table.path).scan().plan().slices
    assert slices.num_rows == 1
    assert len(seen(table)) == 3
    table.insert(rows(("c", "sf", 1, 1)), {"hoodie.parquet.small.file.limit": "0", **OFF})
    assert HudiTable.open(table.path).scan().plan().slices.num_rows == 2


@everywhere
def test_duplicates_can_be_dropped_or_refused(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    table.insert(rows(("a", "sf", 1, 1)), OFF)
    table.insert(rows(("a", "sf", 9, 9), ("b", "sf", 2, 2)), {"hoodie.datasource.insert.dup.policy": "drop", **OFF})
    assert seen(table) == [("a", "sf", 1, 1), ("b", "sf", 2, 2)]
    before = files(tmp_path)
    with pytest.raises(WriteError, match="keys that the table has"):
        table.insert(rows(("a", "sf", 9, 9)), {"hoodie.datasource.insert.dup.policy": "fail", **OFF})
    assert seen(table) == [("a", "sf", 1, 1), ("b", "sf", 2, 2)]
    assert {path for path in files(tmp_path) if "/.hoodie/" not in path} == {
        path for path in before if "/.hoodie/" not in path
    }


@everywhere
def test_rows_that_do_not_fit_leave_no_trace(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    table.insert(rows(("a", "sf", 1, 1)), OFF)
    before = files(tmp_path)
    with pytest.raises(SchemaError):
        table.upsert(rows(("b", "sf", 1, 1)).set_column(3, "ts", pa.array([[1]])), OFF)
    assert files(tmp_path) == before


@everywhere
def test_no_markers_or_temporary_files_are_left(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    table.insert(rows(("a", "sf", 1, 1)))
    table.upsert(rows(("a", "sf", 2, 2), ("b", "sf", 1, 1)))
    left = [path for path in files(tmp_path) if ".tmp" in path or ".marker." in path]
    assert left == []


@everywhere
def test_markers_are_of_the_kinds_that_hudi_takes_back(tmp_path, version, kind, monkeypatch):
    """0.15 gives up a rollback at a log file, one of changes too, whose marker does not say APPEND."""
    made = []
    monkeypatch.setattr("hudi_hive.write.files.context.create_marker", lambda *found: made.append(found[3:]))
    table = make(tmp_path, version, kind, cdc=True)
    table.insert(rows(("a", "sf", 1, 1)))
    table.upsert(rows(("a", "sf", 2, 2)))
    log = MarkerKind.APPEND if version == 6 else MarkerKind.CREATE
    kinds = {(name.endswith(".cdc"), ".log." in name, found) for name, found in made}
    rewritten = {(False, False, MarkerKind.MERGE), (True, True, log)}
    assert kinds == {(False, False, MarkerKind.CREATE)} | (rewritten if kind == COPY_ON_WRITE else {(False, True, log)})


@everywhere
def test_log_blocks_of_parquet_and_many_blocks(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    small = {"hoodie.logfile.data.block.max.size": "100", **OFF}
    table.insert(rows(*((f"k{n:02}", "sf", n, 1) for n in range(10))), OFF)
    table.upsert(rows(*((f"k{n:02}", "sf", -n, 2) for n in range(5))), small)
    table.upsert(rows(("k07", "sf", 70, 3)), {"hoodie.logfile.data.block.format": "parquet", **OFF})
    expected = [(f"k{n:02}", "sf", -n if n < 5 else n, 2 if n < 5 else 1) for n in range(10)]
    expected[7] = ("k07", "sf", 70, 3)
    assert seen(table) == expected


@everywhere
def test_partition_columns_that_are_not_in_the_files(tmp_path, version, kind):
    dropped = {"hoodie.datasource.write.drop.partition.columns": "true"}
    table = make(tmp_path, version, kind, hive_style_partitioning=True, properties=dropped)
    table.insert(rows(("a", "sf", 1, 1), ("b", "la", 2, 1)), OFF)
    table.upsert(rows(("a", "sf", 3, 3)), OFF)
    table.delete(rows(("b", "la", None, 0)), OFF)
    table.upsert(rows(("c", "la", 4, 4)), OFF)
    assert seen(table) == [("a", "sf", 3, 3), ("c", "la", 4, 4)]
    assert [field["name"] for field in table.client.avro_schema()["fields"]] == ["id", "fare", "ts"]


def test_bulk_inserts_can_be_sorted(tmp_path):
    table = make(tmp_path, 8, COPY_ON_WRITE, partition_fields=[])
    mixed = rows(("c", "sf", 1, 1), ("a", "sf", 3, 1), ("b", "sf", 2, 1))
    table.bulk_insert(mixed, {"hoodie.bulkinsert.sort.mode": "GLOBAL_SORT", **OFF})
    assert table.scan(selected_fields=["id"]).to_arrow().column("id").to_pylist() == ["a", "b", "c"]
    other = {"hoodie.bulkinsert.user.defined.partitioner.sort.columns": "fare", **OFF}
    again = make(tmp_path / "again", 8, COPY_ON_WRITE, partition_fields=[])
    again.bulk_insert(mixed, other)
    assert again.scan(selected_fields=["fare"]).to_arrow().column("fare").to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(("column", "why"), [("none", "is not in the table"), ("tags", "of type list.* has no order")])
def test_bulk_inserts_are_not_begun_if_they_cannot_be_sorted(column, why, tmp_path):
    table = HudiTable.create(tmp_path / "t", name="t", record_keys=["id"])
    before = sorted(tmp_path.rglob("*"))
    options = {"hoodie.bulkinsert.user.defined.partitioner.sort.columns": column, **OFF}
    with pytest.raises(InvalidOptionError, match=f"sort.columns: sort column '{column}' {why}"):
        table.bulk_insert(pa.table({"id": [1], "tags": [[1]]}), options)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("NONE", ["c", "a", "b"]),
        ("PARTITION_PATH_REPARTITION", ["c", "a", "b"]),
        ("PARTITION_PATH_REPARTITION_AND_SORT", ["c", "a", "b"]),
        ("PARTITION_SORT", ["a", "b", "c"]),
        ("GLOBAL_SORT", ["a", "b", "c"]),
    ],
)
def test_each_sort_mode_of_bulk_inserts_has_its_order_within_a_partition(mode, expected, tmp_path):
    table = make(tmp_path, 8, COPY_ON_WRITE)
    mixed = rows(("c", "sf", 1, 1), ("z", "la", 2, 1), ("a", "sf", 3, 1), ("b", "sf", 2, 1))
    table.bulk_insert(mixed, {"hoodie.bulkinsert.sort.mode": mode, **OFF})
    scan = table.scan("city = 'sf'", selected_fields=["id"])
    assert scan.to_arrow().column("id").to_pylist() == expected and scan.plan().slices.num_rows == 1


@everywhere
def test_keys_that_are_made_up(tmp_path, version, kind):
    table = make(tmp_path, version, kind, record_keys=[], ordering_fields=[])
    table.insert(rows(("a", "sf", 1, 1), ("a", "sf", 1, 1)), OFF)
    table.insert(rows(("a", "la", 1, 1)), OFF)
    keys = [key for (key,) in seen(table, "_hoodie_record_key")]
    assert len(set(keys)) == 3


@everywhere
def test_deletes_without_the_partition_column(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    options = {"hoodie.index.type": "GLOBAL_SIMPLE", **OFF}
    table.insert(rows(("a", "sf", 1, 1), ("b", "la", 2, 1)), options)
    report = table.delete(pa.table({"id": ["b", "z"]}), options)
    assert report.deleted == 1
    assert seen(table) == [("a", "sf", 1, 1)]


@everywhere
def test_empty_writes_are_commits(tmp_path, version, kind):
    table = make(tmp_path, version, kind)
    table.insert(rows(("a", "sf", 1, 1)), OFF)
    table.upsert(rows(), OFF)
    assert len(table.timeline.write_instants()) == 2
    assert seen(table) == [("a", "sf", 1, 1)]


def files(path) -> set[str]:
    return {str(found) for found in path.rglob("*") if found.is_file()}


@pytest.mark.parametrize("version", VERSION_CASES)
def test_a_write_stat_names_a_log_file_with_those_before_it(tmp_path, version):
    """Real Hudi tells change data by the slice that the write stat names, without a listing."""
    table = make(tmp_path, version, MERGE_ON_READ)
    table.insert(rows(("a", "sf", 1, 1)), options=OFF)
    told = []
    for number in range(2, 5):
        report = table.upsert(rows(("a", "sf", number, number)), options=OFF)
        told.append(report.statuses.column("log_files").to_pylist())
    (first,), (second,), (third,) = ([name for names in each for name in names][-1:] for each in told)
    assert told == [[[first]], [[first, second]], [[second, first, third]]]
    stats = table.client.reload().timeline
    assert stats.commit_metadata(report.instant).write_stats.column("log_files").to_pylist() == told[-1]
