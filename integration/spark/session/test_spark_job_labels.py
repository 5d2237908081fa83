"""What Spark's pages call the jobs of statements, and the caller's own names afterwards."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import hudi_hive.spark as hudi_spark
from hudi_hive.spark.bridge import option, scala_items

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.database.name": "lake",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
}
COLUMNS = "id int, city string, ts int"


@pytest.fixture(autouse=True)
def of_the_caller(spark: SparkSession) -> Iterator[None]:
    """No group and no description, before and after."""
    names = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
    for name in names:
        spark.sparkContext.setLocalProperty(name, None)
    yield
    for name in names:
        spark.sparkContext.setLocalProperty(name, None)


def jobs(spark: SparkSession, statement: Callable[[], Any]) -> list[tuple[str | None, str | None]]:
    """Description and group of each job that a statement started."""
    scala = spark.sparkContext._jsc.sc()

    def started() -> dict[int, tuple[str | None, str | None]]:
        scala.listenerBus().waitUntilEmpty()
        return {
            int(job.jobId()): (option(job.description()), option(job.jobGroup()))
            for job in scala_items(scala.statusStore().jobsList(None))
        }

    before = started()
    statement()
    return [names for job, names in started().items() if job not in before]


def rows(spark: SparkSession, ts: int) -> Any:
    return spark.createDataFrame([(number, f"c{number % 3}", ts) for number in range(6)], COLUMNS).repartition(2)


def test_jobs_of_a_statement_are_one_group_and_say_what_they_do(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = str(tmp_path / "trips")
    with caplog.at_level(logging.INFO, "hudi_hive"):
        written = jobs(spark, lambda: hudi_spark.write(rows(spark, 1), path, OPTIONS))
    (told,) = [text for text in map(logging.LogRecord.getMessage, caplog.records) if "upsert" in text]
    assert re.search(r"trips: upsert \d{17}: 6 inserted; 3 files, [\d,]+ bytes$", told)
    said = {description for description, _ in written}
    assert {"hudi upsert lake.trips: write files", "hudi upsert lake.trips: look records up"} <= said
    assert all(str(text).startswith("hudi upsert lake.trips: ") for text in said)
    (group,) = {group for _, group in written}
    assert group is not None

    updated = jobs(spark, lambda: spark.sql(f"UPDATE hudi.`{path}` SET ts = 2 WHERE id < 5"))
    said = {re.sub(r"(?<=^hudi update ).*trips\S*(?=: )", "TABLE", str(description)) for description, _ in updated}
    assert "hudi update TABLE: write files" in said
    assert all(text.startswith("hudi update TABLE: ") for text in said)
    assert len({group for _, group in updated} | {group}) == 2

    compacted = jobs(spark, lambda: hudi_spark.compact(spark, path))
    assert {description for description, _ in compacted} >= {"hudi compact lake.trips: compact slice"}

    (plain,) = jobs(spark, lambda: spark.sparkContext.parallelize([1], 1).count())
    assert plain[1] is None and "hudi" not in str(plain[0])


def test_the_callers_group_stays_and_the_description_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    spark.sparkContext.setJobGroup("mine", "nightly load", interruptOnCancel=True)
    written = jobs(spark, lambda: hudi_spark.write(rows(spark, 1), str(tmp_path / "trips"), OPTIONS))
    assert {group for _, group in written} == {"mine"}
    assert all(str(text).startswith("hudi upsert lake.trips: ") for text, _ in written)
    failed = OPTIONS | {"hoodie.datasource.write.recordkey.field": "nothing"}
    with pytest.raises(Exception, match="nothing"):
        hudi_spark.write(rows(spark, 1), str(tmp_path / "others"), failed)
    plain = jobs(spark, lambda: spark.sparkContext.parallelize([1], 1).count())
    assert plain == [("nightly load", "mine")]
