"""What sessions leave: connections of threads that have ended, proxies of contexts that have stopped, warnings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import hudi_hive
from hudi_hive.spark.bridge import JavaProxy, to_java
from integration.support.spark_options import START_SECONDS
from tests.support.running.waiting import wait_until

pytestmark = pytest.mark.jvm

CALLS = 12
SPARKS_OWN = ("Utils", "NativeCodeLoader")
"""Classes of Spark and Hadoop that warn of the machine where the tests run, whatever a session does."""


class Counting(JavaProxy):
    """A ``Runnable`` that counts how often it ran."""

    def __init__(self) -> None:
        self.runs = 0

    @to_java
    def run(self) -> None:
        """Count."""
        self.runs += 1

    class Java:
        implements = ("java.lang.Runnable",)


def test_threads_of_java_that_end_leave_no_connection(spark: SparkSession) -> None:
    counting, jvm = Counting(), spark._jvm
    assert jvm is not None

    def call() -> None:
        thread = jvm.java.lang.Thread(counting)
        thread.start()
        thread.join()

    call()
    before = threading.active_count()
    for _ in range(CALLS):
        call()
    assert counting.runs == CALLS + 1
    # Others of the session may come and go meanwhile.
    wait_until(lambda: threading.active_count() < before + CALLS // 2, "threads of connections that end")


@pytest.fixture(scope="module")
def cycles() -> subprocess.CompletedProcess[str]:
    """A process that makes, uses and stops three sessions."""
    command = [sys.executable, "-W", "always", "-m", "integration.long.session_cycles", "--side", "ours"]
    return subprocess.run(
        [*command, "--cycles", "3"], capture_output=True, text=True, timeout=START_SECONDS, check=False
    )


@pytest.mark.long
def test_sessions_that_are_stopped_and_made_again_leave_nothing(cycles: subprocess.CompletedProcess[str]) -> None:
    assert cycles.returncode == 0, cycles.stderr[-3000:]
    first, *others = [json.loads(line) for line in cycles.stdout.splitlines() if line.startswith("{")]
    assert len(others) == 2
    for later in others:
        assert later["proxies"] == 0
        # A thread of Java that has ended meanwhile may have its connection until the next one calls.
        assert later["threads"] <= first["threads"] + 1 and later["files"] <= first["files"] + 1


@pytest.mark.long
def test_normal_use_warns_of_nothing(cycles: subprocess.CompletedProcess[str]) -> None:
    lines = cycles.stderr.replace("\r", "\n").splitlines()
    logged = [match[1] for line in lines if (match := re.search(r" (?:WARN|ERROR|FATAL) (\S+?):", line))]
    assert logged and set(logged) <= set(SPARKS_OWN)
    assert hudi_hive.__file__ is not None
    of_ours = re.compile(rf"^Traceback|Py4J|hudi_hive\.|{re.escape(str(Path(hudi_hive.__file__).parent))}")
    assert [line for line in lines if of_ours.search(line)] == []
