"""The first thing that the Python process of a jar runs; its text is in the jar.

It runs before it is known whether this package is there, and before PySpark is imported, which must be of the release
that the JVM has: that of this Python where it is, or the one that lies beside Spark's jars.

Arguments: version of this package that wrote the jar, version of Spark, Spark's own path of Python modules, the remedy
of failures. A line ``ready`` or ``failed TEXT`` on standard output is the answer.
"""

from __future__ import annotations

import sys

if "" in sys.path:
    sys.path.remove("")  # the folder that Spark was started in, where modules may be called as others

import os
from importlib.util import find_spec


def run(version: str, spark: str, paths: str, remedy: str) -> None:
    """Enable the sessions of a JVM until it is gone.

    Args:
        version: of this package, that wrote the jar.
        spark: version of the JVM's Spark.
        paths: of Spark's own Python modules.
        remedy: what helps when this Python does not do.
    """
    if sys.version_info < (3, 11):  # noqa: UP036 - any Python may be named
        fail(f"{sys.executable} is Python {sys.version_info[0]}.{sys.version_info[1]}, 3.11 or newer is needed{remedy}")
    if _installed_release() != spark:
        sys.path[:0] = [path for path in paths.split(os.pathsep) if path]
        if _installed_release() != spark:
            fail(f"{sys.executable} has no PySpark {spark}, nor has SPARK_HOME; install pyspark=={spark} there")
    try:
        from hudi_hive._version import __version__
    except ImportError:
        fail(f"{sys.executable} has no package hudi_hive{remedy}")
    if __version__ != version:
        fail(f"the jar was written by hudi_hive {version}, and {sys.executable} has {__version__}{remedy}")
    try:
        from hudi_hive.spark.jar.planner import serve
    except ImportError as error:
        fail(f"{sys.executable} cannot import hudi_hive.spark: {error}{remedy}")
    serve()


def fail(text: str) -> None:
    """End the process with a reason."""
    print("failed", " ".join(text.split()), flush=True)  # noqa: T201 - the JVM reads it
    sys.exit(1)


def _installed_release() -> str | None:
    """The version of the PySpark that an import would find, which is not imported; None without one."""
    spec = find_spec("pyspark")
    loader = None if spec is None else spec.loader
    if spec is None or spec.origin is None or loader is None:
        return None
    file = os.path.join(os.path.dirname(spec.origin), "version.py")
    try:
        text = loader.get_data(file).decode()  # type: ignore[attr-defined]
    except OSError:
        return None
    named = [line.partition("=")[2] for line in text.splitlines() if line.startswith("__version__")]
    return named[0].strip(" '\"") if named else None


if __name__ == "__main__":
    run(*sys.argv[1:])
