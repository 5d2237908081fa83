"""A process that runs statements in a Spark session, each in a database and a folder of its own, for their images.

``python -m integration.support.killed_statements``: the first line of its input is JSON with ``folder``, ``uri`` of a
metastore or null, and ``cases``: each a name, settings of the session, statements that prepare, and the statement. Each
further line is a case whose statement is run once more, on what a kill left.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import hudi_hive.spark as hudi_spark
from integration.support.crash_images import tell
from integration.support.session_process import DONE
from integration.support.spark_options import JAVA_OPTIONS


def session(folder: Path, uri: str | None) -> SparkSession:
    """A small session, with a metastore or a catalog in memory."""
    builder = hudi_spark.session_builder(uri) if uri else SparkSession.builder
    settings = {
        "spark.sql.catalogImplementation": "hive" if uri else "in-memory",
        "spark.driver.memory": "700m",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {JAVA_OPTIONS}",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.log.level": "OFF",
    }
    for key, text in settings.items():
        builder = builder.config(key, text)
    return hudi_spark.enable(builder.master("local[2]").getOrCreate())


def _save_new(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 1 AS id, 'a' AS name, 1L AS ts, 'x' AS dt")
    rows.write.format("hudi").partitionBy("dt").options(primaryKey="id", preCombineField="ts").saveAsTable("t")


def _save_overwrite(spark: SparkSession) -> None:
    rows = spark.sql("SELECT id + 10 AS id, name, ts, dt FROM s")
    writer = rows.write.format("hudi").mode("overwrite").partitionBy("dt")
    writer.options(primaryKey="id", preCombineField="ts", type="mor").saveAsTable("t")


def _rollback_last(spark: SparkSession) -> None:
    last = max(row.commit_time for row in spark.sql("CALL show_commits(table => 't', limit => 9)").collect())
    spark.sql(f"CALL rollback_to_instant(table => 't', instant_time => '{last}')")


ACTS: dict[str, Callable[[SparkSession], None]] = {
    "saveAsTable": _save_new,
    "saveAsTable overwrite": _save_overwrite,
    "rollback_to_instant": _rollback_last,
}
"""What no single statement says."""


def run(spark: SparkSession, text: str) -> None:
    """A statement, or one of the acts."""
    if text in ACTS:
        ACTS[text](spark)
    else:
        spark.sql(text).collect()


def run_case(spark: SparkSession, folder: Path, case: dict[str, Any]) -> str | None:
    """Prepare and run one case; why it failed."""
    own = spark.newSession()
    name = case["name"]
    try:
        own.sql(f"CREATE DATABASE {name} LOCATION '{folder / name}'")
        own.sql(f"USE {name}")
        for key, text in case["settings"].items():
            own.conf.set(key, text)
        for text in case["prepare"]:
            run(own, text)
        (folder / name).mkdir(exist_ok=True)
        tell("arm", folder / name)
        try:
            run(own, case["act"])
        finally:
            tell("disarm", Path(name))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()[:1500]}"
    return None


def run_again(spark: SparkSession, case: dict[str, Any]) -> dict[str, Any]:
    """Read the table of a case by name, run its statement once more, and read it again."""
    own = spark.newSession()
    own.sql(f"CREATE DATABASE IF NOT EXISTS {case['name']} LOCATION '{case['folder']}'")
    own.sql(f"USE {case['name']}")
    for key, text in case["settings"].items():
        own.conf.set(key, text)
    answer: dict[str, Any] = {"before": _rows_of(own), "fails": None}
    try:
        run(own, case["act"])
    except Exception as error:
        answer["fails"] = f"{type(error).__name__}: {str(error).strip()[:500]}"
    answer["after"] = _rows_of(own)
    if case["forgets"]:
        for row in own.sql("SHOW TABLES").collect():
            own.sql(f"DROP TABLE {row.tableName}")
    return answer


def _rows_of(spark: SparkSession) -> list[str] | str | None:
    """Rows of the table; None without one, a text if it cannot be read."""
    try:
        if not spark.catalog.tableExists("t"):
            return None
        rows = spark.table("t")
        return sorted(repr(tuple(row)) for row in rows.select(*_own(rows.columns)).collect())
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()[:300]}"


def _own(columns: list[str]) -> list[str]:
    return [name for name in columns if not name.startswith("_hoodie_")]


def main() -> None:
    """Run all cases, or with ``again`` those that come line by line; what came of each goes out as JSON lines."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    work = json.loads(sys.stdin.readline())
    folder = Path(work["folder"])
    spark = session(folder, work["uri"])
    for case in work["cases"]:
        print(DONE + json.dumps([case["name"], run_case(spark, folder, case)]), flush=True)
    for line in sys.stdin:
        print(DONE + json.dumps(run_again(spark, json.loads(line))), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
