"""Splits follow Hadoop's loop, number by number."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import InvalidOptionError
from hudi_hive.input_format.job.job_conf import SPLIT_MIN_SIZE, JobConf
from hudi_hive.input_format.splits import block_size, cut_files
from tests.support.running.long import examples


def statuses(lengths, splittable=None, path="/t/f"):
    return pa.table(
        {
            "path": pa.array([f"{path}{i}" for i in range(len(lengths))], pa.string()),
            "length": pa.array(lengths, pa.int64()),
            "splittable": pa.array(splittable or [True] * len(lengths), pa.bool_()),
        }
    )


def hadoop(lengths, number, minimum, block, splittable):
    """The rule as Hadoop states it, one split at a time."""
    goal = sum(lengths) // max(number, 1)
    result = []
    for index, length in enumerate(lengths):
        if length == 0:
            result.append((index, 0, 0))
        elif not splittable[index]:
            result.append((index, 0, length))
        else:
            size = max(minimum, min(goal, block))
            left = length
            while left / size > 1.1:
                result.append((index, length - left, size))
                left -= size
            if left:
                result.append((index, length - left, left))
    return result


def rows(table):
    return [tuple(row.values()) for row in table.to_pylist()]


@settings(max_examples=examples(300), deadline=None)
@given(
    files=st.lists(st.tuples(st.integers(0, 5000), st.booleans()), min_size=1, max_size=8),
    number=st.integers(0, 30),
    minimum=st.integers(1, 800),
    block=st.integers(1, 3000),
)
def test_same_as_the_loop(files, number, minimum, block):
    lengths, splittable = [f[0] for f in files], [f[1] for f in files]
    if sum(lengths) // max(number, 1) == 0 and minimum == 0:
        return
    conf = JobConf({SPLIT_MIN_SIZE: minimum, "fs.local.block.size": block})
    assert rows(cut_files(statuses(lengths, splittable), conf, number)) == hadoop(
        lengths, number, minimum, block, splittable
    )


def test_sizes_seen_in_real_hive():
    table = statuses([434925])
    assert [r[1:] for r in rows(cut_files(table, JobConf(), 4))] == [
        (0, 108731),
        (108731, 108731),
        (217462, 108731),
        (326193, 108732),
    ]
    assert [r[1:] for r in rows(cut_files(table, JobConf({SPLIT_MIN_SIZE: 300000}), 4))] == [
        (0, 300000),
        (300000, 134925),
    ]


def test_no_files_no_splits():
    assert cut_files(statuses([]), JobConf(), 3).num_rows == 0


@pytest.mark.parametrize(
    "path, size",
    [
        ("/a", 32 << 20),
        ("file:/a", 32 << 20),
        ("s3a://b/a", 32 << 20),
        ("hdfs://n:8020/a", 128 << 20),
        ("gs://b/a", 64 << 20),
    ],
)
def test_block_sizes_of_file_systems(path, size):
    assert block_size(JobConf(), path) == size


def test_block_size_set_by_the_job_cuts_a_big_file():
    conf = JobConf({"dfs.blocksize": "1m"})
    table = statuses([3 << 20], path="hdfs://n/f")
    assert cut_files(table, conf, 1).num_rows == 3


@pytest.mark.parametrize("conf", [{"fs.local.block.size": "0"}, {SPLIT_MIN_SIZE: "big"}])
def test_bad_sizes_are_refused(conf):
    with pytest.raises(InvalidOptionError):
        cut_files(statuses([1]), JobConf(conf), 1)
