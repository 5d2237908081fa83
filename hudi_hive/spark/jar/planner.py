"""The Python process that plans the statements of a JVM which no Python drives.

It is started by ``SparkExtension.java`` and reaches the JVM as a program of ``spark-submit`` would, by py4j's variables
of the environment. The end of standard input is the order to leave, and comes however the JVM ends.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from hudi_hive.errors import HudiHiveError
from hudi_hive.options import read
from hudi_hive.spark.bridge import Function1, JavaValue, Jvm
from hudi_hive.spark.session import enable_extensions, register_session_mergers


def serve() -> None:
    """Enable the sessions of the JVM until it is gone; prints ``ready`` on standard output."""
    output = os.dup(1)
    os.dup2(2, 1)  # Whatever prints, prints to the terminal's errors.
    with suppress(OSError):
        os.setsid()  # Ctrl-C in the terminal is for Spark.
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    java_context = gateway.jvm.org.apache.spark.api.java.JavaSparkContext(
        gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    )
    settings = SparkConf(_jconf=java_context.getConf())
    _choose_executors_python(settings)
    context = SparkContext(conf=settings, gateway=gateway, jsc=java_context)
    Jvm(context).share_classes(gateway.entry_point.classes())
    try:
        register_session_mergers(settings.get(read.SPARK_MERGERS.name))
    except HudiHiveError as error:
        os.write(output, f"failed {' '.join(str(error).split())}\n".encode())
        os._exit(1)

    def enabled(extensions: JavaValue) -> None:
        enable_extensions(context, extensions)

    enabler = Function1(enabled)
    gateway.entry_point.ready(enabler)
    os.write(output, b"ready\n")
    os.close(output)
    with suppress(OSError):
        while os.read(0, 1024):
            continue
    os._exit(0)


def _choose_executors_python(settings: SparkConf) -> None:
    """As ``spark-submit`` does for programs of Python; this one where nobody says."""
    chosen = settings.get("spark.pyspark.python", None)
    if chosen is not None:
        os.environ["PYSPARK_PYTHON"] = chosen
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
