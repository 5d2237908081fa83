"""Consistent hashing: buckets and metadata are those of real Hudi, and clustering splits and merges them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError, UnsupportedTableError, WriteConflictError, WriteError
from hudi_hive.formats.hash import xxhash32
from hudi_hive.metadata import validate
from hudi_hive.metrics import IoCounters
from hudi_hive.table import MetaClient
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.index import (
    KEYS_SCHEMA,
    REPLACE,
    HashingMetadata,
    HashingNode,
    decode_nodes,
    encode_nodes,
    load_hashing,
    open_index,
)
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.rollback import rollback
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import cluster, execute_clustering, schedule_clustering

HASHED = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "4",
    "hoodie.clean.automatic": "false",
}
SPLIT = {**HASHED, "hoodie.parquet.max.file.size": "2000", "hoodie.bucket.index.max.num.buckets": "8"}
MERGE = {**HASHED, "hoodie.bucket.index.min.num.buckets": "2"}
RINGS = ".hoodie/.bucket_index/consistent_hashing_metadata"
FIRST = (
    (536870912, "a1ba364b-fbde-3906-b865-53e4c35f3556"),
    (1073741824, "29428436-b4af-3680-bc5a-5ac61c04d8f0"),
    (1610612736, "28f89699-1b7e-3130-a371-646372cdf972"),
    (2147483647, "ddd512a0-10e2-31e7-b326-8550d5f6acf3"),
)
"""The nodes of four buckets that Hudi 1.0.2 and 1.1.1 make for a partition ``p0``."""


def rows(first: int, count: int, ts: int = 1, part: str = "p0") -> pa.Table:
    keys = range(first, first + count)
    return pa.table(
        {
            "id": [f"k{key:04d}" for key in keys],
            "part": [part] * count,
            "ts": [ts] * count,
            "name": [f"name {key} of {ts}" for key in keys],
        }
    )


def made(path: Path, version: int = 8, **more: Any) -> HudiTable:
    keys = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
    return HudiTable.create(path, name="t", table_type="MERGE_ON_READ", version=version, **keys, **more)


def written(path: Path, version: int = 8) -> HudiTable:
    made(path, version).upsert(rows(0, 120), HASHED)
    return HudiTable.open(path)


def context(path: Path, options: dict[str, str]) -> ServiceContext:
    return ServiceContext(MetaClient.load(path), options)


def model(*tables: pa.Table) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for table in tables for row in table.to_pylist()}


def seen(path: Path) -> dict[str, dict[str, Any]]:
    """The rows, each of which stands in the group of its bucket."""
    all_rows = HudiTable.open(path).scan().to_arrow().to_pylist()
    client = MetaClient.load(path)
    for part in {row["part"] for row in all_rows}:
        ring = load_hashing(client, part)
        assert ring is not None
        own = [row for row in all_rows if row["part"] == part]
        places = ring.places(xxhash32(pa.array([row["id"] for row in own])))
        for row, place in zip(own, places.tolist(), strict=True):
            assert row["_hoodie_file_name"].startswith(ring.nodes[place].file_id)
    names = ("id", "part", "ts", "name")
    result = {row["id"]: {name: row[name] for name in names} for row in all_rows}
    assert len(result) == len(all_rows)
    return result


def files(path: Path) -> set[str]:
    return {str(one.relative_to(path)) for one in path.rglob("*") if one.is_file()}


def test_hashes_are_those_of_xxhash() -> None:
    texts = ["", "a", "abc", "Nobody inspects the spammish repetition", "ü", None]
    values = [0x02CC5D05, 0x550D7456, 0x32D153FF, 0xE2293B2F]
    array = pa.array(["ahead", *texts[:5]]).slice(1)
    assert xxhash32(array).tolist()[:4] == values
    assert xxhash32(array).tolist()[4] == xxhash32(pa.array(["ü"]))[0]


def test_first_metadata_is_that_of_hudi_byte_for_byte() -> None:
    ring = HashingMetadata.initial("p0", 4)
    assert [(node.value, node.prefix) for node in ring.nodes] == list(FIRST)
    data = ring.encode().decode()
    assert data.startswith('{\n  "version" : 0,\n  "partitionPath" : "p0",\n  "instant" : "00000000000000",\n')
    assert '"nodes" : [ {\n    "value" : 536870912,\n    "fileIdPrefix" : "a1ba364b' in data
    assert data.endswith('    "tag" : "NORMAL"\n  } ]\n}')
    assert HashingMetadata.decode(ring.encode()) == ring
    gone = '{\n  "value" : 7,\n  "fileIdPrefix" : null,\n  "tag" : "DELETE"\n}'
    text = f'[ {gone}, {{\n  "value" : 9,\n  "fileIdPrefix" : "x",\n  "tag" : "REPLACE"\n}} ]'
    assert encode_nodes(decode_nodes(text)) == text
    for wrong in (b"", b"[]", b"{}", ring.encode().replace(b'"nodes" : [', b'"nodes" : [], "x" : [')):
        with pytest.raises(ValueError, match=r"."):
            HashingMetadata.decode(wrong)


def test_a_ring_is_split_and_merged_around_its_end() -> None:
    ring = HashingMetadata.initial("p0", 2)
    low, high = ring.nodes
    assert [node.value for node in ring.split(low)] == [536870911, 1073741824]
    # Joined around the end, the last node goes and the first one takes what is above its neighbour.
    children = ring.merged([high, low])
    after = ring.resized(children, "20240101000000000")
    assert [node.value for node in after.nodes] == [low.value]
    assert after.places(pa.array([0, low.value, low.value + 1, 2**31 - 1]).to_numpy()).tolist() == [0, 0, 0, 0]
    again = after.resized(after.split(after.nodes[0]), "20240101000000001")
    assert len(again.nodes) == 2 and again.sequence == 2
    narrow = HashingMetadata("p", "0", 2, 0, (HashingNode(5, "a"), HashingNode(6, "b")))
    assert narrow.split(narrow.nodes[1]) == ()
    assert {node.tag for node in ring.split(high)} == {REPLACE}


@pytest.mark.parametrize("version", [6, 8, 9])
def test_buckets_are_split_and_merged_by_clustering(tmp_path: Path, version: int) -> None:
    written(tmp_path, version)
    assert {name for name in files(tmp_path) if name.startswith(RINGS)} == {f"{RINGS}/p0/00000000000000.hashing_meta"}
    assert seen(tmp_path) == model(rows(0, 120))
    (split,) = cluster(context(tmp_path, SPLIT))
    ring = load_hashing(MetaClient.load(tmp_path), "p0")
    assert ring is not None
    assert (ring.instant, ring.sequence, ring.bucket_count, len(ring.nodes)) == (split.requested, 1, 4, 8)
    assert seen(tmp_path) == model(rows(0, 120))
    HudiTable.open(tmp_path).upsert(rows(100, 50, 2), HASHED)
    HudiTable.open(tmp_path).delete(rows(0, 10, 3), HASHED)
    expected = model(rows(10, 110), rows(100, 50, 2))
    assert seen(tmp_path) == expected
    marks = {name for name in files(tmp_path) if name.endswith(".commit") and name.startswith(RINGS)}
    assert marks == {f"{RINGS}/p0/00000000000000.commit", f"{RINGS}/p0/{split.requested}.commit"}
    (merged,) = cluster(context(tmp_path, MERGE))
    after = load_hashing(MetaClient.load(tmp_path), "p0")
    assert after is not None and (after.instant, after.sequence, len(after.nodes)) == (merged.requested, 2, 2)
    assert seen(tmp_path) == expected
    HudiTable.open(tmp_path).upsert(rows(0, 5, 4), HASHED)
    assert seen(tmp_path) == expected | model(rows(0, 5, 4))
    assert not validate(MetaClient.load(tmp_path)).errors


def test_plans_say_what_becomes_of_each_bucket(tmp_path: Path) -> None:
    written(tmp_path)
    planned = schedule_clustering(context(tmp_path, {**SPLIT, "hoodie.bucket.index.max.num.buckets": "5"}))
    assert planned is not None
    plan = MetaClient.load(tmp_path).timeline.requested_replace_metadata(planned)
    assert plan.strategy is not None and plan.strategy.endswith(".SparkConsistentBucketClusteringExecutionStrategy")
    # Hudi goes through the buckets in this order: the first one is split, the others are written anew.
    values = [
        [node["value"] for node in json.loads(extra["clustering.group.child.node"])] for extra in plan.group_extra
    ]
    assert values == [[805306368, 1073741824], [536870912], [1610612736], [2147483647]]
    assert plan.output_groups == (2, 1, 1, 1)
    assert {
        (extra["clustering.group.partition"], extra["clustering.group.sequence.no"]) for extra in plan.group_extra
    } == {("p0", "0")}
    # One resizing of a partition at a time; writes to its buckets wait.
    assert schedule_clustering(context(tmp_path, SPLIT)) is None
    with pytest.raises(WriteConflictError, match="was at the same file group"):
        HudiTable.open(tmp_path).upsert(rows(0, 5, 2), HASHED)
    assert seen(tmp_path) == model(rows(0, 120))
    execute_clustering(context(tmp_path, HASHED), planned)
    assert seen(tmp_path) == model(rows(0, 120))


def test_a_resizing_that_fails_or_is_rolled_back_leaves_the_buckets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path)
    before = files(tmp_path)

    def broken(*_: object) -> None:
        raise WriteError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr("hudi_hive.write.services.clustering.metadata_changes", broken)
        with pytest.raises(WriteError, match="no space"):
            cluster(context(tmp_path, SPLIT))
    (pending,) = MetaClient.load(tmp_path).timeline.pending_clustering_plans()
    assert not [name for name in files(tmp_path) - before if name.startswith((RINGS, "p0/"))]
    assert seen(tmp_path) == model(rows(0, 120))
    done = execute_clustering(context(tmp_path, SPLIT), pending.instant)
    rollback(context(tmp_path, SPLIT), done)
    assert not [name for name in files(tmp_path) - before if name.startswith((RINGS, "p0/"))]
    assert seen(tmp_path) == model(rows(0, 120))
    HudiTable.open(tmp_path).upsert(rows(0, 5, 2), HASHED)
    assert seen(tmp_path) == model(rows(0, 120), rows(0, 5, 2))
    # A ring whose instant is not complete counts for nobody.
    ring = load_hashing(MetaClient.load(tmp_path), "p0")
    assert ring is not None
    late = ring.resized(ring.split(ring.nodes[0]), "20200101000000000")
    (tmp_path / RINGS / "p0" / "20200101000000000.hashing_meta").write_bytes(late.encode())
    assert load_hashing(MetaClient.load(tmp_path), "p0") == ring


def test_deleted_partitions_get_new_buckets(tmp_path: Path) -> None:
    table = written(tmp_path)
    table.delete_partitions(["p0"], HASHED)
    assert seen(tmp_path) == {}
    HudiTable.open(tmp_path).upsert(rows(0, 20, 2), HASHED)
    assert seen(tmp_path) == model(rows(0, 20, 2))
    ring = load_hashing(MetaClient.load(tmp_path), "p0")
    assert ring is not None and ring.sequence == 1
    assert [node.value for node in ring.nodes] == [value for value, _ in FIRST]


def test_what_would_lose_rows_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    before = files(tmp_path)
    table = HudiTable.open(tmp_path)
    with pytest.raises(UnsupportedTableError, match="under consistent hashing"):
        table.insert_overwrite(rows(0, 5, 2), HASHED)
    with pytest.raises(UnsupportedTableError, match="buckets of consistent hashing"):
        cluster(context(tmp_path, {"hoodie.clustering.plan.strategy.single.group.clustering.enabled": "true"}))
    for name, value in (
        ("hoodie.layout.optimize.strategy", "z-order"),
        ("hoodie.clustering.plan.strategy.class", "SparkSizeBasedClusteringPlanStrategy"),
        ("hoodie.clustering.updates.strategy", "SparkConsistentBucketDuplicateUpdateStrategy"),
    ):
        with pytest.raises(InvalidOptionError):
            table.upsert(rows(0, 5, 2), {**HASHED, name: value})
    with pytest.raises(InvalidOptionError, match="consistent hashing"):
        table.upsert(
            rows(0, 5), {"hoodie.clustering.plan.strategy.class": "SparkConsistentBucketClusteringPlanStrategy"}
        )
    assert files(tmp_path) == before
    planned = schedule_clustering(context(tmp_path, SPLIT))
    assert planned is not None
    with pytest.raises(UnsupportedTableError, match="CONSISTENT_HASHING alone"):
        execute_clustering(context(tmp_path, {}), planned)
    rollback(context(tmp_path, SPLIT), planned)
    HudiTable.open(tmp_path).insert(
        rows(500, 5), {"hoodie.index.type": "SIMPLE", "hoodie.parquet.small.file.limit": "0"}
    )
    with pytest.raises(UnsupportedTableError, match="is of no bucket"):
        HudiTable.open(tmp_path).upsert(rows(0, 5, 2), HASHED)
    other = HudiTable.create(tmp_path / "cow", name="t", record_keys=["id"], partition_fields=["part"])
    with pytest.raises(InvalidOptionError, match="COPY_ON_WRITE"):
        other.upsert(rows(0, 5), HASHED)


def test_copies_of_the_index_for_other_processes_read_nothing(tmp_path: Path) -> None:
    """Spark's tasks tag rows by such copies."""
    written(tmp_path)
    counters = IoCounters()
    client = MetaClient.load(tmp_path, counters=counters)
    index = open_index(WriteConfig.of(HASHED, client.config), client)
    index.plan_lookup(["p0", "new"], LocalExecutor(1))
    keys = pa.table([["k0001", "k0002", "k0001"], ["p0", "p0", "new"], [0, 1, 2]], schema=KEYS_SCHEMA)
    expected = index.tag(keys)
    copy = pickle.loads(pickle.dumps(index))
    before = counters.snapshot(), copy.client.counters.snapshot()
    assert copy.locate(keys).equals(expected)
    assert (counters.snapshot(), copy.client.counters.snapshot()) == before
    assert expected["file_id"].null_count == 1 and expected["new_file_id"].null_count == 0


def test_keys_of_several_fields_are_hashed_by_the_fields_that_are_named(tmp_path: Path) -> None:
    keys = {"record_keys": ["id", "name"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
    table = HudiTable.create(tmp_path, name="t", table_type="MERGE_ON_READ", **keys)
    options = {**HASHED, "hoodie.bucket.index.hash.field": "id"}
    table.upsert(rows(0, 60), options)
    assert seen(tmp_path) == model(rows(0, 60))
    cluster(context(tmp_path, {**SPLIT, "hoodie.bucket.index.hash.field": "id"}))
    assert seen(tmp_path) == model(rows(0, 60))
    with pytest.raises(WriteError, match="hashed to others"):
        cluster(context(tmp_path, SPLIT))
