"""Indexes find each record of the fixture tables in the file group that a snapshot reads it from."""

from __future__ import annotations

import pickle
import tarfile
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import UnsupportedTableError
from hudi_hive.formats.log import iter_blocks
from hudi_hive.table import MetaClient
from hudi_hive.table.logs import decode_block
from hudi_hive.write.coordination.executor import LocalExecutor
from hudi_hive.write.files import POSITION
from hudi_hive.write.index import (
    HITS_SCHEMA,
    KEYS_SCHEMA,
    TAG_SCHEMA,
    Index,
    KeySource,
    locate,
    lookup,
    open_index,
    tasks,
)
from hudi_hive.write.index.record_index import RecordIndex
from hudi_hive.write.index.simple import SimpleIndex
from hudi_hive.write.options.config import WriteConfig
from tests.support.fixture_tables import DATA, expected, fixture_names, one_version_of_each, unzip_fixture
from tests.support.running.long import with_long_cases

NOT_READ = ("virtual_keys", "empty")
TABLES = [name for name in fixture_names() if not name.endswith(NOT_READ)]

TABLES_WITH_METADATA = [name for name in TABLES if name.endswith(("mdt", "rli", "types"))]


def index_of(name: str, options: dict[str, str]) -> Index:
    client = MetaClient.load(unzip_fixture(name))
    return open_index(WriteConfig.of(options, client.config), client)


def snapshot(name: str) -> list[tuple[str, str, str]]:
    """Key, partition and file id of each row, as real Hudi says; a row of a log file tells the file id alone."""
    query = next(q for q in expected(name)["queries"] if q["kind"] == "snapshot" and "rows" in q)
    at = [[column["name"] for column in query["columns"]].index(f"_hoodie_{n}") for n in ("record_key", "file_name")]
    path = [column["name"] for column in query["columns"]].index("_hoodie_partition_path")
    return [(row[at[0]], row[path], row[at[1]].partition("_")[0]) for row in query["rows"]]


def keys_table(rows: list[tuple[str, str]]) -> pa.Table:
    keys, partitions = zip(*rows, strict=True) if rows else ((), ())
    return pa.table([list(keys), list(partitions), list(range(len(rows)))], schema=KEYS_SCHEMA)


def check(index: Index, name: str) -> None:
    """Rows that are there and rows that are not."""
    rows = snapshot(name)
    new = [("no such key", partition) for partition in sorted({row[1] for row in rows} | {"nowhere"})]
    new = new[:1] if index.is_global else new
    tags = index.tag(keys_table([(key, partition) for key, partition, _ in rows] + new))
    assert tags.select(TAG_SCHEMA.names).schema == TAG_SCHEMA
    check_positions(index, tags, [key for key, _, _ in rows])
    assert tags.column("row").to_pylist() == list(range(len(rows) + len(new)))
    found = list(zip(*(tags.column(column).to_pylist() for column in ("partition", "file_id")), strict=True))
    assert found[: len(rows)] == [(partition, file_id) for _, partition, file_id in rows]
    assert found[len(rows) :] == [(partition, None) for _, partition in new]
    current = tags.select(["current_partition", "current_file_id"]).slice(0, len(rows))
    assert current.rename_columns(["partition", "file_id"]).equals(tags.select(["partition", "file_id"])[: len(rows)])


def check_positions(index: Index, tags: pa.Table, keys: list[str]) -> None:
    """Base files have the keys at the rows that tags tell; where none is told, they do not have them."""
    assert set(tags.column_names) - set(TAG_SCHEMA.names) <= {POSITION}
    slices = {(part.partition, part.file_id): part for part in index.slices(index.client.partition_paths())}
    source = KeySource.of(index.client)
    stored: dict[tuple[str, str], list[str]] = {}
    for tag in tags.to_pylist() if POSITION in tags.column_names else ():
        place = (tag["current_partition"], tag["current_file_id"])
        if place[1] is None:
            assert tag[POSITION] is None
            continue
        if place not in stored:
            stored[place] = [key for part in source.base_keys(slices[place]) for key in part.to_pylist()]
        key = keys[tag["row"]]
        assert tag[POSITION] == (stored[place].index(key) if key in stored[place] else None)


@pytest.mark.parametrize("kind", ["SIMPLE", "BLOOM"])
@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(TABLES), TABLES))
def test_indexes_find_the_rows_of_a_snapshot(name: str, kind: str) -> None:
    check(index_of(name, {"hoodie.index.type": kind}), name)


@pytest.mark.parametrize("name", TABLES_WITH_METADATA)
def test_bloom_index_finds_rows_by_the_metadata_table(name: str) -> None:
    check(index_of(name, {"hoodie.index.type": "BLOOM", "hoodie.bloom.index.use.metadata": "true"}), name)


@pytest.mark.parametrize("name", [n for n in TABLES_WITH_METADATA if "mor_part_rli" in n])
def test_record_index_finds_rows(name: str) -> None:
    index = index_of(name, {"hoodie.index.type": "RECORD_INDEX"})
    assert isinstance(index, RecordIndex)
    check(index, name)
    elsewhere(index, name)


def test_a_table_without_record_index_is_read_instead() -> None:
    index = index_of("v8_cow_part_mdt", {"hoodie.index.type": "RECORD_INDEX"})
    assert isinstance(index, SimpleIndex) and index.is_global
    elsewhere(index, "v8_cow_part_mdt")


def elsewhere(index: Index, name: str) -> None:
    """Rows that are given with a partition that they are not in are found, and stay where they are."""
    rows = snapshot(name)
    tags = index.tag(keys_table([(key, "elsewhere") for key, _, _ in rows]))
    assert tags.column("partition").to_pylist() == [partition for _, partition, _ in rows]
    assert tags.column("file_id").to_pylist() == [file_id for _, _, file_id in rows]


@pytest.mark.parametrize("kind", ["simple", "bloom"])
@pytest.mark.parametrize("name", [n for n in TABLES if "part" in n or "hive" in n])
def test_global_indexes_find_rows_whatever_partition_they_are_given_with(name: str, kind: str) -> None:
    options = {"hoodie.index.type": f"global_{kind}", f"hoodie.{kind}.index.update.partition.path": "false"}
    index = index_of(name, options)
    check(index, name)
    elsewhere(index, name)


def test_rows_move_to_the_partition_that_they_are_given_with() -> None:
    name = "v8_cow_part_mdt"
    (key, partition, file_id), (kept, at, group), (gone, old, last) = snapshot(name)[:3]
    index = index_of(name, {"hoodie.index.type": "GLOBAL_SIMPLE"})
    keys = keys_table([(key, "elsewhere"), (kept, at), (gone, "elsewhere"), ("new", "elsewhere")])
    tags = index.tag(keys.append_column("deleted", pa.array([False, False, True, None])))
    assert tags.select(TAG_SCHEMA.names[:-1]).to_pylist() == [
        line(0, "elsewhere", None, partition, file_id),
        line(1, at, group, at, group),
        line(2, old, last, old, last),
        line(3, "elsewhere", None, None, None),
    ]


def line(row: int, partition: str, file_id: str | None, current: str | None, group: str | None) -> dict[str, Any]:
    return {
        "row": row,
        "partition": partition,
        "file_id": file_id,
        "current_partition": current,
        "current_file_id": group,
    }


def test_a_key_in_several_file_groups_has_a_line_for_each() -> None:
    keys = keys_table([("a", "p"), ("b", "p"), ("a", "q")])
    hits = pa.table([["a", "a", "a", "c"], ["p", "q", "p", "p"], ["f2", "f3", "f1", "f4"]], schema=HITS_SCHEMA)
    tags = locate(keys, hits, is_global=False, updates_partition=False)
    found = tags.select(["row", "partition", "file_id"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [(0, "p", "f2"), (0, "p", "f1"), (1, "p", None), (2, "q", "f3")]


def test_a_row_that_may_move_has_one_line() -> None:
    keys = keys_table([("a", "q"), ("b", "r")])
    hits = pa.table([["a", "a", "b", "b"], ["p", "q", "p", "q"], ["f1", "f2", "f3", "f4"]], schema=HITS_SCHEMA)
    tags = locate(keys, hits, is_global=True, updates_partition=True)
    found = tags.select(["row", "partition", "file_id", "current_file_id"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [(0, "q", "f2", "f2"), (1, "r", None, "f3")]


def test_a_key_without_partition_is_where_its_record_is() -> None:
    """Deletes by a global index may name keys alone."""
    keys = keys_table([("a", None), ("b", None), ("c", None)])
    hits = pa.table([["a", "b"], ["p", "q"], ["f1", "f2"]], schema=HITS_SCHEMA)
    tags = locate(keys, hits, is_global=True, updates_partition=True)
    found = tags.select(["row", "partition", "file_id", "current_file_id"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [(0, "p", "f1", "f1"), (1, "q", "f2", "f2"), (2, None, None, None)]


@pytest.mark.parametrize("kind", ["SIMPLE", "GLOBAL_SIMPLE", "BLOOM", "GLOBAL_BLOOM", "RECORD_INDEX", "INMEMORY"])
def test_look_ups_run_wherever_they_are_sent(kind: str) -> None:
    """Plan, route and tasks survive pickling, after they were used too."""
    name = "v9_mor_part_rli"
    rows = snapshot(name)
    index = index_of(name, {"hoodie.index.type": kind, "hoodie.metadata.record.index.enable": "true"})
    keys = keys_table([(key, partition) for key, partition, _ in rows])
    expected_tags = index.tag(keys)
    plan = index.plan_lookup(sorted({partition for _, partition, _ in rows}), LocalExecutor(1))
    tasks, route = pickle.loads(pickle.dumps(plan.tasks)), pickle.loads(pickle.dumps(plan.route))
    hits = [lookup(tasks[task], keys.take(pa.array(at))) for task, at in route.rows(keys)]
    assert index.locate(keys, pa.concat_tables(hits)).equals(expected_tags)


def test_base_files_are_read_only_where_keys_can_be() -> None:
    """Of 250 partitions with a file each, one file's keys are read for a key, none for one that is in no range."""
    name = "v8_cow_wide_250"
    key, partition, file_id = snapshot(name)[100]
    index = index_of(name, {"hoodie.index.type": "GLOBAL_BLOOM"})
    plan = index.plan_lookup([partition], LocalExecutor(1))
    keys = keys_table([(key, partition), ("~", partition)])
    asked = {task: at.tolist() for task, at in plan.route.rows(keys) if len(at)}
    assert len(asked) < 10 and all(at == [0] for at in asked.values())
    assert index.tag(keys).column("file_id").to_pylist() == [file_id, None]


def test_a_record_index_of_each_partition_is_refused(tmp_path):
    name = "v9_partitioned_record_index"
    with tarfile.open(DATA / "indexes" / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path)
    client = MetaClient.load(tmp_path / name)
    config = WriteConfig.of({"hoodie.index.type": "RECORD_INDEX"}, client.config)
    with pytest.raises(UnsupportedTableError, match="each partition") as caught:
        open_index(config, client)
    assert "SIMPLE" in (caught.value.remedy or "")


@pytest.mark.parametrize(("sought", "probes"), [(2, 5), (50, 1), (25, 2)])
def test_existing_keys_are_compared_in_sets_as_large_as_that_of_the_sought(monkeypatch, tmp_path, sought, probes):
    """Each set costs a hash table of all sought keys, of which there must not be one for each part of the table."""
    table = HudiTable.create(tmp_path / "t", name="t", version=8, record_keys=["id"], partition_fields=["p"])
    rows = {"id": [f"k{number}" for number in range(50)], "p": [f"p{number % 5}" for number in range(50)]}
    table.insert(pa.table(rows), {"hoodie.metadata.enable": "false"})
    index = open_index(WriteConfig.of({"hoodie.index.type": "GLOBAL_SIMPLE"}, table.config), table.client)
    sets = []
    probe = tasks.hits_of
    monkeypatch.setattr(tasks, "_LEAST_PROBED", 1)
    monkeypatch.setattr(tasks, "hits_of", lambda existing, *rest: sets.append(existing) or probe(existing, *rest))
    tags = index.tag(keys_table([(f"k{number}", "p0") for number in range(sought)]))
    assert tags.column("current_file_id").null_count == 0
    assert len(sets) == probes


@pytest.mark.parametrize("index_type", ["SIMPLE", "GLOBAL_SIMPLE", "BLOOM"])
def test_a_key_of_base_and_log_file_is_one_hit_of_its_slice(monkeypatch, tmp_path, index_type):
    """Also where the two are compared in different sets: each hit would be a record in the next log block."""
    monkeypatch.setattr(tasks, "_LEAST_PROBED", 20)
    options = {"hoodie.index.type": index_type, "hoodie.metadata.enable": "false"}
    table = HudiTable.create(
        tmp_path / "t", name="t", version=8, table_type="MERGE_ON_READ", record_keys=["id"], ordering_fields=["ts"]
    )
    table.insert(pa.table({"id": range(100), "ts": [1] * 100}), options)
    for ts in (2, 3):
        table.upsert(pa.table({"id": [5, 99], "ts": [ts] * 2}), options)
    table = HudiTable.open(tmp_path / "t")
    tags = open_index(WriteConfig.of(options, table.config), table.client).tag(keys_table([("5", ""), ("99", "")]))
    assert tags.num_rows == 2 and tags.column(POSITION).to_pylist() == [5, 99]
    (row,) = table.scan().plan().slices.to_pylist()
    files = [(tmp_path / "t" / name).read_bytes() for name in row["log_files"]]
    blocks = [
        decode_block(block, "1", None)
        for name, data in zip(row["log_files"], files, strict=True)
        for block in iter_blocks(data, name)
    ]
    assert [(block.batch.num_rows, block.positions.rows(2).tolist()) for block in blocks] == [(2, [5, 99])] * 2
