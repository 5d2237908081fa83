"""Tables on S3 in Spark: reads, writes, services, mutations and streams take the storage options of the session."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from hudi_hive import HudiTable
from hudi_hive.options.read import SPARK_LOG_RECORDS
from hudi_hive.spark import clean, compact, enable, explain, mutate
from integration.support.stores.hadoop_aws import s3a_class_path
from integration.support.stores.proxy import StoreProxy
from integration.support.stores.s3 import ACCESS_KEY, SECRET_KEY, S3Server
from integration.support.stores.secret_search import places_of, recorded_steps

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.metadata.enable": "false",
    "hoodie.compact.inline.max.delta.commits": "1",
}
KIND = "id int, ts int, v string"


@pytest.fixture
def of_session(spark: SparkSession, s3: S3Server) -> Iterator[SparkSession]:
    """The session with the server's options."""
    if not s3a_class_path():
        pytest.skip("hadoop-aws cannot be downloaded")
    enable(spark, storage_options=s3.options())
    yield spark
    enable(spark, storage_options={})


def test_all_of_spark_takes_the_options_of_the_session(of_session: SparkSession, s3: S3Server) -> None:
    path = s3.folder("s3a")
    rows = of_session.createDataFrame([(1, 1, "a"), (2, 1, "a")], KIND).coalesce(1)
    rows.write.format("hudi").options(**OPTIONS).mode("append").save(path)
    stream = of_session.readStream.format("hudi").load(path).writeStream.option("checkpointLocation", f"{path}-point")
    streamed: list[int] = []
    stream.trigger(availableNow=True).foreachBatch(
        lambda batch, _: streamed.append(batch.count())
    ).start().awaitTermination()
    assert streamed == [2]
    changes = of_session.createDataFrame([(2, 2, "b", "update")], f"{KIND}, op string")
    mutate(changes.coalesce(1), path, operation="op", options={"hoodie.metadata.enable": "false"})
    frame = of_session.read.format("hudi").load(path).select("id", "v")
    assert "log records of 1 slices" in explain(frame)
    assert sorted(map(tuple, frame.collect())) == [(1, "a"), (2, "b")]
    assert len(compact(of_session, path, OPTIONS)) == 1
    assert clean(of_session, path, OPTIONS) is None
    frame = of_session.read.format("hudi").load(path).select("id", "v")
    assert "Spark's own reader: 1 base files" in explain(frame)
    assert sorted(map(tuple, frame.collect())) == [(1, "a"), (2, "b")]
    table = HudiTable.open(path, s3.options()).scan().to_arrow().select(["id", "v"]).sort_by("id")
    assert table.to_pylist() == [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}]
    assert s3.files(f"{path}-point")


def test_steps_are_pickled_without_secrets_which_come_beside_them(
    of_session: SparkSession, s3: S3Server, tmp_path: Path
) -> None:
    """All that Spark is called with, and all that broadcast variables are made of, is searched."""
    path, secret = s3.folder("s3a"), f"{SECRET_KEY}-of-steps"  # moto takes any
    enable(of_session, storage_options={**s3.options(), "secret_key": secret})
    rows = of_session.createDataFrame([(1, 1, "a"), (2, 1, "b")], KIND).repartition(2)
    with recorded_steps() as sent:
        for _ in range(2):
            rows.write.format("hudi").options(**OPTIONS).mode("append").save(path)
        frame = of_session.read.format("hudi").load(path).select("id", "v")
        assert "log records of" in explain(frame)
        assert sorted(map(tuple, frame.collect())) == [(1, "a"), (2, "b")]
    assert len(sent) > 5 and "endpoint" in "".join(sent.values())
    assert any(place.startswith("broadcast") for place in sent)
    assert not places_of([SECRET_KEY, ACCESS_KEY], sent)

    # A pickle of another process: what this session says takes the place of what is missing.
    file = tmp_path / "table"
    script = "import json, pickle, sys; from hudi_hive import HudiTable; path, options, file = json.load(sys.stdin);"
    script += "open(file, 'wb').write(pickle.dumps(HudiTable.open(path, options)))"
    arguments = json.dumps([path, s3.options(), str(file)])
    subprocess.run([sys.executable, "-c", script], input=arguments, text=True, check=True)
    assert SECRET_KEY.encode() not in file.read_bytes()
    assert pickle.loads(file.read_bytes()).scan().to_arrow().num_rows == 2


def test_options_of_a_session_leave_hadoop_s_alone_and_are_gone_with_the_next_ones(
    of_session: SparkSession, s3: S3Server
) -> None:
    settings = of_session.sparkContext._jsc.hadoopConfiguration()
    assert settings.get("fs.s3a.secret.key") == SECRET_KEY
    enable(of_session, storage_options={})
    assert settings.get("fs.s3a.secret.key") is None
    settings.set("fs.s3a.bucket.other.access.key", "of-other")
    enable(of_session, storage_options={**s3.options(), "session_token": "token"})
    assert settings.get("fs.s3a.session.token") == "token"
    assert settings.get("fs.s3a.bucket.other.access.key") == "of-other"
    assert settings.get("fs.s3a.bucket.other.session.token") == ""
    enable(of_session, storage_options={})
    assert settings.get("fs.s3a.bucket.other.session.token") is None
    settings.unset("fs.s3a.bucket.other.access.key")


@pytest.mark.long
def test_executors_read_slices_by_the_cache(
    of_session: SparkSession, s3: S3Server, s3_proxy: StoreProxy, tmp_path: Path
) -> None:
    path = s3.folder("s3a")
    fields = {"name": "t", "record_keys": ["id"], "ordering_fields": ["ts"], "table_type": "MERGE_ON_READ"}
    table = HudiTable.create(path, storage_options=s3.options(), **fields)
    table.upsert(pa.table({"id": [1, 2], "ts": [1, 1], "v": ["a", "a"]}))
    table.upsert(pa.table({"id": [2], "ts": [2], "v": ["b"]}))
    enable(of_session, storage_options={**s3.options(s3_proxy.port), "cache_folder": str(tmp_path / "cache")})
    numbers = []
    of_session.conf.set(SPARK_LOG_RECORDS.name, "0")  # Spark's own reader has no such cache
    for _ in range(2):
        with s3_proxy.recording() as recording:
            frame = of_session.read.format("hudi").load(path).select("id", "v")
            assert "merged in Arrow: 1 slices" in explain(frame)
            assert sorted(map(tuple, frame.collect())) == [(1, "a"), (2, "b")]
        kinds = ("GET", "RANGE")
        numbers.append(sum(one.kind in kinds and "/.hoodie/" not in one.path for one in recording.requests))
    of_session.conf.unset(SPARK_LOG_RECORDS.name)
    assert numbers == [2, 0]
