"""Incremental queries over compactions that gave rows their own time, and over log compactions, as real Hudi answers.

Rows of 80 ranges of the tables made here, and of 273 ranges of the log-compaction fixtures, were compared with those of
real Hudi 0.15.0 and 1.1.1.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.table import MetaClient
from hudi_hive.write.services import compact
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import VERSION_CASES
from tests.write.shared.services_rollback_helpers import context_of

QUIET = {"hoodie.metadata.enable": "false", "hoodie.compact.inline": "false"}


def rows(keys: list[str], n: int) -> pa.Table:
    return pa.table({"id": keys, "part": ["p"] * len(keys), "n": pa.array([n] * len(keys), pa.int64())})


def stamp(file: Path, instant: str, keys: list[str]) -> None:
    """Give rows of a base file the file's own commit time, as compactions before release 0.11 did; its size stays."""
    size = file.stat().st_size
    table = pq.read_table(file, partitioning=None)
    mine = pc.is_in(table["id"], pa.array(keys))
    times = pc.if_else(mine, pa.scalar(instant), table["_hoodie_commit_time"])
    pq.write_table(table.set_column(0, table.schema.field(0), times), file, store_schema=False)
    data = file.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    file.write_bytes(data[:-footer] + bytes(size - len(data)) + data[-footer:])


@pytest.mark.parametrize("keys", [["a"], ["a", "b", "c", "d"]], ids=["one", "all"])
@pytest.mark.parametrize("version", VERSION_CASES)
def test_rows_with_the_time_of_a_compaction(version: int, keys: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = HudiTable.create(
        path,
        name="t",
        version=version,
        table_type="MERGE_ON_READ",
        record_keys=["id"],
        partition_fields=["part"],
        ordering_fields=["n"],
    )
    table.insert(rows(["a", "b", "c", "d"], 1), QUIET)
    HudiTable.open(path).upsert(rows(["a"], 2), QUIET)
    (compaction,) = compact(context_of(path))
    (file,) = path.glob(f"p/*_{compaction.requested}.parquet")
    stamp(file, compaction.requested, keys)
    HudiTable.open(path).upsert(rows(["b"], 3), QUIET)
    first, second, third, fourth = MetaClient.load(path).timeline.write_instants()
    assert third.requested == compaction.requested
    marks = [i.requested if version == 6 else i.completed for i in (first, second, third, fourth)]

    def commit_times_since(begin: str) -> dict[str, str]:
        seen = HudiTable.open(path).scan(begin=begin).to_arrow()
        return dict(zip(seen["id"].to_pylist(), seen["_hoodie_commit_time"].to_pylist(), strict=True))

    of_all = {key: third.requested if key in keys else first.requested for key in "abcd"} | {"b": fourth.requested}
    of_compaction = {key: time for key, time in of_all.items() if time >= third.requested}
    assert commit_times_since("earliest") == of_all
    assert commit_times_since(marks[0]) == commit_times_since(marks[1]) == of_compaction
    assert commit_times_since(marks[2]) == {"b": fourth.requested}
    assert commit_times_since(marks[3]) == {}


@pytest.mark.parametrize("version", VERSION_CASES)
def test_ranges_around_a_log_compaction(version: int) -> None:
    path = unzip_fixture(f"v{version}_mor_log_compaction")
    table = HudiTable.open(path)
    times = {i.requested: i.requested if version == 6 else i.completed for i in table.client.timeline.write_instants()}
    assert len(times) == 7
    snapshot = {(row["_hoodie_record_key"], row["_hoodie_commit_time"]) for row in table.scan().to_arrow().to_pylist()}
    marks = sorted({"000", *times, *times.values()})
    for begin in marks:
        found = table.scan(begin=begin).to_arrow().to_pylist()
        seen = [(row["_hoodie_record_key"], row["_hoodie_commit_time"]) for row in found]
        assert sorted(seen) == sorted(row for row in snapshot if times[row[1]] > begin)
    for begin, end in itertools.combinations(marks, 2):
        within = {time for time, mark in times.items() if begin < mark <= end}
        assert set(table.scan(begin=begin, end=end).to_arrow()["_hoodie_commit_time"].to_pylist()) <= within
