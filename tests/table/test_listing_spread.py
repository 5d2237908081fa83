"""Listings that are spread over executors: the same partitions and files, few tasks, each folder listed once."""

from __future__ import annotations

import pickle

import pytest

from hudi_hive.storage import Storage
from hudi_hive.table.view import DirectoryLister, SpreadListing

PARTITIONS = [f"y={year}/m={month:02}" for year in (2024, 2025) for month in range(1, 13)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    base = tmp_path_factory.mktemp("spread")
    (base / ".hoodie/metadata/files").mkdir(parents=True)
    (base / ".hoodie/metadata/files/.hoodie_partition_metadata").touch()
    for number, path in enumerate(PARTITIONS):
        (base / path).mkdir(parents=True)
        (base / path / ".hoodie_partition_metadata").touch()
        (base / path / f"f{number}-0_0-1-1_20240101000000000.parquet").write_bytes(b"x" * number)
    return base


class Executors:
    """Runs tasks as executors do: on pickled copies, whose counters are their own."""

    def __init__(self):
        self.tasks = []

    def __call__(self, function, tasks):
        self.tasks.append([len(task) for task in tasks])
        return [pickle.loads(pickle.dumps(function))(pickle.loads(pickle.dumps(task))) for task in tasks]


def lister(folder, *, tasks, threshold, levels=2):
    executors, storage = Executors(), Storage(folder)
    return (
        DirectoryLister(storage, lambda: SpreadListing(executors, tasks, threshold, levels)),
        storage.counters,
        executors,
    )


@pytest.mark.parametrize(
    ("tasks", "threshold", "shares"),
    [
        (5, 8, [[5, 5, 5, 5, 4]]),  # the base path and the years are listed here, the months there
        (100, 8, [[1] * 24]),
        (3, 1, [[1, 1], [8, 8, 8]]),
        (5, 24, []),
        (1, 0, []),
    ],
)
def test_levels_of_many_folders_are_listed_by_tasks(folder, tasks, threshold, shares):
    plain = DirectoryLister(Storage(folder))
    spread, counters, executors = lister(folder, tasks=tasks, threshold=threshold)
    assert spread.partitions() == plain.partitions() == PARTITIONS
    assert executors.tasks == shares
    assert counters["lists"] == 1 + 2 + 24
    assert set(counters.listed.values()) == {1}
    files = spread.files(PARTITIONS)
    assert counters["lists"] == 27  # seen on the way
    order = [("partition", "ascending"), ("name", "ascending")]
    assert files.sort_by(order).equals(plain.files(PARTITIONS).sort_by(order))


def test_files_of_chosen_partitions_are_listed_by_tasks(folder):
    spread, counters, executors = lister(folder, tasks=4, threshold=8)
    few = spread.files(PARTITIONS[:8])
    assert executors.tasks == [] and counters["lists"] == 8 and few.num_rows == 16
    many = spread.files([*PARTITIONS[:20], "y=2030/m=01"])  # one is not there
    assert executors.tasks == [[6, 6, 6, 3]] and counters["lists"] == 29
    assert sorted(set(many.column("partition").to_pylist())) == sorted(PARTITIONS[:20])
    assert many.num_rows == 40


def test_an_error_of_a_task_comes_to_the_caller(folder, tmp_path):
    from hudi_hive.errors import UnsafePathError

    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/.hoodie_partition_metadata").touch()
    for number in range(5):
        (tmp_path / f"t/p{number}").mkdir(parents=True)
        (tmp_path / f"t/p{number}/.hoodie_partition_metadata").touch()
    (tmp_path / "t/p3/x-0_0-1-1_20240101000000000.parquet").symlink_to("/etc/hostname")
    spread, _, executors = lister(tmp_path / "t", tasks=2, threshold=2, levels=1)
    with pytest.raises(UnsafePathError):
        spread.partitions()
    assert executors.tasks == [[3, 2]]
