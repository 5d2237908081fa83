"""What users of older releases and of other formats do out of habit is answered with what to do instead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import hudi_hive.spark as hudi_spark
from hudi_hive.errors import InvalidOptionError
from integration.support.spark_options import JAVA_OPTIONS
from tests.support.fixture_tables import unzip_fixture

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

TABLE = "v9_cow_part_mdt"
UNENABLED = """
import json
from pyspark.sql import SparkSession
import hudi_hive.spark
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.extraJavaOptions", "JAVA_OPTIONS")
spark = builder.config("spark.driver.host", "127.0.0.1").config("spark.log.level", "OFF").getOrCreate()
said = {}
for name in ("hudi", "org.apache.hudi", "hudson"):
    try:
        spark.read.format(name).load("/nowhere")
    except Exception as error:
        said[name] = [type(error).__name__, str(error)]
spark.stop()
print(json.dumps(said))
"""


@pytest.mark.parametrize("globs", ["/*", "/*/*", "/*/*/*.parquet"])
def test_globs_in_paths_are_refused_with_the_base_path(spark: SparkSession, globs: str) -> None:
    base = str(unzip_fixture(TABLE))
    reads = (
        lambda: spark.read.format("hudi").load(base + globs),
        lambda: hudi_spark.load(spark, base + globs),
        lambda: spark.sql(f"SELECT * FROM hudi.`{base}{globs}`"),
    )
    for read in reads:
        with pytest.raises(InvalidOptionError, match="read by its base path, which has no globs") as caught:
            read()
        assert base in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("option", "value", "remedy"),
    [
        ("mergeSchema", "true", "leave it out: the schema is the table's own"),
        ("hoodie.datasource.view.type", "realtime", "hoodie.datasource.query.type now: snapshot"),
    ],
)
def test_options_of_other_formats_and_older_releases_say_what_is_meant(
    spark: SparkSession, tmp_path: Path, option: str, value: str, remedy: str
) -> None:
    with pytest.raises(InvalidOptionError, match=f"(?i){option}") as caught:
        spark.read.format("hudi").option(option, value).load(str(unzip_fixture(TABLE)))
    assert remedy in str(caught.value.remedy)
    rows = spark.createDataFrame([(1,)], "id int").write.format("hudi").option("hoodie.table.name", "t")
    with pytest.raises(InvalidOptionError, match=f"(?i){option}") as caught:
        rows.option(option, value).save(str(tmp_path / "t"))
    assert remedy in str(caught.value.remedy) and not (tmp_path / "t").exists()


def test_a_session_that_is_not_enabled_says_how_to_get_the_data_source() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", UNENABLED.replace("JAVA_OPTIONS", JAVA_OPTIONS)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    for name in ("hudi", "org.apache.hudi"):
        kind, text = said[name]
        assert kind == "SparkError" and "call hudi_hive.spark.enable(spark) first" in text
    assert "enable" not in said["hudson"][1]
