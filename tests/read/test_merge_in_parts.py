"""Slices whose log files are too many for the memory are merged in parts on the local disk, to the same rows."""

from __future__ import annotations

import functools
import shutil
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CorruptFileError, FileVanishedError, InvalidOptionError, StorageError
from tests.support.fixture_tables import (
    assert_same_rows,
    fixture_names,
    named_gap,
    one_version_of_each,
    queries,
    query_id,
    unzip_fixture,
)

MEMORY, FOLDER = "hoodie.memory.merge.max.size", "hoodie.memory.spillable.map.path"
CASES = [
    (name, query)
    for name in fixture_names("mor")
    for query in queries(name)
    if query["kind"] in ("snapshot", "incremental") and "error" not in query and named_gap(name, query) is None
]
USUAL = {*one_version_of_each(fixture_names("mor"))}
EVERY_CASE = [
    pytest.param(*case, id=f"{case[0]}-{query_id(case[1])}", marks=() if case[0] in USUAL else pytest.mark.long)
    for case in CASES
]


@functools.cache
def largest_logs(name: str) -> int:
    """Bytes of the log files of the slice that has most."""
    sizes = HudiTable.open(unzip_fixture(name)).scan().plan().slices["log_sizes"]
    return max((sum(of_slice) for of_slice in sizes.to_pylist() if of_slice), default=0)


@pytest.mark.parametrize(("name", "query"), EVERY_CASE)
def test_the_rows_are_those_of_real_hudi(name, query, tmp_path):
    most = largest_logs(name)
    if not most:
        pytest.skip("no log files")
    table = HudiTable.open(unzip_fixture(name))
    options = {**query["options"], MEMORY: str(most), FOLDER: f"file://{tmp_path}/spilled"}
    assert_same_rows(table.scan(options=options).to_arrow(), name, query)
    spilled = table.client.storage.counters["bytes_spilled"]
    assert spilled or query["kind"] == "incremental"
    assert not spilled or not list((tmp_path / "spilled").iterdir())


RECORDS, WRITES = 8_000, 8
LITTLE = 16 << 20


@pytest.fixture(scope="module")
def rides(tmp_path_factory):
    """A slice of records of a kilobyte each, and a log file for each of some further writes of all of them."""
    path = tmp_path_factory.mktemp("lake") / "rides"
    table = HudiTable.create(
        path, name="rides", table_type="MERGE_ON_READ", record_keys=["id"], ordering_fields=["ts"], version=8
    )
    options = {"hoodie.metadata.enable": "false", "hoodie.parquet.compression.codec": "uncompressed"}
    ids = pc.cast(pa.array(range(RECORDS), pa.int64()), pa.string())
    for moment in range(1, WRITES + 1):
        rows = pa.table({"id": ids, "note": pc.binary_repeat(ids, 256), "ts": pa.repeat(pa.scalar(moment), RECORDS)})
        table.upsert(rows, options=options)
    return path


READ = """
import sys
import pyarrow as pa
from hudi_hive import HudiTable
table = HudiTable.open(sys.argv[1])
rows = sum(batch.num_rows for batch in table.scan(options={"hoodie.memory.merge.max.size": sys.argv[2]}).to_batches())
print(rows, pa.default_memory_pool().max_memory(), table.client.storage.counters["bytes_spilled"])
"""


def test_memory_stays_in_its_bound(rides):
    figures = {}
    for memory in (1 << 40, LITTLE):
        command = [sys.executable, "-c", READ, str(rides), str(memory)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows, peak, spilled = map(int, output.split())
        assert rows == RECORDS and bool(spilled) == (memory == LITTLE)
        figures[memory] = peak
    assert figures[LITTLE] < figures[1 << 40] / 2, figures


def test_columns_and_filters_are_those_of_the_query(rides, tmp_path):
    scan = HudiTable.open(rides).scan(
        row_filter=f"ts = {WRITES} AND id < '1'",
        selected_fields=["id"],
        options={MEMORY: LITTLE, FOLDER: str(tmp_path)},
    )
    assert scan.to_arrow().to_pydict() == {"id": ["0"]}
    assert scan.count() == 1


def test_rows_side_by_side_come_a_piece_at_a_time(rides, tmp_path):
    options = {MEMORY: LITTLE, FOLDER: str(tmp_path), "hoodie.datasource.merge.type": "skip_merge"}
    rows = HudiTable.open(rides).scan(options=options, selected_fields=["id", "ts"]).to_arrow()
    assert rows.num_rows == RECORDS * WRITES and pc.sum(rows["ts"]).as_py() == RECORDS * sum(range(1, WRITES + 1))


def test_a_read_that_ends_early_leaves_nothing(rides, tmp_path):
    batches = HudiTable.open(rides).scan(options={MEMORY: LITTLE, FOLDER: str(tmp_path)}).to_batches()
    assert next(batches).num_rows
    batches.close()
    assert not list(tmp_path.iterdir())


KILLED = """
import os, signal, sys
from hudi_hive import HudiTable
options = {"hoodie.memory.merge.max.size": sys.argv[2], "hoodie.memory.spillable.map.path": sys.argv[3]}
batches = HudiTable.open(sys.argv[1]).scan(options=options).to_batches()
next(batches)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_merge_removes_what_a_killed_one_left_and_nothing_of_a_living_one(rides, tmp_path):
    command = [sys.executable, "-c", KILLED, str(rides), str(LITTLE), str(tmp_path)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == -signal.SIGKILL
    [left] = tmp_path.iterdir()
    others = tmp_path / "hudi-hive-merge-elsewhere"
    shutil.copytree(left, others)
    (others / "holder").write_text("another machine")
    scan = HudiTable.open(rides).scan(options={MEMORY: LITTLE, FOLDER: str(tmp_path)})
    living = scan.to_batches()
    rows = next(living).num_rows
    held = set(tmp_path.iterdir())
    assert left not in held and others in held and len(held) == 2
    assert scan.to_arrow().num_rows == RECORDS
    assert set(tmp_path.iterdir()) == held
    assert rows + sum(batch.num_rows for batch in living) == RECORDS
    assert list(tmp_path.iterdir()) == [others]


def test_what_a_delete_or_a_compaction_sees_of_it(rides, tmp_path):
    path = shutil.copytree(rides, tmp_path / "rides")
    table = HudiTable.open(path)
    table.delete(pa.table({"id": ["7"], "ts": [WRITES + 1]}))
    options = {MEMORY: LITTLE, FOLDER: str(tmp_path / "spilled")}
    assert table.scan(options=options, selected_fields=["id"]).to_arrow().num_rows == RECORDS - 1
    before = table.client.storage.counters["bytes_spilled"]
    options = {"hoodie.memory.compaction.max.size": str(LITTLE), FOLDER: options[FOLDER]}
    table.compact(options={"hoodie.compact.inline.max.delta.commits": "1", **options})
    assert table.client.storage.counters["bytes_spilled"] > before
    assert not list((tmp_path / "spilled").iterdir())
    rows = table.scan(selected_fields=["ts"]).to_arrow()
    assert rows.num_rows == RECORDS - 1 and pc.unique(rows["ts"]).to_pylist() == [WRITES]


@pytest.mark.parametrize(("name", "value"), [(MEMORY, "0"), (MEMORY, "much"), (FOLDER, "s3://lake/spilled")])
def test_values_that_mean_nothing_are_refused(rides, name, value):
    with pytest.raises(InvalidOptionError, match=name):
        HudiTable.open(rides).scan(options={name: value})


def test_a_folder_that_cannot_be_made_is_named(rides, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=str(tmp_path / "file")):
        HudiTable.open(rides).scan(options={MEMORY: LITTLE, FOLDER: str(tmp_path / "file" / "folder")}).to_arrow()


def test_a_log_file_that_is_gone_or_damaged_is_named(rides, tmp_path):
    path = shutil.copytree(rides, tmp_path / "rides")
    scan = HudiTable.open(path).scan(options={MEMORY: LITTLE})
    scan.plan()
    log = min(path.glob(".*.log.*"))
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    with pytest.raises(CorruptFileError, match=log.name):
        scan.to_arrow()
    log.unlink()
    with pytest.raises(FileVanishedError, match=log.name):
        scan.to_arrow()
