"""Tables whose partitions have different numbers of buckets: by options, and by rules that the table holds."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError, UnsupportedTableError
from hudi_hive.storage import Storage
from hudi_hive.write.index import BucketIndex, IndexOptions
from hudi_hive.write.options import WriteConfig
from tests.support.running.long import VERSION_CASES

DAYS = ("2024-06-01", "2024-06-02", "2024-11-11")
RULES = r"\d{4}-(06-01|11-11),6;06,3"
BUCKETS = {"2024-06-01": 6, "2024-06-02": 3, "2024-11-11": 6, "2025-01-01": 2}
OPTIONS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
WITH_RULES = {**OPTIONS, "hoodie.bucket.index.partition.expressions": RULES}
CONFIG = ".hoodie/.bucket_index/partition_bucket_index_meta/configs/00000000000000.hashing_config"


def rows(days: tuple[str, ...] = DAYS, ts: int = 1) -> pa.Table:
    keys = [(f"k{number}", day) for day in days for number in range(60)]
    return pa.table(
        {
            "id": [key for key, _ in keys],
            "ts": pa.array([ts] * len(keys), pa.int64()),
            "day": [day for _, day in keys],
            "name": [f"{key}-{ts}" for key, _ in keys],
        }
    )


def make(folder: Path, kind: str = "MERGE_ON_READ", version: int = 9) -> HudiTable:
    return HudiTable.create(
        folder / "t",
        name="ruled",
        table_type=kind,
        version=version,
        record_keys=["id"],
        partition_fields=["day"],
        ordering_fields=["ts"],
    )


def buckets_of(table: HudiTable) -> dict[str, set[int]]:
    slices = table.refresh().scan().plan().slices.select(["partition", "file_id"]).to_pylist()
    return {
        part: {int(one["file_id"][:8]) for one in slices if one["partition"] == part}
        for part in {one["partition"] for one in slices}
    }


def times(table: HudiTable) -> list[int]:
    return table.refresh().scan(selected_fields=["ts"]).to_arrow().column("ts").to_pylist()


@pytest.mark.parametrize("version", VERSION_CASES)
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_partitions_have_the_buckets_of_their_rules(tmp_path, kind: str, version: int) -> None:
    table = make(tmp_path, kind, version)
    table.write("bulk_insert", rows(), WITH_RULES)
    table.write("upsert", rows(ts=2), WITH_RULES)
    table.write("upsert", rows(("2025-01-01",), ts=2), WITH_RULES)
    assert buckets_of(table) == {day: set(range(count)) for day, count in BUCKETS.items()}
    assert times(table) == [2] * 240
    table.write("delete", rows(("2024-06-01",)).select(["id", "day", "ts"]), WITH_RULES)
    assert times(table) == [2] * 180
    with pytest.raises(UnsupportedTableError, match="is of none of 2 buckets"):
        table.write("upsert", rows(ts=3), OPTIONS)
    assert times(table) == [2] * 180


MANY = tuple(f"2024-01-{number:02d}" for number in range(1, 13))


@pytest.mark.parametrize("version", VERSION_CASES)
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_greater_number_than_the_table_has_is_refused(tmp_path, kind: str, version: int) -> None:
    table = make(tmp_path, kind, version)
    table.write("upsert", rows(), OPTIONS)
    for number in ("3", "4", "64"):
        with pytest.raises(UnsupportedTableError, match=rf"holds the key k\d+, which is in bucket \d+ of {number}"):
            table.refresh().write("upsert", rows(ts=2), {**OPTIONS, "hoodie.bucket.index.num.buckets": number})
    assert times(table) == [1] * 180
    assert buckets_of(table) == {day: {0, 1} for day in DAYS}
    table.refresh().write("insert_overwrite", rows(ts=2), {**OPTIONS, "hoodie.bucket.index.num.buckets": "3"})
    assert times(table) == [2] * 180


def test_keys_are_read_of_few_partitions_and_of_none_with_rules_of_the_table(tmp_path) -> None:
    table = make(tmp_path, "COPY_ON_WRITE")
    table.write("upsert", rows(MANY), OPTIONS)
    options = IndexOptions.of(WriteConfig.of(OPTIONS, table.client.config).index, table.client.config)

    def opens(days: tuple[str, ...]) -> int:
        client = table.refresh().client
        index = BucketIndex(client, options)
        index.slices(days)
        before = client.storage.counters["opens"]
        for _ in range(2):
            index.learn(days)
        return client.storage.counters["opens"] - before

    assert (opens(MANY), opens(MANY[:3])) == (8, 3)
    told = {"expressions": "2024,2", "defaultBucketNumber": 2, "rule": "regex", "version": 1}
    Storage(tmp_path / "t").write_bytes(CONFIG, json.dumps({**told, "instant": "00000000000000"}).encode())
    assert opens(MANY) == 0


def test_rules_of_the_table_count_without_options_and_against_others(tmp_path) -> None:
    table = make(tmp_path)
    told = {"expressions": RULES, "defaultBucketNumber": 2, "rule": "regex", "version": 1, "instant": "00000000000000"}
    Storage(tmp_path / "t").write_bytes(CONFIG, json.dumps(told).encode())
    table.write("upsert", rows(), OPTIONS)
    table.write("upsert", rows(ts=2), WITH_RULES)
    assert buckets_of(table) == {day: set(range(BUCKETS[day])) for day in DAYS}
    assert times(table) == [2] * 180
    before = table.refresh().timeline.instants
    for other in ({"hoodie.bucket.index.num.buckets": "3"}, {"hoodie.bucket.index.partition.expressions": "06,3"}):
        with pytest.raises(InvalidOptionError, match=r"partition\.expressions"):
            table.write("upsert", rows(ts=3), {**WITH_RULES, **other})
    assert table.refresh().timeline.instants == before
    assert times(table) == [2] * 180


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.index.type": "SIMPLE"},
        {"hoodie.index.bucket.engine": "CONSISTENT_HASHING"},
        {"hoodie.bucket.index.partition.rule.type": "glob"},
        {"hoodie.bucket.index.partition.expressions": "06"},
        {"hoodie.bucket.index.partition.expressions": "06(,3"},
    ],
)
def test_rules_that_no_index_goes_by_are_refused(tmp_path, options: dict[str, str]) -> None:
    table = make(tmp_path)
    with pytest.raises(InvalidOptionError, match=r"hoodie\.bucket\.index\.partition"):
        table.write("upsert", rows(), {**WITH_RULES, **options})
    assert table.refresh().timeline.instants == ()
