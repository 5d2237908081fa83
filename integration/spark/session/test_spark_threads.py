"""Statements planned by several threads at once, as in a Thrift server: what they share does not mix them up."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from py4j.clientserver import ClientServerConnection
from pyspark import SparkContext
from pyspark.sql.types import IntegerType, StructField, StructType

import hudi_hive.spark as hudi_spark
from hudi_hive.errors import SparkError
from hudi_hive.plan import Query
from hudi_hive.spark.bridge import (
    DIRECTORY_SCHEMA,
    Function1,
    Function2,
    JavaProxy,
    JavaValue,
    Jvm,
    packed,
    packed_files,
    relations,
    scala_items,
    store_options,
)
from hudi_hive.spark.catalog import SessionHook
from hudi_hive.spark.scan import TableSnapshot, file_index, location_of, merging, scanned
from hudi_hive.spark.session import reader
from hudi_hive.spark.source import source
from hudi_hive.table import MetaClient
from integration.support.spark_options import JAVA_OPTIONS
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.waiting import SECONDS

pytestmark = pytest.mark.jvm


class Listed(JavaProxy):
    """Lists its files, which are in partitions by day."""

    def __init__(self, files: pa.Table, values: pa.Table) -> None:
        self.files, self.values = files, values

    def listing(self, question: JavaValue, text: str) -> None:
        for folders, commit_times in packed_files(self.files, np.zeros(self.files.num_rows, np.int64)):
            question.add(packed(self.values.slice(folders.start, len(folders)), ["day"]), *commit_times, "")

    class Java:
        implements = ("org.apache.spark.sql.execution.datasources.FileIndex",)


def test_directories_hold_their_own_files_alone(spark):
    """Expressions of Spark that make objects or cast texts are not made for many threads."""
    jvm = Jvm(SparkContext._active_spark_context)
    columns = StructType([StructField("day", IntegerType())])
    partitions, each, rounds, clients = 40, 50, 12, 4

    def foreign(client: int) -> list[str]:
        days = np.repeat(np.arange(partitions), each)
        prefix = f"file:/table{client}/"
        files = pa.table(
            [
                pa.array([f"day={day:02d}" for day in days]),
                pa.array([f"{prefix}day={day:02d}/{number}.parquet" for number, day in enumerate(days)]),
                pa.array(np.arange(len(days)) + client * 100_000),
            ],
            schema=DIRECTORY_SCHEMA,
        )
        values = pa.table({"day": [str(day) for day in range(partitions)]})
        wrong = []
        for _ in range(rounds):
            index = Listed(files, values)
            face = relations(jvm).face(
                index, Function2(index.listing), prefix, "[]", columns.json(), 1, False, False, spark._jsparkSession
            )
            texts = str(face.listFiles(jvm.seq([]), jvm.seq([])).mkString("\n")).split("path=")[1:]
            paths = [text.split(";")[0] for text in texts]
            wrong += [] if paths == files.column("path").to_pylist() else [f"{client}: {len(paths)} files"]
        return wrong

    with ThreadPoolExecutor(clients) as pool:
        assert [item for found in pool.map(foreign, range(clients)) for item in found] == []


class Meeting:
    """Holds the first that comes until a second one does; not for long, since a lock may keep that one away."""

    def __init__(self) -> None:
        self.first, self.second = threading.Event(), threading.Event()

    def come(self) -> None:
        if self.first.is_set():
            self.second.set()
        else:
            self.first.set()
            self.second.wait(0.5)


def test_rules_that_two_threads_add_are_both_there(spark, monkeypatch):
    environment, session = reader._environment(spark), spark.newSession()._jsparkSession
    meeting, make = Meeting(), environment.jvm.made

    def slowly(name, *arguments):
        if name == "MergeRule":
            meeting.come()
        return make(name, *arguments)

    def add_other():
        meeting.first.wait(300)
        source._install_commit_rule(environment.jvm, session)
        meeting.second.set()

    monkeypatch.setattr(environment.jvm, "made", slowly)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(add_other)
        merging.install_merge_rule(environment.jvm, session)
        other.result()
    rules = [str(rule.toString()) for rule in scala_items(session.experimental().extraOptimizations())]
    assert sorted(rules) == [source.COMMIT_RULE, merging.MERGE_RULE]


def test_hooks_of_one_session_share_its_cache(spark, monkeypatch):
    """One that began statements in a cache which nobody asks would leave tables as they were in an earlier one."""
    environment, session = reader._environment(spark), spark.newSession()._jsparkSession
    meeting, make = Meeting(), SessionHook._new_cache

    def slowly(hook, delegate):
        meeting.come()
        return make(hook, delegate)

    monkeypatch.setattr(SessionHook, "_new_cache", slowly)
    hooks = [SessionHook(environment, session) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(SessionHook.install_cache, hooks))
    assert hooks[0]._cache.equals(hooks[1]._cache)


def test_files_and_commits_of_a_pull_are_of_one_moment(spark, tmp_path, monkeypatch):
    """Though the table is refreshed while its query is planned: rows of a commit's files are told by its time."""
    base = unzip_fixture("v8_cow_nonpart", tmp_path)
    environment, session = reader._environment(spark), spark._jsparkSession
    last = MetaClient.load(base).timeline.write_instants()[-1]
    (base / last.path).rename(tmp_path / "hidden")
    snapshot = TableSnapshot(location_of(base), Query.of("incremental", begin="0"))
    scan, read_times = scanned(snapshot), source.commit_times
    index = source.CommitsIndex(
        environment.jvm, snapshot, lambda moment: file_index(environment, session, replace(scan, snapshot=moment), "t")
    )

    def restored_while_read(moment):
        times = read_times(moment)
        if (tmp_path / "hidden").exists():
            (tmp_path / "hidden").rename(base / last.path)
            index.refresh()
        return times

    monkeypatch.setattr(source, "commit_times", restored_while_read)
    parts = index.apply()
    assert list(parts._2()) == read_times(snapshot)
    assert str(parts._1().toString()) == f"HudiFileIndex({snapshot.token})"
    assert last.requested in list(index.apply()._2())


def test_storage_options_that_a_thread_plans_with_stay_as_they_are(spark):
    session, location = spark._jsparkSession, "s3a://lake/t"
    before = store_options(session, location)
    unchanged = dict(before)
    try:
        hudi_spark.enable(spark, storage_options={"region": "elsewhere"})
        assert before == unchanged
        assert store_options(session, location)["region"] == "elsewhere"
    finally:
        hudi_spark.enable(spark, storage_options={})
    assert store_options(session, location) == unchanged


UNPINNED = """
from pyspark.sql import SparkSession
import hudi_hive.spark as hudi_spark
from hudi_hive.errors import SparkError
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    .config("spark.driver.extraJavaOptions", "JAVA_OPTIONS").getOrCreate()
)
try:
    hudi_spark.enable(spark)
except SparkError as error:
    print("refused:", error)
spark.stop()
"""


def test_a_gateway_without_pinned_threads_is_refused(spark, monkeypatch):
    """A statement's tables would be asked for in other threads than the one where it began, and be old ones."""
    monkeypatch.setattr(Jvm, "pins_threads", False)
    with pytest.raises(SparkError, match="without pinned threads"):
        hudi_spark.enable(spark.newSession())


@pytest.mark.long
def test_a_session_of_a_process_that_does_not_pin_threads_is_refused(tmp_path):
    settings = {"PYSPARK_PIN_THREAD": "false", "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", UNPINNED.replace("JAVA_OPTIONS", JAVA_OPTIONS)],
        cwd=tmp_path,
        env={**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert "refused: without pinned threads" in done.stdout, done.stderr


class LastToForget(threading.Event):
    """Stands in py4j's queue of what Java is to forget, behind all that Python has let go of."""

    def garbage_collect_object(self, target_id, enqueue):
        self.set()


def test_what_a_callback_gives_is_there_when_java_looks_for_it(spark, monkeypatch):
    """py4j has Java forget it as soon as Python lets go of it, though its answer may still be under way."""
    answer = ClientServerConnection._call_proxy

    def slow(connection, *arguments):
        result = answer(connection, *arguments)
        gc.collect()  # of objects whose methods were called
        last = LastToForget()
        SparkContext._gateway._gateway_client.finalizer_deque.appendleft((last, ""))
        assert last.wait(SECONDS)
        return result

    jvm = Jvm(SparkContext._active_spark_context)
    monkeypatch.setattr(ClientServerConnection, "_call_proxy", slow)
    made = jvm.some("x").map(Function1(lambda _: jvm.view.java.util.ArrayList()))
    assert made.get() is not None and made.get().isEmpty()
