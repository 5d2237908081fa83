"""A standalone cluster of two workers: what executors without this package say, and all that works with its archive."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import hudi_hive
from hudi_hive._version import __version__
from hudi_hive.metastore import find_java
from hudi_hive.options import read
from hudi_hive.spark.jar import EXTENSION, write_jar
from hudi_hive.spark.packaging import write_package
from integration.support.cluster_session import MANY
from integration.support.spark_cluster import PANDAS, SparkCluster, clean_python
from integration.support.spark_options import START_SECONDS
from integration.support.spark_programs import installed_pyspark

pytestmark = [pytest.mark.jvm, pytest.mark.long]


def wheel_of_sources(folder: Path) -> Path:
    """The files of the package as in a wheel, without what it needs."""
    wheel = folder / f"hudi_hive-{__version__}-py3-none-any.whl"
    assert hudi_hive.__file__ is not None
    root = Path(hudi_hive.__file__).parents[1]
    with zipfile.ZipFile(wheel, "w") as file:
        for path in sorted((root / "hudi_hive").rglob("*.py")):
            file.write(path, path.relative_to(root))
    return wheel


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the steps of ``cluster_session`` gave."""
    folder = tmp_path_factory.mktemp("cluster")
    wheel, archive = wheel_of_sources(folder), folder / "hudi-hive.zip"
    write_package(archive)
    python, data = clean_python(folder / "python"), folder / "data"
    data.mkdir()
    with SparkCluster(folder / "spark") as cluster:
        arguments = [cluster.url, str(python), str(data), str(wheel), str(archive)]
        done = subprocess.run(
            [sys.executable, "-m", "integration.support.cluster_session", *arguments],
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    steps: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return steps


def test_executors_without_the_package_say_how_to_ship_it_and_nothing_is_left(answers: dict[str, Any]) -> None:
    assert answers["without"].startswith("SparkError: an executor cannot run hudi_hive: No module named 'hudi_hive'")
    assert "hudi-hive spark package" in answers["without"] and "--py-files" in answers["without"]
    assert answers["left"] == []


def test_a_wheel_without_what_it_needs_is_refused_with_the_remedy(answers: dict[str, Any]) -> None:
    assert answers["wheel"].startswith("SparkError: an executor cannot run hudi_hive: No module named 'numpy'")
    assert "hudi-hive spark package" in answers["wheel"]


def test_everything_works_with_the_archive_and_no_package_but_pyspark_and_pyarrow(answers: dict[str, Any]) -> None:
    first = [[number, "v1", 1] for number in range(10)]
    assert (answers["write"], answers["read"]) == ([10, 0], first)
    assert (answers["upsert"], answers["upserted"]) == ([10, 10], [[number, "v2", 2] for number in range(20)])
    merged = {number: [number, "v1", 1] for number in range(9)}
    merged |= {0: [0, "u", 2], 1: [1, "m", 3], 2: [2, "u", 2], 50: [50, "n", 3]}
    assert (answers["logged"], answers["update"], answers["merge"], answers["delete"]) == ([10, 0], 0, 0, 0)
    assert answers["read logs"] == [merged[key] for key in sorted(merged)]
    assert answers["mutate"] == [1, 1, 1]
    merged |= {2: [2, "x", 5], 60: [60, "y", 5]}
    del merged[4]
    assert (answers["compact"], answers["cluster"]) == (1, 1)
    assert answers["read compacted"] == [merged[key] for key in sorted(merged)]
    assert (answers["stream"], answers["streamed"]) == (None, answers["read compacted"])


def test_an_executor_that_is_killed_under_a_write_loses_nothing(answers: dict[str, Any]) -> None:
    assert answers["executor killed"] == [1, 40, 0]
    assert answers["after the kill"] == [[number, "v1", 1] for number in range(40)]


def test_executors_that_are_killed_while_they_write_data_files_lose_nothing(answers: dict[str, Any]) -> None:
    assert answers["killed under files"] == [[True], MANY, 0]
    assert answers["after files"] == [MANY, MANY]


def test_an_executor_that_is_killed_under_a_read_loses_nothing(answers: dict[str, Any]) -> None:
    assert answers["killed under a read"] == [1, True, True]
    assert answers["killed under a merge of logs"] == [1, True, True]


def application(folder: Path) -> Path:
    """The jar of ``ClusterMain.java``."""
    source = Path(__file__).parents[2] / "support" / "ClusterMain.java"
    command = [str(find_java().executable.with_name("javac")), "-cp", f"{installed_pyspark()}/jars/*"]
    subprocess.run([*command, "-d", str(folder), str(source)], check=True)
    jar = folder / "application.jar"
    with zipfile.ZipFile(jar, "w") as file:
        for path in folder.glob("*.class"):
            file.write(path, path.name)
    return jar


@pytest.mark.long
def test_a_driver_in_a_worker_has_python_from_the_archive(tmp_path: Path) -> None:
    """``--deploy-mode cluster``, which a standalone cluster has for applications of the JVM alone."""
    archive, jar, data = tmp_path / "hudi-hive.zip", tmp_path / "hudi-hive.jar", tmp_path / "data"
    write_package(archive)
    write_jar(jar)
    data.mkdir()
    python, started = clean_python(tmp_path / "python", PANDAS), tmp_path / "python-with-archive"
    variables = f"PYTHONPATH={shlex.quote(str(archive))} PYSPARK_PYTHON={shlex.quote(str(python))}"
    started.write_text(f'#!/bin/sh\nexec env {variables} {shlex.quote(str(python))} "$@"\n')
    started.chmod(0o755)
    settings = {
        "spark.sql.extensions": EXTENSION,
        read.SPARK_PYTHON.name: str(started),
        "spark.executorEnv.PYTHONPATH": str(archive),
        "spark.executor.memory": "512m",
        "spark.cores.max": "2",
        "spark.driver.extraJavaOptions": "--add-opens=java.base/java.nio=ALL-UNNAMED",  # for Arrow
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{data}/warehouse",
        "spark.standalone.submit.waitAppCompletion": "true",
    }
    command = [str(installed_pyspark() / "bin" / "spark-submit"), "--deploy-mode", "cluster", "--driver-memory", "512m"]
    command += ["--class", "ClusterMain", "--jars", str(jar)]
    command += [word for name, text in settings.items() for word in ("--conf", f"{name}={text}")]
    with SparkCluster(tmp_path / "spark") as cluster:
        submitted = subprocess.run(
            [*command, "--master", cluster.url, str(application(tmp_path)), str(data)],
            env={**os.environ, "SPARK_HOME": str(installed_pyspark()), "SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
    logs = [path.read_text()[-3000:] for path in (tmp_path / "spark" / "work").glob("driver-*/std*")]
    assert (data / "rows").exists(), [submitted.stdout[-2000:], submitted.stderr[-2000:], *logs]
    *rows, mode = (data / "rows").read_text().splitlines()
    assert rows == [f"{number} {'b' if number < 3 else 'a'}" for number in range(10)]
    assert mode == "cluster"
