"""Partitions get other numbers of buckets by rules, in one commit whose rules the table keeps."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError, PathExistsError, UnsupportedTableError, WriteConflictError
from hudi_hive.table.keys import BucketRules, save_bucket_rules
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.services import TableServices, added_rules, rescaling_rules, roll_back_rescaling
from hudi_hive.write.services.rescaling.bucket_rows import BucketRows
from hudi_hive.write.writers import LocalWriter
from tests.support.running.long import VERSION_CASES

OPTIONS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2", "hoodie.clean.automatic": "false"}
SEVERAL_WRITERS = {
    **OPTIONS,
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": "FileSystemBasedLockProvider",
}
DAYS = ("2024-06-01", "2024-06-02", "2025-01-01")
RULES = "2024-06-01,5;2024,3"
FOLDER = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"


def rows(ts, days=DAYS, count=40):
    made = [{"id": f"k{number}", "ts": ts, "day": day} for day in days for number in range(count)]
    return pa.Table.from_pylist(made, pa.schema([("id", pa.string()), ("ts", pa.int64()), ("day", pa.string())]))


def make(folder, kind="MERGE_ON_READ", version=9):
    fields = {"record_keys": ["id"], "partition_fields": ["day"], "ordering_fields": ["ts"]}
    table = HudiTable.create(folder / "t", name="t", table_type=kind, version=version, **fields)
    table.write("upsert", rows(1), OPTIONS)
    table.write("upsert", rows(2, ("2024-06-01",)), OPTIONS)
    return table.refresh()


def services(table, **options):
    return TableServices.open(HudiTable.open(table.client.base_path).client, {**OPTIONS, **options})


def state(table):
    """Rows, with when they were written, and buckets by partition."""
    table = HudiTable.open(table.client.base_path)
    columns = ["_hoodie_commit_time", "day", "id", "ts"]
    found = sorted(tuple(row.values()) for row in table.scan(selected_fields=columns).to_arrow().to_pylist())
    buckets = {}
    for one in table.scan().plan().slices.select(["partition", "file_id"]).to_pylist():
        buckets.setdefault(one["partition"], set()).add(int(one["file_id"][:8]))
    return found, {path: len(numbers) for path, numbers in buckets.items()}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", VERSION_CASES)
def test_rows_go_to_the_buckets_of_the_rules(kind, version, tmp_path):
    table = make(tmp_path, kind, version)
    before, _ = state(table)
    planned = services(table).rescale_buckets(RULES, 2, dry_run=True)
    assert dict(planned.partitions) == {"2024-06-01": 5, "2024-06-02": 3}
    assert planned.instant is None
    assert state(table)[1] == dict.fromkeys(DAYS, 2)

    done = services(table).rescale_buckets(RULES, 2)
    assert done.partitions == planned.partitions
    assert state(table) == (before, {"2024-06-01": 5, "2024-06-02": 3, "2025-01-01": 2})
    told = json.loads(table.client.storage.read_bytes(f"{FOLDER}/{done.instant.requested}.hashing_config"))
    assert told == {
        "expressions": RULES,
        "defaultBucketNumber": 2,
        "rule": "regex",
        "version": 1,
        "instant": done.instant.requested,
    }
    table.refresh().write("upsert", rows(3), OPTIONS)
    assert {row[3] for row in state(table)[0]} == {3}
    assert len(state(table)[0]) == len(before)

    expressions, buckets = added_rules(table.refresh().client, "2025,4")
    again = services(table).rescale_buckets(expressions, buckets)
    assert dict(again.partitions) == {"2025-01-01": 4}
    assert [rules.expressions for _, rules in rescaling_rules(table.refresh().client)] == [RULES, f"2025,4;{RULES}"]
    assert state(table)[1] == {"2024-06-01": 5, "2024-06-02": 3, "2025-01-01": 4}


def test_a_rescaling_that_changes_no_partition_saves_its_rules(tmp_path):
    table = make(tmp_path)
    assert dict(services(table).rescale_buckets("2030,7", 2).partitions) == {}
    table.refresh().write("upsert", rows(3, ("2030-01-01",)), OPTIONS)
    assert state(table)[1]["2030-01-01"] == 7


def test_rules_of_the_options_are_those_of_before(tmp_path):
    """Of a table without its own: partitions that had other buckets by them are rescaled, too."""
    options = {**OPTIONS, "hoodie.bucket.index.partition.expressions": "2025,1;06-02,3"}
    fields = {"record_keys": ["id"], "partition_fields": ["day"], "ordering_fields": ["ts"]}
    table = HudiTable.create(tmp_path / "t", name="t", **fields)
    table.write("upsert", rows(1), options)
    assert state(table)[1] == {"2024-06-01": 2, "2024-06-02": 3, "2025-01-01": 1}
    done = services(table, **options).rescale_buckets("06-02,3", 2)
    assert dict(done.partitions) == {"2025-01-01": 2}
    table.refresh().write("upsert", rows(2), OPTIONS)
    found, buckets = state(table)
    assert buckets == {"2024-06-01": 2, "2024-06-02": 3, "2025-01-01": 2}
    assert [row[3] for row in found] == [2] * 120


def test_a_rescaling_is_rolled_back(tmp_path):
    table = make(tmp_path)
    before = state(table)
    done = services(table).rescale_buckets(RULES, 2)
    roll_back_rescaling(services(table).context, done.instant.requested)
    assert state(table) == before
    assert rescaling_rules(table.refresh().client) == []
    table.refresh().write("upsert", rows(3), OPTIONS)
    assert {row[3] for row in state(table)[0]} == {3}
    with pytest.raises(InvalidOptionError, match="given the table no rules"):
        roll_back_rescaling(services(table).context, done.instant.requested)


def test_rules_of_a_rescaling_that_began_since_do_not_count(tmp_path):
    """Another one may write its rules after the timeline was read, and before they are listed."""
    table = make(tmp_path)
    client = table.client
    assert client.timeline.instants
    rules = BucketRules.parse(RULES, 2)
    save_bucket_rules(client.storage, "29990101000000000", rules)
    assert rescaling_rules(client) == []
    with pytest.raises(InvalidOptionError, match="there are no rules"):
        added_rules(client, "2025,4")
    planned = services(table).rescale_buckets(RULES, 2, dry_run=True)
    assert dict(planned.partitions) == {"2024-06-01": 5, "2024-06-02": 3}


class Failing(LocalExecutor):
    """Does what it is to do first, then fails."""

    def __init__(self, then):
        super().__init__()
        self._then = then

    def map(self, function, items):
        done = super().map(function, items)
        self._then()
        return done


def fail():
    raise OSError("no more")


def test_a_rescaling_that_fails_leaves_the_table_as_it_was(tmp_path):
    table = make(tmp_path)
    before = state(table)
    client = HudiTable.open(table.client.base_path).client
    with pytest.raises(OSError, match="no more"):
        TableServices.open(client, OPTIONS, executor=Failing(fail)).rescale_buckets(RULES, 2)
    assert state(table) == before
    assert rescaling_rules(table.refresh().client) == []
    assert not table.client.storage.list(FOLDER, missing_ok=True).num_rows


@pytest.mark.parametrize(("days", "deleted"), [(DAYS[:1], ()), (("2024-12-31",), ()), (DAYS[:1], DAYS[:1])])
def test_a_write_that_completes_first_wins(days, deleted, tmp_path):
    """Be it to a partition that is rescaled, empty or not, or to one that it makes by the rules of before."""
    table = make(tmp_path)
    if deleted:
        table.delete_partitions(list(deleted))

    def write():
        HudiTable.open(table.client.base_path).write("upsert", rows(9, days), SEVERAL_WRITERS)

    client = HudiTable.open(table.client.base_path).client
    assert set(deleted) <= set(client.partition_paths())
    with pytest.raises(WriteConflictError):
        TableServices.open(client, SEVERAL_WRITERS, executor=Failing(write)).rescale_buckets(RULES, 2)
    found, buckets = state(table)
    assert set(buckets.values()) == {2}
    assert sum(row[3] == 9 for row in found) == 40


def test_a_write_by_the_rules_of_before_does_not_complete(tmp_path):
    table = make(tmp_path)
    rescale = Failing(lambda: services(table).rescale_buckets(RULES, 2))
    writer = LocalWriter(HudiTable.open(table.client.base_path).client, SEVERAL_WRITERS, executor=rescale)
    with pytest.raises(WriteConflictError, match="other numbers of buckets"):
        writer.write(rows(9, ("2024-12-31",)))
    assert state(table)[1] == {"2024-06-01": 5, "2024-06-02": 3, "2025-01-01": 2}


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((RULES,), {}, InvalidOptionError, "nothing tells how many"),
        (("2024", 2), {}, InvalidOptionError, "rules of buckets"),
        (("(,3", 2), {}, InvalidOptionError, "no regular expression"),
        ((RULES, 4), {}, InvalidOptionError, "is not the number of buckets"),
        ((RULES, 1), {"hoodie.bucket.index.num.buckets": "1"}, UnsupportedTableError, "none of 1 buckets"),
        ((RULES, 3), {"hoodie.bucket.index.num.buckets": "3"}, UnsupportedTableError, r"which is in bucket \d of 3"),
        (("2030,7", 4), {"hoodie.bucket.index.num.buckets": "4"}, UnsupportedTableError, r"which is in bucket \d of 4"),
        ((RULES, 2), {"hoodie.index.type": "BLOOM"}, InvalidOptionError, "no buckets of a fixed number"),
    ],
)
def test_what_is_refused(arguments, options, error, message, tmp_path):
    table = make(tmp_path)
    before = state(table)
    with pytest.raises(error, match=message):
        services(table, **options).rescale_buckets(*arguments)
    assert state(table) == before


def test_partitions_under_a_planned_compaction_are_not_rescaled(tmp_path):
    table = make(tmp_path)
    services(table).compact(schedule=True)
    with pytest.raises(WriteConflictError, match="a table service is at"):
        services(table).rescale_buckets(RULES, 2)
    services(table).compact(execute=True)
    services(table).rescale_buckets(RULES, 2)
    assert state(table)[1]["2024-06-01"] == 5


def test_rules_of_an_instant_are_written_once(tmp_path):
    table = make(tmp_path)
    done = services(table).rescale_buckets(RULES, 2)
    with pytest.raises(PathExistsError):
        save_bucket_rules(table.client.storage, done.instant.requested, done.rules)


MEMORY, SPILLED = "hoodie.memory.compaction.max.size", "hoodie.memory.spillable.map.path"


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_rows_that_are_too_many_for_the_memory_go_to_the_disk(kind, tmp_path):
    """To the same buckets as those that are not; slices are merged in parts then, too."""
    contents = {}
    for memory in (1 << 30, 1 << 10):
        folder = tmp_path / str(memory)
        table = make(folder, kind)
        before, _ = state(table)
        used = services(table, **{MEMORY: str(memory), SPILLED: str(folder / "spilled")})
        used.rescale_buckets(RULES, 2)
        assert bool(used.context.client.storage.counters["bytes_spilled"]) == (memory < 1 << 20)
        assert not list((folder / "spilled").glob("*"))
        assert state(table) == (before, {"2024-06-01": 5, "2024-06-02": 3, "2025-01-01": 2})
        rows = HudiTable.open(table.client.base_path).scan().to_arrow()
        buckets = pc.utf8_slice_codeunits(rows["_hoodie_file_name"], 0, 8)
        chosen = rows.append_column("bucket", buckets).select(["day", "bucket", "id", "ts"])
        contents[memory] = chosen.take(
            pc.sort_indices(chosen, [("day", "ascending"), ("bucket", "ascending"), ("id", "ascending")])
        )
        assert HudiTable.open(table.client.base_path).metadata.validate().differences.num_rows == 0
    assert contents[1 << 30].equals(contents[1 << 10])


def test_rows_of_buckets_come_in_their_order_from_the_disk(tmp_path):
    spilled = []
    batch = pa.record_batch({"n": pa.array(range(100), pa.int64())})
    with BucketRows(2000, str(tmp_path), spilled.append) as shares:
        for _ in range(5):
            shares.add(batch, np.arange(100) % 7)
        assert len(list(tmp_path.iterdir())) == 1
        assert shares.buckets() == list(range(7))
        for bucket in range(7):
            read = pa.Table.from_batches(shares.of(bucket), batch.schema)["n"].to_pylist()
            assert read == list(range(bucket, 100, 7)) * 5
    assert not list(tmp_path.iterdir())
    assert sum(spilled) > 0


RESCALE = """
import sys
import pyarrow as pa
from hudi_hive import HudiTable
from hudi_hive.write.services import TableServices
options = {"hoodie.index.type": "BUCKET", "hoodie.parquet.block.size": str(1 << 20)}
options["hoodie.memory.compaction.max.size"] = sys.argv[2]
used = TableServices.open(HudiTable.open(sys.argv[1]).client, options)
used.rescale_buckets("p,16", 8)
print(pa.default_memory_pool().max_memory(), used.context.client.storage.counters["bytes_spilled"])
"""


def test_memory_stays_in_its_bound(tmp_path):
    """A partition of some 75 megabytes in 8 files, whose rows go to 16."""
    figures, count = {}, 80_000
    for memory in (1 << 40, 8 << 20):
        path = tmp_path / str(memory)
        fields = {"record_keys": ["id"], "partition_fields": ["part"]}
        table = HudiTable.create(path, name="t", table_type="COPY_ON_WRITE", **fields)
        ids = pc.cast(pa.array(range(count), pa.int64()), pa.string())
        rows = pa.table({"id": ids, "note": pc.binary_repeat(ids, 200), "part": pa.repeat(pa.scalar("p"), count)})
        table.write("bulk_insert", rows, {**OPTIONS, "hoodie.bucket.index.num.buckets": "8"})
        command = [sys.executable, "-c", RESCALE, str(path), str(memory)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        peak, spilled = map(int, output.split())
        assert bool(spilled) == (memory == 8 << 20)
        scan = HudiTable.open(path).scan()
        assert (scan.plan().slices.num_rows, scan.count()) == (16, count)
        figures[memory] = peak
    assert figures[8 << 20] < figures[1 << 40] / 2, figures
