"""Settings of the Spark sessions and servers that tests start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m"
"""For Java processes that run for minutes: optimising code takes them longer than running it, and a small cache of code
is searched over and over again for what may go."""
CLASS_ARCHIVE: Final = Path(sys.prefix) / "spark-classes.jsa"
"""Spark's classes as Java maps them into memory, made by ``integration.support.class_archive``: without it a session
takes twice the processor time to start. Java itself leaves an archive of other jars or of another Java aside."""
JAVA_OPTIONS: Final = (
    f"{QUICK} -XX:SharedArchiveFile={CLASS_ARCHIVE} -Xlog:cds*=off -Xlog:class+path=off"
    if CLASS_ARCHIVE.exists()
    else QUICK
)
"""Java options of sessions and servers."""
INTERPRETED: Final = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Lets Spark interpret expressions: for a few rows, its generated code costs more than it saves. It reads Parquet files
row by row then: generated code and batches of columns are for the tests of queries, those of scans and of sessions."""
PYTHON_WORKERS: Final = {
    "spark.python.daemon.module": "integration.support.python_daemon",
    "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),
}
"""Lets Spark's Python workers begin with what their tasks import."""
SERVER_SETTINGS: Final = {
    "spark.driver.defaultJavaOptions": JAVA_OPTIONS,
    "spark.sql.shuffle.partitions": "2",
    **PYTHON_WORKERS,
    **INTERPRETED,
}
"""The same for a Thrift server, which has Java options of its own."""
START_SECONDS: Final = 900.0
"""Limit for the start of a server: only one that hangs comes to it."""
