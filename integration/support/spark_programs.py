"""Spark's own programs with the jar of ``hudi-hive spark jar``: how tests start them, and what they leave running."""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path
from typing import Final

from hudi_hive.spark.jar import EXTENSION
from integration.support.spark_options import INTERPRETED, JAVA_OPTIONS, PYTHON_WORKERS
from integration.support.spark_releases import pyspark_folder

_MARK: Final = "HUDI_HIVE_TEST_MARK"


class SparkProgram:
    """``spark-sql`` or ``spark-shell`` of a release of PySpark in a folder, with its standard input at hand.

    Args:
        name: of the program.
        release: of PySpark; empty for the installed one.
        jar: the jar.
        folder: where it works; its metastore and its warehouse are there.
        arguments: the program's own.
        settings: of Spark.
        variables: of the environment, on top of the tests' own.
    """

    def __init__(
        self,
        name: str,
        release: str,
        jar: Path,
        folder: Path,
        *arguments: str,
        settings: dict[str, str] | None = None,
        variables: dict[str, str] | None = None,
    ) -> None:
        home = pyspark_folder(release) / "pyspark" if release else installed_pyspark()
        chosen = {
            "spark.master": "local[1]",
            "spark.sql.extensions": EXTENSION,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "OFF",
            "spark.sql.shuffle.partitions": "1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
            **PYTHON_WORKERS,
            **INTERPRETED,
            **(settings or {}),
        }
        command = [str(home / "bin" / name), "--driver-memory", "1g", "--jars", str(jar)]
        command += ["--driver-java-options", f"{JAVA_OPTIONS} -Dderby.system.home={folder}"]
        for key, text in chosen.items():
            command += ["--conf", f"{key}={text}"]
        self._mark = f"{_MARK}={uuid.uuid4().hex}"
        environment = {key: text for key, text in os.environ.items() if key != "SPARK_DIST_CLASSPATH"}
        environment |= {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", **(variables or {})}
        environment |= dict([self._mark.split("=")])
        self.process = subprocess.Popen(
            [*command, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def running(self) -> dict[int, str]:
        """Id and executable of each process that the program started, itself among them, and that has not ended."""
        found = {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                environment = (folder / "environ").read_bytes()
                if f"{self._mark}\0".encode() in environment:
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().split(b"\0")[0].decode()
            except OSError:
                continue  # it has ended, or belongs to somebody else
        return found

    def end(self) -> None:
        """Kill what is left."""
        for pid in self.running():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
        self.process.wait()


def installed_pyspark() -> Path:
    """The folder of the PySpark of the environment, as ``SPARK_HOME`` would name it."""
    import pyspark

    return Path(pyspark.__file__).parent
