"""Requests on the wire of table services, mutations and queries of the past on a table on S3, held to budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.metadata.reader import validate
from integration.support.stores.proxy import Recording, StoreProxy
from integration.support.stores.s3 import S3Server
from tests.support.running.long import long_case

_BUDGETS: Final[Mapping[str, tuple[int, int]]] = {
    "compact": (45, 76),
    "compact, nothing to do": (9, 9),
    "cluster": (43, 68),
    "clean": (28, 40),
    "clean, nothing to do": (11, 12),
    "rollback": (36, 48),
    "savepoint": (12, 12),
    "restore": (45, 104),
    "mutation": (36, 73),
    "archive, nothing to do": (8, 9),
    "time travel": (8, 16),
    "incremental pull": (12, 12),
    "filtered plan": (8, 40),
}
"""Requests without and with the metadata table, of a table in three partitions."""

_ONCE: Final = ("GET", "RANGE", "HEAD")


def _rows(step: int, count: int = 30) -> pa.Table:
    keys = [f"k{number}" for number in range(step, step + count)]
    return pa.table({"id": keys, "p": [f"p{int(key[1:]) % 3}" for key in keys], "v": [step] * count})


class _Counted:
    """A table behind the proxy, and what its operations cost."""

    def __init__(self, s3: S3Server, proxy: StoreProxy, kind: str, has_metadata: bool) -> None:
        self._proxy = proxy
        self._has_metadata = has_metadata
        self.options = {} if has_metadata else {"hoodie.metadata.enable": "false"}
        self.stored = s3.options(proxy.port)
        self.path = s3.folder()
        self.table = HudiTable.create(
            self.path,
            name="t",
            table_type=kind,
            record_keys=["id"],
            partition_fields=["p"],
            storage_options=self.stored,
        )

    def upsert(self, step: int) -> None:
        self.table.upsert(_rows(step), {**self.options, "hoodie.archive.automatic": "false"})

    def within_budget(self, name: str, run: Callable[[], Any]) -> Recording:
        """Run an operation, count its requests, and refuse those that are one too many."""
        with self._proxy.recording() as recording:
            run()
        assert len(recording) <= _BUDGETS[name][self._has_metadata], f"{name}\n{recording}"
        assert "HEAD" not in recording.kinds, recording
        return recording

    def open(self) -> HudiTable:
        return HudiTable.open(self.path, self.stored)


_each_way = pytest.mark.parametrize("has_metadata", [long_case(False), True], ids=["listed", "metadata"])


@_each_way
def test_services_and_queries(s3: S3Server, s3_proxy: StoreProxy, has_metadata: bool) -> None:
    counted = _Counted(s3, s3_proxy, "COPY_ON_WRITE", has_metadata)
    table, options = counted.table, counted.options
    for step in range(3):
        counted.upsert(step)
    last = table.timeline.write_instants()[-1].requested
    counted.within_budget("rollback", lambda: table.rollback(last, options))
    counted.within_budget("savepoint", lambda: table.savepoint(None, options))
    counted.upsert(3)
    savepoint = table.savepoints()[0].instant.requested
    counted.within_budget("restore", lambda: table.restore(savepoint, options))
    table.delete_savepoint(savepoint, options)
    table.bulk_insert(_rows(100), options)
    counted.within_budget("cluster", lambda: table.cluster(options))
    counted.upsert(4)
    retained = {**options, "hoodie.clean.commits.retained": "1"}
    cleaned = counted.within_budget("clean", lambda: table.clean(retained))
    assert Counter(cleaned.paths("GET"))[cleaned.paths("GET")[0]] <= 4, "properties are read once a turn of the lock"
    counted.within_budget("clean, nothing to do", lambda: table.clean(retained))
    counted.within_budget("archive, nothing to do", lambda: table.archive(options))
    counted.within_budget("mutation", lambda: _mutate(table, options))
    _query(counted)
    rows = counted.open().scan().to_arrow()
    expected = {key: step for step in (0, 1, 100, 4) for key in _rows(step)["id"].to_pylist()}
    expected |= dict.fromkeys(("k8", "k9", "k10"), 77)
    assert dict(zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True)) == expected
    assert rows.num_rows == len(expected)
    if has_metadata:
        assert validate(counted.open().client).is_valid


def _mutate(table: HudiTable, options: Mapping[str, str]) -> None:
    with table.mutator(options) as client, client.new_transaction() as transaction:
        coordinator = transaction.coordinator()
        for number in (8, 9, 10):
            coordinator.update([f"p{number % 3}"], {"id": f"k{number}", "v": 77})


def _query(counted: _Counted) -> None:
    def before() -> str:
        return counted.table.timeline.write_instants()[-2].requested

    options = counted.options
    counted.within_budget("time travel", lambda: counted.open().scan(as_of=before(), options=options).plan())
    counted.within_budget(
        "incremental pull",
        lambda: counted.open().scan(query_type="incremental", begin=before(), options=options).to_arrow(),
    )
    filtered = counted.within_budget(
        "filtered plan", lambda: counted.open().scan(row_filter="p = 'p1' and v > 3", options=options).plan()
    )
    for kind in _ONCE:
        assert max(Counter(filtered.paths(kind)).values(), default=1) == 1, filtered


@_each_way
def test_compaction(s3: S3Server, s3_proxy: StoreProxy, has_metadata: bool) -> None:
    counted = _Counted(s3, s3_proxy, "MERGE_ON_READ", has_metadata)
    for step in range(3):
        counted.upsert(step)
    counted.within_budget("compact", lambda: counted.table.compact(counted.options))
    counted.within_budget("compact, nothing to do", lambda: counted.table.compact(counted.options))
    assert counted.open().scan().to_arrow().num_rows == 32


@pytest.mark.parametrize("version", [8, long_case(6)])
def test_archival_reads_and_deletes_what_it_must(s3: S3Server, s3_proxy: StoreProxy, version: int) -> None:
    options, path = {"hoodie.metadata.enable": "false"}, s3.folder()
    table = HudiTable.create(
        path, name="t", version=version, record_keys=["id"], storage_options=s3.options(s3_proxy.port)
    )
    for step in range(6):
        table.insert(pa.table({"id": [f"k{step}"]}), {**options, "hoodie.archive.automatic": "false"})
    settings = {**options, "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    settings["hoodie.clean.commits.retained"] = "1"
    with s3_proxy.recording() as recording:
        report = table.archive(settings)
    archived = len(report.result.archived)
    assert archived == 4
    states = 1 if version == 8 else 3  # a completed instant of layout 2 tells all; the log archive keeps each state
    # The lock, properties and timeline before and behind it, the archive's own files, and of each instant a deletion.
    assert len(recording) <= 18 + archived * (states + 1), recording
    assert table.refresh().scan().to_arrow().num_rows == 6
