"""Look-up tasks that one Spark task does: each gets its own keys."""

from __future__ import annotations

import pyarrow as pa

from hudi_hive.spark.write.tasks import PLACED_HITS, TASK, LookKeysUp
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
    batches = [
        pa.record_batch(
            [["a", "b", "c"], ["p", "p", "q"], pa.array([3, 0, 3], pa.int32())], ["key", "partition", TASK]
        ),
        pa.record_batch([["d", "e"], ["q", "r"], pa.array([0, 2], pa.int32())], ["key", "partition", TASK]),
    ]
    hits = pa.Table.from_batches(LookKeysUp(plan)(iter(batches)), PLACED_HITS)
    assert hits.column(POSITION).to_pylist() == [None, None, None, None, 4]
    assert list(zip(*hits.select(HITS_SCHEMA.names).to_pydict().values(), strict=True)) == [
        ("b", "p", "f0"),
        ("d", "q", "f0"),
        ("e", "r", "f2"),
        ("a", "p", "f3"),
        ("c", "q", "f3"),
    ]
    assert not list(LookKeysUp(plan)(iter([])))
