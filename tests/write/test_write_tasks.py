"""Rows and deletes of a write split by file group, whatever the groups are called and in whichever order they come."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.write.files import DELETES_SCHEMA, RECORD_LOCATIONS, number_file_groups, split_by_file_group

_PLACES = st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from("xyz")), max_size=60)


_CODED = (["b", "?", "a", ""], ["z", "y", "!", "x"])


def _columns(places: list[tuple[str, str]]) -> list[pa.Array]:
    return [pa.array([place[side] for place in places], pa.string()) for side in (0, 1)]


@given(_PLACES, _PLACES)
def test_file_ids_of_several_partitions_are_several_groups(first, second):
    ways = [
        pa.table(_columns(first + second), names=["partition", "file_id"]),
        # Dictionaries of their own, with names that no line has.
        pa.concat_tables(
            [
                pa.table([column.dictionary_encode() for column in _columns(part)], names=["partition", "file_id"])
                for part in (first, second)
            ]
        ),
        pa.table(
            [
                pa.DictionaryArray.from_arrays(
                    pa.array([names.index(name) for name in column.to_pylist()], pa.int32()), pa.array(names)
                )
                for names, column in zip(
                    (["b", "?", "a", ""], ["z", "y", "!", "x"]), _columns(first + second), strict=True
                )
            ],
            names=["partition", "file_id"],
        ),
    ]
    for places in ways:
        groups, numbers = number_file_groups(places)
        assert groups == list(dict.fromkeys(first + second))
        assert [groups[number] for number in numbers] == first + second


@given(_PLACES, _PLACES, st.randoms())
def test_every_group_gets_its_rows_in_their_order(places, deleted, random):
    rows = pa.table({"number": pa.array(range(len(places) + 5), pa.int64())})
    chosen = random.sample(range(rows.num_rows), len(places))
    new = [random.random() < 0.5 for _ in places]
    locations = pa.table([pa.array(chosen, pa.int64()), *_columns(places), pa.array(new, pa.bool_())], RECORD_LOCATIONS)
    keys = pa.array([f"k{number}" for number in range(len(deleted))], pa.string())
    deletes = pa.table([keys, *_columns(deleted)], DELETES_SCHEMA)
    split = list(split_by_file_group(rows, locations, deletes))
    assert [part.group for part in split] == list(dict.fromkeys(places + deleted))
    for part in split:
        own = [at for at, place in enumerate(places) if place == part.group]
        taken = [] if part.rows is None else part.rows.table().column("number").to_pylist()
        assert taken == [chosen[at] for at in own]
        assert part.new == sum(new[at] for at in own)
        gone = [] if part.deletes is None else part.deletes.column("record_key").to_pylist()
        assert gone == [f"k{at}" for at, place in enumerate(deleted) if place == part.group]


def test_pickled_rows_leave_the_others_behind():
    rows = pa.table({"number": np.arange(100_000)})
    places = [("p", "x" if number % 1000 else "y") for number in range(rows.num_rows)]
    locations = pa.table(
        [pa.array(range(rows.num_rows)), *_columns(places), pa.repeat(True, rows.num_rows)], RECORD_LOCATIONS
    )
    split = {part.group: part.rows for part in split_by_file_group(rows, locations, DELETES_SCHEMA.empty_table())}
    few = split["p", "y"]
    assert few is not None
    packed = pickle.dumps(few)
    assert len(packed) < 10_000
    assert pickle.loads(packed).table().equals(few.table())
