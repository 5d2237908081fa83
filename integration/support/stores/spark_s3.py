"""Spark sessions, and a metastore, that reach S3 by ``hadoop-aws``: what the programs of long runs start."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

import hudi_hive.spark as hudi_spark
from hudi_hive.metastore import EmbeddedMetastore
from integration.support.spark_options import JAVA_OPTIONS
from integration.support.stores.hadoop_aws import s3a_jars

ROOT: Final = Path(__file__).parents[3]


class S3aMetastore(EmbeddedMetastore):
    """An embedded metastore that makes the folders of tables on S3: with ``hadoop-aws`` on its class path."""

    def _launch(self, java: str, jars: Path) -> None:
        """Put PySpark's jars and those of S3A into one folder, which is the class path."""
        folder = self.directory / "jars"
        folder.mkdir(exist_ok=True)
        for jar in (*jars.glob("*.jar"), *s3a_jars()):
            if not (folder / jar.name).exists():
                (folder / jar.name).symlink_to(jar)
        super()._launch(java, folder)


def s3a_session(
    folder: Path, metastore_uri: str = "", defaults: Mapping[str, str] | None = None, *, master: str = "local[2,2]"
) -> SparkSession:
    """A session with ``hadoop-aws``, a web page on a free port, and an event log in ``folder/events``.

    Args:
        folder: of its files.
        metastore_uri: of its catalog; without it the catalog is in memory.
        defaults: settings for its ``spark-defaults.conf``; all others are on Java's command line.
        master: where its executors run; those of ``local-cluster[…]`` are processes of their own.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_WORKER_DIR"] = str(folder / "work")
    configuration = folder / "configuration"
    configuration.mkdir(parents=True, exist_ok=True)
    lines = (f"{name} {text}\n" for name, text in (defaults or {}).items())
    (configuration / "spark-defaults.conf").write_text("".join(lines))
    os.environ["SPARK_CONF_DIR"] = str(configuration)
    events = folder / "events"
    events.mkdir(parents=True, exist_ok=True)
    builder = hudi_spark.session_builder(metastore_uri) if metastore_uri else SparkSession.builder
    own = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.driver.extraClassPath": os.pathsep.join(map(str, s3a_jars())),
        "spark.executor.memory": "512m",
        "spark.executor.extraClassPath": os.pathsep.join(map(str, s3a_jars())),
        "spark.executor.extraJavaOptions": JAVA_OPTIONS,
        "spark.local.dir": str(folder / "local"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.log.level": "ERROR",
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.hadoop.fs.s3a.attempts.maximum": "1",
    }
    builder = builder.master(master)
    for name, text in own.items():
        builder = builder.config(name, text)
    return hudi_spark.enable(builder.getOrCreate())
