"""Spark writes that meet other writers: done again after a conflict, or ended before they write."""

from __future__ import annotations

import os

import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import WriteConflictError
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.files import run_write_task
from hudi_hive.write.writers import LocalWriter
from tests.support.options.write_cases import LEAN, make, put, rows

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

SEVERAL = {
    **LEAN,
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}


def of_a(first, count, ts):
    return rows(first, count, p=["a"] * count, ts=[ts] * count)


def overtaken(spark, path, marker, batch, other):
    """The rows of a batch, while the first of which are made another writer commits."""

    def make_rows(batches):
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            LocalWriter(HudiTable.open(path).client, SEVERAL).write(other)
        yield from batches

    frame = spark.createDataFrame(batch.to_pandas())
    return frame.coalesce(1).mapInArrow(make_rows, frame.schema)


def test_a_write_is_done_again_on_the_rows_of_the_other_writer(spark, tmp_path):
    path = tmp_path / "t"
    make(path)
    put(path, SEVERAL, of_a(0, 10, 1))
    other = of_a(9, 3, 5)
    frame = overtaken(spark, path, str(tmp_path / "first"), of_a(0, 12, 2), other)
    with pytest.raises(WriteConflictError):
        hudi_spark.write(frame, path, options=SEVERAL)
    other = of_a(9, 3, 6)
    frame = overtaken(spark, path, str(tmp_path / "second"), of_a(0, 12, 2), other)
    hudi_spark.write(frame, path, options={**SEVERAL, "hoodie.write.num.retries.on.conflict.failures": "1"})
    table = HudiTable.open(path)
    read = table.scan().to_arrow()
    assert dict(zip(read["id"].to_pylist(), read["ts"].to_pylist(), strict=True)) == {
        **dict.fromkeys(range(9), 2),
        **dict.fromkeys(range(9, 12), 6),
    }
    assert read.num_rows == 12 and not table.timeline.pending() and len(table.timeline.write_instants()) == 4


class _Then(LocalExecutor):
    """An executor that does something else when it has written files, which no commit names yet."""

    def __init__(self, then):
        super().__init__(1)
        self._then = then

    def map(self, function, tasks):
        results = super().map(function, tasks)
        if function is run_write_task:
            self._then()
        return results


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_write_ends_before_it_writes_to_a_group_at_which_another_one_is(spark, tmp_path, kind):
    make(tmp_path, table_type=kind)
    put(tmp_path, SEVERAL, of_a(0, 10, 1))
    errors = []

    def write_too():
        frame = spark.createDataFrame(of_a(0, 10, 3).to_pandas())
        early = {**SEVERAL, "hoodie.write.concurrency.early.conflict.detection.enable": "true"}
        with pytest.raises(WriteConflictError, match="which is at work") as caught:
            hudi_spark.write(frame, tmp_path, options=early)
        errors.append(caught.value)

    LocalWriter(HudiTable.open(tmp_path).client, SEVERAL, executor=_Then(write_too)).write(of_a(0, 10, 2))
    table = HudiTable.open(tmp_path)
    assert len(errors) == 1 and set(table.scan().to_arrow()["ts"].to_pylist()) == {2}
    assert not table.timeline.pending() and len(table.timeline.write_instants()) == 2
