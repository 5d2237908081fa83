"""Requests on the wire of writes by Spark to a table on S3: those of the driver and of all tasks, held to budgets.

Beside those of a writer without an engine each task that changes a file group reads its base file for itself, and
markers are listed, since a task may have been run again.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from integration.support.stores.proxy import StoreProxy
from integration.support.stores.s3 import S3Server
from tests.support.running.long import long_case

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

OPTIONS: Final = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "p",
}
_TASKS: Final = 3
_EACH: Final = 3
"""Requests of a task beside those that a writer without an engine has for the same file group, at most."""


def _frame(spark: SparkSession, step: int) -> DataFrame:
    keys = [f"k{number}" for number in range(step, step + 30)]
    return spark.createDataFrame(
        pa.table({"id": keys, "p": [f"p{int(key[1:]) % 3}" for key in keys], "v": [step] * len(keys)})
    )


@pytest.mark.parametrize(
    ("has_metadata", "budget"), [(True, 60), long_case(False, 25 + _TASKS * _EACH)], ids=["metadata", "listed"]
)
def test_requests_of_an_upsert_into_three_partitions(
    spark: SparkSession, s3: S3Server, s3_proxy: StoreProxy, has_metadata: bool, budget: int
) -> None:
    path, stored = s3.folder(), s3.options(s3_proxy.port)
    options = {**OPTIONS, "hoodie.metadata.enable": str(has_metadata).lower()}
    hudi_spark.write(_frame(spark, 0), path, options, storage_options=stored)
    with s3_proxy.recording() as recording:
        hudi_spark.write(_frame(spark, 1), path, options, storage_options=stored)
    assert len(recording) <= budget, recording
    assert not {"HEAD", "BEGIN UPLOAD", "PART"} & set(recording.kinds), recording
    written = [request.path for request in recording.requests if request.kind == "PUT"]
    assert sum(name.endswith(".parquet") for name in written) == _TASKS
    rows = HudiTable.open(path, s3.options()).scan().to_arrow()
    expected = {f"k{number}": min(number, 1) for number in range(31)}
    assert dict(zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True)) == expected
