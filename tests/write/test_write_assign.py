"""Small files first, then new groups of equal size; every new row gets exactly one place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.table.view import SLICE_SCHEMA
from hudi_hive.write.files.assign import assign_inserts, spread


@dataclass(frozen=True)
class Sizes:
    max_file_size: int = 1000
    small_file_limit: int = 800
    record_size_estimate: int = 10
    record_size_threshold: float = 1.0
    insert_split_size: int = 30
    insert_auto_split: bool = True


def slices(*rows: tuple[str, str, int, list[str]]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"partition": p, "file_id": f, "base_instant": "1", "base_file": "b", "base_size": size, "log_files": logs}
            for p, f, size, logs in rows
        ],
        schema=SLICE_SCHEMA,
    )


def test_small_files_take_rows_before_new_groups():
    known = slices(("p", "full", 900, []), ("p", "small", 700, []), ("p", "logged", 10, [".l"]), ("q", "other", 1, []))
    found = assign_inserts({"p": 250}, known, Sizes(), 10).to_pylist()
    assert (found[0]["file_id"], found[0]["is_new"], found[0]["rows"]) == ("small", False, 30)
    assert [line["rows"] for line in found[1:]] == [73, 73, 74]
    assert all(line["is_new"] for line in found[1:])


def test_busy_groups_are_left_alone():
    known = slices(("p", "small", 700, []))
    found = assign_inserts({"p": 5}, known, Sizes(), 10, busy=["small"]).to_pylist()
    assert [line["is_new"] for line in found] == [True]


def test_a_limit_of_zero_makes_new_groups_only():
    found = assign_inserts({"p": 5}, slices(("p", "small", 7, [])), Sizes(small_file_limit=0), 10)
    assert found.column("is_new").to_pylist() == [True]


def test_so_many_of_the_smallest_files_take_rows():
    files = slices(("p", "large", 700, []), ("p", "small", 500, []), ("p", "middle", 600, []))
    for candidates, groups in (
        (None, ["large", "middle"]),
        (2, ["small", "middle"]),
        (1, ["small", None]),
        (0, [None]),
    ):
        lines = assign_inserts({"p": 60}, files, Sizes(), 10, candidates=candidates).to_pylist()
        assert [None if line["is_new"] else line["file_id"] for line in lines] == groups, candidates


def test_split_size_counts_where_sizes_do_not():
    found = assign_inserts({"p": 61}, None, Sizes(insert_auto_split=False), 10)
    assert found.column("rows").to_pylist() == [20, 20, 21]


@given(st.lists(st.sampled_from("abc"), max_size=200), st.integers(1, 500))
def test_every_row_has_one_place_of_its_partition(partitions, row_size):
    rows = pa.array(partitions, pa.string())
    counts = {p: partitions.count(p) for p in dict.fromkeys(partitions)}
    found = assign_inserts(counts, slices(("a", "s", 500, []), ("b", "t", 700, [])), Sizes(), row_size)
    line = spread(rows, found)
    assert found.column("partition").take(pa.array(line)).to_pylist() == partitions
    assert np.bincount(line, minlength=found.num_rows).tolist() == found.column("rows").to_pylist()
