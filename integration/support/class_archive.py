"""Makes the archive of Spark's classes for the sessions of tests: ``python -m integration.support.class_archive``."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext

import hudi_hive.spark as hudi_spark
from hudi_hive.metastore import EmbeddedMetastore
from integration.support.spark_options import CLASS_ARCHIVE, QUICK

_STATEMENTS = (
    "CREATE TABLE trips (id INT, name STRING, at TIMESTAMP, price DECIMAL(10,2), tags ARRAY<STRING>, p STRING)"
    " USING hudi PARTITIONED BY (p) TBLPROPERTIES (primaryKey='id', type='mor', preCombineField='at')",
    "INSERT INTO trips VALUES (1, 'a', TIMESTAMP '2024-01-01 00:00:00', 1.5, array('x'), 'p1'),"
    " (2, 'b', TIMESTAMP '2024-01-02 00:00:00', 2.5, array('y'), 'p2')",
    "UPDATE trips SET price = 3 WHERE id = 1",
    "DELETE FROM trips WHERE id = 2",
    "SELECT p, count(*), sum(price), max(name) FROM trips WHERE at > '2023-01-01' GROUP BY p ORDER BY p",
    "SELECT t.id, row_number() OVER (PARTITION BY t.p ORDER BY t.id) FROM trips t JOIN trips u ON t.id = u.id",
    "SHOW TABLES",
)


def make_archive(path: Path) -> None:
    """Run a session that does what those of tests do, and have Java keep its classes.

    Args:
        path: the archive; seen whole or not at all.
    """
    part = path.with_suffix(f".{os.getpid()}")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder, EmbeddedMetastore(f"{folder}/metastore") as metastore:
        session = (
            hudi_spark.session_builder(metastore.uri)
            .master("local[2]")
            .config("spark.driver.extraJavaOptions", f"{QUICK} -XX:ArchiveClassesAtExit={part} -Xlog:cds*=off")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
            .config("spark.log.level", "OFF")
            .getOrCreate()
        )
        hudi_spark.enable(session)
        for text in _STATEMENTS:
            session.sql(text).collect()
        gateway = SparkContext._gateway
        session.stop()
        assert gateway is not None
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
    part.rename(path)


if __name__ == "__main__":
    make_archive(CLASS_ARCHIVE)
