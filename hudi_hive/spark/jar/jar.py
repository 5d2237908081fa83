"""``write_jar``: the jar by which sessions are enabled in ``spark-sql`` and ``spark-shell``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from hudi_hive._version import __version__
from hudi_hive.errors import SparkError
from hudi_hive.metastore.embedded import find_jars, find_java
from hudi_hive.options import read
from hudi_hive.spark.versions import SUPPORTED

EXTENSION: Final = "hudi_hive.SparkExtension"
"""What ``spark.sql.extensions`` names."""

_COMPILER: Final = "CompileSource"
_SOURCES: Final = ("SparkExtension", "HoodieParquetInputFormat", "HoodieParquetRealtimeInputFormat")
_FOLDER: Final = "hudi_hive"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def write_jar(path: str | os.PathLike[str], python: str | None = None) -> Path:
    """Write the jar whose class :data:`EXTENSION` enables the sessions of a JVM that no Python drives.

    It does for Spark 3.5 to 4.3, whichever of them compiles it.

    Args:
        path: the file, which is replaced.
        python: the interpreter that plans where ``spark.hudi_hive.python`` says none; without it the running one.

    Returns:
        The file.

    Raises:
        JavaNotFoundError: no Java 17 or newer.
        MissingDependencyError: PySpark's jars are not installed.
        SparkError: the file cannot be written.
    """
    target = Path(path)
    own = {"option": read.SPARK_PYTHON.name, "python": python or sys.executable, "version": __version__}
    entries = {
        f"{_FOLDER}/jar.properties": "".join(f"{name}={_escaped(text)}\n" for name, text in own.items()).encode(),
        f"{_FOLDER}/start.py": files("hudi_hive.spark.jar").joinpath("start.py").read_bytes(),
    }
    entries |= _classes()
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as jar:
            # The same jar has the same bytes, whenever it is written.
            jar.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF", _EPOCH), "Manifest-Version: 1.0\n\n")
            for name in sorted(entries):
                jar.writestr(zipfile.ZipInfo(name, _EPOCH), entries[name])
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise SparkError(
            f"the jar cannot be written: {error.strerror}", path=str(target), remedy="choose another file"
        ) from error
    return target


def _classes() -> dict[str, bytes]:
    """Names and bytes of the compiled classes."""
    java, jars = find_java(), find_jars()
    with tempfile.TemporaryDirectory() as folder, as_file(files("hudi_hive.spark").joinpath("java")) as sources:
        # Janino's own command line: compile the source in memory, call its main.
        command = [str(java.executable), "-cp", f"{jars}/*", "org.codehaus.janino.SimpleCompiler"]
        command += [str(sources / f"{_COMPILER}.java"), _COMPILER, folder]
        command += [str(sources / f"{name}.java") for name in _SOURCES]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SparkError(
                f"the jar cannot be compiled for this version of Spark: {done.stderr.strip()[-500:]}",
                remedy=f"use {SUPPORTED}",
            )
        root = Path(folder)
        return {each.relative_to(root).as_posix(): each.read_bytes() for each in root.rglob("*.class")}


def _escaped(text: str) -> str:
    """A value of a Java properties file, which is Latin-1."""
    plain = text.replace("\\", "\\\\")
    return "".join(one if " " < one < "\x7f" or one == " " else f"\\u{ord(one):04x}" for one in plain)
