"""Record indexes of each partition as we write them: in step with the rows, asked by writes and reads."""

from __future__ import annotations

import json
import tarfile
from collections import Counter

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import MetadataTableError, UnsupportedTableError
from hudi_hive.metadata import MetadataListing, MetadataTable, validate
from hudi_hive.metadata.reader.keys import index_prefix, indexed_path
from hudi_hive.metadata.writer.initial import record_index_groups
from hudi_hive.table import MetaClient
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.index import KEYS_SCHEMA, open_index
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.rollback import create_savepoint, restore, rollback
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import clean, cluster, compact
from tests.support.fixture_tables import DATA

ON = "hoodie.metadata.record.level.index.enable"
OF_TABLE = "hoodie.metadata.record.index.enable"
TYPE = "hoodie.index.type"
GROUPS = "hoodie.metadata.record.level.index.min.filegroup.count"
BY_INDEX = {ON: "true", TYPE: "RECORD_LEVEL_INDEX", GROUPS: "2"}
SERVICES = {
    **BY_INDEX,
    "hoodie.metadata.compact.max.delta.commits": "3",
    "hoodie.clean.automatic": "false",
    "hoodie.clean.commits.retained": "1",
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.clustering.plan.strategy.sort.columns": "id",
}
HUDIS = [name.name.split(".")[0] for name in sorted((DATA / "indexes").glob("v9_partitioned*.tar.xz"))]


def rows(part, numbers, ts=0):
    ids = [f"k{number}" for number in numbers]
    return pa.table({"id": ids, "part": [part] * len(ids), "ts": pa.array([ts] * len(ids), pa.int64())})


def make(path, kind="COPY_ON_WRITE", version=9, **more):
    keys = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
    return HudiTable.create(path, name="t", version=version, table_type=kind, **{**keys, **more})


def check(path):
    """Key and partition of each row; the index has the file group of each of them and nothing else."""
    client = MetaClient.load(path, listing=MetadataListing())
    assert validate(client).is_valid
    names = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
    there = HudiTable(client).scan().to_arrow().select(names).to_pylist()
    there = sorted((row[names[0]], row[names[1]], row[names[2]].split("_")[0]) for row in there)
    found = MetadataTable.open(client).record_locations().select(["key", "partition", "file_id"]).to_pylist()
    assert [tuple(row.values()) for row in found] == there
    return [(part, key) for key, part, _ in there]


def groups(path):
    """How many file groups the index of each partition has."""
    by_path = MetadataTable.open(MetaClient.load(path)).record_index_groups()
    return {partition: len(some) for partition, some in by_path.items()}


def unpacked(name, folder):
    with tarfile.open(DATA / "indexes" / f"{name}.tar.xz") as archive:
        archive.extractall(folder)
    return folder / name


def tree(path):
    return {str(file.relative_to(path)): file.stat().st_mtime_ns for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ("oslo", "record-index-oslo"),
        ("new_city", "record-index-new%5Fcity"),
        ("2024/01/02", "record-index-2024%2F01%2F02"),
        ("day=2024-01-02", "record-index-day%3D2024%2D01%2D02"),
        ("a%2Fb", "record-index-a%252Fb"),
        ("0000", "record-index-0000"),
        ("ü, a", "record-index-ü, a"),
        ("", "record-index-"),
    ],
)
def test_file_groups_are_called_as_hudi_calls_them(path, prefix):
    assert (index_prefix(path), indexed_path(prefix)) == (prefix, path)
    assert indexed_path("record-index") is None


@pytest.mark.parametrize(
    ("count", "size", "least", "most", "expected"),
    [
        (0, 1 << 30, 1, 10, 1),
        (104, 9_999, 1, 10, 1),
        (208, 9_999, 1, 10, 2),
        (9_999, 9_999, 1, 10, 10),
        (9_999, 9_999, 3, 3, 3),
        (10, 9_999, 4, 10, 4),
        (9_999, 1, 1, 20_000, 19_998),
    ],
)
def test_groups_of_a_new_index_are_those_of_hudi(count, size, least, most, expected):
    """By the formula of ``HoodieTableMetadataUtil.estimateFileGroupCount`` and twice the records there are."""
    options = {
        GROUPS: str(least),
        "hoodie.metadata.record.level.index.max.filegroup.count": str(most),
        "hoodie.metadata.record.index.max.filegroup.size": str(size),
    }
    assert record_index_groups(count, options, partitioned=True) == expected


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_every_action_keeps_the_index_in_step(tmp_path, kind):
    path = tmp_path / "t"
    table = make(path, kind)
    table.insert(pa.concat_tables([rows("x", range(6)), rows("a-b_c", range(4))]), BY_INDEX)
    assert groups(path) == {"a-b_c": 2, "x": 2}
    definition = json.loads((path / ".hoodie/.index_defs/index.json").read_text())["indexDefinitions"]["record_index"]
    assert definition["indexOptions"] == {"isPartitioned": "true"} and definition["version"] == "V1"

    report = table.upsert(pa.concat_tables([rows("x", [5, 6], 1), rows("new", range(3), 1)]), SERVICES)
    assert (report.updated, report.inserted) == (1, 4)
    model = Counter(check(path))
    assert max(model.values()) == 1 and len(model) == 14
    assert groups(path) == {"a-b_c": 2, "new": 2, "x": 2}

    table.delete(rows("x", [0, 1], 2), SERVICES)  # whose keys are in two other partitions
    left = [("a-b_c", "k0"), ("new", "k0"), ("a-b_c", "k1"), ("new", "k1")]
    assert [place for place in check(path) if place[1] in ("k0", "k1")] == left
    context = ServiceContext(MetaClient.load(path), SERVICES)
    if kind == "MERGE_ON_READ":
        table.upsert(rows("x", [2, 3], 3), SERVICES)
        assert compact(context.reload())
        check(path)
    table.insert_overwrite(rows("x", [9], 4), SERVICES)
    assert [key for part, key in check(path) if part == "x"] == ["k9"]
    assert cluster(context.reload())
    places = check(path)

    table.upsert(pa.concat_tables([rows("later", [1]), rows("new", [1, 7], 5)]), {**SERVICES, TYPE: "SIMPLE"})
    assert "later" in groups(path)
    rollback(context.reload(), MetaClient.load(path).timeline.last_completed_write().requested)
    assert check(path) == places and "later" not in groups(path)
    point = create_savepoint(context.reload()).instant.requested
    table.delete_partitions(["new"], SERVICES)
    assert {part for part, _ in check(path)} == {"a-b_c", "x"}
    restore(context.reload(), point)
    assert check(path) == places
    named = MetadataTable.open(MetaClient.load(path)).partitions()  # it was made anew, and has the empty folder
    assert groups(path) == dict.fromkeys(named, 2) == dict.fromkeys(["a-b_c", "later", "new", "x"], 2)


def test_an_index_is_merged_and_a_partition_comes_back_after_a_clean(tmp_path):
    path = tmp_path / "t"
    table = make(path)
    for step in range(5):
        table.upsert(pa.concat_tables([rows("x", range(step + 1), step), rows("y", range(3), step)]), SERVICES)
    merged = [file.name for file in path.glob(".hoodie/metadata/record_index/record-index-*.hfile")]
    assert {name[: len("record-index-x")] for name in merged} == {"record-index-x", "record-index-y"}
    table.delete_partitions(["y"], SERVICES)
    table.upsert(rows("x", [9], 7), SERVICES)
    assert clean(ServiceContext(MetaClient.load(path), SERVICES))
    assert {part for part, _ in check(path)} == {"x"}
    table.upsert(rows("y", [1, 8], 9), SERVICES)
    assert [key for part, key in check(path) if part == "y"] == ["k1", "k8"]


def test_a_table_without_partitions_has_one_index_without_a_name(tmp_path):
    path = tmp_path / "t"
    table = make(path, partition_fields=[])
    table.insert(rows("x", range(5)), BY_INDEX)
    table.upsert(rows("x", [4, 5], 1), BY_INDEX)
    assert len(check(path)) == 6 and groups(path) == {"": 2}
    assert list(path.glob(".hoodie/metadata/record_index/.record-index--0001-0_*"))


@pytest.mark.parametrize("name", HUDIS)
def test_tables_of_hudi_are_written(tmp_path, name):
    """Rows go where Hudi's index says, new partitions get groups; without options of ours the index stays."""
    path = unpacked(name, tmp_path)
    before = check(path)
    table = HudiTable.open(str(path))
    kept = [name for name in table.scan().to_arrow().schema.names if not name.startswith("_hoodie_")]
    some = table.scan("city = 'oslo'").to_arrow().select(kept)
    assert some.num_rows > 1
    assert table.upsert(some, {TYPE: "RECORD_LEVEL_INDEX"}).updated == some.num_rows
    moved = some.set_column(kept.index("city"), "city", pa.array(["p_q-r"] * some.num_rows))
    report = table.upsert(moved, {GROUPS: "3"})
    assert (report.inserted, report.updated) == (some.num_rows, 0)
    assert groups(path)["p_q-r"] == 3
    table.delete(some.slice(0, 1))
    assert len(check(path)) == len(before) + some.num_rows - 1


def test_look_ups_of_writes_ask_the_index_of_the_rows_own_partition(tmp_path):
    path = tmp_path / "t"
    make(path).insert(pa.concat_tables([rows(part, range(4)) for part in "xyz"]), BY_INDEX)
    client = MetaClient.load(path, listing=MetadataListing())
    index = open_index(WriteConfig.of({TYPE: "RECORD_LEVEL_INDEX"}, client.config), client)
    keys = pa.table([["k0", "k1", "k0", "k9"], ["x", "nowhere", "z", "z"], range(4)], schema=KEYS_SCHEMA)
    plan = index.plan_lookup(["nowhere", "x", "z"], LocalExecutor(1))
    assert {task.group.file_id.rsplit("-", 2)[0] for task in plan.tasks} == {"record-index-x", "record-index-z"}
    tags = index.tag(keys)
    assert tags["partition"].to_pylist() == ["x", "nowhere", "z", "z"]
    assert tags["file_id"].is_valid().to_pylist() == [True, False, True, False]
    assert tags["file_id"][0] != tags["file_id"][2]


def test_reads_leave_files_out_by_the_index_of_their_partitions(tmp_path):
    path = tmp_path / "t"
    table = make(path)
    for numbers in (range(4), range(10, 14)):
        table.insert(pa.concat_tables([rows("x", numbers), rows("y", numbers)]), {**BY_INDEX, **_NEW_FILES})
    for options, opened in (({}, 4), ({ON: "true"}, 2), ({OF_TABLE: "true"}, 2)):
        client = MetaClient.load(path, listing=MetadataListing())
        found = HudiTable(client).scan("id = 'k2'", options=options).to_arrow()
        assert sorted(found["part"].to_pylist()) == ["x", "y"]
        assert sum(name.endswith(".parquet") for name in client.counters.opened) == opened


_NEW_FILES = {"hoodie.parquet.small.file.limit": "0", "hoodie.metadata.index.column.stats.enable": "false"}


@pytest.mark.parametrize("kind", ["RECORD_LEVEL_INDEX", "SIMPLE"])
def test_a_delete_is_late_by_the_record_of_its_own_partition(tmp_path, kind):
    """Of two records of one key a delete takes the older one, and the index knows which."""
    path = tmp_path / "t"
    table = make(path, "MERGE_ON_READ", merge_mode="EVENT_TIME_ORDERING")
    options = {**BY_INDEX, TYPE: kind}
    there = pa.concat_tables([rows("x", [1, 2], 5), rows("y", [1, 2], 1)])
    table.upsert(there.append_column("_hoodie_is_deleted", pa.array([False] * 4)), options)
    deletes = pa.concat_tables([rows("y", [1], 3), rows("x", [2], 3)])
    table.upsert(deletes.append_column("_hoodie_is_deleted", pa.array([True] * 2)), options)
    assert check(path) == [("x", "k1"), ("x", "k2"), ("y", "k2")]


@pytest.mark.parametrize(
    ("version", "first", "then", "message"),
    [
        (9, None, {ON: "true", OF_TABLE: "true"}, "exclude each other"),
        (9, {ON: "true"}, {OF_TABLE: "true"}, "a record index of each partition"),
        (9, {OF_TABLE: "true"}, {ON: "true"}, "a record index of the whole table"),
        (8, None, {ON: "true"}, "tables before version 9"),
    ],
)
def test_another_index_than_there_is_is_refused_without_a_trace(tmp_path, version, first, then, message):
    table = make(tmp_path / "t", version=version)
    if first is not None:
        table.insert(rows("x", [1]), first)
    before = tree(tmp_path)
    with pytest.raises(MetadataTableError, match=message):
        table.upsert(rows("x", [1, 2]), then)
    assert tree(tmp_path) == before


def test_secondary_indexes_and_indexes_of_the_whole_table_do_not_go_with_it(tmp_path):
    path = tmp_path / "t"
    table = make(path)
    table.insert(rows("x", [1]), BY_INDEX)
    with pytest.raises(MetadataTableError, match="in which a key has several places"):
        table.metadata.create_index("by_ts", "ts")
    with pytest.raises(UnsupportedTableError, match="each partition is not asked for keys of the whole table"):
        table.upsert(rows("x", [1]), {TYPE: "RECORD_INDEX"})
    table.metadata.delete(["record_index"])
    table.metadata.init(["record_index"])
    with pytest.raises(UnsupportedTableError, match="several partitions"):
        table.upsert(rows("x", [1]), {TYPE: "RECORD_LEVEL_INDEX"})
    table.metadata.delete(["record_index"])
    table.metadata.init(["record_index"], {ON: "true"})
    assert check(path) == [("x", "k1")] and groups(path) == {"x": 1}


@pytest.mark.parametrize("part", ["-" * 80, "v1.2"])
def test_a_path_that_no_name_of_a_file_has_is_refused_by_name(tmp_path, part):
    """Hudi's own pattern of names of log files lets no dot into the id of a file group."""
    path = tmp_path / "t"
    table = make(path)
    table.insert(rows("x", [1]), BY_INDEX)
    with pytest.raises(MetadataTableError, match="no name of a file of its record index"):
        table.insert(rows(part, [1]), BY_INDEX)
    table.insert(rows("y", [1]), BY_INDEX)
    assert check(path) == [("x", "k1"), ("y", "k1")]
    table.metadata.delete(["record_index"])
    table.insert(rows(part, [1]))
    with pytest.raises(MetadataTableError, match="no name of a file of its record index"):
        table.metadata.init(["record_index"], {ON: "true"})
    definitions = (path / ".hoodie/.index_defs/index.json").read_text()
    assert "record_index" not in definitions and "record_index" not in MetaClient.load(path).config.metadata_partitions
