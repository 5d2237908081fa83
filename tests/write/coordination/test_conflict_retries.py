"""Writes that are done again after conflicts with other writers: ``hoodie.write.num.retries.on.conflict.failures``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError, WriteConflictError
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.mutation import MutationWriter
from hudi_hive.write.writers import LocalWriter, WriteReport
from tests.support.options.write_cases import LEAN, make, put, rows

FILE_LOCK = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
SEVERAL = {
    **LEAN,
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": FILE_LOCK,
}
RETRIES = "hoodie.write.num.retries.on.conflict.failures"


class _Overtaken(LocalExecutor):
    """An executor during whose first tasks in each attempt another writer commits, as long as it has batches."""

    def __init__(self, path: Path, *batches: pa.Table) -> None:
        super().__init__(1)
        self._path, self._batches = path, list(batches)
        self._seen: set[str] = set()

    def map(self, function: Any, tasks: Any) -> Any:
        writes = HudiTable.open(self._path).timeline.pending({"commit", "deltacommit", "replacecommit"})
        attempts = {instant.requested for instant in writes}
        if self._batches and not attempts <= self._seen:
            self._seen |= attempts
            put(self._path, SEVERAL, self._batches.pop(0))
        return super().map(function, tasks)


def _of_a(first: int, count: int, ts: int) -> pa.Table:
    return rows(first, count, p=["a"] * count, ts=[ts] * count)


def _records(path: Path) -> dict[int, int]:
    table = HudiTable.open(path).scan().to_arrow()
    assert table.num_rows == len(set(table["id"].to_pylist()))
    return dict(zip(table["id"].to_pylist(), table["ts"].to_pylist(), strict=True))


def _writer(path: Path, retries: int, *batches: pa.Table, **options: str) -> LocalWriter:
    given = {**SEVERAL, RETRIES: str(retries), **options}
    return LocalWriter(HudiTable.open(path).client, given, executor=_Overtaken(path, *batches))


def _nothing_is_left(path: Path, writes: int) -> None:
    timeline = HudiTable.open(path).timeline
    assert not timeline.pending() and len(timeline.write_instants()) == writes
    names = [one.name for one in path.rglob("*.parquet") if ".hoodie" not in one.parts]
    commits = {instant.requested for instant in timeline.write_instants()}
    assert all(name.removesuffix(".parquet").rpartition("_")[2] in commits for name in names)
    for folder in (".temp", ".heartbeat"):
        assert not [one for one in (path / ".hoodie" / folder).rglob("*") if one.is_file()]


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_an_upsert_is_done_again_on_the_rows_of_the_other_writer(tmp_path: Path, kind: str) -> None:
    make(tmp_path, table_type=kind)
    put(tmp_path, SEVERAL, _of_a(0, 10, 1))
    # The other one also adds records, which an upsert that did not look anew would write a second time.
    other = pa.concat_tables([_of_a(0, 2, 9), _of_a(10, 2, 1)])
    assert _writer(tmp_path, 1, other).write(_of_a(0, 12, 2)).inserted == 0
    assert _records(tmp_path) == {**dict.fromkeys(range(12), 2), 0: 9, 1: 9}
    _nothing_is_left(tmp_path, 3)


def test_each_conflict_takes_one_retry(tmp_path: Path) -> None:
    make(tmp_path)
    put(tmp_path, SEVERAL, _of_a(0, 10, 1))
    batches = [_of_a(0, 1, 5), _of_a(0, 1, 6), _of_a(0, 1, 7)]
    with pytest.raises(WriteConflictError):
        _writer(tmp_path, 1, *batches[:2]).write(_of_a(0, 10, 2))
    assert _records(tmp_path) == {**dict.fromkeys(range(10), 1), 0: 6}
    _nothing_is_left(tmp_path, 3)
    _writer(tmp_path, 1, batches[2]).write(_of_a(0, 10, 2))
    assert _records(tmp_path) == {**dict.fromkeys(range(10), 2), 0: 7}
    _nothing_is_left(tmp_path, 5)


def test_without_the_option_a_conflict_is_an_error(tmp_path: Path) -> None:
    make(tmp_path)
    put(tmp_path, SEVERAL, _of_a(0, 10, 1))
    with pytest.raises(WriteConflictError):
        _writer(tmp_path, 0, _of_a(0, 1, 5)).write(_of_a(0, 10, 2))


def _delete(writer: LocalWriter) -> WriteReport:
    return writer.write(_of_a(0, 3, 8))


def _overwrite(writer: LocalWriter) -> WriteReport:
    return writer.write(_of_a(50, 2, 8))


@pytest.mark.parametrize(
    ("operation", "write", "left"),
    [
        ("delete", _delete, {3, 4, 10}),
        ("insert_overwrite", _overwrite, {50, 51}),
        ("insert_overwrite_table", _overwrite, {50, 51}),
        ("bulk_insert", _overwrite, {0, 1, 2, 3, 4, 10, 50, 51}),
    ],
)
def test_every_operation_is_done_again(
    tmp_path: Path, operation: str, write: Callable[[LocalWriter], WriteReport], left: set[int]
) -> None:
    make(tmp_path)
    put(tmp_path, SEVERAL, _of_a(0, 5, 1))
    other = pa.concat_tables([_of_a(0, 1, 3), _of_a(10, 1, 3)])
    options = {"hoodie.datasource.write.operation": operation}
    if operation == "bulk_insert":  # writes to no file group of others: what it meets is one writer that is two
        options |= {"hoodie.write.concurrency.mode": "single_writer"}
    write(_writer(tmp_path, 1, other, **options))
    assert set(_records(tmp_path)) == left
    _nothing_is_left(tmp_path, 3)


def test_mutations_refuse_the_option(tmp_path: Path) -> None:
    make(tmp_path)
    with pytest.raises(InvalidOptionError, match="mutations"):
        MutationWriter(HudiTable.open(tmp_path).client, {**SEVERAL, RETRIES: "1"})
