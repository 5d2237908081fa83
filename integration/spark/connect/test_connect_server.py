"""``hudi-hive spark connect-server`` and its clients, which find no Java."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hudi_hive.options import read
from integration.support.spark_options import INTERPRETED, JAVA_OPTIONS, PYTHON_WORKERS, START_SECONDS
from tests.support.code_blocks import page_blocks
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm

COMMAND = "from hudi_hive.cli.main import main; main()"
PLAIN = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
spark = builder.config("spark.connect.grpc.binding.port", "0").config("spark.ui.enabled", "false").getOrCreate()
service = spark._jvm.java.lang.Class.forName("org.apache.spark.sql.connect.service.SparkConnectService$")
print(f"ready at sc://127.0.0.1:{service.getField('MODULE$').get(None).localPort()};", flush=True)
sys.stdin.read()
"""  # noqa: E501


@contextmanager
def running(*command: str, folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The URL that a server prints when it is ready, and its process."""
    with subprocess.Popen(
        [sys.executable, *command], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = ""
            for line in process.stdout:
                said += line
                if " ready at " in line or line.startswith("ready at "):
                    break
            found = re.search(r"ready at (sc://[^;]+);", said)
            assert found is not None, said
            yield found[1], process
        finally:
            process.terminate()
            process.wait(START_SECONDS)


def client(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python where no Java is found."""
    nowhere = folder / "empty"
    nowhere.mkdir(exist_ok=True)
    gone = {"JAVA_HOME", "SPARK_HOME", "SPARK_REMOTE"}
    environment = {name: text for name, text in os.environ.items() if name not in gone} | {"PATH": str(nowhere)}
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=START_SECONDS, check=False
    )


def session_of(folder: Path, url: str) -> dict[str, Any]:
    """What the statements of ``connect_session`` gave."""
    done = client(folder, "-m", "integration.support.connect_session", url, str(folder))
    assert done.returncode == 0, done.stderr
    given: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return given


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = {
        "spark.submit.pyFiles": str(Path(__file__).parents[3] / "tests" / "support" / "mergers.py"),
        read.SPARK_MERGERS.name: "com.acme.Sum=mergers:total",
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        **PYTHON_WORKERS,
        **INTERPRETED,
    }
    options = [word for name, text in settings.items() for word in ("--conf", f"{name}={text}")]
    command = ("-c", COMMAND, "spark", "connect-server", "--port", "0", *options)
    with running(*command, folder=tmp_path_factory.mktemp("server")) as (url, process):
        yield url
        process.send_signal(signal.SIGTERM)
        assert process.wait(START_SECONDS) == 0
        assert process.stdout is not None
        assert process.stdout.read() == "stopped\n"


@pytest.mark.long
def test_client_without_java_reads_and_writes(server, tmp_path):
    given = session_of(tmp_path, server)
    before, after = [[1, "a"], [2, "b"]], [[1, "z"], [3, "c"], [4, "d"]]
    missing = given.pop("missing table")
    without_merger = given.pop("without merger")
    misused, refused = given.pop("misused function"), given.pop("storage options")
    assert given == {
        "write": None,
        "read": before,
        "select by path": before,
        **{name: [] for name in ("insert", "update", "delete", "merge", "create")},
        "select by name": after,
        "time travel": before,
        "changes": after,
        "stream": None,
        "read stream": after,
        "merged": [[1, 11], [2, 5]],
    }
    assert "UnsupportedTableError: payload class com.acme.Other" in without_merger
    assert f"in the setting {read.SPARK_MERGERS}" in without_merger
    assert missing.startswith(
        "AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] no table or view default.trip in the catalog"
    )
    assert "; did you mean trips? " in missing
    assert misused.startswith("SparkRuntimeException: InvalidOptionError: the arguments of hudi_query_timeline do not")
    assert "hudi_query_timeline(table[" in misused
    assert "\tat " not in misused
    assert refused.startswith("SparkError: a client of Spark Connect has no storage options")


def test_code_blocks_of_the_page_run(server, tmp_path):
    blocks = [block for block in page_blocks("python") if block.where.startswith("docs/spark-connect.md")]
    text = "\n".join(block.text for block in blocks).replace("sc://127.0.0.1:15002", server)
    done = client(tmp_path, "-c", text.replace("/lake", str(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert "|  1|   z|" in done.stdout


@pytest.mark.parametrize("program", [long_case(PLAIN, name="plain")])
def test_client_of_a_server_that_is_not_enabled_is_told_how_to_start_one(program, tmp_path):
    with running("-c", program, folder=tmp_path) as (url, _):
        given = session_of(tmp_path, url)
    assert given["enable"].startswith("SparkError: the server of this Spark Connect session does not know Hudi tables")
    assert "hudi-hive spark connect-server" in given["enable"]
