"""Record indexes that tasks make, from files to files: the same places, and no key in this process."""

from __future__ import annotations

import pickle
from collections import Counter

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import RECORD_INDEX, MetadataChanges
from hudi_hive.metadata.writer import MetadataWriter, initial, services, slice_keys
from hudi_hive.table import MetaClient

KEYS = 400
OPTIONS = {"hoodie.metadata.record.index.enable": "true", "hoodie.metadata.record.index.min.filegroup.count": "3"}


class Executors:
    """Runs tasks as executors do: on pickled copies, each of them twice."""

    def __init__(self):
        self.gathered: Counter[int] = Counter()
        self.keys = 0

    def _twice(self, function, *arguments):
        function = pickle.loads(pickle.dumps(function))
        results = [function(*pickle.loads(pickle.dumps(arguments))) for _ in range(2)]
        return results[1]

    def map(self, function, tasks):
        return [self._twice(function, task) for task in tasks]

    def exchange(self, spread, gather, tasks, numbers):
        parts: dict[int, list] = {}
        for task in tasks:
            for number, part in self._twice(spread, task):
                assert 0 <= number < numbers
                self.keys += len(part)
                parts.setdefault(number, []).insert(0, part)  # in no order
        self.gathered.update(parts)
        return [self._twice(gather, number, parts[number]) for number in sorted(parts)]


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def table(request, tmp_path):
    table = HudiTable.create(
        tmp_path / "t", name="t", table_type=request.param, record_keys=["id"], partition_fields=["p"]
    )
    ids = [f"k{number:04}" for number in range(KEYS)]
    rows = pa.table({"id": ids, "p": [f"p{number % 5}" for number in range(KEYS)], "v": list(range(KEYS))})
    table.upsert(rows)
    table.upsert(rows.slice(10, 50))
    table.delete(rows.slice(0, 7))
    return table


def made(path, executor=None):
    writer = MetadataWriter.open(MetaClient.load(path), OPTIONS, executor)
    assert writer is not None
    assert writer.initialise(["record_index"], executor) == ("record_index",)
    return MetadataTable.open(MetaClient.load(path))


def places(table):
    return table.record_locations().to_pylist()


def test_tasks_make_what_one_process_makes(table):
    expected = places(made(table.client.storage.root))
    assert len(expected) == KEYS - 7
    MetadataWriter.drop(MetaClient.load(table.client.storage.root), ["record_index"])
    executors = Executors()
    new = made(table.client.storage.root, executors)
    assert places(new) == expected
    assert executors.keys == KEYS - 7 and sorted(executors.gathered) == [0, 1, 2]
    (groups,) = new.prefixed_groups(RECORD_INDEX).values()
    assert [group.base_entries for group in groups] != [0, 0, 0]
    assert sum(group.base_entries for group in groups) == KEYS - 7
    # Later commits find them and keep them in step.
    table.upsert(pa.table({"id": ["new"], "p": ["p1"], "v": [0]}), OPTIONS)
    assert len(places(MetadataTable.open(MetaClient.load(table.client.storage.root)))) == KEYS - 6


def test_keys_are_counted_by_footers_where_there_are_no_log_files(table, monkeypatch):
    client = MetaClient.load(table.client.storage.root)
    with_keys = []
    keys_of = slice_keys.keys_of
    monkeypatch.setattr(slice_keys, "keys_of", lambda task: with_keys.append(task) or keys_of(task))
    assert initial.index_shares(client, Executors()).count == KEYS - 7
    assert all(task.log_files for task in with_keys)


@pytest.mark.parametrize(("least", "by_tasks"), [(0, True), (1 << 30, False)])
def test_large_file_groups_are_merged_by_tasks(table, monkeypatch, least, by_tasks):
    monkeypatch.setattr(services, "_SPREAD_BYTES", least)
    executors = Executors()
    before = places(made(table.client.storage.root, executors))
    ran = []
    run = executors.map
    executors.map = lambda function, tasks: ran.append(type(function).__name__) or run(function, tasks)
    options = {**OPTIONS, "hoodie.metadata.compact.max.delta.commits": "1"}
    writer = MetadataWriter.open(MetaClient.load(table.client.storage.root), options, executors)
    assert writer is not None
    writer.apply("29990101000000000", "commit", MetadataChanges())
    assert ("MergeGroup" in ran) is by_tasks
    new = MetadataTable.open_outdated(MetaClient.load(table.client.storage.root))
    assert places(new) == before
    assert [instant.action for instant in new.client.timeline.completed()].count("commit") == 1
