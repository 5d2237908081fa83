"""Look-up tasks that one Spark task does: each gets its own keys."""

from __future__ import annotations

import pyarrow as pa

from hudi_hive.spark.write.located_rows import HITS, PLACED_HITS, LookKeysUp
from hudi_hive.spark.write.packed_rows import by_bucket, numbered_rows, packed_lines, unpacked
from hudi_hive.write.files import POSITION
from hudi_hive.write.index import HITS_SCHEMA, LookupPlan


class Echo:
    """A look-up task that finds all keys in a file group of its own name."""

    def __init__(self, name):
        self.name = name

    def lookup(self, keys):
        hits = pa.table([keys["key"], keys["partition"], pa.repeat(self.name, keys.num_rows)], schema=HITS_SCHEMA)
        told = pa.array([4 if key == "c" else None for key in hits["key"].to_pylist()], pa.int64())
        return hits.append_column(POSITION, told) if self.name == "f3" else hits


class NoRoute:
    """Keys come with the numbers of their look-up tasks already."""

    def rows(self, keys):
        raise AssertionError(keys)


def test_each_look_up_task_gets_its_keys():
    plan = LookupPlan([Echo(f"f{number}") for number in range(4)], NoRoute())
    keys = pa.table([["a", "b", "c", "d", "e"], ["p", "p", "q", "q", "r"]], names=["key", "partition"])
    tasks = [(3, [0]), (0, [1]), (3, [2]), (0, [3]), (2, [4])]
    lines = list(packed_lines((task, keys.take(rows)) for task, rows in tasks))
    (hits,) = unpacked(LookKeysUp(plan, 1)(iter(lines)), HITS)
    assert hits.schema == PLACED_HITS
    assert hits.column(POSITION).to_pylist() == [None, None, None, None, 4]
    assert list(zip(*hits.select(HITS_SCHEMA.names).to_pydict().values(), strict=True)) == [
        ("b", "p", "f0"),
        ("d", "q", "f0"),
        ("e", "r", "f2"),
        ("a", "p", "f3"),
        ("c", "q", "f3"),
    ]
    assert not list(LookKeysUp(plan, 1)(iter([])))


def test_hits_come_by_the_buckets_of_their_keys():
    plan = LookupPlan([Echo("f0"), Echo("f1")], NoRoute())
    keys = pa.table([[f"k{number}" for number in range(100)], ["p"] * 100], names=["key", "partition"])
    buckets = {number: set(rows.column("key").to_pylist()) for number, rows in by_bucket(keys, "key", 4)}
    assert len(buckets) == 4
    found = {number: set() for number in buckets}
    for number, hits in numbered_rows(LookKeysUp(plan, 4)(packed_lines([(1, keys), (0, keys)])), HITS):
        found[number] |= set(hits.column("key").to_pylist())
        assert set(hits.column("file_id").to_pylist()) == {"f0", "f1"}
    assert found == buckets
